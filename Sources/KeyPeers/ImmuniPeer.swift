internal import ExposureKeys

extension PeerProtocol {
  package static let immuni = PeerProtocol(ImmuniPeer.description)
}

/// The layout of Immuni (IT): numbered bundles, and an index that says which are there, as `{"oldest":n,"newest":m}`;
/// a series for each country beside the national one.
///
/// A number is never given to other content, so an index whose newest number is lower than one that is recorded is a
/// server that started over or a very old copy: it changes nothing until somebody has looked.
struct ImmuniPeer: PeerSync {
  static let description = PeerDescription(
    "immuni", summary: "numbered bundles, oldest to newest (Immuni)",
    options: [
      PeerOption("country", .country, "the series of this country instead of the national one")
    ], trusts: [.ring, .host, .operator]
  ) { settings, cursor, _ in ImmuniPeer(settings, cursor: cursor) }

  private enum Phase { case asking, collecting([PeerDocument]), ended(PeerStep) }

  private struct Index: Decodable { var oldest: Int64, newest: Int64 }

  /// The highest number that was recorded.
  private struct Cursor: Codable { var newest: Int64 }

  /// How many bundles one index may name: eighteen years of two a day.
  static let rangeLimit: Int64 = 13_000

  private let location: String
  private let series: String
  private var newest: Int64?
  private var phase = Phase.asking

  var notices: [DocumentFault] { [] }

  init(_ settings: SourceSettings, cursor: String?) {
    series = settings.options["country"].map { "eu/\($0)/" } ?? ""
    location = PeerAddress.join(settings.location, "v1/keys/\(series)")
    newest = cursor.flatMap { PeerJSON.value(Cursor.self, in: $0.utf8) }?.newest
  }

  mutating func next() -> PeerStep {
    switch phase {
    case .asking: return .ask(PeerRequest(url: PeerAddress.join(location, "index"), byteLimit: 64 << 10))
    case .collecting(let documents):
      phase = .ended(.done(cursor: nil))
      return .collect(documents)
    case .ended(let step): return step
    }
  }

  mutating func take(_ answer: PeerAnswer) {
    do throws(PeerFault) {
      let response = try answer.response(of: "index", statuses: [200, 404])
      guard response.head.status == 200 else {
        // There is no index before the first bundle. Where there were bundles, there is one.
        guard newest == nil else { throw .status(404, of: "index", expected: "200") }
        return phase = .ended(.done(cursor: nil))
      }
      let index = try PeerJSON.read(
        Index.self, in: response.body, of: "index", expected: #"{"oldest":n,"newest":m} in JSON"#)
      phase = .collecting(try numbers(of: index).map(document(number:)))
    } catch {
      phase = .ended(.fail(error.documentFault))
    }
  }

  private func numbers(of index: Index) throws(PeerFault) -> ClosedRange<Int64> {
    guard index.oldest >= 0, index.newest >= index.oldest else {
      throw PeerFault(
        .malformedAnswer,
        "index: oldest \(index.oldest), newest \(index.newest), expected 0 ≤ oldest ≤ newest")
    }
    guard index.newest - index.oldest < Self.rangeLimit else {
      throw PeerFault(
        .limitExceeded,
        "index: bundles \(index.oldest) to \(index.newest), at most \(Self.rangeLimit) are asked for")
    }
    if let newest, index.newest < newest {
      throw PeerFault(
        .wentBackwards,
        "index: the newest bundle is \(index.newest), and \(newest) is recorded; nothing was changed")
    }
    return index.oldest...index.newest
  }

  mutating func take(_ outcome: CollectionOutcome, of document: PeerDocument) {
    guard case .recorded = outcome, let number = number(of: document.name) else { return }
    newest = max(newest ?? number, number)
  }

  func cursor(after document: PeerDocument, head: ResponseHead) -> String? {
    number(of: document.name).flatMap { PeerJSON.text(Cursor(newest: max(newest ?? $0, $0))) }
  }

  func document(named name: String) -> PeerDocument? { number(of: name).map(document(number:)) }

  private func number(of name: String) -> Int64? {
    name.hasPrefix(series) ? decimalNumber(name.dropFirst(series.count)) : nil
  }

  /// Numbers are skipped now and then; the peer answers 404 for those.
  private func document(number: Int64) -> PeerDocument {
    PeerDocument(
      name: "\(series)\(number)", request: PeerRequest(url: PeerAddress.join(location, "\(number)")),
      otherStatuses: [404])
  }
}
