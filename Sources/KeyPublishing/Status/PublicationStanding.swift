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
            + " keyferry publish takes what apps have seen as released; pauses, recalls and erasures have to be said again before,"
            + " and where the store began anew, keyferry store begin --publish --yes behind them"
        )
      }
    }
    return faults
  }

  /// A series that is published somewhere.
  package struct Shown: Hashable, Sendable {
    package let series: String
    /// How many bundles its indexes name; `nil` where its manifest is gone or cannot be read.
    package let bundles: Int?
  }

  /// Those of the series that are published: where a manifest or an index stands, whatever is in it. Nothing is written.
  ///
  /// - Throws: what the folder throws; what cannot be asked is not empty.
  package static func shown(of series: [String], in folder: any PublicationFolder) async throws -> [Shown] {
    try await folder.each(series) { name -> Shown? in
      if let list = try await folder.list(SeriesManifest.path(of: name), limit: SeriesManifest.byteLimit) {
        let manifest = list.content.flatMap { try? SeriesManifest(document: $0) }
        return Shown(series: name, bundles: manifest?.bundles.count(where: \.isListed))
      }
      guard try await folder.list("\(name)/index.txt", limit: 1) != nil else { return nil }
      return Shown(series: name, bundles: nil)
    }.compactMap(\.self)
  }

  /// Whether a store has led one of the series before, or was begun beside them by an operator's word. A series is in the store
  /// before anything of it is published, so what is published and is not in the store, another store has published.
  package static func isKnown(_ series: [String], to ledger: Ledger) async throws -> Bool {
    do {
      return try await ledger.read { state in
        if try state.note(.begun) != nil { return true }
        return try series.contains { name in
          if try state.note(.seriesState(name)) != nil { return true }
          if try state.note(.mirror(name)) != nil { return true }
          return try !state.bundles(of: name, in: Set(BundleState.allCases)).isEmpty
        }
      }
    } catch let fault as StorageFault where fault.code == .corrupt {
      // A damaged store is none that is new.
      return true
    }
  }

  /// - Throws: ``StorageFault`` `beginsAnew` where the store began beside what is published, and the operator has not said all words again.
  static func requireWords(_ ledger: Ledger) async throws {
    guard let beginning = try await ledger.read({ try $0.beginning() }), beginning.waits else { return }
    throw StorageFault(
      .beginsAnew,
      "the store began anew at \(beginning.since), and publishes nothing before pauses, recalls and erasures were said again: "
        + "then keyferry store begin --publish --yes")
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
