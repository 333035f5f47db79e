import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyIntake
import KeyNormalization
import KeyPeers
import KeyReceiving
import KeyStorage
import Synchronization
import Testing

/// One source's flood does not make the others wait: a large document is recorded in pieces, and between two of them
/// everybody has his turn.
@Suite struct TurnTests {
  /// Who writes, as the task says.
  @TaskLocal private static var writer = ""

  /// A store that notes whose turn each write is, how many claims it adds, and what came before it while it waited.
  private final class TurnStore: Store {
    struct Turn: Sendable {
      var writer: String
      var claims: Int
      /// How many turns others had between asking and writing.
      var waited: Int
      var durability: Durability
    }

    private let base: any Store
    private let all = Mutex<[Turn]>([])

    init(_ base: any Store = MemoryStore()) { self.base = base }

    var role: StoreRole { base.role }
    var turns: [Turn] { all.withLock { $0 } }
    func turns(of writer: String) -> [Turn] { turns.filter { $0.writer == writer } }

    func read<Result: Sendable>(_ body: @escaping @Sendable (any StoredState) throws -> Result) async throws -> Result {
      try await base.read(body)
    }

    func write<Result: Sendable>(
      as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result {
      let (writer, asked) = (TurnTests.writer, turns.count)
      return try await base.write(as: authority) { [self] transaction in
        let before = try transaction.claimCount()
        let result = try body(transaction)
        let claims = try transaction.claimCount() - before
        all.withLock { turns in
          let waited = turns[asked...].count { $0.writer == "flood" }
          turns.append(Turn(writer: writer, claims: claims, waited: waited, durability: authority.durability))
        }
        return result
      }
    }
  }

  private static func server(_ documents: [Int], seed: UInt64) throws -> IndexServer {
    var server = try IndexServer()
    for (number, count) in documents.enumerated() {
      try server.publish(keys(count, seed: seed + UInt64(number)), as: "\(number).zip")
    }
    return server
  }

  /// Without a flood rule: what is held is recorded likewise.
  private static func settings(_ server: IndexServer, _ name: String) -> SourceSettings {
    var settings = server.settings(name)
    (settings.reading.reading.mostKeysADay, settings.reading.reading.floodFactor) = (nil, nil)
    return settings
  }

  @Test("small sources beside a document of 6,000 keys never wait for more than two pieces of it")
  func turns() async throws {
    try await withFolder { folder in
      let pieceSize = 200
      let flood = try Self.server([6000], seed: 1)
      let small = try (0..<3).map { try Self.server([20, 20], seed: UInt64(100 * ($0 + 1))) }
      let store = TurnStore()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (name, server) in [("flood", flood)] + small.enumerated().map({ ("small\($0.offset)", $0.element) }) {
          let receiver = Receiver(store, folder: "\(folder)/\(name)", pieceSize: pieceSize)
          group.addTask {
            let receipt = try await Self.$writer.withValue(name) {
              try await receiver.pull(Self.settings(server, name), server.peer)
            }
            #expect(receipt.outcome == .done && receipt.counts.new == (name == "flood" ? 6000 : 40))
          }
        }
        try await group.waitForAll()
      }
      let pieces = store.turns(of: "flood").filter { $0.claims > 0 }
      #expect(pieces.count >= 30 && pieces.allSatisfy { $0.claims <= pieceSize })
      // The last one promises for all of them.
      #expect(pieces.allSatisfy { $0.durability == .local })
      #expect(store.turns(of: "flood").contains { $0.durability == .promised })
      for number in small.indices {
        // The piece that is being recorded, and one that asked in the same moment.
        #expect(store.turns(of: "small\(number)").allSatisfy { $0.waited <= 2 })
      }
    }
  }

  @Test("a document in pieces says what it says as a whole", arguments: [1, 7, 64, 299, 300])
  func pieces(size: Int) async throws {
    try await withFolder { folder in
      for limit in [nil, 100] {
        let server = try Self.server([300, 20], seed: 5)
        var settings = Self.settings(server, "us")
        settings.reading.reading.mostKeysADay = limit
        let whole = Receiver(folder: folder + "/whole", pieceSize: .max)
        let parts = Receiver(folder: folder + "/parts", pieceSize: size)
        let expected = try await whole.pull(settings, server.peer)
        let receipt = try await parts.pull(settings, server.peer)
        #expect(receipt.recorded == 2 && receipt.counts.received == 320)
        let claims = try await parts.claims()
        // A flood is counted from piece to piece, as from batch to batch.
        #expect(receipt.counts == expected.counts)
        #expect(limit == nil || receipt.counts.new == limit)
        #expect(try await claims == whole.claims())
        #expect(try await parts.documents().map(\.state) == whole.documents().map(\.state))
        let kinds = try await parts.store.read { try $0.events(from: EventID(rawValue: 0), limit: 100) }.map(
          \.event.kind)
        #expect(kinds.count { $0 == .recorded } == 2, "a document is one event, in however many pieces")
        let again = try await parts.pull(settings, server.peer)
        #expect(again.recorded == 0)
        #expect(try await parts.claims() == claims)
      }
    }
  }

  @Test("keys in no order are recorded in fewer pieces")
  func noOrder() async throws {
    try await withFolder { folder in
      var document = keys(200, seed: 12)
      var random = SeededRandom(seed: 12)
      document.keys.shuffle(using: &random)
      var server = try Self.server([], seed: 0)
      try server.publish(keys(1, seed: 13), as: "0.zip")
      server.peer["/0.zip"] = MemoryPeer.Answer(body: try document.bytes(as: .gaenExport))
      var settings = Self.settings(server, "us")
      settings.trust = .operator
      let store = TurnStore()
      let receipt = try await Receiver(store, folder: folder, pieceSize: 10).pull(settings, server.peer)
      #expect(receipt.counts.new == 200)
      #expect(store.turns.map(\.claims).filter { $0 > 0 } == [80, 80, 40])
    }
  }

  @Test("a write that fails between two pieces costs nothing once the pull is repeated")
  func interrupted() async throws {
    try await withFolder { folder in
      let server = try Self.server([100, 10], seed: 8)
      let settings = Self.settings(server, "us")
      let undisturbed = Receiver(folder: folder + "/undisturbed", pieceSize: .max)
      _ = try await undisturbed.pull(settings, server.peer)
      let expected = try await undisturbed.claims()
      var partial = 0
      for number in 0..<100 {
        let store = MemoryStore()
        let failing = FailingStore(store, failingAt: number)
        do {
          _ = try await Receiver(failing, folder: "\(folder)/\(number)", pieceSize: 3).pull(settings, server.peer)
        } catch is FailingStore.Failure {}
        let receiver = Receiver(store, folder: "\(folder)/\(number)", pieceSize: 3)
        let before = try await receiver.claims()
        // Each key has all that the document says about it, and the document is not recorded before it is whole.
        #expect(before.isSubset(of: expected))
        let isWhole = try await receiver.documents([.recorded]).contains { $0.name == "0.zip" }
        if !isWhole, !before.isEmpty { partial += 1 }
        #expect(!isWhole || before.count >= 100)
        let receipt = try await receiver.pull(settings, server.peer)
        #expect(receipt.outcome == .done, "after write \(number)")
        #expect(try await receiver.claims() == expected, "after write \(number)")
        #expect(try await receiver.documents().map(\.state) == [.recorded, .recorded], "after write \(number)")
        // Whatever cut it: one document, one event, and its counts are of all that it brought.
        let events = try await store.read { try $0.events(from: EventID(rawValue: 0), limit: .max) }
        let subjects = events.filter { $0.event.kind == .recorded }.map(\.event.subject)
        #expect(subjects.sorted() == ["us/0.zip", "us/1.zip"], "after write \(number)")
        let new = try await receiver.documents().map { $0.facts?.new }
        #expect(new == [100, 10], "after write \(number)")
        if !failing.hasFailed { break }
      }
      #expect(partial >= 3, "a document of several pieces is interrupted between them")
    }
  }

  /// A store in which something else happens before a write.
  private final class MeanwhileStore: Store {
    private let base: any Store
    private let place: Int
    private let count = Mutex(0)
    private let meanwhile: @Sendable () async throws -> Void

    init(_ base: any Store, before place: Int, _ meanwhile: @escaping @Sendable () async throws -> Void) {
      (self.base, self.place, self.meanwhile) = (base, place, meanwhile)
    }

    var role: StoreRole { base.role }

    func read<Result: Sendable>(_ body: @escaping @Sendable (any StoredState) throws -> Result) async throws -> Result {
      try await base.read(body)
    }

    func write<Result: Sendable>(
      as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result {
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number == place { try await meanwhile() }
      return try await base.write(as: authority, body)
    }
  }

  @Test("an origin that floods by two sources in turns is held at each by what that source brought", arguments: 1...12)
  func floodInTurns(place: Int) async throws {
    try await withFolder { folder in
      // The first brings more than the limit, and the other less. A piece is eight times as large: there are few keys.
      let (first, second) = (try Self.server([300], seed: 31), try Self.server([200], seed: 32))
      func settings(_ server: IndexServer, _ name: String) -> SourceSettings {
        var settings = Self.settings(server, name)
        settings.reading.reading.mostKeysADay = 250
        return settings
      }
      let base = MemoryStore()
      let (one, other) = (settings(first, "one"), settings(second, "other"))
      let beside = Receiver(base, folder: folder + "/other", pieceSize: 5)
      let store = MeanwhileStore(base, before: place) {
        let receipt = try await beside.pull(other, second.peer)
        #expect(receipt.outcome == .done)
      }
      let receiver = Receiver(store, folder: folder + "/one", pieceSize: 5)
      #expect(try await receiver.pull(one, first.peer).outcome == .done)
      if try await receiver.documents().count < 2 { _ = try await beside.pull(other, second.peer) }
      let documents = try await receiver.documents()
      let new = Dictionary(documents.map { ($0.source, $0.facts?.new ?? 0) }, uniquingKeysWith: +)
      #expect(new == ["one": 250, "other": 200])
      #expect(try await receiver.held().values.reduce(0, +) == 50)
      #expect(try await receiver.claims().count == 450)
    }
  }

  @Test("what was known between two pieces stays what was known then")
  func knownBetween() async throws {
    try await withFolder { folder in
      let (large, small) = (try Self.server([200], seed: 41), try Self.server([3], seed: 42))
      let base = MemoryStore()
      let known = Mutex<(event: EventID, claims: Set<StatedClaim>)?>(nil)
      let beside = Receiver(base, folder: folder + "/small")
      let store = MeanwhileStore(base, before: 6) {
        #expect(try await beside.pull(Self.settings(small, "small"), small.peer).counts.new == 3)
        let (event, claims) = try await base.read { state in
          (try state.lastEvent()?.id, try state.claims(from: TemporaryExposureKey(high: 0, low: 0), limit: 1000).claims)
        }
        known.withLock { $0 = event.map { ($0, Set(claims.statedClaims)) } }
      }
      let receiver = Receiver(store, folder: folder + "/large", pieceSize: 5)
      _ = try await receiver.pull(Self.settings(large, "large"), large.peer)
      let (event, claims) = try #require(known.withLock { $0 })
      #expect(claims.count > 3 && claims.count < 203, "it came between two pieces: \(claims.count)")
      let again = try await base.read { try $0.claimSet(asOf: event).statedClaims }
      #expect(Set(again) == claims)
    }
  }

  @Test("a large document with a fault at its end says nothing")
  func faultyAtItsEnd() async throws {
    try await withFolder { folder in
      let server = try Self.server([400], seed: 3)
      let whole = try #require(server.peer["/0.zip"]?.body)
      let export = try #require(try entry("export.bin", of: whole))
      server.peer["/0.zip"] = MemoryPeer.Answer(body: Array(export.dropLast(3)))
      var settings = Self.settings(server, "us")
      settings.trust = .operator
      let receiver = Receiver(folder: folder, pieceSize: 50)
      let receipt = try await receiver.pull(settings, server.peer)
      #expect(receipt.refusals.count == 1)
      #expect(try await receiver.claims().isEmpty)
      #expect(try await receiver.documents([.quarantined]).count == 1)
    }
  }
}
