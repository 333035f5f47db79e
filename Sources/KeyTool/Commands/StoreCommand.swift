internal import ArgumentParser
internal import ExposureKeys
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
internal import SealedCopies

struct StoreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store", _superCommandName: KeyferryCommand.programName,
    abstract:
      "Check and repair the gateway's store, copy it while the gateway runs, put a copy in its place, move it, or begin it anew.",
    subcommands: [Check.self, Repair.self, Backup.self, Restore.self, Migrate.self, Copy.self, Begin.self])

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", _superCommandName: "keyferry store",
      abstract: "Read the whole store and say what is damaged.",
      discussion: """
        It works beside a gateway that runs, and reads everything once: each page has a checksum. Every other command looks \
        at the checksums of the pages that it reads, too, and ends with exit code 2 at one that is wrong. The manifests in the publication \
        folder, or in the bucket itself, are compared with the store: either may have been brought back from an older copy.

        The exit code is 1 when they differ, when they cannot be read, or when something is damaged: then stop the gateway, and do what the hint \
        names: keyferry store repair says what comes back without a copy; keyferry store restore puts the last copy in the store's place, keeps the \
        damaged file, and the publication folder makes up for what went out since.

        Examples:
          keyferry store check --config gateway.yaml
        """)

    @OptionGroup var gateway: GatewayOptions

    @Flag(help: "Print it as JSON (schemas/store-check.schema.json).")
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let plan = try gateway.operatorsPlan()
      let (damage, step) = try await damage(of: plan)
      let comparison = damage.isEmpty ? try await comparison(of: plan) : Comparison()
      if json {
        try Console.document(line: try JSONText.render(Report(damage: damage, comparison)))
      } else {
        for line in damage { try Console.result(line: printableText(line, limit: lineLimit)) }
        if damage.isEmpty { try Console.result(line: "the store is whole") }
        for line in comparison.differences + comparison.gaps {
          try Console.result(line: printableText(line, limit: lineLimit))
        }
      }
      if let step { Console.hint(step.hint(plan, gateway.config)) }
      try exit(damage.isEmpty && comparison.isWhole ? .done : .rejected)
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

    /// What helps.
    private enum NextStep {
      case repair
      case endRepair
      case leaveAdditions
      case restore

      func hint(_ plan: OperatorsPlan, _ configuration: String) -> String {
        switch self {
        case .repair:
          "stop the gateway, then: keyferry store repair --config \(configuration) says what of it can be repaired"
            + (plan.store.database == nil
              ? "" : "; where that does not help, restore a copy of the database with its own means")
        case .endRepair: "stop the gateway, then: keyferry store repair --yes --config \(configuration)"
        case .leaveAdditions:
          "what somebody has added is in nobody's way; who has added it can take it away, and no copy does"
        case .restore: "stop the gateway, then: keyferry store restore COPY --config \(configuration)"
        }
      }
    }

    private func damage(of plan: OperatorsPlan) async throws -> (lines: [String], step: NextStep?) {
      do {
        let damage = try await gateway.ledger(plan, as: .reader).damage(limit: 100)
        guard !damage.isEmpty else { return ([], nil) }
        if damage.allSatisfy(StoreAddition.isTold) { return (damage, .leaveAdditions) }
        return (damage, try Stores.isBeyondRepair(plan.store) ? .restore : .repair)
      } catch let fault as StorageFault where fault.code == .corrupt {
        if UnfinishedRepair.isTold(by: fault) { return ([fault.reason], .endRepair) }
        // So damaged that it cannot even be opened.
        return ([fault.pointingToCopy.reason], plan.store.database == nil ? .restore : .repair)
      }
    }

    private struct Report: Encodable {
      let reportVersion = 1
      let damage: [String]
      let publication: [String]
      let notCompared: [String]

      enum CodingKeys: String, CodingKey {
        case damage, publication
        case reportVersion = "report_version"
        case notCompared = "not_compared"
      }

      init(damage: [String], _ comparison: Comparison) {
        self.damage = damage
        (publication, notCompared) = (comparison.differences, comparison.gaps)
      }
    }
  }

  struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "backup", _superCommandName: "keyferry store",
      abstract: "Copy the store into a new file, while the gateway runs.",
      discussion: """
        The copy is one state of the store, and is read to its end before it gets its name: of a damaged store none is made. It holds keys of people: it is readable by its owner alone, and must not be kept \
        for longer than the store keeps keys (retention.keys). With --recipient it is sealed, and nobody reads it without \
        the private key: the format is that of age, whose age-keygen makes the keys and whose age reads the copy as well.

        Examples:
          keyferry store backup /backup/keyferry-2020-12-01.sqlite --config gateway.yaml
          age-keygen -o backup-key.txt
          keyferry store backup /backup/keyferry-2020-12-01.age --recipient age1… --config gateway.yaml
        """)

    @Argument(help: ArgumentHelp("The new file; nothing is overwritten.", valueName: "file"), completion: .file())
    var file: String

    @Option(help: ArgumentHelp("Seal the copy for this public key of age; repeatable.", valueName: "age1…"))
    var recipient: [CopyRecipient] = []

    @OptionGroup var gateway: GatewayOptions

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws {
      guard file != "-" else {
        throw ValidationError("a store is copied to a file, not to standard output; ./- is a file of that name")
      }
    }

    func run() async throws {
      let plan = try gateway.operatorsPlan()
      try requireFile(plan, "pg_dump --schema=\(plan.store.location)")
      let ledger = try await gateway.ledger(plan, as: .reader)
      guard !recipient.isEmpty else {
        try await ledger.copyStore(to: file)
        return Console.remark("the store was copied to \(file)")
      }
      // The open copy is where the store itself is, and nowhere else.
      let open = OpenCopy(in: plan.stateFolder)
      defer { open.remove() }
      try await ledger.copyStore(to: open.path)
      let output = try OutputFile(path: file, permissions: 0o600, replacing: false)
      try SealedCopy.seal(for: recipient, reading: try parts(of: open.path)) { try output.write($0) }
      try output.commit()
      Console.remark("the store was copied to \(file), sealed for \(counted(recipient.count, "key"))")
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
          keyferry store restore /backup/keyferry-2020-12-01.age --identity backup-key.txt --config gateway.yaml
        """)

    @Argument(help: ArgumentHelp("What keyferry store backup wrote.", valueName: "file"), completion: .file())
    var file: String

    @Option(
      help: ArgumentHelp("The file with the private key, for a sealed copy.", valueName: "file"), completion: .file())
    var identity: String?

    @OptionGroup var gateway: GatewayOptions

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let plan = try gateway.operatorsPlan()
      try requireFile(plan, "pg_restore")
      let now = gateway.clock()
      guard SealedCopy.isSealed(try parts(of: file)(64)) else {
        return done(plan, keeping: try await Stores.restore(from: file, into: plan.stateFolder, now: now))
      }
      guard let identity else {
        throw ValidationError("\(file) is sealed; give the file with its private key: --identity backup-key.txt")
      }
      let keys = try CopyIdentity(
        file: String(decoding: try FileSource.contents(of: identity, limit: 65_536), as: UTF8.self))
      try makeFolders(plan.stateFolder)
      let open = OpenCopy(in: plan.stateFolder)
      defer { open.remove() }
      let output = try OutputFile(path: open.path, permissions: 0o600, replacing: false)
      try SealedCopy.open(as: keys, reading: try parts(of: file)) { try output.write($0) }
      try output.commit()
      done(plan, keeping: try await Stores.restore(from: open.path, named: file, into: plan.stateFolder, now: now))
    }

    private func done(_ plan: OperatorsPlan, keeping kept: String?) {
      let old = kept.map { "; what was there is kept as \($0)" } ?? ""
      Console.remark("\(file) is the store in \(plan.stateFolder) now\(old)")
      Console.hint("keyferry publish --config \(gateway.config) takes over what was published since")
    }
  }
}

/// A copy that is not sealed, where the store itself is and nowhere else, for as long as it takes to seal or to restore it. A signal that ends
/// the process removes it; where it was killed, who makes the next one does.
private struct OpenCopy {
  let path: String
  private let noted: PartialFile
  private static let prefix = "copy-"

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

/// A file from its beginning, part by part.
private func parts(of path: String) throws -> (_ count: Int) throws -> [UInt8] {
  let source = try FileSource(path: path)
  var place = 0
  return { count in
    let bytes = try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = try source.read(at: place, into: UnsafeMutableRawBufferPointer(buffer))
    }
    place += bytes.count
    return bytes
  }
}

extension CopyRecipient: ExpressibleByArgument {
  init?(argument: String) {
    guard let recipient = try? CopyRecipient(argument) else { return nil }
    self = recipient
  }
}
