/// The files of a log as it grows: a pure function of its entries.
struct TreeGrowth: Sendable {
  private(set) var edge = RightEdge()
  /// The hashes of each level behind its last full tile.
  private var rows: [[TreeHash]] = Array(repeating: [], count: Tile.levelLimit + 1)
  /// The entries behind the last full bundle.
  private var bundle: [[UInt8]] = []

  init() {}

  /// The growth of a tree that has entries already.
  ///
  /// - Parameters:
  ///   - reader: the tree.
  ///   - root: what its root must be.
  /// - Throws: ``LogFault`` `bad-tile` where its files do not have this root, or what reading throws.
  init(_ reader: TreeReader, root: TreeHash) async throws {
    edge = try await reader.edge(of: reader.size)
    guard edge.root == root else {
      throw LogFault(
        .badTile,
        "\(reader.source.name): the tiles of size \(reader.size) have the root \(edge.root.base64), not \(root.base64)")
    }
    for level in rows.indices {
      let count = reader.size >> (Tile.height * level)
      guard count % Tile.width > 0,
        let tile = Tile(.hashes(level: level), index: count / Tile.width, size: reader.size)
      else { continue }
      let bytes = try await reader.content(of: tile)
      rows[level] = bytes.withUnsafeBytes { bytes in
        (0..<tile.count).map { TreeHash(copying: bytes, at: $0 * TreeHash.byteCount) }
      }
    }
    guard reader.size % Tile.width > 0 else { return }
    let last = try await reader.bundle(reader.size / Tile.width)
    bundle = last.entries
    guard last.leaves == rows[0] else {
      throw LogFault(
        .badTile, "\(reader.source.name): the last bundle of entries has other hashes than the tile above it")
    }
  }

  /// Adds entries.
  ///
  /// - Parameter entries: of at most ``EntryBundle/entryLimit`` bytes each.
  /// - Returns: the files that the tree of the new size has and that of the old size did not have: entries first, then
  ///   hashes from the lowest level up.
  mutating func append(_ entries: [[UInt8]]) -> [(tile: Tile, content: [UInt8])] {
    let old = edge.size
    var contents: [Tile: [UInt8]] = [:]
    var rows = rows
    func put(_ content: Tile.Content, _ index: Int, _ size: Int, _ bytes: @autoclosure () -> [UInt8]) {
      guard let tile = Tile(content, index: index, size: size) else { return }
      contents[tile] = bytes()
    }
    for entry in entries {
      bundle.append(entry)
      edge.append(.leaf(entry)) { node, hash in
        guard node.level % Tile.height == 0, case let level = node.level / Tile.height, level < rows.count else {
          return
        }
        rows[level].append(hash)
        guard rows[level].count == Tile.width else { return }
        let size = (node.index + 1) << node.level
        put(.hashes(level: level), node.index / Tile.width, size, rows[level].tileBytes)
        rows[level].removeAll(keepingCapacity: true)
      }
      if bundle.count == Tile.width {
        put(.entries, edge.size / Tile.width - 1, edge.size, EntryBundle.encode(bundle))
        bundle.removeAll(keepingCapacity: true)
      }
    }
    self.rows = rows
    for tile in Tile.added(from: old, to: edge.size) where tile.isPartial {
      switch tile.content {
      case .entries: contents[tile] = EntryBundle.encode(bundle)
      case .hashes(let level): contents[tile] = rows[level].tileBytes
      }
    }
    return Tile.added(from: old, to: edge.size).compactMap { tile in contents[tile].map { (tile, $0) } }
  }
}
