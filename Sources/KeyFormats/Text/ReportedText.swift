internal import ExposureKeys

/// Text from a document, made fit for an error message: short, printable, and never key material.
enum ReportedText {
  /// A cell or a field's value. Longer than any number or name that is allowed, it is told by its length alone, since
  /// it may be key data that stands in the wrong place.
  static func value(_ bytes: some Collection<UInt8>) -> String {
    bytes.count < 20 ? "\"\(printable(bytes))\"" : "a value of \(bytes.count) characters"
  }

  /// The name of a column or a field. In a file without names the first row's keys stand here: a name that holds what may
  /// be key data is told by its length alone.
  static func name(_ bytes: some Collection<UInt8>) -> String {
    if bytes.count > 64 || mayHoldKeyData(bytes) { return "(\(bytes.count) characters)" }
    return printable(bytes)
  }

  /// Whether sixteen or more characters stand together that may be random bytes in base64 or hexadecimal. Words have
  /// no digits among their letters, and all of their letters or few of them are capitals: of random base64 one text in
  /// ten thousand looks so.
  static func mayHoldKeyData(_ bytes: some Collection<UInt8>) -> Bool {
    var run = (length: 0, small: 0, capitals: 0, digits: 0)
    func isTelling() -> Bool {
      run.length >= 16 && (run.digits > 0 || (run.small > 0 && run.capitals * 3 > run.length))
    }
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"): run.small += 1
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): run.capitals += 1
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
        run.digits += 1
      case UInt8(ascii: "-"), UInt8(ascii: "_"): break
      default:
        if isTelling() { return true }
        run = (0, 0, 0, 0)
        continue
      }
      run.length += 1
    }
    return isTelling()
  }

  private static func printable(_ bytes: some Collection<UInt8>) -> String {
    var text = String.UnicodeScalarView()
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      let isPrintable = scalar.isASCII ? (0x20..<0x7F).contains(scalar.value) : scalar.properties.isAlphabetic
      text.append(isPrintable ? scalar : "?")
    }
    return String(text)
  }
}

/// Why one key of a document is rejected.
struct EntryFault: Error {
  var reason: RejectionReason
  var detail: String
}

extension ReportType {
  /// The names that Google's key server and its verification server use, in their tables and certificates.
  init?(ofKeyServer name: some StringProtocol) {
    switch name {
    case "confirmed": self = .confirmedTest
    case "likely": self = .confirmedClinicalDiagnosis
    case "user-report": self = .selfReport
    case "negative": self = .revoked
    default: return nil
    }
  }
}

/// Whole numbers as they stand in the cells and fields of text formats.
enum DecimalCell {
  /// `nil` unless the text is an optional minus and digits, and fits.
  static func int32(_ text: UnsafeRawBufferPointer) -> Int32? {
    var digits = text[...]
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative { digits = digits.dropFirst() }
    guard !digits.isEmpty, digits.count <= 10 else { return nil }
    var value: Int64 = 0
    for digit in digits {
      guard isDigit(digit) else { return nil }
      value = value * 10 + Int64(digit - UInt8(ascii: "0"))
    }
    return Int32(exactly: isNegative ? -value : value)
  }

  /// A whole number that may be spelled with a fraction of zeros or an exponent, as notebooks do: `144.0`, `2.649024e+06`.
  /// An exponent must state every digit: what a spreadsheet shows as `2.65E+06` was another number.
  static func int64(_ text: UnsafeRawBufferPointer) -> Int64? {
    var rest = text[...]
    func digits() -> Int {
      let count = rest.prefix { isDigit($0) }.count
      rest = rest.dropFirst(count)
      return count
    }
    if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
    let mantissa = rest
    guard digits() > 0 else { return nil }
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst()
      guard digits() > 0 else { return nil }
    }
    var stated = Int.max
    if let byte = rest.first, byte | 0x20 == UInt8(ascii: "e") {
      stated = mantissa[..<rest.startIndex].filter(isDigit).drop { $0 == UInt8(ascii: "0") }.count
      rest = rest.dropFirst()
      if let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { rest = rest.dropFirst() }
      guard digits() > 0 else { return nil }
    }
    guard rest.isEmpty, let value = integerValue(text) else { return nil }
    return value == 0 || stated >= "\(value.magnitude)".utf8.count ? value : nil
  }

  static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
