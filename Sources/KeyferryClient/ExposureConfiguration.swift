/// The exposure configuration as Apple's sample app spells it in JSON: the eighteen members since iOS 13.7 and 12.5, of
/// which the first six are those since iOS 13.5. The weights of beta 3 are there where the server has them.
public struct CodableExposureConfiguration: Codable, Hashable, Sendable {
  public var minimumRiskScore: UInt8
  /// Two attenuations in dB.
  public var attenuationDurationThresholds: [Int]
  /// Eight values each, 0...8.
  public var attenuationLevelValues: [UInt8]
  public var daysSinceLastExposureLevelValues: [UInt8]
  public var durationLevelValues: [UInt8]
  public var transmissionRiskLevelValues: [UInt8]

  /// Percent, 0...250.
  public var immediateDurationWeight: Double
  public var nearDurationWeight: Double
  public var mediumDurationWeight: Double
  public var otherDurationWeight: Double
  /// Days `"-14"`...`"14"` and `"unknown"` to 0 (none), 1 (standard), 2 (high).
  public var infectiousnessForDaysSinceOnsetOfSymptoms: [String: Int]
  public var infectiousnessStandardWeight: Double
  public var infectiousnessHighWeight: Double
  public var reportTypeConfirmedTestWeight: Double
  public var reportTypeConfirmedClinicalDiagnosisWeight: Double
  public var reportTypeSelfReportedWeight: Double
  public var reportTypeRecursiveWeight: Double
  /// The report type that a key without one counts as.
  public var reportTypeNoneMap: Int

  public var attenuationWeight: Double?
  public var daysSinceLastExposureWeight: Double?
  public var durationWeight: Double?
  public var transmissionRiskWeight: Double?

  /// The members of the beta of iOS 13.5.
  public struct Beta: Codable, Hashable, Sendable {
    public var minimumRiskScore: UInt8
    public var attenuationWeight: Double
    /// Eight values each, 0...8.
    public var attenuationScores: [UInt8]
    public var daysSinceLastExposureWeight: Double
    public var daysSinceLastExposureScores: [UInt8]
    public var durationWeight: Double
    public var durationScores: [UInt8]
    public var transmissionRiskWeight: Double
    public var transmissionRiskScores: [UInt8]
  }

  /// The members since iOS 13.5.
  public struct Version1: Codable, Hashable, Sendable {
    public var minimumRiskScore: UInt8
    public var attenuationDurationThresholds: [Int]
    /// Eight values each, 0...8.
    public var attenuationLevelValues: [UInt8]
    public var daysSinceLastExposureLevelValues: [UInt8]
    public var durationLevelValues: [UInt8]
    public var transmissionRiskLevelValues: [UInt8]
  }
}
