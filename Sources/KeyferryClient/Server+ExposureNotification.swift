#if os(iOS) && canImport(ExposureNotification)
  public import ExposureNotification

  @available(iOS 13.5, *)
  extension CodableDiagnosisKey {
    public init(_ key: ENTemporaryExposureKey) {
      self.init(
        keyData: key.keyData, rollingPeriod: key.rollingPeriod, rollingStartNumber: key.rollingStartNumber,
        transmissionRiskLevel: key.transmissionRiskLevel)
    }
  }

  @available(iOS 13.5, *)
  extension Server {
    /// Posts keys as the framework gives them.
    public func postDiagnosisKeys(
      _ diagnosisKeys: [ENTemporaryExposureKey], completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
      postDiagnosisKeys(diagnosisKeys.map { CodableDiagnosisKey($0) }, completion: completion)
    }
  }
#endif
