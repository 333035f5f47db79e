import Federation
import Foundation
import GatewayTesting
import PolicyFiles
import Testing

@testable import GatewaySettings

/// The page Configuration and `gateway.schema.json` are made of the declarations that a reading records.
@Suite("The reference of all settings") struct SettingsReferenceTests {
  /// The declarations of files that together state everything.
  private static let settings = descriptions(of: [Fixture.full] + BucketSettingsTests.texts + StoreSettingsTests.texts)

  private static func descriptions(of texts: [String]) -> [SettingDescription] {
    texts.map(reader).reduce(into: []) { all, reader in
      all += reader.document.descriptions.filter { !all.contains($0) }
    }
  }

  private static func reader(of text: String) -> GatewayReader {
    let reader = GatewayReader(
      path: "/etc/k/gateway.yaml", files: Fixture.files, environment: Fixture.environment, now: Fixture.now,
      layouts: Fixture.layouts)
    _ = reader.plan(text)
    return reader
  }

  @Test func everySettingIsDeclaredOnce() {
    let names = Self.settings.map(\.name)
    #expect(Set(names).count == names.count, "two declarations of one setting differ")
    for text in [Fixture.full] + BucketSettingsTests.texts + StoreSettingsTests.texts {
      let reader = Self.reader(of: text)
      #expect(reader.faults.allSatisfy { $0.severity == .warning }, "\(reader.faults)")
      #expect(reader.document.names.subtracting(names) == [], "read, but not declared")
    }
  }

  // MARK: The page

  /// The title of a table, and how the names of its settings begin. The longest beginning counts.
  private static let groups = [
    ("The gateway", ""), ("Sources", "sources[]."), ("How a source is reached", "sources[].http"),
    ("Destinations", "destinations[]."), ("Series", "series[]."), ("Signing keys of a series", "series[].sign[]."),
    ("Server", "server."), ("Federation gateway", "federation."),
  ]

  /// Those in a section, in the order of their declarations.
  private static func children(of name: String) -> [SettingDescription] {
    settings.filter { $0.name.split(separator: ".").dropLast().joined(separator: ".") == name }
  }

  /// A setting after the section that it is in.
  private static func ordered(below name: String = "") -> [SettingDescription] {
    children(of: name).flatMap { [$0] + ordered(below: $0.name) + ordered(below: "\($0.name)[]") }
  }

  private static var tables: String {
    let rows = Dictionary(grouping: ordered()) { row in groups.lastIndex { row.name.hasPrefix($0.1) } ?? 0 }
    return groups.indices.map { index in
      "### \(groups[index].0)\n\n| setting | meaning | default | allowed |\n|---|---|---|---|\n"
        + (rows[index] ?? []).map {
          "| `\($0.name)` | \($0.meaning) | \($0.normally ?? "*must be stated*") | \($0.allowed) |\n"
        }.joined()
    }.joined(separator: "\n")
  }

  @Test func theManualIsCurrent() throws {
    let place = PackageFolder.root.appending(path: "Sources/GatewayDaemon/GatewayDaemon.docc/Configuration.md")
    let text = try String(contentsOf: place, encoding: .utf8)
    let end = try #require(text.range(of: "## All settings\n\n")?.upperBound)
    try expect(text[..<end] + Self.tables, at: place)
  }

  /// `KEYFERRY_REFRESH=1` writes the file.
  private func expect(_ current: some StringProtocol, at place: URL) throws {
    if ProcessInfo.processInfo.environment["KEYFERRY_REFRESH"] != nil {
      try String(current).write(to: place, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOf: place, encoding: .utf8) == current, "run the tests once with KEYFERRY_REFRESH=1")
  }

  // MARK: The schema

  /// - Parameter name: of the section, of which the form knows nothing.
  private static func schema(of form: SettingDescription.Form, _ name: String) -> [String: Any] {
    switch form {
    case .text: ["type": "string"]
    case .word: ["type": ["string", "number", "boolean"]]
    case .pattern(let pattern): ["type": "string", "pattern": pattern]
    case .words(["true", "false"]): ["type": "boolean"]
    case .words(let words): ["enum": words]
    case .number(let range): ["type": "integer", "minimum": range.lowerBound, "maximum": range.upperBound]
    case .section: section(name)
    // An entry of `server.uploads` is a section like the one that may be there without a list.
    case .list(let form):
      [
        "type": "array", "items": schema(of: form, children(of: "\(name)[]").isEmpty ? name : "\(name)[]"),
      ]
    case .either(let one, let other): ["anyOf": [schema(of: one, name), schema(of: other, name)]]
    }
  }

  private static func section(_ name: String) -> [String: Any] {
    var properties: [String: Any] = [:]
    let children = children(of: name)
    for child in children {
      var schema = schema(of: child.form, child.name)
      let normally = child.normally.map { " Default: \($0)." } ?? ""
      let allowed = child.form == .section ? "" : " Allowed: \(child.allowed)."
      schema["description"] = "\(child.meaning)\(allowed)\(normally)"
      properties[child.name.split(separator: ".").last.map { String($0) } ?? ""] = schema
    }
    let others = properties.removeValue(forKey: "*") ?? false
    var section: [String: Any] = ["type": "object", "additionalProperties": others]
    if !properties.isEmpty { section["properties"] = properties }
    let needed = children.filter { $0.normally == nil }.compactMap { $0.name.split(separator: ".").last }
    if !needed.isEmpty { section["required"] = needed.map { String($0) } }
    return section
  }

  @Test func theSchemaIsCurrent() throws {
    var schema = Self.section("")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Keyferry gateway"
    schema["description"] = "The file gateway.yaml: sources, series, server and everything else of a gateway."
    let json = try JSONSerialization.data(
      withJSONObject: schema, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    // `"name": value`, as in the other schemas.
    let text = String(decoding: json, as: UTF8.self).replacing(#/(?m)^( *"[^"]*") : /#) { "\($0.1): " }
    try expect(text + "\n", at: PackageFolder.root.appending(path: "schemas/gateway.schema.json"))
  }
}
