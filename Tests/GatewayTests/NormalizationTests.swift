import ExposureKeys
import Foundation
import GatewayTesting
import KeyConversion
import KeyFormats
import KeyIntake
import KeyNormalization
import PolicyFiles
import Testing

/// Normalizes in memory.
private struct Normalized {
  let bytes: [UInt8]
  let receipt: NormalizationReceipt
  let rejected: [RejectedKey]

  init(
    _ inputs: [IncomingDocument], to format: KeyFormat = .csv, publishing: Policy = Policy(name: "default"),
    region: String? = nil, now: Instant = RandomKeys.usualDay.start
  ) throws {
    let sink = MemorySink()
    var rejected: [RejectedKey] = []
    receipt = try Normalization.run(
      NormalizationPlan(ConversionPlan(to: format), publishing: publishing, region: region, now: now), from: inputs,
      to: ConversionOutput(document: sink), named: "out", report: { rejected.append($0) })
    bytes = sink.bytes
    self.rejected = rejected
  }

  /// An empty batch is an empty file, so the format is not guessed.
  var source: SourceDocument { memory(bytes, format: receipt.target.format) }
  var keys: Document {
    get throws { try read(source) }
  }
}

private func incoming(
  _ document: SourceDocument, _ name: String, _ policy: Policy = Policy(name: "default"), origin: String? = nil,
  isRelay: Bool = false, now: Instant = RandomKeys.usualDay.start
) -> IncomingDocument {
  let sender = Sender(name: name, isRelay: isRelay, origin: origin)
  return IncomingDocument(
    Arrival(document, from: sender, vouching: .operator, at: now), policy: policy)
}

@Suite struct NormalizationTests {
  static let policies: [Policy] = ShippedPolicies.names.compactMap { try? ShippedPolicies.policy(named: $0) }

  /// Several documents that share some of their keys, each with a policy of its own.
  private static func inputs(using random: inout SeededRandom) throws -> [IncomingDocument] {
    var shared: [ClaimedKey] = []
    return try (0..<Int.random(in: 1...4, using: &random)).map { number in
      let keys = RandomKeys(random.pick(RandomKeys.Style.allCases), statesRegions: random.once(in: 2))
      var document = keys.document(Int.random(in: 0...120, using: &random), using: &random)
      for var claim in shared.shuffled(using: &random).prefix(20) {
        claim.regions = .none
        claim.transmissionRisk = .random(in: 0...8, using: &random)
        document.keys.append(claim)
      }
      shared += document.keys.prefix(20)
      return incoming(
        memory(try document.csv(), name: "\(number)"), random.pick(["a", "b", "\(number)"]), random.pick(policies),
        origin: random.pick([nil, "DE", "IT"]), isRelay: random.once(in: 4))
    }
  }

  @Test func receiptsAddUp() throws {
    #expect(Self.policies.count == ShippedPolicies.names.count)
    var random = SeededRandom(for: "receipts of normalization")
    for _ in 0..<60 {
      let inputs = try Self.inputs(using: &random)
      let format = random.pick([KeyFormat.csv, .json, .efgsJSON, .efgsProtobuf, .gaenExport, .publishJSON])
      let result = try Normalized(
        inputs, to: format, publishing: random.pick(Self.policies), region: random.pick([nil, "DE", "NL"]))
      let receipt = result.receipt
      #expect(receipt.isBalanced)
      for (input, document) in zip(inputs, receipt.documents) {
        let sent = try read(try #require(input.arrival.document))
        #expect(document.counts.received == sent.keys.count + sent.rejections.count)
        #expect(document.counts.isBalanced)
      }
      #expect(result.rejected.count == receipt.counts.rejected + receipt.target.refused)
      for (reason, count) in receipt.counts.rejections {
        #expect(result.rejected.count { $0.step != .write && $0.reason == reason } == count)
      }
      #expect(try result.keys.keys.count == receipt.target.written)
    }
  }

  @Test func theOrderOfDocumentsMakesNoDifference() throws {
    var random = SeededRandom(for: "order of documents")
    for _ in 0..<20 {
      let inputs = try Self.inputs(using: &random)
      let policy = random.pick(Self.policies)
      let result = try Normalized(inputs, publishing: policy)
      let shuffled = try Normalized(inputs.shuffled(using: &random), publishing: policy)
      #expect(result.bytes == shuffled.bytes)
      #expect(result.receipt.belief == shuffled.receipt.belief)
    }
  }

  @Test(arguments: [KeyFormat.csv, .json])
  func whatIsBelievedIsBelievedAgain(format: KeyFormat) throws {
    var random = SeededRandom(for: "normalizing twice")
    for _ in 0..<20 {
      let first = try Normalized(try Self.inputs(using: &random), to: format)
      let again = try Normalized([incoming(first.source, "self")], to: format)
      #expect(again.bytes == first.bytes)
      #expect(again.receipt.counts.new == first.receipt.belief.published)
      #expect(again.receipt.belief.published == first.receipt.belief.published)
    }
  }

  @Test func conflictingRegionsBecomeOneKey() throws {
    var random = SeededRandom(for: "two regions")
    var german = RandomKeys(.plausible).document(200, using: &random)
    var italian = german
    for index in italian.keys.indices {
      german.keys[index].transmissionRisk = 3
      italian.keys[index].transmissionRisk = 5
      // The same key data under another rolling start is another key.
      if index % 10 == 0 { italian.keys[index].rollingStartWord -= 144 }
    }
    let result = try Normalized([
      incoming(memory(try german.csv()), "DE", origin: "DE"), incoming(memory(try italian.csv()), "IT", origin: "IT"),
    ])
    #expect(result.receipt.counts.new == 400 && result.receipt.belief.believed == 220)
    let keys = try result.keys.keys
    let subjects = Set(keys.map { KeySubject(key: $0.key, rollingStart: $0.rollingStartWord) })
    #expect(subjects.count == keys.count && keys.count == result.receipt.belief.published)
    let twice = Set(german.keys.map(\.key)).subtracting(
      german.keys.enumerated().filter { $0.offset % 10 == 0 }.map(\.element.key))
    for key in keys where twice.contains(key.key) { #expect(key.transmissionRisk == 5) }
  }

  @Test func aRelaysKeysHaveNoOrigin() throws {
    var random = SeededRandom(seed: 3)
    let csv = try RandomKeys(.plausible, statesRegions: true).document(20, using: &random).csv()
    let result = try Normalized([incoming(memory(csv), "relay", isRelay: true)])
    #expect(result.receipt.counts.allowances[Allowance.originLost.code] == 20)
    let document = try result.keys
    #expect(!document.keys.isEmpty)
    for key in document.keys { #expect(document.regions[key.regions].origin == nil) }
  }

  /// Apps know exact onsets alone, gateways all classes.
  @Test func symptomClassesStayAmongGateways() throws {
    var random = SeededRandom(seed: 4)
    var document = RandomKeys(.plausible).document(10, using: &random)
    for index in document.keys.indices {
      document.keys[index].daysSinceOnset = 4000
      document.keys[index].isRevised = false
      document.keys[index].reportType = 1
    }
    let input = incoming(memory(try document.csv()), "DE", origin: "DE")
    let batch = try Normalized([input], to: .efgsProtobuf)
    #expect(try batch.keys.keys.allSatisfy { $0.daysSinceOnset == 4000 })
    let bundle = try Normalized([input], to: .gaenExport)
    #expect(bundle.receipt.target.losses.isEmpty)
    #expect(try bundle.keys.keys.allSatisfy { $0.daysSinceOnset == nil })
  }

  @Test func theStoryOfAKey() throws {
    let key = TemporaryExposureKey(high: 1, low: 2)
    func document(_ reportType: Int32, period: Int32?) throws -> SourceDocument {
      var claim = ClaimedKey(key: key)
      claim.rollingStart = 2_678_000
      claim.rollingPeriod = period
      claim.reportType = reportType
      var other = claim
      other.key = TemporaryExposureKey(high: 3, low: 4)
      return memory(try Document(keys: [other, claim]).csv())
    }
    let now = IntervalNumber(2_678_000 + 1000).start
    let documents = [
      incoming(try document(1, period: nil), "DE", origin: "DE", now: now),
      incoming(try document(5, period: 144), "IT", origin: "IT", now: now),
      incoming(try document(1, period: 145), "FR", origin: "FR", now: now),
    ]
    let story = try KeyStory(of: key, in: documents, publishing: PublishingPolicy(), now: now)
    #expect(story.mentions.map(\.position) == [1, 1, 1])
    #expect(story.mentions[0].allowances == [.rollingPeriodAbsent, .originAssumed])
    guard case .rejected(.rollingPeriodOutOfRange, let detail) = story.mentions[2].reading else {
      Issue.record("145 was admitted")
      return
    }
    #expect(detail == "rolling period 145, allowed 1...144")
    #expect(story.explanations.count == 1)
    #expect(
      Set(story.explanations[0].lines.map(\.standing)) == [
        .gives([.reportType, .rollingPeriod, .regions]), .revocationOutvoted,
      ])
    #expect(story.deliveries.map(\.region) == ["DE", "IT", nil])
    let unknown = TemporaryExposureKey(high: 5, low: 6)
    let nothing = try KeyStory(of: unknown, in: documents, publishing: PublishingPolicy(), now: now)
    #expect(nothing.mentions.isEmpty && nothing.explanations.isEmpty && nothing.deliveries.isEmpty)
  }

  @Test(.enabled(if: RealData.isPresent, "\(RealData.howToEnable)"))
  func realFiles() throws {
    let folder = try #require(RealData.folder)
    var filesWithKeys = 0
    for path in RealData.files(endingWith: ["zip", "bin", "json", "pb", "textproto"]) {
      let document = try SourceDocument(path: folder.appending(path: path).path())
      do {
        // A day after the last of its keys has expired.
        let last = try read(document).keys.compactMap(\.rollingStart).filter { $0 < 3_000_000 }.max() ?? 2_678_000
        let now = IntervalNumber(Int64(last) + 288).start
        for name in ["default", "efgs", "google-key-server"] {
          let policy = try #require(try ShippedPolicies.policy(named: name))
          let result = try Normalized([incoming(document, path, policy, now: now)], publishing: policy, now: now)
          #expect(result.receipt.isBalanced, "\(path)")
          if name == "default", result.receipt.counts.received > 0 {
            filesWithKeys += 1
            print("\(path): \(result.receipt.counts.received) keys, \(result.receipt.target.written) written")
          }
        }
      } catch is FormatError {
        continue
      }
    }
    #expect(filesWithKeys >= 10)
  }
}

extension Arrival {
  fileprivate var document: SourceDocument? {
    if case .document(let document) = content { document } else { nil }
  }
}
