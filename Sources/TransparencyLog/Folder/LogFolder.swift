internal import Glibc

/// Where a log shows its files to others: a folder, or a bucket.
package protocol LogShelf: LogSource {
  /// Puts files that never change, so that all survive a crash when this returns. Equal ones are left as they are.
  ///
  /// - Throws: ``LogFault`` `would-overwrite` where other bytes stand there.
  func put(_ files: [(path: String, content: [UInt8])]) async throws
  /// Shows a file that may change, in place of what stands there.
  func show(_ content: [UInt8], at path: String) async throws
  /// Shows a checkpoint, unless a newer one of the log is shown already.
  func show(_ checkpoint: SignedCheckpoint, by log: NoteVerifier) async throws
  /// Removes the partial tiles that a full one has made needless.
  func removePartials(of tile: Tile) async throws
}

/// A folder of this machine in which a log shows its files. One process writes it at a time.
///
/// A file is written beside its place under a name that begins with a dot and ends in `.partial`, synced and renamed, and
/// then its folder is synced. What a crash leaves beside is overwritten by the next attempt.
package struct LogFolder: LogShelf {
  /// One call to the system that changes the folder.
  package enum Step: String, Sendable, CaseIterable {
    case makeFolder = "make-folder"
    case write, sync, rename
    case syncFolder = "sync-folder"
    case remove
  }

  package let path: String
  package var name: String { path }
  /// Where the private keys are, in the state of a log.
  package let privateKeys: LogKeys
  private let willDo: @Sendable (Step, String) throws -> Void

  /// - Parameters:
  ///   - keys: where the private keys are.
  ///   - willDo: is told each step before it is done, and can make it fail.
  package init(
    _ path: String, keys: LogKeys = LogKeys(), willDo: @escaping @Sendable (Step, String) throws -> Void = { _, _ in }
  ) {
    self.path = path
    privateKeys = keys
    self.willDo = willDo
  }

  // MARK: Reading

  package func content(of path: String, limit: Int) async throws -> [UInt8]? { try bytes(of: path, limit: limit) }

  /// The bytes of a file; `nil` when there is none.
  ///
  /// - Throws: ``LogFault`` `too-large` and `input-output`.
  package func bytes(of path: String, limit: Int) throws -> [UInt8]? {
    let place = full(path)
    let descriptor = open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      guard errno == ENOENT || errno == ENOTDIR else { throw Self.fault("read", place) }
      return nil
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Self.fault("read", place) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw LogFault(.inputOutput, "cannot read \(place): it is not a regular file")
    }
    let size = Int(status.st_size)
    guard size <= limit else {
      throw LogFault(.tooLarge, "cannot read \(place): it has \(size) bytes, at most \(limit) are read")
    }
    return try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      while count < size {
        let part = read(descriptor, buffer.baseAddress! + count, size - count)
        if part < 0, errno == EINTR { continue }
        guard part >= 0 else { throw Self.fault("read", place) }
        if part == 0 { break }
        count += part
      }
    }
  }

  // MARK: Writing

  package func put(_ files: [(path: String, content: [UInt8])]) throws { try put(files, replacing: false) }

  package func show(_ content: [UInt8], at path: String) throws { try put([(path, content)], replacing: true) }

  /// One process writes the folder, and what it has signed is the newest.
  package func show(_ checkpoint: SignedCheckpoint, by log: NoteVerifier) throws {
    try show(checkpoint.bytes, at: LogWriter.checkpointPath)
  }

  /// Puts files in their places so that all survive a crash of the machine when this returns.
  ///
  /// - Parameters:
  ///   - replacing: whether other bytes are replaced; otherwise they are a fault. Equal ones are left as they are.
  ///   - permissions: of new files, before the process's mask.
  /// - Throws: ``LogFault`` `would-overwrite` and `input-output`. What was not finished is not there.
  func put(
    _ files: [(path: String, content: [UInt8])], replacing: Bool, permissions: UInt32 = 0o644
  ) throws {
    var folders: [String] = []
    for start in stride(from: 0, to: files.count, by: Self.filesAtOnce) {
      try put(files[start..<min(start + Self.filesAtOnce, files.count)], replacing, permissions, &folders)
    }
    for folder in folders { try sync(folder) }
  }

  /// How many files are open at once: their bytes go to the disk together.
  private static let filesAtOnce = 128

  private func put(
    _ files: ArraySlice<(path: String, content: [UInt8])>, _ replacing: Bool, _ permissions: UInt32,
    _ folders: inout [String]
  ) throws {
    var open: [OpenFile] = []
    defer {
      for file in open {
        close(file.descriptor)
        // A full disk should not stay full of what was not finished.
        if let partial = file.partial { unlink(partial) }
      }
    }
    for file in files {
      let folder = Self.parent(of: file.path)
      if !folders.contains(folder) {
        try makeFolders(folder)
        folders.append(folder)
      }
      open.append(try write(file.content, at: file.path, replacing, permissions))
    }
    for index in open.indices {
      try willDo(.sync, open[index].path)
      guard fsync(open[index].descriptor) == 0 else { throw Self.fault("sync", full(open[index].path)) }
    }
    for index in open.indices {
      guard let partial = open[index].partial else { continue }
      try willDo(.rename, open[index].path)
      guard rename(partial, full(open[index].path)) == 0 else { throw Self.fault("rename", partial) }
      open[index].partial = nil
    }
  }

  private struct OpenFile {
    let path: String
    let descriptor: Int32
    /// Where its bytes are until they have their name.
    var partial: String?
  }

  private func write(
    _ content: [UInt8], at path: String, _ replacing: Bool, _ permissions: UInt32
  ) throws -> OpenFile {
    let place = full(path)
    if let present = try bytes(of: path, limit: max(content.count, 1 << 26)) {
      if present == content {
        let descriptor = open(place, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.fault("read", place) }
        return OpenFile(path: path, descriptor: descriptor, partial: nil)
      }
      guard replacing else {
        throw LogFault(
          .wouldOverwrite, "\(place) has other bytes than this log would write: it would be a fork",
          hint: "another log has written into this folder, or the file was changed; nothing was replaced")
      }
    }
    let folder = Self.parent(of: path)
    let partial = full("\(folder.isEmpty ? "" : folder + "/").\(Self.last(of: path)).partial")
    try willDo(.write, path)
    let descriptor = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, permissions)
    guard descriptor >= 0 else { throw Self.fault("write", partial) }
    var written = 0
    while written < content.count {
      let count = content.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + written, $0.count - written) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let fault = Self.fault("write", partial)
        close(descriptor)
        unlink(partial)
        throw fault
      }
      written += count
    }
    return OpenFile(path: path, descriptor: descriptor, partial: partial)
  }

  /// Removes a file; that there is none is no fault.
  func remove(_ path: String) throws {
    try willDo(.remove, path)
    guard unlink(full(path)) == 0 || errno == ENOENT || errno == ENOTDIR else { throw Self.fault("remove", full(path)) }
  }

  /// Removes the partial tiles that a full one has made needless.
  package func removePartials(of tile: Tile) throws {
    let folder = tile.full.path + ".p"
    guard access(full(folder), F_OK) == 0 else { return }
    for count in 1..<Tile.width where access(full("\(folder)/\(count)"), F_OK) == 0 { try remove("\(folder)/\(count)") }
    // Whoever has put something else there keeps it.
    _ = rmdir(full(folder))
  }

  // MARK: Folders

  private func makeFolders(_ folder: String) throws {
    var place = ""
    for part in path.split(separator: "/", omittingEmptySubsequences: false) {
      place += place.isEmpty && !part.isEmpty ? String(part) : "/\(part)"
      if !part.isEmpty, part != ".", access(place, F_OK) != 0 { try makeFolder(place) }
    }
    var inside = ""
    for part in folder.split(separator: "/") {
      let parent = inside
      inside += inside.isEmpty ? String(part) : "/\(part)"
      guard access(full(inside), F_OK) != 0 else { continue }
      try makeFolder(full(inside))
      try sync(parent)
    }
  }

  private func makeFolder(_ place: String) throws {
    try willDo(.makeFolder, place)
    guard mkdir(place, 0o755) == 0 || errno == EEXIST else { throw Self.fault("make the folder", place) }
  }

  private func sync(_ folder: String) throws {
    let place = folder.isEmpty ? path : full(folder)
    try willDo(.syncFolder, place)
    let descriptor = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.fault("sync", place) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw Self.fault("sync", place) }
  }

  private func full(_ path: String) -> String { "\(self.path)/\(path)" }

  private static func parent(of path: String) -> String {
    path.split(separator: "/").dropLast().joined(separator: "/")
  }

  private static func last(of path: String) -> Substring { path.split(separator: "/").last ?? "" }

  static func fault(_ verb: String, _ place: String) -> LogFault {
    LogFault(.inputOutput, "cannot \(verb) \(place): \(String(cString: strerror(errno)))")
  }
}
