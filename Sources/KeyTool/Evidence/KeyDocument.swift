internal import ExposureKeys
internal import Federation
internal import FileCommands
internal import GatewayDaemon
internal import KeyConversion
internal import KeyIntake
internal import KeyNormalization
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage

/// What is told about one key: `schemas/explanation.schema.json`. The text of `explain` and `disclose` is a rendering of it.
struct KeyDocument: Encodable {
  var reportVersion = 1
  /// The key data, 32 hexadecimal digits: whoever asks has it already.
  let key: String
  let keySHA256: String
  let now: String
  /// What becomes of the key, in one line.
  let answer: String
  /// What each series of a gateway makes of it; `nil` where files were asked.
  var series: [Series]?
  /// What mirrors show of it, and series that are served and configured no more; `nil` where files were asked.
  var mirrors: [Mirror]?
  /// What becomes of it at federation gateways that own keys are handed to; `nil` where files were asked.
  var destinations: [Destination]?
  /// What national back ends have uploaded of it to this gateway, and whether others could download it; `nil` where files were
  /// asked.
  var federation: [Passage]?
  /// How the claims of files come together, one for each rolling start, and what the bundle of each region would carry.
  var decisions: [Decision]?
  var regions: [Region]?
  /// By number, so that others can refer to them.
  var claims: [Claim]
  /// What the bytes of documents say, as far as they are kept.
  var documents: [Document]
  /// What was released, by series.
  var released: [Release]?
  /// How much of the kept bytes was looked into; `nil` where files were asked.
  var search: Search?

  struct Series: Encodable {
    let name: String
    let policy: String
    /// When the window ends for which it is decided.
    let window: String
    let keys: [Subject]
  }

  /// Archives that are shown as their origin has signed them.
  struct Mirror: Encodable {
    let name: String
    /// `nil` for a series that is configured no more.
    let source: String?
    let archives: [Archive]
    /// Archives that were not looked into.
    let skipped: Int
  }

  /// What a destination was told of the key.
  struct Destination: Encodable {
    let name: String
    let origin: String
    /// Whose claims may go there.
    let sources: [String]
    let mayGo: Bool
    let text: String
    let told: [Told]

    init(_ answer: DestinationAnswer) {
      (name, origin, sources, mayGo) = (answer.name, answer.origin, answer.sources, answer.mayGo)
      text = printableText(answer.text, limit: 1000)
      told = answer.told.map(Told.init)
    }
  }

  /// An upload of a national back end.
  struct Passage: Encodable {
    let country: String
    let tag: String
    let document: Int64
    let uploaded: String
    /// `passed-on`, `waiting`, `withdrawn`.
    let state: String
    /// The download batch's tag, and when it was closed.
    let batch: String?
    let made: String?
    /// `recalled`, `discarded`, `erased`.
    let withdrawal: String?

    init(_ passage: FederationPassage) {
      let upload = passage.upload
      (country, tag) = (printableText(upload.country), printableText(upload.tag))
      (document, uploaded, state) = (upload.document.rawValue, upload.time.description, passage.state)
      (batch, made) = (passage.batch?.tag, passage.batch?.made.description)
      withdrawal = upload.withdrawal?.rawValue
    }
  }

  struct Told: Encodable {
    let rollingStart: Int32
    let state: String
    let changed: String
    let tag: String?
    let reportType: String?
    let reason: String?

    init(_ told: DestinationAnswer.Told) {
      (rollingStart, state, changed) = (told.rollingStart, told.state.rawValue, told.changed.description)
      (tag, reportType, reason) = (told.tag, told.reportType?.name, told.reason.map { printableText($0, limit: 1000) })
    }
  }

  struct Archive: Encodable {
    let path: String
    /// `listed`, `unlisted`, `gone`, `coming`.
    let state: String
    let published: String?
    let document: Int64?
  }

  /// One rolling start in one series.
  struct Subject: Encodable {
    let validFrom: String
    let rollingStart: Int32
    /// Whether the series carries it.
    let isCarried: Bool
    /// The code of what becomes of it, and the reason of a `held` or `left-out` key.
    let outcome: String
    let reason: String?
    /// When it goes out at the earliest; `nil` where it does not, or is out.
    let earliest: String?
    let text: String
    let release: Release?
    /// Those that withdrew claims about it.
    let recalls: [Recall]
    let rules: [Rule]
    /// What each claim gave, by its number.
    let claims: [Standing]

    enum CodingKeys: String, CodingKey {
      case outcome, reason, earliest, text, release, recalls, rules, claims, validFrom, rollingStart
      case isCarried = "carried"
    }
  }

  struct Recall: Encodable {
    let event: Int64
    let time: String
    let origin: String
    let by: String?
    let reason: String?
  }

  struct Rule: Encodable {
    let rule: String
    let effect: String
  }

  struct Standing: Encodable {
    let claim: Int
    let standing: String
  }

  struct Decision: Encodable {
    let validFrom: String
    let rollingStart: Int32
    let outcome: String
    let rules: [Rule]
    let claims: [Standing]
  }

  struct Region: Encodable {
    /// `nil` stands for all that no claim names.
    let region: String?
    let outcomes: [String]
  }

  struct Claim: Encodable {
    let number: Int
    let source: String
    let origin: String?
    let vouchedBy: String
    let visited: [String]?
    let read: Values
    /// `nil` where files were asked.
    var document: Int64?
    var documentName: String?
    var event: Int64?
    var arrived: String?
    /// `counts`, `withdrawn`, `paused`, `held`, `refused` with its document.
    let state: String
    /// Why it is not `counts`, for people.
    let stateText: String?
  }

  /// Numbers and what they mean.
  struct Values: Encodable {
    let validFrom: String?
    let rollingStart: Int32?
    let rollingPeriod: Int32?
    let transmissionRisk: Int32?
    let reportType: Int32?
    let reportTypeText: String
    let daysSinceOnset: Int32?
    let onsetText: String
    let isRevised: Bool

    enum CodingKeys: String, CodingKey {
      case validFrom, rollingStart, rollingPeriod, transmissionRisk, reportType, reportTypeText, daysSinceOnset,
        onsetText
      case isRevised = "revised"
    }

    init(_ key: ClaimedKey) {
      validFrom = key.rollingStart.map { "\(IntervalNumber(Int64($0)).start)" }
      rollingStart = key.rollingStart
      rollingPeriod = key.rollingPeriod
      transmissionRisk = key.transmissionRisk
      reportType = key.reportType
      reportTypeText = key.reportTypeWords
      daysSinceOnset = key.daysSinceOnset
      onsetText = key.onsetWords
      isRevised = key.isRevised
    }
  }

  struct Document: Encodable {
    var number: Int64?
    let source: String
    let name: String
    /// `recorded`, `quarantined`, `given-up`; `nil` where files were asked.
    var state: String?
    var fault: String?
    /// The policy by which it was read, and whether another one is configured now; `nil` where it was not read, or nobody
    /// noted by which.
    var readBy: String?
    var isReadOtherwise: Bool?
    let mentions: [Mention]

    enum CodingKeys: String, CodingKey {
      case number, source, name, state, fault, mentions, readBy
      case isReadOtherwise = "read_otherwise"
    }
  }

  /// One place of a document.
  struct Mention: Encodable {
    let position: Int
    let sent: Values
    let origin: String?
    let visited: [String]?
    /// By which it is told how the key was, or would be read.
    let policy: String
    /// `admitted`, `held`, `rejected`, `refused` with its document, `gone`, `unknown`.
    let reading: String
    var read: Values?
    let reason: String?
    let detail: String?
    let allowances: [String]
    /// What the policy makes of it that is configured now: where another one read the document, or it is refused.
    var now: Reading?
  }

  /// What a policy makes of a key.
  struct Reading: Encodable {
    let policy: String
    /// `admitted`, `held`, `rejected`.
    let reading: String
    let reason: String?
    let detail: String?
  }

  struct Release: Encodable {
    let series: String
    let bundle: Int64
    let path: String?
    let state: String?
    let published: String?
    let revisions: Int32
    let released: Values
  }

  struct Search: Encodable {
    let documents: Int
    /// Not looked into, because there were too many bytes.
    let skipped: Int
    /// Documents that cannot be read, by their numbers.
    let unreadable: [Int64]
  }
}

// MARK: From a store

extension KeyDocument {
  init(_ account: KeyAccount, hasSeries: Bool = true) {
    key = account.key.hex
    keySHA256 = KeyAccount.digest(of: account.key)
    now = account.now.description
    var numbers: [StatedClaim: Int] = [:]
    var claims: [Claim] = []
    for kept in account.record.claims {
      numbers[kept.claim] = claims.count + 1
      claims.append(Claim(kept, number: claims.count + 1, account))
    }
    for held in account.record.held { claims.append(Claim(held, number: claims.count + 1, account)) }
    self.claims = claims
    documents = account.evidence.found.map(Document.init)
    released = account.record.released.map { release in
      Release(series: release.series, release.key, account.bundles[release.key.bundle])
    }
    search = Search(
      documents: account.evidence.searched.count, skipped: account.evidence.skipped,
      unreadable: account.evidence.unreadable.map(\.id.rawValue))
    destinations = account.destinations.map(Destination.init)
    federation = account.passages.map(Passage.init)
    let all = account.answers.map { Series($0, numbers) }
    series = hasSeries ? all : nil
    let mirrors = account.shown.map(Mirror.init)
    self.mirrors = mirrors
    let places = mirrors.flatMap(\.texts)
    answer = ([hasSeries ? Self.answer(all, account) : Self.places(account)] + places).joined(separator: "; ")
  }

  /// The series that carry it, and why the others do not; series with one reason stand together.
  private static func answer(_ series: [Series], _ account: KeyAccount) -> String {
    if account.isEmpty { return "the store does not know it" }
    if account.record.isEmpty { return "not admitted: \(Self.refusal(account))" }
    var reasons: [(text: String, names: [String])] = []
    for series in series {
      let isOne = Set(series.keys.map(\.text)).count == 1
      // One key data under several rolling starts is several keys.
      let text =
        series.keys.isEmpty
        ? "its claims are gone"
        : isOne
          ? series.keys[0].text
          : series.keys.map { "as valid from \($0.validFrom), \($0.text)" }.joined(separator: ", and ")
      if let index = reasons.firstIndex(where: { $0.text == text }) {
        reasons[index].names.append(series.name)
      } else {
        reasons.append((text, [series.name]))
      }
    }
    for entry in account.releasedByOthers {
      let release = SeriesAnswer.Release(key: entry.key, bundle: account.bundles[entry.key.bundle])
      let served = account.leftSeries.contains(entry.series) ? ", and served as it stands" : ""
      reasons.append(
        ("\(release.text), by a series that is configured no more\(served)", [printableText(entry.series)]))
    }
    if reasons.isEmpty {
      return account.mirrors.isEmpty
        ? "known, and no series is configured" : "known, and no series but mirrors is configured"
    }
    return reasons.map { reason in
      let names = reason.names.prefix(8).joined(separator: ", ")
      let more = reason.names.count > 8 ? " and \(reason.names.count - 8) more" : ""
      return "\(names)\(more): \(reason.text)"
    }.joined(separator: "; ")
  }

  /// Why nothing of it was admitted.
  private static func refusal(_ account: KeyAccount) -> String {
    guard let found = account.evidence.found.first else { return "nothing is known of it" }
    if let fault = found.document.fault { return "\(found.title) is \(found.document.state.words), \(fault.code)" }
    // What was rejected says more than what is gone.
    let place =
      found.places.first { if case .rejected = $0.fate { true } else { false } } ?? found.places.first
    guard let place else { return "\(found.title) cannot be read, and the key stands in its bytes" }
    let now = place.now.map { "; \($0.words(by: found.configured)): keyferry reread \(found.source)" } ?? ""
    switch place.fate {
    case .rejected(let reason, let detail):
      let by = found.reader.isOther ? ", by policy \(place.mention.policy), which read \(found.title)" : ""
      return "\(reason.rawValue), \(detail)\(by)\(now)"
    case .unknown: return "\(found.reader.words) read \(found.title), and nothing of it is among the claims\(now)"
    case .refused: return "\(found.title) is \(found.document.state.words)"
    case .admitted, .held, .gone:
      return "what \(found.title) said of it is not among the claims: it has expired, was dropped or erased\(now)"
    }
  }

  /// Where it is, for a disclosure.
  private static func places(_ account: KeyAccount) -> String {
    if account.isEmpty { return "the store does not know it" }
    let record = account.record
    return [
      (record.claims.count, "claim"), (record.held.count, "held claim"), (record.released.count, "release"),
      (account.evidence.found.count, "kept document"),
    ].filter { $0.0 > 0 }.map { counted($0.0, $0.1) }.joined(separator: ", ")
  }
}

extension KeyDocument.Mirror {
  fileprivate init(_ shown: ShownArchives) {
    name = printableText(shown.series)
    source = shown.source.map { printableText($0) }
    archives = shown.archives.map { archive in
      KeyDocument.Archive(
        path: printableText(archive.path), state: archive.state.rawValue, published: archive.published?.description,
        document: archive.document?.rawValue)
    }
    skipped = shown.skipped
  }

  /// For the first line, one for each archive.
  fileprivate var texts: [String] {
    archives.map { "\(name): \($0.text(of: self))" }
  }
}

extension KeyDocument.Archive {
  /// `shown in NL/a.zip as nl has it signed, published 2020-12-03T02:00:00Z`.
  func text(of mirror: KeyDocument.Mirror) -> String {
    let since = published.map { ", published \($0)" } ?? ""
    let how = mirror.source.map { "as \($0) has it signed" } ?? "by a series that is configured no more"
    return switch state {
    case "listed": "shown in \(path) \(how)\(since)"
    case "unlisted": "shown in \(path) \(how)\(since), in no index any more"
    case "gone": "was shown in \(path) \(how)\(since), and its file is not in the folder"
    default: "not shown yet: the mirror's next round shows \(path) \(how)"
    }
  }
}

extension KeyDocument.Claim {
  fileprivate init(_ kept: KeptClaim, number: Int, _ account: KeyAccount) {
    let claim = kept.claim
    let pauses = account.pauses.filter { pause in
      switch pause.subject {
      case .source(let name): name == claim.source.name
      case .origin(let name): name == claim.origin
      }
    }
    var (state, text): (String, String?) = ("counts", nil)
    if let event = kept.recall {
      state = "withdrawn"
      text = account.recalls[event].map { recall in
        "withdrawn at \(recall.time)" + (recall.word.map { " by \(printableText($0.by))" } ?? "")
          + (recall.word?.reason.map { ": \(printableText($0))" } ?? "")
      }
    } else if let pause = pauses.first {
      state = "paused"
      text =
        "\(pause.subject.text) stands still since \(pause.since)"
        + (pause.reason.map { ": \(printableText($0))" } ?? "")
    }
    self.init(
      claim, number: number, account.documents[kept.document], kept.document, state: state, stateText: text)
    event = kept.event.rawValue
    arrived = kept.arrived.description
  }

  fileprivate init(_ held: HeldClaim, number: Int, _ account: KeyAccount) {
    let document = held.document.rawValue
    let isRefused = held.reason == .documentRefused
    self.init(
      held.claim, number: number, account.documents[held.document], held.document,
      state: isRefused ? "refused" : "held",
      stateText: isRefused
        ? "its document is refused, so it only delays the key: keyferry quarantine show \(document)"
        : "put aside for the operator, \(held.reason.rawValue): "
          + ([.flood, .tooManyKeysADay].contains(held.reason)
            ? "keyferry quarantine show \(document) names the limit, and " : "")
          + "keyferry quarantine retry \(document) admits it")
  }

  private init(
    _ claim: StatedClaim, number: Int, _ document: DocumentRecord?, _ id: DocumentID, state: String,
    stateText: String?
  ) {
    self.init(claim, number: number, vouchedBy: document?.facts?.vouchedBy, state: state, stateText: stateText)
    self.document = id.rawValue
    documentName = document.map { printableText($0.name) }
  }

  fileprivate init(
    _ claim: StatedClaim, number: Int, vouchedBy: String? = nil, state: String = "counts", stateText: String? = nil
  ) {
    self.number = number
    source = printableText(claim.source.name)
    origin = claim.origin.map { printableText($0) }
    self.vouchedBy =
      printableText(vouchedBy ?? claim.source.provenance.description) + (claim.source.upload?.words ?? "")
    visited = claim.visited?.map { printableText($0) }
    read = KeyDocument.Values(claim.key)
    self.state = state
    self.stateText = stateText
  }
}

extension UploadStanding {
  /// Behind who vouched for an upload.
  fileprivate var words: String {
    switch self {
    case .proven: ", proven by a certificate"
    case .copy: ", a copy of a proven upload"
    }
  }
}

extension KeyDocument.Series {
  fileprivate init(_ answer: SeriesAnswer, _ numbers: [StatedClaim: Int]) {
    name = answer.series
    policy = answer.policy
    window = answer.window.instant.description
    keys = answer.subjects.map { KeyDocument.Subject($0, of: answer, numbers) }
  }
}

extension KeyDocument.Subject {
  fileprivate init(_ subject: SeriesAnswer.Subject, of answer: SeriesAnswer, _ numbers: [StatedClaim: Int]) {
    validFrom = "\(IntervalNumber(Int64(subject.subject.rollingStart)).start)"
    rollingStart = subject.subject.rollingStart
    isCarried = subject.release != nil
    outcome = subject.fate.code
    (reason, earliest) = subject.fate.reasonAndTime(in: answer)
    release = subject.release.map { KeyDocument.Release(series: answer.series, $0.key, $0.bundle) }
    text = (subject.release.map { [$0.text] } ?? []).appending(subject.fate.text(in: answer, subject)).joined(
      separator: "; ")
    rules = subject.explanation?.steps.map { KeyDocument.Rule(rule: $0.rule, effect: $0.effect) } ?? []
    recalls = subject.recalls.map(KeyDocument.Recall.init)
    claims = KeyDocument.Standing.all(subject.explanation?.lines ?? [], numbers)
  }
}

extension KeyDocument.Recall {
  fileprivate init(_ recall: KeyStorage.Recall) {
    event = recall.event.rawValue
    time = recall.time.description
    origin = printableText(recall.request.origin)
    by = recall.word.map { printableText($0.by) }
    reason = recall.word?.reason.map { printableText($0) }
  }

  /// `the recall of DE at 2020-11-25T12:00:00Z by ada: a test (event 17)`.
  fileprivate var words: String {
    "the recall of \(origin) at \(time)" + (by.map { " by \($0)" } ?? "") + (reason.map { ": \($0)" } ?? "")
      + " (event \(event))"
  }
}

extension SeriesAnswer.Subject {
  /// `withdrawn by the recall of …`; the newest ones.
  fileprivate var withdrawal: String {
    let shown = recalls.suffix(3).map { KeyDocument.Recall($0).words }
    if shown.isEmpty { return "withdrawn by a recall" }
    let earlier = recalls.count > shown.count ? " and \(counted(recalls.count - shown.count, "earlier recall"))" : ""
    return "withdrawn by \(shown.joined(separator: " and "))\(earlier)"
  }

  /// What is left of its claims for the operator to decide about.
  fileprivate var waiting: String {
    held > 0 ? "; \(counted(held, "claim")) put aside for the operator: keyferry quarantine list" : ""
  }
}

extension [String] {
  fileprivate func appending(_ text: String?) -> [String] { self + (text.map { [$0] } ?? []) }
}

extension KeyDocument.Standing {
  fileprivate static func all(_ lines: [Explanation.Line], _ numbers: [StatedClaim: Int]) -> [Self] {
    lines.compactMap { line in numbers[line.claim].map { Self(claim: $0, standing: line.standing.text) } }
      .sorted { $0.claim < $1.claim }
  }
}

extension SeriesAnswer.Release {
  /// `carried since NL/….zip, published 2020-12-03T02:00:00Z`.
  fileprivate var text: String {
    guard let bundle else { return "carried, in a bundle that the store has lost" }
    let path = bundle.bundle.path
    let since = bundle.published.map { "published \($0)" } ?? "staged \(bundle.changed)"
    let isRevoked = key.key.reportType == ReportType.revoked.rawValue
    // The store knows the bundle that says what it is now.
    let revised: String? = key.revisions == 0 ? nil : isRevoked ? ", revoked by" : ", revised by"
    return switch bundle.state {
    case .staged, .published: "carried\(revised ?? " since") \(path), \(since)"
    case .expired: "carried\(revised ?? " by") \(path), \(since), in no index since \(bundle.changed)"
    case .removed: "carried\(revised ?? " by") \(path), \(since), removed \(bundle.changed)"
    }
  }
}

extension SeriesAnswer.Fate {
  fileprivate func reasonAndTime(in answer: SeriesAnswer) -> (reason: String?, earliest: String?) {
    switch self {
    case .goesOut, .revised, .recalled: (nil, answer.window.instant.description)
    case .held(_, let reason, let window): (reason.rawValue, window.description)
    case .leftOut(let reason): (reason.rawValue, nil)
    case .carried, .repeated, .paused, .awaitsOperator, .withdrawn, .notRevocable, .forgotten: (nil, nil)
    }
  }

  /// `nil` where the release says it all.
  fileprivate func text(in answer: SeriesAnswer, _ subject: SeriesAnswer.Subject) -> String? {
    let window = "the window that ends at \(answer.window.instant)"
    let waiting = answer.leastKeys > 0 ? ", once there are \(answer.leastKeys) keys" : ""
    let isOut = subject.release != nil
    switch self {
    case .goesOut: return "goes out with \(window)\(waiting)"
    case .revised(let key): return "is revised with \(window)\(waiting): \(key.reportTypeWords)"
    case .carried:
      return subject.untold.map { said in
        "what is said of it now, \(said.name), goes to no app: devices do not change the report type that they have to it"
      }
    case .held(let until, let reason, let window):
      return "\(isOut ? "nothing new goes out" : "not yet"): held until \(until), \(reason.rawValue); "
        + "goes out at \(window) at the earliest"
    case .leftOut(.revocationOutvoted):
      return isOut
        ? "its revocation does not go out, revocation-outvoted: another origin stands behind the key"
        : "left out, revocation-outvoted"
    case .leftOut(let reason):
      return isOut ? "nothing new goes out: left out now, \(reason.rawValue)" : "left out, \(reason.rawValue)"
    case .repeated: return "left out, repeated-key-data: it is out under other rolling starts"
    case .paused(let pauses):
      return "paused: \(pauses.map(\.subject.text).joined(separator: ", ")), and nobody else stands behind it"
    case .awaitsOperator:
      return subject.held > 0
        ? "put aside for the operator: keyferry quarantine list"
        : "not admitted: no document names it but refused ones, keyferry quarantine list"
    case .withdrawn: return subject.withdrawal + subject.waiting
    case .recalled: return "\(subject.withdrawal), goes out as revoked with \(window)\(waiting)" + subject.waiting
    case .notRevocable:
      return "\(subject.withdrawal), but devices do not let go of its report type" + subject.waiting
    case .forgotten:
      let claims = subject.recalls.isEmpty ? "nobody claims it any more" : subject.withdrawal
      return claims + (subject.isKept ? ", but devices do not let go of its report type" : "") + subject.waiting
    }
  }
}

extension KeyDocument.Release {
  fileprivate init(series: String, _ key: ReleasedKey, _ record: BundleRecord?) {
    self.series = series
    bundle = key.bundle.rawValue
    path = record?.bundle.path
    state = record?.state.rawValue
    published = record?.published?.description
    revisions = key.revisions
    released = KeyDocument.Values(key.key)
  }
}

extension KeyDocument.Document {
  fileprivate init(_ evidence: EvidenceMention) {
    let document = evidence.document
    number = document.id.rawValue
    source = printableText(document.source)
    name = printableText(document.name)
    state = document.state.rawValue
    fault = document.fault.map { "\($0.code): \(printableText($0.reason))" }
    readBy = document.state == .recorded ? document.facts?.reading.map { printableText($0.policy) } : nil
    isReadOtherwise = evidence.reader == .nobody ? nil : evidence.reader.isOther
    mentions = evidence.places.map { KeyDocument.Mention($0, by: evidence.configured) }
  }
}

extension KeyDocument.Mention {
  /// As files are read.
  fileprivate init(_ mention: KeyMention) {
    let reading = KeyDocument.Reading(mention.reading, by: mention.policy)
    self.init(mention, reading.reading, reading.reason, reading.detail)
    if case .admitted(let claim) = mention.reading { read = KeyDocument.Values(claim.key) }
  }

  /// What became of it in a store.
  fileprivate init(_ place: EvidenceMention.Place, by configured: String) {
    switch place.fate {
    case .admitted(let claim):
      self.init(place.mention, "admitted")
      read = KeyDocument.Values(claim.key)
    case .held(let reason): self.init(place.mention, "held", reason.rawValue)
    case .refused: self.init(place.mention, "refused")
    case .rejected(let reason, let detail): self.init(place.mention, "rejected", reason.rawValue, detail)
    case .gone: self.init(place.mention, "gone")
    case .unknown: self.init(place.mention, "unknown")
    }
    let now = place.fate == .refused ? place.mention.reading : place.now
    self.now = now.map { KeyDocument.Reading($0, by: configured) }
  }

  private init(_ mention: KeyMention, _ reading: String, _ reason: String? = nil, _ detail: String? = nil) {
    position = mention.position
    sent = KeyDocument.Values(mention.sent)
    origin = mention.regions.origin.map { printableText($0) }
    visited = mention.regions.visited?.map { printableText($0) }
    policy = mention.policy
    allowances = mention.allowances.map(\.code)
    self.reading = reading
    self.reason = reason
    self.detail = detail
  }
}

extension KeyDocument.Reading {
  fileprivate init(_ reading: KeyMention.Reading, by policy: String) {
    self.policy = policy
    switch reading {
    case .admitted: (self.reading, reason, detail) = ("admitted", nil, nil)
    case .heldForOperator: (self.reading, reason, detail) = ("held", AdmissionReason.flood.rawValue, nil)
    case .rejected(let why, let text): (self.reading, reason, detail) = ("rejected", why.rawValue, text)
    }
  }
}

extension KeyMention.Reading {
  /// `policy strict, which is configured now, rejects it, rolling-period-absent`.
  fileprivate func words(by policy: String) -> String {
    let does =
      switch self {
      case .admitted: "admits it"
      case .heldForOperator: "holds it for the operator"
      case .rejected(let reason, _): "rejects it, \(reason.rawValue)"
      }
    return "policy \(printableText(policy)), which is configured now, \(does)"
  }
}

extension EvidenceMention {
  fileprivate var source: String { printableText(document.source) }
  /// `document 17 of efgs`.
  fileprivate var title: String { "document \(document.id.rawValue) of \(source)" }
}

extension DocumentReader {
  /// For who asks who read it, where it was another one.
  fileprivate var words: String {
    switch self {
    case .nobody: "nobody"
    case .configured: "the configured policy"
    case .former(let name): "policy \(printableText(name))"
    case .lost(let name?): "policy \(printableText(name)) as it was then"
    case .lost(nil): "a policy that nobody noted"
    }
  }
}

extension DocumentState {
  fileprivate var words: String {
    switch self {
    case .quarantined: "in quarantine"
    case .givenUp: "given up"
    case .discovered, .fetching: "not fetched yet"
    case .recorded: "recorded"
    }
  }
}

// MARK: From files

extension KeyDocument {
  init(_ story: KeyStory, of key: TemporaryExposureKey, now: Instant) {
    self.key = key.hex
    keySHA256 = KeyAccount.digest(of: key)
    self.now = now.description
    var numbers: [StatedClaim: Int] = [:]
    var claims: [Claim] = []
    for line in story.explanations.flatMap(\.lines) where numbers[line.claim] == nil {
      numbers[line.claim] = claims.count + 1
      claims.append(
        Claim(
          line.claim, number: claims.count + 1,
          vouchedBy: "\(line.claim.source.provenance.description); \(KeyStory.isUnverified)"))
    }
    self.claims = claims
    decisions = story.explanations.map { explanation in
      Decision(
        validFrom: "\(IntervalNumber(Int64(explanation.subject.rollingStart)).start)",
        rollingStart: explanation.subject.rollingStart, outcome: explanation.outcome.text,
        rules: explanation.steps.map { Rule(rule: $0.rule, effect: $0.effect) },
        claims: Standing.all(explanation.lines, numbers))
    }
    regions = story.deliveries.map { delivery in
      Region(region: delivery.region.map { printableText($0) }, outcomes: delivery.outcomes.map(\.textForApps))
    }
    documents = story.mentions.map { mention in
      Document(
        source: printableText(mention.source), name: printableText(mention.document), mentions: [Mention(mention)])
    }
    answer = story.answer
  }
}

// MARK: Words
