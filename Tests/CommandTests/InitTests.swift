import BundleTrust
import Foundation
import GatewayTesting
import Testing

/// `keyferry init` through the program.
@Suite struct InitTests {
  private static let flags = [
    "--region", "NL", "--key-id", "204", "--app-bundle-id", "nl.example.app", "--android-package", "nl.example.app",
    "--url", "https://keys.example.nl",
  ]

  private func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  @Test(arguments: [flags, Array(flags.prefix(4)), ["--region", "US-VA", "--key-id", "310"]])
  func whatIsMadeIsSoundAndPublishes(flags: [String]) throws {
    try Workshop.run { workshop in
      let made = try workshop.keyferry(["init", "gateway/"] + flags)
      #expect(made.status == 0 && made.errors.isEmpty, "\(made.errors)")
      #expect(!made.text.contains("PRIVATE KEY"))
      let (region, id) = (flags[1], flags[3])
      let key = "gateway/secrets/\(region)-v1.key.pem"
      #expect(try mode(workshop.path(key)) == 0o600)
      #expect(try mode(workshop.path("gateway/secrets")) == 0o700)
      #expect(
        try workshop.text("gateway/keys/\(id)-v1.pem") == SigningKey(pem: workshop.text(key)).publicKey.pem)
      let config = ["--config", "gateway/gateway.yaml"]
      let check = try workshop.keyferry(["check"] + config)
      #expect(check.status == 0 && check.text.contains("sound, 1 source, 1 series, 0 warnings"), "\(check.text)")
      #expect(try workshop.keyferry(["registration"] + config).status == 0)
      try workshop.write(NormalizeTests.german, "gateway/drop/keys.csv")
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)],
        ofItemAtPath: workshop.path("gateway/drop/keys.csv"))
      let noon = ["--now", "2020-11-25T12:00:00Z"] + config
      #expect(try workshop.keyferry(["pull"] + noon).status <= 1)
      #expect(try workshop.keyferry(["publish"] + noon).status == 0)
      let status = try workshop.keyferry(["status"] + noon).text
      #expect(status.contains(#/ 1[0-9]{2} keys, padding included, published /#), "\(status)")
      let bundles = try #require(FileManager.default.enumerator(atPath: workshop.path("gateway/public")))
        .compactMap { $0 as? String }.filter { $0.hasSuffix(".zip") }
      let bundle = try #require(bundles.first)
      let verdict = try workshop.keyferry("verify", "gateway/public/\(bundle)", "--trust", "gateway/keys")
      #expect(verdict.status == 0, "\(verdict.text)")
      let again = try workshop.keyferry(["init", "gateway/"] + flags)
      #expect(again.status == 2 && again.errors.contains("it is there already"), "\(again.errors)")
    }
  }

  @Test("the population that init is given is the floor of floods, and check tells what it means to have none")
  func population() throws {
    try Workshop.run { workshop in
      let flags = Array(Self.flags.prefix(4))
      #expect(try workshop.keyferry(["init", "stated", "--population", "17500000"] + flags).status == 0)
      #expect(try workshop.text("stated/gateway.yaml").contains("\npopulation: 17500000 "))
      let stated = try workshop.keyferry("check", "--config", "stated/gateway.yaml")
      #expect(stated.text.contains("437,500") && !stated.text.contains("population is not set"), "\(stated.text)")
      #expect(try workshop.keyferry(["init", "silent"] + flags).status == 0)
      let silent = try workshop.keyferry("check", "--config", "silent/gateway.yaml")
      #expect(silent.status == 0 && silent.text.contains("population is not set"), "\(silent.text)")
      #expect(silent.text.contains("10,000"), "\(silent.text)")
      for wrong in ["0", "many", "-1", "99999999999"] {
        #expect(try workshop.keyferry(["init", "wrong", "--population=\(wrong)"] + flags).status == 64)
      }
    }
  }

  /// The lines that are printed can be typed as they stand, and a link that leads nowhere is there, too.
  @Test(arguments: ["my gateway", "it's", "-g"])
  func oddFolders(folder: String) throws {
    try Workshop.run { workshop in
      let made = try workshop.keyferry(["init"] + Self.flags + ["--", folder])
      #expect(made.status == 0, "\(made.errors)")
      let line = try #require(made.text.split(separator: "\n").first { $0.hasPrefix("  keyferry check ") })
      let shell = try #require(Tool(named: "bash"))
      let program = try #require(Workshop.program)
      let typed = "keyferry() { \"$0\" \"$@\"; };\(line)"
      #expect(try shell.run(["-c", typed, program], in: workshop.folder).status == 0)
      try FileManager.default.createSymbolicLink(
        atPath: workshop.path("gateway.yaml"), withDestinationPath: workshop.path("nowhere"))
      let refused = try workshop.keyferry(["init"] + Self.flags)
      #expect(refused.status == 2 && refused.errors.contains("it is there already"))
      #expect(!workshop.exists("secrets"))
    }
  }

  /// The region of every bundle is the code, so that nothing else is taken for it.
  @Test(arguments: [
    ("NL", "nl.rijksoverheid.en", "204 for NL"), ("GB-NIR", "GB", "234 for GB-NIR"), ("US-VA", "104", "310 for US-VA"),
    ("FJ", "54", "such as 204"),
  ])
  func aMobileCountryCodeHasThreeDigits(region: String, code: String, suggestion: String) throws {
    try Workshop.run { workshop in
      let refused = try workshop.keyferry("init", "gateway", "--region", region, "--key-id", code)
      #expect(refused.status == 64)
      #expect(
        refused.errors.contains(
          "--key-id \"\(code)\": allowed is the three digits of a mobile country code, \(suggestion)"),
        "\(refused.errors)")
      #expect(!workshop.exists("gateway"))
    }
  }

  @Test func aCodeOfAnotherCountryIsNoted() throws {
    try Workshop.run { workshop in
      let made = try workshop.keyferry("init", "gateway", "--region", "NL", "--key-id", "310")
      #expect(made.status == 0)
      #expect(
        made.errors == "keyferry: bundles will name 310, which is no mobile country code of NL: 204\n", "\(made.errors)"
      )
    }
  }

  /// Google's app needs a revision token in each answer, so its key is there before anybody uploads.
  @Test func theDoorForUploadsNeedsNoMoreThanItsLines() throws {
    try Workshop.run { workshop in
      #expect(try workshop.keyferry(["init", "gateway"] + Self.flags).status == 0)
      #expect(try mode(workshop.path("gateway/secrets/revision.key")) == 0o600)
      let key = try workshop.text("gateway/secrets/revision.key")
      #expect(key.wholeMatch(of: /[0-9a-f]{64}\n/) != nil)
      let text = try workshop.text("gateway/gateway.yaml")
      let start = try #require(text.range(of: "#   uploads:")?.lowerBound)
      let opened = text[..<start] + text[start...].replacing("# ", with: "")
      try workshop.write(String(opened), "gateway/gateway.yaml")
      let check = try workshop.keyferry("check", "--config", "gateway/gateway.yaml")
      #expect(check.status == 0 && check.text.contains("sound, 1 source, 1 series"), "\(check.text)")
      try workshop.write(String(opened.replacing(/\n.*revision-key.*\n/, with: "\n")), "gateway/gateway.yaml")
      let missing = try workshop.keyferry("check", "--config", "gateway/gateway.yaml")
      #expect(missing.status == 2 && missing.text.contains("server.uploads.revision-key: missing"), "\(missing.text)")
    }
  }

  @Test func whatStandsThereStays() throws {
    try Workshop.run { workshop in
      try workshop.write("precious", "gateway.yaml")
      let outcome = try workshop.keyferry(["init"] + Self.flags)
      #expect(outcome.status == 2)
      #expect(try workshop.files == ["gateway.yaml"])
      #expect(try workshop.text("gateway.yaml") == "precious")
    }
  }

  /// A wrong answer is asked for again, and the end of answers ends the questions.
  @Test func sixQuestionsAreAskedOnATerminal() throws {
    let script = try #require(Tool(named: "script"))
    let program = try #require(Workshop.program)
    try Workshop.run { workshop in
      let ask = { (answers: String) in
        try script.run(
          ["--quiet", "--return", "--command", "'\(program)' init made", "/dev/null"], input: Array(answers.utf8),
          in: workshop.folder)
      }
      #expect(try ask("NL\n\u{4}").status == 64)
      #expect(!workshop.exists("made"))
      let outcome = try ask("nl\n NL \n204\nnl.example.app\n\nhttps://keys.example.nl\n17500000\n")
      #expect(outcome.status == 0, "\(outcome.text)")
      let text = try workshop.text("made/gateway.yaml")
      #expect(text.contains("app: \"nl.example.app\"") && !text.contains("android:"))
      #expect(text.contains("url: \"https://keys.example.nl\"") && text.contains("\npopulation: 17500000 "))
    }
  }
}
