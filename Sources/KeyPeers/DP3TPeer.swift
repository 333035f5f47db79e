internal import BundleTrust
internal import ExposureKeys

extension PeerProtocol {
  package static let dp3t = PeerProtocol(DP3TPeer.description)
}

/// The layout of DP-3T (CH, and EC, EE, ES, MT, PT): a bundle is put together for each request, from what was published
/// after the time that the request states; the answer says up to when.
///
/// Version 1 has a bundle for each day on which keys began to be used, whenever they were published, so a key of any day may
/// still come: every day is asked for by every pull, each with a time of its own. Version 2 has one bundle, and its tag is the time. The
/// same request brings more later, so a document's name says what was asked: the day and the time, `2020-12-01@0`.
/// Times in the future are not believed: keys would be passed over.
struct DP3TPeer: PeerSync {
  static let description = PeerDescription(
    "dp3t", summary: "bundles of what is new since a time (DP-3T)",
    options: [
      PeerOption(
        "version", .choice(["v1", "v2"]), isRequired: true,
        "v1: a bundle for each day of the keys; v2: one bundle for all days"),
      PeerOption(
        "key", .publicKey,
        "the P-256 key that signs the header Signature, or the path of its PEM file; unchecked if omitted"),
      PeerOption("days", .number(1...21), "v1: how many days are asked for, today included; 14 where not given"),
      PeerOption("withFederationGateway", .flag, "v2: whether keys of other countries are asked for"),
    ], trusts: [.ring, .host, .operator]
  ) { settings, cursor, now in DP3TPeer(settings, cursor: cursor, now: now) }

  private enum Phase { case collecting([PeerDocument]), collected, ended(PeerStep) }

  /// What the first version has no time for, and the second no tag.
  private static let everything: Int64 = 0
  /// How far the peer's clock may be ahead, in milliseconds.
  private static let leeway: Int64 = 600_000

  private let location: String
  private let isVersion2: Bool
  private let check: ResponseCheck?
  private let federation: String?
  private let latest: Int64
  /// The time up to which each day, or everything (version 2), is recorded, in milliseconds since 1970.
  private var published: [String: Int64]
  private var phase: Phase
  private var hasStartedOver = false
  private(set) var notices: [DocumentFault] = []

  /// The day of version 2's only bundle.
  private static let allDays = "all"

  init(_ settings: SourceSettings, cursor: String?, now: Instant) {
    location = PeerAddress.join(settings.location, "")
    isVersion2 = settings.options["version"] == "v2"
    check = settings.options["key"].flatMap { try? P256PublicKey(text: $0) }.map { .token($0) }
    federation = settings.options["withFederationGateway"]
    latest = now.secondsSince1970 * 1000 + Self.leeway
    let asked: [String]
    if isVersion2 {
      asked = [Self.allDays]
    } else {
      let today = now.day.daysSince1970
      let first = today - (settings.number("days") ?? 14) + 1
      asked = (first...today).map { Day(daysSince1970: $0).description }
    }
    published = (cursor.flatMap { PeerJSON.value([String: Int64].self, in: $0.utf8) } ?? [:])
      .filter { asked.contains($0.key) && $0.value > Self.everything }
    phase = .ended(.done(cursor: nil))
    phase = .collecting(asked.compactMap { document(of: $0, after: published[$0] ?? Self.everything) })
  }

  mutating func next() -> PeerStep {
    switch phase {
    case .collecting(let documents):
      phase = .collected
      return .collect(documents)
    case .collected: return .done(cursor: nil)
    case .ended(let step): return step
    }
  }

  mutating func take(_ answer: PeerAnswer) {}

  mutating func take(_ outcome: CollectionOutcome, of document: PeerDocument) {
    guard let (day, asked) = parts(of: document.name) else { return }
    switch outcome {
    case .recorded(let head):
      if let until = head.flatMap({ time(in: $0, after: asked) }) { published[day] = until }
    case .answered(let head) where isVersion2 && head.status != 204: startOver(asked: asked, status: head.status)
    case .answered, .quarantined, .fault: break
    }
  }

  /// The peer does not know the tag any more, or never did: everything that it has is asked for, once.
  private mutating func startOver(asked: Int64, status: Int) {
    guard asked != Self.everything, !hasStartedOver, let everything = document(of: Self.allDays, after: 0) else {
      let fault = PeerFault.status(status, of: "bundle", expected: "200 or 204")
      return phase = .ended(.fail(fault.documentFault))
    }
    hasStartedOver = true
    published = [:]
    notices.append(
      DocumentFault(
        code: .startedOver, reason: "the peer answered \(status) to the tag \(asked): everything is asked for"))
    phase = .collecting([everything])
  }

  func cursor(after document: PeerDocument, head: ResponseHead) -> String? {
    guard let (day, asked) = parts(of: document.name), let until = time(in: head, after: asked) else { return nil }
    var times = published
    times[day] = until
    return PeerJSON.text(times)
  }

  func document(named name: String) -> PeerDocument? {
    parts(of: name).flatMap { document(of: $0.day, after: $0.after) }
  }

  /// The time up to which the answer reaches; `nil` where it says none, or none that can be believed.
  private func time(in head: ResponseHead, after asked: Int64) -> Int64? {
    guard let text = head[isVersion2 ? "x-key-bundle-tag" : "x-published-until"], let time = decimalNumber(text),
      time > asked, time <= latest
    else { return nil }
    return time
  }

  private func parts(of name: String) -> (day: String, after: Int64)? {
    let parts = name.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, let after = decimalNumber(parts[1]),
      isVersion2 ? parts[0] == Self.allDays : Day(parts[0]) != nil
    else { return nil }
    return (String(parts[0]), after)
  }

  private func document(of day: String, after time: Int64) -> PeerDocument? {
    let url: String
    if isVersion2 {
      var query: [String] = []
      if time != Self.everything { query.append("lastKeyBundleTag=\(time)") }
      if let federation { query.append("withFederationGateway=\(federation)") }
      url = "\(location)v2/gaen/exposed" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    } else {
      guard let start = Day(day)?.start.secondsSince1970 else { return nil }
      url = "\(location)v1/gaen/exposed/\(start * 1000)" + (time == Self.everything ? "" : "?publishedafter=\(time)")
    }
    return PeerDocument(
      name: "\(day)@\(time)", request: PeerRequest(url: url),
      otherStatuses: isVersion2 ? [204, 400, 404] : [204, 404], mayChange: true, check: check)
  }
}
