import ExposureKeys
import Testing

@testable import KeyNormalization

/// What policies can say about values: how they are read, and what apps are told.
@Suite struct ValueRuleTests {
  private func said(_ origin: String?, visited: [String]? = nil, _ change: (inout ClaimedKey) -> Void = { _ in })
    -> Said
  {
    var key = AdmissionRuleTests.good
    change(&key)
    return Said(key: key, origin: origin, visited: visited)
  }

  // MARK: Reading

  private func reason(
    _ said: Said, now: Instant = Cases.now, _ set: (inout ReadingPolicy) -> Void
  ) -> AdmissionReason? {
    var policy = ReadingPolicy()
    set(&policy)
    return admit([said], from: Sender(name: "peer"), policy: policy, now: now).rejected.first?.reason
  }

  @Test func startsAreLimitedByTheDay() {
    let day = Cases.now.day
    let midnight = Int32(day.firstInterval.rawValue)
    for seconds in [0, 43_200, 86_399] as [Int64] {
      let now = Instant(secondsSince1970: day.start.secondsSince1970 + seconds)
      for (limit, last) in [(.midnightOfToday, midnight), (.endOfTomorrow, midnight + 287)]
        as [(ReadingPolicy.FutureLimit, Int32)]
      {
        #expect(reason(said("DE") { $0.rollingStart = last }, now: now) { $0.futureLimit = limit } == nil)
        #expect(
          reason(said("DE") { $0.rollingStart = last + 1 }, now: now) { $0.futureLimit = limit }
            == .rollingStartInFuture)
      }
    }
  }

  @Test func startsMayHaveToBeMidnights() {
    let start = AdmissionRuleTests.good.rollingStartWord
    #expect(reason(said("DE")) { $0.startOfDay = .midnight } == nil)
    for other in [start + 1, start - 1, start + 143] {
      #expect(
        reason(said("DE") { $0.rollingStart = other }) { $0.startOfDay = .midnight } == .rollingStartNotMidnight)
    }
  }

  @Test func levelsOutsideTheRangeMayCountAsZero() {
    var policy = ReadingPolicy()
    policy.riskOutOfRange = .zero
    for level in [Int32(9), -1, 2_147_483_646] {
      let batch = admit([said("DE") { $0.transmissionRisk = level }], from: Sender(name: "peer"), policy: policy)
      #expect(batch.claims.first?.key.transmissionRisk == 0 && batch.allowances == [.riskReadAsZero: 1])
    }
    let none = admit([said("DE") { $0.transmissionRisk = .max }], from: Sender(name: "peer"), policy: policy)
    #expect(none.claims.first?.key.transmissionRisk == nil && none.allowances == [.riskNotGiven: 1])
  }

  @Test func codesMayHaveALimit() {
    for (code, isTaken) in [(4000, true), (4001, false), (4014, false), (.max, false), (50, true)] as [(Int32, Bool)] {
      let found = reason(said("DE") { $0.daysSinceOnset = code }) { $0.highestOnsetCode = 4000 }
      #expect(found == (isTaken ? nil : .daysSinceOnsetUndefined), "\(code)")
    }
  }

  @Test func originsMayBeExcluded() {
    #expect(reason(said("it")) { $0.excludedOrigins = ["IT"] } == .originExcluded)
    #expect(reason(said("DE")) { $0.excludedOrigins = ["IT"] } == nil)
  }

  // MARK: Publishing

  private func told(_ said: Said..., by set: (inout PublishingPolicy) -> Void) -> ClaimedKey? {
    believed(said, by: set).keys.first?.forApps
  }

  private func believed(
    _ said: [Said], region: String? = nil, by set: (inout PublishingPolicy) -> Void
  ) -> BelievedKeys {
    var policy = PublishingPolicy()
    set(&policy)
    return fold(
      claimSet([admit(said, from: Sender(name: "peer"))]), policy: policy, region: region, now: Cases.now)
  }

  @Test func anOriginsReportTypesMayFareOtherwise() {
    let set = { (policy: inout PublishingPolicy) in
      policy.reportTypes[.unknown] = .leaveOut
      policy.reportTypesByOrigin = ["DE": [.unknown: .publish(as: .confirmedTest)], "PL": [.confirmedTest: .leaveOut]]
    }
    #expect(told(said("DE") { $0.reportType = nil }, by: set)?.reportType == 1)
    #expect(told(said("IT") { $0.reportType = nil }, by: set) == nil)
    #expect(told(said(nil) { $0.reportType = nil }, by: set) == nil)
    #expect(told(said("PL"), by: set) == nil)
    #expect(told(said("PL") { $0.reportType = 2 }, by: set)?.reportType == 2)
    // What is left out of one origin takes nothing from another.
    #expect(told(said("PL"), said("IT"), by: set)?.reportType == 1)
  }

  @Test func aClassMayHaveItsOwnOnset() throws {
    let three = try #require(DayOffset(3))
    let ten = try #require(DayOffset(10))
    let set = { (policy: inout PublishingPolicy) in
      policy.defaultDaysSinceOnset = ten
      policy.daysSinceOnsetByClass = [.onset: .days(three), .asymptomatic: .none, .onsetInRange: .days(three)]
    }
    for (code, days) in [(5, 3), (205, 3), (3000, nil), (2000, 10), (nil, 10)] as [(Int32?, Int32?)] {
      #expect(told(said("DE") { $0.daysSinceOnset = code }, by: set)?.daysSinceOnset == days)
    }
    let believed = believed([said("DE") { $0.daysSinceOnset = 5 }], by: set)
    #expect(believed.receipt.notes[.onsetReplaced] == 1)
    // Gateways are told what was said.
    #expect(believed.keys.first?.forFederation.daysSinceOnset == 5)
  }

  @Test func fieldsMayBeKeptFromAppsButARevocationStaysOne() {
    let all = { (policy: inout PublishingPolicy) in policy.withheldFromApps = [.reportType, .risk, .onset] }
    let key = told(said("DE"), by: all)
    #expect(key?.reportType == nil && key?.transmissionRisk == nil && key?.daysSinceOnset == nil && key != nil)
    let federated = believed([said("DE")], by: all).keys.first?.forFederation
    #expect(federated?.reportType == 1 && federated?.transmissionRisk == 3 && federated?.daysSinceOnset == 2)
    #expect(told(said("DE") { $0.reportType = 5 }, by: all)?.reportType == 5)
  }

  @Test func namedRegionsMayMakeNoDifference() throws {
    for visited in [nil, [], ["IT"]] as [[String]?] {
      for region in ["FR", "IT", "DE"] {
        let believed = believed([said("DE", visited: visited)], region: region) { $0.ignoresVisited = true }
        #expect(believed.keys.count == 1)
      }
    }
    // An empty list, as of any key that goes everywhere.
    let named = believed([said("DE", visited: ["IT"])]) { $0.ignoresVisited = true }
    let key = try #require(named.keys.first)
    #expect(named.regions[key.forFederation.regions].visited == [])
  }

  @Test func anEntryKeepsWhatWasSentAndAHoleIsTold() {
    var table = SymptomTable()
    table.onset = SymptomTable.Days(all: .asSent)
    table.asymptomatic = SymptomTable.Days(all: .leaveOut)
    table.otherwise = .level(1)
    let set = { (policy: inout PublishingPolicy) in policy.risk.derivation = .fromSymptoms(table) }
    #expect(told(said("DE") { $0.transmissionRisk = 8 }, by: set)?.transmissionRisk == 8)
    #expect(told(said("DE") { $0.transmissionRisk = nil }, by: set)?.transmissionRisk == .some(nil))
    #expect(told(said("DE") { $0.daysSinceOnset = 3000 }, by: set) == nil)
    let other = believed([said("DE") { ($0.daysSinceOnset, $0.transmissionRisk) = (4000, 8) }], by: set)
    #expect(other.keys.first?.forApps.transmissionRisk == 1)
    #expect(other.receipt.notes == [.riskDerived: 1, .riskNotNamed: 1, .onsetWithheld: 1])
  }

  @Test func whatNothingIsKnownOfMayFareOtherwiseByItsOrigin() {
    var table = SymptomTable()
    table.notGiven = .level(1)
    table.notGivenByOrigin = ["DE": .asSent]
    let set = { (policy: inout PublishingPolicy) in policy.risk.derivation = .fromSymptoms(table) }
    for (origin, level) in [("DE", 3), ("IT", 1), (nil, 1)] as [(String?, Int32)] {
      for code in [nil, 50, .max] as [Int32?] {
        #expect(told(said(origin) { $0.daysSinceOnset = code }, by: set)?.transmissionRisk == level)
      }
    }
    #expect(told(said("DE") { $0.daysSinceOnset = 3000 }, by: set)?.transmissionRisk == 3)
  }

  @Test func keysMayWaitForTheNextHours() {
    var policy = PublishingPolicy()
    let midnight: Int64 = 18_600 * 86_400
    func hours(_ expiry: Int64) -> Int64 {
      policy.release(after: Instant(secondsSince1970: midnight + expiry * 600)).secondsSince1970 - midnight
    }
    #expect(hours(0) == 7200)
    policy.holdToNextMinutes = 60
    // Ends at 00:00, 15:10, 15:50, 16:00.
    #expect([0, 91, 95, 96].map(hours) == [3, 18, 18, 19].map { $0 * 3600 })
    policy.holdToNextMinutes = 120
    #expect([0, 11, 12].map(hours) == [4, 4, 6].map { $0 * 3600 })
    for minutes in [0, -60, 7, 2880] {
      policy.holdToNextMinutes = minutes
      #expect(policy.faults.map(\.place) == ["publishing.hold-to-next"])
    }
  }

  @Test func whatHasNoEffectIsAtFault() throws {
    var policy = Policy(name: "mine")
    policy.publishing.riskEncoding = .coronaWarnApp
    policy.publishing.risk.fallback = 1
    policy.publishing.withheldFromApps = [.risk]
    policy.publishing.daysSinceOnsetByClass = [.asymptomatic: .none]
    #expect(policy.faults.map(\.place) == ["publishing.onset.by-class", "publishing.not-for-apps"])
    policy.publishing = PublishingPolicy()
    policy.publishing.withheldFromApps = [.onset]
    policy.publishing.defaultDaysSinceOnset = DayOffset(0)
    #expect(policy.faults.map(\.place) == ["publishing.onset"])
    policy.publishing = PublishingPolicy()
    (policy.publishing.ignoresVisited, policy.publishing.emptyVisited) = (true, .origin)
    #expect(policy.faults.map(\.place) == ["publishing.regions.none-named"])
    policy.publishing = PublishingPolicy()
    policy.publishing.reportTypesByOrigin = [
      "DE": [.unknown: .publish(as: .revoked), .selfReport: .publish(as: .recursive)]
    ]
    #expect(
      policy.faults.map(\.place) == [
        "publishing.report-types-of.DE.unknown", "publishing.report-types-of.DE.self-report",
      ])
    policy.publishing = PublishingPolicy()
    (policy.reading.excludedOrigins, policy.reading.speaksFor) = (["DE", "Q"], ["DE"])
    #expect(policy.faults.map(\.place) == ["reading.excluded-origins", "reading.excluded-origins"])
  }

  @Test func regionsThatCanBe() {
    for name in ["DE", "GB-SCT", "US-VA", "262", "EU", "EL", "UK", "XK", "PT-20"] {
      #expect(RegionName.isPossible(name), "\(name)")
    }
    for name in [
      "", "D", "de", "QQ", "DEU", "DE-", "DE-ABCD", "GB_SCT", "000", "199", "800", "26", "2622", "GB-sct", "DE-Ä",
    ] {
      #expect(!RegionName.isPossible(name), "\(name)")
    }
  }
}
