package import ExposureKeys
package import KeyIntake
package import KeyNormalization

/// Everything that files say about one key: what each source said, what admission made of it, and what each region's
/// bundle would carry.
package struct KeyStory: Sendable {
  /// What the bundle of one region carries of one key.
  package struct Delivery: Sendable {
    /// `nil` stands for the regions that no claim names.
    package let region: String?
    package let outcomes: [BeliefOutcome]
  }

  package let mentions: [KeyMention]
  /// One for each rolling start under which admitted claims know the key.
  package let explanations: [Explanation]
  /// By the name of the region: the first of every origin and visited region that claims name, and all that none names.
  package let deliveries: [Delivery]
  /// How many regions that claims name are not among these.
  package let furtherRegions: Int

  /// So many regions are told: each is decided by itself, over all claims.
  package static let shownRegions = 64

  /// Reads all documents for what they say about the key. Other keys are passed over, so it costs no memory for them.
  package init(
    of key: TemporaryExposureKey, in documents: [IncomingDocument], publishing: PublishingPolicy, now: Instant
  ) throws {
    try self.init(of: key, in: DocumentFeed(documents), publishing: publishing, now: now)
  }

  /// As above, with documents as they come.
  package init(
    of key: TemporaryExposureKey, in documents: DocumentFeed<IncomingDocument>, publishing: PublishingPolicy,
    now: Instant
  ) throws {
    var claims = ClaimSet()
    var mentions: [KeyMention] = []
    try documents.visit { document in
      let verified = try document.arrival.examine().verify()
      try KeyMention.read(key, in: verified, by: document.policy) { mention, batch in
        claims.record(batch)
        mentions.append(mention)
      }
    }
    self.init(of: key, claims, mentions: mentions, publishing: publishing, now: now)
  }

  private init(
    of key: TemporaryExposureKey, _ claims: ClaimSet, mentions: [KeyMention], publishing: PublishingPolicy,
    now: Instant
  ) {
    self.mentions = mentions
    explanations = explain(key, claims, policy: publishing, now: now)
    let regions = Set(claims.statedClaims.flatMap { ($0.visited ?? []) + ($0.origin.map { [$0] } ?? []) })
      .filter { !RegionName.isFile($0) }
    func outcomes(_ region: String) -> [BeliefOutcome] {
      var beliefs = Beliefs(of: claims, policy: publishing, region: region, now: now)
      var outcomes: [BeliefOutcome] = []
      while let (_, outcome) = beliefs.next() { outcomes.append(outcome) }
      return outcomes
    }
    furtherRegions = max(0, regions.count - Self.shownRegions)
    deliveries =
      claims.isEmpty
      ? []
      : regions.sorted().prefix(Self.shownRegions).map { Delivery(region: $0, outcomes: outcomes($0)) }
        + [Delivery(region: nil, outcomes: outcomes(""))]
  }
}
