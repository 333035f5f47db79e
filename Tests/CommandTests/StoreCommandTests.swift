import ExposureKeys
import Foundation
import GatewayTesting
import KeyStorage
import SQLiteDriver
import Testing

/// `keyferry store`, `clock` and `status` of a store that something is wrong with, through the program.
@Suite struct StoreCommandTests {
  private static let noon = ["--now", "2020-11-25T12:00:00Z"]

  /// A gateway that has read one file and published it, in an operator's shell: its signing key is in no environment.
  private func withGateway(_ body: (Workshop) throws -> Void) throws {
    try Workshop.run { workshop in
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "drop"), withIntermediateDirectories: false)
      try workshop.makeSigner()
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workshop.path("310-v1.key.pem"))
      try configure(workshop, key: "{file: 310-v1.key.pem}")
      try drop(NormalizeTests.german, "de.csv", workshop)
      #expect(try workshop.keyferry(["pull"] + Self.noon).status == 0)
      #expect(try workshop.keyferry(["publish"] + Self.noon).status == 0)
      try body(workshop)
    }
  }

  private func configure(_ workshop: Workshop, key: String) throws {
    try workshop.write(
      """
      state: state
      sources:
        - {name: drop, protocol: files, location: drop, trust: operator, origin: DE, speaks-for: [DE]}
      series:
        - {name: DE, include: [DE], region: "262", sign: [{key: \(key), id: "310", version: v1}]}
      publication: {folder: public}
      """, "gateway.yaml")
  }

  private func drop(_ text: String, _ name: String, _ workshop: Workshop) throws {
    try workshop.write(text, "drop/\(name)")
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: workshop.path("drop/\(name)"))
  }

  private func check(_ outcome: Tool.Outcome, _ schema: String, _ status: Int32) throws {
    #expect(outcome.status == status, "\(outcome.errors)")
    #expect(try DocumentSchema(named: schema).faults(in: Data(outcome.output)) == [], "\(outcome.text)")
  }

  /// Zeros in each page but the first one.
  private func emptied(_ file: [UInt8]) -> [UInt8] {
    file.prefix(4096) + [UInt8](repeating: 0, count: max(0, file.count - 4096))
  }

  /// Brings everything into the one file of the store.
  private func settle(_ workshop: Workshop) throws {
    try SQLiteStore(folder: workshop.path("state"), now: try #require(Instant("2020-11-25T12:00:00Z"))).letGo()
    #expect(try !workshop.exists("state/keyferry.sqlite-wal") || workshop.bytes("state/keyferry.sqlite-wal").isEmpty)
  }

  /// Nothing but what was received is on standard output then.
  @Test func whatIsInQuarantineGoesToStandardOutput() throws {
    try withGateway { workshop in
      let refused = "{\"this is\": \"no key file\"}"
      try drop(refused, "refused.json", workshop)
      #expect(try workshop.keyferry(["pull"] + Self.noon).status == 1)
      let list = try JSONSerialization.jsonObject(with: Data(try workshop.keyferry("quarantine", "--json").output))
      let documents = try #require((list as? [String: Any])?["documents"] as? [[String: Any]])
      let id = "\(try #require(documents.first?["id"] as? Int))"
      let shown = try workshop.keyferry("quarantine", "show", id, "-o", "-")
      #expect(shown.status == 0 && shown.text == refused, "\(shown.text) \(shown.errors)")
      #expect(!workshop.exists("-"))
      #expect(try workshop.keyferry("quarantine", "show", id, "-o", "-", "--json").status == 64)
      let written = try workshop.keyferry("quarantine", "show", id, "-o", "shown.bin")
      #expect(written.errors.contains(" written to shown.bin"), "\(written.errors)")
    }
  }

  @Test func aDamagedStoreIsFoundAndRestored() throws {
    try withGateway { workshop in
      let whole = try workshop.keyferry("store", "check")
      #expect(whole.status == 0 && whole.text == "the store is whole\n")
      try check(try workshop.keyferry("store", "check", "--json"), "store-check.schema.json", 0)
      let deep = try workshop.keyferry("store", "check", "--deep")
      #expect(deep.status == 0 && deep.text.hasPrefix(whole.text), "\(deep.text)")
      #expect(deep.text.hasSuffix(" compared with the claims in the store\n"), "\(deep.text)")
      try check(try workshop.keyferry("store", "check", "--deep", "--json"), "store-check.schema.json", 0)
      let copied = try workshop.keyferry("store", "backup", "-o", "copy.sqlite")
      #expect(copied.status == 0 && copied.errors == "keyferry: the store was copied to copy.sqlite\n")
      #expect(try workshop.keyferry("store", "backup", "-o", "copy.sqlite").status == 2)

      try settle(workshop)
      try workshop.write(emptied(try workshop.bytes("state/keyferry.sqlite")), "state/keyferry.sqlite")
      let damaged = try workshop.keyferry("store", "check")
      #expect(damaged.status == 1 && damaged.text.contains("the store is damaged: "), "\(damaged.text)")
      #expect(!damaged.text.contains("store restore"), "\(damaged.text)")
      #expect(
        damaged.errors.contains("hint: stop the gateway and run keyferry store restore COPY"), "\(damaged.errors)")
      try check(try workshop.keyferry("store", "check", "--json"), "store-check.schema.json", 1)
      for command in [["pull"], ["publish"], ["status"], ["explain", NormalizeTests.key, "--config", "gateway.yaml"]] {
        let outcome = try workshop.keyferry(command + Self.noon)
        #expect(
          outcome.status == 2 && outcome.errors.contains("the store is damaged: "), "\(command): \(outcome.errors)")
        #expect(outcome.errors.contains("stop the gateway and run keyferry store restore COPY"), "\(command)")
      }

      let restored = try workshop.keyferry("store", "restore", "copy.sqlite")
      #expect(restored.status == 0 && restored.errors.contains("copy.sqlite is the store in "))
      #expect(restored.errors.contains("; what was there is kept as "), "\(restored.errors)")
      #expect(try workshop.files.contains { $0.hasPrefix("state/keyferry.sqlite-replaced-") })
      #expect(try workshop.keyferry("store", "check").status == 0)
      #expect(try workshop.keyferry(["publish"] + Self.noon).status == 0)
      #expect(try workshop.keyferry(["status"] + Self.noon).status == 0)
      for command in ["pull", "publish"] {
        let told = try workshop.keyferry([command] + Self.noon)
        let quiet = try workshop.keyferry([command, "-q"] + Self.noon)
        #expect(told.status == 0 && !told.output.isEmpty && quiet.status == 0 && quiet.output.isEmpty, "\(quiet.text)")
      }
      try drop("{\"this is\": \"no key file\"}", "refused.json", workshop)
      let wrong = try workshop.keyferry(["pull", "-q"] + Self.noon)
      #expect(wrong.status == 1 && wrong.text.contains("refused"), "\(wrong.text)")
      // A copy that is damaged itself changes nothing.
      try workshop.write(emptied(try workshop.bytes("copy.sqlite")), "bad.sqlite")
      let refused = try workshop.keyferry("store", "restore", "bad.sqlite")
      #expect(refused.status == 2 && refused.errors.contains("bad.sqlite: the copy is damaged itself"))
      #expect(!refused.errors.contains("stop the gateway"), "\(refused.errors)")
      #expect(try workshop.keyferry("store", "check").status == 0)
    }
  }

  private static func key(_ number: Int) -> String {
    var random = SeededRandom(seed: UInt64(number))
    return random.bytes(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// Many keys in one file.
  private static let many =
    NormalizeTests.columns + (0..<3000).map { "\(key($0)),2676384,144,3,1\n" }.joined()

  /// Flips a bit of a key wherever it stands in the store's file, but for what was received: in claims, releases and the agenda.
  ///
  /// - Returns: how often it stands there.
  private func flip(_ key: String, in workshop: Workshop) throws -> Int {
    try settle(workshop)
    var bytes = Data(try workshop.bytes("state/keyferry.sqlite"))
    let digits = Array(key)
    let wanted = Data(
      try stride(from: 0, to: 32, by: 2).map { try #require(UInt8(String(digits[$0...$0 + 1]), radix: 16)) })
    var (count, start) = (0, bytes.startIndex)
    while let found = bytes.range(of: wanted, in: start..<bytes.endIndex) {
      bytes[found.lowerBound + 9] ^= 1
      (count, start) = (count + 1, found.upperBound)
    }
    try workshop.write(Array(bytes), "state/keyferry.sqlite")
    return count
  }

  @Test func changedClaimsAreFound() throws {
    try withGateway { workshop in
      let (later, round) = (["--now", "2020-11-25T16:00:00Z"], ["publish", "--now", "2020-11-25T18:00:00Z"])
      try drop(Self.many, "many.csv", workshop)
      #expect(try workshop.keyferry(["pull"] + later).status == 0)
      #expect(try workshop.keyferry("store", "backup", "-o", "copy.sqlite").status == 0)
      #expect(try workshop.keyferry(["publish"] + later).status == 0)
      let published = try workshop.files.filter { $0.hasPrefix("public/") }
      #expect(try flip(Self.key(7), in: workshop) >= 2)
      // No checksum of ours tells: the document does.
      let checked = try workshop.keyferry("store", "check", "--deep")
      #expect(
        checked.status == 1 && checked.text.contains(": a claim of the document that the store lacks")
          && !checked.text.contains("whole"),
        "\(checked.text)")
      #expect(
        checked.errors.contains("hint: stop the gateway and run keyferry store restore COPY"), "\(checked.errors)")
      try check(try workshop.keyferry("store", "check", "--deep", "--json"), "store-check.schema.json", 1)
      // Without a copy: what apps have is taken from the publication folder, and the source still lists its files.
      try FileManager.default.moveItem(
        atPath: workshop.path("state/keyferry.sqlite"), toPath: workshop.path("damaged.sqlite"))
      for name in ["-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: workshop.path("state/keyferry.sqlite" + name))
      }
      #expect(try workshop.keyferry(["store", "begin", "--yes"] + later).status == 0)
      #expect(try workshop.keyferry(["pull"] + later).status == 0)
      #expect(try workshop.keyferry(["store", "begin", "--publish", "--yes"] + later).status == 0)
      _ = try workshop.keyferry(round)
      #expect(try workshop.keyferry("store", "check").status == 0)
      #expect(try published.allSatisfy { $0.hasSuffix(".zip") ? try workshop.files.contains($0) : true })
    }
  }

  /// A bucket has a test of its own: see PublicationStandingTests.
  @Test func anOlderFolderIsToldByACheck() throws {
    try withGateway { workshop in
      let old = workshop.path("public.old")
      try FileManager.default.copyItem(atPath: workshop.path("public"), toPath: old)
      try drop(Self.many, "many.csv", workshop)
      let later = ["--now", "2020-11-25T16:00:00Z"]
      #expect(try workshop.keyferry(["pull"] + later).status == 0)
      #expect(try workshop.keyferry(["publish"] + later).status == 0)
      #expect(try workshop.keyferry("store", "check").status == 0)
      try FileManager.default.removeItem(atPath: workshop.path("public"))
      try FileManager.default.moveItem(atPath: old, toPath: workshop.path("public"))
      let told = try workshop.keyferry("store", "check")
      #expect(
        told.status == 1 && told.text.hasPrefix("the store is whole\nseries DE: public does not know 1 increment"))
      #expect(told.text.hasSuffix("keyferry publish makes it again from the store\n"), "\(told.text)")
      try check(try workshop.keyferry("store", "check", "--json"), "store-check.schema.json", 1)
      #expect(try workshop.keyferry(["publish", "--now", "2020-11-25T18:00:00Z"]).status <= 1)
      #expect(try workshop.keyferry("store", "check").status == 0)
    }
  }

  private static let files = ["", "-wal", "-shm"].map { "state/keyferry.sqlite" + $0 }

  /// A gateway that has read one file, in a folder that the caller removes.
  private func pulled(_ document: String, _ name: String) throws -> Workshop {
    let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder.appending(path: "drop"), withIntermediateDirectories: true)
    let workshop = Workshop(folder: folder)
    try workshop.makeSigner()
    try configure(workshop, key: "{file: 310-v1.key.pem}")
    try drop(document, name, workshop)
    #expect(try workshop.keyferry(["pull"] + Self.noon).status == 0)
    return workshop
  }

  /// SQLite would remove the log, with what was committed last.
  @Test func anEmptiedFileKeepsItsLog() async throws {
    let workshop = try pulled(NormalizeTests.german, "de.csv")
    defer { try? FileManager.default.removeItem(at: workshop.folder) }
    var files: [[UInt8]] = []
    do {
      let store = try SQLiteStore(
        folder: workshop.path("state"), now: try #require(Instant("2020-11-25T12:00:00Z")))
      var judge = ClockJudge()
      _ = judge.look(ClockReading.system)
      try await Ledger(store).clockSeen(try #require(judge.record))
      // As it is there when the process is killed.
      files = try Self.files.map(workshop.bytes)
    }
    #expect(files[1].count > 4096)
    files[0] = []
    for (name, bytes) in zip(Self.files, files) { try workshop.write(bytes, name) }
    for command in [["store", "check"], ["status"] + Self.noon, ["pull"] + Self.noon] {
      let outcome = try workshop.keyferry(command)
      #expect(outcome.status == (command == ["store", "check"] ? 1 : 2), "\(command): \(outcome.errors)")
      let told = outcome.text + outcome.errors
      #expect(told.contains("the file is empty or gone") && told.contains("store restore COPY"), "\(told)")
      #expect(try Self.files.map(workshop.bytes) == files, "\(command)")
    }
  }

  /// The undoing of a restore: what was put aside comes back, with pauses that were said since the copy.
  @Test func whatWasPutAsideIsRestored() throws {
    try withGateway { workshop in
      #expect(try workshop.keyferry("store", "backup", "-o", "copy.sqlite").status == 0)
      #expect(try workshop.keyferry("pause", "drop", "--reason", "key leaked").status == 0)
      let before = try workshop.keyferry(["status"] + Self.noon)
      #expect(before.text.contains("paused"), "\(before.text)")
      #expect(try workshop.keyferry("store", "restore", "copy.sqlite").status == 0)
      #expect(try workshop.keyferry(["status"] + Self.noon).text != before.text)
      let aside = try #require(
        try workshop.files.first {
          $0.hasPrefix("state/keyferry.sqlite-replaced-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
        })
      let undone = try workshop.keyferry("store", "restore", aside)
      #expect(undone.status == 0, "\(undone.errors)")
      #expect(try workshop.keyferry(["status"] + Self.noon).text == before.text)
      let itself = try workshop.keyferry("store", "restore", "state/keyferry.sqlite")
      #expect(itself.status == 2 && itself.errors.contains("it is the store itself"), "\(itself.errors)")
      #expect(try workshop.keyferry(["status"] + Self.noon).text == before.text)
    }
  }

  // MARK: Disks and buckets

  /// Runs a script of the shell in which `state` is a disk of its own, of so many bytes; `nil` where this user may not have one.
  private static let disk: (tool: Tool, arguments: [String])? = {
    guard let tool = Tool(named: "unshare") else { return nil }
    let script = """
      mount --make-rprivate / && rm -rf kept && mkdir -p state && cp -a state kept && mount -t tmpfs -o size="$0" none state \\
      && cp -a kept/. state && eval "$1"
      """
    return [["--mount"], ["--mount", "--map-root-user"]].map { (tool, $0 + ["sh", "-c", script]) }.first {
      tool, arguments in
      (try? Workshop.run { workshop in
        guard try tool.run(arguments + ["64k", "true"], in: workshop.folder).status == 0 else {
          throw CocoaError(.featureUnsupported)
        }
      }) != nil
    }
  }()

  private func onDisk(of size: String, _ script: String, _ workshop: Workshop) throws -> Tool.Outcome {
    let (tool, arguments) = try #require(Self.disk)
    let program = try #require(Workshop.program)
    return try tool.run(
      arguments + [size, script.replacing("KEYFERRY", with: "'\(program)'")], in: workshop.folder)
  }

  /// A disk that is full is named as that, also where SQLite finds it out at the memory that processes share.
  @Test(.enabled(if: disk != nil, "needs unshare and the right to mount in a namespace of its own"))
  func aFullDiskIsNamed() async throws {
    let workshop = try pulled(Self.many, "many.csv")
    defer { try? FileManager.default.removeItem(at: workshop.folder) }
    let names = Self.files
    var files: [[UInt8]] = []
    do {
      let store = try SQLiteStore(
        folder: workshop.path("state"), now: try #require(Instant("2020-11-25T12:00:00Z")))
      var judge = ClockJudge()
      _ = judge.look(ClockReading.system)
      try await Ledger(store).clockSeen(try #require(judge.record))
      files = try names.map(workshop.bytes)
    }
    for (name, bytes) in zip(names, files) { try workshop.write(bytes, name) }
    let outcome = try onDisk(
      of: "32m",
      "rm -f state/keyferry.sqlite-shm; cat /dev/zero > state/fill 2> /dev/null; KEYFERRY status \(Self.noon.joined(separator: " "))",
      workshop)
    #expect(outcome.status == 2 && outcome.errors.contains("no room to write"), "\(outcome.errors)")
    #expect(!outcome.errors.contains("disk I/O error"), "\(outcome.errors)")
  }

  /// What cannot be compared is told, and is no store that is fine.
  @Test(arguments: [
    ("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>", "403 AccessDenied"),
    ("404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>", "NoSuchBucket"),
    ("404 Not Found", "<Error><Code>NoSuchKey</Code></Error>", "has no manifest of it"),
    ("500 Internal Server Error", "", "manifest.json: 500; try again"),
  ])
  func aBucketThatCannotBeReadIsTold(status: String, body: String, told: String) throws {
    try withGateway { workshop in
      let bucket = try StubbornBucket(status, body)
      defer { withExtendedLifetime(bucket) {} }
      let folder = "publication: {folder: public}"
      let text = try workshop.text("gateway.yaml")
      #expect(text.contains(folder))
      try workshop.write(
        text.replacing(
          folder,
          with: """
            publication:
              s3:
                bucket: keys
                region: eu-1
                endpoint: "http://127.0.0.1:\(bucket.port)"
                credentials: {access-key-id: AKIDX, secret-access-key: {file: secret}}
            """), "gateway.yaml")
      try workshop.write("0123456789abcdef0123456789abcdef", "secret")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workshop.path("secret"))
      let outcome = try workshop.keyferry("store", "check")
      #expect(outcome.status == 1, "\(outcome.text) \(outcome.errors)")
      #expect(outcome.text.hasPrefix("the store is whole\n") && outcome.text.contains(told), "\(outcome.text)")
      #expect(
        outcome.text.contains("was not compared with the store: ") == !told.hasPrefix("has no"), "\(outcome.text)")
      if status.hasPrefix("403") {
        try check(try workshop.keyferry("store", "check", "--json"), "store-check.schema.json", 1)
      }
    }
  }

  /// A bucket that says one thing to everybody.
  private final class StubbornBucket: Sendable {
    let port: UInt16
    private let listener: Int32

    init(_ status: String, _ body: String) throws {
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isBound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(listener, $0, length) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &length) == 0
        }
      }
      try #require(isBound)
      (self.listener, port) = (listener, UInt16(bigEndian: address.sin_port))
      let answer = Array(
        "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)".utf8)
      Thread.detachNewThread {
        while true {
          let connection = accept(listener, nil, nil)
          guard connection >= 0 else { return }
          var request = [UInt8](repeating: 0, count: 65_536)
          _ = recv(connection, &request, request.count, 0)
          _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
          close(connection)
        }
      }
    }

    /// Whoever waits for a connection is told that there is none.
    deinit { shutdown(listener, Int32(SHUT_RDWR)) }
  }

  /// What a command has written is in the store's own file when it has ended.
  @Test func commandsLeaveNothingInTheLog() throws {
    try withGateway { workshop in
      func isSettled() throws -> Bool {
        try !workshop.exists("state/keyferry.sqlite-wal") || workshop.bytes("state/keyferry.sqlite-wal").isEmpty
      }
      #expect(try isSettled())
      for command in [
        ["pause", "drop"], ["resume", "drop"], ["pull"], ["publish"], ["recall", "DE", "--reason", "x"],
      ] {
        let outcome = try workshop.keyferry(
          command + (command[0] == "pull" || command[0] == "publish" ? Self.noon : []))
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try isSettled(), "\(command)")
      }
    }
  }

  /// A state folder that is no folder.
  @Test(arguments: ["/dev/null", "gateway.yaml"]) func aStateThatCannotBeIsAnError(state: String) throws {
    try Workshop.run { workshop in
      try workshop.write("state: \(state)\n", "gateway.yaml")
      let outcome = try workshop.keyferry("check")
      #expect(outcome.status == 2 && outcome.text.contains("error: state: "), "\(outcome.text)")
      #expect(outcome.text.lowercased().contains("not a directory"), "\(outcome.text)")
    }
  }

  @Test func aCopyGoesThroughAPipe() throws {
    try withGateway { workshop in
      try workshop.keyferry("pause", "drop", "--reason", "x")
      let copy = try workshop.keyferry("store", "backup", "-o", "-")
      #expect(copy.status == 0 && copy.errors.isEmpty && copy.text.hasPrefix("SQLite format"), "\(copy.errors)")
      try workshop.keyferry("resume", "drop")
      // What is cut off, as by a program before the pipe that failed, changes nothing.
      for part in [[], Array("no store".utf8), Array(copy.output.prefix(4096)), copy.output.dropLast(4096)] {
        let before = try workshop.bytes("state/keyferry.sqlite")
        let broken = try workshop.keyferry(["store", "restore", "-"], input: part)
        #expect(broken.status == 2 && broken.errors.hasPrefix("keyferry: standard input: "), "\(broken.errors)")
        #expect(try workshop.bytes("state/keyferry.sqlite") == before)
      }
      let restored = try workshop.keyferry(["store", "restore", "-"], input: copy.output)
      #expect(restored.status == 0 && restored.errors.contains("what came from standard input is the store"))
      #expect(try workshop.keyferry("status").text.contains("paused"))
      #expect(try workshop.keyferry("store", "check").status == 0)
      #expect(try workshop.files.filter { $0.hasPrefix("state/copy") }.isEmpty)
    }
  }

  /// As the page on operating says.
  @Test(.enabled(if: Tool(named: "age-keygen") != nil, "install Debian's age"))
  func aCopyIsEncryptedByAge() throws {
    try withGateway { workshop in
      let (shell, keys) = (Tool(path: "/bin/bash"), try #require(Tool(named: "age-keygen")))
      #expect(try keys.run(["-o", "backup-key.txt"], in: workshop.folder).status == 0)
      let program = try #require(Workshop.program)
      let script = """
        set -euo pipefail
        "$0" store backup -o - | age -r "$(age-keygen -y backup-key.txt)" -o copy.age
        ! grep -q "SQLite format" copy.age
        age -d -i backup-key.txt copy.age | "$0" store restore -
        "$0" store check
        head -c 5000 copy.age >short.age
        ! age -d -i backup-key.txt short.age | "$0" store restore -
        "$0" store check
        """
      let outcome = try shell.run(["-c", script, program], in: workshop.folder)
      #expect(outcome.status == 0, "\(outcome.errors)")
    }
  }

  @Test func aSecretOfTheServiceIsNotNeededByOperators() throws {
    try withGateway { workshop in
      try configure(workshop, key: "{env: KEYFERRY_TEST_KEY_OF_THE_SERVICE}")
      #expect(try workshop.keyferry(["publish"] + Self.noon).status == 2)
      for command in [
        ["status"], ["events"], ["pause", "drop"], ["resume", "drop"], ["recall", "DE", "--reason", "x"],
        ["quarantine", "list"],
        ["clock"], ["store", "check"],
      ] {
        let outcome = try workshop.keyferry(command + (command[0] == "clock" || command[0] == "store" ? [] : Self.noon))
        #expect(outcome.status == 0, "\(command): \(outcome.errors)")
        #expect(!outcome.errors.contains("variable"))
      }
      // And what is at fault elsewhere is no reason either.
      try workshop.write(try workshop.text("gateway.yaml") + "\nsilence: soon\n", "gateway.yaml")
      let paused = try workshop.keyferry("pause", "drop")
      #expect(paused.status == 0)
      #expect(paused.errors.contains("gateway.yaml has 1 fault") && paused.errors.contains("hint: keyferry check"))
    }
  }

  @Test func aRetryBesideARunningGatewayIsDoneByThat() throws {
    try withGateway { workshop in
      try drop("<!DOCTYPE html><html>not found</html>", "page.html", workshop)
      #expect(try workshop.keyferry(["pull"] + Self.noon).status == 1)
      let listed = try workshop.keyferry(["quarantine", "list", "--json"] + Self.noon)
      let match = try #require(listed.text.firstMatch(of: /"id" : (\d+)/))
      let number = String(match.1)
      do {
        // The right to write, as a gateway that runs has it.
        let owner = try SQLiteStore(folder: workshop.path("state"), now: try #require(Instant("2020-11-25T12:00:00Z")))
        defer { withExtendedLifetime(owner) {} }
        let asked = try workshop.keyferry(["quarantine", "retry", number, "--by", "ada"] + Self.noon)
        #expect(asked.status == 0)
        #expect(asked.errors == "keyferry: the gateway that runs tries it again at its next pull of drop\n")
      }
      let again = try workshop.keyferry(["pull"] + Self.noon)
      #expect(again.status == 1 && again.text.contains("page.html"), "\(again.text)")
      // Alone it is done at once.
      #expect(try workshop.keyferry(["quarantine", "retry", number] + Self.noon).status == 1)
    }
  }

  @Test func statusTellsOfSeriesAndOfWhatCame() throws {
    try withGateway { workshop in
      let status = try workshop.keyferry(["status", "--since", "2020-11-25"] + Self.noon)
      #expect(status.status == 0, "\(status.errors)\(status.text)")
      for line in [
        "series DE\n", "  last window   until 2020-11-25T12:00:00Z\n",
        "  next window   closes at 2020-11-25T14:00:00Z\n",
        "  waiting       0 new + 0 revised + 0 held\n", "the next window would have nothing: there is nothing new\n",
        "2020-11-25  DE     2 new from drop\n", "newest key",
      ] { #expect(status.text.contains(line), "\(line)\n\(status.text)") }
      try check(
        try workshop.keyferry(["status", "--json", "--since", "2020-11-20"] + Self.noon), "status.schema.json", 0)
      let brief = try workshop.keyferry(["status", "--json", "--brief"] + Self.noon)
      try check(brief, "status.schema.json", 0)
      #expect(!brief.text.contains("why_nothing"))
      let late = try workshop.keyferry("status", "--now", "2020-11-25T18:30:00Z")
      #expect(
        late.status == 1 && late.text.contains("nothing was published since the window that ended at 2020-11-25T12"))
      let nothing = try workshop.keyferry(["publish"] + Self.noon)
      #expect(nothing.text.contains("DE: nothing is due until 2020-11-25T14:00:00Z\n"), "\(nothing.text)")
      let preview = try workshop.keyferry(["preview"] + Self.noon)
      #expect(preview.text.contains("nothing is due until 2020-11-25T14:00:00Z"), "\(preview.text)")
    }
  }

  @Test func aSourceThatAnswersAndHasNothingNewIsBehind() throws {
    try withGateway { workshop in
      let later = ["--now", "2020-11-25T13:30:00Z"]
      #expect(try workshop.keyferry(["pull"] + later).status == 0)
      #expect(try workshop.keyferry(["status"] + later).status == 0)
      try workshop.write(try workshop.text("gateway.yaml") + "\nbehind: 1 hour\n", "gateway.yaml")
      let behind = try workshop.keyferry(["status"] + later)
      #expect(behind.status == 1 && behind.text.contains("  state         behind\n"), "\(behind.text)")
      try check(try workshop.keyferry(["status", "--json"] + later), "status.schema.json", 1)
      #expect(try workshop.keyferry(["status"] + Self.noon).status == 0)
    }
  }

  @Test func publishedFilesAreChecked() throws {
    try withGateway { workshop in
      let fine = try workshop.keyferry(["check", "--publication"] + Self.noon)
      #expect(fine.status == 0 && fine.text.contains(" published files read, 0 faults\n"), "\(fine.text)\(fine.errors)")
      let index = try workshop.text("public/DE/index.txt")
      var bytes = try workshop.bytes("public/\(index)")
      bytes[bytes.count / 2] ^= 1
      try workshop.write(bytes, "public/\(index)")
      try workshop.write("?", "public/DE/strange.zip")
      try FileManager.default.removeItem(atPath: workshop.path("public/DE/SHA256SUMS"))
      let found = try workshop.keyferry(["check", "--publication"] + Self.noon)
      #expect(found.status == 1)
      #expect(found.text.contains("\(index): damaged: ") && found.text.contains("DE/strange.zip: strange: "))
      #expect(found.text.contains("DE/SHA256SUMS: gone: "))
      try check(try workshop.keyferry(["check", "--publication", "--json"] + Self.noon), "check.schema.json", 1)
      #expect(try workshop.keyferry(["publish"] + Self.noon).status == 1)
      try FileManager.default.removeItem(atPath: workshop.path("public/DE/strange.zip"))
      // The damaged file is in no index any more, and nobody is given it.
      #expect(!FileManager.default.fileExists(atPath: workshop.path("public/\(index)")))
      let clean = try workshop.keyferry(["check", "--publication"] + Self.noon)
      #expect(clean.status == 0 && clean.text.contains(", 0 faults\n") && !clean.text.contains(index), "\(clean.text)")
      // Somebody has put it there again.
      try workshop.write(bytes, "public/\(index)")
      let after = try workshop.keyferry(["check", "--publication"] + Self.noon)
      #expect(!after.text.contains("gone"), "\(after.text)")
      #expect(after.status == 0 && after.text.contains("no index names it any more"), "\(after.text)\(after.errors)")
      #expect(after.text.contains(", 0 faults\n") && after.errors.isEmpty)
      try check(try workshop.keyferry(["check", "--publication", "--json"] + Self.noon), "check.schema.json", 0)
      // A disk that is not mounted has no files that could be damaged.
      for path in ["public/DE", "public"] {
        try FileManager.default.moveItem(atPath: workshop.path(path), toPath: workshop.path("away"))
        let gone = try workshop.keyferry(["check", "--publication"] + Self.noon)
        #expect(gone.status == 1, "\(gone.text)\(gone.errors)")
        #expect(gone.text.contains("DE/manifest.json: gone: nothing of the series is in the folder"), "\(gone.text)")
        try? FileManager.default.removeItem(atPath: workshop.path(path))
        try FileManager.default.moveItem(atPath: workshop.path("away"), toPath: workshop.path(path))
      }
    }
  }

  @Test func aFolderAheadOfTheStoreIsToldByStatus() throws {
    try withGateway { workshop in
      try FileManager.default.removeItem(atPath: workshop.path("state"))
      #expect(try workshop.keyferry(["store", "begin", "--yes"] + Self.noon).status == 0)
      #expect(try workshop.keyferry(["pull"] + Self.noon).status == 0)
      let status = try workshop.keyferry(["status", "--brief"] + Self.noon)
      #expect(status.status == 1 && status.text.contains(" that the store does not know: "), "\(status.text)")
      #expect(try workshop.keyferry(["store", "begin", "--publish", "--yes"] + Self.noon).status == 0)
      #expect(try workshop.keyferry(["publish"] + Self.noon).status == 1)
      let after = try workshop.keyferry(["status", "--brief"] + Self.noon)
      #expect(after.status == 0 && !after.text.contains("does not know"), "\(after.text)")
    }
  }

  @Test func aTimeToComeRemovesNoClaims() throws {
    try withGateway { workshop in
      let ahead = try workshop.keyferry("publish", "--now", "2999-01-01")
      #expect(ahead.errors.contains("--now is ahead of the system's clock: nothing is removed or unlisted by it"))
      #expect(try workshop.keyferry(["status"] + Self.noon).text.contains("2 claims in the store"))
    }
  }

  /// A series that was taken out of the configuration is served for as long as its folder is there.
  @Test func aFolderThatWasLeftIsTold() throws {
    try withGateway { workshop in
      let old = try workshop.text("gateway.yaml")
      try workshop.write(
        old.replacing("name: DE, include", with: "name: second, include"), "gateway.yaml")
      let place = "public/DE holds a series that series does not name any more"
      for command in [["check"], ["publish"]] {
        let outcome = try workshop.keyferry(command + Self.noon)
        #expect((outcome.text + outcome.errors).contains(place), "\(outcome.text)\(outcome.errors)")
      }
      let status = try workshop.keyferry(["status"] + Self.noon)
      #expect(status.errors.contains("series DE is in the publication folder and not in the configuration"))
      let told = try workshop.keyferry(["explain", KeyQuestionTests.key] + Self.noon)
      #expect(told.status == 0 && told.text.contains("DE: carried since DE/"), "\(told.text)\(told.errors)")
      #expect(told.text.contains("by a series that is configured no more, and served as it stands"), "\(told.text)")
      try FileManager.default.moveItem(atPath: workshop.path("public/DE"), toPath: workshop.path("old"))
      #expect(try !workshop.keyferry(["check"] + Self.noon).text.contains("public/DE"))
    }
  }

  /// Whose own keys they are decides, and status does not call it fine.
  @Test func rejectedOwnKeysAreTold() throws {
    try withGateway { workshop in
      let old = try workshop.text("gateway.yaml")
      try workshop.write(
        "own-origins: [NL]\n" + old.replacing("origin: DE, speaks-for: [DE]", with: "origin: BE, speaks-for: [NL, BE]"),
        "gateway.yaml")
      let columns = NormalizeTests.columns.trimmingCharacters(in: .newlines)
      let rows = NormalizeTests.german.split(separator: "\n").dropFirst()
      try drop(
        ([columns + ",origin"] + rows.map { "\($0),NL" }).joined(separator: "\n").replacing("0011", with: "7711")
          + "\n",
        "nl.csv", workshop)
      _ = try workshop.keyferry(["pull"] + Self.noon)
      let status = try workshop.keyferry(["status"] + Self.noon)
      #expect(status.status == 1 && status.text.contains("  state         rejecting\n"), "\(status.text)")
      #expect(status.text.contains("write origin: NL"), "\(status.text)")
      try check(try workshop.keyferry(["status", "--json"] + Self.noon), "status.schema.json", 1)
    }
  }

  @Test func aClockInDoubtIsToldAndAccepted() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-clock-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder.appending(path: "state"), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let workshop = Workshop(folder: folder)
    try workshop.write("state: state\n", "gateway.yaml")
    // The last process has seen a clock that was three days ahead of this one.
    var reading = ClockReading.system
    reading.wall = Instant(secondsSince1970: reading.wall.secondsSince1970 + 3 * 86_400 + 3600)
    var judge = ClockJudge()
    _ = judge.look(reading)
    do {
      let store = try SQLiteStore(folder: workshop.path("state"), now: reading.wall)
      try await Ledger(store).clockSeen(try #require(judge.record))
    }
    let shown = try workshop.keyferry("clock")
    #expect(shown.status == 1 && shown.text.contains("in doubt: the system's clock is 3 days behind"), "\(shown.text)")
    try check(try workshop.keyferry("clock", "--json"), "clock.schema.json", 1)
    let status = try workshop.keyferry("status", "--json")
    try check(status, "status.schema.json", 1)
    #expect(status.text.contains("clock_doubt") && status.errors.contains("the system's clock is 3 days behind"))
    // It is told by the time that the gateway works by.
    let told = try #require(status.text.firstMatch(of: /"now" : "([^"]+)"/).flatMap { Instant(String($0.output.1)) })
    #expect((0...600).contains(told.secondsSince1970 - reading.wall.secondsSince1970), "\(told)")
    #expect(try workshop.keyferry("pull").status == 1)

    let accepted = try workshop.keyferry("clock", "accept", "--by", "ada", "--reason", "compared with my watch")
    #expect(accepted.status == 0 && accepted.errors.hasPrefix("keyferry: the clock is accepted: "))
    let believed = try workshop.keyferry("clock")
    #expect(believed.status == 0 && believed.text.contains("the clock is believed"))
    try check(try workshop.keyferry("clock", "--json"), "clock.schema.json", 0)
    #expect(try workshop.keyferry("status").status == 0)
    #expect(try workshop.keyferry("pull").status == 0)
    #expect(try workshop.keyferry("events").text.contains("ada: compared with my watch"))
  }
}
