import Foundation

/// A program of its own that reads its input once, and then does its work each time it is told to.
///
/// It gets a line for each turn and answers with how much it handled, the nanoseconds by its own clock, and, if it knows,
/// the bytes of memory that it held at most. It starts with its first turn and ends with the last reference to it.
final class TurnTaker {
  private let process = Process()
  private let orders = Pipe()
  private let answers = Pipe()
  private var hasStarted = false
  /// The folder of its input, which is to stay.
  private let folder: ScratchFolder?

  init(_ program: String, _ arguments: [String], keeping folder: ScratchFolder? = nil) {
    self.folder = folder
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    process.standardInput = orders
    process.standardOutput = answers
  }

  deinit {
    try? orders.fileHandleForWriting.close()
    if process.isRunning { process.waitUntilExit() }
  }

  func takeTurn() throws -> Turn {
    if !hasStarted { try process.run() }
    hasStarted = true
    // To one that has ended nothing can be written; that it does not answer is the error.
    try? orders.fileHandleForWriting.write(contentsOf: Data("run\n".utf8))
    var answer = Data()
    while answer.last != UInt8(ascii: "\n") {
      let more = answers.fileHandleForReading.availableData
      guard !more.isEmpty else { throw HarnessError(description: "it ended early") }
      answer += more
    }
    let numbers = String(decoding: answer.dropLast(), as: UTF8.self).split(separator: " ").map { Int($0) }
    guard numbers.count >= 2, let handled = numbers[0], let time = numbers[1] else {
      throw HarnessError(description: "it did not answer in numbers")
    }
    return Turn(handled: handled, time: .nanoseconds(time), peakMemory: numbers.count > 2 ? numbers[2] : nil)
  }
}

/// Runs a program from start to end for each line of standard input, and answers like a yardstick.
///
/// This is done by a small process, a second one of this program: the system counts what its parent held as a new
/// process's memory, and ours may hold gigabytes. What is no more than this one holds is not told.
func takeTurns(handling count: Int, _ command: [String]) throws {
  var words = command.map { strdup($0) } + [nil]
  defer { for word in words { free(word) } }
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  for output in [STDOUT_FILENO, STDERR_FILENO] {
    posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0)
  }
  let clock = ContinuousClock()
  while readLine() != nil {
    var own = Report(isQuick: true)
    own.notePeakMemory()
    let start = clock.now
    var child: pid_t = 0
    var status: Int32 = 0
    var usage = rusage()
    guard posix_spawn(&child, command[0], &actions, nil, &words, environ) == 0,
      wait4(child, &status, 0, &usage) == child, status == 0
    else { throw HarnessError(description: "\(command.joined(separator: " ")) failed") }
    let time = clock.now - start
    var answer = "\(count) \(Int(time.nanoseconds))"
    if usage.ru_maxrss << 10 > own.peakMemory { answer += " \(usage.ru_maxrss << 10)" }
    try FileHandle.standardOutput.write(contentsOf: Data("\(answer)\n".utf8))
  }
}
