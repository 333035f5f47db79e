internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization
internal import KeyStorage

/// Which keys of an upload say something that is not known, and whether their sender may say it.
///
/// Its own word about a key a phone may change once: from a clinical diagnosis to a test or to nothing, from a self-report to
/// any of them. Nobody else may, so it shows what it was given for its first upload.
///
/// Source: Google's key server, `InsertAndReviseExposures` and `Exposure.Revise`.
struct UploadRevisions {
  /// Positions among the keys of the upload, in their order.
  private(set) var new: [Int] = []
  private(set) var revised: [Int] = []

  /// - Parameter known: for each key what was uploaded about it by this door before.
  /// - Throws: ``RevisionFault``.
  init(_ keys: [ClaimedKey], known: [[ClaimedKey]], proof: RevisionProof) throws(RevisionFault) {
    var isSure = true
    for (position, (key, known)) in zip(keys, known).enumerated() {
      guard let first = known.first else {
        // A negative test says nothing about a key that nobody knows.
        if !key.isRevoked { new.append(position) }
        continue
      }
      if proof == .notIssued {
        guard known.contains(where: { $0.saidType == key.saidType }) else { throw .missingToken }
        new.append(position)
        continue
      }
      isSure = isSure && proof.covers(key)
      guard case .keys = proof else { throw proof == .missing ? .missingToken : .invalidToken }
      guard first.rollingStart == key.rollingStart, first.rollingPeriod == key.rollingPeriod else { throw .otherKey }
      guard isSure else { throw .invalidToken }
      let types = Set(known.map(\.saidType))
      if types.contains(key.saidType) { continue }
      guard types.count == 1, let type = types.first else { throw .alreadyRevised }
      guard type.mayBeRevised(to: key.saidType) else { throw .invalidTransition }
      revised.append(position)
    }
  }
}

extension RevisionProof {
  fileprivate func covers(_ key: ClaimedKey) -> Bool {
    guard case .keys(let keys) = self, let start = key.rollingStart, let period = key.rollingPeriod else {
      return false
    }
    return keys.contains(RevisableKey(key: key.key, rollingStart: start, rollingPeriod: period))
  }
}

extension ClaimedKey {
  fileprivate var isRevoked: Bool { saidType == .revoked }

  /// What was said without a type counts as clinical.
  fileprivate var saidType: ReportType {
    switch reportType.flatMap(ReportType.init(rawValue:)) {
    case nil, .unknown: .confirmedClinicalDiagnosis
    case let type?: type
    }
  }
}
