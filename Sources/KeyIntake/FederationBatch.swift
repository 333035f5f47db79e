package import BundleTrust
package import ExposureKeys
package import KeyFormats

extension CanonicalBatch {
  /// What the signature over these keys covers, for whoever signs them.
  ///
  /// - Throws: ``FormatError`` when a region makes the form ambiguous.
  package static func signed(_ keys: [ClaimedKey], regions: RegionTable) throws -> SignedBatch {
    let rows = try keys.withUnsafeBufferPointer { try Self.rows(of: $0, regions: regions) }
    return SignedBatch(rows, keys: keys, regions: regions)
  }

  /// What somebody else's signature over these keys covers, and the regions that make the form ambiguous.
  package static func received(
    _ keys: [ClaimedKey], regions: RegionTable
  ) -> (batch: SignedBatch, ambiguities: [Ambiguity]) {
    let rows = keys.withUnsafeBufferPointer { Self.readRows(of: $0, regions: regions) }
    return (SignedBatch(rows, keys: keys, regions: regions), rows.ambiguities)
  }
}

extension SignedBatch {
  /// - Parameter keys: in the order of the upload, the same that the rows were made of.
  package init(_ rows: SignedRows, keys: [ClaimedKey], regions: RegionTable) {
    self.init(
      canonical: rows.bytes, origins: keys.map { regions[$0.regions].origin ?? "" },
      firstRows: (0..<min(3, rows.count)).map { FederationDigest.hexadecimal(rows[$0]) })
  }
}
