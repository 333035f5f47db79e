import ExposureKeys
import GatewayTesting
import KeyReceiving
import KeyStorage
import Testing

/// What is removed because its time is over.
@Suite("Retention")
struct RetentionTests {
  /// A gateway that has pulled some hundred keys, and the time at which all of them are over.
  private func withPulled(
    _ count: Int, into store: any Store, _ body: (Ledger, SoundTime) async throws -> Void
  ) async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      try server.publish(keys(count, seed: 1), as: "a.zip", tag: "\"1\"")
      let receiver = Receiver(store, folder: folder)
      _ = try await receiver.pull(server.settings(), server.peer)
      #expect(try await receiver.ledger.read { try $0.claimCount() } == count)
      receiver.advance(seconds: 60 * 86_400)
      try await body(receiver.ledger, SoundTime(toldByOperator: receiver.now))
    }
  }

  @Test("what one transaction leaves the next ones remove, and the receipt is about all of them")
  func goesOn() async throws {
    let store = CountingStore(MemoryStore(expiredAtOnce: 30))
    try await withPulled(300, into: store) { ledger, time in
      let before = store.writes.count
      let receipt = try #require(try await Retention().carryOut(in: ledger, at: time))
      #expect(receipt.claims == 300 && !receipt.isUnfinished)
      #expect(try await ledger.read { try $0.claimCount() } == 0)
      // Others have their turn in between.
      #expect(store.writes.count - before > 1)
    }
  }

  @Test("nobody asks the agenda of a gateway that publishes no series: it is forgotten, but for what is still to come")
  func agenda() async throws {
    for keepsAgenda in [true, false] {
      try await withPulled(20, into: MemoryStore()) { ledger, time in
        var retention = Retention()
        retention.keyDays = 90
        retention.keepsAgenda = keepsAgenda
        _ = try await retention.carryOut(in: ledger, at: time)
        func known(since event: EventID, from hour: Int64) async throws -> Int? {
          try await ledger.read { try $0.agenda(after: event, endingIn: hour...(hour + 1_000_000), limit: .max)?.count }
        }
        let none = EventID(rawValue: 0)
        #expect(try await known(since: none, from: 1) == (keepsAgenda ? 20 : nil))
        // A series that is published from now on finds what it needs, and nothing else.
        let last = try #require(try await ledger.read { try $0.lastEvent()?.id })
        #expect(try await known(since: last, from: time.instant.secondsSince1970 / 3600 + 1) == 0)
      }
    }
  }
}
