internal import BundleTrust
internal import Containers
internal import ExposureKeys
package import KeyArchive
internal import KeyFormats
package import KeyIntake
internal import TransparencyLog

/// What `keyferry archive add --json` prints; see schemas/archive.schema.json.
struct ArchiveAddition: Encodable {
  let reportVersion = 1
  let archive: String
  /// Files that were looked at, and what became of them.
  private(set) var files = 0
  private(set) var new = 0
  private(set) var newNames = 0
  private(set) var again = 0
  var changed: [Change] = []
  /// Names that were files and are containers now, or the other way round.
  private(set) var turned: [Turn] = []
  /// Lists by which servers name their files.
  private(set) var indexes = 0
  /// SHA-256 of contents that were missing or changed, and are brought back.
  var restored: [String] = []
  private(set) var leftOut: [LeftOutDocument] = []
  /// Of the archive as it is now.
  private(set) var records = 0
  private(set) var contents = 0
  private(set) var byteCount = 0
  private(set) var root = ""

  struct Change: Encodable {
    let name: String
    let before: String
    let now: String
    /// When the bytes before were seen last.
    let seen: String
    /// Whether the signature beside it is another one, and the file the same.
    let isSignature: Bool

    init(_ before: ArchiveSighting, _ now: ArchiveSighting) {
      name = now.name
      isSignature = before.digest == now.digest
      self.before = isSignature ? before.signature ?? "none" : before.digest
      self.now = isSignature ? now.signature ?? "none" : now.digest
      seen = Instant(secondsSince1970: before.last).description
    }

    enum CodingKeys: String, CodingKey {
      case name, before, now, seen
      case isSignature = "signature"
    }

    var text: String {
      "\(name): changed under its name: \(isSignature ? "its signature" : "it") had the SHA-256 \(before.prefix(16))… until "
        + "\(seen), now it has \(now.prefix(16))…; both are kept"
    }
  }

  struct Turn: Encodable {
    let name: String
    let isContainer: Bool
    /// The SHA-256 of the file that it was, and when that was seen last.
    let before: String?
    let seen: String?

    enum CodingKeys: String, CodingKey {
      case name, before, seen
      case isContainer = "container"
    }

    init(_ turn: ArchiveTurn) {
      name = turn.name
      isContainer = turn.before != nil
      before = turn.before?.digest
      seen = turn.before.map { Instant(secondsSince1970: $0.last).description }
    }

    var text: String {
      guard let before, let seen else { return "\(name): it held other files before, and is a file now; all are kept" }
      return
        "\(name): it was a file with the SHA-256 \(before.prefix(16))… until \(seen), and holds other files now; all are kept"
    }
  }

  enum CodingKeys: String, CodingKey {
    case archive, files, new, again, changed, turned, indexes, restored, records, contents, root, reportVersion,
      newNames, leftOut
    case byteCount = "bytes"
  }

  init(_ archive: String) { self.archive = archive }

  mutating func count(_ outcome: ArchiveWriter.Outcome) {
    files += 1
    switch outcome {
    case .new: new += 1
    case .newName: newNames += 1
    case .again: again += 1
    case .changed: break
    }
  }

  mutating func countIndex() { indexes += 1 }

  /// - Returns: whether it was not told yet.
  mutating func add(_ turn: ArchiveTurn) -> Bool {
    guard !turned.contains(where: { $0.name == turn.name }) else { return false }
    turned.append(Turn(turn))
    return true
  }

  var isRight: Bool { leftOut.isEmpty && changed.isEmpty && turned.isEmpty && restored.isEmpty }

  mutating func finish(_ catalogue: ArchiveCatalogue, _ leftOut: [LeftOutDocument]) {
    self.leftOut = leftOut
    (records, contents) = (catalogue.size, catalogue.contents.count)
    (byteCount, root) = (catalogue.byteCount, catalogue.checkpoint.root.base64)
  }

  var text: String {
    var parts = ["\(grouped(new)) new"]
    if newNames > 0 { parts.append("\(grouped(newNames)) under a new name") }
    if again > 0 { parts.append("\(grouped(again)) seen before") }
    if !changed.isEmpty { parts.append("\(grouped(changed.count)) changed under their name") }
    return
      "\(counted(files, "file")): \(parts.joined(separator: ", "))\n"
      + (indexes > 0 ? "and \(counted(indexes, "list", "lists")) of files as served\n" : "")
      + "\(archive) has \(counted(contents, "file")), \(ReadableNumber.bytes(byteCount)), \(counted(records, "record"))\n"
  }
}

/// What is one file of an archive: bytes, and the signature beside them.
struct ArchiveFile: Hashable {
  let digest: String
  let signature: String?

  init(_ sighting: ArchiveSighting) { (digest, signature) = (sighting.digest, sighting.signature) }
}

/// What `keyferry archive list --json` prints; see schemas/archive.schema.json.
struct ArchiveListing: Encodable {
  let reportVersion = 1
  let archive: String
  let sightings: [Sighting]
  /// Of a key: when a file that holds it was seen first and last.
  let first: String?
  let last: String?
  private let isOfKey: Bool

  struct Sighting: Encodable {
    let name: String
    let sha256: String
    let signature: String?
    let first: String
    let last: String
    let byteCount: Int
    let format: String?
    let region: String?
    let start: String?
    let end: String?
    let signers: [String]
    /// Whether other bytes were seen under this name, too.
    let isChanged: Bool

    enum CodingKeys: String, CodingKey {
      case name, sha256, signature, first, last, format, region, start, end, signers
      case byteCount = "bytes"
      case isChanged = "changed"
    }
  }

  enum CodingKeys: String, CodingKey {
    case archive, sightings, first, last, reportVersion
  }

  init(_ archive: String, _ catalogue: ArchiveCatalogue, _ sightings: [ArchiveSighting], isOfKey: Bool) {
    self.archive = archive
    self.isOfKey = isOfKey
    let changedNames = Set(catalogue.changedNames)
    func time(_ seconds: Int64) -> String { Instant(secondsSince1970: seconds).description }
    self.sightings = sightings.sorted {
      $0.name == $1.name ? $0.first < $1.first : $0.name.utf8.lexicographicallyPrecedes($1.name.utf8)
    }.map { sighting in
      let content = catalogue[sighting.digest]
      return Sighting(
        name: sighting.name, sha256: sighting.digest, signature: sighting.signature, first: time(sighting.first),
        last: time(sighting.last), byteCount: content?.byteCount ?? 0, format: content?.facts.format,
        region: content?.facts.region, start: content?.facts.start.map(time), end: content?.facts.end.map(time),
        signers: content?.facts.signers ?? [], isChanged: changedNames.contains(sighting.name))
    }
    first = isOfKey ? sightings.map(\.first).min().map(time) : nil
    last = isOfKey ? sightings.map(\.last).max().map(time) : nil
  }

  var text: String {
    guard !sightings.isEmpty else { return "" }
    let table = TextTable(
      heads: ["first seen", "last seen", "size", "window", "signer", "SHA-256", "name"],
      rows: sightings.map { sighting in
        let window = [sighting.start, sighting.end].compactMap(\.self).map { String($0.prefix(16)) }
        let words =
          [
            String(sighting.first.prefix(16)), String(sighting.last.prefix(16)),
            ReadableNumber.bytes(sighting.byteCount),
            window.isEmpty ? sighting.format ?? "no key file" : window.joined(separator: " to "),
            sighting.signers.isEmpty ? "-" : sighting.signers.joined(separator: ", "),
            String(sighting.sha256.prefix(16)),
            sighting.name + (sighting.isChanged ? " (changed under its name)" : ""),
          ]
        // A name may have anything in it.
        return words.map { $0.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\\n") }
      }
    ).text
    guard let first, let last else { return table }
    return table + "the key was seen first at \(first), last at \(last)\n"
  }
}

/// What `keyferry archive verify --json` prints; see schemas/archive.schema.json.
struct ArchiveVerdict: Encodable {
  let reportVersion = 1
  let archive: String
  var isGood: Bool { findings.isEmpty }
  private(set) var records: Int?
  private(set) var root: String?
  private(set) var contents: Int?
  private(set) var byteCount: Int?
  /// The size of the checkpoint that was kept, which this extends.
  private(set) var extends: Int?
  /// What an add has left that did not end.
  private(set) var unfinishedRecords = 0
  private(set) var tornBytes = 0
  var unlisted: [String] = []
  private(set) var findings: [Finding] = []

  struct Finding: Encodable {
    let code: String
    let names: [String]
    let text: String
  }

  enum CodingKeys: String, CodingKey {
    case archive, records, root, contents, extends, unlisted, findings, reportVersion, unfinishedRecords, tornBytes
    case isGood = "good"
    case byteCount = "bytes"
  }

  init(_ archive: String) { self.archive = archive }

  func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(reportVersion, forKey: .reportVersion)
    try members.encode(archive, forKey: .archive)
    try members.encode(isGood, forKey: .isGood)
    try members.encodeIfPresent(records, forKey: .records)
    try members.encodeIfPresent(root, forKey: .root)
    try members.encodeIfPresent(contents, forKey: .contents)
    try members.encodeIfPresent(byteCount, forKey: .byteCount)
    try members.encodeIfPresent(extends, forKey: .extends)
    try members.encode(unfinishedRecords, forKey: .unfinishedRecords)
    try members.encode(tornBytes, forKey: .tornBytes)
    try members.encode(unlisted, forKey: .unlisted)
    try members.encode(findings, forKey: .findings)
  }

  mutating func take(_ reading: ArchiveFolder.Reading) {
    (records, root) = (reading.checkpoint.size, reading.checkpoint.root.base64)
    (contents, byteCount) = (reading.catalogue.contents.count, reading.catalogue.byteCount)
    (unfinishedRecords, tornBytes) = (reading.unfinishedRecords, reading.tornBytes)
  }

  /// - Throws: ``ArchiveFault`` `rewritten`, `bad-checkpoint`.
  mutating func check(_ reading: ArchiveFolder.Reading, extends kept: ArchiveCheckpoint) throws {
    guard kept.origin == reading.checkpoint.origin else {
      throw ArchiveFault(
        .badCheckpoint,
        "the checkpoint that was kept is of the archive \(kept.origin), this is \(reading.checkpoint.origin)")
    }
    guard kept.size <= reading.checkpoint.size else {
      throw ArchiveFault(
        .rewritten,
        "\(archive) has \(reading.checkpoint.size) records, and had \(kept.size) when its checkpoint was kept",
        hint: "records were taken out; the checkpoint that was kept proves it")
    }
    guard reading.roots[kept.size] == kept.root else {
      throw ArchiveFault(
        .rewritten,
        "\(archive): its first \(kept.size) records are not those of the checkpoint that was kept: they have the root "
          + "\(reading.roots[kept.size]?.base64 ?? "-"), not \(kept.root.base64)",
        hint: "records were changed; the checkpoint that was kept proves it")
    }
    extends = kept.size
  }

  mutating func add(_ fault: ArchiveFault, names: [String]) {
    findings.append(Finding(code: fault.code.rawValue, names: names, text: fault.reason))
  }

  var text: String {
    var lines: [String] = []
    if let records, let root, let contents, let byteCount {
      lines.append(
        "\(archive): \(counted(contents, "file")), \(ReadableNumber.bytes(byteCount)), \(counted(records, "record")), root \(root)"
      )
    }
    if let extends { lines.append("  it extends the archive of \(counted(extends, "record"))") }
    if unfinishedRecords > 0 || tornBytes > 0 {
      lines.append(
        "  an add has not ended: \(counted(unfinishedRecords, "record")) and \(counted(tornBytes, "byte")) behind the checkpoint"
      )
    }
    if !unlisted.isEmpty {
      lines.append(
        "  no record tells of \(counted(unlisted.count, "file")), such as \(unlisted[0]); an add was stopped, or they were put there"
      )
    }
    for finding in findings {
      let names = finding.names.isEmpty ? "" : " (\(finding.names.joined(separator: ", ")))"
      lines.append("  \(finding.code): \(finding.text)\(names)")
    }
    if isGood { lines.append("  nothing is wrong") }
    return lines.map { TerminalText.harmless($0) + "\n" }.joined()
  }
}

extension ContentFacts {
  /// What a file says of itself; nothing where it cannot be read.
  package init(_ document: SourceDocument) {
    self.init()
    guard let format = try? document.findFormat() else { return }
    self.format = format.rawValue
    guard let survey = (try? document.survey())?.survey else { return }
    region = survey.header.region.flatMap(Self.short)
    (start, end) = (Self.time(survey.header.startTimestamp), Self.time(survey.header.endTimestamp))
    signers = survey.signatures.prefix(16).map { signature in
      let words = [signature.info.verificationKeyID, signature.info.verificationKeyVersion].compactMap {
        $0.flatMap(Self.short)
      }
      return words.isEmpty ? "-" : words.joined(separator: " ")
    }
  }

  private static func time(_ seconds: UInt64?) -> Int64? {
    seconds.flatMap { Int64(exactly: $0) }.flatMap { $0 < 1 << 50 ? $0 : nil }
  }

  /// On one line, and not endless.
  private static func short(_ text: String) -> String? {
    String(text.prefix(100).map { $0.isNewline ? " " : $0 })
  }
}
