package import ExposureKeys
package import KeyNormalization
internal import Synchronization

/// The door for uploads, as a source: whose keys come in by it, and how they are read.
package struct UploadSource: Hashable, Sendable {
  /// What claims call it.
  package var name: String
  /// The origin of its keys.
  package var origin: String
  package var reading: Policy
  /// Inhabitants of the region whose phones upload; `nil` if they are not stated.
  package var population: Int?
  /// The regions that its keys are for, where a phone does not say otherwise.
  package var regions: [String]
  /// The series at whose addresses keys are taken.
  package var series: [String]
  /// Who publishes its keys. Where there is somebody, a key that is too old for all of them is not taken: its sender would
  /// be told that all is well, and nobody would ever hear of it.
  package var outlets: [Outlet] = []

  /// A series that publishes keys of a door.
  package struct Outlet: Hashable, Sendable {
    package var publishing: Policy
    /// Seconds of a window.
    package var period: Int64

    package init(publishing: Policy, period: Int64) {
      (self.publishing, self.period) = (publishing, period)
    }

    /// Keys that ended before are too old at the end of the window that goes on.
    func earliestEnd(at now: Instant) -> IntervalNumber {
      let window = max(period, 1)
      let end = Instant(secondsSince1970: (now.secondsSince1970 / window + 1) * window)
      let age = Int64(publishing.at(end).publishing.maximumAgeDays) * 86_400
      return IntervalNumber((end.secondsSince1970 - age + 599) / 600)
    }
  }

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
  package func admissionPolicy(at now: Instant) -> ReadingPolicy {
    var policy = reading.at(now).reading
    policy.futureTolerance = 0
    policy.maximumAge = policy.maximumAge ?? Self.maximumAge
    policy.earliestEnd = outlets.map { $0.earliestEnd(at: now) }.min()
    policy.speaksFor = .only([origin.uppercased()])
    policy.declaredRegions.formUnion(regions + [origin.uppercased()])
    if let population, policy.floodFloor == nil { policy.floodFloor = BusyDay.keys(of: population) }
    return policy
  }
}

/// An upload endpoint as it reads keys now: how it reads them can change while it takes uploads. The lock owns it.
package final class HeldUploadSource: Sendable {
  private let source: Mutex<UploadSource>

  package init(_ source: UploadSource) { self.source = Mutex(source) }

  package var value: UploadSource { source.withLock { $0 } }

  /// Reads keys as another configuration of the same endpoint says, from the next upload on.
  package func read(as new: UploadSource) {
    source.withLock { ($0.reading, $0.outlets, $0.population) = (new.reading, new.outlets, new.population) }
  }
}

extension UploadSource {
  /// What a running server keeps: how keys are read is taken from a configuration that is read again.
  package var listening: UploadSource {
    var source = self
    (source.reading, source.outlets, source.population) = (Policy(name: ""), [], nil)
    return source
  }
}
