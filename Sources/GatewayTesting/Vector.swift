internal import ExposureKeys
package import Foundation

/// One scenario in one file: what a document is about, what must come of it, and its bytes.
///
/// The files stand under `interop/vectors/<format>/<area>_<what>`; the page there describes how they are written.
package struct Vector: Sendable {
  /// `gaen-export/protobuf_group`: the path under `interop/vectors`.
  package var name: String
  /// The header lines in their order.
  package var fields: [Field]
  package var bytes: [UInt8]

  package struct Field: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// What must come of reading the document.
  package enum Expectation: Hashable, Sendable, CustomStringConvertible {
    /// Every key is taken in.
    case accepted
    /// The document is read to its end and some keys are rejected.
    case rejectedKeys
    /// Reading throws an error with this code.
    case refused(String)

    package init?(_ text: String) {
      switch text {
      case "accepted": self = .accepted
      case "rejected-keys": self = .rejectedKeys
      default:
        guard text.hasPrefix("refused:"), text.count > 8 else { return nil }
        self = .refused(String(text.dropFirst(8)))
      }
    }

    package var description: String {
      switch self {
      case .accepted: "accepted"
      case .rejectedKeys: "rejected-keys"
      case .refused(let code): "refused:\(code)"
      }
    }
  }

  /// How the bytes are written in the file.
  package enum Body: String, Sendable, CaseIterable {
    /// As they are, from behind the empty line to the end of the file.
    case text
    /// Hexadecimal digits; white space does not count.
    case hex
    /// Standard base64; white space does not count.
    case base64
    /// One piece a line, each optionally repeated: `hex 00ff`, `text {"keys":[`, `100000 * text [`.
    case pieces
  }

  package init(name: String, fields: [Field], bytes: [UInt8]) {
    self.name = name
    self.fields = fields
    self.bytes = bytes
  }

  /// The value of the first header line of this name.
  package subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }

  /// The number in a header line such as `keys: 2`; `nil` when there is none.
  package func number(_ name: String) throws -> Int? {
    guard let text = self[name] else { return nil }
    guard let number = Int(text) else { throw fault("\(name): \(text) is not a number") }
    return number
  }

  package var comment: String { self["comment"] ?? "" }

  /// What must come of it; every vector says so.
  package func expectation() throws -> Expectation {
    guard let text = self["expect"] else { throw fault("no line begins with expect:") }
    guard let expectation = Expectation(text) else {
      throw fault("expect: \(text), allowed are accepted, rejected-keys and refused:CODE")
    }
    return expectation
  }

  func fault(_ text: String) -> Fault { Fault(description: "vector \(name): \(text)") }

  /// A vector file that is not written as it should be.
  package struct Fault: Error, CustomStringConvertible {
    package var description: String
  }
}

// MARK: Reading

extension Vector {
  package static var folder: URL { PackageFolder.root.appending(path: "interop/vectors") }

  /// Every vector of these formats, or of all, in alphabetical order.
  package static func all(_ formats: String..., in folder: URL = folder) throws -> [Vector] {
    let paths = (FileManager.default.enumerator(atPath: folder.path())?.compactMap { $0 as? String } ?? []).sorted()
    return try paths.compactMap { path in
      let parts = path.split(separator: "/")
      // The drawer holds dumps as they are, in folders of their own.
      guard parts.count == 2, parts[0] != "drawer", formats.isEmpty || formats.contains(String(parts[0])) else {
        return nil
      }
      return try Vector(name: path, in: folder)
    }
  }

  package init(name: String, in folder: URL = folder) throws {
    let file = Array(try Data(contentsOf: folder.appending(path: name)))
    try self.init(name: name, file: file)
  }

  package init(name: String, file: [UInt8]) throws {
    self.init(name: name, fields: [], bytes: [])
    var rest = file[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let line = String(decoding: rest[..<end], as: UTF8.self)
      rest = rest[(end + 1)...]
      if line.isEmpty { break }
      guard let colon = line.range(of: ": ") else { throw fault("header line without a colon: \(line)") }
      fields.append(Field(String(line[..<colon.lowerBound]), String(line[colon.upperBound...])))
    }
    let written = self["body"] ?? Body.hex.rawValue
    guard let body = Body(rawValue: written) else {
      throw fault("body: \(written), allowed are \(Body.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    bytes = try read(rest, as: body)
  }

  private func read(_ text: ArraySlice<UInt8>, as body: Body) throws -> [UInt8] {
    switch body {
    case .text: return Array(text)
    case .hex: return try hexadecimal(text)
    case .base64:
      guard let data = Data(base64Encoded: Data(text.filter { !Self.isSpace($0) })) else {
        throw fault("the body is not base64")
      }
      return Array(data)
    case .pieces:
      return try text.split(separator: UInt8(ascii: "\n")).flatMap(piece)
    }
  }

  private func piece(_ line: ArraySlice<UInt8>) throws -> [UInt8] {
    var parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
    var times = 1
    if parts.count == 3, parts[1].elementsEqual([UInt8(ascii: "*")]) {
      let text = String(decoding: parts[0], as: UTF8.self)
      guard let number = Int(text), (0...1_000_000_000).contains(number) else {
        throw fault("\(text) * …, allowed 0...1000000000")
      }
      times = number
      parts = parts[2].split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
    } else {
      parts = line.split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
    }
    let bytes: [UInt8]
    switch (parts.count, String(decoding: parts[0], as: UTF8.self)) {
    case (2, "text"): bytes = Array(parts[1])
    case (2, "hex"): bytes = try hexadecimal(parts[1])
    default: throw fault("a piece is neither text nor hex: \(String(decoding: line, as: UTF8.self))")
    }
    // Every read has a limit, also that of a test's own files.
    guard times <= (4 << 20) / max(bytes.count, 1) else {
      throw fault("\(times) * \(bytes.count) bytes, allowed are at most 4194304")
    }
    if times == 1 { return bytes }
    if bytes.count == 1 { return Array(repeating: bytes[0], count: times) }
    var run: [UInt8] = []
    run.reserveCapacity(bytes.count * times)
    for _ in 0..<times { run += bytes }
    return run
  }

  private func hexadecimal(_ text: ArraySlice<UInt8>) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var high: UInt8?
    for digit in text where !Self.isSpace(digit) {
      guard let value = Character(Unicode.Scalar(digit)).hexDigitValue.map(UInt8.init) else {
        throw fault("\(Character(Unicode.Scalar(digit))) is not a hexadecimal digit")
      }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    guard high == nil else { throw fault("an odd number of hexadecimal digits") }
    return bytes
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 }
}

// MARK: Writing

extension Vector {
  /// The file's content: the header lines, an empty line, the bytes as the field `body` says (hexadecimal by default).
  /// `pieces` stand for bytes that are too many to be written out.
  package func file(pieces: [Piece] = []) -> [UInt8] {
    let body = pieces.isEmpty ? Body(rawValue: self["body"] ?? "") ?? .hex : .pieces
    var lines = fields.filter { $0.name != "body" }
    if body != .hex { lines.append(Field("body", body.rawValue)) }
    let head = Array((lines.map { "\($0.name): \($0.value)\n" }.joined() + "\n").utf8)
    switch body {
    case .text: return head + bytes
    case .hex: return head + Self.lines(Hexadecimal.encode(bytes), of: 64)
    case .base64: return head + Self.lines(Data(bytes).base64EncodedString(), of: 76)
    case .pieces: return head + Array(pieces.map { "\($0)\n" }.joined().utf8)
    }
  }

  private static func lines(_ digits: String, of width: Int) -> [UInt8] {
    let text = Array(digits.utf8)
    return stride(from: 0, to: text.count, by: width).flatMap { Array(text[$0..<min($0 + width, text.count)]) + [0x0a] }
  }

  /// A run of bytes, repeated.
  package struct Piece: Hashable, Sendable, CustomStringConvertible {
    package var times: Int
    package var bytes: [UInt8]

    package init(_ bytes: [UInt8], times: Int = 1) {
      self.times = times
      self.bytes = bytes
    }

    package init(_ text: String, times: Int = 1) { self.init(Array(text.utf8), times: times) }

    /// As text where every byte is a visible ASCII character or a space between such.
    package var description: String {
      let repeated = times == 1 ? "" : "\(times) * "
      let isText = bytes.allSatisfy { (0x20..<0x7f).contains($0) } && !bytes.isEmpty
      return isText
        ? repeated + "text " + String(decoding: bytes, as: UTF8.self)
        : repeated + "hex " + Hexadecimal.encode(bytes)
    }
  }
}
