public import ExposureKeys

/// The headers of several documents as one: the window that covers all, the region if they agree. The order of the
/// documents makes no difference, nor whether they stand in one file or in many.
public struct HeaderMerge: Sendable {
  /// How many documents there were.
  public private(set) var count = 0
  /// The regions that documents stated as their own.
  public private(set) var regions: Set<String> = []
  /// Batches of which a document was only one part, as `number` of `size`.
  public private(set) var partialBatches: [(number: Int32, size: Int32)] = []
  /// About how many bytes it takes in memory, so that who reads strangers' documents can bound it.
  private(set) var byteCount = 0

  /// The first one, which alone stays as it is.
  private var first = ExportHeader()
  private var start: UInt64?
  private var end: UInt64?
  private var signatureInfos: Set<SignatureInfo> = []
  private var unknownFields: Set<[UInt8]> = []

  public init() {}

  public init(_ header: ExportHeader) { add(header) }

  public mutating func add(_ header: ExportHeader) {
    if count == 0 { first = header }
    count += 1
    start = [start, header.startTimestamp].compactMap { $0 }.min()
    end = [end, header.endTimestamp].compactMap { $0 }.max()
    if let region = header.region { add(region: region) }
    for info in header.signatureInfos { add(info) }
    add(unknown: header.unknownFields)
    if let size = header.batchSize, size != 1 { add(batch: (header.batchNum ?? 1, size)) }
  }

  public mutating func add(_ other: HeaderMerge) {
    guard other.count > 1 else { return other.count == 1 ? add(other.first) : () }
    if count == 0 { first = other.first }
    count += other.count
    start = [start, other.start].compactMap { $0 }.min()
    end = [end, other.end].compactMap { $0 }.max()
    for region in other.regions { add(region: region) }
    for info in other.signatureInfos { add(info) }
    for fields in other.unknownFields { add(unknown: fields) }
    for batch in other.partialBatches { add(batch: batch) }
  }

  private mutating func add(region: String) {
    if regions.insert(region).inserted { byteCount += region.utf8.count + 64 }
  }

  private mutating func add(_ info: SignatureInfo) {
    guard signatureInfos.insert(info).inserted else { return }
    let texts = [
      info.appBundleID, info.androidPackage, info.verificationKeyVersion, info.verificationKeyID,
      info.signatureAlgorithm,
    ]
    byteCount += texts.reduce(info.unknownFields.count + 256) { $0 + ($1?.utf8.count ?? 0) }
  }

  private mutating func add(unknown fields: [UInt8]) {
    if unknownFields.insert(fields).inserted { byteCount += fields.count + 64 }
  }

  private mutating func add(batch: (number: Int32, size: Int32)) {
    partialBatches.append(batch)
    byteCount += 8
  }

  /// Forgets the fields that readers do not know, and says whether there were any.
  public mutating func dropUnknownFields() -> Bool {
    let hadAny = unknownFields.contains { !$0.isEmpty }
    first.unknownFields = []
    unknownFields = []
    return hadAny
  }

  /// One document keeps its header as it is.
  public var merged: ExportHeader {
    if count <= 1 { return first }
    // The batch is a statement about one document; a merged one is whole.
    return ExportHeader(
      startTimestamp: start, endTimestamp: end, region: regions.count == 1 ? regions.first : nil,
      signatureInfos: signatureInfos.sorted { $0.precedes($1) },
      unknownFields: unknownFields.sorted { $0.lexicographicallyPrecedes($1) }.flatMap { $0 })
  }
}

/// The headers of the documents that stand in the same bytes, one behind the other.
struct DocumentHeaders {
  /// Of the one that is being read.
  var current = ExportHeader()
  private var ended = HeaderMerge()

  var merged: ExportHeader { ended.count == 0 ? current : all.merged }

  var all: HeaderMerge {
    var all = ended
    all.add(current)
    return all
  }

  /// The next document begins here. `next` is what it is known to say of itself.
  ///
  /// - Throws: ``FormatError`` with `limitExceeded` when the headers take more than a record may.
  mutating func beginNext(_ limits: ReadLimits, saying next: ExportHeader = ExportHeader()) throws {
    ended.add(current)
    current = next
    guard ended.byteCount <= limits.recordBytes else {
      throw FormatError(
        .limitExceeded,
        "the headers of \(ended.count) documents in one file take \(ended.byteCount) bytes, allowed are at most "
          + "\(limits.recordBytes)")
    }
  }
}

extension SignatureInfo {
  /// By id, version, and then the rest.
  fileprivate func precedes(_ other: SignatureInfo) -> Bool {
    let members: [KeyPath<SignatureInfo, String?>] = [
      \.verificationKeyID, \.verificationKeyVersion, \.signatureAlgorithm, \.appBundleID, \.androidPackage,
    ]
    for member in members {
      let (left, right) = (self[keyPath: member], other[keyPath: member])
      guard left != right else { continue }
      guard let left, let right else { return left == nil }
      return left.utf8.lexicographicallyPrecedes(right.utf8)
    }
    return unknownFields.lexicographicallyPrecedes(other.unknownFields)
  }
}
