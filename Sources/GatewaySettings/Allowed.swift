/// What settings may be; the table of the documentation is made of the same values.
enum Allowed {
  static let nameLength = 64
  static let keyDays: ClosedRange<Int64> = 1...60
  static let evidenceDays: ClosedRange<Int64> = 0...3650
  /// Seconds.
  static let interval: ClosedRange<Int64> = 10...604_800
  static let documentBytes = 1024...4 << 30
  static let connectSeconds: ClosedRange<Int64> = 1...300
  static let idleSeconds: ClosedRange<Int64> = 1...3600
  static let totalSeconds: ClosedRange<Int64> = 1...86_400
  static let retries = 0...10
  static let connections = 1...16
  static let period: ClosedRange<Int64> = 60...86_400
  static let minimumKeys = 0...100_000
  /// What devices take in one bundle.
  static let splitKeys = 1...750_000
  static let splitBytes = 1024...16 << 20
  static let listedDays: ClosedRange<Int64> = 1...60
  static let graceSeconds: ClosedRange<Int64> = 0...2_592_000
  static let port = 0...65_535
  static let requestsPerMinute = 1...1_000_000
  static let tokenLength = 16...4096
  /// Seconds before the end of the last signing key at which to warn.
  static let endingSoon: Int64 = 30 * 86_400
  static let secretBytes = 65_536
  static let ringBytes = 4 << 20
  static let exposureConfigurationBytes = 1 << 20
}
