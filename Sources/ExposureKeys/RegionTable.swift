/// The regions that a sender named for a key, exactly as sent: order, case and repetition are kept, because a
/// federation's signature covers them.
public struct RegionClaim: Hashable, Sendable {
  /// The region that uploaded the key.
  public var origin: String?
  /// The regions that the person visited. Empty and absent are told apart where the format does.
  public var visited: [String]?

  public init(origin: String? = nil, visited: [String]? = nil) {
    self.origin = origin
    self.visited = visited
  }

  /// A position in a ``RegionTable``.
  @frozen
  public struct ID: Hashable, Sendable, BitwiseCopyable {
    public let rawValue: UInt32
    @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }
    /// No region named.
    @inlinable public static var none: ID { ID(rawValue: 0) }
  }
}

/// The distinct region claims of a document: each is stored once, and a key holds its number.
public struct RegionTable: Sendable {
  public private(set) var claims = [RegionClaim()]
  /// The numbers of the claims that name a region.
  private var numbers: [RegionClaim: UInt32] = [:]

  /// No document has more distinct sets than this for keys that name no origin; a hostile one is cut off here.
  public static let limit = 1_000_000
  /// No document has more distinct sets than this for keys of one origin, so that none takes the room of another. All
  /// origins that no country can have share the room of one.
  public static let limitOfOrigin = 10_000

  private let isLimited: Bool
  /// How many sets each origin has.
  private var sizes: [Substring: Int] = [:]

  public init() { isLimited = true }

  /// A table that is no document's has no limits.
  package init(isLimited: Bool) { self.isLimited = isLimited }

  public subscript(id: RegionClaim.ID) -> RegionClaim { claims[Int(id.rawValue)] }

  /// The number of this claim, which is added when it is new; `nil` when its origin has no room left.
  public mutating func intern(_ claim: RegionClaim) -> RegionClaim.ID? {
    if claim == RegionClaim() { return RegionClaim.ID.none }
    if let number = numbers[claim] { return RegionClaim.ID(rawValue: number) }
    guard !isLimited || hasRoom(for: claim.origin) else { return nil }
    let number = UInt32(claims.count)
    claims.append(claim)
    numbers[claim] = number
    return RegionClaim.ID(rawValue: number)
  }

  /// Why a key with this claim has no room, for people.
  package static func refusal(of claim: RegionClaim) -> String {
    claim.origin == nil
      ? "keys without an origin name more than \(limit) distinct sets of regions"
      : "keys of one origin name more than \(limitOfOrigin) distinct sets of regions"
  }

  /// Whether there is room for one more set of this origin, which is then taken.
  private mutating func hasRoom(for origin: String?) -> Bool {
    let holder = origin.map(Self.holder) ?? ""
    let size = sizes[holder, default: 0]
    guard size < (origin == nil ? Self.limit : Self.limitOfOrigin) else { return false }
    sizes[holder] = size + 1
    return true
  }

  /// Whose room an origin takes: that of its country, by two letters or three digits, or that of all invented ones. Nobody
  /// gets more room by inventing parts of a country.
  private static func holder(of origin: String) -> Substring {
    let bytes = origin.utf8
    func areAll(_ count: Int, _ isAllowed: (UInt8) -> Bool) -> Bool {
      bytes.count >= count && bytes.prefix(count).allSatisfy(isAllowed)
    }
    let isLetter: (UInt8) -> Bool = { (65...90).contains($0 & 0xDF) }
    let isDigit: (UInt8) -> Bool = { (48...57).contains($0) }
    if areAll(2, isLetter), bytes.count == 2 || bytes.dropFirst(2).first == UInt8(ascii: "-") {
      return origin.prefix(2).uppercased()[...]
    }
    return bytes.count == 3 && areAll(3, isDigit) ? origin[...] : "?"
  }
}

/// Encoded protobuf fields that this version does not know, kept so that they survive a round trip.
/// Entry 0 is empty, so a key without such fields holds 0.
public struct UnknownFieldTable: Sendable {
  public private(set) var bytes: [UInt8] = []
  private var ends: [Int] = [0]

  public init() {}

  public var isEmpty: Bool { ends.count == 1 }
  public var count: Int { ends.count - 1 }
  public var byteCount: Int { bytes.count }

  public subscript(number: UInt32) -> ArraySlice<UInt8> {
    let index = Int(number)
    return index == 0 ? [] : bytes[ends[index - 1]..<ends[index]]
  }

  /// How many bytes one key's unknown fields have.
  public func byteCount(of number: UInt32) -> Int {
    let index = Int(number)
    return index == 0 ? 0 : ends[index] - ends[index - 1]
  }

  /// Copies one key's unknown fields to a place with room for them, and returns how many bytes they have.
  public func copy(_ number: UInt32, to place: UnsafeMutableRawPointer) -> Int {
    let count = byteCount(of: number)
    guard count > 0 else { return 0 }
    let start = ends[Int(number) - 1]
    bytes.withUnsafeBytes {
      UnsafeMutableRawBufferPointer(start: place, count: count).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count]))
    }
    return count
  }

  /// Stores one key's unknown fields and returns their number.
  public mutating func append(_ fields: some Sequence<UInt8>) -> UInt32 {
    bytes.append(contentsOf: fields)
    ends.append(bytes.count)
    return UInt32(ends.count - 1)
  }

  /// The same for fields that lie in memory, which is several times faster.
  public mutating func append(_ fields: UnsafeRawBufferPointer) -> UInt32 {
    bytes.append(contentsOf: fields)
    ends.append(bytes.count)
    return UInt32(ends.count - 1)
  }

  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
    ends.append(0)
  }
}
