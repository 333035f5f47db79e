import BundleTrust
import ExposureKeys
import Foundation
import Testing

/// Signatures that other people's servers made.
@Suite struct RealSampleTests {
  private func report(
    _ export: [UInt8], _ list: [UInt8], _ ring: TrustRing
  ) throws -> SignatureReport {
    BundleVerifier(trusting: ring).verify(
      ExportDigests(of: export), infos: try signatureInfos(inExport: export), signatures: try signatures(inList: list),
      at: noon)
  }

  private static let referenceKey = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEml59itec9qzwVojreLXdPNRsUWzf
    YHc1cKvIIi6/H56AJS/kZEYQnfDpxrgyGhdAm+pNN2GAJ3XdnQZ1Sk4amg==
    -----END PUBLIC KEY-----
    """

  @Test func theReferenceServersExample() throws {
    let ring = try TrustRing(files: [("some_id-1.pem", Self.referenceKey)])
    let report = try report(referenceExport, referenceSignatures, ring)
    #expect(report.findings.map(\.verdict.code) == [.verified])
    #expect(report.faults.isEmpty)
    #expect(report.infosWithoutSignature.isEmpty)
    #expect(report.verifiedDocument?.exportDigest?.hasPrefix("38edb6fc") == true)
    #expect(report.verifiedDocument?.basis == .signed(by: ring.keys[0].identity))
  }

  @Test func theReferenceServersExampleWithAByteChanged() throws {
    let ring = try TrustRing(files: [("some_id-1.pem", Self.referenceKey)])
    for index in stride(from: 0, to: referenceExport.count, by: 5) where !(50..<85).contains(index) {
      var export = referenceExport
      export[index] ^= 1
      let report = BundleVerifier(trusting: ring).verify(
        ExportDigests(of: export), infos: try signatureInfos(inExport: referenceExport),
        signatures: try signatures(inList: referenceSignatures), at: noon)
      #expect(report.findings[0].verdict == .doesNotVerify(under: [ring.keys[0].identity]))
      #expect(!report.isTrusted)
    }
  }

  @Test func theReferenceServersExampleWithoutItsHeaderDoesNotVerify() throws {
    let ring = try TrustRing(pem: Self.referenceKey)
    let report = BundleVerifier(trusting: ring).verify(
      ExportDigests(of: Array(referenceExport.dropFirst(16))), infos: [],
      signatures: try signatures(inList: referenceSignatures), at: noon)
    #expect(report.findings[0].verdict.code == .doesNotVerify)
  }

  private func publishedKey(_ name: String) throws -> P256PublicKey {
    struct Published: Decodable {
      struct Key: Decodable {
        var name: String
        var spki: String?
      }
      var keys: [Key]
    }
    let data = try Data(contentsOf: RealData.folder.appendingPathComponent("public-keys.json"))
    let key = try JSONDecoder().decode(Published.self, from: data).keys.first { $0.name == name }
    return try P256PublicKey(text: #require(key?.spki))
  }

  @Test(.enabled(if: RealData.isPresent, RealData.absence))
  func earlySampleOfTheReferenceServer() throws {
    let files = try RealData.bundle("google-server/early_sample1.zip")
    let key = VerificationKey(
      id: "ExampleServer_k1", version: "", publicKey: try publishedKey("ExampleServer-v1"))
    let report = try report(files.export, files.signatures, TrustRing(keys: [key]))
    #expect(report.findings.map(\.verdict) == [.verified(by: key.identity)])
    #expect(report.isTrusted)
  }

  @Test(.enabled(if: RealData.isPresent, RealData.absence))
  func firstPublicSampleNamesItsAlgorithmWrongly() throws {
    let files = try RealData.bundle("google-sample-110/sample_diagnosis_key_file.zip")
    let key = VerificationKey(version: "v1", publicKey: try publishedKey("ExampleServer-v1"))
    let report = try report(files.export, files.signatures, TrustRing(keys: [key]))
    #expect(
      report.findings.map(\.observations) == [[.wrongAlgorithm(name: "ECDSA p-256 SHA-256", verifiesOtherwise: true)]])
    #expect(!report.isTrusted)
    #expect(report.verifiedDocument == nil)
  }

  @Test(.enabled(if: RealData.isPresent, RealData.absence))
  func sampleOfTheFrameworksSource() throws {
    let files = try RealData.bundle("google-internals/sample_diagnosis_key_file.zip")
    let key = VerificationKey(id: "310", version: "v1", publicKey: try publishedKey("310-v1"))
    let report = try report(files.export, files.signatures, TrustRing(keys: [key]))
    #expect(report.findings.map(\.verdict) == [.verified(by: key.identity)])
    let other = VerificationKey(id: "310", version: "v1", publicKey: try publishedKey("ExampleServer-v1"))
    let refused = try self.report(files.export, files.signatures, TrustRing(keys: [other]))
    #expect(refused.findings.map(\.verdict.code) == [.doesNotVerify])
  }

  @Test(.enabled(if: RealData.isPresent, RealData.absence))
  func testServersExportHasNoSignature() throws {
    let files = try RealData.bundle("google-server/1605818700-1605819000-0001-ff23e2.zip")
    let report = try report(files.export, files.signatures, TrustRing(pem: Self.referenceKey))
    #expect(report.findings.isEmpty)
    #expect(report.faults.map(\.code).contains(.noSignatures))
    #expect(!report.isTrusted)
  }
}

private let referenceExport = bytes(
  hex: """
    454b204578706f72742076312020202009f0e8c75e0000000011703ac95e000000001a0255532001
    280132211a01312207736f6d655f69642a13312e322e3834302e31303034352e342e332e323a1b0a
    10172fc480e598490c34177604339b1543100818fcdea10120013a1b0a102b63053ac483238de176
    169e861f3dcd1001188adea1012072
    """)

private let referenceSignatures = bytes(
  hex: """
    0a710a211a01312207736f6d655f69642a13312e322e3834302e31303034352e342e332e32100118
    01224830460221009eb6e9d5ad6a688fa970b0e67c0886345eefdd1819592edd84604a1ccf4d0247
    022100906d7fcdf211c710f84a2a7917000573bef0ef27a4974129de2876ac6819f66a
    """)
