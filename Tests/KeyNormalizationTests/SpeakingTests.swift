import ExposureKeys
import Testing

@testable import KeyNormalization

/// Whose keys a source may speak about, and which regions it may name.
@Suite struct SpeakingTests {
  private let good = AdmissionRuleTests.good

  private func judge(
    _ origin: String?, _ visited: [String]? = nil, from sender: Sender = Sender(name: "peer"),
    _ set: (inout ReadingPolicy) -> Void = { _ in }
  ) -> AdmittedBatch {
    var policy = ReadingPolicy()
    set(&policy)
    return admit([Said(key: good, origin: origin, visited: visited)], from: sender, policy: policy)
  }

  private func regions(_ batch: AdmittedBatch) -> [String]?? {
    batch.claims.first.map { batch.visited[Int($0.regions.rawValue)] }
  }

  @Test func aSourceWithAnOriginSpeaksForItAlone() {
    let italy = Sender(name: "it", origin: "it")
    #expect(judge("IT", from: italy).claims.count == 1)
    #expect(judge(nil, from: italy).allowances == [.originAssumed: 1])
    #expect(judge("DE", from: italy).rejected.map(\.reason) == [.originNotAllowed])
    #expect(judge("DE", from: italy) { $0.speaksFor = .any }.claims.count == 1)
    #expect(judge("DE", from: italy) { $0.speaksFor = ["DE", "IT"] }.claims.count == 1)
    #expect(judge("IT", from: italy) { $0.speaksFor = ["DE"] }.rejected.map(\.reason) == [.originNotAllowed])
    // Without an origin of its own, whatever its keys name; and a relay's have lost theirs.
    #expect(judge("DE").claims.count == 1)
    #expect(judge("DE", from: Sender(name: "relay", isRelay: true, origin: "IT")).allowances == [.originLost: 1])
  }

  @Test func namesThatCannotBeRegionsAreDropped() {
    let batch = judge("DE", ["it", "Germany", "R2", "GB-SCT", "262"])
    #expect(regions(batch) == ["262", "GB-SCT", "IT"])
    #expect(batch.allowances == [.regionsTidied: 1, .regionsUnknown: 1])
    #expect(regions(judge("DE", [""])) == .some([]), "an empty name is none")
    // A claim that named regions must not go everywhere because none of them counts.
    #expect(judge("DE", ["R2"]).rejected.map(\.description) == ["key 0: regions-unknown"])
    #expect(judge("Germany").rejected.map(\.reason) == [.originUnknown])
    #expect(regions(judge("R1", ["R2"]) { $0.declaredRegions = ["R1", "R2"] }) == ["R2"])
  }

  @Test func aSourceNamesTheRegionsThatItMay() {
    #expect(regions(judge("DE", ["DE", "IT"]) { $0.regions = ["DE", "AT"] }) == ["DE"])
    #expect(judge("DE", ["IT"]) { $0.regions = ["DE", "AT"] }.rejected.map(\.reason) == [.regionsNotAllowed])
    #expect(regions(judge("DE", nil) { $0.regions = ["DE"] }) == .some(nil))
  }

  @Test func aClaimNamesSixtyFourRegions() {
    let many = (1...65).map { "US-\($0)" }
    #expect(judge("DE", Array(many.dropLast())).claims.count == 1)
    #expect(judge("DE", many).rejected.map(\.description) == ["key 0: too-many-regions (65)"])
  }

  @Test func ages() {
    func judge(minutes: Int?, agoIs age: Int64) -> [AdmissionReason] {
      var key = good
      let end = IntervalNumber(containing: Cases.now).rawValue - age / 10
      (key.rollingStart, key.rollingPeriod) = (Int32(end - 144), 144)
      var policy = ReadingPolicy()
      policy.minimumAgeMinutes = minutes
      return admit([Said(key: key, origin: "DE", visited: nil)], from: Sender(name: "peer"), policy: policy).rejected
        .map(\.reason)
    }
    #expect(judge(minutes: nil, agoIs: -600) == [])
    #expect(judge(minutes: 0, agoIs: -10) == [.keyTooYoung] && judge(minutes: 0, agoIs: 0) == [])
    #expect(judge(minutes: 120, agoIs: 110) == [.keyTooYoung] && judge(minutes: 120, agoIs: 120) == [])
  }

  /// Two files of which nobody says whose they are contradict each other as two origins do, and neither is named.
  @Test func filesAreAnOriginEach() throws {
    var other = good
    other.rollingPeriod = 10
    var policy = ReadingPolicy()
    policy.speaksFor = .any
    func file(_ name: String, _ key: ClaimedKey, origin: String? = nil) -> AdmittedBatch {
      admit(
        [Said(key: key, origin: origin, visited: nil)],
        from: Sender(name: name, origin: RegionName.ofFile(name)), policy: policy)
    }
    var publishing = PublishingPolicy()
    publishing.rollingPeriodPreference = .narrowest
    let apart = claimSet([file("a.csv", good), file("A.csv", other)])
    let published = fold(apart, policy: publishing, now: Cases.now)
    #expect(published.keys.map(\.forApps.rollingPeriod) == [144], "between origins the widest period holds")
    #expect(published.keys.map { published.regions[$0.forFederation.regions] } == [RegionClaim()])
    let together = fold(claimSet([file("a.csv", good), file("a.csv", other)]), policy: publishing, now: Cases.now)
    #expect(together.keys.map(\.forApps.rollingPeriod) == [10], "one file is one origin")
    let named = fold(claimSet([file("a.csv", good, origin: "DE")]), policy: publishing, now: Cases.now)
    #expect(named.keys.map { named.regions[$0.forFederation.regions].origin } == ["DE"])
  }
}
