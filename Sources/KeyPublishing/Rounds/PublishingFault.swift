internal import BundleTrust
internal import ExposureKeys
internal import Glibc
internal import KeyIntake
internal import KeyStorage
internal import TransparencyLog

/// Why a series could not be published: a stable code for programs, and a reason for people. Never key material.
package struct PublishingFault: ProgramFault, Hashable, Sendable, Encodable {
  /// As in ``Code`` or `FolderFault.Code`, `storage-` and the code of a `StorageFault`, or `log-` and the code of a `LogFault`.
  package var code: String
  package var reason: String

  package enum Code: String, Hashable, Sendable, CaseIterable {
    /// No signing key is valid now. Nothing is published.
    case noSigningKey = "no-signing-key"
    /// The command that signs gave no signature that verifies. Nothing is published.
    case signingFailed = "signing-failed"
    /// The settings of the series cannot be used.
    case invalidSeries = "invalid-series"
    case unknownSeries = "unknown-series"
    /// A published file is not in the folder any more, or has other bytes than were published.
    case fileMissing = "file-missing"
    case fileDamaged = "file-damaged"
    /// A bundle cannot be split until it is as small as the settings want.
    case bundleTooLarge = "bundle-too-large"
    /// Another round changed the series meanwhile.
    case otherRound = "other-round"
    /// What has changed selects other keys than everything does: `preview --full` compares.
    case selectionDiffers = "selection-differs"
    case diskFull = "disk-full"
    case inputOutput = "input-output"
    case unexpected
  }

  package init(_ code: Code, _ reason: String) {
    self.code = code.rawValue
    self.reason = reason
  }

  private init(code: String, reason: String) {
    self.code = code
    self.reason = reason
  }

  /// What any error of a round comes to.
  init(_ error: any Error) {
    switch error {
    case let fault as PublishingFault: self = fault
    case let fault as FolderFault: self.init(code: fault.code.rawValue, reason: fault.reason)
    case let fault as FileFault:
      self.init(fault.number == ENOSPC || fault.number == EDQUOT ? .diskFull : .inputOutput, fault.description)
    case let fault as KeyFault where fault.code == .notSigned: self.init(.signingFailed, "\(fault)")
    case let fault as StorageFault: self.init(code: "storage-\(fault.code.rawValue)", reason: fault.reason)
    case let fault as LogFault:
      self.init(
        code: "log-\(fault.code.rawValue)",
        reason: [fault.reason, fault.hint].compactMap(\.self).joined(separator: "; "))
    default: self.init(.unexpected, "\(error)")
    }
  }

  package var description: String { reason }
}
