package import ExposureKeys

/// What lets in once, such as the token of a diagnosis, and has been used. All who share a store know of it.
///
/// A store forgets one when it is over, and keeps until when those ended that it has forgotten. No token that ends by then lets
/// anybody in, so that whatever a clock says, here or at another replica, nobody is let in twice.
package struct UsedToken: Hashable, Sendable {
  /// SHA-256 of what names it: 32 bytes.
  package let digest: [UInt8]
  /// From when on nobody would take it anyway.
  package let end: Instant

  package init(digest: [UInt8], end: Instant) {
    self.digest = digest
    self.end = end
  }

  /// Seconds for which one is remembered after its end.
  private static let margin: Int64 = 86_400

  /// Which tokens may be forgotten: those that have ended by then.
  ///
  /// - Parameter clocks: what the gateway takes for the time, and what a database does.
  package static func forgettable(by clocks: Instant...) -> Instant {
    let now = clocks.map(\.secondsSince1970).min() ?? 0
    return Instant(secondsSince1970: max(0, now) - margin)
  }
}

extension StoredState {
  /// When the last token ended that was forgotten; `nil` where none was.
  package var endOfForgottenTokens: Instant? {
    get throws {
      guard let value = try note(.forgottenTokens) else { return nil }
      guard let seconds = Int64(String(decoding: value, as: UTF8.self)) else {
        throw StorageFault(.corrupt, "the note \(StoredNote.forgottenTokens.name) cannot be read")
      }
      return Instant(secondsSince1970: seconds)
    }
  }

  /// Whether the store may have forgotten that it was used.
  ///
  /// - Parameter end: ``endOfForgottenTokens``, once it was read: a commit asks about many tokens.
  package func mayBeForgotten(_ token: UsedToken, knowing end: inout Instant??) throws -> Bool {
    let last = try end ?? endOfForgottenTokens
    end = .some(last)
    return last.map { token.end <= $0 } ?? false
  }
}

extension StoreTransaction {
  /// Tokens are forgotten.
  ///
  /// - Parameter end: of the last one.
  package func noteForgottenTokens(endedBy end: Instant) throws {
    let last = max(end, try endOfForgottenTokens ?? end)
    try setNote(Array("\(last.secondsSince1970)".utf8), named: StoredNote.forgottenTokens.name)
  }
}
