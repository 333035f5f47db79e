package import BundleTrust
package import ExposureKeys
internal import KeyFormats

/// What a partner has signed in place of a batch's canonical bytes: found by making the mistakes that others have made, and
/// looking which of the results the signature is over.
///
/// Source: what operators and builders of national back ends asked in public, in the order of how often.
package struct BatchDiagnosis: Hashable, Sendable {
  /// What differs from the canonical form: stable codes, such as `order-key-data` and `number-names`. One to three.
  package let mistakes: [String]
  /// `the rows sorted by key data, not by the base64 of the row`.
  package let text: String

  /// - Parameters:
  ///   - body: the batch's bytes as they were uploaded.
  /// - Returns: `nil` where no mistake that is known here explains the signature.
  package static func find(
    _ signature: BatchSignature, keys: [ClaimedKey], regions: RegionTable, body: [UInt8]
  ) -> BatchDiagnosis? {
    for other in otherContents(keys: keys, regions: regions, body: body) where signature.covers(other.bytes) {
      return BatchDiagnosis(mistakes: [other.code], text: other.text)
    }
    for spelling in Spelling.allCases {
      let rows = keys.map { Row(key: $0, text: spelling.row($0, regions)) }
      for order in Order.allCases {
        let content = order.sorted(rows).flatMap(\.text)
        // Rows without their last stop, joined by stops, are the same.
        let endsInStop = content.last == UInt8(ascii: ".")
        let lacksLastStop = endsInStop && signature.covers(Array(content.dropLast()))
        let isCanonical = spelling == .canonical && order == .canonical
        guard lacksLastStop || (!isCanonical && signature.covers(content)) else { continue }
        let found = [spelling.mistake, order.mistake, lacksLastStop ? lastStop : nil].compactMap(\.self)
        return BatchDiagnosis(mistakes: found.map(\.code), text: found.map(\.text).joined(separator: "; and "))
      }
    }
    return nil
  }

  private typealias Mistake = (code: String, text: String)

  private static let lastStop: Mistake = (
    "no-last-stop", "no full stop at the very end: rows joined by full stops, where each row ends in one"
  )

  fileprivate struct Row {
    let key: ClaimedKey
    let text: [UInt8]
  }

  /// Contents that are no rows.
  private static func otherContents(
    keys: [ClaimedKey], regions: RegionTable, body: [UInt8]
  ) -> [(code: String, text: String, bytes: [UInt8])] {
    let canonical = CanonicalBatch.received(keys, regions: regions).batch.canonical
    let digest = FederationDigest.sha256(canonical)
    return [
      ("body", "the body of the upload itself, not its canonical bytes", body),
      ("line-feed", "the canonical bytes and a line feed behind them", canonical + [0x0A]),
      ("line-end", "the canonical bytes and CR LF behind them", canonical + [0x0D, 0x0A]),
      ("digest", "the SHA-256 of the canonical bytes, not the bytes themselves", digest),
      (
        "digest-text", "the SHA-256 of the canonical bytes in hexadecimal",
        Array(FederationDigest.hexadecimal(canonical).utf8)
      ),
      ("base64", "the base64 of the canonical bytes", Array(Base64.encode(canonical).utf8)),
      ("nothing", "no bytes at all", []),
    ]
  }

  private enum Order: CaseIterable {
    case canonical
    case upload
    case keyData
    case keyText
    case rowText
    case descending

    var mistake: Mistake? {
      switch self {
      case .canonical: nil
      case .upload: ("order-upload", "the rows in the order of the upload, not sorted by the base64 of the row")
      case .keyData: ("order-key-data", "the rows sorted by key data, not by the base64 of the row")
      case .keyText: ("order-key-base64", "the rows sorted by the base64 of the key data, not by that of the row")
      case .rowText: ("order-row", "the rows sorted by their text, not by the base64 of it")
      case .descending: ("order-descending", "the rows sorted by their base64 from the last to the first")
      }
    }

    func sorted(_ rows: [Row]) -> [Row] {
      switch self {
      case .upload: rows
      case .canonical: rows.ordered(\.base64)
      case .descending: rows.ordered(\.base64).reversed()
      case .keyData: rows.ordered { Array($0.key.key.bytes) }
      case .keyText: rows.ordered { Array(Base64.encode($0.key.key.bytes).utf8) }
      case .rowText: rows.ordered { $0.text }
      }
    }
  }

  private enum Spelling: CaseIterable {
    case canonical
    case zigZag
    case urlAlphabet
    case noPadding
    case noFinalStop
    case noStops
    case sortedRegions
    case distinctRegions
    case reportTypeName
    case littleEndian
    case varints
    case decimalNumbers
    case riskAbsentIsZero
    case utf8
    case originDown, originUp, originTitle, originTail
    case visitedDown, visitedUp, visitedTitle, visitedTail
    case bothDown, bothUp, bothTitle, bothTail

    var mistake: Mistake? {
      switch self {
      case .canonical: nil
      case .zigZag: ("zig-zag", "days since onset in zig-zag, not in two's complement")
      case .urlAlphabet: ("url-alphabet", "base64 in the alphabet for URLs, not in the standard one")
      case .noPadding: ("no-padding", "base64 without its padding")
      case .noFinalStop: ("no-final-stop", "no full stop behind the last field of a row")
      case .noStops: ("no-stops", "no full stops between the fields")
      case .sortedRegions: ("sorted-regions", "the visited countries sorted, not in the order of the upload")
      case .distinctRegions: ("distinct-regions", "the visited countries sorted and each one once")
      case .reportTypeName: ("report-type-name", "the name of the report type, not its number")
      case .littleEndian: ("little-endian", "numbers with their lowest byte first")
      case .varints: ("varints", "numbers as varints of protobuf, not as four bytes")
      case .decimalNumbers: ("decimal-numbers", "numbers as decimal digits, not as four bytes")
      case .riskAbsentIsZero:
        ("risk-zero", "0 for a transmission risk level that is 2147483647, which says that there is none")
      case .utf8: ("utf-8", "names in UTF-8, where others sign a question mark for each character that is not ASCII")
      case .originDown: ("origin-case", "origin in lower case")
      case .originUp: ("origin-case", "origin in upper case")
      case .originTitle, .originTail: ("origin-case", "origin in lower and upper case")
      case .visitedDown: ("visited-case", "the visited countries in lower case")
      case .visitedUp: ("visited-case", "the visited countries in upper case")
      case .visitedTitle, .visitedTail: ("visited-case", "the visited countries in lower and upper case")
      case .bothDown: ("origin-case", "origin and visited countries in lower case")
      case .bothUp: ("origin-case", "origin and visited countries in upper case")
      case .bothTitle, .bothTail: ("origin-case", "origin and visited countries in lower and upper case")
      }
    }

    private func origin(_ text: String) -> String {
      switch self {
      case .originDown, .bothDown: text.lowercased()
      case .originUp, .bothUp: text.uppercased()
      case .originTitle, .bothTitle: text.prefix(1).uppercased() + text.dropFirst().lowercased()
      case .originTail, .bothTail: text.prefix(1).lowercased() + text.dropFirst().uppercased()
      default: text
      }
    }

    private func visited(_ text: String) -> String {
      switch self {
      case .visitedDown, .bothDown: text.lowercased()
      case .visitedUp, .bothUp: text.uppercased()
      case .visitedTitle, .bothTitle: text.prefix(1).uppercased() + text.dropFirst().lowercased()
      case .visitedTail, .bothTail: text.prefix(1).lowercased() + text.dropFirst().uppercased()
      default: text
      }
    }

    /// One row of this spelling.
    func row(_ key: ClaimedKey, _ regions: RegionTable) -> [UInt8] {
      let claim = regions[key.regions]
      var countries = (claim.visited ?? []).map(visited)
      if self == .sortedRegions { countries.sort() }
      if self == .distinctRegions { countries = Set(countries).sorted() }
      let days = key.daysSinceOnset ?? 0
      let risk = key.transmissionRisk ?? (self == .riskAbsentIsZero ? 0 : .max)
      let fields: [[UInt8]] = [
        Array(key.key.bytes), number(key.rollingStart ?? 0), number(key.rollingPeriod ?? 0), number(risk),
        text(countries.joined(separator: ",")), text(origin(claim.origin ?? "")), reportType(key.reportType ?? 0),
        number(self == .zigZag ? days << 1 ^ days >> 31 : days),
      ]
      var row: [UInt8] = []
      for field in fields {
        row += base64(field)
        if self != .noStops { row.append(UInt8(ascii: ".")) }
      }
      if self == .noFinalStop { row.removeLast() }
      return row
    }

    private func text(_ text: String) -> [UInt8] {
      switch self {
      case .utf8: Array(text.utf8)
      default: text.unicodeScalars.map { $0.isASCII ? UInt8($0.value) : UInt8(ascii: "?") }
      }
    }

    private func reportType(_ value: Int32) -> [UInt8] {
      let names = [
        "UNKNOWN", "CONFIRMED_TEST", "CONFIRMED_CLINICAL_DIAGNOSIS", "SELF_REPORT", "RECURSIVE", "REVOKED",
      ]
      guard self == .reportTypeName, names.indices.contains(Int(value)) else { return number(value) }
      return Array(names[Int(value)].utf8)
    }

    private func number(_ value: Int32) -> [UInt8] {
      let bytes = withUnsafeBytes(of: value.bigEndian) { Array($0) }
      switch self {
      case .littleEndian: return bytes.reversed()
      case .decimalNumbers: return Array(String(value).utf8)
      case .varints:
        var rest = UInt64(bitPattern: Int64(value))
        var varint: [UInt8] = []
        while rest >= 0x80 {
          varint.append(UInt8(truncatingIfNeeded: rest) | 0x80)
          rest >>= 7
        }
        return varint + [UInt8(truncatingIfNeeded: rest)]
      default: return bytes
      }
    }

    private func base64(_ bytes: [UInt8]) -> [UInt8] {
      var digits = Array(Base64.encode(bytes).utf8)
      if self == .noPadding { digits.removeAll { $0 == UInt8(ascii: "=") } }
      guard self == .urlAlphabet else { return digits }
      return digits.map { digit in
        switch digit {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: digit
        }
      }
    }
  }
}

extension BatchDiagnosis.Row {
  fileprivate var base64: [UInt8] { Array(Base64.encode(text).utf8) }
}

extension [BatchDiagnosis.Row] {
  /// By a text of each, bytewise; those that are alike keep their order.
  fileprivate func ordered(_ text: (BatchDiagnosis.Row) -> [UInt8]) -> Self {
    map { (text($0), $0) }.sorted { $0.0.lexicographicallyPrecedes($1.0) }.map(\.1)
  }
}
