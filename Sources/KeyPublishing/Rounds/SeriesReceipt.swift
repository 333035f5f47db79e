package import ExposureKeys
internal import KeyNormalization

/// What one round did for a series. It adds up:
/// `believed = published + revised + alreadyReleased + held + leftOut + paused + waiting`.
///
/// Besides there are look-alikes, and released keys that nobody claims any more: neither is believed.
package struct SeriesReceipt: Hashable, Sendable {
  package let series: String
  package let now: Instant
  /// The window that was due; `nil` where none was, and then nothing was counted.
  package internal(set) var window: ExportWindow?
  /// When the next window is over.
  package internal(set) var nextWindow: Instant?

  /// Whether the round looked at what had changed alone: the counts of keys are about these then.
  package internal(set) var looksAtChanges = false
  /// Why a look at everything that was divided among processors was given up, and taken by one; `nil` where none was.
  package internal(set) var dividedFault: String?
  /// Distinct keys that claims are about.
  package internal(set) var believed = 0
  /// First releases.
  package internal(set) var published = 0
  /// Released keys that went out again with another report type.
  package internal(set) var revised = 0
  package internal(set) var alreadyReleased = 0
  /// By reason.
  package internal(set) var holds: [String: Int] = [:]
  package internal(set) var omissions: [String: Int] = [:]
  /// Only paused sources and origins stand behind these.
  package internal(set) var paused = 0
  /// Too few for a bundle; they wait for the next window.
  package internal(set) var waiting = 0

  /// Look-alikes of the published and the revised keys.
  package internal(set) var lookalikes = 0
  /// Released keys without claims since a recall: those that went out as revoked, and those whose report type devices do
  /// not let go.
  package internal(set) var recalled = 0
  package internal(set) var notRevocable = 0
  /// When the first of the held keys may go out.
  package internal(set) var nextRelease: Instant?

  /// Bundles that were published, also those that an interrupted round had left.
  package internal(set) var bundles: [Bundle] = []
  /// How many bundles were signed again because another key signs now.
  package internal(set) var signedAgain = 0
  /// How many bundles were made again because files were gone or damaged.
  package internal(set) var madeAgain = 0
  /// How many bundles left the index, and how many files were removed.
  package internal(set) var expired = 0
  package internal(set) var removed = 0
  package internal(set) var warnings: [PublishingWarning] = []
  /// Why the round ended early for this series; `nil` when it did not. What is in the folder is consistent, and the next
  /// round goes on from there.
  package internal(set) var fault: PublishingFault?

  package struct Bundle: Hashable, Sendable, Encodable {
    package var kind: String
    package var path: String
    package var keys: Int
    package var revisedKeys: Int
    package var bytes: Int
    package var exportSHA256: String

    enum CodingKeys: String, CodingKey {
      case kind, path, keys, bytes, revisedKeys, exportSHA256
    }
  }

  init(series: String, now: Instant) {
    self.series = series
    self.now = now
  }

  /// Whether files were gone or damaged, or the folder knew more than the store.
  package var hasLostFiles: Bool {
    warnings.contains { [.fileMissing, .fileDamaged, .folderAhead].contains($0.code) }
  }

  package var held: Int { holds.values.reduce(0, +) }
  package var leftOut: Int { omissions.values.reduce(0, +) }

  /// Whether the counts add up.
  package var isBalanced: Bool {
    believed == published + revised + alreadyReleased + held + leftOut + paused + waiting
  }
}

/// What the operator should know, though the round went on: a stable code for programs, and a reason for people.
package struct PublishingWarning: Hashable, Sendable, Encodable, CustomStringConvertible {
  package var code: Code
  package var reason: String

  package enum Code: String, Hashable, Sendable, CaseIterable, Encodable {
    /// The last signing key ends within thirty days.
    case signingKeyEnds = "signing-key-ends"
    /// A published file is gone or was changed. No index names it any more.
    case fileMissing = "file-missing"
    case fileDamaged = "file-damaged"
    /// The index in the folder was not what was written there; it was written anew.
    case indexChanged = "index-changed"
    /// An archive of a mirror's source is not shown: its name cannot be a file's here, or nobody verified stands behind it.
    case nameRefused = "name-refused"
    case notVerified = "not-verified"
    /// The folder has bundles that the store does not know: the store was lost, or is older than the folder.
    case folderAhead = "folder-ahead"
    /// The last window ended in the future: a clock that was ahead has closed it. Windows go on by the time as it is.
    case windowAhead = "window-ahead"
    /// A window has no room for all keys that are due.
    case windowFull = "window-full"
    /// An origin has revoked keys behind which another one stands: they go out, or phones keep them.
    case revocationOutvoted = "revocation-outvoted"
    /// A witness of the log has not signed a checkpoint.
    case witness

    package var meaning: String {
      switch self {
      case .signingKeyEnds: "The last signing key of a series ends within thirty days."
      case .fileMissing: "A published file is gone; no index names it any more."
      case .fileDamaged: "A published file has other bytes; no index names it any more."
      case .indexChanged: "An index was not as it was written; it was written anew."
      case .nameRefused: "An archive of a mirrored source has a name that can be no file's here; it is not shown."
      case .notVerified: "An archive of a mirrored source is not signed by its keys; it is not shown."
      case .folderAhead: "The folder has bundles that the store does not know: the store was lost, or is older."
      case .windowAhead: "The last window ended in the future: a clock that was ahead has closed it."
      case .windowFull: "A window has no room for all keys that are due."
      case .revocationOutvoted:
        "An origin has revoked keys behind which another one stands: they go out, or phones keep them."
      case .witness: "A witness of the public log has not signed a checkpoint."
      }
    }

    package var advice: String {
      switch self {
      case .signingKeyEnds: "Make a new key, register it with Apple and Google, and add it under `sign` with `from`."
      case .fileMissing, .fileDamaged: "Find out who writes there, and look at the disk; the file is made again."
      case .indexChanged: "Find out who writes there: apps may have seen the other index."
      case .nameRefused, .notVerified: "Ask the origin of the archive."
      case .folderAhead: "Nothing, if the store was restored; what it lacks is pulled again."
      case .windowAhead: "Look at the system's clock; windows go on by the time as it is."
      case .windowFull: "Nothing: the rest goes out with the next windows. See `split.window` if it happens often."
      case .revocationOutvoted: "Ask both origins; `precedence` in a policy names one whose word decides."
      case .witness: "Look at the reason; ask the witness when it lasts."
      }
    }
  }

  init(_ code: Code, _ reason: String) {
    self.code = code
    self.reason = reason
  }

  package var description: String { reason }
}

extension SeriesReceipt {
  mutating func warn(_ warning: PublishingWarning) {
    if !warnings.contains(warning) { warnings.append(warning) }
  }

  mutating func count(_ selection: KeySelection) {
    let counts = selection.counts
    believed = counts.believed
    published = counts.new
    revised = counts.revised
    alreadyReleased = counts.alreadyReleased
    holds = Dictionary(uniqueKeysWithValues: counts.holds.map { ($0.key.rawValue, $0.value) })
    omissions = counts.omissionsByCode
    paused = counts.paused
    recalled = counts.recalled
    notRevocable = counts.notRevocable
    waiting = selection.rest
    // Of held keys a look at changes sees some.
    nextRelease = looksAtChanges ? nil : selection.nextRelease
    if let warning = counts.outvotedWarning { warn(warning) }
  }
}

extension KeySelection.Counts {
  var omissionsByCode: [String: Int] {
    var codes = Dictionary(uniqueKeysWithValues: omissions.map { ($0.key.rawValue, $0.value) })
    if repeated > 0 { codes["repeated-key-data"] = repeated }
    return codes
  }
}

extension SeriesReceipt: Encodable {
  private enum CodingKeys: String, CodingKey {
    case series, now, window, believed, published, revised, held, holds, omissions, paused, waiting, bundles, expired,
      removed, warnings, fault, lookalikes, recalled, nextWindow, alreadyReleased, leftOut, notRevocable, nextRelease,
      signedAgain, madeAgain
    case looksAtChanges = "changes_only"
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(series, forKey: .series)
    try members.encode(now.description, forKey: .now)
    try members.encodeIfPresent(window, forKey: .window)
    try members.encodeIfPresent(nextWindow?.description, forKey: .nextWindow)
    try members.encode(looksAtChanges, forKey: .looksAtChanges)
    try members.encode(believed, forKey: .believed)
    try members.encode(published, forKey: .published)
    try members.encode(revised, forKey: .revised)
    try members.encode(alreadyReleased, forKey: .alreadyReleased)
    try members.encode(held, forKey: .held)
    try members.encode(leftOut, forKey: .leftOut)
    try members.encode(paused, forKey: .paused)
    try members.encode(waiting, forKey: .waiting)
    try members.encode(holds, forKey: .holds)
    try members.encode(omissions, forKey: .omissions)
    try members.encode(lookalikes, forKey: .lookalikes)
    try members.encode(recalled, forKey: .recalled)
    try members.encode(notRevocable, forKey: .notRevocable)
    try members.encodeIfPresent(nextRelease?.description, forKey: .nextRelease)
    try members.encode(bundles, forKey: .bundles)
    try members.encode(signedAgain, forKey: .signedAgain)
    try members.encode(madeAgain, forKey: .madeAgain)
    try members.encode(expired, forKey: .expired)
    try members.encode(removed, forKey: .removed)
    try members.encode(warnings, forKey: .warnings)
    try members.encodeIfPresent(fault, forKey: .fault)
  }
}
