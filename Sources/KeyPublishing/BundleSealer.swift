internal import BundleTrust
internal import ExposureKeys
internal import KeyConversion
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization

/// A bundle that is ready to be staged: encoded, signed and packed.
struct SealedBundle: Sendable {
  /// In the order of the file; empty once nobody needs them any more.
  private(set) var keys: [ClaimedKey]
  let keyCount: Int
  let revisedKeyCount: Int
  let start: Int64
  /// Where the window ended, and the end that the header states: later by a second for each bundle before this one.
  let windowEnd: Int64
  let end: Int64
  let content: [UInt8]
  let archiveDigest: String
  let exportDigest: String

  init(
    keys: [ClaimedKey], start: Int64, windowEnd: Int64, end: Int64, content: [UInt8], archiveDigest: String,
    exportDigest: String
  ) {
    self.keys = keys
    revisedKeyCount = keys.count { $0.isRevised }
    keyCount = keys.count - revisedKeyCount
    self.start = start
    self.windowEnd = windowEnd
    self.end = end
    self.content = content
    self.archiveDigest = archiveDigest
    self.exportDigest = exportDigest
  }

  /// The same bundle without its keys, which take more memory than its bytes.
  var withoutKeys: SealedBundle {
    var bundle = self
    bundle.keys = []
    return bundle
  }
}

/// Encodes, signs and packs the keys of a window. `export.bin` depends on the keys, the window and the settings alone.
struct BundleSealer {
  let settings: SeriesSettings
  let signer: SigningIdentity

  /// As many bundles as the settings ask for, the keys dealt out among them like cards: each has its share, and key data
  /// that stands under two rolling starts goes to two bundles, because devices want it once in a file.
  ///
  /// Devices tell bundles apart by their windows, so no two may end at the same time. The first ends with the window, and
  /// each further one a second later, never earlier: a key must have expired two hours before the end that its bundle states.
  ///
  /// - Parameter firstEnd: the end that the first one states, where it is not that of the window.
  func seal(
    _ keys: [ClaimedKey], start: Int64, windowEnd: Int64, firstEnd: Int64? = nil
  ) throws -> [SealedBundle] {
    let end = firstEnd ?? windowEnd
    let keys = keys.inOrderOfSubjects
    var parts = max(1, (keys.count + settings.maximumKeys - 1) / max(1, settings.maximumKeys), multiplicity(of: keys))
    while true {
      guard parts <= max(1, keys.count), Int64(parts) < settings.period else {
        throw PublishingFault(
          .bundleTooLarge,
          "\(counted(keys.count, "key")) do not fit into \(counted(parts - 1, "bundle")) of at most "
            + "\(grouped(settings.maximumKeys)) keys and \(grouped(settings.maximumBytes)) bytes")
      }
      var bundles: [SealedBundle] = []
      for part in 0..<parts {
        let share = parts == 1 ? keys : stride(from: part, to: keys.count, by: parts).map { keys[$0] }
        bundles.append(try sealOne(share, start: start, windowEnd: windowEnd, end: end + Int64(part)))
        // One that is too large is a reason to begin again with more of them.
        if bundles[part].content.count > settings.maximumBytes { break }
      }
      guard let last = bundles.last, last.content.count > settings.maximumBytes else { return bundles }
      parts = max(parts + 1, parts * last.content.count / max(1, settings.maximumBytes))
    }
  }

  /// One bundle, whatever its size.
  func sealOne(_ keys: [ClaimedKey], start: Int64, windowEnd: Int64, end: Int64) throws -> SealedBundle {
    var keys = keys
    keys.withUnsafeMutableBufferPointer { KeyOrder(unknownFields: UnknownFieldTable()).sort($0) }
    let header = ExportHeader(
      startTimestamp: UInt64(max(0, start)), endTimestamp: UInt64(max(0, end)), region: settings.headerRegion,
      batchNum: 1, batchSize: 1, signatureInfos: [signer.info])
    let sink = MemorySink()
    let writer = BundleWriter(signers: [signer], packing: .archive)
    let digests = try writer.write(header, to: ConversionOutput(document: sink)) { encoder in
      try keys.withUnsafeBufferPointer {
        try encoder.encode($0, regions: RegionTable(), unknownFields: UnknownFieldTable())
      }
    }
    return SealedBundle(
      keys: keys, start: start, windowEnd: windowEnd, end: end, content: sink.bytes, archiveDigest: sha256(sink.bytes),
      exportDigest: digests.hexadecimal)
  }

  /// How often the most frequent key data is there.
  private func multiplicity(of keys: [ClaimedKey]) -> Int {
    var most = 0
    var run = 0
    for index in keys.indices {
      run = index > 0 && keys[index].key == keys[index - 1].key ? run + 1 : 1
      most = max(most, run)
    }
    return most
  }
}

/// Lower-case hexadecimal SHA-256.
func sha256(_ bytes: [UInt8]) -> String { ExportDigests(of: bytes, includingBody: false).hexadecimal }

/// The keys of bundles that this gateway wrote.
enum PublishedKeys {
  static func keys(of archive: [UInt8], path: String) throws -> [ClaimedKey] {
    let document = try DecodedDocument(archive, format: .gaenExport)
    guard document.rejections.isEmpty else { throw PublishingFault(.fileDamaged, "\(path): keys cannot be read") }
    return document.keys
  }

  /// Everything that these bundles say, oldest first, each key once and as it was said last.
  ///
  /// Who reads the union has seen nothing of it before: a key that is released in it and revised later stands among the
  /// `keys` as it was revised. One that is revoked later, or was released earlier, stands among the `revised_keys`. A
  /// bundle that was lost and made again comes late with what it said early: so a release is older than a revision
  /// wherever they stand, and nothing is newer than a revocation.
  static func union(of bundles: [[ClaimedKey]]) -> [ClaimedKey] {
    if let only = bundles.first, bundles.count == 1 {
      let keys = only.inOrderOfSubjects
      let isRepeated = keys.indices.dropFirst().contains { keys[$0].subject == keys[$0 - 1].subject }
      if !isRepeated { return keys }
    }
    var said: [(key: ClaimedKey, order: Int64)] = []
    said.reserveCapacity(bundles.reduce(0) { $0 + $1.count })
    for (number, keys) in zip(Int64(0)..., bundles) {
      for key in keys {
        let rank: Int64 = !key.isRevised ? 0 : key.isRevocation ? 2 : 1
        said.append((key, rank << 40 | number))
      }
    }
    said.sort { ($0.key.subject, $0.order) < ($1.key.subject, $1.order) }
    var union: [ClaimedKey] = []
    var isReleased = false
    for (index, (key, _)) in said.enumerated() {
      if index == 0 || key.subject != said[index - 1].key.subject { isReleased = false }
      isReleased = isReleased || !key.isRevised
      guard index + 1 == said.count || said[index + 1].key.subject != key.subject else { continue }
      var last = key
      last.isRevised = key.isRevised && !(isReleased && !key.isRevocation)
      union.append(last)
    }
    return union
  }
}

extension [ClaimedKey] {
  /// Most come in it.
  fileprivate var inOrderOfSubjects: Self {
    guard indices.dropFirst().contains(where: { self[$0].subject < self[$0 - 1].subject }) else { return self }
    return sorted { $0.subject < $1.subject }
  }
}
