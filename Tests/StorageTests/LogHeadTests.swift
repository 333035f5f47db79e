import ExposureKeys
import GatewayTesting
import KeyStorage
import Testing

#if PostgreSQL
  @testable import PostgresDriver
#endif

@Suite("What a store keeps of a public log goes forward alone")
struct LogHeadTests {
  private static let name = "keys.example.org/log"

  private func head(_ size: Int64, _ root: String = "a", key: String = "k", pending: [UInt8]? = nil) -> LogHead {
    LogHead(.init(size: size, root: root), key: key, signed: Array("\(size) \(root)".utf8), pending: pending)
  }

  private func refused(_ store: any Store, from seen: LogHead?, to head: LogHead) async -> StorageFault.Code? {
    do {
      try await store.write { try $0.moveLog(named: Self.name, from: seen?.tree, to: head) }
      return nil
    } catch {
      return (error as? StorageFault)?.code
    }
  }

  @Test("it is begun once, and moves from where it was seen", arguments: StoreKind.allCases)
  func moves(kind: StoreKind) async throws {
    try await withStore(kind) { store in
      #expect(try await store.read { try $0.logHead(named: Self.name) } == nil)
      let (zero, queued) = (head(0, "empty"), head(0, "empty", pending: [1, 0, 255]))
      #expect(await refused(store, from: head(3), to: head(4)) == .conflict, "nothing was begun")
      #expect(await refused(store, from: nil, to: zero) == nil)
      #expect(await refused(store, from: nil, to: zero) == .conflict)
      #expect(await refused(store, from: zero, to: queued) == nil)
      #expect(try await store.read { try $0.logHead(named: Self.name) } == queued)
      // What comes next is said once, and is not taken back.
      #expect(await refused(store, from: zero, to: queued) == nil)
      #expect(await refused(store, from: zero, to: head(0, "empty", pending: [2])) == .conflict)
      #expect(await refused(store, from: zero, to: zero) == .conflict)
      let five = head(5)
      #expect(await refused(store, from: zero, to: five) == nil)
      #expect(try await store.read { try $0.logHead(named: Self.name) } == five)
      // More signatures under the same tree.
      var cosigned = five
      cosigned.signed += [7]
      #expect(await refused(store, from: five, to: cosigned) == nil)
      #expect(try await store.read { try $0.logHead(named: Self.name) } == cosigned)
      // Whoever has seen an older one, or another one, is too late.
      for seen in [nil, zero, head(5, "b"), head(6)] {
        #expect(await refused(store, from: seen, to: head(8)) == .conflict)
      }
      for fork in [head(5, "b"), head(4), head(0, "empty"), head(-1), head(9, key: "other")] {
        #expect(await refused(store, from: five, to: fork) == .conflict)
      }
      #expect(try await store.read { try $0.logHead(named: Self.name) } == cosigned)
      // Another log is another one.
      try await store.write { try $0.moveLog(named: "other", from: nil, to: zero) }
      #expect(try await store.read { try $0.logHead(named: Self.name) } == cosigned)
    }
  }

  #if PostgreSQL
    @Test("the database refuses a fork whoever writes it", .enabled(if: StoreKind.hasPostgres))
    func constraints() async throws {
      let words = try ConnectionWords(try PostgresServer.shared.words)
      let schema = PostgresServer.newSchema()
      let store = try PostgresStore(words, schema: schema)
      #expect(await refused(store, from: nil, to: head(5)) == nil)
      let other = try PostgresConnection(words, application: "somebody")
      for change in [
        "UPDATE \(schema).log_heads SET root = 'b'", "UPDATE \(schema).log_heads SET size = 4",
        "UPDATE \(schema).log_heads SET size = 9, key = 'x'", "UPDATE \(schema).log_heads SET size = 9, name = 'x'",
        "DELETE FROM \(schema).log_heads", "TRUNCATE \(schema).log_heads",
        "INSERT INTO \(schema).log_heads (name, size, root, key, signed) VALUES ('\(Self.name)', 9, 'c', 'k', '')",
      ] {
        #expect(throws: PostgresError.self, "\(change)") { _ = try other.script(change) }
      }
      _ = try other.script("UPDATE \(schema).log_heads SET size = 9, root = 'c'")
      #expect(try await store.read { try $0.logHead(named: Self.name)?.tree } == .init(size: 9, root: "c"))
    }
  #endif
}
