internal import BundleTrust
internal import ExposureKeys
internal import Glibc
package import KeyFormats
internal import KeyIntake

/// Adds files to an archive. One process does so at a time.
///
/// The order of what is written: contents, each synced before it has its name; their folders; the records, behind those that are
/// there; and then the checkpoint, which says that they are kept. A crash anywhere takes back nothing that was told as kept, and
/// what it leaves behind the checkpoint is healed by the next one that adds.
package final class ArchiveWriter {
  /// One change of the folder.
  package enum Step: String, Sendable, CaseIterable {
    case makeFolder = "make-folder"
    case content
    case syncFolder = "sync-folder"
    case cut, append, sync, checkpoint, mark
  }

  /// What became of a file.
  package enum Outcome: Hashable, Sendable {
    /// Its bytes were not there.
    case new
    /// Its bytes were there, under another name.
    case newName
    /// It was seen before, under this name.
    case again
    /// Under this name other bytes were seen before.
    case changed(from: ArchiveSighting)
  }

  package let folder: ArchiveFolder
  package private(set) var catalogue: ArchiveCatalogue
  /// Records that an add which was stopped has left, and are kept; and bytes of a torn one, which are gone.
  package let healed: (records: Int, bytes: Int)
  /// Digests of contents that were missing or damaged, and were brought back by this.
  package private(set) var restored: Set<String> = []
  /// Whether it was begun by this.
  package let isNew: Bool

  private let willDo: (Step, String) throws -> Void
  private let time: Int64
  /// Seconds of a clock that nobody sets.
  private let uptime: () -> Int64
  private var committed: Int64
  private let lock: Int32
  /// The length of the catalogue on the disk.
  private var end: Int
  private var pending: [UInt8] = []
  private var pendingBytes = 0
  private var pendingContents = 0
  /// Folders of contents that are to be synced.
  private var folders: Set<String> = []
  /// Records of the kind `seen` that are true now, too.
  private var again: Set<Int> = []
  private var isBroken = false
  /// Digests of contents that were found as they were kept.
  private var whole: Set<String> = []

  // MARK: Beginning

  /// - Parameters:
  ///   - time: when what is added was seen, in seconds since 1970.
  ///   - uptime: seconds of a clock that nobody sets: what waits for longer than ``secondsAtOnce`` is kept.
  ///   - willDo: is told each change before it is made, and can make it fail.
  /// - Throws: ``ArchiveFault`` `in-use`, `not-an-archive` for a folder that has something else in it, and what reading throws.
  package init(
    _ path: String, at time: Int64, uptime: @escaping () -> Int64 = ArchiveWriter.uptime,
    willDo: @escaping (Step, String) throws -> Void = { _, _ in }
  ) throws {
    self.uptime = uptime
    committed = uptime()
    let folder = ArchiveFolder(path)
    self.folder = folder
    self.time = time
    self.willDo = willDo
    isNew = try Self.prepare(folder, willDo)
    let lock = try Self.take(folder)
    var isOpen = false
    defer { if !isOpen { close(lock) } }
    self.lock = lock
    if !ArchiveFolder.isArchive(folder.path) { try Self.begin(folder, willDo) }
    let reading = try folder.read()
    catalogue = reading.catalogue
    healed = (reading.unfinishedRecords, reading.tornBytes)
    end = reading.end
    isOpen = true
    if reading.tornBytes > 0 { try cut(to: reading.end) }
    // What an add that was stopped had not written to its end, whichever process that was: nobody else adds now.
    for path in try folder.unlisted(catalogue) where path.hasSuffix(".partial") {
      unlink(PathText.system(folder.place(path)))
    }
    // From here on the records that were left are kept.
    if healed.records > 0 { try writeCheckpoint() }
  }

  deinit { close(lock) }

  /// Of the machine.
  package static func uptime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec)
  }

  /// - Returns: whether there is no archive yet.
  private static func prepare(_ folder: ArchiveFolder, _ willDo: (Step, String) throws -> Void) throws -> Bool {
    if ArchiveFolder.isArchive(folder.path) { return false }
    if let names = try names(in: folder.path) {
      // What a beginning that was stopped has left may stand there.
      let own: Set = [
        ArchiveFolder.catalogueName, ArchiveFolder.checkpointName, ArchiveFolder.contentName, ArchiveFolder.lockName,
      ]
      let others = names.filter { !own.contains($0) && !$0.hasSuffix(".partial") }
      guard others.isEmpty else {
        throw ArchiveFault(
          .notAnArchive, "\(folder.path) is no archive, and there is something in it, such as \(others[0])",
          hint: "name a new folder, and it is begun there")
      }
      let catalogue = folder.place(ArchiveFolder.catalogueName)
      guard try FileIdentity(path: catalogue) == nil || FileSource(path: catalogue).byteCount == 0 else {
        throw ArchiveFault(
          .notAnArchive, "\(folder.path) has a catalogue with records, but no file \(ArchiveFolder.markName)",
          hint: "bring the file \(ArchiveFolder.markName) back from a copy")
      }
      return true
    }
    try make(folder.path, willDo)
    return true
  }

  private static func begin(_ folder: ArchiveFolder, _ willDo: (Step, String) throws -> Void) throws {
    let name = Hexadecimal.encode((0..<16).map { _ in UInt8.random(in: .min ... .max) })
    let origin = ArchiveCheckpoint.prefix + name
    let empty = ArchiveCatalogue(origin: origin)
    if try names(in: folder.place(ArchiveFolder.contentName)) == nil {
      try make(folder.place(ArchiveFolder.contentName), willDo)
    }
    let texts = [
      (ArchiveFolder.catalogueName, Step.append, ""),
      (ArchiveFolder.checkpointName, Step.checkpoint, empty.checkpoint.text),
      // Last, so that there is an archive only when all is there.
      (ArchiveFolder.markName, Step.mark, "\(ArchiveFolder.firstLine)\n\(origin)\n"),
    ]
    for (name, step, text) in texts {
      try willDo(step, name)
      let file = try output(folder.place(name))
      try file.write(Array(text.utf8))
      try file.commit()
      try sync(folder.path, willDo)
    }
  }

  private static func take(_ folder: ArchiveFolder) throws -> Int32 {
    let place = folder.place(ArchiveFolder.lockName)
    let lock = open(PathText.system(place), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o666)
    guard lock >= 0 else { throw FileFault("open", place, number: errno) }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      close(lock)
      throw ArchiveFault(
        .inUse, "\(folder.path): another process adds to this archive", hint: "try again when it has ended")
    }
    return lock
  }

  // MARK: Adding

  /// Takes a file. It is kept when ``commit()`` has returned, which this calls now and then.
  ///
  /// - Parameters:
  ///   - name: what it is called: a path, an address, or a given name.
  ///   - signature: the bytes of the `.sig` beside a bare `.bin`.
  ///   - facts: what it says of itself; asked for new bytes alone.
  /// - Throws: ``ArchiveFault`` `bad-name`, and what reading the file throws, where nothing was done; what writing throws.
  package func add(
    _ source: any SeekableSource, signature: [UInt8]? = nil, name: String, facts: () throws -> ContentFacts
  ) throws -> Outcome {
    guard !isBroken else { throw ArchiveFault(.badRecord, "\(folder.path): the archive is to be opened again") }
    guard !name.isEmpty, name.utf8.count <= ArchiveRecord.nameLimit else {
      throw ArchiveFault(
        .badName, "a name of \(name.utf8.count) bytes, allowed are 1...\(ArchiveRecord.nameLimit)")
    }
    let digest = try SourceDocument.digest(of: source).hexadecimal
    let signatureDigest = signature.map { ExportDigests(of: $0, includingBody: false).hexadecimal }
    try restore(digest, source)
    if let signature, let signatureDigest { try restore(signatureDigest, MemorySource(signature)) }
    if let number = catalogue.number(of: name, digest, signatureDigest) {
      let before = catalogue.sighting(of: name)
      again.insert(catalogue.record(ofSighting: number))
      // The bytes of some time ago are back.
      if let before, before.digest != digest || before.signature != signatureDigest {
        try commit()
        return .changed(from: before)
      }
      if uptime() - committed >= Self.secondsAtOnce { try commit() }
      return .again
    }
    let before = catalogue.sighting(of: name)
    var isNew = false
    if let signature, let signatureDigest, catalogue[signatureDigest] == nil {
      isNew = true
      try keep(MemorySource(signature), signatureDigest, ContentFacts())
    }
    if catalogue[digest] == nil {
      isNew = true
      // A file that is damaged is kept all the same.
      try keep(source, digest, try facts())
    }
    try append(.seen(name: name, digest: digest, signature: signatureDigest, at: time))
    let isLong = uptime() - committed >= Self.secondsAtOnce
    if isLong || pendingBytes > Self.bytesAtOnce || pendingContents >= Self.contentsAtOnce { try commit() }
    if let before { return .changed(from: before) }
    return isNew ? .new : .newName
  }

  private static let bytesAtOnce = 64 << 20
  private static let contentsAtOnce = 256
  /// A slow server gives a few files in that time.
  package static let secondsAtOnce: Int64 = 30

  private func keep(_ source: any SeekableSource, _ digest: String, _ facts: ContentFacts) throws {
    let content = ArchivedContent(digest: digest, byteCount: source.byteCount, facts: facts)
    try write(source, digest)
    whole.insert(digest)
    pendingBytes += source.byteCount
    pendingContents += 1
    try append(.content(content))
  }

  private func write(_ source: any SeekableSource, _ digest: String) throws {
    let path = ArchiveFolder.contentPath(digest)
    let above = "\(ArchiveFolder.contentName)/\(digest.prefix(2))"
    if FileIdentity(path: folder.place(above)) == nil {
      try Self.make(folder.place(above), willDo)
      folders.insert(ArchiveFolder.contentName)
    }
    try willDo(.content, path)
    // Nobody writes to it again.
    let file = try Self.output(folder.place(path), permissions: 0o444)
    try Self.copy(source, digest, to: file)
    try file.commit()
    folders.insert(above)
  }

  /// Who brings the bytes of a content that is missing or damaged brings it back.
  private func restore(_ digest: String, _ source: any SeekableSource) throws {
    guard let content = catalogue[digest], whole.insert(digest).inserted else { return }
    do {
      try folder.verify(content)
    } catch is ArchiveFault {
      try write(source, digest)
      restored.insert(digest)
      // What is brought back is on the disk before it is told.
      for name in folders.sorted() { try Self.sync(folder.place(name), willDo) }
      folders = []
    }
  }

  private static func copy(_ source: any SeekableSource, _ digest: String, to file: OutputFile) throws {
    let copied = DigestCollector(includingBody: false)
    let bytes = SequentialSource(source)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { buffer.deallocate() }
    while case let count = try bytes.read(into: buffer), count > 0 {
      let piece = UnsafeRawBufferPointer(rebasing: buffer[..<count])
      copied.update(piece)
      try file.write(piece)
    }
    guard copied.finish().hexadecimal == digest else {
      throw FileFault("read", file.path, reason: "the file changed while it was read; add it again")
    }
  }

  private func append(_ record: ArchiveRecord) throws {
    let line = record.bytes
    if let reason = line.withUnsafeBytes({ catalogue.take(record, line: $0) }) {
      throw ArchiveFault(.badRecord, "\(folder.path): a record cannot be added: \(reason)")
    }
    pending += line
    pending.append(0x0A)
  }

  /// When this returns, what was taken is kept: no crash takes it back.
  package func commit() throws {
    if !again.isEmpty { try append(.again(Self.ranges(again), at: time)) }
    again = []
    committed = uptime()
    guard !pending.isEmpty else { return }
    isBroken = true
    for name in folders.sorted() { try Self.sync(folder.place(name), willDo) }
    try willDo(.append, ArchiveFolder.catalogueName)
    try withCatalogue { descriptor, place in
      try pending.withUnsafeBytes { try writeFully($0, to: descriptor, at: end, path: place) }
      try willDo(.sync, ArchiveFolder.catalogueName)
      guard fsync(descriptor) == 0 else { throw FileFault("write", place, number: errno) }
    }
    end += pending.count
    (pending, pendingBytes, pendingContents, folders) = ([], 0, 0, [])
    try writeCheckpoint()
    isBroken = false
  }

  private static func ranges(_ records: Set<Int>) -> [ClosedRange<Int>] {
    var ranges: [ClosedRange<Int>] = []
    for record in records.sorted() {
      if let last = ranges.last, last.upperBound == record - 1 {
        ranges[ranges.count - 1] = last.lowerBound...record
      } else {
        ranges.append(record...record)
      }
    }
    return ranges
  }

  // MARK: The folder

  private func writeCheckpoint() throws {
    try willDo(.checkpoint, ArchiveFolder.checkpointName)
    let file = try Self.output(folder.place(ArchiveFolder.checkpointName))
    try file.write(Array(catalogue.checkpoint.text.utf8))
    try file.commit()
    try Self.sync(folder.path, willDo)
  }

  /// Takes away what a crash has left of a record.
  private func cut(to length: Int) throws {
    try willDo(.cut, ArchiveFolder.catalogueName)
    try withCatalogue { descriptor, place in
      guard ftruncate(descriptor, off_t(length)) == 0, fsync(descriptor) == 0 else {
        throw FileFault("write", place, number: errno)
      }
    }
  }

  private func withCatalogue(_ body: (Int32, String) throws -> Void) throws {
    let place = folder.place(ArchiveFolder.catalogueName)
    let descriptor = open(PathText.system(place), O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw FileFault("write", place, number: errno) }
    defer { close(descriptor) }
    try body(descriptor, place)
  }

  /// Whoever has the lock may take the place of what a process of the same number has left.
  private static func output(_ place: String, permissions: UInt32 = 0o666) throws -> OutputFile {
    unlink(PathText.system(place + OutputFile.partialEnding))
    return try OutputFile(path: place, permissions: permissions)
  }

  private static func make(_ place: String, _ willDo: (Step, String) throws -> Void) throws {
    try willDo(.makeFolder, place)
    guard mkdir(PathText.system(place), 0o777) == 0 || errno == EEXIST else {
      throw FileFault("create", place, number: errno)
    }
  }

  private static func sync(_ place: String, _ willDo: (Step, String) throws -> Void) throws {
    try willDo(.syncFolder, place)
    let descriptor = open(PathText.system(place), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileFault("open", place, number: errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw FileFault("write", place, number: errno) }
  }

  /// `nil` where there is no folder.
  private static func names(in path: String) throws -> [String]? {
    guard let folder = opendir(PathText.system(path)) else {
      guard errno == ENOENT else { throw FileFault("open", path, number: errno) }
      return nil
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
