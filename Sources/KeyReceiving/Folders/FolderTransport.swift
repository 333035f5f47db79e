package import ExposureKeys
internal import Glibc
internal import KeyIntake
package import KeyPeers
internal import KeyStorage

/// Serves a folder of this machine to the protocol `files`.
///
/// Regular files of the folder itself are served; folders, links and devices are not, so nothing outside the folder is
/// ever read. A file waits while it may still be written: changed within the last two seconds, or named `….part`,
/// `….partial`, `….tmp` or with a dot in front. `x.sig` beside `x.bin` belongs to it: it is no document, and
/// ``fetch(_:into:byteLimit:)`` puts it beside the copy, as `path.sig`.
///
/// A refused file is moved to the folder `refused`, with a text beside it that says why.
package struct FolderTransport: Transport {
  /// Where refused files go.
  package static let refusedFolder = "refused"
  private static let reasonSuffix = Array(".why.txt".utf8)

  static let quietSeconds: Int64 = 2
  static let signatureByteLimit = 1 << 20
  private static let unfinishedEndings = [".part", ".partial", ".tmp"]

  package let path: String
  private let now: @Sendable () -> Instant

  /// - Parameters:
  ///   - path: the folder; it need not exist yet.
  ///   - now: the time, in the file system's clock.
  package init(path: String, now: @escaping @Sendable () -> Instant) {
    self.path = path
    self.now = now
  }

  /// Answers the empty address with the list of files that are ready.
  package func ask(_ request: PeerRequest) async throws -> (head: ResponseHead, body: [UInt8]) {
    guard request.url.isEmpty else { return (ResponseHead(status: 404), []) }
    let body = try listing().text
    guard body.count <= request.byteLimit else {
      throw fault(.tooLarge, "its listing has \(body.count) bytes, at most \(request.byteLimit) are read")
    }
    return (ResponseHead(status: 200), body)
  }

  /// Copies a file whose address is its document's name, if it is still the same one.
  ///
  /// - Throws: ``TransportFault`` `changed` for a file that is being written, `too-large`, `not-a-file`,
  ///   `input-output`.
  package func fetch(_ request: PeerRequest, into path: String, byteLimit: Int) async throws -> ResponseHead {
    guard let file = FolderListing.File(documentName: request.url) else { return ResponseHead(status: 404) }
    let folder = try Descriptor.folder(self)
    guard let source = try open(file.name, in: folder) else { return ResponseHead(status: 404) }
    guard try state(of: source, file.name) == file else { throw changed(file) }
    try copy(source, named: file.name, into: path, byteLimit: byteLimit)
    guard try state(of: source, file.name) == file else {
      unlink(path)
      throw changed(file)
    }
    if let companion = Self.signatureName(of: file.name), let signature = try open(companion, in: folder) {
      try copy(
        signature, named: companion, into: SpoolFolder.signaturePath(of: path), byteLimit: Self.signatureByteLimit)
    }
    return ResponseHead(status: 200)
  }

  /// Moves a document's file to `refused/`, with a text `NAME.why.txt` beside it. Where a file of its name lies there
  /// already, both get a number: `keys.2.zip`, `keys.2.zip.why.txt`. The signature of a `.bin` goes with it, so that all
  /// can be moved back; such a text is no document then.
  ///
  /// - Parameters:
  ///   - documentName: as the machine named it.
  ///   - reason: one line, for people.
  /// - Returns: where the file is now; `nil` where it is gone or another file has its name.
  /// - Throws: ``TransportFault``.
  @discardableResult
  package func setAside(_ documentName: String, reason: String) throws -> String? {
    guard let file = FolderListing.File(documentName: documentName) else { return nil }
    let folder = try Descriptor.folder(self)
    guard let source = try open(file.name, in: folder), try state(of: source, file.name) == file else { return nil }
    guard mkdirat(folder.number, Self.refusedFolder, 0o700) == 0 || errno == EEXIST else {
      throw failure("make \(Self.refusedFolder)/")
    }
    let refused = Descriptor(openat(folder.number, Self.refusedFolder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
    guard let refused else { throw failure("open \(Self.refusedFolder)/") }
    // The text goes first: a crash in between leaves a text too many, and never a file without its reason.
    let place = try writeReason("\(reason)\n", for: file.name, in: refused)
    guard renameat(folder.number, terminated(file.name), refused.number, terminated(place)) == 0 else {
      throw failure("move \(shown(file.name)) to \(Self.refusedFolder)/")
    }
    if let companion = Self.signatureName(of: file.name) {
      let name = Self.signatureName(of: place) ?? place + Array(".sig".utf8)
      _ = renameat(folder.number, terminated(companion), refused.number, terminated(name))
    }
    return "\(path)/\(Self.refusedFolder)/\(shown(place))"
  }

  // MARK: The listing

  func listing() throws -> FolderListing {
    let folder = try Descriptor.folder(self)
    let names = try names(in: folder)
    let present = Set(names)
    var files: [FolderListing.File] = []
    for name in names
    where !isUnfinished(name) && !name.suffix(Self.reasonSuffix.count).elementsEqual(Self.reasonSuffix) {
      if let bundle = Self.exportName(of: name), present.contains(bundle) { continue }
      var status = stat()
      guard fstatat(folder.number, terminated(name), &status, AT_SYMLINK_NOFOLLOW) == 0,
        status.st_mode & S_IFMT == S_IFREG
      else { continue }
      // Some file systems keep any number as a time.
      let changed = Instant(secondsSince1970: Int64(status.st_mtim.tv_sec))
      let age = now().secondsSince1970 - changed.secondsSince1970
      guard age.magnitude > Self.quietSeconds.magnitude else { continue }
      files.append(FolderListing.File(name, status))
    }
    return FolderListing(files: files)
  }

  private func names(in folder: borrowing Descriptor) throws -> [[UInt8]] {
    let copy = fcntl(folder.number, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0, let stream = fdopendir(copy) else { throw failure("read") }
    defer { closedir(stream) }
    var names: [[UInt8]] = []
    errno = 0
    while let entry = readdir(stream) {
      guard names.count < FolderListing.fileLimit else {
        throw fault(.tooLarge, "it has more than \(FolderListing.fileLimit) entries: remove what is recorded")
      }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name.first != UInt8(ascii: ".") { names.append(name) }
      errno = 0
    }
    guard errno == 0 else { throw failure("read") }
    return names
  }

  private func isUnfinished(_ name: [UInt8]) -> Bool {
    Self.unfinishedEndings.contains { name.suffix($0.utf8.count).elementsEqual($0.utf8) }
  }

  /// `x.sig` for `x.bin`.
  private static func signatureName(of name: [UInt8]) -> [UInt8]? { renamed(name, from: ".bin", to: ".sig") }

  /// `x.bin` for `x.sig`.
  private static func exportName(of name: [UInt8]) -> [UInt8]? { renamed(name, from: ".sig", to: ".bin") }

  private static func renamed(_ name: [UInt8], from: String, to ending: String) -> [UInt8]? {
    name.count > 4 && name.suffix(4).elementsEqual(from.utf8) ? name.dropLast(4) + Array(ending.utf8) : nil
  }

  // MARK: Files

  /// `nil` where there is none.
  private func open(_ name: [UInt8], in folder: borrowing Descriptor) throws -> Descriptor? {
    // Without O_NONBLOCK a pipe would hold us until somebody writes to it.
    if let file = Descriptor(
      openat(folder.number, terminated(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))
    {
      return file
    }
    if errno == ENOENT { return nil }
    if errno == ELOOP { throw fault(.notAFile, "\(shown(name)) is a link") }
    throw failure("open \(shown(name))")
  }

  private func state(of file: borrowing Descriptor, _ name: [UInt8]) throws -> FolderListing.File {
    var status = stat()
    guard fstat(file.number, &status) == 0 else { throw failure("read \(shown(name))") }
    guard status.st_mode & S_IFMT == S_IFREG else { throw fault(.notAFile, "\(shown(name)) is not a regular file") }
    return FolderListing.File(name, status)
  }

  private func copy(
    _ source: borrowing Descriptor, named name: [UInt8], into path: String, byteLimit: Int
  ) throws {
    guard let target = Descriptor(Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)) else {
      throw failure("write \(path)")
    }
    do {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
      defer { buffer.deallocate() }
      var total = 0
      while true {
        let count = read(source.number, buffer.baseAddress, buffer.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw failure("read \(shown(name))") }
        if count == 0 { return }
        total += count
        guard total <= byteLimit else {
          throw fault(.tooLarge, "\(shown(name)) has more than \(byteLimit) bytes, the limit of its source")
        }
        try writeFully(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: target.number, at: nil, path: path)
      }
    } catch {
      unlink(path)
      throw error
    }
  }

  /// `keys.2.zip` for `keys.zip`: its ending says still what it is.
  private static func numbered(_ name: [UInt8], _ number: Int) -> [UInt8] {
    let dot = name.dropFirst().lastIndex(of: UInt8(ascii: ".")) ?? name.endIndex
    return Array(name[..<dot]) + Array(".\(number)".utf8) + Array(name[dot...])
  }

  /// Writes the text under a number that is free for all names.
  ///
  /// - Returns: the name for the file.
  private func writeReason(
    _ reason: String, for name: [UInt8], in refused: borrowing Descriptor
  ) throws -> [UInt8] {
    for number in 1...9999 {
      let place = number == 1 ? name : Self.numbered(name, number)
      var status = stat()
      let names = [place] + [Self.signatureName(of: place)].compactMap(\.self)
      guard names.allSatisfy({ fstatat(refused.number, terminated($0), &status, AT_SYMLINK_NOFOLLOW) != 0 }) else {
        continue
      }
      let textName = terminated(place + Self.reasonSuffix)
      let text = Descriptor(openat(refused.number, textName, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600))
      guard let text else {
        if errno == EEXIST { continue }
        throw failure("write to \(Self.refusedFolder)/")
      }
      try Array(reason.utf8).withUnsafeBytes {
        try writeFully($0, to: text.number, at: nil, path: "\(path)/\(Self.refusedFolder)")
      }
      return place
    }
    throw fault(.tooLarge, "\(Self.refusedFolder)/ has thousands of files named \(shown(name))")
  }

  // MARK: Faults

  fileprivate func failure(_ what: String) -> TransportFault {
    let code: FaultCode = errno == ENOENT || errno == ENOTDIR ? .notFound : .inputOutput
    return fault(code, "cannot \(what): \(String(cString: strerror(errno)).lowercased())")
  }

  private func changed(_ file: FolderListing.File) -> TransportFault {
    fault(.changed, "\(shown(file.name)) was changed since it was listed; it is taken up when it rests")
  }

  private func fault(_ code: FaultCode, _ reason: String) -> TransportFault {
    TransportFault(
      code: code, reason: "folder \(path): \(reason)",
      isTemporary: [.changed, .inputOutput, .notFound].contains(code))
  }

  private func shown(_ name: [UInt8]) -> String { String(decoding: name, as: UTF8.self) }

  private func terminated(_ name: [UInt8]) -> [CChar] { name.map { CChar(bitPattern: $0) } + [0] }
}

extension FolderListing.File {
  fileprivate init(_ name: [UInt8], _ status: stat) {
    self.init(
      name: name, size: Int64(status.st_size), seconds: Int64(status.st_mtim.tv_sec),
      nanoseconds: Int64(status.st_mtim.tv_nsec))
  }
}

/// An open file or folder, closed at the end of its life.
private struct Descriptor: ~Copyable {
  let number: Int32

  /// `nil` where opening failed; `errno` says why.
  init?(_ number: Int32) {
    guard number >= 0 else { return nil }
    self.number = number
  }

  static func folder(_ transport: FolderTransport) throws -> Descriptor {
    guard let folder = Descriptor(Glibc.open(transport.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) else {
      throw transport.failure("open it")
    }
    return folder
  }

  deinit { close(number) }
}
