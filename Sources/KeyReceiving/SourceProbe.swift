internal import BundleTrust
package import ExposureKeys
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization
package import KeyPeers
internal import KeyStorage

/// Tries a source without recording anything: is it there, does it answer as its protocol says, and can its newest
/// document be read and trusted?
package struct SourceProbe: Sendable {
  package let source: String
  /// What was found, line by line.
  package internal(set) var findings: [String] = []
  /// Why the source cannot be used as it is.
  package internal(set) var faults: [DocumentFault] = []

  package var isUsable: Bool { faults.isEmpty }

  /// How many questions a probe asks before it is content with what it has.
  private static let maximumQuestions = 40
  /// How many of the newest documents it tries, if they are not there yet.
  private static let maximumDocuments = 3

  /// - Parameter spool: a folder for what is being fetched; it is removed at the end.
  package static func probe(
    _ source: SourceSettings, through transport: any Transport, spool: String, now: Instant
  ) async throws -> SourceProbe {
    var probe = SourceProbe(source: source.name)
    if let note = source.peer.description.note(source) { probe.findings.append(note) }
    defer { removeFolder(spool) }
    do {
      try await probe.converse(source, transport, try SpoolFolder(spool), now)
    } catch let fault as PeerSettingsFault {
      probe.faults.append(DocumentFault(code: .configuration, reason: "\(fault)"))
    }
    return probe
  }

  private init(source: String) { self.source = source }

  /// Of a source that cannot even be asked.
  package init(source: String, fault: DocumentFault) {
    self.source = source
    faults = [fault]
  }

  private mutating func converse(
    _ source: SourceSettings, _ transport: any Transport, _ spool: SpoolFolder, _ now: Instant
  ) async throws {
    var conversation = try PeerConversation(
      with: source, through: transport, cursor: nil, limit: Self.maximumQuestions, now: now)
    while true {
      switch try await conversation.next() {
      case .collect(let documents):
        findings.append("lists \(counted(documents.count, "document"))")
        guard !documents.isEmpty else { continue }
        for document in documents.reversed().prefix(Self.maximumDocuments) {
          if try await examine(document, source, transport, spool, now) { return }
        }
        return
      case .done: return findings.append("has nothing to fetch")
      case .fail(let fault): return faults.append(fault)
      case .interrupted:
        return findings.append("answered \(Self.maximumQuestions) questions, and lists nothing yet")
      }
    }
  }

  /// - Returns: `false` where the document is not there.
  private mutating func examine(
    _ document: PeerDocument, _ source: SourceSettings, _ transport: any Transport, _ spool: SpoolFolder,
    _ now: Instant
  ) async throws -> Bool {
    let name = printableText(document.name)
    let fetcher = DocumentFetcher(transport: transport, spool: spool, byteLimit: source.documentByteLimit)
    let (head, path): (ResponseHead, String)
    switch try await fetcher.fetch(document, unless: nil) {
    case .fault(let fault):
      faults.append(fault)
      return true
    case .answered(let head):
      if document.otherStatuses.contains(head.status) {
        findings.append("\(name): nothing there now (\(head.status))")
        return false
      }
      faults.append(DocumentFault(code: .status(head.status), reason: "\(name): the peer answers \(head.status)"))
      return true
    case .fetched(let fetchedHead, let fetchedPath): (head, path) = (fetchedHead, fetchedPath)
    }
    defer { spool.remove(path) }
    do {
      if let check = document.check {
        let file = try FileSource(path: path)
        let digests = try SourceDocument.digest(of: file, behind: check.prefix(in: head))
        if let fault = check.verify(head, digests, body: file, now: now) {
          faults.append(fault)
          return true
        }
      }
      let arrival = try source.arrival(of: document.name, at: path, from: head.provenHost, at: now)
      var counter = ClaimCounter()
      let summary = try Intake().accept(arrival, by: source.admissionPolicy(at: now), into: &counter)
      let byteCount = try FileSource(path: path).byteCount
      findings.append(
        "\(name): \(grouped(byteCount)) bytes, \(counted(summary.counts.received, "key")), \(summary.voucher)")
    } catch {
      guard let fault = DocumentFault(refusing: error) else { throw error }
      faults.append(fault)
    }
    return true
  }
}
