internal import ExposureKeys
internal import FoundationEssentials
internal import Glibc
internal import KeyFormats
internal import KeyIntake
internal import KeyStorage

/// Where published files are put: a folder of this machine, or a bucket. Paths are relative: `NL/index.txt`,
/// `NL/day/2020-12-01-1606867200.zip`.
///
/// There are two kinds of files. Bundles are created and never change; lists are replaced, by who has seen what is replaced. A
/// file appears whole or not at all, and what a method returned from survives a crash of the machine.
///
/// That there is no file is an answer; everything else that keeps one from being looked at is thrown, so that an outage, or a
/// right that is missing, never looks like a file that is gone.
package protocol PublicationFolder: Sendable {
  /// How many calls may be under way at the same time.
  var width: Int { get }
  /// Whether one process alone publishes into it: what stands under a new name is damage then, and no work of another one.
  var isOwnedAlone: Bool { get }

  /// Puts a file that never changes. That the same bytes stand there already is no fault.
  ///
  /// - Throws: ``FolderFault`` `name-taken` where other bytes stand there.
  func create(_ content: [UInt8], at path: String) async throws
  /// A file that changes under its name, as it is now; `nil` when there is none.
  ///
  /// - Parameter limit: of a larger one, and of one that cannot be read, there are no bytes.
  func list(_ path: String, limit: Int) async throws -> ShownList?
  /// Replaces what was seen.
  ///
  /// - Parameter seen: `nil` where there was none.
  /// - Throws: ``FolderFault`` `other-writer` where something else stands there now; nothing was changed then.
  func replace(_ seen: ShownList.Version?, with content: [UInt8], at path: String) async throws -> ShownList.Version
  /// The bytes of a file; `nil` when there is none.
  ///
  /// - Parameter limit: a larger file is a fault.
  func content(of path: String, limit: Int) async throws -> [UInt8]?
  /// The length of a file; `nil` when there is none.
  func byteCount(of path: String) async throws -> Int?
  /// Removes a file; that there is none is no fault.
  func remove(_ path: String) async throws
  /// All files of a series, by path, with their lengths.
  func files(of series: String) async throws -> [(path: String, byteCount: Int)]
  /// The same with what tells the state of each from others, as far as that is known without reading it.
  func states(of series: String) async throws -> [FileState]
}

extension PublicationFolder {
  package func states(of series: String) async throws -> [FileState] {
    try await files(of: series).map { FileState(path: $0.path, byteCount: $0.byteCount, version: nil) }
  }
}

/// A file of a folder, as a list of them shows it.
package struct FileState: Hashable, Sendable {
  package let path: String
  package let byteCount: Int
  /// `nil` where its bytes alone tell.
  package let version: ShownList.Version?

  package init(path: String, byteCount: Int, version: ShownList.Version?) {
    (self.path, self.byteCount, self.version) = (path, byteCount, version)
  }
}

/// A file that changes under its name, as it was seen.
package struct ShownList: Hashable, Sendable {
  /// What tells this state of the file from others; only the folder that gave it knows its words.
  package struct Version: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }
  }

  /// `nil` where it cannot be read, or is too large.
  package let content: [UInt8]?
  package let version: Version

  package init(content: [UInt8]?, version: Version) { (self.content, self.version) = (content, version) }
}

/// Why a publication folder did not do what it was asked, where it is no file of this machine that failed.
package struct FolderFault: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Code: String, Hashable, Sendable, CaseIterable {
    /// A name that never changes has other bytes already.
    case nameTaken = "name-taken"
    /// Somebody else has written what was to be replaced.
    case otherWriter = "other-writer"
    /// The credentials are wrong, missing, or may not do this.
    case denied = "publication-denied"
    /// The store does not answer, or says that it cannot now.
    case unavailable = "publication-unavailable"
    /// The store does something that nothing can be published with.
    case unusable = "publication-unusable"
  }

  package let code: Code
  package let reason: String

  package init(_ code: Code, _ reason: String) { (self.code, self.reason) = (code, reason) }

  package var description: String { reason }
}

extension PublicationFolder {
  /// What is wrong with the file of a bundle that was published; `nil` where it is there and whole.
  ///
  /// - Parameter digest: whether its bytes are read, too.
  func fault(of bundle: NewBundle, digest: Bool) async throws -> PublishingWarning? {
    let path = bundle.path
    guard let count = try await byteCount(of: path) else {
      return PublishingWarning(.fileMissing, "\(path) is not in the folder any more; no index names it")
    }
    guard count == bundle.byteCount else {
      return PublishingWarning(
        .fileDamaged, "\(path) has \(count) bytes, published were \(bundle.byteCount); no index names it")
    }
    guard digest, let content = try await content(of: path, limit: max(count, 1)),
      sha256(content) != bundle.archiveDigest
    else { return nil }
    return PublishingWarning(.fileDamaged, "\(path) has other bytes than were published; no index names it")
  }

  /// Puts a file of a bundle in the place of what is damaged there.
  package func heal(_ path: String, with content: [UInt8]) async throws {
    do {
      try await create(content, at: path)
    } catch let fault as FolderFault where fault.code == .nameTaken {
      try await remove(path)
      try await create(content, at: path)
    }
  }

  /// Leaves a list alone that has these bytes already: its validators stay the same for caches.
  package func show(_ content: [UInt8], at path: String) async throws {
    let seen = try await list(path, limit: max(content.count, 1))
    if let seen, seen.content == content { return }
    _ = try await replace(seen?.version, with: content, at: path)
  }

  /// The manifest of a series; `nil` where there is none, or none that can be read.
  package func manifest(of series: String) async throws -> SeriesManifest? {
    guard let content = try await list(SeriesManifest.path(of: series), limit: SeriesManifest.byteLimit)?.content else {
      return nil
    }
    return try? SeriesManifest(document: content)
  }

  /// Does the same with each, as many at the same time as the folder takes, and gives what comes of it in their order. Of
  /// several faults the first one that comes is thrown.
  package func each<Element: Sendable, Outcome: Sendable>(
    _ elements: [Element], _ work: @escaping @Sendable (Element) async throws -> Outcome
  ) async throws -> [Outcome] {
    if width == 1 {
      var outcomes: [Outcome] = []
      for element in elements { outcomes.append(try await work(element)) }
      return outcomes
    }
    return try await withThrowingTaskGroup(of: (Int, Outcome).self) { group in
      var outcomes: [Outcome?] = Array(repeating: nil, count: elements.count)
      for (index, element) in elements.enumerated() {
        if index >= width, let (done, outcome) = try await group.next() { outcomes[done] = outcome }
        group.addTask { (index, try await work(element)) }
      }
      for try await (done, outcome) in group { outcomes[done] = outcome }
      return outcomes.compactMap(\.self)
    }
  }
}

/// A folder of this machine. One process publishes into it at a time.
///
/// A file is written beside its place under a name that begins with a dot and ends in `.partial`, synced and renamed,
/// and then its folder is synced. What a crash leaves beside is overwritten by the next attempt.
package struct LocalFolder: PublicationFolder {
  /// One call to the system that changes the folder.
  package enum Step: String, Sendable, CaseIterable {
    case makeFolder = "make-folder"
    case open, write, sync, rename
    case syncFolder = "sync-folder"
    case remove
  }

  package let path: String
  private let willDo: @Sendable (Step, String) throws -> Void

  package init(_ path: String) { self.init(path) { _, _ in } }

  /// - Parameter willDo: is told each step before it is done, and can make it fail.
  package init(_ path: String, willDo: @escaping @Sendable (Step, String) throws -> Void) {
    self.path = path
    self.willDo = willDo
  }

  package var width: Int { 1 }
  package var isOwnedAlone: Bool { true }

  package func create(_ content: [UInt8], at path: String) throws {
    // What cannot be read is not the same.
    let present = try byteCount(of: path)
    if let present {
      guard present == content.count, let old = try? self.content(of: path, limit: max(present, 1)), old == content
      else { throw FolderFault(.nameTaken, "\(full(path)) has other bytes than were to be published under its name") }
      return
    }
    try put(content, at: path)
  }

  package func list(_ path: String, limit: Int) throws -> ShownList? {
    guard let version = try version(of: path) else { return nil }
    return ShownList(content: try? content(of: path, limit: limit), version: version)
  }

  package func replace(
    _ seen: ShownList.Version?, with content: [UInt8], at path: String
  ) throws -> ShownList.Version {
    guard try version(of: path) == seen else {
      throw FolderFault(.otherWriter, "\(full(path)) was written by somebody else since it was read")
    }
    try put(content, at: path)
    guard let version = try version(of: path) else {
      throw FolderFault(.otherWriter, "\(full(path)) was removed by somebody else as it was written")
    }
    return version
  }

  /// Every file that is put is a new one for the system.
  private func version(of path: String) throws -> ShownList.Version? {
    guard let status = try status(of: path) else { return nil }
    return ShownList.Version(
      "\(status.st_ino)-\(status.st_size)-\(status.st_mtim.tv_sec)-\(status.st_mtim.tv_nsec)")
  }

  package func files(of series: String) throws -> [(path: String, byteCount: Int)] {
    let place = full(series)
    guard FileManager.default.fileExists(atPath: place) else { return [] }
    return try FileManager.default.subpathsOfDirectory(atPath: place).compactMap { inside in
      let path = "\(series)/\(inside)"
      // A folder, say.
      guard let count = try? byteCount(of: path) else { return nil }
      return (path, count)
    }.sorted { $0.path < $1.path }
  }

  /// Puts a file in its place, also over one that stands there.
  package func put(_ content: [UInt8], at path: String) throws {
    let (folder, name) = try parts(of: path)
    try makeFolders(folder)
    let partial = "\(self.path)/\(folder.isEmpty ? "" : folder + "/").\(name).partial"
    try willDo(.open, path)
    let descriptor = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
    guard descriptor >= 0 else { throw FileFault("write", partial, number: errno) }
    do {
      defer { close(descriptor) }
      try willDo(.write, path)
      try content.withUnsafeBytes { try writeFully($0, to: descriptor, at: nil, path: partial) }
      try willDo(.sync, path)
      guard fsync(descriptor) == 0 else { throw FileFault("sync", partial, number: errno) }
    } catch {
      // A full disk should not stay full of what was not finished.
      unlink(partial)
      throw error
    }
    try willDo(.rename, path)
    guard Glibc.rename(partial, full(path)) == 0 else { throw FileFault("rename", partial, number: errno) }
    try sync(folder: folder)
  }

  package func content(of path: String, limit: Int) throws -> [UInt8]? {
    guard let count = try byteCount(of: path) else { return nil }
    guard count <= limit else {
      throw FileFault("read", full(path), reason: "it has \(count) bytes, at most \(limit) are read")
    }
    return try FileSource.contents(of: full(path), limit: limit)
  }

  package func byteCount(of path: String) throws -> Int? { try status(of: path).map { Int($0.st_size) } }

  private func status(of path: String) throws -> stat? {
    var status = stat()
    guard stat(full(path), &status) == 0 else {
      guard errno == ENOENT || errno == ENOTDIR else { throw FileFault("look at", full(path), number: errno) }
      return nil
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw FileFault("read", full(path), reason: "it is not a regular file")
    }
    return status
  }

  package func remove(_ path: String) throws {
    try willDo(.remove, path)
    guard unlink(full(path)) == 0 || errno == ENOENT || errno == ENOTDIR else {
      throw FileFault("remove", full(path), number: errno)
    }
  }

  /// Makes the folder itself where it is missing.
  package func make() throws { try makeFolders("") }

  private func full(_ path: String) -> String { "\(self.path)/\(path)" }

  private func parts(of path: String) throws -> (folder: String, name: String) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    guard let name = parts.last, parts.allSatisfy({ !$0.isEmpty && $0.first != "." }) else {
      throw FileFault("write", full(path), reason: "it is no path in the publication folder")
    }
    return (parts.dropLast().joined(separator: "/"), String(name))
  }

  /// Makes the publication folder and those in it that are missing, each durable before something is put into it.
  private func makeFolders(_ folder: String) throws {
    var present = access(self.path, F_OK) == 0
    if !present {
      var place = ""
      for part in self.path.split(separator: "/", omittingEmptySubsequences: false) {
        place += place.isEmpty && !part.isEmpty ? String(part) : "/\(part)"
        if !part.isEmpty, part != ".", access(place, F_OK) != 0 { try makeFolder(place) }
      }
    }
    var inside = ""
    for part in folder.split(separator: "/") {
      let parent = inside
      inside += inside.isEmpty ? String(part) : "/\(part)"
      present = access(full(inside), F_OK) == 0
      guard !present else { continue }
      try makeFolder(full(inside))
      try sync(folder: parent)
    }
  }

  private func makeFolder(_ place: String) throws {
    try willDo(.makeFolder, place)
    guard mkdir(place, 0o755) == 0 || errno == EEXIST else { throw FileFault("make the folder", place, number: errno) }
  }

  private func sync(folder: String) throws {
    let place = folder.isEmpty ? path : full(folder)
    try willDo(.syncFolder, place)
    let descriptor = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileFault("sync", place, number: errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw FileFault("sync", place, number: errno) }
  }
}
