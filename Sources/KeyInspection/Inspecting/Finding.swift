/// One thing about a file that its reader should know.
package struct Finding: Codable, Hashable, Sendable {
  /// The stable code for programs.
  package var code: Code
  package var severity: Severity
  /// One line for people: place, value, what is allowed. Never key material.
  package var text: String
  /// How many keys, entries or signatures it concerns.
  package var count: Int
  /// Index in the document of the first key it concerns, counted from 0 with rejected keys; `nil` when it concerns no key.
  package var firstPosition: Int?

  package enum Severity: String, Codable, Hashable, Sendable, CaseIterable, Comparable {
    /// Worth knowing; nothing is wrong.
    case info
    /// Some client or auditor stumbles over it.
    case warning
    /// Clients refuse the file, or it contradicts itself.
    case error

    package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    private var rank: Int {
      switch self {
      case .info: 0
      case .warning: 1
      case .error: 2
      }
    }
  }

  package enum Code: String, Codable, Hashable, Sendable, CaseIterable {
    // The container.
    case archiveEntryExtra = "archive-entry-extra"
    case archiveEntryFolder = "archive-entry-folder"
    case archiveEntryName = "archive-entry-name"
    case archiveEntryOrder = "archive-entry-order"
    case archiveDataDescriptor = "archive-data-descriptor"
    case archiveDateAbsent = "archive-date-absent"
    case archivePrefix = "archive-prefix"
    case archiveComment = "archive-comment"
    case fileTooLarge = "file-too-large"
    // The file's header.
    case fileHeaderPadding = "file-header-padding"
    case fileHeaderAbsent = "file-header-absent"
    case windowAbsent = "window-absent"
    case windowEmpty = "window-empty"
    case windowLong = "window-long"
    case regionAbsent = "region-absent"
    case batchAbsent = "batch-absent"
    case batchNotSingle = "batch-not-single"
    case batchContradictory = "batch-contradictory"
    case headerUnknownFields = "header-unknown-fields"
    case fieldRepeated = "field-repeated"
    // Signatures.
    case signatureFileAbsent = "signature-file-absent"
    case signatureFileEmpty = "signature-file-empty"
    case signatureFileMalformed = "signature-file-malformed"
    case signatureInfosAbsent = "signature-infos-absent"
    case signatureCountDiffers = "signature-count-differs"
    case signaturesSeveral = "signatures-several"
    case signaturesTooMany = "signatures-too-many"
    case signatureInfoDiffers = "signature-info-differs"
    case signatureAlgorithm = "signature-algorithm"
    case signatureEmpty = "signature-empty"
    case signatureRaw = "signature-raw"
    case signatureNotDER = "signature-not-der"
    case signatureBatch = "signature-batch"
    case keyIDAbsent = "key-id-absent"
    case keyIDCharacters = "key-id-characters"
    case keyVersionAbsent = "key-version-absent"
    // Keys.
    case keysNone = "keys-none"
    case keysTooMany = "keys-too-many"
    case keysUnsorted = "keys-unsorted"
    case keyDataAbsent = "key-data-absent"
    case keyDataLength = "key-data-length"
    case keysRejected = "keys-rejected"
    case keyDataZero = "key-data-zero"
    case keyDataLowEntropy = "key-data-low-entropy"
    case keyRepeated = "key-repeated"
    case keyRepeatedDifferently = "key-repeated-differently"
    case keyRepeatedWithOtherStart = "key-repeated-with-other-start"
    case keyRepeatedNotCompared = "key-repeated-not-compared"
    case keyRevisedToo = "key-revised-too"
    case keysNotCompared = "keys-not-compared"
    case keyUnknownFields = "key-unknown-fields"
    // Fields of keys.
    case rollingStartAbsent = "rolling-start-absent"
    case rollingStartNegative = "rolling-start-negative"
    case rollingStartUnaligned = "rolling-start-unaligned"
    case rollingStartFuture = "rolling-start-future"
    case rollingPeriodAbsent = "rolling-period-absent"
    case rollingPeriodZero = "rolling-period-zero"
    case rollingPeriodNegative = "rolling-period-negative"
    case rollingPeriodTooLong = "rolling-period-too-long"
    case keyStillValid = "key-still-valid"
    case keyTooOld = "key-too-old"
    case riskLevelEight = "risk-level-eight"
    case riskLevelOutside = "risk-level-outside"
    case reportTypeAbsent = "report-type-absent"
    case reportTypeUnknown = "report-type-unknown"
    case reportTypeUnrecognized = "report-type-unrecognized"
    case reportTypeRecursive = "report-type-recursive"
    case reportTypeRevoked = "report-type-revoked"
    case daysSinceOnsetAbsent = "days-since-onset-absent"
    case daysSinceOnsetOutside = "days-since-onset-outside"
    case paddingSuspected = "padding-suspected"
  }

  package init(_ code: Code, _ severity: Severity, count: Int = 1, firstPosition: Int? = nil, _ text: String) {
    self.code = code
    self.severity = severity
    self.text = text
    self.count = count
    self.firstPosition = firstPosition
  }
}
