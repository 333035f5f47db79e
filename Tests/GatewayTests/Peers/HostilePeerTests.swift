import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyPeers
import KeyPublishing
import KeyStorage
import Testing

/// Every machine against a peer that answers anything at all, and against an honest one afterwards: each run ends
/// within a bound, and in the end everything that the honest peer has is recorded.
///
/// What a peer that lies can hide without being seen is left out: that it has less than it has (an empty page that
/// leads on, a day without batches, a time in the past up to which there was nothing). Content that is not the honest peer's is quarantined, as a trust ring
/// sees to.
@Suite struct HostilePeerTests {
  static let now = Instant(secondsSince1970: 1_606_989_600)

  /// A list without `nextIndex` cannot tell that a peer which had it, once, led too far: that world is read only.
  @Test(arguments: World.all.indices.dropLast())
  func everyRunEndsAndNothingIsLost(world index: Int) throws {
    let world = World.all[index]
    var random = SeededRandom(for: "hostile peer, \(world.settings.peer.rawValue)")
    for _ in 0..<60 {
      var store = PeerStore()
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        try Self.pull(world, into: &store, hostile: true, &random)
      }
      // One run may only find out that it has to start over, and the next retries what was put aside.
      for _ in 0..<3 { try Self.pull(world, into: &store, hostile: false, &random) }
      let missing = world.items.subtracting(store.items)
      #expect(missing.isEmpty, "seed \(random.seed): \(missing.sorted()), cursor \(store.cursor ?? "none")")
      guard missing.isEmpty else { return }
    }
  }

  @Test(arguments: World.all.indices)
  func anHonestPeerIsReadInOneRun(world index: Int) throws {
    let world = World.all[index]
    var random = SeededRandom(seed: 1)
    var store = PeerStore()
    try Self.pull(world, into: &store, hostile: false, &random)
    #expect(store.items == world.items)
    let documents = store.recorded
    try Self.pull(world, into: &store, hostile: false, &random)
    #expect(store.recorded == documents)
  }

  /// One run as the driver does it: quarantined documents once more, then the machine until it is done. A hostile run
  /// may also be killed between any two steps.
  private static func pull(
    _ world: World, into store: inout PeerStore, hostile: Bool, _ random: inout SeededRandom
  ) throws {
    var machine = try PeerCatalog.machine(for: world.settings, cursor: store.cursor, now: now)
    if !hostile {
      for name in store.quarantined.sorted() {
        guard let document = machine.document(named: name) else { continue }
        store.retry(name, world.answer(document.request))
      }
      machine.askAgain(for: store.quarantined.sorted())
    }
    var steps = 0
    while true {
      steps += 1
      try #require(steps <= 2500, "seed \(random.seed): \(world.settings.peer) goes on and on")
      if hostile, random.once(in: 60) { return }
      switch machine.next() {
      case .ask(let request):
        let honest = world.answer(request)
        guard hostile, !random.once(in: 3) else {
          machine.take(.response(honest.head, honest.body))
          continue
        }
        machine.take(Nonsense.answer(like: honest, mayDeny: !world.deniesByStatus(request), &random))
      case .collect(let documents):
        try #require(!documents.isEmpty)
        for document in documents {
          let outcome = store.outcome(of: document, world, hostile: hostile, &random)
          if case .recorded(let head?) = outcome, let cursor = machine.cursor(after: document, head: head) {
            store.cursor = cursor
          }
          machine.take(outcome, of: document)
        }
      case .done(let cursor):
        if let cursor { store.cursor = cursor }
        return
      case .fail:
        try #require(hostile, "seed \(random.seed): \(world.settings.peer) fails against an honest peer")
        return
      }
    }
  }
}

/// What a driver keeps.
private struct PeerStore {
  var cursor: String?
  var recorded: Set<String> = []
  var quarantined: Set<String> = []
  var items: Set<String> = []

  mutating func retry(_ name: String, _ response: PeerResponse) {
    if response.head.status == 200, let found = World.items(in: response.body) {
      record(name, found)
    } else {
      quarantined.remove(name)
    }
  }

  private mutating func record(_ name: String, _ found: Set<String>) {
    recorded.insert(name)
    quarantined.remove(name)
    items.formUnion(found)
  }

  mutating func outcome(
    of document: PeerDocument, _ world: World, hostile: Bool, _ random: inout SeededRandom
  ) -> CollectionOutcome {
    if recorded.contains(document.name), !document.mayChange { return .recorded(nil) }
    var response = document.response ?? world.answer(document.request)
    if hostile {
      if random.once(in: 10) { return .fault(DocumentFault(code: "time-out", reason: "")) }
      if document.response == nil, random.once(in: 2) {
        guard case .response(let head, let body) = Nonsense.answer(like: response, mayDeny: true, &random) else {
          return .fault(DocumentFault(code: "reset", reason: ""))
        }
        response = PeerResponse(head: head, body: body)
      }
    }
    if response.body.isEmpty, response.head.status == 200, document.otherStatuses.contains(204) {
      return .answered(ResponseHead(204))
    }
    if document.otherStatuses.contains(response.head.status) { return .answered(response.head) }
    guard response.head.status == 200 else { return .fault(DocumentFault(code: "http-status", reason: "")) }
    guard let found = World.items(in: response.body) else {
      quarantined.insert(document.name)
      return .quarantined(DocumentFault(code: "malformed", reason: ""))
    }
    record(document.name, found)
    return .recorded(response.head)
  }
}

/// Answers of a small grammar of nonsense, and honest ones that were damaged.
private enum Nonsense {
  static func answer(like honest: PeerResponse, mayDeny: Bool, _ random: inout SeededRandom) -> PeerAnswer {
    if random.once(in: 12) { return .fault(DocumentFault(code: "time-out", reason: "")) }
    var head = ResponseHead(
      status: random.pick([200, 200, 200, 200, 204, 301, 400, 403, 418, 500, 503] + (mayDeny ? [404, 410] : [])))
    for name in ["batchTag", "nextBatchTag", "x-published-until", "x-key-bundle-tag", "ETag", "Batchcount"]
    where !random.once(in: 3) {
      head.headers.append(PeerRequest.Header(name, value(&random)))
    }
    if head.status == 200, random.once(in: 4) { return .response(head, honest.body) }
    // Cut, but never to nothing, which would say that there is nothing.
    if head.status == 200, honest.body.count > 1, random.once(in: 4) {
      return .response(honest.head, Array(honest.body.prefix(Int.random(in: 1..<honest.body.count, using: &random))))
    }
    return .response(head, body(&random))
  }

  private static func value(_ random: inout SeededRandom) -> String {
    random.pick([
      "", "null", "-1", "soon", "9999999999999", "99999999999999999999", "x-\(Int.random(in: 0..<5, using: &random))",
      "x-\(random.next())", "99991231-1", "bad tag", String(repeating: "t", count: 300), "\u{FF}",
    ])
  }

  private static func body(_ random: inout SeededRandom) -> [UInt8] {
    let number = random.pick(["-1", "0", "3", "17", "1e3", "400000", "9007199254740993", "1e400", "null", "\"4\""])
    let other = random.pick(["-1", "0", "5", "40", "12000", "9223372036854775807", "9223372036854775808"])
    let entry = { (random: inout SeededRandom) in
      random.pick(["x/\(random.next()).zip", "/x.zip", "../x.zip", "https://h.example/x.zip", "x", "<p>", "\u{0}"])
    }
    let text = random.pick([
      "<html><body>gone</body></html>", "[]", "{}", "null", "[1,\(number),23]", "[\"2020-12-02\",\"2020-13-01\"]",
      "[\"9999-12-31\"]", "{\"oldest\":\(number),\"newest\":\(other)}", "{\"newest\":\(other)}",
      "{\"keys\":[{},{}],\"done\":\(random.pick(["true", "false", "1"])),\"nextIndex\":\(other)}", "[{},{},{}]",
      "[{\"url\":\"\(entry(&random))\"}]", "{\"token\":\"\(number)\"}",
      "[{\"id\":\(other),\"path\":\"\(entry(&random))\"}]", "{\"batches\":[\"\(entry(&random))\",\(number),\(other)]}",
      "{\"keys\":[],\"done\":false,\"nextIndex\":\(random.pick(["-1", "0", "40", "12000"]))}",
      String(repeating: "[", count: 2000),
      "\(entry(&random))\n\(entry(&random))\r\n\(entry(&random))", "a@1-1.000000000\n",
    ])
    return random.once(in: 8) ? random.bytes(Int.random(in: 1...64, using: &random)) : Array(text.utf8)
  }
}

/// An honest peer: what it has, and how it answers.
struct World: Sendable {
  let settings: SourceSettings
  let items: Set<String>
  let answer: @Sendable (PeerRequest) -> PeerResponse

  /// Whether 404 is a statement of the peer that there is nothing, which nobody can see through.
  func deniesByStatus(_ request: PeerRequest) -> Bool {
    settings.peer == .efgs && !request.headers.contains { $0.name == "batchTag" }
  }

  static let all = [
    index, coronaWarnApp, dp3t("v1"), dp3t("v2"), immuni, efgs, files, list, listSince, covidGreen, coronaMelder,
    englandAndWales,
    canada,
    denmark("v1"),
    denmark("v3"),
    sampleApp(wrapped: true), sampleApp(wrapped: false),
  ]

  private static func respond(
    _ status: Int, _ body: String = "", _ headers: KeyValuePairs<String, String> = [:]
  ) -> PeerResponse { PeerResponse(head: ResponseHead(status, headers), body: Array(body.utf8)) }

  /// A document that cannot be cut without being seen.
  private static func document(_ items: some Sequence<String>) -> String {
    "[\(items.sorted().map { "{\"item\":\"\($0)\"}" }.joined(separator: ","))]"
  }

  /// `nil` for what is not the honest peer's.
  static func items(in body: [UInt8]) -> Set<String>? {
    let text = String(decoding: body, as: UTF8.self)
    guard (try? JSONSerialization.jsonObject(with: Data(body))) != nil, text.contains("\"item\":\"") else { return nil }
    return Set(text.components(separatedBy: "\"item\":\"").dropFirst().map { $0.components(separatedBy: "\"")[0] })
  }

  static let index: World = {
    let names = (1...9).map { "exports/\($0).zip" }
    return World(settings: source(.index, ["index": "index.txt"]), items: Set(names)) { request in
      if request.url.hasSuffix("/index.txt") { return respond(200, names.joined(separator: "\n")) }
      let name = request.url.replacing("https://keys.example.org/", with: "")
      return names.contains(name) ? respond(200, document([name])) : respond(404)
    }
  }()

  static let list: World = {
    let names = (1...9).map { "c19r/440/\($0 * 7).zip" }
    return World(settings: source(.list, ["preset": "japan"]), items: Set(names)) { request in
      if request.url.hasSuffix("/list.json") {
        let entries = names.map { #"{"region":"440","url":"https://keys.example.org/\#($0)","created":1606953600456}"# }
        return respond(200, "[\(entries.joined(separator: ","))]", ["ETag": #""7""#])
      }
      let name = request.url.replacing("https://keys.example.org/", with: "")
      return names.contains(name) ? respond(200, document([name])) : respond(404)
    }
  }()

  static let listSince: World = {
    let names = (18_590...18_599).map(String.init)
    return World(settings: source(.list, ["preset": "finland"]), items: Set(names)) { request in
      let last = request.url.split { "/=".contains($0) }.last.map(String.init) ?? ""
      if request.url.contains("/list?previous=") {
        guard let previous = Int(last) else { return respond(400) }
        return respond(200, #"{"batches":\#(names.filter { Int($0) ?? 0 > previous })}"#)
      }
      return names.contains(last) ? respond(200, document([last])) : respond(404)
    }
  }()

  static let covidGreen: World = {
    let numbers: [Int64] = [41, 44, 47, 48, 52]
    var settings = source(.covidGreen, ["limit": "6"])
    settings.secrets["refresh-token"] = Secret("a-refresh-token")
    return World(settings: settings, items: Set(numbers.map { "exposures/ie/\($0).zip" })) { request in
      if request.url.hasSuffix("/refresh") { return respond(200, #"{"token":"a.b.c"}"#) }
      guard request.headers.contains(.init("Authorization", "Bearer a.b.c")) else { return respond(401) }
      if request.url.contains("/exposures?since=") {
        let since = request.url.split { "=&".contains($0) }.dropFirst().first.flatMap { Int64($0) } ?? 0
        let after = numbers.filter { $0 > since || !numbers.contains(since) }.prefix(2)
        return respond(
          200, "[\(after.map { #"{"id":\#($0),"path":"exposures/ie/\#($0).zip"}"# }.joined(separator: ","))]")
      }
      let name = request.url.replacing("https://keys.example.org/data/", with: "")
      return numbers.contains { "exposures/ie/\($0).zip" == name } ? respond(200, document([name])) : respond(404)
    }
  }()

  /// What the manifest names.
  private static let coronaMelderSets: Set = [
    ExportDigests(of: Array("key set 1".utf8)).hexadecimal, "6f1c1f6e-30a4-4d0e-9c05-7b1b3f1a8a11",
  ]

  static let coronaMelder: World = {
    let manifest = try? Data(contentsOf: CoronaMelderTests.folder.appending(path: "manifest.zip"))
    let root = (try? CoronaMelderTests.text("root.pem")) ?? ""
    return World(settings: source(.coronaMelder, ["ca": root]), items: coronaMelderSets) { request in
      if request.url.hasSuffix("/manifest") {
        return PeerResponse(head: ResponseHead(200, ["ETag": #""7""#]), body: Array(manifest ?? Data()))
      }
      let name = request.url.split(separator: "/").last.map { String($0) } ?? ""
      return coronaMelderSets.contains(name) ? respond(200, document([name])) : respond(404)
    }
  }()

  static let englandAndWales: World = {
    let items = ["daily/2020120200", "daily/2020120300", "two-hourly/2020120302", "two-hourly/2020120308"]
    return World(settings: source(.calendar, ["preset": "england-and-wales", "days": "2"]), items: Set(items)) {
      request in
      let name = request.url.replacing("https://keys.example.org/distribution/", with: "").replacing(".zip", with: "")
      return items.contains(name) ? respond(200, document([name])) : respond(403)
    }
  }()

  static let canada: World = {
    let items = ["18590", "18591", "18598"]
    var settings = source(.calendar, ["preset": "canada"])
    settings.secrets["hmac-key"] = Secret(String(repeating: "0a", count: 32))
    return World(settings: settings, items: Set(items)) { request in
      let name = request.url.replacing("https://keys.example.org/retrieve/302/", with: "").replacing(
        "/{seal}", with: "")
      return items.contains(name) ? respond(200, document([name])) : respond(410)
    }
  }()

  static func denmark(_ version: String) -> World {
    let counts = ["2020-11-28": 3, "2020-12-02": 1]
    let isFirst = version == "v1"
    let items = Set(
      counts.flatMap { day, count in
        (0..<count).map { isFirst ? "\(day):\($0)" : "\(day)_\($0 + 1)_all" }
      })
    let settings = source(.calendar, ["preset": "denmark", "version": version])
    return World(settings: settings, items: items) { request in
      let name = String((request.url.split(separator: "/").last ?? "").replacing(".zip", with: ""))
      guard items.contains(name) else { return respond(isFirst ? 404 : 204) }
      let count = counts[String(name.prefix(10))] ?? 0
      let isLast = name.hasSuffix("_\(count)_all")
      return respond(
        200, document([name]),
        isFirst ? ["Batchcount": "\(count)", "FinalForTheDay": "True"] : ["nextBatchExists": isLast ? "False" : "True"])
    }
  }

  static let coronaWarnApp: World = {
    let items: Set<String> = ["2020-12-01", "2020-12-02", "2020-12-03/hour/0", "2020-12-03/hour/7"]
    let front = "https://keys.example.org/version/v1/diagnosis-keys/country/DE/date"
    return World(settings: source(.coronaWarnApp, ["country": "DE", "hours": "true"]), items: items) { request in
      switch request.url.replacing(front, with: "") {
      case "": respond(200, #"["2020-12-01","2020-12-02"]"#)
      case "/2020-12-03/hour": respond(200, "[0,7]")
      case let path:
        items.contains(String(path.dropFirst())) ? respond(200, document([String(path.dropFirst())])) : respond(404)
      }
    }
  }()

  /// Publications at times, in milliseconds.
  static func dp3t(_ version: String) -> World {
    let times: [Int64] = [1_606_780_800_000, 1_606_867_200_000, 1_606_953_600_000, 1_606_982_400_000]
    let days = ["2020-12-01", "2020-12-02"].compactMap { Day($0)?.start.secondsSince1970 }
    let isVersion2 = version == "v2"
    let items = isVersion2 ? times.map { "all-\($0)" } : days.flatMap { day in times.map { "\(day)-\($0)" } }
    return World(settings: source(.dp3t, ["version": version]), items: Set(items)) { request in
      let parts = request.url.split(separator: "?")
      let query = parts.count > 1 ? parts[1].split(separator: "=").last.flatMap { Int64($0) } : nil
      if isVersion2, let query, !times.contains(query) { return respond(404) }
      let name = isVersion2 ? "all" : String((Int64(parts[0].split(separator: "/").last ?? "") ?? 0) / 1000)
      let found = times.filter { $0 > query ?? 0 }.map { "\(name)-\($0)" }.filter { items.contains($0) }
      let header = isVersion2 ? "x-key-bundle-tag" : "X-PUBLISHED-UNTIL"
      return found.isEmpty ? respond(204) : respond(200, document(found), [header: "\(times[3])"])
    }
  }

  static let immuni: World = {
    let numbers: [Int64] = [3, 4, 5, 7, 8, 9]
    return World(settings: source(.immuni), items: Set(numbers.map(String.init))) { request in
      let name = request.url.split(separator: "/").last.map(String.init) ?? ""
      if name == "index" { return respond(200, #"{"oldest":3,"newest":9}"#) }
      return Int64(name).map(numbers.contains) == true ? respond(200, document([name])) : respond(404)
    }
  }()

  static let efgs: World = {
    let tags = ["20201201-1", "20201201-2", "20201202-1", "20201202-2", "20201203-1"]
    return World(settings: source(.efgs), items: Set(tags)) { request in
      let day = request.url.suffix(10)
      let asked = request.headers.first { $0.name == "batchTag" }?.value
      guard day >= "2020-12-01" else { return respond(410) }
      let place =
        if let asked { tags.firstIndex(of: asked) } else {
          tags.firstIndex { $0.prefix(8) >= day.replacing("-", with: "") }
        }
      guard let place else { return respond(404) }
      let next = place + 1 < tags.count ? tags[place + 1] : "null"
      return respond(200, document([tags[place]]), ["batchTag": tags[place], "nextBatchTag": next])
    }
  }()

  static func sampleApp(wrapped: Bool) -> World {
    let keys = (0..<23).map { "key\($0)" }
    return World(settings: source(.sampleApp, ["maximumCount": "5"]), items: Set(keys)) { request in
      let numbers = request.url.split { $0 == "=" || $0 == "&" }.compactMap { Int($0) }
      let start = min(numbers[0], keys.count)
      let end = min(start + min(numbers[1], 1000), keys.count)
      let list = document(keys[start..<end].map { $0 })
      return respond(200, wrapped ? #"{"keys":\#(list),"done":\#(end == keys.count),"nextIndex":\#(end)}"# : list)
    }
  }

  static let files: World = {
    let names = (1...4).map { "\($0).json@9-160000000\($0).000000000" }
    return World(settings: source(.files, location: "/spool"), items: Set(names)) { request in
      if request.url.isEmpty { return respond(200, names.joined(separator: "\n") + "\n") }
      return names.contains(request.url) ? respond(200, document([request.url])) : respond(404)
    }
  }()
}
