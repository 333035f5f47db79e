import ExposureKeys
import Foundation
import GatewayTesting

private let typeNames = [
  1: "CONFIRMED_TEST", 2: "CONFIRMED_CLINICAL_DIAGNOSIS", 3: "SELF_REPORT", 4: "RECURSIVE", 5: "REVOKED",
]
private func typeName(_ number: Int32?) -> String? { number.flatMap { typeNames[Int($0)] } }
private let serverTypes = [1: "confirmed", 2: "likely", 3: "user-report", 5: "negative"]

private func cell(_ number: Int32?, _ absent: String = "") -> String { number.map { "\($0)" } ?? absent }

/// Dumps of databases, each as its own tool writes it.
func databaseDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  coronaWarnAppDrawer(variant) + keyServerDrawer(variant) + dp3tDrawer(variant) + canadaDrawer(variant)
    + sqliteDrawer(variant)
}

// MARK: Corona-Warn-App

private let cwaColumns = [
  "key_data", "rolling_start_interval_number", "rolling_period", "submission_timestamp", "transmission_risk_level",
  "consent_to_federation", "origin_country", "visited_countries", "report_type", "days_since_onset_of_symptoms",
]

private let postgresHead = """
  --
  -- PostgreSQL database dump
  --

  -- Dumped from database version 11.8
  -- Dumped by pg_dump version 12.4

  SET statement_timeout = 0;
  SET client_encoding = 'UTF8';
  SET standard_conforming_strings = on;
  SELECT pg_catalog.set_config('search_path', '', false);

  SET default_tablespace = '';

  --
  -- Name: diagnosis_key; Type: TABLE; Schema: public; Owner: local_setup
  --

  CREATE TABLE public.diagnosis_key (
      key_data bytea NOT NULL,
      rolling_start_interval_number integer NOT NULL,
      rolling_period integer NOT NULL,
      submission_timestamp bigint NOT NULL,
      transmission_risk_level integer,
      consent_to_federation boolean DEFAULT false NOT NULL,
      origin_country character varying(2),
      visited_countries character varying(2)[],
      report_type character varying(50),
      days_since_onset_of_symptoms integer,
      CONSTRAINT chk_key_data_length CHECK ((octet_length(key_data) = 16))
  );


  ALTER TABLE public.diagnosis_key OWNER TO local_setup;


  """

private let postgresEnd = """


  --
  -- PostgreSQL database dump complete
  --


  """

private func coronaWarnAppDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  let keys = variant.keys(1)
  let number = variant.rawValue
  func row(_ key: DrawerKey, bytea: String, null: String, true yes: String) -> [String] {
    [
      bytea + key.hex, cell(key.start), cell(key.period), "445056", cell(key.risk, null), yes, key.origin ?? null,
      key.visited.map { "{\($0.joined(separator: ","))}" } ?? null, typeName(key.type) ?? null, cell(key.onset, null),
    ]
  }
  let copied = keys.map { row($0, bytea: #"\\x"#, null: #"\N"#, true: "t").joined(separator: "\t") + "\n" }.joined()
  let copy =
    postgresHead
    + "--\n-- Data for Name: diagnosis_key; Type: TABLE DATA; Schema: public; Owner: local_setup\n--\n\n"
    + "COPY public.diagnosis_key (\(cwaColumns.joined(separator: ", "))) FROM stdin;\n\(copied)\\.\n\n"
    + "--\n-- Data for Name: federation_batch_info; Type: TABLE DATA\n--\n\n"
    + "COPY public.federation_batch_info (batch_tag, date, status) FROM stdin;\n2020-11-18-1\t2020-11-18\tPROCESSED\n\\.\n"
    + postgresEnd
  func values(_ key: DrawerKey) -> String {
    let cells = row(key, bytea: "\\x", null: "NULL", true: "true")
    let isBare = [1, 2, 3, 4, 5, 9]
    return cells.enumerated().map { index, cell in
      isBare.contains(index) || cell == "NULL" ? cell : "'\(cell)'"
    }.joined(separator: ", ")
  }
  let inserts =
    postgresHead + keys.map { "INSERT INTO public.diagnosis_key VALUES (\(values($0)));\n" }.joined() + postgresEnd
  let named =
    postgresHead
    + keys.map {
      "INSERT INTO public.diagnosis_key (\(cwaColumns.joined(separator: ", "))) VALUES (\(values($0)));\n"
    }.joined() + postgresEnd
  let many =
    "INSERT INTO diagnosis_key (\(cwaColumns.joined(separator: ", "))) VALUES\n"
    + keys.map { "\t(\(values($0)))" }.joined(separator: ",\n") + "\nON CONFLICT DO NOTHING;\n"
  let table = keys.map { key in
    row(key, bytea: "\\x", null: "", true: "t").map { $0.contains(",") ? "\"\($0)\"" : $0 }
  }
  let csv = ([cwaColumns] + table).map { $0.joined(separator: ",") + "\n" }.joined()
  let plain = keys.map { row($0, bytea: "\\x", null: "", true: "t") }
  let widths = cwaColumns.indices.map { index in
    ([cwaColumns] + plain).map { $0[index].count }.max() ?? 0
  }
  func padded(_ cells: [String]) -> String {
    zip(cells, widths).map { " " + $0 + String(repeating: " ", count: $1 - $0.count) + " " }.joined(separator: "|")
  }
  let aligned =
    padded(cwaColumns) + "\n" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "+") + "\n"
    + plain.map { padded($0) + "\n" }.joined() + "(\(keys.count) rows)\n\n"
  let unaligned =
    ([cwaColumns] + plain).map { $0.joined(separator: "|") + "\n" }.joined() + "(\(keys.count) rows)\n"
  return [
    DrawerFile("corona-warn-app/copy_\(number).sql", "sql-dump", keys, copy),
    DrawerFile("corona-warn-app/inserts_\(number).sql", "sql-dump", keys, inserts),
    DrawerFile("corona-warn-app/column_inserts_\(number).sql", "sql-dump", keys, named),
    DrawerFile("corona-warn-app/many_rows_\(number).sql", "sql-dump", keys, many),
    DrawerFile("corona-warn-app/copy_\(number).csv", "csv", keys, tellsItsEnd: false, csv),
    DrawerFile("corona-warn-app/psql_aligned_\(number).txt", "csv", keys, tellsItsEnd: false, aligned),
    DrawerFile("corona-warn-app/psql_unaligned_\(number).txt", "csv", keys, tellsItsEnd: false, unaligned),
  ]
}

// MARK: Google's key server

private let exposureColumns = [
  "exposure_key", "transmission_risk", "app_package_name", "regions", "traveler", "interval_number", "interval_count",
  "created_at", "local_provenance", "sync_id", "health_authority_id", "report_type", "days_since_symptom_onset",
  "revised_report_type", "revised_at", "revised_days_since_symptom_onset", "revised_transmission_risk",
]

private func keyServerDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  let all = variant.keys(2).keeping(origin: false).changed {
    if $0.type == 5 { $0.type = 2 }
    if $0.visited == nil { $0.visited = [] }
  }
  let number = variant.rawValue
  /// Each third key was revised later, which the table says in the same row.
  var keys: [DrawerKey] = []
  for (index, key) in all.enumerated() {
    keys.append(key)
    guard index % 3 == 1, key.type == 2 || variant == .usual else { continue }
    var revised = key
    (revised.type, revised.onset, revised.risk, revised.isRevised) = (5, 3, 4, true)
    keys.append(revised)
  }
  func row(_ key: DrawerKey, null: String) -> [String] {
    let isRevised = keys.contains { $0.isRevised && $0.data == key.data }
    let revision = isRevised ? ["negative", "2020-11-20 10:00:00+00", "3", "4"] : [null, null, null, null]
    return [
      key.base64, cell(key.risk, null), "org.example.app", "{\((key.visited ?? []).joined(separator: ","))}", "f",
      cell(key.start), cell(key.period), "2020-11-19 12:00:00+00", "t", null, "1",
      key.type.flatMap { serverTypes[Int($0)] } ?? "", cell(key.onset, null),
    ] + revision
  }
  let originals = all
  let copy =
    "--\n-- PostgreSQL database dump\n--\n\nSET statement_timeout = 0;\n\n"
    + "COPY public.exposure (\(exposureColumns.joined(separator: ", "))) FROM stdin;\n"
    + originals.map { row($0, null: #"\N"#).joined(separator: "\t") + "\n" }.joined() + "\\.\n\n"
  let csv =
    ([exposureColumns] + originals.map { row($0, null: "") })
    .map { $0.map { $0.contains(",") ? "\"\($0)\"" : $0 }.joined(separator: ",") + "\n" }.joined()
  return [
    DrawerFile("google-key-server/exposure_\(number).sql", "sql-dump", keys, copy),
    DrawerFile("google-key-server/exposure_\(number).csv", "csv", keys, tellsItsEnd: false, csv),
  ]
}

// MARK: DP-3T

private func dp3tDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  let number = variant.rawValue
  let first = variant.keys(3).keeping(type: false, onset: false, origin: false, visited: false).changed {
    if $0.risk == nil { $0.risk = 0 }
  }
  let second = variant.keys(4).keeping(visited: false, risk: false)
  let firstColumns = [
    "pk_exposed_id", "key", "rolling_start_number", "rolling_period", "transmission_risk_level", "received_at",
  ]
  func firstRow(_ index: Int, _ key: DrawerKey) -> [String] {
    ["\(index + 1)", key.base64, cell(key.start), cell(key.period), cell(key.risk), "2020-11-19 06:00:00+00"]
  }
  let secondColumns = [
    "pk_exposed_id", "key", "rolling_start_number", "rolling_period", "received_at", "report_type",
    "days_since_onset_of_symptoms", "origin", "batch_tag", "share_with_federation_gateway",
  ]
  func secondRow(_ index: Int, _ key: DrawerKey, _ null: String) -> [String] {
    [
      "\(index + 1)", key.base64, cell(key.start), cell(key.period), "2020-11-19 06:00:00+00",
      typeName(key.type) ?? null,
      cell(key.onset, null), key.origin ?? null, null, "t",
    ]
  }
  func copy(_ columns: [String], _ rows: [[String]]) -> String {
    "--\n-- PostgreSQL database dump\n--\n\nCOPY public.t_gaen_exposed (\(columns.joined(separator: ", "))) FROM stdin;\n"
      + rows.map { $0.joined(separator: "\t") + "\n" }.joined() + "\\.\n\n"
      + "SELECT pg_catalog.setval('public.t_gaen_exposed_pk_exposed_id_seq', \(rows.count), true);\n"
  }
  func csv(_ columns: [String], _ rows: [[String]]) -> String {
    ([columns] + rows).map { $0.joined(separator: ",") + "\n" }.joined()
  }
  return [
    DrawerFile(
      "dp3t/gaen_exposed_\(number).sql", "sql-dump", first, copy(firstColumns, first.enumerated().map(firstRow))),
    DrawerFile(
      "dp3t/gaen_exposed_\(number).csv", "csv", first, tellsItsEnd: false,
      csv(firstColumns, first.enumerated().map(firstRow))),
    DrawerFile(
      "dp3t/gaen_exposed_international_\(number).sql", "sql-dump", second,
      copy(secondColumns, second.enumerated().map { secondRow($0, $1, #"\N"#) })),
    DrawerFile(
      "dp3t/gaen_exposed_international_\(number).csv", "csv", second, tellsItsEnd: false,
      csv(secondColumns, second.enumerated().map { secondRow($0, $1, "") })),
  ]
}

// MARK: Canada

private let canadaTable = """
  DROP TABLE IF EXISTS `diagnosis_keys`;
  /*!40101 SET @saved_cs_client     = @@character_set_client */;
  /*!50503 SET character_set_client = utf8mb4 */;
  CREATE TABLE `diagnosis_keys` (
    `key_data` binary(16) NOT NULL,
    `rolling_start_interval_number` int NOT NULL,
    `rolling_period` int NOT NULL,
    `transmission_risk_level` smallint unsigned NOT NULL,
    `hour_of_submission` int unsigned NOT NULL,
    `region` varchar(32) NOT NULL,
    UNIQUE KEY `key_data` (`key_data`),
    KEY `region` (`region`),
    KEY `hour_of_submission` (`hour_of_submission`)
  ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
  /*!40101 SET character_set_client = @saved_cs_client */;

  --
  -- Dumping data for table `diagnosis_keys`
  --

  LOCK TABLES `diagnosis_keys` WRITE;
  /*!40000 ALTER TABLE `diagnosis_keys` DISABLE KEYS */;

  """
private let mysqlHead = """
  -- MySQL dump 10.13  Distrib 8.0.21, for Linux (x86_64)
  --
  -- Host: localhost    Database: covidshield
  -- ------------------------------------------------------
  -- Server version\t8.0.21

  /*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
  /*!50503 SET NAMES utf8mb4 */;

  --
  -- Table structure for table `diagnosis_keys`
  --


  """
private let mysqlEnd = """
  /*!40000 ALTER TABLE `diagnosis_keys` ENABLE KEYS */;
  UNLOCK TABLES;
  /*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;

  -- Dump completed on 2020-11-19 12:00:00

  """

private func canadaDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  let number = variant.rawValue
  let keys = variant.keys(5).keeping(type: false, onset: false, visited: false).changed {
    if $0.risk == nil { $0.risk = 0 }
    $0.origin = "302"
  }
  func tail(_ key: DrawerKey) -> String {
    "\(cell(key.start)),\(cell(key.period)),\(cell(key.risk)),445056,'302'"
  }
  let blob = keys.map { "(0x\($0.hex.uppercased()),\(tail($0)))" }.joined(separator: ",")
  let hex = mysqlHead + canadaTable + "INSERT INTO `diagnosis_keys` VALUES \(blob);\n" + mysqlEnd
  var binary = Array((mysqlHead + canadaTable + "INSERT INTO `diagnosis_keys` VALUES ").utf8)
  for (index, key) in keys.enumerated() {
    // A key with every byte that is written with a backslash.
    if index > 0 { binary.append(UInt8(ascii: ",")) }
    binary += "(_binary '".utf8
    for byte in key.data {
      switch byte {
      case 0: binary += "\\0".utf8
      case 10: binary += "\\n".utf8
      case 13: binary += "\\r".utf8
      case 26: binary += "\\Z".utf8
      case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"): binary += [UInt8(ascii: "\\"), byte]
      default: binary.append(byte)
      }
    }
    binary += "',\(tail(key)))".utf8
  }
  binary += ";\n\(mysqlEnd)".utf8
  let columns = [
    "key_data", "rolling_start_interval_number", "rolling_period", "transmission_risk_level", "hour_of_submission",
    "region",
  ]
  func row(_ key: DrawerKey) -> [String] {
    ["0x\(key.hex.uppercased())", cell(key.start), cell(key.period), cell(key.risk), "445056", "302"]
  }
  let rows = [columns] + keys.map(row)
  let batch = rows.map { $0.joined(separator: "\t") + "\n" }.joined()
  let widths = columns.indices.map { index in rows.map { $0[index].count }.max() ?? 0 }
  let ruler = "+" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "+") + "+\n"
  func boxed(_ cells: [String]) -> String {
    "|" + zip(cells, widths).map { " " + $0 + String(repeating: " ", count: $1 - $0.count) + " |" }.joined() + "\n"
  }
  let box =
    ruler + boxed(columns) + ruler + keys.map { boxed(row($0)) }.joined() + ruler
    + "\(keys.count) rows in set (0.00 sec)\n"
  return [
    DrawerFile("canada/hex_blob_\(number).sql", "sql-dump", keys, hex),
    DrawerFile("canada/binary_\(number).sql", "sql-dump", keys, bytes: binary),
    DrawerFile("canada/batch_\(number).tsv", "csv", keys, tellsItsEnd: false, batch),
    DrawerFile("canada/box_\(number).txt", "csv", keys, tellsItsEnd: false, box),
  ]
}

// MARK: SQLite

private func sqliteDrawer(_ variant: DrawerVariant) -> [DrawerFile] {
  let number = variant.rawValue
  let keys = variant.keys(6).keeping(origin: false, visited: false)
  func tail(_ key: DrawerKey) -> String {
    [
      cell(key.start, "NULL"), cell(key.period, "NULL"), cell(key.risk, "NULL"), cell(key.type, "NULL"),
      cell(key.onset, "NULL"),
    ]
    .joined(separator: ",")
  }
  let dump =
    "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE keys (tek BLOB PRIMARY KEY, rolling_start INTEGER, "
    + "rolling_period INTEGER, transmission_risk INTEGER, report_type INTEGER, days_since_onset INTEGER);\n"
    + keys.map { "INSERT INTO keys VALUES(X'\($0.hex)',\(tail($0)));\n" }.joined()
    + "CREATE TABLE notes (text TEXT);\nINSERT INTO notes VALUES('it''s; (a) note');\nCOMMIT;\n"
  let quoted =
    "INSERT INTO \"keys\"(tek,rolling_start,rolling_period,transmission_risk,report_type,days_since_onset) VALUES"
    + keys.map { "('\($0.base64)',\(tail($0)))" }.joined(separator: ",") + ";\n"
  return [
    DrawerFile("sqlite/dump_\(number).sql", "sql-dump", keys, dump),
    DrawerFile("sqlite/inserts_\(number).sql", "sql-dump", keys, quoted),
  ]
}
