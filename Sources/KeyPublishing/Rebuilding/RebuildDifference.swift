internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization

/// Where a published file and the one that was made again part. What is said of it says nothing of keys that the published
/// file does not have: neither their data nor what they would say.
enum RebuildDifference {
  typealias Difference = RebuildVerdict.Difference

  /// - Throws: what reading the published archive throws.
  static func first(
    between archive: [UInt8], path: String, and keys: KeyShare, under header: ExportHeader
  ) throws -> Difference {
    var published = try PublishedReader(archive, path: path)
    var found: Difference?
    for revised in [false, true] {
      let place = revised ? "revised_keys" : "keys"
      var index = 0
      try keys.read { record in
        guard found == nil, record.key.isRevised == revised else { return }
        guard let key = try published.peek(), key.isRevised == revised else {
          found = Difference(
            place: place, index: nil, field: nil,
            text: "the published file has \(counted(index, "key")) in \(place), and made again there are more")
          return
        }
        index += 1
        if key.subject != record.key.subject {
          found = missing(key < record.key, index, place)
        } else if let (name, value) = firstField(of: key, otherThan: record.key) {
          found = Difference(
            place: place, index: index, field: name,
            text: "key \(index) of \(place): its \(name) is \(value) in the published file, and another one made again")
        }
        published.advance()
      }
      if found == nil, let key = try published.peek(), key.isRevised == revised {
        found = missing(true, index + 1, place)
      }
      if let found { return found }
    }
    // The header is read as a whole when all keys are.
    while try published.peek() != nil { published.advance() }
    if let field = firstField(of: published.header, otherThan: header) {
      return Difference(
        place: "header", index: nil, field: field.name,
        text: "header: \(field.name) is \(field.values.0) in the published file, made again \(field.values.1)")
    }
    return Difference(place: "bytes", index: nil, field: nil, text: "both say the same, in other bytes")
  }

  /// The keys that a published archive has and that are not made again: the first of them.
  static func missing(from keys: KeyShare, in archive: [UInt8], path: String) throws -> [ClaimedKey] {
    var published = try PublishedReader(archive, path: path)
    var missing: [ClaimedKey] = []
    for revised in [false, true] {
      func take(before key: ClaimedKey?) throws {
        while let next = try published.peek(), next.isRevised == revised, key.map({ next < $0 }) ?? true {
          if missing.count < most { missing.append(next) }
          published.advance()
        }
      }
      try keys.read { record in
        guard record.key.isRevised == revised else { return }
        try take(before: record.key)
        if let next = try published.peek(), next.isRevised == revised, next.subject == record.key.subject {
          published.advance()
        }
      }
      try take(before: nil)
    }
    return missing
  }

  /// Of so many missing keys it is asked what became of them.
  private static let most = 1 << 12

  private static func missing(_ isPublished: Bool, _ index: Int, _ place: String) -> Difference {
    Difference(
      place: place, index: index, field: nil,
      text: isPublished
        ? "key \(index) of \(place) in the published file is not made again"
        : "before key \(index) of \(place) in the published file one more is made again")
  }

  private static func firstField(
    of key: ClaimedKey, otherThan other: ClaimedKey
  ) -> (name: String, value: String)? {
    let fields: [(String, Int32?, Int32?)] = [
      ("rolling period", key.rollingPeriod, other.rollingPeriod),
      ("transmission risk", key.transmissionRisk, other.transmissionRisk),
      ("report type", key.reportType, other.reportType),
      ("days since onset", key.daysSinceOnset, other.daysSinceOnset),
    ]
    return fields.first { $0.1 != $0.2 }.map { ($0.0, $0.1.map(String.init) ?? "absent") }
  }

  private static func firstField(
    of header: ExportHeader, otherThan other: ExportHeader
  ) -> (name: String, values: (String, String))? {
    func text<Value>(_ value: Value?) -> String { value.map { "\($0)" } ?? "absent" }
    let signer = (header.signatureInfos.first, other.signatureInfos.first)
    let fields = [
      ("start_timestamp", text(header.startTimestamp), text(other.startTimestamp)),
      ("end_timestamp", text(header.endTimestamp), text(other.endTimestamp)),
      ("region", text(header.region), text(other.region)),
      ("batch_num", text(header.batchNum), text(other.batchNum)),
      ("batch_size", text(header.batchSize), text(other.batchSize)),
      ("signature_infos", "\(header.signatureInfos.count)", "\(other.signatureInfos.count)"),
      ("verification_key_id", text(signer.0?.verificationKeyID), text(signer.1?.verificationKeyID)),
      ("verification_key_version", text(signer.0?.verificationKeyVersion), text(signer.1?.verificationKeyVersion)),
      ("signature_algorithm", text(signer.0?.signatureAlgorithm), text(signer.1?.signatureAlgorithm)),
    ]
    return fields.first { $0.1 != $0.2 }.map { ($0.0, ($0.1, $0.2)) }
  }
}

/// The keys of a published archive, one after the other.
private struct PublishedReader: ~Copyable {
  private let decoder: any KeyDecoder
  private let path: String
  private var chunk = KeyChunk()
  private var keys: [ClaimedKey] = []
  private var position = 0
  private var isAtEnd = false

  init(_ archive: [UInt8], path: String) throws {
    decoder = try KeyDocument(MemorySource(archive), format: .gaenExport).decoder
    self.path = path
  }

  var header: ExportHeader { decoder.header }

  mutating func peek() throws -> ClaimedKey? {
    while position == keys.count, !isAtEnd {
      chunk.advance()
      isAtEnd = try !decoder.decode(into: &chunk)
      guard chunk.rejections.isEmpty else { throw PublishingFault(.fileDamaged, "\(path): keys cannot be read") }
      var read: [ClaimedKey] = []
      chunk.keys.withKeys { read = Array($0) }
      (keys, position) = (read, 0)
    }
    return position < keys.count ? keys[position] : nil
  }

  mutating func advance() { position += 1 }
}

/// The order within a list of a bundle.
private func < (left: ClaimedKey, right: ClaimedKey) -> Bool { left.subject < right.subject }
