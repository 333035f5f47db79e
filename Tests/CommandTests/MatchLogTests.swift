import BundleTrust
import Crypto
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import Testing

/// `keyferry match-log`, with logs as phones export them.
@Suite struct MatchLogTests {
  private struct Result: Decodable {
    struct Check: Decodable {
      let app: String?
      let region: String?
      let files: [String]
    }
    let kind: String
    let checks: [Check]
    let found: Int
    let missing: Int
    let unchecked: [String]
  }

  private func match(_ workshop: Workshop, _ log: String, status: Int32) throws -> Result {
    try workshop.write(log, "log.json")
    let outcome = try workshop.keyferry("match-log", "log.json", "in", "--json")
    #expect(outcome.status == status, "\(outcome.errors)")
    let faults = try DocumentSchema(named: "match-log.schema.json").faults(in: Data(outcome.output))
    #expect(faults == [], "\(outcome.text)")
    return try JSONDecoder().decode(Result.self, from: Data(outcome.output))
  }

  /// Three bundles; returns `export.bin` of each.
  private func bundles(_ workshop: Workshop) throws -> [(bytes: [UInt8], keys: Int)] {
    let signer = try workshop.makeSigner()
    try FileManager.default.createDirectory(atPath: workshop.path("in"), withIntermediateDirectories: true)
    var random = SeededRandom(seed: 9)
    return try (1...3).map { number in
      var document = RandomKeys(.plausible).document(10 * number, using: &random)
      document.header.signatureInfos = []
      try workshop.write(try document.bytes(as: .csv), "keys.csv")
      let made = try workshop.keyferry(
        "convert", "keys.csv", "--to", "gaen-export", "-o", "in/\(number).zip", "--sign-key", "310-v1.key.pem",
        "--key-id",
        signer.keyID, "--key-version", signer.keyVersion, "--replace")
      #expect(made.status == 0, "\(made.errors)")
      let bytes = try #require(try workshop.entry("export.bin", of: "in/\(number).zip"))
      return (bytes, try workshop.keys("in/\(number).zip").keys.count)
    }
  }

  private static func hex(_ bytes: [UInt8], upper: Bool) -> String {
    SHA256.hash(data: bytes).map { String(format: upper ? "%02X" : "%02x", $0) }.joined()
  }

  @Test func logsOfBothVersionsOfIOS() throws {
    try Workshop.run { workshop in
      let made = try bundles(workshop)
      let first = """
        {"Build":"17F80","ExportVersion":1,"DeviceProductType":"iPhone11,2","ExposureChecks":[
        {"Hash":"\(Self.hex(made[0].bytes, upper: true))","RandomIDCount":10,"MatchCount":0,"DataSource":"org.example.app",\
        "Timestamp":"2020-07-02 07:10:22 +0200"},
        {"Hash":"\(String(repeating: "AB", count: 32))","RandomIDCount":3,"MatchCount":0,"DataSource":"org.example.app",\
        "Timestamp":"2020-07-02 07:10:22 +0200"}]}
        """
      let found = try match(workshop, first, status: 1)
      #expect(found.kind == "ios-1" && found.checks.map(\.files) == [["in/1.zip"], []] && found.missing == 1)
      #expect(found.unchecked == ["in/2.zip", "in/3.zip"] && found.checks[0].app == "org.example.app")
      let second = """
        {"Build":"18A373","ExportVersion":2,"ExposureChecks":[{"Timestamp":"2020-09-20 10:00:00 +0000",\
        "AppBundleIdentifier":"org.example.app","Files":[
        {"Hash":"\(Self.hex(made[1].bytes, upper: true))","KeyCount":20,"MatchCount":0,"RegionCode":"DE","Timestamp":"2020-09-20 10:00:01 +0000"},
        {"Hash":"\(Self.hex(made[2].bytes, upper: true))","KeyCount":30,"MatchCount":1,"AppBundleIdentifier":"org.other","Timestamp":"2020-09-20 10:00:02 +0000"}]}]}
        """
      let other = try match(workshop, second, status: 0)
      #expect(other.kind == "ios-2" && other.checks.map(\.files) == [["in/2.zip"], ["in/3.zip"]])
      #expect(other.checks.map(\.app) == ["org.example.app", "org.other"] && other.checks[0].region == "DE")
      let text = try workshop.keyferry("match-log", "log.json", "in").text
      #expect(text.hasSuffix("2 checks: 2 found, 0 missing; 3 bundles, 1 of them in no check\n"), "\(text)")
    }
  }

  @Test func androidHashesAllFilesOfACall() throws {
    try Workshop.run { workshop in
      let made = try bundles(workshop)
      func base64(_ bytes: [UInt8]) -> String { Data(SHA256.hash(data: bytes)).base64EncodedString() }
      let log = """
        [{"timestamp":"2 July 2020, 07:10","keyCount":\(made[1].keys),"matchesCount":0,"appName":"App","hash":"\(base64(made[1].bytes))"},
        {"timestamp":1593673200000,"keyCount":\(made[1].keys + made[2].keys),"matchesCount":2,"appName":"App",\
        "hash":"\(base64(made[1].bytes + made[2].bytes))"},
        {"timestamp":"x","keyCount":\(made[1].keys + made[2].keys),"matchesCount":0,"appName":"App",\
        "hash":"\(base64(made[2].bytes + made[1].bytes))"}]
        """
      let found = try match(workshop, log, status: 1)
      #expect(found.kind == "android")
      #expect(found.checks.map(\.files) == [["in/2.zip"], ["in/2.zip", "in/3.zip"], []])
    }
  }

  @Test(arguments: [
    "", "{}", "[1]", "{\"ExposureChecks\":[{\"Hash\":\"AB\"}]}", "[{\"hash\":\"zz\"}]",
    String(repeating: "[", count: 100_000),
    "{\"ExposureChecks\":[{\"Files\":[{\"Hash\":1}]}]}",
    "[{\"hash\":\"\(String(repeating: "0", count: 64))\",\"keyCount\":1.5}]",
    "[{\"hash\":\"\(String(repeating: "0", count: 64))\",\"keyCount\":-1}]",
  ]) func whatIsNoLogIsRefused(content: String) throws {
    try Workshop.run { workshop in
      try workshop.write(content, "log.json")
      try workshop.write(Sample.csv, "a.csv")
      let outcome = try workshop.keyferry("match-log", "log.json", "a.csv")
      #expect(outcome.status == 2 && outcome.errors.contains("log.json"), "\(outcome.errors)")
    }
  }
}
