import ExposureKeys
import Testing

@testable import KeyNormalization

/// One vector for each rule and allowance: what a policy makes of one claim.
@Suite struct AdmissionRuleTests {
  /// A claim that every rule admits as it stands.
  static let good: ClaimedKey = {
    var key = ClaimedKey(key: TemporaryExposureKey(high: 0x0102_0304, low: 5))
    key.rollingStart = Int32(Cases.firstDay.firstInterval.rawValue)
    key.rollingPeriod = 144
    key.transmissionRisk = 3
    key.reportType = 1
    key.daysSinceOnset = 2
    return key
  }()

  private struct Verdict: Equatable, CustomTestStringConvertible {
    var admitted: [ClaimedKey]
    var rejected: [String]
    var held: Int
    var allowances: [Allowance: Int]
    var testDescription: String { "\(admitted.count) admitted, \(rejected), \(held) held, \(allowances)" }
  }

  private func judge(
    _ change: (inout ClaimedKey) -> Void, _ set: (inout ReadingPolicy) -> Void = { _ in }
  ) -> Verdict {
    var key = Self.good
    change(&key)
    var policy = ReadingPolicy()
    set(&policy)
    let batch = admit([Said(key: key, origin: "DE", visited: nil)], from: Sender(name: "peer"), policy: policy)
    return Verdict(
      admitted: batch.claims.map(\.key), rejected: batch.rejected.map(\.description), held: batch.held.count,
      allowances: batch.allowances)
  }

  private func admitted(_ allowance: Allowance? = nil, _ change: (inout ClaimedKey) -> Void = { _ in }) -> Verdict {
    var key = Self.good
    change(&key)
    return Verdict(admitted: [key], rejected: [], held: 0, allowances: allowance.map { [$0: 1] } ?? [:])
  }

  private func rejected(_ reason: AdmissionReason, _ value: Int32? = nil) -> Verdict {
    let text = "key 0: \(reason.rawValue)" + (value.map { " (\($0))" } ?? "")
    return Verdict(admitted: [], rejected: [text], held: 0, allowances: [:])
  }

  @Test func aGoodKeyPassesAsItStands() { #expect(judge { _ in } == admitted()) }

  @Test func uniformKeyData() {
    let zero = TemporaryExposureKey(high: 0, low: 0)
    let sevens = TemporaryExposureKey(high: 0x7777_7777_7777_7777, low: 0x7777_7777_7777_7777)
    #expect(judge { $0.key = zero } == rejected(.keyDataUniform))
    #expect(judge { $0.key = sevens } == rejected(.keyDataUniform))
    #expect(judge({ $0.key = sevens }, { $0.uniformKeyData = .admit }) == admitted { $0.key = sevens })
  }

  @Test func rollingStart() {
    let latest = Int32(IntervalNumber(containing: Cases.now).rawValue) + 12
    let earliest = Int32(Day(daysSince1970: 18_262).firstInterval.rawValue)
    #expect(judge { $0.rollingStart = nil } == rejected(.rollingStartAbsent))
    #expect(judge { $0.rollingStart = latest + 1 } == rejected(.rollingStartInFuture, latest + 1))
    #expect(judge { $0.rollingStart = latest } == admitted { $0.rollingStart = latest })
    #expect(judge { $0.rollingStart = earliest - 1 } == rejected(.rollingStartTooEarly, earliest - 1))
    #expect(judge { $0.rollingStart = -1 } == rejected(.rollingStartTooEarly, -1))
    // Germany drops keys that do not start at midnight; they are real.
    #expect(judge { $0.rollingStart = earliest + 17 } == admitted { $0.rollingStart = earliest + 17 })
  }

  @Test func rollingPeriod() {
    #expect(judge { $0.rollingPeriod = nil } == admitted(.rollingPeriodAbsent))
    #expect(judge({ $0.rollingPeriod = nil }, { $0.absentRollingPeriod = .reject }) == rejected(.rollingPeriodAbsent))
    #expect(judge { $0.rollingPeriod = 0 } == rejected(.rollingPeriodZero, 0))
    #expect(judge({ $0.rollingPeriod = 0 }, { $0.zeroRollingPeriod = .fullDay }) == admitted(.rollingPeriodZero))
    #expect(judge { $0.rollingPeriod = 145 } == rejected(.rollingPeriodOutOfRange, 145))
    #expect(judge { $0.rollingPeriod = -1 } == rejected(.rollingPeriodOutOfRange, -1))
    #expect(judge { $0.rollingPeriod = 60 } == admitted { $0.rollingPeriod = 60 })
    #expect(judge({ $0.rollingPeriod = 60 }, { $0.shortRollingPeriod = .fullDay }) == admitted(.rollingPeriodShort))
  }

  @Test func riskLevel() {
    #expect(judge { $0.transmissionRisk = 8 } == admitted { $0.transmissionRisk = 8 })
    #expect(judge { $0.transmissionRisk = 9 } == rejected(.riskOutOfRange, 9))
    #expect(judge { $0.transmissionRisk = -22 } == rejected(.riskOutOfRange, -22))
    #expect(judge { $0.transmissionRisk = .max } == admitted(.riskNotGiven) { $0.transmissionRisk = nil })
    #expect(
      judge({ $0.transmissionRisk = 9 }, { $0.riskOutOfRange = .notGiven })
        == admitted(.riskOutOfRange) { $0.transmissionRisk = nil })
    #expect(judge { $0.transmissionRisk = nil } == admitted { $0.transmissionRisk = nil })
  }

  @Test func reportType() {
    #expect(judge { $0.reportType = 9 } == admitted(.reportTypeUnrecognized) { $0.reportType = nil })
    #expect(
      judge({ $0.reportType = 9 }, { $0.unrecognizedReportType = .reject }) == rejected(.reportTypeUnrecognized, 9))
    #expect(
      judge({ $0.reportType = 3 }, { $0.reportTypes = [.confirmedTest] }) == rejected(.reportTypeNotAccepted, 3))
    #expect(
      judge({ $0.reportType = nil }, { $0.reportTypes = [.confirmedTest] }) == rejected(.reportTypeNotAccepted, 0))
  }

  @Test func daysSinceOnset() {
    for code in [Int32(-14), 14, 105, 2000, 2996, 4000] {
      #expect(judge { $0.daysSinceOnset = code } == admitted { $0.daysSinceOnset = code }, "\(code)")
    }
    for code in [Int32(15), 50, 1950, -15, 4015] {
      #expect(
        judge { $0.daysSinceOnset = code } == admitted(.onsetUndefined) { $0.daysSinceOnset = nil }, "\(code)")
      #expect(
        judge({ $0.daysSinceOnset = code }, { $0.undefinedOnset = .reject })
          == rejected(.daysSinceOnsetUndefined, code), "\(code)")
    }
    #expect(judge { $0.daysSinceOnset = .max } == admitted(.onsetNotProvided) { $0.daysSinceOnset = nil })
    #expect(
      judge({ $0.daysSinceOnset = 3000 }, { ($0.onsetCodes, $0.undefinedOnset) = (.exact, .reject) })
        == rejected(.daysSinceOnsetUndefined, 3000))
  }

  @Test func reencodedRisk() {
    for level in Int32(1)...8 {
      let type = [4, 4, 3, 3, 2, 2, 1, 1][Int(level) - 1] as Int32
      let days: Int32 = level % 2 == 1 ? 1 : 2
      #expect(
        judge(
          { ($0.transmissionRisk, $0.reportType, $0.daysSinceOnset) = (nil, type, days) },
          { $0.riskEncoding = .coronaWarnApp })
          == admitted(.reencodedRisk) {
            ($0.transmissionRisk, $0.reportType, $0.daysSinceOnset) = (level, nil, nil)
          }, "\(level)")
    }
    func read(_ type: Int32?, _ days: Int32?) -> Verdict {
      judge({ ($0.reportType, $0.daysSinceOnset) = (type, days) }, { $0.riskEncoding = .coronaWarnApp })
    }
    #expect(read(1, 3) == rejected(.riskEncodingUnreadable, 3))
    #expect(read(1, nil) == rejected(.riskEncodingUnreadable))
    #expect(read(0, 1) == rejected(.riskEncodingUnreadable, 0))
    #expect(read(nil, nil) == admitted { ($0.reportType, $0.daysSinceOnset) = (nil, nil) })
    #expect(read(5, 2) == admitted { $0.reportType = 5 })
  }

  @Test func origins() {
    var policy = ReadingPolicy()
    policy.speaksFor = ["DE"]
    func judge(_ origin: String?, _ sender: Sender, own: Set<String> = []) -> AdmittedBatch {
      admit([Said(key: Self.good, origin: origin, visited: nil)], from: sender, policy: policy, own: own)
    }
    #expect(judge("de", Sender(name: "peer")).claims.count == 1)
    #expect(judge("IT", Sender(name: "peer")).rejected.map(\.reason) == [.originNotAllowed])
    #expect(judge(nil, Sender(name: "peer")).rejected.map(\.reason) == [.originNotAllowed])
    #expect(judge(nil, Sender(name: "peer", origin: "DE")).allowances == [.originAssumed: 1])
    #expect(judge("IT", Sender(name: "peer", isRelay: true)).allowances == [.originLost: 1])
    #expect(judge("DE", Sender(name: "peer"), own: ["de"]).rejected.map(\.reason) == [.ownKeyReturned])
  }

  @Test func floods() {
    var policy = ReadingPolicy()
    policy.floodFactor = 2
    policy.floodFloor = 3
    let said = (0..<10).map { number in
      var key = Self.good
      key.key = TemporaryExposureKey(high: UInt64(number), low: 1)
      return Said(key: key, origin: number == 0 ? "IT" : "DE", visited: nil)
    }
    let batch = admit(said, from: Sender(name: "peer"), policy: policy, usualVolumes: ["DE": 2, "IT": 1])
    #expect(batch.claims.count == 5 && batch.held.count == 5 && batch.rejected.isEmpty)
    var claims = ClaimSet()
    let receipt = claims.record(batch)
    #expect(receipt.isBalanced && receipt.new == 5 && receipt.heldForOperator == 5)
    #expect(claims.record(batch.heldClaimsAdmitted()).new == 5)
    #expect(admit(said, from: Sender(name: "peer"), policy: policy).held.isEmpty)
  }

  @Test func regionsAreReadAsSets() {
    let batch = admit(
      [
        Said(key: Self.good, origin: "DE", visited: ["it", "DE", "IT"]),
        Said(key: Self.good, origin: "DE", visited: ["DE", "IT"]),
      ], from: Sender(name: "peer"))
    #expect(batch.allowances == [.regionsTidied: 1])
    var claims = ClaimSet()
    let receipt = claims.record(batch)
    #expect(receipt.new == 1 && receipt.known == 1)
  }

  /// Every reason and every allowance that a rule documents exists, and the other way round.
  @Test func documentationNamesEveryOutcome() {
    let outcomes = AdmissionRules.standard.all.map(\.documentation.outcome).joined(separator: " ")
    for reason in AdmissionReason.allCases
    where !AdmissionReason.ofNoRule.contains(reason) {
      #expect(outcomes.contains(reason.rawValue), "\(reason)")
    }
    for allowance in Allowance.allCases where ![.regionsTidied, .unknownFieldsDropped].contains(allowance) {
      #expect(outcomes.contains(allowance.code), "\(allowance)")
    }
    let beliefs = BeliefRules.all.map(\.documentation.outcome).joined(separator: " ")
    // No rule's: they come of several opinions.
    for reason in LeaveOutReason.allCases where reason != .revocationOutvoted {
      #expect(beliefs.contains(reason.rawValue), "\(reason)")
    }
    for note in PublishingNote.allCases where ![.conflictDecided, .revocationOutvoted].contains(note) {
      #expect(beliefs.contains(note.code), "\(note)")
    }
    let names = (AdmissionRules.standard.all.map(\.documentation) + BeliefRules.all.map(\.documentation)).map(\.name)
    #expect(Set(names).count == names.count)
  }
}
