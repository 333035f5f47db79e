internal import ExposureKeys
internal import KeyStorage

extension PeerProtocol {
  package static let efgs = PeerProtocol(EFGSPeer.description)
}

/// The download protocol of the EU Federation Gateway Service (and of the Swiss gateway): batches in a chain, each
/// answer naming its own tag and the next one, over midnight as well.
///
/// A batch is known by its tag alone, whatever day it was asked for: the first batch of a day may be another day's.
/// What is asked next follows the links; days are counted only to find the chain's beginning. Where the gateway has
/// forgotten the tag, the chain is walked from its oldest day again, and recorded batches are skipped by their names.
struct EFGSPeer: PeerSync {
  static let description = PeerDescription(
    "efgs", summary: "the batches of a federation gateway (EFGS)",
    options: [
      PeerOption("format", .choice(["protobuf", "json"]), "how batches are written; protobuf where not given"),
      PeerOption("days", .number(0...14), "how many days before today the first pull begins; 2 where not given"),
    ], asksForCertificate: true, trusts: [.host, .operator],
    caution: "origins are not verified yet: who is trusted vouches for all that is passed on"
  ) { settings, cursor, now in EFGSPeer(settings, cursor: cursor, now: now) }

  private enum Position {
    /// The first batch of this day or of a later one.
    case first(Day)
    case batch(String, Day)
    /// A batch that is recorded, for the link in its answer's head.
    case link(String, Day)

    /// The one to ask for.
    var day: Day {
      switch self {
      case .first(let day), .batch(_, let day), .link(_, let day): day
      }
    }

    var tag: String? {
      switch self {
      case .first: nil
      case .batch(let tag, _), .link(let tag, _): tag
      }
    }
  }

  /// A batch and what its head said.
  private struct Batch {
    var tag: String
    var day: Day
    var next: String?
  }

  private enum Phase {
    case asking(Position)
    case collecting(PeerDocument, Batch)
    case ended(PeerStep)
  }

  private struct Cursor: Codable {
    var date: String
    var batchTag: String
    var next: String?
  }

  /// The gateway deletes what is older, and answers 410.
  static let keptDays: Int64 = 2
  /// Requests in one run; the next run goes on where this one stopped.
  static let requestLimit = 1000
  /// A batch has at most 5,000 keys, but a key may name any number of countries.
  static let batchByteLimit = 64 << 20
  static let tagLimit = 256

  private let location: String
  private let accept: String
  private let byteLimit: Int
  private let today: Day
  private let firstDay: Day
  private var phase: Phase
  private var requests = 0
  private var seen: Set<String> = []
  private var hasStartedOver = false
  /// Where the source stands, and whether the store was told.
  private var reached: Batch?
  private(set) var notices: [DocumentFault] = []

  init(_ settings: SourceSettings, cursor: String?, now: Instant) {
    location = PeerAddress.join(settings.location, "diagnosiskeys/download/")
    accept = "application/\(settings.options["format"] ?? "protobuf"); version=1.0"
    byteLimit = min(Self.batchByteLimit, settings.documentByteLimit)
    let today = now.day
    self.today = today
    firstDay = Day(daysSince1970: today.daysSince1970 - (settings.number("days") ?? Self.keptDays))
    guard let cursor = cursor.flatMap({ PeerJSON.value(Cursor.self, in: $0.utf8) }), let day = Day(cursor.date),
      Self.isTag(cursor.batchTag), cursor.next.map(Self.isTag) != false
    else {
      phase = .asking(.first(firstDay))
      return
    }
    // A day too old is refused although the batch is younger.
    let kept = Day(daysSince1970: today.daysSince1970 - Self.keptDays)
    let asked = min(max(day, kept), today)
    if let next = cursor.next {
      phase = .asking(.batch(next, asked))
    } else {
      phase = .asking(.link(cursor.batchTag, asked))
    }
  }

  mutating func next() -> PeerStep {
    switch phase {
    case .asking(let position):
      guard requests < Self.requestLimit else {
        phase = .ended(.done(cursor: reached.flatMap(cursor(at:))))
        return next()
      }
      return .ask(request(position.day, tag: position.tag))
    case .collecting(let document, _): return .collect([document])
    case .ended(let step): return step
    }
  }

  private func request(_ day: Day, tag: String?) -> PeerRequest {
    let headers = [PeerRequest.Header("Accept", accept)] + (tag.map { [PeerRequest.Header("batchTag", $0)] } ?? [])
    return PeerRequest(url: "\(location)\(day)", headers: headers, byteLimit: byteLimit)
  }

  mutating func take(_ answer: PeerAnswer) {
    guard case .asking(let position) = phase else { return }
    requests += 1
    do throws(PeerFault) {
      let what = "batches of \(position.day)"
      let response = try answer.response(of: what, statuses: [200, 400, 404, 410])
      if response.head.status == 200 {
        try takeBatch(response, at: position, what)
      } else {
        try goOn(after: response.head.status, at: position, what)
      }
    } catch {
      phase = .ended(.fail(error.documentFault))
    }
  }

  private mutating func takeBatch(
    _ response: PeerResponse, at position: Position, _ what: String
  ) throws(PeerFault) {
    // Without its tag it is the answer of something that is no federation gateway.
    guard let tag = response.head["batchTag"], Self.isTag(tag) else {
      throw PeerFault(.malformedAnswer, "\(what): the header batchTag is missing or no tag")
    }
    var next = response.head["nextBatchTag"]
    if next == "null" || next?.isEmpty == true { next = nil }
    guard next.map(Self.isTag) != false else {
      throw PeerFault(.malformedAnswer, "\(what): the header nextBatchTag is no tag")
    }
    let batch = Batch(tag: tag, day: day(of: tag) ?? position.day, next: next)
    if case .link(tag, _) = position {
      seen.insert(tag)
      return follow(batch)
    }
    guard seen.insert(tag).inserted else { return endLoop(at: tag) }
    // Its keys may all be our own country's, which the gateway leaves out.
    guard !Self.isEmpty(response.body) else { return follow(batch) }
    var document = document(batch.tag, batch.day)
    document.response = response
    phase = .collecting(document, batch)
  }

  private mutating func goOn(after status: Int, at position: Position, _ what: String) throws(PeerFault) {
    switch position {
    case .first(let day):
      guard status != 400 else { throw .status(status, of: what, expected: "200, 404 or 410") }
      let kept = Day(daysSince1970: today.daysSince1970 - Self.keptDays)
      let following = Day(daysSince1970: day.daysSince1970 + 1)
      let next = status == 410 ? max(following, kept) : following
      phase = next <= today ? .asking(.first(next)) : end()
    case .batch(let tag, _), .link(let tag, _):
      guard !hasStartedOver else { return phase = end() }
      hasStartedOver = true
      notices.append(
        DocumentFault(
          code: .startedOver,
          reason: "the gateway answered \(status) to the tag \(peerText(tag)): its batches are asked for from "
            + "\(firstDay) on"))
      phase = .asking(.first(firstDay))
    }
  }

  private mutating func follow(_ batch: Batch) {
    reached = batch
    guard let next = batch.next else { return phase = end() }
    guard !seen.contains(next) else { return endLoop(at: next) }
    phase = .asking(.batch(next, batch.day))
  }

  /// The gateway's links lead in a circle.
  private mutating func endLoop(at tag: String) {
    notices.append(
      DocumentFault(code: .repeatedTag, reason: "the links lead back to the batch \(peerText(tag)): stopped there"))
    reached?.next = nil
    phase = end()
  }

  private func end() -> Phase { .ended(.done(cursor: reached.flatMap(cursor(at:)))) }

  /// A refused batch does not hold up those behind it: its bytes are put aside, and ``document(named:)`` asks for it
  /// once more.
  mutating func take(_ outcome: CollectionOutcome, of document: PeerDocument) {
    guard case .collecting(_, let batch) = phase else { return }
    switch outcome {
    case .recorded, .answered, .quarantined: follow(batch)
    case .fault: phase = end()
    }
  }

  func cursor(after document: PeerDocument, head: ResponseHead) -> String? {
    guard case .collecting(let expected, let batch) = phase, expected.name == document.name else { return nil }
    return cursor(at: batch)
  }

  private func cursor(at batch: Batch) -> String? {
    PeerJSON.text(Cursor(date: batch.day.description, batchTag: batch.tag, next: batch.next))
  }

  func document(named name: String) -> PeerDocument? {
    let parts = name.split(separator: "/", maxSplits: 1)
    guard parts.count == 2, let day = Day(parts[0]), Self.isTag(String(parts[1])) else { return nil }
    return document(String(parts[1]), day)
  }

  private func document(_ tag: String, _ day: Day) -> PeerDocument {
    PeerDocument(name: "\(day)/\(tag)", request: request(day, tag: tag), otherStatuses: [404, 410])
  }

  /// Tags begin with the day that their batch was made on, `20201201-3`, so that a batch has one name whatever day it
  /// was found under.
  private func day(of tag: String) -> Day? {
    let digits = Array(tag.utf8.prefix(9))
    guard digits.count == 9, digits[8] == UInt8(ascii: "-"), let number = decimalNumber(tag.prefix(8)) else {
      return nil
    }
    return Day(year: number / 10_000, month: number / 100 % 100, day: number % 100).flatMap { $0 <= today ? $0 : nil }
  }

  private static func isTag(_ text: String) -> Bool {
    (1...tagLimit).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// No bytes in protobuf, `{}` in JSON.
  private static func isEmpty(_ body: [UInt8]) -> Bool {
    guard body.count <= 64 else { return false }
    let text = body.filter { $0 > 0x20 }
    return body.isEmpty || text.elementsEqual("{}".utf8) || text.elementsEqual(#"{"keys":[]}"#.utf8)
  }
}
