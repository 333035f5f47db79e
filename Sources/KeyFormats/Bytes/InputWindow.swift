/// A sliding window over a source: the decoder works on plain memory, and asks for more when a record is cut off.
///
/// The pattern of every decoder: parse one record among the ``unread`` bytes; when the bytes run out, call
/// ``fill()`` and parse the record again from its start. Windows are large against records, so the repetition costs
/// nothing, and no decoder needs a state for "in the middle of a record".
public final class InputWindow {
  /// Start of the allocation; valid until the next ``fill()``.
  @usableFromInline private(set) var base: UnsafeMutableRawPointer
  private var capacity: Int
  /// Offset in the window of the first unread byte. The decoder moves it forward.
  @usableFromInline var position = 0
  /// Offset in the window behind the last byte that is there.
  @usableFromInline private(set) var end = 0
  /// Whether the source has nothing more to give.
  @usableFromInline private(set) var isAtEnd = false
  /// Offset in the document of the window's first byte.
  private var baseOffset = 0

  private let source: any ByteSource
  private let limits: ReadLimits

  /// `capacity` is the normal window in bytes; it grows up to the record limit for a larger record.
  public init(_ source: any ByteSource, limits: ReadLimits = ReadLimits(), capacity: Int = 128 << 10) {
    self.source = source
    self.limits = limits
    self.capacity = max(capacity, 16)
    base = .allocate(byteCount: self.capacity, alignment: 64)
  }

  deinit { base.deallocate() }

  /// The unread bytes that are in the window.
  @inlinable
  public var unread: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + position, count: end - position)
  }

  /// Offset in the document of the next unread byte.
  public var documentOffset: Int { baseOffset + position }

  /// Offset in the document of a place in the window.
  public func documentOffset(of windowOffset: Int) -> Int { baseOffset + windowOffset }

  /// Moves the unread bytes to the front and reads at least one more byte behind them.
  ///
  /// - Returns: whether anything came; `false` at the end of the document.
  /// - Throws: ``FormatError`` with `limitExceeded` when one record or the document is too large, or what the source
  ///   throws.
  public func fill() throws -> Bool {
    if isAtEnd { return false }
    if position > 0 {
      base.copyMemory(from: base + position, byteCount: end - position)
      baseOffset += position
      end -= position
      position = 0
    }
    if end == capacity { try grow() }
    let count = try source.read(into: UnsafeMutableRawBufferPointer(start: base + end, count: capacity - end))
    if count == 0 {
      isAtEnd = true
      return false
    }
    end += count
    guard baseOffset + end <= limits.documentBytes else {
      throw FormatError(
        .limitExceeded, byteOffset: limits.documentBytes,
        "the document goes on; at most \(limits.documentBytes) bytes are read")
    }
    return true
  }

  /// Makes at least `count` unread bytes available, and says whether there are that many.
  @inlinable
  public func require(_ count: Int) throws -> Bool {
    while end - position < count {
      if try !fill() { return false }
    }
    return true
  }

  /// Marks bytes as read.
  @inlinable
  public func skip(_ count: Int) {
    precondition(count >= 0 && count <= end - position)
    position += count
  }

  private func grow() throws {
    guard capacity < limits.recordBytes else {
      throw FormatError(
        .limitExceeded, byteOffset: documentOffset,
        "one record is larger than \(limits.recordBytes) bytes, the most that is read at once")
    }
    let larger = min(max(capacity * 2, 4096), max(limits.recordBytes, capacity + 1))
    let new = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 64)
    new.copyMemory(from: base, byteCount: end)
    base.deallocate()
    base = new
    capacity = larger
  }
}
