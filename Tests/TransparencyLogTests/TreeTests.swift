import Foundation
import GatewayTesting
import Testing
import TransparencyLog

@Suite struct TreeTests {
  /// Roots of trees whose leaves are "0", "1", …: five implementations agree about them.
  static let roots: [(size: Int, root: String)] = [
    (0, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="), (1, "2zQm6HgGjSjSabbIcXIyLOU3K2V1bQeJAB00g19gHAM="),
    (2, "ywCYnZSlacCmeK4EK2Pc1GJduWRAUX83put5duok7Us="), (3, "cl1SMNto9VdHDcNfHYhlgTrNfrsHrRUndBQd7LrnEyc="),
    (7, "o+I7Msy2v5bQktFl2KpUbgmCnejwOw6JV1gdHha5K98="), (8, "O4WpYmwcy2TGuV7H+mSIje/izxLjnnfhCBLOX8uctY4="),
    (255, "Mvhbyqh9e80Fco8J6a66NQumovczgwCH8Fl2goSL5cs="), (256, "goUV0DPBnYyQHzfsy4rtkZZncDSG+NL/8c9wQDIcXbE="),
    (257, "HtoEmkNR2G92JSvX7At3Rq11t/oDFq1fVB29pFijEsQ="), (70_000, "Gkzfy2Y3SgwNy+9JrL1JdtE+6GT7PLJB/JQ8rQTwL34="),
  ]

  @Test func aTileIsReadFromItsPathAlone() {
    for size in [1, 7, 256, 257, 70_000, 1 << 20, 1 << 40] {
      for content in [Tile.Content.entries] + (0...3).map(Tile.Content.hashes) {
        let items = if case .hashes(let level) = content { size >> (8 * level) } else { size }
        for index in [0, items / 512, items / 256] {
          guard let tile = Tile(content, index: index, size: size) else { continue }
          #expect(Tile(path: tile.path) == tile)
        }
      }
    }
    for path in [
      "", "tile", "tile/0", "tile/0/", "tile/0/0", "tile/0/0000", "tile/0/000.p", "tile/0/000.p/", "tile/0/000.p/0",
      "tile/0/000.p/256", "tile/0/000.p/01", "tile/0/x000/000", "tile/0/001/000", "tile/0/x001/00", "tile/8/000",
      "tile/00/000", "tile/-1/000", "tile/entries/000/", "tile/0/+01", "tile/0/x-01/000", "/tile/0/000",
      "tile/data/000", "tile/0/x999/x999/x999/x999/x999/x999/x999/x999/x999/999",
    ] {
      #expect(Tile(path: path) == nil, "\(path)")
    }
  }

  @Test func rootsAreThoseOfOthers() {
    var edge = RightEdge()
    for (size, root) in Self.roots {
      for number in edge.size..<size { edge.append(.leaf(Array("\(number)".utf8))) }
      #expect(edge.root.base64 == root, "size \(size)")
    }
  }

  private static func root(_ size: Int) -> TreeHash {
    var edge = RightEdge()
    for entry in numbers(0..<size) { edge.append(.leaf(entry)) }
    return edge.root
  }

  @Test func rightEdgesAreThoseOfTheDefinition() {
    let leaves = numbers(0..<70).map { TreeHash.leaf($0) }
    var edge = RightEdge()
    for (size, leaf) in leaves.enumerated() {
      #expect(edge.root == PlainTree.hash(leaves[..<size]))
      edge.append(leaf)
    }
    #expect(RightEdge(size: 3, peaks: [leaves[0]]) == nil)
    #expect(RightEdge(size: -1, peaks: leaves) == nil)
    #expect(RightEdge(size: (1 << 56) + 1, peaks: Array(leaves[..<2])) == nil)
  }

  /// Every proof of every tree of up to 65 leaves, made from tiles, is that of the definition; with a wrong index, another
  /// leaf, one hash more or one less it proves nothing.
  @Test func proofs() async throws {
    try await Workbench.run { bench in
      let leaves = numbers(0..<65).map { TreeHash.leaf($0) }
      let writer = try await bench.create()
      for entry in numbers(0..<65) { try await writer.append([entry]) }
      let folder = LogFolder(bench.place)
      for size in 1...65 {
        let (reader, tree) = (TreeReader(folder, size: size), leaves[..<size])
        let root = PlainTree.hash(tree)
        for index in 0..<size {
          let proof = try await reader.inclusion(of: index)
          #expect(proof == PlainTree.path(index, tree), "\(index) in \(size)")
          func isProved(_ leaf: TreeHash, _ index: Int, _ proof: [TreeHash]) -> Bool {
            TreeProof.isIncluded(leaf, at: index, size: size, root: root, proof: proof)
          }
          #expect(isProved(leaves[index], index, proof))
          #expect(!isProved(leaves[index], index + 1, proof) && !isProved(leaves[index], index - 1, proof))
          #expect(!isProved(.leaf([0]), index, proof))
          #expect(!isProved(leaves[index], index, proof + [root]))
          if !proof.isEmpty { #expect(!isProved(leaves[index], index, Array(proof.dropLast()))) }
          #expect(!isProved(leaves[index], size, proof) && !isProved(leaves[index], -1, proof))
        }
        for old in 1...size {
          let proof = try await reader.consistency(from: old)
          #expect(proof == PlainTree.proof(old, tree), "\(old) to \(size)")
          let oldRoot = PlainTree.hash(leaves[..<old])
          func isProved(_ old: Int, _ oldRoot: TreeHash, _ proof: [TreeHash]) -> Bool {
            TreeProof.isConsistent(from: old, root: oldRoot, to: size, root: root, proof: proof)
          }
          #expect(isProved(old, oldRoot, proof))
          #expect(!isProved(old, .leaf([0]), proof) && !isProved(old, oldRoot, proof + [root]))
          #expect(!isProved(old - 1, oldRoot, proof) && !isProved(size + 1, oldRoot, proof))
          if !proof.isEmpty { #expect(!isProved(old, oldRoot, Array(proof.dropFirst()))) }
        }
        #expect(TreeProof.isConsistent(from: 0, root: .empty, to: size, root: root, proof: []))
        #expect(!TreeProof.isConsistent(from: 0, root: root, to: size, root: root, proof: []))
      }
    }
  }

  @Test func pathsOfTiles() {
    func path(_ content: Tile.Content, _ index: Int, _ size: Int) -> String? {
      Tile(content, index: index, size: size)?.path
    }
    #expect(path(.hashes(level: 0), 0, 256) == "tile/0/000")
    #expect(path(.hashes(level: 0), 0, 7) == "tile/0/000.p/7")
    #expect(path(.entries, 1_234_067, 256 * 1_234_068) == "tile/entries/x001/x234/067")
    #expect(path(.hashes(level: 0), 1000, 256 * 1001) == "tile/0/x001/000")
    #expect(path(.hashes(level: 0), 1_000_000, 256 * 1_000_001) == "tile/0/x001/x000/000")
    #expect(path(.hashes(level: 2), 0, 70_000) == "tile/2/000.p/1")
    #expect(path(.hashes(level: 1), 0, 256) == "tile/1/000.p/1")
    for (content, index, size) in [
      (Tile.Content.hashes(level: 0), 1, 256), (.hashes(level: 1), 0, 255), (.entries, -1, 9), (.entries, 0, 0),
      (.hashes(level: 8), 0, 1 << 56), (.hashes(level: -1), 0, 9), (.entries, .max, 1 << 56),
    ] { #expect(path(content, index, size) == nil, "\(content) \(index) \(size)") }
  }

  @Test(.enabled(if: RealData.isPresent, "\(RealData.howToEnable)"))
  func sharedVectors() async throws {
    let vectors = try SharedVectors.read()
    func list(_ name: String) throws -> [[String: Any]] { try #require(vectors[name] as? [[String: Any]]) }
    for leaf in try list("leaf_hashes") {
      let index = try #require(leaf["index"] as? Int)
      #expect(TreeHash.leaf(Array("\(index)".utf8)).base64 == leaf["hash_b64"] as? String)
    }
    try await Workbench.run { bench in
      let writer = try await bench.create()
      let folder = LogFolder(bench.place)
      var roots: [Int: TreeHash] = [:]
      for root in try list("roots") {
        let size = try #require(root["size"] as? Int)
        while writer.checkpoint.size < size {
          try await writer.append(numbers(writer.checkpoint.size..<min(size, writer.checkpoint.size + 65_536)))
        }
        #expect(writer.checkpoint.root.base64 == root["root_b64"] as? String)
        roots[size] = writer.checkpoint.root
      }
      for proof in try list("inclusion") {
        let (index, size) = (try #require(proof["index"] as? Int), try #require(proof["size"] as? Int))
        let hashes = try await TreeReader(folder, size: size).inclusion(of: index)
        #expect(hashes.map(\.base64) == proof["proof_b64"] as? [String])
        let root = try #require(roots[size])
        let leaf = TreeHash.leaf(Array("\(index)".utf8))
        #expect(TreeProof.isIncluded(leaf, at: index, size: size, root: root, proof: hashes))
      }
      for proof in try list("consistency") {
        let (old, new) = (try #require(proof["old"] as? Int), try #require(proof["new"] as? Int))
        let hashes = try await TreeReader(folder, size: new).consistency(from: old)
        #expect(hashes.map(\.base64) == proof["proof_b64"] as? [String])
        let (oldRoot, newRoot) = (Self.root(old), Self.root(new))
        #expect(roots[old] == nil || roots[old] == oldRoot)
        #expect(TreeProof.isConsistent(from: old, root: oldRoot, to: new, root: newRoot, proof: hashes))
      }
      for tile in try list("tile_paths") {
        let (index, width) = (try #require(tile["index"] as? Int), try #require(tile["width"] as? Int))
        let level = tile["level"] as? Int
        // Trees here have at most 2⁵⁶ leaves, and no level above the seventh.
        guard level ?? 0 <= Tile.levelLimit else { continue }
        let size = (index * 256 + width) << (8 * (level ?? 0))
        let content = level.map { Tile.Content.hashes(level: $0) } ?? .entries
        #expect(Tile(content, index: index, size: size)?.path == tile["path"] as? String)
      }
      for tile in try list("tile_bytes") {
        let path = try #require(tile["path"] as? String)
        // Partial tiles are gone where the full one is there.
        guard let content = try bench.content(path) else { continue }
        #expect(content.map { String(format: "%02x", $0) }.joined() == tile["hex"] as? String, "\(path)")
      }
      let reader = TreeReader(folder, size: writer.checkpoint.size)
      for set in try list("tile_sets") where set["size"] as? Int == writer.checkpoint.size {
        let others = try #require(set["tiles_not_full_or_above_level0"] as? [[String: Any]])
        #expect(others.count == 4)
        for tile in others + [try #require(set["last_entry_bundle"] as? [String: Any])] {
          let path = try #require(tile["path"] as? String)
          let content = try bench.content(path)
          #expect(content?.count == tile["bytes"] as? Int, "\(path)")
        }
      }
      var seen = 0
      try await LogVerification(reader, root: writer.checkpoint.root).run { first, bundle in
        #expect(first == seen)
        seen += bundle.entries.count
      }
      #expect(seen == 70_000)
    }
  }
}
