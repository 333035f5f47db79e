internal import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import FileCommands
internal import FoundationEssentials
internal import GatewayDaemon
internal import GatewaySettings
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization
internal import KeyPublishing
internal import KeyStorage
internal import PolicyFiles
internal import TransparencyLog

struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", _superCommandName: Program.name,
    abstract: "Make published bundles again from what the gateway was told; check who says how they were made.",
    discussion: """
      Examples:
        keyferry audit rebuild --series NL --bundle NL/1606780800-1606788000-00001.zip
        keyferry audit rebuild --all --json > audit.json
        keyferry audit verify public/NL/*.zip --key attest.pem
      """,
    subcommands: [Rebuild.self, Verify.self])

  struct Rebuild: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "rebuild", _superCommandName: "keyferry audit",
      abstract: "Make the export.bin of published bundles again, and say whether it is the same.",
      discussion: """
        What was known when a bundle was staged is what the numbers of the claims' events say: brought before, not \
        withdrawn yet. The clock of the round, the settings of then and what stood still are kept with the bundle; the \
        policy is found by the SHA-256 of its file, and look-alikes by the secret of the gateway. Roll-ups, key days and \
        editions are made again of their increments, and these as well. The store of a gateway that runs is only read.

        A bundle is equal, or the first difference is told with its reason, as far as that can be known: a key that was \
        erased, documents that were read again, what expired from the store, another policy or program. Of keys that the \
        published file does not have, nothing is told. The exit code is 1 where one is not equal, or cannot be made again.

        Where the gateway has a log, the proof beside each bundle is verified by the key in the log's folder. With --all, \
        bundles of the folder that the store does not know are named, and the exit code is 1: the store was lost, or is an \
        older one.

        Examples:
          keyferry audit rebuild --series NL --bundle NL/1606780800-1606788000-00001.zip
          keyferry audit rebuild --all --config gateway.yaml
          keyferry audit rebuild --series NL --all --policy policies/2020-11.yaml
        """)

    @OptionGroup var gateway: GatewayOptions

    @Option(help: ArgumentHelp("The series; every one, where it is absent.", valueName: "name"))
    var series: String?

    @Option(
      name: .customLong("bundle"),
      help: ArgumentHelp(
        "A bundle: its path in the publication folder, its file's name, or its kind and number: increment/17. Repeatable.",
        valueName: "name"))
    var bundles: [String] = []

    @Flag(help: "All bundles whose files are not removed yet.")
    var all = false

    @Option(
      name: .customLong("policy"),
      help: ArgumentHelp("The file of a policy that a series was published by. Repeatable.", valueName: "file"))
    var policies: [String] = []

    @Flag(help: "Print the verdicts as JSON (schemas/audit.schema.json).")
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws {
      guard all != !bundles.isEmpty else {
        throw ValidationError("say which bundles: --bundle NAME, or --all")
      }
    }

    func run() async throws {
      let plan = try gateway.operatorsPlan()
      guard let folder = plan.publicationFolder else {
        throw ValidationError(
          "\(gateway.config) has no publication: say where bundles go with publication: {folder: …}")
      }
      // The files of a bucket are looked at in the copy of it.
      if plan.publicationBucket != nil {
        let plan = try gateway.plan(warnings: false)
        try await PublicationPlace(plan)?.bringUpToDate(plan)
      }
      let series = try self.series.map { try Self.name($0, plan) }
      let ledger = try await gateway.ledger(plan, as: .reader)
      let log = try Self.log(plan, folder)
      let audit = BundleAudit(
        ledger: ledger, folder: LocalFolder(folder), series: plan.series, policies: try Self.policies(policies),
        program: Program.nameAndVersion, log: log)
      let records = try await all ? audit.bundles(of: series) : named(series, audit)
      let unknown = try await all ? audit.unknown(of: series) : []

      let progress = Progress()
      var verdicts: [RebuildVerdict] = []
      for (index, record) in records.enumerated() {
        progress.enter("making bundle \(index + 1) of \(records.count) again")
        let verdict = try await audit.verdict(of: record)
        verdicts.append(verdict)
        guard !json else { continue }
        progress.clear()
        for line in verdict.lines { try Console.result(line: line) }
      }
      progress.clear()
      let report = AuditReport(verdicts, areProofsVerified: log != nil, unknown: unknown)
      if json {
        try Console.document(line: try JSONText.render(report))
      } else if records.isEmpty {
        Console.note("the store has no bundles to be made again")
      } else if records.count > 1 {
        try Console.result(line: report.sum)
      }
      if let text = report.unknownText { Console.note(text) }
      if log == nil, verdicts.contains(where: { $0.isLogged != nil }) {
        Console.note("the proofs of the log beside them were read and not verified: keyferry verify --log does that")
      }
      let wanted = Set(verdicts.filter { $0.reason?.code == .policy }.compactMap(\.policy)).sorted()
      for digest in wanted { Console.hint("--policy FILE, whose SHA-256 is \(digest)") }
      try exit(report.isEqual ? .done : .rejected)
    }

    /// The key of the log, as it lies beside it; `nil` where there is no log, or no key that can be read.
    private static func log(_ plan: OperatorsPlan, _ folder: String) throws -> NoteVerifier? {
      guard let log = plan.log,
        let bytes = try LogFolder("\(folder)/\(log.folder)").bytes(of: EvidenceSettings.keyFile, limit: 4096)
      else { return nil }
      let text = String(decoding: bytes, as: UTF8.self)
      guard let key = try? NoteVerifier(text.hasSuffix("\n") ? String(text.dropLast()) : text), key.name == log.name
      else { return nil }
      return key
    }

    private func named(_ series: String?, _ audit: BundleAudit) async throws -> [BundleRecord] {
      var records: [BundleRecord] = []
      for name in bundles {
        let found = try await audit.bundles(named: name, of: series)
        guard let first = found.first else {
          let isShown = try await audit.unknown(of: series).contains { $0 == name || $0.hasSuffix("/\(name)") }
          throw ValidationError(
            "the store knows no bundle \(name)\(series.map { " of series \($0)" } ?? "")"
              + (isShown ? ", and the folder shows it: the store was lost, or is an older one" : ""))
        }
        guard found.count == 1 else {
          throw ValidationError(
            "\(name) is \(found.map(\.bundle.path).joined(separator: " or ")): name its path, or the --series")
        }
        records.append(first)
      }
      return records
    }

    /// As it is written in the configuration, whose series may have left.
    private static func name(_ name: String, _ plan: OperatorsPlan) throws -> String {
      let known = plan.series.map(\.name) + plan.leftSeries
      guard let series = known.first(where: { $0.lowercased() == name.lowercased() }) else {
        throw ValidationError(
          "there is no series \(name); there are \(known.isEmpty ? "none" : known.joined(separator: ", "))")
      }
      return series
    }

    /// Policies by the SHA-256 of their files; those that ship are known.
    private static func policies(_ paths: [String]) throws -> [String: Policy] {
      var policies: [String: Policy] = [:]
      for name in ShippedPolicies.names + paths {
        let text = try PolicyChoice.text(name)
        policies[ExportDigests(of: Array(text.utf8), includingBody: false).hexadecimal] = try PolicyChoice.read(name)
      }
      return policies
    }
  }
}

/// What `keyferry audit rebuild --json` prints; see schemas/audit.schema.json.
private struct AuditReport: Encodable {
  let reportVersion = 1
  let isEqual: Bool
  let bundles: [RebuildVerdict]
  /// By the key of the log that lies beside it.
  let areProofsVerified: Bool
  /// Paths in the folder.
  let unknown: [String]

  enum CodingKeys: String, CodingKey {
    case bundles, unknown, reportVersion
    case isEqual = "equal"
    case areProofsVerified = "proofs_verified"
  }

  init(_ verdicts: [RebuildVerdict], areProofsVerified: Bool, unknown: [String]) {
    bundles = verdicts
    self.areProofsVerified = areProofsVerified
    self.unknown = unknown
    isEqual = verdicts.allSatisfy { $0.result == .equal } && unknown.isEmpty
  }

  var unknownText: String? {
    guard let first = unknown.first else { return nil }
    return
      "the folder has \(counted(unknown.count, "bundle")) that the store does not know, such as \(first): the store was lost, "
      + "or is older than the folder; nobody can make them again here"
  }

  var sum: String {
    func count(_ result: RebuildVerdict.Result) -> Int { bundles.count { $0.result == result } }
    let rest = [(count(.different), "not equal"), (count(.notMade), "cannot be made again")].filter { $0.0 > 0 }
    return "\(counted(bundles.count, "bundle")): "
      + ([(count(.equal), "equal")] + rest).map { "\(grouped($0.0)) \($0.1)" }.joined(separator: ", ")
  }
}

extension RebuildVerdict {
  /// The verdict for people, line by line.
  fileprivate var lines: [String] {
    var head = "\(bundle.path): "
    switch result {
    case .equal:
      let parts = parts.map { ", of \(counted($0, "bundle"))" } ?? ""
      head += "equal, \(counted(keys ?? 0, "key"))\(parts)"
    case .different: head += "not equal"
    case .notMade: head += "cannot be made again"
    }
    var lines = [head]
    if let reason { lines.append("  \(reason.code.rawValue): \(reason.text)") }
    if let difference { lines.append("  \(difference.text)") }
    if let digest, digest != bundle.exportDigest {
      lines.append("  export.bin SHA-256 \(bundle.exportDigest), made again \(digest)")
    }
    if file == .missing, result != .notMade { lines.append("  its file is not in the folder any more") }
    return lines + notes.map { "  \($0)" }
  }
}
