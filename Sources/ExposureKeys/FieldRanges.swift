/// A key's rolling period: for how many ten-minute intervals it is valid.
///
/// Source: Exposure Notification Cryptography Specification 1.2, `TEKRollingPeriod`.
public enum RollingPeriod {
  /// What devices accept.
  @inlinable public static var range: ClosedRange<Int32> { 1...144 }

  /// A whole day, which is what every device makes of its keys when the day is over.
  @inlinable public static var fullDay: Int32 { 144 }
}

/// A key's transmission risk level.
public enum TransmissionRisk {
  /// What Google's framework accepts; iOS takes 0...7.
  @inlinable public static var range: ClosedRange<Int32> { 0...8 }
}

/// Days from the onset of symptoms to a key's day.
public enum DaysSinceOnset {
  /// Exact days: what devices accept.
  @inlinable public static var range: ClosedRange<Int32> { -14...14 }

  /// The federation's codes, which hold exact days, spans of days and unknown ones. Not every number in it is one.
  ///
  /// Source: European Federation Gateway Service, interoperability specification of days since onset of symptoms.
  @inlinable public static var federationCodes: ClosedRange<Int32> { -14...4014 }
}

extension ReportType {
  /// From the lowest to the highest number that has a meaning.
  public static let numbers: ClosedRange<Int32> = {
    let numbers = allCases.map(\.rawValue)
    return (numbers.min() ?? 0)...(numbers.max() ?? 0)
  }()
}
