import ExposureKeys
import Foundation
import GatewayTesting
import KeyArchive
import KeyFormats
import KeyIntake
import Testing

/// `keyferry archive`.
@Suite struct ArchiveTests {
  private static let python = ProcessInfo.processInfo.environment["KEYFERRY_PYTHON"] ?? "python3"

  /// The catalogue names the format that a file is in, which of JSON shows only in its keys.
  @Test func formatsAreThoseOfTheFiles() throws {
    try Workshop.run { workshop in
      let formats = FormatCatalog.all.map(\.format).filter(\.definition.isWritten)
      for format in formats {
        var document = Sample.document
        _ = try document.fit(to: format)
        try workshop.write(try document.bytes(as: format), "\(format.rawValue).file")
      }
      #expect(try workshop.keyferry(["archive", "add", "kept"] + formats.map { "\($0.rawValue).file" }).status == 0)
      let listing = try workshop.keyferry("archive", "list", "kept", "--json")
      let found = try JSONDecoder().decode(Formats.self, from: Data(listing.output)).sightings
      #expect(Set(found.map(\.name)).count == formats.count)
      for file in found { #expect(file.name == "\(file.format ?? "none").file") }
    }
  }

  private struct Formats: Decodable {
    struct Sighting: Decodable {
      let name: String
      let format: String?
    }
    let sightings: [Sighting]
  }

  /// `report` knows of every change that `archive list` shows.
  @Test func changesUnderANameAreReported() throws {
    try Workshop.run { workshop in
      let rows = (0..<2).map { "key_data,rolling_start\n0001020304050607080900000000\(10 + $0)00,2676096\n" }
      // The second content was seen under another name first.
      for (name, content) in [("a.csv", rows[0]), ("b.csv", rows[1]), ("a.csv", rows[1])] {
        try workshop.write(content, name)
        try workshop.keyferry("archive", "add", "kept", name)
      }
      #expect(try workshop.keyferry("archive", "list", "kept").text.contains("changed under its name"))
      let json = try workshop.keyferry("report", "kept", "--json").text
      #expect(json.contains("\"changed-names\"") && json.contains("kept!a.csv"), "\(json)")
      let page = try workshop.keyferry("report", "kept", "-o", "-").text
      #expect(!page.contains("none was changed") && page.contains("changed-names"))
      try workshop.keyferry("archive", "add", "other", "b.csv")
      #expect(try workshop.keyferry("report", "other", "-o", "-").text.contains("none was changed"))
    }
  }

  private struct Report: Decodable {
    struct Change: Decodable {
      let name: String
      let before: String
      let now: String
    }
    struct Sighting: Decodable {
      let name: String
      let sha256: String
      let first: String
      let last: String
      let bytes: Int
      let changed: Bool
      let signers: [String]
      let region: String?
    }
    struct Turn: Decodable {
      let name: String
      let container: Bool
      let before: String?
    }
    struct Finding: Decodable {
      let code: String
      let names: [String]
    }
    let good: Bool?
    let files: Int?
    let new: Int?
    let newNames: Int?
    let again: Int?
    let changed: [Change]?
    let turned: [Turn]?
    let indexes: Int?
    let records: Int?
    let contents: Int?
    let sightings: [Sighting]?
    let findings: [Finding]?
    let extends: Int?
    let first: String?
    let last: String?

    enum CodingKeys: String, CodingKey {
      case good, files, new, again, changed, turned, indexes, records, contents, sightings, findings, extends, first,
        last
      case newNames = "new_names"
    }
  }

  private func run(_ workshop: Workshop, _ status: Int32 = 0, _ arguments: String...) throws -> Report {
    let outcome = try workshop.keyferry(["archive"] + arguments + ["--json"])
    #expect(outcome.status == status, "\(arguments): \(outcome.text)\(outcome.errors)")
    let definition = ["add": "addition", "list": "listing", "verify": "verdict"][arguments[0]]
    let faults = try DocumentSchema(named: "archive.schema.json").faults(in: Data(outcome.output), at: definition)
    #expect(faults == [], "\(outcome.text)")
    return try JSONDecoder().decode(Report.self, from: Data(outcome.output))
  }

  /// A folder `in` with three bundles of one signer, a bare pair and something that is no key file.
  private func prepare(_ workshop: Workshop) throws {
    try workshop.makeSigner()
    try FileManager.default.createDirectory(atPath: workshop.path("in/sub"), withIntermediateDirectories: true)
    try workshop.write(Sample.csv, "keys.csv")
    for (place, start) in [("in/1.zip", "2020-06-01"), ("in/2.zip", "2020-06-02"), ("in/sub/3.bin", "2020-06-03")] {
      let outcome = try workshop.keyferry(
        "convert", "keys.csv", "--to", "gaen-export", "-o", place, "--region", "DE", "--start", start, "--end",
        "\(start)T12:00", "--sign-key", "310-v1.key.pem", "--key-id", "310", "--key-version", "v1")
      #expect(outcome.status == 0, "\(outcome.errors)")
    }
    try workshop.write("<html>gone</html>", "in/page.zip")
  }

  @Test func filesAreKeptOnceAndComeBackByteForByte() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      let first = try run(workshop, 0, "add", "seen", "in", "--at", "2020-06-04")
      #expect(first.files == 4 && first.new == 4 && first.contents == 5)
      try FileManager.default.copyItem(atPath: workshop.path("in/1.zip"), toPath: workshop.path("in/copy.zip"))
      let second = try run(workshop, 0, "add", "seen", "in", "--at", "2020-06-05")
      #expect(second.new == 0 && second.newNames == 1 && second.again == 4 && second.contents == 5)
      let list = try run(workshop, 0, "list", "seen")
      let sightings = try #require(list.sightings)
      #expect(sightings.map(\.name) == ["in/1.zip", "in/2.zip", "in/copy.zip", "in/page.zip", "in/sub/3.bin"])
      #expect(sightings[0].first == "2020-06-04T00:00:00Z" && sightings[0].last == "2020-06-05T00:00:00Z")
      #expect(sightings[0].signers == ["310 v1"] && sightings[0].region == "DE" && !sightings[0].changed)
      #expect(sightings[2].sha256 == sightings[0].sha256)
      for name in ["in/1.zip", "in/page.zip", "in/sub/3.bin"] {
        let outcome = try workshop.keyferry("archive", "get", "seen", name, "-o", "back.bin", "--replace")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try workshop.bytes("back.bin") == workshop.bytes(name))
      }
      #expect(try workshop.bytes("back.sig") == workshop.bytes("in/sub/3.sig"))
      let prefix = String(sightings[1].sha256.prefix(8))
      let piped = try workshop.keyferry("archive", "get", "seen", prefix, "-o", "-")
      #expect(piped.status == 0)
      #expect(try piped.output == workshop.bytes("in/2.zip"))
      #expect(try workshop.keyferry("archive", "get", "seen", "nothing", "-o", "x").status == 1)
      let text = try workshop.keyferry("archive", "list", "seen", "in/sub")
      #expect(text.text.contains("in/sub/3.bin") && !text.text.contains("in/1.zip"))
    }
  }

  @Test func otherBytesUnderANameAreToldAtOnce() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      _ = try run(workshop, 0, "add", "seen", "in")
      let one = try workshop.bytes("in/1.zip")
      try workshop.write(try workshop.bytes("in/2.zip"), "in/1.zip")
      let changed = try run(workshop, 1, "add", "seen", "in")
      #expect(changed.changed?.map(\.name) == ["in/1.zip"] && changed.new == 0)
      // It is told once; and once more when the old bytes are back.
      #expect(try run(workshop, 0, "add", "seen", "in").changed?.isEmpty == true)
      try workshop.write(one, "in/1.zip")
      let back = try workshop.keyferry("archive", "add", "seen", "in")
      #expect(back.status == 1 && back.errors.contains("in/1.zip: changed under its name"))
      let sightings = try #require(try run(workshop, 0, "list", "seen", "in/1").sightings)
      #expect(sightings.count == 2 && sightings.allSatisfy(\.changed))
      // Another signature beside the same bytes is a change, too.
      try workshop.write(try workshop.bytes("in/sub/3.sig") + [0x12, 0], "in/sub/3.sig")
      let resigned = try workshop.keyferry("archive", "add", "seen", "in")
      #expect(resigned.status == 1 && resigned.errors.contains("its signature"))
      #expect(try run(workshop, 0, "verify", "seen").good == true)
    }
  }

  @Test func archivesAreInputs() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      try FileManager.default.removeItem(atPath: workshop.path("in/page.zip"))
      _ = try run(workshop, 0, "add", "seen", "in", "--as", "north")
      #expect(
        try run(workshop, 0, "list", "seen").sightings?.map(\.name) == [
          "north/1.zip", "north/2.zip", "north/sub/3.bin",
        ])
      let diff = try workshop.keyferry("diff", "seen", "in", "--json")
      #expect(diff.text.contains("\"only_left\" : 0") && diff.text.contains("\"only_right\" : 0"), "\(diff.errors)")
      let report = try workshop.keyferry("report", "seen", "--json")
      #expect(report.status == 0 && report.text.contains("\"documents\" : 3"), "\(report.errors)")
      let same = try workshop.keyferry("report", "in", "--json")
      let names = same.text.split(separator: "\n").count
      #expect(names == report.text.split(separator: "\n").count)
      let verified = try workshop.keyferry("verify", "seen", "--trust", "ring", "--summary")
      #expect(verified.status == 0, "\(verified.text)\(verified.errors)")
      let inspected = try workshop.keyferry("inspect", "seen/")
      #expect(inspected.status == 0 && inspected.text.contains("seen/!north/1.zip"), "\(inspected.text)")
      let tables = try workshop.keyferry("convert", "seen", "--to", "csv", "-o", "out/", "--quiet")
      #expect(tables.status == 0 && workshop.exists("out/seen/north/1.csv"), "\(tables.errors)")
      // The archive is not its own input.
      _ = try run(workshop, 0, "add", "in/kept", "in")
      #expect(try run(workshop, 0, "list", "in/kept").sightings?.count == 3)
      // What was changed is never handed over.
      let content = try #require(try contents(workshop).first)
      try overwrite(workshop, content) { $0[40] ^= 1 }
      let partial = try workshop.keyferry("inspect", "seen", "--summary")
      #expect(partial.status == 1 && partial.errors.contains("has other bytes than were kept"), "\(partial.errors)")
    }
  }

  private func contents(_ workshop: Workshop) throws -> [String] {
    try workshop.files.filter { $0.hasPrefix("seen/content/") && $0.utf8.count > 64 }
  }

  private func overwrite(_ workshop: Workshop, _ path: String, _ change: (inout [UInt8]) -> Void) throws {
    var bytes = try workshop.bytes(path)
    change(&bytes)
    try FileManager.default.removeItem(atPath: workshop.path(path))
    try workshop.write(bytes, path)
  }

  @Test func historyOfAKey() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      try workshop.write(Sample.json, "other.json")
      let key = Sample.document.keys[0].key
      _ = try run(workshop, 0, "add", "seen", "in/1.zip", "--at", "2020-06-04")
      _ = try run(workshop, 0, "add", "seen", "in", "--at", "2020-06-09")
      let held = try run(workshop, 0, "list", "seen", "--key", key.hex)
      #expect(held.sightings?.count == 3 && held.first == "2020-06-04T00:00:00Z" && held.last == "2020-06-09T00:00:00Z")
      let none = try workshop.keyferry("archive", "list", "seen", "--key", String(repeating: "07", count: 16))
      #expect(none.status == 1 && none.errors.contains("no file of the archive holds this key"))
    }
  }

  @Test func eachDamageIsNamed() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      _ = try run(workshop, 0, "add", "seen", "in")
      let good = try run(workshop, 0, "verify", "seen", "--keep", "kept")
      #expect(good.good == true && good.extends == nil && workshop.exists("kept"))
      let list = try #require(try run(workshop, 0, "list", "seen").sightings)
      let place = "seen/content/\(list[0].sha256.prefix(2))/\(list[0].sha256)"
      func damaged(_ path: String, _ change: (inout [UInt8]) -> Void) throws -> [Report.Finding] {
        let before = try workshop.bytes(path)
        try overwrite(workshop, path, change)
        defer { try? overwrite(workshop, path) { $0 = before } }
        return try run(workshop, 1, "verify", "seen", "--keep", "kept").findings ?? []
      }
      let bit = try damaged(place) { $0[$0.count - 1] ^= 1 }
      #expect(bit.map(\.code) == ["changed-content"] && bit[0].names == ["in/1.zip"])
      #expect(try damaged(place) { $0.removeLast() }.map(\.code) == ["changed-content"])
      let text = try workshop.text("seen/catalogue")
      #expect(text.split(separator: "\n").count == good.records)
      #expect(try damaged("seen/catalogue") { $0.removeLast(20) }.map(\.code) == ["short-catalogue"])
      #expect(
        try damaged("seen/catalogue") { bytes in
          bytes = Array(text.replacingOccurrences(of: "in/1.zip", with: "in/9.zip").utf8)
        }.map(\.code) == ["changed-catalogue"])
      #expect(try damaged("seen/catalogue") { $0[0] = 0x20 }.map(\.code) == ["bad-record"])
      #expect(try damaged("seen/checkpoint") { $0 = [] }.map(\.code) == ["bad-checkpoint"])
      // An archive that has a damaged catalogue is not added to.
      try overwrite(workshop, "seen/catalogue") { $0[3] ^= 1 }
      #expect(try workshop.keyferry("archive", "add", "seen", "keys.csv").status == 1)
      try overwrite(workshop, "seen/catalogue") { $0[3] ^= 1 }
      try FileManager.default.removeItem(atPath: workshop.path(place))
      #expect(try run(workshop, 1, "verify", "seen").findings?.map(\.code) == ["missing-content"])
      // The same bytes, seen again, do not come back by themselves: what is missing stays told.
      #expect(try run(workshop, 1, "verify", "seen").findings?.count == 1)
    }
  }

  /// Who rewrites catalogue and checkpoint together is caught by the checkpoint that was kept elsewhere.
  @Test func aRewrittenArchiveIsCaughtByTheCheckpointThatWasKept() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      _ = try run(workshop, 0, "add", "seen", "in/1.zip")
      _ = try run(workshop, 0, "verify", "seen", "--keep", "kept")
      _ = try run(workshop, 0, "add", "seen", "in/2.zip")
      #expect(try run(workshop, 0, "verify", "seen", "--keep", "kept").extends == 2)
      // Another history of the same archive.
      let mark = try workshop.bytes("seen/keyferry-archive")
      try FileManager.default.removeItem(atPath: workshop.path("seen"))
      _ = try run(workshop, 0, "add", "seen", "in/2.zip")
      let checkpoint = try workshop.text("seen/checkpoint").split(separator: "\n")
      let origin = String(decoding: mark, as: UTF8.self).split(separator: "\n")[1]
      try workshop.write(mark, "seen/keyferry-archive")
      try workshop.write("\(origin)\n\(checkpoint[1])\n\(checkpoint[2])\n", "seen/checkpoint")
      #expect(try run(workshop, 0, "verify", "seen").good == true)
      #expect(try run(workshop, 1, "verify", "seen", "--keep", "kept").findings?.map(\.code) == ["rewritten"])
      _ = try run(workshop, 0, "add", "seen", "in")
      #expect(try run(workshop, 1, "verify", "seen", "--keep", "kept").findings?.map(\.code) == ["rewritten"])
    }
  }

  @Test func aStrangerReadsIt() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      _ = try run(workshop, 0, "add", "seen", "in")
      try FileManager.default.copyItem(atPath: workshop.path("in/1.zip"), toPath: workshop.path("in/a \"b\"\n.zip"))
      _ = try run(workshop, 0, "add", "seen", "in")
      let page = try String(
        contentsOf: PackageFolder.root.appending(path: "Sources/GatewayDaemon/GatewayDaemon.docc/KeepingFiles.md"),
        encoding: .utf8)
      let start = try #require(page.range(of: "```python\n")).upperBound
      let end = try #require(page.range(of: "```", range: start..<page.endIndex)).lowerBound
      let script = String(page[start..<end])
      #expect(script.split(separator: "\n").count <= 22)
      try workshop.write(script, "read.py")
      let python = try #require(Self.python.contains("/") ? Tool(path: Self.python) : Tool(named: Self.python))
      let read = try python.run(["read.py", "seen"], in: workshop.folder)
      #expect(read.status == 0, "\(read.errors)")
      let list = try #require(try run(workshop, 0, "list", "seen").sightings)
      #expect(list.count == 5)
      for sighting in list { #expect(read.text.contains("\(sighting.sha256) ")) }
      try overwrite(workshop, try #require(try contents(workshop).first)) { $0[0] ^= 1 }
      #expect(try python.run(["read.py", "seen"], in: workshop.folder).status != 0)
    }
  }

  @Test func indexesAtAddresses() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      try FileManager.default.createDirectory(atPath: workshop.path("www/US"), withIntermediateDirectories: true)
      for name in ["1", "2"] { try workshop.write(try workshop.bytes("in/\(name).zip"), "www/US/\(name).zip") }
      try workshop.write("US/1.zip\nUS/2.zip\n", "www/US/index.txt")
      try workshop.write("1.zip\n2.zip\ngone.zip\n", "www/US/near.txt")
      let server = try PlainServer(workshop.path("www"))
      defer { server.stop() }
      let added = try run(workshop, 0, "add", "seen", "\(server.address)/US/index.txt")
      #expect(added.new == 2 && added.files == 2 && added.indexes == 1)
      // What named them is kept as well, as it was served.
      #expect(
        try run(workshop, 0, "list", "seen").sightings?.map(\.name)
          == ["1.zip", "2.zip", "index.txt"].map { "\(server.address)/US/\($0)" })
      let list = try workshop.keyferry("archive", "get", "seen", "\(server.address)/US/index.txt", "-o", "-")
      #expect(list.text == "US/1.zip\nUS/2.zip\n")
      // That a list grows is no news, and it is no document for others.
      try workshop.write("US/1.zip\nUS/2.zip\nUS/2.zip\n", "www/US/index.txt")
      let grown = try run(workshop, 0, "add", "seen", "\(server.address)/US/index.txt")
      #expect(grown.indexes == 1 && grown.changed?.isEmpty == true && grown.again == grown.files)
      let kept = try workshop.keyferry("report", "seen", "--json")
      #expect(kept.status == 0 && kept.text.contains("\"documents\" : 2"), "\(kept.text)\(kept.errors)")
      #expect(kept.errors.contains("passed over: 2 files of an archive that were no key files"), "\(kept.errors)")
      try workshop.write("US/1.zip\nUS/2.zip\n", "www/US/index.txt")
      // The same files, listed from where they lie, and one that is gone.
      let near = try run(workshop, 1, "add", "seen", "\(server.address)/US/near.txt")
      #expect(near.again == 2 && near.new == 0)
      let page = try workshop.keyferry("report", "\(server.address)/US/index.txt", "-o", "page.html")
      #expect(page.status == 0, "\(page.errors)")
      #expect(try workshop.text("page.html").contains("<title>Diagnosis keys: DE, "))
      let figures = try workshop.keyferry("report", "\(server.address)/US/index.txt", "--json")
      #expect(figures.text.contains("\"documents\" : 2"), "\(figures.errors)")
      let diff = try workshop.keyferry("diff", "\(server.address)/US/index.txt", "\(server.address)/US/1.zip", "--json")
      #expect(diff.status == 1 && diff.text.contains("\"only_left\" : 0"), "\(diff.text)\(diff.errors)")
      let nowhere = try workshop.keyferry("report", "\(server.address)/none.txt", "--json")
      #expect(nowhere.status == 2 && nowhere.errors.contains("404"), "\(nowhere.errors)")
      // A protocol says itself what there is.
      let immuni = try workshop.keyferry(
        "archive", "add", "seen", "\(server.address)/US", "--protocol", "index", "--option", "index=near.txt")
      #expect(immuni.status == 1 && immuni.text.contains("2 seen before"), "\(immuni.text)\(immuni.errors)")
      #expect(try workshop.keyferry("archive", "add", "seen", "x", "--option", "a").status == 64)
      #expect(try workshop.keyferry("archive", "add", "seen", "x", "--protocol", "files").status == 64)
    }
  }

  /// Who is stopped keeps what was fetched.
  @Test(.timeLimit(.minutes(3))) func aKilledFetchKeepsWhatItHad() throws {
    try Workshop.run { workshop in
      try FileManager.default.createDirectory(atPath: workshop.path("www"), withIntermediateDirectories: true)
      for number in 0..<300 { try workshop.write("file \(number)", "www/\(number).zip") }
      try workshop.write((0..<300).map { "\($0).zip\n" }.joined() + "hang.zip\n", "www/index.txt")
      let server = try PlainServer(workshop.path("www"), waitingAt: "/hang.zip")
      defer { server.stop() }
      let process = Process()
      process.executableURL = URL(filePath: try #require(Workshop.program))
      process.arguments = ["archive", "add", "seen", "\(server.address)/index.txt"]
      process.currentDirectoryURL = workshop.folder
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      func keptFiles() -> Int {
        (try? ArchiveFolder(workshop.path("seen")).read())?.catalogue.contents.count ?? 0
      }
      while process.isRunning, keptFiles() < 256 { usleep(20_000) }
      #expect(process.isRunning)
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      #expect(keptFiles() >= 256)
      #expect(try run(workshop, 0, "verify", "seen").good == true)
    }
  }

  /// An archive of others in the place of a file, and the other way round: told once each.
  @Test func aNameThatBecomesAContainerIsTold() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      _ = try run(workshop, 0, "add", "seen", "in")
      let file = try workshop.bytes("in/1.zip")
      try FileManager.default.removeItem(atPath: workshop.path("in/1.zip"))
      let python = try #require(Tool(named: "python3"))
      let zipped = try python.run(
        ["-m", "zipfile", "-c", "in/1.zip", "in/2.zip", "in/page.zip"], in: workshop.folder)
      #expect(zipped.status == 0, "\(zipped.errors)")
      let turned = try run(workshop, 1, "add", "seen", "in")
      #expect(turned.turned?.map(\.name) == ["in/1.zip"] && turned.turned?.first?.container == true)
      #expect(turned.turned?.first?.before?.utf8.count == 64 && turned.changed?.isEmpty == true)
      #expect(try run(workshop, 0, "add", "seen", "in").turned?.isEmpty == true)
      try workshop.write(file, "in/1.zip")
      let back = try workshop.keyferry("archive", "add", "seen", "in")
      #expect(back.status == 1 && back.errors.contains("in/1.zip: it held other files before"), "\(back.errors)")
      #expect(try run(workshop, 0, "add", "seen", "in").turned?.isEmpty == true)
      #expect(try run(workshop, 0, "verify", "seen").good == true)
    }
  }

  /// Something else in the place of a file of the archive is a verdict, and nothing is waited for.
  @Test(.timeLimit(.minutes(2))) func whatIsNoFileIsAVerdict() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      _ = try run(workshop, 0, "add", "seen", "in")
      _ = try run(workshop, 0, "verify", "seen", "--keep", "kept")
      let content = try #require(try contents(workshop).first)
      for (name, code) in [
        ("checkpoint", "bad-checkpoint"), ("catalogue", "short-catalogue"),
        (String(content.dropFirst(5)), "changed-content"),
      ] {
        let place = workshop.path("seen/\(name)")
        try FileManager.default.moveItem(atPath: place, toPath: workshop.path("elsewhere"))
        let isContent = code == "changed-content"
        #expect(
          try run(workshop, 1, "verify", "seen").findings?.map(\.code) == [isContent ? "missing-content" : code],
          "\(name)")
        #expect(mkfifo(place, 0o600) == 0)
        #expect(try run(workshop, 1, "verify", "seen").findings?.map(\.code) == [code], "a pipe as \(name)")
        try FileManager.default.removeItem(atPath: place)
        // The very bytes, by a link: who changes them need not come near the archive.
        try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: workshop.path("elsewhere"))
        #expect(try run(workshop, 1, "verify", "seen").findings?.map(\.code) == [code], "a link as \(name)")
        try FileManager.default.removeItem(atPath: place)
        try FileManager.default.moveItem(atPath: workshop.path("elsewhere"), toPath: place)
      }
      #expect(try run(workshop, 0, "verify", "seen", "--keep", "kept").good == true)
      try workshop.write("nothing of ours", "kept")
      #expect(try run(workshop, 1, "verify", "seen", "--keep", "kept").findings?.map(\.code) == ["bad-checkpoint"])
    }
  }

  /// A page with an error in the place of a bundle is evidence, and nobody's document.
  @Test func whatIsNoKeyFileIsPassedOver() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      _ = try run(workshop, 0, "add", "seen", "in")
      let line = "passed over: 1 file of an archive that was no key file"
      let report = try workshop.keyferry("report", "seen", "--json")
      #expect(report.status == 0 && report.text.contains("\"documents\" : 3"), "\(report.errors)")
      #expect(report.errors.contains(line), "\(report.errors)")
      try FileManager.default.removeItem(atPath: workshop.path("in/page.zip"))
      let diff = try workshop.keyferry("diff", "seen", "in", "--json")
      #expect(!diff.errors.contains("cannot") && diff.errors.contains(line), "\(diff.errors)")
      #expect(diff.text.contains("\"only_left\" : 0") && diff.status < 2, "\(diff.text)")
      let verified = try workshop.keyferry("verify", "seen", "--trust", "ring", "--summary")
      #expect(verified.status == 0 && verified.errors.contains(line), "\(verified.errors)")
      // Another archive takes everything.
      #expect(try run(workshop, 0, "add", "other", "seen").files == 4)
    }
  }

  @Test func namesThatAreNoUTF8AreKeptAndListedEscaped() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      let file = Array(workshop.path("in/").utf8) + [0x62, 0xE4, 0x2E, 0x7A, 0x69, 0x70, 0]
      let bytes = try workshop.bytes("in/1.zip")
      let descriptor = open(file.map { CChar(bitPattern: $0) }, O_WRONLY | O_CREAT, 0o600)
      #expect(write(descriptor, bytes, bytes.count) == bytes.count)
      close(descriptor)
      _ = try run(workshop, 0, "add", "seen", "in")
      let text = try workshop.keyferry("archive", "list", "seen")
      #expect(text.text.contains("in/b\\xE4.zip") && !text.output.contains(0xF4), "\(text.text)")
      let names = try #require(try run(workshop, 0, "list", "seen").sightings).map(\.name)
      #expect(names.contains("in/b\\xE4.zip"))
      let got = try workshop.keyferry("archive", "get", "seen", "in/b\\xE4.zip", "-o", "-")
      #expect(got.status == 0 && got.output == bytes, "\(got.errors)")
      #expect(try run(workshop, 0, "add", "seen", "in").again == 5)
    }
  }

  /// What is added again is there again.
  @Test func lostBytesAreBroughtBack() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      _ = try run(workshop, 0, "add", "seen", "in")
      for damage in ["lost", "changed"] {
        let place = try #require(try contents(workshop).first)
        if damage == "lost" {
          try FileManager.default.removeItem(atPath: workshop.path(place))
        } else {
          try overwrite(workshop, place) { $0[0] ^= 1 }
        }
        #expect(try run(workshop, 1, "verify", "seen").good == false)
        let again = try workshop.keyferry("archive", "add", "seen", "in")
        #expect(again.status == 1 && again.errors.contains("are brought back"), "\(again.errors)")
        #expect(try run(workshop, 0, "verify", "seen").good == true)
        #expect(try workshop.keyferry("archive", "add", "seen", "in").status == 0)
      }
    }
  }

  /// What a server gives is evidence, whether it can be read or not.
  @Test func damagedAnswersAreKeptAndIncompleteListsAreTold() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      try FileManager.default.createDirectory(atPath: workshop.path("www"), withIntermediateDirectories: true)
      let whole = try workshop.bytes("in/1.zip")
      try workshop.write(whole, "www/1.zip")
      try workshop.write("1.zip\n", "www/index.txt")
      let server = try PlainServer(workshop.path("www"))
      defer { server.stop() }
      let index = "\(server.address)/index.txt"
      _ = try run(workshop, 0, "add", "seen", index)
      let broken: [[UInt8]] = [whole + [0x78], Array(whole.prefix(300)), [0x1F, 0x8B, 8, 0] + Array("noise".utf8)]
      for bytes in broken {
        try workshop.write(bytes, "www/1.zip")
        let changed = try run(workshop, 1, "add", "seen", index)
        #expect(changed.changed?.map(\.name) == ["\(server.address)/1.zip"])
        let got = try workshop.keyferry("archive", "get", "seen", "\(server.address)/1.zip", "-o", "-")
        #expect(got.status == 0 && got.output == bytes, "\(got.errors)")
      }
      try workshop.write(whole, "www/1.zip")
      _ = try run(workshop, 1, "add", "seen", index)
      for (list, words) in [
        ("1.zip\nbad\u{1B}name.zip\n", "were not fetched"), ("", "it lists no file"), ("1.zip\n2.txt\n", "1 of 2"),
      ] {
        try workshop.write(list, "www/index.txt")
        let told = try workshop.keyferry("archive", "add", "seen", index)
        #expect(told.status == 1 && told.errors.contains(words), "\(list): \(told.errors)")
      }
    }
  }

  @Test func wrongUses() throws {
    try Workshop.run { workshop in
      try prepare(workshop)
      #expect(try workshop.keyferry("archive", "list", "in").status == 2)
      let other = try workshop.keyferry("archive", "add", "in", "keys.csv")
      #expect(other.status == 2 && other.errors.contains("is no archive"))
      #expect(try workshop.keyferry("archive", "add", "seen", "-").status == 64)
      #expect(try workshop.keyferry("archive", "add", "seen", "in", "keys.csv", "--as", "x").status == 64)
      #expect(try workshop.keyferry("archive", "add", "seen", "nowhere").status == 2)
      let when = try workshop.keyferry("archive", "add", "seen", "in", "--at", "yesterday")
      #expect(when.status == 64 && when.errors.contains("--at yesterday: it is a day (2020-06-04)"), "\(when.errors)")
      let short = try workshop.keyferry("archive", "get", "seen", "3f2a", "-o", "x")
      #expect(short.status == 1 && short.errors.contains("4 digits are given, allowed are 8...64"), "\(short.errors)")
      let piped = try workshop.keyferry(["archive", "add", "seen", "-", "--as", "piped"], input: Sample.csv)
      #expect(piped.status == 0, "\(piped.errors)")
      let writer = try ArchiveWriter(workshop.path("seen"), at: 0)
      let busy = try workshop.keyferry("archive", "add", "seen", "in")
      #expect(busy.status == 2 && busy.errors.contains("another process"))
      withExtendedLifetime(writer) {}
    }
  }
}

/// A folder behind an address, by Python's http.server.
final class PlainServer {
  let address: String
  private let process = Process()

  /// - Parameter path: is not answered.
  init(_ folder: String, waitingAt path: String? = nil) throws {
    let output = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      path.map { ["python3", "-u", "-c", Self.waiting, folder, $0] }
      ?? ["python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", folder]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    var said = ""
    while !said.contains("/)") {
      let some = output.fileHandleForReading.availableData
      if some.isEmpty { break }
      said += String(decoding: some, as: UTF8.self)
    }
    let start = said.range(of: "http://")?.lowerBound ?? said.endIndex
    address = String(said[start...].prefix { $0 != ")" }.dropLast())
  }

  private static let waiting = """
    import functools, http.server, sys, threading
    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path == sys.argv[2]: threading.Event().wait()
            super().do_GET()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=sys.argv[1]))
    print(f"(http://127.0.0.1:{server.server_port}/)")
    server.serve_forever()
    """

  func stop() {
    // What these tests start has SIGTERM blocked.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}
