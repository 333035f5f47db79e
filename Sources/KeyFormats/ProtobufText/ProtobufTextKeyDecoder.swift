public import ExposureKeys

extension KeyFormat {
  /// An export in protobuf's text format.
  public static let protobufText = KeyFormat(
    KeyFormatDefinition(
      name: "protobuf-text", summary: "protobuf text of an export, as libraries print it", fileExtension: "textproto",
      readers: .apps,
      detection: .front { front in
        front.lines.first { !$0.hasPrefix("#") }.map(isField) == true
      },
      decoder: { ProtobufTextKeyDecoder($0, limits: $1) }))

  /// `keys {` or `start_timestamp: 1593248400`
  private static func isField(_ line: String) -> Bool {
    let name = line.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
    let rest = line.dropFirst(name.count).drop { $0 == " " }
    return !name.isEmpty && (rest.first == ":" || rest.first == "{" || rest.first == "<")
  }
}

/// Reads a `TemporaryExposureKeyExport` in protobuf's text format, as protobuf libraries print it.
///
/// Fields may stand in any order. A field of another name is passed over and counted; text in which every field has
/// another name is refused.
public final class ProtobufTextKeyDecoder: KeyDecoder {
  public private(set) var header = ExportHeader()
  /// An export names no regions a key.
  public let regions = RegionTable()
  public private(set) var notes = ReadingNotes()

  private let window: InputWindow
  private let limits: ReadLimits
  /// The number of the line that comes next, from 1.
  private var line = 1
  /// The list `keys: [ … ]` or `revised_keys: [ … ]` in whose middle the next record stands.
  private var openList: KeyList?
  /// Whether a field of an export was read, and the names of the first others.
  private var foundField = false
  private var otherNames: [String] = []

  public init(_ window: InputWindow, limits: ReadLimits = ReadLimits()) {
    self.window = window
    self.limits = limits
  }

  private enum KeyList {
    case keys
    case revisedKeys

    var name: String { self == .keys ? "keys" : "revised_keys" }
  }

  /// What one field of the document says.
  private enum Record {
    case key(KeyMessage, KeyList)
    case listOpens(KeyList)
    case listCloses
    case startTimestamp(UInt64)
    case endTimestamp(UInt64)
    case region(String)
    case batchNum(Int32)
    case batchSize(Int32)
    case signatureInfos([SignatureInfo], unknown: [String], repeated: [String])
    case unknown(String)
    case end
  }

  private struct KeyMessage {
    var offset = 0
    var claim = ClaimedKey(key: TemporaryExposureKey(high: 0, low: 0))
    var byteCount: Int?
    var fault: EntryFault?
    var unknown: [String] = []
    /// The names of fields that it states again.
    var repeated: [String] = []
    private var seen: UInt32 = 0

    mutating func state(_ field: KeyField, _ name: UnsafeRawBufferPointer) {
      if seen & field.bit != 0 { repeated.append(String(decoding: name, as: UTF8.self)) }
      seen |= field.bit
    }

    mutating func append(_ byte: UInt8) {
      let words = (claim.key.high, claim.key.low)
      claim.key = TemporaryExposureKey(high: words.0 << 8 | words.1 >> 56, low: words.1 << 8 | UInt64(byte))
      byteCount = (byteCount ?? 0) + 1
    }
  }

  public func decode(into chunk: inout KeyChunk) throws -> Bool {
    while chunk.keys.count + chunk.rejections.count < chunk.keys.capacity {
      guard try readRecord(into: &chunk) else { break }
    }
    return !chunk.keys.isEmpty || !chunk.rejections.isEmpty
  }

  /// `false` at the end of the document.
  private func readRecord(into chunk: inout KeyChunk) throws -> Bool {
    let found = try window.scanRecord(limit: limits.recordBytes, place: "line \(line)") { unread, isAtEnd in
      try scan(unread, isAtEnd)
    }
    guard let (record, length) = found else { return false }
    switch record {
    case .end, .unknown: break
    default: foundField = true
    }
    switch record {
    case .end:
      try refuseOtherText()
      return false
    case .key(let message, let list): take(message, list, into: &chunk)
    case .listOpens(let list): openList = list
    case .listCloses: openList = nil
    case .startTimestamp(let seconds): state(\.startTimestamp, seconds, "start_timestamp")
    case .endTimestamp(let seconds): state(\.endTimestamp, seconds, "end_timestamp")
    case .region(let name): state(\.region, name, "region")
    case .batchNum(let number): state(\.batchNum, number, "batch_num")
    case .batchSize(let number): state(\.batchSize, number, "batch_size")
    case .signatureInfos(let infos, let unknown, let repeated):
      header.signatureInfos += infos
      for name in unknown { countUnknown("signature_infos." + name) }
      for name in repeated { notes.countRepeated("signature_infos.\(name)", in: "line \(line)") }
    case .unknown(let name):
      if otherNames.count < 8 { otherNames.append(name) }
      countUnknown(name)
    }
    for byte in window.unread[..<length] where byte == UInt8(ascii: "\n") { line += 1 }
    window.skip(length)
    return true
  }

  private func state<Value>(_ field: WritableKeyPath<ExportHeader, Value?>, _ value: Value, _ name: String) {
    if header[keyPath: field] != nil { notes.countRepeated(name, in: "line \(line)") }
    header[keyPath: field] = value
  }

  /// Text of something else has names and colons too: `status: ok`.
  private func refuseOtherText() throws {
    guard !foundField, !otherNames.isEmpty else { return }
    throw FormatError(
      .unrecognizedFormat,
      "text without any field of an export; its names are \(otherNames.joined(separator: ", ")); expected keys, "
        + "revised_keys, start_timestamp or other fields of TemporaryExposureKeyExport")
  }

  private func take(_ message: KeyMessage, _ list: KeyList, into chunk: inout KeyChunk) {
    for name in message.unknown { countUnknown("\(list.name).\(name)") }
    for name in message.repeated { notes.countRepeated("\(list.name).\(name)", in: "key \(chunk.nextIndex)") }
    var fault = message.fault
    if fault == nil, message.byteCount != TemporaryExposureKey.byteCount {
      fault =
        message.byteCount.map {
          EntryFault(reason: .keyDataLength, detail: "key_data: \($0) bytes of key data, allowed are 16")
        } ?? EntryFault(reason: .keyDataAbsent, detail: "key_data: absent, allowed are 16 bytes of key data")
    }
    guard let fault else {
      var claim = message.claim
      claim.isRevised = list == .revisedKeys
      chunk.keys.append(claim)
      return
    }
    let place = line + window.unread[..<message.offset].count { $0 == UInt8(ascii: "\n") }
    chunk.rejections.append(
      Rejection(
        position: KeyPosition(index: chunk.nextIndex, byteOffset: window.documentOffset + message.offset),
        reason: fault.reason, detail: "line \(place), \(fault.detail)"))
  }

  private func countUnknown(_ name: String) {
    let note = ReadingNote(code: "unknown-field", subject: name, text: "field \"\(name)\" is not read")
    let isNew = notes.counts[note] == nil
    notes.count(
      isNew && notes.counts.count >= 256
        ? ReadingNote(code: "unknown-field", text: "further fields of other names are not read") : note)
  }

  // MARK: - One field of the document

  private func scan(_ bytes: UnsafeRawBufferPointer, _ isAtEnd: Bool) throws -> (Record, length: Int)? {
    var cursor = ProtobufTextCursor(bytes, isAtEnd: isAtEnd)
    do throws(ProtobufTextFault) {
      let record = try record(&cursor)
      return (record, cursor.offset)
    } catch {
      switch error {
      case .incomplete: return nil
      case .ended:
        throw failure(.truncated, at: bytes.count, bytes, "the document ends in the middle of a field")
      case .wrong(let offset, let reason): throw failure(.malformed, at: offset, bytes, reason)
      }
    }
  }

  private func failure(
    _ code: FormatError.Code, at offset: Int, _ bytes: UnsafeRawBufferPointer, _ reason: String
  ) -> FormatError {
    let place = line + bytes[..<offset].count { $0 == UInt8(ascii: "\n") }
    return FormatError(code, place: "line \(place)", byteOffset: window.documentOffset + offset, reason)
  }

  private func record(_ cursor: inout ProtobufTextCursor) throws(ProtobufTextFault) -> Record {
    if let openList { return try listElement(of: openList, &cursor) }
    guard try cursor.next() != nil else { return .end }
    let start = cursor.offset
    let name = try cursor.name()
    let kind = try cursor.valueKind()
    let record: Record
    switch String(decoding: name.prefix(32), as: UTF8.self) {
    case "keys": record = try keys(.keys, kind, start, &cursor)
    case "revised_keys": record = try keys(.revisedKeys, kind, start, &cursor)
    case "start_timestamp": record = .startTimestamp(try number(kind, "start_timestamp", &cursor))
    case "end_timestamp": record = .endTimestamp(try number(kind, "end_timestamp", &cursor))
    case "region": record = .region(try text(kind, "region", &cursor))
    case "batch_num": record = .batchNum(try number(kind, "batch_num", &cursor))
    case "batch_size": record = .batchSize(try number(kind, "batch_size", &cursor))
    case "signature_infos": record = try signatureInfos(kind, &cursor)
    default:
      try cursor.skipValue(kind, nesting: limits.nesting)
      record = .unknown(ReportedText.name(name))
    }
    if case .listOpens = record { return record }
    try cursor.passSeparator()
    return record
  }

  private func keys(
    _ list: KeyList, _ kind: ProtobufTextCursor.ValueKind, _ start: Int, _ cursor: inout ProtobufTextCursor
  ) throws(ProtobufTextFault) -> Record {
    switch kind {
    case .message: return .key(try key(at: start, &cursor), list)
    case .list:
      _ = try cursor.pass(UInt8(ascii: "["))
      return .listOpens(list)
    case .string, .word: throw cursor.wrong("\(list.name) is no message")
    }
  }

  private func listElement(
    of list: KeyList, _ cursor: inout ProtobufTextCursor
  ) throws(ProtobufTextFault) -> Record {
    let closes = try cursor.pass(UInt8(ascii: "]"))
    let record: Record = closes ? .listCloses : .key(try key(at: cursor.offset, &cursor), list)
    try cursor.passSeparator()
    return record
  }

  private func key(
    at start: Int, _ cursor: inout ProtobufTextCursor
  ) throws(ProtobufTextFault) -> KeyMessage {
    var message = KeyMessage()
    message.offset = start
    let closing = try cursor.openMessage()
    while try !cursor.pass(closing) {
      let name = try cursor.name()
      let kind = try cursor.valueKind()
      let field = KeyField(name)
      if let field { message.state(field, name) }
      switch field {
      case .keyData where kind == .string:
        message.byteCount = 0
        try cursor.string { message.append($0) }
      case .keyData:
        message.fault = EntryFault(reason: .keyDataSpelling, detail: "key_data: no string, allowed is one of 16 bytes")
        try cursor.skipValue(kind, nesting: limits.nesting)
      case .number(let field) where kind == .word:
        let word = try cursor.word()
        guard let number: Int32 = ProtobufTextNumber.read(word) else {
          message.fault = fault(.fieldNotANumber, name, word, "a whole number \(Int32.min)...\(Int32.max)")
          break
        }
        switch field {
        case .rollingStart: message.claim.rollingStart = number
        case .rollingPeriod: message.claim.rollingPeriod = number
        case .transmissionRisk: message.claim.transmissionRisk = number
        default: message.claim.daysSinceOnset = number
        }
      case .reportType where kind == .word:
        let word = try cursor.word()
        guard let number = ProtobufTextNumber.read(word) ?? ReportType(exactName: word)?.rawValue else {
          let names = ReportType.allCases.map(\.name).joined(separator: ", ")
          message.fault = fault(.reportTypeUnknown, name, word, "\(names), or a number")
          break
        }
        message.claim.reportType = number
      case .number, .reportType:
        message.fault = EntryFault(
          reason: .fieldNotANumber, detail: "\(ReportedText.name(name)): no number, allowed is a number")
        try cursor.skipValue(kind, nesting: limits.nesting)
      case nil:
        try cursor.skipValue(kind, nesting: limits.nesting)
        if message.unknown.count < 256 { message.unknown.append(ReportedText.name(name)) }
      }
      try cursor.passSeparator()
    }
    return message
  }

  private func fault(
    _ reason: RejectionReason, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ allowed: String
  ) -> EntryFault {
    EntryFault(
      reason: reason, detail: "\(ReportedText.name(name)): \(ReportedText.value(value)), allowed is \(allowed)")
  }

  private enum KeyField {
    case keyData
    case number(KeyFields)
    case reportType

    var bit: UInt32 {
      switch self {
      case .keyData: 1
      case .reportType: 2
      case .number(let fields): fields.rawValue << 2
      }
    }

    init?(_ name: UnsafeRawBufferPointer) {
      if isEqual(name, "key_data") {
        self = .keyData
      } else if isEqual(name, "transmission_risk_level") {
        self = .number(.transmissionRisk)
      } else if isEqual(name, "rolling_start_interval_number") {
        self = .number(.rollingStart)
      } else if isEqual(name, "rolling_period") {
        self = .number(.rollingPeriod)
      } else if isEqual(name, "report_type") {
        self = .reportType
      } else if isEqual(name, "days_since_onset_of_symptoms") {
        self = .number(.daysSinceOnset)
      } else {
        return nil
      }
    }
  }

  // MARK: - Fields of the header

  private func signatureInfos(
    _ kind: ProtobufTextCursor.ValueKind, _ cursor: inout ProtobufTextCursor
  ) throws(ProtobufTextFault) -> Record {
    var infos: [SignatureInfo] = []
    var (unknown, repeated): ([String], [String]) = ([], [])
    switch kind {
    case .message: infos.append(try signatureInfo(&cursor, &unknown, &repeated))
    case .list:
      _ = try cursor.pass(UInt8(ascii: "["))
      while try !cursor.pass(UInt8(ascii: "]")) {
        infos.append(try signatureInfo(&cursor, &unknown, &repeated))
        try cursor.passSeparator()
      }
    case .string, .word: throw cursor.wrong("signature_infos is no message")
    }
    return .signatureInfos(infos, unknown: unknown, repeated: repeated)
  }

  private func signatureInfo(
    _ cursor: inout ProtobufTextCursor, _ unknown: inout [String], _ repeated: inout [String]
  ) throws(ProtobufTextFault) -> SignatureInfo {
    var info = SignatureInfo()
    func text(
      _ field: WritableKeyPath<SignatureInfo, String?>, _ name: String, _ kind: ProtobufTextCursor.ValueKind
    ) throws(ProtobufTextFault) {
      if info[keyPath: field] != nil { repeated.append(name) }
      info[keyPath: field] = try self.text(kind, name, &cursor)
    }
    let closing = try cursor.openMessage()
    while try !cursor.pass(closing) {
      let name = String(decoding: try cursor.name().prefix(64), as: UTF8.self)
      let kind = try cursor.valueKind()
      switch name {
      case "app_bundle_id": try text(\.appBundleID, name, kind)
      case "android_package": try text(\.androidPackage, name, kind)
      case "verification_key_version": try text(\.verificationKeyVersion, name, kind)
      case "verification_key_id": try text(\.verificationKeyID, name, kind)
      case "signature_algorithm": try text(\.signatureAlgorithm, name, kind)
      default:
        try cursor.skipValue(kind, nesting: limits.nesting)
        if unknown.count < 256 { unknown.append(ReportedText.name(name.utf8)) }
      }
      try cursor.passSeparator()
    }
    return info
  }

  private func text(
    _ kind: ProtobufTextCursor.ValueKind, _ name: String, _ cursor: inout ProtobufTextCursor
  ) throws(ProtobufTextFault) -> String {
    guard kind == .string else { throw cursor.wrong("\(name): no string, allowed is a string in quotes") }
    var bytes: [UInt8] = []
    try cursor.string { bytes.append($0) }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func number<Number: FixedWidthInteger>(
    _ kind: ProtobufTextCursor.ValueKind, _ name: String, _ cursor: inout ProtobufTextCursor
  ) throws(ProtobufTextFault) -> Number {
    let allowed = "allowed is a whole number \(Number.min)...\(Number.max)"
    guard kind == .word else { throw cursor.wrong("\(name): no number, \(allowed)") }
    let word = try cursor.word()
    guard let number: Number = ProtobufTextNumber.read(word) else {
      throw cursor.wrong("\(name): \(ReportedText.value(word)), \(allowed)")
    }
    return number
  }
}

/// Whole numbers of the text format: decimal, `0x` hexadecimal, or octal with a zero in front.
enum ProtobufTextNumber {
  static func read<Number: FixedWidthInteger>(_ word: UnsafeRawBufferPointer) -> Number? {
    var digits = word[...]
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative { digits = digits.dropFirst() }
    var base: UInt64 = 10
    if digits.count > 1, digits.first == UInt8(ascii: "0") {
      let isHexadecimal = digits[digits.startIndex + 1] | 0x20 == UInt8(ascii: "x")
      base = isHexadecimal ? 16 : 8
      digits = digits.dropFirst(isHexadecimal ? 2 : 1)
    }
    guard !digits.isEmpty else { return nil }
    var value: UInt64 = 0
    let values = Hexadecimal.values
    for digit in digits {
      let next = UInt64(values[Int(digit)])
      let (scaled, overflows) = value.multipliedReportingOverflow(by: base)
      let (sum, overflowsToo) = scaled.addingReportingOverflow(next)
      guard next < base, !overflows, !overflowsToo else { return nil }
      value = sum
    }
    guard isNegative else { return Number(exactly: value) }
    guard value <= 1 << 63 else { return nil }
    return Number(exactly: 0 &- Int64(truncatingIfNeeded: value))
  }
}

private func isEqual(_ text: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
  text.elementsEqual(UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
}

extension ReportType {
  fileprivate init?(exactName text: UnsafeRawBufferPointer) {
    guard text.count < 64 else { return nil }
    self.init(name: String(decoding: text, as: UTF8.self))
  }
}
