import BundleTrust
import Foundation
import GatewayTesting
import Testing

/// Whatever the libraries under it say of the values that they are given, the program tells no secret.
@Suite("What a service logs") struct SecretLogTests {
  private static let token = "distinctive-upload-token"
  private static let header = "distinctive-header-secret"

  @Test(
    "No secret stands in it, at any level",
    arguments: [("serve", "text"), ("run", "text"), ("serve", "json"), ("run", "json")])
  func hidden(command: String, format: String) async throws {
    try await Neighbourhood.visit { place in
      try makeGateway(in: place)
      // A server by itself records uploads in a store that is there. Pulling fails, since the peer is nobody, and makes it.
      if command == "serve" { try place.keyferry("pull", "--config", "gateway.yaml", status: 2) }
      let process = try place.start(
        [command, "--config", "gateway.yaml", "--log-level", "debug", "--log-format", format], log: "log")
      defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
      try await wait(for: "serving at", of: process, in: place)
      if command == "run" {
        // A request with the header was tried, and the configuration is read again.
        try await wait(for: "connection-refused", of: process, in: place)
        kill(process.processIdentifier, SIGHUP)
        try await wait(for: "configuration read again", of: process, in: place)
      }
      kill(process.processIdentifier, SIGTERM)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)

      let log = try text(place)
      #expect(log.contains("debug") && log.contains("Service lifecycle ended"), "it is not as talkative as it can be")
      #expect(log.contains("the server"))
      for secret in [Self.token, Self.header, "PRIVATE KEY"] { #expect(!log.contains(secret), "\(secret)") }
      for file in ["tls.key", "client.key", "response.key", "sign.key"] {
        for line in try bodyLines(of: file, in: place) { #expect(!log.contains(line), "\(file)") }
      }
    }
  }

  /// The lines of a private key's PEM that hold its number.
  private func bodyLines(of file: String, in place: Neighbourhood) throws -> [String] {
    let pem = try String(contentsOf: place.folder.appending(path: file), encoding: .utf8)
    let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.prefix(2).map(String.init)
    try #require(lines.count == 2 && lines[0].utf8.count == 64)
    return lines
  }

  private func makeGateway(in place: Neighbourhood) throws {
    let openssl = try #require(Tool(named: "openssl"), "openssl makes the certificates")
    for name in ["tls", "client"] {
      let made = try openssl.run(
        [
          "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
          "/CN=localhost", "-keyout", "\(name).key", "-out", "\(name).pem",
        ], in: place.folder)
      try #require(made.status == 0, "\(made.errors)")
    }
    for name in ["response", "sign"] { try place.keyferry("keygen", "-o", "\(name).key") }
    try place.write(Self.token, "token")
    try place.write(Self.header, "header")
    try place.write("", "drop/none")
    try place.write(
      """
      state: state
      sources:
        - name: peer
          protocol: index
          location: https://127.0.0.1:1/v1
          options: {index: index.txt}
          trust: operator
          origin: NL
          speaks-for: [NL]
          http:
            headers: {Authorization: {file: header, prefix: "Bearer "}}
            client-certificate: client.pem
            client-key: {file: client.key}
            retries: 0
      series:
        - name: all
          region: "310"
          every: 2 hours
          sign: [{key: {file: sign.key}, id: "310", version: v1}]
      publication: {folder: public}
      server:
        listen: "127.0.0.1:0"
        certificate: tls.pem
        key: {file: tls.key}
        response-key: {file: response.key}
        uploads: {origin: NL, token: {file: token}}
      """, "gateway.yaml")
  }

  private func text(_ place: Neighbourhood) throws -> String {
    try String(contentsOf: place.folder.appending(path: "log"), encoding: .utf8)
  }

  private func wait(for words: String, of process: Process, in place: Neighbourhood) async throws {
    for _ in 0..<600 where process.isRunning {
      if try text(place).contains(words) { return }
      try await Task.sleep(for: .milliseconds(50))
    }
    let log = try text(place)
    try #require(log.contains(words), "no \"\(words)\" in\n\(log)")
  }
}
