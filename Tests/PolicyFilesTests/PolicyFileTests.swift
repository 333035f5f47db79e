import BundleTrust
import ExposureKeys
import Foundation
import KeyNormalization
import Testing

@testable import PolicyFiles

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite struct PolicyFileTests {
  private func faults(_ text: String) -> [String] {
    do {
      _ = try PolicyFile.parse(text, named: "p.yaml")
      return []
    } catch {
      return error.faults.map(\.description)
    }
  }

  @Test func theDefaultFileSpellsOutTheDefaults() throws {
    let policy = try #require(try ShippedPolicies.policy(named: "default"))
    #expect(policy.reading == ReadingPolicy())
    #expect(policy.publishing == PublishingPolicy())
  }

  @Test func whatIsNotStatedIsAsInTheDefault() throws {
    let policy = try PolicyFile.parse("name: mine", named: "p.yaml")
    #expect(policy == Policy(name: "mine"))
  }

  @Test(arguments: ShippedPolicies.names) func shippedPoliciesAreSound(name: String) throws {
    let policy = try #require(try ShippedPolicies.policy(named: name))
    #expect(policy.name == name && !policy.summary.isEmpty && policy.faults.isEmpty)
    #expect(ShippedPolicies.text(of: name)?.hasPrefix("#") == true)
  }

  /// The program carries what the files say, and all of them.
  @Test func embeddedTextsAreCurrent() throws {
    let folder = "\(packageRoot)/Sources/PolicyFiles/Policies"
    let files = try FileManager.default.contentsOfDirectory(atPath: folder).map { $0.replacing(".yaml", with: "") }
    #expect(ShippedPolicies.names == ["default"] + files.filter { $0 != "default" }.sorted())
    for name in files { #expect(ShippedPolicies.text(of: name) == contents(of: "\(folder)/\(name).yaml"), "\(name)") }
  }

  /// The documentation lists the rules as they are. `KEYFERRY_REFRESH=1` writes it anew.
  @Test func theRuleTableIsCurrent() throws {
    let policy = try #require(try ShippedPolicies.policy(named: "default"))
    let text = """
      # The rules

      What is asked of every claim before it is admitted, and of every key before it is published, in this order; the
      values are those of the default policy. Generated from the rules.


      """ + RuleTable(of: policy).markdown
    let path = "\(packageRoot)/Sources/KeyNormalization/KeyNormalization.docc/Rules.md"
    if getenv("KEYFERRY_REFRESH") != nil, let file = fopen(path, "w") {
      fputs(text, file)
      fclose(file)
    }
    #expect(contents(of: path) == text, "run the tests once with KEYFERRY_REFRESH=1")
  }

  /// The schema of `reading` is made of the settings that the rules declare. `KEYFERRY_REFRESH=1` writes it anew.
  @Test func theSchemaOfReadingIsCurrent() throws {
    let path = "\(packageRoot)/schemas/policy.schema.json"
    let file = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: path)))
    var schema = try #require(file as? [String: Any])
    var properties = try #require(schema["properties"] as? [String: Any])
    let current = try JSONSerialization.data(withJSONObject: ReadingSchema.object, options: .sortedKeys)
    if getenv("KEYFERRY_REFRESH") != nil {
      properties["reading"] = ReadingSchema.object
      schema["properties"] = properties
      let options: JSONSerialization.WritingOptions = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      try JSONSerialization.data(withJSONObject: schema, options: options).write(to: URL(filePath: path))
    }
    let reading = try #require(properties["reading"])
    #expect(
      try JSONSerialization.data(withJSONObject: reading, options: .sortedKeys) == current,
      "run the tests once with KEYFERRY_REFRESH=1")
  }

  @Test func everyFaultIsToldWithItsPlace() {
    let text = """
      name: mine
      reading:
        rolling-period:
          zero: maybe
          nil: reject
        risk: plain
        flood: { factor: 1 }
      publishing:
        hold-minutes: two hours
        report-types: { unknown: positive, self-report: recursive }
        risk:
          cap: 9
          derive: from-symptoms
          symptoms:
            onset: { -20...3: 1, 4: 11 }
            otherwise: as-sent
        regions: { origin: yes }
      colour: red
      """
    #expect(
      faults(text) == [
        "4:5: reading.rolling-period.zero: \"maybe\", allowed full-day, reject",
        "5:5: reading.rolling-period.nil: no such setting",
        "6:3: reading.risk: allowed a mapping of settings",
        "7:12: reading.flood.factor: 1, allowed 2...1000",
        "9:3: publishing.hold-minutes: \"two hours\", allowed a whole number",
        "10:19: publishing.report-types.unknown: \"positive\", allowed unknown, confirmed-test, "
          + "confirmed-clinical-diagnosis, self-report, recursive, revoked",
        "10:38: publishing.report-types.self-report: recursive itself is not published as such, so publishing "
          + "twice would differ",
        "12:5: publishing.risk.cap: 9, allowed 0...8",
        "15:16: publishing.risk.symptoms.onset.-20...3: allowed a day of -14...14, a span of them as -14...-4, above, from, "
          + "below or up-to a day, and else",
        "15:28: publishing.risk.symptoms.onset.4: 11, allowed 0...8, as-sent, leave-out",
        "17:14: publishing.regions.origin: \"yes\", allowed included, excluded",
        "18:1: colour: no such setting",
      ])
  }

  private func table(_ symptoms: String) throws -> SymptomTable? {
    let policy = try PolicyFile.parse(
      "name: mine\npublishing:\n  risk:\n    derive: from-symptoms\n    symptoms: { \(symptoms) }", named: "p.yaml")
    guard case .fromSymptoms(let table) = policy.publishing.risk.derivation else { return nil }
    return table
  }

  /// The first entry that holds for a day is the one that counts, by its own comparison.
  @Test func thresholdsHaveAComparison() throws {
    let table = try #require(
      try table(
        "onset: { -1: 7, above 10: 1, from 2: 3, below -10: leave-out, up-to -3: 4, else: as-sent }, otherwise: 0"))
    let expected: [(Int32, SymptomTable.Entry)] = [
      (14, .level(1)), (11, .level(1)), (10, .level(3)), (2, .level(3)), (1, .asSent), (0, .asSent), (-1, .level(7)),
      (-2, .asSent), (-3, .level(4)), (-10, .level(4)), (-11, .leaveOut), (-14, .leaveOut),
    ]
    for (day, entry) in expected { #expect(table[SymptomStatus(federationCode: day)] == entry, "\(day)") }
  }

  @Test func spansHaveTablesByTheirLengths() throws {
    let table = try #require(
      try table("onset-in-range: { 1: { else: 1 }, 2...18: { -14...0: 2, else: leave-out } }, otherwise: 5"))
    for (code, entry) in [
      (100, .level(1)), (200, .level(2)), (201, .leaveOut), (1786, .level(2)), (1900, .level(5)), (3000, .level(5)),
    ] as [(Int32, SymptomTable.Entry)] {
      #expect(table[SymptomStatus(federationCode: code)] == entry, "\(code)")
    }
  }

  @Test func spansAreJudgedByOneOfTheirDaysOrByAll() throws {
    let onset = "onset: { below -2: leave-out, -2...2: 3, from 3: 1 }"
    // n days: the last of them is day d, the first one d + n - 1 for a key's distance, d - n + 1 for the days themselves.
    for (judgement, codes) in [
      ("by-last-day", [(97, .leaveOut), (98, .level(3)), (297, .leaveOut), (300, .level(3))]),
      ("by-first-day", [(97, .leaveOut), (98, .level(3)), (295, .leaveOut), (296, .level(3)), (301, .level(1))]),
      ("by-every-day", [(98, .level(3)), (299, .leaveOut), (300, .level(3)), (304, .level(3)), (305, .level(1))]),
    ] as [(String, [(Int32, SymptomTable.Entry)])] {
      let table = try #require(try table("\(onset), onset-in-range: \(judgement), otherwise: 0"))
      for (code, entry) in codes {
        #expect(table[SymptomStatus(federationCode: code)] == entry, "\(judgement) \(code)")
      }
    }
  }

  @Test func aTableWithHolesIsAtFault() {
    let head = "name: mine\npublishing:\n  risk:\n    derive: from-symptoms\n    symptoms:\n"
    let whole =
      "      onset: { else: 1 }\n      onset-unknown: { else: 1 }\n      asymptomatic: { else: 1 }\n"
      + "      status-unknown: { else: 1 }\n"
    let place = "publishing.risk.symptoms.onset-in-range"
    let hint = "name these days, or state otherwise"
    #expect(faults(head + whole) == ["5:5: \(place): has no entry for -14...14; \(hint)"])
    #expect(faults(head + whole + "      otherwise: 1\n") == [])
    #expect(faults(head + whole + "      onset-in-range: by-last-day\n") == [])
    #expect(
      faults(head + whole + "      onset-in-range: { 1...18: { else: 1 }, 19: { -14...3: 1, from 5: 2 } }\n")
        == ["10:46: \(place).19: has no entry for 4; \(hint)"])
    #expect(
      faults(
        head + whole + "      onset-in-range: { 0: { else: 1 }, 1...19: { else: 1, above 3: 2 }, 3: { else: 9 } }\n")
        == [
          "10:25: \(place).0: allowed a length of 1...19 days or a span of them: 3...19",
          "10:60: \(place).1...19.above 3: has no effect: every day of it is named before",
          "10:74: \(place).3: length 3 is named twice", "10:79: \(place).3.else: 9, allowed 0...8, as-sent, leave-out",
        ])
  }

  @Test func aRegionThatCannotBeIsAtFault() {
    let text = """
      name: mine
      reading:
        speaks-for: [DE, Germany, GB-SCT, "262", "999", QQ, US-VA, EU]
      publishing:
        report-types-of: { IT: { unknown: leave-out }, italy: { unknown: confirmed-test } }
      """
    let found = faults(text).map { $0.split(separator: "\"").dropFirst().first.map(String.init) ?? $0 }
    #expect(found == ["999", "GERMANY", "QQ", "ITALY"])
  }

  @Test func aNameThatShadowsAShippedOneIsAtFault() throws {
    let shipped = try #require(ShippedPolicies.text(of: "efgs"))
    #expect(try PolicyFile.check(shipped, named: "copy.yaml").name == "efgs")
    let error = #expect(throws: PolicyFileFault.self) {
      try PolicyFile.check("summary: mine\nname: efgs", named: "p.yaml")
    }
    #expect(
      error?.faults.map(\.description) == [
        "2:1: name: a policy that ships is called efgs, and says something else; choose another name"
      ])
  }

  @Test func aMisspelledSettingIsToldTheNearestOne() {
    #expect(faults("name: a\nreading: { speaksfor: [DE] }").map { $0.contains("did you mean speaks-for") } == [true])
  }

  @Test func otherValuesOfTheLanguage() throws {
    let policy = try PolicyFile.parse(
      """
      name: mine
      reading:
        rolling-start: { latest: end-of-tomorrow, of-day: midnight }
        risk: { out-of-range: zero }
        onset: { highest-code: 4000 }
        excluded-origins: [it]
      publishing:
        report-types-of: { de: { unknown: confirmed-test } }
        onset: { default: 3, by-class: { onset: as-sent, asymptomatic: none, not-given: 10 } }
        not-for-apps: [risk]
        hold-to-next: 120
        regions: { named: ignored }
      """, named: "p.yaml")
    let reading = policy.reading
    #expect(reading.futureLimit == .endOfTomorrow && reading.startOfDay == .midnight)
    #expect(reading.riskOutOfRange == .zero && reading.highestOnsetCode == 4000)
    #expect(reading.excludedOrigins == ["IT"])
    let publishing = policy.publishing
    #expect(publishing.reportTypesByOrigin == ["DE": [.unknown: .publish(as: .confirmedTest)]])
    #expect(publishing.holdToNextMinutes == 120)
    #expect(publishing.withheldFromApps == [.risk] && publishing.ignoresVisited)
    #expect(publishing.daysSinceOnsetByClass.count == 3 && publishing.defaultDaysSinceOnset == DayOffset(3))
  }

  /// What would break the law of merging is named.
  @Test func settingsThatBreakTheLawAreFaults() throws {
    #expect(
      faults("name: a\npublishing: { hold-minutes: 119 }") == [
        "2:15: publishing.hold-minutes: 119, allowed 120...2880: clocks differ by two hours, and no key is told while it "
          + "is in use"
      ])
    #expect(
      faults("name: a\npublishing: { hold-minutes: 2880, maximum-age-days: 1 }") == [
        "2:15: publishing.hold-minutes: 2880, longer than the maximum age: no key would be published"
      ])
    #expect(
      faults("name: a\npublishing: { prefer: { between-origins: narrowest } }").first?.contains(
        "prefer.between-origins: narrowest: between origins the widest period") == true)
    #expect(faults("name: a\npublishing: { precedence: [DE, it], prefer: { rolling-period: narrowest } }") == [])
    let policy = try PolicyFile.parse("name: a\npublishing: { precedence: [it] }", named: "p")
    #expect(policy.publishing.precedence == ["IT"])
  }

  @Test func whatIsNotAPolicy() {
    #expect(faults("") == ["policy: empty, a policy is expected"])
    #expect(faults("[1, 2]").first?.contains("allowed a mapping of settings") == true)
    #expect(faults("name: a\nname: b").count == 1)
    #expect(faults("name: [").count == 1)
    #expect(faults("reading: {}") == ["name: \"\", allowed lower-case letters, digits and hyphens"])
    // Of a thousand levels the library makes no document, and the place is its own.
    for (count, place) in [(100, "1:34"), (5000, "1:1")] {
      let text = String(repeating: "[", count: count) + String(repeating: "]", count: count)
      #expect(faults(text) == ["\(place): YAML: nested more than 32 levels deep"])
    }
    for (count, place) in [(100, "1:67"), (5000, "1:1999")] {
      #expect(faults(String(repeating: "- ", count: count)) == ["\(place): YAML: nested more than 32 levels deep"])
    }
    // A name of a name of a name, which is compared with others as a whole.
    #expect(faults(String(repeating: "? ", count: 900)) == ["1:67: YAML: nested more than 32 levels deep"])
    #expect(faults("name: a\nsummary: \"a\u{1}\"") == ["2:12: YAML: control characters are not allowed"])
    let anchors = "policy: anchors and aliases (&, *) are not read; state each setting where it belongs"
    for (text, place) in [("name: *a", "1:7"), ("name: &a b", "1:7"), ("? [*a, \u{E000}]\n: b", "1:4")] {
      #expect(faults(text) == ["\(place): \(anchors)"])
    }
    // How a text looks does not count.
    let summary = String(repeating: "a [*b] &c", count: 10)
    let wild = "# " + String(repeating: "[&a *b", count: 100) + "\nname: a\nsummary: \(summary)\n"
    #expect(faults(wild) == [])
    #expect(faults("\u{FEFF}name: a\nsummary: b\n") == [])
    let letters = "no character of UTF-8, which is what a file of settings is written in"
    let latin = String(decoding: Array("name: a\nsummary: caf".utf8) + [0xE9, 0x0A], as: UTF8.self)
    #expect(faults(latin) == ["2:13: YAML: \(letters)"])
    for mark in [[0xFF, 0xFE], [0xFE, 0xFF]] as [[UInt8]] {
      let wide = String(decoding: mark + "name: a\n".utf8.flatMap { [$0, 0] }, as: UTF8.self)
      #expect(faults(wide) == ["1:1: YAML: UTF-16, allowed UTF-8"])
    }
    #expect(faults("name: " + String(repeating: "a", count: 70_000)).first?.contains("allowed 0...65536") == true)
  }
}

/// What each shipped policy does, beside what the national back end does.
@Suite struct ShippedPolicyBehaviour {
  private static let start = Int32(Day(daysSince1970: 18_567).firstInterval.rawValue)
  private static let now = Instant(secondsSince1970: 18_569 * 86_400)

  private struct Outcome {
    var admitted: Bool
    var reason: AdmissionReason?
    var app: ClaimedKey?
    var federation: ClaimedKey?
    var leftOut: LeaveOutReason?
  }

  private func run(
    _ name: String, origin: String? = "DE", region: String? = nil, visited: [String]? = nil, now: Instant = Self.now,
    _ change: (inout ClaimedKey) -> Void = { _ in }
  ) throws -> Outcome {
    let policy = try #require(try ShippedPolicies.policy(named: name))
    var regions = RegionTable()
    var key = ClaimedKey(key: TemporaryExposureKey(high: 1, low: 2))
    key.rollingStart = Self.start
    key.rollingPeriod = 144
    key.reportType = 1
    change(&key)
    key.regions = regions.intern(RegionClaim(origin: origin, visited: visited)) ?? .none
    var admission = Admission(of: .assertedByOperator(), from: Sender(name: name), policy: policy.reading, now: now)
    let batch = [key].withUnsafeBufferPointer { admission.admit($0, regions: regions) }
    var claims = ClaimSet()
    #expect(claims.record(batch).isBalanced)
    let beliefs = fold(claims, policy: policy.publishing, region: region, now: now)
    #expect(beliefs.receipt.isBalanced)
    let believed = beliefs.keys.first
    return Outcome(
      admitted: !batch.claims.isEmpty, reason: batch.rejected.first?.reason, app: believed?.forApps,
      federation: believed?.forFederation, leftOut: beliefs.receipt.omissions.keys.first)
  }

  @Test func googleKeyServer() throws {
    let plain = try run("google-key-server") { $0.reportType = nil }
    #expect(plain.app?.reportType == 1 && plain.app?.transmissionRisk == 2 && plain.app?.daysSinceOnset == 10)
    #expect(try run("google-key-server") { $0.reportType = 2 }.app?.transmissionRisk == 4)
    #expect(try run("google-key-server") { $0.transmissionRisk = 7 }.app?.transmissionRisk == 7)
    #expect(try run("google-key-server") { $0.reportType = 4 }.reason == .reportTypeNotAccepted)
    #expect(try run("google-key-server") { $0.daysSinceOnset = 15 }.reason == .daysSinceOnsetUndefined)
    #expect(try run("google-key-server") { $0.rollingPeriod = nil }.app?.rollingPeriod == 144)
    #expect(try run("google-key-server") { $0.rollingPeriod = 0 }.reason == .rollingPeriodZero)
    let old = Instant(secondsSince1970: Self.now.secondsSince1970 + 15 * 86_400)
    #expect(try run("google-key-server", now: old).leftOut == .tooOld)
  }

  @Test func efgs() throws {
    let key = try run("efgs") { ($0.daysSinceOnset, $0.transmissionRisk) = (3002, .max) }
    #expect(key.federation?.daysSinceOnset == 3002 && key.federation?.transmissionRisk == nil)
    #expect(key.app?.daysSinceOnset == nil)
    #expect(try run("efgs") { $0.rollingPeriod = 145 }.reason == .rollingPeriodOutOfRange)
    #expect(try run("efgs", region: "IT", visited: []).leftOut == .otherRegion)
    #expect(try run("efgs", region: "IT", visited: ["IT", "IT"]).app != nil)
  }

  @Test func coronaWarnApp() throws {
    // Its bundles come back as they went out.
    for level in Int32(3)...8 {
      let (type, days) = (5 - (level + 1) / 2, level % 2 == 1 ? 1 : 2) as (Int32, Int32)
      let key = try run("corona-warn-app") { ($0.reportType, $0.daysSinceOnset) = (type, days) }
      #expect(key.federation?.transmissionRisk == level, "\(level)")
      #expect(key.app?.reportType == type && key.app?.daysSinceOnset == days, "\(level)")
    }
    // Low levels are left out from a day on.
    let low = try run("corona-warn-app") { ($0.reportType, $0.daysSinceOnset) = (4, 2) }
    #expect(low.app?.reportType == 4 && low.app?.daysSinceOnset == 2 && low.federation?.transmissionRisk == 2)
    #expect(
      try run("corona-warn-app") { ($0.reportType, $0.daysSinceOnset) = (1, 0) }.reason == .riskEncodingUnreadable)
  }
}

private let packageRoot =
  #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")

private func contents(of path: String) -> String? {
  guard let file = fopen(path, "r") else { return nil }
  defer { fclose(file) }
  var bytes = [UInt8](repeating: 0, count: 1 << 17)
  let count = fread(&bytes, 1, bytes.count, file)
  return String(decoding: bytes[..<count], as: UTF8.self)
}
