package import ExposureKeys

/// How bytes come from a peer. Implementations see to redirects, retries, time-outs, limits and the budget of a host.
package protocol Transport: Sendable {
  /// Fetches a small answer as a whole.
  ///
  /// - Throws: ``TransportFault``.
  func ask(_ request: PeerRequest) async throws -> (head: ResponseHead, body: [UInt8])

  /// Fetches a document into a file.
  ///
  /// - Parameter byteLimit: what the body may be at most.
  /// - Returns: where the body is; nothing was written unless the status is 200.
  /// - Throws: ``TransportFault``.
  func fetch(_ request: PeerRequest, into path: String, byteLimit: Int) async throws -> ResponseHead

  /// Puts a refused document out of the way of the next pull and explains why, where the peer is ours to tidy: a folder.
  func putAside(_ document: String, because reason: String)
}

extension Transport {
  package func putAside(_ document: String, because reason: String) {}
}

/// Why no response came, or not a whole one.
package struct TransportFault: ProgramFault, Hashable, Sendable {
  package var code: FaultCode
  package var reason: String
  /// Whether the same request may succeed later.
  package var isTemporary: Bool

  package init(code: FaultCode, reason: String, isTemporary: Bool) {
    self.code = code
    self.reason = reason
    self.isTemporary = isTemporary
  }

  package var description: String { reason }
  package var documentFault: DocumentFault { DocumentFault(code: code, reason: reason) }
}
