import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import HTTPTypes
import HummingbirdTesting
import KeyFormats
import KeyIntake
import KeyPublishing
import NIOCore
import Testing

@testable import GatewayServer

@Suite("The page for people")
struct PageTests {
  let fixture: PublicationFixture

  init() throws { fixture = try PublicationFixture() }

  private func application(_ layouts: [any Layout] = [GoogleLayout(), AppleLayout(configuration: [])]) throws
    -> GatewayApplication
  {
    try GatewayApplication.testing(fixture, layouts: layouts)
  }

  @Test("Names from manifests are text, never markup")
  func escaping() async throws {
    var manifest = try fixture.publish("NL", bundles: 1)
    manifest.title = "<script>alert('x')</script>&\"'"
    manifest.regions = ["<b>", "\u{1}"]
    manifest.keys[0].id = "\"><svg onload=x>"
    manifest.appBundleID = "</style>"
    try fixture.write(manifest)
    let page = try await application().ask("/").text
    #expect(!page.contains("<script>") && !page.contains("<b>") && !page.contains("<svg onload"))
    #expect(page.components(separatedBy: "</style>").count == 2)
    #expect(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;&#39;"))
  }

  @Test("It tells regions, bundles, keys, signatures and addresses")
  func content() async throws {
    try fixture.publish("NL", bundles: 6, keys: 1234, title: "Netherlands")
    let page = try await application().ask("/").text
    for text in [
      "Netherlands", "7\u{202F}404", "signs now", fixture.identity.key.publicKey.fingerprint,
      "http://localhost/NL/index.txt", "http://localhost/roaming.json",
      "http://localhost/apple/NL/files?startingAt=0", "http://localhost/NL/SHA256SUMS", "org.example.NL",
    ] {
      #expect(page.contains(text), "\(text)")
    }
    #expect(!page.contains("dp3t"))
    // Padding keys are no diagnosis keys, and wherever they are counted the page says so.
    for words in [
      "<dt>Listed keys, padding included</dt>", "Netherlands by day, padding included", "published, padding included",
      "The newest bundles of Netherlands; keys include padding",
    ] {
      #expect(page.contains(words), "\(words)")
    }
    let report = try await application().ask("/api/series").json
    #expect(report["keys_include_padding"] as? Bool == true)
  }

  @Test("The description of all addresses is served, is what schemas/openapi.json says, and the page links to it")
  func description() async throws {
    let application = try application()
    let response = try await application.ask("/openapi.json")
    #expect(response.code == 200 && response["Content-Type"] == "application/json")
    let file = PackageFolder.root.appending(path: "schemas/openapi.json")
    #expect(try response.text == String(decoding: Data(contentsOf: file), as: UTF8.self))
    #expect(try await application.ask("/").text.contains("href=\"/openapi.json\""))
    let tag = try #require(response["ETag"])
    #expect(try await application.ask("/openapi.json", headers: [.ifNoneMatch: tag]).code == 304)
  }

  @Test("The public keys of a series are a ring that verifying takes as it is")
  func ring() async throws {
    var manifest = try fixture.publish("NL", bundles: 1)
    let signer = manifest.keys[0]
    manifest.keys.insert(.init(id: "204", version: "v0", publicKey: "unreadable"), at: 0)
    try fixture.write(manifest)
    let application = try application()
    let response = try await application.ask("/NL/keys.json")
    #expect(response.code == 200 && response["Content-Type"] == "application/json")
    let ring = try TrustRing(document: Array(response.text.utf8))
    #expect(ring.keys.map(\.publicKey.fingerprint) == [fixture.identity.key.publicKey.fingerprint])
    #expect(ring.keys(id: signer.id, version: signer.version).count == 1)
    #expect(try await application.ask("/BE/keys.json").code == 404)
    #expect(try await application.ask("/keys.json").code == 404)
    let page = try await application.ask("/").text
    #expect(page.contains("<a href=\"http://localhost/NL/keys.json\">keys.json</a>"))
    // A series whose keys nobody can read has none.
    manifest.keys = [manifest.keys[0]]
    try fixture.write(manifest)
    let other = try self.application()
    #expect(try await other.ask("/NL/keys.json").code == 404)
    #expect(try await !other.ask("/").text.contains("keys.json</a>"))
  }

  @Test("What the listed keys say is drawn and told; a damaged archive takes the pictures away")
  func shares() async throws {
    let manifest = try fixture.publish("NL", bundles: 3, keys: 40)
    var days: [String: Int] = [:]
    var risks: [String: Int] = [:]
    var types: [String: Int] = [:]
    for bundle in manifest.bundles {
      for key in try DecodedDocument(fixture.read(bundle.path)).keys {
        days[try #require(key.day).description, default: 0] += 1
        risks[key.transmissionRisk.map(String.init) ?? "none", default: 0] += 1
        types[key.reportType.flatMap(ReportType.init(rawValue:))?.name ?? "none", default: 0] += 1
      }
    }
    func shares() async throws -> [String: [String: Int]]? {
      let series = try await application().ask("/api/series").json["series"] as? [[String: Any]]
      let told = series?.first?["keys_by"] as? [String: [[String: Any]]]
      return told?.mapValues { rows in
        Dictionary(uniqueKeysWithValues: rows.map { ($0["name"] as? String ?? "", $0["keys"] as? Int ?? 0) })
      }
    }
    #expect(try await shares() == ["key_day": days, "transmission_risk": risks, "report_type": types])
    #expect(risks.values.reduce(0, +) == 120 && risks.count > 1)
    let page = try await application().ask("/").text
    for words in ["What the listed keys say", "Listed keys by report type", "Listed keys by transmission risk level"] {
      #expect(page.contains(words), "\(words)")
    }
    for (_, count) in days { #expect(page.contains("<td class=\"number\">\(count)</td>")) }
    // Another bundle is counted beside those that are known.
    let store = fixture.store()
    #expect(store.publications.series.first?.tally?.keys == 120)
    try fixture.publish("NL", bundles: 1, keys: 40)
    store.reload()
    #expect(store.publications.series.first?.tally?.keys == 160)
    // A part would say something wrong.
    try fixture.write(manifest.bundles[1].path, Array(try fixture.read(manifest.bundles[1].path).reversed()))
    #expect(try await shares() == nil)
    #expect(try await !application().ask("/").text.contains("What the listed keys say"))
  }

  @Test("Pictures of shares keep within their frame")
  func sharePicture() throws {
    for counts in [[], [0], [1, 0, 1_000_000_000], Array(repeating: 7, count: 12)] {
      let svg = SharePicture("x", counts.map { ("confirmed test", $0) }, id: "x").svg
      let height = try #require(svg.firstMatch(of: /viewBox="0 0 320 (\d+)"/).flatMap { Double($0.output.1) })
      for match in svg.matches(of: #/ y="(\d+)"/#) { #expect(try #require(Double(match.output.1)) < height) }
      for match in svg.matches(of: /<rect[^>]* x="(\d+)"[^>]* width="(\d+)"/) {
        let (x, width) = (try #require(Int(match.output.1)), try #require(Int(match.output.2)))
        #expect(x + width <= 320 - 44)
      }
    }
  }

  @Test("Times say that they are UTC, and the picture says the months")
  func timesAndMonths() async throws {
    try fixture.publish("NL", bundles: 2)
    let page = try await application().ask("/").text
    // What can be scrolled can be reached by the keyboard, and has a name.
    let wide = page.matches(of: try Regex("<div class=\"wide\"[^>]*>")).map { page[$0.range] }
    #expect(!wide.isEmpty && wide.allSatisfy { $0.contains("tabindex=\"0\" role=\"region\" aria-label=\"") })
    let times = page.matches(of: try Regex("<time [^>]*>([^<]*)</time>")).compactMap { $0.output[1].substring }
    #expect(!times.isEmpty && times.allSatisfy { $0.hasSuffix("\u{00A0}UTC") })
    // Fourteen days that end on the first of December.
    #expect(page.contains(">Nov 2020</text>") && page.contains(">Dec 2020</text>"))
  }

  @Test("Words and bars stand out from what is behind them, light and dark")
  func contrast() throws {
    let faults = try ColourContrast.faults(
      of: [
        ("ink", "card", 4.5), ("ink", "paper", 4.5), ("soft", "card", 4.5), ("soft", "paper", 4.5),
        ("accent", "card", 4.5),
        ("accent", "badge", 4.5), ("soft", "badge", 4.5), ("good", "goodpaper", 4.5), ("revised", "card", 4.5),
        ("overview", "header", 4.5), ("ink", "code", 4.5), ("keys", "card", 3),
      ], in: FrontPageStyle.text, more: ["overview": "#d7eef0", "header": "#0a6c74"])
    #expect(faults == [])
  }

  @Test("A gateway that has published nothing says so")
  func empty() async throws {
    let page = try await application().ask("/")
    #expect(page.code == 200)
    #expect(page.text.contains("Nothing is published yet"))
    #expect(try await application().ask("/api/series").json["series"] as? [String] == [])
  }

  @Test("The same is there as JSON")
  func json() async throws {
    try fixture.publish("NL", bundles: 3, keys: 10, title: "Netherlands")
    var manifest = try fixture.publish("NL", bundles: 1, keys: 10)
    manifest.keys.append(.init(id: "204", version: "v2", publicKey: "unreadable"))
    manifest.bundles[0].isListed = false
    manifest.bundles[1].revisedKeys = 2
    try fixture.write(manifest)
    let response = try await application().ask("/api/series")
    #expect(response["Content-Type"] == "application/json")
    #expect(response.json["default_series"] as? String == "NL")
    let series = try #require((response.json["series"] as? [[String: Any]])?.first)
    #expect(series["listed_bundles"] as? Int == 3)
    #expect(series["listed_keys"] as? Int == 30)
    #expect(series["listed_revised_keys"] as? Int == 2)
    #expect(series["title"] as? String == "Netherlands")
    let days = try #require(series["days"] as? [[String: Any]])
    #expect(days.count == 14)
    #expect(days.last?["day"] as? String == "2020-12-01")
    // Expired bundles were published on their day all the same.
    #expect(days.last?["keys"] as? Int == 40)
    let bundles = try #require(series["latest_bundles"] as? [[String: Any]])
    #expect(bundles.map { $0["path"] as? String } == manifest.bundles[1...].reversed().map(\.path))
    let keys = try #require(series["signing_keys"] as? [[String: Any]])
    #expect(keys.map { $0["current"] as? Bool } == [false, true])
    #expect(keys.map { $0["listed_bundles"] as? Int } == [3, 0])
    #expect(keys[1]["fingerprint"] == nil)
    // Equal content keeps its tag.
    #expect(try await application().ask("/api/series")["ETag"] == response["ETag"])
  }

  @Test(
    "Numbers are readable",
    arguments: [
      (0, "0", "0"), (999, "999", "999"), (1000, "1\u{202F}000", "1k"), (1250, "1\u{202F}250", "1.2k"),
      (34_567, "34\u{202F}567", "34k"), (1_500_000, "1\u{202F}500\u{202F}000", "1.5M"),
      (-1234, "−1\u{202F}234", "-1234"),
    ])
  func numbers(number: Int, grouped: String, short: String) {
    #expect(ReadableNumber.grouped(number) == grouped)
    #expect(ReadableNumber.short(number) == short)
  }

  @Test("The picture keeps within its frame, from no keys to the most there can be")
  func picture() throws {
    for most in [0, 1, 2, 7, 999, 1_000_000, 1 << 50] {
      let days = [0, most / 2, most].map { PublicationReport.KeyDay(day: "2020-12-01", keys: $0, revisedKeys: $0 / 3) }
      let svg = KeyPicture(days, id: "x").svg
      for match in svg.matches(of: try Regex(" (?:y|y1|height)=\"(-?[0-9.]+)\"")) {
        let value = try #require(Double(match.output[1].substring ?? ""))
        #expect((0...200).contains(value), "\(value) for \(most)")
      }
    }
  }

  /// The letters of a phone are twice as large, so a month that begins under the last column would end behind the edge.
  @Test("A month that begins under the last columns is not cut off", arguments: [1, 2, 14, 28])
  func month(count: Int) throws {
    let days = (0..<count).map { number in
      let left = count - 1 - number
      let day = left == 0 ? "2020-12-01" : "2020-11-\(left > 21 ? "0" : "")\(31 - left)"
      return PublicationReport.KeyDay(day: day, keys: 1, revisedKeys: 0)
    }
    let svg = KeyPicture(days, id: "x").svg
    let match = try #require(
      svg.firstMatch(of: /<text class="axis" x="([0-9.]+)" y="192"( text-anchor="end")?>Dec 2020</))
    let x = try #require(Double(match.output.1))
    #expect(match.output.2 == nil ? x + 130 <= 640 : x <= 640)
  }
}
