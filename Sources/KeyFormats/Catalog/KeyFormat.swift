/// A format that Keyferry speaks. The raw value is its name on the command line.
///
/// Each format declares itself in its own folder, as a value that knows all there is to know about it;
/// ``FormatCatalog`` lists them.
public struct KeyFormat: RawRepresentable, Sendable, CaseIterable {
  public let definition: KeyFormatDefinition

  init(_ definition: KeyFormatDefinition) { self.definition = definition }

  /// `nil` for a name that is not in the catalogue.
  public init?(rawValue: String) {
    guard let format = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
    self = format
  }

  public var rawValue: String { definition.name }

  public static var allCases: [KeyFormat] { FormatCatalog.formats }
}

extension KeyFormat: Hashable {
  public static func == (one: KeyFormat, other: KeyFormat) -> Bool { one.rawValue == other.rawValue }

  public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

extension KeyFormat: CustomStringConvertible {
  public var description: String { rawValue }
}
