package import ExposureKeys

// What peers answer.
extension FaultCode {
  /// A status that the protocol does not foresee, and those that let nobody in.
  package static let httpStatus = FaultCode(rawValue: "http-status")
  package static let forbidden = FaultCode(rawValue: "forbidden")
  package static let malformedAnswer = FaultCode(rawValue: "malformed-answer")
  package static let notAnIndex = FaultCode(rawValue: "not-an-index")
  package static let limitExceeded = FaultCode(rawValue: "limit-exceeded")
  /// The newest number is smaller than one that was reached.
  package static let wentBackwards = FaultCode(rawValue: "went-backwards")
}

// What is odd about an answer, and yet no fault.
extension FaultCode {
  package static let startedOver = FaultCode(rawValue: "started-over")
  /// A gateway links to a batch that it does not have.
  package static let batchMissing = FaultCode(rawValue: "batch-missing")
  package static let repeatedTag = FaultCode(rawValue: "repeated-tag")
  package static let indexShrank = FaultCode(rawValue: "index-shrank")
  package static let entriesPassedOver = FaultCode(rawValue: "entries-passed-over")
}

// Signed responses.
extension FaultCode {
  package static let responseUnsigned = FaultCode(rawValue: "response-unsigned")
  package static let responseMalformed = FaultCode(rawValue: "response-malformed")
  package static let responseSignature = FaultCode(rawValue: "response-signature")
  package static let responseTime = FaultCode(rawValue: "response-time")
  package static let responseContent = FaultCode(rawValue: "response-content")
  package static let responseHeader = FaultCode(rawValue: "response-header")
}

// Transports: why no response came, or not a whole one.
extension FaultCode {
  package static let badAddress = FaultCode(rawValue: "bad-address")
  package static let badHeader = FaultCode(rawValue: "bad-header")
  package static let nameNotFound = FaultCode(rawValue: "name-not-found")
  package static let unreachable = FaultCode(rawValue: "unreachable")
  package static let hostRefused = FaultCode(rawValue: "host-refused")
  /// A secret was to be sent to another host than the location's.
  package static let secretRefused = FaultCode(rawValue: "secret-refused")
  package static let connectionRefused = FaultCode(rawValue: "connection-refused")
  package static let connectionClosed = FaultCode(rawValue: "connection-closed")
  package static let tls = FaultCode(rawValue: "tls")
  package static let timeOut = FaultCode(rawValue: "time-out")
  package static let redirectRefused = FaultCode(rawValue: "redirect-refused")
  package static let tooManyRedirects = FaultCode(rawValue: "too-many-redirects")
  package static let malformedResponse = FaultCode(rawValue: "malformed-response")
  package static let tooLarge = FaultCode(rawValue: "too-large")
  /// What was fetched cannot be put down here.
  package static let storage = FaultCode(rawValue: "storage")
}
