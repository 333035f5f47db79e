/// The numbers that claims may refer to. A claim that refers to another one can be read by nobody.
package struct ClaimNumbers {
  package var origins: Set<Int64>
  package var sources: Set<Int64>
  package var regions: Set<Int64>
  package var arrivals: Set<Int64>
  package var recalls: Set<Int64>
  private var unknown: [String: Int] = [:]

  package init(
    origins: Set<Int64>, sources: Set<Int64>, regions: Set<Int64>, arrivals: Set<Int64>, recalls: Set<Int64>
  ) {
    (self.origins, self.sources, self.regions) = (origins, sources, regions)
    (self.arrivals, self.recalls) = (arrivals, recalls)
  }

  package mutating func look(at row: ClaimRow) {
    note(row.origin, in: origins, as: "an origin", orNone: true)
    note(row.source, in: sources, as: "a source", orNone: false)
    note(row.regions, in: regions, as: "regions", orNone: true)
    note(row.arrival, in: arrivals, as: "an arrival", orNone: false)
    note(row.recall, in: recalls, as: "a recall", orNone: true)
  }

  private mutating func note(_ number: Int32, in known: Set<Int64>, as what: String, orNone: Bool) {
    if known.contains(Int64(number)) || orNone && number == 0 { return }
    unknown[what, default: 0] += 1
  }

  /// What was found.
  package var faults: [String] {
    unknown.sorted { $0.key < $1.key }.map { "claims: \($0.value) refer to \($0.key) that is not in the store" }
  }
}
