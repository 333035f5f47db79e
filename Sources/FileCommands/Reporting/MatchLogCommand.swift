package import ArgumentParser
internal import BundleTrust
internal import Containers
internal import ExposureKeys
internal import KeyFormats
internal import KeyInspection
internal import KeyIntake

package struct MatchLogCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "match-log", _superCommandName: Program.name,
    abstract: "Say which bundles a phone checked, by the log that it exports.",
    discussion: """
      Reads the log of iOS (Settings, Exposure Notifications, export; both versions) or of Android, and finds the bundle of \
      each hash among files, folders and archives. A phone names a bundle by the SHA-256 of its export.bin; Android by that \
      of all files of one call together, in the order in which the app gave them: then files that follow each other by name \
      are tried, whose keys add up.

      Exit codes: 0 each check has its bundle, 1 some have none, 2 it could not be done.

      Examples:
        keyferry match-log all-exposure-checks.json archive/
        keyferry match-log log.json *.zip --json
      """)

  @Argument(help: ArgumentHelp("The log, JSON.", valueName: "log"), completion: .file())
  var log: String

  @Argument(
    help: ArgumentHelp("Bundles, folders and archives; - is standard input.", valueName: "file"), completion: .file())
  var files: [String]

  @Flag(help: "Print the result as JSON (schemas/match-log.schema.json).")
  var json = false

  @OptionGroup var input: InputOptions
  @OptionGroup(title: "Folders and archives") var containers: ContainerOptions

  @OptionGroup var loudness: LoudnessOptions

  package func validate() throws { try InputOptions.checkPaths([log] + files) }

  package func run() throws {
    let log = try Self.read(self.log)
    var bundles: [MatchedLog.Bundle] = []
    var sum = DocumentSum(input.walk(files, containers), isAlways: true)
    // Only the bytes of exports count, and only what can be one call's is kept.
    let keepsBytes = log.kind == .android
    var room = Self.heldBytes
    try sum.visit(keepsGoing: containers.keepGoing ?? true) { source, _, _ in
      let digest = DigestCollector(includingBody: false)
      var bytes: [UInt8]? = keepsBytes ? [] : nil
      let document = try source.open { part in
        digest.update(part)
        if bytes != nil { bytes?.append(contentsOf: part) }
        if bytes.map({ $0.count > room }) == true { bytes = nil }
      }
      let report = try source.located { try Inspector().examine(document, name: source.name).report }
      guard document.format == .gaenExport else { return (nil, nil) }
      room -= bytes?.count ?? 0
      bundles.append(
        MatchedLog.Bundle(
          name: source.name, hash: digest.finish().hexadecimal, keys: report.keys.total + report.keys.rejected,
          bytes: bytes))
      return (nil, nil)
    } leftOut: { _ in
    }
    let matched = MatchedLog(log, bundles)
    if json {
      try Console.document(line: try JSONText.render(matched))
    } else {
      try Console.result(matched.text)
    }
    sum.tell()
    if keepsBytes, bundles.contains(where: { $0.bytes == nil }) {
      Console.note(
        "some bundles are too large to be tried as parts of a call of several files; give fewer files")
    }
    if !matched.isWhole {
      Console.note("there are too many runs of files to be tried as files of one call; give fewer files")
    }
    let status = sum.status(hasRejections: false)
    try exit(status != .done ? status : matched.missing > 0 ? .rejected : .done)
  }

  /// Bytes of bundles that are held for calls of several files.
  private static let heldBytes = 1 << 30

  private static func read(_ path: String) throws -> PhoneLog {
    let bytes =
      path == "-"
      ? try StreamedFile.document(path, limit: PhoneLog.byteLimit).readAllBytes(limit: PhoneLog.byteLimit)
      : try FileSource.contents(of: path, limit: PhoneLog.byteLimit)
    do {
      return try PhoneLog(bytes)
    } catch let error as FormatError {
      throw FileFault("read", path, reason: "\(error)")
    }
  }

  package init() {}
}

extension SeekableSource {
  fileprivate func readAllBytes(limit: Int) throws -> [UInt8] { try SequentialSource(self).readAll(limit: limit) }
}

/// The checks of a log with the bundles that they were of, as `--json` prints it.
struct MatchedLog: Encodable {
  struct Bundle {
    let name: String
    let hash: String
    let keys: Int
    /// `export.bin`, where calls of several files are looked for and there is room.
    let bytes: [UInt8]?
  }

  struct Check: Encodable {
    let time: String?
    let app: String?
    let region: String?
    let hash: String
    let keys: Int?
    let matches: Int?
    /// The files of the call, in order; none where the bundle is missing.
    let files: [String]
    /// How many keys the files hold.
    let bundleKeys: Int?
  }

  /// Whether every run of files was tried.
  private(set) var isWhole = true

  let reportVersion = 1
  let kind: PhoneLog.Kind
  let checks: [Check]
  let found: Int
  let missing: Int
  /// Exports among the files, and those of them that no check is of.
  let bundles: Int
  let unchecked: [String]

  enum CodingKeys: String, CodingKey {
    case kind, checks, found, missing, bundles, unchecked, reportVersion
  }

  init(_ log: PhoneLog, _ bundles: [Bundle]) {
    kind = log.kind
    let byHash = Dictionary(bundles.map { ($0.hash, $0) }) { first, _ in first }
    let ordered = bundles.sorted { NaturalOrder.precedes($0.name, $1.name) }
    var calls: [String: [Bundle]] = [:]
    if log.kind == .android {
      let open = log.checks.filter { byHash[$0.hash] == nil }
      (calls, isWhole) = Self.calls(open, among: ordered)
    }
    checks = log.checks.map { check in
      let files = byHash[check.hash].map { [$0] } ?? calls[check.hash] ?? []
      return Check(
        time: check.time, app: check.app, region: check.region, hash: check.hash, keys: check.keys,
        matches: check.matches, files: files.map(\.name),
        bundleKeys: files.isEmpty ? nil : files.reduce(0) { $0 + $1.keys })
    }
    found = checks.count { !$0.files.isEmpty }
    missing = checks.count - found
    self.bundles = bundles.count
    let checked = Set(checks.flatMap(\.files))
    unchecked = ordered.map(\.name).filter { !checked.contains($0) }
  }

  /// So many bytes are hashed at most to find files of one call.
  private static let hashedBytes = 8 << 30

  /// Files that follow each other, whose keys add up to those of a call and whose bytes have its hash: from each file on as far
  /// as the largest call goes, for all calls at once.
  private static func calls(
    _ checks: [PhoneLog.Check], among bundles: [Bundle]
  ) -> (found: [String: [Bundle]], isWhole: Bool) {
    var wanted: [Int: Set<String>] = [:]
    for check in checks { if let keys = check.keys { wanted[keys, default: []].insert(check.hash) } }
    guard let most = wanted.keys.max() else { return ([:], true) }
    var open = wanted.values.reduce(0) { $0 + $1.count }
    var found: [String: [Bundle]] = [:]
    var budget = hashedBytes
    for start in bundles.indices {
      var digest = ExportDigest(includingBody: false)
      var keys = 0
      for end in start..<bundles.count {
        keys += bundles[end].keys
        guard keys <= most, let bytes = bundles[end].bytes else { break }
        budget -= bytes.count
        guard budget > 0 else { return (found, false) }
        bytes.withUnsafeBytes { digest.update($0) }
        guard end > start, let hashes = wanted[keys] else { continue }
        let hash = digest.finalize().hexadecimal
        if hashes.contains(hash), found[hash] == nil {
          found[hash] = Array(bundles[start...end])
          open -= 1
          if open == 0 { return (found, true) }
        }
      }
    }
    return (found, true)
  }

  var text: String {
    var lines = checks.map { check in
      let words =
        [
          check.time ?? "-", check.app ?? "-", check.keys.map { counted($0, "key") } ?? "-",
          check.matches.map { counted($0, "match", "matches") } ?? "-", "\(check.hash.prefix(16))…",
          check.files.isEmpty ? "MISSING" : check.files.joined(separator: " + "),
        ]
        + (check.bundleKeys == nil || check.bundleKeys == check.keys
          ? [] : ["it holds \(counted(check.bundleKeys ?? 0, "key"))"])
      return TerminalText.harmless(words.joined(separator: "  "))
    }
    lines = lines.map { $0.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\\n") }
    lines.append(
      "\(counted(checks.count, "check")): \(found) found, \(missing) missing; "
        + "\(counted(bundles, "bundle")), \(unchecked.count) of them in no check")
    return lines.map { $0 + "\n" }.joined()
  }
}

/// Names as people count: `9` before `10`.
private enum NaturalOrder {
  static func precedes(_ one: String, _ other: String) -> Bool {
    var (left, right) = (Array(one.utf8)[...], Array(other.utf8)[...])
    while let mine = left.first, let theirs = right.first {
      let (number, otherNumber) = (digits(left), digits(right))
      if !number.isEmpty, !otherNumber.isEmpty {
        let (short, long) = (number.drop { $0 == 48 }, otherNumber.drop { $0 == 48 })
        if short.count != long.count { return short.count < long.count }
        if !short.elementsEqual(long) { return short.lexicographicallyPrecedes(long) }
        (left, right) = (left.dropFirst(number.count), right.dropFirst(otherNumber.count))
      } else {
        if mine != theirs { return mine < theirs }
        (left, right) = (left.dropFirst(), right.dropFirst())
      }
    }
    if left.isEmpty != right.isEmpty { return left.isEmpty }
    return one.utf8.lexicographicallyPrecedes(other.utf8)
  }

  private static func digits(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> { text.prefix { (48...57).contains($0) } }
}
