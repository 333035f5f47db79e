import Foundation
import GatewayTesting
import Testing

/// What pandas and DuckDB read of our CSV, and what we read of theirs.
///
/// They are packages of Python: `pip install pandas duckdb`, into an environment that `KEYFERRY_PYTHON` names where it is not the
/// python3 of the path. Where one of them is missing, its tests are skipped.
@Suite struct NotebookTests {
  private static let python = ProcessInfo.processInfo.environment["KEYFERRY_PYTHON"] ?? "python3"

  static func has(_ package: String) -> Bool {
    guard let tool = tool, let outcome = try? tool.run(["-c", "import \(package)"]) else { return false }
    return outcome.status == 0
  }

  static let tool: Tool? = python.contains("/") ? Tool(path: python) : Tool(named: python)

  static let howToEnable = "pip install pandas duckdb, and KEYFERRY_PYTHON for another python than python3"

  /// Key data that a program which guesses would take for a number, absent fields, and regions.
  private static let table = """
    # region=DE
    key_data,rolling_start_interval_number,rolling_period,transmission_risk_level,report_type,days_since_onset_of_symptoms,revised,origin,visited_regions,unknown_fields
    00010203040506070809000102030405,2676096,144,3,CONFIRMED_TEST,-2,false,DE,DE IT,
    101112131415161718191a1b1c1d1e1f,2676240,,,,,false,,,
    20212223242526272829303132333435,2676384,72,0,REVOKED,,true,IT,,

    """

  private func run(_ script: String, in workshop: Workshop) throws {
    let outcome = try #require(Self.tool).run(["-c", script], in: workshop.folder)
    #expect(outcome.status == 0, "\(outcome.errors)")
  }

  /// What the table says again once it has been there and back.
  private func expectSame(_ file: String, in workshop: Workshop) throws {
    try workshop.keyferry("convert", file, "--to", "csv", "-o", "back.csv", "--no-metadata", "-q")
    try workshop.keyferry("convert", "keys.csv", "--to", "csv", "-o", "plain.csv", "--no-metadata", "-q")
    func text(_ name: String) throws -> String {
      String(decoding: try Data(contentsOf: workshop.folder.appending(path: name)), as: UTF8.self)
    }
    #expect(try text("back.csv") == text("plain.csv"))
  }

  @Test(.enabled(if: has("pandas"), "\(howToEnable)"), arguments: [true, false])
  func pandasReadsWhatWeWrite(withMetadata: Bool) throws {
    try Workshop.run { workshop in
      try Data(Self.table.utf8).write(to: workshop.folder.appending(path: "keys.csv"))
      let choice = withMetadata ? [] : ["--no-metadata"]
      try workshop.keyferry(["convert", "keys.csv", "--to", "csv", "-o", "out.csv", "-q"] + choice)
      let comment = withMetadata ? ", comment='#'" : ""
      try run(
        """
        import pandas
        keys = pandas.read_csv('out.csv', dtype={'key_data': str}\(comment))
        assert list(keys['key_data']) == ['00010203040506070809000102030405', '101112131415161718191a1b1c1d1e1f',
          '20212223242526272829303132333435'], keys
        assert keys['rolling_start_interval_number'].sum() == 2676096 + 2676240 + 2676384
        assert keys['rolling_period'].isna().sum() == 1
        keys.to_csv('pandas.csv', index=False)
        keys.to_csv('nan.csv', index=False, na_rep='NaN')
        keys.to_csv('index.csv', sep=';')
        """, in: workshop)
      for file in ["pandas.csv", "nan.csv", "index.csv"] { try expectSame(file, in: workshop) }
    }
  }

  @Test(.enabled(if: has("duckdb"), "\(howToEnable)"), arguments: [true, false])
  func duckDBReadsWhatWeWrite(withMetadata: Bool) throws {
    try Workshop.run { workshop in
      try Data(Self.table.utf8).write(to: workshop.folder.appending(path: "keys.csv"))
      let choice = withMetadata ? [] : ["--no-metadata"]
      try workshop.keyferry(["convert", "keys.csv", "--to", "csv", "-o", "out.csv", "-q"] + choice)
      let comment = withMetadata ? ", comment = '#'" : ""
      try run(
        """
        import duckdb
        duckdb.sql("CREATE TABLE keys AS SELECT * FROM read_csv('out.csv', types = {'key_data': 'VARCHAR'}\(comment))")
        assert duckdb.sql("SELECT count(*), sum(rolling_start_interval_number), count(rolling_period) FROM keys").fetchall() \\
          == [(3, 2676096 + 2676240 + 2676384, 2)]
        duckdb.sql("COPY keys TO 'duck.csv' (HEADER)")
        duckdb.sql("COPY keys TO 'null.csv' (HEADER, DELIMITER '|', NULLSTR 'NULL')")
        """, in: workshop)
      for file in ["duck.csv", "null.csv"] { try expectSame(file, in: workshop) }
    }
  }
}
