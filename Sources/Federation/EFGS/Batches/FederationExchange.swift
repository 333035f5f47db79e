package import BundleTrust
package import KeyFormats

/// Who asks a federation gateway: a country, by the certificate of its TLS client.
///
/// Whoever makes one has looked it up in the whitelist: it is signed by the operator, not revoked, and valid now.
package struct FederationClient: Hashable, Sendable {
  /// The row of the whitelist, of the kind `AUTHENTICATION`.
  package let row: WhitelistedCertificate
  /// Two capital letters.
  package var country: String { row.country }
  /// SHA-256 of the certificate's DER, 64 lower-case hexadecimal digits.
  package var thumbprint: String { row.certificate.thumbprint }

  package init(_ row: WhitelistedCertificate) { self.row = row }
}

/// What a national back end uploads, as it came.
package struct FederationDelivery: Sendable {
  package var client: FederationClient
  /// 1...64 visible ASCII characters.
  package var tag: String
  /// The text of the header: base64 of CMS.
  package var signature: String
  /// Of the body: `efgs-protobuf` or `efgs-json`.
  package var format: KeyFormat
  package var body: [UInt8]

  package init(client: FederationClient, tag: String, signature: String, format: KeyFormat, body: [UInt8]) {
    self.client = client
    self.tag = tag
    self.signature = signature
    self.format = format
    self.body = body
  }
}

/// What became of an upload that is not refused.
package enum FederationOutcome: Hashable, Sendable {
  /// - Parameter held: keys that wait for the operator, and with them the upload.
  case recorded(keys: Int, held: Int)
  /// It had been recorded before.
  case repeated
  /// Some keys are known, by their place; nothing was recorded.
  case duplicates([Int], of: Int)
}

/// A batch that a country downloads.
package struct FederationDownload: Hashable, Sendable {
  package var tag: String
  /// Of the batch behind it; `nil` where there is none yet.
  package var next: String?
  /// A protobuf `DiagnosisKeyBatch`, without the keys of who asks.
  package var keys: [UInt8]

  package init(tag: String, next: String?, keys: [UInt8]) {
    self.tag = tag
    self.next = next
    self.keys = keys
  }
}

/// Why the federation gateway refuses a request. Whoever speaks HTTP says it as a status.
package struct FederationRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Cause: Hashable, Sendable {
    /// What was sent is not as it must be.
    case malformed
    /// Nobody knows who asks, or he may not.
    case notAllowed
    /// The version of what was sent is another one.
    case wrongVersion
    /// It is of a type that is not taken, or asks for one that is not given.
    case wrongType
    case tagTaken
    case tooLarge
    case notFound
    /// It was there, and its time is over.
    case gone
    /// Another time it may be answered.
    case busy
    /// Nothing can be kept or read now, as while a database is away.
    case away
  }

  package var cause: Cause
  /// The stable code.
  package var code: String
  /// One line for people: what is wrong, where, and what is allowed.
  package var reason: String
  /// The first key concerned, counted from 0 in the order sent.
  package var key: Int?
  /// Where a signature is refused: the step, and what a partner compares.
  package var signature: BatchRefusal?

  package init(
    _ cause: Cause, _ code: String, _ reason: String, key: Int? = nil, signature: BatchRefusal? = nil
  ) {
    self.cause = cause
    self.code = code
    self.reason = reason
    self.key = key
    self.signature = signature
  }

  package var description: String { reason }
}
