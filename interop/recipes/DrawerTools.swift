import ExposureKeys
import Foundation
import GatewayTesting

private let typeNames = [
  1: "CONFIRMED_TEST", 2: "CONFIRMED_CLINICAL_DIAGNOSIS", 3: "SELF_REPORT", 4: "RECURSIVE", 5: "REVOKED",
]

/// `"name":value` for what is there.
private func members(_ pairs: [(String, String?)], _ separator: String = ",", colon: String = ":") -> String {
  pairs.compactMap { name, value in value.map { "\"\(name)\"\(colon)\($0)" } }.joined(separator: separator)
}
private func text(_ value: String?) -> String? { value.map { "\"\($0)\"" } }
private func text(_ number: Int32?) -> String? { number.map { "\($0)" } }
private func list(_ values: [String]?) -> String? {
  values.map { "[\($0.map { "\"\($0)\"" }.joined(separator: ","))]" }
}
/// As Swift's JSONEncoder writes data.
private func slashed(_ base64: String) -> String { base64.replacing("/", with: "\\/") }

/// What apps, back ends and tools write as JSON or print for people.
func toolDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  immuniDrawer(variant) + interoperabilityDrawer(variant) + analyzerDrawer(variant) + parserDrawer(variant)
    + transcriptDrawer(variant) + appDrawer(variant) + timeDrawer(variant)
}

// MARK: Immuni

private func immuniDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  let number = variant.rawValue
  let keys = variant.keys(11).keeping(type: false, onset: false, origin: false, visited: false)
  func document(_ key: (DrawerKey) -> String) -> String {
    #"{"_id":{"$oid":"5f5a0c1b2c3d4e5f60718293"},"keys":[\#(keys.map(key).joined(separator: ","))]}"# + "\n"
  }
  let canonical = document { key in
    func int(_ value: Int32?) -> String? { value.map { #"{"$numberInt":"\#($0)"}"# } }
    return
      "{\(members([("key_data", text(key.base64)), ("transmission_risk_level", int(key.risk)), ("rolling_start_number", int(key.start)), ("rolling_period", int(key.period))]))}"
  }
  let relaxed = document { key in
    "{\(members([("key_data", text(key.base64)), ("transmission_risk_level", text(key.risk)), ("rolling_start_number", text(key.start)), ("rolling_period", text(key.period))]))}"
  }
  let binary = document { key in
    func long(_ value: Int32?) -> String? { value.map { #"{"$numberLong":"\#($0)"}"# } }
    let data = #"{"$binary":{"base64":"\#(key.base64)","subType":"00"}}"#
    return
      "{\(members([("key_data", data), ("transmission_risk_level", long(key.risk)), ("rolling_start_number", long(key.start)), ("rolling_period", long(key.period))]))}"
  }
  let older = document { key in
    let data = #"{ "$binary" : "\#(key.base64)", "$type" : "00" }"#
    return
      "{ \(members([("key_data", data), ("transmission_risk_level", text(key.risk)), ("rolling_start_number", text(key.start)), ("rolling_period", text(key.period))], ", ", colon: " : ")) }"
  }
  return [
    DrawerFile("immuni/canonical_\(number).json", "immuni-json", keys, canonical),
    DrawerFile("immuni/relaxed_\(number).json", "immuni-json", keys, relaxed),
    DrawerFile("immuni/binary_\(number).json", "immuni-json", keys, binary),
    DrawerFile("immuni/older_\(number).json", "immuni-json", keys, older),
    DrawerFile("immuni/collection_\(number).bson", "bson", keys, bytes: collection(keys)),
  ]
}

/// Two documents of a collection, as `mongodump` writes it.
private func collection(_ keys: [DrawerKey]) -> [UInt8] {
  let half = keys.count / 2
  return [keys[..<half], keys[half...]].flatMap { part in
    let list = part.map { key -> [UInt8] in
      var elements = BSON.binary("key_data", key.data)
      if let risk = key.risk { elements += BSON.int32("transmission_risk_level", risk) }
      if let start = key.start { elements += BSON.int64("rolling_start_number", Int64(start)) }
      if let period = key.period { elements += BSON.int32("rolling_period", period) }
      return BSON.document(elements)
    }
    return BSON.document(
      BSON.objectID("_id", Array(repeating: 0x5f, count: 12)) + BSON.array("keys", list)
        + BSON.date("sub_batch_date", 1_605_657_600_000))
  }
}

// MARK: Interoperability service

private func interoperabilityDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  let number = variant.rawValue
  let keys = variant.keys(12).changed { key in
    key.origin = ["GB-NIR", "GB-SCT", "JE", "GI"][Int(key.data[0] & 3)]
    key.visited = [key.origin ?? ""]
    key.risk = key.risk ?? 0
    key.type = key.type ?? 1
    key.onset = key.onset ?? 0
  }
  func key(_ key: DrawerKey, origin: String?) -> String {
    "{\(members([("keyData", text(key.base64)), ("rollingStartNumber", text(key.start)), ("transmissionRiskLevel", text(key.risk)), ("rollingPeriod", text(key.period)), ("regions", list(key.visited)), ("origin", text(origin)), ("testType", "1"), ("reportType", text(key.type)), ("daysSinceOnset", text(key.onset))]))}"
  }
  let download =
    #"{"batchTag":"75b326f7-ae6f-42f6-9354-00c0a6b797b3","exposures":[\#(keys.map { key($0, origin: $0.origin) }.joined(separator: ","))]}"#
  let upload = "[\(keys.map { key($0, origin: nil) }.joined(separator: ","))]"
  return [
    DrawerFile("interoperability/download_\(number).json", "interoperability-json", keys, download),
    DrawerFile("interoperability/upload_\(number).json", "interoperability-json", keys.keeping(origin: false), upload),
  ]
}

// MARK: export-analyzer

private func analyzerDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  let number = variant.rawValue
  let all = variant.keys(13).keeping(origin: false, visited: false)
  let info = """
    {
          "verification_key_version": "v1",
          "verification_key_id": "310",
          "signature_algorithm": "1.2.840.10045.4.3.2"
        }
    """
  func printed(_ keys: [DrawerKey]) -> String {
    keys.map { key in
      let lines = [
        ("key_data", text(key.base64)), ("transmission_risk_level", text(key.risk)),
        ("rolling_start_interval_number", text(key.start)), ("rolling_period", text(key.period)),
        ("report_type", text(key.type)), ("days_since_onset_of_symptoms", text(key.onset)),
      ]
      return "    {\n      \(members(lines, ",\n      ", colon: ": "))\n    }"
    }.joined(separator: ",\n")
  }
  func export(_ keys: [DrawerKey], start: Int) -> String {
    "{\n  \"start_timestamp\": \(start),\n  \"end_timestamp\": \(start + 86_400),\n  \"region\": \"US\",\n  \"batch_num\": 1,\n"
      + "  \"batch_size\": 1,\n  \"signature_infos\": [\n    \(info)\n  ],\n  \"keys\": [\n\(printed(keys))\n  ]\n}"
  }
  let signature = """
    {
     "signatures": [
      {
       "signature_info": {
        "verification_key_version": "v1",
        "verification_key_id": "310",
        "signature_algorithm": "1.2.840.10045.4.3.2"
       },
       "batch_num": 1,
       "batch_size": 1,
       "signature": "MEUCIQDtEST+AAAA/w=="
      }
     ]
    }
    """
  func whole(_ path: String, _ keys: [DrawerKey], start: Int) -> String {
    "\(path):\n\nsignature: \(signature)\nexport: \(export(keys, start: start))\n\n\n"
  }
  let half = all.count / 2
  let two =
    whole("a/1605571200-1605657600-00001.zip", Array(all[..<half]), start: 1_605_571_200)
    + whole("a/1605657600-1605744000-00001.zip", Array(all[half...]), start: 1_605_657_600)
  return [
    DrawerFile(
      "export-analyzer/one_\(number).txt", "analyzer-text", all,
      whole("a/1605657600-1605744000-00001.zip", all, start: 1_605_657_600)),
    DrawerFile("export-analyzer/two_\(number).txt", "analyzer-text", all, two),
    DrawerFile("export-analyzer/json_\(number).json", "json", all, export(all, start: 1_605_657_600) + "\n"),
  ]
}

// MARK: Parsers

private func date(_ interval: Int32) -> String {
  let seconds = Int64(interval) * 600
  let day = Day(daysSince1970: seconds / 86_400)
  let rest = seconds % 86_400
  func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
  return "\(day) \(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60)) UTC"
}

private func parserDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  let number = variant.rawValue
  // The tool prints an absent risk as 0.
  let keys = variant.keys(14).keeping(origin: false, visited: false).changed { $0.risk = $0.risk ?? 0 }
  func lines(_ keys: [DrawerKey]) -> String {
    if keys.isEmpty { return "(none)\n" }
    return keys.enumerated().map { index, key in
      let place = "\(index + 1)"
      let start = key.start ?? 0
      let period = key.period ?? 0
      var line =
        String(repeating: " ", count: max(0, 3 - place.count)) + place
        + ": TEK: \(key.hex), Transmission Risk Level: \(key.risk ?? 0), "
        + "Validity: \(date(start)) - \(date(start + period)) (\(start), \(period))"
      if let type = key.type { line += ", Report Type: \(typeNames[Int(type)] ?? "")" }
      if let onset = key.onset { line += ", Days since onset of symptoms: \(onset)" }
      return line + "\n"
    }.joined()
  }
  func head(_ count: Int) -> String {
    """
    Exposure Notification Diagnosis Key Parser
    This script parses published Diagnosis Keys.

    File '2020-11-18.zip' read.
    - Time window: 2020-11-18 00:00:00 UTC - 2020-11-19 00:00:00 UTC
    - Region: DE
    - Batch: 1 of 1
    - # of keys in batch: \(count)
    - Signature Info:
    verification_key_version: "v1"
    verification_key_id: "262"
    signature_algorithm: "1.2.840.10045.4.3.2"

    Diagnosis Keys:

    """
  }
  let revised = keys.suffix(2).map { $0 }.changed {
    $0.isRevised = true
    $0.type = 5
  }
  let first = Array(keys.dropLast(2))
  let bare = keys.keeping(type: false, onset: false)
  let json =
    #"{"timeWindowStart":"2020-11-18 00:00:00 UTC","timeWindowEnd":"2020-11-19 00:00:00 UTC","region":"DE","batchNum":1,"#
    + #""batchCount":1,"keyCount":\#(bare.count),"signatureInfos":{"verification_key_version":"v1","verification_key_id":"262"},"diagnosisKeys":["#
    + bare.map { key in
      let start = key.start ?? 0
      let period = key.period ?? 0
      return
        #"{"TemporaryExposureKey":"\#(key.hex)","transmissionRiskLevel":\#(key.risk ?? 0),"validity":{"start":"\#(date(start))","end":"\#(date(start + period))","rollingStartIntervalNumber":\#(start),"rollingPeriod":\#(period)}}"#
    }.joined(separator: ",") + "]}\n"
  let protobuf =
    "start_timestamp: 1605657600\nend_timestamp: 1605744000\nregion: \"DE\"\nbatch_num: 1\nbatch_size: 1\n"
    + keys.map { key in
      let escaped = key.data.map { byte in
        let octal = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - octal.count) + octal
      }.joined()
      var fields = ["key_data: \"\(escaped)\"", "transmission_risk_level: \(key.risk ?? 0)"]
      if let start = key.start { fields.append("rolling_start_interval_number: \(start)") }
      if let period = key.period { fields.append("rolling_period: \(period)") }
      if let type = key.type { fields.append("report_type: \(typeNames[Int(type)] ?? "")") }
      if let onset = key.onset { fields.append("days_since_onset_of_symptoms: \(onset)") }
      return "keys {\n" + fields.map { "  \($0)\n" }.joined() + "}\n"
    }.joined()
  return [
    DrawerFile(
      "parse-keys/printed_\(number).txt", "parser-text", keys, tellsItsEnd: false,
      head(keys.count) + lines(keys) + "\nRevised Diagnosis Keys:\n(none)\n"),
    DrawerFile(
      "parse-keys/revised_\(number).txt", "parser-text", first + revised, tellsItsEnd: false,
      head(first.count) + lines(first) + "\nRevised Diagnosis Keys:\n" + lines(revised)),
    DrawerFile("parse-keys/json_\(number).json", "parser-json", bare, json),
    DrawerFile("protobuf-text/printed_\(number).txt", "protobuf-text", keys, protobuf),
  ]
}

// MARK: tek_transparency and Radar-STATS

private func transcriptDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  let number = variant.rawValue
  let keys = variant.keys(15).keeping(type: false, onset: false, visited: false).changed {
    $0.risk = $0.risk ?? 0
    $0.origin = "ie"
  }
  let header = "indir,country,zipfile,filetime,zipstart,zipend,zipkeyver,zipverkeyid,tek,epoch,period,risklevel\n"
  let rows = keys.map { key in
    "20201119-060001,ie,ie-1605744000.zip,1605744000,1605657600,1605744000,v1,272,\(key.hex),\(key.start ?? 0),\(key.period ?? 0),\(key.risk ?? 0)\n"
  }.joined()
  let dumped = keys.changed {
    ($0.start, $0.period, $0.risk, $0.origin) = ((18_584 as Int32) * 144, nil, nil, nil)
  }
  let texts = dumped.map { "\"\($0.uuid)\"" }.joined(separator: ",")
  let line = #"{"sample_date":"2020-11-18","tek_list":[\#(texts)],"extraction_date":"2020-11-19"}"# + "\n"
  let later =
    #"{"sample_date":"2020-11-18","region":"ES","tek_list":[\#(texts)],"extraction_date":"2020-11-19","extraction_date_with_hour":"2020-11-19@12"}"#
    + "\n"
  return [
    DrawerFile("teks2csv/named_\(number).csv", "csv", keys, tellsItsEnd: false, header + rows),
    DrawerFile("teks2csv/default_\(number).csv", "csv", keys, tellsItsEnd: false, rows),
    DrawerFile("radar-stats/day_\(number).json", "sample-days", dumped, line),
    DrawerFile("radar-stats/region_\(number).json", "sample-days", dumped.changed { $0.origin = "ES" }, later),
  ]
}

// MARK: Apps

private func appDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  let number = variant.rawValue
  let keys = variant.keys(16).keeping(type: false, onset: false, origin: false, visited: false).changed {
    $0.risk = $0.risk ?? 0
  }
  func sample(_ key: DrawerKey) -> String {
    #"{"keyData":"\#(slashed(key.base64))","rollingPeriod":\#(key.period ?? 0),"rollingStartNumber":\#(key.start ?? 0),"transmissionRiskLevel":\#(key.risk ?? 0)}"#
  }
  let array = "[\(keys.map(sample).joined(separator: ","))]"
  let beta =
    "["
    + keys.map {
      #"{"keyData":"\#(slashed($0.base64))","rollingStartNumber":\#($0.start ?? 0),"transmissionRiskLevel":\#($0.risk ?? 0)}"#
    }.joined(separator: ",") + "]"
  let dp3t =
    #"{"gaenKeys":["#
    + keys.map {
      #"{"keyData":"\#($0.base64)","rollingStartNumber":\#($0.start ?? 0),"rollingPeriod":\#($0.period ?? 0),"transmissionRiskLevel":\#($0.risk ?? 0),"fake":0}"#
    }.joined(separator: ",")
    + #",{"keyData":"AAAAAAAAAAAAAAAAAAAAAA==","rollingStartNumber":2678112,"rollingPeriod":144,"transmissionRiskLevel":0,"fake":1}],"withFederationGateway":1,"fake":0}"#
  let publish =
    #"{"temporaryExposureKeys":["#
    + keys.map {
      #"{"key":"\#($0.base64)","rollingPeriod":\#($0.period ?? 0),"rollingStartNumber":\#($0.start ?? 0),"transmissionRisk":\#($0.risk ?? 0)}"#
    }.joined(separator: ",") + #"],"healthAuthorityID":"org.example","padding":"AAAA"}"#
  let xamarin =
    #"{"temporaryExposureKeys":["#
    + keys.map {
      #"{"key":"\#($0.base64)","rollingStart":\#($0.start ?? 0),"rollingDuration":\#($0.period ?? 0),"transmissionRisk":\#($0.risk ?? 0)}"#
    }.joined(separator: ",") + #"],"regions":["440"],"platform":"ios","padding":"AAAA"}"#
  let nhsKeys = keys.changed { $0.onset = 2 }
  let nhs =
    #"{"diagnosisKeySubmissionToken":"00000000-0000-4000-8000-000000000000","temporaryExposureKeys":["#
    + nhsKeys.map {
      #"{"key":"\#($0.base64)","rollingStartNumber":\#($0.start ?? 0),"rollingPeriod":\#($0.period ?? 0),"transmissionRiskLevel":\#($0.risk ?? 0),"daysSinceOnsetOfSymptoms":2}"#
    }.joined(separator: ",") + "]}"
  let bridge =
    "["
    + keys.map {
      #"{"transmissionRiskLevel":\#($0.risk ?? 0),"keyData":"\#($0.base64)","rollingStartNumber":\#($0.start ?? 0),"rollingStartIntervalNumber":\#($0.start ?? 0)}"#
    }.joined(separator: ",") + "]"
  let data = Array(array.utf8)
  return [
    DrawerFile("apple-sample/array_\(number).json", "codable-json", keys, array),
    DrawerFile("apple-sample/beta_\(number).json", "codable-json", keys.changed { $0.period = nil }, beta),
    DrawerFile("apple-sample/lines_\(number).json", "codable-json", keys, keys.map { sample($0) + "\n" }.joined()),
    DrawerFile("apple-sample/defaults_\(number).plist", "property-list", keys, bytes: binaryDefaults(data)),
    DrawerFile("apple-sample/defaults_xml_\(number).plist", "property-list", keys, xmlDefaults(data)),
    DrawerFile("dp3t/upload_\(number).json", "codable-json", keys, rejected: ["marked-fake"], dp3t),
    DrawerFile("uploads/publish_\(number).json", "publish-json", keys, publish),
    DrawerFile("uploads/xamarin_\(number).json", "publish-json", keys, xamarin),
    DrawerFile("uploads/nhs_\(number).json", "publish-json", nhsKeys, nhs),
    DrawerFile("covid-shield/bridge_\(number).json", "codable-json", keys.changed { $0.period = nil }, bridge),
  ]
}

/// As `plutil -convert xml1` writes it.
private func xmlDefaults(_ json: [UInt8]) -> String {
  let digits = Array(drawerBase64(json))
  let lines = stride(from: 0, to: digits.count, by: 68).map { "\t" + String(digits[$0..<min($0 + 68, digits.count)]) }
  return """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <plist version="1.0">
    <dict>
    \t<key>dateLastPerformedExposureDetection</key>
    \t<date>2020-11-19T12:00:00Z</date>
    \t<key>diagnosisKeys</key>
    \t<data>
    \(lines.joined(separator: "\n"))
    \t</data>
    \t<key>isOnboarded</key>
    \t<true/>
    \t<key>nextDiagnosisKeyFileIndex</key>
    \t<integer>4</integer>
    \t<key>testResults</key>
    \t<data>
    \te30=
    \t</data>
    </dict>
    </plist>

    """
}

/// The file of the phone itself: objects, their places, and the trailer.
func binaryDefaults(_ json: [UInt8]) -> [UInt8] {
  func sized(_ kind: UInt8, _ count: Int) -> [UInt8] {
    count < 15 ? [kind << 4 | UInt8(count)] : [kind << 4 | 15, 0x11, UInt8(count >> 8), UInt8(count & 255)]
  }
  func string(_ text: String) -> [UInt8] { sized(5, text.utf8.count) + Array(text.utf8) }
  let names = ["testResults", "diagnosisKeys", "nextDiagnosisKeyFileIndex", "isOnboarded"]
  let objects: [[UInt8]] =
    [sized(0xd, names.count) + (1...UInt8(2 * names.count))] + names.map(string)
    + [sized(4, 2) + Array("{}".utf8), sized(4, json.count) + json, [0x10, 4], [0x09]]
  var bytes = Array("bplist00".utf8)
  var places: [Int] = []
  for object in objects {
    places.append(bytes.count)
    bytes += object
  }
  let table = bytes.count
  for place in places { bytes += [UInt8(place >> 8), UInt8(place & 255)] }
  func eight(_ number: Int) -> [UInt8] { (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
  return bytes + [0, 0, 0, 0, 0, 0, 2, 1] + eight(objects.count) + eight(0) + eight(table)
}

// MARK: Times

/// Starts in seconds and in milliseconds.
private func timeDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  let number = variant.rawValue
  let keys = variant.keys(17).keeping(type: false, onset: false, origin: false, visited: false)
  func array(_ scale: Int64) -> String {
    "["
      + keys.map {
        "{\(members([("keyData", text($0.base64)), ("rollingStartNumber", "\(Int64($0.start ?? 0) * scale)"), ("rollingPeriod", text($0.period)), ("transmissionRiskLevel", text($0.risk))]))}"
      }.joined(separator: ",") + "]"
  }
  func table(_ scale: Int64) -> String {
    "key_data,rolling_start,rolling_period,transmission_risk\n"
      + keys.map { "\($0.hex),\(Int64($0.start ?? 0) * scale),\($0.period ?? 0),\($0.risk.map { "\($0)" } ?? "")\n" }
      .joined()
  }
  return [
    DrawerFile("times/seconds_\(number).json", "codable-json", keys, array(600)),
    DrawerFile("times/milliseconds_\(number).json", "codable-json", keys, array(600_000)),
    DrawerFile("times/seconds_\(number).csv", "csv", keys, tellsItsEnd: false, table(600)),
    DrawerFile("times/milliseconds_\(number).csv", "csv", keys, tellsItsEnd: false, table(600_000)),
  ]
}
