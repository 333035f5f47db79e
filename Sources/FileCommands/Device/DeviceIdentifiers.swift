internal import ArgumentParser
internal import Containers
internal import ExposureKeys
internal import KeyConversion
internal import KeyDevice
internal import KeyFormats
internal import KeyIntake

struct DeviceIdentifiers: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "identifiers", abstract: "List the rolling proximity identifiers of published keys, as CSV.",
    discussion: """
      Columns: key, a SHA-256 digest or the key itself with --show-keys; interval, the number of ten minutes since 1970; from \
      and until, when the key's owner sent it; identifier. An identifier names a person to whoever noted it: keep the \
      output as you keep a log of sightings.

      Example:
        keyferry device identifiers bundle.zip -o identifiers.csv
      """)

  @Argument(
    help: ArgumentHelp("Key files, folders and archives; - is standard input.", valueName: "file"), completion: .file())
  var files: [String]

  @Option(
    name: [.short, .long], help: ArgumentHelp("The CSV; - or none is standard output.", valueName: "out"),
    completion: .file())
  var output: String?

  @Flag(help: "Show key data instead of its digest.")
  var showKeys = false

  @OptionGroup var input: InputOptions
  @OptionGroup(title: "Folders and archives") var containers: ContainerOptions
  @OptionGroup var loudness: LoudnessOptions

  func validate() throws { try InputOptions.checkPaths(files) }

  func run() throws {
    if let output, output != "-", let target = FileIdentity(path: output),
      let input = files.first(where: { FileIdentity(path: $0) == target })
    {
      throw ValidationError("the output \(output) is the input \(input); it would be overwritten")
    }
    let file = try output.flatMap { $0 == "-" ? nil : try OutputFile(path: $0) }
    let buffer = OutputBuffer(file ?? StandardOutput())
    try buffer.append("key,interval,from,until,identifier\n")
    let cipher = IdentifierCipher()
    var unusable = 0
    var sum = DocumentSum(input.walk(files, containers), isAlways: false)
    try sum.visit(keepsGoing: containers.keepGoing ?? true) { document, _, _ in
      try DeviceKeys.visit(document) { chunk, _ in
        for offset in 0..<chunk.keys.count {
          let key = chunk.keys[offset]
          let period = key.rollingPeriod ?? Int32(IdentifierCipher.identifierLimit)
          guard let start = key.rollingStart, (1...Int32(IdentifierCipher.identifierLimit)).contains(period) else {
            unusable += 1
            continue
          }
          let name = showKeys ? key.key.hex : KeyDigest.text(of: key.key)
          let identifiers = cipher.identifiers(of: key.key, start: UInt32(bitPattern: start), count: Int(period))
          for (index, identifier) in identifiers.enumerated() {
            let interval = IntervalNumber(Int64(start) + Int64(index))
            let end = IntervalNumber(interval.rawValue + 1).start
            try buffer.append(
              "\(name),\(interval.rawValue),\(interval.start),\(end),\(Hexadecimal.encode(identifier.bytes))\n")
          }
        }
      }
      return (nil, nil)
    } leftOut: { _ in
    }
    try buffer.flush()
    let status = sum.status(hasRejections: unusable > 0)
    // A command that could read nothing leaves an output that is there alone.
    if status != .failed { try file?.commit() }
    sum.tell()
    if unusable > 0 {
      Console.note("\(counted(unusable, "key")) left out: a rolling start and a period of 1...144 are needed")
    }
    try exit(status)
  }
}

/// Reads the keys of documents in chunks that are large enough for a search among many sightings.
enum DeviceKeys {
  private static let chunkCapacity = 1 << 16

  /// - Returns: what the document says about itself.
  @discardableResult
  static func visit(
    _ source: SourceDocument, _ body: (borrowing KeyChunk, ExportHeader) throws -> Void
  ) throws -> ExportHeader {
    let document = try source.open()
    return try source.located {
      var chunk = KeyChunk(capacity: chunkCapacity)
      var starts = StartsInSeconds()
      while try document.decoder.decode(into: &chunk) {
        starts.convert(&chunk)
        try body(chunk, document.decoder.header)
        chunk.advance()
      }
      return document.decoder.header
    }
  }
}
