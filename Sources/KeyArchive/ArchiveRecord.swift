/// A file whose bytes are kept, once, however often it was seen.
package struct ArchivedContent: Hashable, Sendable {
  /// SHA-256 of the bytes, 64 lower-case hexadecimal digits.
  package let digest: String
  /// In bytes.
  package let byteCount: Int
  package let facts: ContentFacts

  package init(digest: String, byteCount: Int, facts: ContentFacts) {
    self.digest = digest
    self.byteCount = byteCount
    self.facts = facts
  }
}

/// What a file said of itself when it was kept. The bytes are what counts; this is to find them by.
package struct ContentFacts: Hashable, Sendable {
  /// `nil` for what is no key file.
  package var format: String?
  package var region: String?
  /// The window that it states, in seconds since 1970.
  package var start: Int64?
  package var end: Int64?
  /// Key id and version of each signature; not whether it is right.
  package var signers: [String] = []

  package init() {}
}

/// Under which name which bytes were seen, and when.
package struct ArchiveSighting: Hashable, Sendable {
  /// A path, an address, or what somebody has called it.
  package let name: String
  package let digest: String
  /// Of the signature file beside it, for a bare `export.bin`.
  package let signature: String?
  /// In seconds since 1970, the first and the last time.
  package internal(set) var first: Int64
  package internal(set) var last: Int64
}

/// One line of the catalogue.
enum ArchiveRecord: Hashable {
  case content(ArchivedContent)
  case seen(name: String, digest: String, signature: String?, at: Int64)
  /// The numbers of records of the kind `seen` that are true at a later time, too.
  case again([ClosedRange<Int>], at: Int64)

  /// The longest name, in bytes.
  static let nameLimit = 16 << 10

  // MARK: Decode

  init?(_ line: UnsafeRawBufferPointer) {
    guard let members = RecordText.decode(line) else { return nil }
    func text(_ name: String) -> String? {
      if case .text(let text)? = members[name] { text } else { nil }
    }
    func number(_ name: String) -> Int64? {
      if case .number(let number)? = members[name] { number } else { nil }
    }
    switch text("kind") {
    case "content":
      guard let digest = text("sha256"), Self.isDigest(digest), let size = number("bytes"), size >= 0
      else { return nil }
      var facts = ContentFacts()
      (facts.format, facts.region) = (text("format"), text("region"))
      (facts.start, facts.end) = (number("start"), number("end"))
      facts.signers = text("signers").map { $0.split(separator: "\n").map(String.init) } ?? []
      self = .content(
        ArchivedContent(digest: digest, byteCount: Int(size), facts: facts))
    case "seen":
      guard let name = text("name"), !name.isEmpty, let digest = text("sha256"), Self.isDigest(digest),
        let time = number("at"), text("signature").map(Self.isDigest) ?? true
      else { return nil }
      self = .seen(name: name, digest: digest, signature: text("signature"), at: time)
    case "again":
      guard let ranges = text("records").flatMap(Self.ranges), let time = number("at") else { return nil }
      self = .again(ranges, at: time)
    default: return nil
    }
  }

  private static func isDigest(_ text: String) -> Bool {
    text.utf8.count == 64 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }

  /// `0-99,105`.
  private static func ranges(_ text: String) -> [ClosedRange<Int>]? {
    var ranges: [ClosedRange<Int>] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
      guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1],
        (ranges.last?.upperBound ?? -1) < first, first <= last
      else { return nil }
      ranges.append(first...last)
    }
    return ranges
  }

  // MARK: Encode

  /// Without the end of the line.
  var bytes: [UInt8] {
    var members: [String: RecordText.Value] = [:]
    func add(_ name: String, _ text: String?) { members[name] = text.map(RecordText.Value.text) }
    func add(_ name: String, _ number: Int64?) { members[name] = number.map(RecordText.Value.number) }
    switch self {
    case .content(let content):
      add("kind", "content")
      add("sha256", content.digest)
      add("bytes", Int64(content.byteCount))
      add("format", content.facts.format)
      add("region", content.facts.region)
      add("start", content.facts.start)
      add("end", content.facts.end)
      add("signers", content.facts.signers.isEmpty ? nil : content.facts.signers.joined(separator: "\n"))
    case .seen(let name, let digest, let signature, let time):
      add("kind", "seen")
      add("name", name)
      add("sha256", digest)
      add("signature", signature)
      add("at", time)
    case .again(let ranges, let time):
      add("kind", "again")
      add(
        "records",
        ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ","))
      add("at", time)
    }
    return RecordText.encode(members)
  }
}
