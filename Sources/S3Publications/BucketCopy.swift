internal import Glibc
internal import KeyIntake
package import KeyPublishing
internal import S3Objects

/// The copy of a bucket that a machine keeps, and serves: whatever a gateway answers to apps it answers from a folder, and a bucket
/// that cannot be reached for a while takes nothing from them.
///
/// A bundle comes first and is compared with its digest, then the manifest, then the lists that follow from it: the copy is whole
/// at every moment. It can be removed at any time; it is made again.
package actor BucketCopy {
  private let source: any PublicationFolder
  private let copy: LocalFolder
  /// Of each series, the manifest's state that the copy has.
  private var known: [String: ShownList.Version] = [:]
  /// One process keeps a copy; others that serve it leave it alone.
  private var lock: Int32?

  /// - Parameter folder: of this machine.
  package init(of source: any PublicationFolder, in folder: String) {
    self.source = source
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
      try await source.files(of: series).map { ($0.path, $0.byteCount) }, uniquingKeysWith: { first, _ in first })
    // Those that left the index are served for a while to who has an old one.
    let wanted = manifest.bundles.filter { $0.isListed || present[$0.path] == $0.bytes }
    var missing: [SeriesManifest.Bundle] = []
    for bundle in wanted where try copy.byteCount(of: bundle.path) != bundle.bytes { missing.append(bundle) }
    // Several at the same time, and a large one alone: what is in memory at once is bounded.
    try await fetch(missing.filter { $0.bytes <= Self.smallBytes })
    for bundle in missing where bundle.bytes > Self.smallBytes { try await fetch([bundle]) }
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

  private func removeOld(_ series: String, keeping wanted: Set<String>, _ present: [String: Int]) throws {
    let lists = ["manifest.json", "SHA256SUMS", "index.txt"].map { "\(series)/\($0)" }
    for (path, _) in try copy.files(of: series)
    where !wanted.contains(path) && !lists.contains(path) && present[path] == nil { try copy.remove(path) }
  }
}
