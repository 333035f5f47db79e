import GatewayTesting

private let printedHeader = """
  start_timestamp: 1605657600
  end_timestamp: 1605744000
  region: "310"
  batch_num: 1
  batch_size: 1
  signature_infos {
    verification_key_version: "v1"
    verification_key_id: "310"
    signature_algorithm: "1.2.840.10045.4.3.2"
  }

  """

/// Protobuf text of an export, as libraries print it.
let protobufTextRecipes: [Recipe] = [
  Recipe(
    "protobuf-text/printed", "as a library prints an export; key data with octal and letter escapes", keys: 2,
    revised: 1,
    .text(
      printedHeader
        + #"""
        keys {
          key_data: "\000\001\002\003\004\005\006\007\010\t\n\013\014\r\016\017"
          transmission_risk_level: 5
          rolling_start_interval_number: 2676096
          rolling_period: 144
          report_type: CONFIRMED_TEST
          days_since_onset_of_symptoms: -2
        }
        revised_keys {
          key_data: "\"\'\\aA0 \377\376\200\1779_~\303\251"
          report_type: REVOKED
        }

        """#)),
  Recipe(
    "protobuf-text/one_line", "the short form, and escapes in hexadecimal", keys: 2,
    .text(
      #"keys { key_data: "\x00\x01\x02\x03ABCDEFGHIJKL" rolling_period: 144 } "#
        + #"keys { key_data: "0123456789abcdef" }"#)),
  Recipe(
    "protobuf-text/spelling_angles", "angle brackets, separators, a comment, and a text in two parts", keys: 1,
    .text(
      """
      # made by hand
      region: '310';
      keys: < key_data: "01234567" "89abcdef", rolling_start_interval_number: 0x28d580; rolling_period: 0220 >

      """)),
  Recipe(
    "protobuf-text/list", "keys as a list of messages", keys: 2,
    .text(#"keys: [{key_data: "0123456789abcdef"}, {key_data: "fedcba9876543210"}]"#)),
  Recipe("protobuf-text/header_only", "an export without keys", keys: 0, .text(printedHeader)),
  Recipe(
    "protobuf-text/unknown_fields", "fields that the schema does not have", keys: 1, notes: "unknown-field",
    .text(
      """
      keys {
        key_data: "0123456789abcdef"
        colour { red: 1 green: [2, 3] }
      }
      colour: "blue"

      """)),
  Recipe(
    "protobuf-text/key_wrong", "key data of three bytes and of none, a number that is none, an unknown report type",
    .rejectedKeys, keys: 1, rejected: "key-data-length key-data-absent field-not-a-number report-type-unknown",
    .text(
      """
      keys { key_data: "ABC" }
      keys { rolling_period: 144 }
      keys { key_data: "0123456789abcdef" rolling_period: 1.5 }
      keys { key_data: "0123456789abcdef" report_type: PROBABLY }
      keys { key_data: "0123456789abcdef" }

      """)),
  Recipe(
    "protobuf-text/truncated", "the text ends in the middle of a key", .refused("truncated"),
    .text("keys {\n  key_data: \"0123456789abcdef\"\n")),
  Recipe(
    "protobuf-text/brace_unexpected", "a brace that closes nothing", .refused("malformed"),
    .text("keys { key_data: \"0123456789abcdef\" }\n}\n")),
]

private let validity = "Validity: 2020-11-18 00:00:00 UTC - 2020-11-19 00:00:00 UTC"

/// What parsers of diagnosis keys print, and collections of key data by day.
let parserRecipes: [Recipe] = [
  Recipe(
    "parser-text/printed", "header and keys, as a widespread parser prints them", keys: 2, notes: "",
    .text(
      """
      Exposure Notification Diagnosis Key Parser
      This script parses published Diagnosis Keys.

      File '1.zip' read.
      - Time window: 2020-11-18 00:00:00 UTC - 2020-11-19 00:00:00 UTC
      - Region: DE
      - Batch: 1 of 1
      - # of keys in batch: 2
      - Signature Info:
      verification_key_version: "v1"
      verification_key_id: "262"
      signature_algorithm: "1.2.840.10045.4.3.2"

      Diagnosis Keys:
        1: TEK: 000102030405060708090a0b0c0d0e0f, Transmission Risk Level: 8, \(validity) (2676096, 144)
        2: TEK: 101112131415161718191a1b1c1d1e1f, Transmission Risk Level: 1, \(validity) (2676096, 72)

      Revised Diagnosis Keys:
      (none)

      """)),
  Recipe(
    "parser-text/revised", "a key that is revoked: the numbers begin again under the second heading", keys: 2,
    revised: 1,
    notes: "",
    .text(
      """
      Exposure Notification Diagnosis Key Parser
      This script parses published Diagnosis Keys.

      File 'export.bin' read.
      - Time window: 2020-11-18 00:00:00 UTC - 2020-11-19 00:00:00 UTC
      - Region: DE
      - Batch: 1 of 1
      - # of keys in batch: 1
      Diagnosis Keys:
        1: TEK: 000102030405060708090a0b0c0d0e0f, Transmission Risk Level: 6, \(validity) (2676096, 144), Report Type: CONFIRMED_TEST, Days since onset of symptoms: 4

      Revised Diagnosis Keys:
        1: TEK: 101112131415161718191a1b1c1d1e1f, Transmission Risk Level: 0, \(validity) (2676096, 144), Report Type: REVOKED, Days since onset of symptoms: -2

      """)),
  Recipe(
    "parser-text/period_absent", "a key that states no period: the parser prints 0", keys: 1,
    notes: "rolling-period-absent",
    .text(
      "  1: TEK: 000102030405060708090a0b0c0d0e0f, Transmission Risk Level: 0, "
        + "Validity: 2020-11-18 00:00:00 UTC - 2020-11-18 00:00:00 UTC (2676096, 0)\n")),
  Recipe(
    "parser-text/validity_only", "a validity without its numbers, and a key that states nothing else", keys: 2,
    .text("1: TEK: 000102030405060708090a0b0c0d0e0f, \(validity)\n2: TEK: 101112131415161718191a1b1c1d1e1f")),
  Recipe(
    "parser-text/line_ends_crlf", "lines that end as on Windows, and key data in capitals", keys: 1,
    .text("- Region: DE\r\n1: TEK: 000102030405060708090A0B0C0D0E0F, Transmission Risk Level: 8\r\n")),
  Recipe(
    "parser-text/report_type", "report type and onset, which later versions print", keys: 1,
    .text(
      "1: TEK: 000102030405060708090a0b0c0d0e0f, Transmission Risk Level: 8, \(validity) (2676096, 144), "
        + "Report Type: CONFIRMED_TEST, Days since onset of symptoms: -2\n")),
  Recipe(
    "parser-text/key_wrong", "key data of one byte, a risk that is no number, a part that no parser prints",
    .rejectedKeys, keys: 1, rejected: "key-data-length field-not-a-number malformed-entry",
    .text(
      """
      1: TEK: 00, Transmission Risk Level: 8
      2: TEK: 000102030405060708090a0b0c0d0e0f, Transmission Risk Level: high
      3: TEK: 000102030405060708090a0b0c0d0e0f, Colour: blue
      4: TEK: 000102030405060708090a0b0c0d0e0f

      """)),
  Recipe(
    "parser-text/batch_wrong", "a batch that is none", .refused("malformed"),
    .text("Exposure Notification Diagnosis Key Parser\n- Batch: one\n")),
  Recipe(
    "parser-json/printed", "the same as JSON: key data in hexadecimal, and a validity", keys: 2,
    .text(
      """
      {
        "timeWindowStart": "2020-11-18 00:00:00 UTC",
        "timeWindowEnd": "2020-11-19 00:00:00 UTC",
        "region": "DE",
        "batchNum": 1,
        "batchCount": 1,
        "keyCount": 2,
        "signatureInfos": { "verification_key_version": "v1", "verification_key_id": "262" },
        "diagnosisKeys": [
          { "TemporaryExposureKey": "000102030405060708090a0b0c0d0e0f", "transmissionRiskLevel": 8,
            "validity": { "start": "2020-11-18 00:00:00 UTC", "end": "2020-11-19 00:00:00 UTC",
              "rollingStartIntervalNumber": 2676096, "rollingPeriod": 144 } },
          { "TemporaryExposureKey": "101112131415161718191a1b1c1d1e1f", "transmissionRiskLevel": 1,
            "validity": { "rollingStartIntervalNumber": 2676096, "rollingPeriod": 72 } }
        ]
      }

      """)),
  Recipe(
    "parser-json/array", "the keys alone", keys: 1,
    .text(
      #"[{"TemporaryExposureKey":"000102030405060708090a0b0c0d0e0f","transmissionRiskLevel":8,"#
        + #""validity":{"rollingStartIntervalNumber":2676096,"rollingPeriod":144}}]"#)),
  Recipe(
    "parser-json/key_wrong", "key data of one byte, and of none", .rejectedKeys, keys: 0,
    rejected: "key-data-length key-data-absent",
    .text(
      #"{"diagnosisKeys":[{"TemporaryExposureKey":"00","validity":{"rollingPeriod":144}},"#
        + #"{"validity":{"rollingPeriod":144}}]}"#)),
  Recipe(
    "parser-json/truncated", "the document ends within a validity", .refused("truncated"),
    .text(#"{"diagnosisKeys":[{"TemporaryExposureKey":"000102030405060708090a0b0c0d0e0f","validity":{"#)),
  Recipe(
    "sample-days/days", "one line a day, key data in the form of UUIDs, no rolling start but the day's", keys: 3,
    notes: "rolling-start-from-sample-date",
    .text(
      #"{"sample_date":"2020-11-18","tek_list":["00010203-0405-0607-0809-0a0b0c0d0e0f","#
        + #""10111213-1415-1617-1819-1a1b1c1d1e1f"],"extraction_date":"2020-11-19"}"# + "\n"
        + #"{"sample_date":"2020-11-19","tek_list":["20212223-2425-2627-2829-2a2b2c2d2e2f"],"#
        + #""extraction_date":"2020-11-19","extraction_date_with_hour":"2020-11-19@12"}"# + "\n")),
  Recipe(
    "sample-days/day_empty", "a day without keys", keys: 0,
    .text(#"{"sample_date":"2020-11-18","tek_list":[]}"# + "\n")),
  Recipe(
    "sample-days/key_wrong", "key data of two bytes, no key data, and a number", .rejectedKeys, keys: 1,
    rejected: "key-data-length key-data-spelling key-data-spelling",
    .text(#"{"sample_date":"2020-11-18","tek_list":["AAE=","?",5,"000102030405060708090a0b0c0d0e0f"]}"#)),
]
