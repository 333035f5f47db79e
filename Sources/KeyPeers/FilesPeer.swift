internal import ExposureKeys

extension PeerProtocol {
  package static let files = PeerProtocol(FilesPeer.description)
}

/// A folder into which files are dropped, through ``FolderTransport``. Each file is a document, named by what it is
/// called, how large it is and when it was changed, `keys.zip@4711-1606816800.25`: a new file under an old name is a
/// new document.
struct FilesPeer: PeerSync {
  static let description = PeerDescription(
    "files", summary: "a folder of files in any format that convert reads", way: .folder,
    trusts: [.ring, .operator]
  ) { _, _, _ in FilesPeer() }

  private enum Phase { case asking, collecting([PeerDocument]), ended(PeerStep) }

  private var phase = Phase.asking

  var notices: [DocumentFault] { [] }

  mutating func next() -> PeerStep {
    switch phase {
    case .asking: return .ask(PeerRequest(url: "", byteLimit: FolderListing.byteLimit))
    case .collecting(let documents):
      phase = .ended(.done(cursor: nil))
      return .collect(documents)
    case .ended(let step): return step
    }
  }

  mutating func take(_ answer: PeerAnswer) {
    do throws(PeerFault) {
      let body = try answer.response(of: "folder").body
      guard let listing = FolderListing(body) else {
        throw PeerFault(.malformedAnswer, "folder: its listing is not in the form of the folder transport")
      }
      let documents = listing.files.compactMap { document(named: $0.documentName) }
      phase = documents.isEmpty ? .ended(.done(cursor: nil)) : .collecting(documents)
    } catch {
      phase = .ended(.fail(error.documentFault))
    }
  }

  mutating func take(_ outcome: CollectionOutcome, of document: PeerDocument) {}

  func cursor(after document: PeerDocument, head: ResponseHead) -> String? { nil }

  func document(named name: String) -> PeerDocument? {
    FolderListing.File(documentName: name).map { PeerDocument(name: name, request: PeerRequest(url: $0.documentName)) }
  }
}
