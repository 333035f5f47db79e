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
    var fieldOffset = 0
    /// The length of the literal text before the value.
    var textLength: Int
    /// The text's words but the last.
    var words: UnsafeMutablePointer<UInt64>
    var wordCount: Int
    /// The last eight bytes, which may begin in the word before; of a shorter text `lastMask` has the bytes that count.
    var last: UInt64
    var lastMask: UInt64
    var lastOffset: Int
  }

  static let mostSlots = 8
  static let mostText = 1024
  /// A number of more digits stays literal text.
  static let mostDigits = 8

  private let slots: UnsafeMutablePointer<Slot>
  private let slotCount: Int
  private let words: UnsafeMutablePointer<UInt64>
  private let closing: Slot
  private let prototype: ClaimedKey
  /// So many bytes must be readable for ``match``.
  let reach: Int
  /// Its place among the remembered shapes.
  let place: Int
  private let digits: Base64Digits

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
  ///   - place: of the shape among those that are remembered.
  init?(object: UnsafeRawBufferPointer, values: [Value], prototype: ClaimedKey, place: Int) {
    guard !values.isEmpty, values.count <= Self.mostSlots, object.count <= Self.mostText else { return nil }
    slots = .allocate(capacity: values.count)
    words = .allocate(capacity: object.count / 8 + 1)
    slotCount = values.count
    self.prototype = prototype
    self.place = place
    digits = .shared
    var nextWord = words
    var textEnd = 0
    var reach = 64
    func word(_ start: Int, _ end: Int) -> UInt64 {
      object[start..<min(start + 8, end)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    func literal(upTo end: Int) -> Slot {
      let length = end - textEnd
      let first = nextWord
      let lastOffset = max(length - 8, 0)
      for offset in stride(from: 0, to: lastOffset, by: 8) {
        nextWord.initialize(to: word(textEnd + offset, end))
        nextWord += 1
      }
      reach += length + 48
      return Slot(
        textLength: length, words: first, wordCount: nextWord - first, last: word(textEnd + lastOffset, end),
        lastMask: length < 8 ? (1 << UInt64(8 * length)) - 1 : .max, lastOffset: lastOffset)
    }
    for (index, value) in values.enumerated() {
      var slot = literal(upTo: value.start)
      slot.fieldOffset = value.fieldOffset
      (slots + index).initialize(to: slot)
      textEnd = value.end
    }
    closing = literal(upTo: object.count)
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
    var slot = slots
    let end = slots + slotCount
    while slot < end {
      guard matches(slot.pointee, here) else { return 0 }
      here += slot.pointee.textLength
      let fieldOffset = slot.pointee.fieldOffset
      slot += 1
      if fieldOffset == 0 {
        guard let data = readKeyData(&here) else { return 0 }
        fields.storeBytes(of: data, as: TemporaryExposureKey.self)
        continue
      }
      var (number, length) = readDigits(here)
      if length == 0 { (number, length) = readNegative(here) }
      guard length > 0 else { return 0 }
      fields.storeBytes(of: number, toByteOffset: fieldOffset, as: Int32.self)
      here += length
    }
    guard matches(closing, here) else { return 0 }
    return here - place + closing.textLength
  }

  @inline(__always)
  private func matches(_ slot: Slot, _ place: UnsafeRawPointer) -> Bool {
    var difference = (word(place + slot.lastOffset) ^ slot.last) & slot.lastMask
    for index in 0..<slot.wordCount { difference |= word(place + index &* 8) ^ slot.words[index] }
    return difference == 0
  }

  @inline(__always)
  private func word(_ place: UnsafeRawPointer) -> UInt64 {
    UInt64(littleEndian: place.loadUnaligned(as: UInt64.self))
  }

  /// A plain number without a sign, and its length; 0 for any other spelling.
  @inline(__always)
  private func readDigits(_ text: UnsafeRawPointer) -> (number: Int32, length: Int) {
    let values = word(text) ^ 0x3030_3030_3030_3030
    // In each byte the high bit says that it is no digit.
    let others = ((values & 0x7F7F_7F7F_7F7F_7F7F) &+ 0x7676_7676_7676_7676 | values) & 0x8080_8080_8080_8080
    let bits = others.trailingZeroBitCount & ~7
    // Nothing but digits runs into the literal text and fails there, unless the text itself goes on with a digit: it
    // never does, for it begins with what ended the number.
    guard bits > 0, values & 0xFF != 0 || bits == 8 else { return (0, 0) }
    var number = values &<< UInt64(64 &- bits)
    number = (number &* 10 &+ number >> 8) & 0x00FF_00FF_00FF_00FF
    number = (number &* 100 &+ number >> 16) & 0x0000_FFFF_0000_FFFF
    number = (number &* 10_000 &+ number >> 32) & 0xFFFF_FFFF
    return (Int32(truncatingIfNeeded: number), bits / 8)
  }

  @inline(never)
  private func readNegative(_ text: UnsafeRawPointer) -> (number: Int32, length: Int) {
    guard text.load(as: UInt8.self) == UInt8(ascii: "-") else { return (0, 0) }
    let (number, length) = readDigits(text + 1)
    return length > 0 ? (0 &- number, length + 1) : (0, 0)
  }

  /// Padded base64, in which slashes may be escaped as Swift's `JSONEncoder` does. Moves `text` behind it; `nil` for any
  /// other spelling.
  @inline(__always)
  private func readKeyData(_ text: inout UnsafeRawPointer) -> TemporaryExposureKey? {
    var here = text
    guard let a = readFour(&here), let b = readFour(&here), let c = readFour(&here), let d = readFour(&here),
      let e = readFour(&here)
    else { return nil }
    var (two, length) = (digits.two(here), 2)
    if two >= Base64Digits.limit { (two, length) = readEscaped(here, 2) }
    here += length
    guard two < Base64Digits.limit, here.loadUnaligned(as: UInt16.self) == 0x3D3D else { return nil }
    text = here + 2
    return Base64Digits.key(a, b, c, d, e, two)
  }

  @inline(__always)
  private func readFour(_ text: inout UnsafeRawPointer) -> UInt32? {
    var (value, length) = (digits.four(text), 4)
    if value >= Base64Digits.limit {
      (value, length) = readEscaped(text, 4)
      guard value < Base64Digits.limit else { return nil }
    }
    text += length
    return value
  }

  /// So many digits, of which slashes may be escaped, as ``Base64Digits/four(_:)`` has them, and their length.
  @inline(never)
  private func readEscaped(_ text: UnsafeRawPointer, _ count: Int) -> (value: UInt32, length: Int) {
    var value: UInt32 = 0
    var length = 0
    for index in 0..<count {
      var digit = text.load(fromByteOffset: length, as: UInt8.self)
      if digit == UInt8(ascii: "\\") {
        length += 1
        digit = text.load(fromByteOffset: length, as: UInt8.self)
        guard digit == UInt8(ascii: "/") else { return (Base64Digits.limit, 0) }
      }
      value |= digits.value(digit, at: index)
      length += 1
    }
    return (value, length)
  }
}

/// Objects of remembered shapes, one behind the other: where reading them stands, and where the keys go.
struct JSONObjectRun {
  enum End { case otherShape, elsewhere }

  private(set) var here: UnsafeRawPointer
  private let end: UnsafeRawPointer
  /// The place of the next key.
  private(set) var key: UnsafeMutablePointer<ClaimedKey>
  private let lastKey: UnsafeMutablePointer<ClaimedKey>
  /// Whether commas stand between the objects.
  private let inList: Bool
  /// What each key states beside its members.
  private let fields: KeyFields
  /// Whether reading has stopped behind an entry of the list that no comma follows.
  private(set) var isBehindEntry = false

  init(
    here: UnsafeRawPointer, end: UnsafeRawPointer, key: UnsafeMutablePointer<ClaimedKey>,
    lastKey: UnsafeMutablePointer<ClaimedKey>, inList: Bool, fields: KeyFields
  ) {
    self.here = here
    self.end = end
    self.key = key
    self.lastKey = lastKey
    self.inList = inList
    self.fields = fields
  }

  /// Reads objects for as long as they have this shape, there is room for keys, and the bytes suffice.
  @inline(never)
  mutating func read(_ template: JSONObjectTemplate) -> End {
    var run = self
    defer { self = run }
    while run.key < run.lastKey, run.end - run.here >= template.reach {
      let length = template.match(run.here, run.key)
      guard length > 0 else { return .otherShape }
      guard run.pass(length) else { return .elsewhere }
    }
    return .elsewhere
  }

  /// Takes the object that has been read into ``key`` as done; `false` when the list goes on with no comma. What has
  /// been matched has bytes behind it, because a template's reach goes beyond its object.
  @inline(__always)
  mutating func pass(_ length: Int) -> Bool {
    key.pointee.fields.formUnion(fields)
    key += 1
    here += length
    if inList {
      guard here.load(as: UInt8.self) == UInt8(ascii: ",") else {
        isBehindEntry = true
        return false
      }
      here += 1
    }
    while here < end, isJSONSpace(here.load(as: UInt8.self)) { here += 1 }
    return true
  }
}
