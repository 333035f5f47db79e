/// Proofs that a leaf is in a tree, and that a tree extends another.
///
/// Source: RFC 6962, section 2.1, for which hashes a proof has; RFC 9162, sections 2.1.3.2 and 2.1.4.2, for how it is
/// verified.
package enum TreeProof {
  /// The most hashes of a proof that is read.
  package static let hashLimit = 63

  // MARK: Which hashes

  /// The ranges of leaves whose hashes prove that a leaf is in a tree, the leaf's sibling first.
  ///
  /// - Parameter index: below the size.
  package static func inclusionRanges(of index: Int, size: Int) -> [Range<Int>] {
    guard (0..<size).contains(index) else { return [] }
    var ranges: [Range<Int>] = []
    var tree = 0..<size
    while tree.count > 1 {
      let middle = tree.lowerBound + split(tree.count)
      if index < middle {
        ranges.append(middle..<tree.upperBound)
        tree = tree.lowerBound..<middle
      } else {
        ranges.append(tree.lowerBound..<middle)
        tree = middle..<tree.upperBound
      }
    }
    return ranges.reversed()
  }

  /// The ranges of leaves whose hashes prove that a tree extends a smaller one.
  ///
  /// - Parameter old: 0...new; from 0, and between equal trees, nothing is to be proved.
  package static func consistencyRanges(from old: Int, to new: Int) -> [Range<Int>] {
    guard old > 0, old < new else { return [] }
    var ranges: [Range<Int>] = []
    var tree = 0..<new
    // Whether the old tree is a whole subtree of the new one, whose hash is known.
    var isKnown = true
    while old != tree.upperBound {
      let middle = tree.lowerBound + split(tree.count)
      if old <= middle {
        ranges.append(middle..<tree.upperBound)
        tree = tree.lowerBound..<middle
      } else {
        ranges.append(tree.lowerBound..<middle)
        tree = middle..<tree.upperBound
        isKnown = false
      }
    }
    if !isKnown { ranges.append(tree) }
    return ranges.reversed()
  }

  /// The largest power of two below a count above 1.
  private static func split(_ count: Int) -> Int { 1 << (Int.bitWidth - 1 - (count - 1).leadingZeroBitCount) }

  // MARK: Verifying

  /// Whether a leaf stands at this index of the tree with this size and root.
  package static func isIncluded(
    _ leaf: TreeHash, at index: Int, size: Int, root: TreeHash, proof: [TreeHash]
  ) -> Bool {
    guard index >= 0, index < size else { return false }
    var (first, second) = (index, size - 1)
    var hash = leaf
    for other in proof {
      guard second > 0 else { return false }
      if first & 1 == 1 || first == second {
        hash = .node(other, hash)
        while first & 1 == 0, first != 0 { (first, second) = (first >> 1, second >> 1) }
      } else {
        hash = .node(hash, other)
      }
      (first, second) = (first >> 1, second >> 1)
    }
    return second == 0 && hash == root
  }

  /// Whether the tree of the new size and root begins with that of the old ones. From an empty tree it does with an
  /// empty proof.
  package static func isConsistent(
    from old: Int, root oldRoot: TreeHash, to new: Int, root newRoot: TreeHash, proof: [TreeHash]
  ) -> Bool {
    guard old >= 0, old <= new else { return false }
    if old == new { return oldRoot == newRoot && proof.isEmpty }
    if old == 0 { return oldRoot == .empty && proof.isEmpty }
    var rest = proof[...]
    let start = old.nonzeroBitCount == 1 ? oldRoot : rest.popFirst()
    guard let start else { return false }
    var (first, second) = (old - 1, new - 1)
    while first & 1 == 1 { (first, second) = (first >> 1, second >> 1) }
    var (oldHash, newHash) = (start, start)
    for other in rest {
      guard second > 0 else { return false }
      if first & 1 == 1 || first == second {
        oldHash = .node(other, oldHash)
        newHash = .node(other, newHash)
        while first & 1 == 0, first != 0 { (first, second) = (first >> 1, second >> 1) }
      } else {
        newHash = .node(newHash, other)
      }
      (first, second) = (first >> 1, second >> 1)
    }
    return second == 0 && oldHash == oldRoot && newHash == newRoot
  }
}
