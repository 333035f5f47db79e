import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyNormalization
import KeyPublishing
import KeyStorage
import Testing

/// What goes out about keys that went out before.
@Suite struct RevisionTests {
  static let types: [ReportType] = [.confirmedTest, .confirmedClinicalDiagnosis, .selfReport, .revoked]

  /// Google's framework: what an exposure that matched can become.
  static let accepted: [ReportType: Set<ReportType>] = [
    .selfReport: [.confirmedTest, .confirmedClinicalDiagnosis, .revoked],
    .confirmedClinicalDiagnosis: [.confirmedTest, .revoked],
  ]

  @Test(arguments: types, types)
  func onlyWhatDevicesAccept(first: ReportType, second: ReportType) async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1, type: first)])
      let receipt = try await press.round(at(10))[0]
      // What was never released cannot be revoked.
      #expect(receipt.published == (first == .revoked ? 0 : 1))
      #expect(receipt.omissions == (first == .revoked ? ["revoked": 1] : [:]))
      try await press.say([key(1, type: second)], source: "later")
      try await press.round(at(12))
      let bundles = try press.increments("NL")
      // Of one origin's claims the greater one counts: a confirmed test stays one.
      if first == .revoked {
        #expect(bundles.map(\.keys) == (second == .confirmedTest ? [[key(1, type: second)]] : []))
      } else if Self.accepted[first]?.contains(second) == true {
        #expect(bundles.count == 2 && bundles[1].keys == [key(1, type: second).with { $0.isRevised = true }])
      } else {
        #expect(bundles.count == 1)
      }
    }
  }

  @Test func aKeyIsRevisedOnce() async throws {
    try await Press.run(.sample()) { press in
      for (hour, type) in [
        (Int64(10), ReportType.selfReport), (12, .confirmedClinicalDiagnosis), (14, .confirmedTest),
      ] {
        try await press.say([key(1, type: type)])
        try await press.round(at(hour))
      }
      let bundles = try press.increments("NL")
      #expect(bundles.map(\.newKeys.count) == [1, 0])
      #expect(bundles[1].revisedKeys.map(\.reportType) == [ReportType.confirmedClinicalDiagnosis.rawValue])
    }
  }

  @Test("a device's one revision is spent only by an origin whose opinion was in the first release")
  func noStrangerSpendsTheRevision() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1, type: .selfReport), key(2, type: .selfReport)])
      try await press.say([key(2, type: .selfReport)], origin: "DE", visited: ["NL"], source: "other")
      try await press.round(at(10))
      // Another origin says more about both keys: of the second one it was there from the beginning.
      try await press.say(
        [key(1, type: .confirmedTest), key(2, type: .confirmedTest)], origin: "DE", visited: ["NL"], source: "other")
      let second = try await press.round(at(12))[0]
      #expect(second.revised == 1 && second.alreadyReleased == 1)
      #expect(try press.increments("NL").last?.keys.map(\.key) == [key(2).key])
      // The first one's own origin still has it, and gets what it says itself.
      try await press.say([key(1, type: .confirmedClinicalDiagnosis)])
      try await press.round(at(14))
      let bundles = try press.increments("NL")
      #expect(bundles.count == 3 && bundles[2].revisedKeys.map(\.key) == [key(1).key])
      #expect(bundles[2].revisedKeys.map(\.reportType) == [ReportType.confirmedClinicalDiagnosis.rawValue])
      let released = try await press.ledger.read {
        try $0.released(by: "NL", from: TemporaryExposureKey(high: 0, low: 0), limit: 9)
      }
      #expect(Set(released.map { $0.origins?.text ?? "" }) == ["NL", "DE,NL"])
    }
  }

  /// Risk, onset and period alone are nothing to a device that knows the key.
  @Test func otherChangesAreNotSent() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1, type: .selfReport, risk: 3, onset: nil)])
      try await press.round(at(10))
      try await press.say([key(1, type: .selfReport, risk: 6, onset: 1)])
      #expect(try await press.round(at(12))[0].alreadyReleased == 1)
      // With the report type they go along, but for the period.
      try await press.say([key(1, age: 1, period: 144, type: .confirmedTest, risk: 7, onset: 3)])
      try await press.round(at(14))
      let revised = try press.increments("NL")[1].revisedKeys
      #expect(revised.map(\.transmissionRisk) == [7] && revised.map(\.daysSinceOnset) == [3])
    }
    try await Press.run(.sample()) { press in
      try await press.say([key(1, period: 60, type: .selfReport)])
      try await press.round(at(10))
      try await press.say([key(1, period: 120, type: .confirmedTest)])
      try await press.round(at(12))
      #expect(try press.increments("NL")[1].revisedKeys.map(\.rollingPeriod) == [60])
    }
  }

  /// A revocation says nothing but that, so the key keeps what it had.
  @Test func aRevocationKeepsTheOtherFields() async throws {
    try await Press.run(.sample()) { press in
      let released = key(1, type: .selfReport, risk: 5, onset: -2)
      try await press.say([released])
      try await press.round(at(10))
      try await press.say([key(1, type: .revoked, risk: nil, onset: nil)])
      try await press.round(at(12))
      let expected = released.with {
        $0.reportType = ReportType.revoked.rawValue
        $0.isRevised = true
      }
      #expect(try press.increments("NL")[1].keys == [expected])
    }
  }

  // MARK: Recalls

  @Test func recalledKeysAreRevokedWhereDevicesLetThemGo() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([
        key(1, type: .selfReport), key(2, type: .confirmedClinicalDiagnosis), key(3, type: .confirmedTest),
        key(4, type: .selfReport),
      ])
      try await press.say([key(4, type: .selfReport)], origin: "DE", visited: ["NL"], source: "other")
      try await press.round(at(10))
      _ = try await press.ledger.recalled(RecallRequest(origin: "NL"), by: word, at: at(11))
      let receipt = try await press.round(at(12))[0]
      #expect(receipt.recalled == 2 && receipt.notRevocable == 1 && receipt.alreadyReleased == 1)
      #expect(try subjects(press.increments("NL")[1].revisedKeys) == subjects([key(1), key(2)]))
      #expect(try press.increments("NL")[1].keys.allSatisfy { $0.reportType == ReportType.revoked.rawValue })
      // Once is enough.
      let next = try await press.round(at(14))[0]
      #expect(next.recalled == 0 && next.notRevocable == 0 && next.bundles == [])
    }
  }

  /// What a lost store knew, and a source that is down has not said again, was recalled by nobody.
  @Test func aRecallAfterALossRevokesWhatItNamesAlone() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1, type: .selfReport)])
      try await press.say([key(2, type: .selfReport)], origin: "DE", visited: ["NL"], source: "other")
      try await press.round(at(10))
      let other = Press(base: MemoryStore(), root: press.root, series: press.series)
      try await other.say([key(2, type: .selfReport)], origin: "DE", visited: ["NL"], source: "other")
      try await other.round(at(12))
      _ = try await other.ledger.recalled(RecallRequest(origin: "DE"), by: word, at: at(13))
      #expect(try await other.round(at(14))[0].recalled == 1)
      #expect(try subjects(other.increments("NL").flatMap(\.revisedKeys)) == subjects([key(2)]))
    }
  }

  /// A key whose claims have expired is not one that was recalled, and neither is one that is too old to match.
  @Test func expiryIsNoRecall() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1, type: .selfReport), key(2, age: 13, type: .selfReport)])
      try await press.round(at(10))
      _ = try await press.ledger.expired(
        keysExpiredBefore: at(0, days: -10), at: SoundTime(toldByOperator: at(11)))
      #expect(try await press.round(at(12))[0].bundles == [])
      _ = try await press.ledger.recalled(RecallRequest(origin: "NL"), by: word, at: at(13))
      #expect(try await press.round(at(14, days: 14))[0].bundles == [])
    }
  }

  // MARK: Pauses

  @Test(arguments: [Pause.Subject.source("peer"), .origin("NL")])
  func nothingNewComesFromThePaused(subject: Pause.Subject) async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1, type: .selfReport), key(2)])
      try await press.ledger.paused(subject, by: word, at: at(9))
      // Somebody else stands behind the second key as well, and says less about it.
      try await press.say([key(2, risk: 2)], origin: "DE", visited: ["NL"], source: "other")
      let receipt = try await press.round(at(10))[0]
      #expect(receipt.paused == 1 && receipt.published == 1)
      #expect(try press.increments("NL").flatMap(\.keys).map(\.transmissionRisk) == [2])
      _ = try await press.ledger.resumed(subject, by: word, at: at(11))
      #expect(try await press.round(at(12))[0].published == 1)
      #expect(try press.increments("NL")[1].keys == [key(1, type: .selfReport)])
    }
  }

  /// As the configuration says: `rehearsal: true`.
  @Test func whatIsRehearsedIsToldAndNotPublished() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1, type: .selfReport), key(2)])
      for index in press.series.indices { press.series[index].rehearsals = ["peer"] }
      try await press.say([key(2, risk: 2)], origin: "DE", visited: ["NL"], source: "other")
      let receipt = try await press.round(at(10))[0]
      #expect(receipt.paused == 1 && receipt.published == 1)
      #expect(try press.increments("NL").flatMap(\.keys).map(\.transmissionRisk) == [2])
      for index in press.series.indices { press.series[index].rehearsals = [] }
      #expect(try await press.round(at(12))[0].published == 1)
      #expect(try press.increments("NL")[1].keys == [key(1, type: .selfReport)])
    }
  }

  @Test func nothingIsRevokedByAPause() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1, type: .selfReport), key(2, type: .selfReport)])
      try await press.round(at(10))
      try await press.say([key(1, type: .revoked)], origin: "DE", visited: ["NL"], source: "other")
      #expect(try await press.round(at(12))[0].bundles == [])
      try await press.ledger.paused(.origin("NL"), by: word, at: at(12))
      let receipt = try await press.round(at(14))[0]
      #expect(receipt.bundles == [] && receipt.alreadyReleased == 2)
      // When nobody at all stands behind it any more, it is.
      try await press.say([key(1, type: .revoked)])
      #expect(try await press.round(at(16))[0].revised == 1)
    }
  }

  // MARK: Embargo and outvoted revocations

  /// A key that a paused source says is valid until midnight is not told before, though that source counts for nothing
  /// else.
  @Test func whatIsPausedDelaysAllTheSame() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1, age: -1, period: 6)], origin: "DE", visited: ["NL"], source: "other")
      try await press.say([key(1, age: -1, period: 144)])
      try await press.ledger.paused(.source("peer"), by: word, at: at(1))
      let receipt = try await press.round(at(10))[0]
      #expect(receipt.published == 0 && receipt.held == 1)
      #expect(receipt.nextRelease == at(2, days: 1))
      #expect(try await press.round(at(2, days: 1))[0].published == 1)
    }
  }

  @Test func whatIsRecalledDelaysAllTheSame() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1, age: -1, period: 6)], origin: "DE", visited: ["NL"], source: "other")
      try await press.say([key(1, age: -1, period: 144)])
      _ = try await press.ledger.recalled(RecallRequest(origin: "NL"), by: word, at: at(1))
      #expect(try await press.round(at(10))[0].nextRelease == at(2, days: 1))
    }
  }

  @Test func anOutvotedRevocationIsToldToTheOperator() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1, type: .selfReport), key(2)])
      try await press.say([key(1, type: .revoked)], origin: "DE", visited: ["NL"], source: "other")
      let receipt = try await press.round(at(10))[0]
      #expect(receipt.published == 2)
      #expect(receipt.warnings.map(\.code) == [.revocationOutvoted])
      #expect(receipt.warnings.first?.reason.hasPrefix("1 key ") == true)
    }
  }
}

private let word = Attribution(by: "ada")
