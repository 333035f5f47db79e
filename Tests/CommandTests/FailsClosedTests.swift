import BundleTrust
import Foundation
import GatewayTesting
import Testing
import TransparencyLog

/// What cannot be shown was not done: no failure is ever exit code 0, wherever the program runs.
@Suite("Failing closed") struct FailsClosedTests {
  /// A command, and whether it is done where nothing is wrong.
  private struct Case {
    let arguments: [String]
    let isDone: Bool
    /// Whether its result goes to standard output.
    var isShown = true
    /// Whether it may have to wait, for which the system needs /proc.
    var waits = false
  }

  private static let cases: [Case] = [
    Case(arguments: ["verify", "good.zip", "--trust", "ring"], isDone: true),
    Case(arguments: ["verify", "good.zip", "--trust", "ring", "--json"], isDone: true),
    Case(arguments: ["verify", "bad.zip", "--trust", "ring"], isDone: false),
    Case(arguments: ["verify", "bad.zip", "--trust", "ring", "--json"], isDone: false),
    Case(arguments: ["verify", "none.zip", "--trust", "ring"], isDone: false),
    Case(arguments: ["verify", "noise.zip", "--trust", "ring"], isDone: false),
    Case(arguments: ["verify", "good.zip", "--trust", "empty"], isDone: false),
    Case(arguments: ["inspect", "good.zip"], isDone: true),
    Case(arguments: ["inspect", "noise.zip"], isDone: false),
    Case(arguments: ["convert", "good.zip", "--to", "csv", "-o", "-"], isDone: true),
    Case(arguments: ["convert", "good.zip", "--to", "csv", "-o", "out.csv"], isDone: true, isShown: false),
    Case(arguments: ["convert", "noise.zip", "--to", "csv", "-o", "out.csv"], isDone: false),
    Case(arguments: ["convert", "good.zip", "--trust", "ring", "--to", "csv", "-o", "-"], isDone: true),
    Case(arguments: ["convert", "bad.zip", "--trust", "ring", "--to", "csv", "-o", "out.csv"], isDone: false),
    Case(arguments: ["audit", "verify", "good.zip", "--key", "attest.pem"], isDone: true),
    Case(arguments: ["audit", "verify", "good.zip", "--key", "attest.pem", "--json"], isDone: true),
    Case(arguments: ["audit", "verify", "bad.zip", "--key", "attest.pem"], isDone: false),
    Case(arguments: ["audit", "verify", "good.zip", "--key", "ring/310-v1.pem"], isDone: false),
    Case(arguments: ["archive", "verify", "kept"], isDone: true),
    Case(arguments: ["archive", "verify", "kept", "--json"], isDone: true),
    Case(arguments: ["archive", "verify", "changed"], isDone: false),
    Case(arguments: ["archive", "verify", "none"], isDone: false),
    Case(arguments: ["archive", "verify", "empty"], isDone: false),
    Case(arguments: ["diff", "good.zip", "good.zip"], isDone: true, waits: true),
    Case(arguments: ["diff", "good.zip", "bad.zip"], isDone: false),
    Case(arguments: ["check", "--config", "none.yaml"], isDone: false),
    Case(arguments: ["log", "verify", "none", "--key", "none.vkey"], isDone: false),
    Case(arguments: ["formats"], isDone: true),
    Case(arguments: ["--version"], isDone: true),
    Case(arguments: ["--help"], isDone: true),
    Case(arguments: ["verify", "--help"], isDone: true),
  ]

  private func prepare(_ workshop: Workshop) throws {
    try workshop.makeSigner()
    try workshop.write(Sample.csv, "in.csv")
    let signed = try workshop.keyferry(
      "convert", "in.csv", "--to", "gaen-export", "-o", "good.zip", "--sign-key", "310-v1.key.pem", "--key-id", "310",
      "--key-version", "v1")
    #expect(signed.status == 0, "\(signed.errors)")
    // One bit of a key.
    let document = try #require(try workshop.entry("export.bin", of: "good.zip"))
    let signature = try #require(try workshop.entry("export.sig", of: "good.zip"))
    var changed = document
    changed[changed.count - 20] ^= 1
    try FileManager.default.createDirectory(
      at: workshop.folder.appending(path: "bad"), withIntermediateDirectories: true)
    try workshop.write(changed, "bad/export.bin")
    try workshop.write(signature, "bad/export.sig")
    let zip = try #require(Tool(named: "zip"), "zip is not installed")
    _ = try zip.run(["-q", "-j", "../bad.zip", "export.bin", "export.sig"], in: workshop.folder.appending(path: "bad"))
    try workshop.write(Array("PK\u{3}\u{4}noise".utf8), "noise.zip")
    for archive in ["kept", "changed"] {
      let added = try workshop.keyferry("archive", "add", archive, "good.zip")
      #expect(added.status == 0, "\(added.errors)")
    }
    let files = FileManager.default.enumerator(
      at: workshop.folder.appending(path: "changed"), includingPropertiesForKeys: nil)
    let largest = try #require(
      files?.compactMap { $0 as? URL }.filter { (try? Data(contentsOf: $0)) != nil }
        .max { (try? Data(contentsOf: $0).count) ?? 0 < (try? Data(contentsOf: $1).count) ?? 0 })
    var bytes = try Data(contentsOf: largest)
    bytes[bytes.count / 2] ^= 1
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: largest.path())
    try bytes.write(to: largest)
    try FileManager.default.createDirectory(
      at: workshop.folder.appending(path: "empty"), withIntermediateDirectories: true)
    try attest(workshop)
  }

  /// Says beside good.zip, and beside the changed one, how good.zip was made.
  private func attest(_ workshop: Workshop) throws {
    let signer = AttestationSigner.generate()
    let export = try #require(try workshop.entry("export.bin", of: "good.zip"))
    let statement = Provenance(
      of: [
        .init(name: "export.bin", digest: ExportDigests(of: export, includingBody: false).hexadecimal),
        .init(
          name: "good.zip", digest: ExportDigests(of: try workshop.bytes("good.zip"), includingBody: false).hexadecimal),
      ], buildType: "https://keyferry.example/bundle/v1", externalParameters: [:], internalParameters: [:],
      dependencies: [], builder: "https://keys.example.org/log", versions: [:], invocation: "NL/1",
      started: "2020-12-01T08:00:00Z", finished: "2020-12-01T08:00:01Z")
    let envelope = try Envelope(statement.bytes, by: signer)
    for file in ["good.zip", "bad.zip"] { try workshop.write(envelope.bytes, "\(file).intoto.jsonl") }
    try workshop.write(signer.publicKey.pem, "attest.pem")
  }

  /// Each is a line of a shell, in which `"$@"` is the command.
  @Test(
    "No place makes a failure a success",
    arguments: LongList.cases(
      [
        ("exec \"$@\" >/dev/full", false), ("exec \"$@\" >&-", false), ("exec \"$@\" 2>&-", true),
        ("exec \"$@\" <&- >&- 2>&-", false), ("ulimit -n 4; exec \"$@\"", nil), ("ulimit -f 0; exec \"$@\"", nil),
        // From too little to begin with to nearly enough.
        ("ulimit -v 40000; exec \"$@\"", nil), ("ulimit -v 100000; exec \"$@\"", nil),
        ("ulimit -v 200000; exec \"$@\"", nil),
      ] as [(String, Bool?)], 4))
  func everywhere(_ line: String, canShow: Bool?) throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      let program = try #require(Workshop.program)
      let (shell, limit) = (try #require(Tool(named: "sh")), try #require(Tool(named: "timeout")))
      for one in Self.cases {
        try? FileManager.default.removeItem(atPath: workshop.path("out.csv"))
        let words = ["10", shell.path, "-c", line, "sh", program] + one.arguments
        let outcome = try limit.run(words, in: workshop.folder)
        let comment = Comment(rawValue: "\(line): keyferry \(one.arguments.joined(separator: " "))\n\(outcome.errors)")
        if !one.isDone { #expect(outcome.status != 0, comment) }
        // A message, and no trap.
        if canShow != nil || line.contains("-f") { #expect([0, 1, 2].contains(outcome.status), comment) }
        guard let canShow else { continue }
        if one.isDone { #expect((outcome.status == 0) == (canShow || !one.isShown), comment) }
      }
    }
  }

  /// From what the system cannot even load it with to enough. A trap says nothing to anybody who did not write the runtime. The
  /// last of these commands waits for threads, which the system's queues would wait for without an end.
  @Test(
    "Where memory runs out it says so, and what it prints is whole or it fails",
    arguments: [
      (["inspect", "good.zip"], 20_000), (["audit", "verify", "good.zip", "--key", "attest.pem"], 20_000),
      (["diff", "good.zip", "good.zip"], 192_000),
    ])
  func withoutMemory(_ command: [String], least: Int) throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      let program = try #require(Workshop.program)
      let (shell, limit) = (try #require(Tool(named: "sh")), try #require(Tool(named: "timeout")))
      let whole = try workshop.keyferry(command).text
      for kilobytes in stride(from: least, through: 260_000, by: LongList.size(24_000, long: 4000)) {
        let outcome = try limit.run(
          ["20", shell.path, "-c", "ulimit -v \(kilobytes); exec \"$@\"", "sh", program] + command,
          in: workshop.folder)
        let comment = Comment(rawValue: "\(kilobytes) kB: \(outcome.status)\n\(outcome.errors)")
        if outcome.status == 0 { #expect(outcome.text == whole, comment) }
        #expect(outcome.status != 124, comment)
        // Before the program begins, the system's loader speaks, or nobody.
        guard outcome.status == 2 || outcome.errors.contains("Fatal error") else { continue }
        #expect(outcome.status == 2 && outcome.errors.contains("could not have the memory"), comment)
      }
    }
  }

  /// Somewhere between too little and enough the system's allocator asked for room for each few bytes, and was refused each time: that took
  /// most of the time, and the time was some minutes.
  @Test("With little memory the time goes into the work") func littleMemory() throws {
    try Workshop.run { workshop in
      var random = SeededRandom(seed: 8)
      for name in ["one.csv", "other.csv"] {
        let keys = (0..<40_000).map { _ in
          random.bytes(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            + ",2676384,144,3,1\n"
        }
        try workshop.write(NormalizeTests.columns + keys.joined(), name)
      }
      let program = try #require(Workshop.program)
      let (shell, limit) = (try #require(Tool(named: "sh")), try #require(Tool(named: "timeout")))
      var compared = 0
      for kilobytes in stride(from: 220_000, through: 340_000, by: 20_000) {
        let line = "ulimit -v \(kilobytes); \"$@\" >/dev/null 2>errors; echo $?; times"
        let outcome = try limit.run(
          ["120", shell.path, "-c", line, "sh", program, "diff", "one.csv", "other.csv"], in: workshop.folder)
        #expect(outcome.status == 0, "\(kilobytes) kB: \(outcome.text)")
        // What the shell took itself, and what its children took: user and system.
        guard outcome.text.hasPrefix("1\n") else { continue }
        compared += 1
        let seconds = outcome.text.matches(of: /(\d+)m([\d.]+)s/).compactMap { match in
          Double(match.1).flatMap { minutes in Double(match.2).map { minutes * 60 + $0 } }
        }
        try #require(seconds.count == 4, "\(outcome.text)")
        // A start alone takes some hundredths of a second.
        #expect(seconds[3] < max(seconds[2] / 2, 0.2), "\(kilobytes) kB: \(outcome.text)")
      }
      #expect(compared > 0)
    }
  }

  @Test("Nor does a bare root, without /proc, /dev and /etc") func bareRoot() throws {
    guard getuid() == 0, let chroot = Tool(named: "chroot"), let env = Tool(named: "env"), let ldd = Tool(named: "ldd")
    else {
      print("skipped: a bare root is for root alone")
      return
    }
    try Workshop.run { workshop in
      try prepare(workshop)
      let program = try #require(Workshop.program)
      let libraries = try ldd.run([program]).text.split(separator: "\n").compactMap { line in
        line.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("/") }.map(String.init)
      }
      let files = FileManager.default
      for library in libraries {
        let place = workshop.folder.path() + library
        try files.createDirectory(
          atPath: URL(filePath: place).deletingLastPathComponent().path(), withIntermediateDirectories: true)
        try files.copyItem(at: URL(filePath: library).resolvingSymlinksInPath(), to: URL(filePath: place))
      }
      try files.copyItem(atPath: program, toPath: workshop.path("keyferry"))
      try files.createDirectory(atPath: workshop.path("tmp"), withIntermediateDirectories: true)
      for one in Self.cases {
        let outcome = try env.run(["-i", chroot.path, workshop.folder.path(), "/keyferry"] + one.arguments)
        let comment = Comment(rawValue: "keyferry \(one.arguments.joined(separator: " "))\n\(outcome.errors)")
        #expect((outcome.status == 0) == (one.isDone && !one.waits), comment)
        #expect([0, 1, 2].contains(outcome.status), comment)
        if one.isDone, one.waits {
          let lines = outcome.errors.split(separator: "\n")
          #expect(lines.first?.hasPrefix("keyferry: /proc: ") == true, comment)
          #expect(lines.last?.hasPrefix("keyferry: hint: mount it ") == true, comment)
        }
      }
    }
  }
}
