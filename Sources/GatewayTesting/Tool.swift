package import Foundation

/// Another program, run to its end.
package struct Tool: Sendable {
  package let path: String

  package init(path: String) { self.path = path }

  /// The program of this name in `PATH`; `nil` where there is none.
  package init?(named name: String) {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    guard let path = folders.map({ "\($0)/\(name)" }).first(where: FileManager.default.isExecutableFile) else {
      return nil
    }
    self.path = path
  }

  package struct Outcome: Sendable {
    package let status: Int32
    package let output: [UInt8]
    package let errors: String

    package var text: String { String(decoding: output, as: UTF8.self) }
  }

  /// - Parameters:
  ///   - input: what the program reads from standard input.
  ///   - folder: the program's working directory.
  @discardableResult
  package func run(_ arguments: [String], input: [UInt8] = [], in folder: URL? = nil) throws -> Outcome {
    // Files instead of pipes: no reader has to keep up, however much the program writes.
    try withTemporaryFolder { place in
      let (input, output, errors) = try (
        Self.file(place, "in", input), Self.file(place, "out", []), Self.file(place, "err", [])
      )
      let process = Process()
      process.executableURL = URL(filePath: path)
      process.arguments = arguments
      process.currentDirectoryURL = folder
      process.standardInput = try FileHandle(forReadingFrom: input)
      process.standardOutput = try FileHandle(forWritingTo: output)
      process.standardError = try FileHandle(forWritingTo: errors)
      try process.run()
      process.waitUntilExit()
      return Outcome(
        status: process.terminationStatus, output: Array(try Data(contentsOf: output)),
        errors: String(decoding: try Data(contentsOf: errors), as: UTF8.self))
    }
  }

  private static func file(_ folder: URL, _ name: String, _ content: [UInt8]) throws -> URL {
    let file = folder.appending(path: name)
    try Data(content).write(to: file)
    return file
  }
}

/// Runs `body` with a new folder, which is gone when it returns.
package func withTemporaryFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
  let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-test-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try body(folder)
}
