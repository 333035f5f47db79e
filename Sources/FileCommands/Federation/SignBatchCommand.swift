package import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake

package struct SignBatchCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "sign-batch", _superCommandName: Program.name,
    abstract: "Sign a federation's batch as its gateway asks, and print the header batchSignature.",
    discussion: """
      What is signed are not the bytes of the file, but the canonical bytes of its keys: the same for protobuf and JSON. \
      The signature is a detached CMS in DER with SHA-256, the certificate inside, and contentType, messageDigest and \
      signingTime; the header is its base64 in one line.

      Each key's origin must be the country of the certificate (C). Regions with a comma, with a letter that is not ASCII, \
      and empty ones are not signed: others have the same canonical bytes.

      Examples:
        keyferry sign-batch batch.bin --certificate de.pem --key de.key.pem
        keyferry sign-batch batch.json --certificate de.pem --key de.key.pem \\
          -o signature.txt --json
      """)

  @Argument(
    help: ArgumentHelp("The batch, efgs-protobuf or efgs-json; - is standard input.", valueName: "batch"),
    completion: .file())
  var batch: String

  @Option(
    help: ArgumentHelp("The country's certificate for signing, PEM.", valueName: "certificate.pem"), completion: .file()
  )
  var certificate: String

  @Option(help: ArgumentHelp("Its private key, PEM: RSA or P-256.", valueName: "key.pem"), completion: .file())
  var key: String

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "Write the header's text into this new file instead of printing it.", valueName: "signature.txt"),
    completion: .file()
  )
  var output: String?

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Sign as of this time instead of now.", valueName: "time"))
  var at: Instant?

  @Flag(help: "Print what was signed as JSON (schemas/batch-signing.schema.json).")
  var json = false

  @OptionGroup var input: InputOptions

  @OptionGroup var loudness: LoudnessOptions

  package func run() throws {
    let certificate = try TrustFile.certificate(self.certificate)
    let identity = try TrustFile.located(key) { text throws(FederationFault) in
      try BatchSigningIdentity(certificate: certificate, key: Secret(text))
    }
    let file = try BatchDocument(batch, input)
    let keys = file.document.keys
    let signed: SignedBatch
    do {
      signed = try CanonicalBatch.signed(keys, regions: file.document.regions)
    } catch let fault as FormatError {
      throw fault.within(file.name)
    }
    let country = certificate.country ?? ""
    if let stranger = signed.origins.firstIndex(where: { $0 != country }) {
      throw BatchFileFault(
        name: file.name,
        reason:
          "key \(stranger): origin \(signed.origins[stranger].debugDescription), and the certificate is of \(country); "
          + "a country signs its own keys alone")
    }
    let header = Base64.encode(try identity.sign(signed.canonical, at: at ?? Clock.now))
    if let output {
      let target = try OutputFile(path: output, replacing: false)
      try target.write(Array((header + "\n").utf8))
      try target.commit()
    }
    if json {
      let document = BatchSigningDocument(
        keys: keys.count, country: country, thumbprint: certificate.thumbprint, canonicalSHA256: signed.digest,
        canonicalBytes: signed.canonical.count, firstRows: signed.firstRows, batchSignature: header, output: output)
      return try Console.document(line: try JSONText.render(document))
    }
    if output == nil { try Console.document(line: header) }
    Console.note(
      "\(keys.count) keys of \(country), \(signed.canonical.count) canonical bytes, SHA-256 \(signed.digest)")
  }

  package init() {}
}

/// What `keyferry sign-batch --json` prints; see schemas/batch-signing.schema.json.
struct BatchSigningDocument: Encodable {
  let reportVersion = 1
  let keys: Int
  let country: String
  let thumbprint: String
  let canonicalSHA256: String
  let canonicalBytes: Int
  let firstRows: [String]
  let batchSignature: String
  let output: String?
}
