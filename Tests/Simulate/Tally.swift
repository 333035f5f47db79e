import Foundation
import GatewaySimulation
import Synchronization

/// Which seed is next, and what came of those before. The threads of all processes share it.
final class Tally: Sendable {
  private struct State {
    var next: UInt64
    var done = 0
    var failed: [UInt64] = []
    var excuses: [String: Int] = [:]
    var fault: String?
  }

  private let seeds: ClosedRange<UInt64>
  private let steps: Int
  private let printsHistory: Bool
  private let state: Mutex<State>

  init(_ seeds: ClosedRange<UInt64>, steps: Int, printsHistory: Bool) {
    self.seeds = seeds
    self.steps = steps
    self.printsHistory = printsHistory
    state = Mutex(State(next: seeds.lowerBound))
  }

  /// `nil` when all were given out.
  func next() -> UInt64? {
    state.withLock { state in
      guard state.fault == nil, state.next <= seeds.upperBound else { return nil }
      defer { state.next += 1 }
      return state.next
    }
  }

  func take(_ run: SeedRun) { take(run.seed, run.broken, run.history, run.excuses) }

  /// Nobody knows what happened in it.
  func take(failed seed: UInt64, because reason: String) { take(seed, [reason], [], [:]) }

  private func take(_ seed: UInt64, _ broken: [String], _ history: [String], _ excuses: [String: Int]) {
    state.withLock { state in
      state.done += 1
      state.excuses.merge(excuses, uniquingKeysWith: +)
      var text = printsHistory ? history.map { $0 + "\n" }.joined() : ""
      if let first = broken.first {
        state.failed.append(seed)
        let stepsOption = steps == SeedRun.usualSteps ? "" : " --steps \(steps)"
        let laws = printsHistory ? broken.joined(separator: "\n  ") : first
        let more = printsHistory || broken.count == 1 ? "" : " (and \(broken.count - 1) more)"
        text += "seed \(seed): \(laws)\(more); replay: simulate --seeds \(seed)\(stepsOption) --history\n"
      }
      Self.write(text)
    }
  }

  /// No further seed is begun.
  func stop(_ reason: String) { state.withLock { $0.fault = $0.fault ?? reason } }

  /// The closing line.
  ///
  /// - Returns: the exit status, where it is not 0.
  func close(after seconds: Double) -> Int32? {
    state.withLock { state in
      if let fault = state.fault {
        FileHandle.standardError.write(Data("simulate: \(fault)\n".utf8))
        return 2
      }
      let failed = state.failed.sorted().map { String($0) }.joined(separator: ", ")
      let excuses = state.excuses.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
      let rate = (Double(state.done) / max(seconds, 0.001) * 100).rounded() / 100
      Self.write(
        """
        simulate: \(state.done) seeds from \(seeds.lowerBound), \(state.failed.count) failed\
        \(failed.isEmpty ? "" : " (\(failed))"); \(Int(seconds.rounded())) s, \(rate) seeds a second; \
        keys that the gateway explains: \(excuses.isEmpty ? "none" : excuses)

        """)
      return state.failed.isEmpty ? nil : 1
    }
  }

  private static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
