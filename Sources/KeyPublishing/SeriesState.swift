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

  static func note(of series: String) -> String { "publishing/series/\(series)" }

  init(of series: String, from state: any StoredState) throws {
    guard let note = try state.note(named: Self.note(of: series)) else {
      self.init()
      return
    }
    do {
      self = try JSONDecoder().decode(SeriesState.self, from: Data(note))
    } catch {
      throw StorageFault(.corrupt, "the note \(Self.note(of: series)) cannot be read")
    }
  }

  init() {}

  /// Keeps the state, provided that nobody else changed it.
  func save(for series: String, replacing old: SeriesState, in transaction: any StorageTransaction) throws {
    guard try SeriesState(of: series, from: transaction) == old else {
      throw PublishingFault(.otherRound, "another round published series \(series) at the same time")
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    try transaction.setNote(Array(encoder.encode(self)), named: Self.note(of: series))
  }
}
