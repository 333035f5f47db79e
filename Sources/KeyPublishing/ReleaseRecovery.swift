internal import ExposureKeys
package import KeyStorage

/// What series have released, as their bundles say it: for a store that has lost some of it.
package enum ReleaseRecovery {
  /// - Parameters:
  ///   - damage: what the series has lost.
  ///   - folder: where it publishes.
  /// - Returns: what bundles say about the keys that may be lost, without the look-alikes among them. Whose opinions were in the first
  ///   release is not known any more.
  package static func released(
    by series: String, lost damage: RunDamage, in folder: any PublicationFolder, _ ledger: Ledger
  ) async throws -> RecoveredReleases {
    let bundles = try await ledger.read { state in
      try state.bundles(of: series, in: [.staged, .published, .expired]).filter { $0.bundle.kind == .increment }
        .sorted { $0.id < $1.id }.map { (record: $0, content: try state.content(of: $0.id)) }
    }
    var released = RecoveredReleases()
    for (record, content) in bundles {
      var archive = content
      if archive == nil {
        archive = try await kept(record.bundle, in: folder)
      }
      // Of other bytes nobody knows what was published.
      guard let archive, sha256(archive) == record.bundle.archiveDigest else {
        released.gone.append(record.bundle.path)
        continue
      }
      try PublishedKeys.read(of: archive, path: record.bundle.path) { key in
        guard damage.ranges.contains(where: { $0.has(key.key) }) else { return }
        var plain = key
        plain.isRevised = false
        released.keys.append(
          ReleasedKey(key: plain, bundle: record.id, revisions: key.isRevised ? 1 : 0).withoutTables)
      }
    }
    guard !released.keys.isEmpty else { return released }
    let days = Set(released.keys.map(\.subject.day))
    let lookalikes = try await ledger.read { try Padding.lookalikes(releasedBy: series, on: days, from: $0) }
    released.keys.removeAll { lookalikes.contains($0.subject) }
    // What was erased stays so.
    let erased = try await ledger.read { try $0.erasures() }.moments
    if !erased.isEmpty { released.keys.removeAll { erased[sha256($0.key.key.bytes)] != nil } }
    return released
  }

  private static func kept(_ bundle: NewBundle, in folder: any PublicationFolder) async throws -> [UInt8]? {
    do {
      return try await folder.content(of: bundle.path, limit: max(bundle.byteCount, 1))
    } catch  where folder is LocalFolder {
      // It is longer, or no file; a bucket that does not answer may answer later.
      return nil
    }
  }
}
