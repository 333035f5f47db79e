internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization
package import KeyPeers
package import KeyStorage

/// Reads the kept documents again, as ``Rereading`` does, and compares what they say with the claims in the store. So it finds a changed
/// row without checksums.
///
/// A document is compared where its bytes are kept and the configured policy is the one that read it. Of uploads no bytes are kept.
package struct KeptDocumentCheck: Sendable {
  private let sources: [SourceSettings]
  private let ownOrigins: Set<String>
  private let retention: Retention

  package init(of sources: [SourceSettings], ownOrigins: Set<String>, retention: Retention) {
    (self.sources, self.ownOrigins, self.retention) = (sources, ownOrigins, retention)
  }

  /// What was found, and what could not be compared, in documents.
  package struct Findings: Hashable, Sendable {
    /// A line for each document that says something else.
    package fileprivate(set) var faults: [String] = []
    package fileprivate(set) var compared = 0
    package fileprivate(set) var notKept = 0
    package fileprivate(set) var readByOtherPolicy = 0
    /// Documents that cannot be read any more, or whose signer or host is not trusted now.
    package fileprivate(set) var refused = 0
  }

  /// Each document is read in a transaction of its own, so that no writer waits for all of them.
  package func run(in ledger: Ledger) async throws -> Findings {
    var findings = Findings()
    for source in sources {
      let digest = source.readingMark(ownOrigins: ownOrigins, at: Instant(secondsSince1970: 0)).digest
      let documents = try await ledger.read { try $0.documents(of: source.name, in: [.recorded], limit: .max) }
      for document in documents {
        guard let facts = document.facts, facts.received > 0 else { continue }
        guard facts.reading?.digest == digest else {
          findings.readByOtherPolicy += 1
          continue
        }
        switch try await ledger.read({ try verdict(on: document, facts, of: source, in: $0) }) {
        case .whole: findings.compared += 1
        case .notKept: findings.notKept += 1
        case .refused: findings.refused += 1
        case .faults(let faults):
          findings.compared += 1
          findings.faults.append("\(source.name)/\(document.name): \(faults.joined(separator: ", "))")
        }
      }
    }
    return findings
  }

  private enum Verdict: Sendable {
    case whole, notKept, refused
    case faults([String])
  }

  private func verdict(
    on document: DocumentRecord, _ facts: DocumentFacts, of source: SourceSettings, in state: any StoredState
  ) throws -> Verdict {
    guard let bytes = try state.content(of: document.id) else { return .notKept }
    let reading: KeptReading
    do {
      reading = try KeptReading(of: document, bytes, from: source, ownOrigins: ownOrigins, in: state)
    } catch {
      guard DocumentFault(refusing: error) != nil else { throw error }
      let hasCome = try Self.digest(of: document, bytes, from: source) == facts.digest
      return hasCome ? .refused : .faults(["the kept bytes are not those that came"])
    }
    let kept = try state.keptClaims(about: reading.keys)
    let said = reading.collector.claims.union(reading.collector.held.keys)
    let foreign = Set(kept.filter { $0.document == document.id }.map(\.claim)).subtracting(said)
    // Claims about keys that had expired by then are gone.
    let oldest = try state.lastRetention.map(retention.keysEnd) ?? Instant(secondsSince1970: 0)
    var faults = foreign.isEmpty ? [] : ["\(Self.counted(foreign)) in the store that the document does not make"]
    // What the operator has discarded is in no table.
    if !DiscardedClaims(facts, admissible: 0).isAny {
      let waiting = Set(try state.held(of: document.id).map(\.subject))
      let known = Set(kept.map(\.claim))
      let erased = try state.erasures()
      let missing = reading.collector.claims.subtracting(known).filter { claim in
        !waiting.contains(claim.subject) && claim.subject.expiry > oldest
          && erased.moments[ExportDigests(of: claim.subject.key.bytes).hexadecimal] == nil
      }
      if !missing.isEmpty { faults.append("\(Self.counted(missing)) of the document that the store lacks") }
    }
    return faults.isEmpty ? .whole : .faults(faults)
  }

  /// `nil` where the bytes cannot be read at all.
  private static func digest(
    of document: DocumentRecord, _ bytes: [UInt8], from source: SourceSettings
  ) throws -> String? {
    do {
      let arrival = source.arrival(of: document.name, kept: bytes, at: document.arrived, isVerified: false)
      return try arrival.examine().verify().contentDigest()
    } catch {
      guard DocumentFault(refusing: error) != nil else { throw error }
      return nil
    }
  }

  private static func counted(_ claims: Set<StatedClaim>) -> String {
    claims.count == 1 ? "a claim" : "\(claims.count) claims"
  }
}
