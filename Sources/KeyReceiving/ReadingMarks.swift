internal import BundleTrust
package import ExposureKeys
internal import KeyNormalization
package import KeyPeers
package import KeyStorage

extension SourceSettings {
  /// By which policy documents of this source are read. Two marks with one digest read every document alike.
  package func readingMark(ownOrigins: Set<String>, at time: Instant) -> ReadingMark {
    // All that a policy says for later days belongs to it, so that a mark does not change with the day.
    let days = [Instant(secondsSince1970: 0)] + reading.changes.map(\.from.start)
    var parts: [String] = []
    var last: String?
    // A change of what is published alone reads nothing otherwise.
    for day in days {
      let settings = admissionPolicy(at: day).settings
      if settings != last { parts.append("from \(day): \(settings)") }
      last = settings
    }
    parts += ["relay \(isRelay)", "origin \(origin ?? "none")"]
    parts.append("carries " + (carries.map { $0.sorted().joined(separator: ",") } ?? "any"))
    parts.append("own " + ownOrigins.map { $0.uppercased() }.sorted().joined(separator: ","))
    let digest = ExportDigests(of: Array(parts.joined(separator: "\n").utf8)).hexadecimal
    return ReadingMark(policy: reading.name, digest: digest, time: time)
  }
}

/// Documents whose claims were read by another policy than the configured one.
package struct StaleReading: Hashable, Sendable {
  package let source: String
  /// The policy that is configured now.
  package let policy: String
  package let documents: Int
  /// Of these, those of which the bytes are not kept, so that they cannot be read again.
  package let unkept: Int
  /// Of these, those that were recorded before it was noted by which policy.
  package let unknown: Int
  /// The policies by which they were read, by name.
  package let policies: [String]

  /// Which sources have any, of documents whose claims may still stand.
  ///
  /// - Parameter start: documents that came before do not count: their keys are gone.
  package static func all(
    of sources: [SourceSettings], ownOrigins: Set<String>, in state: any StoredState, from start: Instant
  ) throws -> [StaleReading] {
    let kept = Set(try state.keptContents().map(\.document))
    return try sources.compactMap { source in
      let digest = source.readingMark(ownOrigins: ownOrigins, at: start).digest
      let stale = try state.documents(of: source.name, in: [.recorded], limit: .max).filter { document in
        document.arrived >= start && document.facts?.reading?.digest != digest
          && document.facts.map { $0.received > 0 } ?? false
      }
      guard !stale.isEmpty else { return nil }
      return StaleReading(
        source: source.name, policy: source.reading.name, documents: stale.count,
        unkept: stale.count { !kept.contains($0.id) }, unknown: stale.count { $0.facts?.reading == nil },
        policies: Set(stale.compactMap { $0.facts?.reading?.policy }).sorted())
    }
  }
}

extension DocumentRecord {
  /// When its keys were read for the first time, as far as that is known.
  package var arrived: Instant { facts?.reading?.time ?? discovered }
}
