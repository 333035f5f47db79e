internal import WorkThreads

/// Writes to another sink on a thread of its own, a few pieces behind, so that deflating overlaps with what makes the
/// bytes. What the other sink throws is thrown by a later write, or by ``finish()``.
///
/// Small documents are not worth a thread: it begins with the first write past `start`, and from then until
/// ``finish()`` the other sink is the thread's. Without ``finish()``, the last piece is dropped.
final class WriteBehindSink: ByteSink {
  private let sink: any ByteSink
  private let start: Int
  private lazy var pieces = PieceRing()
  private let outcome = Outcome()
  private var thread: WorkThread?
  private var written = 0
  private var hasBegun = false
  /// The piece that is being filled, and how much of it is.
  private var room = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var used = 0

  /// What the thread leaves behind.
  private final class Outcome { var error: (any Error)? }

  /// - Parameter start: how many bytes are written before the thread begins.
  init(_ sink: any ByteSink, start: Int = 1 << 20) {
    self.sink = sink
    self.start = start
  }

  deinit { if thread != nil { end() } }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    written += bytes.count
    if written > start, !hasBegun { begin() }
    // A system that gives no thread writes all the same.
    guard thread != nil else {
      if let error = outcome.error { throw error }
      return try sink.write(bytes)
    }
    var rest = bytes
    while !rest.isEmpty {
      if used == room.count {
        if used > 0 { pieces.fill(used) }
        used = 0
        guard let next = pieces.nextRoom() else { return try finish() }
        room = next
      }
      let count = min(rest.count, room.count - used)
      UnsafeMutableRawBufferPointer(rebasing: room[used..<used + count])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<count]))
      used += count
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Waits until everything is written.
  func finish() throws {
    if thread != nil {
      if used > 0 { pieces.fill(used) }
      end()
    }
    if let error = outcome.error { throw error }
  }

  private func begin() {
    hasBegun = true
    let (sink, pieces, outcome) = (sink, pieces, outcome)
    thread = WorkThread {
      do {
        while case .piece(let bytes) = pieces.take() { try sink.write(bytes) }
      } catch {
        outcome.error = error
        pieces.stop()
      }
    }
  }

  private func end() {
    pieces.finish(.success(()))
    thread?.wait()
    thread = nil
    (room, used) = (UnsafeMutableRawBufferPointer(start: nil, count: 0), 0)
  }
}
