/// A YAML file of settings while it is read: what is wrong with it, and where its settings stand.
///
/// Settings are taken one by one by their names; whatever nobody took is a fault. Anchors and aliases are refused, so a
/// document is never larger than its text.
package final class SettingsDocument {
  package private(set) var faults: [SettingFault] = []
  /// Every setting that was asked for, whether the file states it or not: `sources[].name`.
  package private(set) var names: Set<String> = []
  /// What those of them are that were declared, in the order of their declarations.
  package private(set) var descriptions: [SettingDescription] = []
  private var described: Set<SettingDescription> = []
  /// The same as the faults, to be asked.
  private var known: Set<SettingFault> = []
  private let noun: String
  private let byteLimit: Int
  private var marks: [String: SettingPlace] = [:]

  package static let nestingLimit = 32

  /// - Parameter noun: what the file holds: `policy`.
  package init(holding noun: String, byteLimit: Int) {
    self.noun = noun
    self.byteLimit = byteLimit
  }

  /// The outermost mapping; `nil` adds a fault.
  package func root(of text: String) -> Section? {
    let whole = SettingPlace(path: noun)
    guard text.utf8.count <= byteLimit else {
      return fault(whole, "\(text.utf8.count) bytes, allowed 0...\(byteLimit)")
    }
    if let mark = firstUnreadable(in: text) {
      let isWide = text.unicodeScalars.starts(with: ["\u{FFFD}", "\u{FFFD}"])
      return fault(
        SettingPlace(path: "YAML", mark),
        isWide ? "UTF-16, allowed UTF-8" : "no character of UTF-8, which is what a file of settings is written in")
    }
    do {
      guard let node = try YAMLReader.root(of: text, nestingLimit: Self.nestingLimit) else {
        return fault(whole, "empty, a \(noun) is expected")
      }
      guard node.mapping != nil else { return fault(whole, "allowed a mapping of settings") }
      if let anchored = firstAnchored(in: node) {
        return fault(SettingPlace(path: noun, anchored.mark), Self.noAnchors)
      }
      return Section(node, place: SettingPlace(path: ""), name: "", in: self)
    } catch {
      let names = error.repeated.map { printable($0) }.joined(separator: ", ")
      return fault(SettingPlace(path: "YAML", error.mark), error.reason + (names.isEmpty ? "" : ": \(names)"))
    }
  }

  /// Adds a fault, once.
  package func add(_ place: SettingPlace, _ reason: String, isWarning: Bool = false) {
    var place = place
    if place.path.isEmpty { place.path = noun }
    let fault = SettingFault(place: place, reason: reason, isWarning: isWarning)
    if known.insert(fault).inserted { faults.append(fault) }
  }

  /// Where a setting stands, or the nearest section around it that the file states.
  package func place(of path: String) -> SettingPlace {
    var outer = path[...]
    while !outer.isEmpty {
      if let mark = marks[String(outer)] { return SettingPlace(path: path, line: mark.line, column: mark.column) }
      outer = outer.lastIndex(of: ".").map { outer[..<$0] } ?? ""
    }
    return SettingPlace(path: path)
  }

  fileprivate func note(_ place: SettingPlace) {
    if place.line > 0, marks[place.path] == nil { marks[place.path] = place }
  }

  fileprivate func note(asked name: String) { names.insert(name) }

  fileprivate func note(_ description: SettingDescription) {
    if described.insert(description).inserted { descriptions.append(description) }
  }

  private func fault<Value>(_ place: SettingPlace, _ reason: String) -> Value? {
    add(place, reason)
    return nil
  }

  // MARK: Bounds

  private static let noAnchors = "anchors and aliases (&, *) are not read; state each setting where it belongs"

  /// Where bytes stood that were no UTF-8: whoever read them has put U+FFFD there, which nobody writes.
  private func firstUnreadable(in text: String) -> YAMLMark? {
    guard let index = text.unicodeScalars.firstIndex(of: "\u{FFFD}") else { return nil }
    let before = text.unicodeScalars[..<index]
    let line = before.lastIndex(of: "\n").map(before.index(after:)) ?? before.startIndex
    return YAMLMark(line: before.count { $0 == "\n" } + 1, column: before[line...].count + 1)
  }

  private func firstAnchored(in node: YAMLNode) -> YAMLNode? {
    if node.isAnchored { return node }
    switch node.content {
    case .scalar: return nil
    case .alias: return node
    case .sequence(let nodes): return nodes.firstResult { firstAnchored(in: $0) }
    case .mapping(let pairs):
      return pairs.firstResult { firstAnchored(in: $0.key) ?? firstAnchored(in: $0.value) }
    }
  }
}

extension Sequence {
  fileprivate func firstResult<Result>(_ body: (Element) -> Result?) -> Result? {
    for element in self {
      if let result = body(element) { return result }
    }
    return nil
  }
}

/// Where a setting stands.
package struct SettingPlace: Hashable, Sendable {
  /// With the names of the sections around it: `publishing.risk.cap`.
  package var path: String
  /// In the file, counted from 1; 0 where that is not known.
  package var line: Int
  package var column: Int

  package init(path: String, line: Int = 0, column: Int = 0) {
    self.path = path
    self.line = line
    self.column = column
  }

  fileprivate init(path: String, _ mark: YAMLMark?) {
    self.init(path: path, line: mark?.line ?? 0, column: mark?.column ?? 0)
  }
}

/// What the declaration of a setting states: reference page and JSON Schema derive from it.
package struct SettingDescription: Hashable, Sendable {
  /// How the value is written.
  package indirect enum Form: Hashable, Sendable {
    case text
    /// A text that may look like a number or a flag: YAML needs no quotes.
    case word
    /// A text of this regular expression.
    case pattern(String)
    case words([String])
    case number(ClosedRange<Int>)
    case section
    case list(Form)
    case either(Form, Form)
  }

  /// With the sections around it; `[]` is each entry of a list, `*` any name: `sources[].http.headers.*`.
  package var name: String
  package var meaning: String
  /// `nil` if the setting must be stated.
  package var normally: String?
  package var allowed: String
  package var form: Form

  package init(_ name: String, _ form: Form, normally: String?, allowed: String, _ meaning: String) {
    (self.name, self.form, self.normally, self.allowed, self.meaning) = (name, form, normally, allowed, meaning)
  }
}

/// One thing that is wrong with a file of settings, or likely wrong.
package struct SettingFault: Hashable, Comparable, Sendable {
  package var place: SettingPlace
  /// What was found and what is allowed.
  package var reason: String
  package var isWarning: Bool

  /// The order of the file.
  package static func < (left: Self, right: Self) -> Bool {
    (left.place.line, left.place.column, left.place.path) < (right.place.line, right.place.column, right.place.path)
  }
}

/// A mapping of the file, whose settings are taken one by one; what is left over is a fault.
package final class Section {
  package let place: SettingPlace
  /// The place without the names of list entries: `sources[].http`.
  private let name: String
  private let document: SettingsDocument
  /// Names may be secrets that were put in the wrong place.
  private let hidesNames: Bool
  private var nodes: [(key: String, node: YAMLNode)] = []
  private var places: [String: SettingPlace] = [:]
  private var asked: [String] = []

  fileprivate init(
    _ node: YAMLNode, place: SettingPlace, name: String, in document: SettingsDocument, hidesNames: Bool = false
  ) {
    self.place = place
    self.name = name
    self.document = document
    self.hidesNames = hidesNames
    guard let mapping = node.mapping else {
      document.add(place, "allowed a mapping of settings")
      return
    }
    for (key, value) in mapping {
      guard let name = key.scalar else {
        document.add(place, "a setting's name is a word")
        continue
      }
      let place = SettingPlace(path: path(name), key.mark)
      places[name] = place
      document.note(place)
      nodes.append((name, value))
    }
  }

  /// The setting of this name, if the file states it.
  package func take(_ name: String) -> Setting? {
    document.note(asked: pattern(name))
    asked.append(name)
    guard let index = nodes.firstIndex(where: { $0.key == name }) else { return nil }
    return Setting(node: nodes.remove(at: index).node, place: place(of: name), name: pattern(name), document: document)
  }

  /// The declared setting, if the file states it.
  package func take(_ description: SettingDescription) -> Setting? {
    declare(description)
    return take(description.name)
  }

  /// Records a declaration, without reading.
  package func declare(_ description: SettingDescription) {
    var description = description
    description.name = pattern(description.name)
    document.note(description)
  }

  /// The setting of this name; `nil` adds a fault.
  package func need(_ name: String, _ allowed: String) -> Setting? {
    if let setting = take(name) { return setting }
    document.add(place(of: name), "missing, allowed \(allowed)")
    return nil
  }

  /// The declared setting; `nil` adds a fault.
  package func need(_ description: SettingDescription, _ allowed: String) -> Setting? {
    declare(description)
    return need(description.name, allowed)
  }

  /// Hands over the setting of this name, if the file states it.
  package func read(_ name: String, _ body: (Setting) -> Void) {
    if let setting = take(name) { body(setting) }
  }

  package func section(_ name: String, _ body: (Section) -> Void) {
    guard let section = take(name)?.section() else { return }
    body(section)
    section.finish()
  }

  /// Hands over all settings that are left, each of which is as declared; the declaration's name is `*`.
  package func readAll(_ description: SettingDescription, _ body: (_ name: String, Setting) -> Void) {
    declare(description)
    readAll(body)
  }

  /// Hands over all settings that are left.
  package func readAll(_ body: (_ name: String, Setting) -> Void) {
    document.note(asked: pattern("*"))
    for (key, node) in nodes {
      body(key, Setting(node: node, place: place(of: key), name: pattern("*"), document: document))
    }
    nodes = []
  }

  /// Makes what is left a fault.
  package func finish() {
    for (key, _) in nodes {
      let nearest = hidesNames ? nil : asked.nearest(to: key)
      let hint =
        hidesNames ? ", allowed \(asked.joined(separator: ", "))" : nearest.map { ", did you mean \($0)" } ?? ""
      document.add(place(of: key), "no such setting\(hint)")
    }
    nodes = []
  }

  /// Where a setting of this section stands: its name, or the section where the file does not state it.
  package func place(of name: String) -> SettingPlace {
    places[name] ?? SettingPlace(path: path(name), line: place.line, column: place.column)
  }

  package func states(_ name: String) -> Bool { places[name] != nil }

  /// Whether a setting that is left is a section of its own.
  var holdsMappings: Bool { nodes.contains { $0.node.mapping != nil } }

  private func path(_ name: String) -> String {
    if hidesNames { return place.path }
    return place.path.isEmpty ? printable(name) : "\(place.path).\(printable(name))"
  }

  private func pattern(_ name: String) -> String { self.name.isEmpty ? name : "\(self.name).\(name)" }
}

/// One value of the file. What cannot be read adds a fault and is `nil`.
package struct Setting {
  fileprivate let node: YAMLNode
  package let place: SettingPlace
  fileprivate let name: String
  fileprivate let document: SettingsDocument

  package func text() -> String? {
    guard let scalar = node.scalar else { return fault("allowed a text") }
    return scalar
  }

  package func number<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) -> Number? {
    guard let scalar = node.scalar, let number = Number(scalar) else {
      return fault("\(shown), allowed a whole number")
    }
    return number
  }

  package func option<Option: RawRepresentable & CaseIterable>(_ type: Option.Type = Option.self) -> Option?
  where Option.RawValue == String {
    if let option = node.scalar.flatMap({ Option(rawValue: $0) }) { return option }
    return fault("\(shown), allowed \(Option.allCases.map(\.rawValue).joined(separator: ", "))")
  }

  /// `word` is `true`, `other` is `false`.
  package func choice(_ word: String, _ other: String) -> Bool? {
    switch node.scalar {
    case word: true
    case other: false
    default: fault("\(shown), allowed \(word), \(other)")
    }
  }

  package func list() -> [Setting]? {
    guard let sequence = node.sequence else { return fault("\(shown), allowed a list") }
    return sequence.enumerated().map { index, node in
      let place = SettingPlace(path: "\(place.path).\(index)", node.mark)
      document.note(place)
      return Setting(node: node, place: place, name: "\(name)[]", document: document)
    }
  }

  /// The value, or each of a list of such; they have the same names, so that documentation tells of them once.
  package func oneOrMore() -> [Setting]? {
    guard isList else { return [self] }
    return list()?.map { Setting(node: $0.node, place: $0.place, name: name, document: document) }
  }

  /// - Parameters:
  ///   - label: the setting by whose value people know this entry of a list: its place is `sources.germany` then.
  ///   - hidesNames: whether unknown names may be secrets in the wrong place.
  package func section(labelledBy label: String? = nil, hidesNames: Bool = false) -> Section? {
    var place = place
    if let label, let text = node.mapping?.first(where: { $0.key.scalar == label })?.value.scalar,
      (1...64).contains(text.utf8.count), text.utf8.allSatisfy(\.isPlain), let dot = place.path.lastIndex(of: ".")
    {
      place.path = place.path[...dot] + text
    }
    let section = Section(node, place: place, name: name, in: document, hidesNames: hidesNames)
    return node.mapping == nil ? nil : section
  }

  /// Whether the value is this word.
  package func isWord(_ word: String) -> Bool { node.scalar == word }

  /// The value, where it is one word or text; for whoever says by itself what is allowed.
  var word: String? { node.scalar }

  package var isText: Bool { node.scalar != nil }
  package var isList: Bool { node.sequence != nil }

  package func fault<Value>(_ reason: String) -> Value? {
    add(reason)
    return nil
  }

  package func add(_ reason: String, isWarning: Bool = false) { document.add(place, reason, isWarning: isWarning) }

  /// The value for a message.
  package var shown: String {
    switch node.content {
    case .scalar(let text): "\"\(printable(text))\""
    case .mapping: "a mapping"
    case .sequence: "a list"
    case .alias: "an alias"
    }
  }
}

extension UInt8 {
  fileprivate var isPlain: Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
      || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
      || self == UInt8(ascii: "-") || self == UInt8(ascii: ".") || self == UInt8(ascii: "_")
  }
}

/// The beginning of a text from a file, as it may stand in a message on a terminal.
package func printable(_ text: some StringProtocol) -> String {
  var result = ""
  for scalar in text.unicodeScalars.prefix(60) {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
      result += "\\u{\(String(scalar.value, radix: 16))}"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result
}

extension [String] {
  /// The one that a misspelling most likely stands for.
  package func nearest(to name: String) -> String? {
    guard name.utf8.count <= 64 else { return nil }
    let ranked = map { (name: $0, distance: editDistance([UInt8](name.lowercased().utf8), [UInt8]($0.utf8))) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= Swift.max(1, best.name.utf8.count / 3) ? best.name : nil
  }
}

/// How many letters have to be added, dropped or changed.
private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
  var row = Array(0...right.count)
  for (i, byte) in left.enumerated() {
    var diagonal = row[0]
    row[0] = i + 1
    for (j, other) in right.enumerated() {
      let changed = diagonal + (byte == other ? 0 : 1)
      diagonal = row[j + 1]
      row[j + 1] = min(changed, diagonal + 1, row[j] + 1)
    }
  }
  return row[right.count]
}
