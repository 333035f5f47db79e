internal import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import FileCommands
internal import Glibc
internal import KeyFormats
internal import KeyIntake
internal import TransparencyLog

extension AuditCommand {
  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify", _superCommandName: "keyferry audit",
      abstract: "Check the attestations beside bundles: who says of what, by what and when they were made.",
      discussion: """
        An attestation is the file FILE.intoto.jsonl: a statement of in-toto with the provenance of SLSA, in a DSSE \
        envelope. Its signature must be by the key, and its subjects must be this archive and its export.bin. The key is \
        attest.pem in the folder of the log; be told it by another way than the server that the bundles came from. The exit \
        code is 1 where one is missing, is not signed by the key, or is of another file, or where a file cannot be read; 2 \
        where none can.

        Examples:
          keyferry audit verify NL/1606780800-1606788000-00001.zip --key attest.pem
          keyferry audit verify public/NL/*.zip --key attest.pem --json
        """)

    @Argument(help: ArgumentHelp("Bundles with their attestations beside them.", valueName: "file"))
    var files: [String]

    @Option(help: ArgumentHelp("The public Ed25519 key, PEM.", valueName: "file"))
    var key: String

    @Flag(help: "Print the verdicts as JSON (schemas/attestation.schema.json).")
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func run() throws {
      let pem = String(decoding: try FileSource.contents(of: key, limit: 1 << 16), as: UTF8.self)
      let key = try AttestationKey(pem: pem, name: self.key)
      Console.detail("key of attestations \(self.key)")
      var verdicts: [AttestationVerdict] = []
      for file in files {
        let verdict = try Self.verdict(of: file, by: key)
        verdicts.append(verdict)
        if !json { try Console.result(verdict.text) }
      }
      if json { try Console.document(line: try JSONText.render(AttestationReport(documents: verdicts))) }
      let isNothingRead = verdicts.allSatisfy(\.isUnreadable)
      try exit(isNothingRead ? .failed : verdicts.allSatisfy(\.isGood) ? .done : .rejected)
    }

    /// What cannot be read is a verdict, too: the others are looked at all the same.
    private static func verdict(of file: String, by key: AttestationKey) throws -> AttestationVerdict {
      do {
        return try AttestationVerdict(of: file, by: key)
      } catch {
        guard let unreadable = LeftOutDocument(file, error) else { throw error }
        return AttestationVerdict(unreadable)
      }
    }
  }
}

/// What `keyferry audit verify --json` prints; see schemas/attestation.schema.json.
private struct AttestationReport: Encodable {
  let reportVersion = 1
  let documents: [AttestationVerdict]
}

/// Whether a bundle's attestation is of it.
private struct AttestationVerdict: Encodable {
  let file: String
  /// `attested`, `no-attestation`, `unreadable`, or the code of what is wrong.
  let verdict: String
  let reason: String?
  var builder: String?
  var program: String?
  var invocation: String?
  var policy: String?
  var parameters: [String: String]?

  var isGood: Bool { verdict == "attested" }
  var isUnreadable: Bool { verdict == "unreadable" }

  enum CodingKeys: String, CodingKey {
    case file, verdict, reason, builder, program, invocation, parameters
    case policy = "policy_sha256"
  }

  private init(_ file: String, _ verdict: String, _ reason: String?) {
    (self.file, self.verdict, self.reason) = (file, verdict, reason)
  }

  init(_ document: LeftOutDocument) { self.init(document.name, "unreadable", document.reason) }

  /// - Throws: what reading the files throws.
  init(of file: String, by key: AttestationKey) throws {
    let place = file + Envelope.ending
    guard FileIdentity(path: place) != nil else {
      // That the bundle is there is asked first.
      _ = try SourceDocument(path: file)
      self.init(file, "no-attestation", "there is no attestation beside it (\(place))")
      return
    }
    do {
      let envelope = try Envelope(try FileSource.contents(of: place, limit: Envelope.byteLimit), name: place)
      try envelope.verify(by: key, name: place)
      guard envelope.payloadType == Envelope.statementType else {
        throw LogFault(.badAttestation, "\(place): its payload is no statement of in-toto")
      }
      let provenance = try Provenance(envelope.payload, name: place)
      let document = try SourceDocument(path: file)
      let archive = try document.digest().hexadecimal
      let export = try document.survey()?.digests.hexadecimal
      let digests = Set(provenance.subjects.map(\.digest))
      guard digests.contains(archive), let export, digests.contains(export) else {
        throw LogFault(
          .badAttestation,
          "\(place): it is of another file: it names \(provenance.subjects.map { "\($0.name) (\($0.digest))" }.joined(separator: ", ")), "
            + "this one has the SHA-256 \(archive)")
      }
      self.init(file, "attested", nil)
      builder = provenance.builder
      program = provenance.versions.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
      invocation = provenance.invocation
      policy = provenance.dependencies.first { $0.name == "policy" }?.digest
      parameters = provenance.externalParameters
    } catch let fault as LogFault where fault.isRefutation {
      self.init(file, fault.code.rawValue, fault.reason)
    }
  }

  var text: String {
    if isUnreadable { return "\(file): cannot be read\n  \(reason ?? "")\n" }
    guard isGood else { return "\(file): not attested\n  \(verdict): \(reason ?? "")\n" }
    var lines = ["\(file): attested", "  made by \(program ?? "") at \(builder ?? "")"]
    if let parameters {
      lines.append("  \(parameters["source"] ?? ""), clock \(parameters["clock"] ?? "")")
    }
    if let policy { lines.append("  policy SHA-256 \(policy)") }
    return lines.map { $0 + "\n" }.joined()
  }
}
