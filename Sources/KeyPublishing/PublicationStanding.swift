internal import KeyIntake
package import KeyStorage

/// Whether what is published is what the store knows: a folder, a bucket or the store may have been brought back from an older copy.
package enum PublicationStanding {
  /// Reads the manifest of each series where it is published; nothing is written.
  ///
  /// - Parameter place: what the folder or the bucket is called.
  /// - Returns: a sentence for each series of which one of both does not know what the other one has.
  /// - Throws: what the folder throws.
  package static func faults(
    of series: [String], in folder: any PublicationFolder, named place: String, _ ledger: Ledger
  ) async throws -> [String] {
    var faults: [String] = []
    for name in series {
      let before = try await published(by: name, ledger)
      let content = try await folder.content(of: SeriesManifest.path(of: name), limit: SeriesManifest.byteLimit)
      // A round may have come between.
      let records = try await ledger.read { try $0.bundles(of: name, in: Set(BundleState.allCases)) }
      let still = Set(records.filter { $0.state == .published }.map(\.bundle.path))
      let expected = before.filter { still.contains($0) }
      guard let content else {
        if !expected.isEmpty {
          faults.append(
            "series \(name): \(place) has no manifest of it, and the store has published"
              + " \(counted(expected.count, "increment")); \(advice)")
        }
        continue
      }
      guard let manifest = try? SeriesManifest(document: content) else {
        faults.append("series \(name): its manifest in \(place) cannot be read; \(advice)")
        continue
      }
      let shown = Set(manifest.bundles.map(\.path))
      let missing = expected.filter { !shown.contains($0) }
      if let last = missing.last {
        faults.append(
          "series \(name): \(place) does not know \(counted(missing.count, "increment")) that the store has published, the last one"
            + " \(last): it was brought back from an older copy, or changed; \(advice)")
      }
      let known = Set(records.map(\.bundle.path))
      let unknown = manifest.bundles.count { !known.contains($0.path) }
      if unknown > 0 {
        faults.append(
          "series \(name): \(place) has \(counted(unknown, "bundle")) that the store does not know: the store was lost, or is older;"
            + " keyferry publish takes what apps have seen as released; pauses, recalls and erasures have to be said again before"
        )
      }
    }
    return faults
  }

  private static let advice = "keyferry publish makes it again from the store"

  /// Increments stay in a manifest for as long as their numbers are counted.
  private static func published(by series: String, _ ledger: Ledger) async throws -> [String] {
    try await ledger.read { state in
      try state.bundles(of: series, in: [.published]).map(\.bundle).filter { $0.kind == .increment }
        .sorted { $0.ordinal < $1.ordinal }.map(\.path)
    }
  }
}
