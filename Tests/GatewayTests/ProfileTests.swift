import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyInspection
import Testing

/// A bundle that breaks one rule, and what each client does.
struct ProfileCase: Sendable, CustomTestStringConvertible {
  let rule: ProfileRule
  let name: String
  let outcomes: [DeviceProfile: ProfileReport.Outcome]
  let change: @Sendable (inout SampleBundle) -> Void

  init(
    _ rule: ProfileRule, _ name: String, strict: ProfileReport.Outcome, google: ProfileReport.Outcome,
    iosV1: ProfileReport.Outcome, later: ProfileReport.Outcome? = nil, microg: ProfileReport.Outcome,
    _ change: @escaping @Sendable (inout SampleBundle) -> Void
  ) {
    self.rule = rule
    self.name = name
    // iOS 12.5, 13.7 and later differ in few rules.
    let later = later ?? iosV1
    outcomes = [
      .strict: strict, .google: google, .iosV1: iosV1, .ios125: later, .ios137: later, .microg: microg,
    ]
    self.change = change
  }

  var testDescription: String { "\(rule.rawValue): \(name)" }
}

@Suite struct ProfileTests {
  @Test(arguments: DeviceProfile.allCases)
  func soundBundleIsAccepted(profile: DeviceProfile) throws {
    let report = profile.judge(try SampleBundle().examine(), signature: .verified)
    #expect(report.verdict == .accepts)
    #expect(report.rules.filter { $0.outcome.isRemarkable } == [])
    #expect(Set(report.rules.map(\.rule)).count == report.rules.count)
  }

  @Test(arguments: [
    ProfileCase(.fileHeader, "padding", strict: .refuseFile, google: .refuseFile, iosV1: .refuseFile, microg: .warn) {
      $0.fileHeader = Array("EK Export v1\0\0\0\0".utf8)
    },
    ProfileCase(.batch, "1 of 7", strict: .refuseFile, google: .refuseCall, iosV1: .refuseFile, microg: .info) {
      $0.header.batchSize = 7
    },
    ProfileCase(.batch, "absent", strict: .warn, google: .ok, iosV1: .ok, microg: .ok) {
      ($0.header.batchNum, $0.header.batchSize) = (nil, nil)
    },
    ProfileCase(.signatureCount, "none", strict: .refuseFile, google: .refuseCall, iosV1: .refuseFile, microg: .warn) {
      $0.signatures = []
    },
    ProfileCase(
      .signatureCount, "one for two infos", strict: .refuseFile, google: .refuseCall, iosV1: .info, microg: .warn
    ) {
      $0.header.signatureInfos.append(SampleBundle.info)
    },
    ProfileCase(.signatureCount, "two for two infos", strict: .warn, google: .info, iosV1: .warn, microg: .warn) {
      $0.header.signatureInfos.append(SampleBundle.info)
      $0.signatures?.append(SampleBundle.signature)
    },
    ProfileCase(.signatureInfos, "bundle id", strict: .refuseFile, google: .ok, iosV1: .ok, microg: .ok) {
      $0.signatures?[0].info.appBundleID = "app"
    },
    ProfileCase(.keyIdentity, "no version", strict: .refuseFile, google: .ok, iosV1: .refuseFile, microg: .ok) {
      $0.signatures?[0].info.verificationKeyVersion = nil
    },
    ProfileCase(.keyIdentity, "no id", strict: .refuseFile, google: .info, iosV1: .ok, microg: .ok) {
      $0.signatures?[0].info.verificationKeyID = nil
    },
    ProfileCase(.keyIdentity, "no id beside another", strict: .refuseFile, google: .refuseCall, iosV1: .ok, microg: .ok)
    {
      $0.header.signatureInfos.append(SampleBundle.info)
      $0.signatures?.append(SampleBundle.signature)
      $0.signatures?[1].info.verificationKeyID = nil
    },
    ProfileCase(.algorithm, "name", strict: .refuseFile, google: .refuseCall, iosV1: .info, microg: .warn) {
      $0.signatures?[0].info.signatureAlgorithm = "ecdsa-with-SHA256"
    },
    ProfileCase(.algorithm, "SHA-512", strict: .refuseFile, google: .ok, iosV1: .info, microg: .ok) {
      $0.signatures?[0].info.signatureAlgorithm = "1.2.840.10045.4.3.4"
    },
    ProfileCase(.signatureEncoding, "raw", strict: .refuseFile, google: .refuseCall, iosV1: .refuseFile, microg: .warn)
    {
      $0.signatures?[0].signature = [UInt8](repeating: 0x55, count: 64)
    },
    ProfileCase(.signatureEncoding, "padded integer", strict: .refuseFile, google: .warn, iosV1: .warn, microg: .warn) {
      $0.signatures?[0].signature = [0x30, 0x07, 0x02, 0x02, 0x00, 0x05, 0x02, 0x01, 0x05]
    },
    ProfileCase(.keyData, "short", strict: .refuseFile, google: .refuseFile, iosV1: .refuseCall, microg: .skipKey) {
      $0.rawKeys = [[0x0a, 1, 1]]
    },
    ProfileCase(.keyData, "absent", strict: .refuseFile, google: .skipKey, iosV1: .refuseCall, microg: .refuseFile) {
      $0.rawKeys = [[0x18, 1]]
    },
    ProfileCase(.negativeNumbers, "risk", strict: .refuseFile, google: .warn, iosV1: .refuseFile, microg: .info) {
      $0.keys[0].transmissionRisk = -22
    },
    ProfileCase(.repeatedKeys, "alike", strict: .refuseFile, google: .skipKey, iosV1: .warn, microg: .info) {
      $0.keys.append($0.keys[2])
    },
    ProfileCase(.keyEntropy, "zeros", strict: .warn, google: .ok, iosV1: .ok, microg: .ok) {
      $0.keys[0].key = TemporaryExposureKey(high: 0, low: 0)
    },
    ProfileCase(.rollingPeriod, "absent", strict: .refuseFile, google: .ok, iosV1: .ok, microg: .refuseFile) {
      $0.keys[0].rollingPeriod = nil
    },
    ProfileCase(.rollingPeriod, "zero", strict: .refuseFile, google: .warn, iosV1: .ok, microg: .skipKey) {
      $0.keys[0].rollingPeriod = 0
    },
    ProfileCase(.rollingPeriod, "145", strict: .refuseFile, google: .warn, iosV1: .skipKey, microg: .ok) {
      $0.keys[0].rollingPeriod = 145
    },
    ProfileCase(.rollingStart, "absent", strict: .refuseFile, google: .skipKey, iosV1: .skipKey, microg: .refuseFile) {
      $0.keys[0].rollingStart = nil
    },
    ProfileCase(.rollingStart, "future", strict: .refuseFile, google: .ok, iosV1: .ok, microg: .ok) {
      $0.keys[0].rollingStart = midnight + 3 * 144
    },
    ProfileCase(.stillValid, "a day", strict: .refuseFile, google: .ok, iosV1: .ok, microg: .ok) {
      $0.keys[0].rollingStart = midnight + 144
    },
    ProfileCase(.age, "sixteen days", strict: .warn, google: .info, iosV1: .info, microg: .info) {
      $0.keys[0].rollingStart = midnight - 14 * 144
    },
    ProfileCase(.alignment, "ten past", strict: .info, google: .ok, iosV1: .ok, microg: .ok) {
      $0.keys[0].rollingStart = midnight - 143
    },
    ProfileCase(.riskLevel, "8", strict: .warn, google: .ok, iosV1: .info, microg: .ok) {
      $0.keys[0].transmissionRisk = 8
    },
    ProfileCase(.riskLevel, "9", strict: .refuseFile, google: .warn, iosV1: .info, microg: .info) {
      $0.keys[0].transmissionRisk = 9
    },
    ProfileCase(
      .reportType, "recursive", strict: .warn, google: .skipKey, iosV1: .ok, later: .skipKey, microg: .ok
    ) {
      $0.keys[0].reportType = 4
    },
    ProfileCase(.reportType, "revoked", strict: .warn, google: .info, iosV1: .ok, microg: .ok) {
      $0.keys[0].reportType = 5
    },
    ProfileCase(.reportType, "absent", strict: .warn, google: .ok, iosV1: .ok, later: .warn, microg: .ok) {
      $0.keys[0].reportType = nil
    },
    ProfileCase(
      .daysSinceOnset, "15", strict: .refuseFile, google: .refuseFile, iosV1: .ok, later: .info, microg: .ok
    ) {
      $0.keys[0].daysSinceOnset = 15
    },
    ProfileCase(.revisedKeys, "one", strict: .ok, google: .info, iosV1: .info, microg: .info) {
      $0.keys[2].isRevised = true
    },
    ProfileCase(.window, "no end", strict: .warn, google: .ok, iosV1: .ok, microg: .warn) {
      $0.header.endTimestamp = nil
    },
    ProfileCase(.window, "backwards", strict: .warn, google: .ok, iosV1: .ok, microg: .ok) {
      $0.header.startTimestamp = windowEnd + 1
    },
    ProfileCase(.archiveEntries, "no signature", strict: .refuseFile, google: .refuseCall, iosV1: .warn, microg: .warn)
    {
      $0.signatures = nil
    },
  ])
  func clientsReact(_ broken: ProfileCase) throws {
    var bundle = SampleBundle()
    broken.change(&bundle)
    let examination = try bundle.examine()
    for profile in DeviceProfile.allCases {
      let report = profile.judge(examination, signature: .verified)
      let row = try #require(report.rules.first { $0.rule == broken.rule })
      #expect(row.outcome == broken.outcomes[profile], "\(profile.rawValue): \(row.text)")
      #expect((row.outcome == .ok) == (row.count == 0))
    }
  }

  @Test func archiveRules() throws {
    let extra = try examineBytes(
      try SampleBundle().rawZip { $0.entries.append(RawZip.Entry(name: "content.sig", content: [1])) })
    let described = try examineBytes(try SampleBundle().rawZip { $0.entries[1].hasDataDescriptor = true })
    let expected: [(DeviceProfile, ProfileReport.Verdict, ProfileReport.Verdict)] = [
      (.strict, .refusesFile, .refusesFile), (.google, .refusesCall, .refusesCall),
      (.iosV1, .acceptsWithWarnings, .accepts), (.microg, .acceptsWithWarnings, .accepts),
    ]
    for (profile, withExtra, withDescriptor) in expected {
      #expect(profile.judge(extra, signature: .verified).verdict == withExtra)
      #expect(profile.judge(described, signature: .verified).verdict == withDescriptor)
    }
  }

  @Test func signatureVerdictDecides() throws {
    let examination = try SampleBundle().examine()
    #expect(DeviceProfile.strict.judge(examination, signature: .notVerified).verdict == .refusesFile)
    #expect(DeviceProfile.google.judge(examination, signature: .notVerified).verdict == .refusesCall)
    #expect(DeviceProfile.iosV1.judge(examination, signature: .notVerified).verdict == .refusesFile)
    #expect(DeviceProfile.microg.judge(examination, signature: .notVerified).verdict == .acceptsWithWarnings)
    for profile in DeviceProfile.allCases {
      let report = profile.judge(examination, signature: .unknown)
      #expect(report.rules.first { $0.rule == .signatureVerifies }?.outcome == .notJudged)
      #expect(report.verdict == .accepts)
    }
  }

  @Test func presentIsTheTimePassedIn() throws {
    let bundle = SampleBundle()
    let late = Instant(secondsSince1970: Int64(midnight) * 600 + 86_400 * 16)
    let old = DeviceProfile.strict.judge(try bundle.examine(InspectionOptions(now: late)), signature: .verified)
    #expect(old.verdict == .acceptsWithWarnings)
    #expect(old.rules.first { $0.rule == .age }?.count == 3)
    let early = Instant(secondsSince1970: Int64(midnight) * 600 - 1)
    let future = DeviceProfile.strict.judge(try bundle.examine(InspectionOptions(now: early)), signature: .verified)
    #expect(future.rules.first { $0.rule == .rollingStart }?.outcome == .refuseFile)
  }

  @Test func skippedKeysAreCounted() throws {
    var bundle = SampleBundle()
    bundle.keys[0].rollingPeriod = 200
    bundle.keys[1].rollingPeriod = 200
    let report = DeviceProfile.iosV1.judge(try bundle.examine(), signature: .verified)
    #expect(report.verdict == .skipsKeys)
    #expect(report.skippedKeys == 2)
  }

  @Test func unreadableFilesAreRefused() {
    let error = FormatError(.truncated, place: "export.bin", "ends in the middle")
    #expect(DeviceProfile.google.judge(unreadable: error).verdict == .refusesCall)
    #expect(DeviceProfile.iosV1.judge(unreadable: error).verdict == .refusesFile)
    #expect(DeviceProfile.microg.judge(unreadable: error).rules.map(\.rule) == [.encoding])
  }

  @Test func clientsReadExportsOnly() throws {
    let message = [0x0a, 16] + SampleBundle.key(1).key.bytes + [0x10, 0xf0, 0xb0, 0xa2, 0x01, 0x18, 0x90, 0x01]
    let examination = try examineBytes([0x0a, UInt8(message.count)] + message)
    #expect(DeviceProfile.google.judge(examination, signature: .unknown).rules.map(\.rule) == [.format])
  }
}
