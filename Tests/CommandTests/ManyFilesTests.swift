import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import Testing

/// What becomes of many files, and of what is there already.
@Suite struct ManyFilesTests {
  /// Files of every kind, some of which cannot be read.
  private static func fill(_ workshop: Workshop) throws {
    try FileManager.default.createDirectory(
      at: workshop.folder.appending(path: "in"), withIntermediateDirectories: true)
    var random = SeededRandom(seed: 3)
    for number in 0..<40 {
      let document = RandomKeys(.plausible, statesRegions: true).document(20 + number, using: &random)
      let name = "in/\(number < 10 ? "0" : "")\(number)"
      switch number % 4 {
      case 0: try workshop.write(try document.bytes(as: .gaenExport), "\(name).bin")
      case 1: try workshop.write(try document.bytes(as: .csv), "\(name).csv")
      case 2: try workshop.write(try document.bytes(as: .json), "\(name).json")
      default: try workshop.write("nothing \(number)", "\(name).txt")
      }
    }
    // Too large to wait in memory.
    let large = RandomKeys(.plausible).document(150_000, using: &random)
    try workshop.write(try large.bytes(as: .gaenExport), "in/20-large.bin")
  }

  /// Several threads read them; what is said is what is said of each by itself, in their order.
  @Test func inspectedByAllProcessors() throws {
    try Workshop.run { workshop in
      try Self.fill(workshop)
      let names = try FileManager.default.contentsOfDirectory(atPath: workshop.path("in")).sorted()
      let whole = try workshop.keyferry("inspect", "in", "--json-lines")
      #expect(whole.status == 1)
      var lines: [String] = []
      for name in names { lines.append(try workshop.keyferry("inspect", "in/\(name)", "--json-lines").text) }
      #expect(whole.text == lines.joined())
      let first = try workshop.keyferry("inspect", "in", "--summary")
      #expect(first.text.hasPrefix("41 documents\n") && first.text.contains("unreadable  10\n"), "\(first.text)")
      #expect(first.errors.contains("10 documents of 41 left out"), "\(first.errors)")
      #expect(try workshop.keyferry("inspect", "in", "--summary").text == first.text)
      let stopped = try workshop.keyferry("inspect", "in", "--json-lines", "--no-keep-going")
      #expect(stopped.status == 2 && stopped.text == lines[..<3].joined(), "\(stopped.text) \(stopped.errors)")
    }
  }

  @Test func verifiedByAllProcessors() throws {
    try Workshop.run { workshop in
      try Self.fill(workshop)
      _ = try workshop.makeSigner()
      // One alone is not added up, so its keys are not read: exports alone are judged alike.
      let names = try FileManager.default.contentsOfDirectory(atPath: workshop.path("in")).sorted()
        .filter { $0.hasSuffix(".bin") }
      let whole = try workshop.keyferry(
        ["verify"] + names.map { "in/\($0)" } + ["--trust", "ring", "--json-lines"])
      var lines: [String] = []
      for name in names {
        lines.append(try workshop.keyferry("verify", "in/\(name)", "--trust", "ring", "--json-lines").text)
      }
      #expect(whole.text == lines.joined())
    }
  }

  /// In a folder of outputs nothing is written over unasked.
  @Test func whatIsThereStays() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "keys.csv")
      try workshop.write(Sample.json, "other.json")
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "out"), withIntermediateDirectories: true)
      try workshop.write("mine", "out/keys.json")
      let convert = ["convert", "keys.csv", "other.json", "--to", "json", "-o", "out"]
      let kept = try workshop.keyferry(convert)
      #expect(kept.status == 1 && kept.errors.contains("out/keys.json is there already"), "\(kept.errors)")
      #expect(try workshop.text("out/keys.json") == "mine")
      #expect(try workshop.keys("out/other.json").keys.count == Sample.document.keys.count)
      let replaced = try workshop.keyferry(convert + ["--replace"])
      #expect(replaced.status == 0, "\(replaced.errors)")
      #expect(replaced.errors.contains("out/keys.json: the file that was there is replaced"), "\(replaced.errors)")
      #expect(try workshop.keys("out/keys.json").keys.count == Sample.document.keys.count)
      // An input that has not been read yet is never the output of another.
      let into = try workshop.keyferry("convert", "out", "--to", "csv", "-o", "out")
      #expect(into.status == 0, "\(into.errors)")
      let again = try workshop.keyferry("convert", "out/keys.json", "--to", "csv", "-o", "out/keys.csv")
      #expect(again.errors.contains("out/keys.csv: the file that was there is replaced"), "\(again.errors)")
    }
  }

  @Test func conversionReport() throws {
    let schema = try DocumentSchema(named: "conversion.schema.json")
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "keys.csv")
      try workshop.write("key_data,rolling_start,more\n00,1,2\n", "bad.csv")
      try workshop.write("<html>", "page")
      let one = try workshop.keyferry(
        "convert", "keys.csv", "--to", "gaen-export", "--unsigned", "-o", "all.zip", "--json")
      #expect(one.status == 0, "\(one.errors)")
      #expect(try schema.faults(in: Data(one.output)) == [], "\(one.text)")
      #expect(one.text.contains("\"sha256\""))
      let each = try workshop.keyferry("convert", "keys.csv", "bad.csv", "page", "--to", "csv", "-o", "out/", "--json")
      #expect(each.status == 1, "\(each.errors)")
      #expect(try schema.faults(in: Data(each.output)) == [], "\(each.text)")
      #expect(
        each.text.contains("\"key-data-length\" : 1") && each.text.contains("\"name\" : \"page\""), "\(each.text)")
      #expect(try workshop.keyferry("convert", "keys.csv", "--to", "csv", "-o", "-", "--json").status == 64)
    }
  }

  /// Origin and countries are said once: keys that say something else are named, and `--strict` writes nothing.
  @Test func submissionOfSeveralOrigins() throws {
    try Workshop.run { workshop in
      try workshop.write(
        """
        key_data,rolling_start,origin,visited_regions,revised
        000102030405060708090a0b0c0d0e0f,2676096,DE,DE FR,false
        101112131415161718191a1b1c1d1e1f,2676240,IT,DE FR,false
        202122232425262728292a2b2c2d2e2f,2676240,DE,DE FR,true

        """, "keys.csv")
      let convert = ["convert", "keys.csv", "--to", "cwa-submission", "-o", "payload.bin"]
      let strict = try workshop.keyferry(convert + ["--strict"])
      #expect(strict.status == 2 && !workshop.exists("payload.bin"), "\(strict.errors)")
      let written = try workshop.keyferry(convert)
      #expect(written.status == 1, "\(written.errors)")
      #expect(written.errors.contains("of origin IT") && written.errors.contains("1 key loses mark as revised"))
      let back = try workshop.keys("payload.bin")
      #expect(back.keys.count == 2)
      #expect(back.keys.allSatisfy { back.regions[$0.regions] == RegionClaim(origin: "DE", visited: ["DE", "FR"]) })
    }
  }

  /// Columns of the source are known where the table is read again.
  @Test func tablesWithSources() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "keys.csv")
      try workshop.keyferry("convert", "keys.csv", "--to", "csv", "--with-source", "-o", "sourced.csv")
      let read = try workshop.keyferry("convert", "sourced.csv", "--to", "csv", "--strict", "-o", "again.csv")
      #expect(read.status == 0, "\(read.errors)")
      #expect(read.errors.contains("source_...") && !read.errors.contains("is not read"), "\(read.errors)")
    }
  }

  @Test func filesOfOtherThings() throws {
    try Workshop.run { workshop in
      for (number, text) in [
        #"{"keys":[{"kty":"EC","kid":"x"},{"kty":"RSA"}]}"#, #"{"keys":["a","b"]}"#,
      ].enumerated() {
        try workshop.write(text, "\(number).json")
        let read = try workshop.keyferry("inspect", "\(number).json", "--json")
        #expect(read.status == 2 && read.text.contains("unrecognized-format"), "\(text): \(read.text)")
      }
    }
  }
}
