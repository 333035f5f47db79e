internal import ExposureKeys
internal import KeyFormats

extension PeerProtocol {
  package static let efgs = PeerProtocol(EFGSPeer.description)
  /// Of a download batch.
  package static let efgsBatchBytes = 64 << 20
}

/// The download protocol of the EU Federation Gateway Service (and of the Swiss gateway): batches in a chain, each
/// answer naming its own tag and the next one, over midnight as well.
///
/// A batch is known by its tag alone, whatever day it was asked for: the first batch of a day may be another day's.
/// What is asked next follows the links; days are counted only to find the chain's beginning. Where the gateway has
/// forgotten the tag, the chain is walked from its oldest day again, and recorded batches are skipped by their names.
///
/// Where each origin must have signed its own keys, the gateway is asked for the batch's audit answer as well, and each origin's
/// keys become a document of their own, with its entries of that answer: what one origin cannot prove delays no other. Where an
/// answer proved nothing, the batch and its audit answer are asked for again while the gateway has them, since it may have been
/// the answer that was wrong.
struct EFGSPeer: PeerSync {
  static let description = PeerDescription(
    "efgs", summary: "the batches of a federation gateway (EFGS)",
    options: [
      PeerOption("format", .choice(["protobuf", "json"]), "how batches are written; protobuf where not given"),
      PeerOption("days", .number(0...14), "how many days before today the first pull begins; 2 where not given"),
    ], asksForCertificate: true, trusts: [.origins, .host, .operator],
    caution:
      "who is trusted vouches for all that is passed on; trust: origins has each origin's own signature verified",
    beginsByClock: true
  ) { settings, cursor, now in EFGSPeer(settings, cursor: cursor, now: now) }

  private enum Position {
    /// The first batch of this day or of a later one.
    case first(Day)
    case batch(String, Day)
    /// A batch that is recorded, for the link in its answer's head.
    case link(String, Day)
    /// A batch of which something is put aside, for the names of that day.
    case again(String, Day)

    /// The one to ask for.
    var day: Day {
      switch self {
      case .first(let day), .batch(_, let day), .link(_, let day), .again(_, let day): day
      }
    }

    var tag: String? {
      switch self {
      case .first: nil
      case .batch(let tag, _), .link(let tag, _), .again(let tag, _): tag
      }
    }

    var isAgain: Bool { if case .again = self { true } else { false } }
  }

  /// A batch and what its head said.
  private struct Batch {
    var tag: String
    var day: Day
    var next: String?
    var isAgain = false
  }

  private enum Phase {
    case asking(Position)
    /// Who has signed the keys of this batch, of whose answer this was the head: by the first of these days.
    case auditing(Batch, PeerResponse, days: [Day])
    case collecting([PeerDocument], Batch)
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
  static let tagLimit = 256
  /// An entry has two certificates and a signature, and each upload of a batch has one.
  static let auditByteLimit = 40 << 20
  /// Members and elements of an audit answer: of 5,000 entries.
  static let auditValueLimit = 100_000
  /// Countries of a batch that have a document each. What names itself otherwise, or is beyond these, has one together.
  static let originLimit = 64
  /// Batches that are asked for again in one run.
  static let againLimit = 64

  private let location: String
  private let auditLocation: String
  private let asksWhoSigned: Bool
  private let ownOrigins: Set<String>
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
  /// Batches that are to be asked for again, and where the run goes on behind them.
  private var again: [(tag: String, day: Day)] = []
  private var resumed: Phase?
  private var namedAgain: Set<String> = []
  private(set) var settled: [String] = []

  init(_ settings: SourceSettings, cursor: String?, now: Instant) {
    location = PeerAddress.join(settings.location, "diagnosiskeys/download/")
    auditLocation = PeerAddress.join(settings.location, "diagnosiskeys/audit/download/")
    asksWhoSigned = settings.trust.kind == .origins
    ownOrigins = Set(settings.ownOrigins.map { $0.uppercased() })
    accept = "application/\(settings.options["format"] ?? "protobuf"); version=1.0"
    byteLimit = min(PeerProtocol.efgsBatchBytes, settings.documentByteLimit)
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
      return .ask(request(dayToAsk(at: position), tag: position.tag))
    case .auditing(let batch, _, let days):
      return .ask(
        PeerRequest(
          url: "\(auditLocation)\(days.first ?? batch.day)/\(PercentEncoding.encode(batch.tag))",
          headers: [.init("Accept", "application/json; version=1.0")], byteLimit: Self.auditByteLimit))
    case .collecting(let documents, _): return .collect(documents)
    case .ended(let step): return step
    }
  }

  /// The day that stands in the address: a gateway refuses one behind the batch's, and one that is too long ago.
  private func dayToAsk(at position: Position) -> Day {
    guard let tag = position.tag else { return position.day }
    return max(min(position.day, day(of: tag) ?? position.day, today), keptDay)
  }

  /// The oldest day that a gateway has.
  private var keptDay: Day { Day(daysSince1970: today.daysSince1970 - Self.keptDays) }

  private func request(_ day: Day, tag: String?) -> PeerRequest {
    let headers = [PeerRequest.Header("Accept", accept)] + (tag.map { [PeerRequest.Header("batchTag", $0)] } ?? [])
    return PeerRequest(url: "\(location)\(day)", headers: headers, byteLimit: byteLimit)
  }

  mutating func take(_ answer: PeerAnswer) {
    if case .auditing(let batch, let response, let days) = phase {
      do throws(PeerFault) {
        try takeAudit(answer, of: batch, response, days: days)
      } catch {
        if batch.isAgain { return goOnAgain() }
        phase = .ended(.fail(error.documentFault))
      }
      return
    }
    guard case .asking(let position) = phase else { return }
    requests += 1
    guard !position.isAgain else { return takeAgain(answer, at: position) }
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
    guard seen.insert(tag).inserted else {
      // Behind a batch that was passed over, what comes first may be known.
      if case .first = position { return phase = end() }
      return endLoop(at: tag)
    }
    // Its keys may all be our own country's, which the gateway leaves out.
    guard !Self.isEmpty(response.body) else { return follow(batch) }
    if asksWhoSigned { return phase = .auditing(batch, response, days: auditDays(of: batch, askedAt: position.day)) }
    var document = document(batch.tag, batch.day)
    document.response = response
    phase = .collecting([document], batch)
  }

  // MARK: Once more

  mutating func askAgain(for names: [String]) {
    guard asksWhoSigned else { return }
    var known: Set<String> = []
    for name in names {
      guard let slash = name.firstIndex(of: "/"), let day = Day(String(name[..<slash])),
        day.daysSince1970 >= keptDay.daysSince1970 - 1
      else { continue }
      var tag = String(name[name.index(after: slash)...])
      // A country's keys, or a batch that could not be told apart.
      if let last = tag.lastIndex(of: "/"), Self.isName(ofOrigin: tag[tag.index(after: last)...]) {
        tag = String(tag[..<last])
      }
      guard Self.isTag(tag), known.count < Self.againLimit, known.insert(tag).inserted else { continue }
      again.append((tag, day))
    }
    guard !again.isEmpty else { return }
    namedAgain = Set(names)
    again.reverse()
    resumed = phase
    goOnAgain()
  }

  private mutating func goOnAgain() {
    if let next = again.popLast() {
      phase = .asking(.again(next.tag, next.day))
    } else {
      phase = resumed ?? end()
      resumed = nil
    }
  }

  /// What a gateway has no more, or does not tell, stays as it is; the others are not held up.
  private mutating func takeAgain(_ answer: PeerAnswer, at position: Position) {
    guard case .response(let head, let body) = answer, head.status == 200, let tag = position.tag,
      head["batchTag"] == tag, !Self.isEmpty(body)
    else {
      return goOnAgain()
    }
    let batch = Batch(tag: tag, day: position.day, next: nil, isAgain: true)
    phase = .auditing(
      batch, PeerResponse(head: head, body: body), days: auditDays(of: batch, askedAt: position.day))
  }

  // MARK: Who signed

  /// The days under which the gateway may have the audit answer: the batch's own, which clocks around midnight and tags of
  /// another form leave in doubt.
  private func auditDays(of batch: Batch, askedAt asked: Day) -> [Day] {
    var days: [Day] = []
    let own = day(of: batch.tag) ?? batch.day
    for day in [
      own, batch.day, asked, Day(daysSince1970: own.daysSince1970 + 1), Day(daysSince1970: own.daysSince1970 - 1),
    ]
    where !days.contains(day) {
      days.append(day)
    }
    return days
  }

  /// What an entry of the audit answer has. Only the country is needed here; who lacks something else proves nothing later.
  private struct Entry: Codable {
    var country: String?
    var uploadedTime: String?
    var uploaderCertificate: String?
    var uploaderThumbprint: String?
    var uploaderOperatorSignature: String?
    var signingCertificate: String?
    var uploaderSigningThumbprint: String?
    var signingCertificateOperatorSignature: String?
    var amount: Int?
    var batchSignature: String?

    /// A member of another type is one that is missing: it concerns that country alone.
    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      func text(_ key: CodingKeys) -> String? { try? members.decodeIfPresent(String.self, forKey: key) }
      (country, uploadedTime, batchSignature) = (text(.country), text(.uploadedTime), text(.batchSignature))
      (uploaderCertificate, uploaderThumbprint) = (text(.uploaderCertificate), text(.uploaderThumbprint))
      uploaderOperatorSignature = text(.uploaderOperatorSignature)
      (signingCertificate, uploaderSigningThumbprint) = (text(.signingCertificate), text(.uploaderSigningThumbprint))
      signingCertificateOperatorSignature = text(.signingCertificateOperatorSignature)
      amount = try? members.decodeIfPresent(Int.self, forKey: .amount)
    }
  }

  /// Where there is no audit answer: what the gateway said.
  private struct Absence: Codable {
    var status: Int
  }

  private mutating func takeAudit(
    _ answer: PeerAnswer, of batch: Batch, _ response: PeerResponse, days: [Day]
  ) throws(PeerFault) {
    let what = "who signed the batch \(peerText(batch.tag))"
    let audit = try answer.response(of: what, statuses: [200, 404, 410])
    if audit.head.status == 404, days.count > 1 {
      return phase = .auditing(batch, response, days: Array(days.dropFirst()))
    }
    let slices: [(origin: String, keys: [UInt8])]
    do {
      slices = gathered(try AuditedBatch.split(try readable(response.body)))
    } catch {
      // It is put aside as it is: no keys of it can be told apart.
      var document = document(batch.tag, batch.day)
      document.response = response
      return phase = .collecting([document], batch)
    }
    var entries: [Entry]?
    if audit.head.status == 200 {
      guard PeerJSON.hasValues(atMost: Self.auditValueLimit, in: audit.body) else {
        throw PeerFault(
          .limitExceeded,
          "\(what): an answer of more than \(Self.auditValueLimit) values, which 5,000 uploads do not have")
      }
      entries = try PeerJSON.read([Entry].self, in: audit.body, of: what, expected: "a JSON array of audit entries")
    }
    var documents = try slices.map { slice throws(PeerFault) in
      try document(slice, of: batch, response, audit.head.status, entries?.filter { $0.country == slice.origin })
    }
    // Uploads whose keys are not there: of the own country the gateway leaves them out, of another one they are missing.
    let present = Set(slices.map(\.origin))
    for country in missing(among: entries ?? [], beside: present) {
      let theirs = entries?.filter { $0.country == country }
      documents.append(try document((country, []), of: batch, response, 200, theirs))
    }
    if batch.isAgain {
      // In its place come those of its countries.
      let whole = document(batch.tag, batch.day).name
      if namedAgain.contains(whole) { settled.append(whole) }
    }
    if documents.isEmpty { return follow(batch) }
    phase = .collecting(documents, batch)
  }

  /// A batch as protobuf, whatever it came as: what is signed depends on its values alone.
  private func readable(_ body: [UInt8]) throws -> [UInt8] {
    guard accept.hasPrefix("application/json") else { return body }
    let batch = try DecodedDocument(body, format: .efgsJSON)
    if let bad = batch.rejections.first {
      throw FormatError(.malformed, byteOffset: bad.position.byteOffset, "key \(bad.position.index): \(bad.detail)")
    }
    return try batch.bytes(as: .efgsProtobuf)
  }

  /// The countries that entries are for and that have no keys here, in their order. What is no country's has no keys to be missing,
  /// and countries beyond the limit stand with the others.
  private func missing(among entries: [Entry], beside present: Set<String>) -> [String] {
    var known = present
    var missing: [String] = []
    for case let country? in entries.map(\.country)
    where Self.isCountry(country) && !ownOrigins.contains(country) && known.insert(country).inserted {
      guard present.count + missing.count < Self.originLimit else { break }
      missing.append(country)
    }
    return missing
  }

  private static func isCountry(_ origin: String) -> Bool {
    origin.utf8.count == 2 && origin.utf8.allSatisfy { (65...90).contains($0) }
  }

  /// Countries one by one. Who names itself otherwise, and who comes after so many countries, stand together: nobody could
  /// have proved their keys, and a document each would cost more than it tells.
  private func gathered(_ slices: [(origin: String, keys: [UInt8])]) -> [(origin: String, keys: [UInt8])] {
    var countries: [(origin: String, keys: [UInt8])] = []
    var others: [UInt8] = []
    for slice in slices {
      if Self.isCountry(slice.origin), countries.count < Self.originLimit {
        countries.append(slice)
      } else {
        others += slice.keys
      }
    }
    return others.isEmpty ? countries : countries + [("", others)]
  }

  /// One origin's keys of a batch, with its entries of the audit answer.
  private func document(
    _ slice: (origin: String, keys: [UInt8]), of batch: Batch, _ response: PeerResponse, _ status: Int,
    _ entries: [Entry]?
  ) throws(PeerFault) -> PeerDocument {
    guard let audit = entries.map(PeerJSON.text) ?? PeerJSON.text(Absence(status: status)),
      let bytes = try? AuditedBatch(keys: slice.keys, audit: Array(audit.utf8)).bytes()
    else {
      throw PeerFault(.malformedAnswer, "the batch \(peerText(batch.tag)) cannot be put together with its audit answer")
    }
    var document = document(batch.tag, batch.day)
    document.name += "/\(Self.name(ofOrigin: slice.origin))"
    document.response = PeerResponse(head: response.head, body: bytes)
    return document
  }

  /// What an origin is called in a document's name: itself where it is a code, otherwise its bytes.
  private static func name(ofOrigin origin: String) -> String {
    isCode(origin) ? origin : others
  }

  /// All that is no country's.
  private static let others = "others"

  private static func isCode(_ text: some StringProtocol) -> Bool {
    (1...16).contains(text.utf8.count)
      && text.utf8.allSatisfy { (65...90).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-") }
  }

  private static func isName(ofOrigin text: some StringProtocol) -> Bool {
    isCode(text) || text == others
  }

  private mutating func goOn(after status: Int, at position: Position, _ what: String) throws(PeerFault) {
    switch position {
    case .first(let day):
      guard status != 400 else { throw .status(status, of: what, expected: "200, 404 or 410") }
      let kept = Day(daysSince1970: today.daysSince1970 - Self.keptDays)
      let following = Day(daysSince1970: day.daysSince1970 + 1)
      let next = status == 410 ? max(following, kept) : following
      phase = next <= today ? .asking(.first(next)) : end()
    case .again: goOnAgain()
    case .batch(let tag, let day) where status == 400 && day > keptDay:
      // The batch is older than where its link stood.
      phase = .asking(.batch(tag, keptDay))
    case .batch(let tag, let day) where status == 410 && day <= keptDay:
      // Its clock is ahead of ours.
      phase = .asking(.batch(tag, Day(daysSince1970: keptDay.daysSince1970 + 1)))
    case .batch(let tag, let day), .link(let tag, let day):
      guard !hasStartedOver else { return passOver(tag, of: day, status) }
      hasStartedOver = true
      notices.append(
        DocumentFault(
          code: .startedOver,
          reason: "the gateway answered \(status) to the tag \(peerText(tag)): its batches are asked for from "
            + "\(firstDay) on"))
      phase = .asking(.first(firstDay))
    }
  }

  /// The gateway names a batch and does not have it: what comes on later days is asked for all the same.
  private mutating func passOver(_ tag: String, of day: Day, _ status: Int) {
    let last = max(day, reached?.day ?? day, self.day(of: tag) ?? day)
    notices.append(
      DocumentFault(
        code: .batchMissing,
        reason:
          "the gateway names the batch \(peerText(tag)) and answers \(status) to it: what is behind it on \(last) cannot "
          + "be found"))
    reached?.next = nil
    let following = Day(daysSince1970: last.daysSince1970 + 1)
    phase = following <= today ? .asking(.first(following)) : end()
  }

  private mutating func follow(_ batch: Batch) {
    if batch.isAgain { return goOnAgain() }
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
    guard case .collecting(var documents, let batch) = phase else { return }
    switch outcome {
    case .recorded, .answered, .quarantined:
      documents.removeAll { $0.name == document.name }
      if documents.isEmpty { follow(batch) } else { phase = .collecting(documents, batch) }
    case .fault:
      if batch.isAgain { return goOnAgain() }
      phase = end()
    }
  }

  func cursor(after document: PeerDocument, head: ResponseHead) -> String? {
    // Behind the last of them, and not before: until then the batch is fetched again.
    guard case .collecting(let expected, let batch) = phase, !batch.isAgain, expected.count == 1,
      expected[0].name == document.name
    else {
      return nil
    }
    return cursor(at: batch)
  }

  private func cursor(at batch: Batch) -> String? {
    PeerJSON.text(Cursor(date: batch.day.description, batchTag: batch.tag, next: batch.next))
  }

  func document(named name: String) -> PeerDocument? {
    let parts = name.split(separator: "/", maxSplits: 1)
    // One origin's keys cannot be asked for by themselves.
    guard !asksWhoSigned, parts.count == 2, let day = Day(parts[0]), Self.isTag(String(parts[1])) else { return nil }
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
    // A gateway's clock may be past midnight before ours.
    let tomorrow = Day(daysSince1970: today.daysSince1970 + 1)
    return Day(year: number / 10_000, month: number / 100 % 100, day: number % 100).flatMap {
      $0 <= tomorrow ? $0 : nil
    }
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
