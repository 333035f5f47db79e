package import ArgumentParser
internal import BundleTrust
internal import Containers
internal import ExposureKeys
internal import KeyArchive
internal import KeyConversion
internal import KeyFormats
internal import KeyIntake

package struct ArchiveCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "archive", _superCommandName: Program.name,
    abstract: "Keep every file that was ever seen: its bytes once, and where and when it was seen.",
    discussion: """
      An archive is a folder that only grows: the bytes of each file by their SHA-256, and a catalogue of where and when \
      they were seen. Whoever keeps its checkpoint elsewhere can show later that nothing was taken back. It stands where \
      a folder of files does: keyferry report, diff, inspect, verify and convert take it.

      Examples:
        keyferry archive add seen https://example.org/US/index.txt
        keyferry archive list seen
        keyferry archive verify seen --keep seen.checkpoint
        keyferry report seen -o report.html
      """,
    subcommands: [Add.self, List.self, Get.self, Verify.self])

  static let folderHelp = ArgumentHelp("The folder of the archive.", valueName: "archive")
  static let jsonHelp = ArgumentHelp("Print the result as JSON (schemas/archive.schema.json).")

  // MARK: add

  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add", _superCommandName: "keyferry archive",
      abstract: "Keep files, and say at once where a name has other bytes than before.",
      discussion: """
        The folder is begun where there is none. Of an archive (zip, tar) and of a compressed file each document in it is \
        kept, not the wrapping. An address is a file, or an index with the files that it lists; with --protocol it is \
        asked as that kind of server is. What cannot be read as keys is kept all the same.

        The same bytes are kept once, whatever they are called. Other bytes under a name that was seen before are told \
        at once; both are kept, and the exit code is 1. So is a name that was a file and is an archive of others now, or the \
        other way round. It is made for a line in cron.

        What comes from an address is kept while it comes: who is stopped keeps what was fetched, up to the last half \
        minute. The lists by which servers name their files are kept, too; that they change is no news.

        Bytes that the archive should have, and has not any more, are brought back where they are added again.

        Exit codes: 0 all is kept, 1 something changed under its name, could not be fetched or read, or was brought back, 2 it \
        could not be done.

        Examples:
          keyferry archive add seen downloads/ dump.tar.xz
          keyferry archive add seen https://example.org/US/index.txt
          keyferry archive add seen https://example.org \\
            --protocol corona-warn-app --option country=DE
          keyferry archive add seen old/ --as berlin --at 2020-08-01
        """)

    @Argument(help: ArchiveCommand.folderHelp)
    var archive: String

    @Argument(
      help: ArgumentHelp("Files, folders, archives, http and https addresses; - is standard input.", valueName: "in"))
    var inputs: [String]

    @Option(
      name: .customLong("as"),
      help: ArgumentHelp("What the input is called in the archive instead of its path or address.", valueName: "name"))
    var name: String?

    @Option(
      parsing: .unconditional,
      help: ArgumentHelp(
        "When the files were seen: 2020-06-04, 2020-06-04T12:00, or -2d; now, unless it is said.", valueName: "time"),
      transform: Self.time)
    var at: Instant?

    @Flag(help: ArchiveCommand.jsonHelp)
    var json = false

    @OptionGroup var input: InputOptions
    @OptionGroup(title: "Addresses") var addresses: AddressOptions
    @OptionGroup(title: "Folders and archives") var containers: ContainerOptions

    @OptionGroup var loudness: LoudnessOptions

    private static func time(_ text: String) throws -> Instant {
      if let instant = Instant(argument: text) { return instant }
      throw ValidationError(
        "--at \(text): it is a day (2020-06-04), a time in UTC or with its zone (2020-06-04T12:00, 2020-06-04T14:00+02:00), or a "
          + "distance from now (-90m, -2h, -3d)")
    }

    func validate() throws {
      try InputOptions.checkPaths(inputs)
      guard name == nil || inputs.count == 1 else {
        throw ValidationError("--as is for one input; there are \(inputs.count)")
      }
      guard name != "" else { throw ValidationError("--as: a name is not empty") }
      guard name != nil || !inputs.contains("-") else {
        throw ValidationError("standard input (-) has no name; say with --as what it is called")
      }
    }

    func run() async throws {
      // First, so that it is not read where it lies in a folder that is added, and nothing is fetched in vain.
      let writer = try ArchiveWriter(archive, at: (at ?? Clock.now).secondsSince1970)
      let adding = Adding(self, writer)
      for input in inputs {
        guard LogPlace.isAddress(input) else {
          try adding.take(self.input.walk([input], containers, outputFolder: archive))
          continue
        }
        do {
          // What came is kept, whatever comes of the rest.
          try await self.input.fetch(input, addresses.asking, spooled: false) { piece in
            switch piece {
            case .index(let address, let bytes): try adding.take(index: bytes, name(of: address))
            case .documents(let documents):
              try adding.take(
                self.input.reading.walk([input], containers.limits, outputFolder: archive, fetched: [input: documents]))
            }
          }
        } catch {
          try writer.commit()
          throw error
        }
      }
      try adding.finish()
    }

    /// Puts documents into the archive, and says what becomes of them.
    private final class Adding {
      private let command: Add
      private let writer: ArchiveWriter
      private var report: ArchiveAddition
      private var leftOut: [LeftOutDocument] = []
      private var passedOver = PassedOver()
      private let progress = Progress()

      init(_ command: Add, _ writer: ArchiveWriter) {
        (self.command, self.writer) = (command, writer)
        report = ArchiveAddition(command.archive)
        guard writer.healed.records > 0 || writer.healed.bytes > 0 else { return }
        Console.note(
          "\(command.archive): an add was stopped before it ended; \(counted(writer.healed.records, "record")) of it "
            + "\(writer.healed.records == 1 ? "is" : "are") kept, and \(counted(writer.healed.bytes, "byte")) of a torn one "
            + "\(writer.healed.bytes == 1 ? "is" : "are") gone; what it was given can be added again")
      }

      private func leaveOut(_ document: LeftOutDocument) throws {
        guard command.containers.keepGoing ?? true else { throw document.fault }
        leftOut.append(document)
      }

      @inline(never)
      func take(_ walk: InputWalk) throws {
        // What nobody can read is evidence as well.
        walk.keepsUnreadable = true
        try walk.visit({ try take($0) }, leaveOut: leaveOut)
        passedOver.add(walk.passedOver)
      }

      private func take(_ found: FoundDocument) throws {
        let name = command.name(of: found.place, found.document)
        do {
          Console.reading(found.document)
          let document = progress.watching(found.document)
          if let turn = writer.catalogue.turn(to: name), report.add(turn) {
            tell(report.turned[report.turned.count - 1].text)
          }
          let outcome = try writer.add(
            document.source, signature: document.signatureFile, name: name, facts: { ContentFacts(document) })
          report.count(outcome)
          if case .changed(let before) = outcome, let now = writer.catalogue.sighting(of: name) {
            let change = ArchiveAddition.Change(before, now)
            report.changed.append(change)
            tell(change.text)
          }
        } catch let fault as ArchiveFault where fault.code == .badName {
          try leaveOut(LeftOutDocument(name, code: fault.code.rawValue, fault))
        } catch {
          guard let document = LeftOutDocument(name, error) else { throw error }
          try leaveOut(document)
        }
      }

      /// What names the documents. That it is another one each time is no news.
      func take(index bytes: [UInt8], _ name: String) throws {
        do {
          _ = try writer.add(MemorySource(bytes), name: name) { ContentFacts() }
          report.countIndex()
        } catch let fault as ArchiveFault where fault.code == .badName {
          try leaveOut(LeftOutDocument(name, code: fault.code.rawValue, fault))
        }
      }

      private func tell(_ text: String) {
        progress.clear()
        Console.note(text)
      }

      func finish() throws {
        try writer.commit()
        progress.clear()
        report.restored = writer.restored.sorted()
        for digest in report.restored {
          Console.note(
            "\(command.archive): the bytes with the SHA-256 \(digest.prefix(16))… were missing or changed, and are brought back"
          )
        }
        report.finish(writer.catalogue, leftOut)
        if command.json {
          try Console.document(line: try JSONText.render(report))
        } else if !Loudness.isQuiet {
          try Console.result(report.text)
        }
        for line in LeftOutText.lines(leftOut, of: report.files + leftOut.count) { Console.note(line) }
        if let line = LeftOutText.line(passedOver) { Console.note(line) }
        let hasFailed = report.files == 0 && !leftOut.isEmpty
        try command.exit(hasFailed ? .failed : report.isRight ? .done : .rejected)
      }
    }

    private func name(of address: String) -> String {
      guard let name, let input = inputs.first else { return address }
      return address == input ? name : "\(name)/\(address)"
    }

    private func name(of place: DocumentPlace, _ document: SourceDocument) -> String {
      guard let name, let input = inputs.first else { return PathText.withLines(document.name) }
      let isFolder = InputWalk.isFolder(input)
      let path = isFolder && !ArchiveFolder.isArchive(input) ? "/\(place.path)" : ""
      return
        "\(name)\(path)\(place.entry.map { "\(isFolder && path.isEmpty || LogPlace.isAddress(input) ? "/" : "!")\($0)" } ?? "")"
    }
  }

  // MARK: list

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", _superCommandName: "keyferry archive",
      abstract: "List what was seen: under which name, when, and which bytes.",
      discussion: """
        Names that begin with one that is given are listed, all without one. With --key only the files that hold this key \
        are, and when it was seen first and last; the exit code is 1 where none does.

        Examples:
          keyferry archive list seen
          keyferry archive list seen https://example.org/US/ --json
          keyferry archive list seen --key 00112233445566778899aabbccddeeff
        """)

    @Argument(help: ArchiveCommand.folderHelp)
    var archive: String

    @Argument(help: ArgumentHelp("What names begin with.", valueName: "name"))
    var names: [String] = []

    @Option(help: ArgumentHelp("The key data: hexadecimal, base64 or a UUID.", valueName: "key"))
    var key: String?

    @Flag(help: ArchiveCommand.jsonHelp)
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws { if let key { _ = try KeyArgument.read(key) } }

    func run() throws {
      let folder = ArchiveFolder(archive)
      let catalogue = try folder.read().catalogue
      var leftOut: [LeftOutDocument] = []
      let holders = try key.map { try Self.holders(of: try KeyArgument.read($0), folder, catalogue, &leftOut) }
      let sightings = catalogue.sightings.filter { sighting in
        (names.isEmpty || names.contains { sighting.name.hasPrefix($0) })
          && holders.map { $0.contains(ArchiveFile(sighting)) } ?? true
      }
      let listing = ArchiveListing(archive, catalogue, sightings, isOfKey: key != nil)
      if json {
        try Console.document(line: try JSONText.render(listing))
      } else {
        try Console.result(listing.text)
      }
      for line in LeftOutText.lines(leftOut, of: catalogue.files.count) { Console.note(line) }
      if key != nil, sightings.isEmpty { Console.note("no file of the archive holds this key") }
      try exit(leftOut.isEmpty && !(key != nil && sightings.isEmpty) ? .done : .rejected)
    }

    /// The files that hold a key.
    private static func holders(
      of key: TemporaryExposureKey, _ folder: ArchiveFolder, _ catalogue: ArchiveCatalogue,
      _ leftOut: inout [LeftOutDocument]
    ) throws -> Set<ArchiveFile> {
      var holders: Set<ArchiveFile> = []
      let progress = Progress()
      defer { progress.clear() }
      for sighting in catalogue.files where catalogue[sighting.digest]?.facts.format != nil {
        do {
          let document = progress.watching(try ArchivedDocument.open(sighting, in: folder, catalogue))
          if try holds(document, key) { holders.insert(ArchiveFile(sighting)) }
        } catch let fault as ArchiveFault {
          leftOut.append(LeftOutDocument(sighting.name, code: fault.code.rawValue, fault))
        } catch {
          guard let document = LeftOutDocument(sighting.name, error) else { throw error }
          leftOut.append(document)
        }
      }
      return holders
    }

    private static func holds(_ source: SourceDocument, _ key: TemporaryExposureKey) throws -> Bool {
      let document = try source.open()
      return try source.located {
        var chunk = KeyChunk()
        while try document.decoder.decode(into: &chunk) {
          let isThere = chunk.keys.withKeys { claims in claims.contains { $0.key == key } }
          if isThere { return true }
          chunk.advance()
        }
        return false
      }
    }
  }

  // MARK: get

  struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "get", _superCommandName: "keyferry archive",
      abstract: "Bring a file back, byte for byte.",
      discussion: """
        A file is named by what it was seen as, then the newest bytes come, or by its SHA-256, of which the first eight \
        digits do where they are of one file. The bytes are compared with their digest first. The signature beside a \
        bare export.bin comes beside it.

        Examples:
          keyferry archive get seen downloads/1.zip -o 1.zip
          keyferry archive get seen 3f2a9c41 -o before.zip
        """)

    @Argument(help: ArchiveCommand.folderHelp)
    var archive: String

    @Argument(help: ArgumentHelp("What it was seen as, or its SHA-256.", valueName: "file"))
    var file: String

    @Option(name: [.short, .long], help: ArgumentHelp("Where it goes; - is standard output.", valueName: "out"))
    var output: String

    @Flag(help: "Write over a file that is there already.")
    var replace = false

    @OptionGroup var loudness: LoudnessOptions

    func run() throws {
      let folder = ArchiveFolder(archive)
      let catalogue = try folder.read().catalogue
      var contents: [(content: ArchivedContent, ending: String?)] = []
      if let sighting = catalogue.sighting(of: file) ?? Self.sighting(shown: file, catalogue) {
        let names = [sighting.digest, sighting.signature].compactMap(\.self).compactMap { catalogue[$0] }
        contents = zip(names, [nil, "sig"]).map { ($0, $1) }
      } else {
        contents = [(try content(catalogue), nil)]
      }
      for (content, _) in contents { try folder.verify(content) }
      guard output != "-" else {
        guard !Console.isOutputTerminal else {
          throw ValidationError("standard output is a terminal; give -o FILE")
        }
        return try StandardOutput().write(try folder.source(of: contents[0].content))
      }
      let paths = contents.map { $0.ending == nil ? output : Self.signaturePath(beside: output) }
      for path in paths where !replace && FileIdentity(path: path) != nil { throw ExistingOutput(path: path) }
      for ((content, _), path) in zip(contents, paths).reversed() {
        let file = try OutputFile(path: path, replacing: replace)
        let source = SequentialSource(try folder.source(of: content))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        while case let count = try source.read(into: buffer), count > 0 {
          try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        try file.commit()
      }
    }

    private static func signaturePath(beside path: String) -> String {
      path.hasSuffix(".bin") ? path.dropLast(3) + "sig" : path + ".sig"
    }

    /// A name that is no UTF-8, as it is listed.
    private static func sighting(shown text: String, _ catalogue: ArchiveCatalogue) -> ArchiveSighting? {
      catalogue.sightings.first { TerminalText.harmless($0.name) == text }
        .flatMap { catalogue.sighting(of: $0.name) }
    }

    private func content(_ catalogue: ArchiveCatalogue) throws -> ArchivedContent {
      let digits = file.lowercased()
      let areDigits = !digits.isEmpty && digits.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
      let isDigest = areDigits && (8...64).contains(digits.utf8.count)
      let found = isDigest ? catalogue.contents.filter { $0.digest.hasPrefix(digits) } : []
      guard let first = found.first else {
        guard !areDigits || isDigest else {
          throw ArchiveFault(
            .unknownFile,
            "\(archive): nothing was seen as \(file), and of a SHA-256 \(counted(digits.utf8.count, "digit")) are given, allowed "
              + "are 8...64",
            hint: "keyferry archive list \(archive) says what there is")
        }
        throw ArchiveFault(
          .unknownFile, "\(archive): nothing was seen as \(file), and no file has it as its SHA-256",
          hint: "keyferry archive list \(archive) says what there is")
      }
      guard found.count == 1 else {
        throw ArchiveFault(.unknownFile, "\(archive): \(found.count) files have a SHA-256 that begins with \(digits)")
      }
      return first
    }
  }

  // MARK: verify

  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify", _superCommandName: "keyferry archive",
      abstract: "Read an archive whole: are all bytes there as they were kept, and was nothing taken back?",
      discussion: """
        Each content is compared with its digest, and the root over all records is computed again. With --keep the \
        checkpoint is remembered in a file, which belongs elsewhere, and the archive must extend what was remembered: \
        who changes archive and checkpoint together is caught by it. The exit code is 1 when something is wrong, which is \
        named.

        Examples:
          keyferry archive verify seen
          keyferry archive verify seen --keep /safe/seen.checkpoint --json
        """)

    @Argument(help: ArchiveCommand.folderHelp)
    var archive: String

    @Option(
      help: ArgumentHelp(
        "The file that remembers the checkpoint; it is begun where there is none, and is to lie elsewhere."))
    var keep: String?

    @Flag(help: ArchiveCommand.jsonHelp)
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func run() throws {
      let folder = ArchiveFolder(archive)
      var report = ArchiveVerdict(archive)
      do {
        let kept = try keep.flatMap { path in
          try FileIdentity(path: path).map { _ in
            try ArchiveCheckpoint(
              try FileSource.contents(of: path, limit: ArchiveCheckpoint.byteLimit), name: path)
          }
        }
        let reading = try folder.read(rootsAt: Set([kept?.size].compactMap(\.self)))
        report.take(reading)
        if let kept { try report.check(reading, extends: kept) }
        try contents(folder, reading.catalogue, &report)
        if let keep, report.isGood {
          let file = try OutputFile(path: keep)
          try file.write(Array(reading.checkpoint.text.utf8))
          try file.commit()
          if kept == nil {
            Console.remark("\(keep): begun; there was no checkpoint with which the archive could be compared")
          }
        }
      } catch let fault as ArchiveFault where fault.isRefutation {
        report.add(fault, names: [])
        if let hint = fault.hint { Console.hint(hint) }
      }
      if json { try Console.document(line: try JSONText.render(report)) } else { try Console.result(report.text) }
      try exit(report.isGood ? .done : .rejected)
    }

    private func contents(
      _ folder: ArchiveFolder, _ catalogue: ArchiveCatalogue, _ report: inout ArchiveVerdict
    ) throws {
      let progress = Progress()
      defer { progress.clear() }
      var names: [String: [String]] = [:]
      for sighting in catalogue.sightings {
        for digest in [sighting.digest, sighting.signature].compactMap(\.self) {
          names[digest, default: []].append(sighting.name)
        }
      }
      for (number, content) in catalogue.contents.enumerated() {
        progress.enter("verifying \(number) of \(catalogue.contents.count) files")
        do {
          try folder.verify(content)
        } catch let fault as ArchiveFault where fault.isRefutation {
          report.add(fault, names: names[content.digest] ?? [])
        }
      }
      report.unlisted = try folder.unlisted(catalogue)
    }
  }

  package init() {}
}
