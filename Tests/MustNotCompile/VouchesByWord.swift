// A document is verified by a report, a host, its origins or the operator; nobody can just say which it was.
// expect: 'VerifiedDocument' initializer is inaccessible due to 'internal' protection level
import BundleTrust

func verified(_ report: SignatureReport) -> VerifiedDocument? {
  #if MISTAKE
    report.findings.first?.key.map { VerifiedDocument(basis: .signed(by: $0.identity)) }
  #else
    report.verifiedDocument
  #endif
}
