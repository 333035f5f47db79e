import Testing

@testable import KeyNormalization

@Suite struct SymptomStatusTests {
  private func day(_ days: Int) throws -> DayOffset { try #require(DayOffset(days)) }

  @Test func everyCodeReadsBackAsItself() {
    for code in Int32(-5000)...20_000 {
      #expect(SymptomStatus(federationCode: code).federationCode == code)
    }
    for code in [Int32.min, .min + 1, .max - 1, .max, 1_000_000, -1_000_000] {
      #expect(SymptomStatus(federationCode: code).federationCode == code)
    }
  }

  @Test func classes() throws {
    let range = try #require(OnsetRange(lengthInDays: 1))
    let longest = try #require(OnsetRange(lengthInDays: 19))
    let expected: [(Int32, SymptomStatus)] = [
      (-14, .onset(try day(-14))), (0, .onset(try day(0))), (14, .onset(try day(14))),
      (86, .onsetInRange(range, sinceLastDay: try day(-14))), (100, .onsetInRange(range, sinceLastDay: try day(0))),
      (1914, .onsetInRange(longest, sinceLastDay: try day(14))), (1986, .onsetUnknown(sinceSubmission: try day(-14))),
      (2000, .onsetUnknown(sinceSubmission: try day(0))), (2014, .onsetUnknown(sinceSubmission: try day(14))),
      (2986, .asymptomatic(sinceSubmission: try day(-14))), (3003, .asymptomatic(sinceSubmission: try day(3))),
      (3986, .statusUnknown(sinceSubmission: try day(-14))), (4014, .statusUnknown(sinceSubmission: try day(14))),
      (2_147_483_647, .notProvided),
    ]
    for (code, status) in expected { #expect(SymptomStatus(federationCode: code) == status, "\(code)") }
  }

  @Test(arguments: [-15, 15, 85, 115, 185, 1915, 1985, 2015, 2100, 2500, 2985, 3015, 3985, 4015, 4100, .min, .max - 1])
  func gaps(code: Int32) {
    #expect(SymptomStatus(federationCode: code) == .undefined(code))
  }

  @Test func nothingOutsideFourteenDaysLeavesForApps() {
    for code in Int32(-300)...5000 {
      let days = SymptomStatus(federationCode: code).daysSinceOnsetForApps
      #expect(days == ((-14...14).contains(code) ? code : nil), "\(code)")
    }
  }

  /// What national back ends made of other classes, and what is right.
  @Test func foreignMistakes() {
    // Ireland clamped to ±14: unknown status became day 14. Spain took the rest of a hundred: no symptoms became days.
    // Switzerland published day 0 for all, Finland for all but exact days.
    for code in [Int32(4000), 3997, 2998, 3000, 1998, 205, 1903] {
      #expect(SymptomStatus(federationCode: code).daysSinceOnsetForApps == nil, "\(code)")
    }
    #expect(SymptomStatus(federationCode: -3).daysSinceOnsetForApps == -3)
  }

  @Test func offsetsAndRangesHaveLimits() {
    #expect(DayOffset(15) == nil && DayOffset(-15) == nil)
    #expect(OnsetRange(lengthInDays: 0) == nil && OnsetRange(lengthInDays: 20) == nil)
  }
}
