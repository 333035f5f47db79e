import ExposureKeys
import GatewayTesting
import KeyStorage
import Testing

@testable import FileCommands
@testable import KeyNormalization
@testable import KeyReceiving
@testable import KeyTool

@Suite struct ReceivingTextTests {
  /// 2020-12-04T10:00:00Z.
  private static let now = Instant(secondsSince1970: 1_607_076_000)

  @Test func aPullThatDidNothing() {
    var receipt = PullReceipt(source: "DE")
    #expect(receipt.lines == ["DE: nothing new"])
    receipt.outcome = .paused
    #expect(receipt.lines == ["DE: paused; keyferry resume DE lets it go on"])
    receipt.outcome = .waiting(until: Self.now)
    #expect(receipt.lines == ["DE: not due before 2020-12-04T10:00:00Z"])
  }

  @Test func aPullThatDidEverything() {
    var receipt = PullReceipt(source: "DE")
    receipt.recorded = 1
    receipt.unchanged = 1200
    receipt.counts = KeyCounts(
      received: 5000, new: 1500, known: 3000, held: 400, rejections: ["rolling-start-in-future": 40, "flood": 60],
      allowances: ["origin-assumed": 7])
    receipt.notices = [DocumentFault(code: "odd", reason: "an \u{1b}[2J answer")]
    receipt.refusals = [.init(document: "a", fault: DocumentFault(code: "not-verified", reason: "no signature"))]
    receipt.failures = (1...9).map {
      .init(document: "\($0)", fault: DocumentFault(code: "status-500", reason: "\($0)"))
    }
    receipt.outcome = .failed(DocumentFault(code: "timed-out", reason: "no answer"))
    #expect(
      receipt.lines == [
        "DE: 1 document recorded, 1,200 unchanged, 1 refused",
        "  received 5,000 = 1,500 new + 3,000 known + 100 rejected + 400 held for the operator",
        "  rejected, flood: 60", "  rejected, rolling-start-in-future: 40", "  allowed, origin-assumed: 7",
        "  noticed, odd: an ?[2J answer", "  in quarantine, not-verified: no signature",
      ] + (1...8).map { "  not fetched, status-500: \($0)" } + [
        "  not fetched: 1 more", "  failed, timed-out: no answer",
      ])
  }

  @Test func theStatusOfAStore() async throws {
    let ledger = Ledger(MemoryStore())
    let then = Instant(secondsSince1970: Self.now.secondsSince1970 - 7200)
    let found = try await ledger.discovered(["a", "b"], of: "DE", at: then)
    _ = try await ledger.recorded(
      found[0].id, evidence: nil, cursor: CursorMove(of: "DE", to: "17"), at: then
    ) { _ in
      DocumentFacts(
        byteCount: 10, digest: "00", format: "csv", vouchedBy: "operator",
        counts: KeyCounts(received: 1200, new: 1000, known: 100, rejections: ["rolling-start-absent": 100]))
    }
    let fault = DocumentFault(code: "not-verified", reason: "no signature")
    try await ledger.quarantined(
      found[1].id, RefusedDocument(fault, nextAttempt: nil, content: nil), cursor: nil, at: then)
    try await ledger.attempted(SourceAttempt(time: then), source: "DE")
    try await ledger.attempted(
      SourceAttempt(
        time: Self.now, fault: DocumentFault(code: "timed-out", reason: "no answer"), nextAttempt: Self.now),
      source: "DE")
    try await ledger.paused(.origin("IT"), by: Attribution(by: "me", reason: "a test"), at: then)
    let report = try await ledger.read { try StatusReport($0, settings: [], now: Self.now) }
    #expect(
      report.lines(series: []) == [
        "DE (not in the configuration)",
        "  state         failing",
        "  last success  2020-12-04T08:00:00Z, 2 h ago",
        "  fault         timed-out: no answer (1 failure in a row)",
        "  next pull     due",
        "  cursor        17",
        "  documents     1 recorded, 1 quarantined",
        "  keys          received 1,200 = 1,000 new + 100 known + 100 rejected",
        "                rejected, rolling-start-absent: 100",
        "  quarantine    b: not-verified",
        "",
        "origin IT paused since 2020-12-04T08:00:00Z: a test",
        "0 claims in the store",
        "0 bytes of 0 documents kept as evidence or in quarantine",
      ])

    // While it is paused, nobody asks it.
    try await ledger.paused(.source("DE"), by: Attribution(by: "me"), at: Self.now)
    let paused = try await ledger.read { try StatusReport($0, settings: [], now: Self.now) }
    #expect(paused.lines(series: []).contains("  state         paused"))
    #expect(!paused.lines(series: []).contains { $0.contains("next pull") })
    #expect(paused.sources.first?.record.nextAttempt == Self.now && paused.sources.first?.nextAttempt == nil)
  }

  @Test(
    arguments: [
      (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (172_799, "47 h"), (172_800, "2 d"),
    ] as [(Int64, String)])
  func spansOfTime(_ seconds: Int64, _ text: String) { #expect(DurationText.text(seconds) == text) }
}
