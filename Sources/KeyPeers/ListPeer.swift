internal import ExposureKeys

extension PeerProtocol {
  package static let list = PeerProtocol(ListPeer.description)
}

/// A JSON document that lists the files: Japan, Croatia, Austria, Finland, and whoever writes a list of their own.
///
/// A selector says where the items are, and a template how an item becomes an address. A file is known by its path below the
/// location, by its whole address if it is elsewhere, or by the item where the template puts it into a path. A name is fetched once,
/// so the servers' own numbers are enough: Japan's go up and skip some, Austria's folders are new at each run.
///
/// With `since` the server lists what comes after an item. The machine asks so with the last item up to which everything is
/// recorded, and once a day from the start: a file that is listed late, or was passed over, costs a day and is not lost.
struct ListPeer: PeerSync {
  static let description = PeerDescription(
    "list", summary: "a JSON document that lists the files (JP, HR, AT, FI, or your own)",
    options: [
      PeerOption(
        "preset", .choice(["own"] + Preset.all.map(\.name)), isRequired: true,
        "whose server it is; own needs list and items, and these options replace what a preset states"),
      PeerOption("list", .address, "the address of the JSON document, or its path below the location"),
      PeerOption("items", .selectors, "where the items are, such as batches[] or daily_batches[].paths[]"),
      PeerOption(
        "address", .address,
        "the address of an item with {item} in its place, or the address in front of it; the location by default"),
      PeerOption(
        "since", .parameter, "the query parameter for the last item, with its first value, such as previous=0"),
      PeerOption("suffix", .ending, "how the paths of files end; any way by default"),
    ], trusts: [.ring, .host, .operator],
    note: { settings in Preset.all.first { $0.name == settings.options["preset"] }?.note },
    faults: { settings in
      guard settings.options["preset"] == "own" else { return [] }
      return ["list", "items"].filter { settings.options[$0] == nil }
        .map { "options.\($0): missing; preset own needs it" }
    }
  ) { settings, cursor, now in ListPeer(settings, cursor: cursor, now: now) }

  /// What the servers of a country have in common.
  struct Preset: Sendable {
    let name: String
    let list: String
    let items: String
    /// What proves the source, and how its servers behaved.
    let note: String
    var address: String?
    var since: String?
    var suffix = ".zip"

    static let all = [
      Preset(
        name: "japan", list: "c19r/440/list.json", items: "[].url",
        note: proof
          + "The server wrote one file for each day of use of new keys, so times in a file are the keys' own day"),
      Preset(
        name: "austria", list: "exposures/at/index.json",
        items: "full_14_batch.batch_file_paths[],full_7_batch.batch_file_paths[],full_batch.batch_file_paths[],"
          + "daily_batches[].batch_file_paths[]",
        note: proof
          + "The server made a new folder at each run, with the keys of a fortnight again, and asked for the headers"
          + " authorizationkey and x-appid, which go into http.headers"),
      Preset(
        name: "croatia", list: "submission/diagnosis-key-file-urls", items: "urlList[]",
        note: proof
          + "With list: submission/diagnosis-key-file-urls?all=true the server named files with keys of other countries"
      ),
      Preset(
        name: "finland", list: "diagnosis/v1/list", items: "batches[]", note: proof + finland,
        address: "diagnosis/v1/batch/{item}", since: "previous=0", suffix: ""),
      Preset(
        name: "finland-v2", list: "diagnosis/v1/list?en-api-version=2", items: "batches[]", note: proof + finland,
        address: "diagnosis/v1/batch/{item}", since: "previous=0", suffix: ""),
    ]

    private static let proof = "the signature in each file proves it, by a ring. "
    private static let finland =
      "The server listed a batch an hour after its end, answered 404 to one without keys, and stated an onset for each key"
  }

  private enum Phase { case asking, collecting([PeerDocument]), ended(PeerStep) }

  /// How far a list was read that can be asked for by its last item.
  private struct Place: Codable {
    /// Everything up to this item is recorded.
    var after: String
    /// On which the list was asked for from its start, in days since 1970.
    var day: Int64
  }

  /// What stands for the item in an address.
  private static let itemMark = "{item}"
  static let itemLimit = 50_000
  static let nameLimit = 128

  private let list: String
  private let selectors: [ItemSelector]
  private let items: String
  private let files: ListedFiles
  /// The address with ``itemMark``; `nil` where items are paths or addresses themselves.
  private let template: String?
  private let since: String?
  private let today: Int64
  private var place: Place?
  /// Whether everything that was collected so far is recorded.
  private var isUnbroken = true
  private var memory: ListMemory
  private var phase = Phase.asking
  private(set) var notices: [DocumentFault] = []

  init(_ settings: SourceSettings, cursor: String?, now: Instant) {
    let preset = Preset.all.first { $0.name == settings.options["preset"] }
    func absolute(_ address: String) -> String {
      PeerAddress.isAbsolute(address) ? address : PeerAddress.join(settings.location, address)
    }
    list = absolute(settings.options["list"] ?? preset?.list ?? "list.json")
    items = settings.options["items"] ?? preset?.items ?? "[]"
    selectors = ItemSelector.all(in: items) ?? []
    let address = absolute(settings.options["address"] ?? preset?.address ?? settings.location)
    template = address.contains(Self.itemMark) ? address : nil
    files = ListedFiles(
      base: template == nil ? address : settings.location,
      suffix: settings.options["suffix"] ?? preset?.suffix ?? "")
    since = settings.options["since"] ?? preset?.since
    today = now.day.daysSince1970
    let isMirrored = settings.isMirrored || since != nil
    memory = ListMemory(
      cursor: cursor, settings: [list, items, address, files.suffix], isMirrored: isMirrored, now: now)
    place = nil
    if since != nil, let known = cursor.flatMap({ PeerJSON.value(Place.self, in: $0.utf8) }), isName(known.after) {
      place = Place(after: known.day == today ? known.after : "", day: today)
    }
  }

  // MARK: What it asks

  private var request: PeerRequest {
    guard let since else { return PeerRequest(url: list, headers: memory.validators) }
    let parts = since.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let start = parts.count > 1 ? String(parts[1]) : nil
    let after = (place?.after).flatMap { $0.isEmpty ? nil : $0 }
    guard let value = after ?? start else { return PeerRequest(url: list) }
    return PeerRequest(url: "\(list)\(list.contains("?") ? "&" : "?")\(parts[0])=\(value)")
  }

  mutating func next() -> PeerStep {
    switch phase {
    case .asking: return .ask(request)
    case .collecting(let documents):
      phase = .ended(.done(cursor: nil))
      return .collect(documents)
    case .ended(.done): return .done(cursor: since == nil ? memory.cursor : place.flatMap { PeerJSON.text($0) })
    case .ended(let step): return step
    }
  }

  mutating func take(_ answer: PeerAnswer) {
    do throws(PeerFault) {
      let response = try answer.response(of: "list", statuses: since == nil ? memory.statuses : [200])
      guard response.head.status == 200 else { return phase = .ended(.done(cursor: nil)) }
      let documents = try listed(in: response.body)
      if since == nil, let notice = memory.read(response.head, entries: documents.count, of: "list") {
        notices.append(notice)
      }
      phase = documents.isEmpty ? .ended(.done(cursor: nil)) : .collecting(documents)
    } catch {
      phase = .ended(.fail(error.documentFault))
    }
  }

  mutating func take(_ outcome: CollectionOutcome, of document: PeerDocument) {
    memory.take(outcome)
    switch outcome {
    case .recorded where isUnbroken: place = Place(after: document.name, day: today)
    // Its bytes are kept, and its name is enough to ask again.
    case .recorded, .quarantined: break
    case .answered, .fault: isUnbroken = false
    }
  }

  func cursor(after document: PeerDocument, head: ResponseHead) -> String? {
    guard since != nil, isUnbroken else { return nil }
    return PeerJSON.text(Place(after: document.name, day: today))
  }

  // MARK: What it lists

  /// The documents that a list names, in its order, each once.
  ///
  /// - Throws: `not-an-index` for what is none, `limit-exceeded` for more than ``itemLimit`` items.
  private mutating func listed(in body: [UInt8]) throws(PeerFault) -> [PeerDocument] {
    guard let found = ListedItems(in: body, selectors, limit: Self.itemLimit), found.isFound || found.isTooLong else {
      throw PeerFault(.notAnIndex, "list: \(body.count) bytes that are no JSON with \(items)")
    }
    guard !found.isTooLong else {
      throw PeerFault(.limitExceeded, "list: more than \(Self.itemLimit) items, at most \(Self.itemLimit) are read")
    }
    var names: Set<String> = []
    var documents: [PeerDocument] = []
    var passedOver = found.passedOver
    for item in found.items {
      // Austria has written some paths with the separators of Windows.
      guard let document = document(named: name(of: item.replacing("\\", with: "/")) ?? "") else {
        passedOver += 1
        continue
      }
      if names.insert(document.name).inserted { documents.append(document) }
    }
    let count = found.items.count + found.passedOver
    guard passedOver * 2 <= count else {
      throw PeerFault(.notAnIndex, "list: \(passedOver) of \(count) items name no file\(ending)")
    }
    if passedOver > 0 {
      notices.append(
        DocumentFault(
          code: .entriesPassedOver, reason: "\(passedOver) of \(count) items of the list name no file\(ending)"))
    }
    return documents
  }

  private var ending: String { files.suffix.isEmpty ? "" : " that ends in \(files.suffix)" }

  private func name(of item: String) -> String? { template == nil ? files.name(of: item.utf8) : item }

  /// Whether it can be a part of a path.
  private func isName(_ item: String) -> Bool {
    guard (1...Self.nameLimit).contains(item.utf8.count), ![".", ".."].contains(item) else { return false }
    return item.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
      default: false
      }
    }
  }

  func document(named name: String) -> PeerDocument? {
    if let template {
      guard isName(name) else { return nil }
      return PeerDocument(
        name: name, request: PeerRequest(url: template.replacing(Self.itemMark, with: name)),
        // A batch can go, or lose its last key, between the list and the request.
        otherStatuses: since == nil ? [] : [404])
    }
    guard files.name(of: name.utf8) == name else { return nil }
    return PeerDocument(name: name, request: PeerRequest(url: files.address(of: name)))
  }
}
