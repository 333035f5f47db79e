internal import ArgumentParser
internal import ExposureKeys
internal import GatewaySettings
internal import KeyPublishing
internal import KeyStorage
internal import TransparencyLog

extension LogCommand {
  struct Reveal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "reveal", _superCommandName: "keyferry log",
      abstract: "Print what opens a gateway's commitment to a document that came in.",
      discussion: """
        The log says of a document only its source, the hour and a commitment. Who is shown the document and the salt can \
        compute the commitment, and find it in the log: SHA-256 over "keyferry received v1", a line feed, the salt and \
        the SHA-256 of the document. The salt is kept for as long as the evidence is, and goes with it.

        Examples:
          keyferry log reveal 17 --config gateway.yaml
          keyferry log reveal germany/2020-12-01.zip --config gateway.yaml
        """)

    @Argument(
      help: ArgumentHelp("The document: its number, or its source, a slash and its name.", valueName: "document"))
    var document: String

    @OptionGroup var gateway: GatewayOptions

    func run() async throws {
      let plan = try gateway.operatorsPlan()
      guard let log = plan.log, let publication = plan.publicationFolder else {
        throw ValidationError("\(gateway.config) has no log; say which with log: {name: keys.example.org/log}")
      }
      let ledger = try gateway.ledger(plan, as: .reader)
      let sought = document
      let (record, salt) = try await ledger.read { state in
        let record = try Self.find(sought, in: state)
        return (record, try record.flatMap { try state.salt(of: $0.id) })
      }
      guard let record else { throw ValidationError("there is no document \(sought); a number, or SOURCE/NAME") }
      guard let facts = record.facts, let salt else {
        throw LogFault(
          .notIncluded,
          "document \(record.id.rawValue) (\(record.source)/\(record.name)): its salt is not kept; its evidence is gone, or "
            + "there was no log when it came in")
      }
      let commitment = Commitment.received(facts.digest, salt: salt)
      let index = try await Self.index(of: commitment, in: LogFolder("\(publication)/\(log.folder)"))
      for (label, text) in [
        ("document", "\(record.id.rawValue), \(record.source)/\(record.name)"), ("sha256", facts.digest),
        ("salt", salt.map { String(Int($0) + 0x100, radix: 16).dropFirst() }.joined()), ("commitment", commitment),
        ("entry", index.map { "\($0) of \(log.name)" } ?? "none yet: the next round of publishing takes it in"),
      ] {
        try Console.result(line: label + String(repeating: " ", count: 12 - label.count) + text)
      }
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
