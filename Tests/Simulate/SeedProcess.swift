import Foundation
import GatewaySimulation

/// This program once more, which runs the seeds that it is told: one that traps or hangs takes no other with it.
///
/// One thread uses it.
final class SeedProcess {
  enum Outcome {
    case done(SeedRun)
    /// The process is gone, and why.
    case ended(String)
  }

  private let process = Process()
  private let seeds = Pipe()
  private let answers = Pipe()
  private var buffer = Data()

  init(steps: Int) throws {
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["--worker", "--seeds", "0", "--steps", "\(steps)"]
    process.standardInput = seeds
    process.standardOutput = answers
    try process.run()
    // Otherwise the end of the other side would never be seen.
    try seeds.fileHandleForReading.close()
    try answers.fileHandleForWriting.close()
  }

  func run(_ seed: UInt64, patience: Int) -> Outcome {
    do {
      try seeds.fileHandleForWriting.write(contentsOf: Data("\(seed)\n".utf8))
      let deadline = ContinuousClock.now + .seconds(patience)
      while ContinuousClock.now < deadline {
        var asked = pollfd(fd: answers.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&asked, 1, 500) > 0 else { continue }
        let bytes = answers.fileHandleForReading.availableData
        guard !bytes.isEmpty else { return .ended(lastWord()) }
        buffer += bytes
        // An answer is one line, and there is one for each seed.
        guard buffer.last == UInt8(ascii: "\n") else { continue }
        defer { buffer = Data() }
        return .done(try JSONDecoder().decode(SeedRun.self, from: buffer))
      }
    } catch {
      kill(process.processIdentifier, SIGKILL)
      return .ended("\(lastWord()): \(error)")
    }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    return .ended("it does not end within \(patience) seconds")
  }

  func end() {
    try? seeds.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  private func lastWord() -> String {
    process.waitUntilExit()
    return process.terminationReason == .uncaughtSignal
      ? "the process ends by signal \(process.terminationStatus)"
      : "the process ends with status \(process.terminationStatus)"
  }
}
