import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyNormalization
import Testing

@testable import PolicyFiles

/// Every shipped policy beside the back end that it is made after, value by value: the vectors under
/// `interop/vectors/rules`.
@Suite struct ShippedPolicyVectorTests {
  static let vectors: [Vector] = ((try? Vector.all("rules")) ?? []).filter { $0["publishing"] != nil }
  static let levels = vectors.filter { $0.name.hasSuffix("_levels") }
  static let keys = vectors.filter { $0.text.contains(" -> ") }

  @Test func everyShippedPolicyHasItsVectors() {
    let judged = Set(Self.keys.compactMap { $0["publishing"] })
    #expect(judged == Set(ShippedPolicies.names).subtracting(["default"]))
    #expect(Self.levels.count == 9)
  }

  /// What the table says of every code, and what comes of a key that states it.
  @Test(arguments: levels)
  func everyCode(_ vector: Vector) throws {
    let policies = try Policies(vector)
    var seen: Set<Int32> = []
    for line in vector.lines {
      let words = line.split(separator: " ")
      let code = try #require(Int32(words[0]))
      seen.insert(code)
      let expected = Int32(words[1])
      let outcome = policies.outcome(of: try SentKey("type=1 risk=8 onset=\(code)", at: policies.now))
      let isPublished = words[1] != "-" && (expected ?? 8) >= (policies.published.risk.minimum ?? 0)
      guard isPublished else {
        #expect(outcome == "out:risk-not-published", "\(code)")
        continue
      }
      guard let expected else {
        #expect(outcome == "onset=0", "\(code)")
        continue
      }
      #expect(outcome.split(separator: " ").contains("risk=\(expected)"), "\(code): \(outcome)")
    }
    #expect(seen == Self.definedCodes)
  }

  /// Levels that are derived and then left out for being low are in the table all the same.
  @Test func everyLevelOfTheCoronaWarnApp() throws {
    let vector = try Vector(name: "rules/corona-warn-app_levels")
    guard case .fromSymptoms(let table) = try Policies(vector).published.risk.derivation else {
      Issue.record("no table")
      return
    }
    for line in vector.lines {
      let words = line.split(separator: " ")
      guard let code = Int32(words[0]), let level = Int32(words[1]) else { continue }
      #expect(table[SymptomStatus(federationCode: code)] == .level(level), "\(code)")
    }
  }

  @Test func theEncodingOfTheCoronaWarnAppBothWays() throws {
    let vector = try Vector(name: "rules/corona-warn-app_encoding")
    let policies = try Policies(vector)
    #expect(vector.lines.count == 8)
    for line in vector.lines {
      let words = line.split(separator: " ")
      let fields = "type=\(words[1]) onset=\(words[2])"
      let outcome = policies.outcome(of: try SentKey("origin=DE \(fields)", at: policies.now))
      let isLow = words[0] == "1" || words[0] == "2"
      #expect(outcome == (isLow ? "out:risk-not-published" : "\(fields) risk=\(words[0])"), "\(line)")
    }
  }

  @Test(arguments: keys)
  func everyKey(_ vector: Vector) throws {
    let policies = try Policies(vector)
    for line in vector.lines {
      let sides = line.components(separatedBy: " -> ")
      #expect(policies.outcome(of: try SentKey(sides[0], at: policies.now)) == sides[1], "\(vector.name): \(line)")
    }
  }

  private static let definedCodes: Set<Int32> = Set(
    DaysSinceOnset.federationCodes.filter { code in
      switch SymptomStatus(federationCode: code) {
      case .notProvided, .undefined: false
      case .onset, .onsetInRange, .onsetUnknown, .asymptomatic, .statusUnknown: true
      }
    })
}

extension Vector {
  fileprivate var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The lines that are no comments.
  fileprivate var lines: [String] {
    text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") }
  }
}

/// A key as a vector spells it: `origin=FR visited=IT type=1 onset=3 period=144 start=2021-03-17T00:00:00Z region=IT`. What
/// is not stated is absent; but start and period are those of a whole day that is over, the third before the vector's time,
/// and the origin is France's.
private struct SentKey {
  var key = ClaimedKey(key: TemporaryExposureKey(high: 1, low: 2))
  var origin: String? = "FR"
  var visited: [String]?
  /// Whose keys are wanted.
  var region: String?
  var now: Instant

  init(_ text: String, at now: Instant) throws {
    self.now = now
    key.rollingPeriod = 144
    key.rollingStart = Int32(Day(daysSince1970: now.day.daysSince1970 - 3).firstInterval.rawValue)
    for word in text.split(separator: " ") {
      let pair = word.split(separator: "=")
      let value = String(pair[1])
      switch pair[0] {
      case "origin": origin = value
      case "visited": visited = value.split(separator: "+").map(String.init)
      case "region": region = value
      case "now": self.now = try #require(Instant(value))
      case "type": key.reportType = value == "none" ? nil : try number(value)
      case "risk": key.transmissionRisk = try number(value)
      case "onset": key.daysSinceOnset = try number(value)
      case "period": key.rollingPeriod = value == "none" ? nil : try number(value)
      case "start": key.rollingStart = Int32(IntervalNumber(containing: try #require(Instant(value))).rawValue)
      default: Issue.record("\(word)")
      }
    }
  }
}

private func number(_ text: String) throws -> Int32 { try #require(Int32(text)) }

/// The policy by which a vector's keys are read, and the one by which they are published.
private struct Policies {
  private let reading: Policy
  private let publishing: Policy
  /// When a vector's keys are judged that do not say so.
  let now: Instant

  init(_ vector: Vector) throws {
    reading = try Self.named(try #require(vector["reading"]))
    publishing = try Self.named(try #require(vector["publishing"]))
    now = try #require(Instant(vector["now"] ?? "2021-03-20T15:00:00Z"))
  }

  /// As it was at that time.
  var published: PublishingPolicy { publishing.at(now).publishing }

  private static func named(_ name: String) throws -> Policy { try #require(try ShippedPolicies.policy(named: name)) }

  /// What becomes of one key: `rejected:REASON`, `held:REASON`, `out:REASON`, or what apps are told.
  func outcome(of sent: SentKey) -> String {
    var regions = RegionTable()
    var key = sent.key
    key.regions = regions.intern(RegionClaim(origin: sent.origin, visited: sent.visited)) ?? .none
    var admission = Admission(
      of: .assertedByOperator(), from: Sender(name: "peer"), policy: reading.at(sent.now).reading, now: sent.now)
    let batch = [key].withUnsafeBufferPointer { admission.admit($0, regions: regions) }
    if let rejection = batch.rejected.first { return "rejected:\(rejection.reason.rawValue)" }
    var claims = ClaimSet()
    claims.record(batch)
    let beliefs = fold(
      claims, policy: publishing.at(sent.now).publishing, region: sent.region, now: sent.now)
    if let reason = beliefs.receipt.omissions.keys.first { return "out:\(reason.rawValue)" }
    if let reason = beliefs.receipt.holds.keys.first { return "held:\(reason.rawValue)" }
    guard let told = beliefs.keys.first?.forApps else { return "nothing" }
    let fields = [("type", told.reportType), ("onset", told.daysSinceOnset), ("risk", told.transmissionRisk)]
    return fields.compactMap { name, value in value.map { "\(name)=\($0)" } }.joined(separator: " ")
  }
}
