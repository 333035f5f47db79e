import KeyArchive
import TransparencyLog

/// What is read of an archive that somebody else may have written: its catalogue and its checkpoint.
let archiveTargets: [String: FuzzTarget] = [
  "archive-catalogue": fuzzCatalogue,
  "archive-checkpoint": fuzzArchiveCheckpoint,
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
