import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyConversion
import KeyFormats
import KeyIntake
import KeyNormalization
import KeyPeers
import KeyReceiving
import KeyStorage
import Synchronization

/// A key server of another country, and what it has published, behind a transport in this process. It answers as its
/// protocol says, or as its mood is.
final class ForeignServer: Transport {
  enum Speech: String, CaseIterable {
    case index, immuni
    case coronaWarnApp = "corona-warn-app"
    case federation
  }

  /// How it answers now.
  enum Mood: String, CaseIterable {
    case honest
    /// Nobody is there.
    case down
    /// Every second answer comes too late.
    case slow
    /// A page for people, with status 200.
    case page
    /// Somebody else has signed what it sends.
    case forged
    /// The second half of what it sends is missing.
    case truncated
    /// What it lists, it lists twice and in the wrong order.
    case confused
  }

  private struct Publication {
    var document: DecodedDocument
    let time: Int64
    /// Below its day in a federation, counted from 1.
    let number: Int
  }

  private struct State {
    var mood = Mood.honest
    var publications: [Publication] = []
    var bytes: [String: [UInt8]] = [:]
    var requests = 0
  }

  let name: String
  let country: String
  let speech: Speech
  private let identity: SigningIdentity
  private let stranger: SigningIdentity
  private let machine: Machine
  private let state = Mutex(State())

  /// Seconds that it lists what it has published.
  static let listedSeconds: Int64 = 14 * 86_400

  init(_ name: String, country: String, _ speech: Speech, on machine: Machine) throws {
    self.name = name
    self.country = country
    self.speech = speech
    self.machine = machine
    identity = try SigningIdentity(key: .generate(), keyID: name, keyVersion: "v1")
    stranger = try SigningIdentity(key: .generate(), keyID: name, keyVersion: "v1")
  }

  private var host: String { "keys.\(name).example" }

  var settings: SourceSettings {
    var policy = Policy(name: "default")
    policy.reading.floodFloor = 60
    let (peer, options): (PeerProtocol, [String: String]) =
      switch speech {
      case .index: (.index, ["index": "index.txt"])
      case .immuni: (.immuni, [:])
      case .coronaWarnApp: (.coronaWarnApp, ["country": country, "hours": "true"])
      case .federation: (.efgs, ["days": "14"])
      }
    var settings = SourceSettings(
      name: name, peer: peer, location: "https://\(host)/", options: options,
      trust: speech == .federation ? .host : .ring(TrustRing(keys: [identity.verificationKey])), reading: policy,
      origin: speech == .federation ? nil : country, speaksFor: speech == .federation ? .any : nil)
    // One after the other, so that a seed sees the same order again.
    settings.transport.connectionsPerHost = 1
    return settings
  }

  var mood: Mood {
    get { state.withLock { $0.mood } }
    set { state.withLock { $0.mood = newValue } }
  }

  // MARK: What it publishes

  /// - Returns: the names of the documents that have the keys.
  func publish(_ document: DecodedDocument) -> [String] {
    let time = machine.truth
    return state.withLock { state in
      let day = time / 86_400
      let number = 1 + state.publications.count { $0.time / 86_400 == day }
      state.publications.append(Publication(document: document, time: time, number: number))
      return names(of: state.publications.count - 1, state)
    }
  }

  /// Gives other content to a name that it has published.
  ///
  /// - Returns: the names of the documents that changed; empty where nothing can.
  func replace(_ index: Int, with document: DecodedDocument) -> [String] {
    state.withLock { state in
      guard state.publications.indices.contains(index) else { return [] }
      let names = names(of: index, state)
      state.publications[index].document = document
      for name in state.bytes.keys.filter({ key in names.contains { key.hasSuffix($0) } }) { state.bytes[name] = nil }
      return names
    }
  }

  var publicationCount: Int { state.withLock { $0.publications.count } }

  private func names(of index: Int, _ state: State) -> [String] {
    let publication = state.publications[index]
    let day = Instant(secondsSince1970: publication.time).day.description
    switch speech {
    case .index: return ["keys/\(index).zip"]
    case .immuni: return ["\(index + 1)"]
    case .coronaWarnApp: return ["\(country)/\(day)/\(publication.time % 86_400 / 3600)", "\(country)/\(day)"]
    case .federation: return ["\(day)/\(Self.tag(publication))"]
    }
  }

  private static func tag(_ publication: Publication) -> String {
    let day = Instant(secondsSince1970: publication.time).day.description
    return day.replacing("-", with: "") + "-\(publication.number)"
  }

  // MARK: How it answers

  func ask(_ request: PeerRequest) async throws -> (head: ResponseHead, body: [UInt8]) { try answer(to: request) }

  func fetch(_ request: PeerRequest, into path: String, byteLimit: Int) async throws -> ResponseHead {
    let (head, body) = try answer(to: request)
    if let tag = head["etag"], request.headers.contains(where: { $0.name == "If-None-Match" && $0.value == tag }) {
      return ResponseHead(status: 304, headers: head.headers, provenHost: head.provenHost)
    }
    if head.status == 200 {
      let file = try OutputFile(path: path)
      try file.write(body)
      try file.commit()
    }
    return head
  }

  private func answer(to request: PeerRequest) throws -> (ResponseHead, [UInt8]) {
    try state.withLock { state in
      state.requests += 1
      if state.mood == .down || (state.mood == .slow && state.requests.isMultiple(of: 2)) {
        throw TransportFault(
          code: state.mood == .down ? "not-connected" : "timed-out", reason: "nobody answers", isTemporary: true)
      }
      let path = request.url.split(separator: "/").dropFirst(2).joined(separator: "/")
      var (status, body, headers) = try content(of: path, request, &state)
      if state.mood == .page {
        (status, body) = (200, Array("<html><body>We are moving.</body></html>".utf8))
        headers = []
      }
      if state.mood == .truncated, body.count > 200 { body = Array(body.prefix(body.count / 2)) }
      if status == 200, body.count > 100 { headers.append(.init("ETag", "\"\(sha256(body).prefix(16))\"")) }
      headers.append(.init("Date", HTTPDate.text(Instant(secondsSince1970: machine.truth))))
      return (ResponseHead(status: status, headers: headers, provenHost: ProvenHost(provenByTLS: host)), body)
    }
  }

  private typealias Content = (status: Int, body: [UInt8], headers: [PeerRequest.Header])

  private func content(of path: String, _ request: PeerRequest, _ state: inout State) throws -> Content {
    let oldest = machine.truth - Self.listedSeconds
    let listed = state.publications.indices.filter { state.publications[$0].time > oldest }
    func text(_ text: String) -> Content { (200, Array(text.utf8), []) }
    let none: Content = (404, [], [])
    switch speech {
    case .index:
      guard path != "index.txt" else {
        var lines = listed.map { "keys/\($0).zip" }
        if state.mood == .confused { lines = lines.reversed() + lines }
        return text(lines.joined(separator: "\n"))
      }
      guard let index = listed.first(where: { path == "keys/\($0).zip" }) else { return none }
      return (200, try bundle([index], path, &state), [])
    case .immuni:
      guard path != "v1/keys/index" else {
        guard let first = listed.first, let last = listed.last else { return none }
        return text(#"{"oldest":\#(first + 1),"newest":\#(last + 1)}"#)
      }
      guard let number = path.split(separator: "/").last.flatMap({ Int($0) }), listed.contains(number - 1) else {
        return none
      }
      return (200, try bundle([number - 1], path, &state), [])
    case .coronaWarnApp: return try packages(path, listed, &state) ?? none
    case .federation: return try batch(path, request, listed, &state) ?? none
    }
  }

  private func packages(_ path: String, _ listed: [Int], _ state: inout State) throws -> Content? {
    let parts = path.split(separator: "/").dropFirst(5).map(String.init)
    let hour = machine.truth / 3600
    // A package is there when its time is over.
    let over = listed.filter { state.publications[$0].time / 3600 < hour }
    let days = Dictionary(grouping: over) { state.publications[$0].time / 86_400 }
    func json(_ text: [String]) -> Content { (200, Array("[\(text.joined(separator: ","))]".utf8), []) }
    if parts == ["date"] {
      let complete = days.keys.filter { $0 < hour / 24 }.sorted()
      return json(complete.map { "\"\(Day(daysSince1970: $0))\"" })
    }
    guard parts.count > 1, let day = Day(parts[1]), let indexes = days[day.daysSince1970] else { return nil }
    let hours = Dictionary(grouping: indexes) { state.publications[$0].time / 3600 % 24 }
    switch parts.count {
    case 2: return day.daysSince1970 < hour / 24 ? (200, try bundle(indexes, path, &state), []) : nil
    case 3: return json(hours.keys.sorted().map(String.init))
    default:
      guard let indexes = Int64(parts[3]).flatMap({ hours[$0] }) else { return nil }
      return (200, try bundle(indexes, path, &state), [])
    }
  }

  private func batch(
    _ path: String, _ request: PeerRequest, _ listed: [Int], _ state: inout State
  ) throws -> Content? {
    guard let day = path.split(separator: "/").last.flatMap({ Day($0) }) else { return nil }
    let asked = request.headers.first { $0.name == "batchTag" }?.value
    let found = listed.first { index in
      let publication = state.publications[index]
      return asked.map { $0 == Self.tag(publication) } ?? (publication.time / 86_400 == day.daysSince1970)
    }
    guard let found else { return nil }
    let publications = state.publications
    let next = listed.first { $0 > found }.map { Self.tag(publications[$0]) } ?? "null"
    let body = try state.bytes[path + "#\(found)"] ?? ReferenceBatch.encode(publications[found].document)
    state.bytes[path + "#\(found)"] = body
    return (200, body, [.init("batchTag", Self.tag(publications[found])), .init("nextBatchTag", next)])
  }

  /// The archive of some publications, signed; the same bytes whenever it is asked for.
  private func bundle(_ indexes: [Int], _ path: String, _ state: inout State) throws -> [UInt8] {
    let isForged = state.mood == .forged
    let place = isForged ? "forged/" + path : path
    if let known = state.bytes[place] { return known }
    var keys = indexes.flatMap { state.publications[$0].document.keys }
    keys.sort {
      ($0.key, $0.rollingStart ?? 0, $0.isRevised ? 1 : 0) < ($1.key, $1.rollingStart ?? 0, $1.isRevised ? 1 : 0)
    }
    let bytes = try signedBundle(keys, by: isForged ? stranger : identity, end: state.publications[indexes[0]].time)
    state.bytes[place] = bytes
    return bytes
  }
}

/// A signed archive of these keys.
private func signedBundle(_ keys: [ClaimedKey], by identity: SigningIdentity, end: Int64) throws -> [UInt8] {
  let header = ExportHeader(
    startTimestamp: UInt64(end - 3600), endTimestamp: UInt64(end), region: "204", batchNum: 1, batchSize: 1,
    signatureInfos: [identity.info])
  let sink = MemorySink()
  _ = try BundleWriter(signers: [identity], packing: .archive).write(header, to: ConversionOutput(document: sink)) {
    encoder in
    try keys.withUnsafeBufferPointer {
      try encoder.encode($0, regions: RegionTable(), unknownFields: UnknownFieldTable())
    }
  }
  return sink.bytes
}

/// A folder into which somebody drops files of rows.
final class DropFolder {
  let name = "drop"
  let country = "BE"
  let path: String
  private var count = 0

  init(below root: String) throws {
    path = root + "/drop"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  var settings: SourceSettings {
    var policy = Policy(name: "default")
    policy.reading.floodFloor = 60
    return SourceSettings(
      name: name, peer: .files, location: path, trust: .operator, reading: policy, origin: country,
      speaksFor: .only([country]))
  }

  func transport(_ now: @escaping @Sendable () -> Instant) -> any Transport { FolderTransport(path: path, now: now) }

  /// - Returns: how its document's name begins.
  func drop(_ document: DecodedDocument, at time: Int64) throws -> String {
    let sink = MemorySink()
    try document.encode(with: CSVKeyEncoder(OutputBuffer(sink)))
    return try drop(sink.bytes, at: time)
  }

  func drop(_ bytes: [UInt8], at time: Int64) throws -> String {
    count += 1
    let file = URL(filePath: "\(path)/\(count).csv")
    try Data(bytes).write(to: file)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: TimeInterval(time - 60))], ofItemAtPath: file.path())
    return "\(count).csv@"
  }
}

/// The digest of bytes in lower-case hexadecimal.
func sha256(_ bytes: [UInt8]) -> String { ExportDigests(of: bytes).hexadecimal }
