import ExposureKeys
import Testing

@Suite struct TimeTests {
  @Test(arguments: [("1970-01-01", 0), ("2020-02-29", 18321), ("2000-03-01", 11017), ("1969-12-31", -1)])
  func dayTextAndNumber(text: String, number: Int64) throws {
    let day = try #require(Day(text))
    #expect(day.daysSince1970 == number)
    #expect(day.description == text)
  }

  @Test(arguments: ["2020-02-30", "2020-13-01", "2020-00-10", "20200101", "2020-1-1", "", "2020-02-2x"])
  func notADay(text: String) { #expect(Day(text) == nil) }

  @Test func everyDayOfFourCenturiesRoundTrips() {
    for number in stride(from: Int64(-80_000), to: 80_000, by: 1) {
      let day = Day(daysSince1970: number)
      #expect(Day(day.description) == day)
    }
  }

  @Test func instants() throws {
    #expect(Instant("2020-06-01T00:00:00Z")?.secondsSince1970 == 1_590_969_600)
    #expect(Instant("2020-06-01T23:59:59.123z")?.description == "2020-06-01T23:59:59Z")
    #expect(Instant("2020-06-01")?.secondsSince1970 == 1_590_969_600)
    #expect(Instant("1590969600")?.description == "2020-06-01T00:00:00Z")
    #expect(Instant("2020-06-01T24:00:00Z") == nil)
    #expect(Instant("2020-06-01T00:00:00+01:00") == nil)
    #expect(Instant("2020-06-01T00:00:00.Z") == nil)
  }

  @Test func intervals() {
    #expect(IntervalNumber(2_649_024).start.description == "2020-05-14T00:00:00Z")
    #expect(IntervalNumber(containing: Instant(secondsSince1970: -1)).rawValue == -1)
  }
}
