import ExposureKeys
import GatewayTesting
import Testing

@testable import KeyFormats

/// A source that is read on another thread gives what it gives on this one.
@Suite struct ReadAheadTests {
  @Test(arguments: [0, 1, 131_072, 131_073, 1_000_000], [1000, 131_072, 500_000])
  func givesTheSameBytes(size: Int, atOnce: Int) throws {
    var random = SeededRandom(for: "ReadAheadTests.givesTheSameBytes")
    let content = random.bytes(size)
    let source = ReadAheadSource(OddSource(content, failsAtEnd: false))
    #expect(try read(source, atOnce: atOnce) == content)
    #expect(try read(source, atOnce: atOnce) == [], "the end stays the end")
  }

  @Test func throwsWhereTheBytesEnd() throws {
    let content = [UInt8](repeating: 7, count: 700_000)
    let source = ReadAheadSource(OddSource(content, failsAtEnd: true))
    var bytes = [UInt8](repeating: 0, count: content.count)
    var count = 0
    while count < content.count {
      count += try bytes.withUnsafeMutableBytes {
        try source.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[count...]))
      }
    }
    #expect(bytes == content)
    for _ in 0..<2 { #expect(throws: OddSource.Failure.self) { try read(source, atOnce: 10) } }
  }

  /// Whoever stops in the middle leaves no thread and no source behind.
  @Test(arguments: [0, 10, 300_000])
  func endsWithItsReader(after count: Int) throws {
    weak var kept: OddSource?
    do {
      let source = OddSource([UInt8](repeating: 7, count: 5_000_000), failsAtEnd: false)
      kept = source
      let ahead = ReadAheadSource(source)
      var room = [UInt8](repeating: 0, count: count)
      _ = try room.withUnsafeMutableBytes { try ahead.read(into: $0) }
    }
    #expect(kept == nil)
  }

  @Test func largeEntriesAreReadAhead() throws {
    var random = SeededRandom(for: "ReadAheadTests.largeEntriesAreReadAhead")
    let content = random.bytes(1 << 20)
    let sink = MemorySink()
    let writer = ZipWriter(sink, date: Instant(secondsSince1970: 0))
    try writer.addEntry("export.bin") { try $0.write(content) }
    try writer.addEntry("export.sig") { try $0.write([1, 2, 3]) }
    try writer.finish()
    let archive = try ZipArchive(MemorySource(sink.bytes))
    let bin = try archive.openReadingAhead(try #require(archive["export.bin"]))
    #expect(bin is ReadAheadSource)
    #expect(try read(bin, atOnce: 100_000) == content)
    #expect(!(try archive.openReadingAhead(try #require(archive["export.sig"])) is ReadAheadSource))

    // A byte of the content that DEFLATE takes for as good as any other: the check sum at the end tells.
    var damaged = sink.bytes
    let place = try #require(damaged.indices.first { damaged[$0...].starts(with: content[500_000..<500_008]) })
    damaged[place] ^= 1
    let broken = try ZipArchive(MemorySource(damaged))
    let source = try broken.openReadingAhead(try #require(broken["export.bin"]))
    #expect { try read(source, atOnce: 100_000) } throws: { ($0 as? FormatError)?.code == .checksumMismatch }
  }

  private func read(_ source: any ByteSource, atOnce: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var room = [UInt8](repeating: 0, count: atOnce)
    while case let count = try room.withUnsafeMutableBytes({ try source.read(into: $0) }), count > 0 {
      bytes += room[..<count]
    }
    return bytes
  }
}

/// Gives less than it is asked for, and fails behind its last byte if it is to.
private final class OddSource: ByteSource {
  struct Failure: Error {}

  private let memory: MemorySource
  private let failsAtEnd: Bool
  private var step = 1

  init(_ bytes: [UInt8], failsAtEnd: Bool) {
    memory = MemorySource(bytes)
    self.failsAtEnd = failsAtEnd
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    step = step * 7 % 99_991 + 1
    let count = memory.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(step, buffer.count)]))
    if count == 0, failsAtEnd { throw Failure() }
    return count
  }
}
