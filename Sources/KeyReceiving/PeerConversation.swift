internal import ExposureKeys
internal import KeyPeers
internal import KeyStorage

/// One conversation with a peer: what the machine wants to know is asked for here, and what is to be collected, or how it
/// ended, is the caller's. `pull` and `check` speak with peers by this alone.
struct PeerConversation {
  /// What a caller has to do.
  enum Turn {
    case collect([PeerDocument])
    /// Nothing more for now; this cursor is to be kept where it is not `nil`.
    case done(cursor: String?)
    /// The peer cannot be asked, or does not answer as its protocol says.
    case fail(DocumentFault)
    /// So many questions were asked, and the machine wants to ask more.
    case interrupted
  }

  private var machine: any PeerSync
  private let transport: any Transport
  private var questions: Int
  private let asked: () -> Void

  /// - Parameters:
  ///   - limit: how many questions may be asked.
  ///   - asked: is told before each.
  /// - Throws: `PeerSettingsFault`.
  init(
    with source: SourceSettings, through transport: any Transport, cursor: String?, limit: Int = .max, now: Instant,
    asked: @escaping () -> Void = {}
  ) throws {
    machine = try PeerCatalog.machine(for: source, cursor: cursor, now: now)
    self.transport = transport
    questions = limit
    self.asked = asked
  }

  /// Asks until the caller has something to do.
  mutating func next() async throws -> Turn {
    while true {
      try Task.checkCancellation()
      switch machine.next() {
      case .ask(let request):
        guard questions > 0 else { return .interrupted }
        questions -= 1
        asked()
        machine.take(try await answer(to: request))
      case .collect(let documents): return .collect(documents)
      case .done(let cursor): return .done(cursor: cursor)
      case .fail(let fault): return .fail(fault)
      }
    }
  }

  private func answer(to request: PeerRequest) async throws -> PeerAnswer {
    do {
      let (head, body) = try await transport.ask(request)
      return .response(head, body)
    } catch let fault as TransportFault {
      return .fault(fault.documentFault)
    }
  }

  /// Tells what became of a document that was to be collected.
  mutating func take(_ outcome: CollectionOutcome, of document: PeerDocument) { machine.take(outcome, of: document) }

  func cursor(after document: PeerDocument, head: ResponseHead) -> String? {
    machine.cursor(after: document, head: head)
  }

  func document(named name: String) -> PeerDocument? { machine.document(named: name) }

  mutating func askAgain(for names: [String]) { machine.askAgain(for: names) }

  var settled: [String] { machine.settled }

  var notices: [DocumentFault] { machine.notices }
}
