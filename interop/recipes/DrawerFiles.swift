import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats

/// Every dump of the drawer.
let drawer: [DrawerFile] = DrawerVariant.allCases.flatMap { variant in
  databaseDrawer(variant) + toolDrawer(variant) + sheetDrawer(variant) + binaryDrawer(variant)
}

func writeDrawer(to folder: URL) throws {
  precondition(Set(drawer.map(\.name)).count == drawer.count, "two dumps have one name")
  for file in drawer {
    let place = folder.appending(path: "drawer/\(file.name)")
    try FileManager.default.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(file.bytes).write(to: place)
    try Data(file.expected).write(to: URL(filePath: place.path() + ".expected"))
  }
  print("\(drawer.count) dumps written")
}

/// Exports and batches, and what people made of them.
private func binaryDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  let number = variant.rawValue
  let keys = variant.keys(31).keeping(origin: false, visited: false)
  let batch = variant.keys(32).changed { key in
    key.origin = key.origin ?? "DE"
    key.visited = key.visited ?? []
    key.type = key.type ?? 1
    key.onset = key.onset ?? 0
  }
  guard let export = try? ReferenceExport.encode(document(keys)),
    let encoded = try? ReferenceBatch.encode(document(batch))
  else { preconditionFailure("the reference encodes what it is given") }
  let zip = Archive(.init("export.bin", export), .init("export.sig", [])).bytes
  let submitted = keys.changed {
    ($0.origin, $0.visited) = ("DE", ["DE", "FR"])
  }
  let payload =
    keys.flatMap { key in
      var fields = Wire.bytes(1, key.data)
      if let risk = key.risk { fields += Wire.varint(2, Int64(risk)) }
      if let start = key.start { fields += Wire.varint(3, Int64(start)) }
      if let period = key.period { fields += Wire.varint(4, Int64(period)) }
      if let type = key.type { fields += Wire.varint(5, Int64(type)) }
      if let onset = key.onset { fields += Wire.zigZag(6, Int64(onset)) }
      return Wire.bytes(1, fields)
    } + Wire.bytes(2, Array(repeating: 0, count: 40)) + Wire.text(3, "DE") + Wire.text(3, "FR") + Wire.text(4, "DE")
    + Wire.varint(5, 1)
  func wrapped(_ text: String, _ width: Int) -> String {
    let digits = Array(text)
    return stride(from: 0, to: digits.count, by: width).map {
      String(digits[$0..<min($0 + width, digits.count)]) + "\n"
    }
    .joined()
  }
  let hex = export.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  return [
    DrawerFile("exports/export_\(number).bin", "gaen-export", keys, tellsItsEnd: false, bytes: export),
    DrawerFile("exports/archive_\(number).zip", "gaen-export", keys, bytes: zip),
    DrawerFile(
      "exports/base64_\(number).txt", "encoded-export", keys, tellsItsEnd: false, wrapped(drawerBase64(export), 76)),
    DrawerFile("exports/base64_line_\(number).txt", "encoded-export", keys, tellsItsEnd: false, drawerBase64(export)),
    DrawerFile("exports/archive_base64_\(number).txt", "encoded-export", keys, wrapped(drawerBase64(zip), 64)),
    DrawerFile("exports/xxd_\(number).txt", "encoded-export", keys, tellsItsEnd: false, wrapped(hex, 60)),
    DrawerFile("exports/xxd_lines_\(number).txt", "encoded-export", keys, tellsItsEnd: false, dumped(export, .xxd)),
    DrawerFile("exports/hexdump_\(number).txt", "encoded-export", keys, dumped(export, .hexdump)),
    DrawerFile("exports/hexdump_words_\(number).txt", "encoded-export", keys, dumped(export, .words)),
    DrawerFile("exports/od_\(number).txt", "encoded-export", keys, dumped(export, .od)),
    DrawerFile("exports/xxd_archive_\(number).txt", "encoded-export", keys, dumped(zip, .xxd)),
    DrawerFile("exports/bytea_\(number).txt", "encoded-export", keys, tellsItsEnd: false, "\\x\(hex)\n"),
    DrawerFile("efgs/batch_\(number).bin", "efgs-protobuf", batch, tellsItsEnd: false, bytes: encoded),
    DrawerFile(
      "corona-warn-app/submission_\(number).bin", "cwa-submission", submitted, tellsItsEnd: false, bytes: payload),
  ]
}

private func document(_ keys: [DrawerKey]) -> DecodedDocument {
  var document = DecodedDocument()
  document.header.startTimestamp = 1_605_657_600
  document.header.endTimestamp = 1_605_744_000
  document.header.region = "DE"
  for key in keys {
    var claim = ClaimedKey(
      key: key.data.withUnsafeBytes { bytes in
        TemporaryExposureKey(
          high: bytes.loadUnaligned(as: UInt64.self).bigEndian,
          low: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian)
      })
    claim.rollingStart = key.start
    claim.rollingPeriod = key.period
    claim.transmissionRisk = key.risk
    claim.reportType = key.type
    claim.daysSinceOnset = key.onset
    if key.origin != nil || key.visited != nil {
      claim.regions = document.regions.intern(RegionClaim(origin: key.origin, visited: key.visited)) ?? .none
    }
    document.keys.append(claim)
  }
  return document
}

private enum DumpTool { case xxd, hexdump, words, od }

/// What `xxd`, `hexdump -C`, `hexdump` and `od -t x1` print.
private func dumped(_ bytes: [UInt8], _ tool: DumpTool) -> String {
  func hex(_ number: Int, _ width: Int, _ radix: Int = 16) -> String {
    let digits = String(number, radix: radix)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
  func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
  func pairs(_ line: [UInt8], isSwapped: Bool) -> String {
    stride(from: 0, to: line.count, by: 2).map { start in
      let pair = Array(line[start..<min(start + 2, line.count)])
      // The last pair is filled up by hexdump.
      let whole = isSwapped ? Array((pair + [0]).prefix(2).reversed()) : pair
      return whole.map { hex(Int($0), 2) }.joined()
    }.joined(separator: " ")
  }
  let width = tool == .xxd || tool == .hexdump ? 8 : 7
  let radix = tool == .od ? 8 : 16
  var text = ""
  for start in stride(from: 0, to: bytes.count, by: 16) {
    let line = Array(bytes[start..<min(start + 16, bytes.count)])
    let shown = String(decoding: line.map { (0x20...0x7e).contains($0) ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
    let single = line.map { hex(Int($0), 2) }
    let offset = hex(start, width, radix)
    switch tool {
    case .xxd: text += "\(offset): \(padded(pairs(line, isSwapped: false), 39))  \(shown)\n"
    case .hexdump:
      let halves = [single.prefix(8), single.dropFirst(8)].map { $0.joined(separator: " ") }.joined(separator: "  ")
      text += "\(offset)  \(padded(halves, 48))  |\(shown)|\n"
    case .words: text += "\(offset) \(padded(pairs(line, isSwapped: true), 39))\n"
    case .od: text += "\(offset) \(single.joined(separator: " "))\n"
    }
  }
  return tool == .xxd ? text : text + hex(bytes.count, width, radix) + "\n"
}
