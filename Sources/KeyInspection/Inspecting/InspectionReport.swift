/// What is in one document. The text on a terminal is a rendering of this struct; its JSON is described by
/// `schemas/inspection.schema.json`.
///
/// Optional members are left out of the JSON when the document does not state them: absent is not zero.
package struct InspectionReport: Codable, Hashable, Sendable {
  /// Raised when a member changes its meaning or goes away.
  package var reportVersion = 1
  /// The file's name, as the caller gave it.
  package var name: String
  /// Bytes of the file as it is stored.
  package var size: Int?
  /// The format's name, as on the command line.
  package var format: String
  package var container: Container?
  /// `exact`, `wrong-padding` or `absent`; exports only.
  package var fileHeader: FileHeader?
  /// SHA-256 of `export.bin`; filled in by the caller, who sees its bytes.
  package var sha256: String?
  package var sha256Base64: String?
  package var window: Window
  package var region: String?
  package var batch: Batch
  /// The signature infos in `export.bin`.
  package var signatureInfos: [Info]
  /// Bytes of `export.sig`; absent when there is none.
  package var signatureFileSize: Int?
  /// The entries of `export.sig`.
  package var signatures: [Signature]
  package var keys: KeyTotals
  package var distributions: Distributions
  /// The guess of how often each real key was cloned to hide small numbers; absent when it cannot be told.
  package var padding: PaddingGuess?
  /// The most severe first.
  package var findings: [Finding]
  /// What was skipped or read leniently.
  package var notes: [Note]
  package var rejections: Rejections

  package struct Container: Codable, Hashable, Sendable {
    package var kind: Kind
    package var entries: [Entry]
    /// Bytes before the archive begins.
    package var prefixBytes: Int
    package var commentBytes: Int

    package enum Kind: String, Codable, Hashable, Sendable { case zip, bare }
  }

  package struct Entry: Codable, Hashable, Sendable {
    package var name: String
    package var role: Role
    /// `stored`, `deflated`, or the number of another method.
    package var method: String
    package var size: Int
    package var compressedSize: Int
    /// Local date and time, `2020-06-27T09:00:00`; absent when the archive states none that exists.
    package var date: String?
    package var hasDataDescriptor: Bool

    package enum Role: String, Codable, Hashable, Sendable { case export, signature, other, folder }
  }

  package enum FileHeader: String, Codable, Hashable, Sendable {
    case exact
    case wrongPadding = "wrong-padding"
    case absent
  }

  /// The arrival window of the keys at the server: UTC seconds, and the same as RFC 3339 where a calendar has it.
  package struct Window: Codable, Hashable, Sendable {
    package var start: UInt64?
    package var end: UInt64?
    package var startTime: String?
    package var endTime: String?
  }

  package struct Batch: Codable, Hashable, Sendable {
    package var number: Int32?
    package var size: Int32?
  }

  /// Which key is said to have signed.
  package struct Info: Codable, Hashable, Sendable {
    package var verificationKeyID: String?
    package var verificationKeyVersion: String?
    package var signatureAlgorithm: String?
    package var appBundleID: String?
    package var androidPackage: String?
  }

  package struct Signature: Codable, Hashable, Sendable {
    package var info: Info
    package var batch: Batch
    /// Bytes of the signature itself.
    package var size: Int
    package var encoding: SignatureEncoding
  }

  package struct KeyTotals: Codable, Hashable, Sendable {
    /// Keys that were taken in, revised ones included.
    package var total: Int
    /// Those among them that stand in `revised_keys`.
    package var revised: Int
    package var rejected: Int
    /// Distinct pairs of key data and rolling start; absent when there were too many to compare.
    package var distinct: Int?
  }

  package struct Distributions: Codable, Hashable, Sendable {
    /// By the UTC day of the rolling start; the value counts days since 1970.
    package var keyDay: Distribution
    package var transmissionRiskLevel: Distribution
    package var reportType: Distribution
    package var daysSinceOnsetOfSymptoms: Distribution
    package var rollingPeriod: Distribution
    /// By the region that uploaded the key; absent when the document names no regions.
    package var origin: Distribution?
  }

  package struct Distribution: Codable, Hashable, Sendable {
    /// In ascending order of the value; keys that do not state the field come last.
    package var rows: [Row]
    /// Keys with values beyond the 4096 that are told apart.
    package var others: Int

    package struct Row: Codable, Hashable, Sendable {
      /// Absent for keys that do not state the field, and for fields that are no numbers.
      package var value: Int64?
      package var label: String
      package var count: Int
    }
  }

  package struct Note: Codable, Hashable, Sendable {
    package var code: String
    package var subject: String
    package var text: String
    package var count: Int
  }

  package struct Rejections: Codable, Hashable, Sendable {
    package var byReason: [Reason]
    /// The first twenty.
    package var first: [Entry]

    package struct Reason: Codable, Hashable, Sendable {
      package var reason: String
      package var count: Int
    }

    package struct Entry: Codable, Hashable, Sendable {
      /// Index in the document, counted from 0.
      package var index: Int
      /// Offset in the uncompressed document.
      package var byteOffset: Int
      package var reason: String
      package var detail: String
    }
  }
}

/// How often a server seems to have cloned each real key, and on how many groups of keys the guess rests.
package struct PaddingGuess: Codable, Hashable, Sendable {
  /// 1 when the keys show no padding of this kind.
  package var multiplier: Int
  package var groups: Int
}
