internal import ExposureKeys
internal import Glibc
internal import KeyNormalization
internal import KeyStorage

/// What a round of a series asks the store: what is due by the end of a window.
struct SelectionRequest: Sendable {
  let settings: SeriesSettings
  let known: SeriesState
  let window: ExportWindow
  let habit: RoundHabit
  let program: String

  /// Answers several series, each as if it were alone; those that look at everything read the claims together.
  static func answers(to requests: [Self], from state: any StoredState) throws -> [SelectionAnswer] {
    let plans = try requests.map { try $0.plan(from: state) }
    var selections = try KeySelection.together(plans.map(\.question), from: state)
    for index in requests.indices where requests[index].habit == .compared {
      var whole = plans[index].question
      whole.attention = .everything
      selections[index] = try selections[index].confirmed(
        by: try KeySelection.together([whole], from: state)[0], of: requests[index].settings)
    }
    return try plans.indices.map { try plans[$0].answer(selections[$0], from: state) }
  }

  func plan(from state: any StoredState) throws -> SelectionPlan {
    let recalls = try state.recalls().count
    let pauses = PauseSet(try state.pauses(), rehearsing: settings.rehearsals)
    let rules = settings.rules(at: window.instant, pauses, program: program)
    let followsRecall = recalls > known.recalls
    let attention = try Attention(
      of: settings, known.mark, rules: rules, followsRecall: followsRecall, at: window.instant, habit: habit,
      from: state)
    return SelectionPlan(
      request: self,
      question: KeySelection.Question(
        settings: settings, instant: window.instant, followsRecall: followsRecall, attention: attention, pauses: pauses),
      rules: rules, recalls: recalls, event: try state.lastEvent()?.id ?? EventID(rawValue: 0))
  }

  /// The requests in as many parts as there are processors, of which each has neighbours: they are answered beside each other,
  /// and those of a part read claims together.
  static func dealt<Element>(_ requests: [Element], among processors: Int = processors) -> [[Element]] {
    let count = min(max(processors, 1), requests.count)
    return (0..<count).map { part in
      Array(requests[requests.count * part / count..<requests.count * (part + 1) / count])
    }
  }

  /// How many parts at most: each holds a page of claims in memory, and reads through a connection of its own.
  static let processors = min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 4)
}

/// What a series looks at, decided at one event.
struct SelectionPlan: Sendable {
  let request: SelectionRequest
  let question: KeySelection.Question
  let rules: String
  let recalls: Int
  /// The last event that was known.
  let event: EventID

  /// - Parameter selection: of what was known at ``event``.
  func answer(_ selection: KeySelection, from state: any StoredState) throws -> SelectionAnswer {
    let end = request.window.end
    return SelectionAnswer(
      selection: selection, recalls: recalls,
      rounds: try Padding.releasedRounds(of: selection.revised, by: request.settings.name, from: state),
      selected: RoundRecipe.Selection(
        known: event.rawValue, instant: end, followsRecall: question.followsRecall, releasesNew: true,
        pausedSources: question.pauses.sources.sorted(), pausedOrigins: question.pauses.origins.sorted()),
      mark: RoundMark(
        event: event.rawValue, instant: end, rules: rules, whole: question.attention.whole ?? end,
        rest: selection.firstRest.map { UInt32(truncatingIfNeeded: $0.high >> 32) }),
      looksAtChanges: request.habit != .compared && question.attention.whole != nil)
  }

  /// The plans of those that look at everything, where there is so much that it is worth to let all processors do it part by part; the
  /// others' places hold nothing.
  ///
  /// - Parameter few: stores with fewer claims are looked at in one.
  static func wholes(
    of requests: [SelectionRequest], from state: any StoredState, few: Int
  ) throws -> [SelectionPlan?] {
    let isLarge = try state.claimCount() >= few
    return try requests.map { request in
      guard request.habit == .divided || request.habit != .compared && isLarge else { return nil }
      let plan = try request.plan(from: state)
      return plan.question.attention.isEverything ? plan : nil
    }
  }

  /// What these select of a part of all key data. What has come since the plans were made is not seen, but for
  /// uploads, which are of the first event of their day: the next round looks at them in any case.
  ///
  /// - Parameter plans: of one event.
  static func selections(
    of plans: [SelectionPlan], within part: KeyDataPart, from state: any StoredState
  ) throws -> [KeySelection] {
    guard let event = plans.first?.event else { return [] }
    let isNow = try (state.lastEvent()?.id ?? EventID(rawValue: 0)) == event
    return try KeySelection.everything(plans.map(\.question), within: part, from: state, asOf: isNow ? nil : event)
  }
}

/// What is due, and what the round remembers of how that was found.
struct SelectionAnswer: Sendable {
  let selection: KeySelection
  let recalls: Int
  let rounds: [KeySubject: UInt32]
  let selected: RoundRecipe.Selection
  let mark: RoundMark
  let looksAtChanges: Bool
}
