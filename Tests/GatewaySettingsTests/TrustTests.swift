import GatewaySettings
import KeyNormalization
import KeyPeers
import KeyReceiving
import Testing

/// Who must stand behind what a source sends: said for each source, by the protocol's rules, and never assumed.
@Suite struct TrustTests {
  private func plan(_ source: String) throws -> (trust: Trust.Kind?, speaksFor: [String]?, warnings: [String]) {
    let (plan, warnings) = try Fixture.parse("state: /s\nsources: [{name: a, \(source)}]")
    return (plan.sources.first?.trust.kind, plan.sources.first?.spokenOrigins, warnings.map(\.reason))
  }

  @Test(arguments: [
    (#"protocol: index, location: "https://a.example", trust: host"#, Trust.Kind.host),
    (#"protocol: index, location: "https://a.example", trust: operator"#, .operator),
    (#"protocol: sample-app, location: "https://a.example", trust: host"#, .host),
    (#"protocol: efgs, location: "https://a.example", trust: host, speaks-for: [DE]"#, .host),
    (
      #"protocol: efgs, location: "https://a.example", trust: origins, federation-trust: federation.json, speaks-for: [DE]"#,
      .origins
    ), ("protocol: files, location: in, trust: operator", .operator),
  ])
  func whatIsSaidHolds(source: String, kind: Trust.Kind) throws { #expect(try plan(source).trust == kind) }

  @Test(arguments: [
    (#"protocol: index, location: "http://a.example", trust: host"#, "TLS proves the name"),
    ("protocol: files, location: in, trust: host", "allowed a ring of public keys (PEM, folder, JSON), operator"),
    (#"protocol: efgs, location: "https://a.example", trust: origins"#, "federation-trust: missing"),
    (
      #"protocol: efgs, location: "https://a.example", trust: host, federation-trust: x"#, "is for trust: origins alone"
    ),
    (
      #"protocol: efgs, location: "https://a.example", trust: origins, federation-trust: list.json"#,
      "an array, expected an object"
    ),
    (
      #"protocol: efgs, location: "https://a.example", trust: origins, federation-trust: federation.json, allow: [md5]"#,
      "sources.a.allow.0: \"md5\", allowed sha1"
    ),
    (#"protocol: index, location: "https://a.example", trust: origins"#, "allowed a ring"),
    (#"protocol: index, location: "https://a.example""#, "trust: missing"),
  ])
  func whatCannotHoldIsAFault(source: String, reason: String) {
    let faults = Fixture.faults("state: /s\nsources: [{name: a, \(source)}]")
    #expect(faults.contains { ($0.contains("trust") || $0.contains("allow.0")) && $0.contains(reason) }, "\(faults)")
  }

  /// A federation gateway leaves out what the country that asks has sent itself, whoever it may speak for.
  @Test(arguments: ["efgs", "index"]) func ourKeysDoNotComeBackFromAFederationGateway(peer: String) throws {
    let options = peer == "index" ? ", options: {index: x}" : ""
    let (_, warnings) = try Fixture.parse(
      "state: /s\nown-origins: [DE]\nsources: [{name: a, protocol: \(peer), location: \"https://a.example\", trust: host, "
        + "origin: IT, speaks-for: [DE, IT]\(options)}]")
    #expect(warnings.contains { $0.reason.contains("own-origins") } == (peer == "index"), "\(warnings)")
  }

  /// Own keys are taken from the server of their origin alone.
  @Test(arguments: [
    (
      "speaks-for: [NL, BE]",
      ["names NL of own-origins: keys of these that it brings are rejected", "write origin: NL"]
    ),
    ("origin: BE, speaks-for: [NL, BE]", ["names NL of own-origins: keys of these that it brings are rejected"]),
    (
      "origin: NL, speaks-for: [NL, BE]",
      ["speaks for BE too, and for NL of own-origins as its origin", "write origin: BE"]
    ),
    ("origin: NL", []), ("origin: NL, speaks-for: [NL]", []), ("origin: BE", []),
  ])
  func whatIsSaidOfOwnOriginsHolds(words: String, reasons: [String]) throws {
    let (_, warnings) = try Fixture.parse(
      "state: /s\nown-origins: [NL]\nsources: [{name: a, protocol: index, location: \"https://a.example\", trust: host, "
        + "options: {index: x}, \(words)}]")
    let told = warnings.map(\.reason).filter { $0.contains("own-origins") }
    #expect(told.count == (reasons.isEmpty ? 0 : 1), "\(told)")
    for reason in reasons { #expect(told.first?.contains(reason) == true, "\(told)") }
  }

  /// Apps of DP-3T would be told that the series has nothing for them.
  @Test func dp3tNeedsKeyDays() throws {
    func warnings(_ rollups: String) throws -> [String] {
      try Fixture.parse(
        """
        state: /s
        publication: {folder: /p}
        series: [{name: CH, rollups: [\(rollups)], sign: [{key: {file: a.key}, id: "228", version: v1}]}]
        server: {layouts: [dp3t]}
        """
      ).warnings.map(\.reason)
    }
    #expect(try warnings("day").contains { $0.contains("the series CH has no archives by key day") })
    #expect(try !warnings("key-day").contains { $0.contains("key day") })
  }

  /// A door whose keys go nowhere is told, and a source cannot have its name.
  @Test func doorsBesideOtherThings() throws {
    let text = """
      state: /s
      publication: {folder: /p}
      server: {uploads: {origin: AW, rate: none, token: {env: TOKEN}}}
      """
    let (plan, warnings) = try Fixture.parse(text)
    #expect(plan.uploads.first?.regions == ["AW"], "its own region, where nothing is said")
    #expect(warnings.contains { $0.reason.contains("no series publishes keys for AW") })
    let faults = Fixture.faults(text + "\nsources: [{name: uploads, protocol: files, location: /f, trust: operator}]")
    #expect(faults.contains { $0.contains("a source cannot be called uploads beside a door") }, "\(faults)")
  }
}
