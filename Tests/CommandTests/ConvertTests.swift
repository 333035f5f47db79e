import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import Testing

@Suite struct ConvertTests {
  /// A submission says origin and countries once for all keys, and those of the sample have several.
  static let written = FormatCatalog.all.filter { $0.isWritten && $0.format != .cwaSubmission }.map(\.format)

  @Test(arguments: written)
  func everyFormatIsWrittenAndReadBack(format: KeyFormat) throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "keys.csv")
      let outcome = try workshop.keyferry(
        ["convert", "keys.csv", "--to", format.rawValue, "-o", "out"] + (format == .gaenExport ? ["--unsigned"] : []))
      #expect(outcome.status == 0 && outcome.output.isEmpty)
      #expect(outcome.errors.contains("30 keys read (csv), 30 keys written to out (\(format.rawValue)), 0 rejected"))
      #expect(try workshop.files == ["keys.csv", "out"])
      let back = try workshop.keyferry("convert", "out", "--to", "csv", "-o", "-", "--quiet")
      #expect(back.status == 0)
      #expect(back.text.split(separator: "\n").count { !$0.hasPrefix("#") } == 31)
      for key in Sample.document.keys { #expect(back.text.contains(key.key.hex)) }
    }
  }

  @Test(arguments: written)
  func throughPipes(format: KeyFormat) throws {
    try Workshop.run { workshop in
      let options = ["--to", format.rawValue, "-o", "-", "--quiet"] + (format == .gaenExport ? ["--unsigned"] : [])
      try workshop.write(Sample.json, "keys.json")
      let piped = try workshop.keyferry(["convert", "-"] + options, input: Sample.json)
      #expect(piped.status == 0 && !piped.output.isEmpty)
      #expect(try workshop.keyferry(["convert", "keys.json"] + options).output == piped.output)
      #expect(try workshop.files == ["keys.json"])
    }
  }

  @Test func manyInputsBecomeOne() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "a.csv")
      try workshop.write(Sample.json, "b.json")
      let outcome = try workshop.keyferry(
        "convert", "a.csv", "b.json", "--to", "gaen-export", "--unsigned", "-o", "all.zip")
      #expect(outcome.status == 0)
      #expect(outcome.errors.contains("60 keys read (csv, json), 30 keys written to all.zip (gaen-export), 0 rejected"))
      #expect(outcome.errors.contains("30 repeated keys written once"))
      #expect(try workshop.keys("all.zip").keys.count == 30)
    }
  }

  /// A bundle holds key data once: what shares it goes to several in a folder, and is refused for one file. Tables keep
  /// every row. `normalize` does the same.
  @Test func keysThatShareTheirData() throws {
    try Workshop.run { workshop in
      var document = Sample.document
      document.keys += document.keys.prefix(3).map { key in
        var twin = key
        twin.rollingStart = (key.rollingStart ?? 0) - 144
        return twin
      }
      let sink = MemorySink()
      try document.encode(with: CSVKeyEncoder(OutputBuffer(sink)))
      try workshop.write(sink.bytes, "keys.csv")
      let bundle = ["--to", "gaen-export", "--unsigned"]
      let refused = try workshop.keyferry(["convert", "keys.csv", "-o", "out.zip"] + bundle)
      #expect(refused.status == 2 && refused.errors.contains("3 keys share key data"))
      #expect(refused.errors.contains("-o out/") && !workshop.exists("out.zip"))
      #expect(try workshop.keyferry(["convert", "keys.csv", "-o", "out/"] + bundle).status == 0)
      #expect(try workshop.keys("out/keys.zip").keys.count == 30)
      #expect(try workshop.keys("out/keys-2.zip").keys.count == 3)
      #expect(try workshop.keyferry("convert", "keys.csv", "--to", "csv", "-o", "all.csv").status == 0)
      #expect(try workshop.keys("all.csv").keys.count == 33)

      let latest = document.keys.compactMap(\.rollingStart).max() ?? 0
      let now = ["--now", IntervalNumber(Int64(latest) + 144 + 12).start.description]
      let one = try workshop.keyferry(["normalize", "keys.csv", "-o", "one.zip"] + bundle + now)
      #expect(one.status == 2 && one.errors.contains("share") && !workshop.exists("one.zip"))
      let several = try workshop.keyferry(["normalize", "keys.csv", "-o", "normal/"] + bundle + now)
      #expect(several.status == 0 && workshop.exists("normal/keys.zip") && workshop.exists("normal/keys-2.zip"))
    }
  }

  @Test func oneToOneIntoAFolder() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "a.csv")
      try workshop.write(Sample.batch, "b.bin")
      try workshop.write("<html>", "c.zip")
      let outcome = try workshop.keyferry("convert", "a.csv", "c.zip", "b.bin", "--to", "json", "-o", "out/")
      #expect(outcome.status == 1)
      #expect(outcome.errors.contains("c.zip: the file looks like a web page"))
      #expect(try workshop.files == ["a.csv", "b.bin", "c.zip", "out", "out/a.json", "out/b.json"])
      #expect(try workshop.keys("out/a.json").keys.count == 30)
    }
  }

  @Test func namesThatCollideAreRefusedBeforeAnythingIsWritten() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "a.csv")
      try workshop.write(Sample.json, "a.json")
      let outcome = try workshop.keyferry("convert", "a.csv", "a.json", "--to", "efgs-json", "-o", "out/")
      #expect(outcome.status == 64)
      #expect(outcome.errors.contains("a.csv and a.json would both become out/a.json"))
      #expect(!workshop.exists("out/a.json"))
    }
  }

  @Test(arguments: ["keys.csv", "./keys.csv", "link.csv", "hard.csv", "../FOLDER/keys.csv"])
  func theInputIsNeverOverwritten(output: String) throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "keys.csv")
      try FileManager.default.createSymbolicLink(atPath: workshop.path("link.csv"), withDestinationPath: "keys.csv")
      try FileManager.default.linkItem(atPath: workshop.path("keys.csv"), toPath: workshop.path("hard.csv"))
      let output = output.replacingOccurrences(of: "FOLDER", with: workshop.folder.lastPathComponent)
      let outcome = try workshop.keyferry("convert", "keys.csv", "--to", "csv", "-o", output)
      #expect(outcome.status == 64)
      #expect(outcome.errors.contains("is the input keys.csv; it would be overwritten"))
      #expect(try workshop.bytes("keys.csv") == Sample.csv)
      #expect(try workshop.files == ["hard.csv", "keys.csv", "link.csv"])
    }
  }

  @Test func secretsAndRingsAreNoOutputs() throws {
    try Workshop.run { workshop in
      try workshop.makeSigner()
      try workshop.write(Sample.csv, "keys.csv")
      let before = try workshop.bytes("310-v1.key.pem")
      let outcome = try workshop.keyferry(
        "convert", "keys.csv", "--to", "gaen-export", "-o", "310-v1.key.pem", "--sign-key", "310-v1.key.pem",
        "--key-id", "310", "--key-version", "v1")
      #expect(outcome.status == 64)
      #expect(try workshop.bytes("310-v1.key.pem") == before)
    }
  }

  @Test func devicesAndFoldersAreNotReplaced() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "keys.csv")
      let outcome = try workshop.keyferry("convert", "keys.csv", "--to", "json", "-o", "/dev/null")
      #expect(outcome.status == 2)
      #expect(outcome.errors.contains("/dev/null: cannot write: it is not a regular file"))
      let type = try FileManager.default.attributesOfItem(atPath: "/dev/null")[.type] as? FileAttributeType
      #expect(type == .typeCharacterSpecial)
    }
  }

  /// What stood there stays until the new file is whole.
  @Test func nothingHalfDoneAfterAFailure() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "good.csv")
      try workshop.write(Array(Sample.json.dropLast(40)), "cut.json")
      try workshop.write("what was there", "out.csv")
      for arguments in [["cut.json"], ["good.csv", "cut.json"], ["good.csv", "missing.csv"]] {
        let outcome = try workshop.keyferry(["convert"] + arguments + ["--to", "csv", "-o", "out.csv"])
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains(arguments.last ?? ""))
        #expect(try workshop.text("out.csv") == "what was there")
        #expect(try workshop.files == ["cut.json", "good.csv", "out.csv"])
      }
      let piped = try workshop.keyferry("convert", "good.csv", "cut.json", "--to", "csv", "-o", "-")
      #expect(piped.status == 2 && piped.output.isEmpty)
    }
  }

  @Test func strictWritesNothing() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "keys.csv")
      let outcome = try workshop.keyferry("convert", "keys.csv", "--to", "publish-json", "-o", "out", "--strict")
      #expect(outcome.status == 2)
      #expect(outcome.errors.contains("30 keys lose report type"))
      #expect(try workshop.files == ["keys.csv"])
      let lenient = try workshop.keyferry("convert", "keys.csv", "--to", "publish-json", "-o", "out")
      #expect(lenient.status == 0)
      #expect(lenient.errors.contains("keyferry: 30 keys lose report type\n"))
      #expect(lenient.errors.contains("keyferry: the document loses time window, region\n"))
      #expect(try workshop.keyferry("convert", "keys.csv", "--to", "json", "-o", "all", "--strict").status == 0)
    }
  }

  @Test func rejectedKeysAreReported() throws {
    try Workshop.run { workshop in
      try workshop.write("key_data,rolling_period\n00112233445566778899aabbccddeeff,144\nabcd,144\n", "keys.csv")
      let outcome = try workshop.keyferry("convert", "keys.csv", "--to", "gaen-export", "--unsigned", "-o", "out.zip")
      #expect(outcome.status == 1)
      #expect(outcome.errors.contains("2 keys read (csv), 0 keys written to out.zip (gaen-export), 2 rejected"))
      #expect(outcome.errors.contains("keys.csv: key 0: rolling start absent, gaen-export requires it"))
      #expect(outcome.errors.contains("keyferry: hint: "))
      #expect(!outcome.errors.contains("00112233445566778899aabbccddeeff"))
    }
  }

  @Test func defaultsAreFilledAndCounted() throws {
    try Workshop.run { workshop in
      try workshop.write(
        #"[{"keyData":"ABEiM0RVZneImaq7zN3u/w==","rollingStartNumber":2650000,"transmissionRiskLevel":0}]"#, "keys.json"
      )
      let plain = try workshop.keyferry("convert", "keys.json", "--to", "efgs-json", "-o", "out.json")
      #expect(plain.status == 1)
      let filled = try workshop.keyferry(
        "convert", "keys.json", "--to", "efgs-json", "-o", "out.json", "--origin", "DE", "--visited", "AT", "--visited",
        "IT", "--default-days-since-onset", "4000", "--default-report-type", "confirmed_test")
      #expect(filled.status == 0)
      #expect(filled.errors.contains("days since onset absent, written as 4000: 1 key\n"))
      #expect(filled.errors.contains("report type absent, written as 1: 1 key\n"))
      let document = try workshop.keys("out.json")
      #expect(document.keys.map(\.rollingPeriod) == [144] && document.keys.map(\.daysSinceOnset) == [4000])
      #expect(document.content.keys[0].regions == RegionClaim(origin: "DE", visited: ["AT", "IT"]))
    }
  }

  @Test func theOperatorNamesTheBundle() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "keys.csv")
      try workshop.keyferry(
        "convert", "keys.csv", "--to", "gaen-export", "--unsigned", "-o", "out.bin", "--region", "CH", "--start",
        "2020-06-01", "--end", "2020-06-02T12:00:00Z")
      #expect(try workshop.files == ["keys.csv", "out.bin"], "without a signature there is no .sig")
      let header = try workshop.keys("out.bin").header
      #expect(
        header
          == ExportHeader(
            startTimestamp: 1_590_969_600, endTimestamp: 1_591_099_200, region: "CH", batchNum: 1, batchSize: 1))
    }
  }

  @Test(.enabled(if: Tool(named: "script") != nil, "script, which makes a terminal, is not installed"))
  func noBinaryOnATerminal() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "keys.csv")
      let refused = try workshop.onTerminal("convert", "keys.csv", "--to", "efgs-protobuf", "-o", "-")
      #expect(refused.status == 64)
      #expect(refused.text.contains("efgs-protobuf is binary and standard output is a terminal; give -o FILE"))
      let forced = try workshop.onTerminal("convert", "keys.csv", "--to", "efgs-protobuf", "-o", "-", "--force")
      #expect(forced.status == 0)
      #expect(try workshop.onTerminal("convert", "keys.csv", "--to", "csv", "-o", "-").text.contains("key_data,"))
    }
  }

  // MARK: What is no key file

  @Test(arguments: [
    ("page.html", Array("<!doctype html><title>502</title>".utf8), "looks like a web page"),
    ("empty", [], "the file is empty"), ("blank", Array("  \n".utf8), "nothing but white space"),
    ("random", [0xf1, 0x00, 0x9c, 0x33, 0x07, 0xee, 0x81], "neither a ZIP archive"),
    ("text", Array("hello world\n".utf8), "no column holds key data"),
    ("half.zip", [0x50, 0x4b, 3, 4, 20, 0], "no directory at its end"),
    (
      "export.sig", [0x0a, 6, 0x0a, 0, 0x22, 2, 0x30, 0], "signature file"
    ),
  ])
  func otherFilesAreNamed(name: String, content: [UInt8], words: String) throws {
    try Workshop.run { workshop in
      try workshop.write(content, name)
      for input in [name, "-"] {
        let outcome = try workshop.keyferry("convert", input, "--to", "json", "-o", "out", input: content)
        #expect(outcome.status == 2)
        #expect(outcome.errors.hasPrefix("keyferry: \(input == "-" ? "standard input" : name): "))
        #expect(outcome.errors.contains(words))
        #expect(try workshop.files == [name])
      }
    }
  }

  @Test func missingFilesAndFolders() throws {
    try Workshop.run { workshop in
      let missing = try workshop.keyferry("convert", "nowhere.csv", "--to", "json", "-o", "out")
      #expect(missing.status == 2)
      #expect(missing.errors == "keyferry: nowhere.csv: cannot open: no such file or directory\n")
      let folder = try workshop.keyferry("convert", ".", "--to", "json", "-o", "out")
      #expect(folder.status == 2)
      #expect(folder.errors.hasPrefix("keyferry: .: cannot read: the folder holds no files\n"))
      try workshop.write(Sample.csv, "keys.csv")
      let nowhere = try workshop.keyferry("convert", "keys.csv", "--to", "json", "-o", "no/such/folder/out")
      #expect(nowhere.status == 2)
      #expect(try workshop.files == ["keys.csv"])
    }
  }

  @Test func aForcedFormatIsNotGuessed() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.batch, "keys.bin")
      #expect(try workshop.keyferry("convert", "keys.bin", "--from", "csv", "--to", "json", "-o", "out").status == 2)
      #expect(
        try workshop.keyferry("convert", "keys.bin", "--from", "efgs-protobuf", "--to", "json", "-o", "out").status == 0
      )
    }
  }

  @Test func inputsAreLimited() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "keys.csv")
      for input in ["keys.csv", "-"] {
        let outcome = try workshop.keyferry(
          "convert", input, "--to", "json", "-o", "out", "--max-bytes", "1000", input: Sample.csv)
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains("at most 1000 bytes are read"))
      }
    }
  }

  @Test func untrustedInputsAreRefused() throws {
    try Workshop.run { workshop in
      try workshop.makeSigner()
      try workshop.makeSigner("311")
      try workshop.write(Sample.csv, "keys.csv")
      try workshop.keyferry(
        "convert", "keys.csv", "--to", "gaen-export", "-o", "bundle.zip", "--sign-key", "310-v1.key.pem", "--key-id",
        "310", "--key-version", "v1")
      func convert(_ input: String, _ ring: String) throws -> Tool.Outcome {
        try workshop.keyferry("convert", input, "--to", "json", "-o", "out", "--trust", ring)
      }
      let foreign = try convert("bundle.zip", "ring/311-v1.pem")
      #expect(foreign.status == 1)
      #expect(foreign.errors.contains("bundle.zip: no signature can be trusted"))
      #expect(!workshop.exists("out"))
      let unsigned = try convert("keys.csv", "ring/310-v1.pem")
      #expect(unsigned.status == 1 && unsigned.errors.contains("csv carries no signature"))
      #expect(!workshop.exists("out"))
      #expect(try convert("bundle.zip", "ring").status == 0)
      #expect(try workshop.keys("out").keys.count == 30)
    }
  }

  private static let emptyTable = "key_data,rolling_start_interval_number\n"

  /// Without a key nothing takes the place of what was there; a new output may be empty.
  @Test(arguments: [emptyTable, emptyTable + "00,1\n"])
  func noKeysLeaveAnOutputAlone(_ table: String) throws {
    try Workshop.run { workshop in
      try workshop.write(table, "empty.csv")
      try workshop.write("good", "out.json")
      for command in ["convert", "normalize"] {
        let kept = try workshop.keyferry(command, "empty.csv", "--to", "json", "-o", "out.json")
        #expect(kept.status == 2 && kept.errors.contains("out.json stays as it is, since no key was written"))
        #expect(try workshop.text("out.json") == "good")
      }
      let quiet = try workshop.keyferry("convert", "empty.csv", "--to", "json", "-o", "out.json", "-q", "--json")
      #expect(quiet.status == 2 && quiet.errors.contains("out.json stays as it is"))
      #expect(quiet.text.contains("\"outputs\" : []") || quiet.text.contains("\"outputs\" : [\n"), "\(quiet.text)")
      try FileManager.default.createDirectory(atPath: workshop.path("folder"), withIntermediateDirectories: true)
      try workshop.write("good", "folder/empty.json")
      let replaced = try workshop.keyferry("convert", "empty.csv", "--to", "json", "-o", "folder/", "--replace")
      #expect(replaced.status == 2 && replaced.errors.contains("folder/empty.json stays as it is"))
      #expect(try workshop.text("folder/empty.json") == "good")
      let new = try workshop.keyferry("convert", "empty.csv", "--to", "json", "-o", "new.json")
      #expect(new.status == (table == Self.emptyTable ? 0 : 1) && workshop.exists("new.json"), "\(new.errors)")
    }
  }

  /// A server's error message is no document without keys.
  @Test(arguments: [
    "Error: Unauthorized\n", "status: ok\n", #"{"error":"x"}"#, #"["unauthorized"]"#, "not found\n",
    "Exposure Notification Diagnosis Key Parser\nError: no file\n",
  ])
  func textWithoutAnyFieldIsRefused(_ text: String) throws {
    try Workshop.run { workshop in
      try workshop.write(text, "answer")
      try workshop.write("good", "out.csv")
      for output in ["out.csv", "new.csv"] {
        let run = try workshop.keyferry("convert", "answer", "--to", "csv", "-o", output)
        #expect(run.status == 2 && run.errors.contains("answer"), "\(run.errors)")
      }
      #expect(try workshop.text("out.csv") == "good" && !workshop.exists("new.csv"))
    }
  }

  /// Finland's phones name countries beside the keys. Nobody stated a report type or an onset, so the operator's choice
  /// is signed, and nothing else.
  @Test(arguments: [[0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 1, 0]], [1, 40])
  func aNationalUploadStatesNothingOfTheFederations(order: [Int], count: Int) throws {
    try Workshop.run { workshop in
      let keys = (0..<count).map { index in
        let data = Data((0..<16).map { UInt8(index + $0) }).base64EncodedString()
        return
          #"{"keyData":"\#(data)","rollingStartIntervalNumber":2676096,"rollingPeriod":144,"transmissionRiskLevel":5}"#
      }
      let members = [
        "\"keys\":[\(keys.joined(separator: ","))]", #""visitedCountries":{"DE":1,"IT":0}"#,
        #""consentToShareWithEfgs":0"#,
      ]
      try workshop.write("{" + order.map { members[$0] }.joined(separator: ",") + "}", "upload.json")
      try workshop.makeSigner()
      let sign = ["--sign-key", "310-v1.key.pem", "--key-id", "310", "--key-version", "v1"]
      let run = try workshop.keyferry(
        ["convert", "upload.json", "--to", "gaen-export", "-o", "out.zip", "--default-report-type", "confirmed_test"]
          + sign)
      #expect(run.status == 0 && run.errors.contains("(codable-json)"), "\(run.errors)")
      let written = try workshop.keys("out.zip").keys
      #expect(written.count == count)
      for key in written {
        #expect(key.reportType == 1 && key.daysSinceOnset == nil && key.transmissionRisk == 5 && key.regions == .none)
      }
    }
  }

  /// What fails leaves no folder behind, nor, where nothing may be left out, what came before the fault.
  @Test func failuresLeaveNothingBehind() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "a.csv")
      try workshop.write("no archive", "c.zip")
      for arguments in [["c.zip"], ["nowhere.csv"], ["a.csv", "c.zip", "--no-keep-going"]] {
        for output in ["out/", "t.sqlite"] {
          let command = output == "out/" ? ["convert", "--to", "json"] : ["tables"]
          let run = try workshop.keyferry(command + ["-o", output] + arguments)
          #expect(run.status == 2, "\(arguments): \(run.errors)")
          #expect(try workshop.files == ["a.csv", "c.zip"], "\(arguments)")
        }
      }
      // What was there before stays.
      try FileManager.default.createDirectory(atPath: workshop.path("out"), withIntermediateDirectories: true)
      #expect(try workshop.keyferry("convert", "c.zip", "--to", "json", "-o", "out/").status == 2)
      #expect(workshop.exists("out"))
      try workshop.write("good", "t.sqlite")
      #expect(try workshop.keyferry("tables", "c.zip", "-o", "t.sqlite", "--replace").status == 2)
      #expect(try workshop.text("t.sqlite") == "good")
    }
  }

  /// Key servers take thirty keys at once.
  @Test func requestsOfManyKeys() throws {
    try Workshop.run { workshop in
      let rows = (10..<85).map { "0001020304050607080900000000\($0)00,2676096,144,3\n" }.joined()
      try workshop.write("key_data,rolling_start,rolling_period,transmission_risk\n" + rows, "keys.csv")
      let convert = ["convert", "keys.csv", "--to", "publish-json", "-o"]
      for output in ["one.json", "-"] {
        let refused = try workshop.keyferry(convert + [output])
        #expect(refused.status == 2 && refused.errors.contains("at most 30") && refused.errors.contains("-o out/"))
        #expect(refused.output.isEmpty && !workshop.exists("one.json"))
      }
      let written = try workshop.keyferry(convert + ["out/"])
      #expect(written.status == 0 && written.errors.contains("written as 3 requests"), "\(written.errors)")
      let names = ["keys", "keys-2", "keys-3"]
      #expect(try names.map { try workshop.keys("out/\($0).json").keys.count } == [30, 30, 15])
      #expect(try workshop.files.count == 5)
      #expect(
        try workshop.keys("keys.csv").keys.map(\.key)
          == names.flatMap { try workshop.keys("out/\($0).json").keys.map(\.key) })
      // The second request of one document does not give way to another document of its name.
      try FileManager.default.createDirectory(atPath: workshop.path("both"), withIntermediateDirectories: true)
      for name in ["keys.csv", "keys-2.csv"] { try workshop.write(try workshop.bytes("keys.csv"), "both/\(name)") }
      let both = try workshop.keyferry([
        "convert", "both/keys.csv", "both/keys-2.csv", "--to", "publish-json", "-o", "out/", "--replace",
      ])
      #expect(both.status == 1 && both.errors.contains("out/keys-2.json was written for another document"))
      #expect(try workshop.keys("out/keys-2.json").keys.count == 30)
      // Thirty are one request.
      try workshop.write(Sample.csv, "thirty.csv")
      #expect(try workshop.keyferry("convert", "thirty.csv", "--to", "publish-json", "-o", "thirty.json").status == 0)
    }
  }
}
