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

  /// Numbers that arithmetic breaks on, with those beside the bounds.
  private static let extremes: [Int64] = {
    let bounds: [Int64] = [0, .max, .max / 86_400, .max / 600, .max / 144, 365_242_500, 365_242_500 * 86_400]
    return bounds.flatMap { [-$0, $0] }.flatMap { [$0 &- 1, $0, $0 &+ 1] }
  }()

  @Test func noNumberIsTooLarge() {
    for number in Self.extremes {
      let (day, instant, interval) = (
        Day(daysSince1970: number), Instant(secondsSince1970: number), IntervalNumber(number)
      )
      #expect(day.start.day == day && day.firstInterval.day == day && day.firstInterval.start == day.start)
      #expect(interval.day.firstInterval <= interval && IntervalNumber(containing: interval.start) == interval)
      #expect(instant.day.start <= instant && IntervalNumber(containing: instant).start <= instant)
      #expect("\(day.start)" == "\(day)T00:00:00Z")
      #expect("\(instant)".hasPrefix("\(instant.day)T"))
    }
    #expect(Day(daysSince1970: .max).description == "1001970-01-01")
    #expect(Day(daysSince1970: .min) < Day(daysSince1970: -365_242_499))
    #expect(Instant(secondsSince1970: .max).day == Day(daysSince1970: .max))
    #expect(IntervalNumber(.min).day == Day(daysSince1970: .min))
  }

  @Test func noDateIsTooFarAway() {
    for year in Self.extremes + [1970, 2000, 1_001_970, 1_001_971, -998_030, -998_031] {
      for month in Self.extremes + Array(0...13) {
        for day in Self.extremes + [28, 29, 31, 32] {
          guard let found = Day(year: year, month: month, day: day) else { continue }
          #expect(Day(daysSince1970: found.daysSince1970) == found)
          #expect((1...12).contains(month) && (1...31).contains(day) && year.magnitude < 1_001_971)
        }
      }
    }
    #expect(Day(year: 1_001_970, month: 1, day: 1) == Day(daysSince1970: .max))
    #expect(Day(year: 1_001_970, month: 1, day: 2) == nil)
    #expect(Day(year: -998_030, month: 1, day: 1) == Day(daysSince1970: .min))
    #expect(Day(year: -998_031, month: 12, day: 31) == nil)
  }
}
