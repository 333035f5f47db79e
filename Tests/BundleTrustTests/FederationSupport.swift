import BundleTrust
import ExposureKeys
import Foundation
import Testing

/// Keys and certificates of a federation in a folder of their own, made by OpenSSL once for all tests that share it.
final class FederationWorkshop: Sendable {
  let folder: URL

  /// Removed with the process's temporary folder.
  static let shared = Result { try FederationWorkshop() }

  private init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("federation-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try make("operator", "/CN=test operator/O=Keyferry test", "rsa:2048")
    try make("de", "/C=DE/CN=test signing/O=Keyferry test", "rsa:3072")
    try make("fr", "/CN=test signing/C=FR", "ec")
    try make("fr-next", "/CN=test signing, next/C=FR", "ec")
    try make("none", "/CN=no country", "ec")
    try make("two", "/C=FR/C=DE/CN=two countries", "ec")
    try make("weak", "/C=FR/CN=short key", "rsa:1024")
  }

  private func make(_ name: String, _ subject: String, _ kind: String) throws {
    let key = kind == "ec" ? ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] : [kind]
    try openssl(
      ["req", "-x509", "-nodes", "-newkey"] + key + [
        "-subj", subject, "-days", "3", "-keyout", path("\(name).key.pem"), "-out", path("\(name).pem"),
      ])
  }

  func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
  func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }
  func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: folder.appendingPathComponent(name))) }

  func write(_ bytes: [UInt8], _ name: String) throws { try Data(bytes).write(to: folder.appendingPathComponent(name)) }

  @discardableResult
  func openssl(_ arguments: [String]) throws -> [UInt8] {
    let result = try run(OpenSSL.path, arguments)
    try #require(result.status == 0, "openssl \(arguments.joined(separator: " "))")
    return result.output
  }

  func certificate(_ name: String) throws -> FederationCertificate {
    try FederationCertificate(pem: text("\(name).pem"))
  }

  func identity(_ name: String) throws -> BatchSigningIdentity {
    try BatchSigningIdentity(certificate: certificate(name), key: Secret(text("\(name).key.pem")))
  }

  /// A row that the operator has signed.
  func row(_ name: String, _ country: String, _ use: CertificateUse = .signing) throws -> WhitelistedCertificate {
    let signer = try FederationIdentity(certificate: certificate("operator"), key: Secret(text("operator.key.pem")))
    let certificate = try self.certificate(name)
    return WhitelistedCertificate(
      certificate: certificate, country: country, use: use, operatorSignature: try signer.sign(pem: certificate.pem))
  }

  func trust() throws -> FederationTrust {
    FederationTrust(anchor: try certificate("operator"), rows: [try row("de", "DE"), try row("fr", "FR")])
  }

  /// `openssl cms -sign` of the content by this signer, with these options besides.
  func cms(_ content: [UInt8], by name: String, _ options: [String] = []) throws -> [UInt8] {
    let file = "content-\(UUID().uuidString)"
    try write(content, file)
    defer { try? FileManager.default.removeItem(atPath: path(file)) }
    return try openssl(
      [
        "cms", "-sign", "-binary", "-nosmimecap", "-outform", "DER", "-in", path(file), "-signer", path("\(name).pem"),
        "-inkey", path("\(name).key.pem"),
      ] + options)
  }
}

extension SignedBatch {
  /// Keys of one country, as far as a signature cares.
  static func of(_ content: String, origins: [String]) -> SignedBatch {
    SignedBatch(
      canonical: Array(content.utf8), origins: origins,
      firstRows: [FederationDigest.hexadecimal(Array(content.utf8))])
  }
}

extension FederationTrust {
  /// The step at which a batch is refused; `nil` when it is taken.
  func refusal(
    _ cms: [UInt8], _ batch: SignedBatch, _ allowed: SignatureAllowances = [], at now: Instant = .today
  ) -> BatchRefusal? {
    refusal(of: Base64.encode(cms), batch, allowed, at: now)
  }

  func refusal(
    of header: String, _ batch: SignedBatch, _ allowed: SignatureAllowances = [], at now: Instant = .today
  ) -> BatchRefusal? {
    do throws(BatchRefusal) {
      _ = try verify(header, over: batch, allowing: allowed, at: now)
      return nil
    } catch {
      return error
    }
  }
}

extension Instant {
  /// OpenSSL's certificates begin now.
  static var today: Instant { Instant(secondsSince1970: Int64(Date().timeIntervalSince1970)) }
  func adding(days: Int64) -> Instant { Instant(secondsSince1970: secondsSince1970 + days * 86_400) }
}
