internal import KeyNormalization

/// What settings may be; the table of the documentation is made of the same values.
enum Allowed {
  static let nameLength = 64
  static let databaseReaders = 2...64
  static let databaseSeconds: ClosedRange<Int64> = 1...3600
  static let leaseSeconds: ClosedRange<Int64> = 3...3600
  static let clockBack: ClosedRange<Int64> = 60...86_400
  static let clockAhead: ClosedRange<Int64> = 3600...2_592_000
  static let population = BusyDay.populations
  static let silence: ClosedRange<Int64> = 60...2_592_000
  static let behind: ClosedRange<Int64> = 3600...2_592_000
  static let keyDays: ClosedRange<Int64> = 1...60
  static let evidenceDays: ClosedRange<Int64> = 0...3650
  static let evidenceBytes = 1_000_000...1_000_000_000_000_000
  /// Seconds.
  static let interval: ClosedRange<Int64> = 10...604_800
  static let documentBytes = 1024...4 << 30
  static let connectSeconds: ClosedRange<Int64> = 1...300
  static let idleSeconds: ClosedRange<Int64> = 1...3600
  /// With what a gateway needs to end behind it, this is less than supervisors wait.
  static let endingSeconds: ClosedRange<Int64> = 0...20
  static let totalSeconds: ClosedRange<Int64> = 1...86_400
  static let storeSeconds: ClosedRange<Int64> = 1...3600
  static let retries = 0...10
  static let connections = 1...16
  static let serverConnections = 1...1_000_000
  static let headSeconds: ClosedRange<Int64> = 1...300
  /// In a second.
  static let contentBytesPerSecond = 1...1 << 20
  static let cacheBytes = 1 << 20...64 << 30
  static let period: ClosedRange<Int64> = 60...86_400
  static let minimumKeys = 0...100_000
  /// What devices take in one bundle.
  static let splitKeys = 1...750_000
  static let windowKeys = 1000...100_000_000
  static let splitBytes = 1024...16 << 20
  /// A day.
  static let editions = 1...24
  static let listedDays: ClosedRange<Int64> = 1...60
  static let graceSeconds: ClosedRange<Int64> = 0...2_592_000
  static let port = 0...65_535
  static let requestsPerMinute = 1...1_000_000
  static let tokenLength = 16...4096
  /// Characters of what revision tokens are sealed with.
  static let revisionKeyLength = 32...4096
  /// Seconds.
  static let answerSeconds: ClosedRange<Int64> = 0...30
  static let codeTimeoutSeconds: ClosedRange<Int64> = 1...10
  static let keySetRefreshSeconds: ClosedRange<Int64> = 60...86_400
  static let dp3tValiditySeconds: ClosedRange<Int64> = 60...604_800
  static let federationKeys = 1...100_000
  static let federationBatchSeconds: ClosedRange<Int64> = 10...86_400
  /// Before today.
  static let federationDays: ClosedRange<Int64> = 0...13
  static let signingSeconds: ClosedRange<Int64> = 1...60
  static let publicKeyBytes = 16_384
  /// Seconds before the end of the last signing key at which to warn.
  static let endingSoon: Int64 = 30 * 86_400
  static let secretBytes = 65_536
  static let ringBytes = 4 << 20
  static let exposureConfigurationBytes = 1 << 20
}
