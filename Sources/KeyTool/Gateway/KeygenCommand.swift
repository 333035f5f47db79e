internal import ArgumentParser
internal import BundleTrust
internal import FileCommands
internal import KeyFormats
internal import KeyIntake

struct KeygenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keygen", _superCommandName: Program.name,
    abstract: "Make a P-256 signing key and print what Apple and Google ask for at its registration.",
    discussion: """
      The private key is written as PKCS#8 PEM, readable by its owner alone. An existing file is never overwritten. \
      With -o - the private key goes to standard output and nowhere else, for a program that keeps secrets, and nothing \
      more is printed there. What to register is printed otherwise; id and version there are those that --key-id and --key-version say when signing.

      Examples:
        keyferry keygen -o key.pem --public-key ring/310-v1.pem
        keyferry keygen -o key.pem --key-id 310 --key-version v2 \\
          --app-bundle-id gov.example.app --android-package gov.example.app \\
          --country US --mcc 310 > registration.txt
        keyferry keygen -o - --public-key 310-v1.pem | gpg --encrypt -r ops > key.gpg
      """)

  @Option(
    name: [.short, .long],
    help: ArgumentHelp("Where the private key goes; - is standard output.", valueName: "key.pem"), completion: .file())
  var output: String

  @Option(
    help: ArgumentHelp("Also write the public key, for a trust ring; - is standard output.", valueName: "public.pem"),
    completion: .file())
  var publicKey: String?

  @Option(help: ArgumentHelp("The id to register, by convention the mobile country code.", valueName: "id"))
  var keyID = "310"

  @Option(help: ArgumentHelp("The version to register.", valueName: "version"))
  var keyVersion = "v1"

  @Option(name: .customLong("app-bundle-id"), help: "The iOS app that will read the bundles.")
  var appBundleID: String?

  @Option(help: "The Android app that will read the bundles.")
  var androidPackage: String?

  @Option(help: "ISO 3166 code of the country or state.")
  var country: String?

  @Option(help: "A mobile country code. Repeatable.")
  var mcc: [String] = []

  @Flag(help: "Print what to register as JSON (schemas/registration.schema.json).")
  var json = false

  @OptionGroup var loudness: LoudnessOptions

  func validate() throws {
    let uses = [output == "-" ? "-o -" : nil, publicKey == "-" ? "--public-key -" : nil, json ? "--json" : nil]
    guard uses.count(where: { $0 != nil }) <= 1 else {
      let names = uses.compactMap(\.self).joined(separator: " and ")
      throw ValidationError("\(names) exclude each other: each is alone on standard output")
    }
  }

  func run() throws {
    let identity = try SigningIdentity(
      key: .generate(), keyID: keyID, keyVersion: keyVersion, appBundleID: appBundleID, androidPackage: androidPackage)
    let registration = try Registration(of: identity, country: country, mobileCountryCodes: mcc)
    let file = output == "-" ? nil : try OutputFile(path: output, permissions: 0o600, replacing: false)
    let publicFile = try publicKey.flatMap { $0 == "-" ? nil : try OutputFile(path: $0, replacing: false) }
    try file?.write(Array(identity.key.pemRepresentation.utf8))
    try publicFile?.write(Array(identity.key.publicKey.pem.utf8))
    // A private key that reached nobody belongs to no public one.
    if file == nil { try StandardOutput().write(Array(identity.key.pemRepresentation.utf8)) }
    try file?.commit()
    try publicFile?.commit()
    if publicKey == "-" { try StandardOutput().write(Array(identity.key.publicKey.pem.utf8)) }
    if json {
      var document = RegistrationDocument(keys: [RegistrationDocument.Key(registration)])
      (document.privateKeyFile, document.publicKeyFile) = (output, publicKey)
      return try Console.document(line: try JSONText.render(document))
    }
    // A key alone is what the reader of standard output expects there.
    if output != "-", publicKey != "-" {
      try Console.document(registration.text.hasSuffix("\n") ? registration.text : registration.text + "\n")
    } else {
      Console.note("the key is alone on standard output; what Apple and Google must be told of it was left out")
      Console.hint("give files with -o and --public-key to have it printed, or --json")
    }
    if file != nil { Console.remark("private key written to \(output); keep it secret") }
  }
}
