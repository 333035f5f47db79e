import ExposureKeys
import Foundation
import GatewayTesting
import KeyNormalization
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
          KeySelection.Question(settings: $0, instant: at(14), followsRecall: true, attention: .everything)
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
