internal import BundleTrust
internal import Glibc
package import KeyFormats
internal import KeyIntake
package import TransparencyLog

/// The folder of an archive, to read: nothing here changes it.
///
/// `keyferry-archive` says that it is one; `catalogue` has a record a line; `checkpoint` says how many of them are kept for sure, and
/// the root over them; `content` has the bytes of every file, by their SHA-256.
package struct ArchiveFolder: Sendable {
  package let path: String

  package init(_ path: String) {
    self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
  }

  static let markName = "keyferry-archive"
  static let catalogueName = "catalogue"
  static let checkpointName = "checkpoint"
  static let contentName = "content"
  static let lockName = "lock"
  static let firstLine = "keyferry archive 1"
  /// About ten million records.
  static let catalogueLimit = 4 << 30

  func place(_ name: String) -> String { "\(path)/\(name)" }

  /// Where the bytes of a content are, below the folder.
  static func contentPath(_ digest: String) -> String { "\(contentName)/\(digest.prefix(2))/\(digest)" }

  /// Whether an archive lies there. It may be damaged.
  package static func isArchive(_ path: String) -> Bool {
    FileIdentity(path: ArchiveFolder(path).place(markName)) != nil
  }

  // MARK: Catalogue

  /// What was read of a catalogue.
  package struct Reading: Sendable {
    package var catalogue: ArchiveCatalogue
    /// What was told as kept when the last add ended.
    package let checkpoint: ArchiveCheckpoint
    /// Records behind the checkpoint, and bytes behind them that are no record: an add was stopped, or is under way.
    package let unfinishedRecords: Int
    package let tornBytes: Int
    /// Where the next record goes, in bytes.
    let end: Int
    /// By size, the root of the tree of that many records.
    package let roots: [Int: TreeHash]
  }

  /// Reads the catalogue, and computes the root over it again.
  ///
  /// - Parameter sizes: of earlier trees whose roots are wanted.
  /// - Throws: ``ArchiveFault``, `FileFault`.
  package func read(rootsAt sizes: Set<Int> = []) throws -> Reading {
    let origin = try readOrigin()
    let checkpoint = try ArchiveCheckpoint(
      try own(Self.checkpointName, limit: ArchiveCheckpoint.byteLimit, .badCheckpoint), name: place(Self.checkpointName)
    )
    guard checkpoint.origin == origin else {
      throw ArchiveFault(
        .badCheckpoint, "\(place(Self.checkpointName)) is of the archive \(checkpoint.origin), this is \(origin)")
    }
    let bytes = try own(Self.catalogueName, limit: Self.catalogueLimit, .shortCatalogue)
    return try Self.reading(of: bytes, against: checkpoint, rootsAt: sizes, name: place(Self.catalogueName))
  }

  /// Reads the bytes of a catalogue.
  ///
  /// - Parameters:
  ///   - checkpoint: which of its records were told as kept.
  ///   - sizes: of earlier trees whose roots are wanted.
  ///   - name: for messages.
  /// - Throws: ``ArchiveFault`` `bad-record`, `short-catalogue`, `changed-catalogue`.
  package static func reading(
    of bytes: [UInt8], against checkpoint: ArchiveCheckpoint, rootsAt sizes: Set<Int> = [], name: String
  ) throws -> Reading {
    var catalogue = ArchiveCatalogue(origin: checkpoint.origin)
    var roots: [Int: TreeHash] = sizes.contains(0) || checkpoint.size == 0 ? [0: .empty] : [:]
    var end = 0
    try bytes.withUnsafeBytes { bytes in
      while let line = line(bytes, end) {
        let isKept = catalogue.size < checkpoint.size
        let reason = ArchiveRecord(line).map { catalogue.take($0, line: line) } ?? "it is no record of an archive"
        if let reason {
          // What no checkpoint vouches for is what a crash has left.
          guard isKept else { break }
          throw ArchiveFault(.badRecord, "\(name): line \(catalogue.size + 1): \(reason)", hint: recovery)
        }
        end += line.count + 1
        if sizes.contains(catalogue.size) || catalogue.size == checkpoint.size {
          roots[catalogue.size] = catalogue.edge.root
        }
      }
    }
    guard catalogue.size >= checkpoint.size else {
      throw ArchiveFault(
        .shortCatalogue, "\(name) has \(catalogue.size) records, \(checkpoint.size) were told as kept", hint: recovery)
    }
    guard let root = roots[checkpoint.size], root == checkpoint.root else {
      throw ArchiveFault(
        .changedCatalogue,
        """
        \(name): its first \(checkpoint.size) records are not those that were told as kept: their root is \
        \((roots[checkpoint.size] ?? .empty).base64), not \(checkpoint.root.base64)
        """, hint: recovery)
    }
    return Reading(
      catalogue: catalogue, checkpoint: checkpoint, unfinishedRecords: catalogue.size - checkpoint.size,
      tornBytes: bytes.count - end, end: end, roots: roots)
  }

  /// The bytes of one of the archive's own files, which is a file and no link to one.
  ///
  /// - Parameter code: of the fault where it is not.
  private func own(_ name: String, limit: Int, _ code: ArchiveFault.Code) throws -> [UInt8] {
    let place = place(name)
    switch OwnFile(place) {
    case .missing: throw ArchiveFault(code, "\(place) is not there", hint: Self.recovery)
    case .strange(let kind):
      throw ArchiveFault(code, "\(place) is \(kind), allowed is a file", hint: Self.recovery)
    case .file(let size) where size > limit:
      throw ArchiveFault(code, "\(place) has \(size) bytes, at most \(limit) are read", hint: Self.recovery)
    case .file: return try FileSource.contents(of: place, limit: limit)
    }
  }

  private static let recovery =
    "bring catalogue and checkpoint back from a copy; what was added since can be added again"

  /// A line without its end; `nil` where no whole one follows.
  private static func line(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> UnsafeRawBufferPointer? {
    guard start < bytes.count, let base = bytes.baseAddress,
      let end = memchr(base + start, 0x0A, bytes.count - start)
    else { return nil }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<UnsafeRawPointer(end) - base])
  }

  private func readOrigin() throws -> String {
    let shownPath = FileIdentity(path: path) == nil ? PathText.shownAsMissing(path) : path
    guard Self.isArchive(path) else {
      throw ArchiveFault(
        .notAnArchive, "\(shownPath): there is no archive, it has no file \(Self.markName)",
        hint: "keyferry archive add \(shownPath) FILE… begins one")
    }
    let text = String(decoding: try FileSource.contents(of: place(Self.markName), limit: 4096), as: UTF8.self)
    let lines = text.split(separator: "\n")
    guard lines.count == 2, lines[0] == Self.firstLine, lines[1].hasPrefix(ArchiveCheckpoint.prefix) else {
      throw ArchiveFault(
        .notAnArchive, "\(place(Self.markName)): it does not begin with \"\(Self.firstLine)\" and the archive's name",
        hint: "it may be of another version of keyferry")
    }
    return String(lines[1])
  }

  // MARK: Content

  /// The bytes of a content. Nothing compares them with the digest here.
  ///
  /// - Throws: ``ArchiveFault`` `missing-content`.
  package func source(of content: ArchivedContent) throws -> any SeekableSource {
    let place = place(Self.contentPath(content.digest))
    switch OwnFile(place) {
    case .missing:
      throw ArchiveFault(.missingContent, "\(place) is not there: \(content.byteCount) bytes that were kept are gone")
    case .strange(let kind): throw ArchiveFault(.changedContent, "\(place) is \(kind), and a file was kept")
    case .file: break
    }
    return try FileSource(path: place)
  }

  /// Compares a content with its digest.
  ///
  /// - Throws: ``ArchiveFault`` `missing-content` and `changed-content`.
  package func verify(_ content: ArchivedContent) throws {
    let source = try source(of: content)
    let digest = try SourceDocument.digest(of: source).hexadecimal
    guard digest == content.digest, source.byteCount == content.byteCount else {
      throw ArchiveFault(
        .changedContent,
        """
        \(place(Self.contentPath(content.digest))) has other bytes than were kept: \(source.byteCount) with the SHA-256 \
        \(digest), there were \(content.byteCount)
        """)
    }
  }

  /// Files among the contents that no record tells of: an add was stopped before it told of them, or somebody has put them there.
  package func unlisted(_ catalogue: ArchiveCatalogue) throws -> [String] {
    var found: [String] = []
    for folder in try names(in: Self.contentName) {
      for name in try names(in: "\(Self.contentName)/\(folder)") {
        let path = "\(Self.contentName)/\(folder)/\(name)"
        if catalogue[name] == nil || Self.contentPath(name) != path { found.append(path) }
      }
    }
    return found
  }

  /// None where there is no such folder.
  private func names(in path: String) throws -> [String] {
    guard let folder = opendir(PathText.system(place(path))) else {
      guard errno == ENOENT || errno == ENOTDIR else { throw FileFault("open", place(path), number: errno) }
      return []
    }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { PathText.text($0.prefix { $0 != 0 }) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }
}

/// What stands where an archive has a file of its own. Nothing is followed: a link could lead to what somebody changes elsewhere.
private enum OwnFile {
  case missing
  /// With its length.
  case file(Int)
  /// Something else, in words.
  case strange(String)

  /// What cannot be looked at is said when it is opened.
  init(_ path: String) {
    var status = stat()
    guard lstat(PathText.system(path), &status) == 0 else {
      self = errno == ENOENT || errno == ENOTDIR ? .missing : .file(0)
      return
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: self = .file(Int(status.st_size))
    case S_IFLNK: self = .strange("a link")
    case S_IFDIR: self = .strange("a folder")
    default: self = .strange("a pipe or a device")
    }
  }
}
