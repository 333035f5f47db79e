import GatewayTesting

private let copy = """
  --
  -- PostgreSQL database dump
  --

  COPY public.diagnosis_key (key_data, rolling_start_interval_number, rolling_period, report_type, visited_countries) FROM stdin;
  \\\\x000102030405060708090a0b0c0d0e0f\t2676096\t144\tCONFIRMED_TEST\t{DE,IT}
  \\\\x101112131415161718191a1b1c1d1e1f\t2676240\t\\N\t\\N\t\\N

  """

private let stored = BSON.document(
  BSON.objectID("_id", Array(repeating: 1, count: 12))
    + BSON.array(
      "keys",
      [
        BSON.document(
          BSON.text("key_data", "AAECAwQFBgcICQoLDA0ODw==") + BSON.double("rolling_start_number", 2_676_096)
            + BSON.int64("rolling_period", 144))
      ]) + BSON.element(0x0a, "nothing", []) + BSON.element(0x08, "done", [1]) + BSON.text("a\"b\n", "c\\\u{1}"))

/// Dumps of databases, apps and tools; each tool's own output stands in `drawer/`.
let dumpRecipes: [Recipe] = [
  Recipe("sql-dump/copy", "rows of COPY, one of them with little in it", keys: 2, notes: "", .text(copy + "\\.\n")),
  Recipe(
    "sql-dump/copy_cut_off", "a table without its end", .refused("truncated"), .text(copy)),
  Recipe(
    "sql-dump/copy_row_cut_off", "a table that ends in the middle of a number", .refused("truncated"),
    .text(copy + "\\\\x202122232425262728292a2b2c2d2e2f\t26762")),
  Recipe(
    "sql-dump/insert", "two rows in one statement, casts, a doubled quote, and a table without keys", keys: 2,
    notes: "table-without-keys unknown-column",
    .text(
      """
      /* of two tables */
      CREATE TABLE t (id serial, note text, key_data bytea, rolling_start integer, PRIMARY KEY (id));
      INSERT INTO t VALUES (1, 'it''s (a) note; really', '\\x000102030405060708090a0b0c0d0e0f'::bytea, 2676096),
        (2, NULL, '\\x101112131415161718191a1b1c1d1e1f'::bytea, 2676240);
      INSERT INTO u (a, b) VALUES (1, 'INSERT INTO t VALUES (3)');

      """)),
  Recipe(
    "sql-dump/row_wrong", "key data of two bytes, a number that is none, a value too few", .rejectedKeys, keys: 1,
    rejected: "key-data-length field-not-a-number malformed-entry",
    .text(
      "INSERT INTO t (key_data, rolling_period) VALUES (0x0011, 144), (0x000102030405060708090a0b0c0d0e0f, 'x'), "
        + "(0x000102030405060708090a0b0c0d0e0f), (0x000102030405060708090a0b0c0d0e0f, 144);\n")),
  Recipe(
    "sql-dump/without_keys", "no table has key data", .refused("unrecognized-format"),
    .text("COPY public.notes (id, text) FROM stdin;\n1\tnothing\n\\.\n")),
  Recipe(
    "sql-dump/insert_cut_off", "a statement without its end", .refused("truncated"),
    .text("INSERT INTO t (key_data, rolling_period) VALUES (0x000102030405060708090a0b0c0d0e0f, 144),\n")),
  Recipe(
    "property-list/xml", "keys as data beside a person's own values; entities and a comment", keys: 1,
    notes: "private-data-skipped value-skipped",
    .text(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <!-- of a test phone -->
      <dict>
        <key>diagnosisKeys</key>
        <data>W3sia2V5RGF0YSI6IkFBRUNBd1FGQmdjSUNRb0xEQTBPRHc9PSIsInJvbGxpbmdTdGFydE51bWJlciI6MjY3NjA5Nn1d</data>
        <key>a &amp; b</key>
        <array><dict><key>x</key><true/></dict></array>
        <key>testResults</key>
        <data>e30=</data>
      </dict>
      </plist>

      """)),
  Recipe(
    "property-list/xml_declarations", "a document type with an entity of its own", .refused("unsupported"),
    .text("<?xml version=\"1.0\"?>\n<!DOCTYPE plist [<!ENTITY a \"b\">]>\n<plist version=\"1.0\"><dict/></plist>\n")),
  Recipe(
    "property-list/xml_cut_off", "ends in the middle of the data", .refused("truncated"),
    .text("<plist version=\"1.0\"><dict><key>diagnosisKeys</key><data>W3s")),
  Recipe(
    "property-list/without_keys", "the defaults of something else", .refused("unrecognized-format"),
    .text("<plist version=\"1.0\"><dict><key>isOnboarded</key><true/></dict></plist>")),
  Recipe(
    "property-list/binary", "the phone's own file", keys: 1, notes: "private-data-skipped value-skipped",
    .bytes(binaryDefaults(Array(#"[{"keyData":"AAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":2676096}]"#.utf8)))),
  Recipe(
    "property-list/binary_cut_off", "the trailer is missing", .refused("malformed"),
    .bytes(binaryDefaults(Array("[]".utf8)).dropLast(3))),
  Recipe(
    "property-list/binary_circle", "a dictionary whose name is itself", .refused("malformed"),
    .bytes(
      Array("bplist00".utf8) + [0xd1, 0, 0] + [8] + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 1]
        + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 11])),
  Recipe(
    "bson/collection", "a document with values of many kinds beside its keys", keys: 1, notes: "member-skipped",
    .bytes(stored)),
  Recipe("bson/cut_off", "ends in the middle of a document", .refused("truncated"), .bytes(stored.dropLast(9))),
  Recipe(
    "bson/length_wrong", "a list that is said to be longer than the document", .refused("malformed"),
    .bytes(
      BSON.document(
        BSON.objectID("_id", Array(repeating: 1, count: 12)) + BSON.element(0x04, "keys", BSON.little(1000, 4) + [0])))),
  Recipe(
    "bson/type_unknown", "an element of a type that nobody knows", .refused("malformed"),
    .bytes(
      BSON.document(
        BSON.objectID("_id", Array(repeating: 1, count: 12)) + BSON.element(0x44, "keys", [1, 2, 3, 4])))),
  Recipe(
    "encoded-export/hexdump", "lines of hexdump -C, with its last line", keys: 1,
    .text(
      """
      00000000  45 4b 20 45 78 70 6f 72  74 20 76 31 20 20 20 20  |EK Export v1    |
      00000010  3a 1a 0a 10 00 01 02 03  04 05 06 07 08 09 0a 0b  |:...............|
      00000020  0c 0d 0e 0f 18 80 ab a3  01 20 90 01              |......... ..|
      0000002c

      """)),
  Recipe(
    "encoded-export/xxd", "lines of xxd", keys: 1,
    .text(
      """
      00000000: 454b 2045 7870 6f72 7420 7631 2020 2020  EK Export v1    
      00000010: 3a1a 0a10 0001 0203 0405 0607 0809 0a0b  :...............
      00000020: 0c0d 0e0f 1880 aba3 0120 9001            ......... ..

      """)),
  Recipe(
    "encoded-export/hexdump_words", "pairs with the second byte in front, as hexdump prints them by itself", keys: 1,
    .text(
      """
      0000000 4b45 4520 7078 726f 2074 3176 2020 2020
      0000010 1a3a 100a 0100 0302 0504 0706 0908 0b0a
      0000020 0d0c 0f0e 8018 a3ab 2001 0190
      000002c

      """)),
  Recipe(
    "encoded-export/hexdump_line_missing", "a line of hexdump is missing", .refused("malformed"),
    .text(
      """
      00000000  45 4b 20 45 78 70 6f 72  74 20 76 31 20 20 20 20  |EK Export v1    |
      00000020  0c 0d 0e 0f 18 80 ab a3  01 20 90 01              |......... ..|
      0000002c

      """)),
  Recipe(
    "encoded-export/hexdump_cut_off", "hexdump without its last line", .refused("truncated"),
    .text(
      """
      00000000  45 4b 20 45 78 70 6f 72  74 20 76 31 20 20 20 20  |EK Export v1    |
      00000010  3a 1a 0a 10 00 01 02 03  04 05 06 07 08 09 0a 0b  |:...............|

      """)),
  Recipe(
    "encoded-export/base64", "an export of one key, in lines of base64", keys: 1,
    .text("RUsgRXhwb3J0IHYxICAgIDoaChAAAQIDBAUG\nBwgJCgsMDQ4PGICrow\nEgkAE=\n")),
  Recipe(
    "encoded-export/hexadecimal", "the same as hexadecimal digits behind a database's sign", keys: 1,
    .text(
      "\\x454b204578706f727420763120202020" + "3a1a0a10000102030405060708090a0b0c0d0e0f1880aba301" + "209001\n")),
  Recipe(
    "encoded-export/digit_wrong", "a character that is no digit", .refused("malformed"),
    .text("454b204578706f7274207631202020203a1a0a10000102030405060708090a0b0c0d0e0f1880ab?a301")),
  Recipe(
    "encoded-export/version_and_digit_wrong",
    "an export of another version, and a character that is no digit behind it",
    .refused("unsupported"), .text("454b204578706f727420763920202020" + "3a1a0a10?\n")),
  Recipe(
    "analyzer-text/printed", "an export between its path and the signature", keys: 1, notes: "value-skipped",
    .text(
      """
      a.zip:

      signature: {
       "signatures": [
        {
         "batch_num": 1
        }
       ]
      }
      export: {
        "region": "US",
        "keys": [
          {
            "key_data": "AAECAwQFBgcICQoLDA0ODw==",
            "rolling_start_interval_number": 2676096
          }
        ]
      }



      """)),
  Recipe(
    "analyzer-text/cut_off", "ends in the middle of a key", .refused("truncated"),
    .text("a.zip:\n\nexport: {\n  \"keys\": [\n    {\n      \"key_data\": \"AAECAw")),
  Recipe(
    "immuni-json/canonical", "numbers as MongoDB writes them", keys: 1,
    .text(
      #"{"_id":{"$oid":"5f5a0c1b2c3d4e5f60718293"},"keys":[{"key_data":"AAECAwQFBgcICQoLDA0ODw==","#
        + #""rolling_start_number":{"$numberInt":"2676096"},"rolling_period":{"$numberLong":"144"}}]}"# + "\n")),
  Recipe(
    "immuni-json/number_wrong", "objects that are no numbers and no bytes", .rejectedKeys, keys: 0,
    rejected: "field-not-a-number field-not-a-number key-data-spelling",
    .text(
      #"{"keys":[{"key_data":"AAECAwQFBgcICQoLDA0ODw==","rolling_start_number":{"$numberInt":"x"}},"#
        + #"{"key_data":"AAECAwQFBgcICQoLDA0ODw==","rolling_start_number":{"$numberInt":"1","a":2}},"#
        + #"{"key_data":{"$binary":{"base64":7}},"rolling_start_number":1}]}"# + "\n")),
  Recipe(
    "interoperability-json/download", "a batch of the service", keys: 1,
    .text(
      #"{"batchTag":"1","exposures":[{"keyData":"AAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":2676096,"#
        + #""transmissionRiskLevel":0,"rollingPeriod":144,"regions":["GB-NIR"],"reportType":1,"daysSinceOnset":2,"#
        + #""origin":"GB-NIR","testType":1}]}"#)),
  Recipe(
    "interoperability-json/private_exposures", "exposures of a person, which hold no keys", detected: "codable-json",
    keys: 1, notes: "private-data-skipped",
    .text(
      #"{"exposures":[{"date":611539200,"duration":900}],"diagnosisKeys":[{"keyData":"AAECAwQFBgcICQoLDA0ODw==","#
        + #""rollingStartNumber":2676096}]}"#)),
  Recipe(
    "json/start_in_milliseconds", "a start in milliseconds, and one that begins no interval", .rejectedKeys, keys: 1,
    rejected: "value-not-allowed", notes: "rolling-start-from-seconds",
    .text(
      #"{"keys":[{"key_data":"AAECAwQFBgcICQoLDA0ODw==","rolling_start_interval_number":1605657600000},"#
        + #"{"key_data":"AAECAwQFBgcICQoLDA0ODw==","rolling_start_interval_number":1605657600001}]}"#)),
  Recipe(
    "codable-json/two_spellings", "two names of one member: they agree, they do not, and key data that does not",
    .rejectedKeys, keys: 2, rejected: "malformed-entry", notes: "spellings-disagree",
    .text(
      #"[{"keyData":"AAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":2676096,"rollingStartIntervalNumber":2676096},"#
        + #"{"keyData":"EBESExQVFhcYGRobHB0eHw==","rollingStartNumber":2676096,"rollingStartIntervalNumber":2676240},"#
        + #"{"keyData":"EBESExQVFhcYGRobHB0eHw==","tek":"AAECAwQFBgcICQoLDA0ODw==","rollingStartNumber":2676096}]"#)),
]
