internal import ExposureKeys

extension PeerProtocol {
  package static let coronaWarnApp = PeerProtocol(CoronaWarnAppPeer.description)
}

/// The layout of the Corona-Warn-App (DE, later BE and SI): per country a list of the days that are complete, for each
/// day one bundle, and one an hour for a day that is not complete.
///
/// A bundle never changes under its address. A day's bundle holds what its hours held, so hours are only asked for
/// where there is no day yet: today, and yesterday shortly after midnight.
struct CoronaWarnAppPeer: PeerSync {
  static let description = PeerDescription(
    "corona-warn-app", summary: "days and hours of a country (Corona-Warn-App)",
    options: [
      PeerOption("country", .country, isRequired: true, "the country in the paths, such as DE or EUR"),
      PeerOption("hours", .flag, "whether the hours of days that are not complete are fetched; false where not given"),
    ], trusts: [.ring, .host, .operator]
  ) { settings, _, now in CoronaWarnAppPeer(settings, now: now) }

  private enum Phase {
    case askingForDays
    case askingForHours(Day)
    case collecting([PeerDocument])
    case ended(PeerStep)
  }

  static let dayLimit = 400

  private let location: String
  private let country: String
  private let today: Day
  private var days: [Day] = []
  /// Days whose hours are still to be asked for, latest first.
  private var incompleteDays: [Day] = []
  private var hours: [PeerDocument] = []
  private let wantsHours: Bool
  private var phase = Phase.askingForDays

  var notices: [DocumentFault] { [] }

  init(_ settings: SourceSettings, now: Instant) {
    country = settings.options["country"] ?? "DE"
    location = PeerAddress.join(settings.location, "version/v1/diagnosis-keys/country/\(country)/date")
    wantsHours = settings.flag("hours") ?? false
    today = now.day
  }

  mutating func next() -> PeerStep {
    switch phase {
    case .askingForDays: return .ask(PeerRequest(url: location))
    case .askingForHours(let day): return .ask(PeerRequest(url: "\(location)/\(day)/hour"))
    case .collecting(let documents):
      phase = .ended(.done(cursor: nil))
      return .collect(documents)
    case .ended(let step): return step
    }
  }

  mutating func take(_ answer: PeerAnswer) {
    do throws(PeerFault) {
      if case .askingForHours(let day) = phase { try takeHours(of: day, answer) } else { try takeDays(answer) }
      continueWithHours()
    } catch {
      phase = .ended(.fail(error.documentFault))
    }
  }

  mutating func take(_ outcome: CollectionOutcome, of document: PeerDocument) {}

  func cursor(after document: PeerDocument, head: ResponseHead) -> String? { nil }

  func document(named name: String) -> PeerDocument? {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), parts[0] == country, let day = Day(parts[1]) else { return nil }
    guard parts.count == 3 else { return document(of: day) }
    return decimalNumber(parts[2]).map { document(of: day, hour: Int($0)) }
  }

  private func document(of day: Day, hour: Int? = nil) -> PeerDocument {
    PeerDocument(
      name: "\(country)/\(day)" + (hour.map { "/\($0)" } ?? ""),
      request: PeerRequest(url: "\(location)/\(day)" + (hour.map { "/hour/\($0)" } ?? "")))
  }

  private mutating func takeDays(_ answer: PeerAnswer) throws(PeerFault) {
    let body = try answer.response(of: "days of \(country)").body
    let texts = try PeerJSON.read(
      [String].self, in: body, of: "days of \(country)", expected: "a JSON list of dates")
    guard texts.count <= Self.dayLimit else {
      throw PeerFault(.limitExceeded, "days of \(country): \(texts.count), at most \(Self.dayLimit) are read")
    }
    for text in texts {
      guard let day = Day(text), day <= today else {
        throw PeerFault(
          .malformedAnswer, "days of \(country): \(peerText(text)), expected a date yyyy-MM-dd up to \(today)")
      }
      days.append(day)
    }
    // A day's bundle never changes, so today is not taken for complete, even if the peer's clock is ahead of ours.
    days = Set(days).filter { $0 < today }.sorted()
    guard wantsHours else { return }
    let yesterday = Day(daysSince1970: today.daysSince1970 - 1)
    incompleteDays = [today, yesterday].filter { !days.contains($0) }
  }

  private mutating func takeHours(of day: Day, _ answer: PeerAnswer) throws(PeerFault) {
    let what = "hours of \(country) on \(day)"
    let response = try answer.response(of: what, statuses: [200, 404])
    // There is no list before the day's first hour is published.
    guard response.head.status == 200 else { return }
    let numbers = try PeerJSON.read([Int].self, in: response.body, of: what, expected: "a JSON list of hours")
    guard let wrong = numbers.first(where: { !(0...23).contains($0) }) else {
      hours += Set(numbers).sorted().map { document(of: day, hour: $0) }
      return
    }
    throw PeerFault(.malformedAnswer, "\(what): hour \(wrong), allowed 0...23")
  }

  /// Yesterday's hours come before today's.
  private mutating func continueWithHours() {
    if let day = incompleteDays.popLast() {
      phase = .askingForHours(day)
    } else {
      let documents = days.map { document(of: $0) } + hours
      phase = documents.isEmpty ? .ended(.done(cursor: nil)) : .collecting(documents)
    }
  }
}
