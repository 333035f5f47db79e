internal import ExposureKeys
package import KeyNormalization

/// The door for uploads, as a source: whose keys come in by it, and how they are read.
package struct UploadSource: Hashable, Sendable {
  /// What claims call it.
  package var name: String
  /// The origin of its keys.
  package var origin: String
  package var reading: Policy
  /// The regions that its keys are for, where a phone does not say otherwise.
  package var regions: [String]
  /// The series at whose addresses keys are taken.
  package var series: [String]

  /// - Parameter regions: the origin alone, where `nil`.
  package init(
    name: String = "uploads", origin: String, reading: Policy, regions: [String]? = nil, series: [String] = []
  ) {
    self.name = name
    self.origin = origin
    self.reading = reading
    self.regions = regions ?? [origin.uppercased()]
    self.series = series
  }

  /// Days after their expiry that keys are taken, where the reading policy states no limit.
  package static let maximumAge = 15

  /// The reading policy, held to what a phone can honestly say: its own country's keys of the last days, none of them
  /// from the future.
  func admissionPolicy(at now: Instant) -> ReadingPolicy {
    var policy = reading.at(now).reading
    policy.futureTolerance = 0
    policy.maximumAge = policy.maximumAge ?? Self.maximumAge
    policy.speaksFor = .only([origin.uppercased()])
    policy.declaredRegions.formUnion(regions + [origin.uppercased()])
    return policy
  }
}
