import Foundation
import GatewayTesting
import Testing

/// `keyferry audit` as an auditor runs it.
@Suite struct AuditTests {
  private static let noon = ["--now", "2020-11-25T12:00:00Z"]

  /// A gateway with a log that has published one file.
  private func withGateway(_ body: (Workshop) throws -> Void) throws {
    try Workshop.run { workshop in
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "drop"), withIntermediateDirectories: false)
      try workshop.makeSigner()
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workshop.path("310-v1.key.pem"))
      let policy = try workshop.keyferry("policy", "show", "default", "--yaml")
      #expect(policy.status == 0)
      try workshop.write(policy.output, "first.yaml")
      try configure(workshop, policy: "first.yaml")
      try workshop.write(NormalizeTests.german, "drop/de.csv")
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: workshop.path("drop/de.csv"))
      #expect(try workshop.keyferry("log", "init", "--config", "gateway.yaml").status == 0)
      #expect(try workshop.keyferry(["pull"] + Self.noon).status == 0)
      let published = try workshop.keyferry(["publish"] + Self.noon)
      #expect(published.status == 0, "\(published.errors)")
      try body(workshop)
    }
  }

  private func configure(_ workshop: Workshop, policy: String) throws {
    try workshop.write(
      """
      state: state
      sources:
        - {name: drop, protocol: files, location: drop, trust: operator, origin: DE, speaks-for: [DE]}
      series:
        - {name: DE, include: [DE], region: "262", publishing: ./\(policy), sign: [{key: {file: 310-v1.key.pem}, id: "310", version: v1}]}
      publication: {folder: public}
      log: {name: keys.example.org/log}
      """, "gateway.yaml")
  }

  private func bundle(_ workshop: Workshop) throws -> String {
    let index = String(decoding: try workshop.bytes("public/DE/index.txt"), as: UTF8.self)
    return try #require(index.split(separator: "\n").first.map(String.init))
  }

  private func check(_ outcome: Tool.Outcome, _ schema: String, _ status: Int32) throws {
    #expect(outcome.status == status, "\(outcome.errors)")
    #expect(try DocumentSchema(named: schema).faults(in: Data(outcome.output)) == [], "\(outcome.text)")
  }

  @Test func bundlesAreMadeAgain() throws {
    try withGateway { workshop in
      let path = try bundle(workshop)
      let all = try workshop.keyferry("audit", "rebuild", "--all")
      #expect(all.status == 0, "\(all.text)\(all.errors)")
      #expect(all.text.contains("\(path): equal, 2 keys\n") && all.text.hasSuffix("equal\n"), "\(all.text)")
      let file = try #require(path.split(separator: "/").last.map(String.init))
      for name in [path, file, "increment/0"] {
        let one = try workshop.keyferry("audit", "rebuild", "--series", "de", "--bundle", name)
        #expect(one.status == 0 && one.text == "\(path): equal, 2 keys\n", "\(one.text)\(one.errors)")
      }
      try check(try workshop.keyferry("audit", "rebuild", "--all", "--json"), "audit.schema.json", 0)

      // Another policy now: the old one is asked for, and is enough.
      let text = String(decoding: try workshop.bytes("first.yaml"), as: UTF8.self)
      try workshop.write("# a second one\n" + text, "second.yaml")
      try configure(workshop, policy: "second.yaml")
      let other = try workshop.keyferry("audit", "rebuild", "--bundle", path)
      let isShipped = other.status == 0
      // What ships is at hand anyway.
      #expect(isShipped || (other.status == 1 && other.text.contains("  policy: ")), "\(other.text)")
      let given = try workshop.keyferry("audit", "rebuild", "--bundle", path, "--policy", "first.yaml")
      #expect(given.status == 0 && given.text.contains(": equal, 2 keys"), "\(given.text)\(given.errors)")

      // Somebody changes the file.
      var bytes = try workshop.bytes("public/\(path)")
      bytes[bytes.count / 2] ^= 1
      try workshop.write(bytes, "public/\(path)")
      let changed = try workshop.keyferry("audit", "rebuild", "--bundle", path, "--policy", "first.yaml")
      #expect(changed.status == 1 && changed.text.contains("  file-changed: "), "\(changed.text)")
      try check(
        try workshop.keyferry("audit", "rebuild", "--all", "--json", "--policy", "first.yaml"), "audit.schema.json", 1)
    }
  }

  @Test func whatIsAskedWronglyIsAUsageError() throws {
    try withGateway { workshop in
      for (arguments, words) in [
        ([], "say which bundles"), (["--all", "--bundle", "a"], "say which bundles"),
        (["--bundle", "nothing"], "the store knows no bundle nothing"),
        (["--all", "--series", "FR"], "there is no series FR; there are DE"),
        (["--all", "--policy", "missing.yaml"], "missing.yaml"),
      ] {
        let outcome = try workshop.keyferry(["audit", "rebuild"] + arguments)
        #expect([64, 2].contains(outcome.status) && outcome.errors.contains(words), "\(arguments): \(outcome.errors)")
        #expect(outcome.text.isEmpty)
      }
    }
  }

  @Test func attestationsAreVerified() throws {
    try withGateway { workshop in
      let path = "public/" + (try bundle(workshop))
      let key = "public/log/attest.pem"
      let verify = ["audit", "verify", path, "--key", key]
      let good = try workshop.keyferry(verify)
      #expect(good.status == 0 && good.text.hasPrefix("\(path): attested\n"), "\(good.text)\(good.errors)")
      #expect(good.text.contains("  made by keyferry ") && good.text.contains("  policy SHA-256 "), "\(good.text)")
      try check(try workshop.keyferry(verify + ["--json"]), "attestation.schema.json", 0)

      let attestation = try workshop.bytes(path + ".intoto.jsonl")
      try workshop.write(
        Array(attestation.map { $0 == UInt8(ascii: "A") ? UInt8(ascii: "B") : $0 }), path + ".intoto.jsonl")
      try check(try workshop.keyferry(verify + ["--json"]), "attestation.schema.json", 1)
      try workshop.write(attestation, path + ".intoto.jsonl")
      let bytes = try workshop.bytes(path)
      try workshop.write(bytes, "other.zip")
      let none = try workshop.keyferry("audit", "verify", "other.zip", "--key", key)
      #expect(none.status == 1 && none.text.contains("no-attestation"), "\(none.text)")
      // Of another bundle.
      let day = try #require(
        try FileManager.default.contentsOfDirectory(atPath: workshop.path("public/DE/day")).first {
          $0.hasSuffix(".zip")
        })
      try workshop.write(try workshop.bytes("public/DE/day/\(day).intoto.jsonl"), path + ".intoto.jsonl")
      let other = try workshop.keyferry(verify)
      #expect(other.status == 1 && other.text.contains("bad-attestation"), "\(other.text)")
      // By another key.
      try workshop.write(attestation, path + ".intoto.jsonl")
      let stranger = try workshop.keyferry("audit", "verify", path, "--key", "310-v1.key.pem")
      #expect(stranger.status == 2 && stranger.errors.contains("310-v1.key.pem"), "\(stranger.errors)")
      #expect(try workshop.keyferry("audit", "verify", "nowhere.zip", "--key", key).status == 2)
    }
  }

  @Test func commitmentsAreOpenedForPrograms() throws {
    try withGateway { workshop in
      let opened = try workshop.keyferry("log", "reveal", "1", "--json")
      try check(opened, "log-reveal.schema.json", 0)
      #expect(opened.text.contains("\"entry\""), "\(opened.text)")
      let missing = try workshop.keyferry("log", "reveal", "phones/2020-11-25T12:00:00Z")
      #expect(missing.status == 64 && missing.errors.contains("no hour of uploads"), "\(missing.errors)")
    }
  }
}
