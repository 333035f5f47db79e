internal import BundleTrust
internal import ExposureKeys
internal import KeyConversion
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization

/// A bundle that is ready to be staged: encoded, signed and packed.
struct SealedBundle: Sendable {
  /// What it holds, in the order of subjects where it is a share of several; without keys once nobody needs them any more.
  private(set) var keys: KeyShare
  let keyCount: Int
  let revisedKeyCount: Int
  let start: Int64
  /// Where the window ended, and the end that the header states: later by a second for each bundle before this one.
  let windowEnd: Int64
  let end: Int64
  let content: ArchiveSpool
  let archiveDigest: String
  let exportDigest: String

  /// The same bundle without its keys.
  var withoutKeys: SealedBundle {
    var bundle = self
    bundle.keys = KeyShare(run: KeyRun())
    return bundle
  }
}

/// Encodes, signs and packs the keys of a window. `export.bin` depends on the keys, the window and the settings alone.
struct BundleSealer {
  let settings: SeriesSettings
  let signer: SigningIdentity
  /// Where its archives lie.
  private let shelf = ArchiveShelf()

  init(settings: SeriesSettings, signer: SigningIdentity) {
    self.settings = settings
    self.signer = signer
  }

  /// As many bundles as the settings ask for, the keys dealt out among them like cards: each has its share, and key data
  /// that stands under two rolling starts goes to two bundles, because devices want it once in a file.
  ///
  /// Devices tell bundles apart by their windows, so no two may end at the same time. The first ends with the window, and
  /// each further one a second later, never earlier: a key must have expired two hours before the end that its bundle states.
  ///
  /// - Parameters:
  ///   - keys: in the order of subjects, each subject once.
  ///   - firstEnd: the end that the first one states, where it is not that of the window.
  func seal(_ keys: KeyRun, start: Int64, windowEnd: Int64, firstEnd: Int64? = nil) throws -> [SealedBundle] {
    let end = firstEnd ?? windowEnd
    var parts = max(1, (keys.count + settings.maximumKeys - 1) / max(1, settings.maximumKeys), keys.multiplicity)
    while true {
      guard parts <= max(1, keys.count), Int64(parts) < settings.period else {
        throw PublishingFault(
          .bundleTooLarge,
          "\(counted(keys.count, "key")) do not fit into \(counted(parts - 1, "bundle")) of at most "
            + "\(grouped(settings.maximumKeys)) keys and \(grouped(settings.maximumBytes)) bytes")
      }
      var bundles: [SealedBundle] = []
      for (part, share) in try keys.dealt(among: parts).enumerated() {
        bundles.append(try seal(share, start: start, windowEnd: windowEnd, end: end + Int64(part)))
        // One that is too large is a reason to begin again with more of them.
        if bundles[part].content.byteCount > settings.maximumBytes { break }
      }
      guard let last = bundles.last, last.content.byteCount > settings.maximumBytes else { return bundles }
      parts = max(parts + 1, parts * last.content.byteCount / max(1, settings.maximumBytes))
    }
  }

  /// One bundle, whatever its size.
  ///
  /// - Parameter keys: in the order of subjects, each subject once.
  func sealOne(_ keys: KeyRun, start: Int64, windowEnd: Int64, end: Int64) throws -> SealedBundle {
    try seal(KeyShare(run: keys), start: start, windowEnd: windowEnd, end: end)
  }

  private func seal(_ keys: KeyShare, start: Int64, windowEnd: Int64, end: Int64) throws -> SealedBundle {
    let archive = ArchiveSpool(on: shelf)
    let written = try BundleWriter(signers: [signer], packing: .archive).write(
      keys, under: ExportHeader(start: start, end: end, region: settings.headerRegion, signedBy: signer.info),
      to: ConversionOutput(document: archive))
    return SealedBundle(
      keys: keys, keyCount: written.keys, revisedKeyCount: written.revised, start: start, windowEnd: windowEnd,
      end: end,
      content: archive, archiveDigest: try SourceDocument.digest(of: archive).hexadecimal,
      exportDigest: written.digests.hexadecimal)
  }
}

extension ExportHeader {
  /// What the bundles of a series state.
  init(start: Int64, end: Int64, region: String?, signedBy signer: SignatureInfo) {
    self.init(
      startTimestamp: UInt64(max(0, start)), endTimestamp: UInt64(max(0, end)), region: region, batchNum: 1,
      batchSize: 1, signatureInfos: [signer])
  }
}

extension BundleWriter {
  /// Writes the keys of a bundle: within each list in the order of key data, the revised ones last.
  func write(
    _ keys: KeyShare, under header: ExportHeader, to output: ConversionOutput
  ) throws -> (digests: ExportDigests, keys: Int, revised: Int) {
    var (count, revisedCount) = (0, 0)
    let digests = try write(header, to: output) { encoder in
      count = try keys.encode(revised: false, with: encoder)
      if keys.run.revisedCount > 0 { revisedCount = try keys.encode(revised: true, with: encoder) }
    }
    return (digests, count, revisedCount)
  }
}

extension KeyShare {
  /// - Returns: how many keys were written.
  fileprivate func encode(revised: Bool, with encoder: ExportEncoder) throws -> Int {
    var count = 0
    var piece: [ClaimedKey] = []
    piece.reserveCapacity(Self.encodedAtOnce)
    func flush() throws {
      try piece.withUnsafeBufferPointer {
        try encoder.encode($0, regions: RegionTable(), unknownFields: UnknownFieldTable())
      }
      count += piece.count
      piece.removeAll(keepingCapacity: true)
    }
    try read { record in
      guard record.key.isRevised == revised else { return }
      piece.append(record.key)
      if piece.count == Self.encodedAtOnce { try flush() }
    }
    try flush()
    return count
  }

  private static let encodedAtOnce = 1 << 11
}

/// Lower-case hexadecimal SHA-256.
package func sha256(_ bytes: [UInt8]) -> String { ExportDigests(of: bytes, includingBody: false).hexadecimal }

/// The keys of bundles that this gateway wrote.
enum PublishedKeys {
  static func keys(of archive: [UInt8], path: String) throws -> [ClaimedKey] {
    let document = try DecodedDocument(archive, format: .gaenExport)
    guard document.rejections.isEmpty else { throw PublishingFault(.fileDamaged, "\(path): keys cannot be read") }
    return document.keys
  }

  /// Hands over the keys of an archive, some thousand at a time.
  static func read(of archive: [UInt8], path: String, _ body: (ClaimedKey) throws -> Void) throws {
    let decoder = try KeyDocument(MemorySource(archive), format: .gaenExport).decoder
    var chunk = KeyChunk()
    while try decoder.decode(into: &chunk) {
      guard chunk.rejections.isEmpty else { throw PublishingFault(.fileDamaged, "\(path): keys cannot be read") }
      try chunk.keys.withKeys { for key in $0 { try body(key) } }
      chunk.advance()
    }
  }
}
