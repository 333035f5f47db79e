internal import ExposureKeys
internal import KeyStorage

/// A replica of the gateway as the store knows it, and what it holds.
struct ReplicaStanding: Encodable, Equatable {
  let name: String
  /// Whether it has been heard of within the time of a lease.
  let isPresent: Bool
  /// The work that it does now, by name.
  let leases: [String]
  let drained: DrainedReplica?

  enum CodingKeys: String, CodingKey {
    case name, leases, drained
    case isPresent = "present"
  }

  struct Drained: Encodable {
    let since: String
    let by: String
    let reason: String?
  }

  func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(name, forKey: .name)
    try members.encode(isPresent, forKey: .isPresent)
    try members.encode(leases, forKey: .leases)
    try members.encodeIfPresent(
      drained.map { Drained(since: "\($0.since)", by: $0.by, reason: $0.reason) }, forKey: .drained)
  }

  /// For people.
  var line: String {
    let work = leases.isEmpty ? "no work" : leases.joined(separator: ", ")
    let state =
      if let drained {
        "drained since \(drained.since) by \(drained.by)\(drained.reason.map { ": \($0)" } ?? ""), "
      } else if !isPresent {
        "gone, "
      } else {
        ""
      }
    return "replica \(name)  \(state)\(work)"
  }
}

/// All replicas that share a store, and the work that nobody does.
struct ReplicaReport: Equatable {
  let replicas: [ReplicaStanding]
  /// By name.
  let unheld: [String]

  /// - Parameter duties: all the work that there is.
  init(_ table: LeaseTable, of duties: Set<Duty>) {
    let (standing, drained) = (table.standing, table.drained)
    let work = standing.filter { $0.duty.replica == nil }
    let holders = work.filter(\.isHeld).map(\.holder)
    let names = Set(standing.compactMap(\.duty.replica) + drained.map(\.name) + holders).sorted()
    replicas = names.map { name in
      ReplicaStanding(
        name: name.description,
        isPresent: standing.contains { $0.isHeld && $0.duty == .presence(of: name) },
        leases: work.filter { $0.isHeld && $0.holder == name }.map(\.duty.name),
        drained: drained.first { $0.name == name })
    }.filter { $0.isPresent || $0.drained != nil || !$0.leases.isEmpty }
    unheld = table.unheld(of: duties).map(\.name)
  }

  var lines: [String] {
    replicas.map(\.line) + (unheld.isEmpty ? [] : ["nobody does  \(unheld.joined(separator: ", "))"])
  }
}
