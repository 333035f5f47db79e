import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage
import Testing

/// What was known at an event can be folded again.
@Suite("Stores: what was known at an event")
struct HistoryTests {
  /// What was known when an event had happened, as it was read then.
  struct Moment: Sendable {
    var event: EventID
    var claims: Set<StatedClaim>
    var beliefs: [String]
  }

  @Test("every event of a random history is folded again", arguments: StoreKind.allCases)
  func history(kind: StoreKind) async throws {
    for round in 0..<LongList.size(1, long: 3) {
      var arrivals = Arrivals(random: SeededRandom(for: "history \(kind) \(round)"))
      try await withStore(kind) { store in
        let ledger = Ledger(store)
        var moments: [Moment] = []
        for step in 0..<30 {
          // No two on one day: all uploads of a day have its first event.
          try await Self.happen(in: ledger, at: Times.after(Int64(step) * 90_000), &arrivals)
          let now = try await ledger.read { state in
            guard let event = try state.lastEvent()?.id else { return nil as Moment? }
            return Moment(
              event: event, claims: try allClaims(state, limit: 1000),
              beliefs: Self.beliefs(of: try state.claimSet(asOf: event)))
          }
          if let now, now.event != moments.last?.event { moments.append(now) }
        }
        #expect(moments.count > 15 && moments.contains { $0.claims.count < moments.last?.claims.count ?? 0 })
        try await Self.compare(moments, in: ledger, limit: arrivals.random.pick([1, 7, 1000])) { _ in true }
        let isEmpty = try await ledger.read { try $0.claimSet(asOf: EventID(rawValue: 0)).isEmpty }
        #expect(isEmpty)

        // What has expired is gone for every event, and nothing else is.
        let end = Times.days(-3)
        _ = try await ledger.expired(keysExpiredBefore: end, at: SoundTime(toldByOperator: Times.days(60)))
        let left = { (claim: StatedClaim) in
          IntervalNumber(Int64(claim.key.rollingStartWord) + Int64(claim.key.rollingPeriodWord)).start > end
        }
        try await Self.compare(moments, in: ledger, limit: 1000, left)
      }
    }
  }

  private static func compare(
    _ moments: [Moment], in ledger: Ledger, limit: Int, _ isLeft: @escaping (StatedClaim) -> Bool
  ) async throws {
    for moment in moments {
      let expected = moment.claims.filter(isLeft)
      let (again, paged, about) = try await ledger.read { state in
        let claims = try state.claimSet(asOf: moment.event)
        let keys = Set(claims.statedClaims.map(\.key.key)).union([.first])
        let about = try keys.reduce(into: Set<StatedClaim>()) {
          $0.formUnion(try state.claims(about: $1, asOf: moment.event).statedClaims)
        }
        return (claims, try allClaims(state, limit: limit, asOf: moment.event), about)
      }
      #expect(Set(again.statedClaims) == expected && paged == expected && about == expected, "\(moment.event)")
      if expected.count == moment.claims.count { #expect(beliefs(of: again) == moment.beliefs, "\(moment.event)") }
    }
  }

  /// One of the things that change what is known, or one that does not.
  private static func happen(in ledger: Ledger, at now: Instant, _ arrivals: inout Arrivals) async throws {
    let word = Attribution(by: "ada")
    let documents = try await ledger.read { try $0.documents(of: nil, in: [.recorded], limit: .max) }
    switch Int.random(in: 0..<9, using: &arrivals.random) {
    case 0...3:
      let batch = arrivals.batch()
      let name = "\(Int.random(in: 0..<12, using: &arrivals.random))"
      guard let document = try await ledger.discovered([name], of: "DE", at: now).first else { return }
      _ = try await ledger.recorded(document.id, evidence: nil, cursor: nil, at: now) {
        DocumentFacts(try $0.record(batch))
      }
    case 4:
      let batch = admit(arrivals.keys(20), from: arrivals.random.pick(Arrivals.sources), usual: 1)
      guard let document = try await ledger.discovered(["held \(now)"], of: "IT", at: now).first else { return }
      _ = try await ledger.recorded(document.id, evidence: nil, cursor: nil, at: now) {
        DocumentFacts(try $0.record(batch))
      }
    case 5:
      guard let held = documents.first(where: { $0.facts?.held ?? 0 > 0 }) else { return }
      _ = try await ledger.heldReleased(held.id, by: word, at: now)
    case 6:
      let upload = AdmittedUpload(
        door: "phones", batch: arrivals.batch(5), regions: ["NL"], certificate: "\(now)", byteCount: 1)
      _ = try await ledger.uploaded([upload, upload], at: now)
    case 7:
      let request = RecallRequest(
        origin: arrivals.random.pick(["DE", "IT", "CH"]),
        since: arrivals.random.pick([nil, Instant(secondsSince1970: now.secondsSince1970 - 20_000)]),
        document: arrivals.random.pick([nil, documents.last?.id]))
      _ = try await ledger.recalled(request, by: word, at: now)
    default:
      try await ledger.attempted(SourceAttempt(time: now), source: "DE")
    }
  }

  /// What is believed, with names in place of numbers.
  private static func beliefs(of claims: ClaimSet) -> [String] {
    var policy = PublishingPolicy()
    policy.holdMinutes = 120
    var beliefs = Beliefs(of: claims, policy: policy, now: Times.days(3))
    var lines: [String] = []
    while let (subject, outcome) = beliefs.next() {
      switch outcome {
      case .publish(let key):
        var plain = key.forFederation
        plain.regions = .none
        lines.append("\(subject) \(plain) \(beliefs.regions[key.forFederation.regions])")
      case .hold(let end, let reason): lines.append("\(subject) until \(end) \(reason)")
      case .leaveOut(let reason): lines.append("\(subject) \(reason)")
      }
    }
    return lines
  }
}
