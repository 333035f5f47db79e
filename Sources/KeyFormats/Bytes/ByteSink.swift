/// Where a document's bytes go: a file, standard output, a deflating archive entry, a digest.
public protocol ByteSink: AnyObject {
  func write(_ bytes: UnsafeRawBufferPointer) throws
}

extension ByteSink {
  public func write(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try write($0) }
  }
}

/// Collects a document in memory.
public final class MemorySink: ByteSink {
  public private(set) var bytes: [UInt8] = []
  public init() {}
  public func write(_ bytes: UnsafeRawBufferPointer) { self.bytes.append(contentsOf: bytes) }
  func replace(_ range: Range<Int>, with new: [UInt8]) { bytes.replaceSubrange(range, with: new) }
}

/// Shows every byte to `observe` and passes it on: how a digest is taken of what is written.
public final class ObservedSink: ByteSink {
  private let sink: any ByteSink
  private let observe: (UnsafeRawBufferPointer) -> Void

  public init(_ sink: any ByteSink, observe: @escaping (UnsafeRawBufferPointer) -> Void) {
    self.sink = sink
    self.observe = observe
  }

  public func write(_ bytes: UnsafeRawBufferPointer) throws {
    observe(bytes)
    try sink.write(bytes)
  }
}

/// A buffer in front of a sink. Encoders reserve room, write through the pointer, and commit.
public final class OutputBuffer {
  @usableFromInline private(set) var base: UnsafeMutableRawPointer
  @usableFromInline private(set) var capacity: Int
  @usableFromInline var count = 0
  private let sink: any ByteSink

  public init(_ sink: any ByteSink, capacity: Int = 128 << 10) {
    self.sink = sink
    self.capacity = max(capacity, 64)
    base = .allocate(byteCount: self.capacity, alignment: 64)
  }

  deinit { base.deallocate() }

  /// A place with room for at least `room` bytes. Follow with ``commit(_:)`` before the next call.
  @inlinable
  public func reserve(_ room: Int) throws -> UnsafeMutableRawPointer {
    if capacity - count < room { try makeRoom(room) }
    return base + count
  }

  /// All the room that is left, at least `room` bytes. Follow with ``commit(_:)`` before the next call.
  @inlinable
  public func reserveAll(atLeast room: Int) throws -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: try reserve(room), count: capacity - count)
  }

  /// Says how many of the reserved bytes were written.
  @inlinable
  public func commit(_ written: Int) {
    precondition(written >= 0 && written <= capacity - count)
    count += written
  }

  public func append(_ bytes: UnsafeRawBufferPointer) throws {
    if bytes.count > capacity - count {
      try flush()
      if bytes.count >= capacity { return try sink.write(bytes) }
    }
    if let source = bytes.baseAddress { (base + count).copyMemory(from: source, byteCount: bytes.count) }
    count += bytes.count
  }

  public func append(_ bytes: some Collection<UInt8>) throws {
    let room = bytes.count
    let place = try reserve(room)
    UnsafeMutableRawBufferPointer(start: place, count: room).copyBytes(from: bytes)
    commit(room)
  }

  public func append(_ text: String) throws { try append(text.utf8) }

  public func append(_ text: StaticString) throws {
    try append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Passes everything on to the sink.
  public func flush() throws {
    guard count > 0 else { return }
    let full = UnsafeRawBufferPointer(start: base, count: count)
    count = 0
    try sink.write(full)
  }

  @usableFromInline
  func makeRoom(_ room: Int) throws {
    try flush()
    guard room > capacity else { return }
    base.deallocate()
    capacity = room
    base = .allocate(byteCount: capacity, alignment: 64)
  }
}
