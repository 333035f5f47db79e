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

  private func configure(_ workshop: Workshop, policy: String, keys: String = "") throws {
    try workshop.write(
      """
      state: state
      sources:
        - {name: drop, protocol: files, location: drop, trust: operator, origin: DE, speaks-for: [DE]}
      series:
        - {name: DE, include: [DE], region: "262", publishing: ./\(policy), sign: [{key: {file: 310-v1.key.pem}, id: "310", version: v1}]}
      publication: {folder: public}
      log: {name: keys.example.org/log\(keys)}
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

  /// The private keys are secrets like others, and not in the log's state any more.
  @Test func theKeysOfTheLogMayBeSecrets() throws {
    try withGateway { workshop in
      let first = try bundle(workshop)
      for name in ["log", "attest"] {
        try FileManager.default.moveItem(
          atPath: workshop.path("state/log/\(name).key"), toPath: workshop.path("\(name)-secret"))
      }
      #expect(try workshop.keyferry("check").status == 2)
      try configure(
        workshop, policy: "first.yaml", keys: ", key: {file: log-secret}, attestation-key: {file: attest-secret}")
      let check = try workshop.keyferry("check")
      #expect(check.status == 0 && !check.text.contains("log init"), "\(check.text)")
      // A proof and an attestation that are lost are made again by these keys.
      let path = "public/" + first
      let attestation = try workshop.bytes(path + ".intoto.jsonl")
      for ending in [".tlog-proof", ".intoto.jsonl"] {
        try FileManager.default.removeItem(atPath: workshop.path(path + ending))
      }
      let published = try workshop.keyferry(["publish"] + Self.noon)
      #expect(published.status == 0, "\(published.errors)")
      #expect(try workshop.bytes(path + ".intoto.jsonl") == attestation)
      #expect(FileManager.default.fileExists(atPath: workshop.path(path + ".tlog-proof")))
      let adopted = try workshop.keyferry("log", "adopt", "--config", "gateway.yaml")
      #expect(adopted.status == 0, "\(adopted.errors)")
      let status = try workshop.keyferry(["status"] + Self.noon)
      #expect(!status.text.contains("log.key"), "\(status.text)")
      for name in ["log", "attest"] {
        #expect(!FileManager.default.fileExists(atPath: workshop.path("state/log/\(name).key")))
      }
    }
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
      // What cannot be read is named, and the others are looked at.
      try workshop.write(attestation, path + ".intoto.jsonl")
      try workshop.write("no bundle", "broken.zip")
      try workshop.write(attestation, "broken.zip.intoto.jsonl")
      let several = ["audit", "verify", "nowhere.zip", "broken.zip", path, "--key", key]
      let mixed = try workshop.keyferry(several)
      #expect(mixed.status == 1 && mixed.text.contains("\(path): attested\n"), "\(mixed.text)\(mixed.errors)")
      #expect(
        mixed.text.contains("nowhere.zip: cannot be read\n") && mixed.text.contains("broken.zip: "), "\(mixed.text)")
      try check(try workshop.keyferry(several + ["--json"]), "attestation.schema.json", 1)
      try check(
        try workshop.keyferry("audit", "verify", "nowhere.zip", "--key", key, "--json"), "attestation.schema.json", 2)
      // By another key.
      try workshop.write(attestation, path + ".intoto.jsonl")
      let stranger = try workshop.keyferry("audit", "verify", path, "--key", "310-v1.key.pem")
      #expect(stranger.status == 2 && stranger.errors.contains("310-v1.key.pem"), "\(stranger.errors)")
      #expect(try workshop.keyferry("audit", "verify", "nowhere.zip", "--key", key).status == 2)
    }
  }

  /// Who verifies a bundle is told of what lies beside it and was not looked at.
  @Test func anAttestationThatIsNotLookedAtIsNamed() throws {
    try withGateway { workshop in
      let path = "public/" + (try bundle(workshop))
      let verify = ["verify", path, "--trust", "ring"]
      let told = try workshop.keyferry(verify)
      #expect(told.status == 0, "\(told.text)\(told.errors)")
      #expect(
        told.text.contains("was not looked at: keyferry audit verify \(path) --key attest.pem\n"), "\(told.text)")
      let json = try workshop.keyferry(verify + ["--json"])
      try check(json, "verification.schema.json", 0)
      #expect(json.text.contains("\"verdict\" : \"not-checked\""), "\(json.text)")
      try FileManager.default.removeItem(atPath: workshop.path(path + ".intoto.jsonl"))
      let alone = try workshop.keyferry(verify)
      #expect(alone.status == 0 && !alone.text.contains("attestation"), "\(alone.text)")
    }
  }

  /// The key of attestations is lost, and the operator says yes to a new one.
  @Test func aLostAttestationKeyIsAnErrorWithAWayOn() throws {
    try withGateway { workshop in
      let path = "public/" + (try bundle(workshop))
      let shown = try workshop.bytes("public/log/attest.pem")
      try FileManager.default.removeItem(atPath: workshop.path("state/log/attest.key"))
      let later = ["--now", "2020-11-25T15:00:00Z"]
      let refused = try workshop.keyferry(["publish"] + later)
      #expect(refused.status == 2 && refused.errors.contains("attest.key is gone"), "\(refused.errors)")
      #expect(refused.errors.contains("keyferry log adopt --new-attestation-key"), "\(refused.errors)")
      let status = try workshop.keyferry(["status"] + later)
      #expect(status.status == 1 && status.text.contains("attest.key"), "\(status.text)\(status.errors)")
      #expect(try workshop.bytes("public/log/attest.pem") == shown)
      #expect(
        try workshop.keyferry("log", "adopt", "public/log", "--state", "state/log", "--new-attestation-key").status
          == 64)
      let renewed = try workshop.keyferry("log", "adopt", "--config", "gateway.yaml", "--new-attestation-key")
      #expect(renewed.status == 0, "\(renewed.errors)")
      #expect(try workshop.keyferry(["publish"] + later).status == 0)
      #expect(try workshop.bytes("public/log/attest.pem") != shown)
      let verified = try workshop.keyferry("audit", "verify", path, "--key", "public/log/attest.pem")
      #expect(verified.status == 0, "\(verified.text)")
      let twice = try workshop.keyferry("log", "adopt", "--config", "gateway.yaml", "--new-attestation-key")
      #expect(twice.status == 2 && twice.errors.contains("is not lost"), "\(twice.errors)")
    }
  }

  /// The store of an old backup: the folder shows what it does not know.
  @Test func bundlesThatTheStoreDoesNotKnowAreTold() throws {
    try withGateway { workshop in
      let path = try bundle(workshop)
      let good = try workshop.keyferry("audit", "rebuild", "--all", "--json")
      #expect(good.text.contains("\"proofs_verified\" : true"), "\(good.text)")
      try FileManager.default.removeItem(atPath: workshop.path("state/keyferry.sqlite"))
      for name in ["state/keyferry.sqlite-wal", "state/keyferry.sqlite-shm"] {
        try? FileManager.default.removeItem(atPath: workshop.path(name))
      }
      #expect(try workshop.keyferry(["store", "begin", "--yes"] + Self.noon).status == 0)
      #expect([0, 1].contains(try workshop.keyferry(["pull"] + Self.noon).status))
      let old = try workshop.keyferry("audit", "rebuild", "--all")
      #expect(old.status == 1 && old.errors.contains("that the store does not know, such as DE/"), "\(old.errors)")
      try check(try workshop.keyferry("audit", "rebuild", "--all", "--json"), "audit.schema.json", 1)
      let one = try workshop.keyferry("audit", "rebuild", "--bundle", path)
      #expect(one.status == 64 && one.errors.contains("and the folder shows it"), "\(one.errors)")
    }
  }

  @Test func commitmentsAreOpenedForPrograms() throws {
    try withGateway { workshop in
      let opened = try workshop.keyferry("log", "reveal", "1", "--json")
      try check(opened, "log-reveal.schema.json", 0)
      #expect(opened.text.contains("\"entry\""), "\(opened.text)")
      // Another program comes to the same.
      let commitment = try #require(opened.text.split(separator: "\n").first { $0.contains("\"commitment\"") })
      let script = PackageFolder.root.appending(path: "interop/log/commitment.py").path()
      let other = try #require(Tool(named: "python3")).run([script], input: opened.output)
      #expect(other.status == 0 && commitment.contains(other.text.dropLast()), "\(other.text)\(other.errors)")
      let missing = try workshop.keyferry("log", "reveal", "phones/2020-11-25T12:00:00Z")
      #expect(missing.status == 64 && missing.errors.contains("no hour of uploads"), "\(missing.errors)")
    }
  }
}
