package import ExposureKeys
internal import KeyStorage

// Receiving.
extension FaultCode {
  /// What the operator says about the source cannot be used.
  package static let configuration = FaultCode(rawValue: "configuration")
  package static let notConnected = FaultCode(rawValue: "not-connected")
  package static let quarantined = FaultCode(rawValue: "quarantined")
  /// A document that was recorded is another one now.
  package static let changedUnderItsName = FaultCode(rawValue: "changed-under-its-name")

  /// A peer's answer to the question for a document.
  package static func status(_ status: Int) -> FaultCode { FaultCode(rawValue: "status-\(status)") }
}

// Folders.
extension FaultCode {
  package static let notAFile = FaultCode(rawValue: "not-a-file")
  package static let notFound = FaultCode(rawValue: "not-found")
  package static let inputOutput = FaultCode(rawValue: "input-output")
  /// A file changed while it was read.
  package static let changed = FaultCode(rawValue: "changed")
}
