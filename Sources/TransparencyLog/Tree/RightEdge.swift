/// What must be known of a tree to append to it: the roots of its largest complete subtrees, at most one for each bit of
/// its size (a compact range that begins at 0).
package struct RightEdge: Hashable, Sendable {
  /// The most leaves that a tree here has: 2⁵⁶, so that no arithmetic with indexes overflows.
  package static let sizeLimit = 1 << 56

  /// How many leaves there are, 0...``sizeLimit``.
  package private(set) var size = 0
  /// The largest subtree first.
  private var peaks: [TreeHash] = []

  package init() {}

  /// - Parameter peaks: the largest subtree first, one for each bit of the size.
  /// - Returns: `nil` for another number of subtrees, or a size that is too large.
  package init?(size: Int, peaks: [TreeHash]) {
    guard (0...Self.sizeLimit).contains(size), peaks.count == size.nonzeroBitCount else { return nil }
    self.size = size
    self.peaks = peaks
  }

  /// The root of the tree.
  package var root: TreeHash {
    guard var root = peaks.last else { return .empty }
    for peak in peaks.dropLast().reversed() { root = .node(peak, root) }
    return root
  }

  /// The subtrees that the right edge of a tree of this size has, the largest first.
  package static func nodes(size: Int) -> [TreeNode] { TreeNode.covering(0..<size) }

  /// - Parameter completed: is told each subtree that is complete now, the leaf first.
  package mutating func append(_ leaf: TreeHash, completed: (TreeNode, TreeHash) -> Void = { _, _ in }) {
    append(leaf, level: 0, completed: completed)
  }

  /// - Parameter level: of the subtree that is added: the size is a multiple of its 2^level leaves.
  mutating func append(_ subtree: TreeHash, level: Int, completed: (TreeNode, TreeHash) -> Void) {
    var node = TreeNode(level: level, index: size >> level)
    var hash = subtree
    completed(node, hash)
    while node.index & 1 == 1 {
      hash = .node(peaks.removeLast(), hash)
      node = TreeNode(level: node.level + 1, index: node.index >> 1)
      completed(node, hash)
    }
    peaks.append(hash)
    size += 1 << level
  }
}

/// A complete subtree: 2^level leaves, of which the first has the index index · 2^level.
package struct TreeNode: Hashable, Sendable {
  package let level: Int
  package let index: Int

  package init(level: Int, index: Int) {
    self.level = level
    self.index = index
  }

  /// The complete subtrees that a range of leaves consists of, the largest first.
  ///
  /// - Parameter range: begins at a multiple of the power of two that is its length or the next above it.
  static func covering(_ range: Range<Int>) -> [TreeNode] {
    var nodes: [TreeNode] = []
    var start = range.lowerBound
    while start < range.upperBound {
      let level = Int.bitWidth - 1 - (range.upperBound - start).leadingZeroBitCount
      nodes.append(TreeNode(level: level, index: start >> level))
      start += 1 << level
    }
    return nodes
  }
}
