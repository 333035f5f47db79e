internal import BundleTrust
package import ExposureKeys
internal import NIOHTTP2
internal import NIOSSL
internal import NetworkFaults
internal import Synchronization

/// The certificate that a server shows, with its key. It can be replaced while the server runs: a connection is shown what
/// holds when it begins, and keeps it. The lock owns it.
package final class HeldTLS: Sendable {
  private struct State {
    var context: NIOSSLContext
    var certificates: String
    var key: Secret
    var end: Instant
  }

  private let state: Mutex<State>
  private let asksForCertificate: Bool
  private let places: (certificate: String, key: String)

  static let serverPlaces = (certificate: "TLS certificate", key: "TLS private key")

  /// - Parameters:
  ///   - certificates: the chain as PEM, the server's own first.
  ///   - asksForCertificate: whether clients are asked for one, too; they need not have any.
  ///   - places: what faults are said to be of.
  /// - Throws: ``ServerFault`` also where the key is not the certificate's.
  init(
    _ certificates: String, _ key: Secret?, asksForCertificate: Bool,
    places: (certificate: String, key: String) = HeldTLS.serverPlaces
  ) throws {
    self.asksForCertificate = asksForCertificate
    self.places = places
    state = Mutex(try Self.state(certificates, key, asksForCertificate: asksForCertificate, places: places))
  }

  /// What a connection is set up with that begins now.
  var context: NIOSSLContext { state.withLock { $0.context } }

  /// When the certificate ends.
  package var end: Instant { state.withLock { $0.end } }

  /// Shows others from now on.
  ///
  /// - Returns: whether they are others.
  /// - Throws: ``ServerFault`` where they cannot be used; what was there stays.
  func replace(with certificates: String, _ key: Secret?) throws -> Bool {
    guard state.withLock({ $0.certificates != certificates || $0.key != key }) else { return false }
    let new = try Self.state(certificates, key, asksForCertificate: asksForCertificate, places: places)
    state.withLock { $0 = new }
    return true
  }

  private static func state(
    _ certificates: String, _ key: Secret?, asksForCertificate: Bool, places: (certificate: String, key: String)
  ) throws -> State {
    guard let key else {
      throw ServerFault(place: "TLS", reason: "a certificate is given, and no private key")
    }
    // What the library says is the name of a step of it.
    guard let chain = try? NIOSSLCertificate.fromPEMBytes(Array(certificates.utf8)) else {
      throw ServerFault(place: places.certificate, reason: "no PEM certificate can be read")
    }
    guard let own = chain.first else { throw ServerFault(place: places.certificate, reason: "there is no certificate") }
    guard let privateKey = try? NIOSSLPrivateKey(bytes: Array(key.disclosed.utf8), format: .pem) else {
      throw ServerFault(place: places.key, reason: "no PEM private key can be read")
    }
    var tls = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(privateKey))
    tls.requireAuthenticatedEncryption()
    tls.applicationProtocols = NIOHTTP2SupportedALPNProtocols
    if asksForCertificate {
      // The whitelist is asked with each request: here nobody is refused, so that everybody is told why. Nobody's signature
      // under a certificate counts.
      tls.certificateVerification = .optionalVerification
      tls.trustRoots = .certificates([])
    }
    do {
      return State(
        context: try NIOSSLContext(configuration: tls), certificates: certificates, key: key,
        end: Instant(secondsSince1970: Int64(own.notValidAfter)))
    } catch NIOSSLError.failedToLoadPrivateKey {
      throw ServerFault(place: places.key, reason: "the private key does not belong to the certificate")
    } catch {
      throw ServerFault(place: places.certificate, reason: "\(NetworkFault(error))")
    }
  }
}

/// The certificates of a server, at each of its addresses.
package struct ServedCertificates: Sendable {
  /// `nil` is plain HTTP.
  let server: HeldTLS?
  let federation: HeldTLS?

  package var isEmpty: Bool { server == nil && federation == nil }

  /// When each ends, by its address.
  package var ends: [(address: String, end: Instant)] {
    [("server", server), ("federation", federation)].compactMap { name, held in held.map { (name, $0.end) } }
  }

  /// Shows those of other settings from now on. Where TLS begins or ends is not changed.
  ///
  /// - Returns: whether any of them is another one.
  /// - Throws: ``ServerFault`` for the first that cannot be used; it stays as it was.
  package func take(_ settings: ServerSettings) throws -> Bool {
    var isNew = false
    if let server, let certificate = settings.certificatePEM {
      isNew = try server.replace(with: certificate, settings.privateKeyPEM)
    }
    if let federation, let door = settings.federationDoor {
      let isOwn = door.certificatePEM != nil
      if let certificate = isOwn ? door.certificatePEM : settings.certificatePEM {
        let key = isOwn ? door.privateKeyPEM : settings.privateKeyPEM
        isNew = try federation.replace(with: certificate, key) || isNew
      }
    }
    return isNew
  }

  /// When a certificate ends that stands first in a file.
  ///
  /// - Throws: ``ServerFault``.
  package static func end(ofPEM text: String) throws -> Instant {
    guard let chain = try? NIOSSLCertificate.fromPEMBytes(Array(text.utf8)) else {
      throw ServerFault(place: "TLS certificate", reason: "no PEM certificate can be read")
    }
    guard let own = chain.first else { throw ServerFault(place: "TLS certificate", reason: "there is no certificate") }
    return Instant(secondsSince1970: Int64(own.notValidAfter))
  }
}
