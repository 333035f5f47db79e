import BundleTrust
import Foundation
import GatewayTesting
import KeyPeers
import NIOSSL
import PeerTransport
import Testing

/// Certificates that live as long as the tests.
struct TestCertificates: Sendable {
  let rootPEM: String
  let otherRootPEM: String
  let clientPEM: String
  let clientKeyPEM: String
  let serverPEM: String
  let serverKeyPEM: String
  /// For keys.example.org, with the key of the server.
  let strangerPEM: String

  static let shared = Result { try TestCertificates() }

  private init() throws {
    let openssl = try #require(Tool(named: "openssl"), "needs openssl: apt-get install openssl")
    let texts = try withTemporaryFolder { folder in
      let extensions = "[here]\nsubjectAltName=IP:127.0.0.1\n[there]\nsubjectAltName=DNS:keys.example.org\n"
      try Data(extensions.utf8).write(to: folder.appending(path: "leaf.cnf"))
      func run(_ line: String) throws {
        let outcome = try openssl.run(line.split(separator: " ").map(String.init), in: folder)
        try #require(outcome.status == 0, "openssl \(line): \(outcome.errors)")
      }
      let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
      for root in ["root", "other"] {
        try run("req -x509 \(key) -keyout \(root).key -out \(root).pem -days 2 -subj /CN=\(root)")
      }
      for leaf in ["server", "client"] { try run("req \(key) -keyout \(leaf).key -out \(leaf).csr -subj /CN=\(leaf)") }
      for (leaf, request, place) in [
        ("server", "server", "here"), ("client", "client", "here"), ("stranger", "server", "there"),
      ] {
        try run(
          "x509 -req -in \(request).csr -CA root.pem -CAkey root.key -CAcreateserial -days 2 -extfile leaf.cnf "
            + "-extensions \(place) -out \(leaf).pem")
      }
      return try ["root.pem", "other.pem", "client.pem", "client.key", "server.pem", "server.key", "stranger.pem"].map {
        try String(contentsOf: folder.appending(path: $0), encoding: .utf8)
      }
    }
    (rootPEM, otherRootPEM, clientPEM) = (texts[0], texts[1], texts[2])
    (clientKeyPEM, serverPEM, serverKeyPEM, strangerPEM) = (texts[3], texts[4], texts[5], texts[6])
  }

  func serverContext(
    _ certificatePEM: String, asksForCertificate: Bool = false, protocols: [String] = ["http/1.1"]
  ) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(certificatePEM.utf8)).map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(serverKeyPEM.utf8), format: .pem)))
    configuration.applicationProtocols = protocols
    if asksForCertificate {
      configuration.certificateVerification = .noHostnameVerification
      configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(rootPEM.utf8)))
    }
    return try NIOSSLContext(configuration: configuration)
  }
}

@Suite struct TLSTests {
  private let certificates: TestCertificates

  init() throws { certificates = try TestCertificates.shared.get() }

  private func withServer(
    certificatePEM: String? = nil, asksForCertificate: Bool = false,
    _ respond: @escaping StubServer.Respond = { try await $1.respond(body: "keys") },
    _ body: (Bench, StubServer, String) async throws -> Void
  ) async throws {
    let context = try certificates.serverContext(
      certificatePEM ?? certificates.serverPEM, asksForCertificate: asksForCertificate)
    try await StubServer.run(tls: context, respond) { server in
      try await Bench.run { try await body($0, server, "https://127.0.0.1:\(server.port)") }
    }
  }

  @Test(arguments: [true, false])
  func trustsTheGivenRoots(http2: Bool) async throws {
    try await withServer { bench, _, location in
      let transport = try bench.transport(location) {
        $0.rootsPEM = certificates.rootPEM
        $0.http2 = http2
      }
      #expect(try await transport.ask(PeerRequest(url: "a")).body == Array("keys".utf8))
    }
  }

  @Test func refusesAServerUnderAnotherRoot() async throws {
    try await withServer { bench, server, location in
      for roots in [certificates.otherRootPEM, nil] {
        let transport = try bench.transport(location) {
          $0.rootsPEM = roots
          $0.retries = 2
        }
        let fault = try await fault { _ = try await transport.ask(PeerRequest(url: "a")) }
        #expect(fault.code == "tls")
        #expect(fault.reason.hasSuffix("the server's certificate is not valid under the trusted roots"))
      }
      #expect(server.log.requests.isEmpty)
      #expect(bench.clock.slept.isEmpty)
    }
  }

  @Test func refusesACertificateForAnotherHost() async throws {
    try await withServer(certificatePEM: certificates.strangerPEM) { bench, _, location in
      let transport = try bench.transport(location) { $0.rootsPEM = certificates.rootPEM }
      let fault = try await fault { _ = try await transport.ask(PeerRequest(url: "a")) }
      #expect(fault.code == "tls")
      #expect(fault.reason.hasSuffix("the server's certificate is for another host"))
    }
  }

  @Test func showsItsCertificateWhenAsked() async throws {
    try await withServer(asksForCertificate: true) { bench, server, location in
      let known = try bench.transport(location) {
        $0.rootsPEM = certificates.rootPEM
        $0.clientCertificatePEM = certificates.clientPEM
        $0.clientKeyPEM = Secret(certificates.clientKeyPEM)
      }
      #expect(try await known.ask(PeerRequest(url: "a")).body == Array("keys".utf8))

      // The connection of the source with a certificate does not serve the one without.
      let unknown = try bench.transport(location) { $0.rootsPEM = certificates.rootPEM }
      let fault = try await fault { _ = try await unknown.ask(PeerRequest(url: "a")) }
      #expect(fault.code == "tls")
      #expect(server.log.requests.count == 1)
    }
  }

  @Test func neverGoesFromHTTPSToHTTP() async throws {
    try await StubServer.run({ try await $1.respond() }) { plain in
      try await withServer { _, connection in
        try await connection.respond("302 There", ["Location: http://127.0.0.1:\(plain.port)/"])
      } _: { bench, _, location in
        let transport = try bench.transport(location) { $0.rootsPEM = certificates.rootPEM }
        #expect(try await fault { _ = try await transport.ask(PeerRequest(url: "a")) }.code == "redirect-refused")
        #expect(plain.log.requests.isEmpty)
      }
    }
  }

  @Test func saysThatAPortDoesNotSpeakTLS() async throws {
    try await StubServer.run({ _, _ in }) { plain in
      try await Bench.run { bench in
        let transport = try bench.transport("https://127.0.0.1:\(plain.port)")
        let fault = try await fault { _ = try await transport.ask(PeerRequest(url: "a")) }
        #expect(fault.code == "tls")
        #expect(fault.reason.hasSuffix("the server does not speak TLS at this port"))
      }
    }
  }

  @Test func refusesCertificatesThatCannotBeUsed() async throws {
    let good = certificates
    let cases: [(String, (inout TransportSettings) -> Void)] = [
      ("the trusted roots: no PEM certificate can be read", { $0.rootsPEM = "hidden" }),
      ("the trusted roots: no PEM certificate can be read", { $0.rootsPEM = "" }),
      ("the client certificate has no key", { $0.clientCertificatePEM = good.clientPEM }),
      ("there is a client key without a certificate", { $0.clientKeyPEM = Secret(good.clientKeyPEM) }),
      (
        "the key of the client certificate is not a PEM private key without a password",
        {
          $0.clientCertificatePEM = good.clientPEM
          $0.clientKeyPEM = "hidden"
        }
      ),
      (
        "the client certificate and its key do not belong together",
        {
          $0.clientCertificatePEM = good.clientPEM
          $0.clientKeyPEM = Secret(good.serverKeyPEM)
        }
      ),
    ]
    try await Bench.run { bench in
      for (reason, change) in cases {
        let fault = #expect(throws: TransportFault.self) { _ = try bench.transport("https://h.example", change) }
        #expect(fault?.code == "tls")
        #expect(fault?.reason == reason)
      }
    }
  }

  @Test func clientsEndWithTheirOwner() async throws {
    try await withServer { bench, _, location in
      let transport = try bench.transport(location) { $0.rootsPEM = certificates.rootPEM }
      _ = try await transport.ask(PeerRequest(url: "a"))
      await bench.clients.shutdown()
      await #expect(throws: CancellationError.self) { try await transport.ask(PeerRequest(url: "a")) }
      #expect(throws: CancellationError.self) { _ = try bench.transport(location) }
    }
  }
}
