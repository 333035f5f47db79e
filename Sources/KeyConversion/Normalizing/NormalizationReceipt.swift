package import BundleTrust
package import ExposureKeys
package import KeyFormats
package import KeyIntake
package import KeyNormalization

/// What a normalization did; as JSON it is described by `schemas/receipt.schema.json`. It adds up:
/// `received = new + known + rejected + heldForOperator`, `believed = published + held + leftOut`,
/// `published = written + refused`.
package struct NormalizationReceipt: Sendable {
  package let publishing: String
  package let region: String?
  package let now: Instant
  package let documents: [IncomingReceipt]
  /// Documents that could not be read and of which nothing was taken.
  package internal(set) var leftOut: [LeftOutDocument] = []
  package let belief: BeliefReceipt
  /// When the first of the held keys may go out.
  package let nextRelease: Instant?
  package let target: Target

  init(_ plan: NormalizationPlan, _ documents: [IncomingReceipt], _ believed: BelievedKeys, _ target: Target) {
    publishing = plan.publishing.name
    region = plan.region
    now = plan.now
    self.documents = documents
    belief = believed.receipt
    nextRelease = believed.nextRelease
    self.target = target
  }

  /// Of all documents together.
  package var counts: KeyCounts { documents.reduce(into: KeyCounts()) { $0 += $1.counts } }

  /// Whether the counts add up.
  package var isBalanced: Bool {
    counts.isBalanced && belief.isBalanced
      && belief.published == target.written + target.refused
  }

  /// What was written.
  package struct Target: Sendable {
    package let name: String
    package let format: KeyFormat
    package private(set) var written = 0
    /// How many published keys the format cannot express, by the code of the reason.
    package private(set) var refusals: [String: Int] = [:]
    /// The first of them, for showing.
    package private(set) var shownRefusals: [RejectedKey] = []
    /// One line for each thing that the format could not carry.
    package private(set) var losses: [String] = []
    /// One line for each default that was filled in.
    package private(set) var fillings: [String] = []
    /// One line for each value that was filled in though nobody chose it.
    package private(set) var unchosenFillings: [String] = []
    /// What the operator should know, though nothing was lost.
    package private(set) var warnings: [String] = []
    package private(set) var digests: ExportDigests?

    package var refused: Int { refusals.values.reduce(0, +) }

    init(name: String, format: KeyFormat) {
      self.name = name
      self.format = format
    }

    mutating func refuse(_ key: RejectedKey, _ report: (RejectedKey) throws -> Void) rethrows {
      refusals[key.reason, default: 0] += 1
      if shownRefusals.count < RejectedKey.shownCount { shownRefusals.append(key) }
      try report(key)
    }

    mutating func close(_ document: WrittenDocument) {
      written = document.keys
      losses = document.losses
      fillings = document.report.fillings
      unchosenFillings = document.report.unchosenFillings
      warnings = document.warnings
      digests = document.digests
    }
  }
}

// MARK: JSON

extension NormalizationReceipt: Encodable {
  private enum CodingKeys: String, CodingKey {
    case reportVersion, now, publishing, region, documents, received, new, known, rejected, rejections, allowances,
      heldForOperator, believed, published, held, holds, notes, output, leftOut, unreadable, omissions, nextRelease
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(1, forKey: .reportVersion)
    try members.encode(now.description, forKey: .now)
    try members.encode(publishing, forKey: .publishing)
    try members.encodeIfPresent(region, forKey: .region)
    try members.encode(documents, forKey: .documents)
    if !leftOut.isEmpty { try members.encode(leftOut, forKey: .unreadable) }
    let counts = counts
    try members.encode(counts.received, forKey: .received)
    try members.encode(counts.new, forKey: .new)
    try members.encode(counts.known, forKey: .known)
    try members.encode(counts.rejected, forKey: .rejected)
    try members.encode(counts.held, forKey: .heldForOperator)
    try members.encode(counts.rejections, forKey: .rejections)
    try members.encode(counts.allowances, forKey: .allowances)
    try members.encode(belief.believed, forKey: .believed)
    try members.encode(belief.published, forKey: .published)
    try members.encode(belief.held, forKey: .held)
    try members.encode(belief.leftOut, forKey: .leftOut)
    try members.encode(byCode(belief.holds, \.rawValue), forKey: .holds)
    try members.encode(byCode(belief.omissions, \.rawValue), forKey: .omissions)
    try members.encode(byCode(belief.notes, \.code), forKey: .notes)
    try members.encodeIfPresent(nextRelease?.description, forKey: .nextRelease)
    try members.encode(target, forKey: .output)
  }
}

extension NormalizationReceipt.Target: Encodable {
  private enum CodingKeys: String, CodingKey {
    case name, format, written, refused, refusals, losses, fillings, warnings, sha256
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(name, forKey: .name)
    try members.encode(format.rawValue, forKey: .format)
    try members.encode(written, forKey: .written)
    try members.encode(refused, forKey: .refused)
    try members.encode(refusals, forKey: .refusals)
    try members.encode(losses, forKey: .losses)
    try members.encode(fillings, forKey: .fillings)
    try members.encode(warnings, forKey: .warnings)
    try members.encodeIfPresent(digests?.hexadecimal, forKey: .sha256)
  }
}

extension IncomingReceipt: Encodable {
  private enum CodingKeys: String, CodingKey {
    case name, source, policy, origin, relay, format, received, new, known, rejected, rejections, allowances,
      vouchedBy, signedBy, heldForOperator
    case isOriginOfItsOwn = "origin_of_its_own"
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(intake.name, forKey: .name)
    try members.encode(intake.sender.name, forKey: .source)
    try members.encode(policy, forKey: .policy)
    let isFile = intake.isOriginOfItsOwn
    try members.encodeIfPresent(isFile ? nil : intake.sender.origin, forKey: .origin)
    if isFile { try members.encode(true, forKey: .isOriginOfItsOwn) }
    try members.encode(intake.sender.isRelay, forKey: .relay)
    try members.encode(intake.provenance.description, forKey: .vouchedBy)
    if case .signed(by: let signer) = intake.provenance { try members.encode(signer, forKey: .signedBy) }
    try members.encode(intake.format.rawValue, forKey: .format)
    try members.encode(counts.received, forKey: .received)
    try members.encode(counts.new, forKey: .new)
    try members.encode(counts.known, forKey: .known)
    try members.encode(counts.rejected, forKey: .rejected)
    try members.encode(counts.held, forKey: .heldForOperator)
    try members.encode(counts.rejections, forKey: .rejections)
    try members.encode(counts.allowances, forKey: .allowances)
  }
}

private func byCode<Reason>(_ counts: [Reason: Int], _ code: (Reason) -> String) -> [String: Int] {
  Dictionary(counts.map { (code($0.key), $0.value) }, uniquingKeysWith: +)
}
