import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyNormalization
import KeyPublishing
import KeyStorage
import Testing

/// Apps that count files get one archive a day of publication, appended when the day is over.
@Suite("Editions")
struct EditionTests {
  /// Rounds at every second hour, each with a key of its own that nobody has seen before.
  private func publish(_ press: Press, _ hours: [Int64]) async throws {
    for hour in hours {
      try await press.say([key(1000 + UInt64(hour), age: 3)], now: at(hour - 1))
      try await press.round(at(hour))
    }
  }

  private func keys(_ press: Press, _ bundles: [SeriesManifest.Bundle]) throws -> [KeySubject] {
    try bundles.flatMap { try press.bundle($0.path).keys.map(\.subject) }
  }

  @Test(
    "a day's edition comes when the day is over, holds what its windows hold, and never changes", arguments: [1, 4])
  func days(perDay: Int) async throws {
    try await Press.run(.sample { $0.editionsPerDay = perDay }) { press in
      try await publish(press, [2, 4])
      #expect(try press.listed("NL", .edition).isEmpty)
      #expect(try press.manifest("NL").editionsPerDay == perDay)
      try await publish(press, Array(stride(from: 6, through: 48, by: 2)))
      let editions = try press.listed("NL", .edition)
      #expect(editions.map(\.ordinal) == Array(0..<2 * perDay))
      let length = 86_400 / Int64(perDay)
      for edition in editions {
        #expect(edition.start % length == 0 && edition.end == edition.start + length)
        #expect(edition.path.hasPrefix("NL/edition/edition-"))
        let windows = try press.listed("NL", .increment).filter { $0.start >= edition.start && $0.end <= edition.end }
        #expect(windows.count == 12 / perDay)
        #expect(try Set(keys(press, [edition])) == Set(keys(press, windows)))
      }
      let subjects = try keys(press, editions)
      #expect(subjects.count == 24 && Set(subjects).count == 24, "each key once")
      #expect(try press.index("NL").allSatisfy { !$0.contains("edition") }, "an index of windows names no edition")

      // What is published later is in a later one; the others keep their bytes.
      try await publish(press, Array(stride(from: 50, through: 72, by: 2)))
      #expect(Array(try press.listed("NL", .edition).prefix(2 * perDay)) == editions)
      #expect(try press.listed("NL", .edition).count == 3 * perDay)
    }
  }

  @Test("after an outage over midnight nothing is lost, and a day without keys has no edition")
  func outage() async throws {
    try await Press.run(.sample()) { press in
      try await publish(press, [20])
      // Three days later.
      try await publish(press, [20 + 72])
      #expect(try press.listed("NL", .edition).map { Instant(secondsSince1970: $0.start).day } == [firstDay])
      try await publish(press, [96])
      let editions = try press.listed("NL", .edition)
      #expect(editions.map(\.ordinal) == [0, 1])
      #expect(try Set(keys(press, editions)) == Set(keys(press, press.listed("NL", .increment))))
    }
  }

  @Test("begun beside windows, editions are numbered so that an app that has all windows is given none of them again")
  func begunLater() async throws {
    try await Press.run(.sample { $0.editionsPerDay = 0 }) { press in
      try await publish(press, Array(stride(from: 2, through: 52, by: 2)))
      let windows = try press.listed("NL", .increment)
      #expect(windows.count == 26)
      #expect(try press.listed("NL", .edition).isEmpty && press.manifest("NL").editionsPerDay == nil)
      press.series[0].editionsPerDay = 1
      try await publish(press, [54])
      let earlier = try press.listed("NL", .edition)
      #expect(earlier.map(\.ordinal) == [24, 25], "they end where the windows ended")
      #expect(try Set(keys(press, earlier)) == Set(keys(press, Array(windows.prefix(24)))))
      try await publish(press, Array(stride(from: 56, through: 72, by: 2)))
      #expect(try press.listed("NL", .edition).map(\.ordinal) == [24, 25, 26])

      // Without them and with them again, the count never goes back.
      press.series[0].editionsPerDay = 0
      try await publish(press, [74])
      #expect(try press.listed("NL", .edition).isEmpty)
      press.series[0].editionsPerDay = 1
      try await publish(press, [76, 96])
      let all = try press.listed("NL", .edition)
      #expect(all.map(\.ordinal) == [34, 35, 36, 37])
      let subjects = try keys(press, all)
      #expect(Set(subjects).count == subjects.count, "nothing is listed twice")
    }
  }

  @Test("begun in the round that ends a day, the edition with new keys comes behind what an app may have")
  func begunAtMidnight() async throws {
    try await Press.run(.sample { $0.editionsPerDay = 0 }) { press in
      try await publish(press, [20, 22])
      press.series[0].editionsPerDay = 1
      try await publish(press, [24])
      #expect(try press.listed("NL", .edition).map(\.ordinal) == [2])
    }
  }

  @Test("another number of editions a day neither loses nor repeats a key")
  func anotherNumber() async throws {
    try await Press.run(.sample { $0.editionsPerDay = 4 }) { press in
      try await publish(press, Array(stride(from: 2, through: 14, by: 2)))
      press.series[0].editionsPerDay = 1
      try await publish(press, Array(stride(from: 16, through: 30, by: 2)))
      press.series[0].editionsPerDay = 2
      try await publish(press, Array(stride(from: 32, through: 48, by: 2)))
      let editions = try press.listed("NL", .edition)
      #expect(editions.map(\.ordinal) == Array(0..<editions.count))
      let subjects = try keys(press, editions)
      #expect(subjects.count == 24 && Set(subjects).count == 24)
    }
  }

  @Test("another key signs them again, behind all others")
  func signedAgain() async throws {
    let next = makeIdentity("v2")
    let schedule = [ScheduledIdentity(identity: identity), ScheduledIdentity(identity: next, from: at(49))]
    try await Press.run(.sample(identities: schedule)) { press in
      try await publish(press, [12, 24, 36, 48])
      #expect(try press.listed("NL", .edition).map(\.ordinal) == [0, 1])
      try await publish(press, [50, 72])
      let editions = try press.listed("NL", .edition)
      #expect(editions.map(\.ordinal) == [2, 3, 4] && editions.allSatisfy { $0.keyVersion == "v2" })
      #expect(try Set(keys(press, editions)).count == 6)
    }
  }

  @Test("a round without a new window, and one again after a crash, make no second edition")
  func again() async throws {
    try await Press.run(.sample()) { press in
      try await publish(press, [22, 24])
      let editions = try press.listed("NL", .edition)
      #expect(editions.count == 1)
      try await press.round(at(24, 30))
      try await press.round(at(26))
      #expect(try press.listed("NL", .edition) == editions)
    }
  }

  @Test("where a middle part of an edition is left, its other parts are made again and no two end at one second")
  func lostParts() async throws {
    try await Press.run(.sample { $0.maximumKeys = 1 }) { press in
      try await publish(press, [2, 4, 6, 24])
      let editions = try press.listed("NL", .edition)
      try #require(editions.count >= 3, "a part a key")
      let (first, last) = (try #require(editions.first), try #require(editions.last))
      for lost in [first, last] { try FileManager.default.removeItem(atPath: "\(press.root)/\(lost.path)") }
      try await press.round(at(24, 30))
      let made = try press.listed("NL", .edition)
      #expect(made.count == editions.count && Set(made.map(\.end)).count == made.count)
      #expect(try Set(keys(press, made)) == Set(keys(press, press.listed("NL", .increment))))
    }
  }
}
