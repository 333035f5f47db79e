internal import ExposureKeys

extension PeerProtocol {
  package static let index = PeerProtocol(IndexPeer.description)
}

/// The layout of Google's key server, which COVIDWISE and many others use: a text that lists the files, oldest first,
/// and an address in front of them.
///
/// Lists in the field are separated by any white space, have leading slashes (PL), absolute addresses (LV, some US
/// states), blank lines, or no bytes at all before the first key. A server that is gone answers 200 with a page for
/// people, so what does not look like a list changes nothing. A file that is not listed any more is left alone, and
/// one that is listed is fetched once, under its path below the base.
struct IndexPeer: PeerSync {
  static let description = PeerDescription(
    "index", summary: "a text index of bundles and a base address (Google's key server, COVIDWISE)",
    options: [
      PeerOption(
        "index", .address, isRequired: true, "the address of the index, or its path below the location"),
      PeerOption("base", .address, "the address in front of every listed path; the location where it is not given"),
      PeerOption("suffix", .ending, "how listed paths end, .zip where it is not given; empty is any way"),
    ], trusts: [.ring, .host, .operator], canMirror: true
  ) { settings, cursor, _ in IndexPeer(settings, cursor: cursor) }

  private enum Phase { case asking, collecting([PeerDocument]), ended(PeerStep) }

  /// What was listed last, to notice when a list shrinks.
  private struct Cursor: Codable { var entries: Int }

  static let entryLimit = 50_000
  static let pathLimit = 2048

  private let index: String
  private let base: String
  private let suffix: String
  private let before: Cursor?
  private var phase = Phase.asking
  private var entries = 0
  private(set) var notices: [DocumentFault] = []

  init(_ settings: SourceSettings, cursor: String?) {
    let index = settings.options["index"] ?? "index.txt"
    self.index = PeerAddress.isAbsolute(index) ? index : PeerAddress.join(settings.location, index)
    let base = settings.options["base"] ?? settings.location
    self.base = PeerAddress.isAbsolute(base) ? base : PeerAddress.join(settings.location, base)
    suffix = settings.options["suffix"] ?? ".zip"
    before = cursor.flatMap { PeerJSON.value(Cursor.self, in: $0.utf8) }
  }

  mutating func next() -> PeerStep {
    switch phase {
    case .asking: return .ask(PeerRequest(url: index))
    case .collecting(let documents):
      phase = .ended(.done(cursor: PeerJSON.text(Cursor(entries: entries))))
      return .collect(documents)
    case .ended(let step): return step
    }
  }

  mutating func take(_ answer: PeerAnswer) {
    do throws(PeerFault) {
      let documents = try listed(in: try answer.response(of: "index").body)
      entries = documents.count
      noticeShrinking()
      let end = PeerStep.done(cursor: PeerJSON.text(Cursor(entries: entries)))
      phase = documents.isEmpty ? .ended(end) : .collecting(documents)
    } catch {
      phase = .ended(.fail(error.documentFault))
    }
  }

  mutating func take(_ outcome: CollectionOutcome, of document: PeerDocument) {}

  func cursor(after document: PeerDocument, head: ResponseHead) -> String? { nil }

  func document(named name: String) -> PeerDocument? {
    name.isEmpty ? nil : PeerDocument(name: name, request: PeerRequest(url: address(of: name)))
  }

  private func address(of name: String) -> String {
    PeerAddress.isAbsolute(name) ? name : PeerAddress.join(base, name)
  }

  private mutating func noticeShrinking() {
    guard let before, entries * 2 < before.entries else { return }
    notices.append(
      DocumentFault(
        code: .indexShrank,
        reason: "the index lists \(entries) files, \(before.entries) before; what is recorded stays"))
  }

  /// The documents that an index names, in its order, each once.
  ///
  /// - Throws: `not-an-index` for what is none, `limit-exceeded` for more than ``entryLimit`` files.
  private mutating func listed(in body: [UInt8]) throws(PeerFault) -> [PeerDocument] {
    let text = body.starts(with: [0xEF, 0xBB, 0xBF]) ? body[3...] : body[...]
    if let place = text.firstIndex(where: { $0 < 0x20 && !(0x09...0x0D).contains($0) || $0 == 0x7F }) {
      throw PeerFault(.notAnIndex, "index: byte \(text[place]) at byte \(place), expected lines of text")
    }
    let lines = text.split { $0 == 0x20 || (0x09...0x0D).contains($0) }
    guard lines.first?.first != UInt8(ascii: "<") else {
      throw PeerFault(.notAnIndex, "index: a page of HTML or XML, expected one file a line")
    }
    guard lines.count <= Self.entryLimit else {
      throw PeerFault(.limitExceeded, "index: \(lines.count) entries, at most \(Self.entryLimit) are read")
    }
    var names: Set<String> = []
    var documents: [PeerDocument] = []
    var passedOver = 0
    for line in lines {
      guard let name = name(of: line) else {
        passedOver += 1
        continue
      }
      guard names.insert(name).inserted, let document = document(named: name) else { continue }
      documents.append(document)
    }
    guard passedOver * 2 <= lines.count else {
      throw PeerFault(
        .notAnIndex,
        "index: \(passedOver) of \(lines.count) entries are no paths that end in \(suffix), expected one file a line")
    }
    if passedOver > 0 {
      notices.append(
        DocumentFault(
          code: .entriesPassedOver,
          reason: "\(passedOver) of \(lines.count) entries of the index are no paths that end in \(suffix)"))
    }
    return documents
  }

  /// The path below the base, or the whole address where it lies elsewhere; `nil` for what names no file.
  private func name(of line: ArraySlice<UInt8>) -> String? {
    guard line.count <= Self.pathLimit, line.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
    var entry = Substring(decoding: line.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
    let front = PeerAddress.join(base, "")
    if entry.hasPrefix("//") { entry = "\(front.prefix { $0 != "/" })\(entry)" }
    if entry.hasPrefix(front) { entry = entry.dropFirst(front.count) }
    let isAbsolute = PeerAddress.isAbsolute(entry)
    let path = (isAbsolute ? entry.drop { $0 != "/" }.dropFirst(2) : entry).drop { $0 == "/" }
    let file = path.prefix { $0 != "?" }
    guard !file.isEmpty, file.utf8.last != UInt8(ascii: "/"), file.lowercased().hasSuffix(suffix.lowercased()),
      isAbsolute || !file.prefix(while: { $0 != "/" }).contains(":")
    else { return nil }
    let leavesTheBase = file.split(separator: "/").contains { segment in
      [".", ".."].contains(segment.lowercased().replacing("%2e", with: "."))
    }
    guard !leavesTheBase else { return nil }
    return String(isAbsolute ? entry : path)
  }
}
