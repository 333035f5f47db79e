package import BundleTrust
package import ExposureKeys
package import KeyNormalization

/// What the operator says about a series of bundles: one entry under `series` in `gateway.yaml`.
package struct SeriesSettings: Sendable {
  /// Its name and its folder: letters, digits, hyphens; `NL`, `travel`.
  package var name: String
  /// For people.
  package var title: String
  /// Which keys.
  package var selection: RegionSelection
  package var publishing: Policy
  /// SHA-256 of the policy's file, lower-case hexadecimal; `nil` where it was read from none.
  package var policyDigest: String?
  /// What the header of a bundle says; the mobile country code by convention.
  package var headerRegion: String?
  /// The keys that sign, each for its time; exactly one is used at a time, the one that began last.
  package var identities: [ScheduledIdentity]
  /// Seconds of a window; divides a day.
  package var period: Int64
  /// Keys go out only when there are at least this many in a window; padding counts.
  package var minimumKeys: Int
  /// Whether too few keys are padded to the minimum; otherwise they wait for the next window.
  package var pads: Bool
  /// Whether a window without keys gives a signed bundle without keys, or none.
  package var publishesEmptyWindows: Bool
  /// No bundle has more keys, or a larger archive.
  package var maximumKeys: Int
  package var maximumBytes: Int
  /// New keys of one window, and likewise revised ones; the others wait for the next. Temporary files are bounded by them.
  package var mostKeys: Int
  /// Which bundles besides the increments are made.
  package var makesDays: Bool
  package var makesSince: Bool
  /// Archives by the keys' own day, for apps that ask for days of exposure.
  package var makesKeyDays: Bool
  /// How the file of a window is called.
  package var namePattern: NamePattern
  /// How many editions a day has at most, for apps that count files; 0 is none. Divides 24.
  package var editionsPerDay: Int
  /// Days that a bundle is listed.
  package var listedDays: Int64
  /// Seconds that a file stays after the last index that named it.
  package var graceSeconds: Int64
  /// Sources that are rehearsed: their claims are none for this series.
  package var rehearsals: Set<String> = []
  /// The gateway's own origins: once they have revoked a key, a copy that a peer returns does not keep it alive.
  package var ownOrigins: Set<String> = []

  package init(
    name: String, title: String? = nil, selection: RegionSelection, publishing: Policy, headerRegion: String? = nil,
    identities: [ScheduledIdentity], period: Int64 = 7200, minimumKeys: Int = 0, pads: Bool = false,
    publishesEmptyWindows: Bool = false, maximumKeys: Int = 750_000, maximumBytes: Int = 16 << 20,
    mostKeys: Int = 1_000_000,
    makesDays: Bool = true, makesSince: Bool = false, makesKeyDays: Bool = false, namePattern: NamePattern = .standard,
    editionsPerDay: Int = 1,
    listedDays: Int64 = 14, graceSeconds: Int64 = 86_400
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
    self.mostKeys = mostKeys
    self.makesDays = makesDays
    self.makesSince = makesSince
    self.makesKeyDays = makesKeyDays
    self.namePattern = namePattern
    self.editionsPerDay = editionsPerDay
    self.listedDays = listedDays
    self.graceSeconds = graceSeconds
  }
}

/// Which keys go into a series, by the regions they go to after the fold: origin and visited regions as the policy
/// unites them.
package struct RegionSelection: Hashable, Sendable {
  /// Keys for any of these; `nil` is all keys (a travel series).
  package var include: Set<String>?
  /// Not keys for any of these, unless they are for an included one as well.
  package var exclude: Set<String>
  /// Only keys of these origins; `nil` is any.
  package var origins: Set<String>?
  /// Only keys of people who travelled: for more than one region.
  package var travellersOnly: Bool

  package init(
    include: Set<String>? = nil, exclude: Set<String> = [], origins: Set<String>? = nil, travellersOnly: Bool = false
  ) {
    self.include = include
    self.exclude = exclude
    self.origins = origins
    self.travellersOnly = travellersOnly
  }
}

/// A signing identity and the time in which it signs.
package struct ScheduledIdentity: Sendable {
  package var identity: SigningIdentity
  /// `nil` is from ever.
  package var from: Instant?
  /// `nil` is for ever; the instant itself is no more within.
  package var until: Instant?

  package init(identity: SigningIdentity, from: Instant? = nil, until: Instant? = nil) {
    self.identity = identity
    self.from = from
    self.until = until
  }
}
