internal import Crypto
internal import ExposureKeys

/// One look at a log: does it extend what was seen, is every entry in its tree, is each bundle served as it was published, and
/// listed for as long as its series says?
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
    /// What could not be looked at, and is no fault.
    package let notes: [String]
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
  /// - Parameters:
  ///   - memory: of the last look; `nil` begins at the first entry.
  ///   - now: seconds since 1970.
  /// - Throws: ``LogFault``: `fork` and `went-back` where the log does not extend what was seen, `missing-tile` and
  ///   `bad-tile`, `bad-state` where the memory is not of this log; then nothing is remembered.
  package func look(since memory: LogMemory?, at now: Int) async throws -> Result {
    let old = try memory.map { try $0.signed(by: log) }
    let checkpoint = try await Self.checkpoint(of: source, by: log)
    let reader = TreeReader(source, size: checkpoint.size)
    if let old { try await checkpoint.verifyExtends(old, by: reader) }
    var known = KnownBundles(memory)
    let start = old?.size ?? 0
    try await readEntries(from: start, checkpoint, reader) { index, bytes in known.add(bytes, at: index) }
    var findings = known.faults
    var lists = SeriesLists(known.bundles, memory?.series ?? [:], now: now)
    var compared = 0
    if let bundles {
      try await lists.read(from: bundles)
      findings += lists.findings
      for (path, bundle) in known.bundles.sorted(by: { $0.value.entry < $1.value.entry }) where bundle.withdrawn == nil
      {
        compared += 1
        let mayBeGone = lists.leavesOut(path, bundle)
        if let finding = try await compare(path, bundle, in: bundles, mayBeGone: mayBeGone) { findings.append(finding) }
      }
    }
    let attester = try await attester()
    if let before = memory?.attester, attester != before {
      let file = AttestationSigner.publicFile
      let what = attester == nil ? "is not there any more" : "is another one than the last time"
      findings.append(
        LogFinding(
          code: .otherAttester, entry: nil, path: file,
          text: "\(source.name): \(file) \(what): ask the publisher, by another way than this server"))
    }
    return Result(
      checkpoint: checkpoint, newEntries: checkpoint.size - start, comparedBundles: compared, findings: findings,
      notes: lists.notes,
      memory: LogMemory(
        checkpoint, known.bundles, known.faults, lists.series, attester: attester ?? memory?.attester))
  }

  /// SHA-256 of the public key of attestations; `nil` where none is shown.
  private func attester() async throws -> String? {
    try await source.content(of: AttestationSigner.publicFile, limit: 1 << 16).map {
      Hexadecimal.encode(SHA256.hash(data: $0))
    }
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
      let what =
        start == checkpoint.size
        ? "the tiles of its \(start) entries do not lead" : "the entries \(start)..<\(checkpoint.size) do not belong"
      throw LogFault(
        .badTile, "\(source.name): \(what) to the root \(checkpoint.root.base64): an entry or a tile was changed")
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
    let digest = Hexadecimal.encode(SHA256.hash(data: content))
    guard digest != bundle.sha256 else { return nil }
    return finding(
      .changedBundle, "has the SHA-256 \(digest), entry \(bundle.entry) says \(bundle.sha256): it was changed")
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
        kind: entry.text("bundle"), at: entry.number("at"), end: entry.number("end"), entry: index)
    case .withdrawn:
      guard bundles[path] != nil else {
        faults.append(
          LogFinding(
            code: .badEntry, entry: index, path: path,
            text: "entry \(index): it withdraws \(path), which was not published"))
        return
      }
      bundles[path]?.withdrawn = index
    case .signedAgain: bundles[path]?.replaced = index
    default: break
    }
  }
}
