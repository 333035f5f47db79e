import ExposureKeys
import Foundation
import GatewayTesting
import PolicyFiles
import Testing

@testable import BundleTrust
@testable import KeyNormalization

/// The scenarios of `interop/vectors/rules`: claims about one key, and what comes of them. The page beside them says how
/// they are written.
@Suite struct RuleVectorTests {
  static let vectors: [Vector] = ((try? Vector.all("rules")) ?? []).filter { $0["publishing"] == nil }

  @Test func everyRuleHasVectors() {
    let rules = Set(Self.vectors.compactMap { $0.name.split(separator: "/").last?.split(separator: "_").first })
    #expect(rules == ["opinion", "together", "alone", "revoked", "embargo", "relay", "precedence", "apps"])
  }

  /// Every rule of the manual has a worked example, every worked example of the manual is a vector, and the other way
  /// round.
  @Test func theManualIsTrue() throws {
    let page = PackageFolder.root.appending(path: "Sources/GatewayDaemon/GatewayDaemon.docc/Normalizing.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let rules = text.components(separatedBy: "\n### ").filter { $0.split(separator: "\n")[0].hasSuffix("]") }
    #expect(rules.count == 8)
    var told: Set<String> = []
    for rule in rules {
      let name = try #require(rule.split(separator: "\n")[0].split(separator: "[").last?.dropLast())
      let examples = rule.components(separatedBy: "\n\n").filter { $0.hasPrefix("> ") }.map { block in
        block.split(separator: "\n").map { $0.dropFirst(2) }.joined(separator: " ")
      }
      #expect(!examples.isEmpty, "\(name)")
      let vectors = Self.vectors.filter { $0["manual"] != nil && $0.name.contains("/\(name)_") }
      #expect(Set(vectors.compactMap { $0["manual"] }) == Set(examples), "\(name)")
      told.formUnion(examples)
    }
    #expect(told == Set(Self.vectors.compactMap { $0["manual"] }))
  }

  @Test(arguments: vectors)
  func isDecidedSo(_ vector: Vector) throws {
    let now = try #require(vector["now"].flatMap(Instant.init))
    let policy = try PolicyFile.parse(
      "{name: vector, publishing: \(vector["policy"] ?? "{}")}", named: vector.name
    ).publishing
    let lines = String(decoding: vector.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    let batches = try lines.map { try Line($0).batch }
    // Whichever comes first.
    for claims in [claimSet(batches), claimSet(batches.reversed())] {
      var beliefs = Beliefs(of: claims, policy: policy, region: vector["region"], now: now)
      let outcome = try #require(beliefs.next()?.outcome)
      #expect(beliefs.next() == nil)
      try check(outcome, beliefs.regions, vector)
      let explanations = explain(
        TemporaryExposureKey(high: 1, low: 2), claims, policy: policy, region: vector["region"], now: now)
      #expect(explanations.count == 1 && explanations[0].lines.count == claims.count)
      let kind = vector["outcome"]?.split(separator: " ").first.map(String.init)
      #expect(PlainFold.Outcome(explanations[0].outcome, in: beliefs.regions).kind == kind)
    }
  }

  private func check(_ outcome: BeliefOutcome, _ table: RegionTable, _ vector: Vector) throws {
    switch outcome {
    case .hold(let until, _): #expect(vector["outcome"] == "held \(until)")
    case .leaveOut(let reason): #expect(vector["outcome"] == "left-out \(reason.rawValue)")
    case .publish(let key):
      #expect(vector["outcome"] == "published")
      let regions = table[key.forFederation.regions]
      for (name, said) in [("apps", key.forApps), ("gateways", key.forFederation)] {
        guard let text = vector[name] else { continue }
        let expected = try Line("DE | \(text)").key
        #expect(PlainFold.Fields(said) == PlainFold.Fields(expected), "\(name)")
      }
      if let origin = vector["origin"] { #expect(regions.origin == origin) }
      if let visited = vector["visited"] { #expect((regions.visited ?? []).joined(separator: " ") == visited) }
      if let notes = vector["notes"] {
        #expect(
          Set(PublishingNote.allCases.filter(key.notes.contains).map(\.code))
            == Set(notes.split(separator: " ").map(String.init)))
      }
    }
  }

  /// `DE | through relay a of DE IT | type SELF_REPORT | risk 1 | period 60 | visited DE FR | revised`.
  private struct Line {
    var key = ClaimedKey(key: TemporaryExposureKey(high: 1, low: 2))
    var origin: String?
    var visited: [String]?
    var sender = Sender(name: "peer")
    var document = VerifiedDocument.assertedByOperator()

    struct Fault: Error { var text: String }

    init(_ text: String) throws {
      key.rollingStart = Int32(Cases.firstDay.firstInterval.rawValue)
      key.rollingPeriod = 144
      for (index, part) in text.split(separator: "|").enumerated() {
        let words = part.split(separator: " ").map(String.init)
        if index == 0 {
          origin = words[0] == "-" ? nil : words[0]
          continue
        }
        switch (words[0], words.dropFirst().first) {
        case ("period", let value?): key.rollingPeriod = Int32(value)
        case ("risk", let value?): key.transmissionRisk = Int32(value)
        case ("onset", let value?): key.daysSinceOnset = Int32(value)
        case ("type", let value?): key.reportType = ReportType.allCases.first { $0.name == value }?.rawValue
        case ("visited", _): visited = Array(words.dropFirst())
        case ("revised", nil): key.isRevised = true
        case ("through", "relay"?):
          let carries = words.dropFirst(4)
          sender = Sender(name: words[2], isRelay: true, carries: carries.isEmpty ? nil : Set(carries))
        case ("through", "signed"?):
          sender = Sender(name: "signed", origin: words[2])
          document = VerifiedDocument(basis: .signed(by: KeyIdentity(id: "310", version: "v1", fingerprint: "0")))
        default: throw Fault(text: text)
        }
      }
    }

    var batch: AdmittedBatch {
      get throws {
        var regions = RegionTable()
        var key = key
        key.regions = regions.intern(RegionClaim(origin: origin, visited: visited)) ?? .none
        var policy = ReadingPolicy()
        policy.speaksFor = .any
        var admission = Admission(of: document, from: sender, policy: policy, now: Cases.now)
        let batch = [key].withUnsafeBufferPointer { admission.admit($0, regions: regions) }
        guard batch.claims.count == 1 else { throw Fault(text: "not admitted") }
        return batch
      }
    }
  }
}

extension PlainFold.Outcome {
  fileprivate var kind: String {
    switch self {
    case .publish: "published"
    case .hold: "held"
    case .leaveOut: "left-out"
    }
  }
}
