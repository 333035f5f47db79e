package import ExposureKeys
internal import KeyFormats
package import KeyIntake
package import KeyNormalization

/// Everything that is known about one key: what each source said, what admission made of it, and what each region's
/// bundle would carry.
package struct KeyStory: Sendable {
  /// One place where a document names the key.
  package struct Mention: Sendable {
    package enum Reading: Sendable {
      /// As the source's policy reads it.
      case admitted(StatedClaim)
      case heldForOperator
      case rejected(AdmissionReason, detail: String)
    }

    package let document: String
    package let source: String
    package let policy: String
    /// Counted from 0 over all keys of the document.
    package let position: Int
    /// As its sender made it; `regions` has the names.
    package let sent: ClaimedKey
    package let regions: RegionClaim
    package let reading: Reading
    package let allowances: [Allowance]
  }

  /// What the bundle of one region carries of one key.
  package struct Delivery: Sendable {
    /// `nil` stands for the regions that no claim names.
    package let region: String?
    package let outcomes: [BeliefOutcome]
  }

  package let mentions: [Mention]
  /// What a store knows of the key, where the story is told from one.
  package let stored: [StatedClaim]
  /// One for each rolling start under which admitted claims know the key.
  package let explanations: [Explanation]
  /// By the name of the region: every origin and every visited region that a claim names, and all the others.
  package let deliveries: [Delivery]

  /// Reads all documents for what they say about the key. Other keys are passed over, so it costs no memory for them.
  package init(
    of key: TemporaryExposureKey, in documents: [IncomingDocument], publishing: PublishingPolicy,
    trusting trust: SignatureDemand? = nil, now: Instant
  ) throws {
    var claims = ClaimSet()
    var mentions: [Mention] = []
    for document in documents {
      _ = try document.read(try document.document.verification(trusting: trust), now: now) { chunk, reader, admission in
        for offset in 0..<chunk.keys.count where chunk.keys[offset].key == key {
          let batch = admission.admit(chunk.keys[offset], regions: reader.decoder.regions)
          claims.record(batch)
          mentions.append(
            Mention(
              document, at: chunk.documentIndex(ofKeyAt: offset), sent: chunk.keys[offset],
              regions: reader.decoder.regions[chunk.keys[offset].regions], batch))
        }
      }
    }
    self.init(of: key, claims, mentions: mentions, stored: [], publishing: publishing, now: now)
  }

  /// Tells what a store knows about the key: `claims` are all that it has about it.
  ///
  /// - Parameter embargo: what else the store has about how long the key is valid.
  package init(
    of key: TemporaryExposureKey, stored claims: ClaimSet, embargo: Embargo = Embargo(), publishing: PublishingPolicy,
    now: Instant
  ) {
    let stored = claims.statedClaims.sorted {
      ($0.source.name, $0.origin ?? "", $0.key.rollingStartWord) < (
        $1.source.name, $1.origin ?? "", $1.key.rollingStartWord
      )
    }
    self.init(of: key, claims, mentions: [], stored: stored, embargo: embargo, publishing: publishing, now: now)
  }

  private init(
    of key: TemporaryExposureKey, _ claims: ClaimSet, mentions: [Mention], stored: [StatedClaim],
    embargo: Embargo = Embargo(), publishing: PublishingPolicy, now: Instant
  ) {
    self.mentions = mentions
    self.stored = stored
    explanations = explain(key, claims, policy: publishing, embargo: embargo, now: now)
    let regions = Set(claims.statedClaims.flatMap { ($0.visited ?? []) + ($0.origin.map { [$0] } ?? []) })
    func outcomes(_ region: String) -> [BeliefOutcome] {
      explain(key, claims, policy: publishing, region: region, embargo: embargo, now: now).map(\.outcome)
    }
    deliveries =
      claims.isEmpty
      ? []
      : regions.sorted().map { Delivery(region: $0, outcomes: outcomes($0)) }
        + [Delivery(region: nil, outcomes: outcomes(""))]
  }
}

extension Admission {
  /// Judges one key by itself.
  fileprivate mutating func admit(_ key: ClaimedKey, regions: RegionTable) -> AdmittedBatch {
    withUnsafePointer(to: key) { admit(UnsafeBufferPointer(start: $0, count: 1), regions: regions) }
  }
}

extension KeyStory.Mention {
  fileprivate init(
    _ incoming: IncomingDocument, at position: Int, sent: ClaimedKey, regions: RegionClaim, _ batch: AdmittedBatch
  ) {
    document = incoming.document.name
    source = incoming.name
    policy = incoming.policy.name
    self.position = position
    self.sent = sent
    self.regions = regions
    allowances = Allowance.allCases.filter { batch.allowances[$0] != nil }
    if let rejection = batch.rejected.first {
      reading = .rejected(rejection.reason, detail: rejection.reason.detail(rejection.value))
    } else {
      var alone = ClaimSet()
      alone.record(batch)
      reading = alone.statedClaims.first.map(Reading.admitted) ?? .heldForOperator
    }
  }
}

// MARK: Text

extension KeyStory {
  /// The story for people. The key itself is not in it.
  package var text: String {
    mentions.map(\.text).joined() + stored.map(\.text).joined() + explanations.map { "\n" + text(of: $0) }.joined()
      + deliveryText
  }

  private func text(of explanation: Explanation) -> String {
    let start = IntervalNumber(Int64(explanation.subject.rollingStart)).start
    var text = "decision about the key that is valid from \(minuteText(start)) UTC\n"
    for line in explanation.lines {
      let origin = line.claim.origin.map(printableText) ?? "origin not known"
      text += "  \(printableText(line.claim.source.name)), \(origin): \(line.standing.text)\n"
    }
    for step in explanation.steps { text += "  rule \(step.rule): \(step.effect)\n" }
    return text + "  outcome: \(explanation.outcome.text)\n"
      + (explanation.regions.map { "  regions: \($0.text)\n" } ?? "")
  }

  private var deliveryText: String {
    guard !deliveries.isEmpty else { return "" }
    let names = deliveries.map { $0.region.map(printableText) ?? "any other region" }
    let width = names.map(\.count).max() ?? 0
    return "\nbundles\n"
      + zip(names, deliveries).map { name, delivery in
        let outcomes = delivery.outcomes.map(\.textForApps).joined(separator: "; ")
        return "  \(pad(name, width))  \(outcomes)\n"
      }.joined()
  }
}

extension KeyStory.Mention {
  fileprivate var text: String {
    var text = "\(printableText(document)), key \(position)"
    text += source == document ? "" : " (source \(printableText(source)))"
    text += "\n  said: \(sent.text); \(regions.text)\n"
    switch reading {
    case .rejected(let reason, let detail): text += "  rejected by policy \(policy), \(reason.rawValue): \(detail)\n"
    case .heldForOperator: text += "  held for the operator by policy \(policy)\n"
    case .admitted(let claim):
      let origin = claim.origin.map { "origin \(printableText($0))" } ?? "origin not known"
      text += "  admitted by policy \(policy): \(claim.key.text); \(origin); "
      text += "vouched for by \(printableText(claim.source.provenance.description))\n"
    }
    for allowance in allowances { text += "  allowed, \(allowance.code): \(allowance.text)\n" }
    return text
  }
}

extension StatedClaim {
  fileprivate var text: String {
    let origin = origin.map { "origin \(printableText($0))" } ?? "origin not known"
    let visited = visited.map { $0.isEmpty ? "none" : $0.map(printableText).joined(separator: ", ") } ?? "absent"
    return "source \(printableText(source.name)), \(origin), visited \(visited), "
      + "vouched for by \(printableText(source.provenance.description))\n  admitted: \(key.text)\n"
  }
}

extension BeliefOutcome {
  fileprivate var text: String {
    switch self {
    case .publish(let key): "published: \(key.forFederation.text)"
    case .hold(let instant, let reason): "held until \(instant), \(reason.rawValue)"
    case .leaveOut(let reason): "left out, \(reason.rawValue)"
    }
  }

  fileprivate var textForApps: String {
    if case .publish(let key) = self { "carries \(key.forApps.text)" } else { text }
  }
}

extension ClaimedKey {
  /// The five numbers, absent ones included, and whether the key was revised.
  fileprivate var text: String {
    func said(_ value: Int32?) -> String { value.map { "\($0)" } ?? "absent" }
    let type =
      switch reportTypeClaim {
      case .stated(let type): type.name
      case .absent: "absent"
      case .unrecognized(let number): "\(number)"
      }
    return "rolling start \(said(rollingStart)), period \(said(rollingPeriod)), risk \(said(transmissionRisk)), "
      + "report type \(type), days since onset \(said(daysSinceOnset))" + (isRevised ? ", revised" : "")
  }
}

extension RegionClaim {
  fileprivate var text: String {
    let visited = visited.map { $0.isEmpty ? "none" : $0.map(printableText).joined(separator: ", ") }
    return "origin \(origin.map(printableText) ?? "absent"), visited \(visited ?? "absent")"
  }
}
