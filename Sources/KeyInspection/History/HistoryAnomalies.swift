/// What looks wrong in a history, each with its reason and where it is.
struct HistoryAnomalies {
  private(set) var all: [HistoryReport.Anomaly] = []
  private let found: HistoryStudy.Findings

  /// So many documents are named; the others are counted.
  private static let named = 20

  init(_ found: HistoryStudy.Findings, changedNames: [String]) {
    self.found = found
    let documents = found.documents
    tell(
      "unsigned", .error, "exports without a signature", "phones refuse them, and anybody can have made them",
      of: documents.indices.filter { documents[$0].isExport && documents[$0].signers.isEmpty })
    changedContents()
    if !changedNames.isEmpty {
      all.append(
        HistoryReport.Anomaly(
          code: "changed-names", severity: .error, title: "names under which more than one content was seen",
          reason: "what was published was changed afterwards: phones that had the first do not fetch the second",
          count: changedNames.count, documents: Array(changedNames.prefix(Self.named))))
    }
    tell(
      "impossible-windows", .error, "documents whose window cannot be",
      "it ends before it begins or at once, or lies before 2019 or after 2099: apps pass them over, and no plot has them",
      of: documents.indices.filter { documents[$0].isImpossible })
    tell(
      "contradicting-keys", .warning, "keys that stand twice in a document and say different things",
      "phones take one of the two, and nobody knows which", counting: found.contradicting)
    tell(
      "overlapping-periods", .warning, "keys of one key data whose times of use overlap",
      "a phone makes each key once: a file was edited, or keys were put together wrongly", counting: found.overlapping)
    tell(
      "future-keys", .warning, "documents with keys that begin after their window",
      "no phone can have used such a key yet: a clock was wrong, or keys are invented",
      of: documents.indices.filter { documents[$0].future })
    tell(
      "unaligned-keys", .warning, "keys of a whole day that do not begin at midnight",
      "Google's phones refuse a file with such keys in some versions", counting: documents.map(\.unaligned))
    tell(
      "expired-keys", .warning, "keys that were published more than fifteen days after their use",
      "they are of no use to anyone; where they were published before, the file was made from old data",
      counting: found.expired)
    aloneAmongNeighbours()
    tell(
      "low-entropy-keys", .warning, "keys that are not random",
      "text, zeros or few different bytes: keys of tests or of a broken generator, of which no real phone has any",
      counting: documents.map(\.lowEntropy))
    tell(
      "clamped-onsets", .note, "documents in which most keys state one onset, fourteen days or more away",
      "a server cut off or filled in what people said",
      of: documents.indices.filter { documents[$0].bulkOnset != nil })
    tell(
      "side-by-side", .warning, "documents in which keys of one sender seem to stand together",
      "most neighbours are of days that follow each other, and nothing is sorted: who shared keys can be told apart",
      of: documents.indices.filter { documents[$0].isSideBySide })
  }

  private mutating func tell(
    _ code: String, _ severity: HistoryReport.Anomaly.Severity, _ title: String, _ reason: String, of documents: [Int]
  ) {
    guard !documents.isEmpty else { return }
    all.append(
      HistoryReport.Anomaly(
        code: code, severity: severity, title: title, reason: reason, count: documents.count,
        documents: documents.prefix(Self.named).map { found.documents[$0].name }))
  }

  private mutating func tell(
    _ code: String, _ severity: HistoryReport.Anomaly.Severity, _ title: String, _ reason: String, counting keys: [Int]
  ) {
    let count = keys.reduce(0, +)
    guard count > 0 else { return }
    let documents = keys.indices.filter { keys[$0] > 0 }
    all.append(
      HistoryReport.Anomaly(
        code: code, severity: severity, title: title, reason: reason, count: count,
        documents: documents.prefix(Self.named).map { found.documents[$0].name }))
  }

  /// One window of one region, as one part, and two contents.
  private mutating func changedContents() {
    struct Window: Hashable {
      let region: String
      let start: Int64
      let end: Int64
      let batch: Int32?
    }
    var first: [Window: String] = [:]
    var changed: [Int] = []
    for index in found.order {
      let document = found.documents[index]
      guard document.isExport, let start = document.start, let end = document.end, let digest = document.digest else {
        continue
      }
      let window = Window(region: document.region, start: start, end: end, batch: document.batch)
      if let known = first[window], known != digest { changed.append(index) }
      if first[window] == nil { first[window] = digest }
    }
    tell(
      "changed-contents", .error, "documents with the window of another one, and other contents",
      "what was published was changed afterwards: phones that had the first do not fetch the second", of: changed)
  }

  /// Where snapshots of many days follow each other, a real key stays for many of them.
  private mutating func aloneAmongNeighbours() {
    var counts = [Int](repeating: 0, count: found.documents.count)
    var lastOf: [String: Int] = [:]
    var nextOf: [Int: Int] = [:]
    for index in found.order {
      let region = found.documents[index].region
      if let last = lastOf[region] { nextOf[last] = index }
      lastOf[region] = index
    }
    for (index, next) in nextOf {
      // Both neighbours have at least half of their keys in common with this one.
      let (shared, sharedNext) = (found.sharedWithLast[index], found.sharedWithLast[next])
      let keys = found.documents[index].keys
      guard shared * 2 >= keys, sharedNext * 2 >= found.documents[next].keys, keys > 0 else { continue }
      counts[index] = found.alone[index]
    }
    tell(
      "keys-seen-once", .warning, "keys in one snapshot alone, while its neighbours share most of theirs",
      "a real key stays for many days: keys that come and go at once are padding that can be told from real ones",
      counting: counts)
  }
}
