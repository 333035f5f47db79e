package import ExposureKeys
package import KeyFormats

extension DecodedDocument {
  /// What the document says, apart from how its tables are numbered and how `keys` and `revised_keys` are interleaved.
  package var content: Content {
    let described = keys.map { claim in
      var plain = claim
      plain.regions = .none
      plain.unknownFields = 0
      return Content.Key(
        claim: plain, regions: regions[claim.regions], unknownFields: Array(unknownFields[claim.unknownFields]))
    }
    return Content(
      header: header, keys: described.filter { !$0.claim.isRevised }, revised: described.filter(\.claim.isRevised),
      rejected: rejections.map(\.reason.rawValue).sorted())
  }

  package struct Content: Equatable, Sendable {
    package var header: ExportHeader
    package var keys: [Key]
    package var revised: [Key]
    /// Reasons in alphabetical order.
    package var rejected: [String]

    package struct Key: Hashable, Sendable {
      /// With the numbers of both tables set to zero.
      package var claim: ClaimedKey
      package var regions: RegionClaim
      package var unknownFields: [UInt8]
    }
  }
}
