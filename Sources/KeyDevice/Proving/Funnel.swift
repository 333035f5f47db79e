package import ExposureKeys

/// How many keys reach each step on one phone, and which rules lost the others.
package struct Funnel: Hashable, Sendable {
  package let model: PhoneModel
  /// Keys in the file, and those that the phone does not read at all.
  package private(set) var keyCount = 0
  package private(set) var unreadable = 0
  /// Of all keys that can be read.
  package private(set) var unusable: [KeyLoss: Int] = [:]
  /// Keys that an encounter was planted for.
  package private(set) var sampled = 0
  package private(set) var lost: [KeyLoss: Int] = [:]
  package private(set) var sightingLosses: [BroadcastLoss: Int] = [:]
  package private(set) var alarms = 0

  package init(_ model: PhoneModel) { self.model = model }

  package mutating func read(keys: Int, unreadable: Int) {
    keyCount += keys
    self.unreadable += unreadable
  }

  package mutating func refuse(_ loss: KeyLoss) { unusable[loss, default: 0] += 1 }

  /// - Parameter reception: what the phone kept of the planted sightings.
  package mutating func judge(_ loss: KeyLoss?, _ reception: Reception) {
    sampled += 1
    guard let loss else {
      alarms += 1
      return
    }
    lost[loss, default: 0] += 1
    if loss == .sightingsLost, let rule = reception.mainLoss { sightingLosses[rule, default: 0] += 1 }
  }

  package var usable: Int { keyCount - unreadable - unusable.values.reduce(0, +) }

  /// Whether each key of the file can be used and each that was planted leads to an alarm. A revocation is meant to lead to none.
  package var isWhole: Bool {
    unreadable == 0 && alarms == sampled && sampled > 0 && unusable.allSatisfy { $0.key == .revoked || $0.value == 0 }
  }

  /// The rules that lost keys, in the order of the steps.
  package var losses: [(loss: KeyLoss, count: Int)] {
    KeyLoss.allCases.compactMap { loss in
      let count = unusable[loss, default: 0] + lost[loss, default: 0]
      return count > 0 ? (loss, count) : nil
    }
  }

  /// The first rule that lost a key.
  package var firstLoss: KeyLoss? { losses.first?.loss }

  /// How many keys are left after each step; from `found` on of those that were planted.
  package func left(after step: DeviceStep) -> Int {
    switch step {
    case .file: keyCount
    case .readable: keyCount - unreadable
    case .usable: usable
    default:
      sampled - lost.filter { $0.key.step.index <= step.index }.values.reduce(0, +)
    }
  }
}

extension DeviceStep {
  var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Keys chosen from a stream of unknown length, each as likely as any other (reservoir sampling), the same for the same seed.
package struct KeySample: Sendable {
  package private(set) var keys: [ClaimedKey] = []
  private var seen = 0
  private let limit: Int
  package private(set) var random: SplitMix

  package init(limit: Int, seed: UInt64) {
    self.limit = max(limit, 1)
    random = SplitMix(seed: seed)
  }

  package mutating func add(_ key: ClaimedKey) {
    seen += 1
    if keys.count < limit {
      keys.append(key)
    } else {
      let place = Int(random.next() % UInt64(seen))
      if place < limit { keys[place] = key }
    }
  }
}

/// Random numbers that can be repeated (Steele, Lea, Flood, 2014).
package struct SplitMix: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var word = state
    word = (word ^ word >> 30) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
    return word ^ word >> 31
  }
}

/// Plants an encounter for each key of a sample, and runs a phone on all of them at once, so that one key's sightings may be
/// taken for another's if something is wrong.
package enum Proof {
  /// - Parameters:
  ///   - now: an encounter lies before it as a whole, if the key has begun by then.
  package static func run(
    _ sample: KeySample, encounter: Encounter, on phone: Phone, _ judgement: AppRules.Judgement,
    into funnel: inout Funnel
  ) {
    let cipher = IdentifierCipher()
    var phone = phone
    phone.forgets = true
    var random = sample.random
    var sightings: [Sighting] = []
    var planted: [ClaimedKey] = []
    for key in sample.keys {
      // What the phone does not take is counted of all keys, not of the sample.
      guard case .success(let period) = phone.period(of: key) else { continue }
      planted.append(key)
      let needed = (encounter.seconds + 599) / 600
      let latest = Int((phone.now.secondsSince1970 - Int64(encounter.seconds)) / 600 - Int64(key.rollingStartWord))
      let room = max(0, min(period - needed, latest))
      let offset = Int(random.next() % UInt64(room + 1))
      sightings += encounter.sightings(of: key, period: period, from: offset, on: phone.model, cipher)
    }
    let search = IdentifierSearch(SightingTable(sightings), cipher: cipher)
    for key in planted {
      let period = key.rollingPeriod ?? 0
      _ = search.find(
        key.key, start: key.rollingStartWord,
        period: period <= 0 ? IdentifierCipher.identifierLimit : Int(period))
      let broadcasts = search.broadcasts(of: key)
      let reception: Reception =
        if case .success(let period) = phone.period(of: key) {
          phone.receive(broadcasts, of: key, period: period)
        } else { Reception() }
      funnel.judge(phone.judge(broadcasts, of: key, judgement), reception)
    }
  }
}
