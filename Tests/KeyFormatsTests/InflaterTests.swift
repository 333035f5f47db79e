import GatewayTesting
import Testing

@testable import KeyFormats

/// Streams of DEFLATE, read in pieces as the inflater does and whole as zlib does.
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

  // MARK: Endings

  @Test func storedBlocks() throws {
    #expect(try inflate([1, 0, 0, 0xff, 0xff]).bytes == [])
    #expect(try inflate([0, 2, 0, 0xfd, 0xff, 7, 9, 1, 1, 0, 0xfe, 0xff, 0x80]).bytes == [7, 9, 0x80])
  }

  /// Whatever is left of a stream, and however it is cut, the bytes in front of the missing ones come first.
  @Test func truncatedAnywhere() throws {
    let bytes = Array("Twelve of these words, and eleven of those words.".utf8)
    let stream = try Zlib.deflate(bytes, level: 9)
    for length in stream.indices {
      for room in [1, 7, 100] {
        let outcome = try inflate(Array(stream[..<length]), cut: { 1 }, room: { room })
        #expect(
          outcome.ending == .truncated && bytes.starts(with: outcome.bytes) && outcome.count == outcome.bytes.count)
      }
    }
    for room in 1...60 { #expect(try inflate(stream, cut: { 1 }, room: { room }).bytes == bytes) }
  }

  @Test func damagedAndContinued() throws {
    // A block of the third type; a stored length without its complement; a byte behind the end.
    #expect(try inflate([7]).ending == .damaged)
    #expect(try inflate([1, 0, 0, 0, 1]).ending == .damaged)
    for cut in [1, 10] { #expect(try inflate([1, 0, 0, 0xff, 0xff, 0], cut: { cut }).ending == .goesOn) }
    #expect(try inflate([]).ending == .truncated)
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
    #expect(try piece.withUnsafeMutableBytes { try inflater.read(into: $0) } == 500)
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
