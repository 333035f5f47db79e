package import ExposureKeys

/// A kind of phone, by how it takes keys and sightings.
package enum PhoneModel: String, Codable, Hashable, Sendable, CaseIterable {
  /// Google Play services, as its published matcher works.
  case google
  /// The framework of iOS 13.5 and 13.6, as published in July 2020.
  case apple2020 = "apple-2020"
  /// iOS 13.7 and later, and iOS 12.5.
  case apple
  /// microG's implementation for phones without Google's services.
  case microg

  /// How this model was compared with the original.
  package enum Proof: String, Codable, Hashable, Sendable {
    case run
    case source
    case documentation
  }

  package var proof: Proof {
    switch self {
    case .google: .run
    case .apple2020: .source
    case .apple: .documentation
    case .microg: .run
    }
  }

  /// How exact the model is, in a sentence.
  package var exactness: String {
    switch self {
    case .google:
      "google: run against the original; matching, windows and scores equal Google's published matcher"
    case .apple2020: "apple-2020: by source; Apple's publication of July 2020 was read, not executed"
    case .apple: "apple: by documentation; windows follow Apple's pages, matching is taken as Google's"
    case .microg:
      "microg: storage and merging run against the original, matching by source; it answers no daily summary at all"
    }
  }

  /// Whether apps get exposure windows and daily summaries, rather than one summary of a call.
  package var hasWindows: Bool { self != .apple2020 }
}

/// A broadcast of a key's owner as a log has it, with its metadata decrypted.
package struct Broadcast: Hashable, Sendable {
  package var identifier: ProximityIdentifier
  /// The identifier's interval.
  package var interval: Int64
  /// The same, counted from the key's rolling start.
  package var offset: Int
  package var milliseconds: Int64
  package var durationMilliseconds: Int64
  package var rssi: Int8?
  /// Version, transmit power and two reserved bytes, the first the most significant.
  package var metadata: UInt32?
  /// When the receiver's scan before began, in seconds since 1970.
  package var previousScan: Int64?

  package init(
    identifier: ProximityIdentifier, interval: Int64, offset: Int, milliseconds: Int64,
    durationMilliseconds: Int64 = 0, rssi: Int8?, metadata: UInt32?, previousScan: Int64? = nil
  ) {
    self.identifier = identifier
    self.interval = interval
    self.offset = offset
    self.milliseconds = milliseconds
    self.durationMilliseconds = durationMilliseconds
    self.rssi = rssi
    self.metadata = metadata
    self.previousScan = previousScan
  }

  var seconds: Int64 { milliseconds.floored(by: 1000) }

  /// The sender's transmit power in dBm.
  var transmitPower: Int? { metadata.map { Int(Int8(truncatingIfNeeded: $0 >> 16)) } }

  /// How well the sender's phone is calibrated, 0 to 3.
  var confidence: Int { metadata.map { Int($0 >> 26 & 3) } ?? 0 }
}

/// Why a phone does not count a broadcast of a key that it was given. The raw value is the stable code for programs.
package enum BroadcastLoss: String, Codable, Hashable, Sendable, CaseIterable {
  /// The key is not valid for this identifier's interval.
  case beyondPeriod = "beyond-period"
  /// Seen on a day whose sightings are not searched for this key.
  case day
  /// Seen too long before the identifier's interval, or after it.
  case tolerance
  /// Seen too long after the identifier's first valid sighting: somebody may have recorded it and sent it again.
  case replay
  /// Older than the phone keeps sightings.
  case age
  /// The log states no signal strength, or no metadata: who met is known, and not how near.
  case notMeasured = "not-measured"
  /// The sender's transmit power is not one that phones have.
  case transmitPower = "transmit-power"
  /// The attenuation is 0 dB, or 255 dB and more.
  case attenuation

  package var text: String {
    switch self {
    case .beyondPeriod: "the identifier lies beyond the key's rolling period"
    case .day: "seen on a day that is not searched"
    case .tolerance: "seen outside the tolerance around the identifier's interval"
    case .replay: "seen too long after the identifier's first valid sighting"
    case .age: "seen more than 14 days ago"
    case .notMeasured: "no RSSI or no metadata"
    case .transmitPower: "transmit power outside the accepted range"
    case .attenuation: "attenuation outside the accepted range"
    }
  }
}

/// A broadcast that counts.
package struct ValidSighting: Hashable, Sendable {
  package var milliseconds: Int64
  package var durationMilliseconds: Int64
  /// In dB.
  package var attenuation: Int
  package var confidence: Int
  /// In seconds since 1970; `nil` if none is known.
  package var previousScan: Int64?

  package var seconds: Int64 { milliseconds.floored(by: 1000) }
}

/// What a phone keeps of a key's broadcasts.
package struct Reception: Hashable, Sendable {
  /// In order of time.
  package var sightings: [ValidSighting] = []
  package var losses: [BroadcastLoss: Int] = [:]

  package init() {}

  mutating func lose(_ loss: BroadcastLoss, _ count: Int = 1) {
    if count > 0 { losses[loss, default: 0] += count }
  }

  /// Which rule took the most broadcasts, the first rule of those that took as many.
  package var mainLoss: BroadcastLoss? {
    BroadcastLoss.allCases.filter { losses[$0, default: 0] > 0 }.max { losses[$0, default: 0] < losses[$1, default: 0] }
  }
}

extension IdentifierSearch {
  /// The broadcasts in ``findings``, in order of interval and time.
  package func broadcasts(of key: ClaimedKey) -> [Broadcast] {
    let start = Int64(key.rollingStartWord)
    var broadcasts: [Broadcast] = []
    for finding in findings {
      for sighting in table.sightings[finding.sightings] {
        let metadata = sighting.encryptedMetadata.map {
          cipher.metadata($0, beside: sighting.identifier, of: key.key)
        }
        let previous = sighting.secondsSincePreviousScan.map { sighting.time.secondsSince1970 - Int64($0) }
        broadcasts.append(
          Broadcast(
            identifier: sighting.identifier, interval: start + Int64(finding.offset), offset: finding.offset,
            milliseconds: sighting.milliseconds, durationMilliseconds: Int64(sighting.durationMilliseconds),
            rssi: sighting.rssi, metadata: metadata, previousScan: previous))
      }
    }
    return broadcasts.sorted { ($0.offset, $0.milliseconds) < ($1.offset, $1.milliseconds) }
  }
}

extension Int64 {
  /// The quotient rounded down, for a divisor above 0.
  func floored(by divisor: Int64) -> Int64 {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}

/// Rounds halves up, as both platforms do with decibels.
func roundedHalfUp(_ value: Double) -> Int { Int((value + 0.5).rounded(.down)) }

/// The index of the first bound that `test` holds for; how many bounds there are if it holds for none.
func bucket(_ bounds: [Int], _ test: (Int) -> Bool) -> Int { bounds.firstIndex(where: test) ?? bounds.count }
