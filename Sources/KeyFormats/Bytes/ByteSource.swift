/// Where a document's bytes come from: a file, standard input, an inflating archive entry. Formats see nothing else.
public protocol ByteSource: AnyObject {
  /// Fills `buffer` from its front and returns how many bytes it wrote; 0 means the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

/// Bytes that can be read at any place, as a ZIP archive needs them.
public protocol SeekableSource: AnyObject {
  var byteCount: Int { get }
  /// Fills `buffer` with the bytes from `offset` on and returns how many it wrote: fewer only at the end.
  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

/// A document that is in memory already.
public final class MemorySource: ByteSource, SeekableSource {
  private let bytes: [UInt8]
  private var position = 0

  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  public var byteCount: Int { bytes.count }

  public func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = read(at: position, into: buffer)
    position += count
    return count
  }

  public func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard offset >= 0, offset < bytes.count else { return 0 }
    let count = min(buffer.count, bytes.count - offset)
    bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count])) }
    return count
  }
}

/// Reads a seekable source from front to back, or a part of it.
public final class SequentialSource: ByteSource {
  private let source: any SeekableSource
  private var position: Int
  private let end: Int

  public init(_ source: any SeekableSource, range: Range<Int>? = nil) {
    self.source = source
    position = range?.lowerBound ?? 0
    end = min(range?.upperBound ?? source.byteCount, source.byteCount)
  }

  public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let wanted = min(buffer.count, end - position)
    guard wanted > 0 else { return 0 }
    let count = try source.read(at: position, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
    position += count
    return count
  }
}

/// Hands every byte that passes to `observe`, in order: how a digest is taken of what a decoder reads.
public final class ObservedSource: ByteSource {
  private let source: any ByteSource
  private let observe: (UnsafeRawBufferPointer) -> Void

  public init(_ source: any ByteSource, observe: @escaping (UnsafeRawBufferPointer) -> Void) {
    self.source = source
    self.observe = observe
  }

  public func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let count = try source.read(into: buffer)
    observe(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    return count
  }
}

extension ByteSource {
  /// Everything that is left, which must not be more than `limit` bytes.
  public func readAll(limit: Int) throws -> [UInt8] {
    let step = 1 << 16
    // Room that is not filled costs nothing.
    return try withUnsafeTemporaryAllocation(byteCount: step, alignment: 16) { room in
      var bytes: [UInt8] = []
      while true {
        let part = UnsafeMutableRawBufferPointer(rebasing: room[..<min(step, limit - bytes.count + 1)])
        let count = try read(into: part)
        guard count > 0 else { return bytes }
        bytes += part[..<count]
        guard bytes.count <= limit else {
          throw FormatError(.limitExceeded, "more than \(limit) bytes, allowed are at most \(limit)")
        }
      }
    }
  }
}
