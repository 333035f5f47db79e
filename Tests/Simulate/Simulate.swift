import ArgumentParser
import Foundation
import GatewaySimulation

/// The seeds of one run: `17`, or `1..10000` with both ends.
struct SeedRange: ExpressibleByArgument {
  let seeds: ClosedRange<UInt64>

  init?(argument: String) {
    let ends = argument.split(separator: "..", omittingEmptySubsequences: false).map { UInt64($0) }
    guard let first = ends[0], ends.count <= 2, let last = ends[ends.count - 1], first <= last, last < .max else {
      return nil
    }
    seeds = first...last
  }
}

@main
struct Simulate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run a gateway with everything around it, once for each seed.",
    discussion: """
      In one process there are a gateway, other countries' servers, apps, a disk and a clock. Things go wrong as the seed says: \
      processes are killed, clocks are set, stores and folders are lost, servers lie. Then all is well again for some days, \
      and every app must have every key, or the gateway says why not.

      A line says each seed that failed, which law broke, and how to replay it. The last line has the counts.
      Exit status: 0 every law held; 1 a seed failed; 2 the simulation could not run; 64 usage.
      """)

  @Option(help: ArgumentHelp("One seed, or the first and the last.", valueName: "FROM..TO"))
  var seeds: SeedRange

  @Option(help: "Turns of trouble in each seed, 0...10000. Another number makes another history.")
  var steps = SeedRun.usualSteps

  @Option(help: "Seeds that run at once, each in a process, 1...256.")
  var jobs = 1

  @Option(help: "Seconds after which a seed that does not end has failed, 1...86400.")
  var patience = 300

  @Flag(help: "Print what happens in each seed.")
  var history = false

  /// Reads seeds from standard input, a line each, and answers each with a line of JSON.
  @Flag(help: .hidden)
  var worker = false

  func validate() throws {
    func check(_ value: Int, _ name: String, _ allowed: ClosedRange<Int>) throws {
      guard !allowed.contains(value) else { return }
      throw ValidationError("--\(name): \(value), allowed \(allowed.lowerBound)...\(allowed.upperBound)")
    }
    try check(steps, "steps", 0...10_000)
    try check(jobs, "jobs", 1...256)
    try check(patience, "patience", 1...86_400)
  }

  func run() async throws {
    guard !worker else { return try await work() }
    let tally = Tally(seeds.seeds, steps: steps, printsHistory: history)
    let start = ContinuousClock.now
    DispatchQueue.concurrentPerform(iterations: jobs) { _ in
      var process: SeedProcess?
      while let seed = tally.next() {
        do {
          let used = try process ?? SeedProcess(steps: steps)
          process = used
          switch used.run(seed, patience: patience) {
          case .done(let run): tally.take(run)
          case .ended(let why):
            tally.take(failed: seed, because: why)
            process = nil
          }
        } catch {
          tally.stop("no process for seed \(seed): \(error)")
        }
      }
      process?.end()
    }
    let elapsed = ContinuousClock.now - start
    let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
    if let status = tally.close(after: seconds) { throw ExitCode(status) }
  }

  private func work() async throws {
    while let line = readLine() {
      guard let seed = UInt64(line) else { throw ValidationError("seed \(line)") }
      var answer = try JSONEncoder().encode(await SeedRun.of(seed: seed, steps: steps))
      answer.append(UInt8(ascii: "\n"))
      try FileHandle.standardOutput.write(contentsOf: answer)
    }
  }
}
