/// Deflates (RFC 1951) a document that is mostly key records, as `export.bin` is: many times as fast as a library for
/// anything, and no larger than its best level.
///
/// Writes an ordinary stream of DEFLATE. Blocks of the document in which key records are rare, and documents that are no
/// `export.bin`, go to zlib, level 6; an `export.bin` of a few kilobytes goes to zlib, level 9. What is written depends on
/// the bytes alone, and not on how they were cut for ``write(_:)``. Memory is bounded: 1.4 MB, of which small
/// documents touch only what they need.
package final class DeflateWriter: ByteSink {
  private let shortDocument: Int
  /// A shorter last block does not earn the codes in its head.
  static let shortBlock = 1 << 10

  private let emit: (UnsafeRawBufferPointer) throws -> Void

  /// The window in front, then the block, then what may be read but not used.
  private let buffer: UnsafeMutableRawPointer
  /// Where the bytes begin that are not written yet, and where they end.
  private var start = DeflateSymbols.windowBytes
  private var end = DeflateSymbols.windowBytes
  private let capacity: Int
  /// Bytes of the document in front of `start`.
  private var position = 0

  private let output: UnsafeMutableRawBufferPointer
  private var bits: BitWriter
  private var emitted = 0

  private var matcher: KeyRecordMatcher?
  private var plan: KeyBlockPlan
  private let blockWriter = KeyBlockWriter()

  /// - Parameters:
  ///   - blockBytes: bytes of the document in one block, 8 KiB or more. Block, plan and output together are to stay in the
  ///     second-level cache.
  ///   - shortDocument: a shorter `export.bin` is left to zlib. With few keys to learn from, its longer search finds more.
  ///   - emit: takes the stream, in pieces.
  package init(
    blockBytes: Int = 256 << 10, shortDocument: Int = 128 << 10,
    emit: @escaping (UnsafeRawBufferPointer) throws -> Void
  ) {
    precondition(blockBytes >= 8 << 10 && shortDocument <= blockBytes)
    self.emit = emit
    self.shortDocument = shortDocument
    capacity = DeflateSymbols.windowBytes + blockBytes
    buffer = .allocate(byteCount: capacity + KeyRecordMatcher.lookAhead, alignment: 64)
    output = .allocate(byteCount: KeyBlockWriter.room(for: blockBytes) + 64, alignment: 64)
    bits = BitWriter(UnsafeMutableRawPointer(output.baseAddress ?? buffer))
    plan = KeyBlockPlan(blockBytes: blockBytes)
  }

  deinit {
    buffer.deallocate()
    output.deallocate()
    plan.deallocate()
    blockWriter.deallocate()
    matcher?.deallocate()
  }

  package func write(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes
    while let source = rest.baseAddress, rest.count > 0 {
      // Not before something follows: the last block ends the stream.
      if end == capacity { try writeBlock(isLast: false) }
      let count = min(rest.count, capacity - end)
      (buffer + end).copyMemory(from: source, byteCount: count)
      end += count
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Writes what is left, and the end of the stream.
  ///
  /// - Returns: how many bytes the stream has.
  package func finish() throws -> Int {
    try writeBlock(isLast: true)
    bits.align()
    try emitWholeBytes()
    return emitted
  }

  private func writeBlock(isLast: Bool) throws {
    if position == 0 { beginDocument() }
    var stop = end
    if isLast, position == 0, end - start < shortDocument {
      try writeByLibrary(to: end, level: matcher?.isLost == false ? 9 : 6, isLast: true)
    } else if isLast, end - start < Self.shortBlock {
      try writeByLibrary(to: end, level: 6, isLast: true)
    } else {
      stop = planBlock(isLast: isLast)
      if isWorthOwnCodes(stop) {
        try writeOwnBlock(to: stop, isLast: isLast)
      } else {
        try writeByLibrary(to: stop, level: 6, isLast: isLast)
      }
    }
    try emitWholeBytes()
    position += stop - start
    // The window moves to the front, with what of the last record is not written yet.
    let kept = end - stop
    buffer.copyMemory(
      from: buffer + stop - DeflateSymbols.windowBytes, byteCount: DeflateSymbols.windowBytes + kept)
    start = DeflateSymbols.windowBytes
    end = start + kept
  }

  /// Only what begins as an `export.bin` is looked at for keys.
  private func beginDocument() {
    var matcher = KeyRecordMatcher()
    let header = ExportDecoder.fileHeader
    let front = UnsafeRawBufferPointer(start: buffer + start, count: min(header.count, end - start))
    if front.elementsEqual(header) { matcher.skipFront(header.count) } else { matcher.lose() }
    self.matcher = matcher
  }

  private func planBlock(isLast: Bool) -> Int {
    plan.reset()
    return matcher?.plan(
      buffer, from: start, to: end, position: KeyRecordMatcher.origin &+ UInt32(truncatingIfNeeded: position),
      takesAll: isLast,
      into: &plan) ?? end
  }

  private func isWorthOwnCodes(_ stop: Int) -> Bool {
    matcher?.isLost == false && plan.keyCount * 40 > (stop - start) && plan.repeatedKeys * 4 < plan.keyCount
  }

  private func writeOwnBlock(to stop: Int, isLast: Bool) throws {
    let before = bits
    let place = bits.place
    blockWriter.write(plan, buffer + start, isLast: isLast, to: &bits)
    let count = stop - start
    let stored = count + (count / 65535 + 1) * 5
    if bits.bitCount(from: place) > stored * 8 {
      bits = before
      try writeByLibrary(to: stop, level: 0, isLast: isLast)
    }
  }

  private func writeByLibrary(to stop: Int, level: Int32, isLast: Bool) throws {
    // What precedes ends with a whole byte: an empty block is needed only behind a block of ours.
    if bits.isInsideByte { bits.alignByEmptyBlock() }
    let library = try LibraryDeflate(level: level)
    let window = min(position, DeflateSymbols.windowBytes)
    let written = bits.place - (output.baseAddress ?? buffer)
    let count = try library.deflate(
      UnsafeRawBufferPointer(start: buffer + start, count: stop - start),
      window: UnsafeRawBufferPointer(start: buffer + start - window, count: window), isLast: isLast,
      to: UnsafeMutableRawBufferPointer(rebasing: output[written...]))
    bits.place += count
  }

  /// Passes the whole bytes on; up to seven bits stay for the next block.
  private func emitWholeBytes() throws {
    guard let base = output.baseAddress, bits.place > base else { return }
    let count = bits.place - base
    try emit(UnsafeRawBufferPointer(start: base, count: count))
    emitted += count
    bits.move(to: base)
  }
}
