internal import KeyIntake
package import KeyNormalization

// Counts as every report tells them.

/// The greatest count first, those that are equal by name.
package func ranked(_ counts: [String: Int]) -> [(String, Int)] {
  counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
}

/// `received 7 = 4 new + 1 known + 2 rejected`; what is held for the operator is named where there is some.
package func receivedText(_ counts: KeyCounts) -> String {
  "received \(grouped(counts.received)) = \(grouped(counts.new)) new + \(grouped(counts.known)) known + "
    + "\(grouped(counts.rejected)) rejected"
    + (counts.held > 0 ? " + \(grouped(counts.held)) held for the operator" : "")
}
