package import ExposureKeys
internal import KeyIntake
package import KeyStorage

/// What other countries download of a federation gateway: batches of whole uploads as they were signed, and the audit
/// entries that prove it.
///
/// Rows go out as they came in; what this gateway believes about a key is for its own apps. An upload that was withdrawn is
/// left out as a whole, with its audit entry, since its signature covers all of its keys.
package struct FederationDownloads: Sendable {
  private let ledger: Ledger
  private let keptDays: Int
  private let clock: @Sendable () -> Instant

  /// - Parameter keptDays: days before today that can be downloaded.
  package init(ledger: Ledger, keptDays: Int, clock: @escaping @Sendable () -> Instant) {
    self.ledger = ledger
    self.keptDays = keptDays
    self.clock = clock
  }

  /// A batch without the keys of who asks.
  ///
  /// - Parameters:
  ///   - day: not behind the batch's.
  ///   - tag: of the batch; `nil` is the first one of this day or a later one.
  /// - Throws: ``FederationRefusal``, and what the store throws.
  package func batch(of day: Day, tagged tag: String?, for country: String) async throws -> FederationDownload {
    try checkAge(of: day)
    return try await ledger.read { [self] state in
      let batch = try tag.map { try named($0, in: state) } ?? state.firstFederationBatch(since: day)
      guard let batch else {
        throw FederationRefusal(.notFound, "no-batch", "there is no batch of \(day) or a later day yet")
      }
      try checkAge(of: batch.day)
      guard day <= batch.day else {
        throw FederationRefusal(
          .malformed, "date-behind-batch",
          "the batch \(batch.tag) is of \(batch.day), allowed is that day or one before"
        )
      }
      var keys: [UInt8] = []
      for upload in try state.federationUploads(in: batch.id) where upload.isPassedOn && upload.country != country {
        keys += try state.federationKeys(of: upload.id) ?? []
      }
      return FederationDownload(
        tag: batch.tag, next: try state.federationBatch(behind: batch.id)?.tag, keys: keys)
    }
  }

  /// The audit entries of a batch, as JSON: those of others in the order of the keys, then those of who asks. The Finnish
  /// back end gives entries their keys one after the other, and its own keys are not in its download.
  ///
  /// - Throws: ``FederationRefusal``, and what the store throws.
  package func audit(of day: Day, tagged tag: String, for country: String) async throws -> [UInt8] {
    try checkAge(of: day)
    return try await ledger.read { [self] state in
      let batch = try named(tag, in: state)
      guard batch.day == day else {
        throw FederationRefusal(.notFound, "no-batch", "the batch \(batch.tag) is of \(batch.day), and not of \(day)")
      }
      let uploads = try state.federationUploads(in: batch.id).filter(\.isPassedOn)
      let entries = uploads.filter { $0.country != country } + uploads.filter { $0.country == country }
      return Array("[".utf8) + entries.map(\.audit).joined(separator: Array(",".utf8)) + Array("]".utf8)
    }
  }

  /// How much each country uploaded, by day.
  package func statistics(since day: Day) async throws -> [FederationDay] {
    try await ledger.read { try $0.federationDays(since: day) }
  }

  private func named(_ tag: String, in state: any StoredState) throws -> FederationBatch {
    guard let place = FederationBatch.place(of: tag),
      let batch = try state.federationBatch(of: place.day, number: place.number)
    else {
      if let day = FederationBatch.place(of: tag)?.day { try checkAge(of: day) }
      throw FederationRefusal(.notFound, "no-batch", "there is no batch of this tag")
    }
    return batch
  }

  private func checkAge(of day: Day) throws(FederationRefusal) {
    let first = Day(daysSince1970: clock().day.daysSince1970 - Int64(clamping: keptDays))
    guard day >= first else {
      throw FederationRefusal(.gone, "too-old", "\(day) is too long ago, the oldest batches are of \(first)")
    }
  }
}

extension FederationUpload {
  fileprivate var isPassedOn: Bool { withdrawal == nil }
}
