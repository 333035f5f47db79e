import BundleTrust
import ExposureKeys
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

  /// The program carries what the files say.
  @Test(arguments: ShippedPolicies.names) func embeddedTextsAreCurrent(name: String) throws {
    let text = try #require(contents(of: "\(packageRoot)/Sources/PolicyFiles/Policies/\(name).yaml"))
    #expect(ShippedPolicies.text(of: name) == text, "run Sources/PolicyFiles/embed")
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
        "15:16: publishing.risk.symptoms.onset.-20...3: allowed a day of -14...14 or a span of them: -14...-4",
        "15:28: publishing.risk.symptoms.onset.4: 11, allowed 0...8",
        "16:14: publishing.regions.origin: \"yes\", allowed included, excluded",
        "17:1: colour: no such setting",
      ])
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
    #expect(faults(String(repeating: "[", count: 5000)) == ["policy: nested more than 32 levels deep"])
    #expect(faults(String(repeating: "- ", count: 5000)) == ["policy: nested more than 32 levels deep"])
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
    #expect(try run("corona-warn-app") { ($0.reportType, $0.daysSinceOnset) = (4, 2) }.leftOut == .riskNotPublished)
    #expect(
      try run("corona-warn-app") { ($0.reportType, $0.daysSinceOnset) = (1, 0) }.reason == .riskEncodingUnreadable)
  }

  /// The Corona-Warn-App's table, applied to what another country's policy admitted.
  @Test(arguments: [
    (-2, 7), (-1, 8), (0, 8), (1, 8), (2, 6), (3, 5), (4, 3), (1997, 8), (2000, 5), (3000, 4), (3997, 7), (4000, 5),
  ])
  func coronaWarnAppTable(code: Int32, level: Int32) throws {
    #expect(try self.level(code, by: "corona-warn-app") == level)
  }

  @Test(arguments: [-6, 10, 3986, 4014, 1000 + 14]) func coronaWarnAppLeavesLowLevelsOut(code: Int32) throws {
    #expect(try level(code, by: "corona-warn-app") == nil)
  }

  @Test(arguments: [
    (-3, 6), (1, 6), (2, 5), (4, 4), (6, 3), (8, 2), (10, 1), (-4, nil), (14, nil), (3000, 4), (205, 4),
  ])
  func koronavilkkuTable(code: Int32, level: Int32?) throws {
    #expect(try self.level(code, by: "koronavilkku") == level)
  }

  @Test(arguments: [(-3, nil), (-2, 3), (-1, 6), (2, 6), (4, 3), (5, 1), (11, 1), (12, nil), (4000, 3)])
  func coronaMelderTable(code: Int32, level: Int32?) throws {
    #expect(try self.level(code, by: "coronamelder") == level)
  }

  private func level(_ code: Int32, by name: String) throws -> Int32? {
    let reading = ReadingPolicy()
    let publishing = try #require(try ShippedPolicies.policy(named: name)).publishing
    var key = ClaimedKey(key: TemporaryExposureKey(high: 1, low: 2))
    key.rollingStart = Self.start
    key.reportType = 1
    key.daysSinceOnset = code
    var admission = Admission(of: .assertedByOperator(), from: Sender(name: "efgs"), policy: reading, now: Self.now)
    var claims = ClaimSet()
    claims.record([key].withUnsafeBufferPointer { admission.admit($0, regions: RegionTable()) })
    return fold(claims, policy: publishing, now: Self.now).keys.first?.forApps.transmissionRisk
  }

  @Test func coronaMelder() throws {
    #expect(try run("coronamelder") { $0.daysSinceOnset = 15 }.reason == .daysSinceOnsetUndefined)
    #expect(try run("coronamelder", region: "NL", visited: ["NL"]) { $0.daysSinceOnset = 0 }.app != nil)
    #expect(try run("coronamelder", region: "NL", visited: []) { $0.daysSinceOnset = 0 }.leftOut == .otherRegion)
    #expect(try run("coronamelder", region: "DE", visited: ["NL"]) { $0.daysSinceOnset = 0 }.leftOut == .otherRegion)
  }

  @Test func immuni() throws {
    #expect(try run("immuni") { $0.transmissionRisk = 3 }.app?.transmissionRisk == 8)
    #expect(try run("immuni") { $0.reportType = 3 }.reason == .reportTypeNotAccepted)
  }

  @Test func swissCovid() throws {
    #expect(try run("swisscovid") { $0.rollingPeriod = 0 }.app?.rollingPeriod == 144)
    let unknown = try run("swisscovid") { ($0.reportType, $0.daysSinceOnset) = (nil, 3000) }
    #expect(unknown.app?.reportType == 1 && unknown.app?.daysSinceOnset == 0 && unknown.app?.transmissionRisk == 0)
    #expect(unknown.federation?.daysSinceOnset == 3000)
    // The back end writes day 0 here as well.
    #expect(try run("swisscovid") { $0.daysSinceOnset = 7 }.app?.daysSinceOnset == 7)
  }

  @Test func radarCovid() throws {
    let key = try run("radar-covid") { $0.daysSinceOnset = 2998 }
    #expect(key.app?.daysSinceOnset == nil && key.app?.transmissionRisk == 2)
    let late = Instant(secondsSince1970: Self.now.secondsSince1970 + 6 * 86_400)
    #expect(try run("radar-covid", now: late).leftOut == .tooOld)
  }

  @Test func nhs() throws {
    #expect(try run("nhs").reason == .originNotAllowed)
    #expect(try run("nhs", origin: "GB-SCT").app?.transmissionRisk == 7)
    #expect(try run("nhs", origin: "JE") { $0.reportType = 2 }.reason == .reportTypeNotAccepted)
    #expect(try run("nhs", origin: "GI").app?.daysSinceOnset == 0)
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
