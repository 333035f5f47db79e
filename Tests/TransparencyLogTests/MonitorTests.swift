import Foundation
import GatewayTesting
import Testing
import TransparencyLog

@Suite struct MonitorTests {
  static func published(_ path: String, _ content: [UInt8], series: String? = nil) throws -> LogEntry {
    var members: [String: LogEntry.Value] = [
      "archive_sha256": .text(sha256(content)), "at": .number(1_606_784_500), "bytes": .number(content.count),
      "export_sha256": .text(sha256([])), "keys": .number(3), "path": .text(path),
    ]
    if let series { members["series"] = .text(series) }
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
        try writer.append([try Self.published("NL/\(name).zip", content, series: "NL").bytes])
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
      let first = try await watch.look(since: nil)
      #expect(first.findings == [] && first.newEntries == 3 && first.comparedBundles == 3)
      let memory = try LogMemory(try first.memory.bytes, name: "memory")
      #expect(memory == first.memory)
      let content = Array("bundle d".utf8)
      try serve(bench, "d.zip", "bundle d")
      try writer.append([try Self.published("d.zip", content).bytes])
      let second = try await watch.look(since: memory)
      #expect(second.findings == [] && second.newEntries == 1 && second.comparedBundles == 4)
      let third = try await watch.look(since: second.memory)
      #expect(third.findings == [] && third.newEntries == 0)
    }
  }

  @Test func eachFaultIsNamed() async throws {
    try await withBundles { bench, writer, watch in
      let memory = try await watch.look(since: nil).memory
      func found() async throws -> [String] {
        try await watch.look(since: memory).findings.map { "\($0.code.rawValue) \($0.path ?? "-")" }
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
      try writer.append([
        Array("{}".utf8), try Self.published("NL/a.zip", [1]).bytes,
        try LogEntry(.withdrawn, ["at": .number(1), "path": .text("NL/c.zip"), "by": .text("me")]).bytes,
        try LogEntry(.withdrawn, ["at": .number(1), "path": .text("NL/z.zip")]).bytes,
      ])
      try serve(bench, "NL/c.zip", nil)
      let all = ["bad-entry -", "repeated NL/a.zip", "bad-entry NL/z.zip"]
      #expect(try await found() == all)
      let later = try await watch.look(since: memory).memory
      #expect(try await watch.look(since: later).findings.count == 3)
    }
  }

  @Test func aForkIsNotRemembered() async throws {
    try await withBundles { bench, writer, watch in
      let memory = try await watch.look(since: nil).memory
      let other = Workbench(root: bench.root.appending(path: "other/"))
      try FileManager.default.createDirectory(atPath: other.root.path(), withIntermediateDirectories: true)
      let key = try String(contentsOfFile: bench.statePlace + "/log.key", encoding: .utf8)
      let forked = try await other.create(key: key)
      let look = LogWatch(LogFolder(other.place), bundles: nil, log: writer.verifier)
      #expect(await code { _ = try await look.look(since: memory) } == .wentBack)
      try forked.append(numbers(0..<3))
      #expect(await code { _ = try await look.look(since: memory) } == .fork)
      try forked.append(numbers(3..<9))
      #expect(await code { _ = try await look.look(since: memory) } == .fork)
      let entries = try #require(try bench.content("tile/entries/000.p/3"))
      var changed = entries
      changed[20] ^= 1
      try bench.write(changed, "tile/entries/000.p/3")
      #expect(await code { _ = try await watch.look(since: nil) } == .badTile)
      #expect(await code { _ = try LogMemory([1], name: "x") } == .badState)
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
