internal import ArgumentParser
internal import Containers
internal import ExposureKeys
internal import KeyConversion
internal import KeyDevice
internal import KeyFormats
internal import KeyIntake
internal import Sightings

struct DeviceMatch: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "match", abstract: "Find which published keys a phone or a receiver met, when, how long and how near.",
    discussion: """
      Reads logs of RaMBLE, microG, iOS 13.5, the companion app, esp-ena and other receivers, and Bluetooth captures (pcap, \
      pcapng, btsnoop, PacketLogger). The log is only read; nothing of it is copied, and no output names an identifier. \
      Without signal strength or metadata a key is met or not, and how near is not judged.

      A row per key: its day, the first and the last valid sighting (UTC), minutes and the least and typical attenuation as the \
      phone counts them, and what the key's bundles state.

      Exit codes: 0 read, met or not; 1 documents were left out; 2 it could not be done.

      Examples:
        keyferry device match exposure.db bundles/
        keyferry device match btsnoop_hci.log *.zip --csv > met.csv
        keyferry device match log.csv archive/ --phone microg --json
      """)

  @Argument(help: ArgumentHelp("The log of sightings, a file.", valueName: "log"), completion: .file())
  var log: String

  @Argument(
    help: ArgumentHelp("Key files, folders and archives; - is standard input.", valueName: "file"), completion: .file())
  var files: [String]

  @Option(help: "The phone whose rules decide which sightings count.")
  var phone: PhoneModel = .google

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Judge the age of sightings at this time; only apple-2020 asks.", valueName: "time"))
  var at: Instant?

  @Flag(help: "Show key data in each row.")
  var showKeys = false

  @Flag(help: "Show a SHA-256 digest of the key in each row.")
  var hashKeys = false

  @Option(
    help: ArgumentHelp("Write a page with a strip for each day, HTML; keys are numbered.", valueName: "out"),
    completion: .file(extensions: ["html"]))
  var picture: String?

  @Flag(help: "Print the rows as CSV.")
  var csv = false

  @Flag(help: "Print the result as JSON (schemas/device-match.schema.json).")
  var json = false

  @OptionGroup var input: InputOptions
  @OptionGroup(title: "Folders and archives") var containers: ContainerOptions
  @OptionGroup var loudness: LoudnessOptions

  func validate() throws {
    guard log != "-" else { throw ValidationError("the log must be a file: a database cannot be read from a pipe") }
    try InputOptions.checkPaths(files)
    try DevicePage.check(picture, inputs: [log] + files)
    guard !(csv && json) else { throw ValidationError("--csv and --json exclude each other") }
    guard !(showKeys && hashKeys) else { throw ValidationError("--show-keys and --hash-keys exclude each other") }
  }

  func run() throws {
    let (table, tally, format) = try Self.sightings(log)
    let phone = Phone(phone, now: at ?? table.dayRange?.upperBound.endOfDay ?? Clock.now)
    var matches = KeyMatches(phone, showsKey: showKeys ? .data : hashKeys ? .digest : .none)
    let search = IdentifierSearch(table)
    var sum = DocumentSum(input.walk(files, containers), isAlways: false)
    var keys = 0
    try sum.visit(keepsGoing: containers.keepGoing ?? true) { document, _, _ in
      var found: [(ClaimedKey, [Broadcast])] = []
      let header = try DeviceKeys.visit(document) { chunk, _ in
        keys += chunk.keys.count
        search.find(chunk) { _, key in found.append((key, search.broadcasts(of: key))) }
      }
      for (key, broadcasts) in found { matches.add(key, broadcasts, document.name, header) }
      return (nil, nil)
    } leftOut: { _ in
    }
    guard sum.readCount > 0 else {
      sum.tell()
      return try exit(.failed)
    }
    let report = DeviceMatchReport(matches, keys: keys, table, tally, format)
    if json {
      try Console.document(line: try JSONText.render(report))
    } else if csv {
      try Console.document(report.csv)
    } else {
      try Console.result(report.text)
    }
    if let picture {
      var page = DevicePage(title: "Keys that a log met", notes: ["phone \(phone.model.exactness)"])
      page.add("When, and how near", matches.strips.picture)
      try page.write(to: picture)
    }
    Self.tell(tally)
    sum.tell()
    try exit(sum.status(hasRejections: false))
  }

  /// Reads a log whole: its sightings stay in memory, forty bytes each.
  private static func sightings(_ path: String) throws -> (SightingTable, SightingTally, SightingFormat) {
    let reader = try SightingReader(try FileSource(path: path), name: path, path: PathText.bytes(path))
    var all: [Sighting] = []
    var chunk: [Sighting] = []
    while try reader.read(into: &chunk) {
      guard all.count + chunk.count <= SightingTable.sightingLimit else {
        throw FormatError(.limitExceeded, place: path, "more than \(SightingTable.sightingLimit) sightings")
      }
      all += chunk
    }
    guard !all.isEmpty else {
      throw FormatError(
        .unrecognizedFormat, place: path,
        "it is \(reader.format.summary), and has no sighting among \(counted(reader.tally.records, "record"))")
    }
    return (SightingTable(all), reader.tally, reader.format)
  }

  private static func tell(_ tally: SightingTally) {
    for (reason, count) in tally.rejected.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      let example = tally.examples.first { $0.reason == reason }.map { ", first \($0.place): \($0.detail)" } ?? ""
      Console.note("\(counted(count, "row")) of the log left out (\(reason.rawValue))\(example)")
    }
  }
}

extension Day {
  fileprivate var endOfDay: Instant { Instant(secondsSince1970: start.secondsSince1970 + 86_400) }
}

/// The keys that were met, each once, with the documents that it is in.
struct KeyMatches {
  enum KeyText { case none, data, digest }

  struct Match: Encodable {
    var key: String?
    let day: String
    let rollingStart: Int
    let rollingPeriod: Int?
    let transmissionRisk: Int?
    let reportType: Int?
    let daysSinceOnset: Int?
    /// Sightings of the key's identifiers, and those that count.
    let sightings: Int
    let validSightings: Int
    let first: String?
    let last: String?
    let minutes: Double?
    let leastAttenuation: Int?
    let typicalAttenuation: Int?
    let confidence: Int?
    /// Why the phone counts nothing, or does not judge how near.
    let note: String?
    var documents: [String]
    let region: String?
    let published: String?
  }

  let phone: Phone
  private let showsKey: KeyText
  private var places: [TemporaryExposureKey: [Int32: Int]] = [:]
  private(set) var matches: [Match] = []
  private var dots: [DayStrips.Dot] = []

  /// The sightings that count, by key; keys are called by their number.
  var strips: DayStrips {
    DayStrips(
      keys: matches.indices.map { "key \($0 + 1) of \(matches[$0].day)" }, dots: dots,
      bands: [.init(name: "to 55 dB", upTo: 55), .init(name: "to 63 dB", upTo: 63), .init(name: "to 73 dB", upTo: 73)])
  }

  /// So many documents are named for a key.
  private static let documentLimit = 20

  init(_ phone: Phone, showsKey: KeyText) {
    self.phone = phone
    self.showsKey = showsKey
  }

  mutating func add(_ key: ClaimedKey, _ broadcasts: [Broadcast], _ document: String, _ header: ExportHeader) {
    if let place = places[key.key]?[key.rollingStartWord] {
      if matches[place].documents.count < Self.documentLimit { matches[place].documents.append(document) }
      return
    }
    places[key.key, default: [:]][key.rollingStartWord] = matches.count
    var reception = Reception()
    var note: String?
    switch phone.period(of: key) {
    case .failure(let lost): note = lost.loss.text
    case .success(let period):
      reception = phone.receive(broadcasts, of: key, period: period)
      if reception.sightings.isEmpty { note = reception.mainLoss?.text }
    }
    let seen = reception.sightings
    dots += seen.map {
      DayStrips.Dot(time: Instant(secondsSince1970: $0.seconds), attenuation: $0.attenuation, key: matches.count)
    }
    var neutral = FirstConfiguration()
    neutral.minimumScore = 0
    let exposures = (try? phone.exposures(broadcasts, of: key, neutral).get()) ?? []
    let isMeasured = !seen.isEmpty
    let times = isMeasured ? seen.map(\.milliseconds) : broadcasts.map(\.milliseconds)
    let attenuations = seen.map(\.attenuation)
    matches.append(
      Match(
        key: showsKey == .none ? nil : showsKey == .data ? key.key.hex : KeyDigest.text(of: key.key),
        day: IntervalNumber(Int64(key.rollingStartWord)).day.description, rollingStart: Int(key.rollingStartWord),
        rollingPeriod: key.rollingPeriod.map(Int.init), transmissionRisk: key.transmissionRisk.map(Int.init),
        reportType: key.reportType.map(Int.init), daysSinceOnset: key.daysSinceOnset.map(Int.init),
        sightings: broadcasts.count, validSightings: seen.count,
        first: times.min().map { Instant(secondsSince1970: $0 / 1000).description },
        last: times.max().map { Instant(secondsSince1970: $0 / 1000).description },
        minutes: isMeasured ? Double(exposures.reduce(0) { $0 + $1.seconds }) / 60 : nil,
        leastAttenuation: attenuations.min(),
        typicalAttenuation: isMeasured
          ? (attenuations.reduce(0, +) + attenuations.count / 2) / attenuations.count : nil,
        confidence: seen.first?.confidence, note: note, documents: [document], region: header.region,
        published: header.endTimestamp.map {
          Instant(secondsSince1970: Int64(clamping: $0)).description
        }))
  }
}

/// What `keyferry device match --json` prints.
struct DeviceMatchReport: Encodable {
  let reportVersion = 1
  let phone: PhoneModel
  let exactness: String
  let logFormat: String
  let sightings: Int
  let withoutRssi: Int
  let withoutMetadata: Int
  let rejectedRows: Int
  let keys: Int
  let matches: [KeyMatches.Match]

  init(
    _ matches: KeyMatches, keys: Int, _ table: SightingTable, _ tally: SightingTally, _ format: SightingFormat
  ) {
    phone = matches.phone.model
    exactness = matches.phone.model.exactness
    logFormat = format.rawValue
    sightings = tally.sightings
    withoutRssi = tally.withoutRSSI
    withoutMetadata = tally.withoutMetadata
    rejectedRows = tally.rejectedCount
    self.keys = keys
    self.matches = matches.matches.sorted { ($0.first ?? "", $0.rollingStart) < ($1.first ?? "", $1.rollingStart) }
  }

  private static let heads = [
    "day", "first", "last", "sightings", "minutes", "least_db", "typical_db", "confidence", "risk", "report_type",
    "onset", "region", "published", "documents", "note",
  ]

  private func cells(_ match: KeyMatches.Match) -> [String] {
    func text(_ number: Int?) -> String { number.map(String.init) ?? "" }
    var cells = [match.day, match.first ?? "", match.last ?? "", "\(match.validSightings)/\(match.sightings)"]
    cells.append(match.minutes.map(shortNumber) ?? "")
    cells += [match.leastAttenuation, match.typicalAttenuation, match.confidence, match.transmissionRisk].map(text)
    cells += [text(match.reportType), text(match.daysSinceOnset), match.region ?? "", match.published ?? ""]
    cells += [match.documents.joined(separator: " "), match.note ?? ""]
    if let key = match.key { cells.append(key) }
    return cells
  }

  var csv: String {
    let heads = Self.heads + (matches.contains { $0.key != nil } ? ["key"] : [])
    func field(_ text: String) -> String {
      let needsQuotes = text.utf8.contains { [0x22, 0x2c, 0x0a, 0x0d].contains($0) }
      return needsQuotes ? "\"" + text.replacing("\"", with: "\"\"") + "\"" : text
    }
    return ([heads] + matches.map(cells)).map { $0.map(field).joined(separator: ",") + "\n" }.joined()
  }

  var text: String {
    var text = "phone \(exactness)\n"
    if !matches.isEmpty {
      let heads = Self.heads + (matches.contains { $0.key != nil } ? ["key"] : [])
      text +=
        TextTable(heads: heads, rows: matches.map { cells($0).map { $0.isEmpty ? "-" : TerminalText.harmless($0) } })
        .text
    }
    let measured = matches.count { $0.validSightings > 0 }
    return text
      + "\(counted(keys, "key")) against \(counted(sightings, "sighting")): \(matches.count) met, "
      + "\(measured) of them counted by this phone\n"
  }
}
