import Foundation
import GatewayTesting
import Testing
import TransparencyLog

@Suite struct MonitorTests {
  /// When bundles were logged, and two hours later, when somebody looks.
  static let then = 1_606_784_500
  static let now = then + 7200

  static func published(
    _ path: String, _ content: [UInt8], series: String? = nil, end: Int? = nil
  ) throws -> LogEntry {
    var members: [String: LogEntry.Value] = [
      "archive_sha256": .text(sha256(content)), "at": .number(then), "bytes": .number(content.count),
      "export_sha256": .text(sha256([])), "keys": .number(3), "path": .text(path),
    ]
    if let series { members["series"] = .text(series) }
    if let end { (members["bundle"], members["end"]) = (.text("increment"), .number(end)) }
    return try LogEntry(.published, members)
  }

  static func sha256(_ content: [UInt8]) -> String { Digest.hexadecimal(content) }

  /// A log of three bundles, and the folder that they are served from.
  private func withBundles(_ body: (Workbench, LogWriter, LogWatch) async throws -> Void) async throws {
    try await Workbench.run { bench in
      let writer = try await bench.create()
      let served = bench.root.path() + "served"
      for name in ["a", "b", "c"] {
        let content = Array("bundle \(name)".utf8)
        try FileManager.default.createDirectory(atPath: served + "/NL", withIntermediateDirectories: true)
        try Data(content).write(to: bench.root.appending(path: "served/NL/\(name).zip"))
        try await writer.append([try Self.published("NL/\(name).zip", content, series: "NL").bytes])
      }
      let watch = LogWatch(LogFolder(bench.place), bundles: LogFolder(served), log: writer.verifier)
      try await body(bench, writer, watch)
    }
  }

  private func serve(_ bench: Workbench, _ name: String, _ content: String?) throws {
    let place = bench.root.appending(path: "served/\(name)")
    if let content { try Data(content.utf8).write(to: place) } else { try FileManager.default.removeItem(at: place) }
  }

  @Test func aGoodLogIsFollowed() async throws {
    try await withBundles { bench, writer, watch in
      let first = try await watch.look(since: nil, at: Self.now)
      #expect(first.findings == [] && first.newEntries == 3 && first.comparedBundles == 3)
      let memory = try LogMemory(try first.memory.bytes, of: writer.verifier, name: "memory")
      #expect(memory == first.memory)
      let content = Array("bundle d".utf8)
      try serve(bench, "d.zip", "bundle d")
      try await writer.append([try Self.published("d.zip", content).bytes])
      let second = try await watch.look(since: memory, at: Self.now)
      #expect(second.findings == [] && second.newEntries == 1 && second.comparedBundles == 4)
      let third = try await watch.look(since: second.memory, at: Self.now)
      #expect(third.findings == [] && third.newEntries == 0)
    }
  }

  @Test func eachFaultIsNamed() async throws {
    try await withBundles { bench, writer, watch in
      let memory = try await watch.look(since: nil, at: Self.now).memory
      func found() async throws -> [String] {
        try await watch.look(since: memory, at: Self.now).findings.map { "\($0.code.rawValue) \($0.path ?? "-")" }
      }
      try serve(bench, "NL/b.zip", "bundle B")
      #expect(try await found() == ["changed-bundle NL/b.zip"])
      try serve(bench, "NL/b.zip", "bundle b and more")
      #expect(try await found() == ["changed-bundle NL/b.zip"])
      try serve(bench, "NL/b.zip", nil)
      #expect(try await found() == ["missing-bundle NL/b.zip"])
      // What a series lists no more may be gone.
      func manifest(_ listed: [(String, String, Bool)]) throws {
        let bundles = listed.map {
          #"{"path":"\#($0.0)","listed":\#($0.2),"sha256":"\#(Self.sha256(Array($0.1.utf8)))"}"#
        }
        try serve(bench, "NL/manifest.json", #"{"version":1,"bundles":[\#(bundles.joined(separator: ","))]}"#)
      }
      let others = [("NL/a.zip", "bundle a", true), ("NL/c.zip", "bundle c", true)]
      try manifest(others + [("NL/b.zip", "bundle b", false)])
      #expect(try await found() == [])
      try manifest(others + [("NL/b.zip", "bundle b", true)])
      #expect(try await found() == ["missing-bundle NL/b.zip"])
      try serve(bench, "NL/b.zip", "bundle b")
      try manifest([("NL/a.zip", "bundle A", true), ("NL/x.zip", "bundle x", true)])
      #expect(try await found() == ["unlogged NL/a.zip", "unlogged NL/x.zip"])
      try serve(bench, "NL/manifest.json", "{")
      #expect(try await found() == ["unlogged NL/manifest.json"])
      try serve(bench, "NL/manifest.json", nil)
      // Entries that say nothing, or something twice, are told each time.
      try await writer.append([
        Array("{}".utf8), try Self.published("NL/a.zip", [1]).bytes,
        try LogEntry(.withdrawn, ["at": .number(1), "path": .text("NL/c.zip"), "by": .text("me")]).bytes,
        try LogEntry(.withdrawn, ["at": .number(1), "path": .text("NL/z.zip")]).bytes,
      ])
      try serve(bench, "NL/c.zip", nil)
      let all = ["bad-entry -", "repeated NL/a.zip", "bad-entry NL/z.zip"]
      #expect(try await found() == all)
      let later = try await watch.look(since: memory, at: Self.now).memory
      #expect(try await watch.look(since: later, at: Self.now).findings.count == 3)
    }
  }

  private func list(_ bundles: [(String, String, Bool)], days: Int? = nil) -> String {
    let listed = bundles.map {
      #"{"path":"\#($0.0)","listed":\#($0.2),"sha256":"\#(Self.sha256(Array($0.1.utf8)))"}"#
    }
    let age = days.map { #""listed_days":\#($0),"# } ?? ""
    return #"{"version":1,\#(age)"bundles":[\#(listed.joined(separator: ","))]}"#
  }

  /// A stranger reads what apps read, too: the index, and for how long a bundle stands in it.
  @Test func whatASeriesListsIsInTheLogAndStaysForItsTime() async throws {
    try await withBundles { bench, writer, watch in
      let day = 86_400
      for (name, age) in [("old", 14), ("new", 1), ("young", 0)] {
        let content = Array("bundle \(name)".utf8)
        try serve(bench, "NL/\(name).zip", "bundle \(name)")
        try await writer.append([
          try Self.published("NL/\(name).zip", content, series: "NL", end: Self.now - age * day - 3600).bytes
        ])
      }
      let all = ["a", "b", "c", "old", "new", "young"].map { ("NL/\($0).zip", "bundle \($0)", true) }
      func index(_ names: [String]) -> String { names.map { "NL/\($0).zip" }.joined(separator: "\n") }
      let names = ["a", "b", "c", "old", "new", "young"]
      var memory: LogMemory?
      func found(at now: Int = Self.now) async throws -> [String] {
        let seen = try await watch.look(since: memory, at: now)
        return seen.findings.map { "\($0.code.rawValue) \($0.path ?? "-")" } + seen.notes
      }
      #expect(
        try await found() == [
          "\(bench.root.path())served: NL has no manifest.json and no index.txt: what it lists was not looked at"
        ])
      try serve(bench, "NL/manifest.json", list(all, days: 14))
      try serve(bench, "NL/index.txt", index(names))
      let sums = names.map { "\(Self.sha256(Array("bundle \($0)".utf8)))  \($0).zip\n" }.joined()
      try serve(bench, "NL/SHA256SUMS", sums)
      #expect(try await found() == [])

      // The index alone has a stranger's file; or one of an increment is not in it, or none, or it is gone.
      try serve(bench, "NL/index.txt", index(names + ["evil"]))
      #expect(try await found() == ["unlogged NL/evil.zip"])
      try serve(bench, "NL/index.txt", index(["a", "b", "c", "old", "young"]))
      #expect(try await found() == ["not-listed NL/new.zip"])
      // A cache may hold an index for a while.
      #expect(try await found(at: Self.then + 600) == [])
      try serve(bench, "NL/index.txt", "")
      #expect(try await found() == ["not-listed NL/new.zip", "not-listed NL/young.zip"])
      try serve(bench, "NL/index.txt", index(names))
      memory = try await watch.look(since: nil, at: Self.now).memory
      try serve(bench, "NL/index.txt", nil)
      #expect(
        try await found() == ["missing-list NL/index.txt", "not-listed NL/new.zip", "not-listed NL/young.zip"])
      try serve(bench, "NL/index.txt", index(names))
      try serve(bench, "NL/SHA256SUMS", sums.replacing(Self.sha256(Array("bundle a".utf8)), with: Self.sha256([])))
      #expect(try await found() == ["unlogged NL/a.zip"])
      try serve(bench, "NL/SHA256SUMS", "nonsense\n")
      #expect(try await found() == ["unlogged NL/SHA256SUMS"])
      try serve(bench, "NL/SHA256SUMS", nil)

      // A bundle leaves on its first day, from the folder, the manifest and the index.
      let rest = all.filter { $0.0 != "NL/new.zip" }
      try serve(bench, "NL/manifest.json", list(rest, days: 14))
      try serve(bench, "NL/index.txt", index(names.filter { $0 != "new" }))
      try serve(bench, "NL/new.zip", nil)
      #expect(try await found() == ["left-early NL/new.zip"])
      // A manifest that says nothing, or less, does not help; what the series said before is known.
      try serve(bench, "NL/manifest.json", list(rest))
      #expect(try await found() == ["left-early NL/new.zip"])
      try serve(bench, "NL/manifest.json", list(rest, days: 1))
      #expect(try await found() == ["left-early NL/new.zip"])
      try serve(bench, "NL/manifest.json", list(rest, days: -1))
      #expect(try await found() == ["left-early NL/new.zip"])
      try serve(bench, "NL/manifest.json", list(rest, days: .max))
      #expect(try await found() == ["left-early NL/new.zip"])
      // What is old may go, and what the log says was replaced.
      try serve(bench, "NL/manifest.json", list(rest.filter { $0.0 != "NL/old.zip" }, days: 14))
      try serve(bench, "NL/old.zip", nil)
      try await writer.append([
        try LogEntry(.signedAgain, ["at": .number(Self.now), "path": .text("NL/new.zip"), "series": .text("NL")]).bytes
      ])
      #expect(try await found() == [])
      // What was withdrawn is not to be listed.
      try await writer.append([
        try LogEntry(.withdrawn, ["at": .number(Self.now), "path": .text("NL/a.zip"), "by": .text("me")]).bytes
      ])
      #expect(try await found() == ["unlogged NL/a.zip"])
      try serve(bench, "NL/manifest.json", nil)
      try serve(bench, "NL/index.txt", index(["b"]))
      #expect(try await found().prefix(1) == ["missing-list NL/manifest.json"])
    }
  }

  @Test func anotherKeyOfAttestationsIsTold() async throws {
    try await withBundles { bench, writer, watch in
      func code(_ memory: LogMemory?) async throws -> ([LogFinding.Code], LogMemory) {
        let seen = try await watch.look(since: memory, at: Self.now)
        return (seen.findings.map(\.code), seen.memory)
      }
      try bench.write(Array("one".utf8), "attest.pem")
      let first = try await code(nil)
      #expect(first.0 == [])
      try bench.write(Array("two".utf8), "attest.pem")
      let second = try await code(first.1)
      #expect(second.0 == [.otherAttester])
      #expect(try await code(second.1).0 == [])
      try FileManager.default.removeItem(atPath: bench.place + "/attest.pem")
      let third = try await code(second.1)
      #expect(third.0 == [.otherAttester])
      #expect(try await code(third.1).0 == [.otherAttester])
    }
  }

  /// Tiles that lead nowhere do not prove that the log was rewritten.
  @Test(arguments: [3, 4, 5, 8]) func aDamagedTileIsNoFork(old: Int) async throws {
    try await Workbench.run { bench in
      let writer = try await bench.create()
      try await writer.append(numbers(0..<old))
      let watch = LogWatch(LogFolder(bench.place), bundles: nil, log: writer.verifier)
      let memory = try await watch.look(since: nil, at: Self.now).memory
      try await writer.append(numbers(old..<11))
      let path = "tile/0/000.p/11"
      let tile = try #require(try bench.content(path))
      for place in 0..<11 {
        var changed = tile
        changed[place * TreeHash.byteCount] ^= 1
        try bench.write(changed, path)
        #expect(await code { _ = try await watch.look(since: memory, at: Self.now) } == .badTile, "\(place)")
      }
      // The same entries, but one of the old ones.
      let other = Workbench(root: bench.root.appending(path: "other/"))
      try FileManager.default.createDirectory(atPath: other.root.path(), withIntermediateDirectories: true)
      let key = try String(contentsOfFile: bench.statePlace + "/log.key", encoding: .utf8)
      let forked = try await other.create(key: key)
      try await forked.append(numbers(1..<2) + numbers(1..<11))
      let look = LogWatch(LogFolder(other.place), bundles: nil, log: writer.verifier)
      #expect(await code { _ = try await look.look(since: memory, at: Self.now) } == .fork)
    }
  }

  @Test func aForkIsNotRemembered() async throws {
    try await withBundles { bench, writer, watch in
      let memory = try await watch.look(since: nil, at: Self.now).memory
      let other = Workbench(root: bench.root.appending(path: "other/"))
      try FileManager.default.createDirectory(atPath: other.root.path(), withIntermediateDirectories: true)
      let key = try String(contentsOfFile: bench.statePlace + "/log.key", encoding: .utf8)
      let forked = try await other.create(key: key)
      let look = LogWatch(LogFolder(other.place), bundles: nil, log: writer.verifier)
      #expect(await code { _ = try await look.look(since: memory, at: Self.now) } == .wentBack)
      try await forked.append(numbers(0..<3))
      #expect(await code { _ = try await look.look(since: memory, at: Self.now) } == .fork)
      try await forked.append(numbers(3..<9))
      #expect(await code { _ = try await look.look(since: memory, at: Self.now) } == .fork)
      let entries = try #require(try bench.content("tile/entries/000.p/3"))
      var changed = entries
      changed[20] ^= 1
      try bench.write(changed, "tile/entries/000.p/3")
      #expect(await code { _ = try await watch.look(since: nil, at: Self.now) } == .badTile)
      #expect(await code { _ = try LogMemory([1], of: writer.verifier, name: "x") } == .badState)
      // What was kept is of another log, or was changed: that is no fault of the log.
      let text = String(decoding: try memory.bytes, as: UTF8.self)
      let stranger = try NoteSigner.generate(name: "keys.example.org/other").verifier
      #expect(await code { _ = try LogMemory(try memory.bytes, of: stranger, name: "x") } == .badState)
      let edited = Array(text.replacing("\\n3\\n", with: "\\n2\\n").utf8)
      #expect(edited != Array(text.utf8))
      #expect(await code { _ = try LogMemory(edited, of: writer.verifier, name: "x") } == .badState)
    }
  }

  // MARK: Entries

  @Test func entriesHaveOneSpelling() async throws {
    let entry = try Self.published("NL/ä\"\\.zip", [1], series: "NL")
    #expect(try LogEntry(entry.bytes, name: "x") == entry)
    let text = String(decoding: entry.bytes, as: UTF8.self)
    #expect(
      text.hasPrefix(#"{"archive_sha256":""#) && text.contains(#""path":"NL/ä\"\\.zip""#) && text.hasSuffix(#""v":1}"#))
    for other in [
      text.replacing(",", with: ", "), text.replacing("\"v\":1", with: "\"v\":1.0"),
      text.replacing("\"v\":1", with: "\"v\":2"),
      text.replacing("\"v\":1", with: "\"v\":1,\"v\":1"), text.replacing("published", with: "unheard"), text + "\n",
      text.replacing("\"at\":", with: "\"bt\":"), text.replacing("\"keys\":3", with: "\"keys\":-3"),
      text.replacing("\"keys\":3", with: "\"keys\":\"3\""), text.replacing("NL/ä", with: "../ä"),
      text.replacing("\"keys\":3,", with: ""), text.replacing("ä", with: "\\u00e4"), "[]", "", "{\"a\":[1]}",
      text.replacing("\"keys\":3", with: "\"keys\":3e0"), text.replacing("\"keys\":3", with: "\"keys\":null"),
      text.replacing("e3b0c4", with: "E3B0C4"),
    ] { #expect(await code { _ = try LogEntry(Array(other.utf8), name: "x") } == .badEntry, "\(other)") }
  }

  @Test(.enabled(if: RealData.isPresent, "\(RealData.howToEnable)"))
  func theExampleOfAnEntryHasThisHash() throws {
    let vectors = try SharedVectors.read()
    let example = try #require(vectors["domain_example"] as? [String: Any])
    for name in ["published", "received"] {
      let text = try #require(example["\(name)_entry"] as? String)
      #expect(TreeHash.leaf(Array(text.utf8)).base64 == example["\(name)_leaf_b64"] as? String)
    }
    let received = try #require(example["received_entry"] as? String)
    #expect(try LogEntry(Array(received.utf8), name: "x").text("source") == "north")
  }
}
