internal import Crypto
internal import FoundationEssentials

/// What a monitor remembers from one look at a log to the next.
package struct LogMemory: Hashable, Sendable, Codable {
  /// A bundle that the log says was published.
  package struct Bundle: Hashable, Sendable, Codable {
    /// Lower-case hexadecimal SHA-256 of the file.
    package var sha256: String
    package var bytes: Int
    package var series: String?
    /// The entry that says so.
    package var entry: Int
    /// The entry that withdraws it.
    package var withdrawn: Int?
  }

  package static let byteLimit = 1 << 28

  package var version = 1
  /// The newest checkpoint that was found good, as it was served.
  package private(set) var checkpoint: String
  /// By their paths.
  package private(set) var bundles: [String: Bundle]
  /// Faults of the log itself, which stay for as long as it is followed.
  package private(set) var faults: [LogFinding]

  fileprivate init(_ checkpoint: SignedCheckpoint, _ bundles: [String: Bundle], _ faults: [LogFinding]) {
    self.checkpoint = String(decoding: checkpoint.bytes, as: UTF8.self)
    self.bundles = bundles
    self.faults = faults
  }

  /// How many entries the log had.
  package var size: Int {
    get throws {
      let note = try SignedNote(Array(checkpoint.utf8), name: "the checkpoint of the last time")
      return try Checkpoint(text: note.text, name: "the checkpoint of the last time").size
    }
  }

  package var bytes: [UInt8] {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      return Array(try encoder.encode(self)) + [0x0a]
    }
  }

  /// - Parameter name: for messages.
  /// - Throws: ``LogFault`` `bad-state`.
  package init(_ bytes: [UInt8], name: String) throws {
    guard let memory = try? JSONDecoder().decode(LogMemory.self, from: Data(bytes)), memory.version == 1 else {
      throw LogFault(.badState, "\(name): it is damaged, or not what a monitor keeps")
    }
    self = memory
  }
}

/// Something that is wrong with a log or with what it lists.
package struct LogFinding: Hashable, Sendable, Codable {
  package enum Code: String, Hashable, Sendable, Codable, CaseIterable {
    /// An entry that says nothing that entries say.
    case badEntry = "bad-entry"
    /// A path, or a number of a series, was given to two bundles.
    case repeated
    /// A bundle that the log lists is not served.
    case missingBundle = "missing-bundle"
    /// Other bytes are served than were published.
    case changedBundle = "changed-bundle"
    /// A series lists a bundle that is not in the log, or with other digests.
    case unlogged
  }

  package let code: Code
  /// The index of the entry; `nil` where there is none.
  package let entry: Int?
  package let path: String?
  package let text: String
}

/// One look at a log: does it extend what was seen, is every entry in its tree, is each bundle served as it was published?
package struct LogWatch: Sendable {
  private let source: any LogSource
  private let bundles: (any LogSource)?
  private let log: NoteVerifier

  /// - Parameters:
  ///   - bundles: where the bundles are served; `nil` looks at none.
  ///   - log: its key, known from elsewhere.
  package init(_ source: any LogSource, bundles: (any LogSource)?, log: NoteVerifier) {
    self.source = source
    self.bundles = bundles
    self.log = log
  }

  package struct Result: Sendable {
    package let checkpoint: SignedCheckpoint
    /// How many entries were new.
    package let newEntries: Int
    /// How many bundles were fetched and compared.
    package let comparedBundles: Int
    package let findings: [LogFinding]
    package let memory: LogMemory
  }

  /// The newest checkpoint, verified.
  package static func checkpoint(of source: any LogSource, by log: NoteVerifier) async throws -> SignedCheckpoint {
    let path = LogWriter.checkpointPath
    guard let bytes = try await source.content(of: path, limit: SignedNote.byteLimit) else {
      throw LogFault(.missingTile, "\(source.name): there is no checkpoint, so no log")
    }
    return try SignedCheckpoint(bytes, by: log, name: "\(source.name): \(path)")
  }

  /// Takes a log's word for the tree, and nothing else: each new entry is hashed again.
  ///
  /// - Parameter memory: of the last look; `nil` begins at the first entry.
  /// - Throws: ``LogFault``: `fork` and `went-back` where the log does not extend what was seen, `missing-tile` and
  ///   `bad-tile`; then nothing is remembered.
  package func look(since memory: LogMemory?) async throws -> Result {
    let old = try memory.map {
      try SignedCheckpoint(Array($0.checkpoint.utf8), by: log, name: "the checkpoint of the last time")
    }
    let checkpoint = try await Self.checkpoint(of: source, by: log)
    let reader = TreeReader(source, size: checkpoint.size)
    if let old { try await checkpoint.verifyExtends(old, by: reader) }
    var known = KnownBundles(memory)
    let start = old?.size ?? 0
    try await readEntries(from: start, checkpoint, reader) { index, bytes in known.add(bytes, at: index) }
    var findings = known.faults
    var compared = 0
    if let bundles {
      let (listed, unlogged) = try await manifests(of: known.bundles, in: bundles)
      findings += unlogged
      for (path, bundle) in known.bundles.sorted(by: { $0.value.entry < $1.value.entry }) where bundle.withdrawn == nil
      {
        let mayBeGone = bundle.series.flatMap { listed[$0] }.map { !$0.contains(path) } ?? false
        compared += 1
        if let finding = try await compare(path, bundle, in: bundles, mayBeGone: mayBeGone) { findings.append(finding) }
      }
    }
    return Result(
      checkpoint: checkpoint, newEntries: checkpoint.size - start, comparedBundles: compared, findings: findings,
      memory: LogMemory(checkpoint, known.bundles, known.faults))
  }

  /// The entries from an index on. That they belong to the tree is proved by the root: the right edge of the old tree, which
  /// was proved before, and the hashes of all new entries give it.
  private func readEntries(
    from start: Int, _ checkpoint: SignedCheckpoint, _ reader: TreeReader, _ body: (Int, [UInt8]) -> Void
  ) async throws {
    var edge = try await reader.edge(of: start)
    var index = start
    while index < checkpoint.size {
      let bundle = try await reader.bundle(index / Tile.width)
      let skipped = index % Tile.width
      for (entry, leaf) in zip(bundle.entries, bundle.leaves).dropFirst(skipped) {
        edge.append(leaf)
        body(index, entry)
        index += 1
      }
    }
    guard edge.root == checkpoint.root else {
      throw LogFault(
        .badTile,
        """
        \(source.name): the entries \(start)..<\(checkpoint.size) do not belong to the root \(checkpoint.root.base64): an \
        entry or a tile was changed
        """)
    }
  }

  private func compare(
    _ path: String, _ bundle: LogMemory.Bundle, in bundles: any LogSource, mayBeGone: Bool
  ) async throws -> LogFinding? {
    func finding(_ code: LogFinding.Code, _ text: String) -> LogFinding {
      LogFinding(code: code, entry: bundle.entry, path: path, text: "\(bundles.name): \(path) \(text)")
    }
    let content: [UInt8]?
    do {
      content = try await bundles.content(of: path, limit: max(bundle.bytes, 1))
    } catch let fault as LogFault where fault.code == .tooLarge {
      return finding(.changedBundle, "has more than the \(bundle.bytes) bytes of entry \(bundle.entry)")
    }
    guard let content else {
      return mayBeGone ? nil : finding(.missingBundle, "is not there, which entry \(bundle.entry) says was published")
    }
    let digest = hexadecimalSHA256(content)
    guard digest != bundle.sha256 else { return nil }
    return finding(
      .changedBundle, "has the SHA-256 \(digest), entry \(bundle.entry) says \(bundle.sha256): it was changed")
  }

  // MARK: What series list

  private struct Manifest: Decodable {
    struct Bundle: Decodable {
      let path: String
      let listed: Bool
      let sha256: String
    }

    let bundles: [Bundle]
  }

  /// What the manifests of the log's series list, and what of it the log does not know.
  private func manifests(
    of known: [String: LogMemory.Bundle], in bundles: any LogSource
  ) async throws -> (listed: [String: Set<String>], unlogged: [LogFinding]) {
    var listed: [String: Set<String>] = [:]
    var findings: [LogFinding] = []
    for series in Set(known.values.compactMap(\.series)).sorted() where LogEntry.isPath(series) {
      let path = "\(series)/manifest.json"
      guard let bytes = try await bundles.content(of: path, limit: 1 << 26) else { continue }
      guard let manifest = try? JSONDecoder().decode(Manifest.self, from: Data(bytes)) else {
        findings.append(
          LogFinding(code: .unlogged, entry: nil, path: path, text: "\(bundles.name): \(path) cannot be read"))
        continue
      }
      listed[series] = Set(manifest.bundles.filter(\.listed).map(\.path))
      for bundle in manifest.bundles where bundle.listed && known[bundle.path]?.sha256 != bundle.sha256 {
        let reason = known[bundle.path] == nil ? "which is not in the log" : "with another SHA-256 than the log"
        findings.append(
          LogFinding(
            code: .unlogged, entry: known[bundle.path]?.entry, path: bundle.path,
            text: "\(bundles.name): \(path) lists \(bundle.path), \(reason)"))
      }
    }
    return (listed, findings)
  }
}

/// The bundles of a log, entry by entry.
private struct KnownBundles {
  private(set) var bundles: [String: LogMemory.Bundle]
  private(set) var faults: [LogFinding]

  init(_ memory: LogMemory?) {
    bundles = memory?.bundles ?? [:]
    faults = memory?.faults ?? []
  }

  mutating func add(_ bytes: [UInt8], at index: Int) {
    do {
      try add(try LogEntry(bytes, name: "entry \(index)"), at: index)
    } catch let fault as LogFault {
      faults.append(LogFinding(code: .badEntry, entry: index, path: nil, text: fault.reason))
    } catch {
      faults.append(LogFinding(code: .badEntry, entry: index, path: nil, text: "entry \(index): \(error)"))
    }
  }

  private mutating func add(_ entry: LogEntry, at index: Int) throws {
    guard let path = entry.text("path") else { return }
    switch entry.kind {
    case .published:
      if let known = bundles[path] {
        faults.append(
          LogFinding(
            code: .repeated, entry: index, path: path,
            text: "entry \(index): \(path) was published already, by entry \(known.entry)"))
        return
      }
      bundles[path] = LogMemory.Bundle(
        sha256: entry.text("archive_sha256") ?? "", bytes: entry.number("bytes") ?? 0, series: entry.text("series"),
        entry: index)
    case .withdrawn:
      guard bundles[path] != nil else {
        faults.append(
          LogFinding(
            code: .badEntry, entry: index, path: path,
            text: "entry \(index): it withdraws \(path), which was not published"))
        return
      }
      bundles[path]?.withdrawn = index
    default: break
    }
  }
}

func hexadecimalSHA256(_ bytes: [UInt8]) -> String {
  SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
