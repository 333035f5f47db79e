internal import ExposureKeys

/// Outcomes that were worked out before. No rule looks at key data, so keys share an outcome about which the same
/// voices say the same; most are named by one or two.
///
/// A table of fixed size in which a newer entry replaces an older one. Whoever aims at one place of it makes keys cost
/// what they would cost without it.
struct OutcomeMemory {
  /// What is said about a key, by at most two.
  struct Question: Equatable, BitwiseCopyable {
    /// The rolling start, and beside it the rolling period that is stated by claims which count for nothing else.
    let times: UInt64
    let statements: (UInt32, UInt32)
    let voices: (UInt32, UInt32)

    /// `nil` where more than two claims are about the key.
    @inline(__always)
    init?(_ rows: ArraySlice<PackedClaim>, statedPeriod: Int32) {
      guard rows.count <= 2, let first = rows.first else { return nil }
      times = UInt64(UInt32(bitPattern: first.rollingStart)) | UInt64(UInt32(bitPattern: statedPeriod)) << 32
      // No statement is 0: the rolling period is 1...144.
      let second = rows.count == 2 ? rows[rows.startIndex + 1] : nil
      statements = (first.statement.bits, second?.statement.bits ?? 0)
      voices = (first.voice, second?.voice ?? 0)
    }

    @inline(__always)
    static func == (left: Self, right: Self) -> Bool {
      left.times == right.times && left.statements == right.statements && left.voices == right.voices
    }
  }

  private struct Entry {
    var question: Question
    var outcome: BeliefOutcome
  }

  private var entries: [Entry?]
  private let seed = HashSeed()

  /// - Parameter count: how many claims there are.
  init(forClaims count: Int) {
    var size = 16
    while size < min(count / 8, 4096) { size *= 2 }
    entries = Array(repeating: nil, count: size)
  }

  /// The outcome of `subject`, where it is remembered.
  @inline(__always)
  func outcome(of question: Question, at place: Int, about subject: KeySubject) -> BeliefOutcome? {
    guard let entry = entries[place], entry.question == question else { return nil }
    guard case .publish(var key) = entry.outcome else { return entry.outcome }
    key.forFederation.key = subject.key
    return .publish(key)
  }

  mutating func remember(_ outcome: BeliefOutcome, of question: Question, at place: Int) {
    entries[place] = Entry(question: question, outcome: outcome)
  }

  @inline(__always)
  func place(of question: Question) -> Int {
    let said = UInt64(question.statements.0) << 32 | UInt64(question.statements.1)
    let voices = UInt64(question.voices.0) << 32 | UInt64(question.voices.1)
    let start = question.times &* 0x9e37_79b9_7f4a_7c15
    let hash = seed.mix(said ^ start, voices)
    return Int(truncatingIfNeeded: hash ^ hash >> 32) & (entries.count - 1)
  }
}
