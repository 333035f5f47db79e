/// What is wrong with a document or a conversation, for programs: `time-out`, `signature-not-trusted`.
///
/// Stores, receipts, metrics and scripts hold codes, so none changes its meaning. Each code that is not another error's own
/// is a member, beside what it is said of.
package struct FaultCode: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }
  package var description: String { rawValue }
}

extension FaultCode {
  /// An operator asked for another attempt, and it was not made yet.
  static let retryAsked = FaultCode(rawValue: "retry-asked")
}
