import BundleTrust
import Foundation
import GatewayTesting
import Testing
import TransparencyLog

/// `keyferry log`, and what `verify` says of a log.
@Suite struct LogTests {
  private struct Report: Decodable {
    struct Entry: Decodable {
      let index: Int
      let path: String?
      let hashes: [String]?
    }
    struct Finding: Decodable {
      let code: String
      let entry: Int?
      let path: String?
    }
    let good: Bool
    let size: Int?
    let extends: Int?
    let newEntries: Int?
    let comparedBundles: Int?
    let entries: [Entry]
    let findings: [Finding]

    enum CodingKeys: String, CodingKey {
      case good, size, extends, entries, findings
      case newEntries = "new_entries"
      case comparedBundles = "compared_bundles"
    }
  }

  private static var schema: DocumentSchema { get throws { try DocumentSchema(named: "log.schema.json") } }

  private func report(_ workshop: Workshop, _ arguments: String...) throws -> (status: Int32, report: Report) {
    let outcome = try workshop.keyferry(["log"] + arguments + ["--json"])
    #expect(try Self.schema.faults(in: Data(outcome.output)) == [], "\(outcome.text)\(outcome.errors)")
    return (outcome.status, try JSONDecoder().decode(Report.self, from: Data(outcome.output)))
  }

  /// Three signed bundles in `public/NL`, and a log of two of them in `public/log`.
  private func withLog(_ body: (Workshop) throws -> Void) throws {
    try Workshop.run { workshop in
      let signer = try workshop.makeSigner()
      try workshop.write(Sample.csv, "keys.csv")
      let place = workshop.folder.appending(path: "public/NL")
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      for name in ["1", "2", "3"] {
        let made = try workshop.keyferry(
          "convert", "keys.csv", "--to", "gaen-export", "-o", "public/NL/\(name).zip", "--sign-key", "310-v1.key.pem",
          "--key-id", signer.keyID, "--key-version", signer.keyVersion, "--region", "NL\(name)")
        #expect(made.status == 0, "\(made.errors)")
      }
      let begun = try workshop.keyferry(
        "log", "init", "public/log", "--state", "state", "--name", "keys.example.org/log", "-o", "log.vkey")
      #expect(try begun.status == 0 && begun.text == workshop.text("log.vkey"), "\(begun.errors)")
      #expect(begun.text.hasPrefix("keys.example.org/log+"))
      let (status, added) = try report(
        workshop, "add", "public/log", "--state", "state", "--base", "public", "--series", "NL", "public/NL/1.zip",
        "public/NL/2.zip")
      #expect(status == 0 && added.newEntries == 2 && added.entries.map(\.path) == ["NL/1.zip", "NL/2.zip"])
      try workshop.write(try workshop.bytes("public/log/checkpoint"), "kept")
      try body(workshop)
    }
  }

  @Test func aLogIsBegunKeptAndVerified() throws {
    try withLog { workshop in
      let add = ["add", "public/log", "--state", "state", "--base", "public"]
      let again = try workshop.keyferry(["log"] + add + ["public/NL/1.zip", "public/NL/3.zip"])
      #expect(again.status == 0 && again.text.contains(": 3 entries, root "), "\(again.errors)")
      #expect(again.text.contains("  entry 0: NL/1.zip, proof in public/NL/1.zip.tlog-proof\n"))
      let (status, verified) = try report(
        workshop, "verify", "public/log", "--key", "log.vkey", "--since", "kept")
      #expect(status == 0 && verified.good && verified.size == 3 && verified.extends == 2)
      // Other bytes under a name that was published are refused.
      let other = try workshop.bytes("public/NL/3.zip")
      try workshop.write(other, "public/NL/1.zip")
      let refused = try workshop.keyferry(["log"] + add + ["public/NL/1.zip"])
      #expect(refused.status == 2 && refused.errors.contains("NL/1.zip was published with the SHA-256"))
      let outside = try workshop.keyferry(["log"] + add + ["keys.csv"])
      #expect(outside.status == 1 && outside.errors.contains("is no export bundle"), "\(outside.errors)")
      #expect(try report(workshop, "verify", "public/log", "--key", "log.vkey").report.size == 3)
      let twice = try workshop.keyferry(
        "log", "init", "public/log", "--state", "state", "--name", "keys.example.org/log")
      #expect(twice.status == 2 && twice.errors.contains("hint: begin a new log"), "\(twice.errors)")
      let seen = try workshop.keyferry("log", "init", "public/log", "--state", "public/log/state", "--name", "a")
      #expect(seen.status == 64 && seen.errors.contains("which others see"))
    }
  }

  @Test func proofs() throws {
    try withLog { workshop in
      let proved = try workshop.keyferry(
        "log", "prove", "public/log", "--key", "log.vkey", "--bundle", "public/NL/2.zip", "-o", "proof")
      #expect(proved.status == 0, "\(proved.errors)")
      #expect(try workshop.bytes("proof") == workshop.bytes("public/NL/2.zip.tlog-proof"))
      let verifier = try NoteVerifier(String(workshop.text("log.vkey").dropLast()))
      let proof = try ProofFile(try workshop.bytes("proof"), name: "proof")
      #expect(try proof.verify(try #require(proof.extra), by: verifier, name: "proof").size == 2)
      let text = try workshop.keyferry("log", "prove", "public/log", "--key", "\(verifier)", "--index", "1")
      #expect(text.output == proof.bytes)
      let (_, json) = try report(workshop, "prove", "public/log", "--key", "log.vkey", "--index", "1")
      #expect(json.entries.first?.hashes?.count == 1 && json.entries.first?.path == "NL/2.zip")
      try workshop.keyferry("log", "add", "public/log", "--state", "state", "--base", "public", "public/NL/3.zip")
      let since = try workshop.keyferry("log", "prove", "public/log", "--key", "log.vkey", "--since", "kept")
      #expect(since.text.hasPrefix("old 2\n") && since.text.contains("\n\nkeys.example.org/log\n3\n"), "\(since.text)")
      #expect(try report(workshop, "prove", "public/log", "--key", "log.vkey", "--since", "kept").report.extends == 2)
      for arguments in [["--index", "3"], ["--bundle", "keys.csv"]] {
        let none = try workshop.keyferry(["log", "prove", "public/log", "--key", "log.vkey"] + arguments)
        #expect(none.status == 1 && none.output.isEmpty, "\(none.errors)")
      }
      for arguments in [[], ["--index", "0", "--since", "kept"], ["--index", "-1"]] {
        #expect(try workshop.keyferry(["log", "prove", "public/log", "--key", "log.vkey"] + arguments).status == 64)
      }
      let verbose = try workshop.keyferry("log", "verify", "public/log", "--key", "log.vkey", "--verbose")
      #expect(verbose.errors.contains("keyferry: key of the log log.vkey: keys.example.org/log\n"), "\(verbose.errors)")
      let noKey = try workshop.keyferry("log", "verify", "public/log", "--key", "a+b")
      #expect(noKey.status == 2 && noKey.errors.contains("NAME+HEX+BASE64"))
      let secret = try workshop.text("state/log.key").dropLast()
      let leaked = try workshop.keyferry("log", "verify", "public/log", "--key", String(secret))
      let seed = secret.split(separator: "+", maxSplits: 4).last ?? ""
      #expect(leaked.status == 2 && !leaked.errors.contains(seed.prefix(6)), "\(leaked.errors)")
    }
  }

  @Test func aMonitorNamesWhatIsWrong() throws {
    try withLog { workshop in
      func look(_ place: String = "public/log") throws -> (Int32, Report) {
        let (status, seen) = try report(
          workshop, "monitor", place, "--key", "log.vkey", "--keep", "seen.json", "--bundles", "public")
        #expect(seen.good == (status == 0))
        return (status, seen)
      }
      var (status, seen) = try look()
      #expect(status == 0 && seen.newEntries == 2 && seen.comparedBundles == 2 && seen.extends == nil)
      let bundle = try workshop.bytes("public/NL/2.zip")
      try workshop.write(Array(bundle.dropLast()) + [1], "public/NL/2.zip")
      (status, seen) = try look()
      #expect(status == 1 && seen.findings.map(\.code) == ["changed-bundle"] && seen.findings[0].path == "NL/2.zip")
      let told = try workshop.keyferry(
        "log", "monitor", "public/log", "--key", "log.vkey", "--keep", "seen.json", "--bundles", "public")
      #expect(told.text.contains("changed-bundle: public: NL/2.zip has the SHA-256 "), "\(told.text)")
      try FileManager.default.removeItem(atPath: workshop.path("public/NL/2.zip"))
      (status, seen) = try look()
      #expect(status == 1 && seen.findings.map(\.code) == ["missing-bundle"] && seen.extends == 2)
      let withdrawn = try workshop.keyferry(
        "log", "withdraw", "public/log", "--state", "state", "NL/2.zip", "--by", "J. Doe", "--reason", "test keys")
      #expect(withdrawn.status == 0, "\(withdrawn.errors)")
      let unknown = try workshop.keyferry(
        "log", "withdraw", "public/log", "--state", "state", "NL/9.zip", "--by", "J. Doe", "--reason", "test keys")
      #expect(unknown.status == 1 && unknown.errors.contains("NL/9.zip"))
      (status, seen) = try look()
      #expect(status == 0 && seen.newEntries == 1 && seen.comparedBundles == 1)

      // Another history under the same key.
      let files = FileManager.default
      try files.createDirectory(atPath: workshop.path("other-state"), withIntermediateDirectories: true)
      try files.copyItem(atPath: workshop.path("state/log.key"), toPath: workshop.path("other-state/log.key"))
      try workshop.keyferry("log", "init", "other", "--state", "other-state", "--name", "keys.example.org/log")
      #expect(try look("other").1.findings.map(\.code) == ["went-back"])
      for name in ["1", "3"] {
        try workshop.keyferry("log", "add", "other", "--state", "other-state", "public/NL/\(name).zip")
      }
      try workshop.write(bundle, "2.zip")
      try workshop.keyferry("log", "add", "other", "--state", "other-state", "2.zip")
      let remembered = try workshop.bytes("seen.json")
      let fork = try workshop.keyferry(
        "log", "monitor", "other", "--key", "log.vkey", "--keep", "seen.json", "--log-only")
      #expect(fork.status == 1 && fork.text.contains("fork: other: a fork: ") && fork.errors.contains("seen.json.now"))
      #expect(try workshop.bytes("seen.json") == remembered)
      #expect(try workshop.bytes("seen.json.before") == workshop.bytes("public/log/checkpoint"))
      #expect(try workshop.bytes("seen.json.now") == workshop.bytes("other/checkpoint"))
      try workshop.write("{}", "seen.json")
      #expect(
        try workshop.keyferry("log", "monitor", "public/log", "--key", "log.vkey", "--keep", "seen.json").status == 2)
    }
  }

  @Test func aRestoredBackupSignsNothing() throws {
    try withLog { workshop in
      let files = FileManager.default
      try files.copyItem(atPath: workshop.path("state"), toPath: workshop.path("backup"))
      let add = ["log", "add", "public/log", "--state", "state", "--base", "public", "public/NL/3.zip"]
      try workshop.keyferry(add)
      let shown = try workshop.bytes("public/log/checkpoint")
      try files.removeItem(atPath: workshop.path("state"))
      try files.moveItem(atPath: workshop.path("backup"), toPath: workshop.path("state"))
      let refused = try workshop.keyferry(add)
      #expect(
        refused.status == 2 && refused.errors.contains("hint: a backup may have been restored"), "\(refused.errors)")
      #expect(try workshop.bytes("public/log/checkpoint") == shown)
      #expect(try workshop.keyferry("log", "adopt", "public/log", "--state", "state").status == 0)
      let (status, added) = try report(
        workshop, "add", "public/log", "--state", "state", "--base", "public", "public/NL/3.zip")
      #expect(status == 0 && added.newEntries == 0 && added.size == 3)
      // A changed entry is found, and named.
      var bundle = try workshop.bytes("public/log/tile/entries/000.p/3")
      bundle[30] ^= 1
      try workshop.write(bundle, "public/log/tile/entries/000.p/3")
      let (verdict, found) = try report(workshop, "verify", "public/log", "--key", "log.vkey")
      #expect(verdict == 1 && found.findings.map(\.code) == ["bad-tile"])
    }
  }

  @Test func verifyTakesTheLogIntoItsVerdict() throws {
    let schema = try DocumentSchema(named: "verification.schema.json")
    try withLog { workshop in
      func verdict(_ file: String, _ log: String) throws -> (status: Int32, verdict: String, text: String) {
        let outcome = try workshop.keyferry(
          "verify", file, "--trust", "ring", "--log", log, "--log-key", "log.vkey", "--json")
        #expect(try schema.faults(in: Data(outcome.output)) == [], "\(outcome.text)\(outcome.errors)")
        let document = try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any]
        let result = (document?["files"] as? [[String: Any]])?.first
        let said = result?["log"] as? [String: Any]
        #expect(result?["trusted"] as? Bool == (outcome.status == 0))
        return (outcome.status, said?["verdict"] as? String ?? "-", said?["text"] as? String ?? "-")
      }
      for log in ["kept", "public/log"] {
        let found = try verdict("public/NL/1.zip", log)
        #expect(found.status == 0 && found.verdict == "logged", "\(found.text)")
        #expect(try verdict("public/NL/3.zip", log).verdict == "no-proof")
      }
      let text = try workshop.keyferry(
        "verify", "public/NL/1.zip", "--trust", "ring", "--log", "kept", "--log-key", "log.vkey")
      #expect(text.status == 0 && text.text.contains("  in the log: entry 0 of keys.example.org/log, size 2\n"))
      // Under another name it is the same bundle, and two that were swapped are seen.
      for ending in ["", ".tlog-proof"] {
        try FileManager.default.copyItem(
          atPath: workshop.path("public/NL/1.zip\(ending)"), toPath: workshop.path("public/NL/other.zip\(ending)"))
      }
      let renamed = try verdict("public/NL/other.zip", "public/log")
      #expect(renamed.verdict == "logged" && renamed.text.hasSuffix(", published as NL/1.zip"), "\(renamed.text)")
      // Several threads ask the log at once.
      let many = ["public/NL/1.zip", "public/NL/other.zip"]
      for _ in 0..<3 {
        let files = (0..<12).map { many[$0 % 2] }
        let outcome = try workshop.keyferry(
          ["verify"] + files + ["--trust", "ring", "--log", "public/log", "--log-key", "log.vkey"])
        #expect(outcome.status == 0, "\(outcome.text)\(outcome.errors)")
      }
      // The log has grown: its own tiles prove that the proof belongs to it, a lone checkpoint does not.
      try workshop.keyferry("log", "add", "public/log", "--state", "state", "--base", "public", "public/NL/3.zip")
      #expect(try verdict("public/NL/1.zip", "public/log").verdict == "logged")
      #expect(try verdict("public/NL/1.zip", "public/log/checkpoint").verdict == "not-compared")
      #expect(try verdict("public/NL/3.zip", "kept").verdict == "not-compared")
      // Of another bundle, of another history, damaged.
      let proof = try workshop.bytes("public/NL/1.zip.tlog-proof")
      try workshop.write(try workshop.bytes("public/NL/3.zip.tlog-proof"), "public/NL/1.zip.tlog-proof")
      let other = try verdict("public/NL/1.zip", "public/log")
      #expect(other.status == 1 && other.verdict == "other-bundle")
      try workshop.write(
        Array(String(decoding: proof, as: UTF8.self).replacing("index 0", with: "index 1").utf8),
        "public/NL/1.zip.tlog-proof")
      #expect(try verdict("public/NL/1.zip", "public/log").verdict == "not-included")
      try workshop.write("", "public/NL/1.zip.tlog-proof")
      #expect(try verdict("public/NL/1.zip", "public/log").verdict == "bad-proof")
      try FileManager.default.createDirectory(atPath: workshop.path("other-state"), withIntermediateDirectories: true)
      try workshop.write(try workshop.bytes("state/log.key"), "other-state/log.key")
      try workshop.keyferry("log", "init", "other", "--state", "other-state", "--name", "keys.example.org/log")
      try workshop.keyferry(
        "log", "add", "other", "--state", "other-state", "--base", "public", "public/NL/2.zip", "public/NL/1.zip")
      #expect(try verdict("public/NL/1.zip", "kept").verdict == "fork")
      #expect(try verdict("public/NL/1.zip", "public/log").verdict == "fork")
      #expect(try workshop.keyferry("verify", "public/NL/1.zip", "--trust", "ring", "--log", "kept").status == 64)
    }
  }

  @Test func codesAreAllListed() throws {
    let refutations = LogFault.Code.allCases.filter { LogFault($0, "").isRefutation }.map(\.rawValue)
    let findings = LogFinding.Code.allCases.map(\.rawValue)
    #expect(try Self.schema.values(of: "code", in: "finding") == Set(refutations + findings))
    let verification = try DocumentSchema(named: "verification.schema.json")
    let verdicts = ["logged", "no-proof", "other-bundle", "not-compared"]
    #expect(verification.values(of: "verdict", in: "log") == Set(refutations + verdicts))
  }

  private static let hasPython = Tool(named: "python3") != nil

  /// Behind any web server.
  @Test(.enabled(if: hasPython, "needs python3, which serves the folder")) func aLogIsFollowedOverHTTP() throws {
    try withLog { workshop in
      let server = Process()
      server.executableURL = URL(filePath: try #require(Tool(named: "python3")).path)
      server.arguments = ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", "public"]
      server.currentDirectoryURL = workshop.folder
      let said = Pipe()
      server.standardOutput = said
      server.standardError = FileHandle.nullDevice
      try server.run()
      defer { server.terminate() }
      // "Serving HTTP on 127.0.0.1 port 40123 (http://127.0.0.1:40123/) ..."
      let line = String(decoding: said.fileHandleForReading.availableData, as: UTF8.self)
      let address = try #require(line.split(separator: "(").last?.split(separator: ")").first).dropLast()
      let log = "\(address)/log"
      let (status, verified) = try report(workshop, "verify", log, "--key", "log.vkey", "--since", "kept")
      #expect(status == 0 && verified.size == 2)
      #expect(
        try report(workshop, "monitor", log, "--key", "log.vkey", "--keep", "seen.json").report.comparedBundles == 2)
      let trusted = try workshop.keyferry(
        "verify", "public/NL/1.zip", "--trust", "ring", "--log", log, "--log-key", "log.vkey")
      #expect(trusted.status == 0 && trusted.text.contains("in the log: entry 0"), "\(trusted.text)\(trusted.errors)")
      try FileManager.default.removeItem(atPath: workshop.path("public/NL/1.zip"))
      let missing = try report(workshop, "monitor", log, "--key", "log.vkey", "--keep", "seen.json")
      #expect(missing.status == 1 && missing.report.findings.map(\.code) == ["missing-bundle"])
      let nowhere = try workshop.keyferry("log", "verify", "\(address)/nothing", "--key", "log.vkey")
      #expect(nowhere.status == 1 && nowhere.text.contains("there is no checkpoint"), "\(nowhere.errors)")
    }
  }
}
