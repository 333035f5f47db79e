import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyPublishing
import KeyStorage
import Testing

/// What `explain` says of a key is what the next round does with it.
@Suite struct SeriesAnswerTests {
  @Test(arguments: 0..<4) func answersAreWhatRoundsDo(number: Int) async throws {
    var random = SeededRandom(for: "series answers \(number)")
    try await Press.run(PublishingLawTests.series(&random)) { press in
      var now = at(0)
      let word = Attribution(by: "ada")
      var told: Set<String> = []
      for _ in 0..<8 {
        let count = Int.random(in: 0...12, using: &random)
        try await press.say(
          PublishingLawTests.claims(&random, count: count), source: random.pick(["a", "b"]), now: at(0, days: 2))
        if random.once(in: 4) {
          try await press.ledger.paused(.origin(random.pick(PublishingLawTests.origins)), by: word, at: now)
        } else if random.once(in: 4) {
          for pause in try await press.ledger.read({ try $0.pauses() }) {
            _ = try await press.ledger.resumed(pause.subject, by: word, at: now)
          }
        }
        if random.once(in: 6) {
          let request = RecallRequest(origin: random.pick(PublishingLawTests.origins))
          _ = try await press.ledger.recalled(request, by: word, at: now)
        }
        now = Instant(secondsSince1970: now.secondsSince1970 + Int64.random(in: 1...20_000, using: &random))
        let answers = try await press.answers(at: now)
        let before = try await press.releases()
        let receipts = try await press.round(now)
        let after = try await press.releases()
        for receipt in receipts where receipt.window != nil {
          let name = receipt.series
          let all = answers.flatMap { $0.filter { $0.series == name } }
          #expect(all.allSatisfy { $0.window == receipt.window && $0.isDue })
          let subjects = all.flatMap(\.subjects)
          for subject in subjects { told.insert(try check(subject)) }
          #expect(subjects.map(\.fate.code).tally == receipt.fates, "\(name)")
          guard receipt.waiting == 0 else { continue }
          for subject in subjects {
            let (old, new) = (before[name]?[subject.subject], after[name]?[subject.subject])
            #expect(subject.release?.key == old)
            switch subject.fate {
            case .goesOut(let key): #expect(old == nil && new?.key == key)
            case .revised(let key):
              #expect(old?.revisions == 0 && new?.revisions == 1 && new?.key.reportType == key.reportType)
            case .recalled: #expect(new?.key.reportType == ReportType.revoked.rawValue)
            case .carried, .held, .leftOut, .repeated, .paused, .awaitsOperator, .withdrawn, .notRevocable, .forgotten:
              #expect(new == old)
            }
          }
        }
      }
      #expect(told.isSuperset(of: ["goes-out", "carried", "held", "left-out"]), "\(told)")
    }
  }

  /// No line contradicts another.
  private func check(_ subject: SeriesAnswer.Subject) throws -> String {
    let lines = subject.explanation?.lines ?? []
    let gives = lines.contains { line in
      switch line.standing {
      case .gives, .echoes: true
      case .leftOut, .revokedByItsOrigin, .revocationOutvoted, .revocationWeighsLess, .notCounted, .setAside: false
      }
    }
    switch (subject.fate, subject.explanation?.outcome) {
    case (.goesOut(let key), .publish(let believed)?):
      #expect(gives && believed.forApps.reportType == key.reportType && believed.forApps.key == key.key)
    case (.revised(let key), .publish(let believed)?): #expect(gives && believed.forApps.reportType == key.reportType)
    case (.held(let until, let reason, let window), .hold(let instant, let other)?):
      #expect(gives && until == instant && reason == other && window >= until)
    case (.leftOut(.revoked), .publish(let believed)?):
      #expect(believed.forApps.reportType == ReportType.revoked.rawValue)
    case (.leftOut(let reason), .leaveOut(let other)?): #expect(!gives && reason == other)
    case (.paused(let pauses), .publish?), (.paused(let pauses), .hold?): #expect(gives && !pauses.isEmpty)
    case (.carried, _), (.repeated, _): #expect(!lines.isEmpty)
    case (.awaitsOperator, nil), (.withdrawn, nil), (.recalled, nil), (.notRevocable, nil), (.forgotten, nil): break
    case (let fate, let outcome): Issue.record("\(fate) and \(String(describing: outcome))")
    }
    return subject.fate.code
  }

  /// Ten times the origins take about ten times as long, not a hundred. Other processes of the tests take the processor away, so what
  /// counts is the processor's time.
  @Test func aKeyOfAThousandOriginsIsExplainedInLinearTime() async throws {
    func quickest(of origins: Int) async throws -> Double {
      let series = ["NL", "DE", "travel"].map { SeriesSettings.sample($0, include: $0 == "travel" ? nil : [$0]) }
      var quickest = 1000.0
      try await Press.run(series) { press in
        let one = key(7)
        let said = (0..<origins).map { number in
          (key: one, origin: String?("O\(number)"), visited: [String]?(["NL", "R\(number % 50)"]))
        }
        try await press.say(said, now: at(1))
        for _ in 0..<3 {
          let started = processorSeconds()
          let answers = try await press.ledger.read { [press] state in
            try SeriesAnswer.all(of: one.key, in: press.series, from: state, now: at(2))
          }
          quickest = min(quickest, processorSeconds() - started)
          #expect(answers.allSatisfy { $0.subjects.first?.explanation?.lines.count == origins })
        }
      }
      return quickest
    }
    let ratio = try await quickest(of: 1000) / quickest(of: 100)
    #expect(ratio < 40, "\(ratio)")
  }

  @Test func whatIsWithdrawnOrHeldIsKnown() async throws {
    try await Press.run(.sample()) { press in
      let one = key(3)
      try await press.say([one], origin: "NL")
      _ = try await press.ledger.recalled(RecallRequest(origin: "NL"), by: Attribution(by: "ada"), at: at(1))
      let answers = try await press.answers(at: at(2))
      #expect(answers.flatMap { $0.flatMap(\.subjects) }.map(\.fate) == [.withdrawn])
    }
  }

  /// Before the next round and after it: phones have the key either way.
  @Test func whatDevicesDoNotLetGoOfIsToldAfterTheRoundAsWell() async throws {
    try await Press.run(.sample()) { press in
      let (kept, gone) = (key(3, type: .confirmedTest), key(4, type: .selfReport))
      try await press.say([kept, gone])
      try await press.round(at(10))
      _ = try await press.ledger.recalled(RecallRequest(origin: "NL"), by: Attribution(by: "ada"), at: at(11))
      func subject(of key: ClaimedKey, at now: Instant) async throws -> SeriesAnswer.Subject {
        let answers = try await press.ledger.read { [press] state in
          try SeriesAnswer.all(of: key.key, in: press.series, from: state, now: now)
        }
        return try #require(answers.first?.subjects.first)
      }
      #expect(try await subject(of: kept, at: at(11)).fate == .notRevocable)
      try await press.round(at(12))
      let after = try await subject(of: kept, at: at(13))
      #expect(after.fate == .forgotten && after.isKept)
      #expect(try await !subject(of: gone, at: at(13)).isKept, "it was revoked")
    }
  }

  @Test func aHeldKeyHasItsWindow() async throws {
    try await Press.run(.sample()) { press in
      // Valid until the first day's midnight, and two hours after that it may go out: at 2:00 or later.
      try await press.say([key(5, age: 0)], origin: "NL")
      let answers = try await press.answers(at: at(0, 30))
      guard case .held(let until, .stillValid, let window)? = answers.joined().flatMap(\.subjects).first?.fate else {
        Issue.record("not held: \(answers)")
        return
      }
      #expect(until == at(2) && window == at(2))
    }
  }
}

extension Press {
  /// What every series says of every key that the store knows.
  fileprivate func answers(at now: Instant) async throws -> [[SeriesAnswer]] {
    let series = series
    return try await ledger.read { state in
      var keys: Set<TemporaryExposureKey> = []
      var start: TemporaryExposureKey? = TemporaryExposureKey(high: 0, low: 0)
      while let from = start {
        let page = try state.claims(from: from, limit: 100)
        keys.formUnion(page.claims.statedClaims.map(\.subject.key))
        start = page.next
      }
      for settings in series {
        keys.formUnion(
          try state.released(by: settings.name, from: TemporaryExposureKey(high: 0, low: 0), limit: .max).map(\.key.key)
        )
      }
      // Those that nobody claims any more.
      for number in 0..<40 as Range<UInt64> { keys.insert(key(number).key) }
      return try keys.sorted().map { key in
        try SeriesAnswer.all(of: key, in: series, from: state, now: now)
      }
    }
  }

  fileprivate func releases() async throws -> [String: [KeySubject: ReleasedKey]] {
    let names = series.map(\.name)
    return try await ledger.read { state in
      try Dictionary(
        uniqueKeysWithValues: names.map { name in
          let keys = try state.released(by: name, from: TemporaryExposureKey(high: 0, low: 0), limit: .max)
          return (name, Dictionary(uniqueKeysWithValues: keys.map { ($0.key.subject, $0) }))
        })
    }
  }
}

extension SeriesReceipt {
  /// How many keys came to each fate, of those that the round counts.
  fileprivate var fates: [String: Int] {
    [
      "goes-out": published + waiting, "revised": revised, "carried": alreadyReleased, "held": held,
      "left-out": leftOut - repeatedKeys, "repeated": repeatedKeys, "paused": paused, "recalled": recalled,
      "not-revocable": notRevocable,
    ].filter { $0.value > 0 }
  }

  private var repeatedKeys: Int { omissions["repeated-key-data"] ?? 0 }
}

extension [String] {
  /// Without those of which a round says nothing.
  fileprivate var tally: [String: Int] {
    reduce(into: [:]) { counts, code in
      if !["withdrawn", "awaits-operator", "forgotten"].contains(code) { counts[code, default: 0] += 1 }
    }
  }
}

extension SeriesAnswer {
  static func all(
    of key: TemporaryExposureKey, in series: [SeriesSettings], from state: any StoredState, now: Instant
  ) throws -> [SeriesAnswer] {
    let record = try state.record(of: key)
    let bundles = try bundles(of: record, from: state)
    return try all(of: key, in: series, from: state, record, bundles: bundles, now: now)
  }
}
