package import Foundation

/// A JSON Schema of `schemas/`, as far as these use the language: types, members, items, references, enumerations,
/// constants, minimums and patterns. A word that is not known is a fault, so that nothing goes unchecked.
package struct DocumentSchema {
  private let root: [String: Any]

  /// Reads `schemas/NAME`.
  package init(named name: String) throws {
    let data = try Data(contentsOf: PackageFolder.root.appending(path: "schemas").appending(path: name))
    root = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
  }

  /// What the document has against the schema; nothing when it is valid.
  package func faults(in document: Data, at definition: String? = nil) throws -> [String] {
    let schema = try definition.map { name in
      guard let schema = (root["$defs"] as? [String: Any])?[name] as? [String: Any] else { throw Missing(name: name) }
      return schema
    }
    return check(try JSONSerialization.jsonObject(with: document), schema ?? root, "document")
  }

  /// The values that `$defs/DEFINITION` allows for a member.
  package func values(of member: String, in definition: String) -> Set<String> {
    let schema = (root["$defs"] as? [String: Any])?[definition] as? [String: Any]
    let property = (schema?["properties"] as? [String: Any])?[member] as? [String: Any]
    let items = property?["items"] as? [String: Any]
    return Set(property?["enum"] as? [String] ?? items?["enum"] as? [String] ?? [])
  }

  private struct Missing: Error { let name: String }

  private func check(_ value: Any, _ schema: [String: Any], _ place: String) -> [String] {
    var faults: [String] = []
    for (word, rule) in schema {
      switch word {
      case "$schema", "$id", "$defs", "title", "description", "examples": break
      case "$ref":
        let name = String((rule as? String ?? "").split(separator: "/").last ?? "")
        guard let target = (root["$defs"] as? [String: Any])?[name] as? [String: Any] else {
          faults.append("\(place): no definition \(name)")
          continue
        }
        faults += check(value, target, place)
      case "type": if !isA(rule as? String ?? "", value) { faults.append("\(place): not of type \(rule)") }
      case "enum":
        let allowed = rule as? [AnyHashable] ?? []
        let isAllowed = (value as? AnyHashable).map(allowed.contains) ?? false
        if !isAllowed { faults.append("\(place): \(value) is none of \(allowed)") }
      case "const":
        if value as? AnyHashable != rule as? AnyHashable { faults.append("\(place): \(value), not \(rule)") }
      case "minimum":
        if let number = value as? Double, let least = rule as? Double, number < least {
          faults.append("\(place): \(number) is less than \(least)")
        }
      case "pattern":
        if let text = value as? String, let pattern = rule as? String,
          text.range(of: pattern, options: .regularExpression) == nil
        {
          faults.append("\(place): \(text) does not fit \(pattern)")
        }
      case "properties", "required", "additionalProperties": break
      case "items":
        for (index, item) in (value as? [Any] ?? []).enumerated() {
          faults += check(item, rule as? [String: Any] ?? [:], "\(place)[\(index)]")
        }
      default: faults.append("\(place): this check does not know the word \(word)")
      }
    }
    if let object = value as? [String: Any] { faults += checkMembers(of: object, schema, place) }
    return faults
  }

  private func checkMembers(of object: [String: Any], _ schema: [String: Any], _ place: String) -> [String] {
    let properties = schema["properties"] as? [String: Any] ?? [:]
    var faults: [String] = []
    for (name, member) in object.sorted(by: { $0.key < $1.key }) {
      if let property = properties[name] as? [String: Any] {
        faults += check(member, property, "\(place).\(name)")
      } else if schema["additionalProperties"] as? Bool == false {
        faults.append("\(place).\(name): not in the schema")
      }
    }
    for name in schema["required"] as? [String] ?? [] where object[name] == nil {
      faults.append("\(place).\(name): missing")
    }
    return faults
  }

  private func isA(_ type: String, _ value: Any) -> Bool {
    switch type {
    case "object": value is [String: Any]
    case "array": value is [Any]
    case "string": value is String
    case "boolean": value is Bool
    case "integer": (value as? Double).map { $0 == $0.rounded() } ?? false
    case "number": value is Double
    case "null": value is NSNull
    default: false
    }
  }
}
