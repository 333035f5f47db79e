// The framework is there for iOS, and for tests as a stub. KEYFERRY_BETA is set for the framework of the first beta of iOS 13.5,
// whose types have other members.
#if canImport(ExposureNotification) && !targetEnvironment(macCatalyst)
  public import ExposureNotification
  import Foundation

  @available(iOS 12.5, *)
  extension CodableDiagnosisKey {
    public init(_ key: ENTemporaryExposureKey) {
      #if KEYFERRY_BETA
        self.init(
          keyData: key.keyData, rollingStartNumber: key.rollingStartNumber,
          transmissionRiskLevel: key.transmissionRiskLevel.rawValue)
      #else
        self.init(
          keyData: key.keyData, rollingPeriod: key.rollingPeriod, rollingStartNumber: key.rollingStartNumber,
          transmissionRiskLevel: key.transmissionRiskLevel)
      #endif
    }

    /// As the framework takes it.
    public var temporaryExposureKey: ENTemporaryExposureKey {
      let key = ENTemporaryExposureKey()
      key.keyData = keyData
      key.rollingStartNumber = rollingStartNumber
      #if KEYFERRY_BETA
        if let level = ENRiskLevel(rawValue: transmissionRiskLevel) { key.transmissionRiskLevel = level }
      #else
        key.rollingPeriod = rollingPeriod
        key.transmissionRiskLevel = transmissionRiskLevel
      #endif
      return key
    }
  }

  @available(iOS 12.5, *)
  extension Server {
    /// Posts keys as the framework gives them.
    public func postDiagnosisKeys(
      _ diagnosisKeys: [ENTemporaryExposureKey], completion: @escaping ((any Error)?) -> Void
    ) {
      postDiagnosisKeys(diagnosisKeys.map { CodableDiagnosisKey($0) }, completion: completion)
    }

    /// A page of keys as the framework takes them, for apps of the beta generation.
    public func getDiagnosisKeys(
      index: Int, maximumCount: Int,
      completion: @escaping (Result<(diagnosisKeys: [ENTemporaryExposureKey], done: Bool), any Error>) -> Void
    ) {
      getDiagnosisKeyPage(index: index, maximumCount: maximumCount) { result in
        completion(result.map { (diagnosisKeys: $0.keys.map(\.temporaryExposureKey), done: $0.done) })
      }
    }

    /// The exposure configuration as the framework takes it.
    public func getExposureConfiguration(completion: @escaping (Result<ENExposureConfiguration, any Error>) -> Void) {
      #if KEYFERRY_BETA
        getExposureConfiguration(as: CodableExposureConfiguration.Beta.self) { completion($0.map(\.configuration)) }
      #else
        getExposureConfiguration(as: CodableExposureConfiguration.self) { completion($0.map(\.configuration)) }
      #endif
    }
  }

  #if KEYFERRY_BETA
    extension CodableExposureConfiguration.Beta {
      public var configuration: ENExposureConfiguration {
        let configuration = ENExposureConfiguration()
        configuration.minimumRiskScore = minimumRiskScore
        configuration.attenuationWeight = attenuationWeight
        configuration.attenuationScores = attenuationScores.map { NSNumber(value: $0) }
        configuration.daysSinceLastExposureWeight = daysSinceLastExposureWeight
        configuration.daysSinceLastExposureScores = daysSinceLastExposureScores.map { NSNumber(value: $0) }
        configuration.durationWeight = durationWeight
        configuration.durationScores = durationScores.map { NSNumber(value: $0) }
        configuration.transmissionRiskWeight = transmissionRiskWeight
        configuration.transmissionRiskScores = transmissionRiskScores.map { NSNumber(value: $0) }
        return configuration
      }
    }
  #else
    @available(iOS 12.5, *)
    extension CodableExposureConfiguration {
      /// Both versions of the framework's configuration in one; the second where the system has it: on iOS 12.5, and since 13.7.
      public var configuration: ENExposureConfiguration {
        let configuration = ENExposureConfiguration()
        if #available(iOS 13.7, *) {
          setSecondVersion(of: configuration)
        } else if #available(iOS 13.5, *) {
          // It came with 13.7.
        } else {
          setSecondVersion(of: configuration)
        }
        configuration.minimumRiskScore = minimumRiskScore
        configuration.attenuationLevelValues = attenuationLevelValues.map { NSNumber(value: $0) }
        configuration.daysSinceLastExposureLevelValues = daysSinceLastExposureLevelValues.map { NSNumber(value: $0) }
        configuration.durationLevelValues = durationLevelValues.map { NSNumber(value: $0) }
        configuration.transmissionRiskLevelValues = transmissionRiskLevelValues.map { NSNumber(value: $0) }
        configuration.metadata = ["attenuationDurationThresholds": attenuationDurationThresholds]
        return configuration
      }

      private func setSecondVersion(of configuration: ENExposureConfiguration) {
        configuration.immediateDurationWeight = immediateDurationWeight
        configuration.nearDurationWeight = nearDurationWeight
        configuration.mediumDurationWeight = mediumDurationWeight
        configuration.otherDurationWeight = otherDurationWeight
        var days: [NSNumber: NSNumber] = [:]
        for (day, infectiousness) in infectiousnessForDaysSinceOnsetOfSymptoms {
          // The framework's name for the unknown day is there since iOS 14; its value is this.
          guard let day = day == "unknown" ? Int.max : Int(day) else { continue }
          days[NSNumber(value: day)] = NSNumber(value: infectiousness)
        }
        configuration.infectiousnessForDaysSinceOnsetOfSymptoms = days
        configuration.infectiousnessStandardWeight = infectiousnessStandardWeight
        configuration.infectiousnessHighWeight = infectiousnessHighWeight
        configuration.reportTypeConfirmedTestWeight = reportTypeConfirmedTestWeight
        configuration.reportTypeConfirmedClinicalDiagnosisWeight = reportTypeConfirmedClinicalDiagnosisWeight
        configuration.reportTypeSelfReportedWeight = reportTypeSelfReportedWeight
        configuration.reportTypeRecursiveWeight = reportTypeRecursiveWeight
        if let type = UInt32(exactly: reportTypeNoneMap).flatMap(ENDiagnosisReportType.init(rawValue:)) {
          configuration.reportTypeNoneMap = type
        }
      }
    }
  #endif
#endif
