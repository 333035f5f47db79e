internal import ExposureKeys

extension PeerProtocol {
  package static let sampleApp = PeerProtocol(SampleAppPeer.description)
}

/// Pages of `CodableDiagnosisKey` by index, as Apple's first sample app asks its server for them:
/// `?index=…&maximumCount=…`, answered by `{"keys":[…],"done":bool,"nextIndex":n}` or by the list alone.
///
/// The sample has no wire protocol, only this function. Without `nextIndex` the index grows by the number of keys;
/// without `done` a page that is not full is the last. A page is known by its first index and its length:
/// `120+17`. Empty pages are no documents and do not move the cursor.
struct SampleAppPeer: PeerSync {
  static let description = PeerDescription(
    "sample-app", summary: "pages of keys in JSON by index (Apple's sample app)",
    options: [
      PeerOption("maximumCount", .number(1...100_000), "how many keys a page may have; 1000 where not given")
    ], trusts: [.host, .operator]
  ) { settings, cursor, _ in SampleAppPeer(settings, cursor: cursor) }

  private enum Phase {
    case asking
    case collecting(PeerDocument, SampleAppPage)
    case ended(PeerStep)
  }

  /// Pages in one run; the next run goes on where this one stopped.
  static let pageLimit = 1000
  static let pageByteLimit = 64 << 20
  static let indexLimit: Int64 = 1 << 53

  private let location: String
  private let maximumCount: Int64
  private let byteLimit: Int
  private var index: Int64
  /// Where the source stands: behind the last page with keys.
  private var reached: Int64
  private var pages = 0
  private var hasStartedOver = false
  private var phase = Phase.asking
  private(set) var notices: [DocumentFault] = []

  init(_ settings: SourceSettings, cursor: String?) {
    location = settings.location + (settings.location.contains("?") ? "&" : "?")
    maximumCount = settings.number("maximumCount") ?? 1000
    byteLimit = min(Self.pageByteLimit, settings.documentByteLimit)
    index = cursor.flatMap { decimalNumber($0) }.map { min($0, Self.indexLimit) } ?? 0
    reached = index
  }

  mutating func next() -> PeerStep {
    switch phase {
    case .asking:
      guard pages < Self.pageLimit else {
        phase = .ended(end)
        return end
      }
      return .ask(request(index, maximumCount))
    case .collecting(let document, _): return .collect([document])
    case .ended(let step): return step
    }
  }

  private var end: PeerStep { .done(cursor: String(reached)) }

  private func request(_ index: Int64, _ count: Int64) -> PeerRequest {
    PeerRequest(url: "\(location)index=\(index)&maximumCount=\(count)", byteLimit: byteLimit)
  }

  mutating func take(_ answer: PeerAnswer) {
    pages += 1
    do throws(PeerFault) {
      let what = "page at \(index)"
      let response = try answer.response(of: what, statuses: [200, 204])
      guard response.head.status == 200, !response.body.isEmpty else { return phase = .ended(end) }
      guard let page = SampleAppPage(response.body) else {
        throw PeerFault(
          .malformedAnswer,
          "\(what): \(response.body.count) bytes that are not "
            + #"{"keys":[…],"done":…,"nextIndex":…} or a list of keys"#)
      }
      if let next = page.nextIndex, !(index...Self.indexLimit).contains(next) {
        return try startOver(next, what)
      }
      guard page.count > 0 else { return goOn(behind: page) }
      var document = document(index, max(page.count, min(next(behind: page) - index, Self.indexLimit)))
      document.response = response
      phase = .collecting(document, page)
    } catch {
      phase = .ended(.fail(error.documentFault))
    }
  }

  private func next(behind page: SampleAppPage) -> Int64 { min(page.nextIndex ?? index + page.count, Self.indexLimit) }

  /// The peer's list is shorter than what was read of it, so it is another list.
  private mutating func startOver(_ next: Int64, _ what: String) throws(PeerFault) {
    guard index > 0, !hasStartedOver, next >= 0, next < index else {
      throw PeerFault(.malformedAnswer, "\(what): nextIndex is \(next), expected \(index) or more")
    }
    hasStartedOver = true
    notices.append(
      DocumentFault(
        code: .startedOver, reason: "the peer's list ends at \(next), and \(index) was reached: it is read again"))
    index = 0
    reached = 0
    phase = .asking
  }

  private mutating func goOn(behind page: SampleAppPage) {
    let next = next(behind: page)
    let isLast = page.isLast ?? (page.count < maximumCount)
    guard !isLast, next > index else { return phase = .ended(end) }
    index = next
    phase = .asking
  }

  /// A refused page does not hold up those behind it: its bytes are put aside, and ``document(named:)`` asks for it
  /// once more.
  mutating func take(_ outcome: CollectionOutcome, of document: PeerDocument) {
    guard case .collecting(_, let page) = phase else { return }
    switch outcome {
    case .recorded, .answered, .quarantined:
      reached = next(behind: page)
      goOn(behind: page)
    case .fault: phase = .ended(end)
    }
  }

  func cursor(after document: PeerDocument, head: ResponseHead) -> String? {
    guard case .collecting(let expected, let page) = phase, expected.name == document.name else { return nil }
    return String(next(behind: page))
  }

  func document(named name: String) -> PeerDocument? {
    let parts = name.split(separator: "+", omittingEmptySubsequences: false)
    guard parts.count == 2, let index = decimalNumber(parts[0]), let count = decimalNumber(parts[1]) else { return nil }
    return document(index, count)
  }

  /// The list may have been started over, so the same place can hold other keys.
  private func document(_ index: Int64, _ count: Int64) -> PeerDocument {
    PeerDocument(name: "\(index)+\(count)", request: request(index, count), mayChange: true)
  }
}
