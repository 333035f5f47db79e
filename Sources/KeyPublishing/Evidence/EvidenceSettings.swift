package import TransparencyLog

/// What the operator says about the transparency log of what is published: `log` in `gateway.yaml`.
package struct EvidenceSettings: Hashable, Sendable {
  /// The name of the log and of its key: where it is served, without `https://`.
  package var name: String
  /// The folder in the publication folder in which others see the log: one name.
  package var folder: String
  /// The folder of the private keys, and of what was signed unless that is in the store, which nobody else reads.
  package var state: String
  /// Where the private keys are.
  package var keys = LogKeys()
  package var place = Place.folder
  /// Who else signs each checkpoint.
  package var witnesses: [WitnessSettings] = []
  /// The doors by which persons upload: each has an entry an hour.
  package var doors: [String] = []
  /// Days that what opens such an entry is kept, as evidence is.
  package var evidenceDays: Int64 = 14

  /// Where others see the log, and where what was signed is kept.
  package enum Place: Hashable, Sendable {
    /// In a folder of this machine, and in another one.
    case folder
    /// In a bucket, and in a folder of this machine, which alone writes the log.
    case bucket
    /// In a bucket, and in the store, which several replicas share.
    case replicas
  }

  package static let usualFolder = "log"
  /// The public key, beside what it signs. Who wants to rely on it is told it by another way.
  package static let keyFile = "log.vkey"
  /// The public key of attestations, likewise.
  package static let attestationKeyFile = AttestationSigner.publicFile

  package init(name: String, folder: String = Self.usualFolder, state: String) {
    self.name = name
    self.folder = folder
    self.state = state
  }

  /// - Parameter willDo: is told each step before it is done, and can make it fail.
  package func stateFolder(
    willDo: @escaping @Sendable (LogFolder.Step, String) throws -> Void = { _, _ in }
  ) -> LogFolder { LogFolder(state, keys: keys, willDo: willDo) }
}

/// Somebody who signs that a log only grows.
package struct WitnessSettings: Hashable, Sendable {
  /// Of type 4: an Ed25519 key of a witness.
  package var key: NoteVerifier
  /// What stands before `/add-checkpoint`.
  package var address: String

  package init(key: NoteVerifier, address: String) {
    self.key = key
    self.address = address
  }
}

/// The way to witnesses. Whoever publishes brings one.
package protocol WitnessCaller: Sendable {
  /// Posts text to an address, and does not try again.
  ///
  /// - Throws: what kept it from being answered in this time.
  func post(_ body: [UInt8], to address: String, seconds: Int64, limit: Int) async throws -> (
    status: Int, body: [UInt8]
  )
}
