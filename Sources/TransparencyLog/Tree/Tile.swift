/// One of the files in which a log shows its tree: 256 hashes of one level, or the 256 entries below them, or so many of
/// them as there are at the right edge.
///
/// Source: C2SP tlog-tiles. Level l of hashes has those of complete subtrees with 256^l leaves.
package struct Tile: Hashable, Sendable {
  package static let width = 256
  /// The bits of ``width``.
  static let height = 8
  /// The highest level of a tree with ``RightEdge/sizeLimit`` leaves.
  package static let levelLimit = 7
  /// The longest bundle of entries: each has at most 65,535 bytes and two for its length.
  package static let entriesByteLimit = width * (EntryBundle.entryLimit + 2)

  package enum Content: Hashable, Sendable {
    /// Level 0...7.
    case hashes(level: Int)
    case entries
  }

  package let content: Content
  /// Counted from 0.
  package let index: Int
  /// 1...256; below 256 the tile is partial.
  package let count: Int

  package var isPartial: Bool { count < Self.width }

  /// The most bytes that it has.
  package var byteLimit: Int {
    switch content {
    case .hashes: count * TreeHash.byteCount
    case .entries: count * (EntryBundle.entryLimit + 2)
    }
  }

  private init(_ content: Content, index: Int, count: Int) {
    self.content = content
    self.index = index
    self.count = count
  }

  /// The tile of a tree of this size.
  ///
  /// - Returns: `nil` where the tree has none at this place.
  package init?(_ content: Content, index: Int, size: Int) {
    var items = size
    if case .hashes(let level) = content {
      guard (0...Self.levelLimit).contains(level) else { return nil }
      items = size >> (Self.height * level)
    }
    guard index >= 0, index <= items / Self.width, case let count = items - index * Self.width, count > 0 else {
      return nil
    }
    self.init(content, index: index, count: min(count, Self.width))
  }

  /// The full tile to the left of this one, on the same level; `nil` where it is the first.
  package var before: Tile? { index > 0 ? Tile(content, index: index - 1, count: Self.width) : nil }

  /// Reads what ``path`` writes, and nothing that is spelled otherwise.
  package init?(path: String) {
    guard path.utf8.count <= 64 else { return nil }
    var parts = path.split(separator: "/", omittingEmptySubsequences: false)[...]
    guard parts.popFirst() == "tile", let kind = parts.popFirst() else { return nil }
    let content: Content
    if kind == "entries" {
      content = .entries
    } else {
      guard let level = DecimalText.decode(kind, limit: Self.levelLimit) else { return nil }
      content = .hashes(level: level)
    }
    var count = Self.width
    if parts.count > 1, parts[parts.endIndex - 2].hasSuffix(".p") {
      guard let stated = DecimalText.decode(parts.removeLast(), limit: Self.width - 1), stated > 0 else { return nil }
      count = stated
      let last = parts.removeLast()
      parts.append(last.dropLast(2))
    }
    var index = 0
    for group in parts {
      guard index <= RightEdge.sizeLimit / 1000,
        let digits = Int(group.hasPrefix("x") ? group.dropFirst() : group[...]), (0..<1000).contains(digits)
      else { return nil }
      index = index * 1000 + digits
    }
    self.init(content, index: index, count: count)
    guard self.path == path else { return nil }
  }

  /// The same tile when it is full.
  package var full: Tile { Tile(content, index: index, count: Self.width) }

  /// `tile/0/x001/234`, `tile/entries/000.p/7`: behind the prefix of the log.
  package var path: String {
    let kind =
      switch content {
      case .hashes(let level): "\(level)"
      case .entries: "entries"
      }
    var groups: [String] = []
    var rest = index
    repeat {
      let digits = "\(rest % 1000)"
      groups.append(String(repeating: "0", count: 3 - digits.count) + digits)
      rest /= 1000
    } while rest > 0
    let places = groups.reversed().enumerated().map { $0.offset < groups.count - 1 ? "x\($0.element)" : $0.element }
    return "tile/\(kind)/\(places.joined(separator: "/"))\(isPartial ? ".p/\(count)" : "")"
  }

  /// The tiles that a tree has and a smaller one did not have: what is to be written when it has grown.
  ///
  /// Entries first, then hashes from the lowest level up.
  ///
  /// - Parameter old: 0...new.
  package static func added(from old: Int, to new: Int) -> [Tile] {
    guard old < new else { return [] }
    var tiles: [Tile] = []
    func add(_ content: Content, _ before: Int, _ after: Int) {
      guard before < after else { return }
      for index in before / width...(after - 1) / width {
        tiles.append(Tile(content, index: index, count: min(width, after - index * width)))
      }
    }
    add(.entries, old, new)
    for level in 0...levelLimit { add(.hashes(level: level), old >> (height * level), new >> (height * level)) }
    return tiles
  }
}

/// The entries below one tile of level 0: of each a big-endian number of two bytes, its length, and its bytes.
package struct EntryBundle: Sendable {
  private let bytes: [UInt8]
  private let places: [Range<Int>]

  /// - Parameters:
  ///   - count: how many entries there must be.
  ///   - name: for messages.
  /// - Throws: ``LogFault`` `bad-tile`.
  init(_ bytes: [UInt8], count: Int, name: String) throws {
    self.bytes = bytes
    places = try Self.places(in: bytes, count: count, name: name)
  }

  package var entries: [[UInt8]] { places.map { Array(bytes[$0]) } }

  /// The hash of each entry.
  package var leaves: [TreeHash] {
    bytes.withUnsafeBytes { bytes in places.map { .leaf(UnsafeRawBufferPointer(rebasing: bytes[$0])) } }
  }

  /// The most bytes of an entry.
  package static let entryLimit = 65_535

  /// - Parameter entries: of at most 65,535 bytes each; what is longer is cut by nobody and refused where entries come in.
  static func encode(_ entries: some Sequence<[UInt8]>) -> [UInt8] {
    var bytes: [UInt8] = []
    for entry in entries {
      bytes.append(UInt8(truncatingIfNeeded: entry.count >> 8))
      bytes.append(UInt8(truncatingIfNeeded: entry.count))
      bytes += entry
    }
    return bytes
  }

  /// Where each entry stands in the bundle.
  ///
  /// - Parameters:
  ///   - count: how many entries there must be.
  ///   - name: for messages.
  /// - Throws: ``LogFault`` `bad-tile` where the bundle ends within an entry, or has fewer or more.
  static func places(in bytes: [UInt8], count: Int, name: String) throws -> [Range<Int>] {
    var places: [Range<Int>] = []
    places.reserveCapacity(count)
    var offset = 0
    while offset < bytes.count {
      guard places.count < count else {
        throw LogFault(.badTile, "\(name): more than \(count) entries, the next at byte \(offset)")
      }
      guard bytes.count - offset >= 2 else {
        throw LogFault(.badTile, "\(name): it ends at byte \(bytes.count), within the length of entry \(places.count)")
      }
      let length = Int(bytes[offset]) << 8 | Int(bytes[offset + 1])
      offset += 2
      guard bytes.count - offset >= length else {
        throw LogFault(
          .badTile, "\(name): entry \(places.count) has \(length) bytes, but only \(bytes.count - offset) follow")
      }
      places.append(offset..<offset + length)
      offset += length
    }
    guard places.count == count else {
      throw LogFault(.badTile, "\(name): \(places.count) entries, the size of the tree says \(count)")
    }
    return places
  }
}
