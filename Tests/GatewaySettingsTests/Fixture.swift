import BundleTrust
import ExposureKeys
import GatewayServer
import GatewaySettings
import GatewayTesting
import KeyIntake
import KeyPeers

/// Files that are not on this machine.
struct MemoryFiles: SettingFiles {
  var texts: [String: String] = [:]
  var modes: [String: UInt32] = [:]
  /// What every file holds that is not named above, by the end of its name.
  var endings: [(ending: String, text: String)] = []

  func contents(of path: String, limit: Int) throws(FileFault) -> [UInt8] {
    guard let text = texts[path] ?? endings.first(where: { path.hasSuffix($0.ending) })?.text else {
      throw FileFault("open", path, reason: "no such file or directory")
    }
    guard text.utf8.count <= limit else { throw FileFault("read", path, reason: "it is too large") }
    return Array(text.utf8)
  }

  func names(in folder: String) throws(FileFault) -> [String]? {
    let names = texts.keys.filter { $0.hasPrefix("\(folder)/") }.map { String($0.dropFirst(folder.count + 1)) }
    return names.isEmpty ? nil : names
  }

  func permissions(of path: String) -> UInt32? { modes[path] ?? 0o640 }

  /// Links, by their path.
  var links: [String: String] = [:]

  func realPath(of path: String) -> String {
    guard let link = links.first(where: { path == $0.key || path.hasPrefix("\($0.key)/") }) else { return path }
    return link.value + path.dropFirst(link.key.count)
  }
}

enum Fixture {
  static let now = Instant(secondsSince1970: 1_606_780_800)  // 2020-12-01
  static let layouts = Set(LayoutCatalog.all.map { $0.name })
  static let secret = "hunter2hunter2hunter2"
  static let keys = [SigningKey.generate(), SigningKey.generate(), SigningKey.generate()]
  static let environment = [
    "CALLBACK_KEY": "-----BEGIN PRIVATE KEY-----\n\(secret)\n-----END PRIVATE KEY-----\n", "TOKEN": secret, "EMPTY": "",
    "KEYFERRY_UPLOAD_TOKEN": secret, "KEYFERRY_REVISION_KEY": secret + secret,
  ]

  static let files = MemoryFiles(
    texts: [
      "/etc/k/keys/de.pem": keys[0].publicKey.pem,
      "/etc/k/keys/nl/204-v1.pem": keys[1].publicKey.pem,
      "/etc/k/keys/old.json": """
      {"keys": [{"id": "1", "version": "v1", "until": "2020-06-01T00:00:00Z", "publicKey": "\(base64(keys[0]))"}]}
      """,
      "/etc/k/keys/bad.pem": "nothing",
      "/etc/k/a.key": keys[0].pemRepresentation,
      "/etc/k/federation.json": federationTrust,
      "/etc/k/nbbs.pem": TestCertificate.netherlands.pem,
      "/etc/k/nbbs.key": TestCertificate.netherlands.keyPEM,
      "/etc/k/b.key": keys[1].pemRepresentation,
      "/etc/k/open.key": keys[2].pemRepresentation,
      "/etc/k/rsa.key": "-----BEGIN PRIVATE KEY-----\n\(secret)\n-----END PRIVATE KEY-----\n",
      "/etc/k/revision": "\(secret)\(secret)",
      "/etc/k/token": "\(secret)\n",
      "/etc/k/short": "hunter2\n",
      "/etc/k/roots.pem": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      "/etc/k/policies/mine.yaml":
        "name: mine\nreading: {speaks-for: [DE]}\npublishing: {regions: {none-named: origin}}\n",
      "/etc/k/policies/default.yaml": "name: default\n",
      "/etc/k/policies/broken.yaml": "name: broken\npublishing:\n  hold-minutes: soon\n",
      "/etc/k/exposure.json": String(decoding: ExposureConfiguration.defaultJSON, as: UTF8.self),
      "/etc/k/list.json": "[]",
      "/etc/k/trust.json": FederationTrustText.one,
      "/etc/k/verify.pem": keys[2].publicKey.pem,
      "/etc/k/jwks.json": """
      {"keys": [{"kty": "EC", "crv": "P-256", "kid": "k2", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", \
      "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}
      """,
      "/etc/k/dp3t.json":
        "{\"infoBox\": {\"deInfoBox\": {\"title\": \"Hallo\"}}, \"iOSGaenSdkConfig\": {\"factorHigh\": 0.75}}",
    ],
    modes: ["/etc/k/open.key": 0o644, "/etc/k/short": 0o660])

  /// An anchor without any certificates.
  private static let federationTrust: String = {
    do throws(FederationFault) {
      let trust = FederationTrust(anchor: try FederationCertificate(pem: TestCertificate.anchor.pem))
      return String(decoding: trust.json(), as: UTF8.self)
    } catch {
      return "\(error)"
    }
  }()

  private static func base64(_ key: SigningKey) -> String {
    key.publicKey.pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
  }

  static func parse(
    _ text: String, files: MemoryFiles = files, now: Instant = now,
    checkingOptions: @escaping (SourceSettings) -> [String] = { _ in [] }
  ) throws(GatewayFaults) -> (plan: GatewayPlan, warnings: [GatewayFault]) {
    try GatewayFile.parse(
      text, path: "/etc/k/gateway.yaml", files: files, environment: environment, now: now, layouts: layouts,
      trials: SettingTrials(options: checkingOptions))
  }

  /// What is wrong, without the file's name where it is the configuration's.
  static func faults(
    _ text: String, now: Instant = now, checkingOptions: @escaping (SourceSettings) -> [String] = { _ in [] }
  ) -> [String] {
    let faults: [GatewayFault]
    do throws(GatewayFaults) {
      faults = try parse(text, now: now, checkingOptions: checkingOptions).warnings
    } catch {
      faults = error.all
    }
    return faults.map { fault in
      let text = "\(fault)"
      let own = "/etc/k/gateway.yaml:"
      return text.hasPrefix(own) ? String(text.dropFirst(own.count)) : text
    }
  }

  /// Every setting there is.
  static let full = """
    state: state
    own-origins: [nl, BQ]
    retention: {keys: 20 days, evidence: 2 days, quarantine: 3650 days, evidence-bytes: 3 GB}
    clock: {back: 30 min, ahead: 2 days}
    silence: 12 hours
    behind: 4 days
    policies: [policies/mine.yaml]
    sources:
      - name: germany
        protocol: corona-warn-app
        location: https://svc90.example.de:8443/version/v1
        options: {country: DE, hours: true}
        trust: keys/de.pem
        reading: mine
        origin: DE
        relay: false
        speaks-for: [DE, AT]
        every: 90 min
        limits: {document: 64 MB}
        http:
          headers:
            Authorization: {file: token, prefix: "Bearer "}
            X-Api-Key: {env: TOKEN}
            User-Agent: keyferry
          roots: roots.pem
          client-certificate: roots.pem
          client-key: {file: a.key}
          allowed-hosts: [CDN.example.de]
          http2: false
          connect: 5 s
          idle: 1 min
          total: 1 hour
          retries: 2
          connections: 8
      - {name: drop, protocol: files, location: ../drop/./box, trust: operator, relay: [de, AT]}
      - name: federation
        protocol: efgs
        location: https://efgs.example.org
        trust: origins
        federation-trust: federation.json
        allow: [sha1]
        rehearsal: true
        speaks-for: [DE]
        http: {client-certificate: roots.pem, client-key: {file: a.key}}
      - {name: nl, protocol: index, location: "http://localhost:8000", trust: keys/nl, origin: NL}
    destinations:
      - name: efgs
        protocol: efgs
        location: https://efgs.example.org
        origin: NL
        sources: [nl, door]
        policy: efgs
        regions: [DE, BE]
        signing: {certificate: nbbs.pem, key: {file: nbbs.key}}
        certificate: roots.pem
        key: {file: a.key}
        roots: roots.pem
        every: 2 hours
        time-out: 1 min
        batch-keys: 1000
        maximum-age: 13 days
        format: json
        symptoms-not-given: not-provided
        rehearsal: true
    series:
      - {name: NL-original, title: The original, mirror: nl, every: 4 hours, grace: 2 days}
      - name: NL
        title: Netherlands
        include: [NL, BE]
        exclude: [DE]
        origins: [NL]
        travellers-only: true
        publishing: ./policies/mine.yaml
        region: "204"
        every: 4 hours
        minimum: {keys: 100, too-few: pad}
        empty-windows: publish
        split: {keys: 1000, bytes: 500 KB, window: 200000}
        rollups: [since, key-day]
        editions: 2
        names: "{start}-{number}.zip"
        listed: 10 days
        grace: 2 hours
        sign:
          - key: {file: a.key}
            id: "204"
            version: v1
            app: nl.example.app
            android: nl.example
            from: 2020-06-01
            until: 2021-01-01T00:00:00Z
          - {key: {file: b.key}, id: "204", version: v2, app: nl.example.app, android: nl.example, from: 2020-12-31}
      - {name: travel, rollups: [day, key-day], sign: [{key: {file: b.key}, id: "204", version: t1, app: nl.example.app, android: nl.example}]}
    publication: {folder: /srv/keys}
    log:
      name: keys.example.org/en/evidence
      folder: evidence
      state: /var/lib/evidence
      witnesses: [{key: "witness.example.org/w1+e9a71523+BFSG+/rWZWZGZ0An7CXRrZixjcilXn6mhEQ5X1TOuj+i", url: https://witness.example.org/}]
    server:
      listen: "[::1]:0"
      url: https://keys.example.org/en
      certificate: roots.pem
      key: {file: a.key, }
      response-key: {file: a.key}
      layouts: [google, dp3t, corona-warn-app, immuni]
      default-series: NL
      travel: travel
      roaming: {NL: NL, DE: travel}
      countries: {corona-warn-app: {NL: NL, EUR: travel}, immuni: {DE: travel}}
      exposure-configuration: exposure.json
      dp3t-configuration: dp3t.json
      rate: 600/min
      proxies: [127.0.0.1, 10.0.0.0/8, "fd00::/8"]
      proxy-field: forwarded
      metrics-clients: [10.1.0.0/16]
      connections: {all: 2000, client: 20, head: 5 s, least: 1 KB, idle: 30 s, stalled: 20 s}
      cache: 64 MiB
      uploads:
        name: door
        path: /nl
        protocols: [publish, dp3t]
        origin: nl
        reading: google-key-server
        regions: [NL, DE]
        series: [NL]
        rate: none
        answer-after: 3 s
        token: {env: TOKEN}
        clients: {hospital: {file: token}, app: {env: TOKEN}}
        certificates:
          - issuer: verify.example.org
            audience: keys.example.org
            health-authority: nl.example
            keys: {k1: verify.pem}
            key-set: jwks.json
            refresh: 10 min
            roots: roots.pem
          - {issuer: other.example.org, audience: keys.example.org, key-set: "https://other.example.org/jwks"}
        codes: {url: "https://verify.example.org/code", token: {file: token}, roots: roots.pem, member: pin, time-out: 2 s,
          rate: 60/min}
        dp3t: {keys: [verify.pem], next-day-key: {file: a.key}, validity: 30 min}
        revision-key: {file: revision}
        ignored-members: [pinToken, platform]
    operators: {listen: "10.2.0.1:9091", clients: [10.2.0.0/16]}
    federation:
      trust: trust.json
      certificates-from: proxy
      path: /efgs
      policy: efgs
      upload-keys: 2000
      batch-keys: 4000
      batch-every: 10 min
      keep: 3 days
      tags: gateway
      statistics: true
      allow: [sha1, chain-certificates]
      rehearsal: [FR]
      listen: 0.0.0.0:8444
      certificate: roots.pem
      key: {file: rsa.key}
      proxy-fields: {certificate: X-Cert, digest: X-Digest, subject: X-Name}
      callbacks:
        certificate: roots.pem
        key: {env: CALLBACK_KEY}
        private-networks: [10.0.0.0/8, "fd00::/8"]
        authentication-certificates: true
    """
}
