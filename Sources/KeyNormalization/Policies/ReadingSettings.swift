extension ReadingPolicy {
  /// What it sets otherwise than the default does, a line a setting, always in the same words: for comparing policies
  /// across programs. A setting that is new has a default that changes nothing, and is not in it.
  package var settings: String {
    let defaults = Dictionary(
      Mirror(reflecting: ReadingPolicy()).children.map { ($0.label ?? "", words(of: $0.value)) },
      uniquingKeysWith: { first, _ in first })
    return Mirror(reflecting: self).children.compactMap { child in
      let (name, value) = (child.label ?? "", words(of: child.value))
      return defaults[name] == value ? nil : "\(name): \(value)"
    }.sorted().joined(separator: "\n")
  }
}

/// A value in words that are the same in every process: sets and dictionaries are sorted.
private func words(of value: Any) -> String {
  let mirror = Mirror(reflecting: value)
  let parts = mirror.children.map { child in
    (child.label.map { $0.hasPrefix(".") ? "" : "\($0)=" } ?? "") + words(of: child.value)
  }
  switch mirror.displayStyle {
  case .optional: return parts.first.map { "some(\($0))" } ?? "none"
  case .set, .dictionary: return "{" + mirror.children.map { words(of: $0.value) }.sorted().joined(separator: ",") + "}"
  case .enum where parts.isEmpty: return "\(value)"
  case .enum: return "\(mirror.children.first?.label ?? "")(" + parts.joined(separator: ",") + ")"
  case .struct, .class, .tuple, .collection:
    return parts.isEmpty ? "\(value)" : "(" + parts.joined(separator: ",") + ")"
  default: return "\(value)"
  }
}
