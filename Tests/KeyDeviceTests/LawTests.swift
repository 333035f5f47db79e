import ExposureKeys
import Foundation
import GatewayTesting
import Testing

@testable import KeyDevice

/// What holds for any people and any log.
struct LawTests {
  private func each(_ purpose: String, _ count: Int = 150, _ body: (Scenario, inout SeededRandom) throws -> Void)
    rethrows
  {
    var random = SeededRandom(for: purpose)
    for _ in 0..<count {
      let scenario = Scenario(&random)
      try body(scenario, &random)
    }
  }

  private func sums(_ windows: [[ExposureWindow]]) -> [Day: Double] {
    Dictionary(
      uniqueKeysWithValues: DailySummary.summaries(of: Array(windows.joined()), Scenario.daily).map {
        ($0.day, $0.total.sum)
      })
  }

  /// A sighting within every phone's rules is found, and counted by each.
  @Test func completeness() {
    each("completeness") { scenario, random in
      let cipher = IdentifierCipher()
      for key in scenario.keys {
        let period = Int(key.rollingPeriodWord)
        let offset = Int.random(in: 0..<period, using: &random)
        let encounter = Encounter(parts: [.init(seconds: 600, attenuation: 55)])
        for model in PhoneModel.allCases {
          let now = Instant(secondsSince1970: (Int64(key.rollingStartWord) + 144) * 600 + 86_400)
          let phone = Phone(model, now: now)
          let planted = encounter.sightings(of: key, period: period, from: offset, on: model, cipher)
          let search = IdentifierSearch(
            SightingTable(
              planted
                + scenario.sightings.filter { one in
                  !planted.contains { $0.identifier == one.identifier }
                }))
          #expect(search.find(key.key, start: key.rollingStartWord, period: period))
          let reception = phone.receive(search.broadcasts(of: key), of: key, period: period)
          #expect(reception.sightings.contains { $0.attenuation == 55 }, "\(model)")
        }
      }
    }
  }

  /// Keys that nobody was near are never found.
  @Test func soundness() {
    each("soundness") { scenario, random in
      let search = IdentifierSearch(SightingTable(scenario.sightings))
      for _ in 0..<50 {
        let padding = TemporaryExposureKey(high: random.next(), low: random.next())
        #expect(!search.find(padding, start: scenario.keys[0].rollingStartWord, period: 144))
      }
    }
  }

  /// The search finds what comparing everything with everything finds.
  @Test func searchEqualsComparison() {
    each("search", 60) { scenario, _ in
      let cipher = IdentifierCipher()
      for key in scenario.keys {
        let identifiers = cipher.identifiers(
          of: key.key, start: UInt32(bitPattern: key.rollingStartWord), count: Int(key.rollingPeriodWord))
        let search = IdentifierSearch(SightingTable(scenario.sightings), reach: 12)
        _ = search.find(key.key, start: key.rollingStartWord, period: identifiers.count)
        let found = search.findings.flatMap { finding in
          search.table.sightings[finding.sightings].map { "\(finding.offset) \($0.milliseconds)" }
        }
        let expected = scenario.sightings.flatMap { sighting in
          identifiers.indices.filter { index in
            let own = Int64(key.rollingStartWord) + Int64(index)
            let days = IntervalNumber(own - 12).day...IntervalNumber(own + 12).day
            return identifiers[index] == sighting.identifier && days.contains(sighting.time.day)
          }.map { "\($0) \(sighting.milliseconds)" }
        }
        #expect(found.sorted() == expected.sorted())
      }
    }
  }

  /// The order of a log changes nothing, and neither does cutting the keys into calls.
  @Test func orderAndSplit() {
    each("order") { scenario, random in
      for model in [PhoneModel.google, .microg] {
        let expected = scenario.windows(model)
        #expect(scenario.windows(model, scenario.sightings.shuffled(using: &random)) == expected)
        var turned = scenario
        turned.keys.reverse()
        let reversed: [[ExposureWindow]] = turned.windows(model).reversed()
        #expect(reversed == expected)
        let single = scenario.keys.flatMap { key in
          var one = scenario
          one.keys = [key]
          return one.windows(model)
        }
        #expect(single == expected)
      }
    }
  }

  /// Nearer never lowers a score, and a higher threshold never adds an alarm.
  @Test func monotony() {
    each("monotony") { scenario, _ in
      let nearer = scenario.sightings.map { sighting in
        Sighting(
          identifier: sighting.identifier, milliseconds: sighting.milliseconds,
          encryptedMetadata: sighting.encryptedMetadata, rssi: sighting.rssi.map { $0 + 5 },
          secondsSincePreviousScan: sighting.secondsSincePreviousScan)
      }
      let (far, near) = (sums(scenario.windows(.google)), sums(scenario.windows(.google, nearer)))
      for (day, sum) in far { #expect((near[day] ?? 0) >= sum) }
      let windows = Array(scenario.windows(.google).joined())
      var alarms: [Bool] = []
      for threshold in [0.0, 300, 900, 1800, 5000] {
        let rule = WindowRule.dailySum(Scenario.daily, alarm: ThresholdTest(.atLeast, threshold))
        alarms.append(rule.judge(windows, today: Scenario.now.day).isAlarm)
      }
      #expect(zip(alarms, alarms.dropFirst()).allSatisfy { $0 || !$1 })
    }
  }

  /// Time moved by whole days moves results by as many.
  @Test func shift() {
    each("shift") { scenario, random in
      let days = Int64.random(in: 1...40, using: &random)
      let cipher = IdentifierCipher()
      var moved = scenario
      moved.keys = scenario.keys.map { key in
        var key = key
        key.rollingStart = key.rollingStartWord + Int32(144 * days)
        return key
      }
      moved.sightings = scenario.broadcasts().flatMap { key, broadcasts in
        let identifiers = cipher.identifiers(
          of: key.key, start: UInt32(bitPattern: key.rollingStartWord + Int32(144 * days)), count: 144)
        return broadcasts.compactMap { one -> Sighting? in
          guard let metadata = one.metadata else { return nil }
          let identifier = identifiers[one.offset]
          return Sighting(
            identifier: identifier, milliseconds: one.milliseconds + days * 86_400_000,
            encryptedMetadata: cipher.metadata(metadata, beside: identifier, of: key.key), rssi: one.rssi,
            secondsSincePreviousScan: one.previousScan.map { UInt32(one.seconds - $0) })
        }
      }
      for model in [PhoneModel.google, .microg] {
        let expected = scenario.windows(model).map {
          $0.map { window in
            var window = window
            window.day = Day(daysSince1970: window.day.daysSince1970 + days)
            return window
          }
        }
        #expect(moved.windows(model) == expected)
      }
    }
  }

  /// The edges of the tolerance, the replay rule, the window and the transmit power.
  @Test func boundaries() throws {
    var key = ClaimedKey(key: TemporaryExposureKey(high: 1, low: 2))
    key.rollingStart = 2_678_400
    key.rollingPeriod = 144
    let (start, period) = (Int64(key.rollingStartWord), 144)
    func broadcast(_ second: Int64, interval: Int64 = 60, power: Int8 = -20) -> Broadcast {
      Broadcast(
        identifier: ProximityIdentifier(high: 1, low: UInt64(interval)), interval: start + interval,
        offset: Int(interval), milliseconds: ((start + interval) * 600 + second) * 1000, rssi: -75,
        metadata: 0x4000_0000 | UInt32(UInt8(bitPattern: power)) << 16)
    }
    func count(_ model: PhoneModel, _ broadcasts: [Broadcast]) -> Int {
      Phone(model, now: Scenario.now).receive(broadcasts, of: key, period: period).sightings.count
    }
    for (second, isKept) in [(-7201, false), (-7200, true), (7799, true), (7800, false)] {
      #expect((count(.google, [broadcast(Int64(second))]) == 1) == isKept)
      #expect((count(.apple2020, [broadcast(Int64(second))]) == 1) == isKept)
    }
    for (second, isKept) in [(-3601, false), (-3600, true), (4200, true), (4201, false)] {
      #expect((count(.microg, [broadcast(Int64(second))]) == 1) == isKept)
    }
    #expect(count(.google, [broadcast(0), broadcast(1200)]) == 2)
    #expect(count(.google, [broadcast(0), broadcast(1201)]) == 1)
    for (power, google, apple) in [
      (-61, false, false), (-60, false, true), (-51, false, true), (-50, true, true), (20, true, true),
      (21, false, false),
    ] {
      #expect((count(.google, [broadcast(0, power: Int8(power))]) == 1) == google)
      #expect((count(.apple2020, [broadcast(0, power: Int8(power))]) == 1) == apple)
    }
    func windows(_ gap: Int64) throws -> Int {
      try Phone(.google, now: Scenario.now).windows(
        [broadcast(0), broadcast(gap - 1200, interval: 62)], of: key, .always(.high)
      ).get().count
    }
    #expect(try windows(1799) == 1)
    #expect(try windows(1800) == 2)
    // The identifier of the interval after the key's last one.
    for model in PhoneModel.allCases {
      for (length, isKept) in [(60, false), (61, true)] {
        let reception = Phone(model, now: Scenario.now).receive([broadcast(0)], of: key, period: length)
        #expect(!reception.sightings.isEmpty == isKept, "\(model)")
        #expect((reception.losses[.beyondPeriod] == 1) != isKept, "\(model)")
      }
    }
    for (wanted, isUsable) in [(Int32(0), false), (1, true), (143, true), (144, true), (145, false)] {
      key.rollingPeriod = wanted
      #expect((Phone(.google, now: Scenario.now).unusable(key) == nil) == isUsable)
    }
    key.rollingPeriod = 0
    #expect(Phone(.apple2020, now: Scenario.now).unusable(key) == nil)
    #expect(Phone(.microg, now: Scenario.now).unusable(key) == .rollingPeriod)
  }

  /// An absent report type is the app's to decide, not type 0 of its own.
  @Test func absentIsNotZero() {
    var key = ClaimedKey(key: TemporaryExposureKey(high: 1, low: 2))
    let phone = Phone(.google, now: Scenario.now)
    var mapping = KeyMapping.always(.high)
    mapping.reportTypeWhenMissing = 3
    #expect(phone.mapped(key, mapping).reportType == 3)
    key.reportType = 0
    #expect(phone.mapped(key, mapping).reportType == 3)
    key.reportType = 2
    #expect(phone.mapped(key, mapping).reportType == 2)
    #expect(Phone(.microg, now: Scenario.now).mapped(key, mapping).reportType == 3)
  }
}
