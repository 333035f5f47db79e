internal import BundleTrust
package import ExposureKeys
internal import KeyFormats
internal import KeyIntake

/// Where a key comes from, for tables that are to say it of each.
struct KeySource {
  /// The columns' names behind those of the format; members of JSON have the part behind `source_`.
  static let names = SourceColumns.names

  /// In the order of ``names``; empty where nothing is stated.
  let values: [String]

  /// Reads the document once, for what it says of itself, which may stand behind its keys, and for its digest.
  init(_ verified: VerifiedArrival) throws {
    let reading = try verified.decode { _, _ in }
    let header = reading.headers.merged
    guard case .document(let document) = verified.arrival.content else {
      values = [PathText.shown(verified.arrival.name)] + Array(repeating: "", count: Self.names.count - 1)
      return
    }
    let survey = try document.survey()
    let infos = survey.map { $0.survey.signatures.map(\.info) } ?? []
    let signers = (infos.isEmpty ? header.signatureInfos : infos).map { info in
      [info.verificationKeyID, info.verificationKeyVersion].compactMap(\.self).joined(separator: " ")
    }
    values = [
      PathText.shown(document.file), document.entry.map(PathText.shown) ?? "", Self.time(header.startTimestamp),
      Self.time(header.endTimestamp),
      header.batchNum.map { "\($0)/\(header.batchSize.map(String.init) ?? "?")" } ?? "", header.region ?? "",
      signers.joined(separator: "; "), try survey?.digests.hexadecimal ?? document.digest().hexadecimal,
    ]
  }

  /// RFC 3339, or the number where no calendar has it.
  private static func time(_ seconds: UInt64?) -> String {
    guard let seconds else { return "" }
    // Up to the year 9999.
    guard seconds < 253_402_300_800 else { return "\(seconds)" }
    return Instant(secondsSince1970: Int64(seconds)).description
  }

  /// The cells with a comma in front of each.
  var cells: [UInt8] {
    values.flatMap { value in
      let isPlain = !value.utf8.contains { [0x22, 0x2c, 0x0a, 0x0d].contains($0) }
      return Array((isPlain ? ",\(value)" : ",\"\(value.replacing("\"", with: "\"\""))\"").utf8)
    }
  }

  /// The members that are stated.
  var members: [(name: String, value: String)] {
    zip(Self.names, values).filter { !$0.1.isEmpty }.map { ("\($0.0)".replacing("source_", with: ""), $0.1) }
  }
}

/// The digest that stands for a key: SHA-256 of the key data, 64 hexadecimal digits.
package enum KeyDigest {
  package static let width = 64

  package static func text(of key: TemporaryExposureKey) -> String {
    ExportDigests(of: key.bytes, includingBody: false).hexadecimal
  }

  /// The same as 32 bytes.
  package static func bytes(of key: TemporaryExposureKey) -> [UInt8] {
    ExportDigests(of: key.bytes, includingBody: false).fileBytes
  }
}

/// Completes the rows of the canonical table on their way: the cells of the source behind each, and digests in place of
/// keys. Comment lines pass as they are.
final class SourcedRows: ByteSink {
  /// Of the rows that come next, with a comma in front; `nil` where the table has no such columns.
  var cells: [UInt8]?
  private let sink: any ByteSink
  private let hashesKeys: Bool
  private let hasSource: Bool
  private var place = Place.lineStart
  private var isQuoted = false
  private var hasNames = false
  private var key: [UInt8] = []
  private var out: [UInt8] = []

  private enum Place { case lineStart, comment, names, key, cells }

  init(_ sink: any ByteSink, hasSource: Bool, hashesKeys: Bool) {
    self.sink = sink
    self.hasSource = hasSource
    self.hashesKeys = hashesKeys
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    out.removeAll(keepingCapacity: true)
    for byte in bytes { take(byte) }
    try sink.write(out)
  }

  private func take(_ byte: UInt8) {
    if place == .lineStart { place = byte == 0x23 ? .comment : !hasNames ? .names : hashesKeys ? .key : .cells }
    switch place {
    case .lineStart, .comment:
      out.append(byte)
      if byte == 0x0a { place = .lineStart }
    case .names:
      guard byte == 0x0a else { return key.append(byte) }
      writeNames()
    case .key:
      key.append(byte)
      // The first cell is the key data, 32 hexadecimal digits.
      guard key.count == 32 else { return }
      out.append(contentsOf: digest())
      key.removeAll(keepingCapacity: true)
      place = .cells
    case .cells:
      if byte == 0x22 { isQuoted.toggle() }
      guard byte == 0x0a, !isQuoted else { return out.append(byte) }
      if hasSource, let cells { out.append(contentsOf: cells) }
      out.append(byte)
      place = .lineStart
    }
  }

  private func writeNames() {
    var names = String(decoding: key, as: UTF8.self)
    key.removeAll(keepingCapacity: true)
    if hashesKeys { names = "key_sha256" + names.dropFirst("key_data".count) }
    if hasSource { names += KeySource.names.map { ",\($0)" }.joined() }
    out.append(contentsOf: Array((names + "\n").utf8))
    hasNames = true
    place = .lineStart
  }

  private func digest() -> [UInt8] {
    guard case .key(let key) = key.withUnsafeMutableBytes({ KeyText.read(UnsafeRawBufferPointer($0)) }) else {
      return key
    }
    return Array(KeyDigest.text(of: key).utf8)
  }
}
