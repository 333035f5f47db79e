internal import ExposureKeys

/// Bytes as `xxd`, `hexdump` and `od` print them: lines of an offset, hexadecimal digits, and the same as characters.
///
/// Bytes stand by themselves, or in pairs; `hexdump` and `od -x` print pairs with the second byte in front. A line that is
/// `*` stands for more lines like the last one. Each offset must be the number of bytes before it, in one radix for all.
final class HexDumpText: ByteSource {
  private let window: InputWindow
  private let limits: ReadLimits
  /// Of the lines that were read, all but what waits.
  private var ready: [UInt8] = []
  private var taken = 0
  /// The last line's bytes: the offset behind it may say that a pair was filled up.
  private var last: [UInt8] = []
  private var count = 0
  /// How offsets are written, as far as it is known.
  private var radices = [16, 8, 10]
  private var isRepeated = false
  private var needsEnd = false
  private var hasEnded = false

  /// No line of these tools is longer.
  static let mostLine = 4096
  /// More than that is not made of lines like the last one.
  private static let mostRepeated = 64 << 20

  init(_ window: InputWindow, limits: ReadLimits) {
    self.window = window
    self.limits = limits
  }

  /// The bytes of the first line; `nil` where it is no line of a dump.
  static func first(in front: some Collection<UInt8>) -> [UInt8]? {
    let front = Array(front.prefix(mostLine))
    guard let end = front.firstIndex(of: UInt8(ascii: "\n")), let line = Line(front[..<end]), line.bytes.count >= 4,
      line.offset.allSatisfy({ $0 == UInt8(ascii: "0") })
    else { return nil }
    return line.bytes
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    while taken == ready.count {
      ready.removeAll(keepingCapacity: true)
      taken = 0
      guard try readLines() else { return 0 }
    }
    let length = min(buffer.count, ready.count - taken)
    buffer.copyBytes(from: ready[taken..<taken + length])
    taken += length
    return length
  }

  /// Reads some lines; `false` at the end.
  private func readLines() throws -> Bool {
    while ready.count < 1 << 15, !hasEnded {
      let found = try window.scanRecord(limit: Self.mostLine, place: "") { unread, isAtEnd in
        unread.isEmpty ? nil : LineEnd.scan(unread, isAtEnd: isAtEnd)
      }
      guard let found else {
        try end()
        break
      }
      try take(window.unread[..<found.text])
      window.skip(found.whole)
    }
    return !ready.isEmpty || !hasEnded
  }

  private func end() throws {
    guard !needsEnd, !isRepeated else {
      throw FormatError(
        .truncated, byteOffset: window.documentOffset, "the dump has no last line with the number of its bytes")
    }
    ready += last
    last = []
    hasEnded = true
  }

  private func take(_ text: Slice<UnsafeRawBufferPointer>) throws {
    if text.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { return }
    if text.elementsEqual("*".utf8), !last.isEmpty {
      isRepeated = true
      return
    }
    guard let line = Line(text) else {
      throw FormatError(.malformed, byteOffset: window.documentOffset, "a line that is no line of a hexadecimal dump")
    }
    // Another dump begins behind the first.
    if count > 0, !isRepeated, !needsEnd, !line.bytes.isEmpty, line.offset.allSatisfy({ $0 == UInt8(ascii: "0") }) {
      beginAgain()
    }
    try place(line)
    ready += last
    last = line.bytes
    count += last.count
    if !line.hasColon { needsEnd = true }
    if line.bytes.isEmpty { beginAgain() }
  }

  private func beginAgain() {
    ready += last
    last = []
    (count, radices, needsEnd) = (0, [16, 8, 10], false)
  }

  /// Compares the line's offset with what was read.
  private func place(_ line: Line) throws {
    let text = String(decoding: line.offset, as: UTF8.self)
    func offset(_ radix: Int) -> Int? { Int(text, radix: radix) }
    if isRepeated {
      isRepeated = false
      // Two lines have told the radix, unless all bytes are the same from the first line on: then it is the usual one.
      guard let end = radices.lazy.compactMap(offset).first, end >= count, end - count <= Self.mostRepeated else {
        throw wrong(text)
      }
      let isWhole = (end - count).isMultiple(of: last.count)
      guard isWhole || line.bytes.isEmpty else { throw wrong(text) }
      ready += last
      var missing = end - count
      while missing > 0 {
        let part = min(missing, last.count)
        ready += last.prefix(part)
        missing -= part
      }
      count = end
      last = []
      radices = radices.filter { offset($0) == end }
      return
    }
    // The last byte of a pair that was filled up does not count.
    if line.bytes.isEmpty, !last.isEmpty, radices.contains(where: { offset($0) == count - 1 }), last.last == 0 {
      last.removeLast()
      count -= 1
    }
    radices = radices.filter { offset($0) == count }
    guard !radices.isEmpty else { throw wrong(text) }
  }

  private func wrong(_ text: String) -> FormatError {
    FormatError(
      .malformed, byteOffset: window.documentOffset,
      "the dump's offset \(text) does not follow \(count) bytes: lines are missing, or stand twice")
  }

  /// One line: an offset, and the bytes that it shows.
  private struct Line {
    let offset: [UInt8]
    let hasColon: Bool
    private(set) var bytes: [UInt8] = []

    init?(_ text: some Collection<UInt8>) {
      var rest = Array(text)[...]
      if rest.last == 0x0d { rest.removeLast() }
      offset = Array(rest.prefix { Hexadecimal.values[Int($0)] != 255 })
      guard (6...16).contains(offset.count) else { return nil }
      rest = rest.dropFirst(offset.count)
      hasColon = rest.first == UInt8(ascii: ":")
      if hasColon { rest = rest.dropFirst() }
      guard rest.isEmpty || rest.first == 0x20 else { return nil }
      while !rest.isEmpty {
        let blanks = rest.prefix { $0 == 0x20 }
        rest = rest.dropFirst(blanks.count)
        // Behind two blanks xxd shows characters; the others mark where these begin.
        if hasColon, blanks.count > 1, !bytes.isEmpty { break }
        if rest.first == UInt8(ascii: "|") || rest.first == UInt8(ascii: ">") { break }
        let digits = rest.prefix { $0 != 0x20 }
        if digits.isEmpty { break }
        guard let group = Hexadecimal.decode(digits), group.count == 1 || hasColon || group.count == 2 else {
          return nil
        }
        bytes += hasColon ? group : group.reversed()
        rest = rest.dropFirst(digits.count)
      }
      guard !hasColon || !bytes.isEmpty else { return nil }
    }
  }
}
