import ExposureKeys
import KeyConversion
import KeyFormats
import KeyIntake
import KeyNormalization
import Testing

@testable import FileCommands
@testable import KeyTool

@Suite struct NormalizingTextTests {
  private static let key = TemporaryExposureKey(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff)
  private static let now = IntervalNumber(2_678_000 + 1000).start

  /// One document that says this of the key, and nothing else.
  private static func document(_ words: String, of name: String) -> IncomingDocument {
    let text = """
      key_data,rolling_start_interval_number,rolling_period,transmission_risk_level,report_type,\
      days_since_onset_of_symptoms,revised
      \(key.hex),\(words)

      """
    let document = SourceDocument(name: "\(name).csv", source: MemorySource(Array(text.utf8)), format: .csv)
    let sender = Sender(name: name, origin: name)
    return IncomingDocument(
      Arrival(document, from: sender, vouching: .operator, at: now), policy: Policy(name: "test"))
  }

  private static var documents: [IncomingDocument] {
    [
      document("2678000,,4,CONFIRMED_TEST,2,false", of: "DE"), document("2678000,144,4,REVOKED,2,false", of: "IT"),
      document("2678000,145,4,CONFIRMED_TEST,2,false", of: "FR"),
    ]
  }

  @Test func aReceiptAddsUp() throws {
    let plan = NormalizationPlan(ConversionPlan(to: .csv), publishing: Policy(name: "test"), now: Self.now)
    let output = ConversionOutput(document: MemorySink())
    let receipt = try Normalization.run(plan, from: Self.documents, to: output, named: "out.csv")
    #expect(
      receipt.lines == [
        "received 3 = 2 new + 0 known + 1 rejected", "  rejected, rolling-period-out-of-range: 1",
        "  allowed, rolling period absent, read as 144: 1", "  allowed, origin absent, read as the source's: 2",
        "believed 1 = 1 published + 0 held + 0 left out",
        "  published, claims contradicted each other, merged field by field: 1",
        "  published, revoked by one origin, another one stands behind the key: 1",
        "published 1 = 1 written to out.csv (csv) + 0 refused by the format",
      ])
    let rejected = receipt.documents.flatMap {
      RejectionText.lines($0.intake.shownRejections, of: 22, in: $0.intake.name)
    }
    #expect(
      rejected == [
        "DE.csv: and 22 more keys rejected", "IT.csv: and 22 more keys rejected",
        "FR.csv: key 0: rolling period 145, allowed 1...144", "FR.csv: and 21 more keys rejected",
      ])
  }

  @Test func aStoryTellsAllButTheKey() throws {
    let story = try KeyStory(
      of: Self.key, in: Self.documents, publishing: Policy(name: "test").publishing, now: Self.now)
    let text = story.text
    for line in [
      "DE.csv, key 0 (source DE)\n", "  rejected by policy test, rolling-period-out-of-range: rolling period 145",
      "\ndecision about the key that is valid from 2020-12-01 05:20 UTC\n", "\nbundles\n",
    ] {
      #expect(text.contains(line), "\(line)\nis not in\n\(text)")
    }
    #expect(!text.contains(Self.key.hex))
  }
}
