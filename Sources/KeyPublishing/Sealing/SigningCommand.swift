package import BundleTrust
internal import CPrograms
internal import Glibc
internal import KeyIntake
internal import Synchronization

/// A program that signs for a key which lies elsewhere: in a hardware security module, or with a service. Nobody here sees the key.
///
/// What it is given and gives: the 32 bytes of a SHA-256 digest on standard input, and on standard output a signature of ECDSA on
/// P-256 over that digest, in DER. It ends with 0 when it has signed. No shell is between; what it writes to standard error is told
/// when it fails, its first line alone.
package struct SigningCommand: Hashable, Sendable {
  /// The program's path, and its arguments.
  package var words: [String]
  /// Seconds after which it is ended.
  package var limit: Int64

  package init(words: [String], limit: Int64 = 10) {
    self.words = words
    self.limit = limit
  }

  /// The key whose private half the program has.
  package func key(_ publicKey: P256PublicKey) -> SigningKey {
    SigningKey(publicKey) { digest throws(KeyFault) in try signature(of: digest) }
  }

  /// More than any signature is long, so that a wrong program is known for one.
  private static let mostOutput = 1024
  private static let mostErrors = 4096

  /// - Returns: what it wrote; whether that is a signature is not looked at here.
  func signature(of digest: [UInt8]) throws(KeyFault) -> [UInt8] {
    guard let program = words.first else { throw fault("no program is named") }
    let input = try pipe()
    let output = try pipe()
    let errors = try pipe()
    // It fits into the pipe, and its reading end is open: the program may end without having read it.
    let isWritten = digest.withUnsafeBytes { write(input.writing.number, $0.baseAddress, $0.count) } == digest.count
    guard isWritten else {
      throw fault("the digest cannot be handed over: \(String(cString: strerror(errno)).lowercased())")
    }
    let process: pid_t
    switch start(program, reading: input.reading, writing: output.writing, errors.writing) {
    case .success(let id): process = id
    case .failure(let number):
      throw fault("it cannot be started: \(String(cString: strerror(number.value)).lowercased())")
    }
    for end in [input.reading, input.writing, output.writing, errors.writing] { end.close() }

    let course = follow(process, output: output.reading, errors: errors.reading)
    let complaint = Self.firstLine(course.errors).map { ": \($0)" } ?? ""
    switch course.end {
    case .tooLate: throw fault("it has not ended within \(limit) s, and was ended\(complaint)")
    case .tooMuch: throw fault("it writes more than \(Self.mostOutput) bytes, and a signature has 72 at most")
    case .signal(let number): throw fault("it was ended by signal \(number)\(complaint)")
    case .status(0):
      guard !course.output.isEmpty else { throw fault("it ended with 0 and wrote nothing\(complaint)") }
      return course.output
    case .status(let status): throw fault("it ended with \(status)\(complaint)")
    }
  }

  private func fault(_ reason: String) -> KeyFault { KeyFault(.notSigned, place: words.first ?? "command", reason) }

  // MARK: The process

  private enum End {
    case status(Int32)
    case signal(Int32)
    case tooLate, tooMuch
  }

  private struct Number: Error { let value: Int32 }

  /// One end of a pipe. It is closed when nobody holds it any more.
  private final class PipeEnd: Sendable {
    private let descriptor: Mutex<Int32>
    var number: Int32 { descriptor.withLock { $0 } }

    init(_ number: Int32) { descriptor = Mutex(number) }

    func close() {
      descriptor.withLock { descriptor in
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
        descriptor = -1
      }
    }

    deinit { close() }
  }

  private func pipe() throws(KeyFault) -> (reading: PipeEnd, writing: PipeEnd) {
    var ends: [Int32] = [-1, -1]
    let number = keyferry_pipe(&ends)
    guard number == 0 else { throw fault("no pipe to it: \(String(cString: strerror(number)).lowercased())") }
    return (PipeEnd(ends[0]), PipeEnd(ends[1]))
  }

  /// In a process group of its own, so that what it starts in turn ends with it. It gets no descriptor but these three.
  private func start(
    _ program: String, reading input: PipeEnd, writing output: PipeEnd, _ errors: PipeEnd
  ) -> Result<pid_t, Number> {
    let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process: pid_t = 0
    let number = keyferry_start(program, arguments, input.number, output.number, errors.number, &process)
    return number == 0 ? .success(process) : .failure(Number(value: number))
  }

  /// Reads until the process has ended, or until there is no more time, and waits for its end.
  private func follow(
    _ process: pid_t, output: PipeEnd, errors: PipeEnd
  ) -> (end: End, output: [UInt8], errors: [UInt8]) {
    let deadline = ContinuousClock.now + .seconds(limit)
    var taken: (output: [UInt8], errors: [UInt8]) = ([], [])
    var status: Int32 = 0
    func finish(_ end: End) -> (End, [UInt8], [UInt8]) {
      kill(-process, SIGKILL)
      while waitpid(process, &status, 0) < 0 && errno == EINTR {}
      return (end, taken.output, taken.errors)
    }
    while true {
      let ended = waitpid(process, &status, WNOHANG)
      // What it wrote before its end is in the pipes by now.
      read(output, &taken.output, Self.mostOutput)
      read(errors, &taken.errors, Self.mostErrors)
      if taken.output.count > Self.mostOutput { return ended == process ? (.tooMuch, [], []) : finish(.tooMuch) }
      if ended == process {
        // What it has started in turn, and left.
        kill(-process, SIGKILL)
        let signal = status & 0x7F
        return (signal == 0 ? .status((status >> 8) & 0xFF) : .signal(signal), taken.output, taken.errors)
      }
      if ended < 0 && errno != EINTR { return (.status(-1), [], taken.errors) }
      if ContinuousClock.now >= deadline { return finish(.tooLate) }
      var waits = [pollfd(fd: output.number, events: Int16(POLLIN), revents: 0)]
      poll(&waits, 1, 2)
      // A closed pipe is readable at once, and its end is near.
      if waits[0].revents & Int16(POLLHUP) != 0 { usleep(1000) }
    }
  }

  /// What there is now, without waiting. What is beyond the limit is thrown away, but for one byte that tells of it: a program that
  /// nobody listens to would wait.
  private func read(_ end: PipeEnd, _ bytes: inout [UInt8], _ most: Int) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    // As often as a pipe may be full, so that nobody is read for ever.
    for _ in 0..<32 {
      var waits = [pollfd(fd: end.number, events: Int16(POLLIN), revents: 0)]
      guard poll(&waits, 1, 0) > 0, waits[0].revents & Int16(POLLIN) != 0 else { return }
      let count = buffer.withUnsafeMutableBytes { Glibc.read(end.number, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      bytes += buffer.prefix(min(count, max(0, most + 1 - bytes.count)))
    }
  }

  /// Printable, 200 characters at most.
  private static func firstLine(_ bytes: [UInt8]) -> String? {
    let line = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).first
    guard let line, !line.allSatisfy(\.isWhitespace) else { return nil }
    return printableText(String(line.prefix(200)))
  }
}
