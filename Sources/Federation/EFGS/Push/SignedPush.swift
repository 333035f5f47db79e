internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake
internal import KeyStorage

/// A batch, whole and signed, before it is staged.
struct SignedPush {
  let push: NewPush
  let body: [UInt8]
  let keys: [PushedKey]

  /// - Parameter number: of the batch among those of its day, from 1.
  init(_ keys: [PushedKey], number: Int, for settings: DestinationSettings, at now: Instant) throws {
    var regions = RegionTable()
    var rows: [ClaimedKey] = []
    rows.reserveCapacity(keys.count)
    for key in keys {
      let claim = RegionClaim(origin: settings.origin, visited: key.row.visited)
      guard let id = regions.intern(claim) else { throw FormatError(.cannotExpress, RegionTable.refusal(of: claim)) }
      rows.append(key.row.key(about: key.subject, regions: id))
    }
    let sink = MemorySink()
    let output = OutputBuffer(sink)
    let encoder: any KeyEncoder
    switch settings.format {
    case .protobuf: encoder = BatchEncoder(output)
    case .json: encoder = EFGSJSONEncoder(output)
    }
    try encoder.begin(ExportHeader())
    let canonical = try rows.withUnsafeBufferPointer { rows in
      try encoder.encode(rows, regions: regions, unknownFields: UnknownFieldTable())
      return try CanonicalBatch.bytes(of: rows, regions: regions)
    }
    try encoder.finish(ExportHeader())
    let signature = try settings.signer.sign(canonical, at: now)
    let digest = try SourceDocument.digest(of: MemorySource(canonical)).hexadecimal
    push = NewPush(
      destination: settings.name, tag: Self.tag(of: settings.origin, now.day, number, digest),
      signature: Base64.encode(signature), mediaType: settings.format.mediaType, keyCount: keys.count, digest: digest)
    body = sink.bytes
    self.keys = keys
  }

  /// `DE-20210301-2-1a2b3c`: nobody else uses it, and it says when it was made.
  private static func tag(of origin: String, _ day: Day, _ number: Int, _ digest: String) -> String {
    let date = day.description.filter { $0 != "-" }
    return "\(origin.prefix(16))-\(date)-\(number)-\(digest.prefix(6))"
  }
}

extension DestinationSettings.Format {
  var mediaType: String { "application/\(rawValue); version=1.0" }
}
