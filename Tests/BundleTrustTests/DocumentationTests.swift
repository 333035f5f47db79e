import BundleTrust
import ExposureKeys
import Foundation
import Testing

/// The code on the documentation page, compiled and run.
@Suite struct DocumentationTests {
  @Test func theExamplesWork() throws {
    let key = SigningKey.generate()
    let signed = try signAsDocumented(keyFile: key.pemRepresentation)
    let verified = try verifyAsDocumented(
      ringFile: Array(key.publicKey.pem.utf8),
      pieces: [Array(signed.export.prefix(50)), Array(signed.export.dropFirst(50))],
      infos: signed.infos, signatures: signed.signatures, instant: noon)
    #expect(verified?.basis == .signed(by: VerificationKey(publicKey: key.publicKey).identity))
  }

  private func verifyAsDocumented(
    ringFile: [UInt8], pieces: [[UInt8]], infos: [SignatureInfo], signatures: [ExportSignature], instant: Instant
  ) throws -> VerifiedDocument? {
    func print(_ line: String) { #expect(line.contains("verified by a key without a name")) }
    let ring = try TrustRing(document: ringFile)
    var digest = ExportDigest(includingBody: true)
    for piece in pieces { piece.withUnsafeBytes { digest.update($0) } }
    let report = BundleVerifier(trusting: ring)
      .verify(digest.finalize(), infos: infos, signatures: signatures, at: instant)
    for line in report.lines { print(line) }
    guard let verified = report.verifiedDocument else { return nil }
    return verified
  }

  private func signAsDocumented(
    keyFile: String
  ) throws -> (export: [UInt8], infos: [SignatureInfo], signatures: [ExportSignature]) {
    func encode(_ header: ExportHeader) -> [UInt8] {
      Array("EK Export v1    \(header.signatureInfos.count)".utf8) + [UInt8](repeating: 7, count: 90)
    }
    let key = try SigningKey(pem: keyFile)
    let signer = try SigningIdentity(key: key, keyID: "310", keyVersion: "v1")
    let header = ExportHeader(batchNum: 1, batchSize: 1, signatureInfos: [signer.info])
    let export = encode(header)
    let signatures = try sign(ExportDigests(of: export), with: [signer])
    return (export, header.signatureInfos, signatures)
  }

  @Test func theyAreTheCodeOnThePage() throws {
    let tests = URL(fileURLWithPath: #filePath)
    let root = tests.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(
      contentsOf: root.appendingPathComponent("Sources/BundleTrust/BundleTrust.docc/BundleTrust.md"), encoding: .utf8)
    let source = try lines(String(contentsOf: tests, encoding: .utf8))
    let examples = page.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    #expect(examples.count == 2)
    for example in examples {
      let wanted = lines(example)
      #expect(source.indices.contains { source[$0...].starts(with: wanted) }, "\(example)")
    }
  }

  @Test func everyCodeIsOnThePage() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(
      contentsOf: root.appendingPathComponent("Sources/BundleTrust/BundleTrust.docc/BundleTrust.md"), encoding: .utf8)
    for code in SignatureVerdict.Code.allCases { #expect(page.contains("`\(code.rawValue)`")) }
  }

  private func lines(_ text: String) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
  }
}
