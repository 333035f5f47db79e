import BundleTrust
import ExposureKeys

/// What is read of a federation's strangers: signatures, and the list of whom to believe. The corpora have the signatures of
/// three producers over ``signedContent``, by a key that was made for this and thrown away.
let federationTargets: [String: FuzzTarget] = [
  "batch-signature": fuzzBatchSignature,
  "federation-trust": fuzzFederationTrust,
]

private let signedContent = Array("AAEC.ACjV.REU=.".utf8)

/// Whom the corpus' signer is believed by.
private let trust: FederationTrust = {
  let json = #"""
    {"anchor": "-----BEGIN CERTIFICATE-----\nMIIBtDCCAVmgAwIBAgIUdvdcomDGOw1uoD3goffK3mSgwXgwCgYIKoZIzj0EAwIw\nLjEsMCoGA1UEAwwjS2V5ZmVycnkgdGVzdCBvcGVyYXRvciwgbm90IGZvciB1c2Uw\nIBcNMjYxMTIzMDIzNDI0WhgPMjEyNjEwMzAwMjM0MjRaMC4xLDAqBgNVBAMMI0tl\neWZlcnJ5IHRlc3Qgb3BlcmF0b3IsIG5vdCBmb3IgdXNlMFkwEwYHKoZIzj0CAQYI\nKoZIzj0DAQcDQgAE+71KH+x0g7b0rd4TotSLtIlulKgMSLQxiCOkI85eMU9jyh23\n1k5bhRBpnxh9wsnYfrOWyaNPY4M4YmheDPlHOqNTMFEwHQYDVR0OBBYEFLKIj4oD\nRtbnWsCJmfAKGZ+tdyWiMB8GA1UdIwQYMBaAFLKIj4oDRtbnWsCJmfAKGZ+tdyWi\nMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAI8EYFEdKfAG/tTc\n21pq24R6TEZvxda05/G/WJebI5DQAiEAqabuGXoLkA/eg25C8P/773oJjIIOqhnM\n/48pJgizmso=\n-----END CERTIFICATE-----\n", "certificates": [{"certificate": "-----BEGIN CERTIFICATE-----\nMIIByjCCAXGgAwIBAgIUSvB9qbAUjkYhTvc8jHvNqQhscn0wCgYIKoZIzj0EAwIw\nOjELMAkGA1UEBhMCREUxKzApBgNVBAMMIktleWZlcnJ5IHRlc3Qgc2lnbmluZywg\nbm90IGZvciB1c2UwIBcNMjYxMTIzMDIzNDI0WhgPMjEyNjEwMzAwMjM0MjRaMDox\nCzAJBgNVBAYTAkRFMSswKQYDVQQDDCJLZXlmZXJyeSB0ZXN0IHNpZ25pbmcsIG5v\ndCBmb3IgdXNlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAExFumY5m5u7JVIjK9\nJcJJ/ZLCigqNkEz7Re6xiaCI91+xd/RG1pRJ459gXkqe0mx3R2TzhmFOVOSi6H1j\nWyS0yqNTMFEwHQYDVR0OBBYEFM7qXpJLc/Z5dR9dyJ9jLBOvfT0qMB8GA1UdIwQY\nMBaAFM7qXpJLc/Z5dR9dyJ9jLBOvfT0qMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZI\nzj0EAwIDRwAwRAIgeoYfBVz4SrVqiDFDnnF1SaSNGbPgRZUJ45nTxBDapCICIGZI\nqzMVdWWXRPDn/EgkV2/0uo6AC7lM/bMSZVKgLJEB\n-----END CERTIFICATE-----\n", "country": "DE", "operatorSignature": "MEUCIAGS9t7v/cwYVJlHR+vgSJTAiv08wzQMuE+tL0lZBXaBAiEA51q053sCknwJb/4CRj5aNNkXnUYxAVlYJzSgQo20MHU=", "use": "SIGNING"}]}
    """#
  do {
    return try FederationTrust(json: Array(json.utf8))
  } catch {
    fatalError("\(error)")
  }
}()

/// However lenient: what is verified has the signer's certificate and its content; nothing is verified for another content,
/// and the strict reading takes nothing that the lenient one refuses.
@Sendable private func fuzzBatchSignature(_ input: UnsafeRawBufferPointer) {
  let header = Base64.encode(Array(input))
  func isVerified(_ content: [UInt8], _ allowed: SignatureAllowances) -> Bool {
    let batch = SignedBatch(canonical: content, origins: ["DE"], firstRows: [])
    guard let signer = try? trust.verify(header, over: batch, allowing: allowed, at: Instant("2030-01-01")!) else {
      return false
    }
    precondition(signer.certificate == trust.rows[0].certificate)
    return true
  }
  let lenient = SignatureAllowances(rawValue: 63)
  precondition(!isVerified(signedContent + [0], lenient))
  if isVerified(signedContent, []) { precondition(isVerified(signedContent, lenient)) }
  if isVerified(signedContent, lenient) { precondition(BatchSignature.reading(header)?.covers(signedContent) == true) }
}

/// What is read without a fault is written and read the same.
@Sendable private func fuzzFederationTrust(_ input: UnsafeRawBufferPointer) {
  guard let read = try? FederationTrust.read(Array(input)), read.faults.isEmpty else { return }
  precondition((try? FederationTrust(json: read.trust.json())) == read.trust)
  for row in read.trust.rows { _ = read.trust.isSigned(row) }
}
