import BundleTrust
import ExposureKeys
import Foundation
import KeyFiles
import KeyFormats

// The recipes of Recipes.md, each in a function that gives it its surroundings; RecipeTests runs them.

func countPerDay(_ url: URL) throws -> [Day: Int] {
  var keysPerDay: [Day: Int] = [:]
  for key in try KeyFile(contentsOf: url) {
    guard let day = key.day else { continue }
    keysPerDay[day, default: 0] += 1
  }
  return keysPerDay
}

func verifiedKeys(_ url: URL, ringAt ringURL: URL) throws -> [ClaimedKey] {
  let file = try KeyFile(contentsOf: url)
  let ring = try TrustRing(contentsOf: ringURL)
  let report = try file.verify(against: ring)
  guard report.isTrusted else {
    for line in report.lines { print("\(file.name): \(line)") }
    return []
  }
  return Array(file)
}

func tell(_ url: URL, show: (String) -> Void) {
  do {
    let file = try KeyFile(contentsOf: url)
    show("\(file.count) keys, \(file.format)")
  } catch {
    show(error.localizedDescription)
  }
}

func tellRejected(_ url: URL, print: (String) -> Void) throws {
  let file = try KeyFile(contentsOf: url)
  for rejection in file.rejections { print("key \(rejection.position.index): \(rejection.detail)") }
  for (note, count) in file.document.notes.sorted { print("\(note.text) (\(count) times)") }
}

func writeTable(_ url: URL, to tableURL: URL) throws {
  let file = try KeyFile(contentsOf: url)
  try file.document.write(to: tableURL, as: .csv)
}

func writeBatch(_ url: URL, to batchURL: URL, print: (String) -> Void) throws {
  var document = try KeyFile(contentsOf: url).document
  let defaults = FieldDefaults(reportType: ReportType.confirmedTest.rawValue, daysSinceOnset: 4000, origin: "DE")
  let report = try document.fit(to: .efgsJSON, defaults: defaults)
  for (part, loss) in report.lost { print("\(loss.notCarried + loss.outOfRange) keys lose \(part.rawValue)") }
  try document.write(to: batchURL, as: .efgsJSON)
}

func newKeys(in later: URL, since earlier: URL) throws -> [ClaimedKey] {
  let known = Set(try KeyFile(contentsOf: earlier).map(\.key))
  let new = try KeyFile(contentsOf: later).filter { !known.contains($0.key) }
  return new
}

func countPerOrigin(_ url: URL) throws -> [String: Int] {
  let file = try KeyFile(contentsOf: url)
  let perOrigin = Dictionary(grouping: file) { file.regions(of: $0).origin ?? "not stated" }
    .mapValues(\.count)
  return perOrigin
}

func expiredKeys(_ url: URL, at now: Date) throws -> [ClaimedKey] {
  let expired = try KeyFile(contentsOf: url).filter { key in
    guard let start = key.rollingStart, let period = key.rollingPeriod else { return false }
    let end = IntervalNumber(Int64(start) + Int64(period)).start
    return Date(end).addingTimeInterval(2 * 3600) <= now
  }
  return expired
}

func publish(_ url: URL, keyAt keyURL: URL, to bundleURL: URL) throws {
  let key = try SigningKey(pem: String(contentsOf: keyURL, encoding: .utf8))
  let signer = try SigningIdentity(key: key, keyID: "310", keyVersion: "v1")
  var document = try KeyFile(contentsOf: url).document
  document.header.batchNum = 1
  document.header.batchSize = 1
  document.header.signatureInfos = [signer.info]
  _ = try document.fit(to: .gaenExport)
  let export = try document.bytes(as: .gaenExport)

  let bundle = MemorySink()
  let archive = ZipWriter(bundle, date: Instant(Date()))
  try archive.addEntry("export.bin") { try $0.write(export) }
  try archive.addEntry("export.sig") {
    try $0.write(SignatureFile.encode(try sign(ExportDigests(of: export), with: [signer])))
  }
  try archive.finish()
  try Data(bundle.bytes).write(to: bundleURL, options: .atomic)
}
