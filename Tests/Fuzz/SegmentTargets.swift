import ExposureKeys
import KeyStorage

/// What a store reads of its own file, which may be damaged or written by somebody else.
let segmentTargets: [String: FuzzTarget] = [
  "claim-block": fuzzBlock,
  "claim-filter": fuzzFilter,
  "agenda-piece": fuzzPiece,
]

/// What is read is what its encoding is read as; nothing is added where it is refused. Also with a checksum that holds, or hardly
/// any input gets further.
@Sendable private func fuzzBlock(_ input: UnsafeRawBufferPointer) {
  readBlock(Array(input))
  guard input.count > 8 else { return }
  let sum = SegmentChecksum.of(UnsafeRawBufferPointer(rebasing: input[8...]))
  readBlock(withUnsafeBytes(of: sum.littleEndian) { Array($0) } + Array(input[8...]))
}

private func readBlock(_ bytes: [UInt8]) {
  var rows: [ClaimRow] = []
  do {
    try bytes.withUnsafeBytes { try ClaimBlock.decode($0, into: &rows) }
  } catch {
    return check(rows.isEmpty, "rows of a block that is refused: \(error)")
  }
  check(!rows.isEmpty && zip(rows, rows.dropFirst()).allSatisfy { $0 < $1 }, "rows out of order")
  var again: [ClaimRow] = []
  let encoded = ClaimBlock.encode(rows[...])
  do {
    try encoded.withUnsafeBytes { try ClaimBlock.decode($0, into: &again) }
  } catch {
    check(false, "what was encoded is refused: \(error)")
  }
  check(again == rows && encoded.count <= bytes.count, "read otherwise, or in more bytes")
}

/// A question is answered, whatever the lines are; a filter is written as it was read.
@Sendable private func fuzzFilter(_ input: UnsafeRawBufferPointer) {
  var bytes = Array(input)
  guard bytes.count > 16 else { return check(ClaimFilter(input) == nil, "a filter without lines") }
  bytes[8..<16] = [1, 0, 0, 0, 0, 0, 0, 0]
  let sum = bytes.withUnsafeBytes { SegmentChecksum.of(UnsafeRawBufferPointer(rebasing: $0[8...])) }
  withUnsafeBytes(of: sum.littleEndian) { bytes[0..<8] = Array($0)[...] }
  guard let filter = bytes.withUnsafeBytes({ ClaimFilter($0) }) else { return }
  for key: UInt64 in [0, 1, .max, sum] { _ = filter.mayHave(TemporaryExposureKey(high: key, low: sum)) }
  check(filter.bytes == bytes, "written otherwise")
}

/// A piece is read whole or not at all, and written as it was read.
@Sendable private func fuzzPiece(_ input: UnsafeRawBufferPointer) {
  var keys: [TemporaryExposureKey] = []
  if AgendaPiece.decode(input, into: &keys) {
    check(AgendaPiece.encode(keys[...]) == Array(input), "written otherwise")
  } else {
    check(keys.isEmpty, "keys of a piece that is refused")
  }
  guard input.count > 8 else { return }
  let sum = SegmentChecksum.of(UnsafeRawBufferPointer(rebasing: input[8...]))
  let sound = withUnsafeBytes(of: sum.littleEndian) { Array($0) } + Array(input[8...])
  keys = []
  let isRead = sound.withUnsafeBytes { AgendaPiece.decode($0, into: &keys) }
  check(isRead == ((sound.count - 8) % 16 == 0), "\(sound.count) bytes with a checksum that holds")
  if isRead { check(AgendaPiece.encode(keys[...]) == sound, "written otherwise") }
}
