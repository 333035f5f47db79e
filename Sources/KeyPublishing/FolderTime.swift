package import ExposureKeys
package import KeyStorage

extension StoredState {
  /// The latest time that a publication folder shows to have been believed and the store does not know of: when a bundle
  /// was published that the store does not have, and, where it has none of a series, when its last window ended. `nil` where
  /// the store is not behind the folder.
  ///
  /// A manifest states each time twice, and the earlier word counts: a single damaged figure moves no clock ahead.
  ///
  /// - Parameter folder: a manifest that is not there or cannot be read shows nothing; the round tells of it.
  package func timeShown(by folder: any PublicationFolder, of series: [String]) throws -> Instant? {
    var latest: Int64?
    for name in series {
      guard let content = try? folder.content(of: SeriesManifest.path(of: name), limit: 1 << 30),
        let manifest = try? SeriesManifest(document: content)
      else { continue }
      let known = Set(try bundles(of: name, in: Set(BundleState.allCases)).map(\.bundle.path))
      var times = manifest.bundles.filter { !known.contains($0.path) }.map(\.published)
      if known.isEmpty, let end = manifest.windowEnd { times.append(end) }
      for time in times { latest = max(latest ?? .min, min(time, manifest.written)) }
    }
    return latest.map(Instant.init(secondsSince1970:))
  }
}
