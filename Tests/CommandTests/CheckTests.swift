import BundleTrust
import Foundation
import GatewayTesting
import Testing

/// `keyferry check` and `keyferry registration`.
@Suite struct CheckTests {
  private static let sound = """
    state: state
    sources:
      - {name: north, protocol: index, location: "https://north.example", options: {index: i.txt},
         trust: ring, origin: US, speaks-for: [US, CA]}
      - {name: drop, protocol: files, location: in, trust: operator, relay: true, every: 90 s}
    series:
      - name: US
        title: United States
        include: [US]
        region: "310"
        sign:
          - {key: {file: 310-v1.key.pem}, id: "310", version: v1, app: us.example, until: 2021-01-01}
          - {key: {file: 310-v2.key.pem}, id: "310", version: v2, android: us.example, from: 2020-12-01}
    publication: {folder: public}
    """

  private func withConfiguration(_ text: String = sound, _ body: (Workshop) throws -> Void) throws {
    try Workshop.run { workshop in
      try workshop.makeSigner()
      try workshop.makeSigner("310", "v2")
      for name in ["310-v1.key.pem", "310-v2.key.pem"] {
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workshop.path(name))
      }
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "in"), withIntermediateDirectories: false)
      try workshop.write(text, "gateway.yaml")
      try body(workshop)
    }
  }

  @Test func aMissingFolderIsTold() throws {
    try Workshop.run { workshop in
      try workshop.write("there", "file")
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "shelf"), withIntermediateDirectories: false)
      try workshop.write(
        """
        state: state
        sources:
          - {name: drop, protocol: files, location: nowhere, trust: operator, origin: DE}
          - {name: wrong, protocol: files, location: file, trust: operator, origin: IT}
          - {name: good, protocol: files, location: shelf, trust: operator, origin: CH}
        """, "gateway.yaml")
      let outcome = try workshop.keyferry("check")
      #expect(outcome.status == 0, "\(outcome.text)")
      #expect(outcome.text.contains("sources.drop.location: there is no folder nowhere"), "\(outcome.text)")
      #expect(outcome.text.contains("nowhere; its pulls fail until it is there: mkdir -p nowhere"), "\(outcome.text)")
      #expect(outcome.text.contains("file is no folder; "), "\(outcome.text)")
      #expect(!outcome.text.contains("sources.good"), "\(outcome.text)")
    }
  }

  @Test func aSoundConfiguration() throws {
    try withConfiguration { workshop in
      let files = try workshop.files
      let outcome = try workshop.keyferry("check", "--config", "gateway.yaml", "--now", "2020-06-01")
      #expect(outcome.status == 0 && outcome.errors.isEmpty)
      #expect(
        outcome.text == """
          gateway.yaml: sound, 2 sources, 1 series, 0 warnings

          source  protocol  every   origins       vouched for by  location
          north   index     1 hour  CA US         2 keys          https://north.example
          drop    files     90 s    lost (relay)  the operator    in

          series  every    regions  policy   signed by                          app
          US      2 hours  US       default  310 v1 until 2021-01-01T00:00:00Z  us.example
                                             310 v2                             us.example

          series  publishes                                   from
          US      keys for US, and those that name no region  north drop

          """)
      #expect(try workshop.files == files, "a check writes nothing")
    }
  }

  @Test func faultsHaveTheirPlaces() throws {
    let text = Self.sound.replacing("every: 90 s", with: "every: 1 s").replacing(
      "trust: operator", with: "trust: origins")
    try withConfiguration(text) { workshop in
      let outcome = try workshop.keyferry("check", "--config", "gateway.yaml", "--now", "2020-06-01")
      #expect(outcome.status == 2 && outcome.errors.isEmpty)
      let lines = outcome.text.split(separator: "\n")
      #expect(lines.count == 3)
      #expect(lines[0].hasPrefix("gateway.yaml:5:49: error: sources.drop.trust: \"origins\", allowed "))
      #expect(lines[1] == "gateway.yaml:5:78: error: sources.drop.every: 1 s, allowed 10 s...7 days")
      #expect(lines[2] == "gateway.yaml: 2 errors, 0 warnings")
      // Other commands refuse it with the same words.
      let other = try workshop.keyferry("registration", "--config", "gateway.yaml")
      #expect(other.status == 2 && other.output.isEmpty)
      #expect(other.errors.contains("keyferry: gateway.yaml:5:78: error: sources.drop.every: 1 s"))
    }
  }

  @Test func warningsAreNoErrors() throws {
    let text = Self.sound.replacing(", from: 2020-12-01", with: ", from: 2020-12-01, until: 2021-03-01")
    try withConfiguration(text) { workshop in
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: workshop.path("310-v1.key.pem"))
      let outcome = try workshop.keyferry("check", "--config", "gateway.yaml", "--now", "2021-02-15")
      #expect(outcome.status == 0)
      #expect(outcome.text.contains("warning: series.US.sign: the last key ends at 2021-03-01T00:00:00Z"))
      #expect(outcome.text.contains("mode 0644: everyone on this machine may open it"))
      #expect(outcome.text.contains("gateway.yaml: sound, 2 sources, 1 series, 2 warnings"))
    }
  }

  @Test(arguments: [sound, sound.replacing("protocol: files", with: "protocol: ftp")])
  func jsonIsAsTheSchemaSays(text: String) throws {
    let schema = try DocumentSchema(named: "check.schema.json")
    try withConfiguration(text) { workshop in
      let outcome = try workshop.keyferry("check", "--config", "gateway.yaml", "--json", "--now", "2020-06-01")
      #expect(outcome.status == (text == Self.sound ? 0 : 2))
      #expect(try schema.faults(in: Data(outcome.output)) == [])
      #expect(outcome.text.contains("\"severity\" : \"error\"") == (text != Self.sound))
      #expect(outcome.text.contains("\"trusted_keys\" : 2") == (text == Self.sound))
      #expect(
        outcome.text.contains("\"speaks_for\" : [") == (text == Self.sound) && !outcome.text.contains("\"origins\""))
    }
  }

  @Test func filesThatAreNotThere() throws {
    try Workshop.run { workshop in
      let outcome = try workshop.keyferry("check", "--config", "missing.yaml")
      #expect(outcome.status == 2 && outcome.output.isEmpty)
      #expect(outcome.errors == "keyferry: missing.yaml: cannot open: no such file or directory\n")
    }
  }

  @Test func registrationTellsOfEveryKey() throws {
    try withConfiguration { workshop in
      let outcome = try workshop.keyferry("registration", "--config", "gateway.yaml")
      #expect(outcome.status == 0)
      #expect(!outcome.text.contains("PRIVATE KEY"))
      for version in ["v1", "v2"] {
        #expect(try outcome.text.contains(workshop.text("ring/310-\(version).pem")), "\(version)")
      }
      for words in [
        "Series US (United States), signs until 2021-01-01T00:00:00Z\n",
        "Series US (United States), signs from 2020-12-01T00:00:00Z\n", "country                   US\n",
        "mobile country codes      310\n", "app bundle id             us.example\n",
        "package name              us.example\n",
      ] {
        #expect(outcome.text.contains(words), "\(words)")
      }
      #expect(try workshop.keyferry("registration", "--config", "gateway.yaml", "US").output == outcome.output)
      // Exposure Notifications Express, which needs no app, asks for addresses.
      let token = "0123456789abcdef0123456789abcdef"
      try workshop.write(token, "token")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workshop.path("token"))
      try workshop.write(
        Self.sound + """

          server:
            url: https://keys.example.org/en
            uploads: {origin: US, token: {file: token}}
          """, "served.yaml")
      let served = try workshop.keyferry("registration", "--config", "served.yaml")
      for line in [
        "tekLocalDownloadIndexFile https://keys.example.org/en/US/index.txt\n",
        "tekLocalDownloadBasePath  https://keys.example.org/en\n", "tekPublishInterval        2\n",
        "tekUploadURL              https://keys.example.org/en/v1/publish\n",
      ] {
        #expect(served.text.contains(line), "\(served.text)\(served.errors)")
        #expect(!outcome.text.contains(line))
      }
      let other = try workshop.keyferry("registration", "--config", "gateway.yaml", "CA")
      #expect(other.status == 64 && other.errors.contains("no series is called CA; those of gateway.yaml are US"))
    }
  }
}
