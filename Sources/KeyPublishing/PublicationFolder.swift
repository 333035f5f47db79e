internal import ExposureKeys
internal import Glibc
internal import KeyFormats
internal import KeyIntake
internal import KeyStorage

/// Where published files are put. Paths are relative: `NL/index.txt`, `NL/day/2020-12-01-1606867200.zip`.
///
/// A file appears whole or not at all, and what `put` returned from survives a crash of the machine.
package protocol PublicationFolder: Sendable {
  /// Puts a file in its place, also over one that stands there.
  func put(_ content: [UInt8], at path: String) throws
  /// The bytes of a file; `nil` when there is none.
  ///
  /// - Parameter limit: a larger file is a fault.
  func content(of path: String, limit: Int) throws -> [UInt8]?
  /// The length of a file; `nil` when there is none.
  func byteCount(of path: String) throws -> Int?
  /// Removes a file; that there is none is no fault.
  func remove(_ path: String) throws
}

extension PublicationFolder {
  /// What is wrong with the file of a bundle that was published; `nil` where it is there and whole.
  ///
  /// - Parameter digest: whether its bytes are read, too.
  func fault(of bundle: NewBundle, digest: Bool) throws -> PublishingWarning? {
    let path = bundle.path
    guard let count = try byteCount(of: path) else {
      return PublishingWarning(.fileMissing, "\(path) is not in the folder any more; no index names it")
    }
    guard count == bundle.byteCount else {
      return PublishingWarning(
        .fileDamaged, "\(path) has \(count) bytes, published were \(bundle.byteCount); no index names it")
    }
    guard digest, let content = try content(of: path, limit: max(count, 1)), sha256(content) != bundle.archiveDigest
    else { return nil }
    return PublishingWarning(.fileDamaged, "\(path) has other bytes than were published; no index names it")
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

  package func byteCount(of path: String) throws -> Int? {
    var status = stat()
    guard stat(full(path), &status) == 0 else {
      guard errno == ENOENT || errno == ENOTDIR else { throw FileFault("look at", full(path), number: errno) }
      return nil
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw FileFault("read", full(path), reason: "it is not a regular file")
    }
    return Int(status.st_size)
  }

  package func remove(_ path: String) throws {
    try willDo(.remove, path)
    guard unlink(full(path)) == 0 || errno == ENOENT || errno == ENOTDIR else {
      throw FileFault("remove", full(path), number: errno)
    }
  }

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
