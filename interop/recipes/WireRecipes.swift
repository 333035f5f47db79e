import GatewayTesting

private let sixteen: [UInt8] = Array(0..<16)
private let others: [UInt8] = Array(16..<32)

private func beta(_ data: [UInt8], start: Int64 = 2_646_720) -> [UInt8] {
  Wire.bytes(2, Wire.bytes(1, data) + Wire.varint(2, start) + Wire.varint(3, 144) + Wire.varint(4, 3))
}

private let betaHeader = Wire.bytes(
  1,
  Wire.varint(1, 1_588_032_000) + Wire.varint(2, 1_588_118_400) + Wire.text(3, "US") + Wire.varint(4, 1)
    + Wire.varint(5, 1))

/// The file of the iOS 13.5 beta: header and keys, no header bytes, no signature.
let betaRecipes: [Recipe] = [
  Recipe(
    "gaen-beta/plain", "header and two keys, as the beta wrote them", keys: 2,
    .bytes(betaHeader + beta(sixteen) + beta(others))),
  Recipe(
    "gaen-beta/header_behind", "the header behind the keys", keys: 1, .bytes(beta(sixteen) + betaHeader)),
  Recipe("gaen-beta/header_only", "a header and no key", keys: 0, .bytes(betaHeader)),
  Recipe(
    "gaen-beta/number_extreme", "a rolling start of 2^32 - 1: its type is unsigned here", keys: 1,
    .bytes(betaHeader + beta(sixteen, start: Int64(UInt32.max)))),
  Recipe(
    "gaen-beta/key_wrong", "key data of fifteen bytes and of none beside a good key", .rejectedKeys, keys: 1,
    rejected: "key-data-length key-data-absent",
    .bytes(betaHeader + beta(sixteen.dropLast()) + Wire.bytes(2, Wire.varint(2, 2_646_720)) + beta(others))),
  Recipe(
    "gaen-beta/truncated", "the file ends in the middle of its second key", .refused("truncated"),
    .bytes(betaHeader + beta(sixteen) + beta(others).dropLast(9))),
  Recipe(
    "gaen-beta/length_beyond_file", "a key that is said to have 2^40 bytes", .refused("malformed"),
    .bytes(betaHeader + [0x12] + Wire.varint(1 << 40) + sixteen)),
]

private func submitted(_ data: [UInt8]) -> [UInt8] {
  Wire.bytes(
    1,
    Wire.bytes(1, data) + Wire.varint(2, 6) + Wire.varint(3, 2_676_096) + Wire.varint(4, 144) + Wire.varint(5, 1)
      + Wire.varint(6, 4000))
}

/// The upload of the Corona-Warn-App.
let submissionRecipes: [Recipe] = [
  Recipe(
    "cwa-submission/with_padding", "two keys, then padding, countries and origin of all of them, and consent",
    keys: 2, notes: "submission-field-skipped",
    .bytes(
      submitted(sixteen) + submitted(others) + Wire.bytes(2, Array(repeating: 0x5a, count: 28)) + Wire.text(3, "DE")
        + Wire.text(3, "FR") + Wire.text(4, "DE") + Wire.varint(5, 1))),
  Recipe("cwa-submission/keys_only", "nothing but keys", keys: 1, notes: "", .bytes(submitted(sixteen))),
  Recipe(
    "cwa-submission/canonical", "keys, then visited countries and origin, as they are written", keys: 2, notes: "",
    canonical: true,
    .bytes(
      submitted(sixteen) + submitted(others) + Wire.text(3, "DE") + Wire.text(3, "FR") + Wire.text(4, "DE"))),
  Recipe(
    "cwa-submission/two_origins", "an origin that is said twice, differently", .refused("unsupported"),
    .bytes(submitted(sixteen) + Wire.text(4, "DE") + Wire.text(4, "IT"))),
  Recipe(
    "cwa-submission/padding_only", "a request that only hides that nobody sends keys; its bytes fit many formats",
    detected: "refused:malformed", keys: 0, .bytes(Wire.bytes(2, Array(repeating: 0, count: 28)))),
  Recipe(
    "cwa-submission/presence_data_only", "a key that states nothing but its data looks like a federation's",
    detected: "efgs-protobuf", keys: 1, .bytes(Wire.bytes(1, Wire.bytes(1, sixteen)))),
  Recipe(
    "cwa-submission/key_15_bytes", "key data of fifteen bytes beside a good key", .rejectedKeys, keys: 1,
    rejected: "key-data-length", .bytes(submitted(sixteen.dropLast()) + submitted(others))),
  Recipe(
    "cwa-submission/truncated", "the upload ends in the middle of its padding", .refused("truncated"),
    .bytes(submitted(sixteen) + Wire.bytes(2, Array(repeating: 0x5a, count: 28)).dropLast(3))),
]
