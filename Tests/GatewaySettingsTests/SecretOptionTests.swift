import BundleTrust
import ExposureKeys
import GatewaySettings
import GatewayTesting
import KeyNormalization
import Testing

@testable import KeyPeers

/// Options of peers that are secrets, with a protocol that has one.
@Suite("Secret options") struct SecretOptionTests {
  private static let peer = PeerProtocol(
    PeerDescription(
      "keyed", summary: "an index behind a key",
      options: [
        PeerOption("key", .secret, isRequired: true, "the key that the server has given out"),
        PeerOption("suffix", .ending, "how listed paths end"),
      ], trusts: [.operator]
    ) { settings, cursor, now in IndexPeer(settings, cursor: cursor, now: now) })

  private static func plan(_ options: String) throws(GatewayFaults) -> SourceSettings? {
    let text = """
      state: /s
      sources:
        - name: a
          protocol: keyed
          location: https://a.example
          options: \(options)
          trust: operator
      """
    return try GatewayFile.parse(
      text, path: "/etc/k/gateway.yaml", files: Fixture.files, environment: Fixture.environment, now: Fixture.now,
      layouts: Fixture.layouts, peers: [peer],
      trials: SettingTrials(options: { PeerCatalog.faults(of: $0).map { String($0.dropFirst("options.".count)) } })
    ).plan.sources.first
  }

  @Test(arguments: ["{file: token}", "{env: TOKEN}"])
  func fromAFileOrTheEnvironment(place: String) throws {
    let settings = try #require(try Self.plan("{key: \(place), suffix: .zip}"))
    #expect(settings.secrets.keys.sorted() == ["key"] && settings.options == ["suffix": ".zip"])
    #expect(settings.secrets["key"]?.disclosed == Fixture.secret)
    var dumped = ""
    dump(settings, to: &dumped)
    for shown in ["\(settings)", String(reflecting: settings), dumped] { #expect(!shown.contains(Fixture.secret)) }
  }

  @Test(
    "A fault with its place, and never the value",
    arguments: [
      ("{key: hunter2-hunter2}", "6:15: error: sources.a.options.key: a secret is never written here, allowed "),
      ("{key: {file: token, env: TOKEN}}", "6:15: error: sources.a.options.key: allowed one of "),
      ("{key: {file: short}}", "6:15: error: sources.a.options.key: what the secret is, is not allowed; allowed 8 to "),
      ("{key: {file: none}}", "6:21: error: sources.a.options.key: /etc/k/none: cannot open"),
      ("{key: {env: hunter2-hunter2}}", "6:21: error: sources.a.options.key: the environment has no variable"),
      ("{suffix: .zip}", "6:5: error: sources.a.options.key: missing; protocol keyed needs it"),
    ])
  func faults(options: String, expected: String) {
    do throws(GatewayFaults) {
      _ = try Self.plan(options)
      Issue.record("taken")
    } catch {
      let errors = error.all.filter { $0.severity == .error }
      #expect(errors.count == 1)
      #expect(errors.first?.description.hasPrefix("/etc/k/gateway.yaml:\(expected)") == true, "\(errors)")
      #expect(!"\(error)".contains("hunter2"))
    }
  }

  @Test func twoKeysAreTwoSources() throws {
    func text(_ second: String) -> String {
      """
      state: /s
      sources:
        - {name: a, protocol: keyed, location: "https://a.example", options: {key: {file: token}}, trust: operator}
        - {name: b, protocol: keyed, location: "https://a.example", options: {key: {file: \(second)}}, trust: operator}
      """
    }
    func sources(_ text: String) throws(GatewayFaults) -> [SourceSettings] {
      try GatewayFile.parse(
        text, path: "/etc/k/gateway.yaml", files: Fixture.files, environment: Fixture.environment, now: Fixture.now,
        layouts: Fixture.layouts, peers: [Self.peer]
      ).plan.sources
    }
    #expect(try sources(text("a.key")).count == 2)
    #expect(throws: GatewayFaults.self) { try sources(text("token")) }
  }

  @Test func aSecretInTheWrongPlaceIsAFaultForPrograms() {
    var settings = SourceSettings(
      name: "a", peer: Self.peer, location: "https://a.example", options: ["key": "hunter2-hunter2"],
      secrets: ["suffix": Secret("hunter2-hunter2")], trust: .operator, reading: .init(name: "x"))
    let faults = PeerCatalog.faults(of: settings)
    #expect(faults.count == 2 && !faults.joined().contains("hunter2"), "\(faults)")
    settings.options = [:]
    settings.secrets = ["key": Secret("hunter2-hunter2")]
    #expect(PeerCatalog.faults(of: settings) == [])
  }

  /// The key of a DP-3T server's answers, as a path like other public keys, or as it is.
  @Test func aPublicKeyIsInAFileOrWrittenHere() throws {
    func text(_ key: String) -> String {
      """
      state: /s
      sources:
        - {name: a, protocol: dp3t, location: "https://a.example", origin: CH, trust: operator, options: {version: v2, key: "\(key)"}}
      """
    }
    let pem = Fixture.keys[0].publicKey.pem
    let base64 = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
    for (stated, key) in [("keys/de.pem", pem), ("/etc/k/keys/de.pem", pem), (base64, base64)] {
      #expect(try Fixture.parse(text(stated)).plan.sources.first?.options["key"] == key)
    }
    for (stated, reason) in [
      ("keys/bad.pem", "/etc/k/keys/bad.pem: neither a PEM block nor base64"), ("keys/none.pem", "cannot open"),
    ] {
      let faults = Fixture.faults(text(stated))
      #expect(faults.count == 1 && faults[0].contains("error: sources.a.options.key: "), "\(faults)")
      #expect(faults.first?.contains(reason) == true, "\(faults)")
    }
  }

  /// Each as YAML, and a part of it that no message may show.
  private static let secrets = [
    ("\"hunter2hunter2hunter2\"", "hunter2hunter2"),
    ("\"-----BEGIN PRIVATE KEY-----\\nMIGHAgEAMBMGByqG\\n-----END PRIVATE KEY-----\"", "MIGHAgEAMBMGByqG"),
    ("\"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJvcGVyYXRvciJ9.c2lnbmF0dXJlLW9mLXRva2Vu\"", "eyJzdWIiOiJvcGVyYXRvciJ9"),
  ]

  @Test("a secret in place of the path of its file is not repeated", arguments: secrets)
  func inPlaceOfAPath(written: String, part: String) {
    for http in [
      "headers: {Authorization: {file: \(written)}}", "client-certificate: roots.pem, client-key: {file: \(written)}",
      "roots: \(written)",
    ] {
      let faults = Fixture.faults(
        """
        state: /s
        sources:
          - name: a
            protocol: index
            location: https://a.example
            trust: operator
            http: {\(http)}
        """
      ).joined(separator: "\n")
      #expect(faults.contains("do not look like a path"), "\(http)")
      #expect(!faults.contains(part), "\(http)")
    }
    let ring = Fixture.faults(
      "state: /s\nsources:\n  - {name: a, protocol: index, location: https://a.example, trust: \(written)}\n"
    ).joined(separator: "\n")
    #expect(ring.contains("do not look like a path") && !ring.contains(part))
  }
}
