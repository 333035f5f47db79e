import BundleTrust
import ExposureKeys
import KeyFormats

// The code of the documentation, each example in a function that gives it its surroundings. A test finds every example
// of the pages here, and other tests run them.

/// ExposureKeys.md
func describe(_ key: TemporaryExposureKey, of day: Day) -> ClaimedKey {
  var claim = ClaimedKey(key: key)
  claim.rollingStart = Int32(day.firstInterval.rawValue)
  claim.rollingPeriod = 144
  claim.reportType = ReportType.confirmedTest.rawValue
  return claim
}

/// ExposureKeys.md
func age(of claim: ClaimedKey, at now: Instant) -> Int64? {
  guard let start = claim.rollingStart else { return nil }
  return now.day.daysSince1970 - IntervalNumber(Int64(start)).day.daysSince1970
}

/// README.md
func countKeysPerDay(_ bytes: [UInt8]) throws -> [Day: Int] {
  let document = try DecodedDocument(bytes)
  var keysPerDay: [Day: Int] = [:]
  for claim in document.keys {
    guard let start = claim.rollingStart else { continue }
    keysPerDay[IntervalNumber(Int64(start)).day, default: 0] += 1
  }
  return keysPerDay
}

/// README.md
func convertToCSV(_ bytes: [UInt8]) throws -> [UInt8] {
  let document = try DecodedDocument(bytes)
  let csv = try document.bytes(as: .csv)
  return csv
}

/// TutorialSwiftProgrammer.md
func keepFirst(_ files: [[UInt8]]) throws -> [ClaimedKey] {
  var seen: Set<TemporaryExposureKey> = []
  var kept: [ClaimedKey] = []
  for bytes in files {
    let document = try DecodedDocument(bytes)
    kept += document.keys.filter { seen.insert($0.key).inserted }
  }
  return kept
}

/// TutorialSwiftProgrammer.md
func whatMayGoOut(_ document: DecodedDocument, at now: Instant) -> [ClaimedKey] {
  let publishable = document.keys.filter { claim in
    guard let start = claim.rollingStart, let period = claim.rollingPeriod else { return false }
    let expiry = IntervalNumber(Int64(start) + Int64(period)).start
    return expiry.secondsSince1970 + 7200 <= now.secondsSince1970
  }
  return publishable
}

/// ReadingKeys.md
func countRevoked(_ source: any SeekableSource) throws -> (revoked: Int, rejected: Int) {
  let document = try KeyDocument(source)
  var chunk = KeyChunk()
  var (revoked, rejected) = (0, 0)
  while try document.decoder.decode(into: &chunk) {
    revoked += chunk.keys.withKeys { keys in keys.count { $0.reportTypeClaim == .stated(.revoked) } }
    rejected += chunk.rejections.count
    chunk.advance()
  }
  return (revoked, rejected)
}

/// ReadingKeys.md
func explain(_ bytes: [UInt8], print: (String) -> Void) {
  do {
    let document = try DecodedDocument(bytes, limits: ReadLimits(documentBytes: 16 << 20))
    for rejection in document.rejections { print("key \(rejection.position.index): \(rejection.detail)") }
    for (note, count) in document.notes.sorted { print("\(note.text) (\(count) times)") }
  } catch let error as FormatError where error.code == .unrecognizedFormat {
    print("no key file: \(error.reason)")
  } catch {
    print("\(error)")
  }
}

/// ReadingKeys.md and README.md
func verify(_ bytes: [UInt8], trusting ring: TrustRing, at now: Instant) throws -> SignatureReport {
  var digest = ExportDigest(includingBody: true)
  let bundle = try KeyDocument(MemorySource(bytes)) { digest.update($0) }
  let document = try DecodedDocument(decoding: bundle.decoder)
  let report = BundleVerifier(trusting: ring).verify(
    digest.finalize(), infos: document.header.signatureInfos, signatures: try bundle.signatures(), at: now)
  return report
}

/// WritingKeys.md
func convertStream(_ source: any SeekableSource, to sink: any ByteSink) throws {
  let document = try KeyDocument(source)
  let encoder = try FormatCatalog.encoder(for: .csv, OutputBuffer(sink))
  try encoder.begin(document.decoder.header)
  var chunk = KeyChunk()
  while try document.decoder.decode(into: &chunk) {
    try chunk.keys.withKeys { keys in
      try encoder.encode(keys, regions: document.decoder.regions, unknownFields: chunk.unknownFields)
    }
    chunk.advance()
  }
  try encoder.finish(document.decoder.header)
}

/// WritingKeys.md
func fitForFederation(_ original: DecodedDocument, print: (String) -> Void) throws -> [UInt8] {
  var document = original
  let defaults = FieldDefaults(reportType: ReportType.confirmedTest.rawValue, daysSinceOnset: 4000, origin: "DE")
  let report = try document.fit(to: .efgsProtobuf, defaults: defaults)
  for (part, loss) in report.lost { print("\(loss.notCarried + loss.outOfRange) keys lose \(part.rawValue)") }
  for rejection in document.rejections { print("key \(rejection.position.index): \(rejection.detail)") }
  return try document.bytes(as: .efgsProtobuf)
}

/// WritingKeys.md
func bundle(_ original: DecodedDocument, signedBy signer: SigningIdentity, at now: Instant) throws -> [UInt8] {
  var document = original
  document.header.batchNum = 1
  document.header.batchSize = 1
  document.header.signatureInfos = [signer.info]
  _ = try document.fit(to: .gaenExport)
  let export = try document.bytes(as: .gaenExport)
  let signatures = try sign(ExportDigests(of: export), with: [signer])

  let bundle = MemorySink()
  let archive = ZipWriter(bundle, date: now)
  try archive.addEntry("export.bin") { try $0.write(export) }
  try archive.addEntry("export.sig") { try $0.write(SignatureFile.encode(signatures)) }
  try archive.finish()
  return bundle.bytes
}
