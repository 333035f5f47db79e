/// The addresses of one layout, as templates: `/{series}/index.txt`.
///
/// A segment in braces stands for any one segment that is not empty, and may have an ending: `{file}.zip`.
protocol AddressTemplates: CaseIterable, RawRepresentable<String>, Sendable {}

/// Finds the template of an address. Where several fit, the one that is declared first.
struct AddressTable<Address: AddressTemplates>: Sendable {
  private struct Row: Sendable {
    let address: Address
    let segments: [Segment]
  }

  private enum Segment: Sendable {
    case fixed(String)
    case variable(ending: String)
  }

  private let rows: [Row]

  init() {
    rows = Address.allCases.map { address in
      let segments = address.rawValue.split(separator: "/").map { segment in
        guard segment.first == "{", let close = segment.firstIndex(of: "}") else {
          return Segment.fixed(String(segment))
        }
        return .variable(ending: String(segment[segment.index(after: close)...]))
      }
      return Row(address: address, segments: segments)
    }
  }

  /// The address and what stands for its variables, in their order and without the fixed endings.
  func match(_ path: [String]) -> (address: Address, values: [String])? {
    for row in rows where row.segments.count == path.count {
      if let values = Self.values(of: path, in: row.segments) { return (row.address, values) }
    }
    return nil
  }

  private static func values(of path: [String], in segments: [Segment]) -> [String]? {
    var values: [String] = []
    for (part, segment) in zip(path, segments) {
      switch segment {
      case .fixed(let text):
        guard part == text else { return nil }
      case .variable(let ending):
        guard part.utf8.count > ending.utf8.count, part.hasSuffix(ending) else { return nil }
        values.append(String(part.dropLast(ending.count)))
      }
    }
    return values
  }
}
