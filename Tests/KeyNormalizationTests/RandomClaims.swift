import ExposureKeys
import Testing

@testable import BundleTrust
@testable import KeyNormalization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// SplitMix64: small, and the same on every machine for one seed.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var word = state
    word = (word ^ word >> 30) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
    return word ^ word >> 31
  }

  mutating func chance(_ part: Int, in whole: Int) -> Bool { Int.random(in: 0..<whole, using: &self) < part }
}

/// Runs a law on random cases: the same ones for one `KEYFERRY_SEED`, as in CI. A failure names its seed; `KEYFERRY_LAW_SEED` runs
/// that one alone, and `KEYFERRY_LAW_CASES` sets how many there are.
func forRandomCases(
  _ law: (inout SeededGenerator) throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  if let text = environment("KEYFERRY_LAW_SEED"), let seed = UInt64(text) {
    var random = SeededGenerator(seed: seed)
    try law(&random)
    return
  }
  let cases = environment("KEYFERRY_LAW_CASES").flatMap { Int($0) } ?? 300
  let chosen = environment("KEYFERRY_SEED").flatMap { UInt64($0) }
  let first = chosen.map { $0 &* 0x9E37_79B9_7F4A_7C15 >> 1 } ?? UInt64.random(in: 0...UInt64.max / 2)
  for seed in first..<first + UInt64(cases) {
    nonisolated(unsafe) var isBroken = false
    try withKnownIssue(isIntermittent: true) {
      var random = SeededGenerator(seed: seed)
      try law(&random)
    } matching: { _ in
      isBroken = true
      return false
    }
    if isBroken {
      Issue.record("broken by KEYFERRY_LAW_SEED=\(seed)", sourceLocation: sourceLocation)
      return
    }
  }
}

func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

/// A claim as a test writes it.
struct Said: Hashable {
  var key: ClaimedKey
  var origin: String?
  var visited: [String]?
}

enum Cases {
  /// 2020-11-01, and a moment thirteen days later.
  static let firstDay = Day(daysSince1970: 18_567)
  static let now = Instant(secondsSince1970: 18_580 * 86_400 + 43_200)

  /// A well-formed key of few possible ones, so that claims meet.
  static func key(_ random: inout SeededGenerator) -> ClaimedKey {
    let words: [UInt64] = [1, 2, 3, 0x8000_0000_0000_0001, .max - 3]
    var key = ClaimedKey(
      key: TemporaryExposureKey(high: words.randomElement(using: &random) ?? 1, low: random.chance(1, in: 8) ? 2 : 7))
    let day = Cases.firstDay.firstInterval.rawValue + 144 * Int64.random(in: 0...13, using: &random)
    key.rollingStart = Int32(random.chance(3, in: 4) ? Cases.firstDay.firstInterval.rawValue : day)
    key.rollingPeriod = [144, 144, 60, 1, 143].randomElement(using: &random)
    if random.chance(1, in: 12) { key.rollingPeriod = nil }
    key.transmissionRisk = [nil, 0, 1, 5, 8, .max].randomElement(using: &random) ?? nil
    key.reportType = [nil, 0, 1, 1, 2, 2, 3, 4, 5, 9].randomElement(using: &random) ?? nil
    key.daysSinceOnset =
      [nil, 0, -3, 5, 14, 205, 1903, 1998, 3000, 2996, 4000, 50, .max].randomElement(using: &random) ?? nil
    key.isRevised = random.chance(1, in: 5)
    return key
  }

  static func said(_ random: inout SeededGenerator, origins: [String?] = ["DE", "IT", "CH", nil]) -> Said {
    let visited: [[String]?] = [nil, [], ["DE"], ["IT", "DE"], ["FR", "de", "FR"], ["ES"]]
    return Said(
      key: key(&random), origin: origins.randomElement(using: &random) ?? nil,
      visited: visited.randomElement(using: &random) ?? nil)
  }

  static let senders = [
    Sender(name: "efgs"), Sender(name: "peer"), Sender(name: "mirror", isRelay: true),
    Sender(name: "file", origin: "IE"),
  ]

  /// Who vouches for each sender's documents: one of each kind that can be made.
  static func document(of sender: Sender) -> VerifiedDocument {
    switch sender.name {
    case "efgs": .host(ProvenHost(provenByTLS: "efgs.example"))
    case "mirror", "signed":
      VerifiedDocument(basis: .signed(by: KeyIdentity(id: "310", version: "v1", fingerprint: "0")))
    default: .assertedByOperator()
    }
  }

  /// A few batches from all sources.
  static func batches(_ random: inout SeededGenerator) -> [AdmittedBatch] {
    (0..<Int.random(in: 1...5, using: &random)).map { _ in
      let said = (0..<Int.random(in: 0...8, using: &random)).map { _ in self.said(&random) }
      return admit(said, from: senders.randomElement(using: &random) ?? senders[0])
    }
  }

  static func publishingPolicy(_ random: inout SeededGenerator) -> PublishingPolicy {
    var policy = PublishingPolicy()
    policy.rollingPeriodPreference = random.chance(1, in: 2) ? .widest : .narrowest
    policy.riskPreference = random.chance(1, in: 2) ? .highest : .lowest
    policy.symptomPreference = random.chance(1, in: 2) ? .mostPrecise : .nearestDay
    policy.expandsShortPeriods = random.chance(1, in: 4)
    if random.chance(1, in: 3) { policy.reportTypes[.unknown] = .publish(as: .confirmedTest) }
    if random.chance(1, in: 3) { policy.reportTypes[.selfReport] = .leaveOut }
    policy.emptyVisited = PublishingPolicy.EmptyVisited.allCases.randomElement(using: &random) ?? .all
    policy.includesOrigin = random.chance(1, in: 2)
    policy.defaultDaysSinceOnset = random.chance(1, in: 3) ? DayOffset(10) : nil
    policy.holdToNextMinutes = random.chance(1, in: 4) ? 120 : nil
    if random.chance(1, in: 4) { (policy.ignoresVisited, policy.emptyVisited) = (true, .all) }
    if random.chance(1, in: 4) {
      policy.reportTypesByOrigin["IT"] = [
        .unknown: .publish(as: .confirmedTest), .confirmedTest: .publish(as: .confirmedTest),
      ]
      policy.reportTypesByOrigin["CH"] = [.selfReport: .leaveOut, .recursive: .publish(as: .recursive)]
    }
    if random.chance(1, in: 4) {
      policy.daysSinceOnsetByClass = [.onset: DayOffset(0).map { .days($0) } ?? .none, .asymptomatic: .none]
    }
    if random.chance(1, in: 4), let field = PublishingPolicy.AppField.allCases.randomElement(using: &random) {
      policy.withheldFromApps = [field]
    }
    switch Int.random(in: 0...3, using: &random) {
    case 0:
      policy.risk.derivation = .fromReportType([.confirmedTest: 2, .selfReport: 4], replacing: .absentOrZero)
    case 1:
      policy.risk.derivation = .fromReportType([.confirmedTest: 8, .confirmedClinicalDiagnosis: 6], replacing: .always)
    case 2:
      var table = SymptomTable()
      table.onset = SymptomTable.Days(all: .level(8))
      table.asymptomatic = SymptomTable.Days(all: .level(3))
      table.onsetInRange = SymptomTable.Spans(all: SymptomTable.Days(all: .leaveOut))
      table.onsetUnknown = SymptomTable.Days(all: .asSent)
      table.notGiven = [.asSent, .leaveOut, .level(4)].randomElement(using: &random) ?? .asSent
      table.otherwise = random.chance(1, in: 2) ? .level(1) : nil
      policy.risk.derivation = .fromSymptoms(table)
    default: break
    }
    if random.chance(1, in: 3) { policy.risk.cap = 7 }
    if random.chance(1, in: 3) { policy.risk.fallback = 2 }
    if policy.risk.fallback != nil, random.chance(1, in: 3) { policy.risk.minimum = 2 }
    return policy
  }
}

extension ReadingPolicy {
  /// A law about origins is no law about who may speak for them.
  static let ofAnybody = {
    var policy = ReadingPolicy()
    policy.speaksFor = .any
    return policy
  }()
}

/// Admits claims by a policy; every claim of the result is one of `said`.
func admit(
  _ said: [Said], from sender: Sender, policy: ReadingPolicy = .ofAnybody, own: Set<String> = [],
  usualVolumes: [String: Int] = [:], rules: AdmissionRules = .standard, now: Instant = Cases.now
) -> AdmittedBatch {
  var regions = RegionTable()
  let keys = said.map { claim in
    var key = claim.key
    key.regions = regions.intern(RegionClaim(origin: claim.origin, visited: claim.visited)) ?? .none
    return key
  }
  var admission = Admission(
    of: Cases.document(of: sender), from: sender, policy: policy, own: own,
    volumes: usualVolumes.isEmpty ? nil : OriginVolumes(usual: usualVolumes), rules: rules, now: now)
  return keys.withUnsafeBufferPointer { admission.admit($0, regions: regions) }
}

func claimSet(_ batches: some Sequence<AdmittedBatch>) -> ClaimSet {
  var claims = ClaimSet()
  for batch in batches { claims.record(batch) }
  return claims
}

/// What the keys of a fold say, with names in place of numbers.
struct PublishedKey: Hashable {
  var apps: ClaimedKey
  var federation: ClaimedKey
  var regions: RegionClaim

  init(_ key: BelievedKey, in table: RegionTable) {
    (apps, federation) = (key.forApps, key.forFederation)
    regions = table[key.forFederation.regions]
    apps.regions = .none
    federation.regions = .none
  }
}

func published(_ beliefs: BelievedKeys) -> [PublishedKey] {
  beliefs.keys.map { PublishedKey($0, in: beliefs.regions) }
}

/// All outcomes with names in place of numbers.
func outcomes(
  _ claims: ClaimSet, _ policy: PublishingPolicy, region: String? = nil, now: Instant = Cases.now
) -> [KeySubject: String] {
  var beliefs = Beliefs(of: claims, policy: policy, region: region, now: now)
  var result: [KeySubject: String] = [:]
  while let (subject, outcome) = beliefs.next() {
    switch outcome {
    case .publish(let key): result[subject] = "\(PublishedKey(key, in: beliefs.regions))"
    case .hold(let until, let reason): result[subject] = "hold until \(until): \(reason)"
    case .leaveOut(let reason): result[subject] = "leave out: \(reason)"
    }
  }
  return result
}
