import BundleTrust
import ExposureKeys
import Foundation
import Testing

/// What others sign we verify, and the other way round; what is not as it should be is refused by its step.
@Suite(.enabled(if: OpenSSL.isPresent, OpenSSL.absence))
struct FederationSignatureTests {
  private let workshop: FederationWorkshop
  private let trust: FederationTrust
  private let batch = SignedBatch.of("AAEC.ACjV.REU=.", origins: ["FR", "FR"])
  private let german = SignedBatch.of("AAEC.ACjV.REU=.", origins: ["DE"])

  init() throws {
    workshop = try FederationWorkshop.shared.get()
    trust = try workshop.trust()
  }

  @Test func oursVerifiesUnderOurs() throws {
    for (name, batch) in [("fr", batch), ("de", german)] {
      let signature = try workshop.identity(name).sign(batch.canonical, at: .today)
      let signer = try trust.verify(Base64.encode(signature), over: batch, at: .today)
      #expect(signer.country == batch.origins[0])
      #expect(try signer.certificate.thumbprint == (workshop.certificate(name).thumbprint))
      #expect(signer.proof.origins == [batch.origins[0]])
    }
  }

  @Test func anEmptyBatchHasASignature() throws {
    let empty = SignedBatch(canonical: [], origins: [], firstRows: [])
    let signature = try workshop.identity("fr").sign([], at: .today)
    #expect(trust.refusal(signature, empty) == nil)
    #expect(trust.refusal(signature, batch)?.step == .signature)
  }

  @Test(arguments: ["fr", "de"])
  func opensslSignsAndVerifies(name: String) throws {
    let batch = name == "fr" ? batch : german
    for options in [[], ["-nosmimecap"], ["-md", "sha384"], ["-md", "sha512"]] {
      #expect(try trust.refusal(workshop.cms(batch.canonical, by: name, options), batch) == nil, "\(options)")
    }
    let ours = try workshop.identity(name).sign(batch.canonical, at: .today)
    try workshop.write(ours, "ours-\(name).der")
    try workshop.write(batch.canonical, "content-\(name)")
    func verifies(_ content: String) throws -> Bool {
      try run(
        OpenSSL.path,
        [
          "cms", "-verify", "-binary", "-inform", "DER", "-in", workshop.path("ours-\(name).der"), "-content", content,
          "-noverify", "-out", "/dev/null",
        ]
      ).status == 0
    }
    #expect(try verifies(workshop.path("content-\(name)")))
    #expect(try !verifies(workshop.path("operator.pem")))
  }

  @Test(.enabled(if: Peers.hasPython, Peers.noPython), arguments: ["fr", "de"])
  func pythonSignsAndVerifies(name: String) throws {
    let batch = name == "fr" ? batch : german
    let files = ["content-py-\(name)", "theirs-py-\(name)", "ours-py-\(name)"].map(workshop.path)
    try workshop.write(batch.canonical, "content-py-\(name)")
    let signing = [workshop.path("\(name).pem"), workshop.path("\(name).key.pem"), files[0], files[1]]
    try #require(try Peers.python("batch_cms.py", signing).status == 0)
    #expect(try trust.refusal(workshop.bytes("theirs-py-\(name)"), batch) == nil)
    try workshop.write(try workshop.identity(name).sign(batch.canonical, at: .today), "ours-py-\(name)")
    #expect(try Peers.python("verify_cms.py", [files[0], files[2]]).status == 0)
    #expect(try Peers.python("verify_cms.py", [workshop.path("operator.pem"), files[2]]).status == 1)
  }

  @Test(.enabled(if: Peers.hasBouncyCastle, Peers.noBouncyCastle), arguments: ["fr", "de"])
  func bouncyCastleSignsAndVerifies(name: String) throws {
    let batch = name == "fr" ? batch : german
    let files = ["content-bc-\(name)", "theirs-bc-\(name)", "ours-bc-\(name)"].map(workshop.path)
    try workshop.write(batch.canonical, "content-bc-\(name)")
    try #require(
      try Peers.java(["sign", workshop.path("\(name).pem"), workshop.path("\(name).key.pem"), files[0], files[1]]) == 0)
    let theirs = try workshop.bytes("theirs-bc-\(name)")
    #expect(theirs.starts(with: [0x30, 0x80]), "BouncyCastle writes indefinite lengths")
    #expect(trust.refusal(theirs, batch) == nil)
    #expect(trust.refusal(theirs, .of("other", origins: batch.origins))?.step == .signature)
    try workshop.write(try workshop.identity(name).sign(batch.canonical, at: .today), "ours-bc-\(name)")
    #expect(try Peers.java(["verify", files[0], files[2]]) == 0)
    #expect(try Peers.java(["verify", workshop.path("operator.pem"), files[2]]) == 1)
  }

  // MARK: Attacks

  struct Attack: Sendable, CustomTestStringConvertible {
    var name: String
    var options: [String]
    var step: VerificationStep
    var words: String
    var allowance: SignatureAllowances?
    var testDescription: String { name }
  }

  static let attacks = [
    Attack(name: "SHA-1", options: ["-md", "sha1"], step: .signer, words: "SHA-1", allowance: .sha1Digest),
    Attack(name: "SHA-224", options: ["-md", "sha224"], step: .signer, words: "SHA-224"),
    Attack(name: "MD5", options: ["-md", "md5"], step: .signer, words: "MD5"),
    Attack(
      name: "no attributes", options: ["-noattr"], step: .signer, words: "no signed attributes",
      allowance: .noSignedAttributes),
    Attack(
      name: "attached", options: ["-nodetach"], step: .decode, words: "attached", allowance: .attachedContent),
    Attack(name: "no certificate", options: ["-nocerts"], step: .embeddedCertificate, words: "no certificate"),
    Attack(
      name: "key identifier", options: ["-keyid"], step: .signer, words: "key identifier",
      allowance: .subjectKeyIdentifier),
    Attack(
      name: "other content", options: ["-econtent_type", "1.2.840.113549.1.9.16.1.4"], step: .decode, words: "type"),
  ]

  @Test(arguments: attacks)
  func anotherFormIsRefusedUnlessAllowed(attack: Attack) throws {
    let signature = try workshop.cms(german.canonical, by: "de", attack.options)
    let refusal = try #require(trust.refusal(signature, german))
    #expect(refusal.step == attack.step)
    #expect(refusal.detail.contains(attack.words), "\(refusal)")
    #expect(refusal.canonicalDigest == german.digest && refusal.canonicalLength == german.canonical.count)
    if let allowance = attack.allowance {
      #expect(trust.refusal(signature, german, allowance) == nil)
      let others = SignatureAllowances(rawValue: 63).subtracting(allowance)
      #expect(trust.refusal(signature, german, others)?.step == attack.step)
      #expect(trust.refusal(signature, .of("else", origins: ["DE"]), allowance) != nil)
    } else {
      #expect(trust.refusal(signature, german, SignatureAllowances(rawValue: 63))?.step == attack.step)
    }
  }

  @Test func severalSignersAndCertificatesNeedTheirAllowance() throws {
    let second = ["-signer", workshop.path("de.pem"), "-inkey", workshop.path("de.key.pem")]
    let two = try workshop.cms(batch.canonical, by: "fr", second)
    #expect(trust.refusal(two, batch)?.step == .signer)
    #expect(trust.refusal(two, batch, .severalSigners)?.step == .embeddedCertificate)
    // Which of the two comes first is decided by the order of DER; the first one counts.
    let both: SignatureAllowances = [.severalSigners, .chainCertificates]
    let outcomes = [trust.refusal(two, batch, both), trust.refusal(two, german, both)]
    #expect(outcomes.filter { $0 == nil }.count == 1)
    #expect(outcomes.compactMap { $0?.step } == [.origin])
    let chain = try workshop.cms(batch.canonical, by: "fr", ["-certfile", workshop.path("operator.pem")])
    #expect(trust.refusal(chain, batch)?.step == .embeddedCertificate)
    #expect(trust.refusal(chain, batch, .chainCertificates) == nil)
  }

  @Test func pssIsRefusedByName() throws {
    let signature = try workshop.cms(german.canonical, by: "de", ["-keyopt", "rsa_padding_mode:pss"])
    let refusal = try #require(trust.refusal(signature, german, SignatureAllowances(rawValue: 63)))
    #expect(refusal.step == .signer && refusal.detail.contains("PSS"))
  }

  @Test func countriesMustFit() throws {
    func refused(_ name: String, _ batch: SignedBatch) throws -> BatchRefusal? {
      trust.refusal(try workshop.cms(batch.canonical, by: name), batch)
    }
    #expect(try refused("none", batch)?.step == .country)
    #expect(try refused("two", batch)?.detail.contains("names 2 countries") == true)
    #expect(try refused("weak", batch)?.step == .embeddedCertificate)
    // The certificate is good, and nobody has whitelisted it.
    #expect(try refused("fr-next", batch)?.step == .whitelist)
    // A country signs the keys of another.
    #expect(try refused("fr", german)?.step == .origin)
    let mixed = SignedBatch.of("rows", origins: ["FR", "FR", "fr", "DE"])
    let refusal = try #require(try refused("fr", mixed))
    #expect(refusal.step == .origin && refusal.key == 2 && refusal.description.contains(#"key 2: origin "fr""#))
  }

  @Test func timesAreJudged() throws {
    let signature = try workshop.cms(batch.canonical, by: "fr")
    #expect(trust.refusal(signature, batch, at: .today.adding(days: 4))?.step == .validity)
    #expect(trust.refusal(signature, batch, at: .today.adding(days: -4))?.step == .validity)
    #expect(trust.refusal(signature, batch, at: .today.adding(days: 2)) == nil)
    // What says that it was signed when the certificate was not valid yet.
    let certificate = try workshop.certificate("fr")
    #expect(throws: FederationFault.self) {
      try workshop.identity("fr").sign([], at: certificate.notAfter.adding(days: 1))
    }
  }

  @Test func theWhitelistDecides() throws {
    let signature = try workshop.cms(batch.canonical, by: "fr")
    func refusal(_ change: (inout WhitelistedCertificate) -> Void) throws -> BatchRefusal? {
      var row = try workshop.row("fr", "FR")
      change(&row)
      return FederationTrust(anchor: trust.anchor, rows: [row]).refusal(signature, batch)
    }
    #expect(try refusal { _ in } == nil)
    #expect(try refusal { $0.isRevoked = true }?.detail.contains("revoked") == true)
    #expect(try refusal { $0.operatorSignature = [] }?.detail.contains("has not signed") == true)
    #expect(try refusal { $0.operatorSignature[7] ^= 1 }?.detail.contains("does not verify") == true)
    for use in [CertificateUse.authentication, .callback] {
      let row = try workshop.row("fr", "FR", use)
      let refusal = FederationTrust(anchor: trust.anchor, rows: [row]).refusal(signature, batch)
      #expect(refusal?.step == .whitelist && refusal?.detail.contains(use.rawValue) == true)
    }
    // Whitelisted for another country than its subject says.
    let other = FederationTrust(anchor: trust.anchor, rows: [try workshop.row("fr", "DE")])
    #expect(other.refusal(signature, batch)?.step == .whitelist)
    // Two of one country are valid at once.
    var both = trust
    both.rows.append(try workshop.row("fr-next", "FR"))
    #expect(both.refusal(signature, batch) == nil)
    #expect(try both.refusal(workshop.cms(batch.canonical, by: "fr-next"), batch) == nil)
  }

  @Test func anotherContentIsToldByItsDigest() throws {
    let signature = try workshop.cms(Array("protobuf".utf8), by: "fr")
    let refusal = try #require(trust.refusal(signature, batch))
    #expect(refusal.step == .signature)
    #expect(refusal.detail.contains(FederationDigest.hexadecimal(Array("protobuf".utf8))))
    #expect(refusal.description.contains(batch.digest) && refusal.description.contains(batch.firstRows[0]))
  }

  // MARK: Hostile bytes

  @Test func noByteChangedVerifiesAndNoneCrashes() throws {
    for signature in [
      try workshop.cms(batch.canonical, by: "fr"), try workshop.identity("fr").sign(batch.canonical, at: .today),
    ] {
      #expect(trust.refusal(signature, batch) == nil)
      let issuer = try namePlaces(in: signature)
      // CI flips every bit, as KEYFERRY_LONG=1 says.
      let isLong = ProcessInfo.processInfo.environment["KEYFERRY_LONG"] != nil
      for place in signature.indices where !issuer.contains(place) {
        for bit in isLong ? 0..<8 : place % 8..<place % 8 + 1 {
          var changed = signature
          changed[place] ^= 1 << bit
          #expect(trust.refusal(changed, batch, SignatureAllowances(rawValue: 63)) != nil, "byte \(place), bit \(bit)")
        }
      }
    }
  }

  /// Where the signer is named, by its certificate's issuer. libcrypto compares names and not their bytes (upper and lower
  /// case count alike, and so do some tags); nothing comes of it, since the certificate counts by its thumbprint.
  private func namePlaces(in signature: [UInt8]) throws -> Range<Int> {
    func find(_ bytes: [UInt8], from start: Int) throws -> Int {
      try #require((start...(signature.count - bytes.count)).first { signature[$0...].starts(with: bytes) })
    }
    let certificate = try workshop.certificate("fr").der
    let name = try find(Array("test signing".utf8), from: try find(certificate, from: 0) + certificate.count)
    let country = try find(Array("FR".utf8), from: name)
    return (name - 13)..<(country + 2)
  }

  @Test func noTruncationVerifiesAndNoneCrashes() throws {
    let signature = try workshop.cms(batch.canonical, by: "fr")
    for length in signature.indices {
      #expect(trust.refusal(Array(signature[..<length]), batch)?.step == .decode, "\(length) bytes")
    }
    #expect(trust.refusal(signature + [0], batch)?.step == .decode)
  }

  @Test func hugeAndDeepOnesAreRefusedBeforeTheyAreRead() throws {
    let huge = String(repeating: "A", count: 1 << 20)
    #expect(trust.refusal(of: huge, batch)?.detail.contains("longer than") == true)
    for unit: [UInt8] in [[0x30, 0x80], [0xA0, 0x80], [0x24, 0x80], [0x31, 0x80]] {
      let deep = Array([[UInt8]](repeating: unit, count: 32_000).joined())
      #expect(trust.refusal(deep, batch)?.step == .decode)
    }
    // The right beginning, and then depth.
    let signature = try workshop.cms(batch.canonical, by: "fr")
    let beginning = Array(signature[4..<15])
    let nested = [0x30, 0x80] + beginning + Array([[UInt8]](repeating: [0xA0, 0x80], count: 30_000).joined())
    #expect(trust.refusal(nested, batch)?.detail.contains("nests deeper") == true)
    // A chain that fills the room.
    let certificate = try workshop.certificate("operator").der
    #expect(trust.refusal(Array([[UInt8]](repeating: certificate, count: 60).joined()), batch)?.step == .decode)
  }

  @Test(arguments: [
    ("", "empty"), ("AAA\nAAAA", "line break"), ("AAAA ", "0x20"), ("AA-_", "URL"), ("A", "no whole number"),
    ("AA=A", "no digit"), ("AAAA====", "4 times"), ("AAA==", "no whole number"), ("ÄAAA", "0xc3"),
  ])
  func theHeadersBase64IsThatOfJava(text: String, words: String) {
    let refusal = trust.refusal(of: text, batch)
    #expect(refusal?.step == .decode && refusal?.detail.contains(words) == true, "\(String(describing: refusal))")
  }

  @Test func theHeaderMayLackItsPadding() throws {
    for count in 0..<40 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
      let text = Base64.encode(bytes)
      #expect(text == Data(bytes).base64EncodedString())
      guard count > 0 else { continue }
      #expect(try HeaderBase64.decode(text, limit: 64) == bytes)
      #expect(try HeaderBase64.decode(text.filter { $0 != "=" }, limit: 64) == bytes)
    }
  }

  // MARK: Audit

  @Test func auditEntriesVerify() throws {
    let row = try workshop.row("fr", "FR")
    let now = Instant.today
    let entry = AuditEntry(
      country: "FR", uploadedTime: "\(now)", uploaderCertificate: "", uploaderThumbprint: "",
      uploaderOperatorSignature: "", signingCertificate: row.certificate.pem,
      uploaderSigningThumbprint: row.certificate.thumbprint,
      signingCertificateOperatorSignature: Base64.encode(row.operatorSignature), amount: 2,
      batchSignature: Base64.encode(try workshop.cms(batch.canonical, by: "fr")))
    // A national back end knows the anchor alone.
    let anchor = FederationTrust(anchor: trust.anchor)
    #expect(try anchor.verify(entry, over: batch).country == "FR")
    #expect(try anchor.prove(slices: [(entry, batch)]).origins == ["FR"])
    func step(_ change: (inout AuditEntry) throws -> Void) rethrows -> VerificationStep? {
      var changed = entry
      try change(&changed)
      do throws(BatchRefusal) {
        try anchor.verify(changed, over: batch)
        return nil
      } catch {
        return error.step
      }
    }
    #expect(step { $0.amount = 3 } == .decode)
    #expect(step { $0.uploadedTime = "yesterday" } == .decode)
    #expect(step { $0.uploadedTime = "\(now.adding(days: 5))" } == .validity)
    #expect(step { $0.country = "DE" } == .country)
    #expect(step { $0.signingCertificate += "\n" } == .whitelist)
    #expect(step { $0.uploaderSigningThumbprint = $0.uploaderSigningThumbprint.uppercased() } == .embeddedCertificate)
    #expect(try step { $0.signingCertificate = try workshop.text("de.pem") } == .embeddedCertificate)
    #expect(step { $0.signingCertificateOperatorSignature = "" } == .whitelist)
    #expect(
      try step { $0.batchSignature = Base64.encode(try workshop.cms([1, 2, 3], by: "fr")) } == .signature)
    var revoked = row
    revoked.isRevoked = true
    #expect(throws: BatchRefusal.self) {
      try FederationTrust(anchor: trust.anchor, rows: [revoked]).verify(entry, over: batch)
    }
  }

  @Test(arguments: [
    ("2020-11-18T10:00:00Z", 0), ("2020-11-18T10:00:00.123Z", 0), ("2020-11-18T11:00:00+01:00", 0),
    ("2020-11-18T08:30:00.000-0130", 0), ("2020-11-18T10:00:00", 0), ("2020-11-18T10:00:01.5+0000", 1),
  ])
  func uploadTimesAreRead(text: String, seconds: Int64) {
    #expect(entry(text).uploadedAt == Instant(secondsSince1970: 1_605_693_600 + seconds))
  }

  @Test(arguments: ["", "2020-11-18", "2020-11-18T10:00:00+1", "2020-11-18T10:00:00+25:00", "2020-11-18T10:00:00.Z"])
  func otherTimesAreNot(text: String) { #expect(entry(text).uploadedAt == nil) }

  private func entry(_ time: String) -> AuditEntry {
    AuditEntry(
      country: "", uploadedTime: time, uploaderCertificate: "", uploaderThumbprint: "", uploaderOperatorSignature: "",
      signingCertificate: "", uploaderSigningThumbprint: "", signingCertificateOperatorSignature: "", amount: 0,
      batchSignature: "")
  }
}

/// Other programs that sign and verify batches.
enum Peers {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("interop/federation")

  static let hasPython = (try? run("/usr/bin/env", ["python3", "-c", "import cryptography"]).status) == 0
  static let noPython: Comment = "needs cryptography for python3: apt-get install python3-cryptography"

  static func python(_ script: String, _ arguments: [String]) throws -> ProgramResult {
    try run("/usr/bin/env", ["python3", folder.appendingPathComponent(script).path] + arguments)
  }

  private static let jars = ["bcprov", "bcutil", "bcpkix"].map { "/usr/share/java/\($0).jar" }
  static let hasBouncyCastle =
    jars.allSatisfy { FileManager.default.fileExists(atPath: $0) }
    && (try? run("/usr/bin/env", ["java", "-version"]).status) == 0
  static let noBouncyCastle: Comment = "needs BouncyCastle: apt-get install default-jdk-headless libbcpkix-java"

  /// The exit status.
  static func java(_ arguments: [String]) throws -> Int32 {
    let program = folder.appendingPathComponent("BatchCMS.java").path
    return try run("/usr/bin/env", ["java", "-cp", jars.joined(separator: ":"), program] + arguments).status
  }
}
