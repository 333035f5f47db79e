import ExposureKeys
import GatewayTesting
import KeyFormats
import Testing

/// Where keys come from, and digests in place of them.
@Suite struct ProvenanceTests {
  /// An export and our own JSON with a revised key, in files whose names need quoting.
  private static func fill(_ workshop: Workshop) throws {
    var document = Sample.document
    document.keys = Array(Sample.document.keys.prefix(6))
    document.keys[1].fields.insert(.revised)
    document.keys[1].reportTypeWord = ReportType.confirmedTest.rawValue
    document.keys[1].fields.insert(.reportType)
    document.header = ExportHeader(
      startTimestamp: 1_605_657_600, endTimestamp: 1_605_744_000, region: "DE", batchNum: 2, batchSize: 3,
      signatureInfos: [SignatureInfo(verificationKeyVersion: "v1", verificationKeyID: "262")])
    try workshop.write(try document.bytes(as: .json), "a \"b\",c.json")
    document.keys = Array(Sample.document.keys[6..<10])
    document.header.region = "IT"
    _ = try document.fit(to: .gaenExport)
    try workshop.write(try document.bytes(as: .gaenExport), "it.bin")
  }

  private static let inputs = ["a \"b\",c.json", "it.bin"]

  @Test func sourcesInATable() throws {
    try Workshop.run { workshop in
      try Self.fill(workshop)
      let outcome = try workshop.keyferry(
        ["convert"] + Self.inputs + ["--with-source", "--to", "csv", "-o", "out.csv"])
      #expect(outcome.status == 0, "\(outcome.errors)")
      let lines = try workshop.text("out.csv").split(separator: "\n").filter { !$0.hasPrefix("#") }
      let names =
        "source_file,source_entry,source_start,source_end,source_batch,source_region,source_signer,source_sha256"
      #expect(lines.count == 11 && lines[0].hasSuffix(",unknown_fields,\(names)"))
      let window = "2020-11-18T00:00:00Z,2020-11-19T00:00:00Z"
      #expect(lines[1...6].allSatisfy { $0.contains(#","a ""b"",c.json",,"# + "\(window),2/3,DE,262 v1,") })
      let inspected = try workshop.keyferry("inspect", "it.bin", "--json").text
      let digest = try #require(lines[7].split(separator: ",").last)
      #expect(digest.count == 64 && inspected.contains("\"sha256\" : \"\(digest)\""))
      #expect(lines[7...].allSatisfy { $0.hasSuffix(",it.bin,,\(window),2/3,IT,262 v1,\(digest)") })
      // It is read like any table, and without the columns it is the table that it would have been.
      #expect(try workshop.keyferry("convert", "out.csv", "--to", "csv", "-o", "again.csv").status == 0)
      #expect(try workshop.keyferry(["convert"] + Self.inputs + ["--to", "csv", "-o", "plain.csv"]).status == 0)
      #expect(try workshop.keys("again.csv").keys == workshop.keys("plain.csv").keys)
    }
  }

  @Test func sourcesInJSON() throws {
    try Workshop.run { workshop in
      try Self.fill(workshop)
      let outcome = try workshop.keyferry(
        ["convert"] + Self.inputs + ["--with-source", "--to", "json", "-o", "out.json"])
      #expect(outcome.status == 0, "\(outcome.errors)")
      let lines = try workshop.text("out.json").split(separator: "\n").filter { $0.contains("key_data") }
      #expect(lines.count == 10)
      // The revised key stands behind all others, and keeps its own source.
      #expect(lines.count { $0.contains(#""source":{"file":"a \"b\",c.json","start""#) } == 6)
      #expect(lines.last?.contains(#""file":"a "#) == true && lines[8].contains(#""file":"it.bin""#))
      #expect(try workshop.keyferry("convert", "out.json", "--to", "json", "-o", "again.json").status == 0)
      #expect(try workshop.keyferry(["convert"] + Self.inputs + ["--to", "json", "-o", "plain.json"]).status == 0)
      let (again, plain) = (try workshop.keys("again.json"), try workshop.keys("plain.json"))
      #expect(again.keys == plain.keys && again.header == plain.header && again.rejections.isEmpty)
    }
  }

  /// Entries of archives are named, and names that are no UTF-8 are spelled.
  @Test func entriesOfArchives() throws {
    try Workshop.run { workshop in
      try Self.fill(workshop)
      let zip = try #require(Tool(named: "zip"), "zip is needed")
      #expect(try zip.run(["-q", "both.zip"] + Self.inputs, in: workshop.folder).status == 0)
      let outcome = try workshop.keyferry("convert", "both.zip", "--with-source", "--to", "csv", "-o", "-")
      #expect(outcome.text.contains(",both.zip,it.bin,2020-11-18T00:00:00Z,"), "\(outcome.text) \(outcome.errors)")
    }
  }

  @Test(arguments: [KeyFormat.csv, .json])
  func digests(format: KeyFormat) throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.json, "keys.json")
      let outcome = try workshop.keyferry("convert", "keys.json", "--hash-keys", "--to", format.rawValue, "-o", "out")
      #expect(outcome.status == 0, "\(outcome.errors)")
      let text = try workshop.text("out")
      #expect(text.contains("key_sha256") && !text.contains("key_data"))
      let listed = try workshop.keyferry("inspect", "keys.json", "--keys", "--hash-keys").text
      for key in Sample.document.keys {
        #expect(!text.contains(key.key.hex))
        let digest = try SHA256Tool.digest(of: key.key.bytes)
        #expect(text.contains(digest) && listed.contains(digest))
      }
      // Nobody takes digests for keys.
      let back = try workshop.keyferry("convert", "out", "--to", "csv", "-o", "back.csv")
      #expect(back.status != 0, "\(back.errors)")
      if workshop.exists("back.csv") { #expect(try workshop.keys("back.csv").keys.isEmpty) }
    }
  }

  @Test func otherFormatsHaveNoPlaceForIt() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.json, "keys.json")
      for option in ["--with-source", "--hash-keys"] {
        for more in [["--to", "efgs-json"], ["--to", "csv", "--publishing", "default"]] {
          let outcome = try workshop.keyferry(["convert", "keys.json", "-o", "out", option] + more)
          #expect(outcome.status == 64 && outcome.errors.contains(option), "\(more)")
        }
      }
    }
  }
}

/// The system's digest.
private enum SHA256Tool {
  static func digest(of bytes: [UInt8]) throws -> String {
    let openssl = try #require(Tool(named: "openssl"), "openssl is needed")
    let outcome = try openssl.run(["dgst", "-sha256", "-r"], input: bytes)
    return String(outcome.text.prefix(64))
  }
}
