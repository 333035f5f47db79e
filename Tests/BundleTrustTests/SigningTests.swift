import BundleTrust
import ExposureKeys
import Testing

@Suite struct SigningTests {
  private func fault(_ body: () throws(KeyFault) -> Void) -> KeyFault? {
    do throws(KeyFault) {
      try body()
      return nil
    } catch {
      return error
    }
  }

  @Test func keysRoundTripThroughPEM() throws {
    let key = SigningKey.generate()
    let again = try SigningKey(pem: key.pemRepresentation)
    #expect(key.pemRepresentation.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    #expect(again.pemRepresentation == key.pemRepresentation)
    #expect(again.publicKey == key.publicKey)
    #expect(try P256PublicKey(text: key.publicKey.pem) == key.publicKey)
    #expect(try P256PublicKey(text: key.publicKey.base64) == key.publicKey)
    #expect(try P256PublicKey(spki: key.publicKey.spki) == key.publicKey)
    #expect(try P256PublicKey(x963: key.publicKey.x963) == key.publicKey)
    #expect(key.publicKey.spki.count == 91)
    #expect(key.publicKey.spki.suffix(65).elementsEqual(key.publicKey.x963))
  }

  @Test func noTwoKeysAreTheSame() {
    #expect(SigningKey.generate().publicKey != SigningKey.generate().publicKey)
  }

  @Test func aKeyNeverShowsItself() throws {
    let key = SigningKey.generate()
    let secret = key.pemRepresentation.split(separator: "\n").dropFirst().dropLast()
    var dumped = ""
    dump(key, to: &dumped)
    dump(try identity(key: key), to: &dumped)
    let shown = "\(key) \(String(reflecting: key)) \(try identity(key: key)) \(dumped)"
    #expect(shown.contains(key.publicKey.fingerprint))
    for line in secret { #expect(!shown.contains(line)) }
    #expect(!((key as Any) is any Encodable))
  }

  @Test(arguments: [
    ("", KeyFault.Code.notPEM), ("-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----", .malformed),
    ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----", .encrypted),
    ("-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMAA=\n-----END EC PRIVATE KEY-----", .encrypted),
    ("-----BEGIN RSA PRIVATE KEY-----\nMAA=\n-----END RSA PRIVATE KEY-----", .wrongBlock),
    ("-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----", .wrongBlock),
    ("-----BEGIN EC PARAMETERS-----\nMAA=\n-----END EC PARAMETERS-----", .notPEM),
  ])
  func badPrivateKey(text: String, code: KeyFault.Code) {
    #expect(fault { () throws(KeyFault) in _ = try SigningKey(pem: text) }?.code == code)
  }

  @Test func twoPrivateKeysAreTooMany() {
    let text = SigningKey.generate().pemRepresentation + SigningKey.generate().pemRepresentation
    #expect(fault { () throws(KeyFault) in _ = try SigningKey(pem: text) }?.code == .notPEM)
  }

  @Test func signaturesAreWhatEveryClientAccepts() throws {
    let digests = ExportDigests(of: sampleExport, includingBody: false)
    let identities = [try identity("310", "v1"), try identity("some_id", "1.0")]
    let signatures = try sign(digests, with: identities)
    #expect(signatures.map(\.info) == identities.map(\.info))
    #expect(signatures.map(\.batchNum) == [1, 1])
    #expect(signatures.map(\.batchSize) == [1, 1])
    #expect(
      identities[0].info
        == SignatureInfo(
          verificationKeyVersion: "v1", verificationKeyID: "310", signatureAlgorithm: "1.2.840.10045.4.3.2"))
    let report = BundleVerifier(trusting: TrustRing(keys: identities.map(\.verificationKey)))
      .verify(digests, infos: identities.map(\.info), signatures: signatures, at: noon)
    #expect(report.findings.map(\.verdict.code) == [.verified, .verified])
    #expect(report.faults.isEmpty)
  }

  @Test func oneToTenSigners() throws {
    let digests = ExportDigests(of: sampleExport)
    let identities = try (1...11).map { try identity("k\($0)", "1") }
    #expect(try sign(digests, with: Array(identities.prefix(10))).count == 10)
    #expect(fault { () throws(KeyFault) in _ = try sign(digests, with: []) }?.code == .empty)
    #expect(fault { () throws(KeyFault) in _ = try sign(digests, with: identities) }?.code == .limitExceeded)
    let twice = [identities[0], try identity("k1", "1")]
    #expect(fault { () throws(KeyFault) in _ = try sign(digests, with: twice) }?.code == .repeated)
  }

  @Test(arguments: ["", "a b", "310-v1", "ä", "a\n", String(repeating: "a", count: 256)])
  func namesThatDevicesRefuse(name: String) throws {
    let key = SigningKey.generate()
    for (id, version) in [(name, "v1"), ("310", name)] {
      let found = fault { () throws(KeyFault) in _ = try SigningIdentity(key: key, keyID: id, keyVersion: version) }
      #expect(found?.code == .invalidName)
    }
  }

  @Test func theMessageNamesWhatIsAllowed() throws {
    let key = SigningKey.generate()
    let found = fault { () throws(KeyFault) in
      _ = try SigningIdentity(key: key, keyID: "a-b", keyVersion: "1")
    }
    #expect(found?.description == #"key id: "a-b", allowed are letters, digits, "_", ".""#)
  }

  @Test func registrationHasWhatApplesAndGooglesFormsAskFor() throws {
    let key = SigningKey.generate()
    let full = try SigningIdentity(
      key: key, keyID: "310", keyVersion: "v1", appBundleID: "org.example.en-app", androidPackage: "org.example.app")
    let registration = try Registration(of: full, country: "US-VA", mobileCountryCodes: ["310", "311"])
    #expect(registration.apple.publicKeyPEM == key.publicKey.pem)
    #expect(registration.apple.appBundleID == "org.example.en-app")
    #expect(registration.google.signatureInfos.map(\.signatureAlgorithm) == ["1.2.840.10045.4.3.2"])
    #expect(
      registration.text == """
        Apple
          country                   US-VA
          mobile country codes      310, 311
          app bundle id             org.example.en-app
          key id                    310
          key version               v1

        Google
          package name              org.example.app
          verification_key_version  v1
          verification_key_id       310
          signature_algorithm       1.2.840.10045.4.3.2

        Public key, for both
        \(key.publicKey.pem)
        """)
    let bare = try Registration(of: identity(key: key))
    #expect(bare.text.contains("app bundle id             (not given)"))
  }

  @Test(arguments: ["", "it", "ITA", "US-", "US-VIRG", "U", "US-VA-1"])
  func notACountry(code: String) throws {
    let identity = try identity()
    #expect(fault { () throws(KeyFault) in _ = try Registration(of: identity, country: code) }?.code == .invalidName)
  }

  @Test(arguments: ["", "31", "3100", "31a"])
  func notAMobileCountryCode(code: String) throws {
    let identity = try identity()
    let found = fault { () throws(KeyFault) in _ = try Registration(of: identity, mobileCountryCodes: [code]) }
    #expect(found?.code == .invalidName)
  }
}
