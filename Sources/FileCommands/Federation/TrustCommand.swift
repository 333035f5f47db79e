package import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake

package struct TrustCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "trust", _superCommandName: Program.name,
    abstract: "Keep the file that says whom a federation believes: its operator, and the certificates of countries.",
    discussion: """
      The file is JSON (schemas/federation-trust.schema.json). It holds the operator's trust anchor, and for each \
      certificate its country, its use and the operator's signature over its PEM text. A certificate counts when that \
      signature verifies, it is not revoked, and it is valid at the time. Two of one country may be valid at once.

      Examples:
        keyferry trust add trust.json --anchor operator.pem
        keyferry trust add trust.json de.pem --country DE --use signing
        keyferry trust sign trust.json --key operator.key.pem
        keyferry trust check trust.json
      """,
    subcommands: [Add.self, List.self, Revoke.self, Sign.self, Check.self])

  static let file = ArgumentHelp("The trust file.", valueName: "trust.json")

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add", _superCommandName: "keyferry trust",
      abstract: "Begin a trust file, or add a certificate to it.",
      discussion: """
        The certificate's PEM text is kept to the byte, since the operator signs that text. Without the operator's \
        signature a certificate counts for nothing; keyferry trust sign makes it later.

        The signature is a file of bytes as openssl dgst -sha256 -sign writes them, or of their base64.

        Examples:
          keyferry trust add trust.json --anchor operator.pem
          keyferry trust add trust.json de.pem --country DE --use signing
          keyferry trust add trust.json de-tls.pem --country DE --use authentication \\
            --operator-signature de-tls.sig
          keyferry trust add trust.json de-cb.pem --country DE --use callback \\
            --host callback.example.org
        """)

    @Argument(help: TrustCommand.file, completion: .file())
    var file: String

    @Argument(help: ArgumentHelp("The certificate, PEM.", valueName: "certificate.pem"), completion: .file())
    var certificate: String?

    @Option(
      help: ArgumentHelp("The operator's certificate, PEM; for a new file.", valueName: "operator.pem"),
      completion: .file())
    var anchor: String?

    @Option(help: "The country, as the certificate's subject has it (C).")
    var country: String?

    @Option(
      help: "What the certificate is for: authentication, signing or callback.",
      completion: .list(CertificateUse.allCases.map(\.rawValue)))
    var use: CertificateUse?

    @Option(help: "The host that shows the certificate; for callback.")
    var host: String?

    @Option(help: ArgumentHelp("The operator's signature over the PEM text.", valueName: "file"), completion: .file())
    var operatorSignature: String?

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws {
      guard certificate != nil || anchor != nil else { throw ValidationError("missing a certificate, or --anchor") }
      if certificate == nil {
        guard country == nil, use == nil, host == nil, operatorSignature == nil else {
          throw ValidationError("--country, --use, --host and --operator-signature are for a certificate")
        }
      } else {
        guard let country, let use else { throw ValidationError("a certificate needs --country and --use") }
        guard !country.isEmpty else { throw ValidationError("--country is empty") }
        guard (host != nil) == (use == .callback) else {
          throw ValidationError(use == .callback ? "a callback needs --host" : "--host is for --use callback")
        }
      }
    }

    func run() throws {
      let isNew = !TrustFile.exists(file)
      var trust = try start(isNew)
      if let certificate, let country, let use {
        let row = try self.row(TrustFile.certificate(certificate), certificate, country, use, for: trust)
        let twin = trust.rows.first {
          $0.certificate.thumbprint == row.certificate.thumbprint && $0.country == country && $0.use == use
        }
        guard twin == nil else {
          throw TrustFileFault(
            path: file,
            faults: [
              FederationFault(
                .repeated, "holds the certificate \(row.certificate.thumbprint) for \(country), \(use.rawValue) already"
              )
            ])
        }
        trust.rows.append(row)
        try TrustFile.write(trust, file, replacing: !isNew)
        try Console.result(line: "\(country) \(use.rawValue) \(row.certificate.thumbprint)")
        if row.operatorSignature.isEmpty {
          Console.hint("it counts once it is signed: keyferry trust sign \(file) --key OPERATOR.key.pem")
        }
      } else {
        try TrustFile.write(trust, file, replacing: false)
        try Console.result(line: "anchor \(trust.anchor.thumbprint)")
      }
    }

    private func start(_ isNew: Bool) throws -> FederationTrust {
      if isNew {
        guard let anchor else {
          throw TrustFileFault(
            path: PathText.shownAsMissing(file),
            faults: [FederationFault(.notTrustFile, "is not there; begin it with --anchor operator.pem")])
        }
        let trust = FederationTrust(anchor: try TrustFile.certificate(anchor))
        // What could not be read again is not written.
        do throws(FederationFault) {
          return try FederationTrust(json: trust.json())
        } catch {
          throw TrustFileFault(path: anchor, faults: [error])
        }
      }
      let trust = try TrustFile.read(file)
      if let anchor, try TrustFile.certificate(anchor) != trust.anchor {
        throw TrustFileFault(
          path: file, faults: [FederationFault(.notTrustFile, "has another anchor, \(trust.anchor.thumbprint)")])
      }
      if certificate == nil {
        throw TrustFileFault(path: file, faults: [FederationFault(.notTrustFile, "exists and has this anchor already")])
      }
      return trust
    }

    private func row(
      _ certificate: FederationCertificate, _ path: String, _ country: String, _ use: CertificateUse,
      for trust: FederationTrust
    ) throws -> WhitelistedCertificate {
      guard certificate.country == country else {
        let found =
          certificate.country.map { "the country \($0)" } ?? "\(certificate.countryCount) countries (C), expected one"
        throw TrustFileFault(
          path: path, faults: [FederationFault(.wrongCountry, "the subject \(certificate.subject) names \(found)")])
      }
      guard certificate.hasAllowedKey else {
        throw TrustFileFault(
          path: path,
          faults: [
            FederationFault(
              .unsupportedKey,
              "the key is \(certificate.keyText), allowed are RSA of 2048 bits or more, P-256, P-384 and P-521")
          ])
      }
      var row = WhitelistedCertificate(certificate: certificate, country: country, use: use, host: host)
      guard let operatorSignature else { return row }
      row.operatorSignature = try OperatorSignature.read(operatorSignature)
      guard trust.isSigned(row) else {
        throw TrustFileFault(
          path: operatorSignature,
          faults: [
            FederationFault(
              .cannotSign,
              "is no signature by the anchor \(trust.anchor.thumbprint) over the exact text of \(path): line ends, the last "
                + "line feed and comments count")
          ])
      }
      return row
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", _superCommandName: "keyferry trust",
      abstract: "Print the certificates, and which of them count.",
      discussion: """
        Examples:
          keyferry trust list trust.json
          keyferry trust list trust.json --at +30d
        """)

    @Argument(help: TrustCommand.file, completion: .file())
    var file: String

    @Option(parsing: .unconditional, help: ArgumentHelp("Judge at this time instead of now.", valueName: "time"))
    var at: Instant?

    @Flag(help: "Print it as JSON (schemas/trust-report.schema.json).")
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func run() throws {
      let (trust, faults) = try TrustFile.survey(file)
      let report = TrustReport(trust, faults: faults, at: at ?? Clock.now)
      try Console.result(json ? try JSONText.render(report) + "\n" : report.text)
      for fault in faults { Console.note("\(file): \(fault)") }
    }
  }

  struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "revoke", _superCommandName: "keyferry trust",
      abstract: "Mark a certificate as revoked: it counts no more, for any use.",
      discussion: """
        A running gateway takes the new file within about ten seconds, without SIGHUP. Where it cannot read the file, \
        its old list stays, and the revocation does not count until the file is mended: see its log, and keyferry trust \
        check.

        Examples:
          keyferry trust revoke trust.json 0bddc82e5c8f
        """)

    @Argument(help: TrustCommand.file, completion: .file())
    var file: String

    @Argument(help: ArgumentHelp("The thumbprint, or its first eight digits or more.", valueName: "thumbprint"))
    var thumbprint: String

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws { try ThumbprintArgument.check(thumbprint) }

    func run() throws {
      var trust = try TrustFile.read(file)
      let found = try ThumbprintArgument.find(thumbprint, in: trust, file)
      for index in trust.rows.indices where trust.rows[index].certificate.thumbprint == found {
        trust.rows[index].isRevoked = true
        try Console.result(line: "revoked: \(trust.rows[index].country) \(trust.rows[index].use.rawValue) \(found)")
      }
      try TrustFile.write(trust, file, replacing: true)
    }
  }

  struct Sign: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "sign", _superCommandName: "keyferry trust",
      abstract: "Sign certificates with the operator's key.",
      discussion: """
        Signed are those that the anchor has not signed yet, or the named ones alone. Keep the operator's key on a machine \
        without a network; the file of certificates travels.

        Examples:
          keyferry trust sign trust.json --key operator.key.pem
          keyferry trust sign trust.json --key operator.key.pem 0bddc82e5c8f
        """)

    @Argument(help: TrustCommand.file, completion: .file())
    var file: String

    @Argument(help: ArgumentHelp("Thumbprints, or their first eight digits or more.", valueName: "thumbprint"))
    var thumbprints: [String] = []

    @Option(help: ArgumentHelp("The anchor's private key, PEM.", valueName: "operator.key.pem"), completion: .file())
    var key: String

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws {
      for thumbprint in thumbprints { try ThumbprintArgument.check(thumbprint) }
    }

    func run() throws {
      var trust = try TrustFile.read(file)
      let signer = try TrustFile.located(key) { text throws(FederationFault) in
        try FederationIdentity(certificate: trust.anchor, key: Secret(text))
      }
      let chosen = try thumbprints.map { try ThumbprintArgument.find($0, in: trust, file) }
      var count = 0
      for index in trust.rows.indices {
        let row = trust.rows[index]
        guard !trust.isSigned(row), chosen.isEmpty || chosen.contains(row.certificate.thumbprint) else { continue }
        trust.rows[index].operatorSignature = try signer.sign(pem: row.certificate.pem)
        guard trust.isSigned(trust.rows[index]) else {
          throw FederationFault(.cannotSign, "the new signature does not verify under the anchor")
        }
        try Console.result(line: "signed: \(row.country) \(row.use.rawValue) \(row.certificate.thumbprint)")
        count += 1
      }
      guard count > 0 else { return Console.remark("all of them are signed") }
      try TrustFile.write(trust, file, replacing: true)
    }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", _superCommandName: "keyferry trust",
      abstract: "Find what is wrong with a trust file, and what soon will be.",
      discussion: """
        Faults are: signatures of the operator that are missing or do not verify, wrong thumbprints and countries, \
        repeated rows, keys that are too weak, and certificates that have expired and are not revoked. The exit code is 1 \
        when there is one. What expires within thirty days is told, too.

        Examples:
          keyferry trust check trust.json
          keyferry trust check trust.json --at +90d --json
        """)

    @Argument(help: TrustCommand.file, completion: .file())
    var file: String

    @Option(parsing: .unconditional, help: ArgumentHelp("Judge at this time instead of now.", valueName: "time"))
    var at: Instant?

    @Flag(help: "Print it as JSON (schemas/trust-report.schema.json).")
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func run() throws {
      let (trust, faults) = try TrustFile.survey(file)
      let report = TrustReport(trust, faults: faults, at: at ?? Clock.now)
      try Console.result(json ? try JSONText.render(report) + "\n" : report.findingsText)
      try exit(report.faults.isEmpty ? .done : .rejected)
    }
  }

  package init() {}
}

/// A signature of the operator's in a file: its bytes, or their base64 in one line.
enum OperatorSignature {
  static func read(_ path: String) throws -> [UInt8] {
    let bytes = try FileSource.contents(of: path, limit: 16 << 10)
    let isText = bytes.allSatisfy { $0 == 0x0A || (0x21...0x7E).contains($0) }
    guard isText, !bytes.isEmpty else { return bytes }
    let text = String(decoding: bytes.last == 0x0A ? bytes.dropLast() : bytes[...], as: UTF8.self)
    do throws(HeaderBase64.Fault) {
      return try HeaderBase64.decode(text, limit: 4096)
    } catch {
      throw TrustFileFault(
        path: path, faults: [FederationFault(.malformed, "neither bytes nor base64: \(error.reason)")])
    }
  }
}

/// A thumbprint on the command line, or its beginning.
private enum ThumbprintArgument {
  static func check(_ text: String) throws {
    let isHexadecimal = text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    guard isHexadecimal, (8...64).contains(text.utf8.count) else {
      throw ValidationError("\(text.debugDescription): a thumbprint is 8 to 64 lower-case hexadecimal digits")
    }
  }

  static func find(_ text: String, in trust: FederationTrust, _ file: String) throws -> String {
    let found = Set(trust.rows.map(\.certificate.thumbprint).filter { $0.hasPrefix(text) })
    guard found.count == 1, let thumbprint = found.first else {
      let reason = found.isEmpty ? "no certificate" : "\(found.count) certificates"
      throw TrustFileFault(
        path: file, faults: [FederationFault(.notTrustFile, "\(reason) with a thumbprint that begins with \(text)")])
    }
    return thumbprint
  }
}
