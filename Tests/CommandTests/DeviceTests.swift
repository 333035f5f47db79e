import BundleTrust
import Foundation
import GatewayTesting
import Testing

/// `keyferry device`: what bundles lead to, whom a log met, how apps judge.
@Suite struct DeviceTests {
  /// A person's key of 2020-12-01, and one that nobody was near.
  private static let keys = """
    key_data,rolling_start_interval_number,rolling_period,transmission_risk_level,report_type,days_since_onset_of_symptoms
    00112233445566778899aabbccddeeff,2678400,144,5,CONFIRMED_TEST,1
    ffeeddccbbaa99887766554433221100,2678400,144,5,CONFIRMED_TEST,1

    """

  private func bundle(_ workshop: Workshop, _ keys: String = Self.keys) throws {
    let signer = try workshop.makeSigner()
    try workshop.write(keys, "keys.csv")
    let made = try workshop.keyferry(
      "convert", "keys.csv", "--to", "gaen-export", "-o", "bundle.zip", "--start", "2020-12-01", "--end", "2020-12-03",
      "--sign-key", "310-v1.key.pem", "--key-id", signer.keyID, "--key-version", signer.keyVersion, "--replace")
    #expect(made.status == 0, "\(made.errors)")
  }

  private static let decoder = {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return decoder
  }()

  private struct Proof: Decodable {
    struct Phone: Decodable {
      let phone: String
      let keys: Int
      let sampled: Int
      let alarms: Int
      let firstLoss: String?
    }
    let isWhole: Bool
    let phones: [Phone]
  }

  private func prove(_ workshop: Workshop, _ words: String..., status: Int32) throws -> Proof {
    let outcome = try workshop.keyferry(["device", "prove", "bundle.zip", "--json"] + words)
    #expect(outcome.status == status, "\(outcome.errors)\(outcome.text)")
    let faults = try DocumentSchema(named: "device-prove.schema.json").faults(in: Data(outcome.output))
    #expect(faults == [], "\(outcome.text)")
    return try Self.decoder.decode(Proof.self, from: Data(outcome.output))
  }

  /// Where no file could be read nothing is proved, and no funnel of zeros says otherwise.
  @Test(arguments: ["prove", "match"])
  func aFileThatIsNotThereProvesNothing(command: String) throws {
    try Workshop.run { workshop in
      try workshop.write("rpi,time\n000102030405060708090a0b0c0d0e0f,2020-12-01T00:00:00Z\n", "log.csv")
      let words = command == "prove" ? ["prove", "nosuch.zip", "--app", "nhs"] : ["match", "log.csv", "nosuch.zip"]
      let outcome = try workshop.keyferry(["device"] + words)
      #expect(outcome.status == 2 && outcome.text.isEmpty, "\(outcome.text)")
      #expect(outcome.errors.contains("nosuch.zip: cannot open: no such file or directory"))
    }
  }

  @Test func eachKeyOfASoundBundleAlarms() throws {
    try Workshop.run { workshop in
      try bundle(workshop)
      let proof = try prove(workshop, "--phone", "google,apple", "--app", "swisscovid", status: 0)
      #expect(proof.isWhole && proof.phones.map(\.alarms) == [2, 2])
      let text = try workshop.keyferry("device", "prove", "bundle.zip", "--phone", "google", "--app", "swisscovid").text
      #expect(text.hasPrefix("phone google: run against the original"))
      #expect(text.hasSuffix("google: each of 2 sampled keys alarms\n"))
    }
  }

  @Test func theFirstRuleThatLostAKeyIsNamed() throws {
    try Workshop.run { workshop in
      try bundle(workshop)
      let far = try prove(
        workshop, "--phone", "google", "--app", "swisscovid", "--encounter", "30m@80dB", status: 1)
      #expect(far.phones[0].firstLoss?.hasPrefix("below-threshold") == true)
      let summaries = try prove(workshop, "--phone", "microg", "--app", "cocoa", status: 1)
      #expect(summaries.phones[0].firstLoss?.hasPrefix("no-summaries") == true)
      let old = try prove(workshop, "--phone", "apple-2020", "--app", "swisscovid", status: 1)
      #expect(old.phones[0].firstLoss?.hasPrefix("no-window") == true)
      // A key that was used for ten minutes cannot alarm after fifteen.
      try bundle(workshop, Self.keys.replacing(",144,", with: ",1,"))
      let short = try prove(workshop, "--phone", "google", "--app", "swisscovid", status: 1)
      #expect(short.phones[0].firstLoss?.hasPrefix("below-threshold") == true)
      try bundle(workshop, Self.keys.replacing("CONFIRMED_TEST,1\nff", with: "RECURSIVE,1\nff"))
      let recursive = try prove(workshop, "--phone", "google", "--app", "swisscovid", status: 1)
      #expect(recursive.phones[0].firstLoss?.hasPrefix("recursive") == true)
      #expect(recursive.phones[0].keys == 2 && recursive.phones[0].sampled == 1 && recursive.phones[0].alarms == 1)
    }
  }

  private struct Matches: Decodable {
    struct Match: Decodable {
      let key: String?
      let validSightings: Int
      let minutes: Double?
      let note: String?
    }
    let matches: [Match]
  }

  private func match(_ workshop: Workshop, _ words: String...) throws -> Matches {
    let outcome = try workshop.keyferry(["device", "match", "log.csv", "keys.csv", "--json"] + words)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let faults = try DocumentSchema(named: "device-match.schema.json").faults(in: Data(outcome.output))
    #expect(faults == [], "\(outcome.text)")
    return try Self.decoder.decode(Matches.self, from: Data(outcome.output))
  }

  @Test func aLogIsMatchedAndNamesNobody() throws {
    try Workshop.run { workshop in
      try workshop.write(Self.keys, "keys.csv")
      let listed = try workshop.keyferry("device", "identifiers", "keys.csv").text
      let rows = listed.split(separator: "\n").dropFirst()
      #expect(rows.count == 288)
      #expect(!listed.contains("00112233445566778899aabbccddeeff"))
      let identifier = try #require(rows.dropFirst(60).first?.split(separator: ",").last)
      let start = 2_678_460 * 600
      // Neither signal strength nor metadata: met, and not how near.
      try workshop.write("time,rpi\n\(start),\(identifier)\n\(start + 300),\(identifier)\n", "log.csv")
      let bare = try match(workshop)
      #expect(bare.matches.map(\.validSightings) == [0])
      #expect(bare.matches[0].note == "no RSSI or no metadata" && bare.matches[0].minutes == nil)
      #expect(bare.matches[0].key == nil)
      try workshop.write(
        "time,rpi,aem,rssi\n\(start),\(identifier),01020304,-70\n\(start + 300),\(identifier),01020304,-70\n", "log.csv"
      )
      let outcome = try workshop.keyferry("device", "match", "log.csv", "keys.csv", "--csv", "--hash-keys")
      #expect(outcome.status == 0 && !outcome.text.contains(identifier) && !outcome.errors.contains(identifier))
      #expect(!outcome.text.contains("00112233445566778899aabbccddeeff"))
      // The log stays as it is, and nothing stands beside it.
      #expect(try workshop.files == ["keys.csv", "log.csv"])
    }
  }

  @Test func scoresShowTheirFactors() throws {
    try Workshop.run { workshop in
      try workshop.write(
        """
        [{"ageInDays":2,"reportType":1,"infectiousness":2,"calibrationConfidence":0,"scanInstances":[
          {"minAttenuation":60,"typicalAttenuation":62,"secondsSinceLastScan":300},
          {"minAttenuation":60,"typicalAttenuation":62,"secondsSinceLastScan":121}]}]
        """, "windows.json")
      // The platforms differ: 8.98 is low, and 9.0 is high.
      for (app, day, verdict) in [("cwa-ios", "score 8.981", "no alarm"), ("cwa-android", "score 9 ", "alarm, by")] {
        let outcome = try workshop.keyferry("device", "score", "windows.json", "--app", app)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.text.contains(day) && outcome.text.contains("verdict: \(verdict)"), "\(outcome.text)")
        #expect(outcome.text.contains("transmission risk level 8, value 1.6"))
        let json = try workshop.keyferry("device", "score", "windows.json", "--app", app, "--json")
        #expect(try DocumentSchema(named: "device-score.schema.json").faults(in: Data(json.output)) == [])
      }
      try workshop.write("[{\"ageInDays\":2,\"scanInstances\":[{\"secondsSinceLastScan\":1e9}]}]", "bad.json")
      let bad = try workshop.keyferry("device", "score", "bad.json", "--app", "nhs")
      #expect(bad.status == 2 && bad.errors.contains("bad.json: "), "\(bad.errors)")
    }
  }

  @Test(arguments: [
    ["prove", "x"], ["prove", "x", "--app", "nonsense"], ["prove", "x", "--app", "nhs", "--phone", "nokia"],
    ["prove", "x", "--app", "nhs", "--encounter", "15m"], ["prove", "x", "--app", "nhs", "--encounter", "25h@55dB"],
    ["prove", "x", "--app", "nhs", "--configuration", "y"], ["match", "-", "x"], ["match", "x"],
    ["match", "x", "y", "--csv", "--json"], ["score", "x", "--app", "immuni"], [],
  ])
  func wrongCommandLines(words: [String]) throws {
    try Workshop.run { workshop in
      try workshop.write("[]", "x")
      let outcome = try workshop.keyferry(["device"] + words)
      #expect(outcome.status == 64 && outcome.output.isEmpty, "\(outcome.errors)")
    }
  }

  @Test func picturesArePages() throws {
    try Workshop.run { workshop in
      try bundle(workshop)
      try workshop.keyferry(
        "device", "prove", "bundle.zip", "--phone", "google", "--app", "swisscovid", "--picture", "page.html")
      let page = String(decoding: try Data(contentsOf: workshop.folder.appending(path: "page.html")), as: UTF8.self)
      #expect(page.components(separatedBy: "<svg").count == 3 && page.contains("<table>"))
      #expect(!page.contains("<script") && !page.contains("00112233"))
    }
  }
}
