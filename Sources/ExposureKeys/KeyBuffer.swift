#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A growable, contiguous buffer of claimed keys, reused from chunk to chunk.
///
/// It exists beside `Array` for two reasons, both measured: appending without a uniqueness check, and growing by
/// `realloc`, which moves pages instead of copying them, so that ten million keys never need twice their memory.
public struct KeyBuffer: ~Copyable {
  @usableFromInline var storage: UnsafeMutablePointer<ClaimedKey>
  public private(set) var capacity: Int
  @usableFromInline var length: Int = 0

  public init(capacity: Int = 2048) {
    self.capacity = max(capacity, 1)
    storage = Self.resized(nil, to: self.capacity)
  }

  deinit { free(storage) }

  @inlinable public var count: Int { length }
  @inlinable public var isEmpty: Bool { length == 0 }
  @inlinable public var isFull: Bool { length == capacity }

  @inlinable
  public subscript(index: Int) -> ClaimedKey {
    get {
      precondition(index >= 0 && index < length)
      return storage[index]
    }
    set {
      precondition(index >= 0 && index < length)
      storage[index] = newValue
    }
  }

  @inlinable
  public mutating func append(_ key: ClaimedKey) {
    if length == capacity { reserve(length + 1) }
    storage[length] = key
    length += 1
  }

  public mutating func append(contentsOf keys: UnsafeBufferPointer<ClaimedKey>) {
    reserve(length + keys.count)
    if let base = keys.baseAddress { (storage + length).update(from: base, count: keys.count) }
    length += keys.count
  }

  /// Makes room for at least this many keys in all.
  public mutating func reserve(_ minimum: Int) {
    guard minimum > capacity else { return }
    capacity = max(minimum, capacity + capacity / 2)
    storage = Self.resized(storage, to: capacity)
  }

  @inlinable
  public mutating func removeAll() { length = 0 }

  /// Drops the keys from this position on.
  public mutating func truncate(to count: Int) {
    precondition(count >= 0 && count <= length)
    length = count
  }

  @inlinable
  public func withKeys<Result, Failure: Error>(
    _ body: (UnsafeBufferPointer<ClaimedKey>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeBufferPointer(start: storage, count: length))
  }

  @inlinable
  public mutating func withMutableKeys<Result, Failure: Error>(
    _ body: (UnsafeMutableBufferPointer<ClaimedKey>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeMutableBufferPointer(start: storage, count: length))
  }

  /// Lets `body` write into the free room behind the last key and say how many keys it wrote.
  /// For the decoders' hot loops.
  @inlinable
  public mutating func appendDirectly<Failure: Error>(
    _ body: (UnsafeMutableBufferPointer<ClaimedKey>) throws(Failure) -> Int
  ) throws(Failure) {
    let written = try body(UnsafeMutableBufferPointer(start: storage + length, count: capacity - length))
    precondition(written >= 0 && written <= capacity - length)
    length += written
  }

  private static func resized(_ old: UnsafeMutablePointer<ClaimedKey>?, to capacity: Int)
    -> UnsafeMutablePointer<ClaimedKey>
  {
    guard let new = realloc(old, capacity * MemoryLayout<ClaimedKey>.stride) else {
      fatalError("out of memory for \(capacity) keys")
    }
    return new.assumingMemoryBound(to: ClaimedKey.self)
  }
}
