internal import BundleTrust
internal import KeyFormats
internal import KeyIntake

/// What `keyferry verify-batch` says; see schemas/batch-verification.schema.json.
struct BatchVerdict: Encodable {
  struct Explanation: Encodable {
    /// Stable codes; empty where no mistake that is known explains the signature.
    let mistakes: [String]
    let text: String
  }

  let reportVersion = 1
  let name: String
  let keys: Int
  private(set) var isVerified = false
  /// Of the signer, when it is verified.
  private(set) var country: String?
  private(set) var thumbprint: String?
  /// The step that failed, its number and name.
  private(set) var stepNumber: Int?
  private(set) var step: String?
  private(set) var detail: String?
  /// The first key concerned, counted from 0.
  private(set) var key: Int?
  let canonicalSHA256: String
  let canonicalBytes: Int
  let firstRows: [String]
  /// Elements that other elements are signed like.
  let notes: [String]
  private(set) var explanation: Explanation?

  enum CodingKeys: String, CodingKey {
    case name, keys, country, thumbprint, step, detail, key, notes, explanation, reportVersion, stepNumber,
      canonicalSHA256, canonicalBytes, firstRows
    case isVerified = "verified"
  }

  init(name: String, keys: Int, _ batch: SignedBatch, _ ambiguities: [CanonicalBatch.Ambiguity]) {
    self.name = name
    self.keys = keys
    canonicalSHA256 = batch.digest
    canonicalBytes = batch.canonical.count
    firstRows = batch.firstRows
    notes = ambiguities.map(\.description)
  }

  mutating func accept(_ signer: BatchSigner) {
    isVerified = true
    country = signer.country
    thumbprint = signer.certificate.thumbprint
  }

  mutating func refuse(_ refusal: BatchRefusal) {
    stepNumber = refusal.step.rawValue
    step = refusal.step.name
    detail = refusal.detail
    key = refusal.key
  }

  mutating func explain(_ diagnosis: BatchDiagnosis?) {
    explanation =
      diagnosis.map { Explanation(mistakes: $0.mistakes, text: "the signature fits \($0.text)") }
      ?? Explanation(mistakes: [], text: "no mistake that is known here explains the signature")
  }

  /// For people.
  var text: String {
    var lines: [String] = []
    if isVerified {
      lines.append("\(name): verified, \(keys) keys signed by \(country ?? ""), certificate \(thumbprint ?? "")")
    } else {
      let place = key.map { "key \($0): " } ?? ""
      lines.append("\(name): refused at step \(stepNumber ?? 0) of 8, \(step ?? ""): \(place)\(detail ?? "")")
      if let explanation { lines.append("  \(explanation.text)") }
    }
    lines.append("  canonical bytes: \(canonicalBytes), SHA-256 \(canonicalSHA256)")
    if !firstRows.isEmpty { lines.append("  SHA-256 of the first rows: \(firstRows.joined(separator: " "))") }
    lines += notes.map { "  note: \($0)" }
    return lines.map { $0 + "\n" }.joined()
  }
}
