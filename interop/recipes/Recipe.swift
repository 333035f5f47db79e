import Foundation
import GatewayTesting

/// One vector in the making.
struct Recipe {
  var name: String
  var comment: String
  var expect: Vector.Expectation
  /// Header lines beside `comment`, `expect` and `body`.
  var fields: [Vector.Field] = []
  var body: Body

  enum Body {
    case bytes([UInt8])
    case text(String)
    case pieces([Vector.Piece])
  }

  init(
    _ name: String, _ comment: String, _ expect: Vector.Expectation = .accepted, format: String? = nil,
    detected: String? = nil, keys: Int? = nil, revised: Int? = nil, rejected: String? = nil, notes: String? = nil,
    canonical: Bool = false, _ body: Body
  ) {
    self.name = name
    self.comment = comment
    self.expect = expect
    self.body = body
    if let format { fields.append(.init("format", format)) }
    if let detected { fields.append(.init("detected", detected)) }
    if let keys { fields.append(.init("keys", "\(keys)")) }
    if let revised { fields.append(.init("revised", "\(revised)")) }
    if let rejected { fields.append(.init("rejected", rejected)) }
    if let notes { fields.append(.init("notes", notes)) }
    if canonical { fields.append(.init("canonical", "yes")) }
  }

  /// The whole content of the vector's file.
  var file: [UInt8] {
    var vector = Vector(
      name: name, fields: [.init("comment", comment), .init("expect", "\(expect)")] + fields, bytes: [])
    switch body {
    case .bytes(let bytes):
      vector.bytes = bytes
      return vector.file()
    case .text(let text):
      vector.fields.append(.init("body", Vector.Body.text.rawValue))
      vector.bytes = Array(text.utf8)
      return vector.file()
    case .pieces(let pieces): return vector.file(pieces: pieces)
    }
  }
}

let allRecipes: [Recipe] = [
  exportRecipes, betaRecipes, submissionRecipes, batchRecipes, codableRecipes, publishRecipes, exportJSONRecipes,
  csvRecipes, protobufTextRecipes, parserRecipes, dumpRecipes, bundleRecipes, signatureRecipes, cryptoRecipes,
  federationRecipes,
].flatMap { $0 }

func writeVectors(to folder: URL) throws {
  precondition(Set(allRecipes.map(\.name)).count == allRecipes.count, "two recipes have one name")
  for recipe in allRecipes {
    let place = folder.appending(path: recipe.name)
    try FileManager.default.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(recipe.file).write(to: place)
  }
  print("\(allRecipes.count) vectors written")
}

/// The bytes of the committed vectors, in a folder for each format. Those of more than 16 KiB would only slow the fuzzer.
func writeCorpus(to folder: URL) throws {
  for vector in try Vector.all() where vector.bytes.count <= 16 << 10 {
    let isArchive = vector.name.hasPrefix("bundle/") || vector.name.hasPrefix("signature/")
    let place = folder.appending(path: isArchive ? "zip/" + vector.name.replacing("/", with: "_") : vector.name)
    try FileManager.default.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(vector.bytes).write(to: place)
  }
  for file in drawer {
    let place = folder.appending(path: "\(file.format)/drawer_\(file.name.replacing("/", with: "_"))")
    try FileManager.default.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(file.bytes).write(to: place)
  }
}

/// Protobuf, field by field.
enum Wire {
  static func varint(_ value: UInt64) -> [UInt8] {
    value < 128 ? [UInt8(value)] : [UInt8(truncatingIfNeeded: value) | 128] + varint(value >> 7)
  }

  static func varint(_ number: UInt64, _ value: Int64) -> [UInt8] {
    varint(number << 3) + varint(UInt64(bitPattern: value))
  }

  static func zigZag(_ number: UInt64, _ value: Int64) -> [UInt8] { varint(number, value << 1 ^ value >> 63) }

  static func bytes(_ number: UInt64, _ bytes: [UInt8]) -> [UInt8] {
    varint(number << 3 | 2) + varint(UInt64(bytes.count)) + bytes
  }

  static func text(_ number: UInt64, _ text: String) -> [UInt8] { bytes(number, Array(text.utf8)) }

  static func fixed64(_ number: UInt64, _ value: UInt64) -> [UInt8] {
    varint(number << 3 | 1) + (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  static func hexadecimal(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}

/// Documents as MongoDB stores them, element by element.
enum BSON {
  static func little(_ value: Int64, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> Int64(8 * $0)) }
  }

  static func element(_ kind: UInt8, _ name: String, _ value: [UInt8]) -> [UInt8] { [kind] + name.utf8 + [0] + value }

  static func document(_ elements: [UInt8]) -> [UInt8] { little(Int64(elements.count + 5), 4) + elements + [0] }

  static func int32(_ name: String, _ value: Int32) -> [UInt8] { element(0x10, name, little(Int64(value), 4)) }
  static func int64(_ name: String, _ value: Int64) -> [UInt8] { element(0x12, name, little(value, 8)) }
  static func double(_ name: String, _ value: Double) -> [UInt8] {
    element(0x01, name, little(Int64(bitPattern: value.bitPattern), 8))
  }
  static func date(_ name: String, _ milliseconds: Int64) -> [UInt8] { element(0x09, name, little(milliseconds, 8)) }
  static func objectID(_ name: String, _ bytes: [UInt8]) -> [UInt8] { element(0x07, name, bytes) }
  static func binary(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
    element(0x05, name, little(Int64(bytes.count), 4) + [0] + bytes)
  }
  static func text(_ name: String, _ text: String) -> [UInt8] {
    element(0x02, name, little(Int64(text.utf8.count + 1), 4) + text.utf8 + [0])
  }
  static func array(_ name: String, _ documents: [[UInt8]]) -> [UInt8] {
    element(0x04, name, document(documents.enumerated().flatMap { element(0x03, "\($0.offset)", $0.element) }))
  }
}
