internal import Glibc
internal import KeyIntake
package import KeyPublishing
internal import S3Objects
internal import TransparencyLog

/// The copy of a bucket that a machine keeps, and serves: whatever a gateway answers to apps it answers from a folder, and a bucket
/// that cannot be reached for a while takes nothing from them.
///
/// A bundle comes first and is compared with its digest, then the manifest, then the lists that follow from it: the copy is whole
/// at every moment. It can be removed at any time; it is made again.
///
/// Where the public log cannot be copied, bundles and what lies beside them still come, and the lists wait for it.
package actor BucketCopy {
  private let source: any PublicationFolder
  private let copy: LocalFolder
  /// The folder of the public log in both; `nil` where there is none.
  private let log: String?
  /// The state of the log's checkpoint that the copy has.
  private var knownLog: ShownList.Version?
  /// Of each series, the manifest's state that the copy has.
  private var known: [String: ShownList.Version] = [:]
  /// Of proofs and attestations, the states in the bucket that the copy has.
  private var companions: [String: ShownList.Version] = [:]
  /// One process keeps a copy; others that serve it leave it alone.
  private var lock: Int32?

  /// - Parameters:
  ///   - folder: of this machine.
  ///   - log: the folder of the public log in it; `nil` where there is none.
  package init(of source: any PublicationFolder, in folder: String, log: String? = nil) {
    self.source = source
    self.log = log
    copy = LocalFolder(folder)
  }

  deinit { if let lock { close(lock) } }

  /// Brings the copy up to date.
  ///
  /// - Parameter series: the names of series and mirrors.
  /// - Returns: whether anything is new.
  /// - Throws: the first fault, after all series were looked at.
  @discardableResult
  package func refresh(_ series: [String]) async throws -> Bool {
    guard try takeLock() else { return false }
    var isNew = false
    var fault: (any Error)?
    for name in series {
      try Task.checkCancellation()
      do {
        if try await refresh(one: name) { isNew = true }
      } catch {
        fault = fault ?? error
      }
    }
    do {
      if try await refreshLog() { isNew = true }
    } catch {
      fault = fault ?? error
    }
    if let fault { throw fault }
    return isNew
  }

  private func takeLock() throws -> Bool {
    if lock != nil { return true }
    try copy.make()
    let descriptor = open("\(copy.path)/.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw FileFault("open", "\(copy.path)/.lock", number: errno) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      return false
    }
    lock = descriptor
    return true
  }

  private func refresh(one series: String) async throws -> Bool {
    let path = SeriesManifest.path(of: series)
    // Where nothing was published yet there is nothing to copy; what was copied before stays.
    guard let shown = try await source.list(path, limit: SeriesManifest.byteLimit) else { return false }
    guard shown.version != known[series] else { return false }
    guard let content = shown.content, let manifest = try? SeriesManifest(document: content),
      manifest.series == series,
      manifest.bundles.allSatisfy({
        $0.path.hasPrefix("\(series)/") && (0...SeriesManifest.archiveByteLimit).contains($0.bytes)
      })
    else {
      throw FolderFault(.unusable, "\(path) cannot be read; the copy stays as it is")
    }
    let present = Dictionary(
      try await source.states(of: series).map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    // Those that left the index are served for a while to who has an old one.
    let wanted = manifest.bundles.filter { $0.isListed || present[$0.path]?.byteCount == $0.bytes }
    var missing: [SeriesManifest.Bundle] = []
    for bundle in wanted where try copy.byteCount(of: bundle.path) != bundle.bytes { missing.append(bundle) }
    // Several at the same time, and a large one alone: what is in memory at once is bounded.
    try await fetch(missing.filter { $0.bytes <= Self.smallBytes })
    for bundle in missing where bundle.bytes > Self.smallBytes { try await fetch([bundle]) }
    var logFault: (any Error)?
    do {
      try await refreshLog()
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      logFault = error
    }
    try await fetchCompanions(of: wanted.map(\.path), present)
    // What an index names the log that is shown beside it proves.
    if let logFault { throw logFault }
    try await copy.show(content, at: path)
    try await copy.show(manifest.sums, at: "\(series)/SHA256SUMS")
    try await copy.show(manifest.index, at: "\(series)/index.txt")
    try removeOld(series, keeping: Set(wanted.map(\.path)), present)
    known[series] = shown.version
    return true
  }

  /// What a series makes at most.
  private static let smallBytes = 16 << 20

  private func fetch(_ missing: [SeriesManifest.Bundle]) async throws {
    _ = try await source.each(missing) { [source, copy] bundle in
      guard let archive = try await source.content(of: bundle.path, limit: max(bundle.bytes, 1)),
        archive.count == bundle.bytes, sha256(archive) == bundle.sha256
      else {
        // The next round of publishing tells of it, and makes it again.
        guard bundle.isListed else { return }
        throw FolderFault(.unusable, "\(bundle.path) is gone or damaged in the bucket; the copy stays as it is")
      }
      try await copy.heal(bundle.path, with: archive)
    }
  }

  // MARK: The public log

  private static let companionEndings = [ProofFile.ending: ProofFile.byteLimit, Envelope.ending: Envelope.byteLimit]

  /// Proofs and attestations of bundles. Made again, they mostly have as many bytes as before, and may have others.
  private func fetchCompanions(of bundles: [String], _ present: [String: FileState]) async throws {
    guard log != nil else { return }
    var missing: [(state: FileState, limit: Int)] = []
    for bundle in bundles {
      for (ending, limit) in Self.companionEndings {
        guard let state = present[bundle + ending] else { continue }
        let isKnown = try state.version.map { try companions[state.path] == $0 && has(state) } ?? false
        if !isKnown { missing.append((state, limit)) }
      }
    }
    _ = try await source.each(missing) { [source, copy] file in
      let path = file.state.path
      guard let content = try await source.content(of: path, limit: file.limit) else { return }
      if try copy.byteCount(of: path) != content.count || copy.content(of: path, limit: file.limit) != content {
        try await copy.show(content, at: path)
      }
    }
    for (state, _) in missing { companions[state.path] = state.version }
  }

  private func has(_ state: FileState) throws -> Bool { try copy.byteCount(of: state.path) == state.byteCount }

  /// How often a checkpoint is read again whose tiles have been replaced by fuller ones meanwhile.
  private static let attempts = 3

  /// Tiles first, the checkpoint that needs them last.
  @discardableResult
  private func refreshLog() async throws -> Bool {
    guard let log else { return false }
    let place = "\(log)/\(LogWriter.checkpointPath)"
    for _ in 0..<Self.attempts {
      guard let shown = try await source.list(place, limit: SignedNote.byteLimit) else { return false }
      guard shown.version != knownLog else { return false }
      guard let new = shown.content.flatMap({ ShownLog(checkpoint: $0, key: nil) }) else {
        throw FolderFault(.unusable, "\(place) cannot be read; the copy stays as it is")
      }
      let old = try copy.content(of: place, limit: SignedNote.byteLimit).flatMap { ShownLog(checkpoint: $0, key: nil) }
      let known = old?.name == new.name ? old?.size ?? 0 : 0
      guard known <= new.size else {
        throw FolderFault(
          .unusable, "\(place) has \(new.size) entries, and had \(known): the copy of the log stays as it is")
      }
      let tiles = Tile.added(from: known, to: new.size)
      guard try await fetch(tiles, of: log) else { continue }
      for name in [EvidenceSettings.keyFile, EvidenceSettings.attestationKeyFile] {
        guard let key = try await source.content(of: "\(log)/\(name)", limit: 1 << 16) else { continue }
        let before = try copy.content(of: "\(log)/\(name)", limit: 1 << 16)
        if let before, before != key { try forgetCompanions() }
        if before != key { try await copy.show(key, at: "\(log)/\(name)") }
      }
      guard let content = shown.content else { return false }
      try await copy.show(content, at: place)
      for tile in tiles where !tile.isPartial {
        try LogFolder("\(copy.path)/\(log)").removePartials(of: tile)
      }
      knownLog = shown.version
      return true
    }
    throw FolderFault(.unavailable, "\(log): the log grows faster than it can be copied; the next look goes on")
  }

  /// - Returns: `false` where a partial one was replaced by a fuller one meanwhile.
  private func fetch(_ tiles: [Tile], of log: String) async throws -> Bool {
    try await source.each(tiles) { [source, copy] tile in
      let path = "\(log)/\(tile.path)"
      guard let content = try await source.content(of: path, limit: tile.byteLimit) else {
        guard tile.isPartial else {
          throw FolderFault(.unusable, "\(path) is gone in the bucket; the copy of the log stays as it is")
        }
        return false
      }
      try await copy.heal(path, with: content)
      return true
    }.allSatisfy(\.self)
  }

  /// What is proved or attested by another key is fetched anew.
  private func forgetCompanions() throws {
    for series in known.keys {
      for (path, _) in try copy.files(of: series)
      where Self.companionEndings.keys.contains(where: path.hasSuffix) { try copy.remove(path) }
    }
    (known, companions) = ([:], [:])
  }

  private func removeOld(_ series: String, keeping wanted: Set<String>, _ present: [String: FileState]) throws {
    let lists = ["manifest.json", "SHA256SUMS", "index.txt"].map { "\(series)/\($0)" }
    for (path, _) in try copy.files(of: series)
    where !wanted.contains(path) && !lists.contains(path) && present[path] == nil {
      try copy.remove(path)
      companions[path] = nil
    }
  }
}
