package import ExposureKeys

/// The headers of several documents as one: the window that covers all, the region if they agree. The order of the
/// documents makes no difference.
package struct HeaderMerge {
  package private(set) var regions: Set<String> = []
  /// Batches of which a document was only one part: `(2, 7)`.
  package private(set) var partialBatches: [(number: Int32, size: Int32)] = []
  private var headers: [ExportHeader] = []

  package init() {}

  package mutating func add(_ header: ExportHeader) {
    headers.append(header)
    if let region = header.region { regions.insert(region) }
    if let size = header.batchSize, size != 1 { partialBatches.append((header.batchNum ?? 1, size)) }
  }

  /// One document keeps its header as it is.
  package var merged: ExportHeader {
    if headers.count == 1 { return headers[0] }
    // The batch is a statement about one document; a merged one is whole.
    return ExportHeader(
      startTimestamp: headers.compactMap(\.startTimestamp).min(),
      endTimestamp: headers.compactMap(\.endTimestamp).max(),
      region: regions.count == 1 ? regions.first : nil,
      signatureInfos: Set(headers.flatMap(\.signatureInfos)).sorted { $0.precedes($1) },
      unknownFields: Set(headers.map(\.unknownFields)).sorted { $0.lexicographicallyPrecedes($1) }.flatMap { $0 })
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
