/// The spelling of one system: which names the members have, and what it means when one is absent.
///
/// All dialects are read by one decoder, and each takes the names of all of them: systems borrow from each other. A
/// dialect says which names it brings, what gives it away, and what differs when it is read.
///
/// How a key is read follows from its own members alone, whatever stands around it and in whatever order. The dialect
/// of a document, which is its format, follows from the names of all its keys and of the members around them.
public final class JSONDialect: Sendable {
  typealias KeyNames = KeyValuePairs<KeyMember, [StaticString]>
  typealias DocumentNames = KeyValuePairs<DocumentMember, [StaticString]>

  /// The members of a key.
  let keyMembers: KeyNames
  /// The members of the object around the keys.
  let documentMembers: DocumentNames
  /// Those of them that no other dialect has: they give it away.
  let ownMembers: DocumentNames
  /// Whether a key whose members have these names is spelled so. Of the dialects to which that applies, it is the one
  /// that stands last in the catalogue.
  let isSpelled: @Sendable (JSONNames) -> Bool
  /// Whether an absent number is a stated 0, as in proto3; the risk level 2147483647 then says that there is none, and
  /// a key that names no regions names an empty list of them.
  let absenceIsZero: Bool
  /// Whether numbers may stand in quotes.
  let quotesNumbers: Bool

  init(
    keyMembers: KeyNames = [:], documentMembers: DocumentNames = [:], ownMembers: DocumentNames = [:],
    absenceIsZero: Bool = false, quotesNumbers: Bool = false,
    isSpelled: @escaping @Sendable (JSONNames) -> Bool
  ) {
    self.keyMembers = keyMembers
    self.documentMembers = documentMembers
    self.ownMembers = ownMembers
    self.absenceIsZero = absenceIsZero
    self.quotesNumbers = quotesNumbers
    self.isSpelled = isSpelled
  }

  /// The catalogue's formats that are dialects, in its order.
  static let all: [(format: KeyFormat, dialect: JSONDialect)] = FormatCatalog.formats.compactMap { format in
    if case .dialect(let dialect) = format.definition.detection { (format, dialect) } else { nil }
  }

  /// The dialect of a key whose members have these names.
  static func spelled(with names: JSONNames) -> JSONDialect? { all.last { $0.dialect.isSpelled(names) }?.dialect }

  /// The format whose dialect this is.
  var format: KeyFormat? { Self.all.first { $0.dialect == self }?.format }
}

extension JSONDialect: Hashable {
  public static func == (one: JSONDialect, other: JSONDialect) -> Bool { one === other }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The names of the members that a key has, of those that some dialect knows.
struct JSONNames: Equatable {
  private var bits: UInt64 = 0

  var isEmpty: Bool { bits == 0 }

  mutating func insert(_ name: KeyMemberName) { bits |= name.bit }

  mutating func formUnion(_ other: JSONNames) { bits |= other.bits }

  func contain(_ wanted: StaticString...) -> Bool {
    KeyMemberName.all.contains { name in bits & name.bit != 0 && wanted.contains { name.text.matches($0) } }
  }
}

/// What stood around the keys.
public enum JSONWrapper: Sendable, Hashable {
  case array
  /// One key by itself.
  case object
  /// More than one document, one behind the other.
  case lines
  /// An object whose member of this name holds a list of keys.
  case member(String)
}
