import Foundation
import GatewayTesting
import Testing

/// `--strict`: what is lost anywhere on the way is a reason to write nothing. And what starts in seconds are.
@Suite struct StrictTests {
  private static let row = "000102030405060708090a0b0c0d0e0f,2676096,144,3"
  private static let names = "key_data,rolling_start_interval_number,rolling_period,transmission_risk_level"

  private func write(_ text: String, to name: String, in workshop: Workshop) throws {
    try Data(text.utf8).write(to: workshop.folder.appending(path: name))
  }

  private func strictly(_ text: String, to format: String, _ options: String...) throws -> (
    status: Int32, errors: String
  ) {
    var outcome: (Int32, String) = (0, "")
    try Workshop.run { workshop in
      try write(text, to: "keys", in: workshop)
      let run = try workshop.keyferry(["convert", "keys", "--to", format, "-o", "out", "--strict"] + options)
      #expect(
        FileManager.default.fileExists(atPath: workshop.folder.appending(path: "out").path()) == (run.status != 2))
      outcome = (run.status, run.errors)
    }
    return outcome
  }

  @Test func aColumnThatIsNotReadIsALoss() throws {
    let refused = try strictly("\(Self.names),colour\n\(Self.row),blue\n", to: "json")
    #expect(refused.status == 2)
    #expect(refused.errors.contains("nothing was written") && refused.errors.contains("\"colour\""))
    #expect(try strictly("\(Self.names)\n\(Self.row)\n", to: "json").status == 0)
  }

  @Test func aMemberThatIsNotReadIsALoss() throws {
    let key = #"{"keyData":"AAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":2676096,"rollingPeriod":144,"colour":1}"#
    let refused = try strictly("[\(key)]", to: "csv")
    #expect(refused.status == 2)
    #expect(refused.errors.contains("colour"))
    #expect(try strictly("{\"keys\":[],\"userName\":\"x\"}", to: "csv").status == 2)
  }

  /// Readers disagree about which one counts, so none may be dropped without a word.
  @Test(arguments: ["convert", "normalize"])
  func aRepeatedMemberIsALoss(command: String) throws {
    try Workshop.run { workshop in
      let key =
        #"{"keyData":"AAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":2676096,"rollingPeriod":72,"rollingPeriod":144}"#
      try write("[\(key)]", to: "keys.json", in: workshop)
      let options =
        ["keys.json", "--to", "csv", "-o", "out.csv"] + (command == "convert" ? [] : ["--now", "2020-11-20"])
      let words = "\"rollingPeriod\" is stated more than once, first in key 0"
      let strict = try workshop.keyferry([command] + options + ["--strict"])
      #expect(strict.status == 2 && strict.errors.contains(words) && !workshop.exists("out.csv"), "\(strict.errors)")
      let lenient = try workshop.keyferry([command] + options)
      #expect(lenient.status == 0 && lenient.errors.contains(words), "\(lenient.errors)")
      #expect(try workshop.text("out.csv").contains(",2676096,144,"))
    }
  }

  @Test func aRejectedKeyIsALossAndPaddingIsNone() throws {
    #expect(try strictly("\(Self.names)\n\(Self.row)\n00,1,1,1\n", to: "json").errors.contains("1 key rejected"))
    let padded =
      #"{"gaenKeys":[{"keyData":"AAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":2676096,"rollingPeriod":144,"fake":0},"#
      + #"{"keyData":"EAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":2676096,"rollingPeriod":144,"fake":1}]}"#
    #expect(try strictly(padded, to: "csv").status == 1)
  }

  @Test func aValueThatNobodyChoseIsALoss() throws {
    let table = "key_data,rolling_start\n000102030405060708090a0b0c0d0e0f,2676096\n"
    let refused = try strictly(table, to: "publish-json")
    #expect(refused.status == 2 && refused.errors.contains("rolling period absent, written as 144"))
    #expect(try strictly(table, to: "publish-json", "--default-rolling-period", "144").status == 0)
  }

  @Test func withoutMetadataTheHeaderIsTold() throws {
    try Workshop.run { workshop in
      try write("# region=DE\n\(Self.names)\n\(Self.row)\n", to: "keys.csv", in: workshop)
      let outcome = try workshop.keyferry("convert", "keys.csv", "--to", "csv", "-o", "-", "--no-metadata")
      #expect(outcome.status == 0 && outcome.errors.contains("the document loses region"))
      #expect(outcome.text.hasPrefix("key_data,"))
      let other = try workshop.keyferry("convert", "keys.csv", "--to", "json", "-o", "-", "--no-metadata")
      #expect(other.status == 64)
    }
  }

  @Test func startsInSecondsAreTold() throws {
    try Workshop.run { workshop in
      let starts = ["1605657600", "1605657600000", "2676096", "1605657601", "1605657600001"]
      let rows = starts.map { "000102030405060708090a0b0c0d0e0f,\($0),144,3\n" }.joined()
      try write("\(Self.names)\n\(rows)", to: "keys.csv", in: workshop)
      let outcome = try workshop.keyferry("convert", "keys.csv", "--to", "csv", "-o", "-", "--no-metadata")
      #expect(outcome.status == 1)
      let lines = outcome.text.split(separator: "\n").dropFirst()
      #expect(lines.count == 3 && lines.allSatisfy { $0.contains(",2676096,") })
      #expect(
        outcome.errors.contains("seconds since 1970 was read")
          && outcome.errors.contains("milliseconds since 1970 was read"))
      #expect(outcome.errors.contains("key 3") && outcome.errors.contains("key 4"))
    }
  }

  /// Documents of different regions have no region together, whatever they become.
  @Test(arguments: ["csv", "json", "codable-json", "gaen-export"])
  func regionsThatDifferAreALoss(_ format: String) throws {
    try Workshop.run { workshop in
      for region in ["DE", "SI"] {
        try write("# region=\(region)\n\(Self.names)\n\(Self.row)\n", to: "\(region).csv", in: workshop)
      }
      let unsigned = format == "gaen-export" ? ["--unsigned"] : []
      let convert = ["convert", "DE.csv", "SI.csv", "--to", format, "-o", "out"] + unsigned
      let strict = try workshop.keyferry(convert + ["--strict"])
      #expect(strict.status == 2 && strict.errors.contains("different regions (DE, SI)"), "\(strict.errors)")
      #expect(!FileManager.default.fileExists(atPath: workshop.path("out")))
      let quiet = try workshop.keyferry(convert + ["-q"])
      #expect(quiet.status == 0 && quiet.errors.contains("different regions (DE, SI)"), "\(quiet.errors)")
      if format == "gaen-export" || format == "csv" {
        let chosen = try workshop.keyferry(convert + ["--strict", "--region", "EU"])
        #expect(chosen.status == 0, "\(chosen.errors)")
      }
      if format == "csv" || format == "json" {
        #expect(try workshop.keyferry(convert + ["--strict", "--with-source"]).status == 0)
      }
    }
  }

  @Test func batchesOfWhichPartsAreMissingAreALoss() throws {
    try Workshop.run { workshop in
      for batch in 1...3 {
        try write(
          "# batch_num=\(batch)\n# batch_size=3\n\(Self.names)\n\(Self.row.replacing("00010203", with: "0001020\(batch)"))\n",
          to: "\(batch).csv", in: workshop)
      }
      func strict(_ inputs: [String], _ format: String) throws -> Tool.Outcome {
        let unsigned = format == "gaen-export" ? ["--unsigned"] : []
        return try workshop.keyferry(["convert"] + inputs + ["--to", format, "-o", "out", "--strict"] + unsigned)
      }
      for format in ["csv", "gaen-export"] {
        let part = try strict(["1.csv", "2.csv"], format)
        #expect(part.status == 2 && part.errors.contains("batches 1 of 3, 2 of 3"), "\(part.errors)")
        let whole = try strict(["1.csv", "2.csv", "3.csv"], format)
        #expect(whole.status == 0, "\(whole.errors)")
      }
      #expect(try strict(["1.csv"], "gaen-export").errors.contains("batch 1 of 3"))
      #expect(try strict(["1.csv"], "csv").status == 0)
    }
  }

  /// `-q` leaves out what was done, and not what was lost.
  @Test func quietLossesOnReadingAreTold() throws {
    try Workshop.run { workshop in
      try write("\(Self.names),colour\n\(Self.row),blue\n", to: "keys.csv", in: workshop)
      for command in [["convert"], ["normalize", "--now", "2020-11-20"]] {
        let options = ["keys.csv", "--to", "json", "-o", "out", "-q"]
        let quiet = try workshop.keyferry(command + options)
        #expect(quiet.errors.contains("colour"), "\(command): \(quiet.errors)")
        let strict = try workshop.keyferry(command + options + ["--strict"])
        #expect(strict.status == 2 && strict.errors.contains("colour"), "\(command): \(strict.errors)")
      }
      try write("key_data,rolling_start\n000102030405060708090a0b0c0d0e0f,2676096\n", to: "bare.csv", in: workshop)
      let filled = try workshop.keyferry("convert", "bare.csv", "--to", "publish-json", "-o", "request.json", "-q")
      #expect(filled.errors.contains("rolling period absent, written as 144"), "\(filled.errors)")
    }
  }
}
