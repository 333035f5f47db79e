import Foundation
import GatewayTesting

extension Contender {
  /// The same, with the threads and processes that it starts, on one core.
  func onOneCore() -> Contender {
    var contender = self
    contender.takeTurn = {
      try onFirstCore {
        let clock = ContinuousClock()
        let start = clock.now
        var turn = try takeTurn()
        turn.time = turn.time ?? clock.now - start
        return turn
      }
    }
    return contender
  }
}

/// Keeps this thread, and what it starts, on the first of its cores, for as long as `body` runs.
private func onFirstCore<Result>(_ body: () throws -> Result) throws -> Result {
  func allow(_ cores: String) throws {
    let outcome = try Tool(path: Program.taskset)
      .run(["--cpu-list", "--pid", cores, "\(ProcessInfo.processInfo.processIdentifier)"])
    guard outcome.status == 0 else { throw HarnessError(description: "taskset: \(outcome.errors)") }
  }
  let status = try String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)
  guard let usual = status.split(separator: "\n").first(where: { $0.hasPrefix("Cpus_allowed_list:") }),
    let cores = usual.split(separator: "\t").last
  else { throw HarnessError(description: "the system does not tell which cores are ours") }
  try allow(String(cores.prefix { $0.isNumber }))
  defer { try? allow(String(cores)) }
  return try body()
}
