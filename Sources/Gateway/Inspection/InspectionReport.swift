/// What is in one document. The text on a terminal is a rendering of this struct; its JSON is described by
/// `schemas/inspection.schema.json`.
///
/// Optional members are left out of the JSON when the document does not state them: absent is not zero.
public struct InspectionReport: Codable, Hashable, Sendable {
  /// Raised when a member changes its meaning or goes away.
  public var reportVersion = 1
  /// The file's name, as the caller gave it.
  public var name: String
  /// Bytes of the file as it is stored.
  public var size: Int?
  /// The format's name, as on the command line.
  public var format: String
  public var container: Container?
  /// `exact`, `wrong-padding` or `absent`; exports only.
  public var fileHeader: FileHeader?
  /// SHA-256 of `export.bin`; filled in by the caller, who sees its bytes.
  public var sha256: String?
  public var sha256Base64: String?
  public var window: Window
  public var region: String?
  public var batch: Batch
  /// The signature infos in `export.bin`.
  public var signatureInfos: [Info]
  /// Bytes of `export.sig`; absent when there is none.
  public var signatureFileSize: Int?
  /// The entries of `export.sig`.
  public var signatures: [Signature]
  public var keys: KeyCounts
  public var distributions: Distributions
  /// The guess of how often each real key was cloned to hide small numbers; absent when it cannot be told.
  public var padding: PaddingGuess?
  /// The most severe first.
  public var findings: [Finding]
  /// What was skipped or read leniently.
  public var notes: [Note]
  public var rejections: Rejections

  public struct Container: Codable, Hashable, Sendable {
    public var kind: Kind
    public var entries: [Entry]
    /// Bytes before the archive begins.
    public var prefixBytes: Int
    public var commentBytes: Int

    public enum Kind: String, Codable, Hashable, Sendable { case zip, bare }

    enum CodingKeys: String, CodingKey {
      case kind, entries
      case prefixBytes = "prefix_bytes"
      case commentBytes = "comment_bytes"
    }
  }

  public struct Entry: Codable, Hashable, Sendable {
    public var name: String
    public var role: Role
    /// `stored`, `deflated`, or the number of another method.
    public var method: String
    public var size: Int
    public var compressedSize: Int
    /// Local date and time, `2020-06-27T09:00:00`; absent when the archive states none that exists.
    public var date: String?
    public var hasDataDescriptor: Bool

    public enum Role: String, Codable, Hashable, Sendable { case export, signature, other, folder }

    enum CodingKeys: String, CodingKey {
      case name, role, method, size, date
      case compressedSize = "compressed_size"
      case hasDataDescriptor = "has_data_descriptor"
    }
  }

  public enum FileHeader: String, Codable, Hashable, Sendable {
    case exact
    case wrongPadding = "wrong-padding"
    case absent
  }

  /// The arrival window of the keys at the server: UTC seconds, and the same as RFC 3339 where a calendar has it.
  public struct Window: Codable, Hashable, Sendable {
    public var start: UInt64?
    public var end: UInt64?
    public var startTime: String?
    public var endTime: String?

    enum CodingKeys: String, CodingKey {
      case start, end
      case startTime = "start_time"
      case endTime = "end_time"
    }
  }

  public struct Batch: Codable, Hashable, Sendable {
    public var number: Int32?
    public var size: Int32?
  }

  /// Which key is said to have signed.
  public struct Info: Codable, Hashable, Sendable {
    public var verificationKeyID: String?
    public var verificationKeyVersion: String?
    public var signatureAlgorithm: String?
    public var appBundleID: String?
    public var androidPackage: String?

    enum CodingKeys: String, CodingKey {
      case verificationKeyID = "verification_key_id"
      case verificationKeyVersion = "verification_key_version"
      case signatureAlgorithm = "signature_algorithm"
      case appBundleID = "app_bundle_id"
      case androidPackage = "android_package"
    }
  }

  public struct Signature: Codable, Hashable, Sendable {
    public var info: Info
    public var batch: Batch
    /// Bytes of the signature itself.
    public var size: Int
    public var encoding: SignatureEncoding
  }

  public struct KeyCounts: Codable, Hashable, Sendable {
    /// Keys that were taken in, revised ones included.
    public var total: Int
    /// Those among them that stand in `revised_keys`.
    public var revised: Int
    public var rejected: Int
    /// Distinct pairs of key data and rolling start; absent when there were too many to compare.
    public var distinct: Int?
  }

  public struct Distributions: Codable, Hashable, Sendable {
    /// By the UTC day of the rolling start; the value counts days since 1970.
    public var keyDay: Distribution
    public var transmissionRiskLevel: Distribution
    public var reportType: Distribution
    public var daysSinceOnsetOfSymptoms: Distribution
    public var rollingPeriod: Distribution
    /// By the region that uploaded the key; absent when the document names no regions.
    public var origin: Distribution?

    enum CodingKeys: String, CodingKey {
      case keyDay = "key_day"
      case transmissionRiskLevel = "transmission_risk_level"
      case reportType = "report_type"
      case daysSinceOnsetOfSymptoms = "days_since_onset_of_symptoms"
      case rollingPeriod = "rolling_period"
      case origin
    }
  }

  public struct Distribution: Codable, Hashable, Sendable {
    /// In ascending order of the value; keys that do not state the field come last.
    public var rows: [Row]
    /// Keys with values beyond the 4096 that are told apart.
    public var others: Int

    public struct Row: Codable, Hashable, Sendable {
      /// Absent for keys that do not state the field, and for fields that are no numbers.
      public var value: Int64?
      public var label: String
      public var count: Int
    }
  }

  public struct Note: Codable, Hashable, Sendable {
    public var code: String
    public var subject: String
    public var text: String
    public var count: Int
  }

  public struct Rejections: Codable, Hashable, Sendable {
    public var byReason: [Reason]
    /// The first twenty.
    public var first: [Entry]

    public struct Reason: Codable, Hashable, Sendable {
      public var reason: String
      public var count: Int
    }

    public struct Entry: Codable, Hashable, Sendable {
      /// Index in the document, counted from 0.
      public var index: Int
      /// Offset in the uncompressed document.
      public var byteOffset: Int
      public var reason: String
      public var detail: String

      enum CodingKeys: String, CodingKey {
        case index, reason, detail
        case byteOffset = "byte_offset"
      }
    }

    enum CodingKeys: String, CodingKey {
      case first
      case byReason = "by_reason"
    }
  }

  enum CodingKeys: String, CodingKey {
    case name, size, format, container, sha256, window, region, batch, signatures, keys, distributions, padding
    case findings, notes, rejections
    case reportVersion = "report_version"
    case fileHeader = "file_header"
    case sha256Base64 = "sha256_base64"
    case signatureInfos = "signature_infos"
    case signatureFileSize = "signature_file_size"
  }
}

/// How often a server seems to have cloned each real key, and on how many groups of keys the guess rests.
public struct PaddingGuess: Codable, Hashable, Sendable {
  /// 1 when the keys show no padding of this kind.
  public var multiplier: Int
  public var groups: Int
}
