import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyStorage

/// Something that changes what is known, drawn from what is there, so that it can happen in several stores alike.
struct RandomHappening: Sendable {
  private(set) var kind: String
  private var run: @Sendable (Ledger) async throws -> Void

  func happen(in ledger: Ledger) async throws { try await run(ledger) }

  init(_ step: Int, after ledger: Ledger, _ arrivals: inout Arrivals) async throws {
    let word = Attribution(by: "ada")
    let now = Times.after(Int64(step) * 20_000)
    let documents = try await ledger.read { try $0.documents(of: nil, in: [.recorded], limit: .max) }
    let document = documents.isEmpty ? nil : arrivals.random.pick(documents)
    switch Int.random(in: 0..<12, using: &arrivals.random) {
    case 0...3:
      let batch = arrivals.manyStarts(30)
      (kind, run) = ("recorded", Self.record(batch, "\(step)", at: now))
    case 4:
      let batch = arrivals.manyStarts(30, usual: 1)
      (kind, run) = ("recorded, and held in part", Self.record(batch, "\(step)", at: now))
    case 5:
      // A document of its own: where one is there already, SQLite leaves a number out.
      let upload = AdmittedUpload(
        door: "phones \(step)", batch: arrivals.manyStarts(5), regions: ["NL"], certificate: "a", byteCount: 1)
      (kind, run) = ("uploaded", { _ = try await $0.uploaded([upload], at: now) })
    case 6:
      let request = RecallRequest(
        origin: arrivals.random.pick(["DE", "IT", "CH"]), since: arrivals.random.pick([nil, now]),
        document: arrivals.random.pick([nil, document?.id]))
      (kind, run) = ("recalled", { _ = try await $0.recalled(request, by: word, at: now) })
    case 7:
      let held = documents.first { $0.facts?.held ?? 0 > 0 }?.id
      (kind, run) = ("released", { if let held { _ = try await $0.heldReleased(held, by: word, at: now) } })
    case 8:
      let held = documents.last { $0.facts?.held ?? 0 > 0 }?.id
      (kind, run) = ("discarded", { if let held { _ = try await $0.heldDiscarded(held, by: word, at: now) } })
    default:
      guard let document else {
        (kind, run) = ("nothing", { _ in })
        return
      }
      let change = try await Self.reading(document, in: ledger, &arrivals)
      (kind, run) = (
        "reread",
        { ledger in
          try await ledger.reread(document.source, by: word, at: now) { state, replacer in
            try replacer.replace(document, change, from: document.discovered) { _ in .small }
          }
        }
      )
    }
  }

  private static func record(
    _ batch: AdmittedBatch, _ name: String, at now: Instant
  ) -> @Sendable (Ledger) async throws -> Void {
    { ledger in
      guard let document = try await ledger.discovered([name], of: "DE", at: now).first else { return }
      _ = try await ledger.recorded(document.id, evidence: nil, cursor: nil, at: now) {
        DocumentFacts(try $0.record(batch))
      }
    }
  }

  /// Some of what a document said goes, and something comes that it said, that others said, or that nobody did.
  private static func reading(
    _ document: DocumentRecord, in ledger: Ledger, _ arrivals: inout Arrivals
  ) async throws -> ReadingChange {
    let (claims, held) = try await ledger.read { state in
      let all = try allClaims(state, limit: 1000).sorted(by: StatedClaim.precedes)
      let keys = Set(all.map(\.subject.key))
      return (try state.claims(broughtBy: document.id, about: keys).map(\.claim), try state.held(of: document.id))
    }
    var change = ReadingChange()
    for claim in claims where arrivals.random.once(in: 4) { change.removed.append(claim) }
    for claim in held where arrivals.random.once(in: 4) { change.heldRemoved.append(claim) }
    let batch = arrivals.manyStarts(12)
    for claim in batch.claims.map({ StatedClaim($0, of: batch) }) where !claims.contains(claim) {
      if arrivals.random.once(in: 3) { change.heldAdded[claim] = .flood } else { change.added.append(claim) }
    }
    for claim in held where arrivals.random.once(in: 5) { change.heldAdded[claim] = .flood }
    return change
  }
}

extension Arrivals {
  /// A batch whose senders do not agree when keys began to be used.
  mutating func manyStarts(_ count: Int, usual: Int? = nil) -> AdmittedBatch {
    var keys = keys(Int.random(in: 1...count, using: &random))
    for index in keys.indices where random.once(in: 3) {
      keys[index].key.rollingStart? += random.pick([-144, -6, 144])
    }
    return admit(keys, from: random.pick(Self.sources), usual: usual)
  }
}
