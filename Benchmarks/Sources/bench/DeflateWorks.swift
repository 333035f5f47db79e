import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats

/// DEFLATE of what the encoder writes, without check sums. The sizes stand beside the contenders' names.
let deflateWorks = [ExportLayout.canonical, .mixed].flatMap { layout in
  [false, true].map { isSorted in
    Preparation("export.bin deflated, \(layout.rawValue)\(isSorted ? ", sorted" : "")") { count in
      var document = try ReferenceExport.decode(layout.export(count))
      if isSorted { document.keys.sort { ($0.key.high, $0.key.low) < ($1.key.high, $1.key.low) } }
      let sink = CollectingSink()
      _ = try encode(document, with: ExportEncoder(OutputBuffer(sink)))
      let export = sink.bytes
      func named(_ name: String, _ size: Int) -> String {
        "\(name), \(String(format: "%.4f", Double(size) / Double(max(export.count, 1))))"
      }
      // Of the slowest level only the size is wanted.
      let best = named("9", try Zlib.deflate(export, level: 9).count)
      return [
        .ours(named("Keyferry", try deflate(export))) {
          blackHole(try deflate(export))
          return count
        },
        .yardstick(named("zlib 6", try Zlib.deflate(export, level: 6).count) + "; \(best)", reach: 40) {
          blackHole(try Zlib.deflate(export, level: 6).count)
          return count
        },
        libdeflate(export, count, named),
      ]
    }
  }
}

/// The other way, of streams by zlib and by us, in pieces; libdeflate only knows whole documents.
let inflateWorks = [ExportLayout.canonical, .mixed].flatMap { layout in
  [false, true].map { isOurs in
    Preparation("export.bin inflated, \(layout.rawValue), by \(isOurs ? "Keyferry" : "zlib 6")") { count in
      let export = layout.export(count)
      let stream = isOurs ? try deflated(export) : try Zlib.deflate(export, level: 6)
      return [
        .ours {
          guard try inflate(stream) == export.count else { return 0 }
          return count
        },
        .yardstick("zlib") {
          var total = 0
          let ending = try Zlib.inflate(stream) { total += $0.count }
          return ending == .complete && total == export.count ? count : 0
        },
        libdeflate(stream, inflatesTo: export.count, count),
      ]
    }
  }
}

private func deflated(_ document: [UInt8]) throws -> [UInt8] {
  var stream: [UInt8] = []
  let writer = DeflateWriter { stream.append(contentsOf: $0) }
  try writer.write(document)
  _ = try writer.finish()
  return stream
}

/// Reads pieces of the size that the decoder's window has.
private func inflate(_ stream: [UInt8]) throws -> Int {
  let inflater = Inflater(MemorySource(stream))
  var piece = [UInt8](repeating: 0, count: 128 << 10)
  var total = 0
  while true {
    let count = try piece.withUnsafeMutableBytes { try inflater.read(into: $0) }
    if count == 0 { return total }
    total += count
  }
}

private func libdeflate(_ stream: [UInt8], inflatesTo count: Int, _ keys: Int) -> Contender {
  guard let library = LibdeflateInflater(room: count) else {
    return .missing(
      "libdeflate", .yardstick(reach: nil), because: "libdeflate.so.0 is not installed (Debian: libdeflate0)")
  }
  return .yardstick("libdeflate") { library.inflates(stream) ? keys : 0 }
}

private func deflate(_ document: [UInt8]) throws -> Int {
  let writer = DeflateWriter { blackHole($0.count) }
  // In pieces of the size that the encoder's buffer has.
  try document.withUnsafeBytes { all in
    for start in stride(from: 0, to: all.count, by: 128 << 10) {
      try writer.write(UnsafeRawBufferPointer(rebasing: all[start..<min(start + 128 << 10, all.count)]))
    }
  }
  return try writer.finish()
}

private final class CollectingSink: ByteSink {
  var bytes: [UInt8] = []
  func write(_ bytes: UnsafeRawBufferPointer) { self.bytes.append(contentsOf: bytes) }
}

/// Loaded at run time, so that nobody needs it in order to build.
private func libdeflate(_ document: [UInt8], _ count: Int, _ named: (String, Int) -> String) -> Contender {
  let reach = 15.0
  guard let library = Libdeflate(level: 6) else {
    return .missing(
      "libdeflate level 6", .yardstick(reach: reach), because: "libdeflate.so.0 is not installed (Debian: libdeflate0)")
  }
  return .yardstick(named("libdeflate level 6", library.deflate(document)), reach: reach) {
    blackHole(library.deflate(document))
    return count
  }
}

private final class Libdeflate {
  private typealias Make = @convention(c) (CInt) -> OpaquePointer?
  private typealias Compress =
    @convention(c) (OpaquePointer?, UnsafeRawPointer?, Int, UnsafeMutableRawPointer?, Int) -> Int
  private typealias Free = @convention(c) (OpaquePointer?) -> Void

  private let compressor: OpaquePointer
  private let compress: Compress
  private let free: Free
  private var room: [UInt8] = []

  init?(level: CInt) {
    guard let handle = dlopen("libdeflate.so.0", RTLD_NOW), let make = dlsym(handle, "libdeflate_alloc_compressor"),
      let compress = dlsym(handle, "libdeflate_deflate_compress"),
      let free = dlsym(handle, "libdeflate_free_compressor"),
      let compressor = unsafeBitCast(make, to: Make.self)(level)
    else { return nil }
    self.compressor = compressor
    self.compress = unsafeBitCast(compress, to: Compress.self)
    self.free = unsafeBitCast(free, to: Free.self)
  }

  deinit { free(compressor) }

  /// The size of the result, which is made in room that is kept.
  func deflate(_ document: [UInt8]) -> Int {
    if room.count < document.count + 4096 { room = [UInt8](repeating: 0, count: document.count + 4096) }
    return room.withUnsafeMutableBytes { room in
      document.withUnsafeBytes { compress(compressor, $0.baseAddress, $0.count, room.baseAddress, room.count) }
    }
  }
}

private final class LibdeflateInflater {
  private typealias Make = @convention(c) () -> OpaquePointer?
  private typealias Decompress =
    @convention(c) (
      OpaquePointer?, UnsafeRawPointer?, Int, UnsafeMutableRawPointer?, Int, UnsafeMutablePointer<Int>?
    ) -> CInt
  private typealias Free = @convention(c) (OpaquePointer?) -> Void

  private let decompressor: OpaquePointer
  private let decompress: Decompress
  private let free: Free
  private var room: [UInt8]

  init?(room count: Int) {
    guard let handle = dlopen("libdeflate.so.0", RTLD_NOW), let make = dlsym(handle, "libdeflate_alloc_decompressor"),
      let decompress = dlsym(handle, "libdeflate_deflate_decompress"),
      let free = dlsym(handle, "libdeflate_free_decompressor"),
      let decompressor = unsafeBitCast(make, to: Make.self)()
    else { return nil }
    self.decompressor = decompressor
    self.decompress = unsafeBitCast(decompress, to: Decompress.self)
    self.free = unsafeBitCast(free, to: Free.self)
    room = [UInt8](repeating: 0, count: count)
  }

  deinit { free(decompressor) }

  /// Whether the stream fills the room.
  func inflates(_ stream: [UInt8]) -> Bool {
    room.withUnsafeMutableBytes { room in
      stream.withUnsafeBytes {
        // Without a place for the length, another one is an error.
        decompress(decompressor, $0.baseAddress, $0.count, room.baseAddress, room.count, nil) == 0
      }
    }
  }
}
