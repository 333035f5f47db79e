package import ExposureKeys

/// Tells of key data that it is surely not in a part of a run, without reading that; of one in some hundred it says so in
/// vain. Sixteen bits a row, in lines of 64 bytes, of which a question reads one.
package struct ClaimFilter: Sendable {
  private let lines: FilterLines

  private static let bitsPerKey = 16
  private static let version: UInt64 = 1

  /// - Parameter keys: those that it knows.
  package init(_ keys: [TemporaryExposureKey]) {
    lines = FilterLines(count: max(1, (keys.count * Self.bitsPerKey + 511) / 512)) { line in
      for key in keys {
        let question = FilterQuestion(key)
        let words = line(question)
        for step in 0..<7 {
          let bit = question.bits >> UInt64(9 * step) & 511
          words[Int(bit >> 6)] |= 1 << (bit & 63)
        }
      }
    }
  }

  package func mayHave(_ key: TemporaryExposureKey) -> Bool {
    let question = FilterQuestion(key)
    return withExtendedLifetime(lines) { question.finds(in: lines.table.line(of: question)) & 1 == 1 }
  }

  /// Its lines, as long as the filter lives.
  var table: FilterTable { lines.table }

  // MARK: As bytes

  /// The checksum, the version, and the lines.
  package var bytes: [UInt8] {
    let count = 16 + lines.bytes.count
    return [UInt8](unsafeUninitializedCapacity: count) { room, filled in
      let raw = UnsafeMutableRawBufferPointer(room)
      raw.storeBytes(of: Self.version.littleEndian, toByteOffset: 8, as: UInt64.self)
      for (index, word) in lines.bytes.bindMemory(to: UInt64.self).enumerated() {
        raw.storeBytes(of: word.littleEndian, toByteOffset: 16 + 8 * index, as: UInt64.self)
      }
      let sum = SegmentChecksum.of(UnsafeRawBufferPointer(rebasing: raw[8..<count]))
      raw.storeBytes(of: sum.littleEndian, toByteOffset: 0, as: UInt64.self)
      filled = count
    }
  }

  /// `nil` where the bytes are not those of a filter.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 80, (bytes.count - 16) % 64 == 0,
      UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        == SegmentChecksum.of(UnsafeRawBufferPointer(rebasing: bytes[8...])),
      UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)) == Self.version
    else { return nil }
    lines = FilterLines(words: UnsafeRawBufferPointer(rebasing: bytes[16...]))
  }
}

/// The lines of a filter. Each lies in one line of the processor's cache, which memory of an array would not.
///
/// It owns the memory, which nobody changes once it is made.
private final class FilterLines: @unchecked Sendable {
  private static let wordsPerLine = 8
  private let words: UnsafeMutablePointer<UInt64>
  private let count: Int

  private init(count: Int) {
    self.count = count
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: count * 64, alignment: 64)
    words = bytes.initializeMemory(as: UInt64.self, repeating: 0, count: count * Self.wordsPerLine)
  }

  /// - Parameter fill: sets bits in the lines of questions.
  convenience init(count: Int, _ fill: ((FilterQuestion) -> UnsafeMutablePointer<UInt64>) -> Void) {
    self.init(count: count)
    let table = table
    fill { UnsafeMutablePointer(mutating: table.line(of: $0)) }
  }

  /// - Parameter words: at least one line, and no part of one.
  convenience init(words bytes: UnsafeRawBufferPointer) {
    self.init(count: bytes.count / 64)
    for index in 0..<count * Self.wordsPerLine {
      words[index] = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
    }
  }

  deinit { words.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: words, count: count * 64) }

  var table: FilterTable { FilterTable(words: UnsafePointer(words), count: UInt64(count)) }
}

/// Where the lines of a filter lie.
struct FilterTable {
  fileprivate let words: UnsafePointer<UInt64>
  fileprivate let count: UInt64

  /// The line that answers a question.
  @inline(__always)
  func line(of question: FilterQuestion) -> UnsafePointer<UInt64> {
    words + Int((UInt64(question.line) &* count) >> 32) * 8
  }

  // MARK: Many questions

  /// How many questions are looked at in one go.
  static let desk = 256

  typealias Look = (line: UnsafePointer<UInt64>, word: UInt64, place: Int)

  /// Calls `body` with room for ``desk`` looks.
  @inline(__always)
  static func withDesk(_ body: (UnsafeMutablePointer<Look>) -> Void) {
    withUnsafeTemporaryAllocation(of: Look.self, capacity: desk) { looks in
      if let looks = looks.baseAddress { body(looks) }
    }
  }

  /// Whether so many questions look into most lines.
  @inline(__always)
  func isWorthFetching(for questions: Int) -> Bool { UInt64(questions) > count / 2 }

  /// Reads all lines once in their order, as memory has them fastest, so that they are in the cache.
  ///
  /// - Returns: all words together: 0 is a filter that has nothing.
  @inline(never)
  func fetch() -> UInt64 {
    var all: UInt64 = 0
    for word in 0..<Int(count) * 8 { all |= words[word] }
    return all
  }

  /// Writes down which questions have key data that the filter may have.
  ///
  /// A line that is in no cache takes long to come, but ten of them come in the same time: so each is asked for one word before the
  /// first is looked into. Two bits leave one line in eight to be looked at as a whole. Nothing here is decided by a bit: the
  /// processor would guess it wrongly in a third of the cases.
  ///
  /// - Parameters:
  ///   - number: at most ``desk``.
  ///   - looks: room for as many.
  ///   - found: room for as many; gets the places of questions, counted from `start`.
  /// - Returns: how many.
  @inline(__always)
  func find(
    _ questions: UnsafePointer<FilterQuestion>, _ number: Int, at looks: UnsafeMutablePointer<Look>,
    into found: UnsafeMutablePointer<Int32>, from start: Int32
  ) -> Int {
    for place in 0..<number {
      let line = line(of: questions[place])
      (looks + place).initialize(to: (line, questions[place].firstWord(of: line), place))
    }
    var candidates = 0
    for place in 0..<number {
      let look = looks[place]
      looks[candidates] = look
      candidates += Int(questions[place].findsTwo(look.word, in: look.line) & 1)
    }
    var count = 0
    for candidate in 0..<candidates {
      let look = looks[candidate]
      (found + count).initialize(to: start &+ Int32(truncatingIfNeeded: look.place))
      count += Int(questions[look.place].findsOthers(in: look.line) & 1)
    }
    return count
  }
}

/// What a filter is asked about some key data: its place in a line of any filter. Many filters are asked the same.
struct FilterQuestion: BitwiseCopyable {
  /// Of all possible lines; a filter has some of them.
  let line: UInt32
  let prefix: UInt32
  /// Seven times nine bits, each the number of a bit in the line.
  let bits: UInt64

  @inline(__always)
  init(_ key: TemporaryExposureKey) {
    var hash = (key.high ^ key.low &* 0x9E37_79B9_7F4A_7C15) &* 0xBF58_476D_1CE4_E5B9
    hash ^= hash >> 31
    line = UInt32(truncatingIfNeeded: hash >> 32)
    prefix = key.prefix
    let bits = hash &* 0x94D0_49BB_1331_11EB
    self.bits = bits ^ bits >> 29
  }

  /// The lowest bit of the answer says whether a line may have the key data.
  @inline(__always)
  func finds(in line: UnsafePointer<UInt64>) -> UInt64 {
    findsTwo(firstWord(of: line), in: line) & findsOthers(in: line)
  }

  /// The word of a line that has the first of the seven bits.
  @inline(__always)
  func firstWord(of line: UnsafePointer<UInt64>) -> UInt64 { line[Int(bits >> 6 & 7)] }

  /// Whether a line has the first two bits.
  @inline(__always)
  func findsTwo(_ first: UInt64, in line: UnsafePointer<UInt64>) -> UInt64 {
    let bit = bits >> 9
    return first >> (bits & 63) & line[Int(bit >> 6 & 7)] >> (bit & 63)
  }

  /// Whether it has the others. All are looked at: where a look ended early, the processor would guess wrongly when.
  @inline(__always)
  func findsOthers(in line: UnsafePointer<UInt64>) -> UInt64 {
    var all = ~UInt64(0)
    for step in 2..<7 {
      let bit = bits >> UInt64(9 * step)
      all &= line[Int(bit >> 6 & 7)] >> (bit & 63)
    }
    return all
  }
}
