package import ExposureKeys
internal import KeyIntake
internal import KeyNormalization
package import KeyStorage

/// How a series stands: what `keyferry status` tells of it.
package struct SeriesStatus: Hashable, Sendable {
  package let series: String
  package let title: String
  /// Where the last window ended that was published or had nothing; `nil` before the first round.
  package let lastWindow: Instant?
  /// When the window is over that is published next; in the past where it is due.
  package let nextWindow: Instant
  /// The newest increment that an index names.
  package let lastBundle: Bundle?
  package let listedBundles: Int
  /// What the next window would hold; `nil` where the claims were not read.
  package let next: SeriesPreview?
  /// What is wrong: nothing is published until it is mended, or something was not.
  package let faults: [String]
  /// Whether it can have keys at all.
  private let hasKeys: Bool

  package struct Bundle: Hashable, Sendable, Encodable {
    package let path: String
    package let keys: Int
    package let published: String

    init(_ record: BundleRecord) {
      path = record.bundle.path
      keys = record.bundle.keyCount + record.bundle.revisedKeyCount
      published = (record.published ?? record.changed).description
    }
  }

  /// - Parameters:
  ///   - folder: where bundles are published, to tell whether it has what the store does not know; `nil` is not looked at.
  ///   - program: name and version of what publishes, to count what waits; without it nothing is counted. After a round this reads
  ///     only the claims that can have changed since, and those that are held; while something is paused, it reads all.
  ///   - isNamed: whether an operator has named `now`, perhaps to look back: what is later is no fault then.
  package init(
    of settings: SeriesSettings, in state: any StoredState, folder: String? = nil, now: Instant,
    countingFor program: String? = nil, habit: RoundMode = .usual, isNamed: Bool = false
  ) throws {
    let known = try SeriesState(of: settings.name, from: state)
    let all = try state.bundles(of: settings.name, in: Set(BundleState.allCases))
    let window = ExportWindow.next(of: settings, after: known, all, now: now)
    let records = all.filter { $0.state == .staged || $0.state == .published }
    let listing = SeriesListing(of: settings, records, known, now: now)
    series = settings.name
    title = settings.title
    lastWindow = known.windowEnd.map(Instant.init(secondsSince1970:))
    nextWindow = window.instant
    let increments = listing.listed(.increment)
    listedBundles = BundleKind.allCases.reduce(0) { $0 + listing.listed($1).count }
    lastBundle = increments.last { $0.state == .published }.map(Bundle.init)
    faults =
      Self.faults(of: settings, known, records, now: now)
      + (isNamed ? [] : Self.aheadWindow(known, now: now).map { [$0] } ?? [])
      + (folder.flatMap { Self.unknownBundles(of: settings, in: $0, beside: all) }.map { [$0] } ?? [])
    guard let program else {
      (next, hasKeys) = (nil, true)
      return
    }
    let followsRecall = try state.recalls().count > known.recalls
    let pauses = PauseSet(try state.pauses(), rehearsing: settings.rehearsals)
    // The agenda does not list keys whose speakers are all paused.
    let attention =
      pauses.isEmpty
      ? try Attention(
        of: settings, known.mark, rules: settings.rules(at: window.instant, pauses, program: program),
        followsRecall: followsRecall, at: window.instant, habit: habit, countsHeld: true, from: state) : .everything
    let selection = try KeySelection(
      of: settings, from: state, at: window.instant, followsRecall: followsRecall, limit: settings.mostKeys,
      looking: attention)
    hasKeys = !attention.isEverything || selection.counts.believed > 0
    let request = Padding.Request(settings, selection)
    next = try SeriesPreview(
      settings, window, selection, lookalikes: try Padding.estimate(request, from: state), now: now)
  }

  private static func faults(
    of settings: SeriesSettings, _ state: SeriesState, _ records: [BundleRecord], now: Instant
  ) -> [String] {
    var faults: [String] = []
    do throws(PublishingFault) {
      _ = try settings.signer(at: now)
    } catch {
      faults.append(error.reason)
    }
    // A round comes within a minute after the end of its window.
    if let end = state.windowEnd, now.secondsSince1970 - end >= 2 * settings.period {
      faults.append(
        "nothing was published since the window that ended at \(Instant(secondsSince1970: end)), and windows are over every"
          + " \(settings.period == 60 ? "minute" : "\(settings.period / 60) minutes"): keyferry run, or keyferry publish by a timer, closes them"
      )
    }
    let staged = records.count { $0.state == .staged }
    if staged > 0 {
      faults.append(
        "\(counted(staged, "bundle")) \(staged == 1 ? "is" : "are") staged and not published yet: the next round of keyferry run or keyferry publish completes it"
      )
    }
    return faults
  }

  /// The last window ends in the future.
  private static func aheadWindow(_ state: SeriesState, now: Instant) -> String? {
    guard let end = state.windowEnd, ExportWindow.isAhead(state, now: now) else { return nil }
    return
      "the last window ended at \(Instant(secondsSince1970: end)), which is still to come: the clock was ahead then, or --now"
      + " was; windows go on by the time as it is now"
  }

  /// What the folder has and the store does not know.
  private static func unknownBundles(
    of settings: SeriesSettings, in folder: String, beside records: [BundleRecord]
  ) -> String? {
    // A manifest that cannot be read is told by the round, and made again there.
    guard
      let content = try? LocalFolder(folder).content(
        of: SeriesManifest.path(of: settings.name), limit: SeriesManifest.byteLimit),
      let manifest = try? SeriesManifest(document: content)
    else { return nil }
    let known = Set(records.map(\.bundle.path))
    let count = manifest.bundles.count { !known.contains($0.path) }
    guard count > 0 else { return nil }
    return
      "the folder has \(counted(count, "bundle")) that the store does not know: the store was lost, or is older than the"
      + " folder; keyferry publish takes what apps have seen as released; pauses, recalls and erasures have to be said again before"
  }

  /// Why the next window would have nothing; `nil` where it has something, or the claims were not read.
  package var whyNothing: String? {
    guard let next else { return nil }
    if next.isTooSmall {
      return
        "\(counted(next.new, "new key")) \(next.new == 1 ? "is" : "are") fewer than the \(next.minimumKeys) of a bundle; \(next.new == 1 ? "it waits" : "they wait")"
    }
    if next.new + next.revised + next.recalled > 0 { return nil }
    if next.held > 0 {
      return "\(counted(next.held, "key")) \(next.held == 1 ? "is" : "are") held"
        + (next.nextRelease.map { ", the first until \($0)" } ?? "")
    }
    if next.paused > 0 { return "only sources and origins that are paused stand behind \(counted(next.paused, "key"))" }
    return hasKeys ? "there is nothing new" : "the store has no keys for it"
  }
}

extension SeriesStatus: Encodable {
  private enum CodingKeys: String, CodingKey {
    case series, title, faults, due, new, revised, held, paused, waiting, lastWindow, nextWindow, lastBundle,
      listedBundles, nextRelease, whyNothing
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(series, forKey: .series)
    try members.encode(title, forKey: .title)
    try members.encodeIfPresent(lastWindow?.description, forKey: .lastWindow)
    try members.encode(nextWindow.description, forKey: .nextWindow)
    try members.encodeIfPresent(lastBundle, forKey: .lastBundle)
    try members.encode(listedBundles, forKey: .listedBundles)
    try members.encode(faults, forKey: .faults)
    guard let next else { return }
    try members.encode(next.isDue, forKey: .due)
    try members.encode(next.new, forKey: .new)
    try members.encode(next.revised, forKey: .revised)
    try members.encode(next.held, forKey: .held)
    try members.encode(next.paused, forKey: .paused)
    try members.encode(next.waiting, forKey: .waiting)
    try members.encodeIfPresent(next.nextRelease?.description, forKey: .nextRelease)
    try members.encodeIfPresent(whyNothing, forKey: .whyNothing)
  }
}
