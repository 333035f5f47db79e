import Foundation
import GatewayTesting
import Testing

/// What `keyferry check` lets pass, `keyferry run` can begin with.
@Suite struct CheckIsRunTests {
  private static let sound = """
    state: state
    sources:
      - {name: north, protocol: index, location: "https://north.example", options: {index: i.txt}, trust: operator}
    series: [{name: US, sign: [{key: {file: 310-v1.key.pem}, id: "310", version: v1}]}]
    publication: {folder: public}
    server:
      listen: 127.0.0.1:0
    """

  private func checked(
    _ text: String, _ prepare: (Workshop) throws -> Void = { _ in }
  ) throws -> (status: Int32, text: String) {
    var result: (Int32, String) = (0, "")
    try Workshop.run { workshop in
      try workshop.makeSigner()
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workshop.path("310-v1.key.pem"))
      try prepare(workshop)
      try workshop.write(text, "gateway.yaml")
      let outcome = try workshop.keyferry("check", "--config", "gateway.yaml", "--now", "2020-06-01")
      result = (outcome.status, outcome.text)
      // The same words, from the command that would listen.
      if outcome.status == 2 {
        let run = try workshop.keyferry("serve", "--config", "gateway.yaml", "--now", "2020-06-01")
        #expect(run.status == 2, "\(run.errors)")
      }
    }
    return result
  }

  private static let beta = """
    {"minimumRiskScore":0, "attenuationWeight":50, "attenuationScores":[1, 2, 3, 4, 5, 6, 7, 8],
    "daysSinceLastExposureWeight":50, "daysSinceLastExposureScores":[1, 2, 3, 4, 5, 6, 7, 8],
    "durationWeight":50, "durationScores":[1, 2, 3, 4, 5, 6, 7, 8],
    "transmissionRiskWeight":50, "transmissionRiskScores":[1, 2, 3, 4, 5, 6, 7, 8]}
    """

  @Test func anExposureConfigurationOfOneGeneration() throws {
    let text = Self.sound + "\n  exposure-configuration: exposure.json\n"
    let (status, output) = try checked(text) { try $0.write(Self.beta, "exposure.json") }
    #expect(status == 0)
    #expect(output.components(separatedBy: " is missing; apps that need it are given ").count == 18)
    #expect(
      output.contains(
        "warning: server.exposure-configuration: reportTypeNoneMap is missing; apps that need it are given 1"))
  }

  @Test func anExposureConfigurationWithFaults() throws {
    let text = Self.sound + "\n  exposure-configuration: exposure.json\n"
    let (status, output) = try checked(text) {
      try $0.write(Self.beta.replacing("\"minimumRiskScore\":0", with: "\"minimumRiskScore\":256"), "exposure.json")
    }
    #expect(status == 2)
    #expect(
      output.contains("error: server.exposure-configuration: minimumRiskScore: allowed is a whole number 0...255"))
  }

  private static let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

  @Test func aCertificateThatIsNone() throws {
    let text = Self.sound + "\n  certificate: damaged.pem\n  key: {file: 310-v1.key.pem}\n"
    let (status, output) = try checked(text) { try $0.write(Self.damaged, "damaged.pem") }
    #expect(status == 2)
    #expect(output.contains("gateway.yaml:8:3: error: server.certificate: TLS certificate: "), "\(output)")
  }

  @Test(.enabled(if: Tool(named: "openssl") != nil, "openssl is not installed"))
  func aKeyOfAnotherCertificate() throws {
    let text = Self.sound + "\n  certificate: other.pem\n  key: {file: 310-v1.key.pem}\n"
    let (status, output) = try checked(text) { workshop in
      let openssl = try #require(Tool(named: "openssl"))
      let made = try openssl.run(
        [
          "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=other",
          "-keyout", "other.key", "-out", "other.pem",
        ], in: workshop.folder)
      try #require(made.status == 0, "\(made.errors)")
    }
    #expect(
      status == 2 && output.contains("error: server.key: TLS private key: the private key does not belong"), "\(output)"
    )
  }

  @Test(.enabled(if: Tool(named: "openssl") != nil, "openssl is not installed"))
  func keysOfAFederationThatAreOfOtherCertificates() throws {
    let federation = """

        proxies: [127.0.0.1]
      federation:
        trust: trust.json
        certificates-from: proxy
        listen: 127.0.0.1:0
        certificate: one.pem
        key: {file: KEY}
        callbacks: {certificate: one.pem, key: {file: CALLBACKS}}
      """
    func outcome(_ key: String, _ callbacks: String) throws -> (status: Int32, text: String) {
      let stated = federation.replacing("KEY", with: key).replacing("CALLBACKS", with: callbacks)
      return try checked(Self.sound + stated) { workshop in
        let openssl = try #require(Tool(named: "openssl"))
        for name in ["one", "other"] {
          let made = try openssl.run(
            [
              "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=a",
              "-keyout", "\(name).key", "-out", "\(name).pem",
            ], in: workshop.folder)
          try #require(made.status == 0, "\(made.errors)")
        }
        let trust = try workshop.keyferry("trust", "add", "trust.json", "--anchor", "one.pem")
        try #require(trust.status == 0, "\(trust.errors)")
      }
    }
    let right = try outcome("one.key", "one.key")
    #expect(right.status == 0, "\(right.text)")
    let door = try outcome("other.key", "one.key")
    #expect(door.status == 2 && door.text.contains("error: federation.key: "), "\(door.text)")
    let callbacks = try outcome("one.key", "other.key")
    #expect(callbacks.status == 2, "\(callbacks.text)")
    #expect(callbacks.text.contains("error: federation.callbacks.key: "), "\(callbacks.text)")
  }

  @Test func rootsOfASourceThatAreNone() throws {
    let text = Self.sound.replacing("trust: operator}", with: "trust: operator, http: {roots: damaged.pem}}")
    let (status, output) = try checked(text) { try $0.write(Self.damaged, "damaged.pem") }
    #expect(status == 2)
    #expect(
      output.contains("error: sources.north.http: the trusted roots: no PEM certificate can be read"), "\(output)")
  }

  /// What each kind of phone is given, and who would never get further.
  @Test(arguments: [("", 14, true), ("editions: none, ", 168, false), ("editions: 2, ", 28, false)])
  func whatAPeriodMeansForPhones(_ stated: (setting: String, files: Int, fits: Bool)) throws {
    let text = Self.sound.replacing("{name: US, ", with: "{name: US, \(stated.setting)")
    let (status, output) = try checked(text)
    #expect(status == 0)
    let line = output.split(separator: "\n").first { $0.hasPrefix("US ") && $0.contains(" iOS 13.5 ") }
    let words = line?.split(whereSeparator: \.isWhitespace).map(String.init) ?? []
    #expect(words.prefix(4) == ["US", "iOS", "13.5", "apple"] && words.contains("\(stated.files)"), "\(output)")
    #expect(words.suffix(2) == (stated.fits ? ["15", "files"] : ["too", "many"]))
    #expect(output.contains("a new phone with iOS 13.5 is given \(stated.files) files") == !stated.fits)
    let others = try checked(text.replacing("127.0.0.1:0", with: "127.0.0.1:0\n  layouts: [google]")).text
    #expect(!others.contains("iOS 13.5") && others.contains("Android with exposure windows"))
  }

  /// Archives that are split are more files, and iOS 13.5 takes none of a call with more than fifteen.
  @Test func whatSplitMeansForPhones() throws {
    let split = Self.sound.replacing("{name: US, ", with: "{name: US, split: {keys: 12}, ")
    let (status, output) = try checked(split)
    #expect(status == 0)
    let row = output.split(separator: "\n").first { $0.hasPrefix("US ") && $0.contains(" iOS 13.5 ") }
    #expect(row?.hasSuffix("15 files     too many above 12 keys a day") == true, "\(output)")
    #expect(
      output.contains(
        "warning: series.US.split: iOS 13.5 takes 15 files, and split makes more files than that above 12 keys a day"),
      "\(output)")
    #expect(output.contains("US      iOS 13.6 and later "), "\(output)")
    let rows = output.split(separator: "\n").filter { $0.hasPrefix("US ") && $0.contains("too many") }
    #expect(rows.count == 1, "\(output)")
  }

  /// It reads the newest fourteen entries every twelve hours, and is served by a series of this name alone.
  @Test func covidwiseVisitsTwiceADay() throws {
    let (_, other) = try checked(Self.sound)
    #expect(!other.contains("COVIDWISE"), "\(other)")
    let text = Self.sound.replacing("name: US,", with: "name: exposureKeyExport-US, every: 1 day,")
    let (status, output) = try checked(text)
    let row = output.split(separator: "\n").first { $0.contains("COVIDWISE") } ?? ""
    #expect(
      status == 0 && row.split(separator: " ").suffix(6) == ["28", "14", "2", "newest", "14", "entries"], "\(output)")
    let often = try checked(text.replacing("every: 1 day", with: "every: 2 hours")).text
    #expect(often.contains("COVIDWISE on iOS reads only the newest 14 entries of an index"), "\(often)")
    #expect(often.contains("too many"), "\(often)")
  }

  @Test func phonesInJSONAreAsTheSchemaSays() throws {
    try Workshop.run { workshop in
      try workshop.makeSigner()
      try workshop.write(Self.sound, "gateway.yaml")
      let outcome = try workshop.keyferry("check", "--config", "gateway.yaml", "--json", "--now", "2020-06-01")
      #expect(try DocumentSchema(named: "check.schema.json").faults(in: Data(outcome.output)) == [])
      #expect(outcome.text.contains("\"first_files\" : 14"))
    }
  }

  @Test func aStoreThatIsNone() throws {
    try Workshop.run { workshop in
      try workshop.makeSigner()
      try workshop.write(Self.sound, "gateway.yaml")
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "state"), withIntermediateDirectories: true)
      try workshop.write("this is no store", "state/keyferry.sqlite")
      let outcome = try workshop.keyferry("check", "--config", "gateway.yaml", "--now", "2020-06-01")
      #expect(outcome.status == 2 && outcome.text.contains("error: state: "), "\(outcome.text)")
    }
  }
}
