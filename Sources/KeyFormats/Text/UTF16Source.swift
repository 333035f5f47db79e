/// Text in UTF-16 with its byte order mark, as spreadsheets save it, handed on as UTF-8 without one.
///
/// Places in errors then count the bytes of the UTF-8.
final class UTF16Source: ByteSource {
  private let source: any ByteSource
  private var isBigEndian = false
  private var hasBegun = false
  /// Whether half of something at the end is left out instead of refused: the front of a document is cut anywhere.
  private let isFront: Bool
  private var isAtEnd = false
  private var input: [UInt8] = []
  private var output: [UInt8] = []
  private var taken = 0
  private var offset = 0

  init(_ source: any ByteSource, isFront: Bool = false) {
    self.source = source
    self.isFront = isFront
  }

  static func begins(_ front: some Collection<UInt8>) -> Bool {
    front.starts(with: [0xff, 0xfe]) || front.starts(with: [0xfe, 0xff])
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    while taken == output.count, !isAtEnd { try transcode() }
    let count = min(buffer.count, output.count - taken)
    buffer.copyBytes(from: output[taken..<taken + count])
    taken += count
    return count
  }

  private func transcode() throws {
    output.removeAll(keepingCapacity: true)
    taken = 0
    let kept = input.count
    input += [UInt8](repeating: 0, count: 1 << 15)
    let count = try input.withUnsafeMutableBytes {
      try source.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[kept...]))
    }
    input.removeLast(input.count - kept - count)
    isAtEnd = count == 0
    var place = 0
    if !hasBegun {
      guard input.count >= 2 else { return }
      isBigEndian = input[0] == 0xfe
      hasBegun = true
      place = 2
    }
    while place + 2 <= input.count {
      let unit = self.unit(place)
      var code = UInt32(unit)
      var length = 2
      if unit & 0xfc00 == 0xd800 {
        guard place + 4 <= input.count else { break }
        let second = self.unit(place + 2)
        guard second & 0xfc00 == 0xdc00 else { throw fault(place) }
        code = 0x10000 + (code & 0x3ff) << 10 + UInt32(second & 0x3ff)
        length = 4
      }
      guard let scalar = Unicode.Scalar(code) else { throw fault(place) }
      output.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      place += length
    }
    offset += place
    input.removeFirst(place)
    guard !isAtEnd || input.isEmpty || isFront else {
      throw FormatError(.truncated, byteOffset: offset, "the text in UTF-16 ends in the middle of a character")
    }
  }

  private func unit(_ place: Int) -> UInt16 {
    let (first, second) = (UInt16(input[place]), UInt16(input[place + 1]))
    return isBigEndian ? first << 8 | second : second << 8 | first
  }

  private func fault(_ place: Int) -> FormatError {
    FormatError(.malformed, byteOffset: offset + place, "half a surrogate pair, which is no text in UTF-16")
  }
}
