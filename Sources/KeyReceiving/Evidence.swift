package import ExposureKeys
internal import KeyFormats
package import KeyIntake
package import KeyNormalization
package import KeyPeers
package import KeyStorage

/// What the kept bytes of one document say about a key, and what became of that.
package struct EvidenceMention: Sendable {
  package let document: DocumentRecord
  package let reader: DocumentReader
  /// The policy that is configured now for its source.
  package let configured: String
  /// None where the document cannot be read, and the key stands in it all the same.
  package let places: [Place]

  /// One place of the document.
  package struct Place: Sendable {
    /// By ``DocumentReader/former`` as that policy reads it, otherwise as the configured one does.
    package let mention: KeyMention
    package let fate: Fate
    /// What the configured policy makes of it, where another one read the document.
    package let now: KeyMention.Reading?
  }

  /// What became of a mention. It is never better than what the tables of the store say.
  package enum Fate: Hashable, Sendable {
    /// It is among the claims, withdrawn or not.
    case admitted(StatedClaim)
    /// It waits for the operator.
    case held(AdmissionReason)
    /// The document is refused, and nothing of it is admitted.
    case refused
    case rejected(AdmissionReason, detail: String)
    /// It was read, and has expired, or was dropped or erased.
    case gone
    /// Nothing of it is among the claims, and the policy that read it is known by its name alone.
    case unknown
  }
}

/// By which policy a document was read, beside the one that is configured.
package enum DocumentReader: Hashable, Sendable {
  /// Nobody has read it so far that anything would be recorded.
  case nobody
  /// The configured one.
  case configured
  /// Another one of this name, or other settings of the source; what it makes of a key can be told.
  case former(String)
  /// The same, but only its name is known; `nil` is not even that.
  case lost(String?)

  /// Whether reading the document again could say something else.
  package var isOther: Bool {
    switch self {
    case .former, .lost: true
    case .nobody, .configured: false
    }
  }
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
  private let policies: [Policy]

  /// - Parameter policies: those that may have read documents before, beside the ones of the sources.
  package init(
    for key: TemporaryExposureKey, of sources: [SourceSettings], ownOrigins: Set<String>, policies: [Policy] = []
  ) {
    self.key = key
    self.policies = sources.map(\.reading) + policies
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
        if let mention = try mention(in: document, bytes, record) { result.found.append(mention) }
      } catch {
        guard DocumentFault(refusing: error) != nil else { throw error }
        // As it stands there it can be found; what is compressed or spelled otherwise nobody can tell.
        if bytes.contains(key) {
          let source = source(of: document)
          result.found.append(
            EvidenceMention(
              document: document, reader: .nobody, configured: source.reading.name, places: []))
        } else {
          result.unreadable.append(document)
        }
      }
    }
    result.found.sort { $0.document.id < $1.document.id }
    result.unreadable.sort { $0.id < $1.id }
    return result
  }

  /// A source that is configured no more is read by the default policy: what it sent is told all the same.
  private func source(of document: DocumentRecord) -> SourceSettings {
    sources[document.source]
      ?? SourceSettings(
        name: document.source, peer: .files, location: "", trust: .operator, reading: Policy(name: "default"))
  }

  private func mention(
    in document: DocumentRecord, _ bytes: [UInt8], _ record: KeyRecord
  ) throws -> EvidenceMention? {
    let source = source(of: document)
    let now = try mentions(in: document, bytes, from: source)
    // Nearly no document names the key, and of the others nobody asks who read them.
    if now.isEmpty { return nil }
    let (reader, former) = reader(of: document, from: source)
    // Every reading names the same places, in the same order.
    let then = try former.map { try mentions(in: document, bytes, from: $0) } ?? now
    let places = zip(then, now).map { then, now in
      EvidenceMention.Place(
        mention: then, fate: EvidenceMention.Fate(of: then, in: document, readBy: reader, record),
        now: reader.isOther ? now.reading : nil)
    }
    return EvidenceMention(document: document, reader: reader, configured: source.reading.name, places: places)
  }

  /// - Returns: by whom it was read, and the source as it was then, where another policy is at hand.
  private func reader(
    of document: DocumentRecord, from source: SourceSettings
  ) -> (DocumentReader, former: SourceSettings?) {
    guard document.state == .recorded else { return (.nobody, nil) }
    guard let mark = document.facts?.reading else { return (.lost(nil), nil) }
    func reads(_ source: SourceSettings) -> Bool {
      source.readingMark(ownOrigins: ownOrigins, at: mark.time).digest == mark.digest
    }
    if reads(source) { return (.configured, nil) }
    for policy in policies where policy.name == mark.policy {
      var former = source
      former.reading = policy
      if reads(former) { return (.former(mark.policy), former) }
    }
    return (.lost(mark.policy), nil)
  }

  private func mentions(
    in document: DocumentRecord, _ bytes: [UInt8], from source: SourceSettings
  ) throws -> [KeyMention] {
    let arrival = source.arrival(of: document.name, kept: bytes, at: document.arrived, isVerified: false)
    var mentions: [KeyMention] = []
    do {
      try KeyMention.read(
        key, in: try arrival.examine().verify(), by: source.reading, source.admissionPolicy(at: document.arrived),
        intake: Intake(ownOrigins: ownOrigins), isRefused: true
      ) { mention, _ in mentions.append(mention) }
    } catch {
      // Of a refused document there is what stands before its fault.
      guard !mentions.isEmpty, DocumentFault(refusing: error) != nil else { throw error }
    }
    return mentions
  }
}

extension EvidenceMention.Fate {
  /// - Parameter mention: as the policy reads it that read the document, where that is at hand.
  fileprivate init(
    of mention: KeyMention, in document: DocumentRecord, readBy reader: DocumentReader, _ record: KeyRecord
  ) {
    if document.state != .recorded {
      self = .refused
      return
    }
    let claim: StatedClaim? = if case .admitted(let claim) = mention.reading { claim } else { nil }
    if case .lost = reader {
      // What the tables have of this document says how it was read.
      func isSame(_ claim: StatedClaim) -> Bool { claim.subject.rollingStart == mention.sent.rollingStart }
      if let held = record.held.first(where: { $0.document == document.id && isSame($0.claim) }) {
        self = .held(held.reason)
      } else if let kept = record.claims.first(where: { $0.document == document.id && isSame($0.claim) })
        ?? record.claims.first(where: { claim?.isSaid(by: $0.claim) ?? false })
      {
        self = .admitted(kept.claim)
      } else {
        self = .unknown
      }
    } else if case .rejected(let reason, let detail) = mention.reading {
      self = .rejected(reason, detail: detail)
    } else if let claim, let kept = record.claims.first(where: { claim.isSaid(by: $0.claim) }) {
      self = .admitted(kept.claim)
    } else if let held = record.held.first(where: { held in
      held.document == document.id && claim?.isSaid(by: held.claim) ?? true
    }) {
      self = .held(held.reason)
    } else {
      self = .gone
    }
  }
}

extension StatedClaim {
  /// Whether another one says the same, whoever stands behind it: bytes that are looked at later are the operator's word.
  fileprivate func isSaid(by other: StatedClaim) -> Bool {
    subject == other.subject && statement == other.statement && origin == other.origin && visited == other.visited
      && source.name == other.source.name
  }
}

extension DocumentRecord {
  /// Whether something of it is not among the claims.
  fileprivate var hasUnexplained: Bool {
    switch state {
    case .quarantined, .givenUp: true
    case .recorded: facts.map { $0.held > 0 || $0.rejected > 0 } ?? true
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
