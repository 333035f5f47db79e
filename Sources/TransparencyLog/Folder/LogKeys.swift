/// The private keys of a log where they are no files of its state: from wherever its owner keeps secrets.
package struct LogKeys: Sendable {
  package enum Key<Signer: Sendable>: Sendable {
    /// In a file of the state.
    case file
    case given(Signer)
    /// It is somewhere else, and whoever asks has not read it.
    case unread
  }

  package var log: Key<NoteSigner>
  package var attestations: Key<AttestationSigner>

  package init(log: Key<NoteSigner> = .file, attestations: Key<AttestationSigner> = .file) {
    (self.log, self.attestations) = (log, attestations)
  }
}

/// Keys are the same where their public ones are.
extension LogKeys: Hashable {
  private var names: [String] {
    let log =
      switch log {
      case .file: "file"
      case .unread: "unread"
      case .given(let signer): "\(signer.verifier)"
      }
    let attestations =
      switch attestations {
      case .file: "file"
      case .unread: "unread"
      case .given(let signer): signer.publicKey.pem
      }
    return [log, attestations]
  }

  package static func == (left: LogKeys, right: LogKeys) -> Bool { left.names == right.names }
  package func hash(into hasher: inout Hasher) { hasher.combine(names) }
}

/// What they are is in no message and in no dump.
extension LogKeys: CustomStringConvertible, CustomReflectable {
  package var description: String { "the private keys of a log" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension LogFolder {
  /// Where the log's key is, for messages.
  package var placeOfLogKey: String {
    if case .file = privateKeys.log { "\(path)/\(LogState.keyFile)" } else { "the private key that log.key names" }
  }

  /// Where the key of attestations is, for messages.
  package var placeOfAttestationKey: String {
    if case .file = privateKeys.attestations {
      "\(path)/\(AttestationSigner.keyFile)"
    } else {
      "the private key that log.attestation-key names"
    }
  }

  func unread(_ place: String) -> LogFault { LogFault(.inputOutput, "\(place) is not read here") }

  /// The log's private key; `nil` where there is none.
  func logSigner() throws -> NoteSigner? {
    switch privateKeys.log {
    case .given(let signer): return signer
    case .unread: throw unread(placeOfLogKey)
    case .file:
      return try bytes(of: LogState.keyFile, limit: 4096).map { try NoteSigner(String(decoding: $0, as: UTF8.self)) }
    }
  }
}
