internal import ExposureKeys

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Why a document as a whole could not be read or written.
///
/// A bad key among good ones is no error but a `Rejection`.
public struct FormatError: Error, Hashable, Sendable {
  /// The stable code for programs; tests compare it.
  public var code: Code
  /// Which file or part: `export.bin`, `line 3`. Empty when the caller adds it.
  public var place: String
  /// Offset in the (uncompressed) document, where one is known.
  public var byteOffset: Int?
  /// What was found and what is allowed. Never key material.
  public var reason: String

  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// The bytes end in the middle of something.
    case truncated
    /// A field's encoding is not valid.
    case malformed
    /// Something is larger than this program reads.
    case limitExceeded = "limit-exceeded"
    /// No known format begins like this, or no field of the format occurs in the text.
    case unrecognizedFormat = "unrecognized-format"
    /// The document is in a known format but uses a feature that is not supported.
    case unsupported
    /// The archive lacks an entry that the format needs.
    case missingEntry = "missing-entry"
    /// The archive names an entry twice.
    case duplicateEntry = "duplicate-entry"
    /// The stored check sum does not match the content.
    case checksumMismatch = "checksum-mismatch"
    /// The target format cannot express what it was given.
    case cannotExpress = "cannot-express"
    /// A file cannot be opened or read.
    case cannotRead = "cannot-read"
  }

  public init(_ code: Code, place: String = "", byteOffset: Int? = nil, _ reason: String) {
    self.code = code
    self.place = place
    self.byteOffset = byteOffset
    self.reason = reason
  }

  /// The same error with this place in front of its own.
  public func within(_ outer: String) -> FormatError {
    var error = self
    error.place = place.isEmpty ? outer : "\(outer): \(place)"
    return error
  }
}

extension FormatError: CustomStringConvertible {
  /// `export.bin: byte 1042: field 7: length 9,000,000, allowed 0...1,048,576`.
  public var description: String {
    [place, byteOffset.map { "byte \($0)" } ?? "", reason].filter { !$0.isEmpty }.joined(separator: ": ")
  }
}

extension FormatError: LocalizedError {
  public var errorDescription: String? { description }
}

/// Limits on what a document may make this program hold at once. Files are hostile always.
public struct ReadLimits: Sendable, Hashable {
  /// The most bytes of one document, after inflating.
  public var documentBytes: Int
  /// The most bytes of one record: a key message, a JSON object, a CSV row.
  public var recordBytes: Int
  /// The most bytes of `export.sig`.
  public var signatureBytes: Int
  /// How deep JSON may nest.
  public var nesting: Int

  public init(
    documentBytes: Int = 16 << 30, recordBytes: Int = 1 << 20, signatureBytes: Int = 1 << 20, nesting: Int = 512
  ) {
    self.documentBytes = documentBytes
    self.recordBytes = recordBytes
    self.signatureBytes = signatureBytes
    self.nesting = nesting
  }
}

extension FormatError: ProgramFault {}
