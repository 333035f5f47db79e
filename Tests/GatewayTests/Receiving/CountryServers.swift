import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyConversion
import KeyFormats
import KeyIntake
import KeyNormalization
import KeyPeers
import KeyStorage
import Synchronization

// Key servers of countries, as they answered: in their order, with their names, and with their quirks. `layouts` of the manual's page
// "Pull from a country" says which.

/// A key, and when a person uploaded it.
struct UploadedKey: Sendable {
  let claim: ClaimedKey
  /// Seconds since 1970, by the server's clock.
  let time: Int64
}

/// What a server answers, given all keys that were uploaded so far and its own clock.
protocol CountryServer: Sendable {
  var settings: SourceSettings { get }
  /// Something happens: a run of the server, at a time when it is due.
  mutating func tick(_ keys: [UploadedKey], now: Int64, _ random: inout SeededRandom) throws
  mutating func answer(_ request: PeerRequest, _ path: String, now: Int64) throws -> MemoryPeer.Answer
}

/// One server behind a transport, with faults on the way.
final class PlayedServer: Transport {
  private struct State {
    var server: any CountryServer
    var keys: [UploadedKey] = []
    var now: Int64
    var random: SeededRandom
    var requests = 0
    var isFailing = false
  }

  private let state: Mutex<State>

  init(_ server: any CountryServer, at now: Int64, seed: UInt64) {
    state = Mutex(State(server: server, now: now, random: SeededRandom(seed: seed)))
  }

  var settings: SourceSettings { state.withLock { $0.server.settings } }
  var keys: [UploadedKey] { state.withLock { $0.keys } }
  var requests: Int { state.withLock { $0.requests } }
  var isFailing: Bool {
    get { state.withLock { $0.isFailing } }
    set { state.withLock { $0.isFailing = newValue } }
  }

  /// Time passes in steps of ten minutes, and people upload keys.
  func pass(seconds: Int64, uploading: Bool) throws {
    try state.withLock { state in
      let end = state.now + seconds
      while state.now < end {
        state.now += 600
        if uploading, state.random.once(in: 4) {
          var claim = ClaimedKey(key: TemporaryExposureKey(high: state.random.next(), low: state.random.next()))
          let day = state.now / 86_400 - Int64.random(in: 1...12, using: &state.random)
          claim.rollingStart = Int32(Day(daysSince1970: day).firstInterval.rawValue)
          claim.rollingPeriod = 144
          claim.transmissionRisk = .random(in: 1...8, using: &state.random)
          state.keys.append(UploadedKey(claim: claim, time: state.now))
        }
        try state.server.tick(state.keys, now: state.now, &state.random)
      }
    }
  }

  func ask(_ request: PeerRequest) async throws -> (head: ResponseHead, body: [UInt8]) {
    let answer = try answer(to: request)
    return (ResponseHead(status: answer.status, headers: answer.headers), answer.body)
  }

  func fetch(_ request: PeerRequest, into path: String, byteLimit: Int) async throws -> ResponseHead {
    let answer = try answer(to: request)
    if answer.status == 200 {
      let file = try OutputFile(path: path)
      try file.write(answer.body)
      try file.commit()
    }
    return ResponseHead(status: answer.status, headers: answer.headers)
  }

  private func answer(to request: PeerRequest) throws -> MemoryPeer.Answer {
    try state.withLock { state in
      state.requests += 1
      if state.isFailing, state.random.once(in: 8) {
        throw TransportFault(code: "time-out", reason: "nobody answers", isTemporary: true)
      }
      let path = request.url.split(separator: "/").dropFirst(2).joined(separator: "/")
      let answer = try state.server.answer(request, path, now: state.now)
      let tag = answer.headers.first { $0.name == "ETag" }?.value
      if let tag, request.headers.contains(where: { $0.name == "If-None-Match" && $0.value == tag }) {
        return MemoryPeer.Answer(status: 304, headers: answer.headers)
      }
      return answer
    }
  }
}

// MARK: - What servers have in common

/// The key with which a server signs, and files as it writes them.
struct FileSigner {
  let identity: SigningIdentity
  let region: String

  init(keyID: String, region: String) throws {
    identity = try SigningIdentity(key: .generate(), keyID: keyID, keyVersion: "v1")
    self.region = region
  }

  func settings(_ peer: PeerProtocol, _ options: [String: String], location: String) -> SourceSettings {
    SourceSettings(
      name: "country", peer: peer, location: location, options: options,
      trust: .ring(TrustRing(keys: [identity.verificationKey])), reading: Policy(name: "default"), origin: region)
  }

  /// An archive of these keys in their order.
  func file(_ keys: [UploadedKey], from start: Int64, to end: Int64) throws -> [UInt8] {
    let header = ExportHeader(
      startTimestamp: UInt64(start), endTimestamp: UInt64(end), region: region, batchNum: 1, batchSize: 1,
      signatureInfos: [identity.info])
    let sink = MemorySink()
    let claims = keys.map(\.claim)
    _ = try BundleWriter(signers: [identity], packing: .archive).write(header, to: ConversionOutput(document: sink)) {
      encoder in
      try claims.withUnsafeBufferPointer {
        try encoder.encode($0, regions: RegionTable(), unknownFields: UnknownFieldTable())
      }
    }
    return sink.bytes
  }
}

extension MemoryPeer.Answer {
  static func text(_ text: String, _ headers: KeyValuePairs<String, String> = [:]) -> MemoryPeer.Answer {
    MemoryPeer.Answer(body: Array(text.utf8), headers: headers.map { PeerRequest.Header($0.key, $0.value) })
  }

  static func status(_ status: Int) -> MemoryPeer.Answer { MemoryPeer.Answer(status: status) }
}

private func json(_ value: Any) throws -> String {
  String(decoding: try JSONSerialization.data(withJSONObject: value), as: UTF8.self)
}

private let fortnight: Int64 = 14 * 86_400

// MARK: - JSON lists

/// Every three hours one file for each rolling start among the new keys, numbered by a sequence that skips; a list that is written
/// again at each run and names the files of a fortnight by absolute addresses.
struct Japan: CountryServer {
  private let signer: FileSigner
  private var files: [(number: Int, time: Int64, body: [UInt8])] = []
  private var number = 366
  private var seen = 0
  private var version = 0

  init() throws { signer = try FileSigner(keyID: "440", region: "440") }

  var settings: SourceSettings { signer.settings(.list, ["preset": "japan"], location: "https://keys.example.org") }

  mutating func tick(_ keys: [UploadedKey], now: Int64, _ random: inout SeededRandom) throws {
    guard now % 10_800 == 0 else { return }
    let days = Dictionary(grouping: keys[seen...]) { $0.claim.rollingStart ?? 0 }
    seen = keys.count
    for (start, keys) in days.sorted(by: { $0.key < $1.key }) {
      number += Int.random(in: 1...23, using: &random)
      let day = Int64(start) * 600
      files.append((number, now, try signer.file(keys.shuffled(using: &random), from: day, to: day + 86_400)))
    }
    files.removeAll { $0.time <= now - fortnight }
    version += 1
  }

  mutating func answer(_ request: PeerRequest, _ path: String, now: Int64) throws -> MemoryPeer.Answer {
    if path == "c19r/440/list.json" {
      let list = files.map { file in
        ["region": "440", "url": "https://keys.example.org/c19r/440/\(file.number).zip", "created": file.time * 1000]
          as [String: Any]
      }
      return .text(try json(list), ["ETag": "\"0x\(version)\""])
    }
    guard let file = files.first(where: { path == "c19r/440/\($0.number).zip" }) else { return .status(404) }
    return MemoryPeer.Answer(body: file.body, headers: [.init("ETag", "\"\(file.number)\"")])
  }
}

/// A new folder at every run, so that names never repeat while keys do; some paths with the separators of Windows.
struct Austria: CountryServer {
  private let signer: FileSigner
  private var folders: [Int64: [String: [UInt8]]] = [:]
  private var index = #"{"full_14_batch":{"interval":0,"batch_file_paths":[]},"daily_batches":[]}"#

  init() throws { signer = try FileSigner(keyID: "232", region: "at") }

  var settings: SourceSettings { signer.settings(.list, ["preset": "austria"], location: "https://keys.example.org") }

  mutating func tick(_ keys: [UploadedKey], now: Int64, _ random: inout SeededRandom) throws {
    guard now % 14_400 == 0 else { return }
    var files: [String: [UInt8]] = [:]
    func batch(_ kind: String, _ keys: [UploadedKey], _ day: Int64) throws -> [String: Any] {
      let name = "batch\(kind)-\(day * 144)-1.zip"
      let path = "/exposures/at/\(now)/\(name)"
      if !keys.isEmpty { files[name] = try signer.file(keys, from: day * 86_400, to: day * 86_400 + 86_400) }
      let shown = random.once(in: 5) ? path.replacing("/", with: "\\") : path
      return ["interval": day * 144, "batch_file_paths": keys.isEmpty ? [] : [shown]]
    }
    let kept = keys.filter { Int64($0.claim.rollingStart ?? 0) * 600 > now - fortnight }
    let today = now / 86_400
    let daily = try (1...2).map { age in
      try batch("", kept.filter { Int64($0.claim.rollingStart ?? 0) / 144 == today - age }, today - age)
    }
    index = try json([
      "full_14_batch": try batch("_full14", kept, today - 14),
      "full_7_batch": try batch(
        "_full7", kept.filter { Int64($0.claim.rollingStart ?? 0) / 144 >= today - 7 }, today - 7),
      "daily_batches": daily,
    ])
    folders[now] = files
    folders = folders.filter { $0.key > now - 86_400 }
  }

  mutating func answer(_ request: PeerRequest, _ path: String, now: Int64) throws -> MemoryPeer.Answer {
    if path == "exposures/at/index.json" { return .text(index) }
    let parts = path.split(separator: "/").map(String.init)
    guard parts.count == 4, let folder = Int64(parts[2]), let body = folders[folder]?[parts[3]] else {
      return .status(404)
    }
    return MemoryPeer.Answer(body: body)
  }
}

/// Batches by the day, or by the day and the four hours since 1970, which are listed an hour after their end; 404 outside of a
/// fortnight and for a batch without keys.
struct Finland: CountryServer {
  private let signer: FileSigner
  private let isVersion2: Bool
  private var keys: [UploadedKey] = []

  init(isVersion2: Bool) throws {
    signer = try FileSigner(keyID: "244", region: "fi")
    self.isVersion2 = isVersion2
  }

  var settings: SourceSettings {
    signer.settings(
      .list, ["preset": isVersion2 ? "finland-v2" : "finland"], location: "https://keys.example.org")
  }

  mutating func tick(_ keys: [UploadedKey], now: Int64, _ random: inout SeededRandom) throws { self.keys = keys }

  private var length: Int64 { isVersion2 ? 14_400 : 86_400 }

  private func id(_ number: Int64) -> String { isVersion2 ? "\(number / 6)_\(number)" : "\(number)" }

  mutating func answer(_ request: PeerRequest, _ path: String, now: Int64) throws -> MemoryPeer.Answer {
    let batches = Dictionary(grouping: keys) { $0.time / length }
      .filter { ($0.key + 1) * length + 3600 <= now && $0.key * length > now - fortnight }
    let parts = path.split { "?&=".contains($0) }.map(String.init)
    if parts.first == "diagnosis/v1/list" {
      guard parts.contains("en-api-version") == isVersion2, let place = parts.firstIndex(of: "previous"),
        place + 1 < parts.count, let previous = Int64(parts[place + 1].split(separator: "_").last ?? "")
      else { return .status(400) }
      return .text(try json(["batches": batches.keys.filter { $0 > previous }.sorted().map(id)]))
    }
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    guard let number = Int64(name.split(separator: "_").last ?? ""), id(number) == name, let keys = batches[number]
    else {
      return .status(404)
    }
    return MemoryPeer.Answer(body: try signer.file(keys, from: number * length, to: (number + 1) * length))
  }
}

/// Addresses of files of a day or less.
struct Croatia: CountryServer {
  private let signer: FileSigner
  private var files: [(name: String, time: Int64, body: [UInt8])] = []
  private var seen = 0

  init() throws { signer = try FileSigner(keyID: "219", region: "HR") }

  var settings: SourceSettings { signer.settings(.list, ["preset": "croatia"], location: "https://keys.example.org") }

  mutating func tick(_ keys: [UploadedKey], now: Int64, _ random: inout SeededRandom) throws {
    guard now % 43_200 == 0, seen < keys.count else { return }
    let name = "files/\(now - 43_200)-\(now)-00001.zip"
    files.append((name, now, try signer.file(Array(keys[seen...]), from: now - 43_200, to: now)))
    seen = keys.count
    files.removeAll { $0.time <= now - fortnight }
  }

  mutating func answer(_ request: PeerRequest, _ path: String, now: Int64) throws -> MemoryPeer.Answer {
    if path == "submission/diagnosis-key-file-urls" {
      return .text(try json(["urlList": files.map { "https://keys.example.org/\($0.name)" }]))
    }
    return files.first { $0.name == path }.map { MemoryPeer.Answer(body: $0.body) } ?? .status(404)
  }
}

// MARK: - Names by the clock

/// Thirteen minutes before each even hour all files are written again, with the keys in another order: fifteen days, the running one
/// included, and 168 files of two hours. Days from the fifteenth to the thirtieth before are emptied. A name is the end of its
/// time, and its keys came up to a quarter of an hour before. 403 stands for what is not there.
struct EnglandAndWales: CountryServer {
  private let signer: FileSigner
  private let responseSigner: SigningIdentity
  private var files: [String: [UInt8]] = [:]
  private var run: Int64 = 0

  init() throws {
    signer = try FileSigner(keyID: "234", region: "")
    responseSigner = try SigningIdentity(key: .generate(), keyID: "0", keyVersion: "v1")
  }

  var settings: SourceSettings {
    signer.settings(
      .calendar, ["preset": "england-and-wales", "key": responseSigner.verificationKey.publicKey.pem],
      location: "https://keys.example.org")
  }

  mutating func tick(_ keys: [UploadedKey], now: Int64, _ random: inout SeededRandom) throws {
    guard now % 7200 == 6600 else { return }
    run = now
    files = [:]
    let boundary = now + 600
    let lastDay = (boundary + 86_399) / 86_400
    func write(_ name: String, _ start: Int64, _ end: Int64, isEmptied: Bool = false) throws {
      let keys = isEmptied ? [] : keys.filter { (start - 900..<end - 900).contains($0.time) }
      files[name] = try signer.file(keys.shuffled(using: &random), from: start - 900, to: end - 900)
    }
    func digits(_ end: Int64) -> String {
      let hour = end % 86_400 / 3600
      return Day(daysSince1970: end / 86_400).description.replacing("-", with: "") + (hour < 10 ? "0" : "") + "\(hour)"
    }
    for age in 0...30 as ClosedRange<Int64> {
      let end = (lastDay - age) * 86_400
      try write("daily/\(digits(end))", end - 86_400, end, isEmptied: age > 14)
    }
    for number in 0..<20 as Range<Int64> {
      let end = boundary - number * 7200
      try write("two-hourly/\(digits(end))", end - 7200, end)
    }
  }

  mutating func answer(_ request: PeerRequest, _ path: String, now: Int64) throws -> MemoryPeer.Answer {
    let name = path.replacing("distribution/", with: "").replacing(".zip", with: "")
    guard let body = files[name] else { return .status(403) }
    let date = HTTPDate.text(Instant(secondsSince1970: run)).replacing("GMT", with: "UTC")
    let signature = try sign(ExportDigests(of: Array("\(date):".utf8) + body), with: [responseSigner])[0].signature
    return MemoryPeer.Answer(
      body: body,
      headers: [
        .init("ETag", "\"\(run)-\(name)\""), .init("x-amz-meta-signature-date", date),
        .init("x-amz-meta-signature", "keyId=\"0\",signature=\"\(Base64.encode(signature))\""),
      ])
  }
}

/// Files of the days of upload, today included, sorted and signed at each request. Keys that begin a fortnight before or earlier
/// are left out, so a day shrinks. 401 for the HMAC of another hour, 404 for a day to come, 410 for one before a fortnight.
struct Canada: CountryServer {
  private let signer: FileSigner
  private let key: [UInt8] = (0..<32).map { $0 }
  private let isToday: Bool
  private var keys: [UploadedKey] = []

  init(isToday: Bool) throws {
    signer = try FileSigner(keyID: "302", region: "CA")
    self.isToday = isToday
  }

  var settings: SourceSettings {
    var settings = signer.settings(
      .calendar, ["preset": "canada", "today": "\(isToday)"], location: "https://keys.example.org")
    settings.secrets["hmac-key"] = Secret(Hexadecimal.encode(key))
    return settings
  }

  mutating func tick(_ keys: [UploadedKey], now: Int64, _ random: inout SeededRandom) throws { self.keys = keys }

  mutating func answer(_ request: PeerRequest, _ path: String, now: Int64) throws -> MemoryPeer.Answer {
    let parts = path.split(separator: "/").map(String.init)
    guard parts.count == 4, parts[2].utf8.count == 5, let period = Int64(parts[2]) else { return .status(404) }
    let messages = (-1...1 as ClosedRange<Int64>).map { "302:\(parts[2]):\(now / 3600 + $0)" }
    let stated = request.seal?.text(under: Secret(Hexadecimal.encode(key)))
    let isKnown = messages.contains { message in
      stated == Hexadecimal.encode(KeyedHash(secret: key).bytes(for: Array(message.utf8)))
    }
    guard parts[3] == "{seal}", isKnown else { return .status(401) }
    let today = now / 86_400
    guard period <= today else { return .status(404) }
    guard period >= today - 14 else { return .status(410) }
    let keys = keys.filter { key in
      key.time / 86_400 == period && Int64(key.claim.rollingStart ?? 0) / 144 > today - 14
    }
    let body = try signer.file(
      keys.sorted { $0.claim.key < $1.claim.key }, from: period * 86_400, to: period * 86_400 + 86_400)
    return MemoryPeer.Answer(body: body, headers: [.init("Cache-Control", "public, max-age=3600, max-stale=600")])
  }
}

/// Every two hours a file of what came since, counted from 1 for each day; 204 for a number that is not there, 400 for a day to come
/// or one before a fortnight.
struct Denmark: CountryServer {
  private let signer: FileSigner
  private var files: [String: [UInt8]] = [:]
  private var counts: [String: Int] = [:]
  private var seen = 0

  init() throws { signer = try FileSigner(keyID: "208", region: "DK") }

  var settings: SourceSettings {
    var settings = signer.settings(.calendar, ["preset": "denmark"], location: "https://keys.example.org")
    settings.interval = 3600
    return settings
  }

  mutating func tick(_ keys: [UploadedKey], now: Int64, _ random: inout SeededRandom) throws {
    guard now % 7200 == 0, seen < keys.count else { return }
    // The file of midnight is the last one of the day before.
    let day = Day(daysSince1970: (now - 1) / 86_400).description
    counts[day, default: 0] += 1
    files["\(day)_\(counts[day] ?? 0)_all"] = try signer.file(Array(keys[seen...]), from: now - 7200, to: now)
    seen = keys.count
  }

  mutating func answer(_ request: PeerRequest, _ path: String, now: Int64) throws -> MemoryPeer.Answer {
    let name = path.replacing("api/v3/diagnostickeys/", with: "").replacing(".zip", with: "")
    let parts = name.split(separator: "_")
    guard parts.count == 3, parts[2] == "all", let day = Day(parts[0]), let number = Int(parts[1]), number > 0,
      (now / 86_400 - 14...now / 86_400).contains(day.daysSince1970)
    else { return .status(400) }
    guard let body = files[name] else { return .status(204) }
    let count = counts[day.description] ?? 0
    return MemoryPeer.Answer(
      body: body,
      headers: [
        .init("nextBatchExists", number < count ? "True" : "False"), .init("lastBatchReturned", "\(number)"),
      ])
  }
}

/// Version 1: the files of a day are made again while it runs, with the keys in another order, and are counted from 0.
struct Norway: CountryServer {
  private let signer: FileSigner
  private var keys: [UploadedKey] = []
  private var random = SeededRandom(seed: 47)

  init() throws { signer = try FileSigner(keyID: "242", region: "NO") }

  var settings: SourceSettings {
    signer.settings(.calendar, ["preset": "norway", "version": "v1"], location: "https://keys.example.org")
  }

  mutating func tick(_ keys: [UploadedKey], now: Int64, _ random: inout SeededRandom) throws { self.keys = keys }

  mutating func answer(_ request: PeerRequest, _ path: String, now: Int64) throws -> MemoryPeer.Answer {
    let name = path.replacing("API/v1/diagnostickeys/", with: "").replacing(".zip", with: "")
    let parts = name.split(separator: ":")
    guard parts.count == 2, let day = Day(parts[0]), let number = Int(parts[1]),
      (now / 86_400 - 14...now / 86_400).contains(day.daysSince1970)
    else { return .status(400) }
    var all = keys.filter { $0.time / 86_400 == day.daysSince1970 }
    guard !all.isEmpty else { return .status(204) }
    let isFinal = day.daysSince1970 < now / 86_400
    if !isFinal { all.shuffle(using: &random) }
    if random.once(in: 40) { return .status(202) }
    let count = isFinal ? (all.count + 9) / 10 : 1
    guard number < count else { return .status(404) }
    let part = isFinal ? Array(all[number * 10..<min(all.count, number * 10 + 10)]) : all
    return MemoryPeer.Answer(
      body: try signer.file(part, from: day.start.secondsSince1970, to: day.start.secondsSince1970 + 86_400),
      headers: [.init("Batchcount", "\(count)"), .init("FinalForTheDay", isFinal ? "True" : "False")])
  }
}

// MARK: - A list behind a token

/// Every two hours a file of what came since. Of all files after the last key of the file that the client names, the server lists
/// those that begin soonest and hold most, at least six; a number that it does not know, or deleted, is as good as none. Access
/// tokens live for a quarter of an hour, and a few requests.
struct Ireland: CountryServer {
  private struct File {
    let id: Int64
    let path: String
    let first: Int
    let last: Int
    let time: Int64
    let body: [UInt8]
  }

  private let signer: FileSigner
  private var files: [File] = []
  private var keys: [UploadedKey] = []
  private var id: Int64 = 40
  private var seen = 0
  private var token = (number: 0, uses: 0, time: Int64(0))

  init() throws { signer = try FileSigner(keyID: "272", region: "IE") }

  var settings: SourceSettings {
    var settings = signer.settings(.covidGreen, [:], location: "https://keys.example.org/api")
    settings.secrets["refresh-token"] = Secret("a-refresh-token")
    return settings
  }

  mutating func tick(_ keys: [UploadedKey], now: Int64, _ random: inout SeededRandom) throws {
    self.keys = keys
    guard now % 7200 == 0, seen < keys.count else { return }
    // Some files also hold what the ones before them have.
    let first = random.once(in: 3) ? max(0, seen - Int.random(in: 0...9, using: &random)) : seen
    id += .random(in: 1...4, using: &random)
    files.append(
      File(
        id: id, path: "exposures/ie/\(now)123.zip", first: first, last: keys.count - 1, time: now,
        body: try signer.file(
          keys[first...].sorted { $0.claim.key < $1.claim.key }, from: keys[first].time, to: keys[keys.count - 1].time))
    )
    seen = keys.count
    files.removeAll { $0.time <= now - fortnight }
  }

  mutating func answer(_ request: PeerRequest, _ path: String, now: Int64) throws -> MemoryPeer.Answer {
    let stated = request.headers.first { $0.name == "Authorization" }?.value
    if path == "api/refresh" {
      guard request.body != nil, stated == "Bearer {refresh-token}" else { return .status(401) }
      token = (token.number + 1, 0, now)
      return .text(#"{"token":"jwt.\#(token.number).sig"}"#)
    }
    token.uses += 1
    guard stated == "Bearer jwt.\(token.number).sig", now - token.time <= 900, token.uses <= 11 else {
      return .status(401)
    }
    guard path.hasPrefix("api/exposures?") else {
      let file = files.first { path == "api/data/\($0.path)" }
      return file.map { MemoryPeer.Answer(body: $0.body) } ?? .status(404)
    }
    let parts = path.split { "?&=".contains($0) }.map(String.init)
    let since = Int64(parts[2]) ?? 0
    var reached = files.first { $0.id == since }?.last ?? -1
    var listed: [[String: Any]] = []
    while listed.count < 6 {
      let after = files.filter { $0.last > reached }
      guard let soonest = after.map({ max($0.first, reached + 1) }).min(),
        let best = after.filter({ max($0.first, reached + 1) == soonest }).max(by: { $0.last < $1.last })
      else { break }
      listed.append(["id": best.id, "path": best.path])
      reached = best.last
    }
    return .text(try json(listed))
  }
}

// MARK: - A sealed manifest

/// Every four hours a key set of what came since, known by an id, and a manifest of those of a fortnight. Archives carry CMS
/// beside their content. The window of a key set is the day before, whatever its keys.
struct Netherlands: CountryServer {
  private let signer: FileSigner
  private let seal: BatchSigningIdentity
  private var sets: [(id: String, time: Int64, body: [UInt8])] = []
  private var manifest: [UInt8] = []
  private var version: Int64 = 0
  private var seen = 0

  init() throws {
    signer = try FileSigner(keyID: "204", region: "NL")
    seal = try BatchSigningIdentity(
      certificate: FederationCertificate(pem: try CoronaMelderTests.text("signer.pem")),
      key: Secret(try CoronaMelderTests.text("signer.key")))
  }

  var settings: SourceSettings {
    let root = (try? CoronaMelderTests.text("root.pem")) ?? ""
    return signer.settings(.coronaMelder, ["ca": root], location: "https://keys.example.org")
  }

  /// The first entry is what is sealed.
  private func archive(_ entries: [(StaticString, [UInt8])], now: Int64) throws -> [UInt8] {
    let sink = MemorySink()
    let writer = ZipWriter(sink, date: Instant(secondsSince1970: now))
    let signature = try seal.sign(entries[0].1, at: Instant(secondsSince1970: now))
    for (name, bytes) in entries + [("content.sig", signature)] {
      try writer.addEntry(name) { try $0.write(bytes) }
    }
    try writer.finish()
    return sink.bytes
  }

  mutating func tick(_ keys: [UploadedKey], now: Int64, _ random: inout SeededRandom) throws {
    guard now % 14_400 == 0 || version == 0 else { return }
    if seen < keys.count {
      let file = try signer.file(keys[seen...].shuffled(using: &random), from: now - 86_400, to: now)
      let export = try entry("export.bin", of: file) ?? []
      let signatures = try entry("export.sig", of: file) ?? []
      let body = try archive([("export.bin", export), ("export.sig", signatures)], now: now)
      sets.append((ExportDigests(of: export).hexadecimal, now, body))
      seen = keys.count
    }
    sets.removeAll { $0.time <= now - fortnight }
    let content = try json(["exposureKeySets": sets.map(\.id), "appConfig": "01"])
    manifest = try archive([("content.bin", Array(content.utf8))], now: now)
    version = now
  }

  mutating func answer(_ request: PeerRequest, _ path: String, now: Int64) throws -> MemoryPeer.Answer {
    if path == "v4/manifest" {
      return MemoryPeer.Answer(
        body: manifest, headers: [.init("Cache-Control", "public, s-maxage=30"), .init("ETag", "\"\(version)\"")])
    }
    guard let set = sets.first(where: { path == "v4/exposurekeyset/\($0.id)" }) else { return .status(404) }
    return MemoryPeer.Answer(body: set.body, headers: [.init("ETag", "\"\(set.id)\"")])
  }
}
