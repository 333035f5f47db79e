import BundleTrust
import ExposureKeys
import Foundation
import Testing

@Suite(.enabled(if: OpenSSL.isPresent, OpenSSL.absence))
struct FederationTrustTests {
  private let workshop: FederationWorkshop
  private let trust: FederationTrust

  init() throws {
    workshop = try FederationWorkshop.shared.get()
    trust = try workshop.trust()
  }

  private func code(_ body: () throws -> Void) -> FederationFault.Code? {
    do {
      try body()
      return nil
    } catch {
      return (error as? FederationFault)?.code
    }
  }

  @Test func certificatesSayWhatOpenSSLSays() throws {
    for name in ["operator", "de", "fr"] {
      let certificate = try workshop.certificate(name)
      let print = try workshop.openssl([
        "x509", "-in", workshop.path("\(name).pem"), "-noout", "-fingerprint", "-sha256",
      ])
      let hexadecimal = String(decoding: print, as: UTF8.self).split(separator: "=")[1].filter {
        $0 != ":" && $0 != "\n"
      }
      #expect(certificate.thumbprint == hexadecimal.lowercased())
      #expect(certificate.notAfter == certificate.notBefore.adding(days: 3))
      #expect(try FederationCertificate(der: certificate.der) == certificate)
    }
    #expect(try workshop.certificate("de").country == "DE")
    #expect(try workshop.certificate("de").subject == "O=Keyferry test,CN=test signing,C=DE")
    #expect(try workshop.certificate("operator").country == nil)
    #expect(try workshop.certificate("two").country == nil)
    #expect(try workshop.certificate("two").countryCount == 2)
  }

  @Test func whatIsNoCertificateIsRefused() throws {
    let pem = try workshop.text("fr.pem")
    #expect(code { _ = try FederationCertificate(pem: "") } == .notPEM)
    #expect(code { _ = try FederationCertificate(pem: pem + pem) } == .notPEM)
    let key = try workshop.text("fr.key.pem")
    #expect(code { _ = try FederationCertificate(pem: key) } == .notPEM)
    #expect(code { _ = try FederationCertificate(der: []) } == .malformed)
    let der = try workshop.certificate("fr").der
    #expect(code { _ = try FederationCertificate(der: der + [0]) } == .malformed)
    for length in der.indices {
      #expect(code { _ = try FederationCertificate(der: Array(der[..<length])) } != nil)
    }
    let long = String(repeating: " ", count: 70_000)
    #expect(code { _ = try FederationCertificate(pem: long + pem) } == .limitExceeded)
  }

  @Test func keysMustBelongAndBeReadable() throws {
    let certificate = try workshop.certificate("fr")
    func code(_ key: String) -> FederationFault.Code? {
      self.code { _ = try FederationIdentity(certificate: certificate, key: Secret(key)) }
    }
    let key = try workshop.text("fr.key.pem")
    #expect(code(key) == nil)
    #expect(try code(workshop.text("fr-next.key.pem")) == .keyMismatch)
    #expect(try code(workshop.text("de.key.pem")) == .keyMismatch)
    #expect(try code(workshop.text("weak.key.pem")) == .unsupportedKey)
    #expect(try code(workshop.text("fr.pem")) == .notPEM)
    #expect(code("") == .notPEM)
    let encrypted = try workshop.openssl(
      ["pkcs8", "-topk8", "-in", workshop.path("fr.key.pem"), "-passout", "pass:secret"])
    #expect(code(String(decoding: encrypted, as: UTF8.self)) == .encrypted)
    let sec1 = try workshop.openssl(["ec", "-in", workshop.path("fr.key.pem")])
    #expect(code(String(decoding: sec1, as: UTF8.self)) == nil)
    let pkcs1 = String(
      decoding: try workshop.openssl(["rsa", "-traditional", "-in", workshop.path("de.key.pem")]), as: UTF8.self)
    #expect(pkcs1.contains("RSA PRIVATE KEY"))
    _ = try BatchSigningIdentity(certificate: workshop.certificate("de"), key: Secret(pkcs1))
    #expect(throws: FederationFault.self) { try workshop.identity("none") }
    #expect(throws: FederationFault.self) { try workshop.identity("two") }
  }

  @Test func theOperatorSignsTheExactText() throws {
    let row = try workshop.row("fr", "FR")
    #expect(trust.isSigned(row))
    for changed in [
      row.certificate.pem + "\n", String(row.certificate.pem.dropLast()),
      row.certificate.pem.replacingOccurrences(of: "\n", with: "\r\n"), "comment\n" + row.certificate.pem,
    ] {
      #expect(!trust.isSignature(row.operatorSignature, over: changed))
    }
    // As with openssl dgst -sha256 -sign.
    let theirs = try workshop.openssl(
      ["dgst", "-sha256", "-sign", workshop.path("operator.key.pem"), workshop.path("fr.pem")])
    #expect(theirs == row.operatorSignature)
    #expect(!trust.isSignature([], over: row.certificate.pem))
  }

  @Test func lookUpsTakeOneSpellingAlone() throws {
    let thumbprint = try workshop.certificate("fr").thumbprint
    func refusal(_ thumbprint: String, _ country: String = "FR", _ use: CertificateUse = .signing)
      -> CertificateRefusal?
    {
      do throws(CertificateRefusal) {
        _ = try trust.certificate(thumbprint: thumbprint, country: country, use: use, at: .today)
        return nil
      } catch {
        return error
      }
    }
    #expect(refusal(thumbprint) == nil)
    #expect(refusal(thumbprint, "DE")?.code == .wrongCountry)
    #expect(refusal(thumbprint, "fr")?.code == .wrongCountry)
    #expect(refusal(thumbprint, "FR", .callback)?.code == .wrongUse)
    for other in [thumbprint.uppercased(), "0" + thumbprint, String(thumbprint.drop { $0 == "0" }) + " "] {
      let found = refusal(other)
      #expect(found?.code == .unknown && found?.reason.contains(thumbprint) == true, "\(other)")
    }
    #expect(refusal("")?.code == .unknown)
    #expect(refusal(String(repeating: "0", count: 64))?.code == .unknown)
  }

  @Test func theFileComesBackAsItWas() throws {
    var trust = trust
    trust.rows[0].isRevoked = true
    trust.rows[1].operatorSignature = []
    trust.rows.append(
      WhitelistedCertificate(
        certificate: try workshop.certificate("fr-next"), country: "FR", use: .callback, host: "callback.example"))
    let json = trust.json()
    #expect(try FederationTrust(json: json) == trust)
    #expect(try FederationTrust(json: json).json() == json)
    #expect(try FederationTrust(json: FederationTrust(anchor: trust.anchor).json()).rows.isEmpty)
  }

  @Test func faultsNameTheirPlace() throws {
    func faults(_ change: (inout String) -> Void) throws -> [String] {
      var text = String(decoding: trust.json(), as: UTF8.self)
      change(&text)
      return try FederationTrust.read(Array(text.utf8)).faults.map { "\($0.code.rawValue) \($0.place)" }
    }
    let thumbprint = try workshop.certificate("fr").thumbprint
    #expect(try faults { _ in } == [])
    #expect(
      try faults { $0 = $0.replacingOccurrences(of: thumbprint, with: thumbprint.uppercased()) }
        == ["wrong-thumbprint certificates[1].thumbprint"])
    #expect(
      try faults { $0 = $0.replacingOccurrences(of: #""country" : "FR""#, with: #""country" : "IT""#) }
        == ["wrong-country certificates[1].country"])
    #expect(
      try faults { $0 = $0.replacingOccurrences(of: "SIGNING", with: "ALL") } == [
        "not-trust-file certificates[0].use", "not-trust-file certificates[1].use",
      ])
    #expect(
      try faults { $0 = $0.replacingOccurrences(of: #""country" : "FR","#, with: #""country" : "FR", "x" : 1,"#) }
        == ["not-trust-file certificates[1]"])
    for text in ["", "[]", "{}", #"{"anchor": 3}"#, #"{"anchor": "x"}"#, #"{"anchor": null, "certificates": []}"#] {
      #expect(throws: FederationFault.self, "\(text)") { try FederationTrust(json: Array(text.utf8)) }
    }
    var twice = trust
    twice.rows.append(twice.rows[0])
    #expect(code { _ = try FederationTrust(json: twice.json()) } == .repeated)
  }

  @Test func allowancesHaveNames() {
    for name in SignatureAllowances.names { #expect(SignatureAllowances.named(name)?.names == [name]) }
    #expect(SignatureAllowances.names.count == 6)
    #expect(SignatureAllowances.named("all") == nil)
  }
}

/// What other people's operators and signers made.
@Suite(.enabled(if: RealData.isPresent, RealData.absence))
struct RealFederationTests {
  private func text(_ name: String) throws -> String {
    try String(contentsOf: RealData.folder.appendingPathComponent(name), encoding: .utf8)
  }

  /// The rows of a list of statements `INSERT INTO certificate VALUES(…)`.
  private func row(_ file: String) throws -> (thumbprint: String, row: WhitelistedCertificate) {
    let values = try text("operator-signature/\(file)").split(separator: "'").map(String.init)
    let use = try #require(CertificateUse(rawValue: values[7]))
    let pem = values[11].replacingOccurrences(of: "\\n", with: "\n")
    let row = WhitelistedCertificate(
      certificate: try FederationCertificate(pem: pem), country: values[5], use: use,
      operatorSignature: try HeaderBase64.decode(values[9], limit: 4096))
    return (values[3], row)
  }

  @Test func theOperatorsSignaturesOfADeploymentVerify() throws {
    let anchor = try FederationCertificate(pem: text("operator-signature/trustanchor.pem"))
    for (file, use) in [("insert-signing.sql", CertificateUse.signing), ("insert-tls.sql", .authentication)] {
      let (thumbprint, row) = try self.row(file)
      let trust = FederationTrust(anchor: anchor, rows: [row])
      #expect(row.certificate.thumbprint == thumbprint && row.country == "NL" && row.use == use)
      #expect(trust.isSigned(row))
      #expect(!trust.isSignature(row.operatorSignature, over: row.certificate.pem + "\n"))
      let valid = row.certificate.notBefore.adding(days: 1)
      #expect(try trust.certificate(thumbprint: thumbprint, country: "NL", use: use, at: valid) == row)
      #expect(throws: CertificateRefusal.self) {
        try trust.certificate(
          thumbprint: thumbprint, country: "NL", use: use, at: row.certificate.notAfter.adding(days: 1))
      }
      if use == .signing {
        // The leading zero that others have lost.
        #expect(thumbprint.hasPrefix("0b"))
        do throws(CertificateRefusal) {
          _ = try trust.certificate(thumbprint: String(thumbprint.dropFirst()), country: "NL", use: use, at: valid)
          Issue.record("found without its leading zero")
        } catch {
          #expect(error.code == .unknown && error.reason.contains("leading zeros included"))
        }
      }
    }
  }

  @Test(arguments: [
    ("bc-rsa", "rsa"), ("bc-ec", "ec"), ("openssl-rsa", "rsa"), ("openssl-rsa-nosmimecap", "rsa"), ("pyc-rsa", "rsa"),
    ("pyc-ec", "ec"),
  ])
  func signaturesOfEveryProducerVerify(name: String, signer: String) throws {
    let folder = RealData.folder.appendingPathComponent("cms")
    let signature = Array(try Data(contentsOf: folder.appendingPathComponent("\(name).der")))
    let canonical = Array(try Data(contentsOf: folder.appendingPathComponent("example-batch.canonical")))
    let batch = SignedBatch(canonical: canonical, origins: ["DE", "DE"], firstRows: [])
    let certificate = try FederationCertificate(pem: text("cms/\(signer).pem"))
    let now = certificate.notBefore.adding(days: 1)
    // There is no key of an operator for these; what is shown is that all steps but the whitelist's pass.
    let trust = FederationTrust(
      anchor: certificate, rows: [WhitelistedCertificate(certificate: certificate, country: "DE", use: .signing)])
    let refusal = trust.refusal(signature, batch, at: now)
    #expect(
      refusal?.step == .whitelist && refusal?.detail.contains("has not signed") == true,
      "\(String(describing: refusal))")
    let read = try #require(BatchSignature.reading(Base64.encode(signature)))
    #expect(read.covers(canonical))
    #expect(!read.covers(canonical + [0]))
  }
}
