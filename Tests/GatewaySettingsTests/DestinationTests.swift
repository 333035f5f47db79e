import Federation
import Foundation
import GatewaySettings
import GatewayTesting
import KeyPeers
import KeyPublishing
import Testing

/// Whose keys may go to a federation gateway, and who signs them: said for each, and never assumed.
@Suite struct DestinationTests {
  private static let good = """
    name: b, protocol: efgs, location: "https://b.example", origin: NL, sources: [a], \
    certificate: roots.pem, key: {file: a.key}, signing: {certificate: nbbs.pem, key: {file: nbbs.key}}
    """

  private func faults(_ destination: String, source: String = "trust: operator, origin: NL", own: String = "[NL]")
    -> [String]
  {
    Fixture.faults(
      "state: /s\nown-origins: \(own)\nsources: [{name: a, protocol: files, location: in, \(source)}]\n"
        + "destinations: [{\(destination)}]")
  }

  @Test func whatIsNeededIsEnough() { #expect(faults(Self.good) == []) }

  @Test(arguments: [
    ("sources: [a]", "sources: [c]", "c is neither a source nor a door for uploads; there are a"),
    ("sources: [a]", "sources: []", "empty, allowed one or more names"),
    ("sources: [a], ", "", "sources: missing"),
    ("protocol: efgs", "protocol: dp3t", "allowed efgs"),
    ("protocol: efgs, ", "", "protocol: missing"),
    ("origin: NL", "origin: DE", "it is the certificate of NL, and the keys are of DE"),
    ("origin: NL", "origin: DE", "own-origins lacks DE"),
    ("name: b", "name: A", "has a source or a destination of that name"),
    ("https://b.example", "http://b.example", "location: plain HTTP, allowed https://efgs.example.org"),
    ("nbbs.key", "rsa.key", "signing.key"),
    (
      "origin: NL, sources: [a], certificate: roots.pem", "origin: DE, sources: [a], certificate: nbbs.pem",
      "certificate: it is the certificate of NL, and the keys are of DE: a gateway takes keys of the country that connects"
    ),
    ("nbbs.key", "a.key", "does not belong to the certificate"),
    ("nbbs.pem", "roots.pem", "signing.certificate"),
    (
      "certificate: roots.pem, key: {file: a.key}, ", "",
      "without certificate and key, no gateway of this kind lets us in"
    ),
    ("key: {file: a.key}, ", "", "a certificate and its key go together"),
    ("name: b", "name: b, batch-keys: 5001", "batch-keys"), ("name: b", "name: b, maximum-age: 16 days", "maximum-age"),
    ("name: b", "name: b, format: csv", "allowed protobuf, json"),
    ("name: b", "name: b, symptoms-not-given: 0", "allowed status-unknown, not-provided"),
  ])
  func whatCannotHoldIsAFault(old: String, new: String, reason: String) {
    let faults = faults(Self.good.replacing(old, with: new))
    #expect(faults.contains { $0.contains(reason) }, "\(faults)")
  }

  @Test func whatAGatewayOrARelayBroughtNeverGoes() {
    let relay = faults(Self.good, source: "trust: operator, relay: true")
    #expect(relay.contains { $0.contains("a is a relay, whose keys have no origin") }, "\(relay)")
    let echo = Fixture.faults(
      "state: /s\nown-origins: [NL]\nsources: [{name: a, protocol: efgs, location: \"https://a.example\", trust: host, "
        + "speaks-for: [DE]}]\ndestinations: [{\(Self.good)}]")
    #expect(echo.contains { $0.contains("what comes from one is never handed to another") }, "\(echo)")
  }

  @Test func whereThereIsNoSourceAtAllItIsSaid() {
    let faults = Fixture.faults("state: /s\nown-origins: [NL]\ndestinations: [{\(Self.good)}]")
    let reason = "a is neither a source nor a door for uploads; there are none; a door is opened by server.uploads"
    #expect(faults.contains { $0.contains(reason) }, "\(faults)")
  }

  @Test(arguments: [("", true), ("regions: [NL], ", true), ("regions: [NL, DE], ", false)])
  func aDoorThatAsksForNoOtherCountryIsWarnedOf(regions: String, isWarned: Bool) throws {
    let text =
      "state: /s\nown-origins: [NL]\nserver: {listen: \"127.0.0.1:8080\", uploads: {origin: NL, \(regions)token: {env: TOKEN}}}\n"
      + "destinations: [{\(Self.good.replacing("sources: [a]", with: "sources: [uploads]"))}]\npublication: {folder: p}\n"
      + "series: [{name: NL, region: \"204\", sign: [{key: {file: a.key}, id: \"204\", version: v1}]}]"
    let reason = "none of the keys of the door uploads would go: they are for NL alone"
    let faults = Fixture.faults(text)
    #expect(faults.contains { $0.contains(reason) } == isWarned, "\(faults)")
    if !isWarned { #expect(try Fixture.parse(text).plan.destinations.first?.doors == ["uploads"]) }
  }

  @Test func theExampleOfThePageIsWhole() throws {
    let page = PackageFolder.root.appending(path: "Sources/GatewayDaemon/GatewayDaemon.docc/JoiningAFederation.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let example = try #require(text.components(separatedBy: "```yaml\n").dropFirst().first)
      .components(separatedBy: "```")[0]
    var files = Fixture.files
    for (name, original) in [
      ("nbtls.pem", "nbbs.pem"), ("nbtls.key", "nbbs.key"), ("efgs-trust.json", "federation.json"),
      ("export.key", "a.key"),
    ] {
      files.texts["/etc/k/\(name)"] = files.texts["/etc/k/\(original)"]
    }
    let parsed = try Fixture.parse(example, files: files)
    #expect(parsed.warnings.isEmpty, "\(parsed.warnings)")
    #expect(parsed.plan.destinations.first?.doors == ["uploads"])
  }

  @Test func aKeyIsNeverShown() {
    let faults = faults(Self.good.replacing("{file: nbbs.key}", with: Fixture.secret))
    #expect(!faults.isEmpty && !faults.contains { $0.contains(Fixture.secret) }, "\(faults)")
  }
}
