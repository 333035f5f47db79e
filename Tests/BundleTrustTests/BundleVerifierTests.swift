import BundleTrust
import Crypto
import ExposureKeys
import Testing

/// Every verdict, each from a file made to deserve it.
@Suite struct BundleVerifierTests {
  private let signer: SigningIdentity
  private let other: SigningIdentity
  private let digests = ExportDigests(of: sampleExport)

  init() throws {
    signer = try identity("310", "v1")
    other = try identity("262", "v2")
  }

  private func report(
    _ signatures: [ExportSignature], _ keys: [VerificationKey], infos: [SignatureInfo]? = nil,
    limits: BundleVerifier.Limits = .init()
  ) -> SignatureReport {
    BundleVerifier(trusting: TrustRing(keys: keys), limits: limits)
      .verify(digests, infos: infos ?? signatures.map(\.info), signatures: signatures, at: noon)
  }

  private func signed(_ change: (inout ExportSignature) throws -> Void = { _ in }) throws -> ExportSignature {
    var signature = try sign(digests, with: [signer])[0]
    try change(&signature)
    return signature
  }

  private func observations(
    _ signature: ExportSignature, _ keys: [VerificationKey]
  ) throws -> [SignatureVerdict] {
    let report = report([signature], keys)
    let finding = try #require(report.findings.first)
    #expect(finding.verdict == finding.observations.first)
    #expect(report.isTrusted == finding.verdict.isVerified)
    #expect(finding.faults.isEmpty == report.isTrusted)
    return finding.observations
  }

  private func raw(_ signature: [UInt8]) throws -> [UInt8] {
    Array(try P256.Signing.ECDSASignature(derRepresentation: signature).rawRepresentation)
  }

  @Test func verified() throws {
    let key = signer.verificationKey
    #expect(try observations(signed(), [other.verificationKey, key]) == [.verified(by: key.identity)])
    let report = report([try signed()], [key])
    #expect(report.faults.isEmpty)
    #expect(report.verifiedDocument?.basis == .signed(by: key.identity))
    #expect(report.verifiedDocument?.exportDigest == digests.hexadecimal)
  }

  @Test func verifiedByAKeyWithoutName() throws {
    let key = VerificationKey(publicKey: signer.key.publicKey)
    let found = try observations(signed(), [key])
    #expect(found == [.verified(by: key.identity)])
    #expect(key.identity.matchesAnyName)
    #expect(found[0].description.contains("were not compared"))
  }

  @Test(arguments: [("311", "v1"), ("310", "v2"), ("310", nil), (nil, "v1"), ("", "")] as [(String?, String?)])
  func verifiedWithOtherIdentity(id: String?, version: String?) throws {
    let signature = try signed {
      $0.info.verificationKeyID = id
      $0.info.verificationKeyVersion = version
    }
    #expect(
      try observations(signature, [signer.verificationKey]) == [
        .verifiedWithOtherIdentity(statedID: id, statedVersion: version, key: signer.verificationKey.identity)
      ])
  }

  @Test func absentAndEmptyVersionAreTheSameStatement() throws {
    let key = VerificationKey(id: "310", version: "", publicKey: signer.key.publicKey)
    for version in [nil, ""] as [String?] {
      #expect(
        try observations(signed { $0.info.verificationKeyVersion = version }, [key]) == [.verified(by: key.identity)])
    }
  }

  @Test func unknownKey() throws {
    #expect(try observations(signed(), [other.verificationKey]) == [.unknownKey(id: "310", version: "v1")])
    #expect(try observations(signed(), []) == [.unknownKey(id: "310", version: "v1")])
  }

  @Test func doesNotVerify() throws {
    let impostor = VerificationKey(id: "310", version: "v1", publicKey: other.key.publicKey)
    #expect(try observations(signed(), [impostor]) == [.doesNotVerify(under: [impostor.identity])])
  }

  @Test func validityIsFromInclusiveUntilExclusive() throws {
    func key(_ from: Int64?, _ until: Int64?) -> VerificationKey {
      var key = signer.verificationKey
      key.from = from.map { Instant(secondsSince1970: noon.secondsSince1970 + $0) }
      key.until = until.map { Instant(secondsSince1970: noon.secondsSince1970 + $0) }
      return key
    }
    let name = signer.verificationKey.identity
    let later = Instant(secondsSince1970: noon.secondsSince1970 + 1)
    #expect(try observations(signed(), [key(1, nil)]) == [.keyNotYetValid(name, from: later)])
    #expect(try observations(signed(), [key(0, 1)]) == [.verified(by: name)])
    #expect(try observations(signed(), [key(nil, 0)]) == [.keyNoLongerValid(name, until: noon)])
    // Of two entries for one key, the valid one counts, wherever it stands.
    #expect(try observations(signed(), [key(nil, 0), key(0, nil)]) == [.verified(by: name)])
  }

  @Test(arguments: ["SHA256withECDSA", "ecdsa-with-SHA256", "1.2.840.10045.4.3.4", "", nil])
  func wrongAlgorithm(name: String?) throws {
    let signature = try signed { $0.info.signatureAlgorithm = name }
    #expect(
      try observations(signature, [signer.verificationKey]) == [.wrongAlgorithm(name: name, verifiesOtherwise: true)])
    #expect(
      try observations(signature, [other.verificationKey]) == [
        .unknownKey(id: "310", version: "v1"), .wrongAlgorithm(name: name, verifiesOtherwise: false),
      ])
  }

  @Test func rawSignature() throws {
    let signature = try signed { $0.signature = try raw($0.signature) }
    #expect(signature.signature.count == 64)
    #expect(
      try observations(signature, [signer.verificationKey]) == [
        .rawSignature64(verifies: signer.verificationKey.identity)
      ])
    #expect(
      try observations(signature, [other.verificationKey]) == [
        .unknownKey(id: "310", version: "v1"), .rawSignature64(verifies: nil),
      ])
  }

  @Test func signatureOverBody() throws {
    let body = ExportDigests(of: Array(sampleExport.dropFirst(16)))
    let signature = try sign(body, with: [signer])[0]
    let name = signer.verificationKey.identity
    #expect(try observations(signature, [signer.verificationKey]) == [.signatureOverBody(by: name)])

    let withoutBody = BundleVerifier(trusting: TrustRing(keys: [signer.verificationKey]))
      .verify(
        ExportDigests(of: sampleExport, includingBody: false), infos: [signature.info], signatures: [signature],
        at: noon)
    #expect(withoutBody.findings[0].verdict == .doesNotVerify(under: [name]))
  }

  @Test func severalFaultsAtOnce() throws {
    var signature = try sign(ExportDigests(of: Array(sampleExport.dropFirst(16))), with: [signer])[0]
    signature.signature = try raw(signature.signature)
    signature.info.signatureAlgorithm = "ecdsa-with-SHA256"
    signature.info.verificationKeyID = "222"
    var key = signer.verificationKey
    key.until = noon
    #expect(
      try observations(signature, [key]).map(\.code) == [
        .signatureOverBody, .rawSignature64, .wrongAlgorithm, .verifiedWithOtherIdentity, .keyNoLongerValid,
      ])
  }

  @Test func nonCanonicalDER() throws {
    let key = signer.verificationKey
    let scalars = try raw(signed().signature)
    func integer(_ content: [UInt8]) -> [UInt8] { [0x02, UInt8(content.count)] + content }
    func sequence(_ content: [UInt8]) -> [UInt8] { [0x30, UInt8(content.count)] + content }
    func minimal(_ number: some Collection<UInt8>) -> [UInt8] {
      let magnitude = Array(number.drop { $0 == 0 })
      return (magnitude[0] >= 0x80 ? [0] : []) + magnitude
    }
    let r = minimal(scalars.prefix(32))
    let s = minimal(scalars.suffix(32))
    let canonical = sequence(integer(r) + integer(s))
    #expect(try observations(signed { $0.signature = canonical }, [key]).map(\.code) == [.verified])
    let odd: [[UInt8]] = [
      sequence(integer([0] + r) + integer(s)),
      sequence(integer(r) + integer([0, 0] + s)),
      canonical + [0],
      sequence(integer(r) + integer(s) + [0x05, 0x00]),
      [0x30, 0x81] + canonical.dropFirst(),
      [0x30, 0x82, 0x00] + canonical.dropFirst(),
      sequence([0x02, 0x81] + integer(r).dropFirst() + integer(s)),
    ]
    for signature in odd {
      let found = try observations(signed { $0.signature = signature }, [key])
      #expect(found.map(\.code) == [.nonCanonicalDER])
      guard case .nonCanonicalDER(_, let verifies) = found[0] else { continue }
      #expect(verifies == key.identity)
    }
  }

  @Test func aMissingSignByteIsNotCanonical() throws {
    // Sign until both numbers begin with a high bit.
    for _ in 0..<200 {
      let scalars = try raw(signed().signature)
      guard scalars[0] >= 0x80, scalars[32] >= 0x80 else { continue }
      // The same digest, signed under the same key: only the encoding is bad.
      let bad = [0x30, 68, 0x02, 32] + scalars.prefix(32) + [0x02, 32] + scalars.suffix(32)
      let found = try observations(signed { $0.signature = bad }, [signer.verificationKey])
      #expect(found.map(\.code) == [.nonCanonicalDER])
      #expect(found[0].description.contains("reads as negative"))
      return
    }
    Issue.record("no such signature in 200")
  }

  @Test(
    arguments: [
      [], [0x30], [0x30, 0x80], [0x30, 0x06, 0x02, 0x01, 0x00, 0x02, 0x01, 0x01],
      [0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x00], [0x30, 0x05, 0x02, 0x00, 0x02, 0x01, 0x01],
      [0x30, 0x85, 1, 1, 1, 1, 1], [0x30, 0x7F, 0x02, 0x01, 0x01], [UInt8](repeating: 0xFF, count: 64),
      [UInt8](repeating: 0, count: 64), [0x31, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01],
      [0x30, 0x45, 0x02, 0x40] + [UInt8](repeating: 1, count: 64) + [0x02, 0x01, 0x01],
      [UInt8](repeating: 0x41, count: 5_000),
    ] as [[UInt8]])
  func malformedSignature(bytes: [UInt8]) throws {
    let found = try observations(signed { $0.signature = bytes }, [signer.verificationKey])
    #expect(found.map(\.code) == [.malformedSignature])
  }

  @Test func theOrderOfTheCurveIsOutOfRange() throws {
    let order = bytes(hex: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
    var below = order
    below[31] -= 1
    let one = [UInt8](repeating: 0, count: 31) + [1]
    func code(_ scalars: [UInt8]) throws -> SignatureVerdict.Code {
      try observations(signed { $0.signature = scalars }, [signer.verificationKey])[0].code
    }
    #expect(try code(order + one) == .malformedSignature)
    #expect(try code(one + order) == .malformedSignature)
    #expect(try code(below + one) == .doesNotVerify)
  }

  @Test func mutatedSignaturesNeverVerify() throws {
    var generator = SplitMix(state: 20_200_601)
    let original = try signed()
    let verifier = BundleVerifier(
      trusting: TrustRing(keys: [signer.verificationKey, VerificationKey(publicKey: other.key.publicKey)]))
    for _ in 0..<3_000 {
      var bytes = original.signature
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let index = Int.random(in: 0...bytes.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0 where index < bytes.count: bytes[index] ^= UInt8.random(in: 1...255, using: &generator)
        case 1 where index < bytes.count: bytes.remove(at: index)
        case 2: bytes.insert(.random(in: 0...255, using: &generator), at: index)
        default: bytes = Array(bytes.prefix(index))
        }
      }
      guard bytes != original.signature else { continue }
      let signature = ExportSignature(info: original.info, signature: bytes)
      let report = verifier.verify(digests, infos: [original.info], signatures: [signature], at: noon)
      #expect(!report.isTrusted, "\(bytes)")
    }
  }

  // MARK: The file as a whole

  @Test func oneGoodSignatureIsEnough() throws {
    let signatures = try sign(digests, with: [other, signer])
    let report = report(signatures, [signer.verificationKey])
    #expect(report.findings.map(\.verdict.code) == [.unknownKey, .verified])
    #expect(report.findings.map(\.key) == [nil, signer.verificationKey])
    #expect(report.isTrusted)
    #expect(report.lines.count == 2)
  }

  @Test func noSignatures() {
    let report = report([], [signer.verificationKey], infos: [signer.info])
    #expect(report.faults == [.noSignatures, .fewerSignaturesThanInfos(signatures: 0, infos: 1)])
    #expect(report.infosWithoutSignature.map(\.index) == [0])
    #expect(report.lines.count == 3)
    #expect(!report.isTrusted)
  }

  @Test func fewerSignaturesThanInfos() throws {
    let report = report([try signed()], [signer.verificationKey], infos: [other.info, signer.info])
    #expect(report.faults == [.fewerSignaturesThanInfos(signatures: 1, infos: 2)])
    #expect(report.infosWithoutSignature.map(\.info) == [other.info])
    #expect(report.isTrusted)
  }

  @Test func moreSignaturesThanInfos() throws {
    let signatures = try sign(digests, with: [signer, other])
    let report = report(signatures, [signer.verificationKey], infos: [other.info])
    #expect(report.faults == [.moreSignaturesThanInfos(signatures: 2, infos: 1)])
    #expect(report.infosWithoutSignature.isEmpty)
  }

  @Test func infosThatDiffer() throws {
    var info = signer.info
    info.androidPackage = "org.example.app"
    info.signatureAlgorithm = "ECDSA"
    let signatures = try sign(digests, with: [other, signer])
    let report = report(signatures, [signer.verificationKey], infos: [info, other.info])
    #expect(
      report.faults == [.infoDiffers(signature: 1, info: 0, fields: ["android_package", "signature_algorithm"])])
    #expect(report.isTrusted)
  }

  @Test func moreThanTenSignatures() throws {
    let signatures = [ExportSignature](repeating: try signed(), count: 11)
    #expect(report(signatures, [signer.verificationKey]).faults == [.tooManySignatures(11)])
  }

  @Test func signaturesBeyondTheLimitAreNotExamined() throws {
    let signatures = [ExportSignature](repeating: try signed(), count: 66)
    let report = report(signatures, [signer.verificationKey])
    let codes = report.findings.map(\.verdict.code)
    #expect(codes.prefix(64).allSatisfy { $0 == .verified })
    #expect(codes.suffix(2) == [.notExamined, .notExamined])
    #expect(report.faults == [.tooManySignatures(66), .workLimited(examined: 64, verifications: 64)])
  }

  @Test func workIsLimitedAndNamedKeysComeFirst() throws {
    let strangers = try (0..<20).map { try identity("x\($0)", "1").verificationKey }
    let worthless = try sign(digests, with: [identity("999", "1")])[0]
    let report = report(
      [worthless, try signed()], strangers + [signer.verificationKey],
      limits: .init(signatures: 64, verifications: 10))
    #expect(report.findings.map(\.verdict.code) == [.searchCutOff, .verified])
    #expect(report.faults == [.workLimited(examined: 2, verifications: 10)])
    let none = self.report([try signed()], [signer.verificationKey], limits: .init(signatures: 64, verifications: 0))
    #expect(none.findings.map(\.verdict) == [.notExamined])
    #expect(!none.isTrusted)
  }

  @Test func hostileTextIsEscaped() throws {
    let signature = try signed { $0.info.verificationKeyID = "a\u{1B}[31m\n\"" + String(repeating: "b", count: 500) }
    let line = report([signature], [signer.verificationKey]).lines[0]
    #expect(line.utf8.allSatisfy { $0 >= 0x20 })
    #expect(line.contains(#""a\u{1b}[31m\u{a}\"bbb"#))
    #expect(line.count < 500)
  }

  @Test func theOtherWaysIn() {
    #expect(VerifiedDocument.assertedByOperator().basis == .assertedByOperator)
    #expect(VerifiedDocument.host(ProvenHost(provenByTLS: "a.example")).basis == .host("a.example"))
    #expect(VerifiedDocument.assertedByOperator().exportDigest == nil)
  }
}

/// A repeatable generator (SplitMix64).
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
