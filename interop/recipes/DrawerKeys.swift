import ExposureKeys
import GatewayTesting

/// The keys of one dump, and what must be read of them. They are random and made for this project.
struct DrawerKey {
  var data: [UInt8]
  var start: Int32?
  var period: Int32?
  var risk: Int32?
  var type: Int32?
  var onset: Int32?
  var isRevised = false
  var origin: String?
  var visited: [String]?

  var hex: String { data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
  var base64: String { drawerBase64(data) }
  var uuid: String {
    let digits = Array(hex)
    let cuts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
    return cuts.map { String(digits[$0]) }.joined(separator: "-")
  }

  /// One line of the expected reading; `-` is absent, and an empty list is `[]`.
  var line: String {
    func cell(_ number: Int32?) -> String { number.map { "\($0)" } ?? "-" }
    let regions = visited.map { $0.isEmpty ? "[]" : $0.joined(separator: "+") } ?? "-"
    return [
      hex, cell(start), cell(period), cell(risk), cell(type), cell(onset), isRevised ? "revised" : "-", origin ?? "-",
      regions,
    ].joined(separator: " ")
  }
}

func drawerBase64(_ bytes: [UInt8]) -> String {
  let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  var text = ""
  for start in stride(from: 0, to: bytes.count, by: 3) {
    let part = Array(bytes[start..<min(start + 3, bytes.count)])
    let bits = (0..<3).reduce(0) { $0 << 8 | ($1 < part.count ? Int(part[$1]) : 0) }
    for index in 0..<4 { text.append(index <= part.count ? digits[bits >> (18 - 6 * index) & 63] : "=") }
  }
  return text
}

/// One file of the drawer.
struct DrawerFile {
  /// `corona-warn-app/copy_1.sql`: the system or the tool, and the file.
  var name: String
  var bytes: [UInt8]
  /// The format that it is recognised as.
  var format: String
  var keys: [DrawerKey]
  /// Reasons of rejected keys, in reading order.
  var rejected: [String] = []
  /// Whether a file that was cut off tells by itself that it was: of a table nobody knows how long its last number was.
  var tellsItsEnd = true

  init(
    _ name: String, _ format: String, _ keys: [DrawerKey], tellsItsEnd: Bool = true, rejected: [String] = [],
    _ text: String
  ) {
    self.init(name, format, keys, tellsItsEnd: tellsItsEnd, rejected: rejected, bytes: Array(text.utf8))
  }

  init(
    _ name: String, _ format: String, _ keys: [DrawerKey], tellsItsEnd: Bool = true, rejected: [String] = [],
    bytes: [UInt8]
  ) {
    self.name = name
    self.format = format
    self.keys = keys
    self.bytes = bytes
    self.tellsItsEnd = tellsItsEnd
    self.rejected = rejected
  }

  /// What must be read of it, for `NAME.expected`.
  var expected: [UInt8] {
    var lines = ["format: \(format)", "keys: \(keys.count)"]
    if !rejected.isEmpty { lines.append("rejected: \(rejected.joined(separator: " "))") }
    if !tellsItsEnd { lines.append("end: untold") }
    return Array(((lines + [""] + keys.map(\.line)).joined(separator: "\n") + "\n").utf8)
  }
}

/// What the keys of a dump state.
enum DrawerVariant: Int, CaseIterable {
  /// Whole days, every field.
  case usual = 1
  /// Short periods, and fields that are absent.
  case sparse
  /// Types and onsets of all kinds, revoked ones among them.
  case mixed

  func keys(_ seed: UInt64) -> [DrawerKey] {
    var random = SeededRandom(seed: seed &* 16 &+ UInt64(rawValue))
    let count = self == .usual ? 6 : self == .sparse ? 5 : 9
    return (0..<count).map { index in
      var key = DrawerKey(data: random.bytes(16))
      key.start = 2_678_112 - 144 * Int32.random(in: 1...14, using: &random)
      key.period = 144
      key.risk = .random(in: 1...8, using: &random)
      key.type = 1
      key.onset = .random(in: -2...12, using: &random)
      key.origin = "DE"
      key.visited = ["DE", "FR", "IT"]
      switch self {
      case .usual: break
      case .sparse:
        key.period = .random(in: 1...143, using: &random)
        if index.isMultiple(of: 2) { (key.risk, key.onset) = (nil, nil) }
        if index.isMultiple(of: 3) { (key.type, key.origin, key.visited) = (nil, nil, nil) }
      case .mixed:
        key.type = random.pick([1, 2, 3, 5])
        key.origin = random.pick(["DE", "IT", "ES", "PL"])
        key.visited = [random.pick(["AT", "BE"]), "DK"]
        key.risk = .random(in: 0...8, using: &random)
      }
      return key
    }
  }
}

extension [DrawerKey] {
  /// What a format without some fields leaves of the keys.
  func keeping(
    type: Bool = true, onset: Bool = true, origin: Bool = true, visited: Bool = true, risk: Bool = true,
    revised: Bool = true
  ) -> [DrawerKey] {
    map { key in
      var key = key
      if !type { key.type = nil }
      if !onset { key.onset = nil }
      if !origin { key.origin = nil }
      if !visited { key.visited = nil }
      if !risk { key.risk = nil }
      if !revised { key.isRevised = false }
      return key
    }
  }

  func changed(_ change: (inout DrawerKey) -> Void) -> [DrawerKey] {
    map { key in
      var key = key
      change(&key)
      return key
    }
  }
}
