import Foundation
import KeyDevice
import KeyFormats
import Sightings

/// What is read of phones' and receivers' logs.
let sightingTargets: [String: FuzzTarget] = [
  "sightings": fuzzSightings,
  "sighting-databases": fuzzSightingDatabases,
]

/// Text and captures say the same wherever they are cut.
@Sendable private func fuzzSightings(_ input: UnsafeRawBufferPointer) {
  let bytes = Array(input)
  let whole = LogOutcome(MemorySource(bytes), path: nil)
  check(whole == LogOutcome(PieceSource(bytes), path: nil), "depends on where the input is cut")
  check(whole.sightings.count <= bytes.count / 16, "more sightings than identifiers have room")
}

/// A database needs a file. The second reading is that of the first.
@Sendable private func fuzzSightingDatabases(_ input: UnsafeRawBufferPointer) {
  let path = FileManager.default.temporaryDirectory.path(percentEncoded: false) + "keyferry-fuzz-\(getpid()).db"
  let bytes = Array("SQLite format 3\0".utf8) + Array(input.dropFirst(16))
  guard FileManager.default.createFile(atPath: path, contents: Data(bytes)) else { return }
  let first = LogOutcome(MemorySource(bytes), path: Array(path.utf8))
  check(first == LogOutcome(MemorySource(bytes), path: Array(path.utf8)), "something else the second time")
  check(FileManager.default.contents(atPath: path) == Data(bytes), "the file has changed")
}

private struct LogOutcome: Equatable {
  var sightings: [Sighting] = []
  var tally: SightingTally?
  var error: FormatError?

  init(_ source: any SeekableSource, path: [UInt8]?) {
    do {
      let reader = try SightingReader(source, name: "input", path: path, limits: fuzzLimits)
      defer { tally = reader.tally }
      var chunk: [Sighting] = []
      while try reader.read(into: &chunk) { sightings += chunk }
    } catch let error as FormatError {
      self.error = error
    } catch {
      fatalError("\(error)")
    }
  }
}

/// A byte at a time.
private final class PieceSource: SeekableSource {
  private let source: MemorySource
  init(_ bytes: [UInt8]) { source = MemorySource(bytes) }
  var byteCount: Int { source.byteCount }
  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    source.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(1)))
  }
}
