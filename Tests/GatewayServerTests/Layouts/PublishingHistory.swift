import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyPublishing

@testable import GatewayServer

/// A series in the course of time, as its manifests tell it: windows with and without keys, keys that arrive late and
/// go out in the window of their arrival, revisions, roll-ups that grow, split windows, outages, expiry.
struct PublishingHistory {
  struct Habits {
    var name = "NL"
    var period: Int64 = 7200
    var publishesEmptyWindows = false
    var splits = true
    var makesSince = true
    var makesKeyDays = true
    /// 0 is none.
    var editionsPerDay = 0
    var listedDays: Int64 = 14
  }

  let habits: Habits
  private(set) var bundles: [SeriesManifest.Bundle] = []
  /// The numbers of the released keys of each bundle, by path.
  private(set) var released: [String: [Int]] = [:]
  /// Everything published up to here.
  private(set) var published: Int64
  private(set) var written: Int64
  private var nextKey = 0
  private var editionEnd: Int64 = .min
  /// The day, since 1970, on which each key began to be used.
  private(set) var keyDays: [Int: Int64] = [:]

  static let firstDay = Day("2020-12-01")?.start.secondsSince1970 ?? 0

  init(_ habits: Habits = Habits(), from start: Int64 = firstDay) {
    self.habits = habits
    published = start
    written = start
  }

  var manifest: SeriesManifest {
    SeriesManifest(
      series: habits.name, title: habits.name, regions: [habits.name], headerRegion: nil, appBundleID: nil,
      androidPackage: nil, period: habits.period,
      editionsPerDay: habits.editionsPerDay > 0 ? habits.editionsPerDay : nil, keys: [], written: written,
      bundles: bundles)
  }

  var listedIncrements: [SeriesManifest.Bundle] { bundles.filter { $0.kind == "increment" && $0.isListed } }

  /// The released keys of all listed increments, by ordinal.
  var listedKeys: [Int] { listedIncrements.flatMap { released[$0.path] ?? [] } }

  /// Everything that is due, then roll-ups, then expiry: one round of publishing.
  mutating func publish(at now: Int64, using random: inout SeededRandom) {
    var days: Set<Int64> = []
    while published + habits.period <= now {
      publishWindow(from: published, now, &random)
      days.insert(published / 86_400)
      published += habits.period
    }
    for day in days.sorted() { rollUp("day", from: day * 86_400, below: (day + 1) * 86_400, now, &random) }
    if habits.makesSince, let last = days.max() {
      for start in stride(from: last - 4, through: last, by: 2) {
        rollUp("since", from: start * 86_400, below: .max, now, &random)
      }
    }
    if habits.makesKeyDays { gatherKeyDays(now) }
    if habits.editionsPerDay > 0 { closeEditions(now) }
    for index in bundles.indices where bundles[index].end <= now - habits.listedDays * 86_400 {
      bundles[index].isListed = false
    }
    written = now
  }

  /// Takes a bundle out of the indexes, as a recall does.
  mutating func unlist(ordinal: Int) {
    for index in bundles.indices where bundles[index].kind == "increment" && bundles[index].ordinal == ordinal {
      bundles[index].isListed = false
    }
  }

  private mutating func publishWindow(from start: Int64, _ now: Int64, _ random: inout SeededRandom) {
    let count = random.once(in: 3) ? 0 : Int.random(in: 1...4, using: &random)
    guard count > 0 || habits.publishesEmptyWindows else { return }
    let parts = habits.splits && random.once(in: 8) ? 2 : 1
    for part in 0..<parts {
      let keys = Array(nextKey..<nextKey + count)
      nextKey += count
      for key in keys { keyDays[key] = start / 86_400 - Int64.random(in: 0...13, using: &random) }
      let end = start + habits.period + Int64(part)
      add("increment", start, end, keys, revised: Int.random(in: 0...2, using: &random), now, part: part)
    }
  }

  private mutating func rollUp(
    _ kind: String, from start: Int64, below limit: Int64, _ now: Int64, _ random: inout SeededRandom
  ) {
    let increments = bundles.filter { $0.kind == "increment" && $0.start >= start && $0.start < limit }
    guard let end = increments.map({ $0.start + habits.period }).max() else { return }
    let older = bundles.indices.filter { bundles[$0].kind == kind && bundles[$0].start == start }
    if older.contains(where: { bundles[$0].isListed && bundles[$0].end == end }) { return }
    for index in older { bundles[index].isListed = false }
    let keys = increments.flatMap { released[$0.path] ?? [] }
    let parts = habits.splits && random.once(in: 8) ? 2 : 1
    for part in 0..<parts {
      let share = keys.enumerated().filter { $0.offset % parts == part }.map(\.element)
      add(kind, start, end + Int64(part), share, revised: 0, now, part: part)
    }
  }

  /// One whole archive a key day, made again when a key of that day was published.
  private mutating func gatherKeyDays(_ now: Int64) {
    let listed = listedIncrements
    guard let end = listed.map({ $0.start + habits.period }).max() else { return }
    let keys = Dictionary(grouping: listed.flatMap { released[$0.path] ?? [] }) { keyDays[$0] ?? 0 }
    for (day, keys) in keys where day > now / 86_400 - habits.listedDays {
      let older = bundles.indices.filter { bundles[$0].kind == "key-day" && bundles[$0].start == day * 86_400 }
      if older.contains(where: { bundles[$0].isListed && Set(released[bundles[$0].path] ?? []).isSuperset(of: keys) }) {
        continue
      }
      for index in older { bundles[index].isListed = false }
      add("key-day", day * 86_400, end, keys, revised: 0, now)
    }
  }

  /// One archive of what was published in a part of a day, once that is over.
  private mutating func closeEditions(_ now: Int64) {
    let length = 86_400 / Int64(habits.editionsPerDay)
    let due = listedIncrements.filter { $0.start >= editionEnd && $0.start < published / length * length }
    for (part, increments) in Dictionary(grouping: due, by: { $0.start / length }).sorted(by: { $0.key < $1.key }) {
      let keys = increments.flatMap { released[$0.path] ?? [] }
      add("edition", part * length, (part + 1) * length, keys, revised: 0, now)
    }
    editionEnd = published / length * length
  }

  private mutating func add(
    _ kind: String, _ start: Int64, _ end: Int64, _ keys: [Int], revised: Int, _ now: Int64, part: Int = 0
  ) {
    let ordinal = bundles.count { $0.kind == kind }
    let kindPrefix = kind == "increment" ? "" : kind + "-"
    let path = "\(habits.name)/\(kindPrefix)\(start)-\(end)-0000\(part + 1).zip"
    released[path] = keys
    bundles.append(
      SeriesManifest.Bundle(
        kind: kind, ordinal: ordinal, path: path, start: start, end: end, published: now, isListed: true,
        keys: keys.count, revisedKeys: revised, bytes: 400 + 30 * (keys.count + revised), sha256: "", exportSHA256: "",
        keyID: "204", keyVersion: "v1"))
  }

  /// The `export.bin` of a bundle; a key's number is in its data.
  func export(of bundle: PublishedBundle) throws -> [UInt8] {
    let facts = bundle.facts
    var keys = (released[facts.path] ?? []).map { PublishingHistory.key($0, revised: false) }
    keys += (0..<facts.revisedKeys).map { PublishingHistory.key($0, revised: true) }
    let sink = MemorySink()
    let encoder = ExportEncoder(OutputBuffer(sink))
    let header = ExportHeader()
    try encoder.begin(header)
    try keys.withUnsafeBufferPointer {
      try encoder.encode($0, regions: RegionTable(), unknownFields: UnknownFieldTable())
    }
    try encoder.finish(header)
    return sink.bytes
  }

  /// The number in a key's data.
  static func number(inKeyData data: some Collection<UInt8>) -> Int {
    data.prefix(8).reduce(0) { $0 << 8 | Int($1) }
  }

  private static func key(_ number: Int, revised: Bool) -> ClaimedKey {
    var key = ClaimedKey(key: TemporaryExposureKey(high: UInt64(number), low: .max))
    key.rollingStart = 2_678_400
    // What the format may leave out, the answers for apps must not.
    key.rollingPeriod = number % 3 == 0 ? nil : 144
    key.transmissionRisk = number % 2 == 0 ? nil : 3
    key.isRevised = revised
    return key
  }
}

/// What a layout answers to a client of the tests.
struct AskedLayout {
  let layout: any Layout
  var publications: Publications
  var now: Int64

  static let baseURL = "https://keys.example.org"

  init(_ layout: any Layout, _ history: PublishingHistory, now: Int64? = nil) {
    self.init(layout, [history], now: now)
  }

  init(_ layout: any Layout, _ histories: [PublishingHistory], now: Int64? = nil) {
    self.layout = layout
    publications = Publications(series: histories.map { PublishedSeries($0.manifest) })
    self.now = now ?? histories.map(\.written).max() ?? 0
  }

  /// - Parameter address: a path with its query, or a whole address of this server.
  func ask(_ address: String) -> LayoutAnswer? {
    var rest = address[...]
    if rest.hasPrefix(Self.baseURL) { rest = rest.dropFirst(Self.baseURL.count) }
    let parts = rest.split(separator: "?", maxSplits: 1)
    var query: [QueryParameter: String] = [:]
    for pair in parts.count > 1 ? parts[1].split(separator: "&") : [] {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let parameter = QueryParameter(named: String(sides[0])) else { continue }
      query[parameter] = sides.count > 1 ? String(sides[1]) : ""
    }
    let path = parts.isEmpty ? [] : parts[0].split(separator: "/").map(String.init)
    return layout.answer(
      LayoutRequest(
        path: path, query: query, baseURL: Self.baseURL, now: Instant(secondsSince1970: now)),
      from: publications)
  }
}

extension LayoutAnswer {
  var text: String? {
    guard case .bytes(let bytes, _) = content else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  var bundle: PublishedBundle? {
    guard case .archive(let bundle) = content else { return nil }
    return bundle
  }

  /// As HTTP has it.
  var status: Int {
    switch content {
    case .archive, .member, .bytes, .page: 200
    case .nothing: 204
    case .badRequest: 400
    case .notFound: 404
    }
  }

  func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
