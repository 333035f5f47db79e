public import KeyNormalization
import Yams

/// Reads policy files: YAML, as `schemas/policy.schema.json` describes it. What a file does not state is as in the
/// default policy.
public enum PolicyFile {
  /// A policy file holds settings, not data.
  public static let byteLimit = 65_536
  static let nestingLimit = 32

  /// Reads a policy.
  ///
  /// - Throws: ``PolicyFileError`` with all faults of the file at once.
  public static func parse(_ text: String, named file: String) throws(PolicyFileError) -> Policy {
    let settings = Settings()
    guard let root = settings.compose(text) else { throw PolicyFileError(file: file, faults: settings.faults) }
    let section = Section(root, place: "", settings)
    var policy = Policy(name: "")
    section.read("name") { policy.name = $0.text() ?? policy.name }
    section.read("summary") { policy.summary = $0.text() ?? policy.summary }
    section.section("reading") { policy.reading.read($0) }
    section.section("publishing") { policy.publishing.read($0) }
    section.finish()
    for fault in policy.faults { settings.add(fault) }
    guard settings.faults.isEmpty else { throw PolicyFileError(file: file, faults: settings.faults) }
    return policy
  }
}

/// Everything that is wrong with a policy file.
public struct PolicyFileError: Error, Hashable, Sendable, CustomStringConvertible {
  public let file: String
  /// In the order of their places in the file.
  public let faults: [PolicyFault]

  init(file: String, faults: [PolicyFault]) {
    self.file = file
    self.faults = faults.sorted { ($0.line, $0.column, $0.place) < ($1.line, $1.column, $1.place) }
  }

  /// One line a fault: `efgs.yaml:12:5: publishing.risk.cap: 9, allowed 0...8`.
  public var description: String { faults.map { "\(file):\($0)" }.joined(separator: "\n") }
}

/// The faults of one file, and where its settings stand.
final class Settings {
  private(set) var faults: [PolicyFault] = []
  private var marks: [String: Mark] = [:]

  func compose(_ text: String) -> Node? {
    guard text.utf8.count <= PolicyFile.byteLimit else {
      add("", "\(text.utf8.count) bytes, allowed 0...\(PolicyFile.byteLimit)")
      return nil
    }
    guard deepestNesting(of: text) <= PolicyFile.nestingLimit else {
      add("", "nested more than \(PolicyFile.nestingLimit) levels deep")
      return nil
    }
    do {
      guard let node = try Yams.compose(yaml: text) else {
        add("", "empty, a policy is expected")
        return nil
      }
      guard node.mapping != nil else {
        add("", "allowed a mapping of settings")
        return nil
      }
      return node
    } catch let error as YamlError {
      let (reason, mark) = error.cause
      faults.append(PolicyFault(place: "YAML", line: mark?.line ?? 0, column: mark?.column ?? 0, reason: reason))
    } catch {
      add("YAML", "\(error)")
    }
    return nil
  }

  func note(_ place: String, at node: Node) {
    if marks[place] == nil, let mark = node.mark { marks[place] = mark }
  }

  func add(_ place: String, _ reason: String) { add(PolicyFault(place: place, reason: reason)) }

  /// Adds a fault at the place of its setting, or of the nearest section around it that the file states.
  func add(_ fault: PolicyFault) {
    var fault = fault
    var place = fault.place[...]
    while !place.isEmpty {
      if let mark = marks[String(place)] {
        (fault.line, fault.column) = (mark.line, mark.column)
        break
      }
      place = place.lastIndex(of: ".").map { place[..<$0] } ?? ""
    }
    if fault.place.isEmpty { fault.place = "policy" }
    faults.append(fault)
  }

  /// An upper bound, so that the reader's recursion stays small: brackets, dashes of nested lists, indentation.
  private func deepestNesting(of text: String) -> Int {
    var deepest = 0
    var brackets = 0
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      let lead = line.prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "?") }
      var depth = lead.count / 2
      for byte in line {
        if byte == UInt8(ascii: "[") || byte == UInt8(ascii: "{") { brackets += 1 }
        if byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") { brackets = max(0, brackets - 1) }
        depth = max(depth, lead.count / 2 + brackets)
      }
      deepest = max(deepest, depth)
    }
    return deepest
  }
}

extension YamlError {
  fileprivate var cause: (String, Mark?) {
    switch self {
    case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
      .composer(_, let problem, let mark, _):
      (problem, mark)
    case .duplicatedKeysInMapping(let duplicates, let context):
      ("stated twice: " + duplicates.map { "\($0)" }.sorted().joined(separator: ", "), context.mark)
    default: ("\(self)", nil)
    }
  }
}

/// A mapping of the file, whose settings are taken one by one; what is left over is a fault.
final class Section {
  let place: String
  private let settings: Settings
  private var nodes: [(key: String, node: Node)] = []

  init(_ node: Node, place: String, _ settings: Settings) {
    self.place = place
    self.settings = settings
    settings.note(place, at: node)
    guard let mapping = node.mapping else {
      settings.add(place, "allowed a mapping of settings")
      return
    }
    for (key, value) in mapping {
      guard let name = key.scalar?.string else {
        settings.add(place, "a setting's name is a word")
        continue
      }
      settings.note(path(name), at: key)
      nodes.append((name, value))
    }
  }

  /// Hands over the setting of this name, if the file states it.
  func read(_ name: String, _ body: (Setting) -> Void) {
    guard let index = nodes.firstIndex(where: { $0.key == name }) else { return }
    body(Setting(node: nodes.remove(at: index).node, place: path(name), settings: settings))
  }

  func section(_ name: String, _ body: (Section) -> Void) {
    read(name) { setting in
      let section = Section(setting.node, place: setting.place, settings)
      body(section)
      section.finish()
    }
  }

  /// Hands over all settings that are left.
  func readAll(_ body: (_ name: String, Setting) -> Void) {
    for (key, node) in nodes { body(key, Setting(node: node, place: path(key), settings: settings)) }
    nodes = []
  }

  func finish() {
    for (key, _) in nodes { settings.add(path(key), "no such setting") }
  }

  private func path(_ name: String) -> String { place.isEmpty ? name : "\(place).\(name)" }
}

/// One value of the file.
struct Setting {
  let node: Node
  let place: String
  let settings: Settings

  /// `nil` adds a fault; so do all readings below.
  func text() -> String? {
    guard let scalar = node.scalar else { return fault("allowed a text") }
    return scalar.string
  }

  func number<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) -> Number? {
    guard let scalar = node.scalar, let number = Number(scalar.string) else {
      return fault("\(shown), allowed a whole number")
    }
    return number
  }

  func option<Option: RawRepresentable & CaseIterable>(_ type: Option.Type = Option.self) -> Option?
  where Option.RawValue == String {
    if let option = node.scalar.flatMap({ Option(rawValue: $0.string) }) { return option }
    return fault("\(shown), allowed \(Option.allCases.map(\.rawValue).joined(separator: ", "))")
  }

  /// `word` is `true`, `other` is `false`.
  func choice(_ word: String, _ other: String) -> Bool? {
    switch node.scalar?.string {
    case word: true
    case other: false
    default: fault("\(shown), allowed \(word), \(other)")
    }
  }

  func list() -> [Setting]? {
    guard let sequence = node.sequence else { return fault("\(shown), allowed a list") }
    return sequence.enumerated().map { index, node in
      let place = "\(place).\(index)"
      settings.note(place, at: node)
      return Setting(node: node, place: place, settings: settings)
    }
  }

  /// Whether the value is this word.
  func isWord(_ word: String) -> Bool { node.scalar?.string == word }

  func fault<Value>(_ reason: String) -> Value? {
    settings.add(place, reason)
    return nil
  }

  private var shown: String {
    switch node {
    case .scalar(let scalar): "\"\(scalar.string.prefix(60))\""
    case .mapping: "a mapping"
    case .sequence: "a list"
    case .alias: "an alias"
    }
  }
}
