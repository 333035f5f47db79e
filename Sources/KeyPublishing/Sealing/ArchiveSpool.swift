internal import KeyFormats
internal import KeyIntake
internal import KeyStorage
internal import Synchronization

/// Archives on their way into the store: the first few begin in memory, and all that is larger, or comes later, lies in one
/// temporary file without a name, in blocks. However many there are, they take one descriptor and a few MiB of memory.
///
/// One owner writes archives, one after the other, before they are shared; then they are only read, at given places, from any
/// thread, and let go on any thread.
final class ArchiveShelf: @unchecked Sendable {
  static let blockSize = 1 << 16
  /// How many archives at a time begin in memory.
  private static let mostInMemory = 64

  private struct Room {
    var inMemory = 0
    var freeBlocks: [Int] = []
  }

  /// What archives that are let go give back.
  private let room = Mutex(Room())
  private var file: SpoolFile?
  private var blockCount = 0

  /// - Returns: whether another archive may begin in memory; who does says when it has left.
  fileprivate func takeMemory() -> Bool {
    room.withLock { room in
      guard room.inMemory < Self.mostInMemory else { return false }
      room.inMemory += 1
      return true
    }
  }

  fileprivate func giveMemoryBack() { room.withLock { $0.inMemory -= 1 } }

  fileprivate func takeBlock() -> Int {
    if let block = room.withLock({ $0.freeBlocks.popLast() }) { return block }
    blockCount += 1
    return blockCount - 1
  }

  fileprivate func giveBack(_ blocks: [Int]) { room.withLock { $0.freeBlocks += blocks } }

  fileprivate func write(_ bytes: UnsafeRawBufferPointer, to block: Int, at offset: Int) throws {
    let file = try self.file ?? SpoolFile()
    self.file = file
    try file.write(bytes, at: block * Self.blockSize + offset)
  }

  fileprivate func read(from block: Int, at offset: Int, into buffer: UnsafeMutableRawBufferPointer)
    throws -> Int
  {
    guard let file else { return 0 }
    return try file.read(at: block * Self.blockSize + offset, into: buffer)
  }
}

/// An archive while it is made and until it is staged; see ``ArchiveShelf``.
final class ArchiveSpool: PatchableSink, SeekableSource, @unchecked Sendable {
  private let shelf: ArchiveShelf
  private(set) var byteCount = 0
  /// All of it while it is in memory.
  private var front: MemorySink?
  private var blocks: [Int] = []

  init(on shelf: ArchiveShelf) {
    self.shelf = shelf
    if shelf.takeMemory() { front = MemorySink() }
  }

  deinit {
    if front != nil { shelf.giveMemoryBack() }
    shelf.giveBack(blocks)
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    if let front {
      if byteCount + bytes.count <= ArchiveShelf.blockSize {
        front.write(bytes)
        byteCount += bytes.count
        return
      }
      self.front = nil
      shelf.giveMemoryBack()
      try front.bytes.withUnsafeBytes { try put($0, at: 0) }
    }
    try put(bytes, at: byteCount)
    byteCount += bytes.count
  }

  func overwrite(at offset: Int, with bytes: [UInt8]) throws {
    if let front {
      front.overwrite(at: offset, with: bytes)
    } else {
      try bytes.withUnsafeBytes { try put($0, at: offset) }
    }
  }

  func discard() {
    front?.discard()
    byteCount = 0
  }

  /// Writes bytes that begin in a block that there is, or at the end of the last one.
  private func put(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
    var (rest, offset) = (bytes, offset)
    while !rest.isEmpty {
      let (number, place) = offset.quotientAndRemainder(dividingBy: ArchiveShelf.blockSize)
      if number == blocks.count { blocks.append(shelf.takeBlock()) }
      let count = min(rest.count, ArchiveShelf.blockSize - place)
      try shelf.write(
        UnsafeRawBufferPointer(rebasing: rest[..<count]), to: blocks[number], at: place)
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      offset += count
    }
  }

  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard offset >= 0, offset < byteCount else { return 0 }
    let whole = min(buffer.count, byteCount - offset)
    if let front {
      front.bytes.withUnsafeBytes {
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + whole]))
      }
      return whole
    }
    var filled = 0
    while filled < whole {
      let (number, place) = (offset + filled).quotientAndRemainder(
        dividingBy: ArchiveShelf.blockSize)
      let end = filled + min(whole - filled, ArchiveShelf.blockSize - place)
      let count = try shelf.read(
        from: blocks[number], at: place,
        into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<end]))
      if count == 0 { break }
      filled += count
    }
    return filled
  }

  /// As the store takes it.
  var stored: StoredBytes { StoredBytes(count: byteCount) { [self] in try read(at: $0, into: $1) } }
}
