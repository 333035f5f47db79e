package import ExposureKeys
package import KeyStorage

/// What a publication folder says of time: when its bundles were published, and when its last windows ended.
///
/// A manifest that is not there, or cannot be read now, says nothing; the round tells of it.
package struct ShownTimes: Sendable {
  private let manifests: [(series: String, manifest: SeriesManifest)]

  package init(in folder: any PublicationFolder, of series: [String]) async {
    var manifests: [(series: String, manifest: SeriesManifest)] = []
    do {
      for name in series {
        if let manifest = try await folder.manifest(of: name) { manifests.append((name, manifest)) }
      }
    } catch {
      // A store that does not answer is not asked for each series.
    }
    self.manifests = manifests
  }

  /// The latest time that the folder shows to have been believed and the store does not know of: when a bundle was published
  /// that the store does not have, and, where it has none of a series, when its last window ended. `nil` where the store is not
  /// behind the folder.
  ///
  /// A manifest states each time twice, and the earlier word counts: a single damaged figure moves no clock ahead.
  package func latest(beside state: any StoredState) throws -> Instant? {
    var latest: Int64?
    for (series, manifest) in manifests {
      let known = Set(try state.bundles(of: series, in: Set(BundleState.allCases)).map(\.bundle.path))
      var times = manifest.bundles.filter { !known.contains($0.path) }.map(\.published)
      if known.isEmpty, let end = manifest.windowEnd { times.append(end) }
      for time in times { latest = max(latest ?? .min, min(time, manifest.written)) }
    }
    return latest.map(Instant.init(secondsSince1970:))
  }
}
