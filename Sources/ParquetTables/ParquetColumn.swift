internal import KeyTables

/// A column of a Parquet file, with the values of the row group that is being written. Each row appends one value, or none.
///
/// A group that has few different values is written as a dictionary and its indices; of a column with many the values
/// stand as they are.
final class ParquetColumn: TableColumn {
  let name: String
  let kind: ColumnKind
  /// Whether a row may have none.
  let isOptional: Bool

  /// A group with more of them is written without a dictionary.
  private static let dictionaryLimit = 40_000

  private(set) var count = 0
  /// One bit for each row, where some may have no value.
  private var presence = RunLengthBits(width: 1)
  /// Indices into the dictionary, of the values that are there; empty once there is none.
  private var indices: [UInt32] = []
  private var numbers: [Int64] = []
  private var numberIndex: [Int64: UInt32] = [:]
  private var texts: [String] = []
  private var textIndex: [String: UInt32] = [:]
  /// The values as they stand, where there is no dictionary.
  private var plain: [UInt8] = []
  private var hasDictionary: Bool

  init(_ description: TableDescription.Column) {
    name = description.name
    kind = description.kind
    isOptional = description.isOptional
    hasDictionary = kind.hasDictionary
  }

  /// A row without a value, in a column that may have some.
  func appendNothing() {
    precondition(isOptional, "every row of \(name) has a value")
    presence.append(0)
    count += 1
  }

  /// A number, or for a boolean 0 and 1; of an `int32` the low 32 bits.
  func append(_ number: Int64) {
    present()
    guard hasDictionary else { return plain(number) }
    if let index = numberIndex[number] { return indices.append(index) }
    guard numbers.count < Self.dictionaryLimit else {
      leaveDictionary()
      return plain(number)
    }
    numberIndex[number] = UInt32(numbers.count)
    indices.append(UInt32(numbers.count))
    numbers.append(number)
  }

  func append(_ text: String) {
    present()
    guard hasDictionary else { return plain(text) }
    if let index = textIndex[text] { return indices.append(index) }
    guard texts.count < Self.dictionaryLimit else {
      leaveDictionary()
      return plain(text)
    }
    textIndex[text] = UInt32(texts.count)
    indices.append(UInt32(texts.count))
    texts.append(text)
  }

  /// - Parameter bytes: as many as the kind says.
  func append(bytes: [UInt8]) {
    guard case .bytes(let length) = kind else { preconditionFailure("\(name) is no column of bytes") }
    precondition(bytes.count == length, "\(bytes.count) bytes, \(name) has \(length)")
    present()
    plain += bytes
  }

  private func present() {
    if isOptional { presence.append(1) }
    count += 1
  }

  // MARK: Values as they stand

  private var booleans = 0

  private func plain(_ number: Int64) {
    switch kind {
    case .boolean:
      if booleans % 8 == 0 { plain.append(0) }
      if number != 0 { plain[plain.count - 1] |= 1 << UInt8(booleans % 8) }
      booleans += 1
    case .int32: plain.appendLittleEndian(Int32(truncatingIfNeeded: number))
    case .int64, .timestamp: plain.appendLittleEndian(number)
    case .text, .bytes: preconditionFailure("\(name) is no column of numbers")
    }
  }

  private func plain(_ text: String) {
    precondition(kind == .text, "\(name) is no column of texts")
    plain.appendLittleEndian(UInt32(text.utf8.count))
    plain += text.utf8
  }

  private func leaveDictionary() {
    hasDictionary = false
    for index in indices { kind == .text ? plain(texts[Int(index)]) : plain(numbers[Int(index)]) }
    indices = []
  }

  // MARK: Pages

  /// The pages of a group, and the column is empty again.
  func takePages() -> (dictionary: [UInt8]?, dictionaryCount: Int, data: [UInt8]) {
    var data: [UInt8] = []
    if isOptional {
      let levels = presence.finished()
      data.appendLittleEndian(UInt32(levels.count))
      data += levels
    }
    var dictionary: [UInt8]?
    let entries = max(numbers.count, texts.count)
    if hasDictionary {
      var bits = RunLengthBits(width: UInt8(UInt32.bitWidth - UInt32(max(entries - 1, 0)).leadingZeroBitCount))
      for index in indices { bits.append(index) }
      data.append(bits.width)
      data += bits.finished()
      for number in numbers { plain(number) }
      for text in texts { plain(text) }
      dictionary = plain
    } else {
      data += plain
    }
    reset()
    return (dictionary, entries, data)
  }

  private func reset() {
    (count, booleans, hasDictionary) = (0, 0, kind.hasDictionary)
    presence = RunLengthBits(width: 1)
    indices.removeAll(keepingCapacity: true)
    numbers.removeAll(keepingCapacity: true)
    numberIndex.removeAll(keepingCapacity: true)
    texts.removeAll(keepingCapacity: true)
    textIndex.removeAll(keepingCapacity: true)
    plain.removeAll(keepingCapacity: true)
  }
}

extension ColumnKind {
  /// A bit each is as short as an index, and bytes are keys, of which each is another one.
  fileprivate var hasDictionary: Bool {
    switch self {
    case .boolean, .bytes: false
    case .int32, .int64, .timestamp, .text: true
    }
  }
}

/// Small numbers as Parquet packs them: runs of one value, and groups of eight where they change.
struct RunLengthBits {
  let width: UInt8
  private var bytes: [UInt8] = []
  private var run: (value: UInt32, count: Int) = (0, 0)
  /// A multiple of eight that is to be packed.
  private var waiting: [UInt32] = []

  init(width: UInt8) { self.width = width }

  mutating func append(_ value: UInt32) {
    if run.count > 0, run.value != value { endRun() }
    run = (value, run.count + 1)
  }

  mutating func finished() -> [UInt8] {
    endRun()
    pack()
    return bytes
  }

  private mutating func endRun() {
    var (value, count) = run
    run = (0, 0)
    // A packed group has eight values, so a run fills the last one first.
    while count > 0, !waiting.count.isMultiple(of: 8) {
      waiting.append(value)
      count -= 1
    }
    guard count >= 16 else {
      waiting.append(contentsOf: repeatElement(value, count: count))
      if waiting.count >= 4096, waiting.count.isMultiple(of: 8) { pack() }
      return
    }
    pack()
    bytes.appendVarint(UInt64(count) << 1)
    for byte in 0..<(Int(width) + 7) / 8 { bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(8 * byte))) }
  }

  private mutating func pack() {
    guard !waiting.isEmpty else { return }
    while !waiting.count.isMultiple(of: 8) { waiting.append(0) }
    bytes.appendVarint(UInt64(waiting.count / 8) << 1 | 1)
    var bits: UInt64 = 0
    var filled: UInt8 = 0
    for value in waiting {
      bits |= UInt64(value) << UInt64(filled)
      filled += width
      while filled >= 8 {
        bytes.append(UInt8(truncatingIfNeeded: bits))
        bits >>= 8
        filled -= 8
      }
    }
    waiting.removeAll(keepingCapacity: true)
  }
}
