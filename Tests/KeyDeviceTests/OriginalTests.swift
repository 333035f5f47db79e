import ExposureKeys
import Foundation
import GatewayTesting
import Testing

@testable import KeyDevice

/// The frozen answers of the original programs.
@Suite(.enabled(if: hasVectors, howToEnable))
struct OriginalTests {
  @Test func keysBecomeTheSpecificationsIdentifiers() throws {
    let cipher = IdentifierCipher()
    for vector in try Node.file("crypto.json")["keys"].list {
      let key = vector["tek"].key
      let start = UInt32(truncatingIfNeeded: vector["rolling_start"].int)
      let derived = cipher.derivedKeys(of: key)
      #expect(derived.identifier == vector["rpik"].bytes)
      #expect(derived.metadata == vector["aemk"].bytes)
      let identifiers = cipher.identifiers(of: key, start: start, count: 144)
      for (index, identifier) in vector["rpi"].members {
        #expect(identifiers[try #require(Int(index))].bytes == identifier.bytes)
      }
      for metadata in vector["aem"].list {
        let identifier = identifiers[metadata["interval_index"].int]
        let plain = cipher.metadata(metadata["encrypted"].word, beside: identifier, of: key)
        #expect(plain == metadata["metadata"].word)
        let broadcast = Broadcast(
          identifier: identifier, interval: 0, offset: 0, milliseconds: 0, rssi: nil, metadata: plain)
        #expect(broadcast.transmitPower == metadata["tx_power"].int)
        #expect(broadcast.confidence == metadata["confidence"].int)
      }
    }
  }

  @Test func googleMatchesAsItsPublishedMatcher() throws {
    let file = try Node.file("matching-google.json")
    let mapping = KeyMapping(
      days: file["configuration"]["mapping"]["days"].ints.compactMap(Infectiousness.init),
      whenOnsetMissing: try #require(Infectiousness(rawValue: file["configuration"]["mapping"]["missing"].int)),
      reportTypeWhenMissing: file["configuration"]["mapping"]["report"].int)
    let first = file["configuration"]["v1"].firstConfiguration
    let daily = dailyConfiguration(file["configuration"]["daily"])
    var windowCount = 0
    for scenario in file["scenarios"].list {
      let name = Comment(rawValue: scenario["name"].text)
      let now = Instant(secondsSince1970: Int64(scenario["now_ms"].int / 1000))
      let search = IdentifierSearch(SightingTable(scenario["sightings"].list.map(sighting)))
      var exposures: [[FirstExposure]] = []
      var windows: [[ExposureWindow]] = []
      for key in scenario["keys"].list.map(\.claimedKey) {
        guard search.find(key.key, start: key.rollingStartWord, period: Int(key.rollingPeriodWord)) else { continue }
        let broadcasts = search.broadcasts(of: key)
        let start = Int64(key.rollingStartWord)
        let period = Int(key.rollingPeriodWord)
        let aggregated = GoogleReception.receive(broadcasts, start: start, period: period, aggregates: true)
        guard !aggregated.sightings.isEmpty else { continue }
        exposures.append(
          FirstVersion.google(
            aggregated.sightings, start: start, transmissionRisk: Int(key.transmissionRisk ?? 0), first, now: now))
        let all = GoogleReception.receive(broadcasts, start: start, period: period, aggregates: false)
        let (type, infectiousness) = Phone(.google, now: now).mapped(key, mapping)
        windows.append(ExposureWindows.google(all.sightings, reportType: type, infectiousness: infectiousness))
      }
      let expected = scenario["expected"]["results"].list
      #expect(exposures.count == expected.count, name)
      #expect(
        Set(exposures.map { "\($0.map { [[$0.seconds, $0.attenuation, $0.score], $0.bucketSeconds] })" })
          == Set(
            expected.map {
              "\($0["v1"]["records"].list.map { [[$0["duration"].int, $0["attenuation"].int, $0["score"].int], $0["durations"].ints] })"
            }), name)
      #expect(
        Set(windows.map { "\($0.map(described))" })
          == Set(expected.map { "\($0["windows"].list.map(described))" }), name)
      windowCount += windows.joined().count
      let days = DailySummary.summaries(of: Array(windows.joined()), daily)
      #expect(days.count == scenario["expected"]["daily"].members.count, name)
      for (day, sums) in scenario["expected"]["daily"].members {
        let found = try #require(days.first { "\($0.day.daysSince1970)" == day }, name).total
        #expect(abs(found.maximum - sums["maximum"].double) < 1e-6, name)
        #expect(abs(found.sum - sums["sum"].double) < 1e-6, name)
        #expect(abs(found.weightedSeconds - sums["weighted_duration"].double) < 1e-6, name)
      }
    }
    #expect(windowCount == 38)
  }

  private func described(_ window: ExposureWindow) -> String {
    "\(window.day.daysSince1970) \(window.reportType) \(window.infectiousness.rawValue) \(window.confidence) "
      + "\(window.scans.map { [$0.typicalAttenuation, $0.minimumAttenuation, $0.secondsSinceLastScan] })"
  }

  private func described(_ window: Node) -> String {
    "\(window["epoch"].int / 86_400) \(window["report"].int) \(window["infectiousness"].int) \(window["confidence"].int) "
      + "\(window["scans"].list.map { [$0["typical"].int, $0["minimum"].int, $0["seconds"].int] })"
  }

  @Test func microGStoresAsItsDatabase() throws {
    for vector in try Node.file("matching-microg.json")["store"].list {
      var rows: [MicroGReception.Row] = []
      for seen in vector["seen_ms_rssi"].list {
        let time = Int64(seen[0].int)
        MicroGReception.note(
          time, rssi: seen[1].int, in: &rows,
          new: .init(
            milliseconds: time, durationMilliseconds: 0, rssi: seen[1].int, metadata: nil, offset: 0, interval: 0))
      }
      let found = rows.map { [Int($0.milliseconds), Int($0.durationMilliseconds), $0.rssi] }
      #expect(
        found.sorted { $0[0] < $1[0] }
          == vector["rows_timestamp_duration_rssi"].list.map(\.ints).sorted { $0[0] < $1[0] })
    }
  }

  @Test func microGMergesAndScoresAsItsCode() throws {
    var configuration = FirstConfiguration()
    configuration.attenuation = [0, 2, 3, 4, 5, 6, 7, 8]
    configuration.duration = Array(0...7)
    configuration.transmission = Array(1...8)
    configuration.thresholds = [50, 63]
    for vector in try Node.file("matching-microg.json")["merge"].list {
      var seen: Set<Int> = []
      let sightings = vector["rows"].list.filter { seen.insert($0["timestamp"].int).inserted }.map {
        ValidSighting(
          milliseconds: Int64($0["timestamp"].int), durationMilliseconds: Int64($0["duration"].int),
          attenuation: $0["tx_power"].int - $0["rssi"].int, confidence: $0["confidence"].int, previousScan: nil)
      }.sorted { $0.milliseconds < $1.milliseconds }
      let merged = MergedExposure.merge(sightings)
      let scored = FirstVersion.microg(
        merged, transmissionRisk: vector["trl"].int, configuration, now: Instant(secondsSince1970: 0))
      let found = zip(merged, scored).map { one, score in
        "\([Int(one.milliseconds), one.confidence, score.seconds / 60, score.attenuation, score.score, one.parts.count] + score.bucketSeconds.map { $0 / 60 })"
      }
      let expected = vector["merged"].list.map {
        "\([$0["timestamp"].int, $0["confidence"].int, $0["minutes"].int, $0["attenuation"].int, $0["score_without_days"].int, $0["rows"].int] + $0["durations_50_63"].ints)"
      }
      #expect(found == expected)
    }
  }

  @Test func appleScoresAsItsPublication() throws {
    for vector in try Node.file("scores.json")["apple_2020"].list {
      let power = vector["tx_power"].int
      let observations = vector["observations"].list.map {
        AppleReception.Observation(
          seconds: Int64($0["time"].int), attenuation: power - $0["mean_rssi"].int,
          scanInterval: Int64($0["scan_interval"].int), rssi: $0["mean_rssi"].int, packets: $0["packets"].int,
          power: power)
      }
      var configuration = FirstConfiguration()
      configuration.attenuation = vector["level_values"].ints
      configuration.days = vector["configuration"]["days"].ints
      configuration.duration = vector["configuration"]["dur"].ints
      configuration.transmission = vector["configuration"]["trl"].ints
      configuration.thresholds = [50, 70]
      let found = try #require(
        FirstVersion.apple(
          AppleReception.combined(observations), transmissionRisk: vector["key"]["trl"].int, configuration,
          now: Instant(secondsSince1970: Int64(vector["now"].int))))
      let note = Comment(rawValue: vector["note"].text)
      #expect(found.day.daysSince1970 == Int64(vector["info"]["day"].int), note)
      #expect(found.exposure.attenuation == vector["info"]["attenuationValue"].int, note)
      #expect(found.exposure.seconds == vector["info"]["duration"].int, note)
      #expect(found.durations == vector["info"]["durations"].ints, note)
      #expect(found.fullScore == vector["score"]["full"].int, note)
      #expect(found.exposure.score == vector["score"]["total"].int, note)
      #expect(found.reportedSeconds == [vector["score"]["duration"].int] + vector["score"]["durations"].ints, note)
    }
  }

  @Test func smallRulesHold() throws {
    let rules = try Node.file("small-rules.json")
    let configuration = {
      var configuration = FirstConfiguration()
      configuration.attenuation = Array(0...7)
      configuration.days = Array(0...7)
      configuration.duration = Array(0...7)
      return configuration
    }()
    for one in rules["google_attenuation"].list {
      #expect(GoogleReception.transmitPower.contains(one["tx"].int) == one["accepted"].bool)
      if one["accepted"].bool { #expect(max(one["tx"].int - one["rssi"].int, 0) == one["attenuation"].int) }
    }
    for one in rules["v1_buckets_google"].list {
      #expect(configuration.attenuationScore(one["attenuation"].int) == one["index"].int)
    }
    for one in rules["v1_days"].list { #expect(configuration.dayScore(Int64(one["days"].int)) == one["index"].int) }
    for one in rules["v1_duration"].list {
      #expect(configuration.durationScore(one["minutes"].double) == one["index"].int)
    }
    for (name, includesBounds) in [("daily_bucket_google", true), ("daily_bucket_microg", false)] {
      for one in rules[name].list {
        var daily = DailyConfiguration()
        daily.thresholds = one["thresholds"].ints
        let scan = ScanInstance(
          typicalAttenuation: one["typical"].int, minimumAttenuation: 0, secondsSinceLastScan: 1)
        let window = ExposureWindow(
          day: Day(daysSince1970: 0), reportType: 1, infectiousness: .high, scans: [scan])
        let score = WindowScore(window, daily, includesBounds: includesBounds)
        #expect(score.bucketSeconds.firstIndex(of: 1) == one["bucket"].int)
      }
    }
  }

  private func sighting(_ node: Node) -> Sighting {
    let previous = node["previous_scan"].int
    return Sighting(
      identifier: node["rpi"].identifier, milliseconds: Int64(node["time"].int) * 1000,
      encryptedMetadata: node["aem"].word, rssi: Int8(node["rssi"].int),
      secondsSincePreviousScan: previous == 0 ? nil : UInt32(node["time"].int - previous))
  }

  private func dailyConfiguration(_ node: Node) -> DailyConfiguration {
    var daily = DailyConfiguration()
    daily.thresholds = node["thr"].ints
    daily.attenuationWeights = node["att"].doubles
    daily.reportTypeWeights = node["report"].doubles
    daily.infectiousnessWeights = node["inf"].doubles
    daily.minimumWindowScore = node["min"].double
    return daily
  }
}

/// A file of vectors that has lost its cases would let every comparison pass.
@Suite(.enabled(if: hasVectors, howToEnable))
struct VectorCountTests {
  @Test func filesHaveTheirCases() throws {
    #expect(try Node.file("crypto.json")["keys"].list.count == 6)
    #expect(try Node.file("matching-google.json")["scenarios"].list.count == 28)
    let microg = try Node.file("matching-microg.json")
    #expect(microg["store"].list.count == 8)
    #expect(microg["merge"].list.count == 15)
    let scores = try Node.file("scores.json")
    let counts = [
      "cwa_2": 5, "cwa_1_9": 3, "cwa_1_0": 3, "swisscovid": 3, "immuni": 3, "coronamelder": 3, "cocoa_2": 4,
      "en_express": 3, "nhs_1": 3, "nhs_2": 6, "apple_2020": 3,
    ]
    for (name, count) in counts { #expect(scores[name].list.count == count, "\(name)") }
  }
}
