/// How long things are kept.
package struct Retention: Hashable, Sendable {
  /// Days after their expiry that keys are kept, 1...60.
  package var keyDays: Int64 = 14
  /// Days that received bytes are kept as evidence, 0...3650.
  package var evidenceDays: Int64 = 14
  /// Days that the bytes of refused documents are kept, 0...3650.
  package var quarantineDays: Int64 = 14

  package init() {}
}
