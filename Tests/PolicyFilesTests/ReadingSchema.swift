import ExposureKeys
import Foundation
import KeyNormalization

/// The JSON Schema of the section `reading` of a policy file, made of the settings that the rules declare.
enum ReadingSchema {
  static var object: [String: Any] {
    var sections: [String: [String: Any]] = [:]
    for setting in ReadingSetting.all {
      let names = setting.path.split(separator: ".", maxSplits: 1).map(String.init)
      sections[names.count == 2 ? names[0] : "", default: [:]][names.last ?? ""] = property(setting)
    }
    var properties = sections.removeValue(forKey: "") ?? [:]
    for (name, settings) in sections { properties[name] = section(settings) }
    var object = section(properties)
    object["description"] = "How a source's claims are read and which of them are admitted."
    return object
  }

  private static func section(_ properties: [String: Any]) -> [String: Any] {
    ["type": "object", "additionalProperties": false, "properties": properties]
  }

  private static func property(_ setting: ReadingSetting) -> [String: Any] {
    var property = allowed(setting.form)
    property["description"] = setting.meaning
    switch setting.value(ReadingPolicy()) {
    case .word(let word)?: property["default"] = word
    case .number(let number)?: property["default"] = number
    case .day(let day)?: property["default"] = "\(day)"
    case .codes(let codes)?: property["default"] = codes.sorted()
    case .reportTypes, .riskByAge, nil: break
    }
    return property
  }

  private static func allowed(_ form: ReadingSetting.Form) -> [String: Any] {
    switch form {
    case .words(let words): ["enum": words]
    case .number(let range, nil): number(range)
    case .number(let range, let word?): ["oneOf": [number(range), ["const": word]]]
    case .day: ["type": "string", "format": "date"]
    case .codes(nil): ["type": "array", "items": ["type": "string"]]
    case .codes(let word?):
      ["oneOf": [["const": word], ["type": "array", "minItems": 1, "items": ["type": "string"]]]]
    case .reportTypes: ["type": "array", "minItems": 1, "items": ["enum": ReportType.allCases.map(\.code)]]
    case .riskByAge(let word): ["oneOf": [["const": word], riskByAge]]
    }
  }

  private static func number(_ range: ClosedRange<Int64>) -> [String: Any] {
    ["type": "integer", "minimum": range.lowerBound, "maximum": range.upperBound]
  }

  private static var riskByAge: [String: Any] {
    [
      "type": "object", "additionalProperties": false, "required": ["days", "level", "older"],
      "properties": [
        "days": [
          "description": "Days from the start of a key (UTC) up to which it has `level`.", "type": "integer",
          "minimum": 0, "maximum": 60,
        ],
        "level": ["type": "integer", "minimum": 0, "maximum": 8],
        "older": [
          "description": "The level of keys that began earlier.", "type": "integer", "minimum": 0, "maximum": 8,
        ],
      ],
    ]
  }
}
