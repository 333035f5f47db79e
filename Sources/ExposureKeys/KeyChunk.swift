/// A run of claimed keys on its way through the pipeline, with what stands beside them. Reused from run to run.
public struct KeyChunk: ~Copyable {
  public var keys: KeyBuffer
  public var rejections: [Rejection] = []
  /// The unknown fields of this chunk's keys.
  public var unknownFields = UnknownFieldTable()
  /// Index in the document of the first key (kept or rejected) of this chunk.
  public var firstIndex = 0

  public init(capacity: Int = 2048) { keys = KeyBuffer(capacity: capacity) }

  /// Index in the document of the next key to be decoded.
  public var nextIndex: Int { firstIndex + keys.count + rejections.count }

  /// Empties the chunk for the next run of keys.
  public mutating func advance() {
    firstIndex = nextIndex
    keys.removeAll()
    rejections.removeAll(keepingCapacity: true)
    unknownFields.removeAll()
  }

  /// Index in the document of the kept key at `offset`: the rejected keys before it count too.
  public func documentIndex(ofKeyAt offset: Int) -> Int {
    var index = firstIndex + offset
    for rejection in rejections where rejection.position.index <= index { index += 1 }
    return index
  }
}
