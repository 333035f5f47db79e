package import ExposureKeys
package import KeyFormats

/// A whole document in memory: what tests make, encode, decode and compare.
package struct DecodedDocument: Sendable {
  package var header: ExportHeader
  package var keys: [ClaimedKey]
  package var regions: RegionTable
  package var unknownFields: UnknownFieldTable
  package var rejections: [Rejection]
  package var notes: ReadingNotes

  package init(
    header: ExportHeader = ExportHeader(), keys: [ClaimedKey] = [], regions: RegionTable = RegionTable(),
    unknownFields: UnknownFieldTable = UnknownFieldTable(), rejections: [Rejection] = [],
    notes: ReadingNotes = ReadingNotes()
  ) {
    self.header = header
    self.keys = keys
    self.regions = regions
    self.unknownFields = unknownFields
    self.rejections = rejections
    self.notes = notes
  }

  /// Reads everything that `decoder` gives, in chunks of `chunkCapacity` keys. A small one tests the seams.
  package init(decoding decoder: any KeyDecoder, chunkCapacity: Int = 2048) throws {
    self.init()
    var chunk = KeyChunk(capacity: chunkCapacity)
    while try decoder.decode(into: &chunk) {
      take(chunk)
      chunk.advance()
    }
    header = decoder.header
    regions = decoder.regions
    notes = decoder.notes
  }

  private mutating func take(_ chunk: borrowing KeyChunk) {
    let unknown = chunk.unknownFields
    chunk.keys.withKeys { claims in
      for var claim in claims {
        if claim.unknownFields != 0 { claim.unknownFields = unknownFields.append(unknown[claim.unknownFields]) }
        keys.append(claim)
      }
    }
    rejections += chunk.rejections
  }

  /// Writes everything through `encoder`, `keysAtOnce` at a time.
  package func encode(with encoder: any KeyEncoder, keysAtOnce: Int = 2048) throws {
    try encoder.begin(header)
    try keys.withUnsafeBufferPointer { all in
      for start in stride(from: 0, to: all.count, by: keysAtOnce) {
        let run = UnsafeBufferPointer(rebasing: all[start..<min(start + keysAtOnce, all.count)])
        try encoder.encode(run, regions: regions, unknownFields: unknownFields)
      }
    }
    try encoder.finish(header)
  }

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
