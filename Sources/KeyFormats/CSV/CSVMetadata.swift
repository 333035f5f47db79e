internal import ExposureKeys

/// What a file says about itself: lines `# name=value`, which may stand anywhere between the rows.
enum CSVMetadata {
  /// Takes over what a comment line states; returns whether it overrides an earlier line with another value.
  ///
  /// A comment without a known name says nothing and is passed over.
  /// - Throws: ``FormatError`` when a known name has a value that its field cannot hold.
  static func read(_ comment: some Collection<UInt8>, into header: inout ExportHeader) throws -> Bool {
    guard let (name, value) = pair(unpadded(comment)) else { return false }
    if name == "signature_info" {
      guard header.signatureInfos.count < signatureInfoLimit else {
        throw FormatError(.limitExceeded, "more than \(signatureInfoLimit) signature infos")
      }
      header.signatureInfos.append(try signatureInfo(value))
      return false
    }
    let before = header
    let wasStated: Bool
    switch name {
    case "start_timestamp":
      wasStated = header.startTimestamp != nil
      header.startTimestamp = try number(value, of: name)
    case "end_timestamp":
      wasStated = header.endTimestamp != nil
      header.endTimestamp = try number(value, of: name)
    case "region":
      wasStated = header.region != nil
      header.region = CSVText.string(value)
    case "batch_num":
      wasStated = header.batchNum != nil
      header.batchNum = try number(value, of: name)
    case "batch_size":
      wasStated = header.batchSize != nil
      header.batchSize = try number(value, of: name)
    case "unknown_fields":
      wasStated = !header.unknownFields.isEmpty
      header.unknownFields = try bytes(value, of: name)
    default: return false
    }
    return wasStated && header != before
  }

  /// Takes over what later lines state; returns whether that overrides an earlier line with another value.
  ///
  /// - Throws: ``FormatError`` when there are too many signature infos.
  static func restate(_ header: inout ExportHeader, with later: ExportHeader) throws -> Bool {
    guard header.signatureInfos.count + later.signatureInfos.count <= signatureInfoLimit else {
      throw FormatError(.limitExceeded, "more than \(signatureInfoLimit) signature infos")
    }
    var overrides = false
    func take<Value: Equatable>(_ field: WritableKeyPath<ExportHeader, Value?>) {
      guard let value = later[keyPath: field] else { return }
      if let known = header[keyPath: field], known != value { overrides = true }
      header[keyPath: field] = value
    }
    take(\.startTimestamp)
    take(\.endTimestamp)
    take(\.region)
    take(\.batchNum)
    take(\.batchSize)
    header.signatureInfos += later.signatureInfos
    if !later.unknownFields.isEmpty {
      if !header.unknownFields.isEmpty, header.unknownFields != later.unknownFields { overrides = true }
      header.unknownFields = later.unknownFields
    }
    return overrides
  }

  private static let signatureInfoLimit = 10_000

  private static func signatureInfo(_ text: some Collection<UInt8>) throws -> SignatureInfo {
    var info = SignatureInfo()
    for part in text.split(separator: UInt8(ascii: ";")) {
      guard let (name, value) = pair(part) else { continue }
      switch name {
      case "app_bundle_id": info.appBundleID = CSVText.string(value)
      case "android_package": info.androidPackage = CSVText.string(value)
      case "verification_key_version": info.verificationKeyVersion = CSVText.string(value)
      case "verification_key_id": info.verificationKeyID = CSVText.string(value)
      case "signature_algorithm": info.signatureAlgorithm = CSVText.string(value)
      case "unknown_fields": info.unknownFields = try bytes(value, of: name)
      default: break
      }
    }
    return info
  }

  /// Without the separators with which a spreadsheet fills a line up to as many cells as the others have. What is written
  /// ends with none.
  private static func unpadded<Text: Collection<UInt8>>(_ text: Text) -> [UInt8] {
    let padding = [",", ";", "\t", " "].map { UInt8(ascii: $0) }
    return Array(Array(text).reversed().drop { padding.contains($0) }.reversed())
  }

  private static func pair<Text: Collection<UInt8>>(_ text: Text) -> (name: String, value: [UInt8])? {
    guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    let name = trimmed(text[..<equals])
    return (String(decoding: name, as: UTF8.self), trimmed(text[equals...].dropFirst()))
  }

  private static func trimmed(_ text: some Collection<UInt8>) -> [UInt8] {
    let blanks: [UInt8] = [UInt8(ascii: " "), UInt8(ascii: "\t")]
    let front = text.drop { blanks.contains($0) }
    return Array(Array(front).reversed().drop { blanks.contains($0) }.reversed())
  }

  private static func number<Number: FixedWidthInteger>(_ text: [UInt8], of name: String) throws -> Number {
    guard text.first != UInt8(ascii: "+"), let number = Number(String(decoding: text, as: UTF8.self)) else {
      throw FormatError(
        .malformed, "\(name) is \(ReportedText.value(text)), allowed is a whole number \(Number.min)...\(Number.max)")
    }
    return number
  }

  private static func bytes(_ text: [UInt8], of name: String) throws -> [UInt8] {
    guard let bytes = Base64.decode(text) else {
      throw FormatError(.malformed, "\(name) is \(text.count) characters that are not base64")
    }
    return bytes
  }

  /// The lines that state `header` to a reader who knows `known` already.
  ///
  /// - Throws: ``FormatError`` with `cannotExpress` when something known would have to be taken back.
  static func lines(stating header: ExportHeader, after known: ExportHeader = ExportHeader()) throws -> [UInt8] {
    var lines = Lines()
    try lines.add("start_timestamp", header.startTimestamp, after: known.startTimestamp) { Array("\($0)".utf8) }
    try lines.add("end_timestamp", header.endTimestamp, after: known.endTimestamp) { Array("\($0)".utf8) }
    try lines.add("region", header.region, after: known.region, spell)
    try lines.add("batch_num", header.batchNum, after: known.batchNum) { Array("\($0)".utf8) }
    try lines.add("batch_size", header.batchSize, after: known.batchSize) { Array("\($0)".utf8) }
    guard header.signatureInfos.starts(with: known.signatureInfos) else { throw takenBack("signature_info") }
    for info in header.signatureInfos.dropFirst(known.signatureInfos.count) {
      try lines.add("signature_info", info, after: nil, spell)
    }
    try lines.add(
      "unknown_fields", header.unknownFields.isEmpty ? nil : header.unknownFields,
      after: known.unknownFields.isEmpty ? nil : known.unknownFields
    ) { Array(Base64.encode($0).utf8) }
    return lines.bytes
  }

  private struct Lines {
    var bytes: [UInt8] = []

    mutating func add<Value: Equatable>(
      _ name: String, _ value: Value?, after known: Value?, _ spelling: (Value) -> [UInt8]
    ) throws {
      guard value != known else { return }
      guard let value else { throw takenBack(name) }
      bytes += "# \(name)=".utf8 + spelling(value) + "\n".utf8
    }
  }

  private static func takenBack(_ name: String) -> FormatError {
    FormatError(.cannotExpress, "\(name) is written already and cannot be taken back")
  }

  private static func spell(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    CSVText.write(text, isLine: true, to: &bytes)
    return bytes
  }

  private static func spell(_ info: SignatureInfo) -> [UInt8] {
    var text: [UInt8] = []
    func add(_ name: String, _ value: [UInt8]) {
      if !text.isEmpty { text.append(UInt8(ascii: ";")) }
      text += "\(name)=".utf8 + value
    }
    func add(_ name: String, _ value: String?) {
      guard let value else { return }
      var spelled: [UInt8] = []
      CSVText.write(value, reserving: [UInt8(ascii: ";")], isLine: true, to: &spelled)
      add(name, spelled)
    }
    add("app_bundle_id", info.appBundleID)
    add("android_package", info.androidPackage)
    add("verification_key_version", info.verificationKeyVersion)
    add("verification_key_id", info.verificationKeyID)
    add("signature_algorithm", info.signatureAlgorithm)
    if !info.unknownFields.isEmpty { add("unknown_fields", Array(Base64.encode(info.unknownFields).utf8)) }
    return text
  }
}
