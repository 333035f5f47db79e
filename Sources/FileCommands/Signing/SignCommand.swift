package import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import KeyConversion
internal import KeyFormats
internal import KeyIntake

package struct SignCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "sign", _superCommandName: Program.name,
    abstract: "Sign or re-sign an export bundle; its keys stay as they are.",
    discussion: """
      By default our signatures replace all others, because the infos of export.bin, which are signed too, then name \
      our keys. With --add the others' signatures stay beside ours, which can be only if export.bin names our keys \
      already; otherwise nothing is written. With --await-others too, the bundle names all keys and has our signature \
      alone, and each other holder signs it with --add; until then many devices refuse it. Devices of Apple read the first signature only, and some others need all of them to verify: one \
      signature a bundle is what every device accepts.

      A bundle with a key that cannot be read is not signed. --sign-key, --key-id and --key-version are needed, each \
      as often as the others.

      Examples:
        keyferry sign export.bin -o bundle.zip \\
          --sign-key key.pem --key-id 310 --key-version v1
        keyferry sign foreign.zip --add --await-others -o both.zip \\
          --sign-key key.pem --key-id 310 --key-version v2
      """)

  @Argument(
    help: ArgumentHelp("The bundle: zip or .bin; - is standard input.", valueName: "bundle"), completion: .file())
  var bundle: String

  @OptionGroup var signing: SigningOptions

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("Where the result goes: zip, or .bin with a .sig beside it.", valueName: "out"),
    completion: .file())
  var output: String

  @Flag(help: "Keep the others' signatures beside ours.")
  var add = false

  @Flag(help: "With --add: keep the others' infos without signatures, for their holders to sign the same bytes next.")
  var awaitOthers = false

  @Flag(help: "Write binary to a terminal.")
  var force = false

  @Flag(help: "Print what was done as JSON (schemas/signing.schema.json).")
  var json = false

  @OptionGroup var input: InputOptions

  @OptionGroup var loudness: LoudnessOptions

  package func validate() throws {
    guard !signing.signKey.isEmpty else { throw ValidationError("missing --sign-key, --key-id and --key-version") }
    guard add || !awaitOthers else { throw ValidationError("--await-others goes with --add") }
    guard !json || output != "-" else {
      throw ValidationError("--json goes to standard output, and so does the bundle with -o -; name a file")
    }
  }

  package func run() throws {
    let identities = try signing.identities()
    let document = try input.open(bundle)
    let destination = try Destination(output, format: .gaenExport, inputs: [bundle] + signing.signKey, force: force)
    let result = try destination.write { sink in
      try Resigning.run(
        document, signers: identities, mode: awaitOthers ? .addAwaitingOthers : add ? .add : .replace,
        packing: destination.packing, to: sink)
    }
    if json {
      return try Console.document(
        line: try JSONText.render(
          SigningDocument(
            output: destination.name, keys: result.keys, signatures: result.signatures, dropped: result.dropped,
            exportSHA256: result.digests.hexadecimal)))
    }
    Console.note(
      "\(counted(result.keys, "key")) signed with \(counted(result.signatures, "signature")): \(destination.name), "
        + "export.bin SHA-256 \(result.digests.hexadecimal)")
    if result.replaced > 0 {
      Console.note("\(counted(result.replaced, "earlier signature")) of the same key id and version replaced")
    }
    if result.left > 0 {
      Console.note("\(counted(result.left, "earlier signature")) dropped; --add keeps the signatures of others")
    }
    if result.fallen > 0 {
      Console.note(
        "\(counted(result.fallen, "earlier signature")) dropped: the bytes that \(result.fallen == 1 ? "it" : "they") covered "
          + "have changed; each holder signs \(destination.name) with --add next")
    }
  }

  package init() {}
}
