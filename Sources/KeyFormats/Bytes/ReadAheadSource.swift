#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Reads another source on a thread of its own, a few pieces ahead, so that inflating overlaps with what is done with the
/// bytes. What the other source throws is thrown where its bytes would have come.
///
/// The thread begins with the first read and is gone with this object. From then on the other source is the thread's.
final class ReadAheadSource: ByteSource {
  private let pieces: PieceQueue
  private var thread: pthread_t?
  private var hasBegun = false
  /// What is left of the piece that was taken last.
  private var rest = UnsafeRawBufferPointer(start: nil, count: 0)
  private var end: Result<Void, any Error>?

  init(_ source: any ByteSource) { pieces = PieceQueue(source) }

  deinit {
    guard let thread else { return }
    pieces.stop()
    pthread_join(thread, nil)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard !buffer.isEmpty else { return 0 }
    if !hasBegun { begin() }
    // A system that gives no thread gives the bytes all the same.
    guard thread != nil else { return try pieces.source.read(into: buffer) }
    if rest.isEmpty {
      if let end {
        try end.get()
        return 0
      }
      switch pieces.take() {
      case .piece(let bytes): rest = bytes
      case .end(let result):
        end = result
        try result.get()
        return 0
      }
    }
    let count = min(buffer.count, rest.count)
    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<count]))
    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    return count
  }

  private func begin() {
    hasBegun = true
    let context = Unmanaged.passRetained(pieces)
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<PieceQueue>.fromOpaque(context).takeRetainedValue().fill() }
        return nil
      }, context.toOpaque())
    if status == 0 { self.thread = thread } else { context.release() }
  }
}

/// A ring of pieces between the thread that reads and the one that takes.
///
/// The lock owns the counts, the lengths and the end. A piece's bytes belong to the reading thread until they are counted
/// as read, and then to the other until the next is taken.
private final class PieceQueue: @unchecked Sendable {
  enum Taken {
    case piece(UnsafeRawBufferPointer)
    case end(Result<Void, any Error>)
  }

  /// All pieces together stay in the second-level cache.
  private static let pieceBytes = 128 << 10
  private static let count = 3

  let source: any ByteSource
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes * count, alignment: 64)
  private var lengths = [Int](repeating: 0, count: count)
  private var read = 0
  private var taken = 0
  private var end: Result<Void, any Error>?
  private var isStopped = false

  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init(_ source: any ByteSource) {
    self.source = source
    pthread_mutex_init(lock, nil)
    pthread_cond_init(changed, nil)
  }

  deinit {
    pthread_cond_destroy(changed)
    pthread_mutex_destroy(lock)
    changed.deallocate()
    lock.deallocate()
    room.deallocate()
  }

  /// Gives the piece that was taken before back, and waits for the next.
  func take() -> Taken {
    locked {
      while read == taken, end == nil { pthread_cond_wait(changed, lock) }
      if read == taken, let end { return .end(end) }
      let bytes = piece(taken)
      let length = lengths[taken % Self.count]
      taken += 1
      pthread_cond_signal(changed)
      return .piece(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
    }
  }

  /// Reads to the end of the source, or until ``stop()``.
  func fill() {
    while let piece = nextRoom() {
      let result = Result { try source.read(into: piece) }
      locked {
        switch result {
        case .success(0): end = .success(())
        case .success(let length):
          lengths[read % Self.count] = length
          read += 1
        case .failure(let error): end = .failure(error)
        }
        pthread_cond_signal(changed)
      }
    }
  }

  func stop() {
    locked {
      isStopped = true
      pthread_cond_signal(changed)
    }
  }

  /// Waits for a piece that nobody holds; `nil` when there is nothing more to read.
  private func nextRoom() -> UnsafeMutableRawBufferPointer? {
    locked {
      // The piece that was taken last is still looked at.
      while !isStopped, end == nil, read - max(taken - 1, 0) == Self.count { pthread_cond_wait(changed, lock) }
      return isStopped || end != nil ? nil : piece(read)
    }
  }

  private func piece(_ number: Int) -> UnsafeMutableRawBufferPointer {
    let start = number % Self.count * Self.pieceBytes
    return UnsafeMutableRawBufferPointer(rebasing: room[start..<start + Self.pieceBytes])
  }

  private func locked<Result>(_ body: () -> Result) -> Result {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    return body()
  }
}
