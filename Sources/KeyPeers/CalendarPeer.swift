internal import BundleTrust
internal import ExposureKeys

extension PeerProtocol {
  package static let calendar = PeerProtocol(CalendarPeer.description)
}

/// Files whose names follow from the clock: nobody lists them, and the machine asks for each name that there should be by now.
///
/// England and Wales name a file by the end of its day or of its two hours, in UTC, and write all files of a fortnight again
/// every two hours. Canada has a file for each day, and each request bears an HMAC of the hour. Norway and Denmark count the files
/// of a day, and a header of each says whether there is another (version 3), or how many there are (version 1).
///
/// Which names there should be is a guess by our own clock, so no cursor is kept, and "not there" is an answer like others. A day
/// that is over by our clock may still run by the peer's: its file counts as complete ``settlingSeconds`` after its end, and is
/// asked for again until then. Later the peers take keys out of these files, or all of them; what is recorded stays.
struct CalendarPeer: PeerSync {
  static let description = PeerDescription(
    "calendar", summary: "files that are named by day and hour (England and Wales, CA, NO, DK)",
    options: [
      PeerOption("preset", .choice(Preset.allCases.map(\.rawValue)), isRequired: true, "whose server it is"),
      PeerOption("days", .number(1...14), "how many days are asked for; 14 by default"),
      PeerOption(
        "hours", .flag, "england-and-wales: whether files of two hours are fetched for today; true by default"),
      PeerOption(
        "key", .publicKey,
        "england-and-wales: the P-256 key that signs date and body in the headers; unchecked if omitted"),
      PeerOption("hmac-key", .secret, "canada: the key of the HMAC in each path, 64 or more hexadecimal digits"),
      PeerOption("today", .flag, "canada: whether today's file, which grows, is fetched; false by default"),
      PeerOption("version", .choice(["v1", "v3"]), "norway, denmark: of the addresses; v3 by default"),
      PeerOption(
        "keys", .choice(["all", "own"]),
        "norway, denmark, v3: whether keys of other countries are included; all by default"),
    ], trusts: [.ring, .host, .operator],
    note: { $0.options["preset"].flatMap(Preset.init)?.note }, faults: CalendarPeer.faults
  ) { settings, _, now in CalendarPeer(settings, now: now) }

  enum Preset: String, CaseIterable {
    case englandAndWales = "england-and-wales"
    case canada, norway, denmark

    /// What proves it, and how its servers behaved.
    var note: String {
      switch self {
      case .englandAndWales:
        "the signature in each file proves it, by a ring, and the option key checks the one in the headers too. The servers wrote"
          + " all files again every two hours, and emptied days after a fortnight; 403 means that a file is not there"
      case .canada:
        "the signature in each file proves it, by a ring; the HMAC only opens the door, for an hour. The servers left keys out of a"
          + " day once these were a fortnight old, and answered 410 to older days"
      case .norway, .denmark:
        "the signature in each file proves it, by a ring; the token goes into http.headers as Authorization_Mobile. The servers"
          + " answered 204 to a number that is not there yet, and 400 to a day out of the fortnight"
      }
    }

    /// The options that it takes, besides those of all.
    var options: Set<String> {
      switch self {
      case .englandAndWales: ["hours", "key"]
      case .canada: ["hmac-key", "today"]
      case .norway, .denmark: ["version", "keys"]
      }
    }
  }

  private static func faults(of settings: SourceSettings) -> [String] {
    guard let preset = settings.options["preset"].flatMap(Preset.init) else { return [] }
    let known = preset.options.union(["preset", "days"])
    var faults = Set(settings.options.keys).union(settings.secrets.keys).subtracting(known).sorted()
      .filter { name in description.options.contains { $0.name == name } }
      .map { "options.\($0): preset \(preset.rawValue) does not take it" }
    guard preset == .canada else { return faults }
    if let key = settings.secrets["hmac-key"] {
      if (Hexadecimal.decode(key.disclosed.utf8)?.count ?? 0) < 32 {
        faults.append("options.hmac-key: the secret must be 64 or more hexadecimal digits")
      }
    } else {
      faults.append("options.hmac-key: missing; preset canada needs it as {file: PATH} or {env: NAME}")
    }
    return faults
  }

  /// How names become addresses.
  private enum Layout {
    case englandAndWales(ResponseCheck?)
    case canada
    /// Counted from 1; the series is part of the name.
    case smittestop3(series: String)
    /// Counted from 0.
    case smittestop1
  }

  /// How far the clocks of the peer and of the gateway may be apart. It is less than a day, so that a file is complete before
  /// the peer takes its oldest keys out.
  static let settlingSeconds: Int64 = 72_000
  /// Files of two hours are asked for so long after their end, in seconds: until the file of their day is complete.
  private static let hoursSeconds: Int64 = 93_600
  /// Files of one day that are counted.
  static let countLimit: Int64 = 500
  /// Canada authenticates this number, whatever region is in the path.
  private static let canada = "302"

  private let location: String
  private let layout: Layout
  private let now: Instant
  /// What is collected next: all names at first, and then of each day whose last file leads on, the next one.
  private var following: [PeerDocument] = []

  var notices: [DocumentFault] { [] }

  init(_ settings: SourceSettings, now: Instant) {
    location = settings.location
    self.now = now
    let days = settings.number("days") ?? 14
    let today = now.day.daysSince1970
    let preset = settings.options["preset"].flatMap(Preset.init) ?? .englandAndWales
    switch preset {
    case .englandAndWales:
      layout = .englandAndWales(settings.options["key"].flatMap { try? P256PublicKey(text: $0) }.map { .dated($0) })
    case .canada: layout = .canada
    case .norway, .denmark:
      let own = preset == .norway ? "no" : "dk"
      layout =
        settings.options["version"] == "v1"
        ? .smittestop1 : .smittestop3(series: settings.options["keys"] == "own" ? own : "all")
    }
    var names: [String] = []
    switch layout {
    case .englandAndWales:
      names = (today - days + 1...today).map { "daily/\(Self.digits(of: Day(daysSince1970: $0)))00" }
      if settings.flag("hours") ?? true { names += hours() }
    case .canada:
      let last = settings.flag("today") == true ? today : today - 1
      names = (today - days...last).map { "\(Self.canada)/\(Self.period($0))" }
    case .smittestop3(let series):
      names = (today - days + 1...today).map { "\(Day(daysSince1970: $0))_1_\(series)" }
    case .smittestop1: names = (today - days...today - 1).map { "\(Day(daysSince1970: $0)):0" }
    }
    following = names.compactMap(document(named:))
  }

  // MARK: Names

  /// Of the files of two hours that have ended, oldest first.
  private func hours() -> [String] {
    let last = now.secondsSince1970 / 7200
    return ((last - Self.hoursSeconds / 7200)...last).map { number in
      let end = Instant(secondsSince1970: number * 7200)
      let hour = number % 12 * 2
      return "two-hourly/\(Self.digits(of: end.day))\(hour < 10 ? "0" : "")\(hour)"
    }
  }

  private static func digits(of day: Day) -> String { day.description.replacing("-", with: "") }

  private static func day(ofDigits text: some StringProtocol) -> Day? {
    guard text.utf8.count == 8, decimalNumber(text) != nil else { return nil }
    return Day("\(text.prefix(4))-\(text.dropFirst(4).prefix(2))-\(text.dropFirst(6))")
  }

  /// Five digits.
  private static func period(_ day: Int64) -> String {
    String(repeating: "0", count: max(0, 5 - String(day).utf8.count)) + String(day)
  }

  func document(named name: String) -> PeerDocument? {
    switch layout {
    case .englandAndWales(let check): englandAndWales(name, check)
    case .canada: canada(name)
    case .smittestop3(let series):
      Self.part3(name, series).map { _ in
        PeerDocument(
          name: name, request: PeerRequest(url: PeerAddress.join(location, "api/v3/diagnostickeys/\(name).zip")),
          otherStatuses: [204, 400, 404])
      }
    case .smittestop1:
      Self.part1(name).map { day, _ in
        PeerDocument(
          name: name, request: PeerRequest(url: PeerAddress.join(location, "API/v1/diagnostickeys/\(name).zip")),
          otherStatuses: [202, 204, 400, 404], completeFrom: Self.complete(day.end))
      }
    }
  }

  private static func complete(_ end: Instant) -> Instant { end.adding(seconds: settlingSeconds) }

  private func englandAndWales(_ name: String, _ check: ResponseCheck?) -> PeerDocument? {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].utf8.count == 10, let day = Self.day(ofDigits: parts[1].prefix(8)),
      let hour = decimalNumber(parts[1].suffix(2)), hour < 24, hour % 2 == 0,
      parts[0] == "two-hourly" || parts[0] == "daily" && hour == 0
    else { return nil }
    let end = day.start.adding(seconds: hour * 3600)
    return PeerDocument(
      name: name, request: PeerRequest(url: PeerAddress.join(location, "distribution/\(name).zip")),
      // The network in front of the files answers 403 for one that is not there.
      otherStatuses: [403, 404], completeFrom: Self.complete(end), check: check)
  }

  private func canada(_ name: String) -> PeerDocument? {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == Self.canada, parts[1].utf8.count == 5, let number = decimalNumber(parts[1]),
      number > 0
    else { return nil }
    // The server takes the hour before and the one after as well.
    let seal = PeerRequest.Seal(
      secret: "hmac-key", message: "\(Self.canada):\(parts[1]):\(now.secondsSince1970 / 3600)")
    let url = PeerAddress.join(location, "retrieve/\(name)/\(PeerRequest.Seal.mask)")
    return PeerDocument(
      name: name, request: PeerRequest(url: url, seal: seal), otherStatuses: [404, 410],
      mayChange: number >= now.day.daysSince1970, completeFrom: Self.complete(Day(daysSince1970: number).end))
  }

  /// `2020-12-01_1_all`
  private static func part3(_ name: String, _ series: String) -> (day: Day, number: Int64)? {
    let parts = name.split(separator: "_", omittingEmptySubsequences: false)
    guard parts.count == 3, let day = Day(parts[0]), let number = count(parts[1]), number > 0, parts[2] == series else {
      return nil
    }
    return (day, number)
  }

  /// `2020-12-01:0`
  private static func part1(_ name: String) -> (day: Day, number: Int64)? {
    let parts = name.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let day = Day(parts[0]), let number = count(parts[1]) else { return nil }
    return (day, number)
  }

  private static func count(_ text: Substring) -> Int64? {
    decimalNumber(text).flatMap { $0 <= countLimit && String($0) == text ? $0 : nil }
  }

  // MARK: Conversation

  mutating func next() -> PeerStep {
    let documents = following
    following = []
    return documents.isEmpty ? .done(cursor: nil) : .collect(documents)
  }

  mutating func take(_ answer: PeerAnswer) {}

  mutating func take(_ outcome: CollectionOutcome, of document: PeerDocument) {
    let leadsOn: (day: Day, number: Int64)?
    switch layout {
    case .englandAndWales, .canada: return
    case .smittestop3(let series): leadsOn = Self.part3(document.name, series)
    case .smittestop1: leadsOn = Self.part1(document.name)
    }
    guard let (day, number) = leadsOn, number < Self.countLimit else { return }
    switch outcome {
    case .recorded(let head?) where !isFollowed(number, head): return
    // What is recorded, or refused, says nothing about what follows.
    case .recorded, .quarantined: break
    case .answered, .fault: return
    }
    let name =
      switch layout {
      case .smittestop3(let series): "\(day)_\(number + 1)_\(series)"
      default: "\(day):\(number + 1)"
      }
    if let next = self.document(named: name) { following.append(next) }
  }

  private func isFollowed(_ number: Int64, _ head: ResponseHead) -> Bool {
    if case .smittestop1 = layout {
      return head["batchcount"].flatMap { decimalNumber($0) }.map { number + 1 < $0 } ?? false
    }
    return head["nextbatchexists"]?.lowercased() == "true"
  }

  func cursor(after document: PeerDocument, head: ResponseHead) -> String? { nil }
}

extension Day {
  fileprivate var end: Instant { start.adding(seconds: 86_400) }
}
