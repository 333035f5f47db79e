/// Where the files of a log can be read: a folder, or a server.
package protocol LogSource: Sendable {
  /// What it is called in messages.
  var name: String { get }
  /// The bytes of a file.
  ///
  /// - Parameters:
  ///   - path: behind the prefix of the log, such as `checkpoint`.
  ///   - limit: more bytes are a fault.
  /// - Returns: `nil` when there is none.
  func content(of path: String, limit: Int) async throws -> [UInt8]?
}

/// A tree of one size, read from its tiles. Hashes are believed only where a root proves them; see
/// ``TreeReader/edge(of:)``, ``inclusion(of:)`` and ``consistency(from:)``, whose results are to be verified.
package struct TreeReader: Sendable {
  package let source: any LogSource
  package let size: Int

  package init(_ source: any LogSource, size: Int) {
    self.source = source
    self.size = size
  }

  /// The bytes of a tile. Where a partial one is gone, the full one that came after it has its hashes, too.
  ///
  /// - Throws: ``LogFault`` `missing-tile` and `bad-tile`.
  package func content(of tile: Tile) async throws -> [UInt8] {
    if let bytes = try await bytes(of: tile) {
      try check(bytes, tile, tile.count)
      return bytes
    }
    let full = tile.full
    guard tile.isPartial, var bytes = try await bytes(of: full) else {
      throw LogFault(
        .missingTile, "\(source.name): \(tile.path) is not there, which a checkpoint of size \(size) needs")
    }
    try check(bytes, full, full.count)
    switch tile.content {
    case .hashes: bytes.removeSubrange((tile.count * TreeHash.byteCount)...)
    case .entries:
      let places = try EntryBundle.places(in: bytes, count: full.count, name: "\(source.name): \(full.path)")
      bytes.removeSubrange(places[tile.count - 1].upperBound...)
    }
    return bytes
  }

  private func bytes(of tile: Tile) async throws -> [UInt8]? {
    do {
      return try await source.content(of: tile.path, limit: tile.byteLimit)
    } catch let fault as LogFault where fault.code == .tooLarge {
      throw LogFault(
        .badTile, "\(source.name): \(tile.path) has more than the \(tile.byteLimit) bytes that are allowed")
    }
  }

  private func check(_ bytes: [UInt8], _ tile: Tile, _ count: Int) throws {
    guard case .hashes = tile.content, bytes.count != count * TreeHash.byteCount else { return }
    throw LogFault(
      .badTile,
      "\(source.name): \(tile.path) has \(bytes.count) bytes, allowed are \(count * TreeHash.byteCount)")
  }

  /// The hashes of complete subtrees.
  ///
  /// - Parameter nodes: of this tree.
  package func hashes(of nodes: some Sequence<TreeNode>) async throws -> [TreeNode: TreeHash] {
    var tiles: [Tile: [UInt8]] = [:]
    var hashes: [TreeNode: TreeHash] = [:]
    for node in nodes where hashes[node] == nil {
      let (level, rows) = node.level.quotientAndRemainder(dividingBy: Tile.height)
      let first = node.index << rows
      guard let tile = Tile(.hashes(level: level), index: first / Tile.width, size: size) else {
        throw LogFault(.badProof, "a tree of size \(size) has no subtree \(node.index) of level \(node.level)")
      }
      let bytes: [UInt8]
      if let known = tiles[tile] {
        bytes = known
      } else {
        bytes = try await content(of: tile)
        tiles[tile] = bytes
      }
      let start = first % Tile.width
      guard start + (1 << rows) <= tile.count else {
        throw LogFault(.badProof, "a tree of size \(size) has no subtree \(node.index) of level \(node.level)")
      }
      hashes[node] = bytes.withUnsafeBytes { bytes in
        var row = (start..<start + 1 << rows).map { TreeHash(copying: bytes, at: $0 * TreeHash.byteCount) }
        while row.count > 1 {
          row = stride(from: 0, to: row.count, by: 2).map { .node(row[$0], row[$0 + 1]) }
        }
        return row[0]
      }
    }
    return hashes
  }

  /// The right edge of this tree, or of one that is smaller.
  package func edge(of size: Int) async throws -> RightEdge {
    let nodes = RightEdge.nodes(size: size)
    let hashes = try await hashes(of: nodes)
    guard let edge = RightEdge(size: size, peaks: nodes.compactMap { hashes[$0] }) else {
      throw LogFault(.badProof, "a tree has no size \(size), allowed 0...\(RightEdge.sizeLimit)")
    }
    return edge
  }

  /// The hashes that prove that an entry is in this tree.
  package func inclusion(of index: Int) async throws -> [TreeHash] {
    try await proof(TreeProof.inclusionRanges(of: index, size: size))
  }

  /// The hashes that prove that this tree extends a smaller one.
  package func consistency(from old: Int) async throws -> [TreeHash] {
    try await proof(TreeProof.consistencyRanges(from: old, to: size))
  }

  private func proof(_ ranges: [Range<Int>]) async throws -> [TreeHash] {
    let nodes = ranges.map { TreeNode.covering($0) }
    let hashes = try await hashes(of: nodes.joined())
    return nodes.compactMap { nodes in
      nodes.reversed().compactMap { hashes[$0] }.reduce(nil) { right, left in right.map { .node(left, $0) } ?? left }
    }
  }

  /// The entries of one bundle.
  ///
  /// - Parameter index: of the bundle, below the size divided by 256, rounded up; its first entry has the index
  ///   256 · index.
  package func bundle(_ index: Int) async throws -> EntryBundle {
    guard let tile = Tile(.entries, index: index, size: size) else {
      throw LogFault(.badProof, "a tree of size \(size) has no bundle \(index) of entries")
    }
    return try EntryBundle(try await content(of: tile), count: tile.count, name: "\(source.name): \(tile.path)")
  }
}
