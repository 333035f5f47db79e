import ExposureKeys
import Foundation
import GatewayTesting

@testable import KeyDevice

/// Random people near a phone: keys, and what the phone noted of them, some of it at the edges of every rule.
struct Scenario {
  static let now = Instant(secondsSince1970: 1_607_299_200)

  var keys: [ClaimedKey] = []
  var sightings: [Sighting] = []

  init(_ random: inout SeededRandom) {
    let cipher = IdentifierCipher()
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      var key = ClaimedKey(key: TemporaryExposureKey(high: random.next(), low: random.next()))
      let aligned = Int32(2_678_400 - 144 * Int32.random(in: 0...9, using: &random))
      key.rollingStart = random.once(in: 4) ? aligned + Int32.random(in: 0...143, using: &random) : aligned
      key.rollingPeriod = random.once(in: 3) ? Int32.random(in: 1...144, using: &random) : 144
      key.transmissionRisk = Int32.random(in: 0...8, using: &random)
      key.reportType = random.once(in: 4) ? nil : Int32.random(in: 1...3, using: &random)
      key.daysSinceOnset = random.once(in: 4) ? nil : Int32.random(in: -14...14, using: &random)
      keys.append(key)
      let identifiers = cipher.identifiers(
        of: key.key, start: UInt32(bitPattern: key.rollingStartWord), count: 144)
      var index = Int.random(in: 0..<144, using: &random)
      var time =
        (Int64(key.rollingStartWord) + Int64(index)) * 600 + random.pick([-7201, -7200, -300, 0, 100, 599, 7799, 7800])
      for _ in 0..<Int.random(in: 1...14, using: &random) {
        let power = random.pick([-51, -50, -20, -8, 0, 12, 20, 21])
        let metadata =
          UInt32(random.pick([0x40, 0x50, 0x54, 0x58, 0x5c]) << 24) | UInt32(UInt8(bitPattern: Int8(power))) << 16
        sightings.append(
          Sighting(
            identifier: identifiers[index], milliseconds: time * 1000,
            encryptedMetadata: cipher.metadata(metadata, beside: identifiers[index], of: key.key),
            rssi: Int8.random(in: -100 ... -30, using: &random),
            secondsSincePreviousScan: random.once(in: 4) ? nil : UInt32(random.pick([60, 150, 299, 300, 301, 900]))))
        time += random.pick([4, 5, 25, 26, 60, 180, 299, 300, 600, 601, 1199, 1200, 1201, 1799, 1800, 1801])
        if random.once(in: 3) { index = min(143, index + 1) }
      }
    }
    // Others.
    for _ in 0..<20 {
      sightings.append(
        Sighting(
          identifier: ProximityIdentifier(high: random.next(), low: random.next()),
          milliseconds: Self.now.secondsSince1970 * 1000 - Int64.random(in: 0...1_209_600_000, using: &random),
          encryptedMetadata: 1, rssi: -60))
    }
    var seen: Set<[UInt64]> = []
    // Of equal times the order would be the logs', of which the models know nothing.
    sightings = sightings.filter { seen.insert([$0.identifier.high, UInt64(bitPattern: $0.milliseconds)]).inserted }
  }

  static let mapping = KeyMapping.by(standard: [-5...(-3), 4...9], high: -2...3, whenOnsetMissing: .standard)

  static let first = {
    var configuration = FirstConfiguration()
    configuration.attenuation = [0, 2, 3, 4, 5, 6, 7, 8]
    configuration.days = Array(1...8)
    configuration.duration = Array(0...7)
    configuration.transmission = Array(1...8)
    configuration.thresholds = [50, 63]
    return configuration
  }()

  static let daily = {
    var configuration = DailyConfiguration()
    configuration.thresholds = [55, 63, 73]
    configuration.attenuationWeights = [1.5, 1, 0.5, 0.25]
    configuration.reportTypeWeights = [1, 0.5, 0.25, 0]
    configuration.infectiousnessWeights = [1, 2]
    return configuration
  }()

  /// The broadcasts of each key that is found, in the order of the keys.
  func broadcasts(_ sightings: [Sighting]? = nil) -> [(ClaimedKey, [Broadcast])] {
    let search = IdentifierSearch(SightingTable(sightings ?? self.sightings))
    return keys.compactMap { key in
      guard search.find(key.key, start: key.rollingStartWord, period: Int(key.rollingPeriodWord)) else { return nil }
      return (key, search.broadcasts(of: key))
    }
  }

  /// The windows that a phone gives, by key.
  func windows(_ model: PhoneModel, _ sightings: [Sighting]? = nil, mapping: KeyMapping = Scenario.mapping)
    -> [[ExposureWindow]]
  {
    let phone = Phone(model, now: Self.now)
    return broadcasts(sightings).map { key, broadcasts in
      (try? phone.windows(broadcasts, of: key, mapping).get()) ?? []
    }
  }
}
