import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyPublishing
import KeyStorage
import Testing

/// Apps that ask for days of exposure get a day's keys whenever they were published.
@Suite("Archives by key day")
struct KeyDayTests {
  /// The keys of each listed archive, by the day of its name.
  private func days(_ press: Press) throws -> [Day: Set<TemporaryExposureKey>] {
    var days: [Day: Set<TemporaryExposureKey>] = [:]
    for bundle in try press.listed("NL", .keyDay) {
      let day = Instant(secondsSince1970: bundle.start).day
      #expect(days[day] == nil, "one archive a day")
      #expect(bundle.path.hasPrefix("NL/key-day/keys-\(day)-"))
      let keys = try DecodedDocument(press.bytes(bundle.path)).keys
      #expect(keys.allSatisfy { IntervalNumber(Int64($0.rollingStartWord)).day == day })
      days[day] = Set(keys.map(\.key))
    }
    return days
  }

  private func day(ofAge age: Int64) -> Day { Day(daysSince1970: firstDay.daysSince1970 - age - 1) }

  @Test("an upload of thirteen days stands under thirteen days, and a late key makes its day again")
  func keyDays() async throws {
    try await Press.run(.sample { $0.makesKeyDays = true }) { press in
      let keys = (1...13).map { key(UInt64($0), age: Int64($0 % 12)) }
      try await press.say(keys)
      try await press.round(at(10))
      let first = try days(press)
      #expect(
        first
          == Dictionary(grouping: keys) { IntervalNumber(Int64($0.rollingStartWord)).day }.mapValues {
            Set($0.map(\.key))
          })

      // One more key of an old day: that day has an archive of another name, the others keep theirs.
      let paths = Set(try press.listed("NL", .keyDay).map(\.path))
      let late = key(99, age: 5)
      try await press.say([late], now: at(11))
      try await press.round(at(12))
      let second = try days(press)
      #expect(second[day(ofAge: 5)] == first[day(ofAge: 5)]?.union([late.key]))
      #expect(second.filter { $0.key != day(ofAge: 5) } == first.filter { $0.key != day(ofAge: 5) })
      #expect(Set(try press.listed("NL", .keyDay).map(\.path)).symmetricDifference(paths).count == 2)

      // Nothing new, nothing made again.
      let files = try press.listed("NL", .keyDay)
      try await press.round(at(14))
      #expect(try press.listed("NL", .keyDay) == files)
    }
  }

  @Test("switched on later, there is an archive of every listed day at the next window, keys or not")
  func later() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1, age: 2), key(2, age: 4)])
      try await press.round(at(10))
      #expect(try days(press).isEmpty)
      press.series[0].makesKeyDays = true
      try await press.round(at(12))
      #expect(Set(try days(press).keys) == [day(ofAge: 2), day(ofAge: 4)])
    }
  }

}
