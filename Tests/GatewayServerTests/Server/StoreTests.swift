import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyPublishing
import NIOCore
import ProgramMetrics
import Testing

@testable import GatewayServer

@Suite("The state of what is published")
struct StoreTests {
  let fixture: PublicationFixture

  init() throws { fixture = try PublicationFixture() }

  @Test("A new manifest is taken over at the next look")
  func reload() throws {
    try fixture.publish("NL", bundles: 1)
    let store = fixture.store()
    #expect(store.publications.series.map(\.manifest.series) == ["NL"])
    try fixture.publish("NL", bundles: 1)
    try fixture.publish("BE", bundles: 2)
    #expect(store.publications.series.map(\.manifest.series) == ["BE", "NL"])
    #expect(store.publications["nl"]?.increments.count == 2)
    try FileManager.default.removeItem(at: fixture.folder.appending(path: "BE"))
    #expect(store.publications.series.map(\.manifest.series) == ["NL"])
  }

  @Test("The folder is looked at once in a while, or when the publisher says so")
  func looks() throws {
    try fixture.publish("NL", bundles: 1)
    let store = fixture.store(checkInterval: 1000)
    try fixture.publish("NL", bundles: 1)
    #expect(store.publications["NL"]?.increments.count == 1)
    store.reload()
    #expect(store.publications["NL"]?.increments.count == 2)
  }

  @Test("Series come in the order that is asked for")
  func order() throws {
    for name in ["AT", "BE", "NL", "travel"] { try fixture.publish(name, bundles: 1) }
    let store = PublicationStore(folder: fixture.path, order: ["travel", "NL", "XX"], defaultSeries: "NL")
    #expect(store.publications.series.map(\.manifest.series) == ["travel", "NL", "AT", "BE"])
    #expect(store.publications[nil]?.manifest.series == "NL")
  }

  @Test("A folder that is not there yet is empty until it is")
  func missingFolder() throws {
    let store = PublicationStore(folder: fixture.path + "/later", checkInterval: 0)
    #expect(store.publications.series.isEmpty)
  }

  @Test(
    "A manifest that is not whole or not true is not believed, and the last good one is served",
    arguments: [
      "{", "[]", "{\"version\":1}", "version", "series", "listed-and-gone", "wrong-size", "bad-digest", "negative",
      "huge", "time", "written", "period", "no-period", "ordinal",
      "twice", "path:../x.zip", "path:/etc/passwd", "path:BE/x.zip", "path:NL/../BE/x.zip", "path:NL/.x", "path:NL",
      "path:NL//x", "path:NL/index.txt", "path:NL/a b.zip",
    ])
  func badManifests(fault: String) throws {
    let good = try fixture.publish("NL", bundles: 2)
    let lines = Lines()
    let store = PublicationStore(folder: fixture.path, checkInterval: 0, logger: lines.logger())
    var bad = good
    bad.title = "bad"
    switch fault {
    case "version": bad.version = 2
    case "series": bad.series = "BE"
    case "listed-and-gone": bad.bundles[1].path = "NL/gone.zip"
    case "wrong-size": bad.bundles[1].bytes += 1
    case "bad-digest": bad.bundles[0].sha256 = bad.bundles[0].sha256.uppercased() + "0"
    case "negative": bad.bundles[0].keys = -1
    case "huge": bad.bundles[0].keys = .max
    case "time": bad.bundles[0].published = .max
    case "written": (bad.written, bad.bundles) = (.min, [])
    case "period": bad.period = .max
    case "no-period": bad.period = 0
    case "ordinal": bad.bundles[1].ordinal = .max
    case "twice": bad.bundles[1].path = bad.bundles[0].path
    case _ where fault.hasPrefix("path:"):
      bad.bundles[0].path = String(fault.dropFirst(5))
      bad.bundles[0].isListed = false
    default: break
    }
    let isText = fault.hasPrefix("{") || fault.hasPrefix("[")
    try fixture.write("NL/manifest.json", isText ? Array(fault.utf8) : Array(try JSONEncoder().encode(bad)))
    #expect(store.publications["NL"]?.manifest.title == good.title)
    #expect(store.publications["NL"]?.manifest == good)
    _ = store.publications
    #expect(lines.all.count == 1, "it is said once, not at every request: \(lines.text)")

    // A fresh process has no last good one.
    #expect(fixture.store().publications["NL"] == nil)
    // What is put right is believed again.
    try fixture.write(good)
    #expect(fixture.store().publications["NL"]?.manifest == good)
    #expect(store.publications["NL"]?.manifest == good)
  }

  @Test("A series folder that is a link is not followed")
  func linkedFolder() throws {
    let other = try PublicationFixture()
    try other.publish("NL", bundles: 1)
    try FileManager.default.createSymbolicLink(
      at: fixture.folder.appending(path: "NL"), withDestinationURL: other.folder.appending(path: "NL"))
    #expect(fixture.store().publications.series.isEmpty)
  }

  @Test("Readers and a publisher at the same time: every answer is one whole state")
  func concurrency() async throws {
    try fixture.publish("NL", bundles: 1, keys: 2)
    let store = fixture.store()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var last = 0
          for _ in 0..<200 {
            let snapshot = store.current()
            let series = try #require(snapshot.publications["NL"])
            // Index, manifest and table are of one state or of the two next to each other, never less than before.
            #expect(series.increments.count >= last)
            #expect(series.increments.allSatisfy { snapshot.files[$0.facts.path] != nil })
            last = series.increments.count
            await Task.yield()
          }
        }
      }
      for _ in 0..<10 {
        try fixture.publish("NL", bundles: 1, keys: 2)
        await Task.yield()
      }
      try await group.waitForAll()
    }
    #expect(store.publications["NL"]?.increments.count == 11)
  }

  @Test("The cache keeps no more bytes than it may, and gives up what was used least")
  func cacheLimit() async throws {
    try fixture.publish("NL", bundles: 6)
    let store = fixture.store()
    let metrics = GatewayMetrics()
    let bundles = try #require(store.publications["NL"]).increments
    let one = BundleCache(byteLimit: 1 << 20, metrics: GatewayMetrics())
    _ = try await one.archive(bundles[0], from: store)
    let size = one.byteCount
    let cache = BundleCache(byteLimit: size * 3, metrics: metrics)
    for bundle in bundles {
      _ = try await cache.archive(bundle, from: store)
      _ = try await cache.archive(bundles[0], from: store)
      #expect(cache.byteCount <= size * 3)
    }
    #expect(metrics.text.contains("keyferry_bundle_cache_lookups_total{result=\"miss\"} 6\n"))
    // The first was used all the time.
    try FileManager.default.removeItem(at: fixture.folder.appending(path: bundles[0].facts.path))
    try FileManager.default.removeItem(at: fixture.folder.appending(path: bundles[1].facts.path))
    #expect(try await cache.archive(bundles[0], from: store).digest == bundles[0].facts.sha256)
    await #expect(throws: BundleFault.missing) { try await cache.archive(bundles[1], from: store) }
  }

  @Test("Entries weigh what they take, keys included, and the oldest go first")
  func weights() {
    var table = LeastRecentlyUsed<String, Int>(limit: 10_000)
    for number in 0..<100_000 {
      table.keep(number, for: "\(number)", weight: number % 7 == 0 ? 500 : 0)
      _ = table.value(for: "0")
      #expect(table.weight <= 10_000)
    }
    #expect((10...39).contains(table.count))
    #expect(table.value(for: "0") == 0)
    #expect(table.value(for: "99999") == 99_999)
    #expect(table.value(for: "1") == nil)
    table.keep(7, for: "0", weight: 0)
    #expect(table.value(for: "0") == 7)
    table.keep(8, for: "0", weight: 10_001)
    #expect(table.value(for: "0") == nil)
    for number in 0..<100_000 { table.remove("\(number)") }
    #expect(table.weight == 0 && table.count == 0)
  }

  @Test("What a request may say at will makes no new page, and answers of nothing weigh something")
  func junk() async throws {
    try fixture.publish("NL", bundles: 2)
    let app = try GatewayApplication.testing(fixture, layouts: [AppleLayout(configuration: [])])
    let page = try await app.ask("/apple/NL/keys?index=5")
    #expect(page.code == 200)
    let (count, bytes) = (app.responder.retrievals.cache.count, app.responder.retrievals.cache.byteCount)
    for number in 0..<50 {
      let junk = String(repeating: "x", count: 1000)
      let again = try await app.ask("/apple/NL/keys?index=5&junk\(number)=\(junk)&maximumCount=\(number + 1000)")
      #expect(again.bytes == page.bytes)
      #expect(try await app.ask("/apple/NL/keys?index=\(number + 100_000)").code == 200)
    }
    // One page more: that behind the last key.
    #expect(app.responder.retrievals.cache.count == count + 1)
    #expect((1...1024).contains(app.responder.retrievals.cache.byteCount - bytes))
  }

  @Test("Many who want one file cause one load")
  func singleLoad() async throws {
    try fixture.publish("NL", bundles: 1)
    let store = fixture.store()
    let bundle = try #require(store.publications["NL"]).increments[0]
    let cache = BundleCache(byteLimit: 1 << 20, metrics: GatewayMetrics())
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 { group.addTask { try await cache.member(.export, of: bundle, from: store).digest } }
      for try await digest in group { #expect(digest == bundle.facts.exportSHA256) }
    }
    let zip = try fixture.read(bundle.facts.path)
    #expect(cache.byteCount >= zip.count + (try member("export.bin", of: zip)).count)
  }
}
