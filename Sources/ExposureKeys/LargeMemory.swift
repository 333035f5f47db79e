#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Zeroed memory for many plain values. From a megabyte on it is asked for in huge pages: the first touch of a fresh
/// page of four kilobytes costs more than what is done with the values on it.
///
/// Whoever writes holds the only reference, and that is why it may be sent.
package final class LargeMemory<Element: BitwiseCopyable>: @unchecked Sendable {
  package let base: UnsafeMutablePointer<Element>
  package let capacity: Int
  /// What was mapped; `nil` where it comes from `calloc`.
  private let mapping: (start: UnsafeMutableRawPointer, byteCount: Int)?

  /// - Parameter capacity: at least 1.
  package init(capacity: Int) {
    self.capacity = capacity
    let (byteCount, isOverflown) = capacity.multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
    precondition(!isOverflown && byteCount <= Int.max / 2)
    if byteCount < 1 << 20 {
      guard let memory = calloc(capacity, MemoryLayout<Element>.stride) else {
        fatalError("out of memory for \(byteCount) bytes")
      }
      mapping = nil
      base = memory.bindMemory(to: Element.self, capacity: capacity)
      return
    }
    let pageSize = 1 << 21
    let mapped = (byteCount + pageSize - 1) / pageSize * pageSize + pageSize
    guard let start = mmap(nil, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
      start != MAP_FAILED
    else { fatalError("out of memory for \(byteCount) bytes") }
    let aligned = start.alignedUp(toMultipleOf: pageSize)
    #if os(Linux)
      _ = madvise(aligned, mapped - pageSize, MADV_HUGEPAGE)
    #endif
    mapping = (start, mapped)
    base = aligned.bindMemory(to: Element.self, capacity: capacity)
  }

  /// - Parameter count: how many of the elements are copied; the rest is zeroed.
  package convenience init(copying other: LargeMemory, count: Int, capacity: Int) {
    precondition(count <= other.capacity && count <= capacity)
    self.init(capacity: capacity)
    base.update(from: other.base, count: count)
  }

  deinit {
    if let mapping { munmap(mapping.start, mapping.byteCount) } else { free(base) }
  }
}
