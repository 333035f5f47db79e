import ExposureKeys
import Foundation
import Testing

@testable import GatewayServer
@testable import KeyPublishing

/// What a client of the tests has fetched, file by file.
struct FetchedFiles {
  private(set) var bundles: [PublishedBundle] = []

  /// Takes a file that was answered. What is answered to a client that follows its list is always listed.
  mutating func take(_ answer: LayoutAnswer?, from address: String) throws {
    let bundle = try #require(answer?.bundle, "\(address): no archive")
    #expect(bundle.facts.isListed, "\(address): not listed any more")
    bundles.append(bundle)
  }

  func keys(_ history: PublishingHistory) -> [Int] { bundles.flatMap { history.released[$0.facts.path] ?? [] } }

  var hasRepetitions: Bool { Set(bundles).count < bundles.count }
}

/// A phone with an app, visiting its server again and again.
protocol LayoutClient {
  /// How the server is laid out for it.
  var layout: any Layout { get }
  var files: FetchedFiles { get }
  mutating func visit(_ server: AskedLayout) throws
}

/// Google's Android app: everything behind the last address that it saw, or everything if that is gone.
struct AndroidClient: LayoutClient {
  let layout: any Layout = GoogleLayout()
  var files = FetchedFiles()
  var lastAddress: String?

  mutating func visit(_ server: AskedLayout) throws {
    let index = try #require(server.ask("/NL/index.txt")?.text)
    let addresses = index.split(whereSeparator: \.isWhitespace).map { "\(AskedLayout.baseURL)/\($0)" }
    var new = addresses[...]
    if let last = addresses.lastIndex(where: { $0 == lastAddress }) { new = addresses[(last + 1)...] }
    for address in new { try files.take(server.ask(address), from: address) }
    lastAddress = addresses.last ?? lastAddress
  }
}

/// Apple's sample: counts files, two an archive.
struct AppleClient: LayoutClient {
  let layout: any Layout = AppleLayout(configuration: [])
  /// Whether it goes on where the server says, and not by counting what it got.
  let followsServer: Bool
  var files = FetchedFiles()
  var nextIndex = 0

  mutating func visit(_ server: AskedLayout) throws {
    let answer = try #require(server.ask("/apple/NL/files?startingAt=\(nextIndex)"))
    let addresses = try JSONDecoder().decode([String].self, from: Data(try #require(answer.text).utf8))
    #expect(Set(addresses.map { $0.split(separator: "/").last }).count == addresses.count)
    for address in addresses { try files.take(server.ask(address), from: address) }
    nextIndex =
      try followsServer ? #require(answer.header("x-next-index").flatMap(Int.init)) : nextIndex + 2 * addresses.count
  }
}

/// The DP-3T SDK 1.3.0: the last ten days, oldest first, each asked for once a visit and without a query. The framework is
/// given a day's archive as exposures of that day.
struct DP3TDayClient: LayoutClient {
  let layout: any Layout = DP3TLayout(national: "NL")
  var files = FetchedFiles()
  /// The newest archive of each day, by days since 1970.
  private(set) var archives: [Int64: PublishedBundle] = [:]

  mutating func visit(_ server: AskedLayout) throws {
    let today = server.now / 86_400
    for day in today - 9...today {
      let address = "/v1/gaen/exposed/\(day * 86_400_000)"
      let answer = try #require(server.ask(address))
      #expect(answer.isSignedResponse && answer.header("x-published-until") != nil)
      #expect(answer.cache == .list, "an address that points elsewhere tomorrow is not kept for long")
      if answer.status == 204 { continue }
      try files.take(answer, from: address)
      archives[day] = answer.bundle
    }
  }
}

/// The DP-3T SDK 2: from tag to tag. The SDK asks once a visit; this one asks until there is nothing new.
struct DP3TTagClient: LayoutClient {
  let layout: any Layout = DP3TLayout(national: "NL")
  var files = FetchedFiles()
  private var tag: String?

  mutating func visit(_ server: AskedLayout) throws {
    for _ in 0...server.publications.series[0].increments.count {
      let address = "/v2/gaen/exposed?withFederationGateway=false" + (tag.map { "&lastKeyBundleTag=\($0)" } ?? "")
      let answer = try #require(server.ask(address))
      if answer.status == 204 { return }
      try files.take(answer, from: address)
      let next: String = try #require(answer.header("x-key-bundle-tag"))
      tag = next
    }
    Issue.record("the tags do not come to an end")
  }
}

/// The Corona-Warn-App: days that it does not have yet, then hours of the days that are not offered as a whole.
struct CoronaWarnAppClient: LayoutClient {
  let layout: any Layout = CoronaWarnAppLayout()
  var files = FetchedFiles()
  private var packages: [String: PublishedBundle] = [:]

  mutating func visit(_ server: AskedLayout) throws {
    let base = "/version/v1/diagnosis-keys/country/NL/date"
    let days = try list([String].self, base, server)
    for day in days { try fetch("\(base)/\(day)", server) }
    for offset in Int64(0)..<3 {
      let day = Instant(secondsSince1970: server.now - offset * 86_400).day.description
      for hour in try list([Int].self, "\(base)/\(day)/hour", server) where !days.contains(day) {
        try fetch("\(base)/\(day)/hour/\(hour)", server)
      }
    }
  }

  private func list<Value: Decodable>(_ type: Value.Type, _ address: String, _ server: AskedLayout) throws -> Value {
    try JSONDecoder().decode(type, from: Data(try #require(server.ask(address)?.text).utf8))
  }

  /// A package that the app has is not fetched again, so it must not change.
  private mutating func fetch(_ address: String, _ server: AskedLayout) throws {
    let answer = server.ask(address)
    if let package = packages[address] {
      #expect(answer?.bundle?.facts.path == package.facts.path, "\(address) changed")
    } else {
      try files.take(answer, from: address)
      packages[address] = answer?.bundle
    }
  }
}

/// Immuni: every number from the oldest to the newest that it does not have.
struct ImmuniClient: LayoutClient {
  let layout: any Layout = ImmuniLayout()
  var files = FetchedFiles()
  private var newest = 0

  mutating func visit(_ server: AskedLayout) throws {
    let answer = try #require(server.ask("/v1/keys/eu/NL/index"))
    if answer.status == 404 { return }
    let index = try JSONDecoder().decode([String: Int].self, from: Data(try #require(answer.text).utf8))
    let (first, last) = (try #require(index["oldest"]), try #require(index["newest"]))
    for number in max(first, newest + 1)..<max(first, newest + 1, last + 1) {
      try files.take(server.ask("/v1/keys/eu/NL/\(number)"), from: "number \(number)")
    }
    newest = max(newest, last)
  }
}
