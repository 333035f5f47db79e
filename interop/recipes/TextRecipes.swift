import GatewayTesting

private let first =
  #"{"keyData":"AAECAwQFBgcICQoLDA0ODw==","rollingPeriod":144,"rollingStartNumber":2649024,"#
  + #""transmissionRiskLevel":0}"#
private let second =
  #"{"keyData":"\/\/79\/Pv6+fj39vX08\/Lx8A==","rollingPeriod":72,"rollingStartNumber":2649168,"#
  + #""transmissionRiskLevel":7}"#

/// Apple's `CodableDiagnosisKey` and what descends from it.
let codableRecipes: [Recipe] = [
  Recipe(
    "codable-json/array", "as the sample app keeps its keys; slashes are escaped", keys: 2,
    .text("[\(first),\(second)]")),
  Recipe(
    "codable-json/without_rolling_period", "the first generation had no rolling period", keys: 1,
    .text(#"[{"keyData":"AAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":2649024,"transmissionRiskLevel":0}]"#)),
  Recipe("codable-json/object", "one key, as the developer's QR code shows it", keys: 1, .text(first)),
  Recipe("codable-json/lines", "one object a line", keys: 2, .text("\(first)\n\(second)\n")),
  Recipe("codable-json/wrapper_keys", "wrapped in keys", keys: 2, .text("{\"keys\":[\(first),\(second)]}")),
  Recipe(
    "codable-json/wrapper_temporary_exposure_keys", "wrapped as in a publish request, the keys as in the sample app",
    keys: 1, .text("{\"temporaryExposureKeys\":[\(first)]}")),
  Recipe(
    "codable-json/wrapper_gaen_keys", "an upload of DP-3T with one padding key", .rejectedKeys, keys: 1,
    rejected: "marked-fake",
    .text(
      #"{"gaenKeys":[{"keyData":"AAECAwQFBgcICQoLDA0ODw==","rollingPeriod":144,"rollingStartNumber":2649024,"#
        + #""transmissionRiskLevel":0,"fake":0},{"keyData":"EBESExQVFhcYGRobHB0eHw==","rollingPeriod":144,"#
        + #""rollingStartNumber":2649024,"transmissionRiskLevel":0,"fake":1}]}"#)),
  Recipe(
    "codable-json/private_data", "a dump of user defaults: test results stand beside the keys and are not read",
    keys: 1,
    .text(
      #"{"testResults":["6F6C4B5C-0000-4000-8000-000000000001",{"id":"6F6C4B5C-0000-4000-8000-000000000001","#
        + #""isAdded":true,"dateAdministered":611539200.0,"isShared":false}],"diagnosisKeys":[\#(first)]}"#)),
  Recipe(
    "codable-json/spelling_unpadded", "base64 without padding, in the URL alphabet", keys: 1,
    .text(#"[{"keyData":"__79_Pv6-fj39vX08_Lx8A","rollingStartNumber":2649024,"transmissionRiskLevel":0}]"#)),
  Recipe(
    "codable-json/spelling_hexadecimal", "thirty-two hexadecimal digits, under the name that publish requests use",
    detected: "publish-json", keys: 1,
    .text(#"[{"key":"000102030405060708090a0b0c0d0e0f","rollingStartIntervalNumber":2649024}]"#)),
  Recipe(
    "codable-json/spelling_uuid", "the form of a UUID", keys: 1,
    .text(#"[{"tek":"00010203-0405-0607-0809-0A0B0C0D0E0F","epoch":2649024,"period":144,"risklevel":3}]"#)),
  Recipe(
    "codable-json/key_short", "key data of fifteen bytes, of none, and no text at all", .rejectedKeys, keys: 1,
    rejected: "key-data-length key-data-absent key-data-spelling",
    .text(
      #"[{"keyData":"AAECAwQFBgcICQoLDA0O","rollingStartNumber":1},{"rollingStartNumber":1},"#
        + #"{"keyData":"?","rollingStartNumber":1},\#(first)]"#)),
  Recipe(
    "codable-json/number_too_large", "a rolling start beyond thirty-two bits", .rejectedKeys, keys: 0,
    rejected: "field-not-a-number",
    .text(#"[{"keyData":"AAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":99999999999}]"#)),
  Recipe(
    "codable-json/nested_deep", "a hundred thousand arrays in each other", .refused("limit-exceeded"),
    .pieces([.init("[", times: 100_000), .init("]", times: 100_000)])),
  Recipe(
    "codable-json/nested_deep_unknown", "the same in a member that is not read", .refused("limit-exceeded"),
    .pieces([.init(#"{"x":"#), .init(#"{"y":"#, times: 100_000), .init("0"), .init("}", times: 100_001)])),
  Recipe(
    "codable-json/string_long", "a megabyte of one string", .refused("limit-exceeded"),
    .pieces([.init(#"[{"keyData":""#), .init("A", times: 1 << 20), .init(#""}]"#)])),
  Recipe(
    "codable-json/truncated", "the file ends in the middle of a key", .refused("truncated"),
    .text("[\(first.dropLast(9))")),
  Recipe(
    "codable-json/comma_missing", "two keys without a comma between them", .refused("malformed"),
    .text("[\(first) \(second)]")),
]

private let names =
  "key_data,rolling_start_interval_number,rolling_period,transmission_risk_level,report_type,"
  + "days_since_onset_of_symptoms,revised"
private let cells = "000102030405060708090a0b0c0d0e0f,2649024,144,3,CONFIRMED_TEST,-2,false"
private let columns = names + "\n"
private let row = cells + "\n"
private let metadata = """
  # start_timestamp=1605657600
  # end_timestamp=1605744000
  # region=310
  # batch_num=1
  # batch_size=1
  # signature_info=verification_key_version=v1;verification_key_id=310;signature_algorithm=1.2.840.10045.4.3.2

  """

/// Our table.
let csvRecipes: [Recipe] = [
  Recipe("csv/plain", "the seven columns of a key, one key", keys: 1, .text(columns + row)),
  Recipe(
    "csv/canonical", "the ten columns as we write them: regions, unknown fields, absent fields, and a revised key",
    keys: 3, revised: 1, canonical: true,
    .text(
      """
      \(metadata)\(names),origin,visited_regions,unknown_fields
      \(cells),DE,AT IT,OAI=
      101112131415161718191a1b1c1d1e1f,,,,,,false,,,
      202122232425262728292a2b2c2d2e2f,0,0,0,UNKNOWN,0,true,,,

      """)),
  Recipe(
    "csv/empty_cells", "an empty cell is an absent field", keys: 1,
    .text(columns + "000102030405060708090a0b0c0d0e0f,,,,,,\n")),
  Recipe(
    "csv/spreadsheet", "byte order mark and CRLF, as a spreadsheet saves it", keys: 1,
    .text("\u{feff}" + (columns + row).replacing("\n", with: "\r\n"))),
  Recipe(
    "csv/columns_any_order", "few columns in another order, key data as base64, no line end", keys: 1,
    .text("rolling_period,key_data,rolling_start_interval_number\n144,AAECAwQFBgcICQoLDA0ODw==,2649024")),
  Recipe(
    "csv/quoted", "cells in quotes, one with a comma", keys: 1,
    .text(
      "key_data,rolling_start_interval_number,\"a, b\"\n\"000102030405060708090a0b0c0d0e0f\",\"2649024\",\"x \"\"y\"\", z\"\n"
    )),
  Recipe(
    "csv/report_type_number", "a report type by its number", keys: 1,
    .text("key_data,report_type\n000102030405060708090a0b0c0d0e0f,5\n")),
  Recipe(
    "csv/metadata", "what the file says about itself, in comment lines", keys: 1,
    .text("# region: 310\n" + columns + row)),
  Recipe("csv/header_only", "no key", keys: 0, .text(columns)),
  Recipe(
    "csv/cells_wrong", "a short row, a number that is none, an unknown report type, key data of one byte",
    .rejectedKeys,
    keys: 1, rejected: "malformed-entry field-not-a-number report-type-unknown key-data-length",
    .text(
      columns + "000102030405060708090a0b0c0d0e0f,2649024\n" + row.replacing("144", with: "x")
        + row.replacing("CONFIRMED_TEST", with: "PROBABLY") + "00,2649024,144,3,CONFIRMED_TEST,-2,false\n" + row)),
  Recipe(
    "csv/column_missing", "no column holds key data", .refused("malformed"),
    .text("rolling_start_interval_number,rolling_period\n2649024,144\n")),
  Recipe(
    "csv/quote_open", "a quote that does not end", .refused("truncated"),
    .text("key_data,rolling_start_interval_number\n\"000102030405060708090a0b0c0d0e0f,2649024\n")),
]
