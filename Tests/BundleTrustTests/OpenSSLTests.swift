import BundleTrust
import ExposureKeys
import Foundation
import Testing

/// OpenSSL reads our keys and signatures, and we read its.
@Suite(.enabled(if: OpenSSL.isPresent, OpenSSL.absence))
struct OpenSSLTests {
  private struct Workshop {
    let folder: URL

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    func write(_ content: some Sequence<UInt8>, _ name: String) throws -> String {
      try Data(content).write(to: folder.appendingPathComponent(name))
      return path(name)
    }

    /// Runs OpenSSL and returns what it prints.
    @discardableResult
    func openssl(_ arguments: String...) throws -> String {
      let result = try run(OpenSSL.path, arguments)
      try #require(result.status == 0, "openssl \(arguments.joined(separator: " "))")
      return String(decoding: result.output, as: UTF8.self)
    }

    func verifies(_ signature: [UInt8], _ export: [UInt8], _ key: P256PublicKey) throws -> Bool {
      let result = try run(
        OpenSSL.path,
        [
          "dgst", "-sha256", "-verify", write(key.pem.utf8, "public.pem"), "-signature", write(signature, "sig"),
          write(export, "export.bin"),
        ])
      return result.status == 0
    }
  }

  private func workshop(_ body: (Workshop) throws -> Void) throws {
    try withTemporaryFolder { try body(Workshop(folder: $0)) }
  }

  private func code(_ body: () throws -> Void) -> KeyFault.Code? {
    do {
      try body()
      return nil
    } catch {
      return (error as? KeyFault)?.code
    }
  }

  @Test func opensslVerifiesOurSignatures() throws {
    try workshop { workshop in
      let signer = try identity()
      for length in [0, 16, 137, 100_000] {
        let export = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
        let signature = try sign(ExportDigests(of: export), with: [signer])[0].signature
        #expect(try workshop.verifies(signature, export, signer.key.publicKey))
        #expect(try !workshop.verifies(signature, export + [0], signer.key.publicKey))
        #expect(try !workshop.verifies(signature, export, SigningKey.generate().publicKey))
      }
    }
  }

  @Test func weVerifyOpenSSLsSignaturesAndBothSeeTampering() throws {
    try workshop { workshop in
      let signer = try identity()
      let keyPath = try workshop.write(signer.key.pemRepresentation.utf8, "key.pem")
      let exportPath = try workshop.write(sampleExport, "export.bin")
      let verifier = BundleVerifier(trusting: TrustRing(keys: [signer.verificationKey]))
      func verdict(_ export: [UInt8], _ signature: [UInt8]) -> SignatureVerdict.Code {
        verifier.verify(
          ExportDigests(of: export), infos: [signer.info],
          signatures: [ExportSignature(info: signer.info, signature: signature)], at: noon
        ).findings[0].verdict.code
      }
      for _ in 0..<8 {
        try workshop.openssl("dgst", "-sha256", "-sign", keyPath, "-out", workshop.path("openssl.sig"), exportPath)
        let signature = Array(try Data(contentsOf: workshop.folder.appendingPathComponent("openssl.sig")))
        #expect(verdict(sampleExport, signature) == .verified)
        var tampered = sampleExport
        tampered[40] ^= 0x80
        #expect(verdict(tampered, signature) == .doesNotVerify)
        #expect(try !workshop.verifies(signature, tampered, signer.key.publicKey))
        var broken = signature
        broken[20] ^= 1
        #expect(verdict(sampleExport, broken) == .doesNotVerify)
        #expect(try !workshop.verifies(broken, sampleExport, signer.key.publicKey))
      }
    }
  }

  @Test func opensslReadsOurKeys() throws {
    try workshop { workshop in
      let key = SigningKey.generate()
      let path = try workshop.write(key.pemRepresentation.utf8, "key.pem")
      try workshop.openssl("pkey", "-in", path, "-check", "-noout")
      #expect(try workshop.openssl("pkey", "-in", path, "-pubout") == key.publicKey.pem)
      #expect(try workshop.openssl("pkey", "-in", path) == key.pemRepresentation)
    }
  }

  @Test func weReadOpenSSLsKeysInEveryForm() throws {
    try workshop { workshop in
      let path = workshop.path("key.pem")
      try workshop.openssl("ecparam", "-genkey", "-name", "prime256v1", "-out", path)
      let withParameters = try String(contentsOfFile: path, encoding: .utf8)
      #expect(withParameters.contains("EC PARAMETERS"))
      let sec1 = try workshop.openssl("ec", "-in", path)
      let pkcs8 = try workshop.openssl("pkcs8", "-topk8", "-nocrypt", "-in", path)
      let noPublicHalf = try workshop.openssl("ec", "-in", path, "-no_public")
      let publicText = try workshop.openssl("pkey", "-in", path, "-pubout")
      let compressed = try workshop.openssl("ec", "-in", path, "-pubout", "-conv_form", "compressed")
      for text in [withParameters, sec1, pkcs8, noPublicHalf] {
        #expect(try SigningKey(pem: text).publicKey.pem == publicText)
      }
      #expect(try P256PublicKey(text: compressed).pem == publicText)
      #expect(compressed != publicText)
    }
  }

  @Test(arguments: [
    (["EC", "-pkeyopt", "ec_paramgen_curve:P-384"], KeyFault.Code.unsupportedCurve),
    (["EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"], .unsupportedCurve),
    (["EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-pkeyopt", "ec_param_enc:explicit"], .unsupportedCurve),
    (["ED25519"], .unsupportedAlgorithm),
    (["RSA", "-pkeyopt", "rsa_keygen_bits:1024"], .unsupportedAlgorithm),
  ])
  func keysOfOtherKindsAreRefusedByName(arguments: [String], expected: KeyFault.Code) throws {
    try workshop { workshop in
      let path = workshop.path("key.pem")
      try #require(try run(OpenSSL.path, ["genpkey", "-out", path, "-algorithm"] + arguments).status == 0)
      let privateText = try workshop.openssl("pkey", "-in", path)
      let publicText = try workshop.openssl("pkey", "-in", path, "-pubout")
      #expect(code { _ = try SigningKey(pem: privateText) } == expected)
      #expect(code { _ = try P256PublicKey(text: publicText) } == expected)
    }
  }

  @Test func encryptedKeysAndCertificatesAreRefusedByName() throws {
    try workshop { workshop in
      let path = try workshop.write(SigningKey.generate().pemRepresentation.utf8, "key.pem")
      let encrypted = try workshop.openssl("pkcs8", "-topk8", "-in", path, "-passout", "pass:secret")
      let legacy = try workshop.openssl("ec", "-in", path, "-aes128", "-passout", "pass:secret")
      let certificate = try workshop.openssl("req", "-x509", "-key", path, "-subj", "/CN=test", "-days", "1")
      #expect(code { _ = try SigningKey(pem: encrypted) } == .encrypted)
      #expect(code { _ = try SigningKey(pem: legacy) } == .encrypted)
      #expect(code { _ = try SigningKey(pem: certificate) } == .wrongBlock)
      #expect(code { _ = try P256PublicKey(text: certificate) } == .wrongBlock)
    }
  }

  @Test func aPublicHalfThatDoesNotBelongIsRefused() throws {
    try workshop { workshop in
      let path = try workshop.write(SigningKey.generate().pemRepresentation.utf8, "key.pem")
      let text = try workshop.openssl("ec", "-in", path, "-outform", "PEM")
      let base64 = text.split(separator: "\n").dropFirst().dropLast().joined()
      var der = Array(try #require(Data(base64Encoded: base64)))
      der.replaceSubrange((der.count - 65)..., with: SigningKey.generate().publicKey.x963)
      let swapped =
        "-----BEGIN EC PRIVATE KEY-----\n\(Data(der).base64EncodedString())\n-----END EC PRIVATE KEY-----\n"
      #expect(code { _ = try SigningKey(pem: swapped) } == .invalidKey)
    }
  }
}
