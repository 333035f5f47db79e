internal import ArgumentParser
internal import ExposureKeys
internal import FileCommands
internal import FoundationEssentials
internal import GatewayDaemon
internal import GatewaySettings
internal import Glibc
internal import KeyFormats
internal import KeyIntake
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage
internal import S3Publications

struct StoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store", _superCommandName: Program.name,
    abstract:
      "Check the gateway's store, copy it while the gateway runs, put a copy in its place, move it, or begin it anew.",
    subcommands: [Check.self, Backup.self, Restore.self, Create.self, Copy.self, Begin.self])

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", _superCommandName: "keyferry store",
      abstract: "Read the whole store and say what is damaged.",
      discussion: """
        It works beside a gateway that runs. It runs the database's own check, reads every row, and compares the manifests in the \
        publication folder or the bucket with the store: either may come from an older copy.

        With --deep it also reads each kept document again and compares what the document says with the claims in the store, so \
        that it finds a changed row. It says how many documents it could not compare: those whose bytes are not \
        kept any more (retention.evidence), and those that another policy has read. It compares no uploads, because Keyferry keeps \
        no bytes of them.

        The exit code is 1 when they differ, when they cannot be read, or when something is damaged. If the store is damaged, \
        stop the gateway and run keyferry store restore: it puts the last copy in the store's place and keeps the damaged file. \
        The gateway then reads from the publication folder what went out since the copy.

        Examples:
          keyferry store check --config gateway.yaml
          keyferry store check --deep --config gateway.yaml
        """)

    @Flag(help: "Also compare the claims with the kept documents.")
    var deep = false

    @OptionGroup var gateway: GatewayOptions

    @Flag(help: "Print it as JSON (schemas/store-check.schema.json).")
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let plan = try gateway.operatorsPlan()
      let (damage, advice) = try await damage(of: plan)
      let comparison = damage.isEmpty ? try await comparison(of: plan) : Comparison()
      let documents = deep && damage.isEmpty ? try await documents(of: plan) : nil
      if json {
        try Console.document(line: try JSONText.render(Report(damage: damage, comparison, documents)))
      } else {
        for line in damage { try Console.result(line: printableText(line, limit: lineLimit)) }
        if damage.isEmpty, documents?.faults.isEmpty ?? true { try Console.result(line: "the store is whole") }
        let lines = comparison.differences + comparison.gaps + (documents.map(Self.text) ?? [])
        for line in lines { try Console.result(line: printableText(line, limit: lineLimit)) }
      }
      if let advice { Console.hint(advice) }
      let isWhole = damage.isEmpty && comparison.isWhole && documents?.faults.isEmpty ?? true
      if damage.isEmpty, let documents, !documents.faults.isEmpty {
        Console.hint(plan.store.database == nil ? StorageFault.fileAdvice : StorageFault.databaseAdvice)
      }
      try exit(isWhole ? .done : .rejected)
    }

    /// What the kept documents say, beside the claims in the store.
    private func documents(of plan: OperatorsPlan) async throws -> KeptDocumentCheck.Findings {
      let check = KeptDocumentCheck(
        of: plan.sources, ownOrigins: plan.ownOrigins, retention: plan.retention)
      return try await check.run(in: try await gateway.ledger(plan, as: .reader))
    }

    private static func text(_ documents: KeptDocumentCheck.Findings) -> [String] {
      let left = [
        (documents.notKept, "whose bytes are not kept"), (documents.readByOtherPolicy, "read by another policy"),
        (documents.refused, "that cannot be read or trusted any longer"),
      ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
      let compared = "\(counted(documents.compared, "kept document")) compared with the claims in the store"
      return documents.faults + [left.isEmpty ? compared : "\(compared); not compared: \(left.joined(separator: ", "))"]
    }

    /// What is published, beside what the store knows.
    private struct Comparison {
      var differences: [String] = []
      /// What could not be looked at.
      var gaps: [String] = []

      var isWhole: Bool { differences.isEmpty && gaps.isEmpty }
    }

    /// What is published and the store does not know, and the other way round. A bucket is asked with what the service has.
    private func comparison(of plan: OperatorsPlan) async throws -> Comparison {
      var comparison = Comparison()
      do {
        guard let (folder, name) = try publication(plan) else { return comparison }
        let ledger = try await gateway.ledger(plan, as: .reader)
        for series in plan.series.map(\.name) {
          comparison.differences += try await PublicationStanding.faults(of: [series], in: folder, named: name, ledger)
        }
      } catch let fault as StorageFault {
        throw fault
      } catch {
        let later = (error as? FolderFault)?.code == .unavailable ? "; try again when it answers" : ""
        comparison.gaps.append("what is published was not compared with the store: \(error)\(later)")
      }
      return comparison
    }

    private func publication(_ plan: OperatorsPlan) throws -> (folder: any PublicationFolder, name: String)? {
      guard let bucket = plan.publicationBucket else {
        return plan.publicationFolder.map { (LocalFolder($0), PathText.onOneLine($0)) }
      }
      return PublicationPlace(try gateway.plan(warnings: false)).map { ($0.folder, bucket.shown) }
    }

    /// - Returns: what is damaged, and what to do about it.
    private func damage(of plan: OperatorsPlan) async throws -> (lines: [String], advice: String?) {
      let advice = plan.store.database == nil ? StorageFault.fileAdvice : StorageFault.databaseAdvice
      do {
        let damage = try await gateway.ledger(plan, as: .reader).damage(limit: 100)
        guard !damage.isEmpty else { return ([], nil) }
        let isAddition = damage.allSatisfy(StoreAddition.isTold)
        return (damage, isAddition ? "Keyferry works all the same: keep these changes, or undo them yourself" : advice)
      } catch let fault as StorageFault where fault.code == .corrupt {
        // So damaged that it cannot even be opened.
        return ([fault.bareReason], advice)
      }
    }

    private struct Report: Encodable {
      let reportVersion = 1
      let damage: [String]
      let publication: [String]
      let notCompared: [String]
      let documents: Documents?

      struct Documents: Encodable {
        let faults: [String]
        let compared: Int
        let notKept: Int
        let readByOtherPolicy: Int
        let refused: Int
      }

      init(damage: [String], _ comparison: Comparison, _ documents: KeptDocumentCheck.Findings?) {
        self.damage = damage
        (publication, notCompared) = (comparison.differences, comparison.gaps)
        self.documents = documents.map {
          Documents(
            faults: $0.faults, compared: $0.compared, notKept: $0.notKept, readByOtherPolicy: $0.readByOtherPolicy,
            refused: $0.refused)
        }
      }
    }
  }

  struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "backup", _superCommandName: "keyferry store",
      abstract: "Copy the store into a new file, while the gateway runs.",
      discussion: """
        The copy is one state of the store. Keyferry reads it to its end before it gives it its name or sends it on: it makes no \
        copy of a damaged store. A copy holds keys of people: only its owner can read it, and you must not keep it for longer than \
        the store keeps keys (retention.keys). To encrypt a copy, send it to standard output and through age or gpg.

        Examples:
          keyferry store backup -o /backup/keyferry-2020-12-01.sqlite --config gateway.yaml
          keyferry store backup -o - --config gateway.yaml | age -r age1… -o /backup/keyferry-2020-12-01.age
        """)

    @Option(
      name: [.short, .long],
      help: ArgumentHelp("The new file; nothing is overwritten. - is standard output.", valueName: "file"),
      completion: .file())
    var output: String

    @OptionGroup var gateway: GatewayOptions

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws {
      guard output != "-" || !Console.isOutputTerminal else {
        throw ValidationError("a store is no text for a terminal: send it to a file or through a pipe")
      }
    }

    func run() async throws {
      let plan = try gateway.operatorsPlan()
      try requireFile(plan, "pg_dump --schema=\(plan.store.location)")
      let ledger = try await gateway.ledger(plan, as: .reader)
      guard output == "-" else {
        try await ledger.copyStore(to: output)
        return Console.remark("the store was copied to \(output)")
      }
      // What is not encrypted yet is where the store itself is, and nowhere else.
      let copy = PassingCopy(in: plan.stateFolder)
      defer { copy.remove() }
      try await ledger.copyStore(to: copy.path)
      try StandardOutput().write(try FileSource(path: copy.path))
    }
  }

  struct Restore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "restore", _superCommandName: "keyferry store",
      abstract: "Put a copy in the place of the store, while no gateway runs.",
      discussion: """
        The copy is read and checked first; a damaged one changes nothing. Where its log of changes lies beside it (-wal), \
        as beside a store that was put aside, it is taken along. The store that was there is kept beside it, as \
        keyferry.sqlite-replaced-… in the state folder: remove it when all is well, since it holds keys of people. What was \
        published since the copy was made is taken over from the publication folder at the next round, and sources send \
        what is missing; words of operators since then (pauses, recalls, erasures) have to be said again.

        Examples:
          keyferry store restore /backup/keyferry-2020-12-01.sqlite --config gateway.yaml
          age -d -i backup-key.txt /backup/keyferry-2020-12-01.age | keyferry store restore - --config gateway.yaml
        """)

    @Argument(
      help: ArgumentHelp("What keyferry store backup wrote. - is standard input.", valueName: "file"),
      completion: .file())
    var file: String

    @OptionGroup var gateway: GatewayOptions

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let plan = try gateway.operatorsPlan()
      try requireFile(plan, "pg_restore")
      let now = gateway.clock()
      guard file == "-" else {
        return done(file, plan, keeping: try await Stores.restore(from: file, into: plan.stateFolder, now: now))
      }
      try makeFolders(plan.stateFolder)
      let copy = PassingCopy(in: plan.stateFolder)
      defer { copy.remove() }
      try copy.takeStandardInput()
      let name = "standard input"
      done(
        "what came from \(name)", plan,
        keeping: try await Stores.restore(from: copy.path, named: name, into: plan.stateFolder, now: now))
    }

    private func done(_ what: String, _ plan: OperatorsPlan, keeping kept: String?) {
      let old = kept.map { "; what was there is kept as \($0)" } ?? ""
      Console.remark("\(what) is the store in \(plan.stateFolder) now\(old)")
      Console.hint("keyferry publish --config \(gateway.config) takes over what was published since")
    }
  }
}

/// A copy on its way through a pipe: it is where the store itself is, for its owner alone, and for as long as the command takes. A
/// signal that ends the process removes it; if the process was killed, the next such command does.
private struct PassingCopy {
  let path: String
  private let noted: PartialFile
  private static let prefix = "copy-"
  private static let byteLimit = 1 << 40

  init(in folder: String) {
    path = "\(folder)/\(Self.prefix)\(ProcessInfo.processInfo.processIdentifier).sqlite"
    noted = PartialFile(path)
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      guard name.hasPrefix(Self.prefix), let end = name.firstRange(of: ".sqlite"),
        let process = Int32(name[name.index(name.startIndex, offsetBy: Self.prefix.count)..<end.lowerBound]),
        process == getpid() || (kill(process, 0) != 0 && errno == ESRCH)
      else { continue }
      try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
    }
  }

  func takeStandardInput() throws {
    let file = try OutputFile(path: path, permissions: 0o600, replacing: false)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { buffer.deallocate() }
    while true {
      let count = read(STDIN_FILENO, buffer.baseAddress, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw FileFault("read", "standard input", number: errno) }
      guard count > 0 else { return try file.commit() }
      guard file.byteCount <= Self.byteLimit - count else {
        throw FileFault("read", "standard input", reason: "more than \(Self.byteLimit) bytes, a store has fewer")
      }
      try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }

  func remove() {
    try? FileManager.default.removeItem(atPath: path)
    withExtendedLifetime(noted) {}
  }
}

/// How long a line about damage may be: it says what to do, and may name a file twice.
let lineLimit = 2000

/// - Throws: `ValidationError` where the store is in a database, which has means of its own.
private func requireFile(_ plan: OperatorsPlan, _ means: String) throws {
  guard plan.store.database != nil else { return }
  throw ValidationError("the store is in a database, which is copied with its own means: \(means)")
}
