import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyNormalization
import Testing

@testable import KeyPublishing
@testable import KeyStorage

/// Which keys a round looks at. That it selects the same as a look at everything is what every other test of publishing says:
/// their rounds compare both.
@Suite("Rounds that look at changes alone")
struct AttentionTests {
  private static let word = Attribution(by: "ada")

  /// A series that has released five keys and looks at changes wherever that is allowed.
  private func withPress(
    _ settings: SeriesSettings = .sample(), _ body: (inout Press) async throws -> Void
  ) async throws {
    try await Press.run(settings) { press in
      press.habit = .always
      try await press.say((1...5).map { key($0) })
      let first = try await press.round(at(10))[0]
      #expect(!first.looksAtChanges && first.believed == 5)
      try await body(&press)
    }
  }

  @Test("what came since the last round is looked at, and nothing else")
  func changes() async throws {
    try await withPress { press in
      let idle = try await press.round(at(12))[0]
      #expect(idle.looksAtChanges && idle.believed == 0 && idle.bundles == [])
      try await press.say([key(6)])
      let receipt = try await press.round(at(14))[0]
      #expect(receipt.looksAtChanges && receipt.believed == 1 && receipt.published == 1)
      try await press.say([key(1, type: .selfReport), key(7)], origin: "DE", visited: ["NL"], source: "other")
      let third = try await press.round(at(16))[0]
      #expect(third.believed == 2 && third.published == 1 && third.alreadyReleased == 1)
      #expect(try press.increments("NL").map(\.keys.count) == [5, 1, 1])
    }
  }

  @Test("a key whose time has come is looked at, though nobody says anything of it")
  func time() async throws {
    try await withPress { press in
      // One is valid until ten, one until the next midnight, and each is held for two hours more.
      try await press.say([key(6, age: -1), key(7, age: -1, period: 60)])
      #expect(try await press.round(at(11))[0].published == 0)
      let short = try await press.round(at(14))[0]
      #expect(short.looksAtChanges && short.published == 1)
      for hour in [Int64(16), 22, 24] { #expect(try await press.round(at(hour))[0].published == 0) }
      let receipt = try await press.round(at(26))[0]
      #expect(receipt.looksAtChanges && receipt.published == 1)
      #expect(try press.increments("NL").map(\.keys.count) == [5, 1, 1])
    }
  }

  @Test("short periods that are published as whole days are looked at when these are over")
  func shortPeriods() async throws {
    let settings = SeriesSettings.sample { $0.publishing.publishing.expandsShortPeriods = true }
    try await withPress(settings) { press in
      try await press.say([key(6, age: -1, period: 6)])
      for hour in [Int64(12), 14, 22] { #expect(try await press.round(at(hour))[0].published == 0) }
      let receipt = try await press.round(at(26))[0]
      #expect(receipt.looksAtChanges && receipt.published == 1)
    }
  }

  @Test("keys that were too few, or too many, are looked at again until they have gone out")
  func waiting() async throws {
    try await withPress(.sample { $0.minimumKeys = 3 }) { press in
      try await press.say([key(6)])
      #expect(try await press.round(at(12))[0].waiting == 1)
      try await press.say([key(7)])
      let second = try await press.round(at(14))[0]
      #expect(second.looksAtChanges && second.waiting == 2 && second.published == 0)
      try await press.say([key(8)])
      #expect(try await press.round(at(16))[0].published == 3)
    }
    try await Press.run(.sample { $0.mostKeys = 2 }) { press in
      press.habit = .always
      try await press.say((1...5).map { key($0) })
      #expect(try await press.round(at(10))[0].published == 2)
      try await press.say([key(9)])
      let receipts = [try await press.round(at(12))[0], try await press.round(at(14))[0]]
      #expect(receipts.map(\.published) == [2, 2] && receipts.allSatisfy(\.looksAtChanges))
      #expect(try await press.round(at(16))[0].published == 0)
      #expect(Set(try press.increments("NL").flatMap(\.keys).map(\.key)).count == 6)
    }
  }

  @Test("everything is looked at when something else than claims has changed, and after a day")
  func everything() async throws {
    func isWhole(_ press: Press, _ hour: Int64, _ comment: Comment) async throws {
      let receipt = try await press.round(at(hour))[0]
      #expect(!receipt.looksAtChanges && receipt.believed == 5, comment)
      #expect(try await press.round(at(hour + 2))[0].looksAtChanges, comment)
    }
    try await withPress { press in
      try await press.ledger.paused(.source("nobody"), by: Self.word, at: at(11))
      try await isWhole(press, 12, "a pause")
      _ = try await press.ledger.resumed(.source("nobody"), by: Self.word, at: at(15))
      try await isWhole(press, 16, "the end of a pause")
      press.series[0].publishing.publishing.holdMinutes = 180
      try await isWhole(press, 20, "a policy")
      press.series[0].selection.exclude = ["BE"]
      try await isWhole(press, 24, "a selection")
      try await isWhole(press, 48, "a day")
      press.habit = .usual
      try await press.say([key(6)])
      #expect(try await press.round(at(52))[0].believed == 6, "a small store")
    }
    try await withPress { press in
      _ = try await press.ledger.recalled(RecallRequest(origin: "NL"), by: Self.word, at: at(11))
      #expect(try await !press.round(at(12))[0].looksAtChanges)
    }
  }

  @Test("what a preview would look at is compared with everything")
  func preview() async throws {
    try await withPress { press in
      try await press.say([key(6)])
      let preview = try await press.publisher.preview(series: "NL", now: at(12), compares: true)
      #expect(preview.comparison?.lookedAt == 1 && preview.comparison?.agrees == true && preview.believed == 6)
      #expect(try await press.publisher.preview(series: "NL", now: at(12)).comparison == nil)
      // A store whose agenda has lost a key.
      try await press.base.write(as: LedgerAuthority(.local)) { transaction in
        let mark = try #require(try SeriesState(of: "NL", from: transaction).mark)
        try transaction.sweepAgenda(
          to: AgendaFloor(event: EventID(rawValue: mark.event + 9), hour: 0))
      }
      let lost = try await press.publisher.preview(series: "NL", now: at(12), compares: true)
      // What was forgotten is not taken for nothing.
      #expect(lost.comparison?.lookedAt == nil && lost.comparison?.agrees == true)
    }
  }

  @Test("the digest of what decides is the same for the same, and another for anything else")
  func rules() throws {
    let pauses = PauseSet(sources: ["b", "a"], origins: [])
    func digest(_ program: String = "x", _ change: (inout SeriesSettings) -> Void = { _ in }) -> String {
      SeriesSettings.sample("NL", include: ["NL", "BE", "DE", "FR"], change).rules(
        at: at(1), pauses, program: program)
    }
    let usual = digest()
    #expect(digest() == usual && usual.count == 64)
    let others = [
      digest("y"), digest { $0.publishing.publishing.maximumAgeDays = 13 },
      digest { $0.publishing.publishing.reportTypes[.selfReport] = .leaveOut },
      digest { $0.publishing.publishing.risk.cap = 7 }, digest { $0.publishing.publishing.precedence = ["DE"] },
      digest { $0.publishing.publishing.withheldFromApps = [.onset] },
      digest { $0.publishing.publishing.daysSinceOnsetByClass = [SymptomClass(nil): .none] },
      digest { $0.selection.include = ["NL"] }, digest { $0.selection.travellersOnly = true },
      digest { $0.selection.origins = ["NL"] }, digest { $0.minimumKeys = 9 }, digest { $0.mostKeys = 9 },
      SeriesSettings.sample("NL", include: ["NL", "BE", "DE", "FR"]).rules(
        at: at(1), PauseSet(sources: ["a"], origins: ["b"]), program: "x"),
    ]
    #expect(Set(others + [usual]).count == others.count + 1)
    // Sets and dictionaries have no order of their own.
    let types = Dictionary(uniqueKeysWithValues: ReportType.allCases.reversed().map { ($0, 1) })
    let again = Dictionary(uniqueKeysWithValues: ReportType.allCases.map { ($0, 1) })
    #expect(CanonicalText.of(types) == CanonicalText.of(again))
    #expect(CanonicalText.of(Set(0..<50)) == CanonicalText.of(Set((0..<50).reversed())))
  }
}
