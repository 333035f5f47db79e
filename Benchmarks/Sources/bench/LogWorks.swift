import Crypto
import GatewayTesting
import Synchronization
import TransparencyLog

/// A transparency log of so many entries: as much as a busy gateway adds in a second, a proof, and the whole of it.
let logWorks = [
  Preparation("20,000 log entries appended, durable", of: "entry") { count in
    let log = try FilledLog.of(count)
    let opened = try waiting { Opened(try await LogWriter.open(state: log.state, folder: log.folder)) }
    let entries = LogEntries.range(0..<appended)
    return [
      .ours("among \(Table.grouped(count))") {
        _ = try waiting { try await opened.writer.append(entries) }
        return appended
      }.handling(appended),
      .yardstick("among 0", reach: 1 / 1.2) {
        let folder = try ScratchFolder()
        let (state, shown) = (LogFolder(folder / "state"), LogFolder(folder / "public"))
        _ = try waiting {
          try await LogWriter.create(name: LogEntries.log, state: state, folder: shown).append(entries)
        }
        return appended
      }.handling(appended),
      .yardstick("their hashes alone, swift-crypto") {
        entries.withUnsafeBufferPointer { hashTree(of: $0) }
      }.handling(appended),
    ]
  },
  Preparation("1,000 log entries proved", of: "proof") { count in
    let log = try FilledLog.of(count)
    let places = LogEntries.places(proofs, below: count)
    return [
      .ours {
        try waiting {
          let reader = TreeReader(log.folder, size: log.checkpoint.size)
          for place in places {
            _ = try await LogWriter.proof(
              of: place, entry: LogEntries.entry(place), checkpoint: log.checkpoint, reader)
          }
          return places.count
        }
      }.handling(proofs)
    ]
  },
  Preparation("log verified whole", of: "entry") { count in
    let log = try FilledLog.of(count)
    return [
      .ours {
        try waiting {
          var entries = 0
          try await LogVerification(TreeReader(log.folder, size: log.checkpoint.size), root: log.checkpoint.root)
            .run { first, _ in entries = first }
          return entries / Tile.width == (log.checkpoint.size - 1) / Tile.width ? count : 0
        }
      },
      .yardstick("swift-crypto, hashes alone, one core") {
        var done = 0
        while done < count {
          let end = min(done + blockOfEntries, count)
          done += LogEntries.block.withUnsafeBufferPointer {
            hashTree(of: UnsafeBufferPointer(rebasing: $0[..<(end - done)]))
          }
        }
        return done
      },
    ]
  },
]

private let appended = 20_000
private let proofs = 1000
private let blockOfEntries = 1 << 16

/// Entries as long as one about a bundle is: 518 bytes.
private enum LogEntries {
  static let log = "log.keyferry.example/bench"
  static let block = range(0..<blockOfEntries)

  static func range(_ range: Range<Int>) -> [[UInt8]] { range.map(entry) }

  static func entry(_ index: Int) -> [UInt8] {
    var entry = [UInt8](repeating: 0x20, count: 518)
    entry.replaceSubrange(0..<8, with: withUnsafeBytes(of: UInt64(index).littleEndian) { Array($0) })
    return entry
  }

  static func places(_ count: Int, below size: Int) -> [Int] {
    var random = SeededRandom(seed: 7)
    return (0..<count).map { _ in Int.random(in: 0..<size, using: &random) }
  }
}

/// A log in a folder that goes with the process's last use of it. It is filled once for all works, and only looked at or
/// added to.
private final class FilledLog: Sendable {
  let state: LogFolder
  let folder: LogFolder
  /// Over the entries that it was filled with, whatever was added since.
  let checkpoint: SignedCheckpoint
  private let scratch: Scratch

  private static let filled = Mutex<(count: Int, log: FilledLog)?>(nil)

  static func of(_ count: Int) throws -> FilledLog {
    try filled.withLock { filled in
      if let filled, filled.count == count { return filled.log }
      filled = nil
      let log = try FilledLog(count)
      filled = (count, log)
      return log
    }
  }

  private init(_ count: Int) throws {
    let scratch = Scratch(folder: try ScratchFolder())
    let (state, folder) = (LogFolder(scratch.folder / "state"), LogFolder(scratch.folder / "public"))
    let writer = try waiting {
      Opened(try await LogWriter.create(name: LogEntries.log, state: state, folder: folder))
    }.writer
    for start in stride(from: 0, to: count, by: LogWriter.entriesAtOnce) {
      let opened = Opened(writer)
      _ = try waiting {
        try await opened.writer.append(LogEntries.range(start..<min(start + LogWriter.entriesAtOnce, count)))
      }
    }
    (self.state, self.folder, self.scratch, checkpoint) = (state, folder, scratch, writer.checkpoint)
  }

  /// Nobody changes it.
  private struct Scratch: @unchecked Sendable { let folder: ScratchFolder }
}

/// A writer that is handed over, and used by one thread at a time.
private struct Opened: @unchecked Sendable {
  let writer: LogWriter

  init(_ writer: LogWriter) { self.writer = writer }
}

/// RFC 6962's hashes of leaves and nodes, and nothing else.
private func hashTree(of entries: UnsafeBufferPointer<[UInt8]>) -> Int {
  var row = entries.map { entry in
    var hasher = SHA256()
    withUnsafeBytes(of: UInt8(0)) { hasher.update(bufferPointer: $0) }
    entry.withUnsafeBytes { hasher.update(bufferPointer: $0) }
    return hasher.finalize()
  }
  while row.count > 1 {
    row = stride(from: 0, to: row.count - 1, by: 2).map { index in
      var hasher = SHA256()
      withUnsafeBytes(of: UInt8(1)) { hasher.update(bufferPointer: $0) }
      row[index].withUnsafeBytes { hasher.update(bufferPointer: $0) }
      row[index + 1].withUnsafeBytes { hasher.update(bufferPointer: $0) }
      return hasher.finalize()
    }
  }
  blackHole(row)
  return entries.count
}
