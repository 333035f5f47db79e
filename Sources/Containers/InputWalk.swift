internal import Glibc
package import KeyFormats
package import KeyIntake

/// What a command is given to read: files, folders with all that is in them, archives, pipes, standard input. Every
/// document is handed over with its place, one at a time.
package final class InputWalk {
  private let paths: [String]
  private let format: KeyFormat?
  private let limits: ReadLimits
  private let containers: ContainerLimits
  /// What is written to while this reads.
  private let outputFolder: FileIdentity?
  /// What comes only once is kept, for a second walk.
  private var streams: [String: any SeekableSource] = [:]
  /// Of the walk that ended last.
  package private(set) var passedOver = PassedOver()

  /// How many documents were handed over on that walk, and on one that has not ended.
  package private(set) var count = 0

  /// - Parameters:
  ///   - paths: `-` is standard input.
  ///   - format: taken for granted instead of detecting one.
  ///   - limits: for each document, inflated.
  ///   - containers: for each file that holds others.
  ///   - outputFolder: is not read where it lies in a folder that is.
  package init(
    _ paths: [String], format: KeyFormat? = nil, limits: ReadLimits = ReadLimits(),
    containers: ContainerLimits = ContainerLimits(), outputFolder: String? = nil
  ) {
    self.paths = paths
    self.format = format
    self.limits = limits
    self.containers = containers
    self.outputFolder = outputFolder.flatMap(FileIdentity.init(path:))
  }

  /// Whether more than one document is to be expected; an archive may hold several all the same.
  package var mayHoldSeveral: Bool { paths.count > 1 || paths.contains(where: Self.isFolder) }

  package static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return path != "-" && stat(PathText.system(path), &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// Hands over all documents: arguments in their order, folders sorted.
  ///
  /// - Parameter leaveOut: is told what cannot be opened; what it throws ends the walk.
  /// - Throws: what `take` and `leaveOut` throw, and what is no fault of the documents, such as a disk that is full.
  package func visit(
    _ take: (FoundDocument) throws -> Void, leaveOut: (LeftOutDocument) throws -> Void = { throw $0.fault }
  ) throws {
    passedOver = PassedOver()
    count = 0
    for (argument, path) in paths.enumerated() {
      guard Self.isFolder(path) else {
        let name = path == "-" ? "stdin" : path.split(separator: "/").last.map(String.init) ?? path
        try open(path, DocumentPlace(file: path, argument: argument, path: name), take, leaveOut)
        continue
      }
      let folder = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
      guard
        let listing = try attempt(
          path, leaveOut, { try FolderListing(folder, limit: containers.entries, except: outputFolder) })
      else {
        continue
      }
      passedOver.add(listing.passedOver)
      for fault in listing.unreadable { _ = try attempt(fault.path, leaveOut) { throw fault } }
      let files = Set(listing.files)
      if listing.files.isEmpty, listing.unreadable.isEmpty {
        _ = try attempt(path, leaveOut) { throw FileFault("read", path, reason: "the folder holds no files") }
      }
      for file in listing.files {
        // What signs the file beside it is read with that.
        if file.hasSuffix(".sig"), files.contains(file.dropLast(3) + "bin") { continue }
        let whole = folder.hasSuffix("/") ? folder + file : "\(folder)/\(file)"
        try open(whole, DocumentPlace(file: whole, argument: argument, path: file), take, leaveOut)
      }
    }
  }

  /// Opens a document that is no file: those that it holds, or itself.
  package static func visitDocuments(
    in document: SourceDocument, _ limits: ContainerLimits = ContainerLimits(),
    _ take: (FoundDocument) throws -> Void, leaveOut: (LeftOutDocument) throws -> Void = { throw $0.fault }
  ) throws {
    try withoutActuallyEscaping(take) { take in
      try withoutActuallyEscaping(leaveOut) { leaveOut in
        let walk = ContainerWalk(limits, storedBytes: document.source.byteCount, take: take, leaveOut: leaveOut)
        try walk.walk(
          FoundDocument(
            document: document, place: DocumentPlace(file: document.name, argument: 0, path: document.name)))
      }
    }
  }

  /// All documents as one feed.
  package func feed<Item>(_ make: @escaping (FoundDocument) throws -> Item) -> DocumentFeed<Item> {
    DocumentFeed(mayHoldSeveral: mayHoldSeveral) { take, leaveOut in
      try self.visit({ try take(try make($0)) }, leaveOut: leaveOut)
    }
  }

  private func open(
    _ path: String, _ place: DocumentPlace, _ take: (FoundDocument) throws -> Void,
    _ leaveOut: (LeftOutDocument) throws -> Void
  ) throws {
    guard let document = try attempt(path, leaveOut, { try self.document(path) }) else { return }
    try withoutActuallyEscaping(take) { take in
      try withoutActuallyEscaping(leaveOut) { leaveOut in
        let walk = ContainerWalk(containers, storedBytes: document.source.byteCount) { found in
          self.count += 1
          try take(found)
        } leaveOut: {
          try leaveOut($0)
        }
        defer { passedOver.add(walk.passedOver) }
        try walk.walk(FoundDocument(document: document, place: place))
      }
    }
  }

  private func attempt<Result>(
    _ path: String, _ leaveOut: (LeftOutDocument) throws -> Void, _ body: () throws -> Result
  ) throws -> Result? {
    do {
      return try body()
    } catch {
      guard let leftOut = LeftOutDocument(path, error) else { throw error }
      try leaveOut(leftOut)
      return nil
    }
  }

  private func document(_ path: String) throws -> SourceDocument {
    guard path == "-" || StreamedFile.isStream(path) else {
      return try SourceDocument(path: path, format: format, limits: limits)
    }
    let source = try streams[path] ?? StreamedFile.document(path, limit: limits.documentBytes)
    streams[path] = source
    return SourceDocument(
      name: path == "-" ? "standard input" : path, source: source, format: format, limits: limits)
  }
}

extension PassedOver {
  fileprivate mutating func add(_ other: PassedOver) {
    macFiles += other.macFiles
    links += other.links
    others += other.others
    outputFolders += other.outputFolders
  }
}
