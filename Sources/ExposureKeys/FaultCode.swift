/// What is wrong with a document or a conversation, for programs: `time-out`, `signature-not-trusted`.
///
/// Stores, receipts, metrics and scripts hold codes, so none changes its meaning. Each code that is not another error's own
/// is a member, beside what it is said of.
package struct FaultCode: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }
  package var description: String { rawValue }
}

/// Why something went wrong: a stable code for programs, and a reason for people. Never key material.
package struct DocumentFault: Hashable, Sendable, Codable {
  package var code: FaultCode
  package var reason: String

  package init(code: FaultCode, reason: String) {
    self.code = code
    self.reason = reason
  }
}
