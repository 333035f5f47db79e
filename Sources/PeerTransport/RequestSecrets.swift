internal import BundleTrust
internal import ExposureKeys
internal import KeyPeers

/// The secrets of a source on their way into its requests: everywhere else `{name}` stands for them.
struct RequestSecrets: Sendable {
  private struct Entry: Sendable {
    /// `{name}`, and as it stands in an address.
    let mask: String
    let encodedMask: String
    let secret: Secret

    /// As it stands in an address: nothing of it can end a segment or begin a query (RFC 3986).
    var encoded: String { PercentEncoding.encode(secret.disclosed) }
  }

  /// The longest secret first: another one may be a part of it.
  private let entries: [Entry]

  init(_ secrets: [String: Secret]) {
    entries = secrets.filter { !$0.value.disclosed.isEmpty }.map { name, secret in
      Entry(mask: "{\(name)}", encodedMask: PercentEncoding.encode("{\(name)}"), secret: secret)
    }.sorted { ($0.secret.disclosed.utf8.count, $0.mask) > ($1.secret.disclosed.utf8.count, $1.mask) }
  }

  private init(_ entries: [Entry]) { self.entries = entries }

  var isEmpty: Bool { entries.isEmpty }

  /// With what stands for `{seal}`; a seal of a secret that there is not, or of one that is no key, stays as it is written.
  func adding(_ seal: PeerRequest.Seal?) -> RequestSecrets {
    guard let seal, let key = entries.first(where: { $0.mask == "{\(seal.secret)}" }),
      let text = seal.text(under: key.secret)
    else { return self }
    let mask = PeerRequest.Seal.mask
    return RequestSecrets(
      entries + [Entry(mask: mask, encodedMask: PercentEncoding.encode(mask), secret: Secret(text))])
  }

  // MARK: Putting them in

  /// Whether a request to this address, or with this header, is one for a secret.
  func belong(in address: WebAddress) -> Bool { entries.contains { address.text.contains($0.encodedMask) } }
  func belong(in header: PeerRequest.Header) -> Bool { entries.contains { header.value.contains($0.mask) } }

  /// What is sent.
  func disclosed(in address: WebAddress) -> String {
    entries.reduce(address.text) { $0.replacing($1.encodedMask, with: $1.encoded) }
  }

  func disclosed(in header: PeerRequest.Header) -> PeerRequest.Header {
    PeerRequest.Header(header.name, entries.reduce(header.value) { $0.replacing($1.mask, with: $1.secret.disclosed) })
  }

  // MARK: Taking them out

  /// What a peer has said, without a secret that it repeats.
  func masked(_ text: String) -> String {
    entries.reduce(text) {
      $0.replacing($1.secret.disclosed, with: $1.mask).replacing($1.encoded, with: $1.mask)
    }
  }

  func masked(_ headers: [PeerRequest.Header]) -> [PeerRequest.Header] {
    isEmpty ? headers : headers.map { PeerRequest.Header($0.name, masked($0.value)) }
  }

  func masked(_ bytes: [UInt8]) -> [UInt8] {
    entries.reduce(bytes) { bytes, entry in
      let once = bytes.replacing(Array(entry.secret.disclosed.utf8), with: Array(entry.mask.utf8))
      return once.replacing(Array(entry.encoded.utf8), with: Array(entry.mask.utf8))
    }
  }
}
