import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import ProgramMetrics
import Testing

@testable import GatewayDaemon
@testable import GatewayServer

/// Certificates that are renewed while the server runs, seen by OpenSSL's client.
@Suite("TLS certificates that are renewed", .enabled(if: Tool(named: "openssl") != nil, "needs openssl"))
struct CertificateTests {
  let fixture: PublicationFixture

  init() throws { fixture = try PublicationFixture() }

  private var certificate: URL { fixture.folder.appending(path: "tls.pem") }
  private var key: URL { fixture.folder.appending(path: "tls.key") }

  /// Makes a certificate for a name in the place of the one before.
  private func renew(_ name: String, days: Int = 2, keepingKey: Bool = false) throws {
    let tool = try #require(Tool(named: "openssl"))
    let made = try tool.run([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "\(days)",
      "-subj",
      "/CN=\(name)", "-keyout", keepingKey ? fixture.folder.appending(path: "other.key").path : key.path, "-out",
      certificate.path,
    ])
    try #require(made.status == 0, "\(made.errors)")
  }

  /// The name of the certificate that a client is shown.
  private func shown(at port: Int) throws -> String {
    let tool = try #require(Tool(named: "openssl"))
    let outcome = try tool.run(["s_client", "-connect", "127.0.0.1:\(port)"], input: [])
    return outcome.text.split(separator: "\n").first { $0.contains("subject=") }
      .flatMap { $0.split(separator: "=").last }.map { $0.trimmingCharacters(in: .whitespaces) } ?? outcome.errors
  }

  private func settings() throws -> ServerSettings {
    var settings = ServerSettings(port: 0)
    settings.certificatePEM = try String(contentsOf: certificate, encoding: .utf8)
    settings.privateKeyPEM = Secret(try String(contentsOf: key, encoding: .utf8))
    (settings.certificateFile, settings.privateKeyFile) = (certificate.path, key.path)
    return settings
  }

  @Test("Who comes is shown the renewed one, a broken one keeps the old one and is told, and a mended one is shown")
  func renewed() async throws {
    try fixture.publish("NL", bundles: 1)
    try renew("first", days: 2)
    let (metrics, readiness) = (GatewayMetrics(), Readiness())
    let application = try GatewayApplication.testing(fixture, settings: settings(), metrics: metrics)
    let watch = try #require(
      CertificateWatch(try settings(), application.certificates, metrics: metrics, readiness: readiness, interval: 1))
    let watching = Task { try await watch.run() }
    defer { watching.cancel() }
    try await application.whileServing { port in
      #expect(try shown(at: port) == "first")
      func waits(for name: String) async throws -> String {
        for _ in 0..<50 where try shown(at: port) != name { try await Task.sleep(for: .milliseconds(100)) }
        return try shown(at: port)
      }
      try renew("second", days: 9)
      #expect(try await waits(for: "second") == "second")
      let end = try #require(application.certificates.ends.first?.end)
      #expect(
        metrics.text.contains(
          "keyferry_tls_certificate_expiry_timestamp_seconds{address=\"server\"} \(end.secondsSince1970)\n"))
      #expect(end.secondsSince1970 > Int64(Date.now.timeIntervalSince1970) + 8 * 86_400)

      // A key that is not the certificate's.
      try renew("third", keepingKey: true)
      for _ in 0..<50 where readiness.reasons.isEmpty { try await Task.sleep(for: .milliseconds(100)) }
      #expect(readiness.reasons.first?.contains("does not belong to the certificate") == true, "\(readiness.reasons)")
      #expect(try shown(at: port) == "second")
      try Data("no certificate".utf8).write(to: certificate)
      try await Task.sleep(for: .milliseconds(1500))
      #expect(try shown(at: port) == "second" && !readiness.reasons.isEmpty)
      try FileManager.default.removeItem(at: certificate)
      try await Task.sleep(for: .milliseconds(1500))
      #expect(try shown(at: port) == "second")
      for reason in readiness.reasons { #expect(!reason.contains("PRIVATE KEY-----")) }

      try renew("fourth")
      #expect(try await waits(for: "fourth") == "fourth")
      #expect(readiness.reasons.isEmpty)
    }
  }

  @Test("A reload shows the certificate of the settings that were read again, and TLS neither begins nor ends by it")
  func reload() throws {
    try renew("first")
    let application = try GatewayApplication.testing(fixture, settings: settings())
    let watch = try #require(
      CertificateWatch(try settings(), application.certificates, metrics: GatewayMetrics(), readiness: nil))
    let first = application.certificates.ends.first?.end
    try renew("second", days: 30)
    watch.take(try settings())
    let second = application.certificates.ends.first?.end
    #expect(second != first)
    watch.take(ServerSettings())
    #expect(application.certificates.ends.first?.end == second)
    #expect(
      CertificateWatch(
        ServerSettings(), try GatewayApplication.testing(fixture).certificates, metrics: GatewayMetrics(),
        readiness: nil)
        == nil)
  }
}
