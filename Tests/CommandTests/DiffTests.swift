import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import Testing

@Suite struct DiffTests {
  private static var schema: DocumentSchema {
    get throws { try DocumentSchema(named: "diff.schema.json") }
  }

  private func report(_ workshop: Workshop, _ arguments: String...) throws -> (
    status: Int32, report: [String: Any]
  ) {
    let outcome = try workshop.keyferry(["diff"] + arguments + ["--json"])
    #expect(
      try Self.schema.faults(in: Data(outcome.output)) == [], "\(outcome.text)\(outcome.errors)")
    let report = try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any]
    #expect(report?["same"] as? Bool == (outcome.status == 0))
    return (outcome.status, report ?? [:])
  }

  /// Thirty keys, and the same without the first two, with one more, and with others' words about three.
  private func write(_ workshop: Workshop) throws -> (gone: [ClaimedKey], new: ClaimedKey) {
    try workshop.write(Sample.csv, "a.csv")
    var document = Sample.document
    let gone = Array(document.keys.prefix(2))
    document.keys.removeFirst(2)
    document.keys[0].rollingPeriod = (document.keys[0].rollingPeriod ?? 144) == 3 ? 4 : 3
    document.keys[1].reportType = document.keys[1].reportType == 3 ? 2 : 3
    document.keys[1].daysSinceOnset = document.keys[1].daysSinceOnset == 3 ? 2 : 3
    document.keys[2].regions = .none
    var new = document.keys[5]
    new.key = TemporaryExposureKey(high: 1, low: 2)
    document.keys.append(new)
    document.keys.reverse()
    try workshop.write(try document.bytes(as: .csv), "b.csv")
    return (gone, new)
  }

  @Test func keysAreCompared() throws {
    try Workshop.run { workshop in
      let (gone, new) = try write(workshop)
      let (status, found) = try report(workshop, "a.csv", "b.csv", "--keys")
      #expect(status == 1)
      #expect(found["only_left"] as? Int == 2 && found["only_right"] as? Int == 1, "\(found)")
      let hadRegions = Sample.document.keys[4].regions != .none
      #expect(
        found["changed"] as? Int == (hadRegions ? 3 : 2)
          && found["equal"] as? Int == (hadRegions ? 25 : 26))
      var fields = ["rolling_period": 1, "report_type": 1, "days_since_onset": 1]
      if hadRegions { fields["regions"] = 1 }
      #expect(found["fields"] as? [String: Int] == fields)
      let keys = try #require(found["keys"] as? [[String: Any]])
      let only = keys.filter { ($0["right"] as? [Any])?.isEmpty == true }.compactMap {
        $0["key"] as? String
      }
      #expect(only == gone.map(\.key.hex).sorted())
      #expect(keys.first?["key"] as? String == new.key.hex)

      let text = try workshop.keyferry("diff", "b.csv", "a.csv", "--keys")
      #expect(
        text.text.contains("< \(new.key.hex)  start ")
          && text.text.contains("> \(gone[0].key.hex)  start "))
      #expect(text.text.contains("only in the first: 1\nonly in the second: 2\n"))
      let hashed = try workshop.keyferry("diff", "b.csv", "a.csv", "--keys", "--hash-keys")
      #expect(!hashed.text.contains(new.key.hex) && hashed.status == 1)
      let plain = try workshop.keyferry("diff", "a.csv", "b.csv")
      #expect(!plain.text.contains(gone[0].key.hex))
    }
  }

  @Test func nothingDiffersBetweenFormatsAndOrders() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "a.csv")
      var document = Sample.document
      document.keys.reverse()
      document.keys.append(document.keys[0])
      try workshop.write(try document.bytes(as: .csv), "b.csv")
      let (status, found) = try report(workshop, "a.csv", "b.csv")
      #expect(status == 0 && found["equal"] as? Int == 30, "\(found)")
      #expect((found["right"] as? [String: Any])?["keys"] as? Int == 31)
      let text = try workshop.keyferry("diff", "a.csv", "a.csv")
      #expect(text.status == 0 && text.text.hasSuffix("nothing differs\n"), "\(text.text)")
    }
  }

  @Test func headersSignaturesAndFoldersAreCompared() throws {
    try Workshop.run { workshop in
      let signer = try workshop.makeSigner()
      try workshop.write(Sample.csv, "a.csv")
      for (name, region) in [("1", "DE"), ("2", "NL")] {
        let made = try workshop.keyferry(
          "convert", "a.csv", "--to", "gaen-export", "-o", "\(name).zip", "--sign-key",
          "310-v1.key.pem", "--key-id",
          signer.keyID, "--key-version", signer.keyVersion, "--region", region)
        #expect(made.status == 0, "\(made.errors)")
      }
      let (status, found) = try report(workshop, "1.zip", "2.zip")
      #expect(status == 1 && found["only_left"] as? Int == 0 && found["changed"] as? Int == 0)
      let header = found["header"] as? [[String: String]]
      #expect(header == [["field": "region", "left": "DE", "right": "NL"]], "\(found)")
      #expect((found["signatures"] as? [Any])?.count == 1)
      try FileManager.default.createDirectory(
        atPath: workshop.path("x"), withIntermediateDirectories: true)
      try FileManager.default.createDirectory(
        atPath: workshop.path("y"), withIntermediateDirectories: true)
      for (from, to) in [
        ("1", "x/one"), ("2", "x/both"), ("1", "y/both"), ("2", "y/two"), ("1", "x/same"),
        ("1", "y/same"),
      ] {
        try workshop.write(try workshop.bytes("\(from).zip"), "\(to).zip")
      }
      let folders = try report(workshop, "x", "y").report
      let documents = (folders["documents"] as? [[String: String]])?.map {
        "\($0["difference"]!) \($0["path"]!)"
      }
      let archived = try #require(Tool(named: "tar")).run(["-cf", "x.tar", "-C", "x", "."], in: workshop.folder)
      #expect(archived.status == 0)
      let same = try report(workshop, "x", "x.tar")
      #expect(same.status == 0, "\(same.report)")
      #expect(
        documents == ["changed both.zip", "only-left one.zip", "only-right two.zip"], "\(folders)")
    }
  }

  @Test func whatCannotBeComparedIsAFailure() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "a.csv")
      try workshop.write("<html>", "page")
      #expect(try workshop.keyferry("diff", "a.csv", "nowhere").status == 2)
      #expect(try workshop.keyferry("diff", "a.csv", "page").status == 2)
      for arguments in [["a.csv"], ["-", "-"], ["a.csv", "a.csv", "--hash-keys"]] {
        #expect(try workshop.keyferry(["diff"] + arguments).status == 64)
      }
    }
  }
}
