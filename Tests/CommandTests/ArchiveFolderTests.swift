import BundleTrust
import Foundation
import GatewayTesting
import KeyArchive
import KeyFormats
import KeyIntake
import Synchronization
import Testing

/// The folder of an archive: what a crash leaves, and what is told of it.
@Suite struct ArchiveFolderTests {
  struct Killed: Error {}

  /// Stops the work at one of its steps; what is dead does nothing more.
  private final class Fuse {
    private var left: Int?
    private let error: any Error
    private(set) var steps = 0

    init(at step: Int?, error: any Error = Killed()) { (left, self.error) = (step, error) }

    func burn(_ step: ArchiveWriter.Step, _ path: String) throws {
      steps += 1
      guard let count = left else { return }
      left = count - 1
      if count <= 0 { throw error }
    }
  }

  private static func bytes(_ number: Int) -> [UInt8] { Array("content \(number)".utf8) }

  private struct Entry: Hashable {
    let name: String
    let content: Int
    var hasSignature = false
  }

  /// Four lives: some files, the same and more, one with other bytes and the first again, and what was missing.
  private static let lives: [[Entry]] = [
    [Entry(name: "a", content: 1), Entry(name: "b", content: 2), Entry(name: "c.bin", content: 3, hasSignature: true)],
    [Entry(name: "a", content: 1), Entry(name: "d", content: 4), Entry(name: "copy of a", content: 1)],
    [Entry(name: "b", content: 5), Entry(name: "a", content: 1)],
    [Entry(name: "b", content: 2), Entry(name: "e", content: 6)],
  ]

  /// - Returns: what was told as kept.
  private func live(_ path: String, _ fuse: Fuse) throws -> [Entry] {
    var kept: [Entry] = []
    for (number, entries) in Self.lives.enumerated() {
      let writer = try ArchiveWriter(path, at: Int64(number), willDo: fuse.burn)
      for entry in entries {
        _ = try writer.add(
          MemorySource(Self.bytes(entry.content)), signature: entry.hasSignature ? Self.bytes(-entry.content) : nil,
          name: entry.name
        ) { ContentFacts() }
      }
      try writer.commit()
      kept += entries
      told.append(contentsOf: entries)
    }
    return kept
  }

  private final class Told { var entries: [Entry] = [] }
  private let toldBox = Told()
  private var told: [Entry] {
    get { toldBox.entries }
    nonmutating set { toldBox.entries = newValue }
  }

  private struct End: Equatable {
    var sightings: Set<ArchiveSighting>
    var contents: Set<String>

    init(_ catalogue: ArchiveCatalogue) {
      sightings = Set(catalogue.sightings)
      contents = Set(catalogue.contents.map(\.digest))
    }
  }

  private func check(_ path: String, has entries: [Entry], _ place: String) throws {
    let folder = ArchiveFolder(path)
    let catalogue = try folder.read().catalogue
    for content in catalogue.contents { try folder.verify(content) }
    for entry in entries {
      let bytes = Self.bytes(entry.content)
      let found = catalogue.sightings.contains { sighting in
        guard sighting.name == entry.name, let content = catalogue[sighting.digest],
          let source = try? folder.source(of: content)
        else { return false }
        return (try? SequentialSource(source).readAll(limit: 1000)) == bytes
      }
      #expect(found, "\(entry.name) was kept, and is gone after \(place)")
    }
  }

  /// Killed, or without room, at every step: what was told as kept is there, the archive is whole, and goes on.
  @Test(arguments: [true, false]) func aDeathAtEveryStep(isKilled: Bool) throws {
    var steps = 0
    var end: End?
    try withTemporaryFolder { root in
      let fuse = Fuse(at: nil)
      _ = try live(root.appending(path: "seen").path(), fuse)
      steps = fuse.steps
      end = End(try ArchiveFolder(root.appending(path: "seen").path()).read().catalogue)
    }
    #expect(steps > 30)
    for step in 0..<steps {
      try withTemporaryFolder { root in
        let path = root.appending(path: "seen").path()
        let error: any Error = isKilled ? Killed() : FileFault("write", "x", number: 28)
        told = []
        do {
          _ = try live(path, Fuse(at: step, error: error))
          Issue.record("step \(step) did not happen")
        } catch {}
        if ArchiveFolder.isArchive(path) { try check(path, has: told, "step \(step)") } else { #expect(told.isEmpty) }
        _ = try live(path, Fuse(at: nil))
        let catalogue = try ArchiveFolder(path).read().catalogue
        try check(path, has: Self.lives.flatMap(\.self), "step \(step), and going on")
        // Times may be later, since all was added again.
        #expect(Set(catalogue.sightings.map(\.name)) == Set(end?.sightings.map(\.name) ?? []), "\(step)")
        #expect(End(catalogue).contents == end?.contents)
        #expect(try ArchiveFolder(path).unlisted(catalogue).allSatisfy { $0.hasSuffix(".partial") })
      }
    }
  }

  /// A record that was torn at any byte is healed, and told.
  @Test func aTornRecordIsHealed() throws {
    try withTemporaryFolder { root in
      let path = root.appending(path: "seen").path()
      _ = try live(path, Fuse(at: nil))
      let catalogue = try Data(contentsOf: root.appending(path: "seen/catalogue"))
      let size = try ArchiveFolder(path).read().catalogue.size
      // What a later add has left: two records, the second of them torn.
      let more = Data("{\"at\":9,\"kind\":\"seen\",\"name\":\"z\",\"sha256\":\"".utf8)
      let digest = try #require(try ArchiveFolder(path).read().catalogue.contents.first).digest
      let whole = more + Data("\(digest)\"}\n".utf8)
      for length in stride(from: 0, through: whole.count, by: 7) {
        for isFirstWhole in [true, false] {
          let left = (isFirstWhole ? whole : Data()) + whole.prefix(isFirstWhole ? length / 2 : length)
          try (catalogue + left).write(to: root.appending(path: "seen/catalogue"))
          let reading = try ArchiveFolder(path).read()
          #expect(reading.catalogue.size == reading.unfinishedRecords + size)
          #expect(reading.checkpoint.size <= reading.catalogue.size)
        }
      }
      try (catalogue + whole + whole.prefix(30)).write(to: root.appending(path: "seen/catalogue"))
      // And half a file, which another process had begun.
      let half = "seen/content/\(digest.prefix(2))/\(digest).1.partial"
      try FileManager.default.createDirectory(
        at: root.appending(path: half).deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data("half".utf8).write(to: root.appending(path: half))
      let writer = try ArchiveWriter(path, at: 10)
      #expect(writer.healed.records == 1 && writer.healed.bytes == 30)
      #expect(!FileManager.default.fileExists(atPath: root.appending(path: half).path()))
      #expect(writer.catalogue.sighting(of: "z")?.digest == digest)
      let healed = try ArchiveFolder(path).read()
      #expect(healed.unfinishedRecords == 0 && healed.tornBytes == 0 && healed.catalogue.size == size + 1)
    }
  }

  /// The program itself, killed while it adds.
  @Test func killsLoseNothing() throws {
    let program = try #require(Workshop.program)
    var random = SeededRandom(for: "archive kills")
    try withTemporaryFolder { root in
      try FileManager.default.createDirectory(at: root.appending(path: "in"), withIntermediateDirectories: true)
      for number in 0..<600 {
        try Data(Self.bytes(number)).write(to: root.appending(path: "in/\(number).txt"))
      }
      var before = 0
      for _ in 0..<12 {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = ["archive", "add", "seen", "in", "--quiet"]
        process.currentDirectoryURL = root
        process.standardError = FileHandle.nullDevice
        try process.run()
        usleep(UInt32.random(in: 5_000...250_000, using: &random))
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        guard ArchiveFolder.isArchive(root.appending(path: "seen").path()) else { continue }
        let folder = ArchiveFolder(root.appending(path: "seen").path())
        let catalogue = try folder.read().catalogue
        #expect(catalogue.size >= before)
        before = catalogue.size
        for content in catalogue.contents { try folder.verify(content) }
      }
      let last = try Tool(path: program).run(["archive", "add", "seen", "in"], in: root)
      #expect(last.status == 0, "\(last.errors)")
      let catalogue = try ArchiveFolder(root.appending(path: "seen").path()).read().catalogue
      #expect(catalogue.contents.count == 600 && catalogue.sightings.count == 600)
    }
  }

  /// A slow server is not lost with the process that waits for it.
  @Test func whatWaitsIsKeptAfterAWhile() throws {
    try withTemporaryFolder { root in
      let path = root.appending(path: "seen").path()
      var uptime: Int64 = 100
      let writer = try ArchiveWriter(path, at: 1, uptime: { uptime })
      func add(_ number: Int) throws {
        _ = try writer.add(MemorySource(Self.bytes(number)), name: "\(number)") { ContentFacts() }
      }
      func size() throws -> Int { try ArchiveFolder(path).read().checkpoint.size }
      try add(1)
      uptime += ArchiveWriter.secondsAtOnce - 1
      try add(2)
      #expect(try size() == 0)
      uptime += 1
      try add(3)
      #expect(try size() == 6)
      try add(1)
      #expect(try size() == 6)
      uptime += ArchiveWriter.secondsAtOnce
      try add(2)
      // What was seen again is true until then.
      #expect(try size() == 7)
      try add(4)
      #expect(try size() == 7)
    }
  }

  @Test(arguments: [
    "", "{}", "{\"at\":1,\"kind\":\"seen\"}", " {\"kind\":\"seen\"}", "[]", "{\"kind\":\"none\"}",
    "{\"at\":01,\"kind\":\"again\",\"records\":\"0\"}", "{\"kind\":\"again\",\"at\":1,\"records\":\"0\"}",
    "{\"at\":1,\"kind\":\"again\",\"records\":\"99\"}", "{\"at\":1,\"kind\":\"again\",\"records\":\"1-0\"}",
    "{\"at\":99999999999999999999,\"kind\":\"again\",\"records\":\"0\"}",
  ]) func whatIsNoRecordIsNone(line: String) throws {
    try withTemporaryFolder { root in
      let path = root.appending(path: "seen").path()
      _ = try ArchiveWriter(path, at: 1)
      try Data("\(line)\n".utf8).write(to: root.appending(path: "seen/catalogue"))
      let reading = try ArchiveFolder(path).read()
      #expect(reading.catalogue.size == 0 && reading.tornBytes == line.utf8.count + 1)
    }
  }

  /// Names have anything in them, and come back as they were.
  @Test func anyNameComesBack() throws {
    try withTemporaryFolder { root in
      let path = root.appending(path: "seen").path()
      let names = ["a\"b", "a\\b", "\u{1}\u{1f}\n\r\t", "ä…🙂", PathText.text([0x61, 0xE4, 0xFF]), "{}", "a,b"]
      let writer = try ArchiveWriter(path, at: 1)
      for name in names { _ = try writer.add(MemorySource([1]), name: name) { ContentFacts() } }
      #expect(throws: ArchiveFault.self) { try writer.add(MemorySource([1]), name: "") { ContentFacts() } }
      #expect(throws: ArchiveFault.self) {
        try writer.add(MemorySource([1]), name: String(repeating: "x", count: 20_000)) { ContentFacts() }
      }
      try writer.commit()
      #expect(try ArchiveFolder(path).read().catalogue.sightings.map(\.name) == names)
      #expect(try ArchiveFolder(path).read().catalogue.contents.count == 1)
    }
  }
}

/// A day has the keys of its hours, and each file is kept as it came all the same.
@Suite struct ArchivedDayTests {
  @Test func aDayAndItsHoursAreKeptAsTheyCame() throws {
    try Workshop.run { workshop in
      try workshop.makeSigner()
      var random = SeededRandom(for: "archived day")
      let sign = ["--sign-key", "310-v1.key.pem", "--key-id", "310", "--key-version", "v1", "--quiet"]
      for hour in 0..<2 {
        let document = RandomKeys(.plausible).document(300, using: &random)
        try workshop.write(try document.bytes(as: .csv), "\(hour).csv")
        let window = ["--region", "DE", "--start", "2020-06-01T0\(hour):00", "--end", "2020-06-01T0\(hour + 1):00"]
        try run(workshop, ["convert", "\(hour).csv", "--to", "gaen-export", "-o", "hour-\(hour).zip"] + window + sign)
      }
      let day = ["--region", "DE", "--start", "2020-06-01", "--end", "2020-06-02"]
      try run(workshop, ["convert", "0.csv", "1.csv", "--to", "gaen-export", "-o", "day.zip"] + day + sign)
      let names = ["hour-0.zip", "day.zip", "hour-1.zip"]
      try run(workshop, ["archive", "add", "seen"] + names)
      for name in names {
        let bytes = try workshop.bytes(name)
        let digest = ExportDigests(of: bytes, includingBody: false).hexadecimal
        #expect(try workshop.bytes("seen/content/\(digest.prefix(2))/\(digest)") == bytes)
      }
      try run(workshop, ["archive", "verify", "seen"])
    }
  }

  private func run(_ workshop: Workshop, _ arguments: [String]) throws {
    let outcome = try workshop.keyferry(arguments)
    #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
  }
}
