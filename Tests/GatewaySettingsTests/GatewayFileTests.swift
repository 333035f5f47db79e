import BundleTrust
import ExposureKeys
import Federation
import Foundation
import GatewayServer
import GatewayTesting
import KeyIntake
import KeyNormalization
import KeyPeers
import KeyPublishing
import KeyReceiving
import KeyStorage
import PolicyFiles
import Testing

@testable import GatewaySettings

@Suite struct GatewayFileTests {
  @Test func everySettingIsRead() throws {
    let (plan, warnings) = try Fixture.parse(Fixture.full)
    // Its relay lists no own origin, and its certificates are of a later year.
    #expect(
      warnings.map(\.place) == ["sources.drop.relay", "log", "operators", "federation.trust", "federation.trust"])
    #expect(plan.stateFolder == "/etc/k/state" && plan.publicationFolder == "/srv/keys")
    #expect(plan.ownOrigins == ["NL", "BQ"])
    #expect(
      plan.clock.back == 1800 && plan.clock.ahead == 172_800 && plan.silenceLimit == 43_200
        && plan.behindLimit == 345_600)
    #expect(plan.retention.keyDays == 20 && plan.retention.evidenceDays == 2 && plan.retention.quarantineDays == 3650)
    #expect(plan.retention.evidenceBytes == 3_000_000_000)

    let germany = try #require(plan.sources.first)
    #expect(plan.sources.map(\.name) == ["germany", "drop", "federation", "nl"])
    #expect(germany.peer == .coronaWarnApp && germany.location == "https://svc90.example.de:8443/version/v1")
    #expect(germany.options == ["country": "DE", "hours": "true"])
    #expect(germany.trust.ring?.keys.map(\.publicKey) == [Fixture.keys[0].publicKey])
    #expect(germany.reading.name == "mine" && germany.reading.reading.speaksFor == ["DE"])
    #expect(germany.origin == "DE" && !germany.isRelay && germany.speaksFor == ["DE", "AT"])
    #expect(germany.interval == 5400 && germany.documentByteLimit == 64_000_000)
    let http = germany.transport
    #expect(
      http.headers.map { "\($0.name): \($0.value.disclosed)" } == [
        "Authorization: Bearer \(Fixture.secret)", "X-Api-Key: \(Fixture.secret)", "User-Agent: keyferry",
      ])
    #expect(http.rootsPEM == http.clientCertificatePEM && http.rootsPEM?.hasPrefix("-----BEGIN CERTIFICATE") == true)
    #expect(http.clientKeyPEM?.disclosed.contains("PRIVATE KEY") == true)
    #expect(http.allowedHosts == ["cdn.example.de"] && !http.http2)
    #expect(http.connectSeconds == 5 && http.idleSeconds == 60 && http.totalSeconds == 3600)
    #expect(http.retries == 2 && http.connectionsPerHost == 8)
    #expect(
      plan.sources[1].location == "/etc/drop/box" && plan.sources[1].trust.kind == .operator && plan.sources[1].isRelay)
    #expect(plan.sources[1].carries == ["DE", "AT"] && plan.sources[0].carries == nil)
    #expect(plan.sources[3].trust.ring?.keys.map(\.id) == ["204"])
    #expect(plan.sources[3].reading == (try ShippedPolicies.policy(named: "default")))

    #expect(plan.sources[2].trust.kind == .origins && plan.sources[2].ownOrigins == ["NL", "BQ"])

    let destination = try #require(plan.destinations.first)
    #expect(
      destination.name == "efgs" && destination.location == "https://efgs.example.org" && destination.origin == "NL")
    #expect(destination.sources == ["nl", "door"] && destination.publishing.name == "efgs")
    #expect(destination.regions == ["BE", "DE"] && destination.interval == 7200 && destination.batchKeys == 1000)
    #expect(destination.maximumAgeDays == 13 && destination.format == .json && destination.missingOnset == .notProvided)
    #expect(destination.isRehearsal && destination.signer.subject.contains("Keyferry test signing NL"))
    #expect(destination.transport.clientKeyPEM != nil && destination.transport.totalSeconds == 60)

    let series = try #require(plan.series.first)
    #expect(series.name == "NL" && series.title == "Netherlands" && series.headerRegion == "204")
    #expect(
      series.selection
        == RegionSelection(include: ["NL", "BE"], exclude: ["DE"], origins: ["NL"], travellersOnly: true))
    #expect(series.publishing.name == "mine" && series.period == 14_400)
    #expect(series.minimumKeys == 100 && series.pads && series.publishesEmptyWindows)
    #expect(series.maximumKeys == 1000 && series.maximumBytes == 500_000)
    #expect(
      !series.makesDays && series.makesSince && series.makesKeyDays && series.editionsPerDay == 2
        && series.namePattern == NamePattern("{start}-{number}.zip")
        && series.listedDays == 10 && series.graceSeconds == 7200)
    #expect(series.identities.map(\.identity.keyVersion) == ["v1", "v2"])
    #expect(series.identities[0].identity.key.publicKey == Fixture.keys[0].publicKey)
    #expect(series.identities[0].identity.appBundleID == "nl.example.app")
    #expect(series.identities[0].identity.androidPackage == "nl.example")
    #expect(series.identities[0].until == Instant("2021-01-01") && series.identities[1].from == Instant("2020-12-31"))
    let mirror = try #require(plan.mirrors.first)
    #expect(plan.mirrors.count == 1 && mirror.name == "NL-original" && mirror.title == "The original")
    #expect(mirror.source == "nl" && mirror.period == 14_400 && mirror.graceSeconds == 172_800)
    #expect(plan.sources.filter(\.isMirrored).map(\.name) == ["nl"])
    #expect(plan.series[1].title == "travel" && plan.series[1].selection == RegionSelection())

    let server = try #require(plan.server)
    #expect(server.host == "::1" && server.port == 0 && server.publicURL == "https://keys.example.org/en")
    #expect(server.certificatePEM != nil && server.privateKeyPEM != nil && server.responseKeyPEM != nil)
    #expect(
      server.layouts == ["google", "dp3t", "corona-warn-app", "immuni"] && server.defaultSeries == "NL"
        && server.travelSeries == "travel")
    #expect(server.roaming == ["NL": "NL", "DE": "travel"])
    #expect(server.countries == ["corona-warn-app": ["NL": "NL", "EUR": "travel"], "immuni": ["DE": "travel"]])
    #expect(server.exposureConfiguration == .default && server.requestsPerMinute == 600)
    let proxies = TrustedProxies(
      [AddressBlock("127.0.0.1"), AddressBlock("10.0.0.0/8"), AddressBlock("fd00::/8")].compactMap(\.self),
      field: .forwarded)
    #expect(server.proxies == proxies)
    #expect(server.metricsClients == [AddressBlock("10.1.0.0/16")])
    #expect(plan.operators?.host == "10.2.0.1" && plan.operators?.port == 9091)
    #expect(plan.operators?.clients == [try #require(AddressBlock("10.2.0.0/16"))])
    #expect(server.dp3tConfiguration?.contains("Hallo") == true)
    var uploads = UploadSettings(token: Secret(Fixture.secret), requestsPerMinute: nil, answerSeconds: 3)
    uploads.clients = ["hospital": Secret(Fixture.secret), "app": Secret(Fixture.secret)]
    var first = CertificateSettings(
      issuer: "verify.example.org", audience: "keys.example.org", keys: ["k1": Fixture.keys[2].publicKey.pem],
      healthAuthorityID: "nl.example")
    first.keySet = Fixture.files.texts["/etc/k/jwks.json"]
    first.refreshSeconds = 600
    first.rootsPEM = Fixture.files.texts["/etc/k/roots.pem"]
    var second = CertificateSettings(issuer: "other.example.org", audience: "keys.example.org")
    second.keySetAddress = "https://other.example.org/jwks"
    uploads.certificates = [first, second]
    var codes = CodeServiceSettings(address: "https://verify.example.org/code")
    (codes.token, codes.member, codes.timeoutSeconds, codes.callsPerMinute) = (Secret(Fixture.secret), "pin", 2, 60)
    codes.rootsPEM = Fixture.files.texts["/etc/k/roots.pem"]
    uploads.codes = codes
    uploads.dp3t = DP3TUploadSettings(
      keys: [Fixture.keys[2].publicKey.pem],
      nextDayKey: Secret(Fixture.keys[0].pemRepresentation.trimmingCharacters(in: .newlines)))
    uploads.dp3t?.validitySeconds = 1800
    uploads.revisionKey = Secret(Fixture.secret + Fixture.secret)
    uploads.ignoredMembers = ["pinToken", "platform"]
    (uploads.name, uploads.path, uploads.protocols) = ("door", "/nl", ["publish", "dp3t"])
    #expect(server.uploads == [uploads])
    let door = try #require(plan.uploads.first)
    #expect(door.name == "door" && door.origin == "NL" && door.regions == ["DE", "NL"] && door.series == ["NL"])
    #expect(door.reading.name == "google-key-server")

    let federation = try #require(plan.federation)
    #expect(federation.countries == ["DE"] && federation.path == "/efgs" && federation.clientCertificates == .proxy)
    #expect(federation.reading.name == "efgs" && federation.uploadKeys == 2000 && federation.batchKeys == 4000)
    #expect(federation.batchSeconds == 600 && federation.keptDays == 3)
    #expect(federation.sharesTags && federation.showsStatistics)
    #expect(federation.allowances == [.sha1Digest, .chainCertificates])
    #expect(plan.sourceNames.last == "federation/DE")
    let clients = try #require(plan.server?.federationDoor)
    #expect(clients.certificates == .proxy && clients.listen == .init(host: "0.0.0.0", port: 8444))
    #expect(clients.certificatePEM != nil && clients.privateKeyPEM != nil && clients.trustFile == "/etc/k/trust.json")
    #expect(clients.fields.digest == "X-Digest" && clients.fields.subject == "X-Name")
    #expect(clients.fields.certificate == "X-Cert")
    let callbacks = try #require(plan.federation?.callbacks)
    #expect(callbacks.takesAuthenticationCertificates && callbacks.privateNetworks.count == 2)
    #expect(callbacks.privateNetworks.contains { $0.contains(bytes: [10, 1, 2, 3]) })
  }

  @Test func whatAFederationNeeds() throws {
    let proxies = "server: {proxies: [127.0.0.1]}\npublication: {folder: /p}\n"
    let plan = try Fixture.parse(
      "state: /s\n" + proxies + "federation: {trust: trust.json, certificates-from: proxy, upload-keys: 9000}"
    ).plan
    for use in ["AUTHENTICATION", "SIGNING"] {
      let sentence = "federation.trust: DE: no certificate of the kind \(use) counts now"
      let text = "state: /s\n" + proxies + "federation: {trust: trust.json, certificates-from: proxy}"
      #expect(Fixture.faults(text).contains { $0.contains("warning: \(sentence)") })
      let later = Instant(secondsSince1970: 1_800_000_000)
      #expect(!Fixture.faults(text, now: later).contains { $0.contains(sentence) })
    }
    let federation = try #require(plan.federation)
    #expect(federation.batchKeys == 9000 && federation.batchSeconds == 300 && federation.keptDays == 2)
    #expect(!federation.sharesTags && !federation.showsStatistics && federation.allowances == [])
    #expect(federation.path == "" && federation.reading.name == "efgs")
    for (text, fault) in [
      ("federation: {trust: trust.json, certificates-from: proxy}", "federation: without a server"),
      (
        "server: {}\nfederation: {trust: trust.json, certificates-from: proxy}",
        "federation.certificates-from: proxy, and server.proxies names none"
      ),
      (
        "server: {}\nfederation: {trust: trust.json, certificates-from: tls}",
        "federation.listen: missing: where TLS says who asks"
      ),
      (
        "server: {}\nfederation: {trust: trust.json, certificates-from: tls, listen: 127.0.0.1:1}",
        "federation.certificates-from: tls, and neither federation nor server states a certificate"
      ),
      (
        "server: {listen: 127.0.0.1:1}\nfederation: {trust: trust.json, certificates-from: tls, listen: 127.0.0.1:1}",
        "federation.listen: the same as server.listen"
      ),
      (
        "server: {}\nfederation: {trust: trust.json, certificates-from: tls, listen: 127.0.0.1:1, proxy-fields: {}}",
        "federation.proxy-fields: with certificates-from: tls"
      ),
      (
        proxies + "federation: {trust: trust.json, certificates-from: proxy, proxy-fields: {digest: a b}}",
        "federation.proxy-fields.digest: "
      ),
      (
        proxies + "federation: {trust: trust.json, certificates-from: proxy, proxy-fields: {digest: X, subject: x}}",
        "federation.proxy-fields.digest: two of the three fields have the same name"
      ),
      (
        proxies + "federation: {trust: trust.json, certificates-from: proxy, callbacks: {}}",
        "federation.callbacks.certificate: missing"
      ),
      (
        proxies + "federation: {trust: trust.json, certificates-from: proxy, certificate: roots.pem}",
        "federation.key: missing: a certificate and its key go together"
      ),
      (proxies + "federation: {certificates-from: proxy}", "federation.trust: missing"),
      (proxies + "federation: {trust: trust.json}", "federation.certificates-from: missing, allowed tls or proxy"),
      (proxies + "federation: {trust: list.json, certificates-from: proxy}", "federation.trust: "),
      (
        proxies + "federation: {trust: trust.json, certificates-from: proxy, batch-keys: 10}",
        "federation.batch-keys: 10, allowed at least upload-keys, 5000"
      ),
      (proxies + "federation: {trust: trust.json, certificates-from: proxy, allow: [md5]}", "federation.allow.0: "),
      (proxies + "federation: {trust: trust.json, certificates-from: proxy, path: efgs}", "federation.path: "),
    ] {
      let faults = Fixture.faults("state: /s\n" + text)
      #expect(faults.contains { $0.contains("error: \(fault)") }, "\(text): \(faults)")
    }
  }

  @Test func whatIsNotStatedIsAsTheContractsSay() throws {
    let (plan, warnings) = try Fixture.parse(
      """
      state: /s
      sources: [{name: a, protocol: immuni, location: "https://a.example", trust: operator}]
      series: [{name: A, sign: [{key: {file: a.key}, id: "1", version: v1}]}]
      publication: {folder: /p}
      server: {}
      """)
    #expect(warnings.map(\.place) == ["sources.a.speaks-for"])
    #expect(plan.retention == Retention() && plan.ownOrigins == [])
    let source = try #require(plan.sources.first)
    let policy = try #require(try ShippedPolicies.policy(named: "default"))
    let plain = SourceSettings(
      name: "a", peer: .immuni, location: "https://a.example", trust: .operator, reading: policy)
    #expect(source.reading.reading == plain.reading.reading && source.reading.name == "default")
    #expect(source.interval == plain.interval && source.documentByteLimit == plain.documentByteLimit)
    #expect(source.origin == nil && source.speaksFor == nil && !source.isRelay && source.transport.http2)
    let series = try #require(plan.series.first)
    let bare = SeriesSettings(name: "A", selection: RegionSelection(), publishing: policy, identities: [])
    #expect(series.period == bare.period && series.makesDays == bare.makesDays && series.pads == bare.pads)
    #expect(series.maximumBytes == bare.maximumBytes && series.graceSeconds == bare.graceSeconds)
    #expect(plan.server == ServerSettings() && plan.operators == nil)
  }

  // MARK: Secrets

  /// Wherever a secret is put, by right or by mistake, no message repeats it.
  @Test(arguments: [
    "http: {headers: {Authorization: SECRET}}", "http: {headers: {X-Api-Key: SECRET}}",
    "http: {headers: {Accept: Bearer SECRET}}", "http: {headers: {Cookie: {SECRET: 1}}}",
    "http: {headers: {Cookie: {file: token, prefix: SECRET, more: 1}}}", "http: {headers: {Cookie: [SECRET]}}",
    "http: {headers: {Cookie: {env: SECRET}}}", "http: {client-key: SECRET}", "http: {client-key: {SECRET}}",
    "http: {client-key: {file: token}}", "http: {client-key: {env: TOKEN}, client-certificate: token}",
    "http: {headers: {Cookie: {file: short, SECRET: x}}}", "location: https://SECRET@a.example",
    "location: https://user:SECRET@a.example/path", "location: https://a.example/?token=SECRET",
    "location: ftp://user:SECRET@a.example", "trust: token", "http: {roots: token}",
    "http: {headers: {Cookie: \"SECRET", "http: {headers: {Cookie: {env: \"SECRET\"]}}",
  ])
  func secretsAreNeverRepeated(setting: String) throws {
    var settings = ["name: a", "protocol: index", "location: https://a.example", "trust: operator"]
    let name = setting.prefix { $0 != ":" }
    settings.removeAll { $0.hasPrefix("\(name):") }
    settings.append(setting.replacing("SECRET", with: Fixture.secret))
    let text = "state: /s\nsources:\n  - " + settings.joined(separator: "\n    ") + "\n"
    let faults = Fixture.faults(text)
    #expect(!faults.isEmpty)
    #expect(!faults.contains { $0.contains("hunter2") }, "\(faults)")
  }

  @Test(arguments: [
    "key: SECRET", "key: {SECRET: x}", "key: {env: SECRET}", "key: {file: rsa.key}", "key: {env: TOKEN}",
  ])
  func signingKeysAreNeverRepeated(setting: String) {
    let key = setting.replacing("SECRET", with: Fixture.secret)
    let faults = Fixture.faults(
      """
      state: /s
      series: [{name: A, sign: [{\(key), id: "1", version: v1}]}]
      publication: {folder: /p}
      server: {uploads: {origin: NL, token: \(Fixture.secret)}, response-\(key), \(key)}
      """)
    #expect(faults.count >= 4)
    #expect(!faults.contains { $0.contains("hunter2") }, "\(faults)")
  }

  // MARK: The example

  @Test func theExampleIsSound() throws {
    let folder = PackageFolder.root.appending(path: "interop/deploy")
    let text = try String(contentsOf: folder.appending(path: "gateway.yaml"), encoding: .utf8)
    var files = MemoryFiles()
    files.texts = [
      "/etc/keyferry/policies/travel.yaml": try String(
        contentsOf: folder.appending(path: "policies/travel.yaml"), encoding: .utf8),
      "/etc/keyferry/secrets/upload-token": Fixture.secret,
      "/etc/keyferry/secrets/revision-key": Fixture.secret + Fixture.secret,
      "/etc/keyferry/keys/netherlands/204-v1.pem": Fixture.keys[0].publicKey.pem,
      "/etc/keyferry/secrets/nl-v1.key.pem": Fixture.keys[1].pemRepresentation,
    ]
    files.endings = [
      (".key.pem", Fixture.keys[0].pemRepresentation), ("germany.pem", Fixture.keys[0].publicKey.pem),
      ("tls/efgs.pem", "-----BEGIN CERTIFICATE-----\n"),
    ]
    let (plan, warnings) = try GatewayFile.parse(
      text, path: "/etc/keyferry/gateway.yaml", files: files, environment: [:], now: Fixture.now,
      layouts: Fixture.layouts)
    #expect(warnings.map(\.place) == ["sources.efgs.trust"], "\(warnings)")
    #expect(plan.sources.count == 4 && plan.series.count == 2 && plan.server?.uploads.count == 1)
  }

  // MARK: Hostile texts

  @Test func whatIsNoConfiguration() {
    #expect(Fixture.faults("") == [" error: configuration: empty, a configuration is expected"])
    #expect(Fixture.faults("- a") == [" error: configuration: allowed a mapping of settings"])
    #expect(Fixture.faults("{}") == [" error: state: missing, allowed a folder"])
    #expect(Fixture.faults("state: [") == ["2:1: error: YAML: did not find expected node content"])
    #expect(Fixture.faults("state: /s\nstate: /t") == ["1:1: error: YAML: stated twice: state"])
    #expect(Fixture.faults("--- {}\n--- {}").count == 1)
    let anchors = "anchors and aliases (&, *) are not read; state each setting where it belongs"
    #expect(Fixture.faults("state: &a /s\nown-origins: [*a]") == ["1:8: error: configuration: \(anchors)"])
    var bomb = "a0: &a0 [x, x]\n"
    for level in 1...40 {
      bomb += "? [*a\(level - 1), *a\(level - 1)]\n: &a\(level) [*a\(level - 1), *a\(level - 1)]\n"
    }
    #expect(Fixture.faults(bomb) == ["1:5: error: configuration: \(anchors)"])
    #expect(Fixture.faults(String(repeating: "{", count: 9000))[0].contains("nested more than 32 levels"))
    #expect(Fixture.faults("state: " + String(repeating: "a", count: 300_000))[0].contains("allowed 0...262144"))
    #expect(Fixture.faults("state: /s\nsources: [{name: \"\\e[2J\"}]").allSatisfy { !$0.contains("\u{1b}") })
  }

  /// Whatever a text is, it is read or refused, and no fault repeats a secret.
  @Test func mutatedTexts() {
    var random = SeededRandom(for: "mutated configurations")
    let whole = Array(Fixture.full.utf8)
    let pieces = [
      "&a ", "*a", "[", "]", "{", "}", "- ", ": ", "? ", "!!binary ", "|\n", ">\n", "\t", "\u{0}", "\"", "'", "#", "\n",
      "\u{FEFF}", "é", "-1", "99999999999999999999", "<<: ", "%", "@", "--- ", "...\n", "0x1F", "~",
    ]
    for round in 0..<250 {
      var text = whole
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let place = Int.random(in: 0..<text.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: text.remove(at: place)
        case 1: text[place] = UInt8.random(in: 0...255, using: &random)
        case 2: text.insert(contentsOf: pieces.randomElement(using: &random)?.utf8 ?? "".utf8, at: place)
        default:
          let end = min(text.count, place + Int.random(in: 1...200, using: &random))
          text.replaceSubrange(place..<end, with: text[Int.random(in: 0..<text.count, using: &random)...].prefix(40))
        }
      }
      let faults = Fixture.faults(String(decoding: text, as: UTF8.self))
      #expect(
        !faults.contains { $0.contains("hunter2") || $0.contains("PRIVATE KEY-----\n") }, "round \(round): \(faults)")
    }
  }

  @Test func whoPublishesNoSeriesKeepsNoAgenda() throws {
    #expect(try Fixture.parse(Fixture.full).plan.retention.keepsAgenda)
    let text = "state: /s\nsources: [{name: drop, protocol: files, location: /d, trust: operator, origin: DE}]\n"
    #expect(try !Fixture.parse(text).plan.retention.keepsAgenda)
  }
}
