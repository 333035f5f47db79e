package import ExposureKeys
internal import KeyNormalization

extension ClaimedKey {
  /// `1, confirmed test`, or `absent`.
  package var reportTypeWords: String {
    switch reportTypeClaim {
    case .stated(let type): "\(type.rawValue), \(type.name.lowercased().replacing("_", with: " "))"
    case .absent: "absent"
    case .unrecognized(let number): "\(number), without a meaning"
    }
  }

  /// `3003, no symptoms, day 3 from submission`, or `absent`.
  package var onsetWords: String {
    daysSinceOnset.map { "\($0), \(SymptomStatus(federationCode: $0))" } ?? "absent"
  }
}
