import ExposureKeys
import Foundation
import GatewayServer
import KeyFormats
import KeyNormalization
import KeyPublishing

/// What a phone met that no app can live with: its run has failed, and it stays as it was before.
struct RunFailed: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// The gateway as phones see it at one moment: the layouts' answers, and the files.
struct Counter {
  let publications: Publications
  let root: String
  /// The gateway's time, which its server works by.
  let now: Instant
  /// What archives hold, by digest: read once.
  let contents: ArchiveContents

  static let baseURL = "https://gateway.example"

  func ask(_ address: String, _ layout: any Layout) throws -> LayoutAnswer {
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
    let request = LayoutRequest(path: path, query: query, baseURL: Self.baseURL, now: now)
    guard let answer = layout.answer(request, from: publications) else { throw RunFailed("\(address): no answer") }
    return answer
  }

  /// The bytes of a bundle, as the server sends them: what is not what the manifest says, it does not send.
  func archive(_ bundle: PublishedBundle) throws -> [UInt8] {
    let path = bundle.facts.path
    guard let data = FileManager.default.contents(atPath: "\(root)/\(path)") else { throw RunFailed("\(path): 404") }
    let bytes = [UInt8](data)
    guard sha256(bytes) == bundle.facts.sha256 else { throw RunFailed("\(path): 500") }
    return bytes
  }
}

/// What is in archives, by their digests.
final class ArchiveContents {
  private var known: [String: [ClaimedKey]] = [:]

  func keys(of archive: [UInt8]) throws -> [ClaimedKey] {
    let digest = sha256(archive)
    if let keys = known[digest] { return keys }
    let document = try DecodedDocument(archive, format: .gaenExport)
    guard document.rejections.isEmpty else { throw RunFailed("an archive with keys that no phone reads") }
    known[digest] = document.keys
    return document.keys
  }
}

/// What a phone has been given, and what it will never fetch again.
struct Shelf {
  /// Keys that stood among the new ones.
  private(set) var plain: [KeySubject: ClaimedKey] = [:]
  /// What was revised, as it was revised last.
  private(set) var revised: [KeySubject: Int32] = [:]
  /// By an address that may be cached for ever, the digest of what was answered.
  private(set) var immutable: [String: String] = [:]
  /// Names that stood for two contents.
  private(set) var changedNames: [String] = []

  mutating func take(_ answer: LayoutAnswer, from address: String, at counter: Counter) throws {
    guard case .archive(let bundle) = answer.content else { throw RunFailed("\(address): no archive") }
    guard bundle.facts.isListed else { throw RunFailed("\(address): it is listed no more") }
    let archive = try counter.archive(bundle)
    let digest = bundle.facts.sha256
    switch answer.cache {
    case .immutable: note(address, digest)
    case .seconds(let seconds) where seconds > 86_400: note(address, digest)
    default: break
    }
    take(try counter.contents.keys(of: archive))
  }

  mutating func take(_ keys: [ClaimedKey]) {
    for key in keys {
      let subject = KeySubject(key: key.key, rollingStart: key.rollingStart ?? 0)
      if key.isRevised { revised[subject] = key.reportType ?? 0 } else { plain[subject] = key }
    }
  }

  mutating func note(_ address: String, _ digest: String) {
    if let before = immutable[address], before != digest { changedNames.append(address) }
    immutable[address] = digest
  }
}

/// A phone with an app, visiting its server again and again. A visit that throws leaves it as it was.
protocol Phone {
  var name: String { get }
  var layout: any Layout { get }
  var shelf: Shelf { get }
  /// Whether its app knows revisions at all.
  var takesRevisions: Bool { get }
  /// The app asks for keys that began to be used at most so many days ago.
  var days: Int64 { get }
  /// Whether it takes one answer a visit, and so a visit for each that it lacks.
  var takesOneAnswer: Bool { get }

  /// - Parameter now: the phone's own time, in seconds since 1970.
  mutating func visit(_ counter: Counter, at now: Int64) throws
}

extension Phone {
  var takesRevisions: Bool { true }
  var days: Int64 { 14 }
  var takesOneAnswer: Bool { false }
}

/// Google's Android app: everything behind the last address that it saw, or everything if that is gone.
struct AndroidPhone: Phone {
  let name = "Android"
  let layout: any Layout = GoogleLayout()
  var shelf = Shelf()
  private var lastAddress: String?

  mutating func visit(_ counter: Counter, at now: Int64) throws {
    let index = try text(counter.ask("/all/index.txt", layout))
    let addresses = index.split(whereSeparator: \.isWhitespace).map { "\(Counter.baseURL)/\($0)" }
    var new = addresses[...]
    if let last = addresses.lastIndex(where: { $0 == lastAddress }) { new = addresses[(last + 1)...] }
    for address in new { try shelf.take(counter.ask(address, layout), from: address, at: counter) }
    lastAddress = addresses.last ?? lastAddress
  }
}

/// Apple's sample: counts files, two an archive.
struct ApplePhone: Phone {
  var name: String { followsServer ? "Apple by the server's index" : "Apple by counting" }
  let layout: any Layout = AppleLayout(configuration: [])
  /// Whether it goes on where the server says, and not by counting what it got.
  let followsServer: Bool
  var shelf = Shelf()
  private var nextIndex = 0

  init(followsServer: Bool) { self.followsServer = followsServer }

  mutating func visit(_ counter: Counter, at now: Int64) throws {
    let answer = try counter.ask("/apple/all/files?startingAt=\(nextIndex)", layout)
    let addresses = try JSONDecoder().decode([String].self, from: Data(text(answer).utf8))
    guard Set(addresses.map { $0.split(separator: "/").last }).count == addresses.count else {
      throw RunFailed("two archives of one name")
    }
    for address in addresses { try shelf.take(counter.ask(address, layout), from: address, at: counter) }
    guard let next = answer.headers.first(where: { $0.name == "x-next-index" }).flatMap({ Int($0.value) }) else {
      throw RunFailed("no x-next-index")
    }
    nextIndex = followsServer ? next : nextIndex + 2 * addresses.count
  }
}

/// Apple's sample, beta: pages of keys, the next one at the index that it asked for and as many as it asked for.
struct BetaPhone: Phone {
  let name = "Apple, beta"
  let layout: any Layout = AppleLayout(configuration: [])
  var shelf = Shelf()
  let takesRevisions = false
  private var stored = 0

  private struct Page: Decodable {
    struct Key: Decodable {
      let keyData: Data
      let rollingStartNumber: UInt32
    }
    let keys: [Key]
    let done: Bool
  }

  mutating func visit(_ counter: Counter, at now: Int64) throws {
    var (index, received) = (stored, 0)
    while true {
      let answer = try counter.ask("/apple/all/keys?index=\(index)&maximumCount=9", layout)
      guard case .page(let bundles, _, _, let render) = answer.content else { throw RunFailed("no page") }
      let exports = try bundles.map { bundle in
        let zip = try ZipArchive(MemorySource(counter.archive(bundle)))
        guard let entry = zip["export.bin"] else { throw RunFailed("no export.bin") }
        return try zip.open(entry).readAll(limit: 1 << 24)
      }
      let page = try JSONDecoder().decode(Page.self, from: Data(render(exports)))
      guard page.keys.count == 9 || page.done else { throw RunFailed("a short page") }
      shelf.take(
        try page.keys.map { key in
          guard let data = TemporaryExposureKey(key.keyData) else { throw RunFailed("no key data") }
          var claimed = ClaimedKey(key: data)
          claimed.rollingStart = Int32(key.rollingStartNumber)
          return claimed
        })
      received += page.keys.count
      index += 9
      if page.done { break }
    }
    stored += received
  }
}

/// The DP-3T SDK 1.3.0: the last ten days, oldest first, each asked for once a visit and without a query. A day that
/// fails leaves the others.
struct DP3TDayPhone: Phone {
  let name = "DP-3T by day"
  let layout: any Layout = DP3TLayout(national: "all")
  var shelf = Shelf()
  let days: Int64 = 9

  mutating func visit(_ counter: Counter, at now: Int64) throws {
    let today = now / 86_400
    for day in today - 9...today {
      let address = "/v1/gaen/exposed/\(day * 86_400_000)"
      let answer = try counter.ask(address, layout)
      if case .nothing = answer.content { continue }
      try? shelf.take(answer, from: address, at: counter)
    }
  }
}

/// The DP-3T SDK 2: from tag to tag, one request a visit.
struct DP3TTagPhone: Phone {
  let name = "DP-3T by tag"
  let takesOneAnswer = true
  let layout: any Layout = DP3TLayout(national: "all")
  var shelf = Shelf()
  private var tag: String?

  mutating func visit(_ counter: Counter, at now: Int64) throws {
    let address = "/v2/gaen/exposed?withFederationGateway=false" + (tag.map { "&lastKeyBundleTag=\($0)" } ?? "")
    let answer = try counter.ask(address, layout)
    if case .archive = answer.content {
      try shelf.take(answer, from: address, at: counter)
    } else if case .nothing = answer.content {
    } else {
      throw RunFailed("\(address): neither keys nor none")
    }
    tag = answer.headers.first { $0.name == "x-key-bundle-tag" }?.value ?? tag
  }
}

/// The Corona-Warn-App: days that it does not have yet, then hours of the days that are not offered as a whole.
struct CoronaWarnAppPhone: Phone {
  let name = "Corona-Warn-App"
  let layout: any Layout = CoronaWarnAppLayout(countries: ["NL": "all"])
  var shelf = Shelf()
  private var packages: Set<String> = []

  mutating func visit(_ counter: Counter, at now: Int64) throws {
    let base = "/version/v1/diagnosis-keys/country/NL/date"
    let days = try JSONDecoder().decode([String].self, from: Data(text(counter.ask(base, layout)).utf8))
    for day in days { try fetch("\(base)/\(day)", counter) }
    for offset in Int64(0)..<2 {
      let day = Instant(secondsSince1970: now - offset * 86_400).day.description
      if days.contains(day) { continue }
      let hours = try JSONDecoder().decode(
        [Int].self, from: Data(text(counter.ask("\(base)/\(day)/hour", layout)).utf8))
      for hour in hours { try fetch("\(base)/\(day)/hour/\(hour)", counter) }
    }
  }

  private mutating func fetch(_ address: String, _ counter: Counter) throws {
    guard !packages.contains(address) else { return }
    try shelf.take(counter.ask(address, layout), from: address, at: counter)
    packages.insert(address)
  }
}

/// Immuni: every number from the oldest to the newest that it does not have.
struct ImmuniPhone: Phone {
  let name = "Immuni"
  let layout: any Layout = ImmuniLayout(countries: ["NL": "all"])
  var shelf = Shelf()
  private var newest = 0

  mutating func visit(_ counter: Counter, at now: Int64) throws {
    let answer = try counter.ask("/v1/keys/eu/NL/index", layout)
    if case .notFound = answer.content { return }
    let index = try JSONDecoder().decode([String: Int].self, from: Data(text(answer).utf8))
    guard let first = index["oldest"], let last = index["newest"] else { throw RunFailed("no numbers") }
    guard last >= newest else { throw RunFailed("the newest number was \(newest), and is \(last)") }
    for number in max(first, newest + 1)..<max(first, newest + 1, last + 1) {
      try shelf.take(counter.ask("/v1/keys/eu/NL/\(number)", layout), from: "number \(number)", at: counter)
    }
    newest = last
  }
}

private func text(_ answer: LayoutAnswer) throws -> String {
  guard case .bytes(let bytes, _) = answer.content else { throw RunFailed("no text") }
  return String(decoding: bytes, as: UTF8.self)
}

/// One of each.
func allPhones() -> [any Phone] {
  [
    AndroidPhone(), ApplePhone(followsServer: true), ApplePhone(followsServer: false), BetaPhone(), DP3TDayPhone(),
    DP3TTagPhone(), CoronaWarnAppPhone(), ImmuniPhone(),
  ]
}
