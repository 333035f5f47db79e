internal import FileCommands
internal import TransparencyLog

/// What `keyferry log … --json` prints; see schemas/log.schema.json.
struct LogReport: Encodable {
  var reportVersion = 1
  /// The name of the log.
  var log: String
  /// Its public key.
  var key: String
  /// Whether nothing is wrong.
  var isGood: Bool { findings.isEmpty }
  /// Of the newest checkpoint; absent where none could be read.
  var size: Int?
  var root: String?
  /// The size of an older checkpoint that this one extends.
  var extends: Int?
  var newEntries: Int?
  var comparedBundles: Int?
  /// What was added, proved or withdrawn.
  var entries: [Entry] = []
  /// Hashes that prove that the log extends an older checkpoint; base64.
  var consistency: [String]?
  var findings: [Finding] = []
  /// What could not be looked at, and is no fault.
  var notes: [String] = []

  struct Entry: Encodable {
    var index: Int
    var path: String?
    /// The file of the proof.
    var proof: String?
    /// The hash of the entry, and those that lead from it to the root; base64.
    var leaf: String?
    var hashes: [String]?
  }

  struct Finding: Encodable {
    var code: String
    var entry: Int?
    var path: String?
    var text: String
  }

  enum CodingKeys: String, CodingKey {
    case log, key, size, root, extends, entries, consistency, findings, notes, reportVersion, newEntries,
      comparedBundles
    case isGood = "good"
  }

  init(_ log: NoteVerifier, _ checkpoint: SignedCheckpoint? = nil) {
    self.log = log.name
    key = log.description
    size = checkpoint?.size
    root = checkpoint?.root.base64
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(reportVersion, forKey: .reportVersion)
    try container.encode(log, forKey: .log)
    try container.encode(key, forKey: .key)
    try container.encode(isGood, forKey: .isGood)
    try container.encodeIfPresent(size, forKey: .size)
    try container.encodeIfPresent(root, forKey: .root)
    try container.encodeIfPresent(extends, forKey: .extends)
    try container.encodeIfPresent(newEntries, forKey: .newEntries)
    try container.encodeIfPresent(comparedBundles, forKey: .comparedBundles)
    try container.encode(entries, forKey: .entries)
    try container.encodeIfPresent(consistency, forKey: .consistency)
    try container.encode(findings, forKey: .findings)
    if !notes.isEmpty { try container.encode(notes, forKey: .notes) }
  }

  /// The log first, then what was done, then what is wrong.
  var text: String {
    var lines: [String] = []
    if let size, let root { lines.append("\(log): \(size) \(size == 1 ? "entry" : "entries"), root \(root)") }
    if let extends { lines.append("  it extends the log of \(extends) entries") }
    if let newEntries { lines.append("  new entries: \(newEntries)") }
    if let comparedBundles { lines.append("  bundles compared with what is served: \(comparedBundles)") }
    for entry in entries {
      let proof = entry.proof.map { ", proof in \($0)" } ?? ""
      lines.append("  entry \(entry.index)\(entry.path.map { ": \($0)" } ?? "")\(proof)")
    }
    for finding in findings { lines.append("  \(finding.code): \(finding.text)") }
    for note in notes { lines.append("  note: \(note)") }
    return lines.map { $0 + "\n" }.joined()
  }

  /// Runs `body`, and takes what refutes the log into the report.
  mutating func findings(of body: (inout LogReport) async throws -> Void) async throws {
    do {
      try await body(&self)
    } catch let fault as LogFault where fault.isRefutation {
      findings.append(Finding(code: fault.code.rawValue, text: fault.reason))
      if let hint = fault.hint { Console.hint(hint) }
    }
  }

  func tell(json: Bool) throws {
    if json { try Console.document(line: try JSONText.render(self)) } else { try Console.result(text) }
  }

  var status: ExitStatus { isGood ? .done : .rejected }
}

extension LogFinding.Code {
  /// What is wrong, in one sentence: for the reference page.
  package var meaning: String {
    switch self {
    case .badEntry: "An entry of the log says nothing that entries say."
    case .repeated: "A path, or a number of a series, was given to two bundles."
    case .missingBundle: "A bundle that the log lists is not served."
    case .changedBundle: "Other bytes are served than were published."
    case .unlogged: "A series lists a bundle that is not in the log, that was withdrawn, or with other digests."
    case .leftEarly:
      "A series does not list an increment any more that is not old enough to leave, and the log does not say why."
    case .notListed:
      "`index.txt` of a series does not name an increment that its manifest lists, and that is an hour old."
    case .missingList: "A series had a manifest or an index, and does not show it any more."
    case .otherAttester: "The log shows another key of attestations than the last time, or none."
    }
  }
}
