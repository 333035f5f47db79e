package import BundleTrust
package import ExposureKeys

/// The conversation with one peer: a pure state machine. It says what to do next, is told how that went, and says what
/// to do then, until it is done. It knows nothing of sockets, of time, or of the store.
///
/// Who drives it asks ``next()`` until that returns ``PeerStep/done``; after ``PeerStep/ask(_:)`` it calls
/// ``take(_:)`` once, and after ``PeerStep/collect(_:)`` once for each document that was asked for, in the order of
/// the list.
package protocol PeerSync: Sendable {
  mutating func next() -> PeerStep
  mutating func take(_ answer: PeerAnswer)
  mutating func take(_ outcome: CollectionOutcome, of document: PeerDocument)

  /// Where the source stands once this document is recorded, given the head of the response that brought it: kept in
  /// the same transaction as its claims. `nil` leaves the cursor as it is.
  func cursor(after document: PeerDocument, head: ResponseHead) -> String?

  /// How to fetch a document once more that was put aside, when the peer may not list it any more. It says nothing
  /// about the cursor; `nil` where the name is none of this protocol's, or the peer cannot be asked for it by itself.
  func document(named name: String) -> PeerDocument?

  /// Documents of which what was fetched proved to be wrong, and that a peer may tell rightly by now: where it can be asked for
  /// them, that is done first. Called before ``next()``, once.
  mutating func askAgain(for names: [String])
  /// Of those that were asked for again, the ones in whose place others have come.
  var settled: [String] { get }

  /// What was odd about the peer's answers and yet no fault: an index that shrank, entries that were passed over.
  var notices: [DocumentFault] { get }
}

extension PeerSync {
  package mutating func askAgain(for names: [String]) {}
  package var settled: [String] { [] }
}

/// What a peer has to be asked, or what has to be fetched and recorded.
package enum PeerStep: Hashable, Sendable {
  /// A small answer that the machine reads itself.
  case ask(PeerRequest)
  /// Documents that are to be recorded, in this order. Those that are recorded already are skipped by the driver.
  case collect([PeerDocument])
  /// Nothing more for now; this cursor is to be kept where it is not `nil`.
  case done(cursor: String?)
  /// The peer does not answer as its protocol says; nothing changes.
  case fail(DocumentFault)
}

/// A request to a peer: GET, or POST where something is handed over.
///
/// Where a secret of the source belongs, in the address or in a header, stands `{name}`, the option's name in braces. The
/// transport alone puts the secret there, and only for the host of the location. It takes it out again of what the peer
/// answers to a question, so that no machine ever sees it.
package struct PeerRequest: Hashable, Sendable {
  /// Absolute, or relative to the location of the source.
  package var url: String
  package var headers: [Header]
  /// What the answer may be at most, in bytes, when the machine reads it itself.
  package var byteLimit: Int
  /// What is handed over, and then the method is POST. Such a request is asked once: it is not repeated and follows no
  /// redirect, since nobody knows what the peer has taken of one that failed.
  package var body: [UInt8]?
  /// What stands for `{seal}` in the address.
  package var seal: Seal?

  /// HMAC-SHA256 (RFC 2104) of a message, in lower-case hexadecimal. The transport computes it, since it has the secret.
  package struct Seal: Hashable, Sendable {
    /// The name of the option with the secret, whose text is the key in hexadecimal.
    package var secret: String
    package var message: String

    package static let mask = "{seal}"

    package init(secret: String, message: String) {
      self.secret = secret
      self.message = message
    }

    /// `nil` for a secret that is not hexadecimal.
    package func text(under secret: Secret) -> String? {
      Hexadecimal.decode(secret.disclosed.utf8).map { key in
        Hexadecimal.encode(KeyedHash(secret: key).bytes(for: Array(message.utf8)))
      }
    }
  }

  package init(
    url: String, headers: [Header] = [], byteLimit: Int = 4 << 20, body: [UInt8]? = nil, seal: Seal? = nil
  ) {
    self.url = url
    self.headers = headers
    self.byteLimit = byteLimit
    self.body = body
    self.seal = seal
  }

  package struct Header: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }
}

/// A document of a peer that is to be fetched.
package struct PeerDocument: Hashable, Sendable {
  /// Unique for the source, and the same each time.
  package var name: String
  package var request: PeerRequest
  /// Statuses other than 200 that the machine wants to hear about; others are faults. Where 204 is one of them, a
  /// body of no bytes is answered as 204, whatever its status.
  package var otherStatuses: Set<Int>
  /// The document may grow under its name (today's file): it is fetched again, also when it is recorded already, and
  /// changes are no fault.
  package var mayChange: Bool
  /// When its content is complete, for a document that the peer writes again and again under its name: with more keys until then,
  /// and later in another order, with fewer keys or with none. It is fetched again, a few hours apart, until it was recorded
  /// with keys after this time, and then never. Changes are no fault, and what is recorded is not replaced by less.
  package var completeFrom: Instant?
  /// What the head of the response must prove before the body is read.
  package var check: ResponseCheck?
  /// What the machine has been answered already: then nothing is fetched, and this is the document.
  package var response: PeerResponse?

  package init(
    name: String, request: PeerRequest, otherStatuses: Set<Int> = [], mayChange: Bool = false,
    completeFrom: Instant? = nil, check: ResponseCheck? = nil, response: PeerResponse? = nil
  ) {
    self.name = name
    self.request = request
    self.otherStatuses = otherStatuses
    self.mayChange = mayChange
    self.completeFrom = completeFrom
    self.check = check
    self.response = response
  }
}

/// Status and headers of a response.
package struct ResponseHead: Hashable, Sendable {
  package var status: Int
  /// In the order of arrival.
  package var headers: [PeerRequest.Header]
  /// Whose name TLS has proved for the connection; `nil` without TLS. Transports alone know it.
  package var provenHost: ProvenHost?

  package init(status: Int, headers: [PeerRequest.Header] = [], provenHost: ProvenHost? = nil) {
    self.status = status
    self.headers = headers
    self.provenHost = provenHost
  }

  /// The first header of this name, whatever its case.
  package subscript(name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }
}

/// A response as a whole.
package struct PeerResponse: Hashable, Sendable {
  package var head: ResponseHead
  package var body: [UInt8]

  package init(head: ResponseHead, body: [UInt8]) {
    self.head = head
    self.body = body
  }
}

/// What came of ``PeerStep/ask(_:)``.
package enum PeerAnswer: Hashable, Sendable {
  /// Any status; the body is whole.
  case response(ResponseHead, [UInt8])
  /// No response after all retries.
  case fault(DocumentFault)
}

/// What came of one document of ``PeerStep/collect(_:)``.
package enum CollectionOutcome: Hashable, Sendable {
  /// Its claims are in the store now, or were already: then nothing was fetched and there is no head.
  case recorded(ResponseHead?)
  /// One of the statuses that the machine wants to hear about.
  case answered(ResponseHead)
  /// It was fetched and refused, and is put aside with its reason.
  case quarantined(DocumentFault)
  /// No response after all retries, or a status that is a fault.
  case fault(DocumentFault)
}
