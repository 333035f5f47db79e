internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake

/// Lists keys, one line each, as they pass.
///
/// Columns: index in the document, key data, validity in UTC, transmission risk level, report type, days since onset of
/// symptoms, `revised`, origin and visited regions where the document names them. What a key does not state is `-`.
struct KeyLister {
  private let keyText: (TemporaryExposureKey) -> String
  private let indexWidth: Int
  /// Lines of keys with the same validity are alike in the middle.
  private var validityMemo: [Int64: String] = [:]
  private var regionMemo: [UInt32: String] = [:]

  /// - Parameters:
  ///   - expectedKeys: how many keys come at most, for the width of the first column.
  ///   - keyText: how a key is shown; its 32 hexadecimal digits when nothing else is asked for, or a digest.
  init(expectedKeys: Int = 999_999, keyText: @escaping (TemporaryExposureKey) -> String = { $0.hex }) {
    self.keyText = keyText
    indexWidth = max(5, String(max(0, expectedKeys - 1)).utf8.count)
  }

  /// The names of the columns, above lines whose key text has this many characters.
  func heading(keyWidth: Int = 32) -> String {
    pad("index", indexWidth, right: true) + "  " + pad("key", keyWidth) + "  " + pad("valid from - until (UTC)", 35)
      + "  risk  " + pad("report type", 12) + "  onset\n"
  }

  /// Writes a line for every key of the chunk.
  mutating func list(_ chunk: borrowing KeyChunk, regions: RegionTable, to output: OutputBuffer) throws {
    var index = chunk.firstIndex
    var rejections = chunk.rejections[...]
    for offset in 0..<chunk.keys.count {
      while let rejection = rejections.first, rejection.position.index <= index {
        rejections.removeFirst()
        index += 1
      }
      try output.append(line(chunk.keys[offset], at: index, regions: regions))
      index += 1
    }
  }

  private mutating func line(_ claim: ClaimedKey, at index: Int, regions: RegionTable) -> String {
    var line = pad("\(index)", indexWidth, right: true) + "  " + keyText(claim.key) + "  " + validity(claim)
    line += "  " + pad(claim.transmissionRisk.map { "\($0)" } ?? "-", 4, right: true)
    line += "  " + pad(Self.reportType(claim), 12)
    line += "  " + pad(claim.daysSinceOnset.map { $0 > 0 ? "+\($0)" : "\($0)" } ?? "-", 5, right: true)
    if claim.isRevised { line += "  revised" }
    if claim.regions != .none { line += "  " + regionText(claim.regions, regions) }
    return line + "\n"
  }

  private static func reportType(_ claim: ClaimedKey) -> String {
    switch claim.reportTypeClaim {
    case .absent: "-"
    case .unrecognized(let number): "type \(number)"
    case .stated(.unknown): "unknown"
    case .stated(.confirmedTest): "test"
    case .stated(.confirmedClinicalDiagnosis): "clinical"
    case .stated(.selfReport): "self-report"
    case .stated(.recursive): "recursive"
    case .stated(.revoked): "revoked"
    }
  }

  /// `2020-06-20 00:00 - 2020-06-21 00:00`, 35 characters; a `?` where the key leaves the end open.
  private mutating func validity(_ claim: ClaimedKey) -> String {
    guard let start = claim.rollingStart else { return pad("-", 35) }
    let period = claim.rollingPeriod
    // A period outside a day's and an absent one are told apart from 144.
    let memo = Int64(start) << 16 | Int64(period.flatMap { (0...1000).contains($0) ? $0 : nil } ?? 0xffff)
    if let text = validityMemo[memo] { return text }
    let from = minuteText(IntervalNumber(Int64(start)).start)
    let until = period.flatMap {
      (0...1000).contains($0) ? minuteText(IntervalNumber(Int64(start) + Int64($0)).start) : nil
    }
    let text = pad("\(from) - \(until ?? "?")", 35)
    if validityMemo.count >= 4096 { validityMemo.removeAll(keepingCapacity: true) }
    validityMemo[memo] = text
    return text
  }

  private mutating func regionText(_ id: RegionClaim.ID, _ regions: RegionTable) -> String {
    if let text = regionMemo[id.rawValue] { return text }
    let claim = regions[id]
    let visited = (claim.visited ?? []).map(printableText).joined(separator: ",")
    let text = (claim.origin.map(printableText) ?? "-") + (visited.isEmpty ? "" : " visited \(visited)")
    if regionMemo.count >= 4096 { regionMemo.removeAll(keepingCapacity: true) }
    regionMemo[id.rawValue] = text
    return text
  }
}
