#if PostgreSQL
  import Foundation
  import GatewayTesting
  import KeyStorage
  import PostgresDriver
  import Testing

  /// Whoever has a phone waiting is told of an outage within two seconds.
  @Suite("Stores: an outage is answered at once", .enabled(if: StoreKind.hasPostgres))
  struct AnsweringStoreTests {
    private static let promise = Duration.seconds(2)

    private let server: PostgresServer
    private let store: PostgresStore
    private let ledger: Ledger

    /// A server of its own: nobody else's may stand still.
    init() throws {
      server = try PostgresServer()
      store = try PostgresStore(try ConnectionWords(server.words))
      ledger = Ledger(store).answering
    }

    private func pause(_ origin: String) async throws {
      try await ledger.paused(.origin(origin), by: Attribution(by: "a test"), at: Times.now)
    }

    private var paused: Set<Pause.Subject> {
      get async throws { Set(try await store.read { try $0.pauses().map(\.subject) }) }
    }

    /// - Returns: how long it took to fail.
    private func refusal(_ body: () async throws -> Void) async throws -> Duration {
      let begin = ContinuousClock.now
      let fault = await #expect(throws: StorageFault.self) { try await body() }
      #expect(fault?.mayPass == true, "\(fault?.reason ?? "")")
      return ContinuousClock.now - begin
    }

    private func untilTaken(_ origin: String) async throws {
      for _ in 0..<100 {
        if (try? await pause(origin)) != nil { return }
        try await Task.sleep(for: .milliseconds(100))
      }
      Issue.record("nothing is taken although the database answers again")
    }

    /// All processes of the server.
    private func processes() throws -> [Int32] {
      let postmaster = try String(contentsOfFile: "\(server.folder)/data/postmaster.pid", encoding: .utf8)
      let number = try #require(postmaster.split(separator: "\n").first.flatMap { Int32($0) })
      let children = try String(contentsOfFile: "/proc/\(number)/task/\(number)/children", encoding: .utf8)
      return [number] + children.split(separator: " ").compactMap { Int32($0) }
    }

    @Test("a database that hangs is away within two seconds, then at once, and nothing of what was refused is kept")
    func hanging() async throws {
      try await pause("AA")
      let all = try processes()
      #expect(all.count > 2)
      for process in all { kill(process, SIGSTOP) }
      var isStopped = true
      defer { if isStopped { for process in all { kill(process, SIGCONT) } } }
      async let reading = refusal { _ = try await ledger.read { try $0.pauses() } }
      async let writing = refusal { try await pause("BB") }
      let took = try await [reading, writing]
      #expect(took.allSatisfy { $0 < Self.promise }, "\(took)")
      let next = try await refusal { try await pause("CC") }
      #expect(next < .milliseconds(200), "\(next)")
      for process in all { kill(process, SIGCONT) }
      isStopped = false
      try await untilTaken("DD")
      #expect(try await paused == [.origin("AA"), .origin("DD")])
    }

    @Test("a database that was killed is away within two seconds")
    func killed() async throws {
      try await pause("AA")
      for process in try processes() { kill(process, SIGKILL) }
      let took = try await refusal { try await pause("BB") }
      #expect(took < Self.promise, "\(took)")
      let next = try await refusal { _ = try await ledger.read { try $0.pauses() } }
      #expect(next < .milliseconds(200), "\(next)")
    }

    @Test("while another writer has the lock and the database answers, whoever writes waits")
    func busy() async throws {
      try await pause("AA")
      let other = try PostgresStore(try ConnectionWords(server.words), role: .operator)
      async let writing: Void = {
        _ = try await other.write { _ in usleep(4_000_000) }
      }()
      try await Task.sleep(for: .milliseconds(300))
      let took = try await ContinuousClock().measure { try await pause("BB") }
      #expect(took > .seconds(2), "\(took)")
      _ = try await writing
      #expect(try await paused == [.origin("AA"), .origin("BB")])
    }
  }
#endif
