internal import BundleTrust
package import ExposureKeys

extension ScheduledIdentity {
  package func isValid(at now: Instant) -> Bool { (from.map { $0 <= now } ?? true) && (until.map { now < $0 } ?? true) }
}

extension SeriesSettings {
  /// How long before the last key ends the operator is warned.
  static let warningDays: Int64 = 30

  /// The identities in the order in which they begin.
  var schedule: [ScheduledIdentity] {
    identities.enumerated()
      .sorted { ($0.element.beginning, $0.offset) < ($1.element.beginning, $1.offset) }
      .map(\.element)
  }

  /// The identity that signs now: of those that are valid the one that began last.
  ///
  /// - Throws: ``PublishingFault`` with `no-signing-key` when none is valid.
  func signer(at now: Instant) throws(PublishingFault) -> SigningIdentity {
    guard let signer = schedule.last(where: { $0.isValid(at: now) }) else {
      let next = schedule.compactMap(\.from).first { $0 > now }
      throw PublishingFault(
        .noSigningKey,
        "no signing key of series \(name) is valid at \(now)" + (next.map { "; the next one begins at \($0)" } ?? ""))
    }
    return signer.identity
  }

  /// When the last key ends, or there is a gap in which none is valid; `nil` when some key is valid for ever.
  func signingEnd(from now: Instant) -> Instant? {
    var end = now
    for identity in schedule where identity.isValid(at: end) || (identity.from.map { $0 <= end } ?? true) {
      guard let until = identity.until else { return nil }
      end = max(end, until)
    }
    return end
  }

  /// What the operator is to be told well before nothing can be published any more.
  func signingWarning(at now: Instant) -> PublishingWarning? {
    guard let end = signingEnd(from: now),
      end.secondsSince1970 - now.secondsSince1970 <= Self.warningDays * 86_400
    else { return nil }
    return PublishingWarning(
      .signingKeyEnds, "the last signing key of series \(name) ends at \(end); without another one nothing is published"
    )
  }
}

extension ScheduledIdentity {
  fileprivate var beginning: Int64 { from?.secondsSince1970 ?? .min }
}
