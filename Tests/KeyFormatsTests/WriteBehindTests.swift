import ExposureKeys
import GatewayTesting
import Testing

@testable import KeyFormats

/// A sink that is written on another thread gets what it gets on this one.
@Suite struct WriteBehindTests {
  @Test(arguments: [0, 1, 131_072, 131_073, 1_000_000], [1000, 131_072, 500_000])
  func takesTheSameBytes(size: Int, atOnce: Int) throws {
    var random = SeededRandom(for: "WriteBehindTests.takesTheSameBytes")
    let content = random.bytes(size)
    for start in [0, 200_000] {
      let taken = MemorySink()
      let sink = WriteBehindSink(taken, start: start)
      for from in stride(from: 0, to: size, by: atOnce) {
        try sink.write(Array(content[from..<min(size, from + atOnce)]))
      }
      try sink.finish()
      #expect(taken.bytes == content)
    }
  }

  /// What goes wrong behind is told, by a later write or at the end, and again to whoever goes on.
  @Test(arguments: [1000, 300_000])
  func throwsWhatWentWrong(limit: Int) throws {
    let full = FullSink(limit: limit)
    let sink = WriteBehindSink(full, start: 0)
    #expect(throws: FullSink.Full.self) {
      for _ in 0..<100 { try sink.write([UInt8](repeating: 7, count: 100_000)) }
      try sink.finish()
    }
    #expect(throws: FullSink.Full.self) { try sink.write([7]) }
    #expect(throws: FullSink.Full.self) { try sink.finish() }
    #expect(full.count <= limit)

    let short = WriteBehindSink(FullSink(limit: 10), start: 0)
    try short.write([UInt8](repeating: 7, count: 11))
    #expect(throws: FullSink.Full.self) { try short.finish() }
  }

  /// Whoever gives up in the middle leaves no thread and no sink behind.
  @Test(arguments: [0, 10, 3_000_000])
  func endsWithItsWriter(after count: Int) throws {
    weak var kept: MemorySink?
    do {
      let taken = MemorySink()
      kept = taken
      try WriteBehindSink(taken, start: 0).write([UInt8](repeating: 7, count: count))
    }
    #expect(kept == nil)
  }

  /// An archive does not depend on which thread deflates.
  @Test func largeEntriesAreTheSame() throws {
    var random = SeededRandom(for: "WriteBehindTests.largeEntriesAreTheSame")
    let export = try RandomKeys(.plausible).document(60_000, using: &random).bytes(as: .gaenExport)
    func archive(piece: Int) throws -> [UInt8] {
      let sink = MemorySink()
      let writer = ZipWriter(sink, date: Instant(secondsSince1970: 0))
      try writer.addEntry("export.bin") { entry in
        for from in stride(from: 0, to: export.count, by: piece) {
          try entry.write(Array(export[from..<min(export.count, from + piece)]))
        }
      }
      try writer.finish()
      return sink.bytes
    }
    let whole = try archive(piece: export.count)
    #expect(try archive(piece: 4096) == whole)
    let read = try ZipArchive(MemorySource(whole))
    let entry = try #require(read["export.bin"])
    var bytes = [UInt8](repeating: 0, count: export.count + 1)
    var end = 0
    let content = try read.open(entry)
    while case let count = try bytes[end...].withUnsafeMutableBytes({ try content.read(into: $0) }), count > 0 {
      end += count
    }
    #expect(bytes[..<end] == export[...])
  }
}

/// A disk that is full at some time.
private final class FullSink: ByteSink {
  struct Full: Error {}
  private let limit: Int
  private(set) var count = 0

  init(limit: Int) { self.limit = limit }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    guard count + bytes.count <= limit else { throw Full() }
    count += bytes.count
  }
}
