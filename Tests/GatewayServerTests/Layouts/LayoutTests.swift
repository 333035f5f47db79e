import Crypto
import ExposureKeys
import Foundation
import GatewayTesting
import KeyPublishing
import Testing

@testable import GatewayServer

/// The days in which these tests happen.
private let midnight = PublishingHistory.firstDay
private let hour: Int64 = 3600

/// A series of the bundles that a test names.
private func series(
  _ name: String, _ bundles: [SeriesManifest.Bundle], written: Int64 = midnight, windowEnd: Int64? = nil
) -> PublishedSeries {
  PublishedSeries(
    SeriesManifest(
      series: name, title: name, regions: nil, headerRegion: nil, appBundleID: nil, androidPackage: nil,
      period: 2 * hour, keys: [], written: written, windowEnd: windowEnd, bundles: bundles))
}

private func series(_ bundles: [SeriesManifest.Bundle], written: Int64 = midnight) -> PublishedSeries {
  series("NL", bundles, written: written)
}

private func bundle(
  _ kind: String, _ ordinal: Int, _ start: Int64, _ end: Int64, keys: Int = 3, listed: Bool = true, bytes: Int = 500
) -> SeriesManifest.Bundle {
  SeriesManifest.Bundle(
    kind: kind, ordinal: ordinal, path: "NL/\(kind)-\(ordinal).zip", start: start, end: end, published: end,
    isListed: listed, keys: keys, revisedKeys: 0, bytes: bytes, sha256: "", exportSHA256: "", keyID: "204",
    keyVersion: "v1")
}

/// Increments of two hours from midnight on.
private func increments(_ count: Int, listedFrom first: Int = 0, keys: Int = 3) -> [SeriesManifest.Bundle] {
  (0..<count).map { ordinal in
    let start = midnight + Int64(ordinal) * 2 * hour
    return bundle("increment", ordinal, start, start + 2 * hour, keys: keys, listed: ordinal >= first)
  }
}

private func server(_ layout: any Layout, _ series: PublishedSeries..., now: Int64 = midnight + 86_400) -> AskedLayout {
  var server = AskedLayout(layout, [], now: now)
  server.publications = Publications(series: series)
  return server
}

@Suite struct GoogleLayoutTests {
  @Test func indexHasNoLastLineBreak() {
    let asked = server(GoogleLayout(), series(increments(4, listedFrom: 2)))
    #expect(asked.ask("/NL/index.txt")?.text == "NL/increment-2.zip\nNL/increment-3.zip")
    #expect(asked.ask("/index.txt")?.text == asked.ask("/nl/index.txt")?.text)
    #expect(asked.ask("/NL/index.txt")?.cache == .list)
  }

  @Test func emptyIndexHasNoBytes() {
    let asked = server(GoogleLayout(), series(increments(2, listedFrom: 2)))
    #expect(asked.ask("/NL/index.txt")?.text == "")
  }

  @Test func archivesOfEveryKindAndAfterTheirExpiry() {
    let day = bundle("day", 0, midnight, midnight + 4 * hour)
    let asked = server(GoogleLayout(), series(increments(2, listedFrom: 1) + [day]))
    #expect(asked.ask("/NL/increment-0.zip")?.bundle?.facts.ordinal == 0)
    #expect(asked.ask("/NL/day-0.zip")?.bundle?.facts.kind == "day")
    #expect(asked.ask("/NL/day-0.zip")?.cache == .immutable)
    #expect(asked.ask("/NL/other.zip")?.status == 404)
    #expect(asked.ask("/DE/index.txt")?.status == 404)
    #expect(asked.ask("/NL/index.html") == nil)
  }

  @Test func roamingMapHasThePairOfTheCountryThenTheTravelPair() throws {
    func map(_ layout: GoogleLayout) throws -> [String: [[String: String]]] {
      let asked = server(layout, series("NL", []), series("germany", []), series("travel", []))
      return try JSONDecoder().decode(
        [String: [[String: String]]].self, from: Data(try #require(asked.ask("/roaming.json")?.text).utf8))
    }
    let base = AskedLayout.baseURL
    let travel = ["index": "\(base)/travel/index.txt", "base": base]
    let stated = try map(
      GoogleLayout(roaming: ["nl": "NL", "DE": "germany", "BE": "travel", "FR": "france"], travelSeries: "travel"))
    #expect(
      stated == [
        "NL": [["index": "\(base)/NL/index.txt", "base": base], travel],
        "DE": [["index": "\(base)/germany/index.txt", "base": base], travel],
        "BE": [travel],
      ])
    #expect(Set(try map(GoogleLayout(travelSeries: "travel")).keys) == ["NL", "germany"])
    #expect(try map(GoogleLayout())["NL"]?.count == 1)
  }
}

@Suite struct AppleLayoutTests {
  private func names(_ asked: AskedLayout, _ query: String) throws -> [String] {
    let text = try #require(asked.ask("/apple/files\(query)")?.text)
    return try JSONDecoder().decode([URL].self, from: Data(text.utf8)).map(\.lastPathComponent)
  }

  @Test func startingAtCountsFilesAndRoundsUp() throws {
    let asked = server(AppleLayout(configuration: []), series(increments(4, listedFrom: 1)))
    let all = ["NL-increment-1", "NL-increment-2", "NL-increment-3"]
    for (query, expected) in [
      ("", all), ("?startingAt=0", all), ("?startingAt=2", all), ("?startingAt=3", Array(all[1...])),
      ("?startingAt=4", Array(all[1...])), ("?startingAt=8", []), ("?startingAt=900", []),
      ("?startingAt=9223372036854775807", []), ("?startingAt=3&unit=archives", [all[2]]),
    ] {
      #expect(try names(asked, query) == expected, "\(query)")
    }
    #expect(asked.ask("/apple/NL/files?startingAt=900")?.header("x-next-index") == "8")
    #expect(asked.ask("/apple/NL/files?unit=archives")?.header("x-next-index") == "4")
    for query in ["startingAt=-2", "startingAt=+2", "startingAt=9223372036854775808", "startingAt=a", "unit=pairs"] {
      #expect(asked.ask("/apple/NL/files?\(query)")?.status == 400, "\(query)")
    }
  }

  @Test func editionsTakeThePlaceOfWindowsAndAreCountedAlone() throws {
    let day: Int64 = 86_400
    var editions = (3..<6).map { bundle("edition", $0, midnight + Int64($0) * day, midnight + Int64($0 + 1) * day) }
    editions[0].isListed = false
    var manifest = series(increments(72) + editions).manifest
    manifest.editionsPerDay = 1
    let asked = server(AppleLayout(configuration: []), PublishedSeries(manifest))
    #expect(try names(asked, "") == ["NL-edition-4", "NL-edition-5"])
    #expect(try names(asked, "?startingAt=10") == ["NL-edition-5"])
    #expect(try names(asked, "?startingAt=12") == [])
    #expect(asked.ask("/apple/NL/files")?.header("x-next-index") == "12")
    #expect(asked.ask("/apple/NL/files?startingAt=6")?.header("x-next-index") == "12")
    #expect(asked.ask("/apple/NL/archives/NL-edition-4")?.bundle?.facts.kind == "edition")

    // Before the first edition, and when all of them are gone, the count goes on where the app is.
    manifest.bundles = increments(5)
    let early = server(AppleLayout(configuration: []), PublishedSeries(manifest))
    #expect(try names(early, "?startingAt=9") == [])
    #expect(early.ask("/apple/NL/files?startingAt=9")?.header("x-next-index") == "10")
    let far = early.ask("/apple/NL/files?startingAt=9223372036854775807")
    #expect(far?.header("x-next-index") == "9223372036854775806")
  }

  @Test func archiveAndItsFiles() throws {
    let asked = server(AppleLayout(configuration: []), series(increments(1)))
    let address = "/apple/NL/archives/NL-increment-0"
    #expect(asked.ask(address)?.bundle?.facts.ordinal == 0)
    guard case .member(_, .export) = asked.ask(address + ".bin")?.content else { throw Unexpected() }
    guard case .member(_, .signature) = asked.ask(address + ".sig")?.content else { throw Unexpected() }
    #expect(asked.ask(address + ".txt")?.status == 404)
    #expect(asked.ask("/apple/NL/archives/DE-increment-0")?.status == 404)
    #expect(asked.ask(address)?.cache == .immutable)
  }

  private struct Unexpected: Error {}

  @Test func configurationIsAsGiven() {
    let asked = server(AppleLayout(configuration: Array("{}".utf8)), series([]))
    #expect(asked.ask("/apple/configuration")?.text == "{}")
    #expect(asked.ask("/apple/NL/configuration")?.text == "{}")
    #expect(asked.ask("/apple/XX/configuration")?.status == 404)
  }

  /// A new gateway is asked for it before there is a key.
  @Test func configurationsNeedNoPublication() {
    for (layout, address) in [
      (AppleLayout(configuration: Array("{}".utf8)), "/apple/configuration"),
      (AppleLayout(configuration: Array("{}".utf8)), "/apple/nl/configuration"), (DP3TLayout(), "/v1/config"),
      (DP3TLayout(), "/dp3t/NL/v1/config"),
    ] as [(any Layout, String)] {
      var asked = server(layout)
      asked.publications = Publications(series: [], configured: ["NL"])
      #expect(asked.ask(address)?.status == 200, "\(address)")
      #expect(
        asked.ask(address.replacing("/nl/", with: "/de/").replacing("/NL/", with: "/DE/"))?.status
          == (address.lowercased().contains("/nl/") ? 404 : 200))
      #expect(asked.ask("/apple/NL/files")?.status ?? 404 == 404)
    }
  }

  @Test func pagesPassOverExpiredKeys() {
    var bundles = increments(5)
    bundles[2].isListed = false
    let page = KeyPage(of: series(bundles), from: 1, count: 7)
    #expect(page.parts.map(\.bundle.facts.ordinal) == [0, 1, 3])
    #expect(page.parts.map(\.keys) == [1..<3, 0..<3, 0..<2])
    #expect(page.nextIndex == 11 && !page.isLast)
    let next = KeyPage(of: series(bundles), from: 6, count: 4)
    #expect(next.parts.map(\.keys) == [0..<3, 0..<1])
    #expect(next.nextIndex == 13)
    let end = KeyPage(of: series(bundles), from: 99, count: 4)
    #expect(end.parts.isEmpty && end.isLast && end.nextIndex == 15)
  }

  @Test func aPageIsNeverShorterThanAskedFor() throws {
    let asked = server(AppleLayout(configuration: []), series(increments(336, keys: 1)))
    let answer = try #require(asked.ask("/apple/NL/keys?maximumCount=150"))
    guard case .page(let bundles, _, _, _) = answer.content else { throw Unexpected() }
    #expect(bundles.count == 150)
    for query in [
      "index=-1", "index=x", "maximumCount=0", "maximumCount=-1", "maximumCount=10001", "maximumCount=999999999",
    ] {
      #expect(asked.ask("/apple/NL/keys?\(query)")?.status == 400, "\(query)")
    }
  }

  @Test func aPageOfOtherBundlesIsAnError() throws {
    var random = SeededRandom(seed: 1)
    var history = PublishingHistory()
    history.publish(at: history.written + 86_400, using: &random)
    var bundles = history.bundles
    let first = try #require(bundles.firstIndex { $0.kind == "increment" })
    bundles[first].keys += 1
    let page = KeyPage(of: series(bundles), from: 0, count: Int64(bundles[first].keys))
    let export = try history.export(of: page.parts[0].bundle)
    #expect(throws: (any Error).self) { try page.render([export]) }
    #expect(throws: (any Error).self) { try page.render([]) }
  }
}

@Suite struct DP3TLayoutTests {
  private static let milliseconds = midnight * 1000

  @Test func aKeyDayPointsToItsNewestArchive() {
    let old = bundle("key-day", 0, midnight, midnight + 4 * hour, listed: false)
    let new = bundle("key-day", 1, midnight, midnight + 6 * hour)
    let other = bundle("key-day", 2, midnight - 86_400, midnight + 8 * hour)
    let address = "/v1/gaen/exposed/\(Self.milliseconds)"
    let today = server(DP3TLayout(), series([old, new, other]), now: midnight + 9 * hour)
    let answer = today.ask(address)
    #expect(answer?.bundle?.facts.ordinal == 1)
    #expect(answer?.header("x-published-until") == String((midnight + 6 * hour) * 1000))
    #expect(answer?.cache == .list)
    #expect(today.ask("\(address)?publishedafter=\((midnight + 4 * hour) * 1000)")?.status == 200)
    let again = today.ask("\(address)?publishedafter=\((midnight + 6 * hour) * 1000)")
    #expect(again?.status == 204)
    #expect(again?.header("x-published-until") == String((midnight + 6 * hour) * 1000))
    #expect(today.ask("/v1/gaen/exposed/\(Self.milliseconds - 86_400_000)")?.bundle?.facts.ordinal == 2)
    // What comes after now has not been seen by anybody.
    let ahead = today.ask("\(address)?publishedafter=\((midnight + 20 * hour) * 1000)")
    #expect(ahead?.bundle?.facts.ordinal == 1)
  }

  /// A day of publication is not a day of exposure.
  @Test func aSeriesWithoutKeyDaysSaysSo() {
    let asked = server(
      DP3TLayout(), series(increments(3) + [bundle("day", 0, midnight, midnight + 4 * hour)]), now: midnight + 7 * hour)
    let answer = asked.ask("/v1/gaen/exposed/\(Self.milliseconds)")
    guard case .notFound(let reason)? = answer?.content else {
      Issue.record("\(String(describing: answer))")
      return
    }
    #expect(reason.contains("rollups: [key-day]"))
  }

  @Test func dates() {
    let asked = server(DP3TLayout(), series([]))
    for (address, status) in [
      ("/v1/gaen/exposed/\(Self.milliseconds)", 204), ("/v1/gaen/exposed/\(Self.milliseconds + 1)", 404),
      ("/v1/gaen/exposed/\(Self.milliseconds + 86_400_000)", 204),
      ("/v1/gaen/exposed/\(Self.milliseconds + 2 * 86_400_000)", 204),
      ("/v1/gaen/exposed/\(Self.milliseconds + 3 * 86_400_000)", 404), ("/v1/gaen/exposed/0", 404),
      ("/v1/gaen/exposed/-86400000", 404), ("/v1/gaen/exposed/today", 404),
      ("/v1/gaen/exposed/\(Self.milliseconds)?publishedafter=now", 400),
      ("/v1/gaen/buckets/2020-12-01", 200), ("/v1/gaen/buckets/2020-12-03", 404),
      ("/v1/gaen/buckets/2020-13-01", 404),
    ] {
      let answer = asked.ask(address)
      #expect(answer?.status == status, "\(address)")
      #expect(answer?.isSignedResponse == true, "\(address)")
    }
  }

  @Test func bucketsNameTheDayWhenThereIsSomething() {
    let asked = server(DP3TLayout(), series([bundle("key-day", 0, midnight, midnight + hour)]))
    #expect(
      asked.ask("/v1/gaen/buckets/2020-12-01")?.text
        == #"{"day":"2020-12-01","dayTimestamp":1606780800000,"relativeUrls":["/v1/gaen/exposed/1606780800000"]}"#)
    #expect(asked.ask("/dp3t/NL/v1/gaen/buckets/2020-12-01")?.text?.contains("\"/dp3t/NL/v1/gaen/exposed/") == true)
    #expect(asked.ask("/v1/gaen/buckets/2020-12-02")?.text?.contains("[]") == true)
  }

  @Test func tags() {
    let now = midnight + 9 * hour
    let asked = server(DP3TLayout(), series(increments(3)), now: now)
    func ask(_ tag: Int64) -> LayoutAnswer? { asked.ask("/v2/gaen/exposed?lastKeyBundleTag=\(tag)") }
    #expect(ask((midnight + 6 * hour) * 1000)?.status == 204)
    #expect(ask((midnight + 6 * hour) * 1000)?.header("x-key-bundle-tag") == String((midnight + 6 * hour) * 1000))
    #expect(ask((midnight + 4 * hour) * 1000)?.bundle?.facts.ordinal == 2)
    // An app keeps its tag for ever: another server's or another period's stands for the last end before it.
    #expect(ask((midnight + 3 * hour) * 1000)?.bundle?.facts.ordinal == 1)
    #expect(ask((midnight + 4 * hour) * 1000 - 1)?.bundle?.facts.ordinal == 1)
    #expect(ask((midnight + 9 * hour) * 1000)?.status == 204)
    #expect(ask((midnight + 9 * hour) * 1000)?.header("x-key-bundle-tag") == String((midnight + 8 * hour) * 1000))
    // One of the future was given when the clock was wrong: its phone may lack anything.
    #expect(ask((midnight + 10 * hour) * 1000)?.bundle?.facts.ordinal == 0)
    #expect(ask(.max)?.bundle?.facts.ordinal == 0)
    #expect(ask(0)?.bundle?.facts.ordinal == 0)
    #expect(asked.ask("/v2/gaen/exposed")?.bundle?.facts.ordinal == 0)
    #expect(asked.ask("/v2/gaen/exposed?lastKeyBundleTag=x")?.status == 400)
    #expect(asked.ask("/v2/gaen/exposed?withFederationGateway=perhaps")?.status == 400)
  }

  @Test func theSmallestArchiveThatReachesFurthest() {
    let day = bundle("day", 0, midnight, midnight + 4 * hour, bytes: 900)
    let since = bundle("since", 0, midnight - 86_400, midnight + 6 * hour, bytes: 3000)
    let wide = bundle("since", 1, midnight - 3 * 86_400, midnight + 6 * hour, bytes: 9000)
    let late = bundle("since", 2, midnight + 3 * hour, midnight + 6 * hour, bytes: 100)
    func kind(_ others: [SeriesManifest.Bundle], after ordinal: Int) -> String? {
      let tag = (midnight + Int64(ordinal + 1) * 2 * hour) * 1000
      let asked = server(DP3TLayout(), series(increments(3) + others), now: midnight + 7 * hour)
      let path = asked.ask("/v2/gaen/exposed?lastKeyBundleTag=\(tag)")?.bundle?.facts.path
      return path.map { String($0.dropFirst(3).dropLast(4)) }
    }
    #expect(kind([day], after: -1) == "day-0")
    #expect(kind([day], after: 0) == "increment-1")
    #expect(kind([day, since, wide], after: -1) == "since-0")
    #expect(kind([day, since, wide, late], after: 1) == "increment-2")
    #expect(kind([late], after: -1) == "increment-0")
  }

  @Test func aSplitWindowHasATagOfItsOwn() {
    let parts = [
      bundle("increment", 0, midnight, midnight + 2 * hour + 1),
      bundle("increment", 1, midnight, midnight + 2 * hour + 2),
    ]
    let asked = server(DP3TLayout(), series(parts), now: midnight + 3 * hour)
    let first = asked.ask("/v2/gaen/exposed?lastKeyBundleTag=\(Self.milliseconds)")
    #expect(first?.bundle?.facts.ordinal == 0)
    let second = asked.ask("/v2/gaen/exposed?lastKeyBundleTag=\(first?.header("x-key-bundle-tag") ?? "")")
    #expect(second?.bundle?.facts.ordinal == 1)
    let third = asked.ask("/v2/gaen/exposed?lastKeyBundleTag=\(second?.header("x-key-bundle-tag") ?? "")")
    #expect(third?.status == 204)
  }

  @Test func aSplitRollUpIsPassedOver() {
    let parts = [
      bundle("day", 0, midnight, midnight + 4 * hour), bundle("day", 1, midnight, midnight + 4 * hour + 1),
    ]
    let asked = server(DP3TLayout(), series(increments(3) + parts), now: midnight + 7 * hour)
    // A part may not have the keys of the increment that is due.
    #expect(asked.ask("/v2/gaen/exposed")?.bundle?.facts.kind == "increment")
  }

  @Test func federationChoosesTheSeries() {
    let asked = server(
      DP3TLayout(national: "CH", federated: "travel"), series("NL", []),
      series("CH", [bundle("increment", 0, midnight, midnight + 2 * hour)]),
      series("travel", [bundle("increment", 7, midnight, midnight + 2 * hour)]))
    #expect(asked.ask("/v2/gaen/exposed")?.bundle?.series == "CH")
    #expect(asked.ask("/v2/gaen/exposed?withFederationGateway=false")?.bundle?.series == "CH")
    #expect(asked.ask("/v2/gaen/exposed?withFederationGateway=true")?.bundle?.series == "travel")
    #expect(asked.ask("/dp3t/NL/v2/gaen/exposed?withFederationGateway=true")?.status == 204)
    #expect(asked.ask("/dp3t/FR/v2/gaen/exposed")?.status == 404)
  }

  @Test func configurationHasTheMembersOfTheSwissServer() throws {
    var settings = DP3TApplicationSettings()
    settings.interOpsCountries = ["DE", "IT"]
    let asked = server(DP3TLayout(application: settings), series([]))
    let text = try #require(asked.ask("/v1/config?appversion=1&osversion=2&buildnr=3")?.text)
    let members = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    #expect(
      Set(members.keys) == ["forceUpdate", "iOSGaenSdkConfig", "androidGaenSdkConfig", "interOpsCountries"])
    let thresholds = try #require(members["iOSGaenSdkConfig"] as? [String: Double])
    #expect(
      thresholds == [
        "lowerThreshold": 55, "higherThreshold": 63, "factorLow": 1, "factorHigh": 0.5, "triggerThreshold": 15,
      ])
    #expect(asked.ask("/dp3t/NL/v1/config")?.text == asked.ask("/v1/config")?.text)
    #expect(asked.ask("/dp3t/XX/v1/config")?.status == 404, "a series that there is not has no configuration")
  }
}

@Suite struct CoronaWarnAppLayoutTests {
  private static let base = "/version/v1/diagnosis-keys/country"

  @Test func countries() {
    let all = [series("NL", []), series("DE", [])]
    #expect(server(CoronaWarnAppLayout(), all[0], all[1]).ask(Self.base)?.text == #"["DE","NL"]"#)
    let mapped = server(CoronaWarnAppLayout(countries: ["eur": "NL", "FR": "none"]), all[0], all[1])
    #expect(mapped.ask(Self.base)?.text == #"["EUR"]"#)
    #expect(mapped.ask("\(Self.base)/EUR/date")?.status == 200)
    #expect(mapped.ask("\(Self.base)/NL/date")?.status == 404)
  }

  @Test func datesAreThoseThatAreOver() {
    let day = bundle("day", 0, midnight, midnight + 22 * hour)
    func dates(now: Int64, written: Int64) -> String? {
      server(CoronaWarnAppLayout(), series([day], written: written), now: now).ask("\(Self.base)/NL/date")?.text
    }
    #expect(dates(now: midnight + 23 * hour, written: midnight + 22 * hour) == "[]")
    #expect(dates(now: midnight + 25 * hour, written: midnight + 25 * hour) == "[]")
    #expect(dates(now: midnight + 27 * hour, written: midnight + 26 * hour) == #"["2020-12-01"]"#)
  }

  @Test("A day whose last windows were empty is over when the manifest says that they are closed")
  func datesByTheWindowThatIsClosed() {
    let day = bundle("day", 0, midnight, midnight + 10 * hour)
    func dates(windowEnd: Int64?) -> String? {
      let published = series("NL", [day], written: midnight + 10 * hour, windowEnd: windowEnd)
      return server(CoronaWarnAppLayout(), published, now: midnight + 25 * hour).ask("\(Self.base)/NL/date")?.text
    }
    #expect(dates(windowEnd: nil) == "[]" && dates(windowEnd: midnight + 22 * hour) == "[]")
    #expect(dates(windowEnd: midnight + 24 * hour) == #"["2020-12-01"]"#)
    #expect(dates(windowEnd: midnight + 48 * hour) == #"["2020-12-01"]"#)
  }

  /// Its keys would be too old when the day comes, and apps ask for hours of today alone.
  @Test func aDayThatAClockPassedOverIsOffered() {
    let day = bundle("day", 0, midnight + 288 * hour, midnight + 290 * hour)
    func dates(windowEnd: Int64) -> String? {
      let published = series("NL", [day], written: midnight + 10 * hour, windowEnd: windowEnd)
      return server(CoronaWarnAppLayout(), published, now: midnight + 10 * hour).ask("\(Self.base)/NL/date")?.text
    }
    // While the clock is ahead, and where it was so for a day.
    #expect(dates(windowEnd: midnight + 290 * hour) == "[]")
    #expect(dates(windowEnd: midnight + 240 * hour) == "[]")
    #expect(dates(windowEnd: midnight + 10 * hour) == #"["2020-12-13"]"#)
    // A manifest may say anything.
    #expect(dates(windowEnd: .min) == "[]" && dates(windowEnd: .max) != nil)
  }

  @Test func hoursAreTheLastOfEachWindow() {
    let asked = server(CoronaWarnAppLayout(), series(increments(2)))
    #expect(asked.ask("\(Self.base)/NL/date/2020-12-01/hour")?.text == "[1,3]")
    #expect(asked.ask("\(Self.base)/NL/date/2020-12-01/hour/3")?.bundle?.facts.ordinal == 1)
    for hour in ["0", "2", "24", "-1", "x"] {
      #expect(asked.ask("\(Self.base)/NL/date/2020-12-01/hour/\(hour)")?.status == 404)
    }
    #expect(asked.ask("\(Self.base)/NL/date/2020-12-02/hour")?.text == "[]")
    #expect(asked.ask("\(Self.base)/NL/date/1.12.2020/hour")?.status == 404)
  }

  @Test func contentHashIsTheHashOfTheHash() throws {
    let asked = server(CoronaWarnAppLayout(), series(increments(1)))
    let answer = try #require(asked.ask("\(Self.base)/NL/date/2020-12-01/hour/1"))
    let hash = try #require(answer.exportHeaders.first { $0.name == "cwa-hash" })
    // MD5 of the sixteen bytes d41d8cd98f00b204e9800998ecf8427e, which are the MD5 of nothing.
    #expect(hash.value([]) == "59adb24ef3cdbe0297f05b395827453f")
    #expect(answer.cache == .seconds(300))
  }
}

@Suite struct ImmuniLayoutTests {
  @Test func numbersBeginWithOne() {
    let asked = server(ImmuniLayout(), series(increments(4, listedFrom: 1)))
    #expect(asked.ask("/v1/keys/index")?.text == #"{"newest":4,"oldest":2}"#)
    #expect(asked.ask("/v1/keys/index")?.cache == .seconds(1800))
    #expect(asked.ask("/v1/keys/2")?.bundle?.facts.ordinal == 1)
    #expect(asked.ask("/v1/keys/2")?.cache == .seconds(1_296_000))
    #expect(asked.ask("/v1/keys/eu/nl/4")?.bundle?.facts.ordinal == 3)
    for number in ["0", "5", "-1", "x", "9223372036854775807"] {
      #expect(asked.ask("/v1/keys/\(number)")?.status == 404, "\(number)")
    }
  }

  @Test func nothingIs404() {
    #expect(server(ImmuniLayout(), series([])).ask("/v1/keys/index")?.status == 404)
    #expect(server(ImmuniLayout(), series([])).ask("/v1/keys/eu/DE/index")?.status == 404)
  }

  @Test func noHoleBetweenOldestAndNewest() {
    var bundles = increments(6)
    bundles[2].isListed = false
    #expect(server(ImmuniLayout(), series(bundles)).ask("/v1/keys/index")?.text == #"{"newest":6,"oldest":4}"#)
  }
}
