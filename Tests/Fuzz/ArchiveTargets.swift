import GatewayTesting
import KeyArchive
import TransparencyLog

/// What is read of an archive that somebody else may have written: its catalogue, its checkpoint, and files that are kept as
/// parts of others.
let archiveTargets: [String: FuzzTarget] = [
  "archive-catalogue": fuzzCatalogue,
  "archive-checkpoint": fuzzArchiveCheckpoint,
  "archive-parts": fuzzParts,
  "deflate-trace": fuzzTrace,
]

/// A line has one spelling. What is taken behind the checkpoint is what is read once the checkpoint vouches for it; a record that it
/// vouches for and that is another one is told.
@Sendable private func fuzzCatalogue(_ input: UnsafeRawBufferPointer) {
  let bytes = Array(input)
  for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
    Array(line).withUnsafeBytes { line in
      guard let members = RecordText.decode(line) else { return }
      check(
        RecordText.encode(members).elementsEqual(line), "another spelling: \(String(decoding: line, as: UTF8.self))")
    }
  }
  let empty = ArchiveCheckpoint(origin: "keyferry-archive/fuzz", size: 0, root: .empty)
  guard let reading = try? ArchiveFolder.reading(of: bytes, against: empty, name: "catalogue") else {
    return check(false, "what no checkpoint vouches for is refused")
  }
  let catalogue = reading.catalogue
  check(
    reading.unfinishedRecords == catalogue.size && reading.tornBytes <= bytes.count, "\(reading.tornBytes) torn bytes")
  for sighting in catalogue.files {
    _ = catalogue.turn(to: sighting.name)
    check(catalogue[sighting.digest] != nil && catalogue.sighting(of: sighting.name) != nil, "a file without content")
  }
  let kept = Array(bytes.dropLast(reading.tornBytes))
  guard let again = try? ArchiveFolder.reading(of: kept, against: catalogue.checkpoint, name: "catalogue") else {
    return check(false, "what was read is refused once it is vouched for")
  }
  check(again.unfinishedRecords == 0 && again.tornBytes == 0, "something is left behind the checkpoint")
  check(
    again.catalogue.sightings == catalogue.sightings && again.catalogue.contents == catalogue.contents, "read otherwise"
  )
  guard !kept.isEmpty else { return }
  var other = kept
  other[Int(kept[0]) % kept.count] ^= 1
  check(
    (try? ArchiveFolder.reading(of: other, against: catalogue.checkpoint, name: "catalogue")) == nil,
    "a change is not told")
}

/// A checkpoint has one spelling.
@Sendable private func fuzzArchiveCheckpoint(_ input: UnsafeRawBufferPointer) {
  guard let checkpoint = try? ArchiveCheckpoint(Array(input), name: "checkpoint") else { return }
  check(Array(checkpoint.text.utf8) == Array(input), "another spelling")
}

/// Whatever the parts say, they are of this bundle, and what comes of them is the same each time.
@Sendable private func fuzzParts(_ input: UnsafeRawBufferPointer) {
  let body = Array(input)
  let first = FileParts.decode(body: body) { _ in sourceDocument }
  check(first == FileParts.decode(body: body) { _ in sourceDocument }, "something else the second time")
  _ = FileParts.decode(body: body) { _ in nil }
}

private let sourceDocument: [UInt8] = {
  var random = SeededRandom(seed: 1)
  return (0..<20).reduce(into: Array("EK Export v1    ".utf8)) { bytes, _ in
    bytes += [0x3a, 0x12, 0x0a, 0x10] + random.bytes(16)
  }
}()

/// A stream that is taken apart is put together bit by bit; so is what zlib makes of the input, at every level.
@Sendable private func fuzzTrace(_ input: UnsafeRawBufferPointer) {
  let bytes = Array(input)
  let choice = Int(bytes.first ?? 0)
  let made =
    (try? Zlib.deflate(bytes, level: Int32(choice % 10), strategy: Zlib.Strategy.allCases[choice / 10 % 5])) ?? []
  for (stream, isWhole) in [(bytes, false), (made, true)] {
    guard let (document, trace) = DeflateTrace.read(stream, limit: 1 << 22) else {
      check(!isWhole, "a stream of zlib is not taken apart")
      continue
    }
    check(!isWhole || document == bytes, "a stream of zlib says something else")
    // Others may say the same in another way, which is why every file is compared before it is kept as parts.
    let again = DeflateTrace.write(trace[...], of: document)
    check(!isWhole || again == stream, "a stream of zlib is put together otherwise")
  }
  _ = DeflateTrace.write(bytes[...], of: sourceDocument)
}
