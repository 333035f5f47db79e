import BundleTrust
import Containers
import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyIntake

/// Reads one input. Returning is success; only a crash, a hang or too much memory is a failure.
typealias FuzzTarget = @Sendable (UnsafeRawBufferPointer) -> Void

/// Everything that reads what strangers wrote, by the name of its folder under `corpus/` and of the vectors' format.
let fuzzTargets = formatTargets.merging(otherTargets) { _, other in other }
  .merging(federationTargets) { _, other in other }
  .merging(logTargets) { _, other in other }
  .merging(settingsTargets) { _, other in other }
  .merging(archiveTargets) { _, other in other }
  .merging(bucketTargets) { _, other in other }
  .merging(sightingTargets) { _, other in other }

/// The decoder of every format.
private let formatTargets: [String: FuzzTarget] = Dictionary(
  uniqueKeysWithValues: KeyFormat.allCases.map { format in
    (format.rawValue, fuzzDecoder { FormatCatalog.decoder(for: format, $0, limits: $1) })
  })

private let otherTargets: [String: FuzzTarget] = [
  "gaen-export": fuzzDecoder(against: ReferenceExport.decode) { ExportDecoder($0, limits: $1) },
  "export-signatures": fuzzSignatures,
  "zip": fuzzArchive,
  "containers": fuzzContainers,
  "deflate": fuzzDeflate,
  "inflate": fuzzInflate,
  "efgs-protobuf": fuzzDecoder(against: ReferenceBatch.decode) { BatchDecoder($0, limits: $1) },
  // Of which dialect it is, is found out.
  "codable-json": fuzzDecoder { JSONKeyDecoder($0, limits: $1) },
  "efgs-json": fuzzDecoder { JSONKeyDecoder($0, limits: $1) },
  "trust-ring": { _ = try? TrustRing(document: Array($0)) },
  "base64": fuzzBase64,
  "key-text": fuzzKeyText,
  "time": fuzzTime,
  "http-fields": fuzzFields,
  "upload-json": fuzzJSON,
  "sample-app-page": fuzzPage,
  "listed-items": fuzzItems,
  "web-token": fuzzToken,
]

/// What is read is what the reference reads, and what its encoding is read as.
@Sendable private func fuzzSignatures(_ input: UnsafeRawBufferPointer) {
  guard let signatures = try? SignatureFile.decode(Array(input)) else { return }
  precondition((try? SignatureFile.decode(SignatureFile.encode(signatures))) == signatures)
  if let expected = try? ReferenceExport.decodeSignatures(Array(input)) { precondition(signatures == expected) }
}

/// Every entry is read to its end.
@Sendable private func fuzzArchive(_ input: UnsafeRawBufferPointer) {
  guard let archive = try? ZipArchive(MemorySource(Array(input)), limits: fuzzLimits) else { return }
  for entry in archive.entries { _ = try? archive.open(entry).readAll(limit: fuzzLimits.documentBytes) }
}

/// Whatever is handed over is read to its end, within the limits, and the same each time; no output leads out of its folder.
@Sendable private func fuzzContainers(_ input: UnsafeRawBufferPointer) {
  let bytes = Array(input)
  let first = containedDocuments(bytes)
  let second = containedDocuments(bytes)
  check(first == second, "something else the second time:\n\(first)\n\(second)")
}

private func containedDocuments(_ bytes: [UInt8]) -> [String] {
  let limits = ContainerLimits(depth: 3, entries: 64, inflatedBytes: 1 << 19, ratio: 200)
  let whole = SourceDocument(name: "input", source: MemorySource(bytes), limits: fuzzLimits)
  var seen: [String] = []
  var total = 0
  do {
    try InputWalk.visitDocuments(in: whole, limits) { found in
      let content = try SequentialSource(found.document.source).readAll(limit: 1 << 20)
      total += content.count
      seen.append("\(found.document.name): \(content.count) bytes, signed \(found.document.signatureFile?.count ?? -1)")
      let parts = found.place.outputPath.split(separator: "/")
      check(!parts.contains("..") && !found.place.outputPath.hasPrefix("/"), "leads out: \(found.place.outputPath)")
      let name = found.document.name
      check(PathText.onOneLine(PathText.text(PathText.bytes(name))) == name, "a name that changes")
    } leaveOut: {
      seen.append("\($0.name): \($0.code)")
    }
  } catch {
    fatalError("\(error)")
  }
  check(total <= limits.inflatedBytes + bytes.count, "\(total) bytes out of \(bytes.count)")
  return seen
}

/// Any document inflates to itself, and is deflated to the same however it is cut: alone and between keys, in the
/// smallest blocks, so that their ends are met often.
@Sendable private func fuzzDeflate(_ input: UnsafeRawBufferPointer) {
  let keys = deflatableKeys
  let cut = Int(input.first ?? 0)
  let documents = [
    Array(input), ExportDecoder.fileHeader + Array(input),
    Array(keys[..<(7500 + cut * 4)]) + Array(input) + Array(keys[(16_000 - cut)...]),
  ]
  for document in documents {
    let whole = deflated(document, piece: document.count)
    check(whole == deflated(document, piece: 1 + cut), "depends on where the document is cut")
    check((try? Zlib.inflate(whole)) == document, "does not inflate to itself")
    check(whole.count <= document.count + document.count / 100 + 64, "\(document.count) bytes became \(whole.count)")
  }
}

private func deflated(_ document: [UInt8], piece: Int) -> [UInt8] {
  var stream: [UInt8] = []
  let writer = DeflateWriter(blockBytes: 8 << 10, shortDocument: 0) { stream.append(contentsOf: $0) }
  for start in stride(from: 0, to: document.count, by: max(piece, 1)) {
    try? writer.write(Array(document[start..<min(start + piece, document.count)]))
  }
  _ = try? writer.finish()
  return stream
}

/// Records of 34 bytes in random order behind the file header.
private let deflatableKeys: [UInt8] = {
  var random = SeededRandom(seed: 1)
  return (0..<700).reduce(into: ExportDecoder.fileHeader) { bytes, _ in
    let low = random.next()
    let fields: [UInt8] = [0x10, UInt8(low & 7) + 1, 0x18, 0x80 | UInt8(low >> 3 & 15), 0xba, 0xa3, 0x01]
    bytes += [0x3a, 0x20, 0x0a, 0x10] + random.bytes(16) + fields
    bytes += [0x20, 0x90, 0x01, 0x28, UInt8(low >> 7 & 3) + 1, 0x30, UInt8(low >> 9 & 15)]
  }
}()

/// Any stream inflates to what zlib makes of it, or is refused at the same place for the same reason, however it is cut; and
/// what zlib deflates inflates to itself.
@Sendable private func fuzzInflate(_ input: UnsafeRawBufferPointer) {
  let choice = Int(input.first ?? 0)
  let bytes = Array(input.dropFirst())
  let strategy = Zlib.Strategy.allCases[choice % 5]
  let deflated = (try? Zlib.deflate(bytes, level: Int32(choice / 5 % 10), strategy: strategy)) ?? []
  for stream in [bytes, deflated] {
    guard let expected = try? Zlib.inflateToFault(stream) else { continue }
    for longest in [1, 1 + choice, 1 << 17] {
      let outcome = inflate(stream, piecesOf: longest)
      let isWhole = outcome.ending != .complete || outcome.bytes.count == expected.bytes.count
      check(outcome.ending == expected.ending, "\(outcome.ending), and zlib says \(expected.ending)")
      check(outcome.count == expected.bytes.count, "\(outcome.count) bytes, of zlib \(expected.bytes.count)")
      check(isWhole && expected.bytes.starts(with: outcome.bytes), "inflates to something else than by zlib")
    }
  }
}

/// The bytes of the reads that succeeded, how many zlib would have made in front of the end, and what that was.
private func inflate(_ stream: [UInt8], piecesOf longest: Int) -> (bytes: [UInt8], count: Int, ending: Zlib.Ending) {
  let inflater = Inflater(PiecewiseSource(stream, longest: longest))
  var bytes: [UInt8] = []
  let room = UnsafeMutableRawBufferPointer.allocate(byteCount: longest, alignment: 1)
  defer { room.deallocate() }
  do {
    while true {
      let count = try inflater.read(into: room)
      if count == 0 { return (bytes, bytes.count, .complete) }
      bytes += room[..<count]
    }
  } catch let error as FormatError {
    let ending: Zlib.Ending =
      error.code == .truncated ? .truncated : error.reason.contains("go on") ? .goesOn : .damaged
    return (bytes, error.byteOffset ?? -1, ending)
  } catch {
    fatalError("\(error)")
  }
}

/// What decodes is what its encoding decodes to.
@Sendable private func fuzzBase64(_ input: UnsafeRawBufferPointer) {
  precondition(Base64.decode(Array(Base64.encode(input).utf8)) == Array(input))
  guard let bytes = Base64.decode(input) else { return }
  precondition(Base64.decode(Array(Base64.encode(bytes).utf8)) == bytes)
}

/// A key that is read is written so that it reads as itself.
@Sendable private func fuzzKeyText(_ input: UnsafeRawBufferPointer) {
  guard case .key(let key) = KeyText.read(input) else { return }
  withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { room in
    guard let place = room.baseAddress else { return }
    KeyText.writeHexadecimal(key, to: place)
    precondition(KeyText.read(UnsafeRawBufferPointer(room)) == .key(key))
    KeyText.writeBase64(key, to: place)
    precondition(KeyText.read(UnsafeRawBufferPointer(rebasing: room[..<24])) == .key(key))
  }
}

/// An instant that is read is written so that it reads as itself.
@Sendable private func fuzzTime(_ input: UnsafeRawBufferPointer) {
  let text = String(decoding: input, as: UTF8.self)
  if let day = Day(text) { precondition(Day(day.description) == day) }
  guard let instant = Instant(text) else { return }
  // Years before 1 have a sign when written and none when read.
  guard instant.secondsSince1970 >= -62_135_596_800 else { return }
  precondition(Instant(instant.description) == instant)
}

/// What strangers write into the fields of requests and answers: dates, ranges, tags, and how long to wait.
@Sendable private func fuzzFields(_ input: UnsafeRawBufferPointer) {
  let text = String(decoding: input, as: UTF8.self)
  // A leap second is the next one, which may be of a year with five digits.
  if let instant = HTTPDate.instant(text), instant.secondsSince1970 < 253_402_300_800 {
    precondition(HTTPDate.instant(HTTPDate.text(instant)) == instant)
  }
  for length in [0, 1, 1000, Int.max] {
    guard case .part(let part) = ByteRange(text, length: length) else { continue }
    precondition(part.lowerBound >= 0 && part.upperBound <= length && !part.isEmpty)
  }
  _ = EntityTag.condition(text)
  for now in [Int64.min, 784_111_777, .max] {
    guard let seconds = RetryPolicy.seconds(retryAfter: text, now: Instant(secondsSince1970: now)) else { continue }
    precondition(seconds >= 0)
    _ = RetryPolicy(retries: 4).delay(beforeRetry: 1, wish: seconds, random: 0.5)
  }
}

/// JSON of uploads is read like that of a page's: what one takes for a value, so does the other, but for text that is no
/// UTF-8, surrogates without partners and numbers that no type holds.
@Sendable private func fuzzJSON(_ input: UnsafeRawBufferPointer) {
  guard let value = JSONValue.parse(Array(input)), input.first != 0xEF else { return }
  var reader = JSONSkimmer(input)
  reader.skipSpace()
  check(reader.value(), "a value for uploads, and not for pages: \(value)")
  reader.skipSpace()
  check(reader.isAtEnd, "longer for uploads than for pages: \(value)")
}

@Sendable private func fuzzPage(_ input: UnsafeRawBufferPointer) {
  guard let page = SampleAppPage(Array(input)) else { return }
  check(page.count <= input.count, "\(page.count) keys in \(input.count) bytes")
}

/// The selector is the first line, and the document what follows.
@Sendable private func fuzzItems(_ input: UnsafeRawBufferPointer) {
  let parts = Array(input).split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
  guard parts.count == 2, let selectors = ItemSelector.all(in: String(decoding: parts[0], as: UTF8.self)) else {
    return
  }
  guard let found = ListedItems(in: Array(parts[1]), selectors, limit: 100) else { return }
  check(found.items.count <= 100 && found.items.allSatisfy { !$0.isEmpty }, "\(found.items.count) items")
}

/// Tokens of certificates, of DP-3T and of peers, in both spellings.
@Sendable private func fuzzToken(_ input: UnsafeRawBufferPointer) {
  let text = String(decoding: input, as: UTF8.self)
  for spelling in [Base64.Spelling.url, .any] {
    guard let token = try? JSONWebSignature(compact: text, spelling: spelling) else { continue }
    _ = (token.algorithm, token.keyID, token.payload)
  }
}
