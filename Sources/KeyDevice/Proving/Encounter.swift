package import ExposureKeys

/// Time near somebody at one attenuation after another: `15m@55dB`, or `5m@50dB+20m@65dB`.
package struct Encounter: Hashable, Sendable {
  package struct Part: Hashable, Sendable {
    package var seconds: Int
    package var attenuation: Int

    package init(seconds: Int, attenuation: Int) {
      self.seconds = seconds
      self.attenuation = attenuation
    }
  }

  package var parts: [Part]

  /// Fifteen minutes at 50 dB: near by the rules of most apps, and at the bound of none.
  package static let usual = Encounter(parts: [Part(seconds: 900, attenuation: 50)])

  package init(parts: [Part]) { self.parts = parts }

  /// `nil` unless the text is `DURATION@ATTENUATIONdB`, several joined by `+`; the duration in `s`, `m` or `h`, a day at most
  /// in all, the attenuation 1 to 100.
  package init?(_ text: String) {
    var parts: [Part] = []
    for word in text.split(separator: "+", omittingEmptySubsequences: false) {
      let halves = word.split(separator: "@", omittingEmptySubsequences: false)
      guard halves.count == 2, let unit = halves[0].last, let count = Int(halves[0].dropLast()), count > 0,
        count <= 86_400, let scale = ["s": 1, "m": 60, "h": 3600][unit], halves[1].lowercased().hasSuffix("db"),
        let attenuation = Int(halves[1].dropLast(2)), (1...100).contains(attenuation)
      else { return nil }
      parts.append(Part(seconds: count * scale, attenuation: attenuation))
    }
    guard !parts.isEmpty, parts.reduce(0, { $0 + $1.seconds }) <= 86_400 else { return nil }
    self.parts = parts
  }

  package var seconds: Int { parts.reduce(0) { $0 + $1.seconds } }

  package var text: String {
    parts.map { part in
      let time = part.seconds % 60 == 0 ? "\(part.seconds / 60)m" : "\(part.seconds)s"
      return "\(time)@\(part.attenuation)dB"
    }.joined(separator: "+")
  }

  /// The transmit power of the sender that is played, in dBm, and the version of its metadata, 1.1 with the confidence high.
  private static let power = -20
  private static let version: UInt32 = 0x5c

  /// What a phone of this kind notes while the owner of `key` is near, from `offset` intervals after the key's start.
  ///
  /// The sender is played from the key as it is published: it changes its identifier with each interval, and stops when the key
  /// ends. A scan that has just ended counts the time since the scan before, so the first is one spacing after the start.
  package func sightings(
    of key: ClaimedKey, period: Int, from offset: Int, on model: PhoneModel, _ cipher: IdentifierCipher
  ) -> [Sighting] {
    let identifiers = cipher.identifiers(
      of: key.key, start: UInt32(bitPattern: key.rollingStartWord), count: period)
    let start = (Int64(key.rollingStartWord) + Int64(offset)) * 600
    let spacing = model == .microg ? 180 : 300
    // microG measures between sightings, so it needs one at the start.
    var seen = model == .microg ? [0] : []
    seen += Array(stride(from: spacing, through: seconds, by: spacing))
    if seconds % spacing != 0 { seen.append(seconds) }
    var previous = 0
    var sightings: [Sighting] = []
    for second in seen {
      let scanned = previous
      previous = second
      // At the end of the interval's last second it is still the interval's.
      let index = offset + max(second - 1, 0) / 600
      guard identifiers.indices.contains(index), let attenuation = attenuation(at: second) else { continue }
      let metadata = Self.version << 24 | UInt32(UInt8(bitPattern: Int8(Self.power))) << 16
      sightings.append(
        Sighting(
          identifier: identifiers[index], milliseconds: (start + Int64(max(second - 1, 0))) * 1000,
          encryptedMetadata: cipher.metadata(metadata, beside: identifiers[index], of: key.key),
          rssi: Int8(Self.power - attenuation),
          secondsSincePreviousScan: model == .microg ? nil : UInt32(second - scanned)))
    }
    return sightings
  }

  private func attenuation(at second: Int) -> Int? {
    var end = 0
    for part in parts {
      end += part.seconds
      if second <= end { return part.attenuation }
    }
    return parts.last?.attenuation
  }
}
