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
  ) { settings, cursor, now in IndexPeer(settings, cursor: cursor, now: now) }

  private enum Phase { case asking, collecting([PeerDocument]), ended(PeerStep) }

  static let entryLimit = 50_000

  private let index: String
  private let files: ListedFiles
  private var memory: ListMemory
  private var phase = Phase.asking
  private(set) var notices: [DocumentFault] = []

  init(_ settings: SourceSettings, cursor: String?, now: Instant) {
    let index = settings.options["index"] ?? "index.txt"
    self.index = PeerAddress.isAbsolute(index) ? index : PeerAddress.join(settings.location, index)
    let base = settings.options["base"] ?? settings.location
    files = ListedFiles(
      base: PeerAddress.isAbsolute(base) ? base : PeerAddress.join(settings.location, base),
      suffix: settings.options["suffix"] ?? ".zip")
    memory = ListMemory(
      cursor: cursor, settings: [self.index, files.base, files.suffix], isMirrored: settings.isMirrored, now: now)
  }

  mutating func next() -> PeerStep {
    switch phase {
    case .asking: return .ask(PeerRequest(url: index, headers: memory.validators))
    case .collecting(let documents):
      phase = .ended(.done(cursor: nil))
      return .collect(documents)
    case .ended(.done): return .done(cursor: memory.cursor)
    case .ended(let step): return step
    }
  }

  mutating func take(_ answer: PeerAnswer) {
    do throws(PeerFault) {
      let response = try answer.response(of: "index", statuses: memory.statuses)
      guard response.head.status == 200 else { return phase = .ended(.done(cursor: nil)) }
      let documents = try listed(in: response.body)
      if let notice = memory.read(response.head, entries: documents.count, of: "index") { notices.append(notice) }
      phase = documents.isEmpty ? .ended(.done(cursor: nil)) : .collecting(documents)
    } catch {
      phase = .ended(.fail(error.documentFault))
    }
  }

  mutating func take(_ outcome: CollectionOutcome, of document: PeerDocument) { memory.take(outcome) }

  func cursor(after document: PeerDocument, head: ResponseHead) -> String? { nil }

  func document(named name: String) -> PeerDocument? {
    name.isEmpty ? nil : PeerDocument(name: name, request: PeerRequest(url: files.address(of: name)))
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
      guard let name = files.name(of: line) else {
        passedOver += 1
        continue
      }
      guard names.insert(name).inserted, let document = document(named: name) else { continue }
      documents.append(document)
    }
    guard passedOver * 2 <= lines.count else {
      throw PeerFault(
        .notAnIndex,
        "index: \(passedOver) of \(lines.count) entries are no paths that end in \(files.suffix), expected one file a line"
      )
    }
    if passedOver > 0 {
      notices.append(
        DocumentFault(
          code: .entriesPassedOver,
          reason: "\(passedOver) of \(lines.count) entries of the index are no paths that end in \(files.suffix)"))
    }
    return documents
  }
}
