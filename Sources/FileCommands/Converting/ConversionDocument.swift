internal import BundleTrust
internal import ExposureKeys
internal import KeyConversion
internal import KeyFormats
internal import KeyIntake

/// What `keyferry convert --json` prints; see schemas/conversion.schema.json.
struct ConversionDocument: Encodable {
  var reportVersion = 1
  /// What was written: one for all inputs, or one for each document in a folder.
  var outputs: [Output] = []
  /// What was left out.
  var unreadable: [LeftOutDocument] = []

  struct Output: Encodable {
    /// Its path, or `standard output`.
    let name: String
    let format: String
    /// The sums of ``files``.
    let received: Int
    let rejected: Int
    /// Keys that stand in it.
    let written: Int
    /// Keys that were written once, since another said the same in every field.
    let repeated: Int
    let files: [File]
    /// One line for each thing that the format could not carry.
    let losses: [String]
    /// One line for each default that was filled in.
    let fillings: [String]
    let warnings: [String]
    /// SHA-256 of `export.bin`, hexadecimal; absent for other formats.
    let sha256: String?

    init(_ receipt: ConversionReceipt, writtenTo name: String, as format: KeyFormat) {
      self.name = name
      self.format = format.rawValue
      received = receipt.received
      rejected = receipt.rejected
      written = receipt.written
      repeated = receipt.repeated
      files = receipt.documents.map(File.init)
      losses = receipt.losses
      fillings = receipt.fillings
      warnings = receipt.warnings
      sha256 = receipt.digests?.hexadecimal
    }
  }

  /// A document that was read.
  struct File: Encodable {
    let name: String
    let format: String
    let received: Int
    let written: Int
    let rejected: Int
    /// Keys by the reason why they were rejected.
    let rejections: [String: Int]
    let notes: [Note]

    init(_ document: DocumentSummary) {
      name = document.name
      format = document.format.rawValue
      received = document.received
      written = document.written
      rejected = document.rejected
      rejections = Dictionary(
        uniqueKeysWithValues: document.rejectionCounts.map { ($0.key.rawValue, $0.value) })
      notes = document.notes.sorted.map {
        Note(code: $0.note.code, subject: $0.note.subject, text: $0.note.text, count: $0.count, isLoss: $0.note.isLoss)
      }
    }
  }

  /// What was skipped or read leniently.
  struct Note: Encodable {
    let code: String
    let subject: String
    let text: String
    let count: Int
    /// Whether something that the document says was not read.
    let isLoss: Bool

    enum CodingKeys: String, CodingKey {
      case code, subject, text, count
      case isLoss = "loss"
    }
  }
}
