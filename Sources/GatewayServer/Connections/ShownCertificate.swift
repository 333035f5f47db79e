internal import NIOCore
internal import NIOSSL

extension Channel {
  /// The DER of the certificate that the client has shown when its connection began, or when the session did that it resumes;
  /// `nil` where it has shown none. A stream of HTTP/2 has that of its connection.
  func certificateOfClient() async -> [UInt8]? {
    // The parent of a stream is its connection, and that of a connection is whoever listens, who knows of no certificate.
    for channel in [self, parent].compactMap(\.self) {
      let shown = channel.nioSSL_peerCertificate().flatMapThrowing { try $0?.toDERBytes() }
      if let certificate = try? await shown.get() { return certificate }
    }
    return nil
  }
}
