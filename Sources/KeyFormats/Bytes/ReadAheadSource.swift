internal import WorkThreads

/// Reads another source on a thread of its own, a few pieces ahead, so that inflating overlaps with what is done with the
/// bytes. What the other source throws is thrown where its bytes would have come.
///
/// The thread begins with the first read and is gone with this object. From then on the other source is the thread's.
final class ReadAheadSource: ByteSource {
  private let source: any ByteSource
  private let pieces = PieceRing()
  private var thread: WorkThread?
  private var hasBegun = false
  /// What is left of the piece that was taken last.
  private var rest = UnsafeRawBufferPointer(start: nil, count: 0)
  private var end: Result<Void, any Error>?

  init(_ source: any ByteSource) { self.source = source }

  deinit {
    guard let thread else { return }
    pieces.stop()
    thread.wait()
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard !buffer.isEmpty else { return 0 }
    if !hasBegun { begin() }
    // A system that gives no thread gives the bytes all the same.
    guard thread != nil else { return try source.read(into: buffer) }
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
    let (source, pieces) = (source, pieces)
    thread = WorkThread {
      let result = Result {
        while let room = pieces.nextRoom() {
          let length = try source.read(into: room)
          if length == 0 { break }
          pieces.fill(length)
        }
      }
      pieces.finish(result)
    }
  }
}
