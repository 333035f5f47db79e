import ExposureKeys
import GatewayTesting
import KeyFormats
import Testing

/// Rows of `INSERT` that are read many at once say what each says by itself, whatever the dump looks like.
@Suite struct SQLShortcutTests {
  private func reading(_ bytes: [UInt8], many: Bool, window: Int, chunk: Int) -> Result<RowDocument, FormatError> {
    do {
      let limits = ReadLimits(recordBytes: 1 << 14)
      let window = InputWindow(MemorySource(bytes), limits: limits, capacity: window)
      let decoder = SQLDumpDecoder(window, limits: limits, readsPlainTuples: many)
      return .success(try RowDocument(decoder, chunkCapacity: chunk))
    } catch {
      return .failure(error as? FormatError ?? FormatError(.unsupported, "\(error)"))
    }
  }

  private func compare(_ text: [UInt8], _ seed: UInt64) {
    let single = reading(text, many: false, window: 1 << 16, chunk: 1000)
    for (window, chunk) in [(1 << 16, 1000), (1 << 16, 3), (700, 1000), (16, 7)] {
      let many = reading(text, many: true, window: window, chunk: chunk)
      #expect(
        many == single, "seed \(seed), window \(window), chunk \(chunk):\n\(String(decoding: text, as: UTF8.self))")
    }
  }

  @Test("Dumps as tools write them", arguments: 0..<30 as Range<UInt64>)
  func plain(seed: UInt64) {
    let dump = RandomInserts(seed: seed, rows: 80, hostility: 0)
    compare(Array(dump.text.utf8), seed)
    guard case .success(let document) = reading(Array(dump.text.utf8), many: true, window: 1 << 16, chunk: 1000) else {
      Issue.record("seed \(seed): a plain dump is refused")
      return
    }
    #expect(document.keys.count == 80 && document.rejections.isEmpty, "seed \(seed)")
  }

  @Test("Dumps with odd values", arguments: 100..<180 as Range<UInt64>)
  func odd(seed: UInt64) { compare(Array(RandomInserts(seed: seed, rows: 60, hostility: 30).text.utf8), seed) }

  @Test("Dumps in which nothing is sure", arguments: 200..<280 as Range<UInt64>)
  func hostile(seed: UInt64) { compare(Array(RandomInserts(seed: seed, rows: 40, hostility: 3).text.utf8), seed) }

  @Test("Every damage of a row")
  func everyDamage() {
    let row = "INSERT INTO t (key_data, rolling_start, origin, report_type) VALUES "
    let text = Array(
      (row + "('\\x000102030405060708090a0b0c0d0e0f', 2676096, 'DE', 'CONFIRMED_TEST');\n" + row
        + "(x'101112131415161718191a1b1c1d1e1f',2676240,'DE',NULL);\n" + row
        + "('\\x202122232425262728292a2b2c2d2e2f', 2676096, 'DE', 'CONFIRMED_TEST');\n").utf8)
    for place in text.indices {
      for byte in Array("'\"\n\r,;:(-\\ 0aNX@/".utf8) + [0, 0xFF] {
        var damaged = text
        damaged[place] = byte
        #expect(
          reading(damaged, many: true, window: 1 << 16, chunk: 100)
            == reading(damaged, many: false, window: 1 << 16, chunk: 100), "byte \(byte) at \(place)")
      }
    }
  }
}

/// `INSERT` statements with one row or several. With `hostility` 0 all is plain; else one value in so many is odd.
private struct RandomInserts {
  private(set) var text = ""
  private var random: SeededRandom
  private let hostility: Int

  init(seed: UInt64, rows: Int, hostility: Int) {
    random = SeededRandom(seed: seed)
    self.hostility = hostility
    let isMySQL = seed % 3 == 0
    if isMySQL { text += "/*!40101 SET NAMES utf8 */;\n" }
    let names =
      "key_data, rolling_start_interval_number, rolling_period, note, revised, origin, visited_regions, report_type"
    let heads = [
      "INSERT INTO t (\(names)) VALUES ", "INSERT INTO `t` (\(names)) VALUES\n", "insert into other (a, b) values ",
    ]
    var left = rows
    while left > 0 {
      let head = heads[isOdd() ? Int.random(in: 0..<3, using: &random) : isMySQL ? 1 : 0]
      let count = min(left, seed % 2 == 0 ? 1 : Int.random(in: 1...9, using: &random))
      text += head + (0..<count).map { _ in row() }.joined(separator: seed % 5 == 0 ? ",\n " : ",")
      text += isOdd() ? " ON CONFLICT DO NOTHING;" : ";"
      text += isOdd() ? " -- a remark\n" : "\n"
      left -= count
    }
  }

  private mutating func isOdd() -> Bool { hostility > 0 && Int.random(in: 0..<hostility, using: &random) == 0 }

  private mutating func row() -> String {
    let hex = random.bytes(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    var values = [
      random.pick(["'\(hex)'", "0x\(hex)", "X'\(hex)'"]), "\(2_676_096 + 144 * Int.random(in: 0..<14, using: &random))",
      random.pick(["144", "NULL", "12", "'144'"]), random.pick(["'a note'", "7", "NULL", "''"]),
      random.pick(["true", "false", "NULL"]), random.pick(["'DE'", "'IT'", "NULL"]),
      random.pick(["'{DE,IT}'", "'AT'", "NULL", "''"]), random.pick(["'CONFIRMED_TEST'", "1", "NULL", "'REVOKED'"]),
    ]
    let odd = [
      "'it''s'", "'a\\'b'", "'a\"b'", "E'\\\\x00'", "'\(hex)'::bytea", "ARRAY['DE','IT']", "-", "- 5", "1.0", "1e9",
      "'\n'",
      "_binary 'abcdefghijklmnop'", "'abcdefghijklmnop'", "now()", "null", "'NULL'", "'\\N'", "x''", "' DE'", "DE",
      "99999999999",
      "'\u{e9}'", "t", "#1", "'#'", "", "'{DE,IT}, {}'", "x'44,45'", "1 2", "/* no */ 3", "'\\x\(hex)'",
    ]
    for index in values.indices where isOdd() { values[index] = random.pick(odd) }
    if isOdd() { values.removeLast() }
    if isOdd() { values.append("'more'") }
    return "(" + values.joined(separator: isOdd() ? " , " : random.pick([",", ", "])) + (isOdd() ? "" : ")")
  }
}
