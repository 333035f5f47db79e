internal import PolicyFiles

/// A setting is declared where it is read: one call states its name, what it may be, its default and its sentence. The document
/// records these facts while it is read, and the page *Configuration* and `gateway.schema.json` are made of the record.
///
/// The default of a setting with a target is the value that the target has before.
extension Section {
  typealias Form = SettingDescription.Form

  /// The setting of this name, if the file states it.
  ///
  /// - Parameter read: makes the value of the setting; `nil` adds a fault.
  func optional<Value>(
    _ name: String, _ allowed: String, default normally: String = "none", as form: Form = .text, _ meaning: String,
    _ read: (Setting) -> Value? = unread
  ) -> Value? {
    take(SettingDescription(name, form, normally: normally, allowed: allowed, meaning)).flatMap(read)
  }

  /// The setting of this name; `nil` adds a fault.
  ///
  /// - Parameters:
  ///   - missing: what the fault names as allowed, if it is not the same as on the page.
  ///   - normally: for a setting that must be stated under a condition.
  ///   - isNeeded: that condition.
  func needed<Value>(
    _ name: String, _ allowed: String, missing: String? = nil, default normally: String? = nil, as form: Form = .text,
    when isNeeded: Bool = true, _ meaning: String, _ read: (Setting) -> Value? = unread
  ) -> Value? {
    let description = SettingDescription(name, form, normally: normally, allowed: allowed, meaning)
    let setting = isNeeded ? need(description, missing ?? allowed.filter { $0 != "`" }) : take(description)
    return setting.flatMap(read)
  }

  func section(
    _ name: String, default normally: String = "the defaults", _ meaning: String, _ body: (Section) -> Void
  ) {
    guard let section = optional(name, "a section", default: normally, as: .section, meaning)?.section() else { return }
    body(section)
    section.finish()
  }

  /// The entries of a list that can be read; empty if the file states none.
  func list<Entry>(
    _ name: String, of allowed: String, as form: Form = .text, _ meaning: String, _ read: (Setting) -> Entry?
  ) -> [Entry] {
    optional(name, "a list of \(allowed)", as: .list(form), meaning)?.list()?.compactMap(read) ?? []
  }

  func sections<Entry>(_ name: String, _ meaning: String, _ read: (Setting) -> Entry?) -> [Entry] {
    list(name, of: "sections", as: .section, meaning, read)
  }

  /// All settings that are left: a name of the operator, and its value.
  func any(
    _ allowed: String, as form: Form = .text, _ meaning: String, _ body: (_ name: String, Setting) -> Void
  ) {
    readAll(SettingDescription("*", form, normally: "none", allowed: allowed, meaning), body)
  }

  // MARK: Values

  /// A value that its own function reads. The target keeps what it has if the file states none, or adds a fault.
  func value<Value>(
    _ name: String, _ target: inout Value, _ allowed: String, default normally: String? = nil, as form: Form = .text,
    _ meaning: String, _ read: (Setting) -> Value?
  ) {
    set(&target, optional(name, allowed, default: normally ?? "`\(target)`", as: form, meaning, read))
  }

  func duration(_ name: String, default normally: String, in range: ClosedRange<Int64>, _ meaning: String) -> Int64? {
    optional(name, range.durations, default: normally, as: .duration, meaning)?.duration(range)
  }

  func duration<Number: FixedWidthInteger>(
    _ name: String, _ target: inout Number, in range: ClosedRange<Int64>, _ meaning: String
  ) {
    let seconds = duration(name, default: TimeSpan.text(Int64(target)), in: range, meaning)
    set(&target, seconds.map { Number($0) })
  }

  func days(_ name: String, default normally: String, in range: ClosedRange<Int64>, _ meaning: String) -> Int64? {
    optional(name, range.days, default: normally, as: .duration, meaning)?.days(range)
  }

  func days<Number: FixedWidthInteger>(
    _ name: String, _ target: inout Number, in range: ClosedRange<Int64>, _ meaning: String
  ) {
    let days = days(name, default: TimeSpan.text(Int64(target) * 86_400), in: range, meaning)
    set(&target, days.map { Number($0) })
  }

  func bytes(_ name: String, _ target: inout Int, in range: ClosedRange<Int>, _ meaning: String) {
    let normally = ByteCount.text(target)
    set(&target, optional(name, range.byteCounts, default: normally, as: .bytes, meaning)?.byteCount(range))
  }

  func number(_ name: String, default normally: String, in range: ClosedRange<Int>, _ meaning: String) -> Int? {
    let allowed = "\(range.lowerBound)...\(range.upperBound)"
    return optional(name, allowed, default: normally, as: .number(range), meaning)?.number(range)
  }

  func number(_ name: String, _ target: inout Int, in range: ClosedRange<Int>, _ meaning: String) {
    set(&target, number(name, default: "\(target)", in: range, meaning))
  }

  func flag(_ name: String, _ target: inout Bool, _ meaning: String) { choice(name, &target, "true", "false", meaning) }

  /// `word` is `true`, `other` is `false`.
  func choice(_ name: String, _ target: inout Bool, _ word: String, _ other: String, _ meaning: String) {
    let normally = "`\(target ? word : other)`"
    let setting = optional(
      name, "`\(word)`, `\(other)`", default: normally, as: .words([word, other]), meaning)
    set(&target, setting?.choice(word, other))
  }

  func option<Option: RawRepresentable & CaseIterable>(
    _ name: String, default normally: String, _ meaning: String
  ) -> Option? where Option.RawValue == String {
    let words = Option.allCases.map(\.rawValue)
    return optional(name, words.ticked, default: normally, as: .words(words), meaning)?.option()
  }

  func option<Option: RawRepresentable & CaseIterable>(
    _ name: String, _ target: inout Option, _ meaning: String
  ) where Option.RawValue == String {
    set(&target, option(name, default: "`\(target.rawValue)`", meaning))
  }

  // MARK: Values that several settings have

  static let path = "a path, relative to the file's folder"
  static let secretForm = "`{file: PATH}` or `{env: NAME}`"
  static let codesForm = "a list of codes: `[DE, US-VA]`"

  func secret<Value>(
    _ name: String, default normally: String = "none", _ meaning: String, _ read: (Setting) -> Value? = unread
  ) -> Value? {
    declareSecret(name)
    return optional(name, Self.secretForm, default: normally, as: .section, meaning, read)
  }

  func neededSecret<Value>(
    _ name: String, missing: String? = nil, default normally: String? = nil, when isNeeded: Bool = true,
    _ meaning: String, _ read: (Setting) -> Value? = unread
  ) -> Value? {
    declareSecret(name)
    return needed(
      name, Self.secretForm, missing: missing, default: normally, as: .section, when: isNeeded, meaning, read)
  }

  /// The section of a secret, which `GatewayReader.secret` reads.
  func declareSecret(_ name: String, isPrefixed: Bool = false) {
    func declare(_ part: String, _ allowed: String, _ meaning: String) {
      self.declare(SettingDescription("\(name).\(part)", .text, normally: "none", allowed: allowed, meaning))
    }
    declare("file", Self.path, "The file that holds the secret. Keyferry drops white space around it.")
    declare("env", "a name", "The environment variable that holds the secret.")
    if isPrefixed { declare("prefix", "a text", "The text before the secret.") }
  }

  func codes<Value>(
    _ name: String, default normally: String = "none", _ meaning: String, _ read: (Setting) -> Value?
  ) -> Value? {
    optional(name, Self.codesForm, default: normally, as: .list(.text), meaning, read)
  }

  func policy<Value>(
    _ name: String, default normally: String = "`default`", _ meaning: String, _ read: (Setting) -> Value? = unread
  ) -> Value? {
    optional(name, "a policy's name or path", default: normally, meaning, read)
  }

  /// Certificates in place of the system's.
  func roots<Value>(
    _ meaning: String = "The certificates to trust instead of the system's.", _ read: (Setting) -> Value? = unread
  ) -> Value? {
    optional("roots", "a PEM file", default: "the system's", meaning, read)
  }
}

/// The setting itself, whose value is read later.
func unread(_ setting: Setting) -> Setting? { setting }

extension SettingDescription.Form {
  static let duration = pattern("^[0-9]+ *(days?|d|hours?|h|min|minutes?|s|seconds?)$")
  static let rate = pattern("^[0-9]+ */min$")
  static let bytes = pattern("^[0-9]+ *(GiB|GB|MiB|MB|KiB|KB|kB|bytes|B)$")
}

extension [String] {
  /// As words on the page.
  var ticked: String { map { "`\($0)`" }.joined(separator: ", ") }
}
