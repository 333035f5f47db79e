import ExposureKeys
import Foundation
import GatewayTesting
import Synchronization
import Testing

@testable import KeyFormats

/// Our DEFLATE streams, as others read them.
@Suite struct DeflateTests {
  /// Documents by what is special about them.
  enum Sample: String, CaseIterable, CustomTestStringConvertible {
    case nothing, oneByte, header, oneKey, plausible, sorted, wild, equalKeys, pairedKeys, bareKeys
    case hugeField, manyLongFields, lyingLengths, cutOff, garbageBehind, text, noise, zeros

    var testDescription: String { rawValue }

    /// Made once: an encoder that is built for debugging takes its time.
    func bytes() throws -> [UInt8] {
      try Self.documents.withLock { documents in
        if let known = documents[self] { return known }
        let made = try make()
        documents[self] = made
        return made
      }
    }

    private static let documents = Mutex<[Sample: [UInt8]]>([:])

    private func make() throws -> [UInt8] {
      var random = SeededRandom(seed: 11)
      func export(_ document: DecodedDocument) throws -> [UInt8] {
        let sink = MemorySink()
        let encoder = ExportEncoder(OutputBuffer(sink))
        try encoder.begin(document.header)
        try document.keys.withUnsafeBufferPointer {
          try encoder.encode($0, regions: document.regions, unknownFields: document.unknownFields)
        }
        try encoder.finish(document.header)
        return sink.bytes
      }
      func plausible(_ count: Int) -> DecodedDocument { RandomKeys(.plausible).document(count, using: &random) }
      switch self {
      case .nothing: return []
      case .oneByte: return [0]
      case .header: return ExportDecoder.fileHeader
      case .oneKey: return try export(plausible(1))
      case .plausible: return try export(plausible(20_000))
      case .sorted:
        var document = plausible(20_000)
        document.keys.sort { ($0.key.high, $0.key.low) < ($1.key.high, $1.key.low) }
        return try export(document)
      case .wild: return try export(RandomKeys(.wild, hasUnknownFields: true).document(10_000, using: &random))
      case .equalKeys:
        var document = plausible(1)
        document.keys = Array(repeating: document.keys[0], count: 10_000)
        return try export(document)
      case .pairedKeys:
        var document = plausible(5000)
        document.keys = document.keys.flatMap { [$0, $0] }
        return try export(document)
      case .bareKeys:
        var document = plausible(10_000)
        document.keys = document.keys.map { ClaimedKey(key: $0.key) }
        return try export(document)
      case .hugeField:
        // Larger than a block, between keys.
        let keys = try export(plausible(5000))
        let field: [UInt8] = [0x7a, 0x80, 0x80, 0x28] + random.bytes(0x28 << 14)
        return keys + field + keys.dropFirst(16)
      case .manyLongFields:
        return (0..<3000).reduce(into: try export(plausible(2000))) { bytes, _ in
          let unknown = [0x7a, 0xac, 0x02] + random.bytes(300)
          bytes += [0x3a, 0xc1, 0x02, 0x0a, 0x10] + random.bytes(16) + unknown
        }
      case .lyingLengths:
        var bytes = try export(plausible(10_000))
        for _ in 0..<50 { bytes[Int.random(in: 100..<bytes.count, using: &random)] = UInt8(random.next() & 255) }
        return bytes
      case .cutOff: return Array(try export(plausible(9000)).dropLast(25))
      case .garbageBehind: return try export(plausible(9000)) + random.bytes(500_000)
      case .text: return Array(String(repeating: "Not a key among these words. ", count: 20_000).utf8)
      case .noise: return random.bytes(600_000)
      case .zeros: return ExportDecoder.fileHeader + [UInt8](repeating: 0, count: 600_000)
      }
    }
  }

  @Test(arguments: Sample.allCases)
  func zlibReadsIt(sample: Sample) throws {
    let bytes = try sample.bytes()
    let stream = try deflated(bytes)
    #expect(try inflated(stream) == bytes)
    #expect(stream.count <= bytes.count + 64 + bytes.count / 1000, "never much larger than stored")
  }

  /// Where the pieces end makes no difference.
  @Test(arguments: Sample.allCases)
  func piecesDoNotMatter(sample: Sample) throws {
    let bytes = try sample.bytes()
    let expected = try deflated(bytes)
    var random = SeededRandom(for: "pieces of deflated documents")
    for longest in [200, 70_000, 400_000] {
      #expect(try deflated(bytes) { Int.random(in: 0...longest, using: &random) } == expected)
    }
  }

  @Test(arguments: [Sample.plausible, .sorted, .bareKeys], [1000, 3000, 20_000])
  func noLargerThanTheBestOfZlib(sample: Sample, count: Int) throws {
    let bytes = Array(try sample.bytes().prefix(count * 34))
    #expect(try deflated(bytes).count <= Zlib.deflate(bytes, level: 9).count)
  }

  @Test func sharedFrontsOfSortedKeysAreUsed() throws {
    let sorted = try deflated(try Sample.sorted.bytes()).count
    let unsorted = try deflated(try Sample.plausible.bytes()).count
    #expect(sorted < unsorted - 20_000 / 4, "a quarter of a byte a key at least")
  }

  /// What is mostly something else is left to zlib, so repetition is found.
  @Test(arguments: [Sample.equalKeys, .text, .zeros])
  func repetitionIsFound(sample: Sample) throws {
    let bytes = try sample.bytes()
    #expect(try deflated(bytes).count < bytes.count / 50)
  }

  @Test(.enabled(if: Tool(named: "python3") != nil, "python3 is not installed"))
  func pythonReadsIt() throws {
    let python = try #require(Tool(named: "python3"))
    try withTemporaryFolder { folder in
      for sample in Sample.allCases {
        let bytes = try sample.bytes()
        try Data(try archive(bytes)).write(to: folder.appending(path: "\(sample.rawValue).zip"))
        try Data(bytes).write(to: folder.appending(path: "\(sample.rawValue).bin"))
      }
      let script = """
        import glob, zipfile
        names = sorted(glob.glob("*.zip"))
        for name in names:
            assert zipfile.ZipFile(name).read("export.bin") == open(name[:-3] + "bin", "rb").read(), name
        print(len(names))
        """
      let outcome = try python.run(["-c", script], in: folder)
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(outcome.text == "\(Sample.allCases.count)\n")
    }
  }

  @Test(.enabled(if: Tool(named: "unzip") != nil, "unzip is not installed"))
  func unzipReadsIt() throws {
    let unzip = try #require(Tool(named: "unzip"))
    try withTemporaryFolder { folder in
      for sample in Sample.allCases {
        try Data(try archive(try sample.bytes())).write(to: folder.appending(path: "a.zip"))
        let outcome = try unzip.run(["-t", "a.zip"], in: folder)
        #expect(outcome.status == 0, "\(sample): \(outcome.text)\(outcome.errors)")
      }
    }
  }

  /// Documents that are short, random, and cut at any place.
  @Test func randomDocuments() throws {
    var random = SeededRandom(for: "deflated documents")
    let keys = try Sample.sorted.bytes()
    for round in 0..<30 {
      var bytes = ExportDecoder.fileHeader
      while bytes.count < 80_000 {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes += random.bytes(Int.random(in: 0...3000, using: &random))
        case 1: bytes += bytes.suffix(Int.random(in: 0...40_000, using: &random))
        default:
          let start = 16 + Int.random(in: 0..<keys.count / 2, using: &random)
          bytes += keys[start..<start + Int.random(in: 0...20_000, using: &random)]
        }
      }
      // Small blocks, so that many of them end in many places.
      #expect(try inflated(try deflated(bytes, blockBytes: (8 << 10) + round)) == bytes)
    }
  }

  private func deflated(
    _ bytes: [UInt8], blockBytes: Int? = nil, pieces next: () -> Int = { .max }
  ) throws -> [UInt8] {
    var stream: [UInt8] = []
    let emit: (UnsafeRawBufferPointer) -> Void = { stream.append(contentsOf: $0) }
    let writer =
      blockBytes.map { DeflateWriter(blockBytes: $0, shortDocument: 0, emit: emit) } ?? DeflateWriter(emit: emit)
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = rest.prefix(next())
      try writer.write(Array(piece))
      rest = rest.dropFirst(piece.count)
    }
    #expect(try writer.finish() == stream.count)
    return stream
  }

  private func inflated(_ stream: [UInt8]) throws -> [UInt8] { try Zlib.inflate(stream) }

  private func archive(_ bytes: [UInt8]) throws -> [UInt8] {
    let sink = MemorySink()
    let writer = ZipWriter(sink, date: Instant(secondsSince1970: 0))
    try writer.addEntry("export.bin") { try $0.write(bytes) }
    try writer.finish()
    return sink.bytes
  }
}

/// The prefix codes alone.
@Suite struct PrefixCodeTests {
  @Test(arguments: [7, 14, 15])
  func lengthsAreACompleteCode(maximumLength: Int) {
    var random = SeededRandom(for: "prefix codes of at most \(maximumLength) bits")
    let most = maximumLength == 7 ? 19 : 286
    for round in 0..<200 {
      var code = PrefixCode(symbols: most, maximumLength: maximumLength)
      for symbol in 0..<most where !random.once(in: 1 + round % 4) {
        // Some grow like Fibonacci's numbers, which makes the deepest trees.
        code.frequencies[symbol] = round % 2 == 0 ? UInt32(1) << UInt32(symbol % 30) : UInt32(random.next() % 5000)
      }
      code.build()
      var room = 1 << maximumLength
      for symbol in 0..<most {
        let length = Int(code.lengths[symbol])
        #expect(length <= maximumLength)
        #expect((length > 0) || code.frequencies[symbol] == 0)
        if length > 0 { room -= 1 << (maximumLength - length) }
      }
      #expect(room == 0)
      for a in 0..<most where code.lengths[a] > 0 {
        for b in 0..<most where code.frequencies[b] > code.frequencies[a] {
          #expect(code.lengths[b] <= code.lengths[a])
        }
      }
    }
  }

  /// RFC 1951, 3.2.2: its example of the lengths 3, 3, 3, 3, 3, 2, 4, 4.
  @Test func codesAreThoseOfTheStandard() {
    var code = PrefixCode(symbols: 8, maximumLength: 15)
    let frequencies: [UInt32] = [10, 10, 10, 10, 10, 20, 5, 5]
    for (symbol, frequency) in frequencies.enumerated() { code.frequencies[symbol] = frequency }
    code.build()
    #expect((0..<8).map { code.lengths[$0] } == [3, 3, 3, 3, 3, 2, 4, 4])
    // With their first bit lowest: 010, 011, 100, 101, 110, 00, 1110, 1111.
    #expect((0..<8).map { code.codes[$0] } == [0b010, 0b110, 0b001, 0b101, 0b011, 0b00, 0b0111, 0b1111])
  }
}
