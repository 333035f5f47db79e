/// How a stream of DEFLATE says what it says: where its blocks begin, their prefix codes, and its matches. With the document the
/// stream can be made again bit by bit, whoever has made it.
///
/// Source: RFC 1951. A trace is, for each block, a byte (its first three bits); of a stored one its length; of one with codes of
/// its own the number of bits of their description and these bits; and then matches, as literals in front, length and distance,
/// until a length of 0. Numbers are LEB128.
package enum DeflateTrace {
  private static let endOfBlock = 256
  private static let windowBytes = 32_768

  // MARK: Reading a stream

  /// - Returns: `nil` for what is no whole stream, or has anything odd in it.
  package static func read(_ stream: [UInt8], limit: Int) -> (document: [UInt8], trace: [UInt8])? {
    var bits = TraceBits(stream)
    var document: [UInt8] = []
    var trace: [UInt8] = []
    var isLast = false
    while !isLast {
      guard let final = bits.take(1), let kind = bits.take(2), document.count <= limit else { return nil }
      isLast = final == 1
      trace.append(UInt8(final | kind << 1))
      switch kind {
      case 0:
        bits.align()
        guard let length = bits.take(16), let inverse = bits.take(16), inverse == ~length & 0xFFFF,
          let bytes = bits.bytes(length)
        else { return nil }
        document += bytes
        LEB128.append(length, to: &trace)
      case 1:
        guard let codes = TraceCodes.fixed, read(&bits, codes, limit, &document, &trace) else { return nil }
      case 2:
        let start = bits.place
        guard let codes = TraceCodes(&bits) else { return nil }
        LEB128.append(bits.place - start, to: &trace)
        trace += bits.copy(start..<bits.place)
        guard read(&bits, codes, limit, &document, &trace) else { return nil }
      default: return nil
      }
    }
    bits.align()
    return bits.isAtEnd ? (document, trace) : nil
  }

  private static func read(
    _ bits: inout TraceBits, _ codes: TraceCodes, _ limit: Int, _ document: inout [UInt8], _ trace: inout [UInt8]
  ) -> Bool {
    var literals = 0
    while let symbol = codes.literals.symbol(&bits) {
      if symbol < endOfBlock {
        document.append(UInt8(symbol))
        literals += 1
        continue
      }
      LEB128.append(literals, to: &trace)
      literals = 0
      guard symbol > endOfBlock else {
        LEB128.append(0, to: &trace)
        return true
      }
      guard let length = TraceCodes.length(symbol, &bits), let number = codes.distances.symbol(&bits),
        let distance = TraceCodes.distance(number, &bits), distance <= document.count, document.count <= limit
      else { return false }
      for _ in 0..<length { document.append(document[document.count - distance]) }
      LEB128.append(length, to: &trace)
      LEB128.append(distance, to: &trace)
    }
    return false
  }

  // MARK: Writing it again

  /// - Returns: `nil` where trace and document do not belong together.
  package static func write(_ trace: ArraySlice<UInt8>, of document: [UInt8]) -> [UInt8]? {
    var rest = trace
    var output = TraceOutput()
    var place = 0
    var isLast = false
    while !isLast {
      guard let head = rest.popFirst(), head < 8 else { return nil }
      isLast = head & 1 == 1
      output.put(Int(head), 3)
      switch head >> 1 {
      case 0:
        guard let length = LEB128.take(&rest), length <= 0xFFFF, length <= document.count - place else { return nil }
        output.align()
        output.put(length, 16)
        output.put(~length & 0xFFFF, 16)
        for byte in document[place..<place + length] { output.put(Int(byte), 8) }
        place += length
      case 1:
        guard let codes = TraceCodes.fixed, write(&rest, codes, document, &place, &output) else { return nil }
      case 2:
        guard let count = LEB128.take(&rest), count <= 1 << 16, rest.count >= (count + 7) / 8 else { return nil }
        var head = TraceBits(Array(rest.prefix((count + 7) / 8)))
        rest = rest.dropFirst((count + 7) / 8)
        guard let codes = TraceCodes(&head), head.place == count else { return nil }
        var again = TraceBits(head.all)
        for _ in 0..<count { output.put(again.take(1) ?? 0, 1) }
        guard write(&rest, codes, document, &place, &output) else { return nil }
      default: return nil
      }
    }
    return rest.isEmpty && place == document.count ? output.finish() : nil
  }

  private static func write(
    _ rest: inout ArraySlice<UInt8>, _ codes: TraceCodes, _ document: [UInt8], _ place: inout Int,
    _ output: inout TraceOutput
  ) -> Bool {
    while let literals = LEB128.take(&rest), let length = LEB128.take(&rest), literals <= document.count - place {
      for byte in document[place..<place + literals] {
        guard codes.literals.put(Int(byte), &output) else { return false }
      }
      place += literals
      guard length > 0 else { return codes.literals.put(endOfBlock, &output) }
      guard let distance = LEB128.take(&rest), length <= document.count - place,
        TraceCodes.put(length: length, distance: distance, codes, &output)
      else { return false }
      place += length
    }
    return false
  }
}

/// Whole numbers of seven bits a byte, the lowest first.
enum LEB128 {
  static func append(_ number: Int, to bytes: inout [UInt8]) {
    var rest = UInt64(bitPattern: Int64(number))
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// - Returns: `nil` for a number of more than 42 bits, or none.
  static func take(_ bytes: inout ArraySlice<UInt8>) -> Int? {
    var number = 0
    for shift in stride(from: 0, to: 42, by: 7) {
      guard let byte = bytes.popFirst() else { return nil }
      number |= Int(byte & 0x7F) << shift
      if byte < 0x80 { return number }
    }
    return nil
  }
}

/// Bits of a stream, the lowest of a byte first.
struct TraceBits {
  let all: [UInt8]
  private(set) var place = 0

  init(_ bytes: [UInt8]) { all = bytes }

  var isAtEnd: Bool { place == all.count * 8 }

  /// - Parameter count: at most 16.
  mutating func take(_ count: Int) -> Int? {
    guard count <= all.count * 8 - place else { return nil }
    var number = 0
    for bit in 0..<count { number |= Int(all[(place + bit) >> 3] >> UInt8((place + bit) & 7) & 1) << bit }
    place += count
    return number
  }

  mutating func align() { place = (place + 7) & ~7 }

  /// Whole bytes, at a whole byte.
  mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
    let start = place >> 3
    guard count <= all.count - start else { return nil }
    place += count * 8
    return all[start..<start + count]
  }

  /// Some of the bits, from the lowest of the first byte on.
  func copy(_ range: Range<Int>) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: (range.count + 7) / 8)
    for (index, bit) in range.enumerated() {
      bytes[index >> 3] |= (all[bit >> 3] >> UInt8(bit & 7) & 1) << UInt8(index & 7)
    }
    return bytes
  }
}

struct TraceOutput {
  private var bytes: [UInt8] = []
  private var pending: UInt64 = 0
  private var count = 0

  /// - Parameter width: at most 16.
  mutating func put(_ number: Int, _ width: Int) {
    pending |= UInt64(number) << UInt64(count)
    count += width
    while count >= 8 {
      bytes.append(UInt8(truncatingIfNeeded: pending))
      pending >>= 8
      count -= 8
    }
  }

  mutating func align() { if count > 0 { put(0, 8 - count) } }

  mutating func finish() -> [UInt8] {
    align()
    return bytes
  }
}

/// The two prefix codes of a block.
struct TraceCodes {
  let literals: TraceCode
  let distances: TraceCode

  /// RFC 1951, 3.2.6.
  static let fixed: TraceCodes? = {
    let lengths =
      [UInt8](repeating: 8, count: 144) + [UInt8](repeating: 9, count: 112) + [UInt8](repeating: 7, count: 24)
      + [UInt8](repeating: 8, count: 8)
    guard let literals = TraceCode(lengths), let distances = TraceCode([UInt8](repeating: 5, count: 32)) else {
      return nil
    }
    return TraceCodes(literals: literals, distances: distances)
  }()

  private init(literals: TraceCode, distances: TraceCode) { (self.literals, self.distances) = (literals, distances) }

  /// RFC 1951, 3.2.7.
  init?(_ bits: inout TraceBits) {
    guard let more = bits.take(5), let distanceCount = bits.take(5), let codeCount = bits.take(4) else { return nil }
    let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    var lengths = [UInt8](repeating: 0, count: 19)
    for index in 0..<codeCount + 4 {
      guard let length = bits.take(3) else { return nil }
      lengths[order[index]] = UInt8(length)
    }
    let wanted = more + 257 + distanceCount + 1
    guard let code = TraceCode(lengths) else { return nil }
    lengths = []
    while lengths.count < wanted {
      guard let symbol = code.symbol(&bits) else { return nil }
      let (width, least): (Int, Int)
      switch symbol {
      case 16: (width, least) = (2, 3)
      case 17: (width, least) = (3, 3)
      case 18: (width, least) = (7, 11)
      default:
        lengths.append(UInt8(symbol))
        continue
      }
      guard let extra = bits.take(width), symbol != 16 || !lengths.isEmpty else { return nil }
      let length = symbol == 16 ? lengths[lengths.count - 1] : 0
      lengths += [UInt8](repeating: length, count: least + extra)
    }
    guard lengths.count == wanted, let literals = TraceCode(Array(lengths[..<(more + 257)])),
      let distances = TraceCode(Array(lengths[(more + 257)...]))
    else { return nil }
    (self.literals, self.distances) = (literals, distances)
  }

  // MARK: Lengths and distances

  private static func lengths(_ symbol: Int) -> (base: Int, width: Int) {
    if symbol == 285 { return (258, 0) }
    let number = symbol - 257
    let width = max(number / 4 - 1, 0)
    return (3 + (number - 4 * width) << width, width)
  }

  private static func distances(_ symbol: Int) -> (base: Int, width: Int) {
    let width = max(symbol / 2 - 1, 0)
    return (1 + (symbol - 2 * width) << width, width)
  }

  static func length(_ symbol: Int, _ bits: inout TraceBits) -> Int? {
    guard (257...285).contains(symbol) else { return nil }
    let (base, width) = lengths(symbol)
    return bits.take(width).map { base + $0 }
  }

  static func distance(_ symbol: Int, _ bits: inout TraceBits) -> Int? {
    guard symbol < 30 else { return nil }
    let (base, width) = distances(symbol)
    return bits.take(width).map { base + $0 }
  }

  static func put(length: Int, distance: Int, _ codes: TraceCodes, _ output: inout TraceOutput) -> Bool {
    guard (3...258).contains(length), (1...32_768).contains(distance) else { return false }
    guard let symbol = (257...285).last(where: { lengths($0).base <= length }),
      let second = (0..<30).last(where: { distances($0).base <= distance })
    else { return false }
    guard codes.literals.put(symbol, &output) else { return false }
    output.put(length - lengths(symbol).base, lengths(symbol).width)
    guard codes.distances.put(second, &output) else { return false }
    output.put(distance - distances(second).base, distances(second).width)
    return true
  }
}

/// A prefix code by the lengths of its codes (RFC 1951, 3.2.2).
struct TraceCode {
  private var counts = [Int](repeating: 0, count: 16)
  private var symbols: [Int] = []
  private let lengths: [UInt8]
  /// With the first bit lowest.
  private var codes: [Int]

  /// - Returns: `nil` for lengths that no code has.
  init?(_ lengths: [UInt8]) {
    self.lengths = lengths
    codes = [Int](repeating: 0, count: lengths.count)
    for length in lengths where length > 0 {
      guard length < 16 else { return nil }
      counts[Int(length)] += 1
    }
    var next = [Int](repeating: 0, count: 17)
    var code = 0
    for length in 1..<16 {
      code = (code + counts[length - 1]) << 1
      next[length] = code
      guard code + counts[length] <= 1 << length else { return nil }
    }
    for length in 1..<16 {
      for (symbol, own) in lengths.enumerated() where Int(own) == length {
        symbols.append(symbol)
        codes[symbol] = (0..<length).reduce(0) { $0 | (next[length] >> $1 & 1) << (length - 1 - $1) }
        next[length] += 1
      }
    }
  }

  func symbol(_ bits: inout TraceBits) -> Int? {
    var (code, first, index) = (0, 0, 0)
    for length in 1..<16 {
      guard let bit = bits.take(1) else { return nil }
      code |= bit
      let count = counts[length]
      if code - count < first { return symbols[index + code - first] }
      index += count
      first = (first + count) << 1
      code <<= 1
    }
    return nil
  }

  func put(_ symbol: Int, _ output: inout TraceOutput) -> Bool {
    guard symbol < lengths.count, lengths[symbol] > 0 else { return false }
    output.put(codes[symbol], Int(lengths[symbol]))
    return true
  }
}
