import BundleTrust
import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage
import Testing

@testable import FileCommands
@testable import KeyPublishing
@testable import KeyTool

@Suite struct PublishingTextTests {
  /// 2020-12-04T10:00:00Z.
  private static let now = Instant(secondsSince1970: 1_607_076_000)

  @Test func aRoundThatDidEverything() {
    var receipt = SeriesReceipt(series: "NL", now: Self.now)
    #expect(receipt.lines == [])
    receipt.window = ExportWindow(over: Self.now, period: 7200)
    receipt.believed = 2100
    (receipt.published, receipt.revised, receipt.alreadyReleased) = (2000, 10, 20)
    receipt.holds = ["still-valid": 30]
    receipt.omissions = ["other-region": 30, "too-old": 5]
    receipt.nextRelease = Self.now
    #expect(
      receipt.lines == [
        "NL: believed 2,100 = 2,000 published + 10 revised + 20 already released + 30 held + 35 left out",
        "  held, still-valid: 30, the first until 2020-12-04T10:00:00Z", "  left out, other-region: 30",
        "  left out, too-old: 5",
      ])
    (receipt.paused, receipt.waiting) = (3, 2)
    (receipt.lookalikes, receipt.recalled, receipt.notRevocable) = (7, 8, 9)
    receipt.bundles = [
      .init(kind: "increment", path: "NL/1.zip", keys: 2000, revisedKeys: 0, bytes: 12_345, exportSHA256: ""),
      .init(kind: "day", path: "NL/2.zip", keys: 1, revisedKeys: 1, bytes: 99, exportSHA256: ""),
    ]
    (receipt.signedAgain, receipt.expired, receipt.removed) = (1, 2, 3)
    receipt.warn(PublishingWarning(.fileMissing, "NL/0.zip is gone"))
    receipt.fault = PublishingFault(.diskFull, "no space")
    #expect(
      receipt.lines == [
        "NL: believed 2,100 = 2,000 published + 10 revised + 20 already released + 30 held + 35 left out + 3 paused"
          + " + 2 waiting",
        "  held, still-valid: 30, the first until 2020-12-04T10:00:00Z", "  left out, other-region: 30",
        "  left out, too-old: 5", "  look-alikes added: 7", "  recalled and revoked: 8",
        "  recalled, but devices do not let go of their report type: 9", "NL/1.zip: 2,000 keys, 12,345 bytes",
        "NL/2.zip: 1 key and 1 revised key, 99 bytes", "NL: 1 bundle signed again by the new key",
        "NL: 2 bundles no longer listed", "NL: 3 bundles removed", "NL: warning: NL/0.zip is gone", "NL: no space",
      ])
  }

  @Test func thePreviewOfAWindow() async throws {
    let store = MemoryStore()
    try await Self.say(age: [1, 2, 0, 30], in: Ledger(store))
    var settings = SeriesSettings(
      name: "NL", title: "The Netherlands", selection: RegionSelection(), publishing: Policy(name: "test"),
      identities: [], minimumKeys: 3)
    let due = ExportWindow(over: Self.now, period: 7200)
    func preview(_ window: ExportWindow, lookalikes: Int) async throws -> [String] {
      let (series, now) = (settings, Self.now)
      return try await store.read { state in
        let selection = try KeySelection(of: series, from: state, at: window.instant, followsRecall: false)
        return try SeriesPreview(series, window, selection, lookalikes: lookalikes, now: now)
      }.lines
    }
    let believed = [
      "believed 4 = 2 new + 0 revised + 0 already released + 1 held + 1 left out + 0 paused"
    ]
    let rest = [
      "  new, in use on 2020-12-01: 1", "  new, in use on 2020-12-02: 1", "  new, CONFIRMED_TEST: 2",
      "  held, still-valid: 1, the first until 2020-12-05T02:00:00Z", "  left out, too-old: 1",
      "warning: the last signing key of series NL ends at 2020-12-04T10:00:00Z; without another one nothing is "
        + "published",
    ]
    let heading = "NL (The Netherlands): the window from 2020-12-04T08:00:00Z to 2020-12-04T10:00:00Z is due"
    #expect(
      try await preview(due, lookalikes: 0)
        == [heading] + believed + ["  too few for a bundle of at least 3: they wait for the next window"] + rest)
    #expect(try await preview(due, lookalikes: 1) == [heading] + believed + ["  1 look-alike added"] + rest)
    settings.title = "NL"
    #expect(
      try await preview(due.next(period: 7200), lookalikes: 0)[0]
        == "NL: the window from 2020-12-04T10:00:00Z to 2020-12-04T12:00:00Z is not over yet, nothing is due until 2020-12-04T12:00:00Z"
    )
  }

  /// Confirmed keys of the days before the first instant of the day.
  private static func say(age days: [Int32], in ledger: Ledger) async throws {
    let document = try await ledger.discovered(["a"], of: "peer", at: now)[0]
    let today = Int32(now.day.daysSince1970) * 144
    let keys = days.enumerated().map { index, age in
      var key = SampleBundle.key(UInt64(index))
      key.rollingStart = today - age * 144 - (age == 0 ? 0 : 144)
      return key
    }
    _ = try await ledger.recorded(document.id, evidence: nil, cursor: nil, at: now) { recorder in
      var admission = Admission(
        of: .assertedByOperator(), from: Sender(name: "peer"), policy: ReadingPolicy(), now: now)
      _ = try recorder.record(keys.withUnsafeBufferPointer { admission.admit($0, regions: RegionTable()) })
      return DocumentFacts(byteCount: 0, digest: "", format: "test", vouchedBy: "operator")
    }
  }
}
