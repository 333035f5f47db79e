package import ExposureKeys
internal import KeyFormats
internal import KeyIntake
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
    of key: TemporaryExposureKey, in documents: [IncomingDocument], publishing: PublishingPolicy, now: Instant
  ) throws {
    var claims = ClaimSet()
    var mentions: [Mention] = []
    for document in documents {
      let verified = try document.arrival.examine().verify()
      var admission = Intake().admission(of: verified, by: document.policy.reading)
      _ = try verified.decode { chunk, context in
        for offset in 0..<chunk.keys.count where chunk.keys[offset].key == key {
          let batch = admission.admit(chunk.keys[offset], regions: context.regions)
          claims.record(batch)
          mentions.append(
            Mention(
              document, at: chunk.documentIndex(ofKeyAt: offset), sent: chunk.keys[offset],
              regions: context.regions[chunk.keys[offset].regions], batch))
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
    document = incoming.arrival.name
    source = incoming.arrival.sender.name
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
