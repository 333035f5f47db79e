internal import KeyFormats

/// What ``FolderTransport`` answers to the empty address: a line for each file that is ready, oldest first,
///
///     keys.zip@4711-1606816800.250000000
///
/// the name with every byte but letters, digits, `.`, `-` and `_` as `%` and two hexadecimal digits, the size in bytes,
/// and when it was changed, in seconds since 1970. The line is also the file's address and its document's name.
struct FolderListing: Equatable {
  static let fileLimit = 100_000
  static let byteLimit = 64 << 20

  struct File: Hashable {
    /// As the file system has it; any bytes but `/` and 0.
    var name: [UInt8]
    var size: Int64
    var seconds: Int64
    var nanoseconds: Int64
  }

  var files: [File]

  init(files: [File]) {
    self.files = files.sorted { left, right in
      (left.seconds, left.nanoseconds) != (right.seconds, right.nanoseconds)
        ? (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
        : left.name.lexicographicallyPrecedes(right.name)
    }
  }

  /// `nil` for what is no listing.
  init?(_ text: [UInt8]) {
    files = []
    for line in text.split(separator: UInt8(ascii: "\n")) {
      guard files.count < Self.fileLimit, let file = File(documentName: String(decoding: line, as: UTF8.self)) else {
        return nil
      }
      files.append(file)
    }
  }

  var text: [UInt8] { files.flatMap { Array($0.documentName.utf8) + [UInt8(ascii: "\n")] } }
}

extension FolderListing.File {
  var documentName: String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in name {
      if Self.isPlain(byte) {
        text.append(byte)
      } else {
        text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    let fraction = String(nanoseconds)
    let zeros = String(repeating: "0", count: max(0, 9 - fraction.utf8.count))
    return "\(String(decoding: text, as: UTF8.self))@\(size)-\(seconds).\(zeros)\(fraction)"
  }

  /// `nil` for what is none.
  init?(documentName text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    guard parts.count == 2, let name = Self.name(in: parts[0]) else { return nil }
    let state = parts[1].split(separator: UInt8(ascii: "-"), maxSplits: 1)
    guard state.count == 2 else { return nil }
    let time = state[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard time.count == 2, time[1].count == 9, let size = decimalNumber(Substring(state[0])),
      let seconds = Int64(Substring(time[0])), let nanoseconds = decimalNumber(Substring(time[1]))
    else { return nil }
    self.init(name: name, size: size, seconds: seconds, nanoseconds: nanoseconds)
  }

  private static func name(in text: Substring.UTF8View) -> [UInt8]? {
    var name: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
        name.append(high << 4 | low)
      } else {
        guard isPlain(byte) else { return nil }
        name.append(byte)
      }
    }
    let isFolder = name.isEmpty || name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8)
    return isFolder || name.contains(0) || name.contains(UInt8(ascii: "/")) ? nil : name
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
    default: false
    }
  }
}
