import Foundation
import GatewayTesting
import Testing

/// The program that runs shows a renewed certificate once it is told to read its configuration again.
@Suite("The TLS certificate of a gateway that runs", .enabled(if: Tool(named: "openssl") != nil, "needs openssl"))
struct RunningCertificateTests {
  private func renew(_ name: String, in place: Neighbourhood) throws {
    let made = try #require(Tool(named: "openssl")).run([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "20", "-subj",
      "/CN=\(name)", "-keyout", place.path("nl/tls.key"), "-out", place.path("nl/tls.pem"),
    ])
    try #require(made.status == 0, "\(made.errors)")
  }

  private func shown(at address: URL) throws -> String {
    let outcome = try #require(Tool(named: "openssl")).run(
      ["s_client", "-connect", "127.0.0.1:\(address.port ?? 0)"], input: [])
    return outcome.text.split(separator: "\n").first { $0.contains("subject=") }.map(String.init) ?? outcome.errors
  }

  @Test(.timeLimit(.minutes(2))) func isRenewedByAReload() async throws {
    try await Neighbourhood.visit { place in
      try place.gateway("nl", origin: "NL")
      try renew("first", in: place)
      let settings = try String(contentsOfFile: place.path("nl/gateway.yaml"), encoding: .utf8)
      try place.write(
        settings.replacing("127.0.0.1:0\"}", with: "127.0.0.1:0\", certificate: tls.pem, key: {file: tls.key}}"),
        "nl/gateway.yaml")
      try await place.running("nl") { process, address in
        #expect(address.scheme == "https")
        #expect(try shown(at: address).contains("first"))
        try renew("second", in: place)
        kill(process.processIdentifier, SIGHUP)
        for _ in 0..<100 where try !shown(at: address).contains("second") {
          try await Task.sleep(for: .milliseconds(100))
        }
        #expect(try shown(at: address).contains("second"))
        // Half of a renewal: the whole configuration is refused, and the old one stays.
        let key = try String(contentsOfFile: place.path("nl/tls.key"), encoding: .utf8)
        try renew("third", in: place)
        try place.write(key, "nl/tls.key")
        kill(process.processIdentifier, SIGHUP)
        var log = ""
        for _ in 0..<100 where !log.contains("configuration has faults") {
          try await Task.sleep(for: .milliseconds(100))
          log = try String(contentsOfFile: place.path("run.log"), encoding: .utf8)
        }
        #expect(log.contains("does not belong to the certificate"), "\(log)")
        // Whoever asks whether it is ready hears it at once, half a minute before the files are looked at anyway.
        var ready = ""
        let begun = ContinuousClock.now
        while !ready.contains("certificate has changed and cannot be used"), begun.duration(to: .now) < .seconds(8) {
          ready = try #require(Tool(named: "openssl")).run(
            ["s_client", "-connect", "127.0.0.1:\(address.port ?? 0)", "-quiet"],
            input: Array("GET /ready/publishing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
          ).text
          try await Task.sleep(for: .milliseconds(200))
        }
        #expect(ready.contains("certificate has changed and cannot be used"), "\(ready)")
        #expect(!log.contains("stay as they are until a restart"))
        #expect(try shown(at: address).contains("second"))
      }
      let status = try place.keyferry("status", "--config", "nl/gateway.yaml", "--brief", status: 1)
      #expect(status.text.contains("certificate of server  ends "), "\(status.text)")
    }
  }
}
