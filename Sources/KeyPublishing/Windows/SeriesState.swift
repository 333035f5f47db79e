internal import ExposureKeys
internal import FoundationEssentials
internal import KeyStorage

/// What the gateway remembers about a series from round to round, beside its bundles.
struct SeriesState: Hashable, Sendable, Codable {
  /// Where the last window ended that was published, or was due and had nothing to publish.
  var windowEnd: Int64?
  /// How many recalls had been carried out then.
  var recalls = 0
  /// The fingerprint of the key that signs.
  var key: String?
  /// By kind, the first bundle that this key signed. Earlier ones are in no index any more.
  var firstOrdinals: [String: Int] = [:]
  /// Where the last edition ended, or the time in which one would have been and had nothing; `nil` while none are made.
  var editionEnd: Int64?
  /// No edition is numbered lower.
  var firstEdition: Int?
  /// Whence the next round goes on; `nil` where it looks at everything.
  var mark: RoundMark?
  /// How far windows have ever gone; `nil` before the first one.
  var reach: Reach?

  /// The latest window that was ever closed, also by a clock that was ahead.
  struct Reach: Hashable, Sendable, Codable {
    /// Where it ended.
    var end: Int64
    /// The number of the first increment after it.
    var next: Int

    /// What a clock may be ahead without being asked why, and some time until it is set right.
    static let nearSeconds = SeriesManifest.nearSeconds

    /// What is known of it when a round has closed an earlier window: where its day is so far ahead that apps by day are given
    /// it as a whole, nothing new goes into that day any more.
    func afterRound(endingAt windowEnd: Int64) -> Reach {
      let day = Instant(secondsSince1970: end - 1).day
      guard SeriesManifest.isPassedOver(day, windowEnd: windowEnd) else { return self }
      return Reach(end: day.start.secondsSince1970 + 86_400, next: next)
    }
  }

  init(of series: String, from state: any PublishingState) throws {
    let name = StoredNote.seriesState(series)
    guard let note = try state.note(name) else {
      self.init()
      return
    }
    do {
      self = try JSONDecoder().decode(SeriesState.self, from: Data(note))
    } catch {
      throw StorageFault(.corrupt, "the note \(name.name) cannot be read")
    }
  }

  init() {}

  /// How the state is kept, provided that nobody else changed it.
  func change(for series: String, replacing old: SeriesState, in state: any PublishingState) throws -> NoteChange {
    guard try SeriesState(of: series, from: state) == old else {
      throw PublishingFault(.otherRound, "another round published series \(series) at the same time")
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return NoteChange(.seriesState(series), Array(try encoder.encode(self)))
  }
}
