package import ArgumentParser
internal import BundleTrust
internal import Containers
internal import ExposureKeys
internal import KeyConversion
internal import KeyFormats
internal import KeyIntake

package struct DiffCommand: AsyncParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "diff", _superCommandName: Program.name,
    abstract: "Compare the keys of two files, folders or addresses.",
    discussion: """
      Two keys are the same when key data and start are the same; what is said otherwise of them is a change. Of two \
      files headers are compared as well, where both formats have one, and signatures of exports; of folders, which \
      documents are in one alone or have other bytes. The same bytes under another name are the same document. What cannot \
      be read ends it; with --keep-going it is left out and listed, and the exit code is 1. An address is a file, or an index with the files that it lists; the \
      folder of keyferry archive stands for the files that it keeps. Key data is shown with --keys alone.

      Exit codes: 0 nothing differs, 1 something does, 2 it could not be compared.

      Examples:
        keyferry diff monday.zip tuesday.zip
        keyferry diff archive-2020/ archive-2021/ --json
        keyferry diff old.csv new.zip --keys --hash-keys
        keyferry diff https://example.org/NL/1.zip https://example.org/NL/2.zip
        keyferry diff seen https://example.org/NL/index.txt
      """)

  @Argument(
    help: ArgumentHelp("A file, a folder, an archive, or an http or https address; - is standard input."),
    completion: .file())
  var left: String

  @Argument(help: ArgumentHelp("What it is compared with."), completion: .file())
  var right: String

  @Flag(help: "List each key that differs.")
  var keys = false

  @Flag(help: "Show SHA-256 digests instead of key data.")
  var hashKeys = false

  @Flag(help: "Print the result as JSON (schemas/diff.schema.json).")
  var json = false

  @OptionGroup var input: InputOptions
  @OptionGroup(title: "Folders and archives") var containers: ContainerOptions

  @OptionGroup var loudness: LoudnessOptions

  package func validate() throws {
    try InputOptions.checkPaths([left, right])
    guard keys || !hashKeys else { throw ValidationError("--hash-keys goes with --keys") }
  }

  package func run() async throws {
    var names = SharedNames()
    var (one, other) = (ComparedKeys(), ComparedKeys())
    var leftOut = try await read(left, into: &one, &names)
    leftOut += try await read(right, into: &other, &names)
    one.sort()
    other.sort()
    var report = DiffReport(left, one, right, other, leftOut)
    let output = OutputBuffer(StandardOutput())
    let text: (TemporaryExposureKey) -> String = hashKeys ? { KeyDigest.text(of: $0) } : { $0.hex }
    var changes: [DiffReport.Key] = []
    let comparison = try KeyComparison(one, other) { change in
      guard keys else { return }
      if json {
        changes.append(DiffReport.Key(change, names.regions, text))
      } else {
        try output.append(DiffReport.Key(change, names.regions, text).text)
      }
    }
    report.count(comparison)
    if json, keys { report.keys = changes }
    if json {
      try Console.document(line: try JSONText.render(report))
    } else {
      try output.flush()
      try Console.result(report.text)
    }
    let count = one.documents.count + other.documents.count + leftOut.count
    for line in LeftOutText.lines(leftOut, of: count) { Console.note(line) }
    // With nothing on a side nothing was compared.
    let isCompared = !one.documents.isEmpty && !other.documents.isEmpty
    try exit(report.isEqual ? .done : isCompared ? .rejected : .failed)
  }

  private func read(
    _ place: String, into side: inout ComparedKeys, _ names: inout SharedNames
  ) async throws -> [LeftOutDocument] {
    let walk = try await input.walk([place], containers, asking: AddressAsking())
    return try Self.read(walk, place, keepsGoing: containers.keepGoing ?? false, into: &side, &names)
  }

  /// Of its own, as the optimizer wants it: see `explain`.
  @inline(never)
  private static func read(
    _ walk: InputWalk, _ place: String, keepsGoing: Bool, into side: inout ComparedKeys, _ names: inout SharedNames
  ) throws -> [LeftOutDocument] {
    var leftOut: [LeftOutDocument] = []
    func leaveOut(_ document: LeftOutDocument) throws {
      guard keepsGoing else { throw document.fault }
      leftOut.append(document)
    }
    try walk.visit(
      { found in
        do {
          try side.add(found, of: place, &names)
        } catch {
          guard let document = LeftOutDocument(found.document.name, error) else { throw error }
          try leaveOut(document)
        }
      }, leaveOut: leaveOut)
    if let line = LeftOutText.line(walk.passedOver) { Console.note("\(PathText.onOneLine(place)): \(line)") }
    return leftOut
  }

  package init() {}
}

/// What `keyferry diff --json` prints; see schemas/diff.schema.json.
struct DiffReport: Encodable {
  var reportVersion = 1
  private(set) var isEqual = true
  let left: Side
  let right: Side
  private(set) var onlyLeft = 0
  private(set) var onlyRight = 0
  private(set) var changed = 0
  private(set) var equal = 0
  private(set) var comparesHeaders = false
  /// By field, how many keys have it changed.
  private(set) var fields: [String: Int] = [:]
  /// Of two single documents.
  private(set) var header: [Difference] = []
  private(set) var signatures: [Difference] = []
  private(set) var documents: [Document] = []
  /// How many documents both sides have, under other names.
  private(set) var otherNames = 0
  /// What could not be read.
  private let leftOut: [LeftOutDocument]
  var keys: [Key]?

  struct Side: Encodable {
    let name: String
    let documents: Int
    let keys: Int
    let rejected: Int
  }

  struct Difference: Encodable {
    let field: String
    let left: String?
    let right: String?
  }

  struct Document: Encodable {
    let path: String
    /// `only-left`, `only-right` or `changed`.
    let difference: String
  }

  enum CodingKeys: String, CodingKey {
    case left, right, changed, equal, fields, header, signatures, documents, keys, reportVersion, onlyLeft, onlyRight,
      otherNames
    case isEqual = "same"
    case comparesHeaders = "headers_compared"
    case leftOut = "unreadable"
  }

  init(
    _ leftName: String, _ one: ComparedKeys, _ rightName: String, _ other: ComparedKeys,
    _ leftOut: [LeftOutDocument] = []
  ) {
    self.leftOut = leftOut
    left = Side(name: leftName, documents: one.documents.count, keys: one.count, rejected: one.rejected)
    right = Side(name: rightName, documents: other.documents.count, keys: other.count, rejected: other.rejected)
    if let mine = one.documents.first, let theirs = other.documents.first, one.documents.count == 1,
      other.documents.count == 1
    {
      comparesHeaders = ComparedDocument.stateHeaders(mine, theirs)
      if comparesHeaders { header = Self.differences(of: Self.lines(mine.header), Self.lines(theirs.header)) }
      guard mine.format == .gaenExport, theirs.format == .gaenExport else { return }
      signatures = Self.differences(of: Self.lines(mine.signatures), Self.lines(theirs.signatures))
    } else {
      (documents, otherNames) = Self.documents(one.documents, other.documents)
    }
  }

  mutating func count(_ comparison: KeyComparison) {
    (onlyLeft, onlyRight) = (comparison.onlyLeft, comparison.onlyRight)
    (changed, equal) = (comparison.changed, comparison.equal)
    fields = Dictionary(uniqueKeysWithValues: comparison.fields.map { ($0.key.rawValue, $0.value) })
    isEqual =
      comparison.isEqual && header.isEmpty && signatures.isEmpty && documents.isEmpty && left.rejected == right.rejected
      && leftOut.isEmpty
  }

  /// Which documents differ, and how many are the same under another name: a folder and an archive that it was added to begin
  /// their names otherwise.
  private static func documents(
    _ left: [ComparedDocument], _ right: [ComparedDocument]
  ) -> ([Document], otherNames: Int) {
    var mine = Dictionary(left.map { ($0.path, $0.digest) }, uniquingKeysWith: { $1 })
    var theirs = Dictionary(right.map { ($0.path, $0.digest) }, uniquingKeysWith: { $1 })
    var alone: [String: [String]] = [:]
    for (path, digest) in theirs where mine[path] == nil { alone[digest, default: []].append(path) }
    var pairs: [(mine: String, theirs: String)] = []
    for (path, digest) in mine.sorted(by: { $0.key < $1.key }) where theirs[path] == nil {
      if let other = alone[digest]?.popLast() { pairs.append((path, other)) }
    }
    for pair in pairs {
      mine[pair.mine] = nil
      theirs[pair.theirs] = nil
    }
    let documents = Set(mine.keys).union(theirs.keys).sorted().compactMap { path -> Document? in
      if mine[path] == theirs[path] { return nil }
      let difference = theirs[path] == nil ? "only-left" : mine[path] == nil ? "only-right" : "changed"
      return Document(path: path, difference: difference)
    }
    return (documents, pairs.count)
  }

  private static func differences(of left: [(String, String)], _ right: [(String, String)]) -> [Difference] {
    let mine = Dictionary(left, uniquingKeysWith: { $1 })
    let theirs = Dictionary(right, uniquingKeysWith: { $1 })
    return Set(mine.keys).union(theirs.keys).sorted().compactMap { field in
      mine[field] == theirs[field] ? nil : Difference(field: field, left: mine[field], right: theirs[field])
    }
  }

  private static func lines(_ header: ExportHeader) -> [(String, String)] {
    var lines: [(String, String)] = []
    func add(_ field: String, _ value: (some CustomStringConvertible)?) {
      if let value { lines.append((field, "\(value)")) }
    }
    add("start", header.startTimestamp)
    add("end", header.endTimestamp)
    add("region", header.region)
    add("batch_num", header.batchNum)
    add("batch_size", header.batchSize)
    if !header.unknownFields.isEmpty {
      add("unknown_fields", ExportDigests(of: header.unknownFields, includingBody: false).hexadecimal)
    }
    for (number, info) in header.signatureInfos.enumerated() {
      add("signature_info_\(number + 1)", Self.text(info))
    }
    return lines
  }

  private static func lines(_ signatures: [ExportSignature]) -> [(String, String)] {
    signatures.enumerated().map { number, signature in
      let digest = ExportDigests(of: signature.signature, includingBody: false).hexadecimal
      return ("signature_\(number + 1)", "\(text(signature.info)), SHA-256 \(digest.prefix(16))…")
    }
  }

  private static func text(_ info: SignatureInfo) -> String {
    [
      info.verificationKeyID, info.verificationKeyVersion, info.signatureAlgorithm, info.appBundleID,
      info.androidPackage,
    ]
    .map { $0 ?? "-" }.joined(separator: " ")
  }

  // MARK: Keys

  struct Key: Encodable {
    let key: String
    /// What each side says of it; nothing where it does not know it.
    let left: [Words]
    let right: [Words]
    /// What differs between two that both sides know.
    let fields: [String]

    init(_ change: KeyComparison.Change, _ regions: RegionTable, _ text: (TemporaryExposureKey) -> String) {
      key = (change.left.first ?? change.right.first).map { text($0.key) } ?? ""
      left = change.left.map { Words($0, regions) }
      right = change.right.map { Words($0, regions) }
      fields = change.fields.map(\.rawValue)
    }

    /// `<`, `>` or `!` in front, as `diff` and `cmp` have it.
    var text: String {
      if right.isEmpty { return left.map { "< \(key)  \($0.text)\n" }.joined() }
      if left.isEmpty { return right.map { "> \(key)  \($0.text)\n" }.joined() }
      let (mine, theirs) = (left.map(\.text).joined(separator: "; "), right.map(\.text).joined(separator: "; "))
      return "! \(key)  \(mine)  ->  \(theirs)\n"
    }
  }

  struct Words: Encodable {
    let start: Int32?
    let period: Int32?
    let risk: Int32?
    let reportType: Int32?
    let onset: Int32?
    let isRevised: Bool
    let origin: String?
    let visited: [String]?

    enum CodingKeys: String, CodingKey {
      case origin, visited, reportType
      case start = "rolling_start"
      case period = "rolling_period"
      case risk = "transmission_risk"
      case onset = "days_since_onset"
      case isRevised = "revised"
    }

    init(_ claim: ClaimedKey, _ regions: RegionTable) {
      (start, period, risk) = (claim.rollingStart, claim.rollingPeriod, claim.transmissionRisk)
      (reportType, onset, isRevised) = (claim.reportType, claim.daysSinceOnset, claim.isRevised)
      (origin, visited) = (regions[claim.regions].origin, regions[claim.regions].visited)
    }

    var text: String {
      func word(_ number: Int32?) -> String { number.map { "\($0)" } ?? "-" }
      var text =
        "start \(word(start)) period \(word(period)) risk \(word(risk)) type \(word(reportType)) onset \(word(onset))"
      if isRevised { text += " revised" }
      if let origin { text += " from \(origin)" }
      if let visited { text += " for \(visited.joined(separator: ","))" }
      return TerminalText.harmless(text)
    }
  }

  // MARK: Text

  var text: String {
    var lines: [String] = []
    for side in [left, right] {
      let documents = side.documents == 1 ? "" : " in \(counted(side.documents, "document"))"
      let rejected = side.rejected == 0 ? "" : ", \(grouped(side.rejected)) rejected"
      lines.append("\(PathText.onOneLine(side.name)): \(counted(side.keys, "key"))\(documents)\(rejected)")
    }
    if isEqual { lines.append("nothing differs") }
    if onlyLeft > 0 { lines.append("only in the first: \(grouped(onlyLeft))") }
    if onlyRight > 0 { lines.append("only in the second: \(grouped(onlyRight))") }
    if changed > 0 {
      let words = fields.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key) \(grouped($0.value))" }
      lines.append("changed: \(grouped(changed)) (\(words.joined(separator: ", ")))")
    }
    for difference in header + signatures {
      lines.append("\(difference.field): \(difference.left ?? "-") -> \(difference.right ?? "-")")
    }
    for document in documents { lines.append("\(document.difference): \(PathText.onOneLine(document.path))") }
    if otherNames > 0 { lines.append("the same under another name: \(counted(otherNames, "document"))") }
    if !comparesHeaders, left.documents == 1, right.documents == 1 {
      lines.append("headers are not compared: one has none")
    }
    return lines.map { TerminalText.harmless($0) + "\n" }.joined()
  }
}
