#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// A ring of pieces between a thread that fills them and one that takes them.
///
/// The lock owns the counts, the lengths and the end. A piece's bytes belong to the filling thread until they are counted
/// as filled, and then to the other until it takes the next.
final class PieceRing: @unchecked Sendable {
  enum Taken {
    case piece(UnsafeRawBufferPointer)
    case end(Result<Void, any Error>)
  }

  /// All pieces together stay in the second-level cache.
  static let pieceBytes = 128 << 10
  private static let count = 3

  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes * count, alignment: 64)
  private var lengths = [Int](repeating: 0, count: count)
  private var filled = 0
  private var taken = 0
  private var end: Result<Void, any Error>?
  private var isStopped = false

  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init() {
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

  /// Waits for a piece that nobody holds; `nil` once the other thread wants no more.
  func nextRoom() -> UnsafeMutableRawBufferPointer? {
    locked {
      // The piece that was taken last is still looked at.
      while !isStopped, filled - max(taken - 1, 0) == Self.count { pthread_cond_wait(changed, lock) }
      return isStopped ? nil : piece(filled)
    }
  }

  /// Hands on the piece that ``nextRoom()`` gave.
  func fill(_ length: Int) {
    locked {
      lengths[filled % Self.count] = length
      filled += 1
      pthread_cond_signal(changed)
    }
  }

  /// Nothing follows the pieces that are filled.
  func finish(_ result: Result<Void, any Error>) {
    locked {
      end = result
      pthread_cond_signal(changed)
    }
  }

  /// Gives the piece that was taken before back, and waits for the next.
  func take() -> Taken {
    locked {
      while filled == taken, end == nil { pthread_cond_wait(changed, lock) }
      if filled == taken, let end { return .end(end) }
      let bytes = piece(taken)
      let length = lengths[taken % Self.count]
      taken += 1
      pthread_cond_signal(changed)
      return .piece(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
    }
  }

  /// Takes no more.
  func stop() {
    locked {
      isStopped = true
      pthread_cond_signal(changed)
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
