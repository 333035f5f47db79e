import ExposureKeys

/// A claim as a ``ClaimSet`` keeps it: numbers alone, 32 bytes with the padding.
struct ClaimRow: Hashable, Sendable, BitwiseCopyable {
  let key: TemporaryExposureKey
  let rollingStart: Int32
  let statement: Statement
  /// A position in the set's voices.
  let voice: UInt32

  var subject: KeySubject { KeySubject(key: key, rollingStart: rollingStart) }

  /// - Parameter voice: who speaks, in the set's numbers.
  init(_ claim: ClaimedKey, voice: UInt32) {
    key = claim.key
    rollingStart = claim.rollingStartWord
    statement = Statement(claim)
    self.voice = voice
  }

  /// The same claim by another set's number of its voice.
  init(_ row: ClaimRow, voice: UInt32) {
    key = row.key
    rollingStart = row.rollingStart
    statement = row.statement
    self.voice = voice
  }

  /// The claim; `voice` is the one of its number.
  @inline(__always)
  func claim(by voice: Voice) -> AdmittedClaim {
    var said = statement.claim(about: subject)
    said.regions = voice.regions
    return AdmittedClaim(key: said, origin: voice.origin, source: voice.source)
  }
}

/// Who made a claim, for which regions, through which source.
struct Voice: Hashable, Sendable, BitwiseCopyable {
  let origin: OriginID
  let regions: RegionClaim.ID
  let source: SourceID
}

/// What a claim states beside key data, rolling start and regions. Bits 0...7 are the rolling period, 1...144; 8...11 the
/// transmission risk plus 1; 12...14 the report type plus 1; 15...26 the days since onset (a federation code) plus 15;
/// 27 tells that the key stood among the revised ones. 0 is absent throughout.
struct Statement: Hashable, Sendable, BitwiseCopyable {
  let bits: UInt32

  /// Admission lets nothing else through than what fits.
  @inline(__always)
  init(_ key: ClaimedKey) {
    func field(_ word: Int32, _ allowed: ClosedRange<Int32>, _ field: KeyFields, at shift: UInt32) -> UInt32 {
      guard key.fields.contains(field) else { return 0 }
      precondition(allowed.contains(word), "an admitted claim states what the admission rules allow")
      return UInt32(bitPattern: word - allowed.lowerBound + 1) << shift
    }
    precondition(
      key.fields.isSuperset(of: [.rollingStart, .rollingPeriod]), "an admitted claim states when its key is valid")
    bits =
      field(key.rollingPeriodWord, 1...144, .rollingPeriod, at: 0)
      | field(key.transmissionRiskWord, 0...8, .transmissionRisk, at: 8)
      | field(key.reportTypeWord, 0...5, .reportType, at: 12)
      | field(key.daysSinceOnsetWord, -14...4014, .daysSinceOnset, at: 15)
      | (key.isRevised ? 1 << 27 : 0)
  }

  @inline(__always)
  func claim(about subject: KeySubject) -> ClaimedKey {
    let (risk, type, onset) = (bits >> 8 & 15, bits >> 12 & 7, bits >> 15 & 4095)
    var fields: KeyFields = [.rollingStart, .rollingPeriod]
    if risk != 0 { fields.formUnion(.transmissionRisk) }
    if type != 0 { fields.formUnion(.reportType) }
    if onset != 0 { fields.formUnion(.daysSinceOnset) }
    if bits & 1 << 27 != 0 { fields.formUnion(.revised) }
    return ClaimedKey(
      key: subject.key, rollingStartWord: subject.rollingStart, rollingPeriodWord: Int32(bits & 255),
      transmissionRiskWord: risk == 0 ? 0 : Int32(risk) - 1, reportTypeWord: type == 0 ? 0 : Int32(type) - 1,
      daysSinceOnsetWord: onset == 0 ? 0 : Int32(onset) - 15, fields: fields)
  }
}

/// Two secret words, anew in each process: senders choose the keys.
struct HashSeed: Sendable {
  let first: UInt64
  let second: UInt64

  init() {
    // The standard library seeds its hasher in each process.
    func word(_ number: Int) -> UInt64 {
      var hasher = Hasher()
      hasher.combine(number)
      return UInt64(bitPattern: Int64(hasher.finalize()))
    }
    first = word(1)
    second = word(2)
  }

  /// The product of two words, each with a secret in it, folded from 128 bits to 64.
  @inline(__always)
  func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = (left ^ first).multipliedFullWidth(by: right ^ second)
    return product.high ^ product.low
  }
}

extension ClaimRow {
  /// A keyed hash of all fields.
  @inline(__always)
  func hash(_ seed: HashSeed) -> UInt32 {
    let said = UInt64(UInt32(bitPattern: rollingStart)) << 32 | UInt64(statement.bits)
    let state = seed.mix(seed.mix(key.high, key.low) ^ said, UInt64(voice) &* 0x9e37_79b9_7f4a_7c15)
    return UInt32(truncatingIfNeeded: state ^ state >> 32)
  }
}
