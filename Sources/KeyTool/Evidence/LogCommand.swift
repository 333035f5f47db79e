internal import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import FileCommands
internal import KeyFormats
internal import KeyIntake
internal import PeerTransport
internal import TransparencyLog

struct LogCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", _superCommandName: Program.name,
    abstract: "Keep a public log of published bundles that cannot be rewritten in secret, and look after others'.",
    discussion: """
      A log is a folder of plain files behind any web server: tiles of a Merkle tree with their entries, and a signed \
      checkpoint (C2SP tlog-tiles, signed-note and tlog-checkpoint). Whoever has its key can prove that an entry is in \
      it, and that it only grew. The key is printed by keyferry log init, and is told to auditors by another way than \
      the log itself.

      Examples:
        keyferry log init public/log --state log-state --name keys.example.org/log
        keyferry log add public/log --state log-state --base public public/NL/*.zip
        keyferry log verify https://example.org/log --key log.vkey
        keyferry log monitor https://example.org/log --key log.vkey --keep seen
      """,
    subcommands: [
      Init.self, Add.self, Withdraw.self, Verify.self, Prove.self, Monitor.self, Adopt.self, Reveal.self,
    ])

  static let placeHelp = ArgumentHelp("The folder of the log, or its http or https address.", valueName: "log")
  static let keyHelp = ArgumentHelp("The log's public key, NAME+HEX+BASE64, or a file that has it.", valueName: "key")
  static let jsonHelp = ArgumentHelp("Print the result as JSON (schemas/log.schema.json).")

  // MARK: init

  struct Init: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "init", _superCommandName: "keyferry log",
      abstract: "Begin a log without entries, and print its public key.",
      discussion: """
        The private key is made and kept in the state, readable by its owner alone. The name is the address of the log \
        without https://; it never changes, and no other log has it.

        Examples:
          keyferry log init public/log --state log-state --name keys.example.org/log
          keyferry log init public/log --state log-state \\
            --name keys.example.org/log -o log.vkey
          keyferry log init --config gateway.yaml -o log.vkey
        """)

    @OptionGroup var writing: LogWriting

    @Option(help: ArgumentHelp("The name of the log; of a gateway's the configuration says it.", valueName: "name"))
    var name: String?

    @Option(
      name: [.short, .long], help: ArgumentHelp("Where the public key goes, too.", valueName: "file"),
      completion: .file())
    var output: String?

    @Flag(help: LogCommand.jsonHelp)
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws {
      try writing.checkNothingElse()
      guard writing.config == nil || name == nil else {
        throw ValidationError("--config says how the log is called; leave out --name")
      }
      guard writing.config != nil || name != nil else { throw ValidationError("say how the log is called: --name") }
    }

    func run() async throws {
      let places = try await writing.places()
      guard let name = places.name ?? name else { throw ValidationError("say how the log is called: --name") }
      let file = try output.map { try OutputFile(path: $0, replacing: false) }
      let writer = try await LogWriter.create(name: name, state: places.state, folder: places.folder)
      // A gateway attests what it publishes, with a key of its own.
      let attester =
        writing.config == nil ? nil : try await AttestationSigner.kept(in: places.state.keys, shownIn: places.folder)
      try file?.write(Array("\(writer.verifier)\n".utf8))
      try file?.commit()
      if json { return try LogReport(writer.verifier, writer.checkpoint).tell(json: true) }
      try Console.result(line: "\(writer.verifier)")
      if case .file = places.state.keys.privateKeys.log {
        Console.note(
          "the private key is in \(places.state.keys.path); keep it secret, and never restore it from an old backup")
      }
      if let attester {
        Console.remark("attestations are signed by \(attester.publicKey.id); a round puts attest.pem into the log")
      }
    }
  }

  // MARK: add, withdraw

  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add", _superCommandName: "keyferry log",
      abstract: "Log that bundles were published, and write the proof of each beside it.",
      discussion: """
        An entry has the bundle's path, the SHA-256 of the file and of its export.bin, its window, and how many keys it \
        has; never a key. The proof is the file FILE.tlog-proof. A bundle that is logged already gets a new proof; \
        other bytes under a path that is logged are refused, and then nothing is logged.

        Examples:
          keyferry log add public/log --state log-state --base public public/NL/*.zip
          keyferry log add public/log --state log-state --series NL \\
            --base public public/NL/1.zip
        """)

    @OptionGroup var writing: LogWriting

    @Argument(help: ArgumentHelp("Export bundles, as they are served.", valueName: "bundle"), completion: .file())
    var bundles: [String] = []

    @Option(
      help: ArgumentHelp("The folder in which the paths of the log begin; without it they are bare names."),
      completion: .directory)
    var base: String?

    @Option(help: ArgumentHelp("The series that the bundles belong to.", valueName: "name"), completion: .series)
    var series: String?

    @Option(
      parsing: .unconditional,
      help: ArgumentHelp("When they were published; now, unless it is said.", valueName: "time"))
    var at: Instant?

    @Flag(help: LogCommand.jsonHelp)
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws { _ = try writing.behind(bundles, "bundles") }

    func run() async throws {
      let instant = at ?? Clock.now
      let found = try writing.behind(bundles, "bundles").map {
        try LoggedBundle($0, base: base, series: series, at: instant)
      }
      let places = try await writing.places()
      let writer = try await LogWriter.open(state: places.state, folder: places.folder)
      let reader = TreeReader(writer.folder, size: writer.checkpoint.size)
      var published = try await LogSearch(reader).published()
      var new: [[UInt8]] = []
      for bundle in found {
        if let known = published[bundle.path] {
          guard known.digest == bundle.digest else {
            throw LogFault(
              .wouldOverwrite,
              """
              \(bundle.file): entry \(known.index) says that \(bundle.path) was published with the SHA-256 \
              \(known.digest), this file has \(bundle.digest)
              """, hint: "publish it under another name; a name is never answered with two contents")
          }
          continue
        }
        let index = writer.checkpoint.size + new.count
        published[bundle.path] = LogSearch.Place(index: index, digest: bundle.digest, entry: bundle.entry.bytes)
        new.append(bundle.entry.bytes)
      }
      for start in stride(from: 0, to: new.count, by: LogWriter.entriesAtOnce) {
        try await writer.append(
          Array(new[start..<min(start + LogWriter.entriesAtOnce, new.count)]), cursor: writer.cursor)
      }
      var report = LogReport(writer.verifier, writer.checkpoint)
      for bundle in found {
        guard let place = published[bundle.path] else { continue }
        let proof = try await writer.proof(of: place.index, entry: place.entry)
        let output = try OutputFile(path: bundle.file + ProofFile.ending)
        try output.write(proof.bytes)
        try output.commit()
        report.entries.append(LogReport.Entry(index: place.index, path: bundle.path, proof: output.path))
      }
      report.newEntries = new.count
      try report.tell(json: json)
    }
  }

  struct Withdraw: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "withdraw", _superCommandName: "keyferry log",
      abstract: "Log that bundles are not served any more, and who says so.",
      discussion: """
        What was published stays in the log; monitors do not miss a bundle that was withdrawn.

        Example:
          keyferry log withdraw public/log --state log-state NL/1.zip \\
            --by "J. Doe" --reason "test keys"
          keyferry log withdraw NL/1.zip --config gateway.yaml \\
            --by "J. Doe" --reason "test keys"
        """)

    @OptionGroup var writing: LogWriting

    @Argument(help: ArgumentHelp("The paths of the bundles, as the log has them.", valueName: "path"))
    var paths: [String] = []

    @Option(help: ArgumentHelp("Who withdraws them.", valueName: "name"))
    var by: String

    @Option(help: ArgumentHelp("Why.", valueName: "text"))
    var reason: String

    @Flag(help: LogCommand.jsonHelp)
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws { _ = try writing.behind(paths, "paths") }

    func run() async throws {
      let paths = try writing.behind(paths, "paths")
      let places = try await writing.places()
      let writer = try await LogWriter.open(state: places.state, folder: places.folder)
      let published = try await LogSearch(TreeReader(writer.folder, size: writer.checkpoint.size)).published()
      let now = Int(Clock.now.secondsSince1970)
      let entries = try paths.map { path in
        guard published[path] != nil else {
          throw LogFault(.badEntry, "\(path): the log has no bundle of this path, so it cannot be withdrawn")
        }
        return try LogEntry(
          .withdrawn, ["at": .number(now), "by": .text(by), "path": .text(path), "reason": .text(reason)]
        ).bytes
      }
      let first = try await writer.append(entries, cursor: writer.cursor)
      var report = LogReport(writer.verifier, writer.checkpoint)
      report.entries = paths.enumerated().map { LogReport.Entry(index: first + $0.offset, path: $0.element) }
      try report.tell(json: json)
    }
  }

  // MARK: verify, prove

  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify", _superCommandName: "keyferry log",
      abstract: "Read a whole log and compute it again: every entry, every tile, and the root.",
      discussion: """
        Tiles are those of the newest checkpoint; partial ones of older checkpoints are not read. With --since it is \
        proved, too, that the log extends a checkpoint that was kept. The exit code is 1 when something is wrong, which \
        is named.

        Examples:
          keyferry log verify public/log --key log.vkey
          keyferry log verify https://example.org/log --key log.vkey --since kept
        """)

    @Argument(help: LogCommand.placeHelp, completion: .directory)
    var place: String

    @Option(help: LogCommand.keyHelp, completion: .file())
    var key: LogKey

    @Option(help: ArgumentHelp("An older checkpoint of the log: a file.", valueName: "checkpoint"), completion: .file())
    var since: String?

    @Flag(help: LogCommand.jsonHelp)
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let verifier = try key.verifier()
      var report = LogReport(verifier)
      try await LogPlace.withClients { clients in
        let source = try LogPlace.source(place, clients)
        try await report.findings { report in
          let checkpoint = try await LogWatch.checkpoint(of: source, by: verifier)
          report = LogReport(verifier, checkpoint)
          let reader = TreeReader(source, size: checkpoint.size)
          if let since {
            let old = try await LogPlace.checkpoint(since, by: verifier, clients)
            try await checkpoint.verifyExtends(old, by: reader)
            report.extends = old.size
          }
          try await LogVerification(reader, root: checkpoint.root).run { _, _ in }
        }
      }
      try report.tell(json: json)
      try exit(report.status)
    }
  }

  struct Prove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "prove", _superCommandName: "keyferry log",
      abstract: "Prove that an entry is in a log, or that it extends an older checkpoint.",
      discussion: """
        The proof of an entry is a file of C2SP tlog-proof, which has the entry itself as extra data. The proof of \
        --since is what a witness is sent (C2SP tlog-witness): the old size, the hashes, and the checkpoint.

        Examples:
          keyferry log prove https://example.org/log --key log.vkey --index 12
          keyferry log prove public/log --key log.vkey --bundle 1.zip -o proof
          keyferry log prove public/log --key log.vkey --since kept
        """)

    @Argument(help: LogCommand.placeHelp, completion: .directory)
    var place: String

    @Option(help: LogCommand.keyHelp, completion: .file())
    var key: LogKey

    @Option(help: ArgumentHelp("The entry of this index, counted from 0.", valueName: "number"))
    var index: Int?

    @Option(
      help: ArgumentHelp("The entry that says that this bundle was published.", valueName: "file"), completion: .file())
    var bundle: String?

    @Option(
      help: ArgumentHelp("An older checkpoint that the log extends: a file.", valueName: "checkpoint"),
      completion: .file())
    var since: String?

    @Option(
      name: [.short, .long], help: ArgumentHelp("Where the proof goes; - is standard output.", valueName: "file"),
      completion: .file())
    var output = "-"

    @Flag(help: "Print the proof as JSON (schemas/log.schema.json).")
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws {
      let given = [index != nil, bundle != nil, since != nil].count { $0 }
      guard given == 1 else { throw ValidationError("give one of --index, --bundle and --since") }
      if let index { guard index >= 0 else { throw ValidationError("--index \(index): allowed are 0 and more") } }
      guard !json || output == "-" else { throw ValidationError("--json goes to standard output; leave out -o") }
    }

    func run() async throws {
      let verifier = try key.verifier()
      try await LogPlace.withClients { clients in
        let source = try LogPlace.source(place, clients)
        let checkpoint = try await LogWatch.checkpoint(of: source, by: verifier)
        let reader = TreeReader(source, size: checkpoint.size)
        if let since {
          return try await proveSince(try await LogPlace.checkpoint(since, by: verifier, clients), checkpoint, reader)
        }
        let (index, entry) = try await entry(checkpoint, reader)
        let proof = try await LogWriter.proof(of: index, entry: entry, checkpoint: checkpoint, reader)
        guard json else { return try write(proof.bytes) }
        var report = LogReport(verifier, checkpoint)
        report.entries = [
          LogReport.Entry(
            index: index, path: (try? LogEntry(entry, name: "entry"))?.text("path"),
            leaf: TreeHash.leaf(entry).base64, hashes: proof.hashes.map(\.base64))
        ]
        try report.tell(json: true)
      }
    }

    private func proveSince(_ old: SignedCheckpoint, _ new: SignedCheckpoint, _ reader: TreeReader) async throws {
      try await new.verifyExtends(old, by: reader)
      let hashes = try await reader.consistency(from: old.size).map(\.base64)
      guard json else {
        let head = "old \(old.size)\n" + hashes.map { $0 + "\n" }.joined() + "\n"
        return try write(Array(head.utf8) + new.bytes)
      }
      var report = LogReport(try key.verifier(), new)
      (report.extends, report.consistency) = (old.size, hashes)
      try report.tell(json: true)
    }

    private func entry(_ checkpoint: SignedCheckpoint, _ reader: TreeReader) async throws -> (Int, [UInt8]) {
      guard let bundle else {
        let index = index ?? 0
        guard index < checkpoint.size else {
          throw LogFault(
            .notIncluded, "\(place): there is no entry \(index), the log has \(checkpoint.size)")
        }
        return (index, try await reader.bundle(index / Tile.width).entries[index % Tile.width])
      }
      let digest = try SourceDocument(path: bundle).digest().hexadecimal
      guard let found = try await LogSearch(reader).published(digest: digest) else {
        throw LogFault(
          .notIncluded, "\(bundle): no entry of the log says that a bundle with its SHA-256 \(digest) was published")
      }
      return (found.index, found.entry)
    }

    private func write(_ bytes: [UInt8]) throws {
      guard output != "-" else { return try StandardOutput().write(bytes) }
      let file = try OutputFile(path: output)
      try file.write(bytes)
      try file.commit()
    }
  }

  // MARK: monitor, adopt

  struct Monitor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "monitor", _superCommandName: "keyferry log",
      abstract: "Follow a log: does it only grow, and is each bundle still served as it was logged?",
      discussion: """
        Every run reads the entries that are new since the last one, which is kept in a file, and compares every bundle \
        that the log lists with what is served. It looks at manifest.json, index.txt and SHA256SUMS of each series: do \
        they name what is in the log, and each increment for as long as the series says? A bundle that is old enough, \
        that was replaced or withdrawn, may be gone. The exit code is 1 when the log was rewritten, or a bundle is \
        missing, changed, not logged or not listed, which are named each time; of a rewritten log both checkpoints are \
        kept: they prove it. It is made for a line in cron. Old entries are read again by keyferry log verify.

        Examples:
          keyferry log monitor https://example.org/log --key log.vkey --keep seen
          keyferry log monitor public/log --key log.vkey --keep seen.json --json
        """)

    @Argument(help: LogCommand.placeHelp, completion: .directory)
    var place: String

    @Option(help: LogCommand.keyHelp, completion: .file())
    var key: LogKey

    @Option(
      help: ArgumentHelp("The file that remembers what was seen; it is begun where there is none."), completion: .file()
    )
    var keep: String

    @Option(
      help: ArgumentHelp(
        "Where the bundles are served: a folder or an address. Without it: what the log lies in.", valueName: "place"),
      completion: .directory)
    var bundles: String?

    @Flag(help: "Look at the log alone, and at no bundle.")
    var logOnly = false

    @Flag(help: LogCommand.jsonHelp)
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws {
      guard !(logOnly && bundles != nil) else { throw ValidationError("--log-only and --bundles exclude each other") }
    }

    func run() async throws {
      let verifier = try key.verifier()
      let memory: LogMemory? =
        try FileIdentity(path: keep).map { _ in
          try LogMemory(try FileSource.contents(of: keep, limit: LogMemory.byteLimit), of: verifier, name: keep)
        }
      var report = LogReport(verifier)
      try await LogPlace.withClients { clients in
        let source = try LogPlace.source(place, clients)
        let served = logOnly ? nil : try LogPlace.source(bundles ?? LogPlace.above(place), clients)
        try await report.findings { report in
          do {
            let seen = try await LogWatch(source, bundles: served, log: verifier)
              .look(since: memory, at: Int(Clock.now.secondsSince1970))
            report = LogReport(verifier, seen.checkpoint)
            report.extends = try memory.map { try $0.size }
            report.newEntries = seen.newEntries
            report.comparedBundles = logOnly ? nil : seen.comparedBundles
            report.notes = seen.notes
            report.findings = seen.findings.map {
              LogReport.Finding(code: $0.code.rawValue, entry: $0.entry, path: $0.path, text: $0.text)
            }
            try write(try seen.memory.bytes, to: keep)
          } catch let fault as LogFault where memory != nil && fault.isRefutation {
            try await keepEvidence(source, memory)
            throw fault
          }
        }
      }
      try report.tell(json: json)
      try exit(report.status)
    }

    /// What the log shows now, beside what it showed before.
    private func keepEvidence(_ source: any LogSource, _ memory: LogMemory?) async throws {
      let shown = try await source.content(of: LogWriter.checkpointPath, limit: SignedNote.byteLimit) ?? []
      try write(shown, to: keep + ".now")
      try write(Array((memory?.checkpoint ?? "").utf8), to: keep + ".before")
      Console.remark("both checkpoints are kept: \(keep).before and \(keep).now")
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
      let file = try OutputFile(path: path)
      try file.write(bytes)
      try file.commit()
    }
  }

  struct Adopt: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "adopt", _superCommandName: "keyferry log",
      abstract: "Go on from what the log's folder shows, where the state was lost or is an old one.",
      discussion: """
        Every entry and every tile of the folder is read first, and what the state knows must be its beginning. It is \
        for a state that was restored from a backup, when the folder, or a mirror that was copied into it, has \
        everything that anybody was shown.

        A gateway signs its attestations by a key of their own. Where that is lost, publishing stops; with \
        --new-attestation-key it goes on with a new one, and all attestations beside bundles that are served are signed \
        by it. Tell it to those who have the old attest.pem.

        Examples:
          keyferry log adopt public/log --state log-state
          keyferry log adopt --config gateway.yaml
          keyferry log adopt --config gateway.yaml --new-attestation-key
        """)

    @OptionGroup var writing: LogWriting

    @Flag(help: "The key of a gateway's attestations is lost: make a new one, and show it.")
    var newAttestationKey = false

    @Flag(help: LogCommand.jsonHelp)
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws {
      try writing.checkNothingElse()
      guard !newAttestationKey || writing.config != nil else {
        throw ValidationError("--new-attestation-key is for a gateway: say which with --config gateway.yaml")
      }
    }

    func run() async throws {
      let places = try await writing.places()
      _ = try await LogWriter.adopt(state: places.state, folder: places.folder, copy: places.copy)
      let writer = try await LogWriter.open(state: places.state, folder: places.folder)
      if newAttestationKey {
        let signer = try await AttestationSigner.renew(in: places.state.keys, shownIn: places.folder)
        Console.remark(
          "attestations are signed by the key \(signer.publicKey.id) from the next round on; see attest.pem")
      }
      try LogReport(writer.verifier, writer.checkpoint).tell(json: json)
    }
  }
}
