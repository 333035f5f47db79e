import ExposureKeys
import Foundation
import GatewayTesting

private let typeNames = [
  1: "CONFIRMED_TEST", 2: "CONFIRMED_CLINICAL_DIAGNOSIS", 3: "SELF_REPORT", 4: "RECURSIVE", 5: "REVOKED",
]
private let names = [
  "key_data", "rolling_start_interval_number", "rolling_period", "transmission_risk_level", "report_type",
  "days_since_onset_of_symptoms", "revised", "origin", "visited_regions", "unknown_fields",
]
private func cell(_ number: Int32?, _ absent: String = "") -> String { number.map { "\($0)" } ?? absent }

/// Our own table after spreadsheets and notebooks have had it in their hands.
func sheetDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  let number = variant.rawValue
  let keys = variant.keys(21)
  let comments = ["# start_timestamp=1605657600", "# end_timestamp=1605744000", "# region=DE"]
  func cells(_ key: DrawerKey) -> [String] {
    [
      key.hex, cell(key.start), cell(key.period), cell(key.risk), key.type.flatMap { typeNames[Int($0)] } ?? "",
      cell(key.onset), "false", key.origin ?? "", key.visited?.joined(separator: " ") ?? "", "",
    ]
  }
  func table(_ separator: String, end: String = "\n", comments: [String] = comments) -> String {
    (comments + ([names] + keys.map(cells)).map { $0.joined(separator: separator) }).map { $0 + end }.joined()
  }
  func padded(_ separator: String) -> String {
    let padding = String(repeating: separator, count: names.count - 1)
    return table(separator, end: "\r\n", comments: comments.map { $0 + padding })
  }
  func utf16(_ text: String, bigEndian: Bool) -> [UInt8] {
    Array(("\u{feff}" + text).utf16).flatMap { unit -> [UInt8] in
      let (high, low) = (UInt8(unit >> 8), UInt8(unit & 255))
      return bigEndian ? [high, low] : [low, high]
    }
  }
  let quoted = ([names] + keys.map(cells)).map {
    $0.map { $0.isEmpty ? "" : "\"\($0)\"" }.joined(separator: ",") + "\r\n"
  }
  .joined()
  func notebook(_ absent: String, fraction: String) -> String {
    ([names.prefix(9).joined(separator: ",")]
      + keys.map { key in
        func decimal(_ number: Int32?) -> String { number.map { "\($0)\(fraction)" } ?? absent }
        return [
          key.hex, decimal(key.start), decimal(key.period), decimal(key.risk),
          key.type.flatMap { typeNames[Int($0)] } ?? absent, decimal(key.onset), "False", key.origin ?? absent,
          key.visited?.joined(separator: " ") ?? absent,
        ].joined(separator: ",")
      }).map { $0 + "\n" }.joined()
  }
  let padQuoted =
    "\"# signature_info=verification_key_id=a,b;verification_key_version=v1\",,,,,,,,,\r\n"
    + table(",", end: "\r\n", comments: [])
  func sheet(_ name: String, _ text: String) -> DrawerFile {
    DrawerFile("spreadsheets/\(name)_\(number).csv", "csv", keys, tellsItsEnd: false, text)
  }
  return [
    sheet("comma", "\u{feff}" + padded(",")),
    sheet("semicolon", "\u{feff}" + padded(";")),
    sheet("tab", padded("\t")),
    sheet("sep", "sep=;\r\n" + table(";", end: "\r\n", comments: [])),
    sheet("sep_quoted", "\u{feff}\"sep=;\"\r\n" + table(";", end: "\r\n", comments: [])),
    sheet("quoted", quoted),
    sheet("quoted_comment", padQuoted),
    DrawerFile(
      "spreadsheets/utf16_little_\(number).txt", "csv", keys, tellsItsEnd: false,
      bytes: utf16(table("\t", end: "\r\n", comments: []), bigEndian: false)),
    DrawerFile(
      "spreadsheets/utf16_big_\(number).txt", "csv", keys, tellsItsEnd: false,
      bytes: utf16(padded(","), bigEndian: true)),
    sheet("no_metadata", table(",", comments: [])),
    DrawerFile(
      "notebooks/pandas_\(number).csv", "csv", keys, tellsItsEnd: false, notebook("", fraction: ".0")),
    DrawerFile(
      "notebooks/nan_\(number).csv", "csv", keys, tellsItsEnd: false, notebook("NaN", fraction: ".0")),
    DrawerFile("notebooks/none_\(number).csv", "csv", keys, tellsItsEnd: false, notebook("None", fraction: "")),
    DrawerFile("notebooks/null_\(number).csv", "csv", keys, tellsItsEnd: false, notebook("NULL", fraction: "")),
  ]
}
