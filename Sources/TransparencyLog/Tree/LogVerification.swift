/// The whole of a log: every entry, every tile, and the root over them.
package struct LogVerification: Sendable {
  private let reader: TreeReader
  private let root: TreeHash

  /// - Parameter root: what a checkpoint says of the size of the tree.
  package init(_ reader: TreeReader, root: TreeHash) {
    self.reader = reader
    self.root = root
  }

  /// Reads everything and computes it again; several bundles at once.
  ///
  /// - Parameter entries: is given each bundle, with the index of its first entry, in their order.
  /// - Throws: ``LogFault`` `bad-tile` and `missing-tile`, and what `entries` throws.
  package func run(entries: (_ first: Int, _ bundle: EntryBundle) throws -> Void) async throws {
    let reader = reader
    let bundles = (reader.size + Tile.width - 1) / Tile.width
    // Few enough for entries of the greatest length.
    let chunk = 16
    var hashes: [[TreeHash]] = Array(repeating: [], count: Tile.levelLimit + 1)
    var edge = RightEdge()
    // Two chunks are read and hashed while the one before them is put together.
    try await withThrowingTaskGroup(of: Chunk.self) { group in
      var (next, taken) = (0, 0)
      var waiting: [Int: Chunk] = [:]
      func add() {
        guard next < bundles else { return }
        let range = next..<min(next + chunk, bundles)
        next = range.upperBound
        group.addTask { try await Chunk(reader, range) }
      }
      for _ in 0..<3 { add() }
      while taken < bundles {
        guard let chunk = waiting.removeValue(forKey: taken) else {
          guard let done = try await group.next() else { return }
          waiting[done.range.lowerBound] = done
          continue
        }
        add()
        taken = chunk.range.upperBound
        for (index, bundle) in zip(chunk.range, chunk.bundles) { try entries(index * Tile.width, bundle.content) }
        edge.append(contentsOf: chunk) { node, hash in
          guard node.level % Tile.height == 0, node.level > 0, node.level / Tile.height < hashes.count else { return }
          hashes[node.level / Tile.height].append(hash)
        }
      }
    }
    guard edge.root == root else {
      throw LogFault(
        .badTile,
        "\(reader.source.name): the \(reader.size) entries have the root \(edge.root.base64), not \(root.base64)")
    }
    try await compareUpperTiles(hashes)
  }

  /// Level 0 was compared with the entries; the levels above are with what was computed.
  private func compareUpperTiles(_ hashes: [[TreeHash]]) async throws {
    for level in hashes.indices.dropFirst() {
      for start in stride(from: 0, to: hashes[level].count, by: Tile.width) {
        guard let tile = Tile(.hashes(level: level), index: start / Tile.width, size: reader.size) else { continue }
        let expected = Array(hashes[level][start..<start + tile.count])
        guard try await reader.content(of: tile) == expected.tileBytes else {
          throw LogFault(.badTile, "\(reader.source.name): \(tile.path) has other hashes than the tiles below it")
        }
      }
    }
  }

  /// Bundles that one task reads and hashes.
  fileprivate struct Chunk: Sendable {
    struct Bundle: Sendable {
      let content: EntryBundle
      /// The hash of a full bundle, or those of its entries.
      let hashes: [TreeHash]
      let isFull: Bool
    }

    let range: Range<Int>
    let bundles: [Bundle]

    init(_ reader: TreeReader, _ range: Range<Int>) async throws {
      self.range = range
      var bundles: [Bundle] = []
      for index in range {
        let content = try await reader.bundle(index)
        let leaves = content.leaves
        guard let tile = Tile(.hashes(level: 0), index: index, size: reader.size) else { continue }
        let stated = try await reader.content(of: tile)
        if leaves.tileBytes != stated {
          let wrong = leaves.indices.first { place in
            stated.withUnsafeBytes { TreeHash(copying: $0, at: place * TreeHash.byteCount) } != leaves[place]
          }
          throw LogFault(
            .badTile,
            """
            \(reader.source.name): entry \(index * Tile.width + (wrong ?? 0)) has another hash than \(tile.path) says: \
            one of them was changed
            """)
        }
        var row = leaves
        while row.count > 1, leaves.count == Tile.width {
          row = stride(from: 0, to: row.count, by: 2).map { .node(row[$0], row[$0 + 1]) }
        }
        bundles.append(Bundle(content: content, hashes: row, isFull: leaves.count == Tile.width))
      }
      self.bundles = bundles
    }
  }
}

extension RightEdge {
  fileprivate mutating func append(
    contentsOf chunk: LogVerification.Chunk, completed: (TreeNode, TreeHash) -> Void
  ) {
    for bundle in chunk.bundles {
      for hash in bundle.hashes { append(hash, level: bundle.isFull ? Tile.height : 0, completed: completed) }
    }
  }
}
