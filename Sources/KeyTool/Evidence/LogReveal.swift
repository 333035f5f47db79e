internal import ArgumentParser
internal import ExposureKeys
internal import FileCommands
internal import GatewaySettings
internal import KeyPublishing
internal import KeyStorage
internal import TransparencyLog

extension LogCommand {
  struct Reveal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "reveal", _superCommandName: "keyferry log",
      abstract: "Print what opens a gateway's commitment to a document that came in, or to the uploads of an hour.",
      discussion: """
        The log says of a document only its source, the hour and a commitment. Who is shown the document and the salt can \
        compute the commitment, and find it in the log: SHA-256 over "keyferry received v1", a line feed, the salt and \
        the SHA-256 of the document. The salt is kept for as long as the evidence is, and goes with it.

        Of uploads the log has one entry a door and hour, whether somebody uploaded or not: SHA-256 over "keyferry uploads \
        v1", a line feed, the salt and the SHA-256 of four lines: the door, when the hour began in seconds since 1970, how \
        many uploads came, and the numbers of their first and last event, or none.

        Examples:
          keyferry log reveal 17 --config gateway.yaml
          keyferry log reveal germany/2020-12-01.zip --config gateway.yaml
          keyferry log reveal phones/2020-12-01T13:00:00Z --config gateway.yaml --json
        """)

    @Argument(
      help: ArgumentHelp(
        "The document: its number, or its source, a slash and its name; of uploads the door, a slash and an hour.",
        valueName: "document"))
    var document: String

    @OptionGroup var gateway: GatewayOptions

    @Flag(help: "Print it as JSON (schemas/log-reveal.schema.json).")
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let plan = try gateway.operatorsPlan()
      guard let log = plan.log, let publication = plan.publicationFolder else {
        throw ValidationError("\(gateway.config) has no log; say which with log: {name: keys.example.org/log}")
      }
      let ledger = try await gateway.ledger(plan, as: .reader)
      let sought = document
      let (record, salt, hour) = try await ledger.read { state in
        let record = try Self.find(sought, in: state)
        return (record, try record.flatMap { try state.salt(of: $0.id) }, try Self.hour(sought, in: state))
      }
      let folder = LogFolder("\(publication)/\(log.folder)")
      let opened: OpenedCommitment
      if let record {
        guard let facts = record.facts, let salt else {
          throw LogFault(
            .notIncluded,
            "document \(record.id.rawValue) (\(record.source)/\(record.name)): its salt is not kept; its evidence is gone, or "
              + "there was no log when it came in")
        }
        let commitment = Commitment.received(facts.digest, salt: salt)
        opened = OpenedCommitment(
          log: log.name, document: record.id.rawValue, name: "\(record.source)/\(record.name)", digest: facts.digest,
          salt: salt, commitment: commitment, entry: try await Self.index(of: commitment, in: folder))
      } else if let hour {
        let commitment = Commitment.uploads(hour)
        opened = OpenedCommitment(
          log: log.name, name: "\(hour.door)/\(hour.start)", uploads: hour.count, text: hour.text, salt: hour.salt,
          commitment: commitment, entry: try await Self.index(of: commitment, in: folder))
      } else {
        throw ValidationError(
          "there is no document \(sought), and no hour of uploads that is kept; a number, SOURCE/NAME, or DOOR/HOUR")
      }
      if json { return try Console.document(line: try JSONText.render(opened)) }
      for (label, text) in opened.lines {
        try Console.result(line: label + String(repeating: " ", count: 12 - label.count) + text)
      }
    }

    /// The hour of a door: `phones/2020-12-01T13:00:00Z`.
    private static func hour(_ text: String, in state: any StoredState) throws -> UploadHour? {
      for slash in text.indices where text[slash] == "/" {
        guard let start = Instant(text[text.index(after: slash)...]) else { continue }
        if let hour = try state.uploadHours(of: String(text[..<slash])).first(where: { $0.start == start }) {
          return hour
        }
      }
      return nil
    }

    private static func find(_ text: String, in state: any StoredState) throws -> DocumentRecord? {
      if let number = Int64(text) { return try state.document(DocumentID(rawValue: number)) }
      // Names may have slashes, and so have the sources of a federation.
      for slash in text.indices where text[slash] == "/" {
        let name = String(text[text.index(after: slash)...])
        if let record = try state.document(named: name, of: String(text[..<slash])) { return record }
      }
      return nil
    }

    private static func index(of commitment: String, in folder: LogFolder) async throws -> Int? {
      guard let bytes = try folder.bytes(of: LogWriter.checkpointPath, limit: SignedNote.byteLimit),
        let shown = ShownLog(checkpoint: bytes, key: nil)
      else { return nil }
      let reader = TreeReader(folder, size: shown.size)
      var number = (shown.size + Tile.width - 1) / Tile.width
      while number > 0 {
        number -= 1
        for (offset, bytes) in try await reader.bundle(number).entries.enumerated() {
          guard let entry = try? LogEntry(bytes, name: "entry"), entry.text("commitment") == commitment else {
            continue
          }
          return number * Tile.width + offset
        }
      }
      return nil
    }
  }
}

/// What `keyferry log reveal --json` prints; see schemas/log-reveal.schema.json.
private struct OpenedCommitment: Encodable {
  let log: String
  var document: Int64?
  /// Of the document, or of the door and the hour.
  let name: String
  /// SHA-256 of the document.
  var digest: String?
  /// How many uploads came in the hour, and what is committed to.
  var uploads: Int?
  var text: String?
  let salt: [UInt8]
  let commitment: String
  /// `nil` where the log does not have it yet.
  let entry: Int?

  private var saltText: String { Hexadecimal.encode(salt) }

  var lines: [(String, String)] {
    var lines: [(String, String)] = []
    if let document, let digest { lines = [("document", "\(document), \(name)"), ("sha256", digest)] }
    if let uploads, let text {
      lines = [
        ("hour", name), ("uploads", "\(uploads)"), ("text", text.split(separator: "\n").joined(separator: ", ")),
      ]
    }
    return lines + [
      ("salt", saltText), ("commitment", commitment),
      ("entry", entry.map { "\($0) of \(log)" } ?? "none yet: the next round of publishing takes it in"),
    ]
  }

  enum CodingKeys: String, CodingKey {
    case log, document, name, uploads, text, salt, commitment, entry, reportVersion
    case digest = "sha256"
  }

  func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(1, forKey: .reportVersion)
    try members.encode(log, forKey: .log)
    try members.encodeIfPresent(document, forKey: .document)
    try members.encode(name, forKey: .name)
    try members.encodeIfPresent(digest, forKey: .digest)
    try members.encodeIfPresent(uploads, forKey: .uploads)
    try members.encodeIfPresent(text, forKey: .text)
    try members.encode(saltText, forKey: .salt)
    try members.encode(commitment, forKey: .commitment)
    try members.encodeIfPresent(entry, forKey: .entry)
  }
}
