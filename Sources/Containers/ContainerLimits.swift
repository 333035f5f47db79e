internal import KeyFormats

/// How much one file that holds others may make this program do. Files are hostile always.
package struct ContainerLimits: Sendable, Hashable {
  /// How many containers may stand in each other; a compressed archive is one.
  package var depth: Int
  /// How many entries are looked at, those of archives within included.
  package var entries: Int
  /// How many bytes are inflated, those of archives within included.
  package var inflatedBytes: Int
  /// How many times as many bytes as the file has may be inflated. It is asked once that is more than ``unjudgedBytes``.
  package var ratio: Int

  /// No ratio makes so few bytes a burden.
  static let unjudgedBytes = 64 << 20

  package init(depth: Int = 4, entries: Int = 1_000_000, inflatedBytes: Int = 64 << 30, ratio: Int = 200) {
    self.depth = depth
    self.entries = entries
    self.inflatedBytes = inflatedBytes
    self.ratio = ratio
  }
}

/// What one file has made this program do so far.
final class ContainerTally {
  let limits: ContainerLimits
  private let storedBytes: Int
  private var entries = 0
  private var inflatedBytes = 0

  /// - Parameter storedBytes: of the file as it lies there.
  init(_ limits: ContainerLimits, storedBytes: Int) {
    self.limits = limits
    self.storedBytes = storedBytes
  }

  /// Counts an entry.
  func enter() throws {
    entries += 1
    guard entries <= limits.entries else {
      throw FormatError(
        .limitExceeded, "the archive holds more than \(limits.entries) entries (--max-entries says how many are read)")
    }
  }

  /// Counts bytes that came out of a container.
  func inflate(_ count: Int) throws {
    inflatedBytes += count
    guard inflatedBytes <= limits.inflatedBytes else {
      throw FormatError(
        .limitExceeded,
        "the archive inflates to more than \(limits.inflatedBytes) bytes (--max-archive-bytes says how many are read)")
    }
    guard inflatedBytes <= ContainerLimits.unjudgedBytes || inflatedBytes / limits.ratio <= storedBytes else {
      throw FormatError(
        .limitExceeded,
        "the archive inflates to more than \(limits.ratio) times its \(storedBytes) bytes (--max-ratio says how many "
          + "times are read)")
    }
  }

  /// Goes into a container that stands in `depth` others.
  func descend(_ depth: Int) throws {
    guard depth < limits.depth else {
      throw FormatError(
        .limitExceeded,
        "archives stand in each other more than \(limits.depth) deep (--max-depth says how deep is read)")
    }
  }
}
