package import ExposureKeys

/// One scan of a window.
package struct ScanInstance: Hashable, Sendable {
  /// In dB.
  package var typicalAttenuation: Int
  package var minimumAttenuation: Int
  package var secondsSinceLastScan: Int

  package init(typicalAttenuation: Int, minimumAttenuation: Int, secondsSinceLastScan: Int) {
    self.typicalAttenuation = typicalAttenuation
    self.minimumAttenuation = minimumAttenuation
    self.secondsSinceLastScan = secondsSinceLastScan
  }
}

/// How likely the key's owner was infectious. The raw value is the platforms' number.
package enum Infectiousness: Int, Hashable, Sendable, CaseIterable, Codable {
  case none
  case standard
  case high

  package var text: String {
    switch self {
    case .none: "none"
    case .standard: "standard"
    case .high: "high"
    }
  }
}

/// Up to half an hour near one key's owner, as apps of the second version of the API get it.
package struct ExposureWindow: Hashable, Sendable {
  package var day: Day
  /// The platforms' number: 1 confirmed test, 2 clinical diagnosis, 3 self-report, 4 recursive, 5 revoked.
  package var reportType: Int
  package var infectiousness: Infectiousness
  package var confidence: Int
  package var scans: [ScanInstance]

  package init(
    day: Day, reportType: Int, infectiousness: Infectiousness, confidence: Int = 0, scans: [ScanInstance]
  ) {
    self.day = day
    self.reportType = reportType
    self.infectiousness = infectiousness
    self.confidence = confidence
    self.scans = scans
  }

  package var seconds: Int { scans.reduce(0) { $0 + $1.secondsSinceLastScan } }
}

/// What an app tells a phone about keys: it decides how infectious their owners were.
package struct KeyMapping: Hashable, Sendable {
  /// For -14 to 14 days since onset.
  package var days: [Infectiousness]
  package var whenOnsetMissing: Infectiousness
  /// What a key without a report type is taken for; 0 leaves it without.
  package var reportTypeWhenMissing: Int

  package init(days: [Infectiousness], whenOnsetMissing: Infectiousness, reportTypeWhenMissing: Int) {
    precondition(days.count == 29)
    self.days = days
    self.whenOnsetMissing = whenOnsetMissing
    self.reportTypeWhenMissing = reportTypeWhenMissing
  }

  package func infectiousness(daysSinceOnset: Int?) -> Infectiousness {
    guard let days = daysSinceOnset, (-14...14).contains(days) else { return whenOnsetMissing }
    return self.days[days + 14]
  }
}

enum ExposureWindows {
  /// A window ends with the first sighting so long after its start.
  static let windowSeconds: Int64 = 1800
  /// What a scan counts before which none is known.
  static let usualScanSeconds = 120

  /// Google's windows. Source: google/exposure-notifications-internals; run against it.
  static func google(
    _ sightings: [ValidSighting], reportType: Int, infectiousness: Infectiousness
  ) -> [ExposureWindow] {
    struct Scan {
      var attenuations: [Int]
      var seconds: Int
    }
    var windows: [(start: ValidSighting, scans: [Scan])] = []
    var previous: Int64?
    for sighting in sightings {
      let now = sighting.seconds
      if windows.last.map({ now - $0.start.seconds >= windowSeconds }) ?? true { windows.append((sighting, [])) }
      let last = windows.count - 1
      let isSameScan = previous.map { (now - $0) * 1000 <= GoogleReception.scanMilliseconds } ?? false
      if isSameScan, !windows[last].scans.isEmpty {
        windows[last].scans[windows[last].scans.count - 1].attenuations.append(sighting.attenuation)
      } else {
        // Whole minutes between the scans' starts, five at most.
        let seconds = sighting.previousScan.map { 60 * Int(min(5, now.floored(by: 60) - $0.floored(by: 60))) }
        windows[last].scans.append(Scan(attenuations: [sighting.attenuation], seconds: seconds ?? usualScanSeconds))
      }
      previous = now
    }
    return windows.map { start, scans in
      ExposureWindow(
        day: Day(daysSince1970: start.seconds.floored(by: 86_400)), reportType: reportType,
        infectiousness: infectiousness, confidence: start.confidence,
        scans: scans.map { scan in
          ScanInstance(
            typicalAttenuation: roundedHalfUp(
              Double(scan.attenuations.reduce(0, +)) / Double(scan.attenuations.count)),
            minimumAttenuation: scan.attenuations.min() ?? 0, secondsSinceLastScan: scan.seconds)
        })
    }
  }

  /// microG's windows: merged exposures, each dated by its key, with milliseconds where seconds are meant.
  static func microg(
    _ merged: [MergedExposure], start: Int64, reportType: Int, infectiousness: Infectiousness
  ) -> [ExposureWindow] {
    merged.map { one in
      ExposureWindow(
        day: IntervalNumber(start).day, reportType: reportType, infectiousness: infectiousness,
        confidence: one.confidence,
        scans: one.parts.flatMap { part in
          let scan = ScanInstance(
            typicalAttenuation: part.attenuation, minimumAttenuation: part.attenuation,
            secondsSinceLastScan: Int(min(part.durationMilliseconds, 300)))
          var more = scan
          more.secondsSinceLastScan = 300
          return part.durationMilliseconds > 300_000 ? [scan, more] : [scan]
        })
    }
  }
}

/// What microG makes of rows that follow each other. Source: microg/GmsCore, MeasuredExposure and MergedExposure; run against it.
package struct MergedExposure: Hashable, Sendable {
  package struct Part: Hashable, Sendable {
    package var attenuation: Int
    package var durationMilliseconds: Int64
  }

  package var milliseconds: Int64
  package var confidence: Int
  package var parts: [Part]

  static func merge(_ sightings: [ValidSighting]) -> [MergedExposure] {
    var result: [MergedExposure] = []
    var current: MergedExposure?
    for one in sightings {
      let part = Part(attenuation: one.attenuation, durationMilliseconds: one.durationMilliseconds)
      if var open = current, open.milliseconds + 1_800_000 > one.milliseconds {
        open.parts.append(part)
        current = open
      } else {
        if let current { result.append(current) }
        current = MergedExposure(milliseconds: one.milliseconds, confidence: one.confidence, parts: [part])
      }
      if let open = current, open.parts.reduce(0, { $0 + $1.durationMilliseconds }) / 60_000 >= 30 {
        result.append(open)
        current = nil
      }
    }
    if let current { result.append(current) }
    return result
  }
}
