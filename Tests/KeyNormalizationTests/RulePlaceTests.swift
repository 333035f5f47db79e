import ExposureKeys
import Synchronization
import Testing

@testable import KeyNormalization

/// A rule is right wherever it stands in the list: what it is asked about says when it is asked, and how often.
@Suite struct RulePlaceTests {
  /// A rule about key data, as one would add it.
  static let blocksSeven = AdmissionRule(
    documentation: documentation, value: { _ in "7" },
    apply: .toKeys { key, _, _ in key.low == 7 ? .reject(.keyDataUniform) : .admit })

  static let documentation = RuleDocumentation(name: "test", rule: "", why: "", source: "", outcome: "")

  /// Claims that say the same, about these keys.
  private func said(_ keys: [UInt64]) -> [Said] {
    keys.map { key in
      var said = AdmissionRuleTests.good
      said.key = TemporaryExposureKey(high: 1, low: key)
      return Said(key: said, origin: "DE", visited: nil)
    }
  }

  private func rules(adding rule: AdmissionRule, at place: Int) -> AdmissionRules {
    var all = AdmissionRules.standard.all
    all.insert(rule, at: place)
    return AdmissionRules(all)
  }

  @Test func aRuleAboutKeyDataIsRightAtAnyPlace() {
    for place in 0...AdmissionRules.standard.all.count {
      let rules = rules(adding: Self.blocksSeven, at: place)
      for keys: [UInt64] in [[1, 7, 2], [7, 1, 2, 3], [1, 2, 7, 7, 3], [7]] {
        let batch = admit(said(keys), from: Sender(name: "peer"), rules: rules)
        #expect(batch.claims.map(\.subject.key.low) == keys.filter { $0 != 7 }, "at \(place)")
        #expect(batch.rejected.map(\.index) == keys.indices.filter { keys[$0] == 7 }, "at \(place)")
      }
    }
  }

  @Test func aRuleAboutKeysSeesEachStartByItself() {
    let rule = AdmissionRule(
      documentation: Self.documentation, value: { _ in "" },
      apply: .toKeys { key, start, _ in
        key.low == 7 && start == AdmissionRuleTests.good.rollingStart ? .reject(.keyDataUniform) : .admit
      })
    var said = said([7, 7, 1])
    said[1].key.rollingStart = AdmissionRuleTests.good.rollingStartWord + 144
    let batch = admit(said, from: Sender(name: "peer"), rules: rules(adding: rule, at: 3))
    #expect(batch.rejected.map(\.index) == [0] && batch.claims.count == 2)
  }

  @Test func eachKindIsAskedAsOftenAsItMust() {
    let asked = Mutex<[String: Int]>([:])
    @Sendable func count(_ name: String) -> AdmissionVerdict {
      asked.withLock { $0[name, default: 0] += 1 }
      return .admit
    }
    func rule(_ apply: AdmissionRule.Question) -> AdmissionRule {
      AdmissionRule(documentation: Self.documentation, value: { _ in "" }, apply: apply)
    }
    let rules = AdmissionRules([
      rule(.toVolumes { _, _ in count("volumes") }), rule(.toStatements { _, _ in count("statements") }),
      rule(.toKeys { _, _, _ in count("keys") }),
    ])
    var said = said([1, 2, 3, 4])
    said[3].key.transmissionRisk = 8
    #expect(admit(said, from: Sender(name: "peer"), rules: rules).claims.count == 4)
    #expect(asked.withLock { $0 } == ["keys": 4, "statements": 2, "volumes": 4])
    // They are listed as they are asked.
    let kinds = rules.all.map { rule in
      switch rule.apply {
      case .toKeys: "keys"
      case .toStatements: "statements"
      case .toVolumes: "volumes"
      }
    }
    #expect(kinds == ["keys", "statements", "volumes"])
  }

  /// A rule of any kind may hold a claim; what is held is whole, and nothing else speaks against it.
  @Test func whatIsHeldIsAClaimThatNoRuleRejects() {
    let questions: [AdmissionRule.Question] = [
      .toKeys { key, _, _ in key.low == 7 ? .holdForOperator(.flood) : .admit },
      .toStatements { reading, _ in reading.said.transmissionRisk == 6 ? .holdForOperator(.flood) : .admit },
      .toVolumes { origin, _ in origin.admitted >= 2 ? .holdForOperator(.flood) : .admit },
    ]
    for question in questions {
      let rule = AdmissionRule(documentation: Self.documentation, value: { _ in "" }, apply: question)
      var said = said([1, 2, 7, 7])
      said[2].key.transmissionRisk = 6
      (said[3].key.transmissionRisk, said[3].key.rollingPeriod) = (6, 145)
      let batch = admit(said, from: Sender(name: "peer"), rules: rules(adding: rule, at: 0))
      #expect(batch.held.map(\.key) == [said[2].key])
      #expect(batch.rejected.map(\.reason) == [.rollingPeriodOutOfRange])
      #expect(batch.claims.count == 2)
    }
  }
}

/// What a statement has no bits for is a rejected key, whichever rules there are; nothing traps.
@Suite struct StatementTests {
  /// What comes of a claim that no rule looks at.
  private func admitted(_ change: (inout ClaimedKey) -> Void) -> AdmittedBatch {
    var key = AdmissionRuleTests.good
    change(&key)
    return admit(
      [Said(key: key, origin: "DE", visited: ["IT"])], from: Sender(name: "peer"), rules: AdmissionRules([]))
  }

  @Test func whatFitsIsReadBackAsItIs() throws {
    for field in Statement.Field.allCases {
      for value in field.range {
        let batch = admitted { field.set(value, of: &$0) }
        let key = try #require(batch.claims.first?.key, "\(field) \(value)")
        var expected = AdmissionRuleTests.good
        field.set(value, of: &expected)
        expected.regions = RegionClaim.ID(rawValue: 1)
        #expect(key == expected)
        var claims = ClaimSet()
        let receipt = claims.record(batch)
        #expect(receipt.isBalanced && receipt.new == 1)
        #expect(claims.statedClaims.first?.visited == ["IT"])
      }
    }
  }

  @Test func whatDoesNotFitIsRejected() {
    for field in Statement.Field.allCases {
      for value in [field.range.lowerBound - 1, field.range.upperBound + 1, .min, .max] {
        let batch = admitted { field.set(value, of: &$0) }
        #expect(batch.claims.isEmpty && batch.rejected.map(\.reason) == [.notRepresentable], "\(field) \(value)")
        #expect(batch.rejected.map(\.value) == [value])
        var claims = ClaimSet()
        #expect(claims.record(batch).isBalanced && claims.isEmpty)
      }
    }
    #expect(admitted { $0.rollingStart = -1 }.rejected.map(\.description) == ["key 0: not-representable (-1)"])
    #expect(admitted { $0.rollingStart = nil }.rejected.map(\.description) == ["key 0: not-representable"])
    #expect(admitted { $0.rollingPeriod = nil }.rejected.map(\.description) == ["key 0: not-representable"])
    #expect(admitted { ($0.transmissionRisk, $0.reportType, $0.daysSinceOnset) = (nil, nil, nil) }.claims.count == 1)
  }

  /// Stores keep these bits.
  @Test func theLayoutStays() throws {
    var key = AdmissionRuleTests.good
    (key.rollingPeriod, key.transmissionRisk, key.reportType, key.daysSinceOnset) = (144, 8, 5, 4014)
    key.isRevised = true
    #expect(try Statement(StatedFields(key)).bits == 144 | 9 << 8 | 6 << 12 | 4029 << 15 | 1 << 27)
    (key.rollingPeriod, key.transmissionRisk, key.reportType, key.daysSinceOnset) = (1, 0, 0, -14)
    key.isRevised = false
    #expect(try Statement(StatedFields(key)).bits == 1 | 1 << 8 | 1 << 12 | 1 << 15)
  }
}

extension Statement.Field {
  fileprivate func set(_ value: Int32, of key: inout ClaimedKey) {
    switch self {
    case .rollingPeriod: key.rollingPeriod = value
    case .transmissionRisk: key.transmissionRisk = value
    case .reportType: key.reportType = value
    case .daysSinceOnset: key.daysSinceOnset = value
    }
  }
}

/// How a report type is handled is decided for every one of them.
@Suite struct ReportTypeTests {
  @Test func everyReportTypeGoesThrough() {
    for type in ReportType.allCases {
      var key = AdmissionRuleTests.good
      key.reportType = type.rawValue
      let batch = admit([Said(key: key, origin: "DE", visited: nil)], from: Sender(name: "peer"))
      #expect(batch.claims.map(\.key.reportTypeClaim) == [.stated(type)])
      let beliefs = fold(claimSet([batch]), policy: PublishingPolicy(), now: Cases.now)
      #expect(beliefs.receipt.believed == 1 && beliefs.receipt.isBalanced)
      #expect(ReportType(code: type.code) == type)
    }
  }

  @Test func eachHasAPlaceOfItsOwn() {
    let names = ByReportType { $0.name }
    for type in ReportType.allCases { #expect(names[type] == type.name) }
  }

  @Test func theCoronaWarnAppsEncodingReadsBack() {
    for risk in Int32(-1)...10 {
      let fields = AdmissionRule.reencode(risk: risk)
      #expect((fields != nil) == (1...8).contains(risk))
      guard let fields else { continue }
      #expect(fields.reportType.rawValue == 5 - (risk + 1) / 2 && fields.daysSinceOnset == (risk % 2 == 1 ? 1 : 2))
    }
  }
}
