import GatewayTesting
import Testing

@testable import KeyFormats

/// Streams of DEFLATE as the inflater reads them, and as zlib does.
@Suite struct InflaterTests {
  /// Reads all in pieces, the stream in pieces of at most `cut` and the document of at most `room` bytes.
  ///
  /// - Returns: the bytes of the reads that succeeded, how many there are said to be in front of the end, and what that was.
  private func inflate(
    _ stream: [UInt8], cut: () -> Int = { .max }, room: () -> Int = { 1 << 16 }
  ) throws -> (bytes: [UInt8], count: Int, ending: Zlib.Ending) {
    try withoutActuallyEscaping(cut) { cut in
      let inflater = Inflater(CutSource(stream, cut))
      var bytes: [UInt8] = []
      do {
        while true {
          var piece = [UInt8](repeating: 0xaa, count: max(1, room()))
          let count = try piece.withUnsafeMutableBytes { try inflater.read(into: $0) }
          if count == 0 { return (bytes, bytes.count, .complete) }
          bytes += piece[..<count]
        }
      } catch let error as FormatError {
        switch (error.code, error.reason) {
        case (.truncated, "the compressed stream ends too early"): return (bytes, error.byteOffset ?? -1, .truncated)
        case (.malformed, "the compressed stream is damaged"): return (bytes, error.byteOffset ?? -1, .damaged)
        case (.malformed, "compressed bytes go on behind the end of the stream"):
          return (bytes, error.byteOffset ?? -1, .goesOn)
        default: throw error
        }
      }
    }
  }

  /// What the inflater makes of a stream, which is what zlib makes of it.
  private func check(_ stream: [UInt8], _ comment: Comment? = nil, in pieces: (cut: Int, room: Int)? = nil) throws {
    let expected = try Zlib.inflateToFault(stream)
    let outcome =
      try pieces.map { pieces in try inflate(stream, cut: { pieces.cut }, room: { pieces.room }) } ?? inflate(stream)
    #expect(outcome.ending == expected.ending, comment)
    #expect(outcome.count == expected.bytes.count, comment)
    #expect(expected.bytes.starts(with: outcome.bytes) as Bool, comment)
    #expect(outcome.ending != .complete || outcome.bytes.count == expected.bytes.count, comment)
  }

  // MARK: Blocks

  @Test func storedBlocks() throws {
    #expect(try inflate([1, 0, 0, 0xff, 0xff]).bytes == [])
    #expect(try inflate([0, 2, 0, 0xfd, 0xff, 7, 9, 1, 1, 0, 0xfe, 0xff, 0x80]).bytes == [7, 9, 0x80])
    var random = SeededRandom(seed: 3)
    let bytes = random.bytes(200_000)
    #expect((try inflate(try Zlib.deflate(bytes, level: 0)).bytes == bytes) as Bool)
  }

  @Test func fixedCodes() throws {
    var bits = Bits()
    bits.beginFixed()
    for byte in [0x61, 0xff, 0x00, 0x90] { bits.fixedLiteral(byte) }
    bits.code(257 - 256, 7)  // a match of three bytes
    bits.code(1, 5)  // at distance 2
    bits.code(0, 7)
    #expect(try inflate(bits.bytes).bytes == [0x61, 0xff, 0, 0x90, 0, 0x90, 0])
  }

  /// What was loaded for codes is given back, wherever the stream was cut.
  @Test func storedBlocksBehindCodes() throws {
    var bits = Bits()
    for round in 0..<60 {
      bits.put(0, 1)
      bits.put(1, 2)
      for byte in 0..<round % 7 { bits.fixedLiteral(byte * 40) }
      bits.code(0, 7)
      bits.storedBlock((0..<round).map { UInt8($0) })
    }
    bits.storedBlock([], isLast: true)
    for cut in 1...40 { try check(bits.bytes, "cut into \(cut)", in: (cut, 100 + cut)) }
    #expect(try inflate(bits.bytes).ending == .complete)
  }

  /// Distances 1 to 40 and some lengths: repetitions that overlap themselves.
  @Test func overlappingMatches() throws {
    var random = SeededRandom(seed: 4)
    for distance in 1...40 {
      var bytes: [UInt8] = []
      for _ in 0..<4 {
        let pattern = random.bytes(distance)
        for _ in 0..<Int.random(in: 2...20, using: &random) { bytes += pattern }
        bytes += pattern.prefix(Int.random(in: 0...distance, using: &random)) + random.bytes(3)
      }
      let stream = try Zlib.deflate(bytes, level: 9)
      #expect((try inflate(stream).bytes == bytes) as Bool)
    }
  }

  @Test func everyLengthAndDistanceSymbol() throws {
    for symbol in 0..<30 {
      let (distance, distanceBits) = DeflateSymbols.distances(of: symbol)
      for (isLast, extra) in [(false, 0), (true, 1 << distanceBits - 1)] {
        let reach = distance + extra
        var bits = Bits()
        bits.storedBlock((0..<reach).map { UInt8(truncatingIfNeeded: $0 * $0 >> 3) })
        bits.beginFixed()
        for length in 257...285 {
          let (_, extraBits) = DeflateSymbols.lengths(of: length)
          bits.fixedLength(length)
          bits.put(isLast ? 1 << extraBits - 1 : 0, extraBits)
          bits.code(symbol, 5)
          bits.put(extra, distanceBits)
        }
        bits.code(0, 7)
        try check(bits.bytes, "distance \(reach)")
        #expect(try inflate(bits.bytes).ending == .complete)
      }
    }
  }

  // MARK: Faults

  /// Each stream is all right but for one thing.
  @Test func faults() throws {
    func expect(_ ending: Zlib.Ending, _ comment: Comment, _ write: (inout Bits) -> Void) throws {
      var bits = Bits()
      write(&bits)
      // Behind it ones, so that nothing ends early by accident.
      let stream = bits.bytes + (ending == .damaged ? [UInt8](repeating: 0xff, count: 400) : [])
      #expect(try inflate(stream).ending == ending, comment)
      try check(stream, comment)
      // Cut at any place.
      for length in stream.indices.prefix(300) { try check(Array(stream[..<length]), comment) }
    }
    let plain: [Int: Int] = [0: 2, 1: 2, 256: 2, 257: 2]

    try expect(.damaged, "a block of the third type") { $0.put(7, 3) }
    try expect(.damaged, "a stored length without its complement") {
      $0.put(1, 3); $0.put(0, 5); $0.put(0x1_0000, 32)
    }
    try expect(.truncated, "a stored block of too few bytes") {
      $0.put(1, 3); $0.put(0, 5); $0.put(0xfffe_0001, 32)
    }
    try expect(.goesOn, "bytes behind the end") {
      $0.storedBlock([1], isLast: true); $0.put(0, 8)
    }
    try expect(.truncated, "no last block") { $0.storedBlock([1]) }
    try expect(.truncated, "nothing") { _ in }

    for count in [287, 288] {
      try expect(.damaged, "\(count) literals and lengths") { $0.beginDynamic(literals: count, distances: 1) }
    }
    for count in [31, 32] {
      try expect(.damaged, "\(count) distances") { $0.beginDynamic(literals: 257, distances: count) }
    }
    try expect(.damaged, "too many codes of one bit for lengths") { $0.dynamicHead(lengthCode: [0: 1, 1: 1, 2: 1]) }
    try expect(.damaged, "too few codes for lengths") { $0.dynamicHead(lengthCode: [0: 1, 1: 2]) }
    try expect(.damaged, "one code for lengths") { $0.dynamicHead(lengthCode: [1: 1]) }
    try expect(.damaged, "no code for lengths") { $0.dynamicHead(lengthCode: [:]) }
    try expect(.damaged, "a repetition of nothing") {
      $0.dynamicHead(lengthCode: [1: 1, 16: 1]); $0.code(1, 1); $0.put(0, 2)
    }
    try expect(.damaged, "a repetition beyond the last length") {
      $0.dynamicHead(lengthCode: [1: 1, 18: 1])
      for _ in 0..<2 { $0.code(1, 1); $0.put(127, 7) }
    }
    try expect(.damaged, "no code for the end of the block") { $0.dynamic([0: 1, 1: 1], [0: 1]) }
    try expect(.damaged, "too many codes") { $0.dynamic([0: 1, 1: 1, 256: 1], [0: 1]) }
    try expect(.damaged, "too few codes") { $0.dynamic([0: 1, 256: 2], [0: 1]) }
    try expect(.damaged, "one code of two bits") { $0.dynamic([256: 2], [0: 1]) }
    try expect(.damaged, "too many distances") { $0.dynamic(plain, [0: 1, 1: 1, 2: 1]) }
    try expect(.damaged, "too few distances") { $0.dynamic(plain, [0: 1, 1: 2]) }
    try expect(.damaged, "one distance of two bits") { $0.dynamic(plain, [0: 2]) }
    try expect(.damaged, "a code that there is not, beside the only one") {
      $0.dynamic([256: 1], [0: 1]); $0.code(1, 1)
    }
    try expect(.damaged, "a distance that there is not, beside the only one") {
      $0.dynamic(plain, [0: 1]); $0.code(0, 2); $0.code(3, 2); $0.code(1, 1)
    }
    try expect(.damaged, "a distance, and there is none") {
      $0.dynamic(plain, [:]); $0.code(0, 2); $0.code(3, 2)
    }
    try expect(.complete, "no distance is needed") {
      $0.dynamic(plain, [:]); $0.code(1, 2); $0.code(2, 2)
    }
    try expect(.complete, "the end of the block alone") {
      $0.dynamic([256: 1], [:]); $0.code(0, 1)
    }
    try expect(.complete, "one distance") {
      $0.dynamic(plain, [0: 1]); $0.code(0, 2); $0.code(3, 2); $0.code(0, 1); $0.code(2, 2)
    }
    for symbol in [286, 287] {
      try expect(.damaged, "length symbol \(symbol)") {
        $0.beginFixed(); $0.fixedLength(symbol)
      }
    }
    for symbol in [30, 31] {
      try expect(.damaged, "distance symbol \(symbol)") {
        $0.beginFixed(); $0.fixedLiteral(0); $0.fixedLength(257); $0.code(symbol, 5)
      }
    }
    try expect(.damaged, "a distance beyond the beginning") {
      $0.beginFixed(); $0.fixedLiteral(0); $0.fixedLength(257); $0.code(1, 5)
    }
    try expect(.damaged, "a distance beyond a long beginning") {
      $0.storedBlock([UInt8](repeating: 3, count: 24_576))
      $0.beginFixed(); $0.fixedLength(257); $0.code(29, 5); $0.put(0, 13)
    }
  }

  @Test func damageAnywhere() throws {
    var random = SeededRandom(for: "damaged streams")
    let keys = Array(try DeflateTests.Sample.plausible.bytes().prefix(3400))
    let text = Array(String(repeating: "Twelve of these words, and eleven of those. ", count: 20).utf8)
    let streams = try [1, 6, 9].flatMap { level in
      try Zlib.Strategy.allCases.map { try Zlib.deflate(keys + text, level: level, strategy: $0) }
    }
    var endings: Set<Zlib.Ending> = []
    for round in 0..<400 {
      var stream = streams[round % streams.count]
      for _ in 0...round % 3 {
        stream[Int.random(in: 0..<stream.count, using: &random) / (1 + round % 7)] = UInt8(random.next() & 255)
      }
      if round % 4 == 0 { stream.removeLast(Int.random(in: 0..<stream.count, using: &random)) }
      endings.insert(try Zlib.inflateToFault(stream).ending)
      try check(stream, "round \(round)", in: (1 + round % 600, 1 + round * round % 5000))
    }
    #expect(endings.count >= 3)
  }

  // MARK: Documents

  @Test(arguments: Zlib.Strategy.allCases, [Int32(0), 1, 6, 9])
  func zlibsStreams(strategy: Zlib.Strategy, level: Int32) throws {
    var random = SeededRandom(for: "inflated documents of \(strategy), \(level)")
    let keys = try DeflateTests.Sample.plausible.bytes()
    var bytes: [UInt8] = []
    while bytes.count < 110_000 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes += random.bytes(Int.random(in: 0...3000, using: &random))
      case 1: bytes += bytes.suffix(32_768).prefix(Int.random(in: 0...5000, using: &random))
      case 2: bytes += [UInt8](repeating: UInt8(random.next() & 7), count: Int.random(in: 0...2000, using: &random))
      case 3:
        bytes += (0..<Int.random(in: 0...3000, using: &random)).map { _ in UInt8(random.next().trailingZeroBitCount) }
      default:
        let start = Int.random(in: 0..<keys.count / 2, using: &random)
        bytes += keys[start..<start + Int.random(in: 0...20_000, using: &random)]
      }
    }
    let stream = try Zlib.deflate(bytes, level: level, strategy: strategy)
    let longest = random.pick([10, 3000, 300_000])
    var cuts = random
    let outcome = try inflate(
      stream, cut: { Int.random(in: 1...longest, using: &cuts) }, room: { Int.random(in: 1...longest, using: &random) })
    #expect((outcome.bytes == bytes) as Bool)
    #expect(outcome.ending == .complete)
  }

  @Test(arguments: DeflateTests.Sample.allCases)
  func ourStreams(sample: DeflateTests.Sample) throws {
    // More than a piece and its window, and not so much that it takes long.
    let bytes = Array(try sample.bytes().prefix(140_000))
    var stream: [UInt8] = []
    let writer = DeflateWriter { stream.append(contentsOf: $0) }
    try writer.write(bytes)
    _ = try writer.finish()
    let outcome = try inflate(stream)
    #expect((outcome.bytes == bytes) as Bool)
    #expect(outcome.ending == .complete)
  }

  /// What the source throws comes behind the bytes in front of it.
  @Test func faultsOfTheSource() throws {
    struct Gone: Error {}
    final class Failing: ByteSource {
      var rest: [UInt8]
      init(_ bytes: ArraySlice<UInt8>) { rest = Array(bytes) }
      func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if rest.isEmpty { throw Gone() }
        buffer[0] = rest.removeFirst()
        return 1
      }
    }
    var random = SeededRandom(seed: 5)
    let bytes = random.bytes(3000)
    let inflater = Inflater(Failing(try Zlib.deflate(bytes, level: 0).dropLast(1000)))
    var piece = [UInt8](repeating: 0, count: 1500)
    #expect(try piece.withUnsafeMutableBytes { try inflater.read(into: $0) } == 1500)
    #expect(bytes.starts(with: piece) as Bool)
    for _ in 0..<2 {
      #expect(throws: Gone.self) { try piece.withUnsafeMutableBytes { try inflater.read(into: $0) } }
    }
  }
}

/// Gives as many bytes at a time as it is told to.
private final class CutSource: ByteSource {
  private var rest: ArraySlice<UInt8>
  private let cut: () -> Int

  init(_ bytes: [UInt8], _ cut: @escaping () -> Int) {
    rest = bytes[...]
    self.cut = cut
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let piece = rest.prefix(min(buffer.count, cut()))
    buffer.copyBytes(from: piece)
    rest = rest.dropFirst(piece.count)
    return piece.count
  }
}

/// A stream put together bit by bit.
private struct Bits {
  var bytes: [UInt8] = []
  private var count = 0

  /// Numbers begin with their lowest bit.
  mutating func put(_ number: Int, _ width: Int) {
    for bit in 0..<width {
      if count % 8 == 0 { bytes.append(0) }
      bytes[count / 8] |= UInt8(number >> bit & 1) << UInt8(count % 8)
      count += 1
    }
  }

  /// Codes begin with their highest bit.
  mutating func code(_ code: Int, _ width: Int) {
    for bit in stride(from: width - 1, through: 0, by: -1) { put(code >> bit, 1) }
  }

  mutating func storedBlock(_ content: [UInt8], isLast: Bool = false) {
    put(isLast ? 1 : 0, 3)
    if count % 8 > 0 { put(0, 8 - count % 8) }
    put(content.count | (~content.count & 0xffff) << 16, 32)
    bytes += content
    count = bytes.count * 8
  }

  /// The last block, with the codes of the standard.
  mutating func beginFixed() {
    put(1, 1)
    put(1, 2)
  }

  mutating func fixedLiteral(_ byte: Int) {
    if byte < 144 { code(0x30 + byte, 8) } else { code(0x190 + byte - 144, 9) }
  }

  mutating func fixedLength(_ symbol: Int) {
    if symbol < 280 { code(symbol - 256, 7) } else { code(0xc0 + symbol - 280, 8) }
  }

  /// The last block, with codes of its own, up to how many there are.
  mutating func beginDynamic(literals: Int, distances: Int) {
    put(1, 1)
    put(2, 2)
    put(literals - 257, 5)
    put(distances - 1, 5)
  }

  /// A block with 258 literals and lengths and 4 distances, up to the code for the lengths of codes.
  mutating func dynamicHead(lengthCode: [Int: Int]) {
    beginDynamic(literals: 258, distances: 4)
    put(15, 4)
    for symbol in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15] { put(lengthCode[symbol] ?? 0, 3) }
  }

  /// The whole head, with lengths of 0, 1 and 2.
  mutating func dynamic(_ literals: [Int: Int], _ distances: [Int: Int]) {
    dynamicHead(lengthCode: [0: 1, 1: 2, 2: 2])
    for length in (0..<258).map({ literals[$0] ?? 0 }) + (0..<4).map({ distances[$0] ?? 0 }) {
      if length == 0 { code(0, 1) } else { code(length + 1, 2) }
    }
  }
}
