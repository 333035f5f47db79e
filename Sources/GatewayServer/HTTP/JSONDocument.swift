internal import FoundationEssentials

/// JSON answers: members sorted, so that equal content is equal bytes and keeps its entity tag.
package enum JSONDocument {
  package static func bytes(_ value: some Encodable, inSnakeCase: Bool = false) -> [UInt8] {
    let encoder = JSONEncoder()
    if inSnakeCase { encoder.keyEncodingStrategy = .convertToSnakeCase }
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // The values are of this module, and none has a number that JSON cannot spell.
    return (try? encoder.encode(value)).map(Array.init) ?? Array("{}".utf8)
  }
}
