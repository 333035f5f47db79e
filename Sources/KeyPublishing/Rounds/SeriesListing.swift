internal import BundleTrust
internal import ExposureKeys
internal import FoundationEssentials
internal import KeyStorage

/// Which bundles of a series its index and its manifest name, decided from the store alone.
struct SeriesListing {
  let settings: SeriesSettings
  let now: Instant
  private let windowEnd: Int64?
  /// In the order in which they were staged.
  let records: [BundleRecord]
  /// The numbers of those that are listed.
  private(set) var listed: Set<BundleID>

  /// - Parameter agesBundles: whether what is too old leaves; not while the clock is in doubt.
  init(
    of settings: SeriesSettings, _ records: [BundleRecord], _ state: SeriesState, now: Instant, agesBundles: Bool = true
  ) {
    self.settings = settings
    self.now = now
    windowEnd = state.windowEnd
    self.records = records
    let age = settings.listedDays * 86_400
    let oldest = agesBundles ? now.secondsSince1970 - age : .min
    let oldestDay = agesBundles ? now.day.start.secondsSince1970 - age : .min
    let current = records.filter { record in
      guard record.state == .staged || record.state == .published,
        record.bundle.ordinal >= state.firstOrdinals[record.bundle.kind.rawValue] ?? 0
      else { return false }
      return switch record.bundle.kind {
      case .increment: record.bundle.end > oldest
      case .edition: settings.editionsPerDay > 0 && record.bundle.end > oldest
      case .day: settings.makesDays && record.bundle.end > oldest
      case .since: settings.makesSince && record.bundle.start > oldestDay
      case .keyDay: settings.makesKeyDays && record.bundle.start > oldestDay
      }
    }
    listed = Set(current.filter { $0.bundle.kind == .increment || $0.bundle.kind == .edition }.map(\.id))
    for kind in [BundleKind.day, .since, .keyDay] {
      let rollUps = Dictionary(grouping: current.filter { $0.bundle.kind == kind }, by: \.bundle.start)
      for versions in rollUps.values { listed.formUnion(Self.newest(of: versions).map(\.id)) }
    }
  }

  /// Of all versions of one roll-up the last: it alone holds everything. Its bundles were numbered in a row and end a
  /// second after one another.
  private static func newest(of versions: [BundleRecord]) -> ArraySlice<BundleRecord> {
    let sorted = versions.sorted { $0.bundle.ordinal < $1.bundle.ordinal }
    var first = sorted.count - 1
    while first > 0, sorted[first - 1].bundle.ordinal + 1 == sorted[first].bundle.ordinal,
      sorted[first - 1].bundle.end + 1 == sorted[first].bundle.end
    {
      first -= 1
    }
    return sorted[max(0, first)...]
  }

  func isListed(_ record: BundleRecord) -> Bool { listed.contains(record.id) }

  /// Whether its file is there, for those who have an older index too.
  func isServed(_ record: BundleRecord) -> Bool { isKept(record) && (record.state != .staged || isListed(record)) }

  /// Drops from the listing what has no file.
  mutating func drop(_ record: BundleRecord) { listed.remove(record.id) }

  /// Oldest first.
  func listed(_ kind: BundleKind) -> [BundleRecord] {
    records.filter { $0.bundle.kind == kind && isListed($0) }.sorted { $0.bundle.ordinal < $1.bundle.ordinal }
  }

  /// Those that leave the index now.
  var leaving: [BundleRecord] { records.filter { $0.state == .published && !isListed($0) } }

  /// Those whose files no index named for so long that no cached one can either.
  var removable: [BundleRecord] { records.filter(isRemovable) }

  private func isRemovable(_ record: BundleRecord) -> Bool {
    record.state == .expired && record.changed.secondsSince1970 + settings.graceSeconds <= now.secondsSince1970
  }

  // MARK: Files

  /// `index.txt` as the Google key server writes it: without a line feed at the end.
  var index: [UInt8] { Array(listed(.increment).map(\.bundle.path).joined(separator: "\n").utf8) }

  /// For `sha256sum --check` in the folder of the series.
  var sums: [UInt8] {
    let lines = BundleKind.allCases.flatMap(listed).map { record in
      "\(record.bundle.archiveDigest)  \(record.bundle.path.dropFirst(settings.name.utf8.count + 1))\n"
    }
    return Array(lines.joined().utf8)
  }

  /// - Parameter signer: who signs now.
  func manifest(signer: SigningIdentity) -> SeriesManifest {
    let bundles = BundleKind.allCases.flatMap { kind in
      records.filter { $0.bundle.kind == kind && (kind == .increment || isKept($0)) }
        .sorted { $0.bundle.ordinal < $1.bundle.ordinal }
        .map { SeriesManifest.Bundle($0, isListed: isListed($0), now: now) }
    }
    return SeriesManifest(
      series: settings.name, title: settings.title, regions: settings.selection.include?.sorted(),
      headerRegion: settings.headerRegion, appBundleID: signer.appBundleID, androidPackage: signer.androidPackage,
      period: settings.period, editionsPerDay: settings.editionsPerDay > 0 ? settings.editionsPerDay : nil,
      listedDays: Int(settings.listedDays), keys: keys(signer), written: now.secondsSince1970, windowEnd: windowEnd,
      bundles: bundles)
  }

  private func isKept(_ record: BundleRecord) -> Bool { record.state != .removed && !isRemovable(record) }

  private func keys(_ signer: SigningIdentity) -> [SeriesManifest.Key] {
    let begun = settings.schedule.filter { $0.from.map { $0 <= now } ?? true }.map(\.identity)
    var keys: [SeriesManifest.Key] = []
    for identity in begun + [signer] {
      let key = SeriesManifest.Key(
        id: identity.keyID, version: identity.keyVersion, publicKey: identity.key.publicKey.pem)
      keys.removeAll { $0 == key }
      keys.append(key)
    }
    return keys
  }
}

extension SeriesManifest.Bundle {
  fileprivate init(_ record: BundleRecord, isListed: Bool, now: Instant) {
    let bundle = record.bundle
    self.init(
      kind: bundle.kind.rawValue, ordinal: bundle.ordinal, path: bundle.path, start: bundle.start, end: bundle.end,
      published: (record.published ?? now).secondsSince1970, isListed: isListed, keys: bundle.keyCount,
      revisedKeys: bundle.revisedKeyCount, bytes: bundle.byteCount, sha256: bundle.archiveDigest,
      exportSHA256: bundle.exportDigest, keyID: bundle.keyID, keyVersion: bundle.keyVersion)
  }
}

extension SeriesManifest {
  /// Where it is in the publication folder.
  package static func path(of series: String) -> String { "\(series)/manifest.json" }

  /// A larger one is neither written nor read: room for some hundred thousand bundles, which are 26 years of windows of two hours.
  package static let byteLimit = 64 << 20

  /// Of one archive that a manifest names: no larger one is read from a bucket. Those of a series have 16 MiB at most, a mirrored one
  /// as many as its source gave it.
  package static let archiveByteLimit = 256 << 20

  private var listed: [Bundle] { bundles.filter(\.isListed) }

  /// What `index.txt` says beside it.
  package var index: [UInt8] {
    Array(listed.filter { $0.kind == BundleKind.increment.rawValue }.map(\.path).joined(separator: "\n").utf8)
  }

  /// What `SHA256SUMS` says beside it.
  package var sums: [UInt8] {
    Array(listed.map { "\($0.sha256)  \($0.path.dropFirst(series.utf8.count + 1))\n" }.joined().utf8)
  }

  /// As it stands in its file.
  ///
  /// What a store that lies can make of it takes a bounded multiple of its bytes: they are not copied, and not parsed where they
  /// have more parts than a manifest can have.
  ///
  /// - Throws: when the bytes are no manifest of this version.
  package init(document: [UInt8]) throws {
    guard document.count <= Self.byteLimit, Self.hasShape(document) else {
      throw PublishingFault(.fileDamaged, "it is no manifest")
    }
    self = try document.withUnsafeBytes { bytes in
      // The decoder is gone before the bytes are.
      guard let start = bytes.baseAddress else { throw PublishingFault(.fileDamaged, "it is empty") }
      let data = Data(bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: bytes.count, deallocator: .none)
      return try JSONDecoder().decode(SeriesManifest.self, from: data)
    }
    guard version == Self.currentVersion else {
      throw PublishingFault(.fileDamaged, "a manifest of version \(version), supported is \(Self.currentVersion)")
    }
  }

  /// Whether values lie no deeper in each other than in a manifest, and no closer together: a parser of JSON keeps some words for
  /// each of them, and `[1,1,1,…` would take many times the memory of its bytes.
  private static func hasShape(_ document: [UInt8]) -> Bool {
    var (parts, depth) = (0, 0)
    var isText = false
    var isEscaped = false
    for byte in document {
      if isEscaped {
        isEscaped = false
      } else if isText {
        if byte == UInt8(ascii: "\\") { isEscaped = true } else if byte == UInt8(ascii: "\"") { isText = false }
      } else {
        switch byte {
        case UInt8(ascii: "\""): isText = true
        case UInt8(ascii: "["), UInt8(ascii: "{"):
          depth += 1
          parts += 1
          if depth > mostDepth { return false }
        case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
        case UInt8(ascii: ","), UInt8(ascii: ":"): parts += 1
        default: break
        }
      }
    }
    return parts <= 1024 + document.count / bytesPerPart
  }

  /// One more than needed: others may add what we do not know.
  private static let mostDepth = 4
  /// A line of a manifest, `"keys" : 0,` behind its indentation, has two parts and 18 bytes.
  private static let bytesPerPart = 6

  /// - Throws: where it would be too large to be read again.
  package var document: [UInt8] {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      let document = try Array(encoder.encode(self)) + [UInt8(ascii: "\n")]
      guard document.count <= Self.byteLimit else {
        throw PublishingFault(
          .invalidSeries,
          "\(Self.path(of: series)) would have \(document.count) bytes, at most \(Self.byteLimit) are read; go on as a series of"
            + " another name, with a longer period")
      }
      return document
    }
  }
}
