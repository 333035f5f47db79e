/// JSON that is written with its members in the order in which they are given, and no spaces.
package enum JSONValue: Sendable {
  case text(String)
  case list([JSONValue])
  case object([(name: String, value: JSONValue)])

  package var text: String {
    switch self {
    case .text(let text): FlatJSON.text(text)
    case .list(let values): "[\(values.map(\.text).joined(separator: ","))]"
    case .object(let members):
      "{\(members.map { "\(FlatJSON.text($0.name)):\($0.value.text)" }.joined(separator: ","))}"
    }
  }

  /// Texts by their names, in this order.
  package static func texts(_ members: [(name: String, value: String)]) -> JSONValue {
    .object(members.map { ($0.name, .text($0.value)) })
  }
}
