import ExposureKeys
import KeyNormalization
import Testing

@testable import PolicyFiles

/// What is wrong with the first state of a policy is told once.
@Suite struct PolicyChangeFaultTests {
  private func faults(_ text: String) -> [String] {
    do throws(PolicyFileFault) {
      _ = try PolicyFile.parse(text, named: "x.yaml")
      return []
    } catch {
      return error.faults.map(\.description)
    }
  }

  @Test func aFaultOfTheBaseIsToldOnce() {
    let text = """
      name: mine
      reading: { maximum-age-days: 9999 }
      publishing: { precedence: [DE, NOWHERE] }
      changes:
        - from: 2022-01-13
          publishing: { risk: { default: 1, minimum: 3 } }
        - from: 2022-02-04
          publishing: { risk: { cap: 9 } }
        - from: 2022-03-04
          publishing: { hold-minutes: 180 }
      """
    let told = faults(text)
    #expect(told.count == 3, "\(told)")
    #expect(told.contains("2:12: reading.maximum-age-days: 9999, allowed 0...3650"), "\(told)")
    #expect(told.contains { $0.contains("publishing.precedence: \"NOWHERE\" cannot be a region") }, "\(told)")
    #expect(told.contains { $0.contains("changes.1.publishing.risk.cap: 9") }, "\(told)")
  }
}

/// Rules that hold from a date.
@Suite struct PolicyChangeTests {
  private let text = """
    name: mine
    reading: {maximum-age-days: 14}
    publishing: {risk: {default: 1}}
    changes:
      - from: 2022-01-13
        publishing: {risk: {minimum: 3}}
      - from: 2022-02-04
        reading: {maximum-age-days: 10, minimum-age-minutes: 0}
    """

  private func noon(_ day: String) throws -> Instant {
    Instant(secondsSince1970: try #require(Day(day)).start.secondsSince1970 + 43_200)
  }

  @Test func eachHoldsFromItsDayOn() throws {
    let policy = try PolicyFile.parse(text, named: "mine.yaml")
    let (before, first, second) = (
      policy.at(try noon("2022-01-12")), policy.at(try noon("2022-01-13")), policy.at(try noon("2022-03-01"))
    )
    #expect(before.publishing.risk.minimum == nil && before.reading.maximumAge == 14)
    #expect(first.publishing.risk.minimum == 3 && first.publishing.risk.fallback == 1 && first.reading.maximumAge == 14)
    #expect(second.publishing.risk.minimum == 3 && second.reading.maximumAge == 10)
    #expect(second.reading.minimumAgeMinutes == 0 && second.changes.isEmpty)
    #expect(RuleTable(of: policy).changes.count == 2)
  }

  @Test func faultsAreToldWithTheirPlace() {
    func faults(_ changes: String) -> [String] {
      do throws(PolicyFileFault) {
        _ = try PolicyFile.parse("name: mine\nchanges: \(changes)", named: "mine.yaml")
        return []
      } catch {
        return error.faults.map(\.description)
      }
    }
    #expect(faults("[{from: 2022-01-13}]") == [])
    #expect(faults("[{publishing: {}}]") == ["2:11: changes.0.from: missing, allowed a date: 2022-01-13"])
    #expect(
      faults("[{from: 2022-01-13}, {from: 2022-01-13}]")
        == ["2:32: changes.1.from: 2022-01-13, not after 2022-01-13; allowed is the order of time"])
    #expect(
      faults("[{from: 2022-01-13, publishing: {hold-minutes: 5}}]").first?.contains("changes.0.publishing.hold-minutes")
        == true)
  }

  /// What gives up the merge law is named.
  @Test func warnings() throws {
    let policy = try PolicyFile.parse(
      "name: mine\nreading: {speaks-for: any}\npublishing: {precedence: [DE]}", named: "mine.yaml")
    #expect(policy.warnings.map(\.place) == ["reading.speaks-for", "publishing.precedence"])
    #expect(policy.warnings.last?.reason.contains("merge law") == true)
    #expect(try PolicyFile.parse("name: mine", named: "mine.yaml").warnings.isEmpty)
    for name in ShippedPolicies.names { #expect(try ShippedPolicies.policy(named: name)?.warnings == []) }
  }
}
