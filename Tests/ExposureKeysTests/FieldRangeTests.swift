import ExposureKeys
import Testing

@Suite struct FieldRangeTests {
  @Test func reportTypesHaveTheNumbersOfTheirRange() {
    #expect(ReportType.allCases.allSatisfy { ReportType.numbers.contains($0.rawValue) })
    #expect(ReportType(rawValue: ReportType.numbers.lowerBound) != nil)
    #expect(ReportType(rawValue: ReportType.numbers.upperBound) != nil)
    // The two schemas' numbers, which never change.
    #expect(ReportType.numbers.lowerBound == 0 && ReportType.revoked.rawValue == 5)
  }

  @Test func ranges() {
    #expect(RollingPeriod.range == 1...144 && RollingPeriod.range.contains(RollingPeriod.fullDay))
    #expect(TransmissionRisk.range == 0...8 && DaysSinceOnset.range == -14...14)
    #expect(DaysSinceOnset.federationCodes.contains(DaysSinceOnset.range.lowerBound))
  }
}
