internal import ExposureKeys
internal import KeyFormats

/// What ``FolderTransport`` answers to the empty address: a line for each file that is ready, oldest first,
///
///     keys.zip@4711-1606816800.250000000
///
/// the name with every byte but letters, digits, `.`, `-` and `_` as `%` and two hexadecimal digits, the size in bytes,
/// and when it was changed, in seconds since 1970. The line is also the file's address and its document's name.
package struct FolderListing: Equatable {
  package static let fileLimit = 100_000
  static let byteLimit = 64 << 20

  package struct File: Hashable {
    /// As the file system has it; any bytes but `/` and 0.
    package var name: [UInt8]
    package var size: Int64
    package var seconds: Int64
    package var nanoseconds: Int64

    package init(name: [UInt8], size: Int64, seconds: Int64, nanoseconds: Int64) {
      self.name = name
      self.size = size
      self.seconds = seconds
      self.nanoseconds = nanoseconds
    }
  }

  package var files: [File]

  package init(files: [File]) {
    self.files = files.sorted { left, right in
      (left.seconds, left.nanoseconds) != (right.seconds, right.nanoseconds)
        ? (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
        : left.name.lexicographicallyPrecedes(right.name)
    }
  }

  /// `nil` for what is no listing.
  package init?(_ text: [UInt8]) {
    files = []
    for line in text.split(separator: UInt8(ascii: "\n")) {
      guard files.count < Self.fileLimit, let file = File(documentName: String(decoding: line, as: UTF8.self)) else {
        return nil
      }
      files.append(file)
    }
  }

  package var text: [UInt8] { files.flatMap { Array($0.documentName.utf8) + [UInt8(ascii: "\n")] } }
}

extension FolderListing.File {
  package var documentName: String {
    let text = name.map { Self.isPlain($0) ? String(Unicode.Scalar($0)) : "%" + Hexadecimal.encode([$0]) }.joined()
    let fraction = String(nanoseconds)
    let zeros = String(repeating: "0", count: max(0, 9 - fraction.utf8.count))
    return "\(text)@\(size)-\(seconds).\(zeros)\(fraction)"
  }

  /// `nil` for what is none.
  package init?(documentName text: String) {
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
        guard let value = Hexadecimal.decode(rest.prefix(2)), value.count == 1,
          !rest.prefix(2).contains(where: { (0x41...0x46).contains($0) })
        else { return nil }
        name += value
        rest.removeFirst(2)
      } else {
        guard isPlain(byte) else { return nil }
        name.append(byte)
      }
    }
    let isFolder = name.isEmpty || name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8)
    return isFolder || name.contains(0) || name.contains(UInt8(ascii: "/")) ? nil : name
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
    default: false
    }
  }
}
