internal import ExposureKeys

/// Why a log, or what is said to come from one, is not believed or not written.
package struct LogFault: ProgramFault, Hashable, Sendable {
  package enum Code: String, Sendable, CaseIterable {
    /// A signed note that breaks its format.
    case badNote = "bad-note"
    /// The name of a log, or a key, that is none.
    case badKey = "bad-key"
    /// A signature by a key that we know is wrong.
    case badSignature = "bad-signature"
    /// No signature is by a key that we know.
    case notSigned = "not-signed"
    /// A checkpoint whose text breaks its format.
    case badCheckpoint = "bad-checkpoint"
    /// A checkpoint of another log.
    case otherOrigin = "other-origin"
    /// A file of a proof that breaks its format.
    case badProof = "bad-proof"
    /// An attestation that breaks its format, or is of another file.
    case badAttestation = "bad-attestation"
    /// A proof that does not lead to the root.
    case notIncluded = "not-included"
    /// Two checkpoints of one log of which none extends the other.
    case fork
    /// A log that is smaller than it was.
    case wentBack = "went-back"
    /// A tile, or a bundle of entries, that a checkpoint needs is not there.
    case missingTile = "missing-tile"
    /// A tile, or a bundle of entries, of a wrong length, or with other hashes than its neighbours and the root say.
    case badTile = "bad-tile"
    /// An entry that cannot be added, or that does not say what entries say.
    case badEntry = "bad-entry"
    /// Writing would replace a file by other bytes.
    case wouldOverwrite = "would-overwrite"
    /// The state of the log is older than what it has published.
    case staleState = "stale-state"
    /// The folder of the state is not what a log has.
    case badState = "bad-state"
    /// Another process writes this log.
    case inUse = "in-use"
    /// A file is larger than what is read.
    case tooLarge = "too-large"
    /// The system could not read or write.
    case inputOutput = "input-output"
  }

  /// Whether the log, or what was said of it, was read and is not what it should be; otherwise something could not be done.
  package var isRefutation: Bool {
    switch code {
    case .badNote, .badSignature, .notSigned, .badCheckpoint, .otherOrigin, .badProof, .badAttestation, .notIncluded,
      .fork, .wentBack,
      .missingTile, .badTile, .badEntry:
      true
    case .badKey, .wouldOverwrite, .staleState, .badState, .inUse, .tooLarge, .inputOutput: false
    }
  }

  package let code: Code
  /// For people: where, what was found, what is allowed.
  package let reason: String
  /// What a person can do; `nil` where nothing is to be done.
  package let hint: String?

  package init(_ code: Code, _ reason: String, hint: String? = nil) {
    self.code = code
    self.reason = reason
    self.hint = hint
  }

  package var description: String { reason }
}
