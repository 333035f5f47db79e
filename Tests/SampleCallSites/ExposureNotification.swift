// A stub of Apple's framework: the types and members that the sample's call sites and KeyferryClient need, without any
// behaviour. BETA is the first beta of iOS 13.5.
import Foundation

public typealias ENRiskScore = UInt8

open class ENTemporaryExposureKey: NSObject {
  public var keyData = Data()
  public var rollingStartNumber: UInt32 = 0
  #if BETA
    public var transmissionRiskLevel: ENRiskLevel = .invalid
  #else
    public var rollingPeriod: UInt32 = 144
    public var transmissionRiskLevel: ENRiskLevel = 0
  #endif
}

public final class ENExposureDetectionSummary: NSObject {}

#if BETA
  public enum ENRiskLevel: UInt8 {
    case invalid = 0
    case lowest = 1
    case highest = 7
  }

  open class ENExposureConfiguration: NSObject {
    public var minimumRiskScore: ENRiskScore = 0
    public var attenuationWeight = 0.0
    public var attenuationScores: [NSNumber] = []
    public var daysSinceLastExposureWeight = 0.0
    public var daysSinceLastExposureScores: [NSNumber] = []
    public var durationWeight = 0.0
    public var durationScores: [NSNumber] = []
    public var transmissionRiskWeight = 0.0
    public var transmissionRiskScores: [NSNumber] = []
  }

  open class ENExposureDetectionSession: NSObject {
    public var configuration = ENExposureConfiguration()
    public var maximumKeyCount = 0
    public func activate(completionHandler: @escaping ((any Error)?) -> Void) {}
    public func addDiagnosisKeys(_ keys: [ENTemporaryExposureKey], completionHandler: @escaping ((any Error)?) -> Void)
    {}
    public func finishedDiagnosisKeys(
      completionHandler: @escaping (ENExposureDetectionSummary?, (any Error)?) -> Void
    ) {}
  }
#else
  public typealias ENRiskLevel = UInt8

  public enum ENDiagnosisReportType: UInt32 {
    case unknown, confirmedTest, confirmedClinicalDiagnosis, selfReported, recursive, revoked
  }

  open class ENExposureConfiguration: NSObject {
    public var metadata: [AnyHashable: Any]?
    public var minimumRiskScore: ENRiskScore = 0
    public var attenuationLevelValues: [NSNumber] = []
    public var daysSinceLastExposureLevelValues: [NSNumber] = []
    public var durationLevelValues: [NSNumber] = []
    public var transmissionRiskLevelValues: [NSNumber] = []
    public var immediateDurationWeight = 0.0
    public var nearDurationWeight = 0.0
    public var mediumDurationWeight = 0.0
    public var otherDurationWeight = 0.0
    public var infectiousnessForDaysSinceOnsetOfSymptoms: [NSNumber: NSNumber]?
    public var infectiousnessStandardWeight = 0.0
    public var infectiousnessHighWeight = 0.0
    public var reportTypeConfirmedTestWeight = 0.0
    public var reportTypeConfirmedClinicalDiagnosisWeight = 0.0
    public var reportTypeSelfReportedWeight = 0.0
    public var reportTypeRecursiveWeight = 0.0
    public var reportTypeNoneMap: ENDiagnosisReportType = .unknown
  }
#endif

open class ENManager: NSObject {
  public func getDiagnosisKeys(completionHandler: @escaping ([ENTemporaryExposureKey]?, (any Error)?) -> Void) {}
  #if !BETA
    public var diagnosisKeysAvailableHandler: (([ENTemporaryExposureKey]) -> Void)?
    @discardableResult
    public func detectExposures(
      configuration: ENExposureConfiguration, diagnosisKeyURLs: [URL] = [],
      completionHandler: @escaping (ENExposureDetectionSummary?, (any Error)?) -> Void
    ) -> Progress { Progress(totalUnitCount: 1) }
  #endif
}
