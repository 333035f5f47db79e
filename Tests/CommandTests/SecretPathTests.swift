import Foundation
import GatewayTesting
import Testing

/// Somebody who gives a secret where a path is expected does not find it in what a command prints. The list of what takes a path
/// is the parser's own. The test runs the program some hundreds of times, which takes a while.
@Suite struct SecretPathTests {
  private static let token = "3f9cA7e1b2D84c6f90a1B2c3D4e5F60718293a4b"
  private static let key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgc3VjaCBhIHNlY3JldA
    -----END PRIVATE KEY-----

    """
  /// Each secret, and a part of it that no message may have.
  private static let secrets = [(token, String(token.dropFirst(6))), (key, "MIGHAgEAMBMGByqGSM49")]

  /// What `--experimental-dump-help` prints of a command.
  private struct Dump: Decodable {
    var command: Command

    struct Command: Decodable {
      var commandName: String
      var arguments: [Argument]?
      var subcommands: [Command]?

      /// Each command without further ones, with its words.
      func leaves(below words: [String] = []) -> [(words: [String], arguments: [Argument])] {
        let inner = (subcommands ?? []).filter { $0.commandName != "help" }
        guard !inner.isEmpty else { return [(words, arguments ?? [])] }
        return inner.flatMap { $0.leaves(below: words + [$0.commandName]) }
      }
    }

    struct Argument: Decodable {
      var kind: String
      var names: [Name]?
      var completionKind: Completion?

      struct Name: Decodable {
        var kind: String
        var name: String
      }

      struct Completion: Decodable {
        var file: Files?
        var directory: Files?
        struct Files: Decodable {}
      }

      var takesPath: Bool { completionKind?.file != nil || completionKind?.directory != nil }

      /// The words that give it a value.
      func words(_ value: String) -> [String] {
        guard kind == "option" else { return [value] }
        guard let name = names?.first(where: { $0.kind == "long" }) ?? names?.first else { return [value] }
        return ["\(name.kind == "long" ? "--" : "-")\(name.name)", value]
      }
    }
  }

  @Test(.timeLimit(.minutes(10))) func noCommandRepeatsASecretGivenAsAPath() throws {
    try Workshop.run { workshop in
      let dump = try JSONDecoder().decode(
        Dump.self, from: Data(try workshop.keyferry("--experimental-dump-help").output))
      let commands = dump.command.leaves()
      #expect(commands.count > 40)
      var count = 0
      for (words, arguments) in commands {
        let speaksJSON = arguments.contains { $0.names?.contains { $0.name == "json" } == true }
        for argument in arguments where argument.takesPath {
          for (secret, part) in Self.secrets {
            for json in speaksJSON ? [[], ["--json"]] : [[]] {
              let said = words + json + argument.words(secret)
              let outcome = try workshop.run(said)
              count += 1
              // An output that was made under this name is there, and is named.
              guard !workshop.exists(secret) else {
                try FileManager.default.removeItem(atPath: workshop.path(secret))
                continue
              }
              #expect(!(outcome.text + outcome.errors).contains(part), "\(words + json) \(argument.words("…"))")
            }
          }
        }
      }
      #expect(count > 300)
    }
  }

  /// Nor where it stands behind `=`, in place of a command or of a name, or where a part of it is repeated.
  @Test func noCommandRepeatsASecretGivenAsAWord() throws {
    try Workshop.run { workshop in
      try workshop.makeSigner()
      try workshop.write("key_data\n", "in.csv")
      try workshop.write(
        """
        state: state
        sources: [{name: drop, protocol: files, location: drop, trust: operator, origin: US}]
        series: [{name: US, sign: [{key: {file: 310-v1.key.pem}, id: "310", version: v1}]}]
        publication: {folder: public}
        """, "gateway.yaml")
      let digits = Self.key.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined(separator: "\n")
      for (secret, part) in Self.secrets + [(digits, String(digits.prefix(20)))] {
        for words in [
          [secret], ["store", secret], ["log", "init", "--config=\(secret)"], ["archive", secret], ["help", secret],
          ["normalize", "--input", secret, "--to", "csv", "-o", "x"], ["normalize", "--input=\(secret)", "-o", "x"],
          ["normalize", "--reading=\(secret)", "in.csv", "--to", "csv", "-o", "x"],
          ["normalize", "--input", "a=in.csv,policy=\(secret)", "--to", "csv", "-o", "x"],
          ["store", "restore", secret, "--config", "gateway.yaml"], ["convert", "in.csv", "--to=\(secret)", "-o", "x"],
        ] {
          let outcome = try workshop.run(words)
          #expect(outcome.status != 0, "\(words)")
          #expect(!(outcome.text + outcome.errors).contains(part), "\(words.first ?? "")")
        }
      }
    }
  }

  /// A message names the address or the time that is wrong.
  @Test func anAddressAndATimeAreNoSecrets() throws {
    try Workshop.run { workshop in
      try workshop.write("key_data\n", "in.csv")
      for (words, shown) in [
        (["archive", "add", "seen", "http://127.0.0.1:1/3f9cA7e1b2D8/index.txt"], "http://127.0.0.1:1/"),
        (["report", "http://127.0.0.1:1/NL/index.txt", "-o", "r.html"], "http://127.0.0.1:1/NL/index.txt"),
        (["convert", "in.csv", "--to", "csv", "-o", "x", "--now", "2026-13-28T05:11:13Z"], "2026-13-28T05:11:13Z"),
      ] {
        let outcome = try workshop.run(words)
        #expect(outcome.status != 0 && outcome.errors.contains(shown), "\(outcome.errors)")
      }
    }
  }

  /// A path of the configuration that leads to nothing is found by some commands later than by its check. The folder of the state and
  /// the location of a source are shown by many, as an address is.
  @Test(.timeLimit(.minutes(5)), arguments: ["folder"])
  func noCommandRepeatsASecretOfItsConfiguration(setting: String) throws {
    try Workshop.run { workshop in
      try workshop.makeSigner()
      let usual = ["state": "state", "location": "drop", "folder": "public"]
      let paths = usual.merging([setting: Self.token]) { _, new in new }.mapValues { $0 as String }
      try workshop.write(
        """
        state: \(paths["state"] ?? "")
        sources: [{name: drop, protocol: files, location: \(paths["location"] ?? ""), trust: operator, origin: US}]
        series: [{name: US, sign: [{key: {file: 310-v1.key.pem}, id: "310", version: v1}]}]
        publication: {folder: \(paths["folder"] ?? "")}
        """, "gateway.yaml")
      for command in [
        ["check"], ["check", "--json"], ["status"], ["status", "--json"], ["events"], ["quarantine", "list"], ["clock"],
        ["store", "check"], ["preview", "US"], ["pull"], ["pull", "--json"], ["publish"], ["status"],
      ] {
        let outcome = try workshop.run(command + ["--config", "gateway.yaml"])
        // A folder that was made under this name is there, and is named.
        if workshop.exists(Self.token) { break }
        #expect(!(outcome.text + outcome.errors).contains(Self.token.dropFirst(6)), "\(setting): \(command)")
      }
    }
  }
}

extension Workshop {
  /// Runs the program, whatever it says.
  fileprivate func run(_ arguments: [String]) throws -> Tool.Outcome {
    let program = try #require(Self.program, "the program keyferry was not built")
    return try Tool(path: program).run(arguments, in: folder)
  }
}
