internal import Glibc
internal import KeyArchive
package import KeyFormats
package import KeyIntake

/// What a command is given to read: files, folders with all that is in them, archives, pipes, standard input, what was fetched
/// from addresses. Every document is handed over with its place, one at a time.
///
/// The folder of a `keyferry archive` stands for the files that it keeps, each once, by the name that it was first seen under. Their
/// bytes are compared with their digests first. What was no key file when it was kept is passed over.
package final class InputWalk {
  private let paths: [String]
  private let format: KeyFormat?
  private let limits: ReadLimits
  private let containers: ContainerLimits
  /// What is written to while this reads.
  private let outputFolder: FileIdentity?
  /// By address, what was found there.
  private let fetched: [String: [FetchedDocument]]
  /// Whether an archive or a compressed file that cannot be opened, and nothing of which was handed over, is handed over itself,
  /// as bytes that nobody can read.
  package var keepsUnreadable = false
  /// What comes only once is kept, for a second walk.
  private var streams: [String: any SeekableSource] = [:]
  /// Of the walk that ended last.
  package private(set) var passedOver = PassedOver()

  /// The names in archives under which more than one content was seen, of the walk that ended last.
  package private(set) var changedNames: [String] = []

  /// How many documents were handed over on that walk, and on one that has not ended.
  package private(set) var count = 0

  /// - Parameters:
  ///   - paths: `-` is standard input.
  ///   - format: taken for granted instead of detecting one.
  ///   - limits: for each document, inflated.
  ///   - containers: for each file that holds others.
  ///   - outputFolder: is not read where it lies in a folder that is.
  ///   - fetched: what was found at the addresses among the paths.
  package init(
    _ paths: [String], format: KeyFormat? = nil, limits: ReadLimits = ReadLimits(),
    containers: ContainerLimits = ContainerLimits(), outputFolder: String? = nil,
    fetched: [String: [FetchedDocument]] = [:]
  ) {
    self.fetched = fetched
    self.paths = paths
    self.format = format
    self.limits = limits
    self.containers = containers
    self.outputFolder = outputFolder.flatMap(FileIdentity.init(path:))
  }

  /// Whether more than one document is to be expected; an archive may hold several all the same.
  package var mayHoldSeveral: Bool {
    paths.count > 1 || paths.contains { Self.isFolder($0) || fetched[$0].map { $0.count > 1 } ?? false }
  }

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
    changedNames = []
    count = 0
    for (argument, path) in paths.enumerated() {
      if let documents = fetched[path] {
        try visit(documents, at: path, argument, take, leaveOut)
        continue
      }
      guard Self.isFolder(path) else {
        let name = path == "-" ? "stdin" : path.split(separator: "/").last.map(String.init) ?? path
        try open(path, DocumentPlace(file: path, argument: argument, path: name), take, leaveOut)
        continue
      }
      if ArchiveFolder.isArchive(path) {
        try visit(ArchiveFolder(path), path, argument, take, leaveOut)
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
      let published = keepsUnreadable ? nil : PublishedFiles(folder, listing.files)
      if listing.files.isEmpty, listing.unreadable.isEmpty {
        _ = try attempt(path, leaveOut) { throw FileFault("read", path, reason: "the folder holds no files") }
      }
      for file in listing.files {
        // What signs the file beside it is read with that.
        if file.hasSuffix(".sig"), files.contains(file.dropLast(3) + "bin") { continue }
        if let published, published.contains(file) {
          passedOver.publishedFiles += 1
          continue
        }
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

  private func visit(
    _ documents: [FetchedDocument], at address: String, _ argument: Int, _ take: (FoundDocument) throws -> Void,
    _ leaveOut: (LeftOutDocument) throws -> Void
  ) throws {
    let name = address.split(separator: "/").last.map(String.init) ?? address
    let place = DocumentPlace(file: address, argument: argument, path: name)
    for document in documents {
      switch document.content {
      case .failure(let leftOut): try leaveOut(leftOut)
      case .success(let source):
        let found = SourceDocument(
          name: document.name, file: address, entry: document.entry, source: source, format: format, limits: limits)
        try open(found, document.entry.map { place.entry($0) } ?? place, take, leaveOut)
      }
    }
  }

  /// The files of an archive, each once.
  private func visit(
    _ archive: ArchiveFolder, _ path: String, _ argument: Int, _ take: (FoundDocument) throws -> Void,
    _ leaveOut: (LeftOutDocument) throws -> Void
  ) throws {
    let catalogue = try archive.read().catalogue
    let name = archive.path.split(separator: "/").last.map(String.init) ?? archive.path
    let place = DocumentPlace(file: path, argument: argument, path: name)
    // The lists of bundles, which are no key files, change all the time.
    let keyFiles = Set(catalogue.sightings.filter { catalogue[$0.digest]?.facts.format != nil }.map(\.name))
    changedNames += catalogue.changedNames.filter(keyFiles.contains).map { PathText.onOneLine("\(path)!\($0)") }
    for sighting in catalogue.files {
      // It is evidence, and no keys are looked for in it.
      if !keepsUnreadable, format == nil, catalogue[sighting.digest]?.facts.format == nil {
        passedOver.noKeyFiles += 1
        continue
      }
      let found: SourceDocument
      do {
        found = try ArchivedDocument.open(sighting, in: archive, catalogue, file: path, format: format, limits: limits)
      } catch let fault as ArchiveFault {
        try leaveOut(LeftOutDocument("\(path)!\(sighting.name)", code: fault.code.rawValue, fault))
        continue
      }
      try open(found, place.entry(sighting.name), take, leaveOut)
    }
  }

  private func open(
    _ path: String, _ place: DocumentPlace, _ take: (FoundDocument) throws -> Void,
    _ leaveOut: (LeftOutDocument) throws -> Void
  ) throws {
    guard let document = try attempt(path, leaveOut, { try self.document(path) }) else { return }
    try open(document, place, take, leaveOut)
  }

  private func open(
    _ document: SourceDocument, _ place: DocumentPlace, _ take: (FoundDocument) throws -> Void,
    _ leaveOut: (LeftOutDocument) throws -> Void
  ) throws {
    try withoutActuallyEscaping(take) { take in
      try withoutActuallyEscaping(leaveOut) { leaveOut in
        let itself = FoundDocument(document: document, place: place)
        let before = count
        var unreadable: LeftOutDocument?
        let walk = ContainerWalk(containers, storedBytes: document.source.byteCount) { found in
          self.count += 1
          try take(found)
        } leaveOut: {
          if self.keepsUnreadable, self.count == before, unreadable == nil { unreadable = $0 } else { try leaveOut($0) }
        }
        defer { passedOver.add(walk.passedOver) }
        try walk.walk(itself)
        guard let fault = unreadable else { return }
        // Of what holds some that can be read, these are kept.
        if count > before { return try leaveOut(fault) }
        count += 1
        try take(itself)
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

/// A document that was fetched from an address, or why it was not.
package struct FetchedDocument {
  /// Its own address.
  package let name: String
  /// Where it stands below the index that lists it; `nil` where it was named itself.
  package let entry: String?
  package let content: Content

  package enum Content {
    case success(any SeekableSource)
    case failure(LeftOutDocument)
  }

  package init(name: String, entry: String?, _ content: Content) {
    (self.name, self.entry, self.content) = (name, entry, content)
  }
}

extension PassedOver {
  package mutating func add(_ other: PassedOver) {
    macFiles += other.macFiles
    links += other.links
    others += other.others
    outputFolders += other.outputFolders
    noKeyFiles += other.noKeyFiles
    publishedFiles += other.publishedFiles
  }
}
