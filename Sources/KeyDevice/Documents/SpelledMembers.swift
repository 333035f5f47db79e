/// The members of a JSON object, whichever way their names are spelled: `dateMillisSinceEpoch`, `DateMillisSinceEpoch` and
/// `date_millis_since_epoch` are one name.
struct SpelledMembers {
  private let container: KeyedDecodingContainer<AnyName>
  private let names: [String: AnyName]

  private struct AnyName: CodingKey {
    let stringValue: String
    let intValue: Int? = nil

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(_ decoder: any Decoder) throws {
    container = try decoder.container(keyedBy: AnyName.self)
    names = Dictionary(container.allKeys.map { (Self.plain($0.stringValue), $0) }) { first, _ in first }
  }

  private static func plain(_ name: String) -> String {
    String(name.lowercased().unicodeScalars.filter { $0 != "_" && $0 != "-" })
  }

  func has(_ name: String) -> Bool { names[name.lowercased()] != nil }

  /// The first of these members that is there and not null. Names are given as in `dateMillisSinceEpoch`.
  func read<Value: Decodable>(_ type: Value.Type = Value.self, _ spellings: String...) throws -> Value? {
    for spelling in spellings {
      guard let name = names[spelling.lowercased()] else { continue }
      if let value = try container.decodeIfPresent(type, forKey: name) { return value }
    }
    return nil
  }

  /// The same, which must be there.
  func need<Value: Decodable>(_ type: Value.Type = Value.self, _ spellings: String...) throws -> Value {
    for spelling in spellings {
      guard let name = names[spelling.lowercased()] else { continue }
      if let value = try container.decodeIfPresent(type, forKey: name) { return value }
    }
    let name = AnyName(stringValue: spellings[0])
    throw DecodingError.keyNotFound(name, .init(codingPath: container.codingPath, debugDescription: "is missing"))
  }

  /// A whole number within a range.
  func number(_ range: ClosedRange<Int>, _ spellings: String...) throws -> Int? {
    for spelling in spellings {
      guard let name = names[spelling.lowercased()], try !container.decodeNil(forKey: name) else { continue }
      let value = try container.decode(Double.self, forKey: name)
      guard value >= Double(range.lowerBound), value <= Double(range.upperBound) else {
        throw fault(name.stringValue, "\(value) is outside \(range.lowerBound)...\(range.upperBound)")
      }
      return Int(value)
    }
    return nil
  }

  func fault(_ name: String, _ reason: String) -> DecodingError {
    .dataCorrupted(
      .init(codingPath: container.codingPath + [AnyName(stringValue: name)], debugDescription: reason))
  }
}
