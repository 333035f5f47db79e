internal import BundleTrust
package import ExposureKeys
internal import KeyNormalization
package import KeyStorage

/// Publishes series of signed bundles: selects, folds, pads, encodes, signs, stages and publishes what is due.
///
/// A round begins with what an earlier one may have left: bundles that were staged but not published. So the way back
/// from a crash is the way of every round. A bundle is staged in the store with its bytes, its keys and the window that it
/// closes, in one transaction; then its file is written, then the index, and then it is marked. Whatever is interrupted
/// goes on with the same bytes under the same names.
///
/// One process publishes a series at a time.
package struct Publisher: Sendable {
  package let series: [SeriesSettings]
  package let mirrors: [MirrorSettings]
  private let ledger: Ledger
  private let folder: any PublicationFolder
  private let randomBytes: @Sendable (_ count: Int) -> [UInt8]
  /// Opens the log for a round; `nil` where there is none.
  private let log: (@Sendable () -> LogKeeper)?
  private let program: String
  private let habit: RoundMode

  /// - Parameters:
  ///   - mirrors: what is shown as its origin has signed it.
  ///   - folder: what is published; made when it is missing.
  ///   - randomBytes: for the secret behind look-alikes, which is made once.
  ///   - program: name and version of what publishes, for those who make bundles again.
  ///   - habit: when rounds look at what has changed alone; tests have other habits.
  ///   - log: gives the log of what is published into the hands of a round; `nil` where there is none.
  package init(
    ledger: Ledger, series: [SeriesSettings], mirrors: [MirrorSettings] = [], folder: any PublicationFolder,
    program: String = "keyferry", habit: RoundMode = .usual,
    randomBytes: @escaping @Sendable (_ count: Int) -> [UInt8] = systemRandomBytes,
    log: (@Sendable () -> LogKeeper)? = nil
  ) {
    self.program = program
    self.habit = habit
    self.log = log
    self.ledger = ledger
    self.series = series
    self.mirrors = mirrors
    self.folder = folder
    self.randomBytes = randomBytes
  }

  /// - Parameters:
  ///   - program: name and version of what publishes.
  ///   - log: how the log of what is published is kept; `nil` where there is none.
  ///   - caller: the way to the log's witnesses.
  package init(
    ledger: Ledger, series: [SeriesSettings], mirrors: [MirrorSettings] = [], folder: String,
    program: String = "keyferry", log: EvidenceSettings? = nil, caller: (any WitnessCaller)? = nil
  ) {
    let local = LocalFolder(folder)
    var keeper: (@Sendable () -> LogKeeper)?
    if let log { keeper = { LogKeeper(log, ledger: ledger, folder: local, at: folder, caller: caller) } }
    self.init(ledger: ledger, series: series, mirrors: mirrors, folder: local, program: program, log: keeper)
  }

  /// Publishes the windows that are over, for each series by itself: the fault of one does not stop the others, and is in
  /// its receipt.
  ///
  /// - Parameters:
  ///   - look: the gateway's clock. While it is in doubt nothing is unlisted or removed.
  ///   - names: the series that are this process's own now; `nil` is all.
  /// - Returns: what was done, in the order of the series, and then of the mirrors.
  /// - Throws: `CancellationError` alone, between two steps.
  package func round(at look: ClockLook, of names: Set<String>? = nil) async throws -> [SeriesReceipt] {
    let now = look.now
    // It is given back when the round is over.
    let log = log?()
    var rounds = series.filter { names?.contains($0.name) ?? true }.map {
      SeriesRound(
        $0, among: series, ledger: ledger, folder: folder, log: log, program: program, habit: habit, at: look)
    }
    for index in rounds.indices {
      try await rounds[index].attempt { round in
        try await PublicationStanding.requireWords(ledger)
        try await round.resume()
        try await round.makeAgain()
        try await round.signAgain()
        try await round.prepareSelection()
      }
    }
    try await select(&rounds)
    let padding = try await plan(&rounds, now: now)
    for index in rounds.indices {
      try await rounds[index].attempt { try await $0.publish(padding) }
    }
    return rounds.map(\.receipt) + (try await mirror(at: look))
  }

  /// What a round of a series asks, and what it looks at; `nil` where that cannot be said.
  private struct Asked: Sendable {
    let index: Int
    let request: SelectionRequest
    var plan: SelectionPlan?
  }

  private typealias Answers = [(index: Int, answer: Result<SelectionAnswer, any Error>)]

  /// Selects what is due for all series whose windows are over: on as many processors as there are, since nothing else in a round
  /// takes as long where everything is looked at.
  private func select(_ rounds: inout [SeriesRound]) async throws {
    let asked = await planned(
      rounds.enumerated().compactMap { index, round in round.selectionRequest.map { Asked(index: index, request: $0) } }
    )
    try Task.checkCancellation()
    var (found, fault) = await wholes(asked)
    try Task.checkCancellation()
    if let fault {
      for one in asked where one.plan?.isDivided ?? false { rounds[one.index].note(dividedFault: "\(fault)") }
    }
    let answered = Set(found.map(\.index))
    found += await withTaskGroup(of: Answers.self) { group in
      for part in SelectionRequest.dealt(asked.filter { !answered.contains($0.index) }) {
        group.addTask { await self.answers(to: part) }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    for (index, answer) in found.sorted(by: { $0.index < $1.index }) {
      try await rounds[index].attempt { $0.take(try answer.get()) }
    }
  }

  /// With plans of one event. Why one cannot be made is said where it is asked for again.
  private func planned(_ asked: [Asked]) async -> [Asked] {
    guard !asked.isEmpty else { return [] }
    let planned = try? await ledger.read { state in
      asked.map { Asked(index: $0.index, request: $0.request, plan: try? $0.request.plan(from: state)) }
    }
    return planned ?? asked
  }

  /// Also where there is one processor.
  private static let fewParts = 3

  /// The answers to those that look at everything in a large store: each processor has a part of all key data, and reads its claims
  /// once for all of them. Where anything fails, they are asked like the others, and that is told.
  private func wholes(_ asked: [Asked]) async -> (Answers, fault: (any Error)?) {
    let parts = KeyDataPart.parts(habit == .divided ? Self.fewParts : SelectionRequest.processors)
    let divided = asked.filter { $0.plan?.isDivided ?? false }
    guard parts.count > 1, !divided.isEmpty else { return ([], nil) }
    let plans = divided.compactMap(\.plan)
    do {
      let selected = try await withThrowingTaskGroup(of: (part: Int, selections: [KeySelection]).self) { group in
        for (index, part) in parts.enumerated() {
          group.addTask {
            (index, try await self.ledger.read { try SelectionPlan.selections(of: plans, within: part, from: $0) })
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.part < $1.part }.map(\.selections)
      }
      let joined = try KeySelection.joined(selected)
      let answers: Answers = try await ledger.read { state in
        try plans.indices.compactMap { place in
          guard let selection = joined[place] else { return nil }
          return (divided[place].index, .success(try plans[place].answer(selection, from: state)))
        }
      }
      return (answers, nil)
    } catch {
      return ([], error)
    }
  }

  /// The fault of one series is not that of the others: where one is met, each is asked alone.
  private func answers(to asked: [Asked]) async -> Answers {
    do {
      let found = try await ledger.read { state in
        let plans = try asked.map { try $0.plan?.renewed(in: state) ?? $0.request.plan(from: state) }
        return try SelectionPlan.answers(to: plans, from: state)
      }
      return zip(asked, found).map { ($0.index, .success($1)) }
    } catch {
      if asked.count == 1 { return [(asked[0].index, .failure(error))] }
      var answers: Answers = []
      for one in asked { answers += await self.answers(to: [one]) }
      return answers
    }
  }

  /// Makes the mirrors' folders follow what their sources have received.
  package func mirror(at look: ClockLook) async throws -> [SeriesReceipt] {
    var receipts: [SeriesReceipt] = []
    for settings in mirrors {
      try Task.checkCancellation()
      var round = MirrorRound(settings, ledger: ledger, folder: folder, at: look)
      receipts.append(try await round.publish())
    }
    return receipts
  }

  /// Decides about look-alikes for all series at once, so that they agree.
  private func plan(_ rounds: inout [SeriesRound], now: Instant) async throws -> Padding? {
    let requests = rounds.compactMap(\.paddingRequest)
    guard !requests.isEmpty else { return nil }
    do {
      let isPadded = try await ledger.read { try $0.note(.paddingSecret) != nil }
      guard isPadded || requests.contains(where: \.isShort) else { return nil }
      let newSecret = isPadded ? [] : randomBytes(Padding.secretLength)
      return try await ledger.paddingPlanned(for: requests.map(\.series), at: now) { state in
        try Padding.plan(requests, in: state, newSecret: newSecret, now: now)
      }
    } catch {
      for index in rounds.indices where rounds[index].paddingRequest != nil { try rounds[index].fail(error) }
      return nil
    }
  }

  // MARK: Preview

  /// What the next bundle of a series would hold, as things stand; nothing is published. Everything is looked at.
  ///
  /// - Parameter compares: whether what a round looks at is compared with that.
  /// - Throws: ``PublishingFault`` when there is no such series, or what the store throws.
  package func preview(series name: String, now: Instant, compares: Bool = false) async throws -> SeriesPreview {
    guard let settings = series.first(where: { $0.name.lowercased() == name.lowercased() }) else {
      let known = series.map(\.name).joined(separator: ", ")
      throw PublishingFault(.unknownSeries, "there is no series \(name); there are \(known.isEmpty ? "none" : known)")
    }
    try settings.check()
    return try await ledger.read { [program] state in
      let known = try SeriesState(of: settings.name, from: state)
      let window = try ExportWindow.next(
        of: settings, after: known, try state.bundles(of: settings.name, in: Set(BundleState.allCases)), now: now)
      let selection = try KeySelection(
        of: settings, from: state, at: window.instant, followsRecall: try state.recalls().count > known.recalls,
        limit: settings.mostKeys)
      let request = Padding.Request(settings, selection)
      let lookalikes = try Padding.estimate(request, from: state)
      var preview = try SeriesPreview(settings, window, selection, lookalikes: lookalikes, now: now)
      if compares {
        preview.comparison = try SeriesPreview.Comparison(
          of: selection, settings, known, program: program, at: window.instant, from: state)
      }
      return preview
    }
  }
}

extension SeriesPreview.Comparison {
  /// - Parameters:
  ///   - whole: what a look at everything selects.
  ///   - program: name and version of what publishes.
  fileprivate init(
    of whole: KeySelection, _ settings: SeriesSettings, _ known: SeriesState, program: String, at instant: Instant,
    from state: any StoredState
  ) throws {
    let followsRecall = try state.recalls().count > known.recalls
    let pauses = PauseSet(try state.pauses(), rehearsing: settings.rehearsals)
    let attention = try Attention(
      of: settings, known.mark, rules: settings.rules(at: instant, pauses, program: program),
      followsRecall: followsRecall, at: instant, habit: .always, from: state)
    guard case .changes(let changes, _) = attention else {
      self.init(lookedAt: nil, agrees: true)
      return
    }
    let selection = try KeySelection(
      of: settings, from: state, at: instant, followsRecall: followsRecall, limit: settings.mostKeys,
      looking: attention)
    self.init(lookedAt: changes.count, agrees: try selection.isSame(as: whole))
  }
}

/// From the system's random numbers.
@Sendable
package func systemRandomBytes(_ count: Int) -> [UInt8] {
  var generator = SystemRandomNumberGenerator()
  return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
}

extension ExportWindow {
  /// Seconds by which a clock may go back without a word, and the next window waits.
  static let smallStep: Int64 = 3600

  /// Whether the last window was closed by a clock that was ahead: to wait until that time comes again would be silence.
  static func isAhead(_ state: SeriesState, now: Instant) -> Bool {
    state.windowEnd.map { $0 > now.secondsSince1970 + smallStep } ?? false
  }

  /// Where the last window ended that counts: one that a clock ahead has closed does not, but what it published before this
  /// time does.
  ///
  /// - Parameter records: the bundles of the series, in all states.
  static func lastEnd(
    of settings: SeriesSettings, _ state: SeriesState, _ records: @autoclosure () throws -> [BundleRecord], now: Instant
  ) rethrows -> Int64? {
    guard isAhead(state, now: now) else { return state.windowEnd }
    return try records().map { $0.bundle.windowEnd(settings.period) }.filter { $0 <= now.secondsSince1970 }.max()
  }

  /// The window that is published next: one that is over, or the one that goes on. Rounds, previews, reports and
  /// explanations all ask this.
  ///
  /// - Parameter records: the bundles of the series, in all states.
  static func next(
    of settings: SeriesSettings, after state: SeriesState, _ records: @autoclosure () throws -> [BundleRecord],
    now: Instant
  ) rethrows -> ExportWindow {
    let last = try lastEnd(of: settings, state, try records(), now: now)
    var window = ExportWindow(over: now, period: settings.period)
    while let last, window.start < last { window = window.next(period: settings.period) }
    return window
  }
}

extension Padding.Request {
  init(_ settings: SeriesSettings, _ selection: KeySelection) {
    self.init(
      series: settings.name, new: selection.new, minimum: settings.pads ? settings.minimumKeys : 0)
  }
}

extension SeriesSettings {
  /// What would make it impossible to publish.
  func check() throws(PublishingFault) {
    let isName =
      !name.isEmpty
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
    guard isName else {
      throw PublishingFault(.invalidSeries, "the series \"\(name)\": allowed are letters, digits and hyphens")
    }
    guard period >= 60, 86_400 % period == 0 else {
      throw PublishingFault(
        .invalidSeries, "series \(name): a period of \(period) seconds, allowed are 60...86400 that divide a day")
    }
    guard maximumKeys > 0, maximumBytes > 0, mostKeys > 0, listedDays > 0, graceSeconds >= 0, minimumKeys >= 0 else {
      throw PublishingFault(.invalidSeries, "series \(name): limits below their least value")
    }
  }
}
