import GatewayTesting

/// The federation batch, as protobuf and as JSON.
let batchRecipes: [Recipe] = [
  Recipe(
    "efgs-protobuf/worked_example", "two keys whose canonical form puts the second first", keys: 2, canonical: true,
    .bytes(
      Wire.hexadecimal(
        """
        0a2d0a10000102030405060708090a0b0c0d0e0f1080aba30118900120052a0244452a02495432024445380140a43e
        0a270a1008090a0b0c0d0e0f10111213141516171090aca301184820ffffffff073202444538024005
        """))),
  Recipe(
    "efgs-protobuf/empty", "a batch without keys has no bytes", detected: "refused:unrecognized-format", keys: 0,
    canonical: true, .bytes([])),
  Recipe(
    "efgs-protobuf/zeros_absent", "what is zero is not on the wire: onset on the day of the key", keys: 1,
    canonical: true, .bytes(Wire.bytes(1, Wire.bytes(1, sixteen) + Wire.varint(2, 2_676_096)))),
  Recipe(
    "efgs-protobuf/zeros_stated", "zeros that an older writer states all the same", keys: 1,
    .bytes(
      Wire.bytes(1, Wire.bytes(1, sixteen) + [2, 3, 4, 7].flatMap { Wire.varint($0, 0) } + Wire.zigZag(8, 0)))),
  Recipe(
    "efgs-protobuf/number_extreme", "2^32 - 1, 2^31 - 1 and risk level -22, as a test of the gateway has them", keys: 1,
    canonical: true,
    .bytes(
      Wire.bytes(
        1,
        Wire.bytes(1, sixteen) + Wire.varint(2, Int64(UInt32.max)) + Wire.varint(3, Int64(Int32.max))
          + Wire.varint(4, -22)))),
  Recipe(
    "efgs-protobuf/countries_repeated", "a country twice, out of order and in lower case: signed as it stands", keys: 1,
    canonical: true,
    .bytes(
      Wire.bytes(
        1,
        Wire.bytes(1, sixteen) + ["IT", "de", "IT"].flatMap { Wire.text(5, $0) } + Wire.text(6, "NL")))),
  Recipe(
    "efgs-protobuf/key_17_bytes", "key data of seventeen bytes", .rejectedKeys, keys: 0, rejected: "key-data-length",
    .bytes(Wire.bytes(1, Wire.bytes(1, sixteen + [0])))),
  Recipe(
    "efgs-protobuf/truncated", "the batch ends in the middle of a key", .refused("truncated"),
    .bytes(Array(Wire.bytes(1, Wire.bytes(1, sixteen)).dropLast(3)))),
  Recipe(
    "efgs-protobuf/origin_not_utf8", "an origin that is not UTF-8", .refused("malformed"),
    .bytes(Wire.bytes(1, Wire.bytes(1, sixteen) + Wire.bytes(6, [0xff, 0xfe])))),
  Recipe(
    "efgs-json/worked_example", "the gateway's own JSON: camel case but for the onset", keys: 1,
    .text(
      """
      {"keys":[{"keyData":"AAECAwQFBgcICQoLDA0ODw==","rollingStartIntervalNumber":2676096,"rollingPeriod":144,\
      "transmissionRiskLevel":5,"visitedCountries":["DE","IT"],"origin":"DE","reportType":"CONFIRMED_TEST",\
      "days_since_onset_of_symptoms":3986}]}
      """)),
  Recipe("efgs-json/empty", "a batch without keys", detected: "codable-json", keys: 0, .text("{}")),
  Recipe(
    "efgs-json/enum_number", "a report type by its number, and the onset in camel case", keys: 1,
    .text(
      """
      {"keys":[{"keyData":"AAECAwQFBgcICQoLDA0ODw==","rollingStartIntervalNumber":2676096,"rollingPeriod":144,\
      "origin":"DE","reportType":1,"daysSinceOnsetOfSymptoms":-3}]}
      """)),
]

private let sixteen: [UInt8] = Array(0..<16)
