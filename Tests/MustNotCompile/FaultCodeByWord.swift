// A code that is spelled where it is compared goes wrong in silence.
// expect: cannot convert value of type 'String' to expected argument type 'FaultCode'
import ExposureKeys

func fault(of reason: String) -> DocumentFault {
  #if MISTAKE
    DocumentFault(code: "timeout", reason: reason)
  #else
    DocumentFault(code: .timeOut, reason: reason)
  #endif
}

extension FaultCode {
  static let timeOut = FaultCode(rawValue: "time-out")
}
