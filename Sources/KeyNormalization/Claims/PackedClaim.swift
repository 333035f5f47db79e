import ExposureKeys

/// A claim as a ``ClaimSet`` keeps it: numbers alone, 32 bytes with the padding.
struct PackedClaim: Hashable, Sendable, BitwiseCopyable {
  let key: TemporaryExposureKey
  let rollingStart: Int32
  let statement: Statement
  /// A position in the set's voices.
  let voice: UInt32

  var subject: KeySubject { KeySubject(key: key, rollingStart: rollingStart) }

  /// - Parameter voice: who speaks, in the set's numbers.
  init(_ claim: AdmittedClaim, voice: UInt32) {
    key = claim.subject.key
    rollingStart = claim.subject.rollingStart
    statement = claim.statement
    self.voice = voice
  }

  /// The same claim by another set's number of its voice.
  init(_ row: PackedClaim, voice: UInt32) {
    key = row.key
    rollingStart = row.rollingStart
    statement = row.statement
    self.voice = voice
  }

  /// The claim; `voice` is the one of its number.
  @inline(__always)
  func claim(by voice: Claimant) -> AdmittedClaim {
    AdmittedClaim(
      subject: subject, statement: statement, regions: voice.regions, origin: voice.origin, source: voice.source)
  }
}

/// Who made a claim, for which regions, through which source.
struct Claimant: Hashable, Sendable, BitwiseCopyable {
  let origin: OriginID
  let regions: RegionClaim.ID
  let source: SourceID
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

extension PackedClaim {
  /// A keyed hash of all fields.
  @inline(__always)
  func hash(_ seed: HashSeed) -> UInt32 {
    let said = UInt64(UInt32(bitPattern: rollingStart)) << 32 | UInt64(statement.bits)
    let state = seed.mix(seed.mix(key.high, key.low) ^ said, UInt64(voice) &* 0x9e37_79b9_7f4a_7c15)
    return UInt32(truncatingIfNeeded: state ^ state >> 32)
  }
}
