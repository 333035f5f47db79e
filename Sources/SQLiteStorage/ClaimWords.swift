import ExposureKeys
import KeyNormalization
import KeyStorage

/// What a claim states beside its rolling start, in one integer of at most four bytes: the bits of its ``Statement``.
enum ClaimWords {
  /// Which integers are statements, for the schema. `said` of a wrong type is refused by the table itself.
  static let check = """
    said BETWEEN 1 AND 268435455 AND said & 255 BETWEEN 1 AND 144 AND (said >> 8) & 15 <= 9
        AND (said >> 12) & 7 <= 6 AND (said >> 15) & 4095 <= 4029
    """

  /// Admission lets nothing else through, so only a new rule of admission can make this fail.
  static func pack(_ key: ClaimedKey) throws -> Int32 {
    do throws(Statement.Misfit) {
      let said = try Statement(key)
      guard key.rollingStartWord >= 0 else { throw Statement.Misfit("rolling start", key.rollingStartWord) }
      return Int32(bitPattern: said.bits)
    } catch {
      throw StorageFault(.incompatible, "the store cannot hold a claim with this \(error.field): \(error.value)")
    }
  }

  static func unpack(_ said: Int32, rollingStart: Int32, key: TemporaryExposureKey) -> ClaimedKey {
    Statement(bits: UInt32(bitPattern: said)).claim(about: KeySubject(key: key, rollingStart: rollingStart))
  }
}
