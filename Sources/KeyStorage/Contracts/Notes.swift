package import ExposureKeys

/// What publishing and receiving keep under a name.
package enum StoredNote: Hashable, Sendable {
  /// The secret behind look-alikes. It is made once, and bundles that are out cannot be made again without it.
  case paddingSecret
  /// How many rounds of look-alikes the keys of a day have: in all series, or as one series has released them.
  case paddingRounds(Day, series: String?)
  /// Where a series stands: its window, its key, the recalls that it knows.
  case seriesState(String)
  /// The first event of the newest day on which uploads came in by a door: its number and its time.
  case firstUploads(door: String)

  /// What stores call it. A name never changes, because old stores have it.
  package var name: String {
    switch self {
    case .paddingSecret: "publishing/padding-secret"
    case .paddingRounds(let day, series: nil): "publishing/padding/\(day)"
    case .paddingRounds(let day, let series?): "publishing/padding/\(series)/\(day)"
    case .seriesState(let series): "publishing/series/\(series)"
    case .firstUploads(let door): "receiving/uploads/\(door)"
    }
  }
}

/// A note that gets another value; `nil` removes it.
package struct NoteChange: Hashable, Sendable {
  package var note: StoredNote
  package var value: [UInt8]?

  package init(_ note: StoredNote, _ value: [UInt8]?) {
    self.note = note
    self.value = value
  }
}
