package import KeyFormats
internal import KeyIntake

extension ReadingNotes {
  /// What was skipped or read leniently, a line each.
  package func lines(of document: String) -> [String] {
    sorted.map { note, count in "\(document): \(note.text)\(count > 1 ? " (\(grouped(count)) times)" : "")" }
  }
}
