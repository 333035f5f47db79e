package import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake

package struct VerifyBatchCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "verify-batch", _superCommandName: Program.name,
    abstract: "Verify the signature of a federation's batch, and say which step failed and why.",
    discussion: """
      Eight steps are taken, in this order: the header is the base64 of a CMS signature (1); it has one signer, as is \
      allowed (2); the signer's certificate is inside (3), valid at the time (4), and names one country (5); the trust \
      file has it for that country, for signing, signed by the operator and not revoked (6); each key's origin is that \
      country (7); and the signature is over the canonical bytes of the keys (8). The first one that fails is told, with \
      SHA-256 and length of our canonical bytes and the digests of the first three rows: who has signed compares them \
      with their own.

      --explain looks for what was signed instead, by making the mistakes that others have made: another order, another \
      spelling of a field, the body itself.

      --allow gives up one strictness; repeatable: \(SignatureAllowances.names.joined(separator: ", ")).

      The exit code is 1 when the signature is refused.

      Examples:
        keyferry verify-batch batch.bin --signature sig.txt --trust trust.json
        keyferry verify-batch batch.bin --signature sig.txt --trust trust.json \\
          --explain
        keyferry verify-batch batch.bin --signature old.der --trust trust.json \\
          --at 2020-11-18 --allow chain-certificates --json
      """)

  @Argument(
    help: ArgumentHelp("The batch, efgs-protobuf or efgs-json; - is standard input.", valueName: "batch"),
    completion: .file())
  var batch: String

  @Option(
    help: ArgumentHelp("The header's text in a file, or the CMS as DER or BER.", valueName: "signature.txt"),
    completion: .file())
  var signature: String

  @Option(help: ArgumentHelp("The trust file; see keyferry trust.", valueName: "trust.json"), completion: .file())
  var trust: String

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Judge certificates at this time instead of now.", valueName: "time"))
  var at: Instant?

  @Option(
    help: ArgumentHelp("A strictness to give up. Repeatable.", valueName: "name"),
    completion: .list(SignatureAllowances.names))
  var allow: [String] = []

  @Flag(help: "Look for what was signed instead.")
  var explain = false

  @Flag(help: "Print the verdict as JSON (schemas/batch-verification.schema.json).")
  var json = false

  @OptionGroup var input: InputOptions

  @OptionGroup var loudness: LoudnessOptions

  package func validate() throws {
    for name in allow where SignatureAllowances.named(name) == nil {
      throw ValidationError(
        "--allow \(name.debugDescription): allowed are \(SignatureAllowances.names.joined(separator: ", "))")
    }
  }

  package func run() throws {
    let trust = try TrustFile.read(self.trust)
    let header = try self.header()
    let file = try BatchDocument(batch, input)
    let (batch, ambiguities) = CanonicalBatch.received(file.document.keys, regions: file.document.regions)
    let allowed = allow.compactMap(SignatureAllowances.named).reduce(into: SignatureAllowances()) { $0.formUnion($1) }
    var verdict = BatchVerdict(name: file.name, keys: file.document.keys.count, batch, ambiguities)
    do throws(BatchRefusal) {
      verdict.accept(try trust.verify(header, over: batch, allowing: allowed, at: at ?? Clock.now))
    } catch {
      verdict.refuse(error)
      if explain, let signature = BatchSignature.reading(header), !signature.covers(batch.canonical) {
        verdict.explain(
          BatchDiagnosis.find(
            signature, keys: file.document.keys, regions: file.document.regions, body: file.body))
      }
    }
    try Console.result(json ? try JSONText.render(verdict) + "\n" : verdict.text)
    if !verdict.isVerified, !explain, verdict.step == VerificationStep.signature.name {
      Console.hint("to look for what was signed instead, add --explain")
    }
    try exit(verdict.isVerified ? .done : .rejected)
  }

  /// The file has the text, and line ends behind it do not count; or the bytes themselves.
  private func header() throws -> String {
    let bytes = try FileSource.contents(of: signature, limit: 1 << 20)
    if bytes.first == 0x30 { return Base64.encode(bytes) }
    var text = bytes[...]
    while text.last == 0x0A || text.last == 0x0D { text.removeLast() }
    return String(decoding: text, as: UTF8.self)
  }

  package init() {}
}
