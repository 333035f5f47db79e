package import ExposureKeys

/// One setting of the section `reading` in a policy file.
///
/// The rule that obeys a setting declares it, with its place, its values and its sentence. The reader of policy files, the
/// check of a policy and `schemas/policy.schema.json` derive from these declarations, so a new setting is one declaration
/// and one member of ``ReadingPolicy``.
package struct ReadingSetting: Sendable {
  /// With the section around it, where there is one: `flood.factor`.
  package let path: String
  /// For people.
  package let meaning: String
  package let form: Form
  /// What a policy has it at; `nil` where the policy leaves it open.
  package let value: @Sendable (ReadingPolicy) -> Value?
  /// Takes a value that ``form`` allows.
  package let put: @Sendable (Value, inout ReadingPolicy) -> Void

  /// What may be written in the file.
  package enum Form: Hashable, Sendable {
    case words([String])
    /// A whole number of the range, or the word that stands for none.
    case number(ClosedRange<Int64>, or: String?)
    /// A date: `2020-01-01`.
    case day
    /// A list of regions or origins, or the word that stands for all of them.
    case codes(or: String?)
    /// A list of report types.
    case reportTypes
    /// The members of ``ReadingPolicy/RiskByAge``, or the word that stands for none.
    case riskByAge(or: String)
  }

  package enum Value: Hashable, Sendable {
    case word(String)
    case number(Int64)
    case day(Day)
    case codes(Set<String>)
    case reportTypes(Set<ReportType>)
    case riskByAge(ReadingPolicy.RiskByAge)
  }

  /// Those of all rules, in the order of the rules.
  package static let all = AdmissionRules.standard.all.flatMap(\.settings)

  static func words<Word: RawRepresentable<String> & CaseIterable & SendableMetatype>(
    _ path: String, _ member: any WritableKeyPath<ReadingPolicy, Word> & Sendable, _ meaning: String
  ) -> Self {
    Self(path: path, meaning: meaning, form: .words(Word.allCases.map { $0.rawValue })) {
      .word($0[keyPath: member].rawValue)
    } put: { value, policy in
      if case .word(let text) = value, let word = Word(rawValue: text) { policy[keyPath: member] = word }
    }
  }

  static func number(
    _ path: String, _ member: any WritableKeyPath<ReadingPolicy, Int32> & Sendable, in allowed: ClosedRange<Int64>,
    _ meaning: String
  ) -> Self {
    Self(path: path, meaning: meaning, form: .number(allowed, or: nil)) {
      .number(Int64($0[keyPath: member]))
    } put: { value, policy in
      if case .number(let number) = value { policy[keyPath: member] = Int32(clamping: number) }
    }
  }

  /// - Parameter word: stands for `nil`.
  static func number<Number: FixedWidthInteger & SendableMetatype>(
    _ path: String, _ member: any WritableKeyPath<ReadingPolicy, Number?> & Sendable, in allowed: ClosedRange<Int64>,
    or word: String, _ meaning: String
  ) -> Self {
    Self(path: path, meaning: meaning, form: .number(allowed, or: word)) {
      $0[keyPath: member].map { .number(Int64($0)) } ?? .word(word)
    } put: { value, policy in
      if case .number(let number) = value {
        policy[keyPath: member] = Number(clamping: number)
      } else {
        policy[keyPath: member] = nil
      }
    }
  }

  static func codes(
    _ path: String, _ member: any WritableKeyPath<ReadingPolicy, Set<String>> & Sendable, _ meaning: String
  ) -> Self {
    Self(path: path, meaning: meaning, form: .codes(or: nil)) {
      .codes($0[keyPath: member])
    } put: { value, policy in
      if case .codes(let codes) = value { policy[keyPath: member] = codes }
    }
  }

  /// - Parameter word: stands for `nil`.
  static func codes(
    _ path: String, _ member: any WritableKeyPath<ReadingPolicy, Set<String>?> & Sendable, or word: String,
    _ meaning: String
  ) -> Self {
    Self(path: path, meaning: meaning, form: .codes(or: word)) {
      $0[keyPath: member].map(Value.codes) ?? .word(word)
    } put: { value, policy in
      if case .codes(let codes) = value { policy[keyPath: member] = codes } else { policy[keyPath: member] = nil }
    }
  }
}
