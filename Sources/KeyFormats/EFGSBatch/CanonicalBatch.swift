public import ExposureKeys

/// The bytes over which a federation batch is signed.
///
/// For each key a row of eight fields, each as padded standard base64 followed by a full stop: key data; rolling start,
/// rolling period and transmission risk as four big-endian bytes; the visited regions in the order sent, joined by
/// commas; origin; report type and days since onset as four big-endian bytes (not zig-zag). The rows are sorted by the
/// base64 of the row, bytewise: a second base64, which serves as the sort key alone.
///
/// Source: the EU federation gateway's software design, section "Batch signature", and its observed behaviour.
public enum CanonicalBatch {
  /// - Throws: ``FormatError`` with `cannotExpress` when a region is ambiguous; see ``Ambiguity``.
  public static func bytes(of keys: UnsafeBufferPointer<ClaimedKey>, regions: RegionTable) throws -> [UInt8] {
    try rows(of: keys, regions: regions).bytes
  }

  /// The row of one key. Its SHA-256 is how the gateway recognises duplicates.
  public static func text(of key: ClaimedKey, regions: RegionTable) throws -> [UInt8] {
    try withUnsafePointer(to: key) {
      try rows(of: UnsafeBufferPointer(start: $0, count: 1), regions: regions).bytes
    }
  }

  /// The rows of keys that are about to be signed.
  ///
  /// - Throws: ``FormatError`` with `cannotExpress` when a region is ambiguous.
  public static func rows(
    of keys: UnsafeBufferPointer<ClaimedKey>, regions: RegionTable
  ) throws -> SignedRows {
    let rows = readRows(of: keys, regions: regions)
    if let ambiguity = rows.ambiguities.first { throw FormatError(.cannotExpress, ambiguity.description) }
    return rows
  }

  /// The rows of keys that somebody else has signed. What is not ASCII becomes a question mark for each code point, as
  /// in Java; the ambiguities say where the form does not tell what was meant.
  public static func readRows(of keys: UnsafeBufferPointer<ClaimedKey>, regions: RegionTable) -> SignedRows {
    var writer = RowWriter(keyCount: keys.count, regions: regions)
    for index in keys.indices { writer.append(keys[index], at: index) }
    return writer.sorted()
  }

  /// A region that makes the signed form ambiguous: other regions have the same bytes.
  public struct Ambiguity: Hashable, Sendable, CustomStringConvertible {
    public enum Reason: String, Hashable, Sendable, CaseIterable {
      /// `["DE,IT"]` is signed like `["DE", "IT"]`.
      case comma
      /// `["Ö"]` is signed like `["?"]` by most, and otherwise by some.
      case notASCII = "not-ascii"
      /// `[""]` is signed like `[]`, and an empty region at the end is lost in the gateway's store.
      case empty
    }

    /// The key, counted from 0 in the order of the upload: the first that names this set of regions.
    public let key: Int
    /// The position among the visited regions, counted from 0; `nil` for the origin.
    public let visited: Int?
    public let value: String
    public let reason: Reason

    /// `key 3: visitedCountries[1] "DE,IT" holds a comma, so that …`; the value is cut at 64 characters.
    public var description: String {
      let place = visited.map { "visitedCountries[\($0)]" } ?? "origin"
      let text = "key \(key): \(place) \(String(value.unicodeScalars.prefix(64)).debugDescription)"
      return switch reason {
      case .comma: "\(text) holds a comma, so that it is signed like two regions"
      case .notASCII: "\(text) is not ASCII, and signers differ in its bytes"
      case .empty: "\(text) is empty, so that it is signed like none"
      }
    }
  }
}

/// The rows of a batch in the order in which they are signed.
public struct SignedRows: Sendable {
  /// All rows, one after another: what is signed.
  public let bytes: [UInt8]
  /// For each row the position of its key in the upload.
  public let order: [Int]
  /// Elements that make the form ambiguous; each set of regions is told once, at most 100 in all.
  public let ambiguities: [CanonicalBatch.Ambiguity]
  /// Where each row ends.
  private let ends: [Int]

  fileprivate init(bytes: [UInt8], order: [Int], ends: [Int], ambiguities: [CanonicalBatch.Ambiguity]) {
    self.bytes = bytes
    self.order = order
    self.ends = ends
    self.ambiguities = ambiguities
  }

  public var count: Int { order.count }

  /// The row at this position in the order of signing.
  public subscript(position: Int) -> ArraySlice<UInt8> {
    bytes[(position == 0 ? 0 : ends[position - 1])..<ends[position]]
  }
}

/// Writes rows into one buffer, and sorts their places.
private struct RowWriter {
  private struct Place {
    /// The first eight characters of the row's base64, the first in the highest byte.
    var prefix: UInt64
    var start: Int
    var end: Int
    var key: Int
  }

  private let regions: RegionTable
  private var bytes: [UInt8] = []
  private var places: [Place] = []
  /// Fields 5 and 6 of the sets of regions that were met.
  private var encodedRegions: [UInt32: [UInt8]] = [:]
  private var lastRegions: (id: UInt32, bytes: [UInt8])?
  private var ambiguities: [CanonicalBatch.Ambiguity] = []

  private static let maximumAmbiguities = 100
  private static let full = UInt8(ascii: ".")

  init(keyCount: Int, regions: RegionTable) {
    self.regions = regions
    bytes.reserveCapacity(keyCount * 96)
    places.reserveCapacity(keyCount)
  }

  mutating func append(_ key: ClaimedKey, at index: Int) {
    let start = bytes.count
    appendKey(key.key)
    append(key.rollingStart ?? 0)
    append(key.rollingPeriod ?? 0)
    append(key.transmissionRisk ?? .max)
    bytes.append(contentsOf: regionFields(key.regions, at: index))
    append(key.reportType ?? 0)
    append(key.daysSinceOnset ?? 0)
    // Six bytes of the row are eight characters of its base64; a row is never shorter.
    var prefix: UInt64 = 0
    for place in [start, start + 3] {
      prefix = prefix << 32 | UInt64(Self.digits(bytes[place], bytes[place + 1], bytes[place + 2]))
    }
    places.append(Place(prefix: prefix, start: start, end: bytes.count, key: index))
  }

  /// Four characters of base64 for three bytes, the first in the highest byte.
  private static func digits(_ a: UInt8, _ b: UInt8, _ c: UInt8) -> UInt32 {
    let group = UInt32(a) << 16 | UInt32(b) << 8 | UInt32(c)
    var text: UInt32 = 0
    for shift: UInt32 in [18, 12, 6, 0] { text = text << 8 | UInt32(digit(UInt8(group >> shift & 63))) }
    return text
  }

  @inline(__always)
  private static func digit(_ value: UInt8) -> UInt8 {
    switch value {
    case 0..<26: value &+ 65
    case 26..<52: value &+ 71
    case 52..<62: value &- 4
    case 62: UInt8(ascii: "+")
    default: UInt8(ascii: "/")
    }
  }

  private mutating func appendKey(_ key: TemporaryExposureKey) {
    withUnsafeTemporaryAllocation(byteCount: 24, alignment: 8) { buffer in
      guard let place = buffer.baseAddress else { return }
      Base64KeyText(key).store(to: place)
      bytes.append(contentsOf: buffer)
    }
    bytes.append(Self.full)
  }

  /// Four bytes are eight characters, the last two of them padding.
  private mutating func append(_ number: Int32) {
    let bits = UInt64(UInt32(bitPattern: number)) << 4
    for shift: UInt64 in [30, 24, 18, 12, 6, 0] { bytes.append(Self.digit(UInt8(bits >> shift & 63))) }
    bytes.append(UInt8(ascii: "="))
    bytes.append(UInt8(ascii: "="))
    bytes.append(Self.full)
  }

  /// Keys of one upload mostly name the same regions, and often one after another.
  private mutating func regionFields(_ id: RegionClaim.ID, at key: Int) -> [UInt8] {
    if let lastRegions, lastRegions.id == id.rawValue { return lastRegions.bytes }
    let fields: [UInt8]
    if let known = encodedRegions[id.rawValue] {
      fields = known
    } else {
      fields = encode(regions[id], at: key)
      encodedRegions[id.rawValue] = fields
    }
    lastRegions = (id.rawValue, fields)
    return fields
  }

  private mutating func encode(_ claim: RegionClaim, at key: Int) -> [UInt8] {
    var visited: [UInt8] = []
    for (index, region) in (claim.visited ?? []).enumerated() {
      if index > 0 { visited.append(UInt8(ascii: ",")) }
      visited.append(contentsOf: ascii(region, key: key, visited: index))
    }
    var fields = Array(Base64.encode(visited).utf8)
    fields.append(Self.full)
    fields.append(contentsOf: Base64.encode(ascii(claim.origin ?? "", key: key, visited: nil)).utf8)
    fields.append(Self.full)
    return fields
  }

  /// A question mark for each code point that is not ASCII.
  private mutating func ascii(_ text: String, key: Int, visited: Int?) -> [UInt8] {
    let isASCII = text.utf8.allSatisfy { $0 < 0x80 }
    if !isASCII {
      note(.notASCII, text, key, visited)
    } else if visited != nil, text.isEmpty {
      note(.empty, text, key, visited)
    } else if visited != nil, text.utf8.contains(UInt8(ascii: ",")) {
      note(.comma, text, key, visited)
    }
    return isASCII ? Array(text.utf8) : text.unicodeScalars.map { $0.isASCII ? UInt8($0.value) : UInt8(ascii: "?") }
  }

  private mutating func note(_ reason: CanonicalBatch.Ambiguity.Reason, _ value: String, _ key: Int, _ visited: Int?) {
    guard ambiguities.count < Self.maximumAmbiguities else { return }
    ambiguities.append(CanonicalBatch.Ambiguity(key: key, visited: visited, value: value, reason: reason))
  }

  consuming func sorted() -> SignedRows {
    var sortedPlaces = places
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count)
    bytes.withUnsafeBufferPointer { rows in
      sortedPlaces.sort { left, right in
        left.prefix != right.prefix ? left.prefix < right.prefix : Self.precedes(left, right, rows)
      }
      for place in sortedPlaces {
        output.append(contentsOf: UnsafeBufferPointer(rebasing: rows[place.start..<place.end]))
      }
    }
    var ends: [Int] = []
    ends.reserveCapacity(sortedPlaces.count)
    for place in sortedPlaces { ends.append((ends.last ?? 0) + place.end - place.start) }
    return SignedRows(bytes: output, order: sortedPlaces.map(\.key), ends: ends, ambiguities: ambiguities)
  }

  /// Whether the base64 of one row precedes that of another, without making either: up to the group of three bytes in
  /// which the rows first differ, their base64 is the same, and there it differs.
  private static func precedes(_ left: Place, _ right: Place, _ rows: UnsafeBufferPointer<UInt8>) -> Bool {
    let length = min(left.end - left.start, right.end - right.start)
    var place = 0
    while place < length, rows[left.start + place] == rows[right.start + place] { place += 1 }
    let group = place / 3 * 3
    return digits(left.start + group, left.end, rows) < digits(right.start + group, right.end, rows)
  }

  /// The characters of up to three bytes with their padding; 0 where the row has ended.
  private static func digits(_ start: Int, _ end: Int, _ rows: UnsafeBufferPointer<UInt8>) -> UInt32 {
    guard start < end else { return 0 }
    func byte(_ place: Int) -> UInt8 { start + place < end ? rows[start + place] : 0 }
    let text = digits(byte(0), byte(1), byte(2))
    let padding = UInt32(UInt8(ascii: "="))
    switch end - start {
    case 1: return text & 0xFFFF_0000 | padding << 8 | padding
    case 2: return text & 0xFFFF_FF00 | padding
    default: return text
    }
  }
}
