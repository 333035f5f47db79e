internal import ArgumentParser
internal import ExposureKeys
internal import Gateway
internal import KeyFormats
internal import KeyNormalization

struct ExplainCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Tell what each source said about one key, how that was decided, and what each region gets.",
    discussion: """
      The key is given as hexadecimal, base64 or a UUID. The exit code is 1 when no source knows it.

      Examples:
        keyferry explain 00112233445566778899aabbccddeeff de.zip it.zip
        keyferry explain ABEiM0RVZneImaq7zN3u/w== it.zip \\
          --input DE=de.zip,policy=corona-warn-app,origin=DE
      """)

  @Argument(help: ArgumentHelp("The key data.", valueName: "key"))
  var key: String

  @Argument(help: ArgumentHelp("Key files; - is standard input.", valueName: "in"))
  var inputs: [String] = []

  @OptionGroup(title: "Policies") var sources: SourceOptions

  @Option(help: ArgumentHelp("What is published: a policy that ships, or a file.", valueName: "policy"))
  var publishing = "default"

  @OptionGroup var input: InputOptions

  func validate() throws {
    try sources.validate(inputs)
    _ = try keyData()
  }

  func run() throws {
    let progress = Progress()
    let documents = try sources.open(inputs, input, progress: progress)
    let story = try KeyStory(
      of: try keyData(), in: documents, publishing: try PolicyChoice.read(publishing).publishing, now: sources.instant)
    progress.clear()
    guard !story.mentions.isEmpty else {
      Console.note("no input knows the key \(key)")
      return try exit(.rejected)
    }
    try Console.result("key \(key)\n\n" + story.text)
  }

  private func keyData() throws -> TemporaryExposureKey {
    var text = Array(key.utf8)
    switch text.withUnsafeMutableBytes({ KeyText.read(UnsafeRawBufferPointer($0)) }) {
    case .key(let key): return key
    case .wrongLength(let count): throw ValidationError("the key has \(count) bytes, allowed are 16")
    case .notKeyData:
      throw ValidationError("the key is neither 32 hexadecimal digits, nor base64 of 16 bytes, nor a UUID")
    }
  }
}
