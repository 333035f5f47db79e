public import BundleTrust
public import ExposureKeys
public import KeyNormalization

/// What the operator says about a series of bundles: one entry under `series` in `gateway.yaml`.
public struct SeriesSettings: Sendable {
  /// Its name and its folder: letters, digits, hyphens; `NL`, `travel`.
  public var name: String
  /// For people.
  public var title: String
  /// Which keys.
  public var selection: RegionSelection
  public var publishing: Policy
  /// What the header of a bundle says; the mobile country code by convention.
  public var headerRegion: String?
  /// The keys that sign, each for its time; exactly one is used at a time, the one that began last.
  public var identities: [ScheduledIdentity]
  /// Seconds of a window; divides a day.
  public var period: Int64
  /// Keys go out only when there are at least this many in a window; padding counts.
  public var minimumKeys: Int
  /// Whether too few keys are padded to the minimum; otherwise they wait for the next window.
  public var pads: Bool
  /// Whether a window without keys gives a signed bundle without keys, or none.
  public var publishesEmptyWindows: Bool
  /// No bundle has more keys, or a larger archive.
  public var maximumKeys: Int
  public var maximumBytes: Int
  /// Which bundles besides the increments are made.
  public var makesDays: Bool
  public var makesSince: Bool
  /// Days that a bundle is listed.
  public var listedDays: Int64
  /// Seconds that a file stays after the last index that named it.
  public var graceSeconds: Int64

  public init(
    name: String, title: String? = nil, selection: RegionSelection, publishing: Policy, headerRegion: String? = nil,
    identities: [ScheduledIdentity], period: Int64 = 7200, minimumKeys: Int = 0, pads: Bool = false,
    publishesEmptyWindows: Bool = false, maximumKeys: Int = 750_000, maximumBytes: Int = 16 << 20,
    makesDays: Bool = true, makesSince: Bool = false, listedDays: Int64 = 14, graceSeconds: Int64 = 86_400
  ) {
    self.name = name
    self.title = title ?? name
    self.selection = selection
    self.publishing = publishing
    self.headerRegion = headerRegion
    self.identities = identities
    self.period = period
    self.minimumKeys = minimumKeys
    self.pads = pads
    self.publishesEmptyWindows = publishesEmptyWindows
    self.maximumKeys = maximumKeys
    self.maximumBytes = maximumBytes
    self.makesDays = makesDays
    self.makesSince = makesSince
    self.listedDays = listedDays
    self.graceSeconds = graceSeconds
  }
}

/// Which keys go into a series, by the regions they go to after the fold: origin and visited regions as the policy
/// unites them.
public struct RegionSelection: Hashable, Sendable {
  /// Keys for any of these; `nil` is all keys (a travel series).
  public var include: Set<String>?
  /// Not keys for any of these, unless they are for an included one as well.
  public var exclude: Set<String>
  /// Only keys of these origins; `nil` is any.
  public var origins: Set<String>?
  /// Only keys of people who travelled: for more than one region.
  public var travellersOnly: Bool

  public init(
    include: Set<String>? = nil, exclude: Set<String> = [], origins: Set<String>? = nil, travellersOnly: Bool = false
  ) {
    self.include = include
    self.exclude = exclude
    self.origins = origins
    self.travellersOnly = travellersOnly
  }
}

/// A signing identity and the time in which it signs.
public struct ScheduledIdentity: Sendable {
  public var identity: SigningIdentity
  /// `nil` is from ever.
  public var from: Instant?
  /// `nil` is for ever; the instant itself is no more within.
  public var until: Instant?

  public init(identity: SigningIdentity, from: Instant? = nil, until: Instant? = nil) {
    self.identity = identity
    self.from = from
    self.until = until
  }
}
