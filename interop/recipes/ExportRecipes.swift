import GatewayTesting

private let magic = ReferenceExport.magic

/// Key data of `count` bytes that begin with `first`.
private func data(_ first: UInt8 = 0xa0, count: Int = 16) -> [UInt8] { (0..<count).map { first &+ UInt8($0 & 63) } }

/// Six fields in ascending order, as servers write them.
private func key(_ first: UInt8 = 0xa0) -> [UInt8] {
  Wire.bytes(1, data(first)) + Wire.varint(2, 5) + Wire.varint(3, 2_676_096) + Wire.varint(4, 144)
    + Wire.varint(5, 1) + Wire.zigZag(6, 2)
}

private let info = Wire.text(3, "v1") + Wire.text(4, "310") + Wire.text(5, "1.2.840.10045.4.3.2")

private let header =
  Wire.fixed64(1, 1_605_657_600) + Wire.fixed64(2, 1_605_744_000) + Wire.text(3, "310") + Wire.varint(4, 1)
  + Wire.varint(5, 1) + Wire.bytes(6, info)

private func file(_ parts: [UInt8]...) -> Recipe.Body { .bytes(magic + header + parts.joined()) }

/// `export.bin`.
let exportRecipes: [Recipe] = [
  Recipe(
    "gaen-export/golden_server", "three keys and a revised one of three bytes each, from a test of Google's key server",
    .rejectedKeys, keys: 0, rejected: Array(repeating: "key-data-length", count: 4).joined(separator: " "),
    .bytes(
      Wire.hexadecimal(
        """
        454b204578706f727420763120202020098066ab5e00000000119074ab5e000000001a02555320012801321d1a013122033331302a13312e
        322e3834302e31303034352e342e332e323a0f0a0341424310081812200028
        0230003a0f0a03444546100118762001280130013a0f0a0347484910051876200128033001420b0a03313233100418642805
        """))),
  Recipe(
    "gaen-export/sample_server", "the signed sample of Google's key server, without report types", keys: 2,
    canonical: true,
    .bytes(
      Wire.hexadecimal(
        """
        454b204578706f72742076312020202009f0e8c75e0000000011703ac95e000000001a0255532001280132211a01312207736f6d655f6964
        2a13312e322e3834302e31303034352e342e332e323a1b0a10172fc480e598490c34177604339b1543100818fcdea10120013a1b0a102b63
        053ac483238de176169e861f3dcd1001188adea1012072
        """))),
  Recipe("gaen-export/header_only", "no message at all behind the sixteen bytes", keys: 0, .bytes(magic)),
  Recipe(
    "gaen-export/canonical", "two keys with every field", keys: 2, canonical: true,
    file(Wire.bytes(7, key(1)), Wire.bytes(7, key(2)))),
  Recipe(
    "gaen-export/presence_data_only", "a key that states nothing but its data", keys: 1, canonical: true,
    file(Wire.bytes(7, Wire.bytes(1, data())))),
  Recipe(
    "gaen-export/presence_zeros", "every number is stated and zero: zero is not absent", keys: 1, canonical: true,
    file(Wire.bytes(7, Wire.bytes(1, data()) + (2...5).flatMap { Wire.varint($0, 0) } + Wire.zigZag(6, 0)))),
  Recipe(
    "gaen-export/order_reversed", "fields in descending order, keys before the header", keys: 1,
    .bytes(
      magic
        + Wire.bytes(
          7,
          Wire.zigZag(6, 2) + Wire.varint(5, 1) + Wire.varint(4, 144) + Wire.varint(3, 2_676_096) + Wire.varint(2, 5)
            + Wire.bytes(1, data())) + header)),
  Recipe(
    "gaen-export/order_interleaved", "keys and revised keys in turns", keys: 4, revised: 2,
    file(Wire.bytes(7, key(1)), Wire.bytes(8, key(2)), Wire.bytes(7, key(3)), Wire.bytes(8, key(4)))),
  Recipe(
    "gaen-export/repeated_field", "a risk level twice: the last one counts", keys: 1, notes: "field-repeated",
    file(Wire.bytes(7, key() + Wire.varint(2, 7)))),
  Recipe(
    "gaen-export/unknown_later_fields", "variant of concern and returned traveller, which later servers add", keys: 1,
    canonical: true, file(Wire.bytes(7, key() + Wire.varint(7, 2) + Wire.varint(8, 1)))),
  Recipe(
    "gaen-export/unknown_group", "a group, which no schema here has, in a key", keys: 1,
    file(Wire.bytes(7, key() + Wire.varint(9 << 3 | 3) + Wire.varint(1, 5) + Wire.varint(9 << 3 | 4)))),
  Recipe(
    "gaen-export/unknown_report_type", "report type 9: a number without a meaning", keys: 1,
    file(Wire.bytes(7, Wire.bytes(1, data()) + Wire.varint(5, 9)))),
  Recipe(
    "gaen-export/number_negative", "a risk level of -1 is a varint of ten bytes", keys: 1, canonical: true,
    file(Wire.bytes(7, Wire.bytes(1, data()) + Wire.varint(2, -1)))),
  Recipe(
    "gaen-export/number_extreme", "onset days at both ends of their type", keys: 2, canonical: true,
    file(
      Wire.bytes(7, Wire.bytes(1, data(1)) + Wire.zigZag(6, Int64(Int32.max))),
      Wire.bytes(7, Wire.bytes(1, data(2)) + Wire.zigZag(6, Int64(Int32.min))))),
  Recipe(
    "gaen-export/key_15_bytes", "key data of fifteen bytes between good keys", .rejectedKeys, keys: 2,
    rejected: "key-data-length",
    file(Wire.bytes(7, key(1)), Wire.bytes(7, Wire.bytes(1, data(count: 15))), Wire.bytes(7, key(3)))),
  Recipe(
    "gaen-export/key_96_bytes", "key data of ninety-six bytes", .rejectedKeys, keys: 0, rejected: "key-data-length",
    file(Wire.bytes(7, Wire.bytes(1, data(count: 96))))),
  Recipe(
    "gaen-export/key_absent", "a key without key data, and an empty message", .rejectedKeys, keys: 1,
    rejected: "key-data-absent key-data-absent",
    file(Wire.bytes(7, Wire.varint(3, 2_676_096)), Wire.bytes(7, []), Wire.bytes(7, key()))),
  Recipe(
    "gaen-export/key_wrong_wire_type", "key data as a varint is an unknown field, so there is none", .rejectedKeys,
    keys: 0, rejected: "key-data-absent", file(Wire.bytes(7, Wire.varint(1, 5)))),
  Recipe(
    "gaen-export/truncated_in_key", "the file ends in the middle of its second key", .refused("truncated"),
    .bytes(magic + header + Wire.bytes(7, key(1)) + Wire.bytes(7, key(2)).dropLast(9))),
  Recipe(
    "gaen-export/truncated_in_tag", "the file ends behind the tag of a key", .refused("truncated"), file([0x3a])),
  Recipe(
    "gaen-export/length_beyond_key", "a field that is longer than the key that holds it", .refused("malformed"),
    file([0x3a, 4, 0x0a, 16, 1, 2], Wire.bytes(7, key()))),
  Recipe(
    "gaen-export/length_ten_bytes", "a length of 2^64 - 1", .refused("malformed"),
    file([0x3a] + Wire.varint(.max), data())),
  Recipe(
    "gaen-export/varint_eleven_bytes", "a varint that does not end", .refused("malformed"),
    file(Wire.bytes(7, [0x10] + Array(repeating: 0xff, count: 11)))),
  Recipe("gaen-export/tag_zero", "field number 0", .refused("malformed"), file([0x02, 1, 0])),
  Recipe("gaen-export/wire_type_seven", "a wire type that does not exist", .refused("malformed"), file([0x57, 1, 0])),
  Recipe(
    "gaen-export/group_end_alone", "the end of a group that did not begin", .refused("malformed"),
    file(Wire.varint(9 << 3 | 4))),
  Recipe(
    "gaen-export/region_not_utf8", "a region that is not UTF-8", .refused("malformed"),
    .bytes(magic + Wire.bytes(3, [0xc3, 0x28]))),
]
