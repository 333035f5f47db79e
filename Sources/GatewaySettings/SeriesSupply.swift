package import ExposureKeys
internal import KeyNormalization
internal import KeyPeers
package import KeyPublishing
internal import KeyReceiving

/// Where the keys of a series come from, as far as the configuration decides it: sources, upload endpoints and national back
/// ends from which the series takes the same share.
///
/// A key names the regions it is for, or none, and the policy decides what that means; so a series for one region may well
/// publish keys of another origin. A share says which keys of a source belong, not how many there are.
package struct SeriesSupply: Hashable, Sendable {
  /// Which of their keys the series publishes.
  package var share: Share
  /// The names of the sources and endpoints, in the order of the configuration.
  package var sources: [String]

  package enum Share: String, Hashable, Sendable, CaseIterable {
    /// Every key.
    case all
    /// Keys for one of the series' regions: they name it, or it is their origin and the policy counts that.
    case included
    /// These, and keys that name no region.
    case includedOrUnnamed = "included-or-unnamed"
    /// Keys that name no region, and no others.
    case unnamed
    /// Keys for none of the excluded regions.
    case notExcluded = "not-excluded"
    /// Keys for several regions.
    case travellers
    /// These, and keys that name no region.
    case travellersOrUnnamed = "travellers-or-unnamed"
  }
}

extension GatewayPlan {
  /// What a series takes from whom, by its selection of regions and origins and by its publishing policy of this moment.
  package func supplies(of series: SeriesSettings, at now: Instant) -> [SeriesSupply] {
    let policy = series.publishing.at(now).publishing
    let selection = series.selection.inCapitals
    var supplies: [SeriesSupply] = []
    func add(_ name: String, origins: [String]?, regions: Set<String>? = nil) {
      guard let share = selection.share(ofOrigins: origins, naming: regions, by: policy) else { return }
      if let index = supplies.firstIndex(where: { $0.share == share }) {
        supplies[index].sources.append(name)
      } else {
        supplies.append(SeriesSupply(share: share, sources: [name]))
      }
    }
    for source in readSources where !rehearsals.contains(source.name) {
      add(source.name, origins: source.isRelay ? [] : source.spokenOrigins, regions: source.regions)
    }
    for upload in uploads where !sources.contains(where: { $0.name == upload.name }) {
      add(upload.name, origins: [upload.origin])
    }
    return supplies
  }
}

extension RegionSelection {
  /// As claims write regions.
  fileprivate var inCapitals: RegionSelection {
    func upper(_ names: Set<String>) -> Set<String> { Set(names.map { $0.uppercased() }) }
    return RegionSelection(
      include: include.map(upper), exclude: upper(exclude), origins: origins.map(upper),
      travellersOnly: travellersOnly)
  }

  /// - Parameters:
  ///   - stated: the origins whose keys the source brings; `nil` is any, and a relay's keys have none.
  ///   - regions: the regions that its keys may name; `nil` is any.
  /// - Returns: `nil` where none of its keys belongs to the series.
  fileprivate func share(
    ofOrigins stated: [String]?, naming regions: Set<String>?, by policy: PublishingPolicy
  ) -> SeriesSupply.Share? {
    var brought = stated.map { Set($0.map { $0.uppercased() }) }
    if let origins {
      brought = brought.map(origins.intersection) ?? origins
      if brought?.isEmpty == true { return nil }
    }
    // A key that goes everywhere belongs to every series.
    if policy.ignoresVisited { return .all }
    let takesUnnamed = policy.emptyVisited == .all
    /// Whether every key is for its own origin, and that is one of these.
    func alwaysOfOrigin(in names: Set<String>) -> Bool {
      policy.includesOrigin && brought?.isEmpty == false && brought?.isSubset(of: names) == true
    }
    if travellersOnly { return takesUnnamed ? .travellersOrUnnamed : .travellers }
    guard let include else {
      if exclude.isEmpty { return .all }
      guard alwaysOfOrigin(in: exclude) else { return .notExcluded }
      return takesUnnamed ? .unnamed : nil
    }
    if alwaysOfOrigin(in: include) { return .all }
    let mayName = regions.map { !include.isDisjoint(with: Set($0.map { $0.uppercased() })) } ?? true
    // A source of several origins brings some keys that are for their own.
    let mayBeOfOrigin = brought.map { !include.isDisjoint(with: $0) } ?? true
    let isIncluded = mayName || policy.includesOrigin && mayBeOfOrigin
    switch (isIncluded, takesUnnamed || policy.emptyVisited == .origin && mayBeOfOrigin) {
    case (true, true): return .includedOrUnnamed
    case (true, false): return .included
    case (false, true): return .unnamed
    case (false, false): return nil
    }
  }
}
