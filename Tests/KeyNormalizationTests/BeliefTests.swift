import ExposureKeys
import Testing

@testable import KeyNormalization

@Suite struct BeliefTests {
  private let good = AdmissionRuleTests.good

  private func said(_ origin: String?, visited: [String]? = nil, _ change: (inout ClaimedKey) -> Void = { _ in })
    -> Said
  {
    var key = good
    change(&key)
    return Said(key: key, origin: origin, visited: visited)
  }

  private func believe(
    _ said: [Said], region: String? = nil, now: Instant = Cases.now,
    _ set: (inout PublishingPolicy) -> Void = { _ in }
  ) -> BelievedKeys {
    var policy = PublishingPolicy()
    set(&policy)
    return fold(claimSet([admit(said, from: Sender(name: "peer"), now: now)]), policy: policy, region: region, now: now)
  }

  private func winner(
    _ said: [Said], _ set: (inout PublishingPolicy) -> Void = { _ in }
  ) throws -> ClaimedKey {
    let beliefs = believe(said, set)
    #expect(beliefs.keys.count == 1)
    var key = try #require(beliefs.keys.first).forFederation
    key.regions = .none
    return key
  }

  // MARK: The order

  @Test func reportTypesInOrder() throws {
    let order: [Int32?] = [nil, 4, 3, 2, 5, 1]
    for (lesser, greater) in zip(order, order.dropFirst()) {
      let claims = [said("DE") { $0.reportType = lesser }, said("DE") { $0.reportType = greater }]
      let key = try winner(claims) { $0.reportTypes[.recursive] = .publish(as: .recursive) }
      #expect(key.reportType == greater)
    }
  }

  /// Risk and onset of one origin come from claims of its weightiest report type, the period from all.
  @Test func theWeightiestTypeGivesRiskAndOnset() throws {
    let key = try winner([
      said("DE") { ($0.reportType, $0.transmissionRisk, $0.daysSinceOnset, $0.rollingPeriod) = (2, 8, 0, 144) },
      said("DE") { ($0.reportType, $0.transmissionRisk, $0.daysSinceOnset, $0.rollingPeriod) = (1, 1, 9, 60) },
    ])
    #expect(key.reportType == 1 && key.transmissionRisk == 1 && key.daysSinceOnset == 9 && key.rollingPeriod == 144)
  }

  @Test func whatTheWeightiestTypeLeavesOpenTheNextOneSays() throws {
    let key = try winner([
      said("DE") { ($0.transmissionRisk, $0.daysSinceOnset) = (nil, nil) },
      said("DE") { ($0.reportType, $0.transmissionRisk, $0.daysSinceOnset) = (2, 2, nil) },
      said("DE") { ($0.reportType, $0.transmissionRisk, $0.daysSinceOnset) = (3, 7, 4) },
    ])
    #expect(key.reportType == 1 && key.transmissionRisk == 2 && key.daysSinceOnset == 4)
  }

  /// Between origins each field goes by itself, whatever the policy prefers.
  @Test func betweenOriginsTheGreaterFieldWins() throws {
    let claims = [
      said("DE") { ($0.reportType, $0.transmissionRisk, $0.daysSinceOnset, $0.rollingPeriod) = (1, 1, 9, 60) },
      said("IT") { ($0.reportType, $0.transmissionRisk, $0.daysSinceOnset, $0.rollingPeriod) = (2, 8, -1, 144) },
    ]
    let key = try winner(claims) { ($0.riskPreference, $0.rollingPeriodPreference) = (.lowest, .narrowest) }
    #expect(key.reportType == 1 && key.transmissionRisk == 8 && key.daysSinceOnset == -1 && key.rollingPeriod == 144)
  }

  @Test func policiesOrderTheRest() throws {
    let periods = [said("DE") { $0.rollingPeriod = 60 }, said("DE") { $0.rollingPeriod = 100 }]
    #expect(try winner(periods).rollingPeriod == 100)
    #expect(try winner(periods) { $0.rollingPeriodPreference = .narrowest }.rollingPeriod == 60)
    let risks = [said("DE") { $0.transmissionRisk = 2 }, said("DE") { $0.transmissionRisk = 7 }]
    #expect(try winner(risks).transmissionRisk == 7)
    #expect(try winner(risks) { $0.riskPreference = .lowest }.transmissionRisk == 2)
    let days = [said("DE") { $0.daysSinceOnset = 9 }, said("DE") { $0.daysSinceOnset = 4000 }]
    #expect(try winner(days).daysSinceOnset == 9)
    #expect(try winner(days) { $0.symptomPreference = .nearestDay }.daysSinceOnset == 4000)
  }

  @Test func acrossOriginsRegionsAreUnited() throws {
    let beliefs = believe([said("DE", visited: ["FR"]), said("IT", visited: ["ES"]) { $0.reportType = 2 }])
    let key = try #require(beliefs.keys.first)
    #expect(
      beliefs.regions[key.forApps.regions] == RegionClaim(origin: "DE", visited: ["DE", "ES", "FR", "IT"]))
    #expect(key.notes.contains(.conflictDecided))
  }

  @Test func anOriginRevokesItsOwnClaimsOnly() throws {
    let clinical = said("DE") { $0.reportType = 2 }
    let revocation = said("DE") { ($0.reportType, $0.isRevised) = (5, true) }
    let revoked = try winner([clinical, revocation])
    #expect(revoked.reportType == 5 && revoked.isRevised)
    #expect(try winner([clinical, revocation, said("IT") { $0.reportType = 3 }]).reportType == 3)
    // Nobody takes back a confirmed test.
    #expect(try winner([said("DE"), revocation]).reportType == 1)
  }

  @Test func aClaimThatIsLeftOutDoesNotSuppressAnother() throws {
    let key = try winner([said("DE") { $0.reportType = nil }, said("IT") { $0.reportType = 4 }])
    #expect(key.reportType == nil)
  }

  @Test func twoKeysOfOneDayStayTwo() {
    let other = said("DE") { $0.key = TemporaryExposureKey(high: 9, low: 9) }
    let later = said("DE") { $0.rollingStart = ($0.rollingStart ?? 0) + 144 }
    #expect(believe([said("DE"), other, later]).keys.count == 3)
  }

  // MARK: The rules

  @Test func stillValidKeysAreHeldAndThenPublished() {
    let start = Int64(good.rollingStartWord)
    let expiry = IntervalNumber(start + 144).start.secondsSince1970
    let early = believe([said("DE")], now: Instant(secondsSince1970: expiry + 7199))
    #expect(early.keys.isEmpty && early.receipt.holds == [.stillValid: 1])
    #expect(early.nextRelease == Instant(secondsSince1970: expiry + 7200))
    #expect(believe([said("DE")], now: Instant(secondsSince1970: expiry + 7200)).keys.count == 1)
    // A short key goes out the same day, unless it is published as a long one.
    let short = [said("DE") { $0.rollingPeriod = 60 }]
    let noon = Instant(secondsSince1970: IntervalNumber(start + 72).start.secondsSince1970)
    #expect(believe(short, now: noon).keys.count == 1)
    #expect(believe(short, now: noon) { $0.expandsShortPeriods = true }.receipt.holds == [.stillValid: 1])
  }

  @Test func oldKeysAreLeftOutByExpiry() {
    let expiry = IntervalNumber(Int64(good.rollingStartWord) + 144).start.secondsSince1970
    let last = Instant(secondsSince1970: expiry + 14 * 86_400)
    #expect(believe([said("DE")], now: last).keys.count == 1)
    let next = believe([said("DE")], now: Instant(secondsSince1970: last.secondsSince1970 + 1))
    #expect(next.receipt.omissions == [.tooOld: 1])
  }

  @Test func riskLevels() throws {
    func level(_ change: (inout ClaimedKey) -> Void, _ set: (inout RiskPolicy) -> Void) -> Int32? {
      believe([said("DE", change)]) { set(&$0.risk) }.keys.first?.forApps.transmissionRisk
    }
    #expect(level({ $0.transmissionRisk = 8 }, { $0.cap = 7 }) == 7)
    #expect(level({ $0.transmissionRisk = nil }, { $0.fallback = 4 }) == 4)
    #expect(level({ $0.transmissionRisk = 2 }, { ($0.fallback, $0.minimum) = (1, 3) }) == nil)
    let levels: [ReportType: Int32] = [.confirmedTest: 2, .confirmedClinicalDiagnosis: 4]
    #expect(
      level({ $0.transmissionRisk = 0 }, { $0.derivation = .fromReportType(levels, replacing: .absentOrZero) }) == 2)
    #expect(
      level({ $0.transmissionRisk = 5 }, { $0.derivation = .fromReportType(levels, replacing: .absentOrZero) }) == 5)
    #expect(level({ $0.transmissionRisk = 5 }, { $0.derivation = .fromReportType(levels, replacing: .always) }) == 2)
    // A revocation goes out whatever its level.
    #expect(
      level({ ($0.reportType, $0.transmissionRisk) = (5, 1) }, { ($0.fallback, $0.minimum) = (1, 3) }) == 1)
  }

  @Test func appsAreGivenExactOnsetsAlone() throws {
    for code in [Int32(205), 1998, 3000, 2996, 4000] {
      let key = try #require(believe([said("DE") { $0.daysSinceOnset = code }]).keys.first)
      #expect(key.forApps.daysSinceOnset == nil && key.forFederation.daysSinceOnset == code)
      #expect(key.notes.contains(.onsetWithheld))
      let defaulted = believe([said("DE") { $0.daysSinceOnset = code }]) { $0.defaultDaysSinceOnset = DayOffset(10) }
      #expect(defaulted.keys.first?.forApps.daysSinceOnset == 10)
      #expect(defaulted.receipt.notes[.onsetDefaulted] == 1)
    }
  }

  @Test func visitedRegions() {
    func reaches(_ region: String, _ visited: [String]?, _ set: (inout PublishingPolicy) -> Void) -> Bool {
      !believe([said("DE", visited: visited)], region: region, set).keys.isEmpty
    }
    #expect(reaches("fr", ["FR"]) { _ in })
    #expect(!reaches("ES", ["FR"]) { _ in })
    #expect(reaches("DE", ["FR"]) { _ in })
    #expect(!reaches("DE", ["FR"]) { $0.includesOrigin = false })
    for visited in [nil, []] as [[String]?] {
      #expect(reaches("ES", visited) { $0.emptyVisited = .all })
      #expect(!reaches("ES", visited) { $0.emptyVisited = .origin })
      #expect(reaches("DE", visited) { ($0.emptyVisited, $0.includesOrigin) = (.origin, false) })
      #expect(!reaches("DE", visited) { ($0.emptyVisited, $0.includesOrigin) = (.none, false) })
    }
  }

  @Test func riskForTheCoronaWarnApp() throws {
    for level in Int32(1)...8 {
      let key = try #require(
        believe([said("DE") { $0.transmissionRisk = level }]) { $0.riskEncoding = .coronaWarnApp }.keys.first)
      var policy = ReadingPolicy()
      policy.riskEncoding = .coronaWarnApp
      let read = admit([Said(key: key.forApps, origin: nil, visited: nil)], from: Sender(name: "app"), policy: policy)
      #expect(read.claims.first?.key.transmissionRisk == level && read.allowances[.reencodedRisk] == 1)
    }
  }

  // MARK: Explanations and differences

  @Test("a revocation of what the same origin has confirmed by a test is told as one that does not count")
  func revokedConfirmedTest() throws {
    let claims = claimSet([admit([said("DE"), said("DE") { $0.reportType = 5 }], from: Sender(name: "efgs"))])
    let explanation = try #require(
      explain(good.key, claims, policy: PublishingPolicy(), now: Cases.now).first)
    let standings = explanation.lines.sorted { ($0.claim.key.reportType ?? 0) < ($1.claim.key.reportType ?? 0) }
      .map(\.standing)
    #expect(standings.count == 2 && standings.last == .revocationWeighsLess)
  }

  @Test func explanations() throws {
    let claims = claimSet([
      admit(
        [
          said("DE") { $0.reportType = 2 }, said("DE") { $0.reportType = 5 }, said("IT"),
          said("IT") { $0.rollingPeriod = 60 }, said("CH") { ($0.reportType, $0.transmissionRisk) = (3, 1) },
        ], from: Sender(name: "efgs")),
      admit([said("FR") { $0.transmissionRisk = 8 }], from: Sender(name: "mirror", isRelay: true)),
    ])
    let explanations = explain(good.key, claims, policy: PublishingPolicy(), now: Cases.now)
    let explanation = try #require(explanations.first)
    #expect(explanations.count == 1 && explanation.lines.count == 6)
    func standing(_ origin: String?, _ type: Int32, _ period: Int32 = 144) -> Explanation.Line.Standing? {
      explanation.lines.first {
        $0.claim.origin == origin && $0.claim.key.reportType == type && $0.claim.key.rollingPeriod == period
      }?.standing
    }
    #expect(standing("IT", 1) == .gives([.reportType, .riskLevel, .onset, .rollingPeriod, .regions]))
    #expect(standing("IT", 1, 60) == .gives([.reportType, .riskLevel, .onset, .regions]))
    #expect(standing("DE", 2) == .revokedByItsOrigin)
    #expect(standing("DE", 5) == .revocationOutvoted)
    #expect(standing("CH", 3) == .gives([.onset, .rollingPeriod, .regions]))
    #expect(standing(nil, 1) == .echoes([.rollingPeriod, .regions]))
    guard case .publish = explanation.outcome else {
      Issue.record("not published")
      return
    }
    #expect(explanation.steps.isEmpty && explanation.regions?.origin == "IT")
    let later = explain(good.key, claims, policy: PublishingPolicy(), now: Instant(secondsSince1970: 2_000_000_000))
    #expect(later.first?.steps == [Explanation.Step(rule: "too-old", effect: "left out: too-old")])
    #expect(explain(TemporaryExposureKey(high: 1, low: 2), claims, policy: PublishingPolicy(), now: Cases.now).isEmpty)
  }

  @Test func differences() throws {
    let said = [
      said("DE"), said("DE") { ($0.key, $0.transmissionRisk) = (TemporaryExposureKey(high: 1, low: 2), 8) },
      said("DE") { ($0.key, $0.reportType) = (TemporaryExposureKey(high: 3, low: 2), 3) },
    ]
    let claims = claimSet([admit(said, from: Sender(name: "peer"))])
    var strict = PublishingPolicy()
    strict.risk.cap = 7
    strict.reportTypes[.selfReport] = .leaveOut
    let same = PolicyDifference(
      from: claims, by: PublishingPolicy(), to: claims, by: PublishingPolicy(), now: Cases.now)
    #expect(same.keys == 3 && same.changed == 0)
    let difference = PolicyDifference(from: claims, by: PublishingPolicy(), to: claims, by: strict, now: Cases.now)
    #expect(
      difference.changes == [
        .init(before: "published", after: "published-differently"): 1,
        .init(before: "published", after: "left out: report-type-not-published"): 1,
      ])
    let otherwise = try #require(difference.details[.init(before: "published", after: "published-differently")])
    #expect(otherwise.fields == ["risk level": 1] && otherwise.origins == ["DE": 1] && otherwise.regions == ["": 1])
    #expect(otherwise.example == TemporaryExposureKey(high: 1, low: 2))
    let fewer = PolicyDifference(from: claims, by: strict, to: ClaimSet(), by: strict, now: Cases.now)
    #expect(fewer.keys == 3 && fewer.changes[.init(before: "published", after: "unknown")] == 2)
  }

  /// What a policy sets is in its table: no setting decides unseen.
  @Test func everySettingIsShown() {
    let publishing: [(inout PublishingPolicy) -> Void] = [
      { $0.rollingPeriodPreference = .narrowest }, { $0.riskPreference = .lowest },
      { $0.symptomPreference = .nearestDay }, { $0.precedence = ["DE"] }, { $0.holdMinutes = 180 },
      { $0.holdToNextMinutes = 60 }, { $0.maximumAgeDays = 9 }, { $0.expandsShortPeriods = true },
      { $0.reportTypes[.selfReport] = .leaveOut }, { $0.reportTypesByOrigin = ["DE": [.selfReport: .leaveOut]] },
      { $0.risk.derivation = .fromReportType([.confirmedTest: 8], replacing: .absent) },
      { $0.risk.derivation = .fromReportType([.confirmedTest: 7], replacing: .absent) },
      { $0.risk.derivation = .fromReportType([.confirmedTest: 8], replacing: .always) }, { $0.risk.fallback = 1 },
      { $0.risk.cap = 7 }, { $0.risk.minimum = 2 }, { $0.defaultDaysSinceOnset = DayOffset(1) },
      { $0.daysSinceOnsetByClass = [.asymptomatic: .none] }, { $0.withheldFromApps = [.risk] },
      { $0.emptyVisited = .origin }, { $0.ignoresVisited = true }, { $0.includesOrigin = false },
      { $0.riskEncoding = .coronaWarnApp },
    ]
    let reading: [(inout ReadingPolicy) -> Void] = [
      { $0.uniformKeyData = .admit }, { $0.earliestRollingStart = Day(daysSince1970: 18_300) },
      { $0.futureTolerance = 1 }, { $0.maximumAge = 14 }, { $0.futureLimit = .endOfTomorrow },
      { $0.startOfDay = .midnight }, { $0.absentRollingPeriod = .reject }, { $0.zeroRollingPeriod = .fullDay },
      { $0.shortRollingPeriod = .fullDay }, { $0.riskEncoding = .coronaWarnApp }, { $0.riskOutOfRange = .zero },
      { $0.onsetCodes = .exact }, { $0.undefinedOnset = .reject }, { $0.highestOnsetCode = 4000 },
      { $0.reportTypes = [.confirmedTest] }, { $0.unrecognizedReportType = .reject }, { $0.speaksFor = ["DE"] },
      { $0.excludedOrigins = ["DE"] }, { $0.floodFactor = nil }, { $0.floodFloor = 3 },
      { $0.riskByAge = .init(days: 7, level: 4, olderLevel: 1) },
    ]
    var tables = [RuleTable(of: Policy(name: "x"))]
    for change in publishing {
      var policy = Policy(name: "x")
      change(&policy.publishing)
      tables.append(RuleTable(of: policy))
    }
    for change in reading {
      var policy = Policy(name: "x")
      change(&policy.reading)
      tables.append(RuleTable(of: policy))
    }
    for (index, table) in tables.enumerated() {
      #expect(tables.firstIndex(of: table) == index, "setting \(index)")
    }
  }

  /// Devices take a revision of a key that they know, and of nothing else.
  @Test func aKeyThatIsKnownRevisedAloneIsNewInAFirstBundle() {
    func copied(_ audience: BelievedKeys.Audience, _ type: Int32) -> [Bool] {
      let claims = claimSet([
        admit([said("DE") { ($0.isRevised, $0.reportType) = (true, type) }], from: Sender(name: "peer"))
      ])
      let believed = fold(claims, policy: PublishingPolicy(), now: Cases.now)
      var chunk = KeyChunk()
      #expect(believed.copy(from: 0, for: audience, to: &chunk.keys) == 1)
      return (0..<chunk.keys.count).map { chunk.keys[$0].isRevised }
    }
    #expect(copied(.apps, 1) == [false] && copied(.federation, 1) == [true])
    #expect(copied(.apps, ReportType.revoked.rawValue) == [true])
  }

  @Test func policiesAreCheckedAsAWhole() {
    var policy = Policy(name: "Bad name")
    #expect(Policy(name: "good").faults.isEmpty)
    policy.reading.futureTolerance = 500
    policy.reading.speaksFor = []
    policy.publishing.holdMinutes = -1
    policy.publishing.reportTypes[.unknown] = .publish(as: .recursive)
    policy.publishing.reportTypes[.selfReport] = .publish(as: .revoked)
    policy.publishing.risk.cap = 2
    policy.publishing.risk.minimum = 3
    policy.publishing.riskEncoding = .coronaWarnApp
    #expect(
      Set(policy.faults.map(\.place)) == [
        "name", "reading.rolling-start.future-tolerance", "reading.speaks-for", "publishing.hold-minutes",
        "publishing.report-types.unknown", "publishing.report-types.self-report", "publishing.risk.cap",
        "publishing.risk.minimum", "publishing.risk.default",
      ])
  }
}
