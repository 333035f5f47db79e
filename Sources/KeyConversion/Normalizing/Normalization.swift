internal import BundleTrust
package import ExposureKeys
internal import KeyFormats
package import KeyIntake
package import KeyNormalization

/// An arrival with the policy by which it is read.
package struct IncomingDocument {
  package let arrival: Arrival
  package let policy: Policy

  package init(_ arrival: Arrival, policy: Policy) {
    self.arrival = arrival
    self.policy = policy
  }
}

/// What several documents say together.
package struct IncomingClaims {
  package private(set) var claims = ClaimSet()
  package private(set) var documents: [IncomingReceipt] = []
  /// Documents that could not be read and of which nothing was taken.
  package private(set) var leftOut: [LeftOutDocument] = []
  private(set) var headers = HeaderMerge()

  /// Takes in all documents.
  ///
  /// - Parameter report: is shown every key that is not admitted.
  /// - Throws: ``DocumentRefusal``, `FormatError`, ``FileFault``.
  package init(_ documents: [IncomingDocument], report: (RejectedKey) throws -> Void = { _ in }) throws {
    try self.init(DocumentFeed(documents), report: report)
  }

  /// Takes in documents as they come.
  ///
  /// - Parameters:
  ///   - keepsGoing: whether documents that cannot be read whole are left out; each is then read twice.
  ///   - report: is shown every key that is not admitted.
  /// - Throws: as above, and `NothingRead` when all documents were left out.
  package init(
    _ documents: DocumentFeed<IncomingDocument>, keepsGoing: Bool = false,
    report: (RejectedKey) throws -> Void = { _ in }
  ) throws {
    let intake = Intake()
    var leftOut: [LeftOutDocument] = []
    func leaveOut(_ document: LeftOutDocument) throws {
      guard keepsGoing else { throw document.fault }
      leftOut.append(document)
    }
    try documents.visit(
      { document in
        if keepsGoing, let fault = document.arrival.faultOfReading() {
          guard let leftOut = LeftOutDocument(document.arrival.name, fault) else { throw fault }
          return try leaveOut(leftOut)
        }
        let summary = try intake.accept(
          document.arrival, by: document.policy.reading, into: &claims, report: report)
        headers.add(summary.headers)
        self.documents.append(IncomingReceipt(policy: document.policy.name, intake: summary))
      }, leaveOut: leaveOut)
    if self.documents.isEmpty, !leftOut.isEmpty { throw NothingRead(leftOut: leftOut) }
    self.leftOut = leftOut
  }
}

/// What became of one document, and by which policy it was read.
package struct IncomingReceipt: Sendable {
  package let policy: String
  package let intake: IntakeSummary

  package var counts: KeyCounts { intake.counts }
}

/// What to publish of the documents that come in.
package struct NormalizationPlan: Sendable {
  /// How the result is written.
  package var writing: ConversionPlan
  package var publishing: Policy
  /// The region whose keys are wanted; `nil` wants all.
  package var region: String?
  /// Who reads the result.
  package var audience: BelievedKeys.Audience
  /// What "in the future", "still valid" and "too old" refer to.
  package var now: Instant

  package init(_ writing: ConversionPlan, publishing: Policy, region: String? = nil, now: Instant) {
    self.writing = writing
    self.publishing = publishing
    self.region = region
    self.now = now
    audience = writing.target.audience
  }
}

extension KeyFormat {
  fileprivate var audience: BelievedKeys.Audience {
    switch definition.readers {
    case .gateways: .federation
    case .apps: .apps
    }
  }
}

/// Decode, verify (or the operator vouches), admit, record, fold, fit, encode, sign, seal.
package enum Normalization {
  /// Where a long run stands.
  package enum Stage: Sendable { case reading, folding, writing }

  /// Publishes what is believed, given all documents, as one document. Nothing in `output` counts until this returns.
  ///
  /// - Parameters:
  ///   - name: what the output is called where a key does not fit it.
  ///   - report: is shown every key that does not get through.
  /// - Throws: ``DocumentRefusal``, ``LossRefusal``, `FormatError`, ``FileFault``, or `KeyFault` from signing.
  package static func run(
    _ plan: NormalizationPlan, from documents: [IncomingDocument], to output: ConversionOutput, named name: String,
    onStage enter: (Stage) -> Void = { _ in }, report: @escaping (RejectedKey) throws -> Void = { _ in }
  ) throws -> NormalizationReceipt {
    try run(plan, from: DocumentFeed(documents), to: output, named: name, onStage: enter, report: report)
  }

  /// As above, with documents as they come; a plan for writing that keeps going leaves out those that cannot be read.
  ///
  /// - Throws: as above, and `NothingRead` when all documents were left out.
  package static func run(
    _ plan: NormalizationPlan, from documents: DocumentFeed<IncomingDocument>, to output: ConversionOutput,
    named name: String, onStage enter: (Stage) -> Void = { _ in },
    report: @escaping (RejectedKey) throws -> Void = { _ in }
  ) throws -> NormalizationReceipt {
    enter(.reading)
    let incoming = try IncomingClaims(documents, keepsGoing: plan.writing.keepsGoing, report: report)

    enter(.folding)
    let believed = fold(incoming.claims, policy: plan.publishing.publishing, region: plan.region, now: plan.now)

    enter(.writing)
    var target = NormalizationReceipt.Target(name: name, format: plan.writing.target)
    try target.write(believed, by: plan, header: incoming.headers.published, to: output, report)
    let lost =
      incoming.documents.flatMap { $0.intake.notes.losses(of: $0.intake.name) } + target.losses
      + target.unchosenFillings
    if plan.writing.isStrict, !lost.isEmpty { throw LossRefusal(losses: lost) }
    var receipt = NormalizationReceipt(plan, incoming.documents, believed, target)
    receipt.leftOut = incoming.leftOut
    return receipt
  }
}

extension NormalizationReceipt.Target {
  fileprivate mutating func write(
    _ believed: BelievedKeys, by plan: NormalizationPlan, header: ExportHeader, to output: ConversionOutput,
    _ report: (RejectedKey) throws -> Void
  ) throws {
    var writer = try DocumentWriter(plan.writing, to: output)
    // By the regions the fold has chosen the keys; a document without a place for them loses nothing that it is to say.
    let capabilities = plan.writing.capabilities
    let carriesRegions = capabilities.origin != .notCarried || capabilities.visitedRegions != .notCarried
    var regions = believed.regions
    var chunk = KeyChunk()
    var position = 0
    while case let count = believed.copy(from: position, for: plan.audience, to: &chunk.keys), count > 0 {
      position += count
      if !carriesRegions { chunk.keys.forgetRegions() }
      try writer.write(&chunk, regions: &regions, header: header)
      for rejection in chunk.rejections {
        try refuse(RejectedKey(rejection, of: name, at: .write), report)
      }
      chunk.advance()
    }
    close(try writer.finish(header))
  }
}

extension KeyBuffer {
  fileprivate mutating func forgetRegions() {
    withMutableKeys { keys in
      for index in keys.indices { keys[index].regions = .none }
    }
  }
}

extension HeaderMerge {
  /// The header of what is believed: the window that covers all documents. Regions, signers and unknown fields are
  /// what the documents said about themselves.
  fileprivate var published: ExportHeader {
    ExportHeader(startTimestamp: merged.startTimestamp, endTimestamp: merged.endTimestamp)
  }
}
