import ExposureKeys
import PolicyFiles
import Testing

@testable import KeyNormalization
@testable import KeyPublishing

/// Who claims what about a few keys, by which policy and for which series it is asked.
private struct Scene {
  var policy: PublishingPolicy
  var selection: RegionSelection?
  var ownOrigins: Set<String> = []

  /// Those that ship, as they are on any day.
  static let policies: [PublishingPolicy] = ((try? ShippedPolicies.all()) ?? []).flatMap { policy in
    [policy.publishing] + policy.changes.map(\.publishing)
  }

  init(_ random: inout SeededGenerator, precedence: [String]) {
    policy =
      random.chance(1, in: 2)
      ? Cases.publishingPolicy(&random) : Self.policies.randomElement(using: &random) ?? PublishingPolicy()
    policy.holdMinutes = [120, 120, 180, 2880].randomElement(using: &random) ?? 120
    policy.maximumAgeDays = [2, 14, 14, 400].randomElement(using: &random) ?? 14
    if random.chance(1, in: 4) { policy.precedence = Set(precedence.filter { _ in random.chance(1, in: 2) }) }
    selection = random.chance(1, in: 4) ? nil : Self.selection(&random)
  }

  private static func selection(_ random: inout SeededGenerator) -> RegionSelection {
    let names = ["DE", "IT", "CH", "FR", "ES"]
    func some() -> Set<String> { Set(names.filter { _ in random.chance(1, in: 3) }) }
    return RegionSelection(
      include: random.chance(2, in: 3) ? some() : nil, exclude: random.chance(1, in: 3) ? some() : [],
      origins: random.chance(1, in: 4) ? some() : nil, travellersOnly: random.chance(1, in: 4))
  }

  var wants: (KeyDestination) -> Bool { { [selection] in selection?.wants($0) ?? true } }

  func outcomes(
    _ claims: ClaimSet, embargo: Embargo = Embargo(), now: Instant
  ) -> [KeySubject: PlainFold.Outcome] {
    var beliefs = Beliefs(
      of: claims, policy: policy, ownOrigins: ownOrigins, embargo: embargo, now: now, needsOrigins: true,
      isWanted: wants)
    var all: [KeySubject: PlainFold.Outcome] = [:]
    while let (subject, outcome) = beliefs.next() { all[subject] = PlainFold.Outcome(outcome, in: beliefs.regions) }
    return all
  }

  func plain(_ claims: ClaimSet, embargo: ClaimSet = ClaimSet(), now: Instant) -> [KeySubject: PlainFold.Outcome] {
    let model = PlainFold(policy: policy, now: now, ownOrigins: ownOrigins, wants: wants)
    let further = Dictionary(grouping: embargo.statedClaims, by: \.subject)
    return Dictionary(grouping: claims.statedClaims, by: \.subject).mapValues { said in
      model.outcome(of: said, further: further[said[0].subject]?.compactMap(\.key.rollingPeriod) ?? [])
    }
  }
}

/// What peers say of keys that meet, through sources of every kind.
private enum Voices {
  static let senders: [Sender] = [
    Sender(name: "efgs"), Sender(name: "signed", origin: "DE"), Sender(name: "file", origin: "CH"),
    Sender(name: "mirror", isRelay: true), Sender(name: "near", isRelay: true, carries: ["DE", "CH"]),
    Sender(name: "far", isRelay: true, carries: ["FR"]),
  ]

  static func key(_ random: inout SeededGenerator) -> ClaimedKey {
    var key = Cases.key(&random)
    // Few subjects, and any length of validity.
    key.key = TemporaryExposureKey(high: UInt64.random(in: 1...2, using: &random), low: 7)
    key.rollingStart = Int32(
      Cases.firstDay.firstInterval.rawValue + (random.chance(1, in: 4) ? 72 : 0) + (random.chance(1, in: 4) ? 1728 : 0))
    if random.chance(1, in: 3) { key.rollingPeriod = Int32.random(in: 1...144, using: &random) }
    if random.chance(1, in: 3) { key.reportType = Int32.random(in: 0...5, using: &random) }
    if random.chance(1, in: 3) { key.transmissionRisk = Int32.random(in: 0...8, using: &random) }
    if random.chance(1, in: 3) { key.daysSinceOnset = Int32.random(in: -14...14, using: &random) }
    return key
  }

  static func said(_ random: inout SeededGenerator, by origins: [String?]) -> Said {
    let lists: [[String]?] = [nil, [], ["DE"], ["IT", "DE"], ["FR"], ["ES", "CH"], ["IT"]]
    return Said(
      key: key(&random), origin: origins.randomElement(using: &random) ?? nil,
      visited: lists.randomElement(using: &random) ?? nil)
  }

  static func batches(
    _ random: inout SeededGenerator, by origins: [String?], through senders: [Sender]
  ) -> [AdmittedBatch] {
    (0..<Int.random(in: 1...4, using: &random)).compactMap { _ in
      let said = (0..<Int.random(in: 1...6, using: &random)).map { _ in self.said(&random, by: origins) }
      return senders.randomElement(using: &random).map { admit(said, from: $0) }
    }
  }

  /// What endpoints for uploads recorded, each for its own origin.
  static func uploads(_ random: inout SeededGenerator, as standing: UploadStanding?) -> [AdmittedBatch] {
    batches(
      &random, by: [nil],
      through: [
        Sender(name: "door", origin: "DE"), Sender(name: "side door", origin: "DE"),
        Sender(name: "US-VA", origin: "US-VA"),
      ]
    ).flatMap { $0.split { _ in standing } }
  }
}

@Suite struct MergeLaws {
  /// The fold says what the rules say when they are applied by hand.
  @Test func theFoldIsWhatThePlainRulesSay() throws {
    try forRandomCases { random in
      var scene = Scene(&random, precedence: ["DE", "CH", "IT"])
      scene.ownOrigins = [[], ["DE"], ["DE", "IT"]].randomElement(using: &random) ?? []
      var batches = Voices.batches(&random, by: ["DE", "IT", "CH", nil], through: Voices.senders)
      for standing in [nil, .proven, .copy] as [UploadStanding?] where random.chance(1, in: 3) {
        batches += Voices.uploads(&random, as: standing)
      }
      let claims = claimSet(batches)
      let paused =
        random.chance(1, in: 2)
        ? claimSet(Voices.batches(&random, by: ["ES"], through: Voices.senders)) : ClaimSet()
      var embargo = Embargo()
      embargo.add(paused)
      for now in [Cases.now, Cases.firstDay.start(hours: 25), Cases.firstDay.start(hours: 40)] {
        #expect(
          scene.outcomes(claims, embargo: embargo, now: now) == scene.plain(claims, embargo: paused, now: now))
      }
    }
  }

  /// Whatever one origin adds about a key that others claim: the key is never released earlier, its period never shortened,
  /// no region taken away, never left out, never revoked, and apps never get a lower risk, a weaker type or a less
  /// infectious onset; it is delayed by no more than its longest possible validity.
  ///
  /// Relays whose word becomes an echo by the addition are the limit that the manual names.
  @Test func noOriginTakesAnythingFromAnothersKey() throws {
    try forRandomCases { random in
      var scene = Scene(&random, precedence: ["DE", "CH"])
      scene.ownOrigins = [[], ["DE"], ["DE", "CH"]].randomElement(using: &random) ?? []
      let honest = claimSet(Voices.batches(&random, by: ["DE", "CH", nil], through: Voices.senders))
      let added = Voices.batches(
        &random, by: ["IT"], through: [Sender(name: "efgs"), Sender(name: "signed", origin: "IT")])
      var both = honest
      for batch in added { both.record(batch) }
      let now =
        random.chance(1, in: 2) ? Cases.now : Cases.firstDay.start(hours: Int64.random(in: 1...96, using: &random))
      let (before, after) = (scene.outcomes(honest, now: now), scene.outcomes(both, now: now))
      for (subject, outcome) in before {
        let said = honest.statedClaims.filter { $0.subject == subject }
        guard !becomesEcho(said, by: "IT") else { continue }
        try check(scene, subject, outcome, after[subject], honest, both, now)
      }
    }
  }

  /// Once the own origin has revoked its key, no copy that comes back keeps the key alive, whoever the sender says made
  /// it. A sender that is not an own source cannot bring about such a revocation.
  @Test func noCopyOutvotesTheRevocationOfAnOwnKey() throws {
    try forRandomCases { random in
      var scene = Scene(&random, precedence: [])
      (scene.ownOrigins, scene.selection, scene.policy.precedence) = (["DE"], nil, [])
      var key = Voices.key(&random)
      key.reportType = [nil, 2, 3, 4].randomElement(using: &random) ?? nil
      key.rollingPeriod = 144
      var revocation = key
      revocation.reportType = ReportType.revoked.rawValue
      let own = Sender(name: "own", origin: "DE")
      let copies = Voices.senders.filter { $0.origin != "DE" }
      let copy = Said(key: key, origin: "NL", visited: ["FR"])
      let returned = admit([copy], from: copies.randomElement(using: &random) ?? own)
      let forged = admit([Said(key: revocation, origin: "DE", visited: nil)], from: copies[0], own: ["DE"])
      #expect(forged.claims.isEmpty)
      let first = admit([Said(key: key, origin: "DE", visited: nil)], from: own)
      let last = admit([Said(key: revocation, origin: "DE", visited: nil)], from: own)
      let orders = [[first, returned, forged, last], [last, first, returned], [returned, last, first]]
      let now = Cases.firstDay.start(hours: 24 * 14)
      let outcomes = orders.map { scene.outcomes(claimSet($0), now: now) }
      #expect(Set(outcomes).count == 1)
      for case .publish(let published) in outcomes[0].values {
        #expect(published.apps.type == ReportType.revoked.rawValue && !published.outvotesRevocation)
      }
    }
  }

  /// An adversary uploads published keys again, at any endpoint, with any report type, risk level, onset and period. Beside
  /// the upload that proved them these copies change no type, risk level and onset, and what they add stays.
  @Test func noCopyChangesAProvenUpload() throws {
    try forRandomCases { random in
      let scene = Scene(&random, precedence: ["DE", "CH"])
      let honest = claimSet(
        Voices.uploads(&random, as: .proven) + Voices.batches(&random, by: ["CH", nil], through: Voices.senders))
      let copies = copies(&random, of: honest)
      let both = honest.union(copies)
      let now = Cases.firstDay.start(hours: Int64.random(in: 25...400, using: &random))
      for (subject, before) in scene.outcomes(honest, now: now) {
        guard case .publish(let mine) = before else { continue }
        var after = scene.outcomes(both, now: now)[subject]
        if case .hold(let later)? = after { after = scene.outcomes(both, now: later)[subject] }
        guard case .publish(let theirs)? = after else {
          Issue.record("left out: \(mine)")
          continue
        }
        #expect(theirs.outvotesRevocation == mine.outvotesRevocation)
        for (mine, theirs) in [(mine.apps, theirs.apps), (mine.gateways, theirs.gateways)] {
          #expect((theirs.type, theirs.risk, theirs.onset) == (mine.type, mine.risk, mine.onset))
          #expect(theirs.period >= mine.period)
        }
        let everywhere = theirs.regions.visited?.isEmpty ?? true
        #expect(everywhere || Set(theirs.regions.visited ?? []).isSuperset(of: mine.regions.visited ?? []))
      }
      // Without anything beside them they are uploads like any others, and a proof alone changes nothing.
      #expect(scene.outcomes(copies, now: now) == scene.outcomes(restated(copies, as: nil), now: now))
      #expect(scene.outcomes(honest, now: now) == scene.outcomes(restated(honest, as: nil), now: now))
    }
  }

  /// The owner's revocation goes wherever copies have carried the key, whichever came first.
  @Test func theRevocationOfAProvenUploadReachesAllItsCopies() throws {
    try forRandomCases { random in
      var scene = Scene(&random, precedence: [])
      (scene.selection, scene.policy.precedence) = (nil, [])
      scene.ownOrigins = [[], ["DE"], ["DE", "US-VA"]].randomElement(using: &random) ?? []
      var said = Voices.said(&random, by: [nil])
      (said.key.reportType, said.key.rollingPeriod) = ([2, 3].randomElement(using: &random), 144)
      let door = Sender(name: "door", origin: "DE")
      let first = claimSet(admit([said], from: door).split { _ in .proven })
      said.key.reportType = ReportType.revoked.rawValue
      let last = claimSet(admit([said], from: door).split { _ in .proven })
      let copies = copies(&random, of: first)
      let now = Cases.firstDay.start(hours: 24 * 14)
      let orders = [[first, copies, last], [last, copies, first], [copies, first, last]].map { sets in
        sets.reduce(into: ClaimSet()) { $0.formUnion($1) }
      }
      let isPublished = if case .publish? = scene.outcomes(last, now: now).values.first { true } else { false }
      for region in [nil, "DE", "IT", "FR", "ES", "CH", "US-VA"] {
        scene.selection = region.map { RegionSelection(include: [$0]) }
        let before = scene.outcomes(first.union(copies), now: now)
        let after = orders.map { scene.outcomes($0, now: now) }
        #expect(Set(after).count == 1)
        guard case .publish? = before.values.first else { continue }
        for outcome in after[0].values {
          if case .publish(let published) = outcome {
            #expect(published.apps.type == ReportType.revoked.rawValue && !published.outvotesRevocation)
          } else {
            #expect(!isPublished, "\(region ?? "everywhere") is not told of the revocation")
          }
        }
      }
    }
  }

  /// Uploads by strangers of the keys that these claims are about.
  private func copies(_ random: inout SeededGenerator, of claims: ClaimSet) -> ClaimSet {
    let subjects = Set(claims.statedClaims.filter { $0.source.upload == .proven }.map(\.subject))
    let all = claimSet(Voices.uploads(&random, as: .copy) + Voices.uploads(&random, as: .copy))
    return all.removing { !subjects.contains($0.subject) }
  }

  private func restated(_ claims: ClaimSet, as standing: UploadStanding?) -> ClaimSet {
    var restated = ClaimSet()
    for claim in claims.statedClaims {
      var source = claim.source
      source.upload = standing
      restated.insert(
        stored: StatedClaim(
          subject: claim.subject, statement: claim.statement, origin: claim.origin, visited: claim.visited,
          source: source))
    }
    return restated
  }

  private func becomesEcho(_ said: [StatedClaim], by origin: String) -> Bool {
    let own = Set(said.compactMap(\.origin))
    func isEcho(_ own: Set<String>) -> Bool {
      said.contains { $0.origin == nil && !own.isEmpty && $0.source.carries.map { !$0.isDisjoint(with: own) } ?? true }
    }
    return !isEcho(own) && isEcho(own.union([origin]))
  }

  private func check(
    _ scene: Scene, _ subject: KeySubject, _ before: PlainFold.Outcome, _ after: PlainFold.Outcome?,
    _ honest: ClaimSet, _ both: ClaimSet, _ now: Instant
  ) throws {
    // What goes out without the addition, and when at the latest it is decided.
    var (mine, time) = (before, now)
    if case .hold(let until) = before {
      switch after {
      case .publish?: Issue.record("released earlier")
      case .hold(let later)?: #expect(later >= until)
      case .leaveOut?, nil: break
      }
      time = until
      mine = try #require(scene.outcomes(honest, now: until)[subject])
    }
    guard case .publish(let mine) = mine else { return }
    var theirs = try #require(scene.outcomes(both, now: time)[subject])
    if case .hold(let later) = theirs {
      let longest = IntervalNumber(Int64(subject.rollingStart) + 144).start
      #expect(later <= scene.policy.release(after: longest))
      theirs = try #require(scene.outcomes(both, now: later)[subject])
    }
    guard mine.apps.type != ReportType.revoked.rawValue else { return }
    guard case .publish(let theirs) = theirs else {
      Issue.record("left out: \(mine)")
      return
    }
    #expect(theirs.apps.type != ReportType.revoked.rawValue)
    #expect(theirs.apps.period >= mine.apps.period && theirs.gateways.period >= mine.gateways.period)
    #expect((theirs.apps.risk ?? -1) >= (mine.apps.risk ?? -1))
    let everywhere = theirs.regions.visited?.isEmpty ?? true
    #expect(everywhere || Set(theirs.regions.visited ?? []).isSuperset(of: mine.regions.visited ?? []))
    if scene.policy.riskEncoding == .plain {
      #expect(weight(theirs.apps.type) >= weight(mine.apps.type))
      #expect(infectiousness(theirs.apps.onset) >= infectiousness(mine.apps.onset))
    }
  }

  private func weight(_ type: Int32?) -> Int { [0, 4, 3, 2, 5, 1].firstIndex(of: type ?? 0) ?? 0 }

  private func infectiousness(_ days: Int32?) -> Int32 {
    days.map { 1000 - 2 * Int32($0.magnitude) + ($0 < 0 ? 1 : 0) } ?? 0
  }
}

extension Day {
  fileprivate func start(hours: Int64) -> Instant { Instant(secondsSince1970: start.secondsSince1970 + hours * 3600) }
}

/// The faults that led to the law, each as an attack that fails.
@Suite struct MergeAttacks {
  private let key = AdmissionRuleTests.good

  private func said(_ origin: String?, visited: [String]? = nil, _ change: (inout ClaimedKey) -> Void = { _ in })
    -> Said
  {
    var key = key
    change(&key)
    return Said(key: key, origin: origin, visited: visited)
  }

  private func outcome(
    _ claims: [(Said, Sender)], _ policy: PublishingPolicy = PublishingPolicy(), region: String? = nil,
    now: Instant = Cases.now
  ) throws -> (outcome: PlainFold.Outcome, claims: ClaimSet) {
    let set = claimSet(claims.map { admit([$0.0], from: $0.1) })
    var beliefs = Beliefs(of: set, policy: policy, region: region, now: now)
    let outcome = try #require(beliefs.next()?.outcome)
    return (PlainFold.Outcome(outcome, in: beliefs.regions), set)
  }

  private let peer = Sender(name: "peer")

  @Test func aTenMinuteClaimReleasesNothingEarlierAndShortensNothing() throws {
    let claims = [(said("DE"), peer), (said("IT") { $0.rollingPeriod = 1 }, peer)]
    let start = Int64(key.rollingStartWord)
    let early = Instant(secondsSince1970: IntervalNumber(start + 20).start.secondsSince1970)
    let release = Instant(secondsSince1970: IntervalNumber(start + 144 + 12).start.secondsSince1970)
    for preference in PublishingPolicy.PeriodPreference.allCases {
      var policy = PublishingPolicy()
      policy.rollingPeriodPreference = preference
      #expect(try outcome(claims, policy, now: early).outcome == .hold(until: release))
      guard case .publish(let published) = try outcome(claims, policy, now: release).outcome else {
        Issue.record("not published")
        continue
      }
      #expect(published.apps.period == 144)
    }
  }

  @Test func aTenMinuteClaimOfTheSameOriginReleasesNothingEarlier() throws {
    var policy = PublishingPolicy()
    policy.rollingPeriodPreference = .narrowest
    let claims = [(said("DE"), peer), (said("DE") { $0.rollingPeriod = 1 }, peer)]
    let early = Instant(secondsSince1970: IntervalNumber(Int64(key.rollingStartWord) + 20).start.secondsSince1970)
    guard case .hold = try outcome(claims, policy, now: early).outcome else {
      Issue.record("released while it is valid by another claim")
      return
    }
  }

  @Test func aRevocationGoesOutInNoRegionOfAStandingKey() throws {
    let claims = [
      (said("DE", visited: ["DE"]) { $0.reportType = 3 }, peer),
      (said("IT", visited: ["FR", "ES"]) { $0.reportType = 5 }, peer),
    ]
    for region in ["FR", "ES", "IT"] {
      let (result, set) = try outcome(claims, region: region)
      #expect(result == .leaveOut)
      let explanation = try #require(
        explain(key.key, set, policy: PublishingPolicy(), region: region, now: Cases.now).first)
      #expect(explanation.lines.map(\.standing).contains(.revocationOutvoted))
      #expect(explanation.lines.map(\.standing).contains(.leftOut(.otherRegion)))
      #expect(explanation.outcome == .leaveOut(.revocationOutvoted))
    }
    guard case .publish(let published) = try outcome(claims, region: "DE").outcome else {
      Issue.record("not published at home")
      return
    }
    #expect(published.apps.type == 3 && published.outvotesRevocation)
  }

  /// Under every shipped policy: what a gateway passes on to another is what was said, so a revocation takes it back there.
  @Test(arguments: ShippedPolicies.names) func revocationsReachOtherGateways(policy name: String) throws {
    let policy = try #require(try ShippedPolicies.policy(named: name)).at(Cases.now).publishing
    for type in [nil, 0, 2, 3] as [Int32?] {
      let first = said("DE") { ($0.reportType, $0.transmissionRisk, $0.daysSinceOnset) = (type, 8, 0) }
      let revocation = said("DE") { ($0.reportType, $0.isRevised) = (5, true) }
      var other = ClaimSet()
      for claims in [[first], [first, revocation]] {
        let home = fold(claimSet([admit(claims, from: peer)]), policy: policy, now: Cases.now)
        let passedOn = home.keys.map { key in
          Said(key: key.forFederation, origin: nil, visited: home.regions[key.forFederation.regions].visited)
        }
        other.record(admit(passedOn, from: Sender(name: "home", isRelay: true)))
      }
      let believed = fold(other, policy: policy, now: Cases.now).keys
      if !believed.isEmpty { #expect(believed.map(\.forApps.reportType) == [5], "\(name) \(String(describing: type))") }
    }
  }

  @Test func twoRegionListsOfOneOriginAreUnited() throws {
    let others = (1...25).map { "US-\($0)" }
    let claims = [(said("DE", visited: ["AD"]), peer), (said("DE", visited: others), peer)]
    for region in ["AD"] + others {
      guard case .publish(let published) = try outcome(claims, region: region).outcome else {
        Issue.record("\(region) lost the key")
        continue
      }
      #expect(published.regions.visited == (["AD", "DE"] + others).sorted())
    }
  }

  @Test func claimsThatAreLeftOutDoNotWidenTheRegions() throws {
    let claims = [(said("DE", visited: ["DE"]), peer), (said("IT", visited: ["FR"]) { $0.reportType = 4 }, peer)]
    #expect(try outcome(claims, region: "FR").outcome == .leaveOut)
    guard case .publish(let published) = try outcome(claims).outcome else {
      Issue.record("not published")
      return
    }
    #expect(published.regions == RegionClaim(origin: "DE", visited: ["DE"]))
  }

  /// One origin names a million region sets; the key of another goes out with its own.
  @Test func manyRegionListsPushNobodyOut() throws {
    let crowd = (0..<1001).map { "X\($0)" }
    let claims = [(said("DE", visited: ["DE"]), peer), (said("IT", visited: crowd), peer)]
    guard case .publish(let published) = try outcome(claims).outcome else {
      Issue.record("not published")
      return
    }
    #expect(published.regions.visited == ["DE"])
  }

  @Test func aLaterExpiryMakesNoKeyTooOld() throws {
    var policy = PublishingPolicy()
    (policy.maximumAgeDays, policy.holdMinutes) = (1, 1440)
    let claims = [(said("DE") { $0.rollingPeriod = 1 }, peer), (said("IT") { $0.reportType = 4 }, peer)]
    let start = Int64(key.rollingStartWord)
    let release = Instant(secondsSince1970: IntervalNumber(start + 144 + 144).start.secondsSince1970)
    guard case .publish = try outcome(claims, policy, now: release).outcome else {
      Issue.record("too old")
      return
    }
  }

  @Test func aHoldUnderTwoHoursIsTwoHours() throws {
    var policy = PublishingPolicy()
    policy.holdMinutes = 0
    let expiry = IntervalNumber(Int64(key.rollingStartWord) + 144).start
    #expect(
      try outcome([(said("DE"), peer)], policy, now: expiry).outcome
        == .hold(until: Instant(secondsSince1970: expiry.secondsSince1970 + 7200)))
  }

  // MARK: Relays

  @Test func aRelayRevokesItsOwnWordAlone() throws {
    let relay = Sender(name: "relay", isRelay: true, carries: ["DE"])
    let revocation = said(nil) { $0.reportType = 5 }
    guard
      case .publish(let own) = try outcome([(said("IT") { $0.reportType = 3 }, peer), (revocation, relay)]).outcome,
      case .publish(let echo) = try outcome([(said("DE") { $0.reportType = 3 }, peer), (revocation, relay)]).outcome,
      case .publish(let relayed) = try outcome([(said(nil) { $0.reportType = 3 }, relay), (revocation, relay)]).outcome
    else {
      Issue.record("not published")
      return
    }
    #expect(own.apps.type == 3 && own.outvotesRevocation)
    #expect(echo.apps.type == 3 && !echo.outvotesRevocation)
    #expect(relayed.apps.type == 5)
  }

  @Test func anEchoGivesValidityAndRegionsAlone() throws {
    let relay = Sender(name: "relay", isRelay: true, carries: ["DE"])
    let own = said("DE", visited: ["DE"]) { ($0.reportType, $0.rollingPeriod, $0.transmissionRisk) = (3, 60, 1) }
    let echo = said(nil, visited: ["FR"]) { ($0.transmissionRisk, $0.daysSinceOnset) = (8, 0) }
    guard case .publish(let published) = try outcome([(own, peer), (echo, relay)]).outcome else {
      Issue.record("not published")
      return
    }
    #expect(published.apps.type == 3 && published.apps.risk == 1 && published.apps.period == 144)
    #expect(published.apps.onset == own.key.daysSinceOnset)
    #expect(published.regions == RegionClaim(origin: "DE", visited: ["DE", "FR"]))
    // Another origin than those it carries does not silence it.
    var other = own
    other.origin = "IT"
    guard case .publish(let both) = try outcome([(other, peer), (echo, relay)]).outcome else {
      Issue.record("not published")
      return
    }
    #expect(both.apps.risk == 8 && both.apps.type == 1)
  }

  // MARK: Own keys

  /// A hub returns an own key as NL's, by `origin: NL` or by `relay: [NL]`: the revocation goes out, also in the regions
  /// where the copy carried the key.
  @Test(arguments: [Sender(name: "hub", origin: "NL"), Sender(name: "hub", isRelay: true, carries: ["NL"])])
  func anOwnKeyIsRevokedWhateverOriginItsCopyNames(hub: Sender) throws {
    let own = Sender(name: "own", origin: "DE")
    let mine = said("DE", visited: ["DE"]) { $0.reportType = 3 }
    let revocation = said("DE", visited: ["DE"]) { ($0.reportType, $0.isRevised) = (5, true) }
    let copy = said(nil, visited: ["FR"]) { $0.reportType = 3 }
    let set = claimSet([admit([mine, revocation], from: own), admit([copy], from: hub)])
    func outcome(own: Set<String>, in region: String) throws -> PlainFold.Outcome {
      var beliefs = Beliefs(
        of: set, policy: PublishingPolicy(), ownOrigins: own, now: Cases.now, needsOrigins: false,
        isWanted: { $0.goesEverywhere || ($0.visited ?? []).contains(region) })
      return PlainFold.Outcome(try #require(beliefs.next()?.outcome), in: beliefs.regions)
    }
    for region in ["DE", "FR"] {
      guard case .publish(let published) = try outcome(own: ["DE"], in: region) else {
        Issue.record("\(region) is not told of the revocation")
        continue
      }
      #expect(published.apps.type == 5 && !published.outvotesRevocation)
    }
    // Between origins that are both foreign the key still stands.
    guard case .publish(let published) = try outcome(own: ["ES"], in: "FR") else {
      Issue.record("not published")
      return
    }
    #expect(published.apps.type == 3 && published.outvotesRevocation)
    let explanation = try #require(
      explain(
        key.key, set, policy: PublishingPolicy(), ownOrigins: ["DE"], embargo: Embargo(), now: Cases.now,
        needsOrigins: false, isWanted: { _ in true }
      ).first)
    #expect(explanation.lines.filter { $0.claim.source.name == "hub" }.map(\.standing) == [.notCounted])
    #expect(!explanation.lines.map(\.standing).contains(.revocationOutvoted))
  }

  /// Precedence of the origin that a hub names for the copy, proved by the hub's signature, sets aside no own revocation.
  @Test func noPrecedenceSetsTheRevocationOfAnOwnKeyAside() throws {
    var policy = PublishingPolicy()
    policy.precedence = ["NL"]
    let own = Sender(name: "own", origin: "DE")
    let revocation = said("DE", visited: ["DE"]) { ($0.reportType, $0.isRevised) = (5, true) }
    let mine = said("DE", visited: ["DE"]) { $0.reportType = 3 }
    // A signature stands behind its documents.
    let copy = admit([said("NL", visited: ["FR"]) { $0.reportType = 3 }], from: Sender(name: "signed", origin: "NL"))
    for claims in [[mine, revocation], [revocation]] {
      let set = claimSet([admit(claims, from: own), copy])
      for region in ["DE", "FR"] {
        var beliefs = Beliefs(
          of: set, policy: policy, ownOrigins: ["DE"], now: Cases.now, needsOrigins: false,
          isWanted: { $0.visited?.contains(region) ?? true })
        guard case .publish(let key)? = beliefs.next()?.outcome else {
          Issue.record("\(region) is not told of the revocation")
          continue
        }
        #expect(key.forApps.reportType == 5)
      }
      let explanation = try #require(
        explain(
          key.key, set, policy: policy, ownOrigins: ["DE"], embargo: Embargo(), now: Cases.now, needsOrigins: false,
          isWanted: { _ in true }
        ).first)
      #expect(explanation.lines.filter { $0.claim.source.name == "signed" }.map(\.standing) == [.notCounted])
      #expect(!explanation.lines.map(\.standing).contains(.setAside))
    }
    // Without a revocation precedence decides as it does among all others.
    var beliefs = Beliefs(
      of: claimSet([admit([mine], from: own), copy]), policy: policy, ownOrigins: ["DE"], now: Cases.now,
      needsOrigins: false, isWanted: { $0.visited?.contains("DE") ?? true })
    guard case .leaveOut(.otherRegion)? = beliefs.next()?.outcome else {
      Issue.record("the origin with precedence is not alone")
      return
    }
  }

  // MARK: Copies of uploads

  private static let door = Sender(name: "door", origin: "DE")
  private static let other = Sender(name: "US-VA", origin: "US-VA")

  private func upload(_ said: Said, at door: Sender, as standing: UploadStanding?) -> [AdmittedBatch] {
    admit([said], from: door).split { _ in standing }
  }

  private func outcome(
    _ batches: [AdmittedBatch], in region: String
  ) throws -> (outcome: BeliefOutcome, standings: [String: [Explanation.Line.Standing]]) {
    let set = claimSet(batches)
    var beliefs = Beliefs(of: set, policy: PublishingPolicy(), region: region, now: Cases.now)
    let explanation = try #require(
      explain(key.key, set, policy: PublishingPolicy(), region: region, now: Cases.now).first)
    let outcome = try #require(beliefs.next()?.outcome)
    #expect(explanation.outcome == outcome)
    return (outcome, Dictionary(grouping: explanation.lines, by: \.claim.source.name).mapValues { $0.map(\.standing) })
  }

  /// The bytes of a published key are public: uploaded once more at another endpoint, they keep nothing alive that its owner
  /// revokes.
  @Test func aCopyAtAnotherEndpointOutvotesNoRevocation() throws {
    let mine = said(nil, visited: ["DE"]) { $0.reportType = 3 }
    let revocation = said(nil, visited: ["DE"]) { ($0.reportType, $0.isRevised) = (5, true) }
    let first = upload(mine, at: Self.door, as: .proven)
    // At another endpoint of its own origin a test that nobody made weighs more than the revocation.
    for (door, type) in [(Self.other, nil), (Self.other, 1), (Sender(name: "side door", origin: "DE"), 1)]
      as [(Sender, Int32?)]
    {
      let copy = upload(
        said(nil, visited: ["US-VA"]) { ($0.reportType, $0.transmissionRisk) = (type, 8) }, at: door, as: .copy)
      for region in ["DE", "US-VA"] {
        guard case .publish(let key) = try outcome(first + copy, in: region).outcome else {
          Issue.record("\(region) does not get the key")
          continue
        }
        // What is said about the person is the owner's word wherever the copy carries the key.
        #expect(key.forApps.reportType == 3 && key.forApps.transmissionRisk == self.key.transmissionRisk)
      }
      let last = upload(revocation, at: Self.door, as: .proven)
      for region in ["DE", "US-VA"] {
        let (outcome, standings) = try outcome(first + copy + last, in: region)
        guard case .publish(let key) = outcome else {
          Issue.record("\(region) is not told of the revocation")
          continue
        }
        #expect(key.forApps.reportType == 5 && !key.notes.contains(.revocationOutvoted))
        #expect(standings[door.name] == [.notCounted])
      }
    }
  }

  /// A copy revokes nothing either, and alone it is an upload like any other.
  @Test func aCopyAloneIsAnUpload() throws {
    let mine = said(nil, visited: ["DE"]) { $0.reportType = 3 }
    let revocation = said(nil, visited: ["DE"]) { $0.reportType = 5 }
    guard
      case .publish(let kept) = try outcome(
        upload(mine, at: Self.door, as: .proven) + upload(revocation, at: Self.other, as: .copy), in: "DE"
      ).outcome, case .publish(let alone) = try outcome(upload(mine, at: Self.other, as: .copy), in: "DE").outcome
    else {
      Issue.record("not published")
      return
    }
    #expect(kept.forApps.reportType == 3 && !kept.notes.contains(.revocationOutvoted))
    #expect(alone.forApps.reportType == 3)
  }

  /// An upload that came before any proof is another origin's word as before: the revocation is outvoted, and the region
  /// whose phones keep the key is told why.
  @Test func anOutvotedRevocationIsToldWhereItWouldGoOut() throws {
    let batches =
      upload(said(nil, visited: ["US-VA"]) { $0.reportType = nil }, at: Self.other, as: nil)
      + upload(said(nil, visited: ["DE"]) { $0.reportType = 3 }, at: Self.door, as: .proven)
      + upload(said(nil, visited: ["DE"]) { $0.reportType = 5 }, at: Self.door, as: .proven)
    let (home, standings) = try outcome(batches, in: "DE")
    #expect(home == .leaveOut(.revocationOutvoted))
    #expect(Set(standings["door"] ?? []) == [.revocationOutvoted, .revokedByItsOrigin])
    guard case .publish(let key) = try outcome(batches, in: "US-VA").outcome else {
      Issue.record("not published")
      return
    }
    #expect(key.notes.contains(.revocationOutvoted))
    #expect(try outcome(batches, in: "FR").outcome == .leaveOut(.otherRegion))
  }

  // MARK: Precedence

  @Test func precedenceIsProvedByAnOwnSignature() throws {
    var policy = PublishingPolicy()
    policy.precedence = ["DE"]
    let signed = Sender(name: "mirror", origin: "DE")
    let mine = said("DE", visited: ["DE"]) { ($0.reportType, $0.transmissionRisk) = (3, 1) }
    let other = said("IT", visited: ["FR"]) { ($0.reportType, $0.transmissionRisk) = (1, 8) }
    guard case .publish(let alone) = try outcome([(mine, signed), (other, peer)], policy).outcome,
      case .publish(let unproved) = try outcome([(mine, peer), (other, peer)], policy).outcome
    else {
      Issue.record("not published")
      return
    }
    #expect(alone.apps.type == 3 && alone.apps.risk == 1 && alone.regions.visited == ["DE"])
    #expect(unproved.apps.type == 1 && unproved.apps.risk == 8)
    // It delays all the same.
    let short = said("DE") { $0.rollingPeriod = 1 }
    let early = IntervalNumber(Int64(key.rollingStartWord) + 20).start
    guard case .hold = try outcome([(short, signed), (other, peer)], policy, now: early).outcome else {
      Issue.record("released while another says that it is valid")
      return
    }
  }
}
