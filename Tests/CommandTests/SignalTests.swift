import Foundation
import GatewayTesting
import Testing

/// Who ends the program with Ctrl-C, or a service manager that does, finds nothing half done beside the files.
@Suite struct SignalTests {
  private static let signals = [("SIGHUP", SIGHUP), ("SIGINT", SIGINT), ("SIGTERM", SIGTERM)]

  /// The commands read standard input, which does not end.
  private static let commands = [
    ["convert", "-", "--from", "csv", "--to", "csv", "-o", "out.csv"],
    ["report", "-", "--from", "csv", "-o", "out.csv", "--replace"],
    ["tables", "-", "--from", "csv", "-o", "out.sqlite"],
  ]

  @Test("a signal leaves nothing half done, and the file that stood there before", arguments: commands)
  func nothingIsLeft(_ command: [String]) throws {
    for (name, number) in Self.signals {
      try Workshop.run { workshop in
        try workshop.write("as before", "out.csv")
        let process = Process()
        // Whoever runs the tests may ignore signals, and other tests of this process do; a child would go on with that.
        process.executableURL = URL(filePath: try #require(Tool(named: "env")).path)
        process.arguments = ["--default-signal=HUP,INT,TERM", try #require(Workshop.program)] + command
        process.currentDirectoryURL = workshop.folder
        let input = Pipe()
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        // Never left behind, whatever fails here.
        defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
        try input.fileHandleForWriting.write(contentsOf: Data(Self.rows))
        let begun = partials(workshop, until: { !$0.isEmpty })
        #expect(!begun.isEmpty, "\(command) has not begun a file")
        kill(process.processIdentifier, number)
        // It ends at once; one that does not is ended, and told by what ended it.
        for _ in 0..<500 where process.isRunning { usleep(20_000) }
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        #expect(process.terminationReason == .uncaughtSignal && process.terminationStatus == number, "\(name)")
        #expect(partials(workshop, until: { _ in true }) == [], "after \(name)")
        #expect(try workshop.text("out.csv") == "as before")
        #expect(!workshop.exists("out.sqlite"))
      }
    }
  }

  @Test("what was ignored at the start stays ignored, as nohup wants it") func nohup() throws {
    try Workshop.run { workshop in
      let script = try #require(Tool(named: "sh"))
      let program = try #require(Workshop.program)
      let outcome = try script.run(
        [
          "-c",
          """
          trap '' HUP
          (cat rows.csv; sleep 1; cat end.csv) | "\(program)" convert - --from csv --to csv -o out.csv &
          sleep 0.5
          kill -HUP $!
          wait $!
          """,
        ], in: try rows(workshop))
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(workshop.exists("out.csv"))
    }
  }

  private func rows(_ workshop: Workshop) throws -> URL {
    try workshop.write(Self.rows, "rows.csv")
    try workshop.write(Self.row(1 << 20), "end.csv")
    return workshop.folder
  }

  /// Some megabytes of rows, so that whatever is collected first is full.
  private static let rows: [UInt8] =
    Array("key_data,rolling_start_interval_number,rolling_period,report_type\n".utf8)
    + (0..<60_000).flatMap { Array(row($0).utf8) }

  private static func row(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 32 - digits.count) + digits + ",2657664,144,CONFIRMED_TEST\n"
  }

  /// Looks again until they are as they should be, for ten seconds at most.
  private func partials(_ workshop: Workshop, until isEnough: ([String]) -> Bool) -> [String] {
    var found: [String] = []
    for _ in 0..<500 {
      let all = FileManager.default.enumerator(atPath: workshop.folder.path)?.compactMap { $0 as? String } ?? []
      found = all.filter { $0.hasSuffix(".partial") }
      if isEnough(found) { break }
      usleep(20_000)
    }
    return found
  }
}
