/// What several settings have in common, and the limits of the files that they name.
enum Allowed {
  static let nameLength = 64
  static let keyDays: ClosedRange<Int64> = 1...60
  /// The seconds between two pulls, or two pushes.
  static let interval: ClosedRange<Int64> = 10...604_800
  static let totalSeconds: ClosedRange<Int64> = 1...86_400
  static let tokenLength = 16...4096
  /// Characters of the key that seals revision tokens.
  static let revisionKeyLength = 32...4096
  static let publicKeyBytes = 16_384
  /// Seconds before the end of the last signing key at which to warn.
  static let endingSoon: Int64 = 30 * 86_400
  static let secretBytes = 65_536
  static let ringBytes = 4 << 20
  static let exposureConfigurationBytes = 1 << 20
}
