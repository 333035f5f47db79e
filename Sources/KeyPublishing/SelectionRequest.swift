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
    let recalls = try state.recalls().count
    let event = try state.lastEvent()?.id.rawValue ?? 0
    let questions = try requests.map { try $0.question(recalls: recalls, of: state) }
    var selections = try KeySelection.together(questions.map(\.question), from: state)
    for index in requests.indices where requests[index].habit == .compared {
      var whole = questions[index].question
      whole.attention = .everything
      selections[index] = try selections[index].confirmed(
        by: try KeySelection.together([whole], from: state)[0], of: requests[index].settings)
    }
    return try requests.indices.map { index in
      let (request, question, selection) = (requests[index], questions[index].question, selections[index])
      let pauses = questions[index].pauses
      let end = request.window.end
      return SelectionAnswer(
        selection: selection, recalls: recalls,
        rounds: try Padding.releasedRounds(of: selection.revised, by: request.settings.name, from: state),
        selected: RoundRecipe.Selection(
          known: event, instant: end, followsRecall: question.followsRecall, releasesNew: true,
          pausedSources: pauses.sources.sorted(), pausedOrigins: pauses.origins.sorted()),
        mark: RoundMark(
          event: event, instant: end, rules: questions[index].rules, whole: question.attention.whole ?? end,
          rest: selection.firstRest.map { UInt32(truncatingIfNeeded: $0.high >> 32) }),
        looksAtChanges: request.habit != .compared && question.attention.whole != nil)
    }
  }

  private func question(
    recalls: Int, of state: any StoredState
  ) throws -> (question: KeySelection.Question, pauses: PauseSet, rules: String) {
    let pauses = PauseSet(try state.pauses(), rehearsing: settings.rehearsals)
    let rules = settings.rules(at: window.instant, pauses, program: program)
    let followsRecall = recalls > known.recalls
    let attention = try Attention(
      of: settings, known.mark, rules: rules, followsRecall: followsRecall, at: window.instant, habit: habit,
      from: state)
    let question = KeySelection.Question(
      settings: settings, instant: window.instant, followsRecall: followsRecall, attention: attention)
    return (question, pauses, rules)
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

/// What is due, and what the round remembers of how that was found.
struct SelectionAnswer: Sendable {
  let selection: KeySelection
  let recalls: Int
  let rounds: [KeySubject: UInt32]
  let selected: RoundRecipe.Selection
  let mark: RoundMark
  let looksAtChanges: Bool
}
