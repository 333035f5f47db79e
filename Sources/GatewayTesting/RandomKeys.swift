package import ExposureKeys
package import KeyFormats

/// Makes documents of random keys.
package struct RandomKeys: Sendable {
  package enum Style: Sendable, CaseIterable {
    /// What real servers send: keys of the last fourteen days, mostly whole days, fields within their ranges.
    case plausible
    /// Whatever a format can spell: every combination of present fields, extreme values, both lists, unknown fields.
    case wild
  }

  package var style: Style
  /// The day on which the keys are published; keys are of the fourteen days before it.
  package var day: Day
  /// Whether keys state origin and visited regions.
  package var statesRegions: Bool
  /// Whether wild keys and headers carry protobuf fields that no schema defines.
  package var hasUnknownFields: Bool

  /// 2020-12-01.
  package static let usualDay = Day(daysSince1970: 18_597)

  package init(
    _ style: Style, day: Day = usualDay, statesRegions: Bool = false, hasUnknownFields: Bool = false
  ) {
    self.style = style
    self.day = day
    self.statesRegions = statesRegions
    self.hasUnknownFields = hasUnknownFields
  }

  package func document(_ count: Int, using random: inout SeededRandom) -> DecodedDocument {
    var document = DecodedDocument(header: header(using: &random))
    document.keys.reserveCapacity(count)
    for _ in 0..<count {
      var claim = style == .plausible ? plausible(using: &random) : wild(using: &random)
      if statesRegions { claim.regions = region(in: &document.regions, using: &random) }
      if style == .wild, hasUnknownFields, random.once(in: 4) {
        claim.unknownFields = document.unknownFields.append(unknownFields(using: &random))
      }
      document.keys.append(claim)
    }
    return document
  }

  private func plausible(using random: inout SeededRandom) -> ClaimedKey {
    var claim = ClaimedKey(key: TemporaryExposureKey(high: random.next(), low: random.next()))
    let age = Int64.random(in: 1...14, using: &random)
    let midnight = Day(daysSince1970: day.daysSince1970 - age).firstInterval
    let period: Int32 = random.once(in: 8) ? .random(in: 1...143, using: &random) : 144
    claim.rollingStart = Int32(midnight.rawValue)
    claim.rollingPeriod = period
    claim.transmissionRisk = .random(in: 1...8, using: &random)
    claim.reportType = random.once(in: 10) ? ReportType.confirmedClinicalDiagnosis.rawValue : 1
    claim.daysSinceOnset = .random(in: -10...10, using: &random)
    if random.once(in: 50) {
      claim.isRevised = true
      claim.reportType = ReportType.revoked.rawValue
    }
    return claim
  }

  private func wild(using random: inout SeededRandom) -> ClaimedKey {
    let words: [UInt64] = [0, .max, random.next(), random.next(), random.next()]
    var claim = ClaimedKey(key: TemporaryExposureKey(high: random.pick(words), low: random.pick(words)))
    let present = KeyFields(rawValue: UInt32(truncatingIfNeeded: random.next()))
    if present.contains(.rollingStart) {
      let start = wildNumber(near: 2_678_000, using: &random)
      // A time in seconds would be read as one.
      claim.rollingStart = (1_546_300_800..<2_051_222_400).contains(start) ? start &- 1_546_300_800 : start
    }
    if present.contains(.rollingPeriod) { claim.rollingPeriod = wildNumber(near: 144, using: &random) }
    if present.contains(.transmissionRisk) { claim.transmissionRisk = wildNumber(near: 4, using: &random) }
    if present.contains(.reportType) { claim.reportType = wildNumber(near: 3, using: &random) }
    if present.contains(.daysSinceOnset) { claim.daysSinceOnset = wildNumber(near: 0, using: &random) }
    claim.isRevised = present.contains(.revised)
    return claim
  }

  private func wildNumber(near usual: Int32, using random: inout SeededRandom) -> Int32 {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return random.pick([0, 1, -1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152, .max, .min])
    case 1: return Int32(truncatingIfNeeded: random.next())
    default: return usual &+ .random(in: -3...3, using: &random)
    }
  }

  private func region(in table: inout RegionTable, using random: inout SeededRandom) -> RegionClaim.ID {
    let codes = ["AT", "BE", "CY", "DE", "DK", "ES", "FI", "HR", "IE", "IT", "LT", "LV", "MT", "NL", "NO", "PL", "SI"]
    var claim = RegionClaim(origin: random.pick(codes))
    switch Int.random(in: 0..<4, using: &random) {
    case 0: claim.visited = codes
    case 1: claim.visited = [random.pick(codes)]
    case 2: claim.visited = (0..<3).map { _ in random.pick(codes) }
    default: claim.visited = nil
    }
    return table.intern(claim) ?? .none
  }

  /// Every field is stated, or when wild any of them.
  package func header(using random: inout SeededRandom) -> ExportHeader {
    let end = UInt64(day.start.secondsSince1970)
    var header = ExportHeader(
      startTimestamp: end - 86_400, endTimestamp: end, region: "310", batchNum: 1, batchSize: 1,
      signatureInfos: [
        SignatureInfo(
          verificationKeyVersion: "v1", verificationKeyID: "310", signatureAlgorithm: SignatureInfo.ecdsaWithSHA256)
      ])
    guard style == .wild else { return header }
    if random.once(in: 3) { header.startTimestamp = random.pick([nil, 0, .max]) }
    if random.once(in: 3) { header.endTimestamp = random.pick([nil, 0, .max]) }
    if random.once(in: 3) { header.region = random.pick([nil, "", "Ελλάδα", "a,b\"c\nd"]) }
    if random.once(in: 3) { header.batchNum = random.pick([nil, 0, -1, .max]) }
    if random.once(in: 3) { header.batchSize = random.pick([nil, 0, -1, .min]) }
    if random.once(in: 3) { header.signatureInfos = random.pick([[], [SignatureInfo()], header.signatureInfos * 3]) }
    if hasUnknownFields, random.once(in: 2) { header.unknownFields = unknownFields(using: &random) }
    return header
  }

  /// One to three encoded protobuf fields with numbers that no schema of ours uses.
  package func unknownFields(using random: inout SeededRandom) -> [UInt8] {
    var bytes: [UInt8] = []
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let number: UInt64 = random.pick([9, 15, 16, 1000, 536_870_911])
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        appendVarint(number << 3, to: &bytes)
        appendVarint(random.next() >> random.pick([0, 1, 30, 57, 63]), to: &bytes)
      case 1:
        appendVarint(number << 3 | 1, to: &bytes)
        bytes += random.bytes(8)
      case 2:
        let length = random.pick([0, 1, 16, 200])
        appendVarint(number << 3 | 2, to: &bytes)
        appendVarint(UInt64(length), to: &bytes)
        bytes += random.bytes(length)
      default:
        appendVarint(number << 3 | 5, to: &bytes)
        bytes += random.bytes(4)
      }
    }
    return bytes
  }

  private func appendVarint(_ value: UInt64, to bytes: inout [UInt8]) {
    var rest = value
    while rest > 127 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}

private func * (infos: [SignatureInfo], times: Int) -> [SignatureInfo] { (0..<times).flatMap { _ in infos } }
