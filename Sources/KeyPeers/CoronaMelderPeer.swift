internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats

extension PeerProtocol {
  package static let coronaMelder = PeerProtocol(CoronaMelderPeer.description)
}

/// The layout of CoronaMelder (NL): a manifest names the key sets, and archives carry a CMS signature of the government beside
/// their content.
///
/// The manifest is verified before it is read: its `content.sig` must lead to the root that the operator states. A key set has the
/// same kind of signature over `export.bin`, beside the one that phones check, so that it is verified twice. The id of a key set
/// stands for its content, and is fetched once.
struct CoronaMelderPeer: PeerSync {
  static let description = PeerDescription(
    "coronamelder", summary: "key sets that a sealed manifest names (CoronaMelder)",
    options: [
      PeerOption(
        "ca", .certificate, isRequired: true, "the path of the PEM file with the root of the seals' certificates"),
      PeerOption(
        "version", .choice((1...6).map { "v\($0)" }), "of the addresses; v4 by default"),
    ], trusts: [.ring, .host, .operator],
    note: { _ in
      "the seals of the manifest and of each key set lead to the root in ca, and the signature in each file proves it to a ring. The"
        + " server stated onset 0 and a confirmed test for every key, and padded small key sets up to 150 keys"
    }
  ) { settings, cursor, now in CoronaMelderPeer(settings, cursor: cursor, now: now) }

  private enum Phase { case asking, collecting([PeerDocument]), ended(PeerStep) }

  static let manifestBytes = 1 << 20
  static let setLimit = 5000
  static let idLimit = 64

  private let location: String
  private let root: SealRoot?
  private let now: Instant
  private var memory: ListMemory
  private var phase = Phase.asking
  private(set) var notices: [DocumentFault] = []

  init(_ settings: SourceSettings, cursor: String?, now: Instant) {
    location = PeerAddress.join(settings.location, settings.options["version"] ?? "v4")
    root = settings.options["ca"].flatMap { try? SealRoot(pem: $0) }
    self.now = now
    memory = ListMemory(
      cursor: cursor, settings: [location, settings.options["ca"] ?? ""], isMirrored: settings.isMirrored, now: now)
  }

  mutating func next() -> PeerStep {
    switch phase {
    case .asking:
      return .ask(
        PeerRequest(url: "\(location)/manifest", headers: memory.validators, byteLimit: Self.manifestBytes))
    case .collecting(let documents):
      phase = .ended(.done(cursor: nil))
      return .collect(documents)
    case .ended(.done): return .done(cursor: memory.cursor)
    case .ended(let step): return step
    }
  }

  mutating func take(_ answer: PeerAnswer) {
    do throws(PeerFault) {
      let response = try answer.response(of: "manifest", statuses: memory.statuses)
      guard response.head.status == 200 else { return phase = .ended(.done(cursor: nil)) }
      let documents = try keySets(in: response.body)
      if let notice = memory.read(response.head, entries: documents.count, of: "manifest") { notices.append(notice) }
      phase = documents.isEmpty ? .ended(.done(cursor: nil)) : .collecting(documents)
    } catch {
      phase = .ended(.fail(error.documentFault))
    }
  }

  private func keySets(in body: [UInt8]) throws(PeerFault) -> [PeerDocument] {
    guard let root else { throw PeerFault(.responseUnsigned, "manifest: no root certificate is configured") }
    let content = try SealedArchive.content(
      "content.bin", of: MemorySource(body), limit: Self.manifestBytes, under: root, at: now)
    let selectors = ItemSelector.all(in: "exposureKeySets[]") ?? []
    guard let found = ListedItems(in: content, selectors, limit: Self.setLimit), found.isFound else {
      throw PeerFault(.malformedAnswer, "manifest: \(content.count) bytes that are no JSON with exposureKeySets")
    }
    guard !found.isTooLong else {
      throw PeerFault(.limitExceeded, "manifest: more than \(Self.setLimit) key sets")
    }
    var names: Set<String> = []
    var documents: [PeerDocument] = []
    for id in found.items where names.insert(id).inserted {
      guard let document = document(named: id) else {
        throw PeerFault(
          .malformedAnswer, "manifest: the key set \(peerText(id)), expected hexadecimal digits or a GUID")
      }
      documents.append(document)
    }
    return documents
  }

  mutating func take(_ outcome: CollectionOutcome, of document: PeerDocument) { memory.take(outcome) }

  func cursor(after document: PeerDocument, head: ResponseHead) -> String? { nil }

  func document(named name: String) -> PeerDocument? {
    guard (32...Self.idLimit).contains(name.utf8.count),
      name.utf8.allSatisfy({ Hexadecimal.isDigit($0) || $0 == UInt8(ascii: "-") })
    else { return nil }
    return PeerDocument(
      name: name, request: PeerRequest(url: "\(location)/exposurekeyset/\(name)"), check: root.map { .sealed($0) })
  }
}

/// An archive with content and a CMS signature of it in `content.sig`.
enum SealedArchive {
  private static let signature = "content.sig"

  /// - Parameter limit: what the content may be at most, in bytes.
  /// - Returns: the content, once its signature is verified.
  /// - Throws: `response-malformed` for what is no such archive, `response-unsigned` and `response-signature`.
  static func content(
    _ name: String, of body: any SeekableSource, limit: Int, under root: SealRoot, at now: Instant
  ) throws(PeerFault) -> [UInt8] {
    let content: [UInt8]
    let seal: [UInt8]
    do {
      let archive = try ZipArchive(body, limits: ReadLimits(documentBytes: limit))
      guard let entry = archive[name] else {
        throw PeerFault(.responseMalformed, "the archive has no \(name)")
      }
      guard let sealEntry = archive[signature] else {
        throw PeerFault(.responseUnsigned, "the archive has no \(signature) beside \(name)")
      }
      content = try archive.open(entry).readAll(limit: limit)
      seal = try archive.open(sealEntry).readAll(limit: SealRoot.signatureLimit)
    } catch let fault as PeerFault {
      throw fault
    } catch {
      throw PeerFault(.responseMalformed, "no archive with \(name) and \(signature): \(error)")
    }
    do throws(FederationFault) {
      try root.verify(seal, over: content, at: now)
    } catch {
      throw PeerFault(.responseSignature, "\(name): \(error)")
    }
    return content
  }
}
