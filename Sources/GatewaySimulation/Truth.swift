import ExposureKeys
import KeyNormalization

/// What was said by whom in truth, beside what a gateway made of it.
struct Truth {
  struct Said {
    let key: ClaimedKey
    let source: String
    /// The document that says it.
    let document: String
    /// When its server published it, in seconds since 1970.
    let time: Int64
    /// Whether apps must get it: its server told the truth, and the document stayed as it was.
    var isDue = true
    /// What its origin says about it now, where that is not what it said first, and since when.
    var change: Change?

    struct Change {
      let type: ReportType
      /// The document that says it.
      let document: String
      let time: Int64
    }

    var expiry: Int64 { (Int64(key.rollingStart ?? 0) + Int64(key.rollingPeriod ?? 144)) * 600 }
  }

  private(set) var said: [KeySubject: Said] = [:]
  /// In the order in which they were said, so that a seed draws the same ones again.
  private(set) var order: [KeySubject] = []

  mutating func say(_ key: ClaimedKey, _ source: String, _ document: String, at time: Int64, isDue: Bool = true) {
    let subject = KeySubject(key: key.key, rollingStart: key.rollingStart ?? 0)
    guard said[subject] == nil else { return }
    said[subject] = Said(key: key, source: source, document: document, time: time, isDue: isDue)
    order.append(subject)
  }

  mutating func change(_ subject: KeySubject, to type: ReportType, _ document: String, at time: Int64) {
    said[subject]?.change = Said.Change(type: type, document: document, time: time)
  }

  /// The document changed, was withdrawn, or cannot be believed: what it says may come, and need not.
  mutating func release(document: String, of source: String) {
    func isIt(_ name: String?) -> Bool { name.map { Self.isDocument(document, $0) } ?? false }
    for subject in order where said[subject]?.source == source {
      if isIt(said[subject]?.document) { said[subject]?.isDue = false }
      if isIt(said[subject]?.change?.document) { said[subject]?.isDue = false }
    }
  }

  /// Whether the gateway's document is what was said under this name: a file with its size and time, what was put aside
  /// beside it, the day of an hour, a federation's batch that was found under another day.
  static func isDocument(_ document: String, _ name: String) -> Bool {
    document == name || document.hasPrefix(name + "#") || (name.hasSuffix("@") && document.hasPrefix(name))
      || name.hasPrefix(document + "/") || isBatch(document, name)
  }

  private static func isBatch(_ document: String, _ name: String) -> Bool {
    guard let tag = name.split(separator: "/").last, tag.contains("-") else { return false }
    return document.hasSuffix("/" + tag)
  }
}
