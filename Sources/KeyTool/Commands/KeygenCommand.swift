internal import ArgumentParser
internal import BundleTrust
internal import KeyFormats
internal import KeyIntake

struct KeygenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keygen", _superCommandName: KeyferryCommand.programName,
    abstract: "Make a P-256 signing key and print what Apple and Google ask for at its registration.",
    discussion: """
      The private key is written as PKCS#8 PEM, readable by its owner alone. An existing file is never overwritten. \
      What to register is printed; id and version there are those that --key-id and --key-version say when signing.

      Examples:
        keyferry keygen -o key.pem --public-key ring/310-v1.pem
        keyferry keygen -o key.pem --key-id 310 --key-version v2 \\
          --app-bundle-id gov.example.app --android-package gov.example.app \\
          --country US --mcc 310 > registration.txt
      """)

  @Option(
    name: [.short, .long], help: ArgumentHelp("Where the private key goes.", valueName: "key.pem"), completion: .file())
  var output: String

  @Option(
    help: ArgumentHelp("Also write the public key, for a trust ring.", valueName: "public.pem"), completion: .file())
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

  func run() throws {
    let identity = try SigningIdentity(
      key: .generate(), keyID: keyID, keyVersion: keyVersion, appBundleID: appBundleID, androidPackage: androidPackage)
    let registration = try Registration(of: identity, country: country, mobileCountryCodes: mcc)
    let file = try OutputFile(path: output, permissions: 0o600, replacing: false)
    let publicFile = try publicKey.map { try OutputFile(path: $0, replacing: false) }
    try file.write(Array(identity.key.pemRepresentation.utf8))
    try publicFile?.write(Array(identity.key.publicKey.pem.utf8))
    try file.commit()
    try publicFile?.commit()
    if json {
      var document = RegistrationDocument(keys: [RegistrationDocument.Key(registration)])
      (document.privateKeyFile, document.publicKeyFile) = (output, publicKey)
      return try Console.result(line: try JSONText.render(document))
    }
    try Console.result(registration.text.hasSuffix("\n") ? registration.text : registration.text + "\n")
    Console.note("private key written to \(output); keep it secret")
  }
}
