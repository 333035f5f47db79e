package import ExposureKeys

/// An upload's number in the federation gateway. Later ones have greater numbers.
package struct FederationUploadID: Hashable, Comparable, Sendable, Codable {
  package let rawValue: Int64
  package init(rawValue: Int64) { self.rawValue = rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A download batch's number in the store. Later ones have greater numbers.
package struct FederationBatchID: Hashable, Comparable, Sendable, Codable {
  package let rawValue: Int64
  package init(rawValue: Int64) { self.rawValue = rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What a national back end uploaded to the federation gateway, as it is about to be kept.
package struct NewFederationUpload: Hashable, Sendable {
  /// Two capital letters.
  package var country: String
  /// What the country called it, 1...64 visible ASCII characters.
  package var tag: String
  /// Lower-case hexadecimal SHA-256 of the signature's text, and of the bytes that it covers.
  package var signatureDigest: String
  package var canonicalDigest: String
  /// The audit entry as auditors get it: a JSON object.
  package var audit: [UInt8]
  /// The keys as they are passed on: a protobuf `DiagnosisKeyBatch`.
  package var keys: [UInt8]
  /// The SHA-256 of each key's canonical row, 32 bytes each, in the order sent.
  package var rows: [[UInt8]]
  /// How long it is kept while it is in no download batch.
  package var until: Instant

  package init(
    country: String, tag: String, signatureDigest: String, canonicalDigest: String, audit: [UInt8], keys: [UInt8],
    rows: [[UInt8]], until: Instant
  ) {
    self.country = country
    self.tag = tag
    self.signatureDigest = signatureDigest
    self.canonicalDigest = canonicalDigest
    self.audit = audit
    self.keys = keys
    self.rows = rows
    self.until = until
  }
}

/// An upload of a national back end, as the federation gateway keeps it.
package struct FederationUpload: Hashable, Sendable {
  /// Why an upload is passed on no more. Its signature covers all of its keys, so that it goes as a whole.
  package enum Withdrawal: String, Hashable, Sendable, CaseIterable, Codable {
    /// The operator withdrew what its country said.
    case recalled
    /// It was held, and the operator dropped what was held of it.
    case discarded
    /// The operator erased one of its keys.
    case erased
  }

  package var id: FederationUploadID
  /// The document that its claims came in.
  package var document: DocumentID
  package var country: String
  package var tag: String
  package var signatureDigest: String
  package var canonicalDigest: String
  package var time: Instant
  package var keyCount: Int
  /// A JSON object.
  package var audit: [UInt8]
  /// The download batch that it is in; `nil` while it waits for one.
  package var batch: FederationBatchID?
  package var withdrawal: Withdrawal?

  package init(
    id: FederationUploadID, document: DocumentID, country: String, tag: String, signatureDigest: String,
    canonicalDigest: String, time: Instant, keyCount: Int, audit: [UInt8], batch: FederationBatchID? = nil,
    withdrawal: Withdrawal? = nil
  ) {
    self.id = id
    self.document = document
    self.country = country
    self.tag = tag
    self.signatureDigest = signatureDigest
    self.canonicalDigest = canonicalDigest
    self.time = time
    self.keyCount = keyCount
    self.audit = audit
    self.batch = batch
    self.withdrawal = withdrawal
  }
}

/// A download batch of the federation gateway. It is closed from the moment on at which it is made.
package struct FederationBatch: Hashable, Sendable {
  package var id: FederationBatchID
  package var day: Day
  /// Of its day: 1, 2, 3, … without gaps.
  package var number: Int
  package var made: Instant

  package init(id: FederationBatchID, day: Day, number: Int, made: Instant) {
    self.id = id
    self.day = day
    self.number = number
    self.made = made
  }

  /// What clients call it: `20201201-3`.
  package var tag: String { "\(day)".filter { $0 != "-" } + "-\(number)" }

  /// The day and the number of a tag; `nil` for what no gateway of this kind calls a batch.
  package static func place(of tag: String) -> (day: Day, number: Int)? {
    let parts = tag.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    let isNumber = { (part: Substring.UTF8View) in part.allSatisfy { (0x30...0x39).contains($0) } }
    guard parts.count == 2, parts[0].count == 8, (1...9).contains(parts[1].count), parts.allSatisfy(isNumber),
      parts[1].first != UInt8(ascii: "0"), let date = Int64(String(parts[0]) ?? ""),
      let number = Int(String(parts[1]) ?? ""),
      let day = Day(year: date / 10_000, month: date / 100 % 100, day: date % 100)
    else { return nil }
    return (day, number)
  }
}

/// What one country uploaded on one day.
package struct FederationDay: Hashable, Sendable {
  package var day: Day
  package var country: String
  package var uploads: Int
  package var keys: Int

  package init(day: Day, country: String, uploads: Int, keys: Int) {
    self.day = day
    self.country = country
    self.uploads = uploads
    self.keys = keys
  }
}

/// For whom a tag may be used once, while its upload is kept.
package enum FederationTagScope: String, Hashable, Sendable, CaseIterable {
  /// Each country has its own tags.
  case country
  /// All countries share them, as the European gateway had it.
  case gateway
}

/// What became of an upload.
package enum FederationReceipt: Hashable, Sendable {
  case recorded(FederationUpload, DocumentFacts)
  /// The same upload was recorded before: its client did not hear the answer.
  case repeated(FederationUpload)
  /// Another upload has the tag.
  case tagTaken(by: String)
  /// These keys are known, counted from 0 in the order sent; nothing was recorded.
  case duplicates([Int])
}
