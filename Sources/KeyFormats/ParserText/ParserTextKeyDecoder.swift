public import ExposureKeys

extension KeyFormat {
  /// What a parser of diagnosis keys printed.
  public static let parserText = KeyFormat(
    KeyFormatDefinition(
      name: "parser-text", summary: "printout of a diagnosis key parser: numbered TEK lines", fileExtension: "txt",
      readers: .apps,
      detection: .front { front in
        front.lines.contains {
          $0.hasPrefix("Exposure Notification Diagnosis Key Parser") || isNumberedKey($0)
        }
      },
      decoder: { ParserTextKeyDecoder($0, limits: $1) }))

  /// `1: TEK: 014f…`
  private static func isNumberedKey(_ line: String) -> Bool {
    let rest = line.drop { $0.isNumber }
    return rest.count < line.count && rest.hasPrefix(": TEK:")
  }
}

/// Reads what a parser of diagnosis keys printed: header lines, and one line a key such as
/// `1: TEK: 01…aa, Transmission Risk Level: 8, Validity: 2020-06-18 00:00:00 UTC - 2020-06-19 00:00:00 UTC (2654064, 144)`.
/// What stands under the heading `Revised Diagnosis Keys:` is revised.
///
/// Parts may be missing. Without the numbers in parentheses, rolling start and period follow from the validity. Text in
/// which no line is known is refused.
public final class ParserTextKeyDecoder: KeyDecoder {
  public var header: ExportHeader { documents.merged }
  public var headers: HeaderMerge { documents.all }
  /// The printout names no regions a key.
  public let regions = RegionTable()
  public private(set) var notes = ReadingNotes()

  private let window: InputWindow
  private let limits: ReadLimits
  /// The number of the line that comes next, from 1.
  private var line = 1
  private var isInSignatureInfo = false
  /// The list that is being read holds revised keys.
  private var areRevised = false
  private var documents = DocumentHeaders()
  /// Whether a file or a window has been named, so that the next one is of another document.
  private var foundFile = false
  private var foundWindow = false
  /// How many keys the printout says that there are, and how many lines of keys stand in its first list.
  private var statedKeys: Int?
  private var keyLines = 0
  /// Whether a line said something of a file or its keys, and how many were not read.
  private var foundLine = false
  private var unreadLines = 0

  public init(_ window: InputWindow, limits: ReadLimits = ReadLimits()) {
    self.window = window
    self.limits = limits
  }

  public func decode(into chunk: inout KeyChunk) throws -> Bool {
    while chunk.keys.count + chunk.rejections.count < chunk.keys.capacity {
      guard try readLine(into: &chunk) else { break }
    }
    return !chunk.keys.isEmpty || !chunk.rejections.isEmpty
  }

  /// `false` at the end of the document.
  private func readLine(into chunk: inout KeyChunk) throws -> Bool {
    guard try window.require(1) else {
      compareCounts()
      guard foundLine || unreadLines == 0 else {
        throw FormatError(
          .unrecognizedFormat,
          "text without any line of a printout; expected keys such as 1: TEK: 01..., Time window:, Region: or Batch:")
      }
      return false
    }
    let found = try window.scanRecord(limit: limits.recordBytes, place: "line \(line)") { unread, isAtEnd in
      LineEnd.scan(unread, isAtEnd: isAtEnd)
    }
    guard let found else { return false }
    let text = window.unread[..<found.text]
    if let parts = KeyLine(text) {
      foundLine = true
      if !areRevised { keyLines += 1 }
      do throws(EntryFault) {
        var claim = try parts.claim()
        claim.isRevised = areRevised
        if claim.rollingPeriod == 0 {
          // No key has this period: it is what the parser prints for a key that states none.
          claim.rollingPeriod = nil
          notes.count(
            ReadingNote(code: "rolling-period-absent", text: "a rolling period of 0, which the parser prints for none"))
        }
        chunk.keys.append(claim)
      } catch {
        chunk.rejections.append(
          Rejection(
            position: KeyPosition(index: chunk.nextIndex, byteOffset: window.documentOffset), reason: error.reason,
            detail: "line \(line), \(error.detail)"))
      }
    } else {
      do {
        try readHeaderLine(String(decoding: text, as: UTF8.self))
      } catch let error as FormatError {
        throw FormatError(error.code, place: "line \(line)", byteOffset: window.documentOffset, error.reason)
      }
    }
    window.skip(found.whole)
    line += 1
    return true
  }

  // MARK: - Header lines

  private func readHeaderLine(_ text: String) throws {
    let text = trimmed(text.drop { $0 == "-" || $0 == " " || $0 == "\t" })
    guard !text.isEmpty, !Self.saysNothing(text) else { return }
    if text.hasPrefix("File '"), text.hasSuffix("' read.") {
      if foundFile || foundWindow { try beginNext() }
      (foundFile, foundLine) = (true, true)
      return
    }
    guard let colon = text.firstIndex(of: ":") else { return countUnread() }
    let value = trimmed(text[text.index(after: colon)...])
    let unread = unreadLines
    defer { foundLine = foundLine || unreadLines == unread }
    switch trimmed(text[..<colon]) {
    case "Time window": try readTimeWindow(value)
    case "Region": documents.current.region = String(value)
    case "Batch": try readBatch(value)
    case "# of keys in batch": statedKeys = Int(value)
    case "Signature Info", "Signature Infos":
      documents.current.signatureInfos.append(SignatureInfo())
      isInSignatureInfo = true
    case "Diagnosis Keys": beginList(revised: false)
    case "Revised Diagnosis Keys": beginList(revised: true)
    case "app_bundle_id" where isInSignatureInfo: readInfo(\.appBundleID, value)
    case "android_package" where isInSignatureInfo: readInfo(\.androidPackage, value)
    case "verification_key_version" where isInSignatureInfo: readInfo(\.verificationKeyVersion, value)
    case "verification_key_id" where isInSignatureInfo: readInfo(\.verificationKeyID, value)
    case "signature_algorithm" where isInSignatureInfo: readInfo(\.signatureAlgorithm, value)
    default: countUnread()
    }
  }

  /// What is printed from here on is about another file.
  private func beginNext() throws {
    compareCounts()
    notes.count(ReadingNote(code: "further-document", text: "a further document stands behind the first"))
    try documents.beginNext(limits)
    (foundFile, foundWindow, isInSignatureInfo, areRevised) = (false, false, false, false)
  }

  /// Somebody may have cut the printout.
  private func compareCounts() {
    if let statedKeys, statedKeys != keyLines {
      notes.count(
        ReadingNote(
          code: "keys-missing",
          text: "the printout says that it has \(statedKeys) keys, and \(keyLines) stand there"))
    }
    (statedKeys, keyLines) = (nil, 0)
  }

  private func beginList(revised: Bool) {
    isInSignatureInfo = false
    areRevised = revised
  }

  /// Lines that the parser prints around the data; `(none)` stands under an empty list.
  private static func saysNothing(_ text: Substring) -> Bool {
    text == "(none)" || text == "Exposure Notification Diagnosis Key Parser"
      || text == "This script parses published Diagnosis Keys."
  }

  /// A field that its info states already begins the next info.
  private func readInfo(_ field: WritableKeyPath<SignatureInfo, String?>, _ value: Substring) {
    let isQuoted = value.count >= 2 && value.first == "\"" && value.last == "\""
    let text = String(isQuoted ? value.dropFirst().dropLast() : value)
    let last = documents.current.signatureInfos.count - 1
    if documents.current.signatureInfos[last][keyPath: field] == nil {
      documents.current.signatureInfos[last][keyPath: field] = text
    } else {
      var info = SignatureInfo()
      info[keyPath: field] = text
      documents.current.signatureInfos.append(info)
    }
  }

  private func readTimeWindow(_ text: Substring) throws {
    if foundWindow { try beginNext() }
    foundWindow = true
    guard let (start, end) = validity(text), start.secondsSince1970 >= 0, end.secondsSince1970 >= 0 else {
      throw FormatError(
        .malformed,
        "Time window: \(ReportedText.value(text.utf8)), allowed is 2020-06-23 08:00:00 UTC - 2020-06-23 09:00:00 UTC")
    }
    documents.current.startTimestamp = UInt64(start.secondsSince1970)
    documents.current.endTimestamp = UInt64(end.secondsSince1970)
  }

  private func readBatch(_ text: Substring) throws {
    let numbers = text.split(separator: " ")
    guard numbers.count == 3, numbers[1] == "of", let number = Int32(numbers[0]), let size = Int32(numbers[2]) else {
      throw FormatError(.malformed, "Batch: \(ReportedText.value(text.utf8)), allowed is 1 of 1")
    }
    documents.current.batchNum = number
    documents.current.batchSize = size
  }

  private func countUnread() {
    unreadLines += 1
    notes.count(ReadingNote(code: "line-not-read", text: "lines that are neither keys nor known header lines"))
  }
}

/// The parts of a key's line, each its name and its value: `TEK: 01…aa`.
private struct KeyLine {
  private let parts: [(name: Substring, value: Substring)]

  /// `nil` unless the line begins with a number, a colon, and `TEK:`.
  init?(_ bytes: Slice<UnsafeRawBufferPointer>) {
    let blanks = bytes.prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    let number = bytes[blanks.endIndex...].prefix { DecimalCell.isDigit($0) }
    guard !number.isEmpty, bytes[number.endIndex...].first == UInt8(ascii: ":") else { return nil }
    let text = String(decoding: bytes[(number.endIndex + 1)...], as: UTF8.self)
    guard trimmed(text[...]).hasPrefix("TEK:") else { return nil }
    parts = Self.split(text).map { part in
      guard let colon = part.firstIndex(of: ":") else { return (part, "") }
      return (trimmed(part[..<colon]), trimmed(part[part.index(after: colon)...]))
    }
  }

  /// Commas separate the parts, but not within parentheses.
  private static func split(_ text: String) -> [Substring] {
    var depth = 0
    var parts: [Substring] = []
    var start = text.startIndex
    for index in text.indices {
      switch text[index] {
      case "(": depth += 1
      case ")": depth -= 1
      case "," where depth <= 0:
        parts.append(trimmed(text[start..<index]))
        start = text.index(after: index)
      default: break
      }
    }
    return parts + [trimmed(text[start...])]
  }

  func claim() throws(EntryFault) -> ClaimedKey {
    var claim = ClaimedKey(key: try key())
    for (name, value) in parts.dropFirst() {
      switch name {
      case "Transmission Risk Level": claim.transmissionRisk = try number(name, value)
      case "Report Type": claim.reportType = try reportType(name, value)
      // Spelled "Days since onset of symptoms" by the tool itself.
      case _ where name.lowercased().hasPrefix("days since onset"): claim.daysSinceOnset = try number(name, value)
      case "Validity": try readValidity(value, into: &claim)
      default:
        throw EntryFault(
          reason: .malformedEntry,
          detail: "\(ReportedText.name(name.utf8)): not known, allowed are Transmission Risk Level, Validity, "
            + "Report Type, and Days since onset of symptoms")
      }
    }
    return claim
  }

  private func key() throws(EntryFault) -> TemporaryExposureKey {
    let text = Array((parts.first?.value ?? "").utf8)
    guard !text.isEmpty else { throw EntryFault(reason: .keyDataAbsent, detail: "TEK: empty, allowed are 16 bytes") }
    switch text.withUnsafeBytes(KeyText.read) {
    case .key(let key): return key
    case .wrongLength(let count):
      throw EntryFault(reason: .keyDataLength, detail: "TEK: \(count) bytes of key data, allowed are 16")
    case .notKeyData:
      throw EntryFault(
        reason: .keyDataSpelling, detail: "TEK: \(text.count) characters, allowed are 32 hexadecimal digits")
    }
  }

  private func number(_ name: Substring, _ value: Substring) throws(EntryFault) -> Int32 {
    guard value.first != "+", let number = Int32(value) else {
      throw fault(.fieldNotANumber, name, value, "a whole number \(Int32.min)...\(Int32.max)")
    }
    return number
  }

  private func reportType(_ name: Substring, _ value: Substring) throws(EntryFault) -> Int32 {
    guard let number = Int32(value) ?? ReportType(name: value)?.rawValue else {
      let names = ReportType.allCases.map(\.name).joined(separator: ", ")
      throw fault(.reportTypeUnknown, name, value, "\(names), or a number")
    }
    return number
  }

  private func readValidity(_ text: Substring, into claim: inout ClaimedKey) throws(EntryFault) {
    if let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")"), open < close {
      let numbers = text[text.index(after: open)..<close].split(separator: ",").map(trimmed)
      guard numbers.count == 2 else {
        throw fault(.malformedEntry, "Validity", text[open...], "rolling start and rolling period, (2654064, 144)")
      }
      claim.rollingStart = try number("rolling start", numbers[0])
      claim.rollingPeriod = try number("rolling period", numbers[1])
      return
    }
    guard let (start, end) = validity(text), let first = intervals(start.secondsSince1970),
      let length = intervals(end.secondsSince1970 - start.secondsSince1970)
    else {
      throw fault(.malformedEntry, "Validity", text, "two instants in whole intervals of ten minutes")
    }
    claim.rollingStart = first
    claim.rollingPeriod = length
  }

  private func intervals(_ seconds: Int64) -> Int32? {
    guard seconds.isMultiple(of: IntervalNumber.secondsPerInterval) else { return nil }
    return Int32(exactly: seconds / IntervalNumber.secondsPerInterval)
  }

  private func fault(
    _ reason: RejectionReason, _ name: Substring, _ value: Substring, _ allowed: String
  ) -> EntryFault {
    EntryFault(reason: reason, detail: "\(name): \(ReportedText.value(value.utf8)), allowed is \(allowed)")
  }
}

/// `2020-06-18 00:00:00 UTC - 2020-06-19 00:00:00 UTC`.
private func validity(_ text: Substring) -> (Instant, Instant)? {
  let ends = text.split(separator: " - ").map { Instant(printed: $0) }
  guard ends.count == 2, let start = ends[0], let end = ends[1] else { return nil }
  return (start, end)
}

extension Instant {
  /// A time in RFC 3339, or as parsers print it: `2020-06-18 00:00:00 UTC`.
  init?(printed text: Substring) {
    self.init(text.hasSuffix(" UTC") ? text.dropLast(4) + "Z" : text)
  }
}

private func trimmed(_ text: Substring) -> Substring {
  var text = text
  while let last = text.last, last == " " || last == "\t" { text = text.dropLast() }
  return text.drop { $0 == " " || $0 == "\t" }
}
