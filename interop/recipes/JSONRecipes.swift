import GatewayTesting

private let first =
  #"{"key":"AAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":2649024,"rollingPeriod":144,"transmissionRisk":3}"#
private let second =
  #"{"key":"EBESExQVFhcYGRobHB0eHw==","rollingStartNumber":2649168,"rollingPeriod":72,"transmissionRisk":0}"#

/// The publish request of Google's key server.
let publishRecipes: [Recipe] = [
  Recipe(
    "publish-json/keys", "the members that a key has, and no others", keys: 2, canonical: true,
    .text("{\"temporaryExposureKeys\":[\(first),\(second)]}")),
  Recipe(
    "publish-json/request", "a whole request: what is no key is noted, and its padding is not read", keys: 1,
    notes: "request-member",
    .text(
      #"{"temporaryExposureKeys":[\#(first)],"healthAuthorityID":"org.example.app","#
        + #""verificationPayload":"e30.e30.AA","hmacKey":"AAECAwQFBgcICQoLDA0ODw==","symptomOnsetInterval":2649024,"#
        + #""traveler":true,"revisionToken":"AAAA","padding":"c29tZSBub2lzZQ=="}"#)),
  Recipe(
    "publish-json/members_first", "the keys stand behind the other members", keys: 2,
    .text(
      "{\"healthAuthorityID\":\"org.example.app\",\n \"temporaryExposureKeys\": [\n  \(first),\n  \(second) ]\n}\n")),
  Recipe(
    "publish-json/without_keys", "an empty list names no format", detected: "codable-json", keys: 0,
    .text(#"{"temporaryExposureKeys":[],"healthAuthorityID":"org.example.app"}"#)),
  Recipe(
    "publish-json/period_absent", "a key without rolling period and risk, and one with null", keys: 2,
    .text(
      #"{"temporaryExposureKeys":[{"key":"AAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":2649024},"#
        + #"{"key":"EBESExQVFhcYGRobHB0eHw==","rollingStartNumber":2649024,"rollingPeriod":null}]}"#)),
  Recipe(
    "publish-json/spelling_unpadded", "key data as base64 without padding, which the server takes too", keys: 1,
    .text(#"{"temporaryExposureKeys":[{"key":"AAECAwQFBgcICQoLDA0ODw","rollingStartNumber":2649024}]}"#)),
  Recipe(
    "publish-json/key_wrong", "key data of three bytes, a rolling start as text, and an entry that is no object",
    .rejectedKeys, keys: 1, rejected: "key-data-length field-not-a-number malformed-entry",
    .text(
      #"{"temporaryExposureKeys":[{"key":"QUJD","rollingStartNumber":2649024},"#
        + #"{"key":"AAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":"2649024"},7,\#(second)]}"#)),
  Recipe(
    "publish-json/truncated", "the request ends behind its first key", .refused("truncated"),
    .text("{\"temporaryExposureKeys\":[\(first)")),
]

private let header =
  "{\n\"start_timestamp\":1605657600,\n\"end_timestamp\":1605744000,\n\"region\":\"310\",\n\"batch_num\":1,\n"
  + "\"batch_size\":1,\n\"signature_infos\":[{\"verification_key_version\":\"v1\",\"verification_key_id\":\"310\","
  + "\"signature_algorithm\":\"1.2.840.10045.4.3.2\"}]"
private let stated =
  #"{"key_data":"AAECAwQFBgcICQoLDA0ODw==","transmission_risk_level":5,"rolling_start_interval_number":2676096,"#
  + #""rolling_period":144,"report_type":1,"days_since_onset_of_symptoms":-2"#
private let other =
  #"{"key_data":"EBESExQVFhcYGRobHB0eHw==","transmission_risk_level":0,"rolling_start_interval_number":2676240,"#
  + #""rolling_period":72}"#

/// Our document, in the shape that Google's export-analyzer prints.
let exportJSONRecipes: [Recipe] = [
  Recipe(
    "json/canonical", "header, keys, revised keys, regions, and unknown fields of all three kinds", keys: 3, revised: 1,
    canonical: true,
    .text(
      header + ",\n\"unknown_fields\":\"oAYB\",\n\"keys\":[\n" + stated
        + #","origin":"DE","visited_countries":["AT","IT"],"unknown_fields":"OAJAAQ=="}"# + ",\n"
        + #"{"key_data":"ICEiIyQlJicoKSorLC0uLw=="}"# + "\n],\n\"revised_keys\":[\n" + other + "\n]\n}\n")),
  Recipe(
    "json/without_header", "nothing but keys", keys: 1, canonical: true, .text("{\n\"keys\":[\n\(other)\n]\n}\n")),
  Recipe(
    "json/without_keys", "a header and no key", keys: 0, canonical: true,
    .text("{\n\"start_timestamp\":1605657600,\n\"keys\":[]\n}\n")),
  Recipe(
    "json/analyzer", "indented, as the export-analyzer prints it", keys: 1,
    .text(
      """
      {
        "start_timestamp": 1605657600,
        "end_timestamp": 1605744000,
        "region": "310",
        "batch_num": 1,
        "batch_size": 1,
        "signature_infos": [
          {
            "verification_key_version": "v1",
            "verification_key_id": "310",
            "signature_algorithm": "1.2.840.10045.4.3.2"
          }
        ],
        "keys": [
          {
            "key_data": "AAECAwQFBgcICQoLDA0ODw==",
            "transmission_risk_level": 5,
            "rolling_start_interval_number": 2676096,
            "rolling_period": 144
          }
        ]
      }

      """)),
  Recipe(
    "json/numbers_as_text", "every number as text, which JSON of protobuf libraries has for 64 bits", keys: 1,
    .text(
      #"{"start_timestamp":"1605657600","end_timestamp":"1605744000","batch_num":"1","batch_size":"1","keys":["#
        + #"{"key_data":"AAECAwQFBgcICQoLDA0ODw==","transmission_risk_level":"5","#
        + #""rolling_start_interval_number":"2676096","rolling_period":"144","report_type":"1","#
        + #""days_since_onset_of_symptoms":"-2"}]}"#)),
  Recipe(
    "json/report_type_name", "a report type by its name", keys: 1,
    .text(#"{"keys":[{"key_data":"AAECAwQFBgcICQoLDA0ODw==","report_type":"CONFIRMED_TEST"}]}"#)),
  Recipe(
    "json/order_reversed", "revised keys before the others, the header behind them", keys: 2, revised: 1,
    .text("{\"revised_keys\":[\(other)],\"keys\":[\(stated)}],\"region\":\"310\",\"start_timestamp\":1605657600}")),
  Recipe(
    "json/unknown_member", "members of a key and of the document that no system has", keys: 1,
    notes: "unknown-member-ignored",
    .text(
      #"{"keys":[{"key_data":"AAECAwQFBgcICQoLDA0ODw==","rolling_period":144,"colour":{"red":[1,2]}}],"colour":7}"#)),
  Recipe(
    "json/key_wrong", "unknown fields that are not base64, an unknown report type, and a key without data",
    .rejectedKeys, keys: 1, rejected: "malformed-entry report-type-unknown key-data-absent",
    .text(
      "{\"keys\":[\(stated),\"unknown_fields\":\"?\"},"
        + #"{"key_data":"AAECAwQFBgcICQoLDA0ODw==","report_type":"PROBABLY"},{"rolling_period":144},\#(other)]}"#)),
  Recipe(
    "json/header_not_a_number", "a start that is no time", .refused("malformed"),
    .text(#"{"start_timestamp":"soon","keys":[]}"#)),
  Recipe(
    "json/truncated", "the document ends before its revised keys are closed", .refused("truncated"),
    .text("\(header),\n\"keys\":[],\"revised_keys\":[\n\(other)")),
]
