package import TransparencyLog

/// What an archive has: which bytes, under which names, and when they were seen.
package struct ArchiveCatalogue: Sendable {
  /// What the archive calls itself in its checkpoints; no two are called alike.
  package let origin: String
  /// In the order in which they came.
  package private(set) var sightings: [ArchiveSighting] = []
  package private(set) var contents: [ArchivedContent] = []
  /// Over the records, as a tree of RFC 6962 has them.
  package private(set) var edge = RightEdge()

  /// By digest, the number of the content.
  private var contentNumbers: [String: Int] = [:]
  private var sightingNumbers: [Identity: Int] = [:]
  /// By name, the sighting that was told of it last.
  private var newest: [String: Int] = [:]
  /// Names in front of a `!` that stood for a container of others when they were seen last, and not for a file.
  private var containers: Set<String> = []
  /// By the number of a record of the kind `seen`, its sighting.
  private var sightingOfRecord: [Int: Int] = [:]
  private var recordOfSighting: [Int] = []
  private struct Identity: Hashable {
    let name: String
    let digest: String
    let signature: String?
  }

  init(origin: String) { self.origin = origin }

  /// How many records there are.
  package var size: Int { edge.size }

  package var checkpoint: ArchiveCheckpoint {
    ArchiveCheckpoint(origin: origin, size: edge.size, root: edge.root)
  }

  /// The bytes of all contents.
  package var byteCount: Int { contents.reduce(0) { $0 + $1.byteCount } }

  package subscript(digest: String) -> ArchivedContent? { contentNumbers[digest].map { contents[$0] } }

  /// What was seen under a name last.
  package func sighting(of name: String) -> ArchiveSighting? { newest[name].map { sightings[$0] } }

  /// A name that was a file when it was seen last, and holds others now, or the other way round.
  ///
  /// - Parameter name: of a document that is seen now.
  package func turn(to name: String) -> ArchiveTurn? {
    for holder in Self.holders(of: name) where !containers.contains(holder) {
      if let before = sighting(of: holder) { return ArchiveTurn(name: holder, before: before) }
    }
    return containers.contains(name) ? ArchiveTurn(name: name, before: nil) : nil
  }

  /// What stands in front of each `!` of a name.
  private static func holders(of name: String) -> [String] {
    name.utf8.indices.filter { name.utf8[$0] == UInt8(ascii: "!") }.map { String(name[..<$0]) }
  }

  private mutating func see(_ name: String) {
    containers.remove(name)
    containers.formUnion(Self.holders(of: name))
  }

  func number(of name: String, _ digest: String, _ signature: String?) -> Int? {
    sightingNumbers[Identity(name: name, digest: digest, signature: signature)]
  }

  func record(ofSighting number: Int) -> Int { recordOfSighting[number] }

  /// Every file once, whatever names it was seen under, by the first of them, in the order of their bytes.
  package var files: [ArchiveSighting] {
    struct File: Hashable {
      let digest: String
      let signature: String?
    }
    var seen: Set<File> = []
    return sightings.filter { seen.insert(File(digest: $0.digest, signature: $0.signature)).inserted }
      .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  /// The names under which more than one content was seen, sorted.
  package var changedNames: [String] {
    var counts: [String: Int] = [:]
    for sighting in sightings { counts[sighting.name, default: 0] += 1 }
    return counts.filter { $0.value > 1 }.map(\.key).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  // MARK: Records

  /// Takes the next record.
  ///
  /// - Parameter line: its bytes, which are the leaf of the tree.
  /// - Returns: why it cannot be one; nothing was taken then.
  mutating func take(_ record: ArchiveRecord, line: UnsafeRawBufferPointer) -> String? {
    switch record {
    case .content(let content):
      guard contentNumbers[content.digest] == nil else { return "the content \(content.digest) stands there already" }
      contentNumbers[content.digest] = contents.count
      contents.append(content)
    case .seen(let name, let digest, let signature, let time):
      for digest in [digest, signature].compactMap(\.self) where contentNumbers[digest] == nil {
        return "it names the content \(digest), which no record before it tells of"
      }
      let identity = Identity(name: name, digest: digest, signature: signature)
      guard sightingNumbers[identity] == nil else { return "name and content stand there already" }
      sightingNumbers[identity] = sightings.count
      newest[name] = sightings.count
      see(name)
      sightingOfRecord[edge.size] = sightings.count
      recordOfSighting.append(edge.size)
      sightings.append(
        ArchiveSighting(name: name, digest: digest, signature: signature, first: time, last: time))
    case .again(let ranges, let time):
      guard let last = ranges.last?.upperBound, last < edge.size else { return "it names records that come later" }
      for range in ranges {
        for record in range {
          guard let number = sightingOfRecord[record] else { continue }
          sightings[number].first = min(sightings[number].first, time)
          sightings[number].last = max(sightings[number].last, time)
          newest[sightings[number].name] = number
          see(sightings[number].name)
        }
      }
    }
    edge.append(.leaf(line))
    return nil
  }
}

/// A name that stood for a file, and stands for a container of others now, or the other way round.
package struct ArchiveTurn: Hashable, Sendable {
  package let name: String
  /// The file that it was; `nil` where it was a container.
  package let before: ArchiveSighting?
}

/// How long an archive is, and what is in it, in three lines: kept elsewhere, it shows later that nothing was taken back.
package struct ArchiveCheckpoint: Hashable, Sendable {
  package let origin: String
  /// How many records.
  package let size: Int
  package let root: TreeHash

  package init(origin: String, size: Int, root: TreeHash) {
    (self.origin, self.size, self.root) = (origin, size, root)
  }

  /// The text of a checkpoint of C2SP tlog-checkpoint, not signed.
  package var text: String { "\(origin)\n\(size)\n\(root.base64)\n" }

  /// - Parameter name: for messages.
  /// - Throws: ``ArchiveFault`` `bad-checkpoint`.
  package init(_ bytes: [UInt8], name: String) throws {
    func fault(_ reason: String) -> ArchiveFault { ArchiveFault(.badCheckpoint, "\(name): \(reason)") }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw fault("it is no text") }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count == 4, lines[3].isEmpty, lines[0].hasPrefix(Self.prefix) else {
      throw fault("a checkpoint of an archive has three lines: \(Self.prefix)…, the number of records, the root")
    }
    guard let size = Int(lines[1]), (0...RightEdge.sizeLimit).contains(size), "\(size)" == lines[1] else {
      throw fault("line 2 is no number of records")
    }
    guard let root = TreeHash(base64: lines[2]) else { throw fault("line 3 is no root: 32 bytes in base64") }
    self.init(origin: String(lines[0]), size: size, root: root)
  }

  static let prefix = "keyferry-archive/"
  package static let byteLimit = 4096
}
