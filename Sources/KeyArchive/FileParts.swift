internal import BundleTrust
internal import CZlib
internal import KeyFormats

/// A bundle that is kept as the places of its keys in other bundles: a day whose keys are those of its hours, or an hour of a day.
///
/// What is left of it beside the keys is kept as it is, and how its `export.bin` was compressed as a ``DeflateTrace``, so that every
/// byte of it comes back. It is kept so only where that was tried, and where it saves half of the bytes at least.
///
/// The form: `keyferry parts 1` and a line feed; then, in the form of zlib, numbers in LEB128 and bytes behind their number. How many
/// other files there are, and the SHA-256 of each; what stands in front of the compressed `export.bin`, and behind it; the bytes of
/// `export.bin` that are in no other file; how many pieces it has, and for each which file it is from (0: these bytes), how far in
/// front of or behind the end of that file's last piece it begins (zigzag), and how many bytes it has; then the trace.
package enum FileParts {
  static let mark = Array("keyferry parts 1\n".utf8)
  /// Larger bundles are kept whole.
  static let byteLimit = 32 << 20
  private static let documentLimit = 128 << 20
  private static let sourceLimit = 400

  /// Another bundle, to take keys from.
  struct Source {
    let digest: String
    /// Its `export.bin`.
    let document: [UInt8]
  }

  // MARK: Taking apart

  /// - Returns: `nil` where nothing is saved, or not every byte comes back.
  static func encode(_ file: [UInt8], from sources: [Source]) -> [UInt8]? {
    guard !sources.isEmpty, sources.count <= sourceLimit, let entry = Entry(file),
      let (document, trace) = DeflateTrace.read(Array(file[entry.content]), limit: documentLimit)
    else { return nil }
    let pieces = Pieces(document, from: sources.map(\.document))
    var body: [UInt8] = []
    func append(_ bytes: some Collection<UInt8>) {
      LEB128.append(bytes.count, to: &body)
      body += bytes
    }
    LEB128.append(sources.count, to: &body)
    for source in sources { body += bytes(ofDigest: source.digest) }
    append(file[..<entry.content.lowerBound])
    append(file[entry.content.upperBound...])
    append(pieces.literals)
    LEB128.append(pieces.all.count, to: &body)
    for piece in pieces.all {
      LEB128.append(piece.source, to: &body)
      LEB128.append(piece.step >= 0 ? 2 * piece.step : -2 * piece.step - 1, to: &body)
      LEB128.append(piece.count, to: &body)
    }
    body += trace
    guard let packed = deflate(body), case let parts = mark + packed, parts.count * 2 <= file.count,
      decode(parts, source: { digest in sources.first { $0.digest == digest }?.document }) == file
    else { return nil }
    return parts
  }

  /// Where the compressed `export.bin` stands in a bundle.
  private struct Entry {
    let content: Range<Int>

    init?(_ file: [UInt8]) {
      guard let archive = try? ZipArchive(MemorySource(file)), let entry = archive["export.bin"], entry.method == 8
      else { return nil }
      let header = entry.headerOffset
      guard header >= 0, file.count - header >= 30 else { return nil }
      func number(_ offset: Int) -> Int { Int(file[header + offset]) | Int(file[header + offset + 1]) << 8 }
      let start = header + 30 + number(26) + number(28)
      guard start <= file.count, entry.compressedSize <= file.count - start else { return nil }
      content = start..<start + entry.compressedSize
    }
  }

  /// The `export.bin` of a bundle, to take keys from.
  static func document(of file: [UInt8]) -> [UInt8]? {
    guard let archive = try? ZipArchive(MemorySource(file)), let entry = archive["export.bin"] else { return nil }
    return try? archive.open(entry).readAll(limit: documentLimit)
  }

  /// Pieces of a document, as the places of whole key records in others.
  private struct Pieces {
    struct Piece {
      let source: Int
      let step: Int
      var count: Int
    }

    private(set) var all: [Piece] = []
    private(set) var literals: [UInt8] = []

    private struct Place {
      let source: Int
      let range: Range<Int>
    }

    init(_ document: [UInt8], from sources: [[UInt8]]) {
      var places: [ArraySlice<UInt8>: Place] = [:]
      for (number, source) in sources.enumerated() {
        for range in KeyRecords.ranges(in: source) where places[source[range]] == nil {
          places[source[range]] = Place(source: number + 1, range: range)
        }
      }
      var ends = [Int](repeating: 0, count: sources.count + 1)
      var end = 0
      func add(_ source: Int, _ range: Range<Int>) {
        let step = range.lowerBound - ends[source]
        ends[source] = range.upperBound
        if let last = all.last, last.source == source, step == 0 {
          all[all.count - 1].count += range.count
        } else {
          all.append(Piece(source: source, step: step, count: range.count))
        }
      }
      func addLiterals(upTo place: Int) {
        guard end < place else { return }
        add(0, literals.count..<literals.count + place - end)
        literals += document[end..<place]
      }
      for range in KeyRecords.ranges(in: document) {
        guard let place = places[document[range]] else { continue }
        addLiterals(upTo: range.lowerBound)
        add(place.source, place.range)
        end = range.upperBound
      }
      addLiterals(upTo: document.count)
    }
  }

  // MARK: Putting together

  /// - Parameter source: the `export.bin` of a bundle by its digest.
  /// - Returns: `nil` where a bundle is missing, or the parts do not fit together.
  static func decode(_ parts: [UInt8], source: (String) throws -> [UInt8]?) rethrows -> [UInt8]? {
    guard parts.starts(with: mark), let body = inflate(parts[mark.count...]) else { return nil }
    return try decode(body: body, source: source)
  }

  /// - Parameter body: what the compressed part says.
  package static func decode(body: [UInt8], source: (String) throws -> [UInt8]?) rethrows -> [UInt8]? {
    var rest = body[...]
    func take(_ count: Int) -> ArraySlice<UInt8>? {
      guard count <= rest.count else { return nil }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }
    func takeBytes() -> ArraySlice<UInt8>? { LEB128.take(&rest).flatMap(take) }
    guard let count = LEB128.take(&rest), count <= sourceLimit else { return nil }
    var sources: [[UInt8]] = []
    for _ in 0..<count {
      guard let digest = take(32), let document = try source(hexadecimal(digest)) else { return nil }
      sources.append(document)
    }
    guard let front = takeBytes(), let back = takeBytes(), let literals = takeBytes(),
      let pieceCount = LEB128.take(&rest)
    else { return nil }
    sources.insert(Array(literals), at: 0)
    var ends = [Int](repeating: 0, count: sources.count)
    var document: [UInt8] = []
    for _ in 0..<pieceCount {
      guard let number = LEB128.take(&rest), number < sources.count, let zigzag = LEB128.take(&rest),
        let size = LEB128.take(&rest), document.count + size <= documentLimit
      else { return nil }
      let start = ends[number] + (zigzag & 1 == 0 ? zigzag >> 1 : -(zigzag + 1) >> 1)
      guard start >= 0, start <= sources[number].count, size <= sources[number].count - start else { return nil }
      document += sources[number][start..<start + size]
      ends[number] = start + size
    }
    guard let stream = DeflateTrace.write(rest, of: document) else { return nil }
    return front + stream + back
  }

  /// The bundles that parts are taken from.
  static func sources(of parts: [UInt8]) -> [String] {
    guard parts.starts(with: mark), let body = inflate(parts[mark.count...]) else { return [] }
    var rest = body[...]
    guard let count = LEB128.take(&rest), count <= sourceLimit, rest.count >= count * 32 else { return [] }
    return (0..<count).map { number in hexadecimal(rest.dropFirst(number * 32).prefix(32)) }
  }

  // MARK: Bytes

  private static func bytes(ofDigest digest: String) -> [UInt8] {
    let digits = Array(digest.utf8).map { $0 < 58 ? $0 - 48 : $0 - 87 }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  private static func deflate(_ bytes: [UInt8]) -> [UInt8]? {
    var size = compressBound(UInt(bytes.count))
    var packed = [UInt8](repeating: 0, count: Int(size))
    guard compress2(&packed, &size, bytes, UInt(bytes.count), 9) == Z_OK else { return nil }
    return Array(packed[..<Int(size)])
  }

  /// By zlib's own code for streams of an unknown length.
  private static func inflate(_ packed: ArraySlice<UInt8>) -> [UInt8]? {
    let packed = Array(packed)
    var stream = z_stream()
    guard inflateInit_(&stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
    defer { inflateEnd(&stream) }
    return packed.withUnsafeBufferPointer { input in
      stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
      stream.avail_in = UInt32(truncatingIfNeeded: input.count)
      var bytes: [UInt8] = []
      var room = [UInt8](repeating: 0, count: 1 << 18)
      while true {
        let (status, filled) = room.withUnsafeMutableBufferPointer { room in
          stream.next_out = room.baseAddress
          stream.avail_out = UInt32(room.count)
          let status = CZlib.inflate(&stream, Z_NO_FLUSH)
          return (status, room.count - Int(stream.avail_out))
        }
        bytes += room[..<filled]
        guard status == Z_OK || status == Z_STREAM_END, bytes.count <= 2 * documentLimit else { return nil }
        if status == Z_STREAM_END { return stream.avail_in == 0 ? bytes : nil }
        guard filled > 0 else { return nil }
      }
    }
  }
}

/// Where the key records stand in an `export.bin`.
enum KeyRecords {
  /// The records of keys and of revised keys, each with its tag. Ends where something is no field.
  static func ranges(in document: [UInt8]) -> [Range<Int>] {
    // Keys, and revised keys, as messages.
    let tags: [UInt8] = [7 << 3 | 2, 8 << 3 | 2]
    var ranges: [Range<Int>] = []
    var place = 16
    while place < document.count {
      let start = place
      let isKey = tags.contains(document[place])
      var rest = document[place...]
      guard let tag = LEB128.take(&rest) else { break }
      switch tag & 7 {
      case 0: guard LEB128.take(&rest) != nil else { return ranges }
      case 1: rest = rest.dropFirst(8)
      case 2:
        guard let length = LEB128.take(&rest), length <= rest.count else { return ranges }
        rest = rest.dropFirst(length)
      case 5: rest = rest.dropFirst(4)
      default: return ranges
      }
      place = rest.startIndex
      if isKey { ranges.append(start..<place) }
    }
    return ranges
  }
}
