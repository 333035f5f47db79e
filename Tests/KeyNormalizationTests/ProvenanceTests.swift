import ExposureKeys
import Testing

@testable import BundleTrust
@testable import KeyNormalization

/// Who stands behind a document is told apart in the claims that it brings.
@Suite struct ProvenanceTests {
  private static let named = KeyIdentity(id: "310", version: "v1", fingerprint: "ab12")
  private static let nameless = KeyIdentity(id: nil, version: nil, fingerprint: "ab12")

  @Test func eachBasisHasItsWords() {
    let documents: [(VerifiedDocument, Provenance, String)] = [
      (VerifiedDocument(basis: .signed(by: Self.named)), .signed(by: "310 v1"), "signature of 310 v1"),
      (VerifiedDocument(basis: .signed(by: Self.nameless)), .signed(by: "ab12"), "signature of ab12"),
      (.host(ProvenHost(provenByTLS: "efgs.example")), .host("efgs.example"), "TLS identity of efgs.example"),
      (.origins(OriginsProof()), .origins, "signatures of the origins"),
      (.assertedByOperator(), .assertedByOperator, "operator"),
    ]
    for (document, provenance, words) in documents {
      let source = Source(Sender(name: "peer", isRelay: true, origin: "DE"), vouchedForBy: document)
      #expect(source.provenance == provenance && "\(source.provenance)" == words)
      #expect(source == Source(name: "peer", isRelay: true, origin: "DE", provenance: provenance))
      let admission = Admission(of: document, from: source.sender, policy: ReadingPolicy(), now: Cases.now)
      #expect(admission.source == source)
    }
    #expect(Set(documents.map(\.1)).count == documents.count)
  }

  /// The same claim through one sender, vouched for otherwise, is another claim: what it rests on is kept.
  @Test func claimsKeepWhoVouched() {
    var claims = ClaimSet()
    for document in [VerifiedDocument.assertedByOperator(), .origins(OriginsProof())] {
      var admission = Admission(of: document, from: Sender(name: "efgs"), policy: ReadingPolicy(), now: Cases.now)
      claims.record(
        withUnsafePointer(to: AdmissionRuleTests.good) { key in
          admission.admit(UnsafeBufferPointer(start: key, count: 1), regions: .init())
        })
    }
    #expect(Set(claims.statedClaims.map(\.source.provenance)) == [.assertedByOperator, .origins])
  }
}
