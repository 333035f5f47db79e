package import ExposureKeys
internal import KeyFormats
package import KeyIntake
internal import KeyNormalization
package import KeyPeers
package import KeyStorage

/// What the kept bytes of one document say about a key.
package struct EvidenceMention: Sendable {
  package let document: DocumentRecord
  /// None where the document cannot be read, and the key stands in it all the same.
  package let mentions: [KeyMention]
}

/// Looks for a key in the bytes of documents that the store has kept.
package struct EvidenceSearch: Sendable {
  /// Which documents are looked into.
  package enum Scope: Hashable, Sendable {
    /// All whose bytes are kept.
    case everything
    /// Those that a claim about the key came with, then those of which something was refused, rejected or held: newest
    /// first, up to so many bytes.
    case unexplained(byteLimit: Int)
  }

  private let sources: [String: SourceSettings]
  private let ownOrigins: Set<String>
  private let key: TemporaryExposureKey

  package init(
    for key: TemporaryExposureKey, of sources: [SourceSettings], ownOrigins: Set<String>
  ) {
    self.key = key
    self.sources = Dictionary(sources.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    self.ownOrigins = ownOrigins
  }

  /// What was found, by document, and how many documents were not looked into: there were too many bytes, or they cannot
  /// be read.
  package struct Result: Sendable {
    package internal(set) var found: [EvidenceMention] = []
    package internal(set) var searched: Set<DocumentID> = []
    package internal(set) var skipped = 0
    package internal(set) var unreadable: [DocumentRecord] = []
  }

  /// - Parameter known: documents that were looked into before.
  package func run(
    in state: any StoredState, _ scope: Scope, of record: KeyRecord, except known: Set<DocumentID> = []
  ) throws -> Result {
    var result = Result()
    let named = Set(record.claims.map(\.document) + record.held.map(\.document))
    var room = if case .unexplained(let limit) = scope { limit } else { Int.max }
    let documents = Dictionary(
      uniqueKeysWithValues: try state.documents(of: nil, in: Set(DocumentState.allCases), limit: .max).map {
        ($0.id, $0)
      })
    let kept = try state.keptContents().filter { !known.contains($0.document) }.sorted { left, right in
      let areNamed = (named.contains(left.document), named.contains(right.document))
      return areNamed.0 == areNamed.1 ? left.document > right.document : areNamed.0
    }
    for (id, byteCount) in kept {
      guard let document = documents[id] else { continue }
      if case .unexplained = scope, !named.contains(id), !document.hasUnexplained { continue }
      guard byteCount <= room else {
        result.skipped += 1
        continue
      }
      room -= byteCount
      guard let bytes = try state.content(of: id) else { continue }
      result.searched.insert(id)
      do {
        let mentions = try mentions(in: document, bytes)
        if !mentions.isEmpty { result.found.append(EvidenceMention(document: document, mentions: mentions)) }
      } catch {
        guard DocumentFault(refusing: error) != nil else { throw error }
        // As it stands there it can be found; what is compressed or spelled otherwise nobody can tell.
        if bytes.contains(key) {
          result.found.append(EvidenceMention(document: document, mentions: []))
        } else {
          result.unreadable.append(document)
        }
      }
    }
    result.found.sort { $0.document.id < $1.document.id }
    result.unreadable.sort { $0.id < $1.id }
    return result
  }

  private func mentions(in document: DocumentRecord, _ bytes: [UInt8]) throws -> [KeyMention] {
    // A source that is configured no more is read by the default policy: what it sent is told all the same.
    let source =
      sources[document.source]
      ?? SourceSettings(
        name: document.source, peer: .files, location: "", trust: .operator, reading: Policy(name: "default"))
    let arrival = source.arrival(of: document.name, kept: bytes, at: document.arrived, isVerified: false)
    var mentions: [KeyMention] = []
    try KeyMention.read(
      key, in: try arrival.examine().verify(), by: source.reading, source.admissionPolicy(at: document.arrived),
      intake: Intake(ownOrigins: ownOrigins)
    ) { mention, _ in mentions.append(mention) }
    return mentions
  }
}

extension DocumentRecord {
  /// Whether something of it is not among the claims.
  fileprivate var hasUnexplained: Bool {
    switch state {
    case .quarantined, .givenUp: true
    case .recorded: held > 0 || facts.map { $0.rejected > 0 } ?? true
    case .discovered, .fetching: false
    }
  }
}

extension [UInt8] {
  /// Whether the sixteen bytes of the key stand in them.
  fileprivate func contains(_ key: TemporaryExposureKey) -> Bool {
    let bytes = key.bytes
    guard count >= bytes.count else { return false }
    return (0...(count - bytes.count)).contains { start in
      self[start] == bytes[0] && self[start..<(start + bytes.count)].elementsEqual(bytes)
    }
  }
}
