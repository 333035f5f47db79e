/// Apple's binary property list, version `00`: objects, a table of their places, and a trailer of 32 bytes.
///
/// Only the dictionary at the top is looked into, so that objects that refer to each other in circles cost nothing. Every
/// place is compared with the file's size before it is read.
struct BinaryPropertyList {
  static let magic = Array("bplist00".utf8)

  private let bytes: [UInt8]
  private let offsetSize: Int
  private let referenceSize: Int
  private let objectCount: Int
  private let top: Int
  private let tableOffset: Int

  init(_ bytes: [UInt8]) throws(FormatError) {
    self.bytes = bytes
    guard bytes.count >= Self.magic.count + 32 else {
      throw FormatError(.truncated, byteOffset: bytes.count, "a binary property list ends before its trailer")
    }
    let trailer = bytes.count - 32
    func number(_ place: Int) -> Int { Int(clamping: Self.number(bytes[place..<place + 8])) }
    offsetSize = Int(bytes[trailer + 6])
    referenceSize = Int(bytes[trailer + 7])
    objectCount = number(trailer + 8)
    top = number(trailer + 16)
    tableOffset = number(trailer + 24)
    let isSound =
      (1...8).contains(offsetSize) && (1...8).contains(referenceSize) && objectCount > 0 && top < objectCount
      && tableOffset >= Self.magic.count && tableOffset <= trailer
      && objectCount <= (trailer - tableOffset) / offsetSize
    guard isSound else {
      throw FormatError(
        .malformed, byteOffset: trailer,
        "the trailer of the binary property list fits no file of \(bytes.count) bytes; the end may be missing")
    }
  }

  /// The entries of the dictionary at the top.
  func dictionary(_ limits: ReadLimits) throws -> [(name: String, value: PropertyListValue)] {
    let (kind, count, start) = try object(top)
    guard kind == 0xd else {
      throw FormatError(
        .unrecognizedFormat, byteOffset: start, "the property list holds \(Self.name(of: kind)), expected a dictionary")
    }
    guard count <= limits.recordBytes / 16 else {
      throw FormatError(
        .limitExceeded, byteOffset: start,
        "a dictionary of \(count) entries, at most \(limits.recordBytes / 16) are read")
    }
    guard count <= (bytes.count - start) / (2 * referenceSize) else { throw cutOff(start) }
    // All entries may name one object; what is copied is no more than a few files would have.
    var budget = 4 * bytes.count + (1 << 20)
    return try (0..<count).map { index in
      let name = try string(reference(start + index * referenceSize), &budget)
      return (name, try value(reference(start + (count + index) * referenceSize), &budget))
    }
  }

  private func spend(_ count: Int, of budget: inout Int, at place: Int) throws {
    budget -= count
    guard budget >= 0 else {
      throw FormatError(
        .limitExceeded, byteOffset: place, "the entries of the property list name the same objects again and again")
    }
  }

  private func value(_ number: Int, _ budget: inout Int) throws -> PropertyListValue {
    let (kind, count, start) = try object(number)
    guard kind == 4 else { return .other(Self.name(of: kind)) }
    guard count <= bytes.count - start else { throw cutOff(start) }
    try spend(count, of: &budget, at: start)
    return .data(Array(bytes[start..<start + count]))
  }

  private func string(_ number: Int, _ budget: inout Int) throws -> String {
    let (kind, count, start) = try object(number)
    switch kind {
    case 5:
      guard count <= bytes.count - start else { throw cutOff(start) }
      try spend(count, of: &budget, at: start)
      return String(decoding: bytes[start..<start + count], as: UTF8.self)
    case 6:
      guard count <= (bytes.count - start) / 2 else { throw cutOff(start) }
      try spend(2 * count, of: &budget, at: start)
      let units = (0..<count).map { UInt16(bytes[start + 2 * $0]) << 8 | UInt16(bytes[start + 2 * $0 + 1]) }
      return String(decoding: units, as: UTF16.self)
    default:
      throw FormatError(
        .malformed, byteOffset: start, "a dictionary's name is \(Self.name(of: kind)), allowed is text")
    }
  }

  private func reference(_ place: Int) throws -> Int {
    let number = Int(clamping: Self.number(bytes[place..<place + referenceSize]))
    guard number < objectCount else {
      throw FormatError(
        .malformed, byteOffset: place, "object \(number) is named, and the property list has \(objectCount)")
    }
    return number
  }

  /// Kind and length of an object, and where its content begins.
  private func object(_ number: Int) throws -> (kind: UInt8, count: Int, start: Int) {
    let entry = tableOffset + number * offsetSize
    let place = Int(clamping: Self.number(bytes[entry..<entry + offsetSize]))
    guard place >= Self.magic.count, place < tableOffset else {
      throw FormatError(.malformed, byteOffset: entry, "object \(number) lies at byte \(place), outside of the objects")
    }
    let kind = bytes[place] >> 4
    let low = Int(bytes[place] & 15)
    guard low == 15, [4, 5, 6, 7, 0xa, 0xc, 0xd].contains(kind) else { return (kind, low, place + 1) }
    // The length is an integer of its own.
    guard place + 1 < tableOffset, bytes[place + 1] >> 4 == 1 else { throw cutOff(place) }
    let size = 1 << Int(bytes[place + 1] & 15)
    guard size <= 8, size <= bytes.count - (place + 2) else { throw cutOff(place) }
    return (kind, Int(clamping: Self.number(bytes[place + 2..<place + 2 + size])), place + 2 + size)
  }

  private func cutOff(_ place: Int) -> FormatError {
    FormatError(.malformed, byteOffset: place, "an object of the property list does not fit into its file")
  }

  /// Big-endian, at most eight bytes.
  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

  private static func name(of kind: UInt8) -> String {
    switch kind {
    case 0: "a truth value"
    case 1: "a whole number"
    case 2: "a number"
    case 3: "a date"
    case 4: "data"
    case 5, 6, 7: "text"
    case 8: "a reference"
    case 0xa: "a list"
    case 0xc: "a set"
    case 0xd: "a dictionary"
    default: "an object of unknown kind"
    }
  }
}
