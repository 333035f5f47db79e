internal import KeyFormats
internal import KeyIntake

/// Opens one file and, where it holds others, all of them, and hands every document over: in the order of their names from
/// a zip, in the order in which they stand in a tar.
final class ContainerWalk {
  private let tally: ContainerTally
  private let take: (FoundDocument) throws -> Void
  private let leaveOut: (LeftOutDocument) throws -> Void
  private(set) var passedOver = PassedOver()

  init(
    _ limits: ContainerLimits, storedBytes: Int, take: @escaping (FoundDocument) throws -> Void,
    leaveOut: @escaping (LeftOutDocument) throws -> Void
  ) {
    tally = ContainerTally(limits, storedBytes: storedBytes)
    self.take = take
    self.leaveOut = leaveOut
  }

  /// What `take` or `leaveOut` has thrown. It is no fault of the container that is being read.
  private struct Ended: Error {
    let reason: any Error
  }

  /// - Throws: what `take` and `leaveOut` throw, and what is no fault of the documents.
  func walk(_ found: FoundDocument) throws {
    do {
      try visit(found, depth: 0)
    } catch let ended as Ended {
      throw ended.reason
    }
  }

  private func visit(_ found: FoundDocument, depth: Int) throws {
    let document = found.document
    try guarding(document) {
      let front = try SequentialSource(document.source, range: 0..<min(ContainerKind.reach, document.source.byteCount))
        .readAll(limit: ContainerKind.reach)
      switch ContainerKind(front) {
      case nil: try hand(over: found)
      case .zip:
        let archive = try ZipArchive(
          document.source, limits: document.limits, maximumEntries: tally.limits.entries)
        if KeyDocument.isBundle(archive) { return try hand(over: found) }
        try visit(archive, of: found, depth: depth)
      case .tar:
        try tally.descend(depth)
        try visit(tar: SequentialSource(document.source), of: found, depth: depth)
      case .compressed(let compression):
        try visit(compression, of: found, depth: depth)
      }
    }
  }

  /// Runs `body`; a fault of the document leaves it out.
  private func guarding(_ document: SourceDocument, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let ended as Ended {
      throw ended
    } catch {
      let fault = (error as? FormatError).map { $0.within(document.name) as any Error } ?? error
      guard let leftOut = LeftOutDocument(document.name, fault) else { throw Ended(reason: error) }
      try ending { try leaveOut(leftOut) }
    }
  }

  /// Runs `body`; an entry that is too large is left out, and `nil` comes back.
  private func guardingSize<Result>(_ name: String, _ body: () throws -> Result) throws -> Result? {
    do {
      return try body()
    } catch let oversize as OversizeContent {
      guard let leftOut = LeftOutDocument(name, oversize.fault(in: name)) else { throw oversize.fault(in: name) }
      try ending { try leaveOut(leftOut) }
      return nil
    }
  }

  private func hand(over found: FoundDocument) throws { try ending { try take(found) } }

  private func ending(_ body: () throws -> Void) throws {
    do { try body() } catch { throw Ended(reason: error) }
  }

  // MARK: Zip

  private func visit(_ archive: ZipArchive, of found: FoundDocument, depth: Int) throws {
    if let words = ZipNature.words(for: archive) { throw FormatError(.unrecognizedFormat, words) }
    try tally.descend(depth)
    var signatures: [String: ZipEntry] = [:]
    var bins: Set<String> = []
    var files: [ZipEntry] = []
    for entry in archive.entries where !entry.isFolder {
      try tally.enter()
      if PassedOver.isMacFile(entry.name) {
        passedOver.macFiles += 1
        continue
      }
      if entry.name.hasSuffix(".sig") { signatures[String(entry.name.dropLast(3))] = entry }
      if entry.name.hasSuffix(".bin") { bins.insert(String(entry.name.dropLast(3))) }
      files.append(entry)
    }
    files.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    guard !files.isEmpty else { throw FormatError(.missingEntry, "the archive holds no files") }
    for entry in files {
      let stem = String(entry.name.dropLast(3))
      // What signs the file beside it is read with that.
      if entry.name.hasSuffix(".sig"), bins.contains(stem) { continue }
      let place = found.place.entry(entry.name)
      let name = "\(found.document.name)!\(entry.name)"
      let stub = SourceDocument(name: name, source: MemorySource([]))
      try guarding(stub) {
        let signature = entry.name.hasSuffix(".bin") ? signatures[stem] : nil
        let content = try archive.open(entry)
        // The archive's own messages name the entry already.
        let source = try unnamed(entry.name) { try keep(content) }
        let signatureFile = try signature.map { signature in
          try archive.open(signature).readAll(limit: found.document.limits.signatureBytes)
        }
        let document = found.document.entry(name, source, signatureFile: signatureFile)
        try visit(FoundDocument(document: document, place: place), depth: depth + 1)
      }
    }
  }

  private func unnamed<Result>(_ name: String, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch var error as FormatError where error.place == name {
      error.place = ""
      throw error
    }
  }

  // MARK: Compressed

  private func visit(
    _ compression: ContainerKind.Compression, of found: FoundDocument, depth: Int
  ) throws {
    try tally.descend(depth)
    let stored = SequentialSource(found.document.source)
    let content: any ByteSource =
      compression == .gzip ? GzipSource(stored) : try DecompressedSource(compression, stored)
    let counted = TalliedSource(content, tally)
    let front = try counted.readUp(to: ContainerKind.reach)
    let whole = PrefixedSource(front, counted)
    if ContainerKind(front) == .tar { return try visit(tar: whole, of: found, depth: depth) }
    let document = found.document.entry(
      found.document.name, try keep(whole, isCounted: true), signatureFile: found.document.signatureFile)
    try visit(
      FoundDocument(document: document, place: found.place.uncompressed(compression.endings)), depth: depth + 1)
  }

  // MARK: Tar

  private func visit(tar source: any ByteSource, of found: FoundDocument, depth: Int) throws {
    let reader = try ArchiveReader(tar: source)
    var waiting = WaitingEntries()
    func visitAll(_ entries: [WaitingEntries.Entry]) throws {
      for entry in entries {
        let name = "\(found.document.name)!\(entry.name)"
        let document = found.document.entry(name, entry.source, signatureFile: entry.signatureFile)
        try visit(FoundDocument(document: document, place: found.place.entry(entry.name)), depth: depth + 1)
      }
    }
    var isEmpty = true
    var number = 0
    do {
      while let entry = try reader.next() {
        try tally.enter()
        number += 1
        if entry.kind == .folder { continue }
        let name = entry.name.isEmpty ? "entry \(number)" : Self.plain(PathText.text(entry.name))
        if PassedOver.isMacFile(name) {
          passedOver.macFiles += 1
          continue
        }
        guard entry.kind == .file else {
          if entry.kind == .link { passedOver.links += 1 } else { passedOver.others += 1 }
          continue
        }
        isEmpty = false
        let limits = found.document.limits
        // What is too large is left out, and those behind it are read.
        guard
          let content = try guardingSize(
            "\(found.document.name)!\(name)",
            {
              let isSignature = name.hasSuffix(".sig")
              return try keep(
                EntrySource(reader), limit: isSignature ? limits.signatureBytes : limits.documentBytes)
            })
        else { continue }
        try visitAll(try waiting.add(name, content, signatureLimit: limits.signatureBytes))
      }
    } catch let ended as Ended {
      throw ended
    } catch {
      // What came whole before the damage is handed over.
      try visitAll(waiting.finish())
      throw error
    }
    try visitAll(waiting.finish())
    guard reader.hasEndMark else {
      throw FormatError(
        .truncated, "the archive does not end as a tar does: it was cut, or never finished; what it holds was read")
    }
    guard !isEmpty else { throw FormatError(.missingEntry, "the archive holds no files") }
  }

  /// A name without `./` in front.
  private static func plain(_ name: String) -> String {
    var rest = name[...]
    while rest.hasPrefix("./") { rest = rest.dropFirst(2).drop { $0 == "/" } }
    return rest.isEmpty ? name : String(rest)
  }

  // MARK: Content

  /// Reads content to its end: into memory, or into a file without a name when it is large.
  private func keep(
    _ content: any ByteSource, isCounted: Bool = false, limit: Int = .max
  ) throws -> any SeekableSource {
    try SpooledContent.read(isCounted ? content : TalliedSource(content, tally), limit: limit)
  }
}

extension SourceDocument {
  /// A document that stands in this one.
  fileprivate func entry(
    _ name: String, _ source: any SeekableSource, signatureFile: [UInt8]?
  ) -> SourceDocument {
    // A file that is compressed by itself has no entries.
    let entry = name == file ? nil : String(name.dropFirst(file.count + 1))
    return SourceDocument(
      name: name, file: file, entry: entry, source: source, signatureFile: signatureFile, format: format,
      limits: limits)
  }
}

/// The content of an archive's present entry.
private final class EntrySource: ByteSource {
  private let reader: ArchiveReader

  init(_ reader: ArchiveReader) { self.reader = reader }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int { try reader.read(into: buffer) }
}

/// Counts what passes, and stops where it is too much.
private final class TalliedSource: ByteSource {
  private let source: any ByteSource
  private let tally: ContainerTally

  init(_ source: any ByteSource, _ tally: ContainerTally) {
    self.source = source
    self.tally = tally
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let count = try source.read(into: buffer)
    try tally.inflate(count)
    return count
  }
}

/// Bytes that were read already, and what follows them.
private final class PrefixedSource: ByteSource {
  private var front: ArraySlice<UInt8>
  private let rest: any ByteSource

  init(_ front: [UInt8], _ rest: any ByteSource) {
    self.front = front[...]
    self.rest = rest
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard !front.isEmpty else { return try rest.read(into: buffer) }
    let piece = front.prefix(buffer.count)
    buffer.copyBytes(from: piece)
    front = front.dropFirst(piece.count)
    return piece.count
  }
}

extension ByteSource {
  /// The next bytes, as many as there are up to `count`.
  fileprivate func readUp(to count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let step = try bytes.withUnsafeMutableBytes {
        try read(into: UnsafeMutableRawBufferPointer(rebasing: $0[filled...]))
      }
      if step == 0 { break }
      filled += step
    }
    return Array(bytes[..<filled])
  }
}
