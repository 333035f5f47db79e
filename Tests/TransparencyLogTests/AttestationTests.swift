import Foundation
import GatewayTesting
import Testing
import TransparencyLog

/// Attestations: what they say, who has signed it, and that programs which are not ours agree.
@Suite struct AttestationTests {
  /// A key of the fixed vectors: the bytes 0 to 31.
  static func signer() throws -> AttestationSigner {
    let der: [UInt8] = [
      0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
    ]
    let pem = Data(der + Array(0..<32)).base64EncodedString()
    return try AttestationSigner(pem: "-----BEGIN PRIVATE KEY-----\n\(pem)\n-----END PRIVATE KEY-----\n", name: "key")
  }

  /// The worked example of the fixed vectors; see interop/log/attestation.json.
  private struct Example: Decodable {
    struct Signature: Decodable {
      var keyid: String
      var sig: String
    }
    struct Enclosed: Decodable {
      var payload: String
      var payloadType: String
      var signatures: [Signature]
    }
    var statement: String
    var prefix: String
    var envelope: Enclosed

    enum CodingKeys: String, CodingKey {
      case envelope
      case statement = "statement_bytes"
      case prefix = "pae_prefix"
    }
  }

  private static let example: Result<Example, any Error> = Result {
    let place = PackageFolder.root.appending(path: "interop/log/attestation.json")
    return try JSONDecoder().decode(Example.self, from: Data(contentsOf: place))
  }

  static let provenance = Provenance(
    of: [
      Provenance.Subject(name: "export.bin", digest: String(repeating: "1a", count: 32)),
      Provenance.Subject(name: "NL/1 \"ä\".zip", digest: String(repeating: "2b", count: 32)),
    ], buildType: "https://keyferry.example/bundle/v1", externalParameters: ["series": "NL", "kind": "increment"],
    internalParameters: ["keys": "17"],
    dependencies: [
      Provenance.Dependency(name: "policy", uri: "keyferry:policy", digest: String(repeating: "3c", count: 32)),
      Provenance.Dependency(name: "log", uri: "https://keys.example.org/log", annotations: ["entries_before": "3"]),
    ], builder: "https://keys.example.org/log", versions: ["keyferry": "0.1.0"], invocation: "NL/17",
    started: "2020-12-01T08:00:00Z", finished: "2020-12-01T08:00:01Z")

  @Test func theExampleIsOurs() throws {
    let example = try Self.example.get()
    let payload = Array(example.statement.utf8)
    let message = Envelope.preAuthenticated(Envelope.statementType, payload)
    #expect(message == Array((example.prefix + example.statement).utf8))
    let envelope = try Envelope(payload, by: Self.signer())
    let signature = try #require(example.envelope.signatures.first)
    #expect(
      String(decoding: envelope.bytes, as: UTF8.self) == """
        {"payload":"\(example.envelope.payload)","payloadType":"application/vnd.in-toto+json",\
        "signatures":[{"keyid":"\(signature.keyid)","sig":"\(signature.sig)"}]}

        """)
    let read = try Envelope(envelope.bytes, name: "example")
    #expect(read == envelope)
    try read.verify(by: Self.signer().publicKey, name: "example")
    let provenance = try Provenance(read.payload, name: "example")
    #expect(provenance.subjects.map(\.name) == ["export.bin", "us/1606780800-1606784400-00001.zip"])
    #expect(provenance.externalParameters["ordinal"] == "17" && provenance.versions == ["keyferry": "0.9.0"])
    #expect(
      Envelope.preAuthenticated("http://example.com/HelloWorld", Array("hello world".utf8))
        == Array("DSSEv1 29 http://example.com/HelloWorld 11 hello world".utf8))
  }

  @Test func whatIsWrittenIsRead() throws {
    let bytes = Self.provenance.bytes
    #expect(try Provenance(bytes, name: "statement") == Self.provenance)
    #expect(try Provenance(bytes, name: "statement").bytes == bytes)
    let envelope = try Envelope(bytes, by: Self.signer())
    #expect(try Envelope(envelope.bytes, name: "envelope") == envelope)
    // Both alphabets, with and without padding; members that are not known.
    let line = String(decoding: envelope.bytes, as: UTF8.self)
    let other = line.replacing("+", with: "-").replacing("==\"}", with: "\",\"cert\":null}")
      .replacing("vnd.in-toto-json", with: "vnd.in-toto+json")
    #expect(try Envelope(Array(other.utf8), name: "envelope") == envelope)
  }

  @Test func keysAreReadAsTheyAreWritten() throws {
    let signer = AttestationSigner.generate()
    let again = try AttestationSigner(pem: signer.disclosed, name: "key")
    #expect(again.publicKey == signer.publicKey)
    #expect(try AttestationKey(pem: signer.publicKey.pem, name: "key") == signer.publicKey)
    #expect(!"\(signer)".contains(signer.disclosed.split(separator: "\n")[1]))
    for text in ["", signer.disclosed, "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
      #expect(throws: LogFault.self) { try AttestationKey(pem: text, name: "key") }
    }
    #expect(throws: LogFault.self) { try AttestationSigner(pem: signer.publicKey.pem, name: "key") }
  }

  @Test func whatIsWrongIsNamed() throws {
    let signer = try Self.signer()
    let envelope = try Envelope(Self.provenance.bytes, by: signer)
    func code(_ body: () throws -> Void) -> LogFault.Code? {
      do { try body() } catch { return (error as? LogFault)?.code }
      return nil
    }
    #expect(code { try envelope.verify(by: AttestationSigner.generate().publicKey, name: "a") } == .badSignature)
    let line = String(decoding: envelope.bytes, as: UTF8.self)
    let otherType = line.replacing("vnd.in-toto+json", with: "vnd.in-toto-json")
    let moved = try Envelope(Array(otherType.utf8), name: "a")
    #expect(code { try moved.verify(by: signer.publicKey, name: "a") } == .badSignature)
    let none = "{\"payload\":\"\",\"payloadType\":\"a\",\"signatures\":[]}"
    let many =
      "{\"payload\":\"\",\"payloadType\":\"a\",\"signatures\":["
      + Array(repeating: "{\"sig\":\"\"}", count: 17).joined(separator: ",") + "]}"
    for text in [
      "", "{}", "[]", line + line, none, many,
      "{\"payload\":\"!\",\"payloadType\":\"a\",\"signatures\":[{\"sig\":\"\"}]}",
    ] {
      #expect(code { _ = try Envelope(Array(text.utf8), name: "a") } == .badAttestation, "\(text.prefix(60))")
    }
    #expect(
      code { _ = try Envelope([UInt8](repeating: 0x20, count: Envelope.byteLimit + 1), name: "a") } == .badAttestation)
    let statement = String(decoding: Self.provenance.bytes, as: UTF8.self)
    for (old, new) in [
      ("Statement/v1", "Statement/v0.1"), ("provenance/v1", "provenance/v0.2"), ("2b2b2b2b", "2B2B2B2B"),
      ("\"subject\":[", "\"subject\":["), ("NL/1 \\\"ä\\\".zip", "export.bin"), ("\"buildType\":\"", "\"type\":\""),
    ] where old != new {
      let text = statement.replacing(old, with: new, maxReplacements: 1)
      #expect(text != statement)
      #expect(code { _ = try Provenance(Array(text.utf8), name: "a") } == .badAttestation, "\(new)")
    }
  }

  /// Programs differ in which of two members of one name they take.
  @Test func repeatedMembersAreRefused() throws {
    let signer = try Self.signer()
    let line = String(decoding: try Envelope(Self.provenance.bytes, by: signer).bytes, as: UTF8.self)
    for (old, new) in [
      ("{\"payload\"", "{\"payload\":\"e30=\",\"payload\""), ("{\"keyid\"", "{\"sig\":\"\",\"keyid\""),
      ("{\"payload\"", "{\"other\":{\"a\":[],\"a\":1},\"payload\""),
      ("{\"payload\"", "{ \"p\\u0061yload\" : \"e30=\", \"payload\""),
      ("{\"payload\"", "{\"b\":1,\"\\u0062\":1,\"payload\""),
    ] {
      let text = line.replacing(old, with: new, maxReplacements: 1)
      #expect(text != line)
      let fault = #expect(throws: LogFault.self) { try Envelope(Array(text.utf8), name: "a") }
      #expect(fault?.code == .badAttestation && fault?.reason.contains("twice") == true, "\(new)")
    }
    // A name in two objects, a text that is one, and a list of equal ones.
    let sound = line.replacing(
      "{\"payload\"", with: "{\"x\":[\"a\",\"a\",{\"a\":\"a\"},{\"a\":\"\\\"\"}],\"payload\"", maxReplacements: 1)
    #expect(throws: Never.self) { try Envelope(Array(sound.utf8), name: "a") }
    let statement = String(decoding: Self.provenance.bytes, as: UTF8.self)
    for (old, new) in [
      ("\"predicateType\"", "\"subject\":[],\"predicateType\""), ("\"series\"", "\"series\":\"US\",\"series\""),
      ("\"sha256\":\"1a", "\"sha256\":\"00\",\"sha256\":\"1a"),
    ] {
      let text = statement.replacing(old, with: new, maxReplacements: 1)
      #expect(text != statement)
      let fault = #expect(throws: LogFault.self) { try Provenance(Array(text.utf8), name: "a") }
      #expect(fault?.reason.contains("twice") == true, "\(new)")
    }
  }

  // MARK: Others

  private static let openSSL = Tool(named: "openssl")

  @Test(.enabled(if: openSSL != nil, "needs openssl: apt-get install openssl")) func openSSLAgrees() async throws {
    let openSSL = try #require(Self.openSSL)
    try await Workbench.run { bench in
      let signer = AttestationSigner.generate()
      let envelope = try Envelope(Self.provenance.bytes, by: signer)
      let (key, message, signature) = (
        bench.root.path() + "attest.pem", bench.root.path() + "pae", bench.root.path() + "sig"
      )
      try Data(signer.publicKey.pem.utf8).write(to: URL(filePath: key))
      try Data(Envelope.preAuthenticated(envelope.payloadType, envelope.payload)).write(to: URL(filePath: message))
      try Data(envelope.signatures[0].bytes).write(to: URL(filePath: signature))
      let verify = ["pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin", "-in", message, "-sigfile", signature]
      let verdict = try openSSL.run(verify)
      #expect(verdict.status == 0, "\(verdict.text)\(verdict.errors)")
      try Data(envelope.payload).write(to: URL(filePath: message))
      #expect(try openSSL.run(verify).status != 0)
    }
  }

  private static let python: Tool? = {
    let name = ProcessInfo.processInfo.environment["KEYFERRY_PYTHON"] ?? "python3"
    let tool = name.contains("/") ? Tool(path: name) : Tool(named: name)
    return (try? tool?.run(["-c", "from securesystemslib.dsse import Envelope; import cryptography"]).status) == 0
      ? tool : nil
  }()
  private static let howToGetPython: Comment =
    "needs securesystemslib: pip install securesystemslib[crypto], and KEYFERRY_PYTHON for another python than python3"

  @Test(.enabled(if: python != nil, howToGetPython)) func securesystemslibAgrees() async throws {
    let python = try #require(Self.python)
    let judge = PackageFolder.root.appending(path: "interop/log/attestation.py").path()
    try await Workbench.run { bench in
      let signer = AttestationSigner.generate()
      let (key, file) = (bench.root.path() + "attest.pem", bench.root.path() + "a.intoto.jsonl")
      try Data(signer.publicKey.pem.utf8).write(to: URL(filePath: key))
      try Data(try Envelope(Self.provenance.bytes, by: signer).bytes).write(to: URL(filePath: file))
      let verdict = try python.run([judge, key, file])
      #expect(verdict.status == 0, "\(verdict.text)\(verdict.errors)")
      #expect(verdict.text == "https://slsa.dev/provenance/v1 of export.bin, NL/1 \"ä\".zip\n")
      let other = AttestationSigner.generate()
      try Data(try Envelope(Self.provenance.bytes, by: other).bytes).write(to: URL(filePath: file))
      #expect(try python.run([judge, key, file]).status == 1)
    }
  }
}
