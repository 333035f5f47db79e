import KeyStorage
import Synchronization
import Testing

@testable import KeyTool

/// Who waits for a store of an earlier version is told how far it is.
@Suite("Opening a store of an earlier version")
struct OpeningReportTests {
  private final class Ear: Sendable {
    let lines = Mutex<[String]>([])
    let drawn = Mutex<[String]>([])
    let time = Mutex(100.0)

    func report(isTerminal: Bool) -> OpeningReport {
      OpeningReport(
        isTerminal: isTerminal, manager: nil, now: { self.time.withLock { $0 } },
        note: { line in self.lines.withLock { $0.append(line) } },
        draw: { line in self.drawn.withLock { $0.append(line) } })
    }
  }

  @Test func aLogHasALineAtMostEveryFiveSeconds() {
    let ear = Ear()
    let report = ear.report(isTerminal: false)
    for second in 0..<12 {
      report.tell(OpeningStep(.moving, done: second * 1_000_000, of: 12_500_000))
      ear.time.withLock { $0 += 1 }
    }
    #expect(
      ear.lines.withLock { $0 } == [
        "the store of an earlier version is opened: claims moved: 0 of 12,500,000",
        "the store of an earlier version is opened: claims moved: 5,000,000 of 12,500,000",
        "the store of an earlier version is opened: claims moved: 10,000,000 of 12,500,000",
      ])
    #expect(ear.drawn.withLock { $0.isEmpty })
  }

  @Test func aTerminalHasABarThatGoes() {
    let ear = Ear()
    let report = ear.report(isTerminal: true)
    report.tell(OpeningStep(.moving, done: 6, of: 12))
    report.tell(OpeningStep(.moving, done: 12, of: 12))
    let drawn = ear.drawn.withLock { $0 }
    #expect(drawn.count == 2 && drawn[0].hasSuffix("claims moved [###############               ]  50%"))
    #expect(drawn[1] == "\r\u{1b}[K" && ear.lines.withLock { $0.isEmpty })
  }

  @Test func whatIsDoneAtOnceSaysNothing() {
    for isTerminal in [true, false] {
      let ear = Ear()
      ear.report(isTerminal: isTerminal).tell(OpeningStep(.noting, done: 12, of: 12))
      #expect(ear.drawn.withLock { $0.isEmpty } && ear.lines.withLock { $0.isEmpty })
    }
  }
}
