internal import ExposureKeys

extension PeerProtocol {
  package static let covidGreen = PeerProtocol(CovidGreenPeer.description)
}

/// The layout of COVID Green (IE, GB-NIR, GB-SCT, JE, GI): a list of what follows a file, behind a token that lives for minutes.
///
/// The operator has a refresh token, which an app gets when it registers. The machine trades it for an access token at the start
/// of a run, and again when the server no longer accepts that one. `since` is the number of the last file taken, and the server
/// chooses what follows so that files overlap least: the number may therefore only move over files that are recorded. A number
/// that the server does not know, or deleted, gives everything again without a word; files that are recorded are skipped by
/// their paths.
struct CovidGreenPeer: PeerSync {
  static let description = PeerDescription(
    "covid-green", summary: "files after a number, behind a token (COVID Green: IE, GB-NIR, GB-SCT, JE, GI)",
    options: [
      PeerOption(
        "refresh-token", .secret, isRequired: true,
        "the refresh token of a registration, which access tokens are made from"),
      PeerOption("region", .country, "the region whose files are listed; the server's own by default"),
      PeerOption("data", .address, "the address in front of the listed paths; data below the location by default"),
      PeerOption("limit", .number(6...1000), "how many files a page lists; 20 by default"),
    ], trusts: [.ring, .host, .operator],
    note: { _ in
      "the signature in each file proves it, by a ring with the server's key; the refresh token only opens the door. Servers kept"
        + " files for 14 days, and a number that they had deleted gave everything again"
    }
  ) { settings, cursor, _ in CovidGreenPeer(settings, cursor: cursor) }

  private enum Phase {
    case renewing, listing
    /// Files by their names.
    case collecting([String])
    case collected
    case ended(PeerStep)
  }

  private struct Cursor: Codable { var since: Int64 }
  private struct Token: Decodable { var token: String }
  private struct Entry: Decodable { var id: Int64, path: String }

  /// Pages in one run; the next run continues where this one stopped.
  static let pageLimit = 200
  static let valueLimit = 50_000
  static let tokenLimit = 4096
  static let numberLimit: Int64 = 1 << 53
  /// Access tokens in a row with which nothing was had.
  private static let renewalLimit = 2

  private let location: String
  private let files: ListedFiles
  private let query: String
  private var token = ""
  private var renewals = 0
  private var since: Int64
  private var asked: Set<Int64> = []
  /// What the last page lists, in its order.
  private var page: [(id: Int64, name: String)] = []
  private var settledNames: Set<String> = []
  /// Names that are asked for with the next token: put aside before, or refused with the last token.
  private var pending: [String] = []
  private var phase = Phase.renewing
  private(set) var notices: [DocumentFault] = []

  init(_ settings: SourceSettings, cursor: String?) {
    location = settings.location
    let data = settings.options["data"] ?? "data"
    files = ListedFiles(
      base: PeerAddress.isAbsolute(data) ? data : PeerAddress.join(settings.location, data), suffix: ".zip")
    let region = settings.options["region"].map { "&region=\($0)" } ?? ""
    query = "&limit=\(settings.number("limit") ?? 20)\(region)"
    let known = cursor.flatMap { PeerJSON.value(Cursor.self, in: $0.utf8) }?.since ?? 0
    since = (0...Self.numberLimit).contains(known) ? known : 0
  }

  mutating func askAgain(for names: [String]) {
    pending = names.filter { files.name(of: $0.utf8) == $0 }
  }

  // MARK: Steps

  mutating func next() -> PeerStep {
    switch phase {
    case .renewing:
      let headers = [
        PeerRequest.Header("Authorization", "Bearer {refresh-token}"), .init("Content-Type", "application/json"),
      ]
      return .ask(
        PeerRequest(
          url: PeerAddress.join(location, "refresh"), headers: headers, byteLimit: 64 << 10, body: Array("{}".utf8)))
    case .listing:
      let url = PeerAddress.join(location, "exposures?since=\(since)\(query)")
      return .ask(PeerRequest(url: url, headers: [authorization]))
    case .collecting(let names):
      phase = .collected
      return .collect(names.map(document))
    case .collected:
      goOn()
      return next()
    case .ended(let step): return step
    }
  }

  private var authorization: PeerRequest.Header { PeerRequest.Header("Authorization", "Bearer \(token)") }

  private func document(of name: String) -> PeerDocument {
    // What was put aside may be gone by now; what is listed is there.
    let isListed = page.contains { $0.name == name }
    return PeerDocument(
      name: name, request: PeerRequest(url: files.address(of: name), headers: [authorization]),
      otherStatuses: isListed ? [401] : [401, 404])
  }

  /// What follows when all files of a list have come, or have not.
  private mutating func goOn() {
    if !pending.isEmpty { return renew() }
    if let end = reached() { since = end }
    let isWhole = page.allSatisfy { settledNames.contains($0.name) }
    page = []
    guard isWhole, asked.count < Self.pageLimit, !asked.contains(since) else {
      return phase = .ended(.done(cursor: cursor))
    }
    phase = .listing
  }

  private mutating func renew() {
    guard renewals < Self.renewalLimit else {
      let fault = PeerFault(.forbidden, "files: the peer answered 401 to a new token: it does not let us in")
      return phase = .ended(.fail(fault.documentFault))
    }
    phase = .renewing
  }

  mutating func take(_ answer: PeerAnswer) {
    do throws(PeerFault) {
      if case .renewing = phase { try takeToken(answer) } else { try takePage(answer) }
    } catch {
      phase = .ended(.fail(error.documentFault))
    }
  }

  private mutating func takeToken(_ answer: PeerAnswer) throws(PeerFault) {
    renewals += 1
    let body = try answer.response(of: "refresh").body
    let text = try PeerJSON.read(Token.self, in: body, of: "refresh", expected: #"{"token":"…"} in JSON"#).token
    guard (1...Self.tokenLimit).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw PeerFault(.malformedAnswer, "refresh: a token of \(text.utf8.count) bytes, expected visible ASCII")
    }
    token = text
    phase = pending.isEmpty ? .listing : .collecting(pending)
    pending = []
  }

  private mutating func takePage(_ answer: PeerAnswer) throws(PeerFault) {
    if case .response(let head, _) = answer, head.status == 401 { return renew() }
    let body = try answer.response(of: "exposures").body
    guard PeerJSON.hasValues(atMost: Self.valueLimit, in: body) else {
      throw PeerFault(.limitExceeded, "exposures: more than \(Self.valueLimit) values")
    }
    let entries = try PeerJSON.read(
      [Entry].self, in: body, of: "exposures", expected: #"[{"id":n,"path":"…"}] in JSON"#)
    renewals = 0
    asked.insert(since)
    page = []
    for entry in entries {
      guard (0...Self.numberLimit).contains(entry.id) else {
        throw PeerFault(.malformedAnswer, "exposures: number \(entry.id), expected 0...\(Self.numberLimit)")
      }
      if let name = files.name(of: entry.path.utf8) { page.append((entry.id, name)) }
    }
    if page.count < entries.count {
      notices.append(
        DocumentFault(
          code: .entriesPassedOver,
          reason: "\(entries.count - page.count) of \(entries.count) entries name no file that ends in \(files.suffix)")
      )
    }
    if let first = page.first, since > 0, first.id <= since {
      notices.append(
        DocumentFault(
          code: .startedOver, reason: "the peer does not know the number \(since): it lists from \(first.id)"))
    }
    phase = page.isEmpty ? .ended(.done(cursor: cursor)) : .collecting(page.map(\.name))
  }

  // MARK: Outcomes

  mutating func take(_ outcome: CollectionOutcome, of document: PeerDocument) {
    switch outcome {
    // What is put aside is asked for again by its name.
    case .recorded, .quarantined:
      renewals = 0
      settledNames.insert(document.name)
    case .answered(let head) where head.status == 401: pending.append(document.name)
    case .answered, .fault: break
    }
  }

  /// The number of the last file up to which all of a page are settled.
  private func reached(settling name: String? = nil) -> Int64? {
    page.prefix { settledNames.contains($0.name) || $0.name == name }.last?.id
  }

  private var cursor: String? { PeerJSON.text(Cursor(since: since)) }

  func cursor(after document: PeerDocument, head: ResponseHead) -> String? {
    guard page.contains(where: { $0.name == document.name }) else { return nil }
    return reached(settling: document.name).flatMap { PeerJSON.text(Cursor(since: $0)) }
  }

  /// Without a token nothing can be asked for; ``askAgain(for:)`` waits for one.
  func document(named name: String) -> PeerDocument? { nil }
}
