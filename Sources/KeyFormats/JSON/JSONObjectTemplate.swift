import ExposureKeys

/// The hot path of reading: a key object remembered as the bytes between its changing values.
///
/// Writers print one shape over and over. Once the parser has read an object, everything in it but the key data and
/// the plain numbers is kept as literal text, white space included, with the key that results when only those values
/// change. The next object is compared with the text word by word, and its values are read in between. What equals a
/// text that the parser has accepted is accepted by the same grammar, so this path needs none of its own; whatever
/// differs goes back to the parser. A plain value, so that the hot loop counts no references: its owner deallocates it.
struct JSONObjectTemplate {
  /// A value between two stretches of literal text.
  struct Slot {
    /// Where in a ``ClaimedKey`` the number goes; 0 is the key data.
    var fieldOffset: Int
    /// The words of the literal text before the value.
    var firstWord: Int
    var wordCount: Int
    var textLength: Int
  }

  static let mostSlots = 8
  static let mostText = 1024
  /// A number of more digits stays literal text.
  static let mostDigits = 8

  private let slots: UnsafeMutablePointer<Slot>
  private let slotCount: Int
  /// Pairs of literal text, eight bytes each, and the mask of the bytes that count.
  private let words: UnsafeMutablePointer<(text: UInt64, mask: UInt64)>
  private let closing: Slot
  private let prototype: ClaimedKey
  /// So many bytes must be readable for ``match``.
  let reach: Int
  private let digits: UnsafePointer<UInt8>

  /// A value that the parser has read: where it stands, without quotes, and where it goes.
  struct Value {
    var fieldOffset: Int
    var start: Int
    var end: Int
  }

  /// `nil` when the object is too large to be worth it.
  ///
  /// - Parameters:
  ///   - prototype: what the parser made of the object; the words of `values` do not matter.
  ///   - values: in the order in which they stand.
  init?(object: UnsafeRawBufferPointer, values: [Value], prototype: ClaimedKey) {
    guard !values.isEmpty, values.count <= Self.mostSlots, object.count <= Self.mostText else { return nil }
    slots = .allocate(capacity: values.count)
    words = .allocate(capacity: object.count / 8 + values.count + 1)
    slotCount = values.count
    self.prototype = prototype
    digits = base64Digits
    var wordCount = 0
    var textEnd = 0
    var reach = 64
    func literal(upTo end: Int, in words: UnsafeMutablePointer<(text: UInt64, mask: UInt64)>) -> Slot {
      let slot = Slot(
        fieldOffset: 0, firstWord: wordCount, wordCount: (end - textEnd + 7) / 8, textLength: end - textEnd)
      for start in stride(from: textEnd, to: end, by: 8) {
        var word: (text: UInt64, mask: UInt64) = (0, 0)
        for index in start..<min(start + 8, end) {
          word.text |= UInt64(object[index]) << UInt64(8 * (index - start))
          word.mask |= 0xFF << UInt64(8 * (index - start))
        }
        words[wordCount] = word
        wordCount += 1
      }
      reach += slot.wordCount * 8 + 48
      return slot
    }
    for (index, value) in values.enumerated() {
      var slot = literal(upTo: value.start, in: words)
      slot.fieldOffset = value.fieldOffset
      slots[index] = slot
      textEnd = value.end
    }
    closing = literal(upTo: object.count, in: words)
    self.reach = reach
  }

  /// Gives the memory back. The owner calls it once, and matches no more.
  func deallocate() {
    slots.deallocate()
    words.deallocate()
  }

  /// Reads the object that begins at `place`, if it has this shape.
  ///
  /// - Parameters:
  ///   - place: ``reach`` bytes are readable here.
  ///   - key: raw memory for one key; its content is undefined when the shape differs.
  /// - Returns: the object's length in bytes, 0 when the shape differs.
  @inline(__always)
  func match(_ place: UnsafeRawPointer, _ key: UnsafeMutablePointer<ClaimedKey>) -> Int {
    key.initialize(to: prototype)
    let fields = UnsafeMutableRawPointer(key)
    var here = place
    for index in 0..<slotCount {
      let slot = slots[index]
      guard matches(slot, here) else { return 0 }
      here += slot.textLength
      if slot.fieldOffset == 0 {
        let length = readKeyData(here, fields)
        guard length > 0 else { return 0 }
        here += length
      } else {
        let isNegative = here.load(as: UInt8.self) == UInt8(ascii: "-")
        if isNegative { here += 1 }
        let word = UInt64(littleEndian: here.loadUnaligned(as: UInt64.self))
        // In each byte the high bit says that it is no digit.
        let values = word ^ 0x3030_3030_3030_3030
        let others = ((values & 0x7F7F_7F7F_7F7F_7F7F) &+ 0x7676_7676_7676_7676 | values) & 0x8080_8080_8080_8080
        let bits = others.trailingZeroBitCount & ~7
        // Nothing but digits runs into the literal text and fails there, unless the text itself goes on with a digit:
        // it never does, for it begins with what ended the number.
        guard bits > 0, values & 0xFF != 0 || bits == 8 else { return 0 }
        var number = values << UInt64(64 - bits)
        number = (number &* 10 &+ number >> 8) & 0x00FF_00FF_00FF_00FF
        number = (number &* 100 &+ number >> 16) & 0x0000_FFFF_0000_FFFF
        number = (number &* 10_000 &+ number >> 32) & 0xFFFF_FFFF
        let value = Int32(truncatingIfNeeded: number)
        fields.storeBytes(of: isNegative ? 0 &- value : value, toByteOffset: slot.fieldOffset, as: Int32.self)
        here += bits / 8
      }
    }
    guard matches(closing, here) else { return 0 }
    return here - place + closing.textLength
  }

  @inline(__always)
  private func matches(_ slot: Slot, _ place: UnsafeRawPointer) -> Bool {
    var difference: UInt64 = 0
    var here = place
    var word = words + slot.firstWord
    for _ in 0..<slot.wordCount {
      difference |= (UInt64(littleEndian: here.loadUnaligned(as: UInt64.self)) ^ word.pointee.text) & word.pointee.mask
      here += 8
      word += 1
    }
    return difference == 0
  }

  /// Padded base64, in which slashes may be escaped as Swift's `JSONEncoder` does. Returns its length, 0 for any other
  /// spelling.
  @inline(__always)
  private func readKeyData(_ text: UnsafeRawPointer, _ key: UnsafeMutableRawPointer) -> Int {
    if decode(text, key) { return 24 }
    return readEscapedKeyData(text, key)
  }

  @inline(never)
  private func readEscapedKeyData(_ text: UnsafeRawPointer, _ key: UnsafeMutableRawPointer) -> Int {
    withUnsafeTemporaryAllocation(byteCount: 24, alignment: 8) { plain in
      var length = 0
      for index in 0..<24 {
        var byte = text.load(fromByteOffset: length, as: UInt8.self)
        if byte == UInt8(ascii: "\\") {
          length += 1
          byte = text.load(fromByteOffset: length, as: UInt8.self)
          guard byte == UInt8(ascii: "/") else { return 0 }
        }
        plain[index] = byte
        length += 1
      }
      guard let base = plain.baseAddress, decode(UnsafeRawPointer(base), key) else { return 0 }
      return length
    }
  }

  @inline(__always)
  private func decode(_ text: UnsafeRawPointer, _ key: UnsafeMutableRawPointer) -> Bool {
    @inline(__always)
    func digit(_ index: Int) -> UInt64 { UInt64(digits[Int(text.load(fromByteOffset: index, as: UInt8.self))]) }
    @inline(__always)
    func four(_ index: Int) -> (UInt64, UInt64) {
      let a = digit(index)
      let b = digit(index + 1)
      let c = digit(index + 2)
      let d = digit(index + 3)
      return ((a << 18 | b << 12) | (c << 6 | d), (a | b) | (c | d))
    }
    let (group0, seen0) = four(0)
    let (group1, seen1) = four(4)
    let (group2, seen2) = four(8)
    let (group3, seen3) = four(12)
    let (group4, seen4) = four(16)
    let digit20 = digit(20)
    let digit21 = digit(21)
    let seen = ((seen0 | seen1) | (seen2 | seen3)) | (seen4 | (digit20 | digit21))
    let padding = text.loadUnaligned(fromByteOffset: 22, as: UInt16.self)
    guard seen < 64, padding == 0x3D3D else { return false }
    let high = group0 << 40 | group1 << 16 | group2 >> 8
    let low = group2 << 56 | group3 << 32 | group4 << 8 | digit20 << 2 | digit21 >> 4
    key.storeBytes(of: TemporaryExposureKey(high: high, low: low), as: TemporaryExposureKey.self)
    return true
  }
}

/// ``Base64/values`` at a fixed place, so that the hot loop reaches it without a check.
nonisolated(unsafe) private let base64Digits: UnsafePointer<UInt8> = {
  let table = UnsafeMutablePointer<UInt8>.allocate(capacity: 256)
  table.initialize(from: Base64.values, count: 256)
  return UnsafePointer(table)
}()
