internal import ExposureKeys
internal import Glibc
internal import KeyNormalization
internal import KeyStorage

/// What a round of a series asks the store: what is due by the end of a window.
struct SelectionRequest: Sendable {
  let settings: SeriesSettings
  let known: SeriesState
  let window: ExportWindow
  let habit: RoundMode
  let program: String

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
      rules: rules, recalls: recalls, event: try state.lastKnown(), claimCount: try state.claimCount())
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
  /// The last event that was known, and how many claims there were.
  let event: EventID
  let claimCount: Int

  /// Answers several series, each as if it were alone; those that look at everything read the claims together.
  ///
  /// - Parameter plans: of what the state is now.
  static func answers(to plans: [Self], from state: any StoredState) throws -> [SelectionAnswer] {
    var selections = try KeySelection.together(plans.map(\.question), from: state)
    for (index, plan) in plans.enumerated() where plan.request.habit == .compared {
      var whole = plan.question
      whole.attention = .everything
      selections[index] = try selections[index].confirmed(
        by: try KeySelection.together([whole], from: state)[0], of: plan.request.settings)
    }
    return try zip(plans, selections).map { try $0.answer($1, from: state) }
  }

  /// This plan where nothing has happened since, or another one.
  func renewed(in state: any StoredState) throws -> Self {
    try state.lastKnown() == event ? self : try request.plan(from: state)
  }

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

  /// Whether it looks at everything, and there is so much that it is worth to let all processors do it part by part.
  var isDivided: Bool {
    guard question.attention.isEverything else { return false }
    return request.habit == .divided || request.habit != .compared && claimCount >= Attention.fewClaims
  }

  /// What these select of a part of all key data. What has come since the plans were made is not seen, but for
  /// uploads, which are of the first event of their day: the next round looks at them in any case.
  ///
  /// - Parameter plans: of one event.
  static func selections(
    of plans: [SelectionPlan], within part: KeyDataPart, from state: any StoredState
  ) throws -> [KeySelection] {
    guard let event = plans.first?.event else { return [] }
    let isNow = try state.lastKnown() == event
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

extension StoredState {
  fileprivate func lastKnown() throws -> EventID { try lastEvent()?.id ?? EventID(rawValue: 0) }
}
