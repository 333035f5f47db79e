internal import FoundationEssentials
package import GatewaySettings
internal import KeyIntake
package import KeyPublishing
package import KeyStorage
internal import S3Publications

/// Where the series of a gateway are published: what a store is held against before anybody writes into it.
package struct PublishedSeries: Sendable {
  private let names: [String]
  /// What people call the place.
  private let place: String
  /// `nil` where nothing is published.
  private let folder: @Sendable () throws -> (any PublicationFolder)?

  /// - Parameter environment: where the credentials of a bucket are looked for, unless the configuration has them.
  package init(
    of plan: GatewayPlan, environment: [String: String] = ProcessInfo.processInfo.environment
  ) {
    names = plan.series.map(\.name) + plan.mirrors.map(\.name)
    place = Self.shown(plan.publicationBucket?.shown, plan.publicationFolder)
    folder = { PublicationPlace(plan, environment: environment)?.folder }
  }

  /// - Parameter whole: reads the configuration with its secrets: a bucket is asked with those of the service.
  package init(of plan: OperatorsPlan, whole: @escaping @Sendable () throws -> GatewayPlan) {
    names = plan.series.map(\.name) + plan.mirrors.map(\.name)
    place = Self.shown(plan.publicationBucket?.shown, plan.publicationFolder)
    let (path, isBucket) = (plan.publicationFolder, plan.publicationBucket != nil)
    folder = { isBucket ? PublicationPlace(try whole())?.folder : path.map { LocalFolder($0) } }
  }

  /// What this machine has: its folder, or its copy of a bucket. Nothing is asked over a network.
  package init(onThisMachineOf plan: GatewayPlan) {
    names = plan.series.map(\.name) + plan.mirrors.map(\.name)
    let path = plan.publicationFolder
    place = Self.shown(nil, path)
    folder = { path.map { LocalFolder($0) } }
  }

  private static func shown(_ bucket: String?, _ folder: String?) -> String {
    bucket ?? folder.map { PathText.onOneLine($0) } ?? "nowhere"
  }

  /// What is published and a store does not know.
  ///
  /// - Parameter ledger: `nil` where there is no store.
  /// - Returns: `nil` where nothing is published, or the store knows of it.
  /// - Throws: ``StorageFault`` `publicationUnread` where the place cannot be asked.
  func unknown(to ledger: Ledger?, at address: StoreAddress) async throws -> UnknownSeries? {
    guard !names.isEmpty else { return nil }
    if let ledger, try await PublicationStanding.isKnown(names, to: ledger) { return nil }
    let shown: [PublicationStanding.Shown]
    do {
      guard let folder = try folder() else { return nil }
      shown = try await PublicationStanding.shown(of: names, in: folder)
    } catch let error as CancellationError {
      throw error
    } catch {
      throw StorageFault(
        .publicationUnread,
        "\(Self.standing(of: address, isThere: ledger != nil)), and whether anything is published in \(place) cannot be asked; "
          + "nothing was done: \(error)")
    }
    guard !shown.isEmpty else { return nil }
    // Another replica may have begun them meanwhile.
    if let ledger, try await PublicationStanding.isKnown(names, to: ledger) { return nil }
    return UnknownSeries(series: shown, place: place, address: address, isStoreThere: ledger != nil)
  }

  /// What people call the place of a store.
  fileprivate static func shown(_ address: StoreAddress) -> String {
    address.database == nil ? PathText.onOneLine(address.location) : "\(address)"
  }

  fileprivate static func standing(of address: StoreAddress, isThere: Bool) -> String {
    let store = shown(address)
    return isThere ? "the store in \(store) has published nothing" : "there is no store in \(store)"
  }
}

/// Series that are published, and that a store does not know.
package struct UnknownSeries: Hashable, Sendable {
  package let series: [PublicationStanding.Shown]
  /// Where they are published.
  package let place: String
  package let address: StoreAddress
  /// Whether there is a store at all.
  package let isStoreThere: Bool

  /// What is so, and what to do.
  package var fault: StorageFault {
    let advice =
      address.database == nil
      ? "mount the disk, or correct state, or put a copy there with keyferry store restore"
      : "correct store.postgresql, or move the store there with keyferry store copy, or restore a copy of the database with its own means"
    return StorageFault(
      .beginsAnew,
      "\(standing): a store that begins anew knows no pauses, recalls and erasures, and what was recalled goes out again; "
        + "nothing was done; \(advice); where a new store is meant, keyferry store begin says what is lost, and begins it"
    )
  }

  package var shownAddress: String { PublishedSeries.shown(address) }

  /// What both are like.
  package var standing: String {
    "\(PublishedSeries.standing(of: address, isThere: isStoreThere)), and \(place) has "
      + "\(series.count == 1 ? "series" : "the series") \(series.map(\.series).joined(separator: ", ")), published before"
  }
}
