internal import ExposureKeys

/// How Google's matcher selects sightings. Source: google/exposure-notifications-internals, tracing and matching.
enum GoogleReception {
  static let tolerance: Int64 = 12
  static let replayLimit: Int64 = 1200
  static let transmitPower = -50...20
  /// Sightings that follow each other within 1.5 scans, each of 4 s and 13 s more beside Bluetooth audio, belong to one scan.
  static let scanMilliseconds: Int64 = 25_500

  /// - Parameters:
  ///   - period: the key's rolling period, 1...144.
  ///   - aggregates: whether of a scan the strongest sighting alone counts, as for the first version of the API.
  static func receive(
    _ broadcasts: [Broadcast], start: Int64, period: Int, aggregates: Bool
  ) -> Reception {
    var reception = Reception()
    let keyDay = IntervalNumber(start).day.daysSince1970
    var index = 0
    while index < broadcasts.count {
      var end = index
      while end < broadcasts.count, broadcasts[end].offset == broadcasts[index].offset { end += 1 }
      var kept = Array(broadcasts[index..<end])
      let interval = broadcasts[index].interval
      func keep(_ loss: BroadcastLoss, _ isKept: (Broadcast) -> Bool) {
        let before = kept.count
        kept.removeAll { !isKept($0) }
        reception.lose(loss, before - kept.count)
      }
      keep(.beyondPeriod) { $0.offset < period }
      let firstDay = interval - tolerance < keyDay * IntervalNumber.intervalsPerDay ? keyDay - 1 : keyDay
      keep(.tolerance) {
        let seen = $0.seconds.floored(by: IntervalNumber.secondsPerInterval)
        return interval - tolerance <= seen && seen <= interval + tolerance
      }
      keep(.day) { (firstDay...keyDay + 1).contains($0.seconds.floored(by: 86_400)) }
      if let first = kept.first { keep(.replay) { $0.seconds - first.seconds <= replayLimit } }
      keep(.notMeasured) { $0.rssi != nil && $0.metadata != nil }
      if aggregates { kept = strongest(of: kept) }
      keep(.transmitPower) { $0.transmitPower.map(transmitPower.contains) ?? false }
      for broadcast in kept {
        guard let power = broadcast.transmitPower, let rssi = broadcast.rssi else { continue }
        reception.sightings.append(
          ValidSighting(
            milliseconds: broadcast.milliseconds, durationMilliseconds: broadcast.durationMilliseconds,
            attenuation: max(power - Int(rssi), 0), confidence: broadcast.confidence,
            previousScan: broadcast.previousScan))
      }
      index = end
    }
    // Stable: what was sent in an earlier interval comes first among equal seconds.
    reception.sightings = reception.sightings.enumerated().sorted {
      ($0.element.seconds, $0.offset) < ($1.element.seconds, $1.offset)
    }.map(\.element)
    return reception
  }

  private static func strongest(of broadcasts: [Broadcast]) -> [Broadcast] {
    var kept: [Broadcast] = []
    var previous: Int64 = 0
    for broadcast in broadcasts {
      if let last = kept.last, (broadcast.seconds - previous) * 1000 <= scanMilliseconds {
        if let rssi = broadcast.rssi, let strongest = last.rssi, rssi > strongest { kept[kept.count - 1] = broadcast }
      } else {
        kept.append(broadcast)
      }
      previous = broadcast.seconds
    }
    return kept
  }
}

/// How Apple's framework of July 2020 selects sightings. Source: the publication, ENAdvertisementDatabase and ENExposureDetection.
enum AppleReception {
  static let tolerance: Int64 = 12
  static let replayLimit: Int64 = 1200
  static let transmitPower = -60...20
  static let attenuation = 1...254
  /// Sightings that follow a kept one so soon are combined with it.
  static let combineSeconds: Int64 = 4
  /// What a scan counts whose interval is not known, or longer than the phone waits.
  static let usualScanInterval: Int64 = 150
  static let longestScanInterval: Int64 = 304
  static let keptSeconds: Int64 = 14 * 86_400

  struct Observation: Hashable, Sendable {
    var seconds: Int64
    var attenuation: Int
    var scanInterval: Int64
    var rssi: Int
    var packets: Int
    var power: Int
  }

  /// - Parameter period: the key's rolling period, 1...144.
  static func receive(
    _ broadcasts: [Broadcast], period: Int, now: Instant
  ) -> (observations: [Observation], reception: Reception) {
    var reception = Reception()
    var kept: [(Broadcast, Observation)] = []
    for broadcast in broadcasts {
      guard broadcast.offset < period else {
        reception.lose(.beyondPeriod)
        continue
      }
      guard broadcast.seconds >= now.secondsSince1970 - keptSeconds else {
        reception.lose(.age)
        continue
      }
      let seen = broadcast.seconds.floored(by: IntervalNumber.secondsPerInterval)
      guard broadcast.interval - tolerance <= seen, seen <= broadcast.interval + tolerance else {
        reception.lose(.tolerance)
        continue
      }
      guard let rssi = broadcast.rssi, let power = broadcast.transmitPower else {
        reception.lose(.notMeasured)
        continue
      }
      guard transmitPower.contains(power) else {
        reception.lose(.transmitPower)
        continue
      }
      let attenuation = max(power - Int(rssi), 0)
      guard Self.attenuation.contains(attenuation) else {
        reception.lose(.attenuation)
        continue
      }
      let stated = broadcast.previousScan.map { broadcast.seconds - $0 } ?? usualScanInterval
      kept.append(
        (
          broadcast,
          Observation(
            seconds: broadcast.seconds, attenuation: attenuation,
            scanInterval: stated > longestScanInterval ? usualScanInterval : stated, rssi: Int(rssi), packets: 1,
            power: power)
        ))
    }
    kept = kept.enumerated().sorted { ($0.element.0.seconds, $0.offset) < ($1.element.0.seconds, $1.offset) }
      .map(\.element)
    var first: [ProximityIdentifier: Int64] = [:]
    let before = kept.count
    kept.removeAll { broadcast, _ in
      let start = first[broadcast.identifier] ?? broadcast.seconds
      first[broadcast.identifier] = start
      return broadcast.seconds - start > replayLimit
    }
    reception.lose(.replay, before - kept.count)
    reception.sightings = kept.map { broadcast, observation in
      ValidSighting(
        milliseconds: broadcast.milliseconds, durationMilliseconds: broadcast.durationMilliseconds,
        attenuation: observation.attenuation, confidence: 0, previousScan: broadcast.previousScan)
    }
    return (combined(kept.map(\.1)), reception)
  }

  static func combined(_ observations: [Observation]) -> [Observation] {
    var result: [Observation] = []
    for observation in observations {
      guard let last = result.last, observation.seconds - last.seconds <= combineSeconds else {
        result.append(observation)
        continue
      }
      // The counter of packets has eight bits.
      let packets = max((last.packets + observation.packets) & 0xff, 1)
      let rssi = (last.rssi * last.packets + observation.rssi * observation.packets) / packets
      result[result.count - 1].rssi = rssi
      result[result.count - 1].packets = packets
      result[result.count - 1].attenuation = max(last.power - rssi, 0) & 0xff
    }
    // A scan that reaches back over the one before is cut there.
    for index in result.indices.dropFirst() {
      let gap = result[index].seconds - result[index - 1].seconds
      if result[index].scanInterval > gap { result[index].scanInterval = gap }
    }
    return result
  }
}

/// How microG stores sightings and selects them. Source: microg/GmsCore, ExposureDatabase.
enum MicroGReception {
  static let toleranceMilliseconds: Int64 = 3_600_000

  struct Row: Hashable, Sendable {
    var milliseconds: Int64
    var durationMilliseconds: Int64
    var rssi: Int
    var metadata: UInt32?
    var offset: Int
    var interval: Int64
  }

  /// What the database keeps of an identifier that is seen again and again: one row an hour, with the mean of the signal.
  static func note(_ milliseconds: Int64, rssi: Int, in rows: inout [Row], new: @autoclosure () -> Row) {
    var isKnown = false
    for index in rows.indices
    where milliseconds - toleranceMilliseconds < rows[index].milliseconds
      && rows[index].milliseconds < milliseconds + toleranceMilliseconds
    {
      isKnown = true
      let row = rows[index]
      let elapsed = Int(milliseconds - row.milliseconds)
      let known = Int(row.durationMilliseconds)
      let duration = max(known, elapsed)
      rows[index].rssi = duration == 0 ? -100 : (row.rssi * known + rssi * max(0, elapsed - known)) / duration
      rows[index].durationMilliseconds = Int64(duration)
    }
    if !isKnown { rows.append(new()) }
  }

  static func receive(
    _ broadcasts: [Broadcast], start: Int64, period: Int, receiver: MicroGReceiver
  ) -> Reception {
    var reception = Reception()
    var rows: [Row] = []
    var index = 0
    while index < broadcasts.count {
      var end = index
      var own: [Row] = []
      while end < broadcasts.count, broadcasts[end].offset == broadcasts[index].offset {
        let broadcast = broadcasts[end]
        end += 1
        guard broadcast.offset < period else {
          reception.lose(.beyondPeriod)
          continue
        }
        guard let rssi = broadcast.rssi, broadcast.metadata != nil else {
          reception.lose(.notMeasured)
          continue
        }
        let row = Row(
          milliseconds: broadcast.milliseconds, durationMilliseconds: broadcast.durationMilliseconds, rssi: Int(rssi),
          metadata: broadcast.metadata, offset: broadcast.offset, interval: broadcast.interval)
        // A row with a duration is what such a phone has stored already.
        if row.durationMilliseconds > 0 {
          own.append(row)
        } else {
          note(row.milliseconds, rssi: row.rssi, in: &own, new: row)
        }
      }
      rows += own
      index = end
    }
    let keyStart = start * 600_000 - toleranceMilliseconds
    let keyEnd = (start + Int64(period)) * 600_000 + toleranceMilliseconds
    var seen: Set<Int64> = []
    for row in rows.sorted(by: { ($0.milliseconds, $0.offset) < ($1.milliseconds, $1.offset) }) {
      let begin = row.interval * 600_000
      guard keyStart < row.milliseconds, row.milliseconds < keyEnd, begin - toleranceMilliseconds <= row.milliseconds,
        row.milliseconds <= begin + 600_000 + toleranceMilliseconds
      else {
        reception.lose(.tolerance)
        continue
      }
      guard seen.insert(row.milliseconds).inserted, let metadata = row.metadata else { continue }
      let version = Int8(truncatingIfNeeded: metadata >> 24 & 0xf0)
      let power = version >= 0x40 ? Int(Int8(truncatingIfNeeded: metadata >> 16)) : receiver.averagePower
      let confidence = version >= 0x50 ? Int(metadata >> 26 & 3) : receiver.averageConfidence
      reception.sightings.append(
        ValidSighting(
          milliseconds: row.milliseconds, durationMilliseconds: row.durationMilliseconds,
          attenuation: power - (row.rssi + receiver.correction), confidence: confidence, previousScan: nil))
    }
    return reception
  }
}

/// What microG's list of calibrated phones says of the receiving phone, and of the average one.
package struct MicroGReceiver: Hashable, Sendable {
  /// Added to a measured RSSI, in dB.
  package var correction = 0
  /// The transmit power and confidence of phones whose metadata states none.
  package var averagePower = 0
  package var averageConfidence = 0

  package init() {}
}
