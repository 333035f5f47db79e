/// What an entry of the log says, as JSON with one spelling: members by their names, no spaces (RFC 8785).
///
/// An entry is for ever and for everybody. So it has no key, no hash of a key, and of a document that was received only a
/// commitment, whose salt is kept elsewhere and can be forgotten.
package struct LogEntry: Hashable, Sendable {
  package enum Kind: String, Sendable, CaseIterable {
    /// A bundle went out; nothing else is ever served under its path.
    case published
    /// A document came in.
    case received
    /// An hour of an upload door is over, whether somebody uploaded or not.
    case uploaded
    /// A bundle is not served any more.
    case withdrawn
    /// Somebody took back keys.
    case recalled
    /// What was believed of keys was changed, and goes out again.
    case revised
    /// A bundle was signed again.
    case signedAgain = "signed-again"
    case policyChanged = "policy-changed"
    case clockAccepted = "clock-accepted"
    case erased
  }

  package enum Value: Hashable, Sendable {
    case number(Int)
    case text(String)
  }

  package let kind: Kind
  /// Without `kind` and `v`.
  package let members: [String: Value]

  /// - Throws: ``LogFault`` `bad-entry` for a member that this kind has not, of another type, or one that is missing.
  package init(_ kind: Kind, _ members: [String: Value]) throws {
    self.kind = kind
    self.members = members
    try check(name: "the entry")
  }

  package func text(_ member: String) -> String? {
    if case .text(let text)? = members[member] { text } else { nil }
  }

  package func number(_ member: String) -> Int? {
    if case .number(let number)? = members[member] { number } else { nil }
  }

  // MARK: What each kind has

  private enum Shape {
    /// 0 or more.
    case count
    /// Seconds since 1970.
    case seconds
    /// SHA-256, 64 lower-case digits.
    case digest
    case line
    /// Relative, without `.` and `..`.
    case path

    func allows(_ value: Value) -> Bool {
      switch (self, value) {
      case (.count, .number(let number)): number >= 0
      case (.seconds, .number): true
      case (.digest, .text(let text)):
        text.utf8.count == 64 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
      case (.line, .text(let text)):
        text.utf8.count <= 1000 && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
      case (.path, .text(let text)): LogEntry.isPath(text)
      default: false
      }
    }

    var words: String {
      switch self {
      case .count: "a number from 0 on"
      case .seconds: "seconds since 1970"
      case .digest: "64 lower-case hexadecimal digits"
      case .line: "text on one line of at most 1000 bytes"
      case .path: "a relative path of at most 1000 bytes"
      }
    }
  }

  /// Whether a path stays below the folder that it is put behind.
  package static func isPath(_ text: String) -> Bool {
    (1...1000).contains(text.utf8.count) && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
      && text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { !["", ".", ".."].contains($0) }
  }

  /// The members of a kind, and whether each must be there.
  private static func shapes(of kind: Kind) -> [String: (shape: Shape, isRequired: Bool)] {
    let word: [String: (shape: Shape, isRequired: Bool)] = [
      "at": (.seconds, true), "by": (.line, false), "reason": (.line, false), "series": (.line, false),
    ]
    switch kind {
    case .published:
      return [
        "archive_sha256": (.digest, true), "at": (.seconds, true), "batch_num": (.count, false),
        "batch_size": (.count, false), "bundle": (.line, false), "bytes": (.count, true), "end": (.seconds, false),
        "export_sha256": (.digest, true), "key_id": (.line, false), "key_version": (.line, false),
        "keys": (.count, true), "ordinal": (.count, false), "path": (.path, true), "policy_sha256": (.digest, false),
        "program": (.line, false), "region": (.line, false), "revised": (.count, false), "series": (.line, false),
        "start": (.seconds, false),
      ]
    case .received, .uploaded: return ["at": (.seconds, true), "commitment": (.digest, true), "source": (.line, true)]
    case .withdrawn, .signedAgain: return word.merging(["path": (.path, true)]) { $1 }
    case .policyChanged: return word.merging(["policy_sha256": (.digest, true)]) { $1 }
    case .recalled, .revised, .erased: return word.merging(["keys": (.count, false)]) { $1 }
    case .clockAccepted: return word
    }
  }

  private func check(name: String) throws {
    func fault(_ reason: String) -> LogFault { LogFault(.badEntry, "\(name), \(kind.rawValue): \(reason)") }
    let shapes = Self.shapes(of: kind)
    for (member, value) in members.sorted(by: { $0.key < $1.key }) {
      guard let shape = shapes[member]?.shape else { throw fault("\(quoted(member)) is no member of this kind") }
      guard shape.allows(value) else { throw fault("\(member) is \(value.words), allowed is \(shape.words)") }
    }
    for (member, shape) in shapes.sorted(by: { $0.key < $1.key }) where shape.isRequired && members[member] == nil {
      throw fault("\(member) is missing")
    }
  }

  // MARK: JSON

  /// The bytes that are in the log.
  package var bytes: [UInt8] {
    var all = members
    all["kind"] = .text(kind.rawValue)
    all["v"] = .number(1)
    return Array(FlatJSON.encode(all).utf8)
  }

  /// - Parameter name: for messages.
  /// - Throws: ``LogFault`` `bad-entry`, also for another spelling of what would be allowed.
  package init(_ bytes: [UInt8], name: String) throws {
    func fault(_ reason: String) -> LogFault { LogFault(.badEntry, "\(name): \(reason)") }
    guard bytes.count <= EntryBundle.entryLimit, var all = FlatJSON.decode(bytes) else {
      throw fault("it is no JSON object of numbers and texts")
    }
    guard FlatJSON.encode(all).utf8.elementsEqual(bytes) else {
      throw fault("its JSON is spelled otherwise than entries are: members by their names, no spaces, each once")
    }
    guard case .number(1)? = all.removeValue(forKey: "v") else { throw fault("\"v\" is not 1, the known version") }
    guard case .text(let word)? = all.removeValue(forKey: "kind"), let kind = Kind(rawValue: word) else {
      throw fault("\"kind\" is none of \(Kind.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    (self.kind, members) = (kind, all)
    try check(name: name)
  }
}

extension LogEntry.Value {
  fileprivate var words: String {
    switch self {
    case .number(let number): "\(number)"
    case .text(let text): quoted(text)
    }
  }
}
