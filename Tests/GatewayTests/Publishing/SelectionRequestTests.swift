import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyNormalization
import Synchronization
import Testing

@testable import KeyPublishing
@testable import KeyStorage

/// Series select together: beside each other, and from claims that are read once.
@Suite("Series that select together")
struct SelectionRequestTests {
  private static func series(_ name: String, _ change: (inout SeriesSettings) -> Void = { _ in }) -> SeriesSettings {
    .sample {
      $0.name = name
      change(&$0)
    }
  }

  /// Key data of which each part has some.
  private static func scattered(_ number: Int) -> TemporaryExposureKey {
    TemporaryExposureKey(high: UInt64(number) &* 0x9e37_79b9_7f4a_7c15, low: 1)
  }

  @Test("each selects what it would alone, wherever pages of claims begin", arguments: [1, 3, 7, 1000])
  func together(pageSize: Int) async throws {
    let all = [
      Self.series("NL"),
      Self.series("BE") { $0.selection = RegionSelection(include: ["BE"]) },
      Self.series("FEW") { $0.mostKeys = 4 },
      Self.series("LONG") { $0.publishing.publishing.holdMinutes = 600 },
    ]
    try await Press.run(all) { press in
      try await press.say((1...9).map { key($0) })
      _ = try await press.round(at(10))
      try await press.say((5...20).map { key($0, type: .selfReport) }, origin: "BE", visited: ["BE"], source: "other")
      try await press.say((30...40).map { key($0, age: -1) })
      let agree = try await press.base.read { state in
        let questions = all.map {
          KeySelection.Question(
            settings: $0, instant: at(14), followsRecall: true, attention: .everything,
            pauses: PauseSet([]))
        }
        let together = try KeySelection.together(questions, from: state, pageSize: pageSize)
        return try zip(all, together).map { settings, selection in
          let alone = try KeySelection(
            of: settings, from: state, at: at(14), followsRecall: true, pageSize: pageSize, limit: settings.mostKeys)
          return try selection.isSame(as: alone) && selection.counts == alone.counts
            && selection.nextRelease == alone.nextRelease && selection.again == alone.again
            && selection.firstRest == alone.firstRest && selection.counts.believed > 0
        }
      }
      #expect(agree == [true, true, true, true])
    }
  }

  @Test(
    "what is selected part by part is what is selected in one, also of what was known before",
    arguments: [1, 2, 3, 4, 16])
  func parts(count: Int) async throws {
    let all = [
      Self.series("NL"),
      Self.series("FEW") { $0.mostKeys = 7 },
      Self.series("ONE") { $0.mostKeys = 1 },
      Self.series("BE") { $0.selection = RegionSelection(include: ["BE"]) },
    ]
    try await Press.run(all) { press in
      var random = SeededRandom(for: "selections of parts \(count)")
      /// Key data of which each part has some, in several of which one stands under many starts.
      func keys(_ range: ClosedRange<Int>, type: ReportType = .confirmedTest) -> [ClaimedKey] {
        range.map { number in
          var claim = key(UInt64(number), type: type)
          claim.key = Self.scattered(number)
          if number % 3 == 0 {
            claim.rollingStart = (claim.rollingStart ?? 0) - 144 * Int32.random(in: 0...5, using: &random)
          }
          return claim
        }
      }
      try await press.say(keys(1...30, type: .selfReport))
      _ = try await press.round(at(10))
      try await press.say(keys(1...12), origin: "BE", visited: ["BE", "NL"], source: "other")
      try await press.say(keys(31...60), origin: "BE", visited: ["BE"], source: "other")
      try await press.say(keys(20...80))
      func requests() async throws -> [SelectionRequest] {
        try await press.base.read { state in
          try all.map { settings in
            let known = try SeriesState(of: settings.name, from: state)
            let window = try ExportWindow.next(
              of: settings, after: known, try state.bundles(of: settings.name, in: Set(BundleState.allCases)),
              now: at(14))
            return SelectionRequest(settings: settings, known: known, window: window, habit: .divided, program: "test")
          }
        }
      }
      let asked = try await requests()
      let (plans, alone) = try await press.base.read { state in
        let plans = try asked.map { try $0.plan(from: state) }
        return (plans, try SelectionPlan.answers(to: plans, from: state))
      }
      #expect(plans.map(\.isDivided) == all.map { _ in true })
      for isLater in [false, true] {
        if isLater { try await press.say(keys(70...99)) }
        var parts: [[KeySelection]] = []
        for part in KeyDataPart.parts(count) {
          parts.append(try await press.base.read { try SelectionPlan.selections(of: plans, within: part, from: $0) })
        }
        for (index, selection) in try KeySelection.joined(parts).enumerated() {
          let expected = alone[index].selection
          guard let selection else {
            #expect(all[index].mostKeys < 10 && count > 1)
            continue
          }
          #expect(try selection.isSame(as: expected))
          #expect(selection.counts == expected.counts && selection.counts.believed > 0)
          #expect(selection.nextRelease == expected.nextRelease && selection.again == expected.again)
          #expect(selection.firstRest == expected.firstRest && selection.recalledRest == expected.recalledRest)
          var (numbers, expectedNumbers) = ([ReleasingOrigins??](), [ReleasingOrigins??]())
          try selection.new.read { numbers.append(selection.origins[$0.number]) }
          try expected.new.read { expectedNumbers.append(expected.origins[$0.number]) }
          #expect(numbers == expectedNumbers)
        }
      }
    }
  }

  @Test("rounds that divide the work publish what others do") func rounds() async throws {
    var shown: [[String]] = []
    var published: [[Int]] = []
    for habit in [RoundMode.compared, .divided] {
      let all = [
        Self.series("NL"), Self.series("FEW") { $0.mostKeys = 9 },
        Self.series("BE") { $0.selection = RegionSelection(include: ["BE"]) },
      ]
      try await Press.run(all) { press in
        press.habit = habit
        func keys(_ range: ClosedRange<Int>, type: ReportType = .confirmedTest) -> [ClaimedKey] {
          range.map { number in
            key(UInt64(number), type: type).with { $0.key = Self.scattered(number) }
          }
        }
        try await press.say(keys(1...40, type: .selfReport))
        var counts = try await press.round(at(10)).map(\.published)
        try await press.say(keys(1...30), origin: "BE", visited: ["BE"], source: "other")
        counts += try await press.round(at(12)).map(\.published)
        _ = try await press.ledger.recalled(
          RecallRequest(origin: "NL"), by: Attribution(by: "ada"), at: at(13))
        try await press.say(keys(50...60))
        for hour in stride(from: Int64(14), to: 32, by: 2) {
          counts += try await press.round(at(hour)).map(\.published)
        }
        published.append(counts)
        shown.append(try all.flatMap { try press.increments($0.name).map { "\($0.keys)" } })
      }
    }
    #expect(published[0] == published[1] && published[0].reduce(0, +) > 100)
    #expect(shown[0] == shown[1])
  }

  @Test("all key data is in one part each") func dividing() {
    for count in 1...9 {
      let parts = KeyDataPart.parts(count)
      #expect(parts.count == count && parts[0].first == KeyDataPart.whole.first && parts.last?.end == nil)
      for (part, next) in zip(parts, parts.dropFirst()) { #expect(part.end == next.first && part.first < next.first) }
    }
  }

  @Test("what cannot be selected for one series is selected for the others")
  func fault() async throws {
    try await Press.run(["AT", "BE", "NL"].map { Self.series($0) }) { press in
      try await press.say([key(1)])
      #expect(try await press.round(at(10)).map(\.published) == [1, 1, 1])
      try await press.say([key(2)])
      // One remembers an event that is still to come: by what has changed since then it selects nothing.
      try await press.base.write(as: LedgerAuthority(.local)) { transaction in
        var state = try SeriesState(of: "BE", from: transaction)
        state.mark?.event += 100
        try transaction.setNote(Array(try JSONEncoder().encode(state)), named: StoredNote.seriesState("BE").name)
      }
      let receipts = try await press.publisher.round(now: at(12))
      #expect(receipts.map(\.fault?.code) == [nil, "selection-differs", nil])
      #expect(receipts.map(\.published) == [1, 0, 1])
    }
  }

  /// A store of which one reading fails.
  private final class FailingReads: Store {
    private let store: any Store
    private let left: Mutex<Int>
    var role: StoreRole { store.role }

    init(_ store: any Store, failing number: Int) {
      self.store = store
      left = Mutex(number)
    }

    func read<Result: Sendable>(_ body: @escaping @Sendable (any StoredState) throws -> Result) async throws -> Result {
      let isLast = left.withLock { left in
        left -= 1
        return left == 0
      }
      if isLast { throw StorageFault(.inputOutput, "the disk does not answer") }
      return try await store.read(body)
    }

    func write<Result: Sendable>(
      as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result { try await store.write(as: authority, body) }
  }

  @Test("what fails on several processors is taken by one, and told") func dividedFaults() async throws {
    var told = 0
    for number in 1...60 {
      try await Press.run(["NL", "BE"].map { Self.series($0) }) { press in
        press.habit = .divided
        try await press.say((1...20).map { number in key(UInt64(number)).with { $0.key = Self.scattered(number) } })
        press.store = FailingReads(press.base, failing: number)
        let receipts = try await press.publisher.round(now: at(10))
        guard receipts.allSatisfy({ $0.fault == nil }) else { return }
        #expect(receipts.map(\.published) == [20, 20], "\(number)")
        if receipts.contains(where: { $0.dividedFault != nil }) {
          #expect(receipts.map(\.dividedFault) == [String?](repeating: "the disk does not answer", count: 2))
          told += 1
        }
      }
    }
    // Each of the parts, and what is asked of them together.
    #expect(told >= 3)
  }

  @Test("requests are dealt among processors, each once and in their order")
  func dealing() {
    for count in 0...9 {
      for processors in 0...6 {
        let parts = SelectionRequest.dealt(Array(0..<count), among: processors)
        #expect(parts.flatMap { $0 } == Array(0..<count))
        #expect(parts.count == min(count, max(processors, 1)) && parts.allSatisfy { !$0.isEmpty })
      }
    }
  }
}
