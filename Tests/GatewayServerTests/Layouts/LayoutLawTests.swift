import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyPublishing
import Testing

@testable import GatewayServer

/// A client that keeps to its app's contract gets everything that is listed, whatever the history.
@Suite struct LayoutLawTests {
  /// One random history and one client: visits at random times, also long after the first keys have expired.
  private func follow<Client: LayoutClient>(
    _ first: Client, _ habits: PublishingHistory.Habits = .init(), seed: UInt64, rounds: Int = 25,
    _ check: (Client, PublishingHistory) throws -> Void
  ) throws {
    var random = SeededRandom(seed: seed)
    var client = first
    var history = PublishingHistory(habits)
    var now = history.written
    // In half of the histories the phone is bought when keys have expired already.
    var visitsFrom = random.once(in: 2) ? now : now + 20 * 86_400
    if visitsFrom > now {
      history.publish(at: visitsFrom - 3600, using: &random)
      visitsFrom = history.written
    }
    now = history.written
    for _ in 0..<rounds {
      now += Int64.random(in: 600...30_000, using: &random)
      history.publish(at: now, using: &random)
      if random.once(in: 3) { continue }
      try client.visit(AskedLayout(client.layout, history))
      try check(client, history)
    }
  }

  private static let seeds: [UInt64] = {
    var random = SeededRandom(for: "layouts")
    return LongList.cases((0..<12).map { _ in random.next() }, 3)
  }()

  private func hasEverything(_ client: some LayoutClient, _ history: PublishingHistory) {
    let missing = Set(history.listedKeys).subtracting(client.files.keys(history))
    #expect(missing.isEmpty, "\(missing.count) of \(history.listedKeys.count) keys are missing")
  }

  private func hasEverythingOnce(_ client: some LayoutClient, _ history: PublishingHistory) {
    hasEverything(client, history)
    #expect(!client.files.hasRepetitions)
    #expect(client.files.bundles.allSatisfy { $0.facts.kind == "increment" })
  }

  @Test(arguments: seeds) func android(_ seed: UInt64) throws {
    try follow(AndroidClient(), seed: seed, hasEverythingOnce)
  }

  @Test(arguments: seeds) func appleByTheServersIndex(_ seed: UInt64) throws {
    try follow(AppleClient(followsServer: true), seed: seed, hasEverythingOnce)
  }

  @Test(arguments: seeds) func appleByCounting(_ seed: UInt64) throws {
    try follow(AppleClient(followsServer: false), seed: seed, hasEverything)
  }

  @Test func appleByCountingIsExactFromTheBeginning() throws {
    var random = SeededRandom(for: "the sample from the beginning")
    var history = PublishingHistory()
    var client = AppleClient(followsServer: false)
    for round in 1...80 {
      history.publish(at: history.written + Int64(round % 7) * 10_000, using: &random)
      try client.visit(AskedLayout(client.layout, history))
      hasEverythingOnce(client, history)
    }
    #expect(history.bundles.contains { !$0.isListed && $0.kind == "increment" }, "nothing has expired")
  }

  /// What the listed editions hold, each once and never a window; what is not in one yet comes with the next.
  @Test(arguments: seeds, [(1, true), (1, false), (4, true), (4, false)])
  func appleByEditions(_ seed: UInt64, _ counting: (perDay: Int, followsServer: Bool)) throws {
    let (perDay, followsServer) = counting
    let habits = PublishingHistory.Habits(editionsPerDay: perDay)
    try follow(AppleClient(followsServer: followsServer), habits, seed: seed) { client, history in
      let listed = history.bundles.filter { $0.kind == "edition" && $0.isListed }.flatMap {
        history.released[$0.path] ?? []
      }
      #expect(Set(listed).isSubset(of: client.files.keys(history)))
      #expect(client.files.bundles.allSatisfy { $0.facts.kind == "edition" })
      let today = history.published / (86_400 / Int64(perDay)) * (86_400 / Int64(perDay))
      let due = history.listedIncrements.filter { $0.start < today }.flatMap { history.released[$0.path] ?? [] }
      #expect(Set(due).isSubset(of: client.files.keys(history)), "what was published before this edition's time")
      if followsServer { #expect(!client.files.hasRepetitions) }
    }
  }

  /// The sample on iOS 13.5, with windows of two hours: all files of a list go into one call, which fails as a whole when
  /// they are more than what is left of fifteen in 24 hours, and then the index stays where it was.
  @Test(arguments: seeds, [0, 1]) func appleWithFifteenFilesADay(_ seed: UInt64, _ perDay: Int) throws {
    var random = SeededRandom(seed: seed)
    var history = PublishingHistory(.init(publishesEmptyWindows: true, splits: false, editionsPerDay: perDay))
    history.publish(at: history.written + 20 * 86_400, using: &random)
    var taken: [(time: Int64, files: Int)] = []
    var client = AppleClient(followsServer: false)
    for _ in 0..<20 {
      // The app asks every four hours.
      history.publish(at: history.written + 14_400, using: &random)
      var next = client
      try next.visit(AskedLayout(client.layout, history))
      let files = next.files.bundles.count - client.files.bundles.count
      let budget = 15 - taken.filter { $0.time > history.written - 86_400 }.reduce(0) { $0 + $1.files }
      guard files <= budget else { continue }
      taken.append((history.written, files))
      client = next
    }
    if perDay == 0 {
      #expect(client.files.bundles.isEmpty, "a list of windows is never taken")
    } else {
      let due = history.listedIncrements.filter { $0.start < history.published / 86_400 * 86_400 }
      let keys = due.flatMap { history.released[$0.path] ?? [] }
      #expect(!keys.isEmpty && Set(keys).isSubset(of: client.files.keys(history)))
    }
  }

  @Test(arguments: seeds) func immuni(_ seed: UInt64) throws {
    try follow(ImmuniClient(), seed: seed, hasEverythingOnce)
  }

  @Test(arguments: seeds) func dp3tByTag(_ seed: UInt64) throws {
    try follow(DP3TTagClient(), seed: seed, hasEverything)
  }

  @Test(arguments: seeds) func dp3tByTagWithoutRollUpsSince(_ seed: UInt64) throws {
    try follow(DP3TTagClient(), .init(makesSince: false), seed: seed, hasEverything)
  }

  /// Each day's archive has all keys of that day and no others, whenever they were published.
  @Test(arguments: seeds) func dp3tByDay(_ seed: UInt64) throws {
    try follow(DP3TDayClient(), seed: seed) { client, history in
      let today = history.written / 86_400
      let listed = Dictionary(grouping: history.listedKeys) { history.keyDays[$0] ?? 0 }
      for day in today - 9...today {
        let keys = client.archives[day].flatMap { history.released[$0.facts.path] } ?? []
        #expect(keys.allSatisfy { history.keyDays[$0] == day })
        #expect(Set(listed[day] ?? []).isSubset(of: keys), "day \(day - today)")
      }
    }
  }

  /// A new phone is not made to wait for days: one answer has everything that a bundle since then can have.
  @Test(arguments: seeds) func dp3tByTagInTwoVisits(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var history = PublishingHistory(.init(splits: false))
    for _ in 0..<40 {
      history.publish(at: history.written + Int64.random(in: 600...30_000, using: &random), using: &random)
    }
    var client = DP3TTagClient()
    try client.visit(AskedLayout(client.layout, history))
    let oldest = history.bundles.filter { $0.kind == "since" && $0.isListed }.map(\.start).min() ?? .max
    let behind = client.files.bundles.filter { $0.facts.start >= oldest }
    #expect(behind.count <= 2, "\(behind.map(\.facts.path))")
    hasEverything(client, history)
  }

  @Test(arguments: seeds, [3600, 7200, 14_400] as [Int64]) func coronaWarnApp(_ seed: UInt64, _ period: Int64) throws {
    let habits = PublishingHistory.Habits(period: period, splits: false)
    try follow(CoronaWarnAppClient(), habits, seed: seed, hasEverything)
  }

  /// Hours cannot tell such windows apart; days bring them, unless they are split: its apps fetch one file a day.
  @Test(arguments: seeds) func coronaWarnAppWithShortWindows(_ seed: UInt64) throws {
    let habits = PublishingHistory.Habits(period: 1800, splits: false)
    try follow(CoronaWarnAppClient(), habits, seed: seed, rounds: 12) { client, history in
      // A day is over for certain a window after its midnight.
      let today = (history.written - habits.period) / 86_400 * 86_400
      let due = history.listedIncrements.filter { $0.start < today }.flatMap { history.released[$0.path] ?? [] }
      #expect(Set(due).subtracting(client.files.keys(history)).isEmpty)
    }
  }

  // MARK: Pages of keys

  private struct Page: Decodable {
    struct Key: Decodable {
      let keyData: Data
      let rollingPeriod: UInt32
      let rollingStartNumber: UInt32
      let transmissionRiskLevel: UInt8
    }
    let keys: [Key]
    let done: Bool
    let nextIndex: Int
  }

  private func page(_ server: AskedLayout, _ history: PublishingHistory, _ index: Int, _ count: Int) throws -> Page {
    let answer = try #require(server.ask("/apple/NL/keys?index=\(index)&maximumCount=\(count)"))
    guard case .page(let bundles, _, _, let render) = answer.content else {
      throw FormatError(.malformed, "no page")
    }
    #expect(bundles.allSatisfy { $0.facts.isListed })
    return try JSONDecoder().decode(Page.self, from: Data(render(bundles.map { try history.export(of: $0) })))
  }

  /// How apps step from page to page.
  enum PageStep: CaseIterable {
    /// By `nextIndex` of the answer.
    case server
    /// By the number of keys that came.
    case received
    /// As the sample of the beta: within a run by the number that it asked for, and at the end of a run what it stores
    /// grows by the number of keys that came.
    case sample
  }

  @Test(arguments: seeds, PageStep.allCases) func keysByPage(_ seed: UInt64, _ step: PageStep) throws {
    var random = SeededRandom(seed: seed)
    var history = PublishingHistory()
    var stored = 0
    var got: [Int] = []
    history.publish(at: history.written + Int64.random(in: 0...40, using: &random) * 86_400, using: &random)
    for _ in 0..<6 {
      history.publish(at: history.written + Int64.random(in: 600...90_000, using: &random), using: &random)
      let server = AskedLayout(AppleLayout(configuration: []), history)
      // The sample asks for one number in all of a run.
      let batch = Int.random(in: 1...9, using: &random)
      var (index, received, pages) = (stored, 0, 0)
      while true {
        let count = step == .sample ? batch : Int.random(in: 1...9, using: &random)
        let page = try page(server, history, index, count)
        #expect(page.keys.count == count || page.done, "a page is whole, or the last")
        #expect(page.keys.allSatisfy { $0.keyData.count == 16 })
        got += page.keys.map { PublishingHistory.number(inKeyData: $0.keyData) }
        received += page.keys.count
        switch step {
        case .server: index = page.nextIndex
        case .received: index += page.keys.count
        case .sample: index += count
        }
        pages += 1
        if page.done { break }
        try #require(!page.keys.isEmpty && pages < 2000, "the pages do not come to an end")
      }
      stored = step == .sample ? stored + received : index
      #expect(Set(history.listedKeys).isSubset(of: got))
      if step == .server { #expect(got == Array(Set(got)).sorted(), "a key came twice, or out of order") }
    }
  }
}
