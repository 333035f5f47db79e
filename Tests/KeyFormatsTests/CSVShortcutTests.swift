import ExposureKeys
import KeyFormats
import Testing

/// The reader of many plain rows reads what the general reader reads, whatever the table looks like.
@Suite struct CSVShortcutTests {
  private func reading(_ bytes: [UInt8], _ readsPlainRows: Bool, window: Int, chunk: Int) -> Result<
    RowDocument, FormatError
  > {
    do {
      let limits = ReadLimits(recordBytes: 2000)
      let window = InputWindow(MemorySource(bytes), limits: limits, capacity: window)
      return .success(
        try RowDocument(CSVKeyDecoder(window, limits: limits, readsPlainRows: readsPlainRows), chunkCapacity: chunk))
    } catch {
      return .failure(error as? FormatError ?? FormatError(.unsupported, "\(error)"))
    }
  }

  private func compare(_ table: HostileTable, _ seed: UInt64) {
    let bytes = Array(table.text.utf8)
    let general = reading(bytes, false, window: 1 << 16, chunk: 1000)
    for (window, chunk) in [(1 << 16, 1000), (1 << 16, 3), (700, 1000), (16, 7)] {
      let short = reading(bytes, true, window: window, chunk: chunk)
      #expect(short == general, "seed \(seed), window \(window):\n\(table.text)")
    }
  }

  @Test("Plain tables, in any layout", arguments: 0..<60 as Range<UInt64>)
  func plain(seed: UInt64) {
    let table = HostileTable(seed: seed, rows: 60, hostility: 0)
    compare(table, seed)
    guard case .success(let document) = reading(Array(table.text.utf8), false, window: 1 << 16, chunk: 1000) else {
      Issue.record("seed \(seed): a plain table is refused")
      return
    }
    #expect(document.keys.count == 60 && document.rejections.isEmpty, "seed \(seed)")
  }

  @Test("Tables with some odd cells", arguments: 100..<180 as Range<UInt64>)
  func odd(seed: UInt64) { compare(HostileTable(seed: seed, rows: 60, hostility: 40), seed) }

  @Test("Tables in which nothing is sure", arguments: 200..<280 as Range<UInt64>)
  func hostile(seed: UInt64) { compare(HostileTable(seed: seed, rows: 40, hostility: 3), seed) }

  @Test("Tables with damaged characters", arguments: 300..<400 as Range<UInt64>)
  func damaged(seed: UInt64) {
    var table = HostileTable(seed: seed, rows: 30, hostility: 60)
    table.damage(times: 6)
    compare(table, seed)
  }

  @Test("Every damage of a canonical row", arguments: [0, 1])
  func everyDamage(shape: Int) {
    let table = HostileTable(seed: 7, rows: 2, hostility: 0, shape: shape)
    let text = Array(table.text.utf8.reversed().drop { $0 == UInt8(ascii: "\n") }.reversed()) + [UInt8(ascii: "\n")]
    let end = Array((String(repeating: "#", count: 300) + "\n").utf8)
    guard let firstRow = text.firstIndex(of: UInt8(ascii: "\n")) else { return }
    for place in firstRow..<text.count {
      for byte in Array("\"\n\r,#- 0aA:@/".utf8) + [0, 0xFF] {
        var damaged = text
        damaged[place] = byte
        let general = reading(damaged + end, false, window: 1 << 16, chunk: 100)
        let short = reading(damaged + end, true, window: 1 << 16, chunk: 100)
        #expect(short == general, "byte \(byte) at \(place)")
      }
    }
  }
}

/// A table that a strange program wrote. With `hostility` 0 all is plain; else one cell in so many is odd.
private struct HostileTable {
  private(set) var text = ""
  private var random: RowGenerator
  private let hostility: Int
  private var separator = ","

  private static let names: [[String]] = [
    ["key_data", "key_hex", "key", "tek", "Temporary Exposure Key"],
    ["rolling_start_interval_number", "rollingStart", "epoch"],
    ["rolling_period", "period", "ROLLING-DURATION"],
    ["transmission_risk_level", "risklevel"],
    ["report_type", "reportType"],
    ["days_since_onset_of_symptoms", "days_since_onset"],
    ["revised"], ["origin"], ["visited_regions"], ["unknown_fields"], ["note", "country"], ["\"of no use\""],
  ]

  /// - Parameter shape: 0 the ten columns in their order, 1 the first seven of them, anything else a random choice.
  init(seed: UInt64, rows: Int, hostility: Int, shape: Int? = nil) {
    random = RowGenerator(seed: seed)
    self.hostility = hostility
    let shape = shape ?? Int.random(in: 0..<4, using: &random)
    var columns = Array(0..<(shape == 1 ? 7 : 10))
    if shape > 1 {
      separator = pick([",", ";", "\t"])
      columns = columns.filter { $0 == 0 || Int.random(in: 0..<4, using: &random) > 0 }
      columns += (0..<Int.random(in: 0...2, using: &random)).map { _ in Int.random(in: 10...11, using: &random) }
      columns.shuffle(using: &random)
    }
    let line = columns.map { shape > 1 ? pick(Self.names[$0]) : Self.names[$0][0] }.joined(separator: separator) + "\n"
    text = line
    for _ in 0..<rows {
      if isOdd() { text += pick(["\n", "# region=DE\n", "#\n", " \r\n", line, "\r", "# batch_num=x\n", "#,\"\n"]) }
      var cells = columns.map { cell($0) }
      if isOdd() { cells.append(pick(["", "x", "1"])) }
      if isOdd(), cells.count > 1 { cells.removeLast() }
      text += cells.joined(separator: separator)
      text += isOdd() ? pick(["\r\n", "\r", "\n\n", " \n", "\n\r"]) : pick(["\n", "\n", "\n", "\r\n"])
    }
    if Bool.random(using: &random) { text += String(repeating: "\n", count: 300) }
  }

  mutating func damage(times: Int) {
    var bytes = Array(text.unicodeScalars)
    for _ in 0..<times {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: bytes[place] = pick(Array("\"\n\r,;#\\-\t 9aA".unicodeScalars))
      case 1: bytes.remove(at: place)
      default: bytes.insert(bytes[place], at: place)
      }
    }
    text = String(String.UnicodeScalarView(bytes))
  }

  private mutating func pick<Value>(_ values: [Value]) -> Value {
    values[Int.random(in: 0..<values.count, using: &random)]
  }

  private mutating func isOdd() -> Bool { hostility > 0 && Int.random(in: 0..<hostility, using: &random) == 0 }

  private mutating func cell(_ column: Int) -> String {
    let plain = plainCell(column)
    guard isOdd() else { return plain }
    switch Int.random(in: 0..<10, using: &random) {
    case 0: return "\"\(plain)\""
    case 1: return " \(plain)"
    case 2: return "\(plain)\t"
    case 3: return "\"\(plain)\"x"
    case 4: return "\"\(plain)\"\"\n\""
    case 5: return "\(plain)\(plain)"
    case 6: return String(plain.dropLast())
    case 7: return plain.uppercased()
    case 8: return String(repeating: plain + "0", count: 30)
    default: return oddCell(column)
    }
  }

  private mutating func plainCell(_ column: Int) -> String {
    switch column {
    case 0:
      let key = TemporaryExposureKey(high: random.next(), low: random.next())
      return pick([key.hex, key.hex, key.hex.uppercased(), Base64.encode(key.bytes)])
    case 1: return pick(["2654064", "2654208", "2147483647", "0", "", "-5", "26540"])
    case 2: return pick(["144", "1", "", "0", "2000000000"])
    case 3: return pick(["8", "", "0", "-2147483648"])
    case 4: return pick(ReportType.allCases.map(\.name) + ["", "1", "5", "77"])
    case 5: return pick(["", "-14", "4000", "0", "2147483647"])
    case 6: return pick(["true", "false", "false"])
    case 7: return pick(["DE", "DE", "AT", "", "\"\"", "\"DE\""])
    case 8: return pick(["DE AT", "DE AT", "IT", "", "\"\"", "AT|DE"])
    case 9: return pick(["", "", "", "AQI="])
    case 10: return pick(["", "x", "1"])
    default: return pick(["\"a\"", ""])
    }
  }

  private mutating func oddCell(_ column: Int) -> String {
    switch column {
    case 0:
      let key = TemporaryExposureKey(high: random.next(), low: random.next())
      let text = Base64.encode(key.bytes)
      return pick([
        String(text.dropLast(2)), text.replacing("+", with: "-"), String(key.hex.dropLast()), key.hex + "0", "",
        "temporary_exposure_key", "\(key.hex.prefix(31))g", "\(key.hex.prefix(8))-\(key.hex.dropFirst(8))", "====",
      ])
    case 1, 2, 3, 5:
      return pick([
        "2147483648", "-2147483649", "99999999999", "+1", "-", "--1", "1-", "1.0", "00000000144", "0000000144",
        "000000144", "-0000000001", "x", "0x10", "1 4", "-0", "\"\"",
      ])
    case 4:
      return pick([
        "CONFIRMED_TESTS", "CONFIRMED_TES", "confirmed_test", "REVOKED1", "RECURSIV", "UNKNOWN ", "SELF-REPORT", "A",
        "9999999999", "1x", "\"REVOKED\"", "CONFIRMED_CLINICAL_DIAGNOSIS_", "@",
      ])
    case 6: return pick(["TRUE", "False", "0", "1", "", "yes", "truefalse", "2", "tru", "\"true\"", "falsef"])
    case 7, 8:
      return pick([
        "a,b", "\"a,b\"", "\"say \"\"hi\"\"\"", "\\e", "\\x20", "\\", "Österreich", "\"a\nb\"", "\"a\rb\"", "#", " ",
        String(repeating: "L", count: 55), String(repeating: "L", count: 56), String(repeating: "L", count: 57),
        String(repeating: "L", count: 300), "\u{0}",
      ])
    case 9: return pick(["=", "AQI", "AQI= ", "\"AQI=\"", "*", "AA=="])
    default: return pick(["\"", "\"open", "\"\"\"\"", " x", "a\"b", "\u{0}"])
    }
  }
}
