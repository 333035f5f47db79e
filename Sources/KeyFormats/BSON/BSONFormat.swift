public import ExposureKeys

extension KeyFormat {
  /// What `mongodump` writes of a collection: Immuni's back end kept its keys in one.
  public static let bson = KeyFormat(
    KeyFormatDefinition(
      name: "bson", summary: "dump of a MongoDB collection: mongodump of Immuni's back end", fileExtension: "bson",
      isBinary: true, readers: .gateways, detection: .front { BSONText.begins($0.bytes) },
      decoder: { BSONDecoder($0, limits: $1) }))
}

/// Reads the documents of a dump as MongoDB's own JSON of them is read, in whatever dialect they are.
public final class BSONDecoder: KeyDecoder {
  private let json: JSONKeyDecoder

  public init(_ window: InputWindow, limits: ReadLimits = ReadLimits()) {
    json = JSONKeyDecoder(InputWindow(BSONText(window, limits: limits), limits: limits), limits: limits)
  }

  public var header: ExportHeader { json.header }
  public var headers: HeaderMerge { json.headers }
  public var regions: RegionTable { json.regions }
  public var notes: ReadingNotes { json.notes }

  public func decode(into chunk: inout KeyChunk) throws -> Bool {
    let before = chunk.rejections.count
    do {
      let hasMore = try json.decode(into: &chunk)
      // Places in the JSON are none of the dump.
      for index in before..<chunk.rejections.count {
        chunk.rejections[index].position = KeyPosition(
          index: chunk.rejections[index].position.index, byteOffset: -1)
      }
      return hasMore
    } catch let error as FormatError where error.place.isEmpty {
      throw FormatError(error.code, place: "the dump as JSON", byteOffset: error.byteOffset, error.reason)
    }
  }
}

/// The documents of a BSON file (bsonspec.org, version 1.1) as lines of MongoDB's extended JSON.
///
/// One document is held in memory, at most 17 MiB of it: MongoDB's own limit is 16 MiB and a little.
final class BSONText: ByteSource {
  private let window: InputWindow
  private let limits: ReadLimits
  private var text: [UInt8] = []
  private var taken = 0
  private var number = 0

  private static let mostBytes = 17 << 20

  init(_ window: InputWindow, limits: ReadLimits) {
    self.window = window
    self.limits = limits
  }

  /// Whether a document that begins like this is a dump: a length, and an element with a name.
  static func begins(_ front: [UInt8]) -> Bool {
    guard front.count >= 16 else { return false }
    let length = UInt32(front[0]) | UInt32(front[1]) << 8 | UInt32(front[2]) << 16 | UInt32(front[3]) << 24
    guard (16...UInt32(mostBytes)).contains(length), (1...19).contains(front[4]) else { return false }
    let name = front[5...].prefix(48).prefix { $0 != 0 }
    return (1..<48).contains(name.count) && front.count > 5 + name.count
      && name.allSatisfy { (0x21...0x7e).contains($0) }
      && (front[4] == 7 && name.elementsEqual("_id".utf8) || length >= front.count || front[Int(length) - 1] == 0)
      && name.allSatisfy { SQLReader.isOfWord($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    while taken == text.count {
      text.removeAll(keepingCapacity: true)
      taken = 0
      guard try readDocument() else { return 0 }
    }
    let count = min(buffer.count, text.count - taken)
    buffer.copyBytes(from: text[taken..<taken + count])
    taken += count
    return count
  }

  private func readDocument() throws -> Bool {
    guard try window.require(1) else { return false }
    number += 1
    let start = window.documentOffset
    guard try window.require(4) else { throw fault(.truncated, start, "the dump ends in the middle of a length") }
    let length = Int(Int32(littleEndian: window.unread.loadUnaligned(as: Int32.self)))
    guard (5...Self.mostBytes).contains(length) else {
      throw fault(.malformed, start, "a document of \(length) bytes, allowed are 5...\(Self.mostBytes)")
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(length)
    while bytes.count < length {
      guard try window.require(1) else { throw fault(.truncated, start, "the dump ends in the middle of a document") }
      let part = window.unread.prefix(length - bytes.count)
      bytes.append(contentsOf: part)
      window.skip(part.count)
    }
    var reader = Reader(bytes: bytes, nesting: limits.nesting)
    do throws(Reader.Fault) {
      try reader.document(isArray: false, depth: 0)
      guard reader.place == bytes.count else { throw Reader.Fault(place: reader.place, reason: "bytes behind its end") }
    } catch {
      throw fault(.malformed, start + error.place, error.reason)
    }
    text = reader.text
    text.append(UInt8(ascii: "\n"))
    return true
  }

  private func fault(_ code: FormatError.Code, _ offset: Int, _ reason: String) -> FormatError {
    FormatError(code, place: "document \(number)", byteOffset: offset, reason)
  }

  /// Writes one document as JSON.
  private struct Reader {
    let bytes: [UInt8]
    let nesting: Int
    private(set) var place = 0
    private(set) var text: [UInt8] = []

    init(bytes: [UInt8], nesting: Int) {
      self.bytes = bytes
      self.nesting = nesting
    }

    struct Fault: Error {
      let place: Int
      let reason: String
    }

    mutating func document(isArray: Bool, depth: Int) throws(Fault) {
      guard depth < nesting else {
        throw Fault(place: place, reason: "nested deeper than \(nesting) levels, the most that is read")
      }
      let start = place
      let length = try Int(int32())
      guard length >= 5, length <= bytes.count - start else {
        throw Fault(place: start, reason: "a length of \(length) bytes, of which \(bytes.count - start) are there")
      }
      text.append(UInt8(ascii: isArray ? "[" : "{"))
      var isFirst = true
      while true {
        let kind = try byte()
        if kind == 0 { break }
        let name = try cString()
        if !isFirst { text.append(UInt8(ascii: ",")) }
        isFirst = false
        if !isArray {
          quote(name)
          text.append(UInt8(ascii: ":"))
        }
        try value(kind, depth: depth)
      }
      guard place == start + length else {
        throw Fault(place: start, reason: "a length of \(length) bytes, and it ends after \(place - start)")
      }
      text.append(UInt8(ascii: isArray ? "]" : "}"))
    }

    private mutating func value(_ kind: UInt8, depth: Int) throws(Fault) {
      switch kind {
      case 0x01:
        let number = Double(bitPattern: UInt64(bitPattern: try int64()))
        if let whole = Int64(exactly: number) {
          write("\(whole)")
        } else {
          write(number.isFinite ? "\(number)" : "null")
        }
      case 0x02, 0x0d, 0x0e: quote(try string())
      case 0x03: try document(isArray: false, depth: depth + 1)
      case 0x04: try document(isArray: true, depth: depth + 1)
      case 0x05:
        let count = try Int(int32())
        let subtype = try byte()
        write(
          "{\"$binary\":{\"base64\":\"\(Base64.encode(try take(count)))\",\"subType\":\"\(Hexadecimal.encode([subtype]))\"}}"
        )
      case 0x06, 0x0a: write("null")
      case 0x07: write("{\"$oid\":\"\(Hexadecimal.encode(try take(12)))\"}")
      case 0x08: write(try byte() == 0 ? "false" : "true")
      case 0x09: write("{\"$date\":{\"$numberLong\":\"\(try int64())\"}}")
      case 0x0b:
        _ = try cString()
        _ = try cString()
        write("null")
      case 0x10: write("\(try int32())")
      case 0x11: write("{\"$timestamp\":\"\(try int64())\"}")
      case 0x12: write("\(try int64())")
      case 0x13: write("{\"$decimal128\":\"\(Hexadecimal.encode(try take(16)))\"}")
      case 0x7f, 0xff: write("null")
      default: throw Fault(place: place, reason: "an element of type \(kind), which is not known")
      }
    }

    // MARK: Bytes

    private mutating func take(_ count: Int) throws(Fault) -> ArraySlice<UInt8> {
      guard count >= 0, count <= bytes.count - place else {
        throw Fault(place: place, reason: "\(count) bytes, of which \(bytes.count - place) are there")
      }
      place += count
      return bytes[place - count..<place]
    }

    private mutating func byte() throws(Fault) -> UInt8 {
      let one = try take(1)
      return one[one.startIndex]
    }

    private mutating func int32() throws(Fault) -> Int32 {
      Int32(bitPattern: try take(4).reversed().reduce(0) { $0 << 8 | UInt32($1) })
    }

    private mutating func int64() throws(Fault) -> Int64 {
      Int64(bitPattern: try take(8).reversed().reduce(0) { $0 << 8 | UInt64($1) })
    }

    private mutating func cString() throws(Fault) -> ArraySlice<UInt8> {
      guard let end = bytes[place...].firstIndex(of: 0) else {
        throw Fault(place: place, reason: "a name without its end")
      }
      let name = bytes[place..<end]
      place = end + 1
      return name
    }

    private mutating func string() throws(Fault) -> ArraySlice<UInt8> {
      let text = try take(try Int(int32()))
      guard text.last == 0 else { throw Fault(place: place, reason: "a text without its end") }
      return text.dropLast()
    }

    // MARK: Text

    private mutating func write(_ json: String) { text += json.utf8 }

    private mutating func quote(_ raw: ArraySlice<UInt8>) {
      text.append(UInt8(ascii: "\""))
      for byte in raw {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
        case 0..<0x20: write("\\u00\(Hexadecimal.encode([byte]))")
        default: text.append(byte)
        }
      }
      text.append(UInt8(ascii: "\""))
    }
  }
}
