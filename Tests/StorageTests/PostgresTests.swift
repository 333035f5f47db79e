#if PostgreSQL
  import ExposureKeys
  import Foundation
  import GRDB
  import GatewayTesting
  import KeyNormalization
  import SQLiteDriver
  import Synchronization
  import Testing

  @testable import KeyStorage
  @testable import PostgresDriver

  @Suite("PostgreSQL: connection strings")
  struct ConnectionWordsTests {
    @Test("a database elsewhere is verified, and one here need not be")
    func verification() throws {
      let here = ["host=/run/postgresql dbname=x", "postgresql://localhost/x", "host=127.0.0.1 dbname=x", "dbname=x"]
      for text in here { #expect(try !ConnectionWords(text).isElsewhere, "\(text)") }
      let elsewhere = try ConnectionWords("postgresql://gateway:secret@db.example.org/keys")
      #expect(elsewhere.isElsewhere)
      let words = Dictionary(uniqueKeysWithValues: elsewhere.all(application: "keyferry run"))
      #expect(words["sslmode"] == "verify-full" && words["connect_timeout"] == "10")
      #expect(words["application_name"] == "keyferry run")
      for mode in ["disable", "prefer", "require", "verify-ca"] {
        let fault = #expect(throws: StorageFault.self) {
          try ConnectionWords("host=db.example.org sslmode=\(mode) password=secret")
        }
        #expect(fault?.reason.contains("allowed is verify-full") == true && fault?.reason.contains("secret") == false)
      }
      // One of several is enough.
      #expect(try ConnectionWords("host=localhost,db.example.org").isElsewhere)
      #expect(try ConnectionWords("host=localhost hostaddr=10.0.0.1").isElsewhere)
    }

    @Test("whoever verifies does so by the file that is named, or else by what this machine trusts")
    func roots() throws {
      func roots(_ text: String) throws -> String? {
        Dictionary(uniqueKeysWithValues: try ConnectionWords(text).all(application: "t"))["sslrootcert"]
      }
      let system = try ConnectionWords.systemTrust()
      for host in ["localhost", "127.0.0.1", "db.example.org"] {
        #expect(try roots("host=\(host) sslmode=verify-full") == system)
        #expect(try roots("host=\(host) sslmode=verify-full sslrootcert=system") == system)
        #expect(try roots("host=\(host) sslmode=verify-full sslrootcert=/x/ca.pem") == "/x/ca.pem")
      }
      #expect(try roots("host=db.example.org") == system)
      #expect(try roots("host=localhost sslmode=verify-ca") == system)
      for mode in ["", " sslmode=prefer", " sslmode=require", " sslmode=disable"] {
        #expect(try roots("host=localhost\(mode)") == nil)
      }
      #expect(try ConnectionWords.systemTrust(in: ["/nowhere"], version: 160_000) == "system")
      let fault = #expect(throws: StorageFault.self) {
        try ConnectionWords.systemTrust(in: ["/nowhere"], version: 150_018)
      }
      #expect(fault?.reason.contains("/nowhere") == true && fault?.reason.contains("sslrootcert") == true)
    }

    @Test("what cannot be read is not repeated")
    func secrets() throws {
      for text in [
        "host=h password='hunter2", "hunter2", "postgresql://u:hunter2@[::1", "hunter2=1", "service=hunter2",
        "postgresql://u:pa@hunter2@db/keys", "postgresql://u:pa/hunter2@db/keys", "postgresql://u:12/hunter2@db/keys",
        "postgresql://u:12,hunter2/a@db/keys", "dbname='postgresql://u:hunter2@localhost/keys'",
        "postgresql://localhost/keys\nhunter2",
      ] {
        let fault = #expect(throws: StorageFault.self) { try ConnectionWords(text) }
        #expect(fault?.code == .unsupported && fault?.reason.contains("hunter2") == false, "\(fault?.reason ?? "")")
      }
      let words = try ConnectionWords("postgresql://u:hunter2@localhost/keys")
      #expect("\(words) \(String(reflecting: words))".contains("hunter2") == false)
      var text = ""
      dump(words, to: &text)
      dump(DatabaseAccess(connection: "password=hunter2"), to: &text)
      dump(StoreAddress.postgresql(DatabaseAccess(connection: "password=hunter2")), to: &text)
      text += "\(StoreAddress.postgresql(DatabaseAccess(connection: "password=hunter2")))"
      #expect(!text.contains("hunter2"))
    }
  }

  @Suite("PostgreSQL: values")
  struct PostgresValueTests {
    private func hexadecimal(_ value: PostgresValue) -> String {
      var room: [UInt8] = []
      _ = value.encode(into: &room)
      return room.map { String(format: "%02x", $0) }.joined()
    }

    /// The bytes that PostgreSQL 15 itself gave for the same arrays.
    @Test("arrays are written as PostgreSQL writes them")
    func arrays() {
      #expect(
        hexadecimal(.blobs([[1, 2], nil, [3]]))
          == "000000010000000100000011000000030000000100000002" + "0102ffffffff0000000103")
      #expect(hexadecimal(.ints([])) == "000000000000000000000014")
      #expect(
        hexadecimal(.ints([1, -2]))
          == "000000010000000000000014000000020000000100000008" + "0000000000000001" + "00000008fffffffffffffffe")
      var room: [UInt8] = []
      #expect(PostgresValue.text(nil).encode(into: &room) == nil && PostgresValue.bytes([]).encode(into: &room) == 0)
    }
  }

  @Suite("PostgreSQL", .enabled(if: StoreKind.hasPostgres, Comment(rawValue: PostgresServer.advice)))
  struct PostgresTests {
    private struct Place {
      let server: PostgresServer
      let schema = PostgresServer.newSchema()

      init() throws { server = try PostgresServer.shared }

      func store(
        _ role: StoreRole = .owner, command: String = "keyferry test", isCopy: Bool = false,
        _ tune: (inout PostgresTuning) -> Void = { _ in }
      ) throws -> PostgresStore {
        var tuning = PostgresTuning()
        tune(&tuning)
        return try PostgresStore(
          try ConnectionWords(server.words), schema: schema, role: role, command: command, tuning: tuning,
          isCopy: isCopy)
      }

      func end(_ application: String) throws {
        try server.query(
          "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '\(application)'")
      }
    }

    @Test("values go there and come back")
    func values() throws {
      let database = try PostgresConnection(
        try ConnectionWords(try PostgresServer.shared.words), application: "values")
      let key = TemporaryExposureKey(high: 0x0102_0304_0506_0708, low: .max)
      let row = try #require(
        try database.row(
          "SELECT $1 AS int, $2 AS text, $3 AS bytes, $4 AS none, $5 AS ints, $6 AS key", -(Int64(1) << 53), "é'\\\"",
          [UInt8](0...255), nil as String?, PostgresValue.ints([7, nil]), key.bytes))
      #expect(try row["int"] == -(Int64(1) << 53) && row["text"] == "é'\\\"" && row["bytes"] == [UInt8](0...255))
      #expect(try row["none"] == nil as String? && row["key"] == key)
      #expect(throws: StorageFault.self) { try row["int"] as Int32 }
      #expect(throws: StorageFault.self) { try row["none"] as String }
      #expect(throws: StorageFault.self) { try row["nothing"] as String? }
      let error = #expect(throws: PostgresError.self) { try database.run("SELECT 1 / 0") }
      #expect(error?.state == "22012" && error?.isLost == false && database.isIdle)
    }

    /// Each has a connection of its own; who comes second sees what the first one kept.
    @Test("of two uploads about one key at two replicas one is kept")
    func revisions() async throws {
      let place = try Place()
      let stores = [try place.store(.replica), try place.store(.replica)]
      func upload(_ type: Int32) -> AdmittedUpload {
        var key = ClaimedKey(key: TemporaryExposureKey(high: 7, low: 1))
        (key.rollingStart, key.rollingPeriod, key.reportType) = (2_670_000, 144, type)
        let batch = admit(
          [(key, RegionClaim(origin: "NL", visited: ["NL"]))],
          from: Source(name: "door", origin: "NL", provenance: .assertedByOperator))
        return AdmittedUpload(
          door: "door", batch: batch, regions: ["NL"], certificate: nil, byteCount: 9, known: [key.key: []])
      }
      let outcomes = try await withThrowingTaskGroup(of: CommittedUploads.Outcome?.self) { group in
        for (store, type) in zip(stores, [Int32(1), 2]) {
          group.addTask {
            try await Ledger(store).committed([upload(type)], door: "door", at: Times.now).outcomes.first
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(outcomes.count { $0 == .overtaken } == 1)
      #expect(try await stores[0].read { try $0.claimCount() } == 1)
    }

    @Test("a replica whose clock is ahead does not forget who was let in by the database's")
    func forgottenTokens() async throws {
      let place = try Place()
      let (right, wrong) = (try place.store(.replica), try place.store(.replica))
      let end = Instant(secondsSince1970: Int64(Date().timeIntervalSince1970) + 3600)
      let token = UsedToken(digest: [UInt8](repeating: 1, count: 32), end: end)
      let other = UsedToken(digest: [UInt8](repeating: 2, count: 32), end: end)
      #expect(try await right.write { try $0.use(token) })
      let ahead = Instant(secondsSince1970: end.secondsSince1970 + 400 * 86_400)
      _ = try await wrong.write { try $0.expire(keysExpiredBefore: Times.now, at: ahead) }
      #expect(try await right.write { try !$0.use(token) && $0.use(other) })
      #expect(try await wrong.read { try $0.endOfForgottenTokens } == nil)
    }

    @Test("one owner at a time, who is named; his connection's end is his end")
    func owners() async throws {
      let place = try Place()
      var owner: PostgresStore? = try place.store(command: "keyferry run")
      let fault = #expect(throws: StorageFault.self) { try place.store() }
      #expect(fault?.code == .held && fault?.reason.contains("keyferry run has the store") == true)
      // Beside him: a word, and readers.
      try await place.store(.operator).write { try $0.setNote([1], named: "n") }
      #expect(try await place.store(.reader).read { try $0.note(named: "n") } == [1])
      try await owner?.write { try $0.setNote([2], named: "n") }
      owner = nil
      var next: PostgresStore?
      for _ in 0..<100 where next == nil {
        next = try? place.store()
        if next == nil { try await Task.sleep(for: .milliseconds(20)) }
      }
      let store = try #require(next)
      #expect(try await store.read { try $0.note(named: "n") } == [2])
    }

    @Test("writers of several processes wait for each other, and numbers go up")
    func writers() async throws {
      let place = try Place()
      let stores = try [place.store(), place.store(.operator), place.store(.operator)]
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, store) in stores.enumerated() {
          group.addTask {
            for round in 0..<20 {
              try await store.write { transaction in
                let count = try transaction.note(named: "count")?.first ?? 0
                try transaction.setNote([count + 1], named: "count")
                _ = try transaction.discover(["\(index)-\(round)"], of: "DE", at: Times.now)
                _ = try transaction.enter(NewEvent(.paused, about: "\(index)-\(round)", at: Times.now))
              }
            }
          }
        }
        try await group.waitForAll()
      }
      let state = try await stores[0].snapshot()
      #expect(try await stores[1].read { try $0.note(named: "count") } == [60])
      #expect(state.events.map(\.id.rawValue) == Array(1...60) && state.documents.count == 60)
    }

    /// What one process remembers of the runs must not stand where another one has written.
    @Test("claims of two writers are there once, whoever brings them")
    func claims() async throws {
      let place = try Place()
      let stores = try [place.store(), place.store(.operator)]
      var arrivals = Arrivals(random: SeededRandom(seed: 19))
      var claims = ClaimSet()
      for round in 0..<12 {
        let batch = arrivals.batch(200)
        let store = stores[round % 2]
        for name in ["\(round)", "\(round) again"] {
          let receipt = try await store.write { transaction in
            try transaction.record(batch, of: try transaction.document(name), at: Times.after(Int64(round)))
          }
          if name.hasSuffix("again") { #expect(receipt.new == 0) }
        }
        _ = claims.record(batch)
        #expect(try await stores[(round + 1) % 2].read { try allClaims($0, limit: 7) } == Set(claims.statedClaims))
      }
      #expect(try await stores[0].damage(limit: 10) == [])
    }

    @Test("a body whose connection is ended is run again, and what it did is there once")
    func endedInside() async throws {
      let place = try Place()
      let store = try place.store(command: "victim \(place.schema.prefix(8))")
      let ends = Mutex(2)
      let event = try await store.write { transaction in
        try transaction.setNote([1], named: "n")
        let stamp = try transaction.enter(NewEvent(.paused, about: "x", at: Times.now))
        if ends.withLock({ left in
          left > 0
            ? {
              left -= 1; return true
            }() : false
        }) {
          try place.end("victim \(place.schema.prefix(8))")
        }
        _ = try transaction.note(named: "n")
        return stamp
      }
      #expect(ends.withLock { $0 } == 0)
      let state = try await store.snapshot()
      #expect(state.events.map(\.id) == [event.id] && event.id.rawValue == 1)
    }

    /// Nobody hears how a transaction ended; whether it was kept is found out, and none is there twice.
    @Test("a transaction whose end was not heard of is there once")
    func unheard() async throws {
      let place = try Place()
      let proxy = try CuttingProxy(to: place.server.folder)
      defer { proxy.stop() }
      let store = try PostgresStore(try ConnectionWords(proxy.words), schema: place.schema)
      let runs = Mutex(0)
      let all: [[CuttingProxy.Cut]] = [
        [], [.beforeAnswer], [.beforeCommit], [.beforeCommit, .beforeAnswer], [.withinAnswer],
      ]
      for (number, cuts) in all.enumerated() {
        proxy.cut(cuts)
        runs.withLock { $0 = 0 }
        let stamp = try await store.write { transaction in
          runs.withLock { $0 += 1 }
          let count = try transaction.note(named: "count")?.first ?? 0
          try transaction.setNote([count + 1], named: "count")
          return try transaction.enter(NewEvent(.paused, about: "\(number)", at: Times.now))
        }
        #expect(proxy.left == 0 && stamp.id.rawValue == Int64(number) + 1)
        // What was kept is never run again.
        #expect(runs.withLock { $0 } == 1 + cuts.count { $0 == .beforeCommit })
        #expect(try await store.read { try $0.note(named: "count") } == [UInt8(number + 1)])
      }
      #expect(try await store.snapshot().events.map(\.id.rawValue) == [1, 2, 3, 4, 5])
    }

    @Test("connections that were ended while idle are opened again")
    func endedIdle() async throws {
      let place = try Place()
      let name = "idle \(place.schema.prefix(8))"
      let store = try place.store(command: name)
      for round in 0..<3 {
        try await store.write { try $0.setNote([UInt8(round)], named: "n") }
        #expect(try await store.read { try $0.note(named: "n") } == [UInt8(round)])
        try place.end(name)
      }
    }

    @Test(
      "a database that has gone back, as after a switch to a standby that was behind, is noticed before anything is written"
    )
    func goneBack() async throws {
      let place = try Place()
      let name = "back \(place.schema.prefix(8))"
      let store = try place.store(command: name)
      try await store.write { try $0.setNote([1], named: "n") }
      try place.end(name)
      try await store.write { try $0.setNote([2], named: "n") }
      try place.end(name)
      try place.server.query("UPDATE \(place.schema).writers SET number = number - 1")
      for _ in 0..<2 {
        let fault = await #expect(throws: StorageFault.self) {
          try await store.write { try $0.setNote([3], named: "n") }
        }
        #expect(fault?.code == .gone, "\(fault?.reason ?? "")")
        try place.end(name)
      }
      #expect(try await store.read { try $0.note(named: "n") } == [2])
    }

    @Test("a store of an earlier version is refused, and nothing is made beside it", arguments: StoreRole.allCases)
    func earlier(role: StoreRole) throws {
      let place = try Place()
      _ = try place.store()
      let changes = [
        "UPDATE \(place.schema).keyferry_schema SET version = 1",
        "DROP TABLE \(place.schema).keyferry_schema; CREATE TABLE \(place.schema).keyferry_steps (number bigint)",
      ]
      for change in changes {
        try place.server.query(change)
        let fault = #expect(throws: StorageFault.self) { try place.store(role) }
        #expect(fault?.code == .earlier && fault?.reason.contains("keyferry store begin") == true)
      }
    }

    @Test("a body that fails leaves the connection usable, whatever it caught")
    func failing() async throws {
      let place = try Place()
      let store = try place.store()
      // It hides that a statement failed, so that nothing of it may be kept.
      let fault = await #expect(throws: StorageFault.self) {
        try await store.write { transaction in
          try transaction.setNote([1], named: "n")
          let inner = try #require(transaction as? TableTransaction)
          _ = try? inner.sql.run("SELECT 1 / 0")
        }
      }
      #expect(fault?.code == .inputOutput)
      #expect(try await store.read { try $0.note(named: "n") } == nil)
      try await store.write { try $0.setNote([2], named: "n") }
      #expect(try await store.read { try $0.note(named: "n") } == [2])
      // Who reads cannot write.
      let held = await #expect(throws: StorageFault.self) {
        try await store.read { state in try #require(state as? TableTransaction).setNote([3], named: "n") }
      }
      #expect(held?.code == .inputOutput)
    }

    @Test("a lock that is held too long is told, and nothing was done")
    func busy() async throws {
      let place = try Place()
      let store = try place.store()
      let other = try place.store(.operator) { ($0.lockSeconds, $0.repeats) = (1, 0) }
      let (isIn, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      async let slow: Void = store.write { _ in
        isIn.signal()
        goOn.wait()
      }
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          isIn.wait()
          continuation.resume()
        }
      }
      let fault = await #expect(throws: StorageFault.self) { try await other.write { _ in } }
      #expect(fault?.code == .held)
      // Reading waits for nobody.
      _ = try await other.snapshot()
      goOn.signal()
      try await slow
      try await other.write { _ in }
      // An owner who had to wait in vain is the owner still.
      let impatient = try Place()
      let owner = try impatient.store { ($0.lockSeconds, $0.repeats) = (1, 0) }
      let word = try impatient.store(.operator)
      async let slowWord: Void = word.write { _ in
        isIn.signal()
        goOn.wait()
      }
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          isIn.wait()
          continuation.resume()
        }
      }
      let vain = await #expect(throws: StorageFault.self) { try await owner.write { _ in } }
      #expect(vain?.code == .held)
      #expect(throws: StorageFault.self) { try impatient.store() }
      goOn.signal()
      try await slowWord
      try await owner.write { _ in }
    }

    @Test("stores of later versions and schemas of others are left alone")
    func foreign() async throws {
      let place = try Place()
      #expect(throws: StorageFault.self) { try place.store(.reader) }
      var store: PostgresStore? = try place.store()
      try await store?.write { _ in }
      store = nil
      try place.server.query("INSERT INTO \(place.schema).keyferry_schema (version) VALUES (1000)")
      for role in StoreRole.allCases {
        let fault = #expect(throws: StorageFault.self) { try place.store(role) }
        #expect(fault?.code == .later || fault?.code == .held, "\(fault?.reason ?? "")")
      }
      let other = try Place()
      try other.server.query("CREATE SCHEMA \(other.schema); CREATE TABLE \(other.schema).mine (x int)")
      for role in StoreRole.allCases {
        let fault = #expect(throws: StorageFault.self) { try other.store(role) }
        #expect(fault?.code == .incompatible && fault?.reason.contains("not a store of Keyferry") == true)
      }
    }

    @Test("several processes that start at once make the tables once")
    func beginnings() async throws {
      let place = try Place()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<4 {
          group.addTask { try await place.store(.operator).write { try $0.setNote([1], named: "\(number)") } }
        }
        try await group.waitForAll()
      }
      #expect(try place.server.query("SELECT count(*) FROM \(place.schema).notes") == "4")
    }

    @Test("a store is moved into a database and back, and both are the same in the end")
    func moving() async throws {
      let place = try Place()
      try await withFolder { folder in
        let old = try SQLiteStore(folder: folder, now: Times.now)
        var arrivals = Arrivals(random: SeededRandom(seed: 7))
        for operation in TransactionTests.operations(arrivals.batches(2)) { try await old.write(operation) }
        for round in 0..<3 {
          let batch = arrivals.batch(3000)
          _ = try await old.write {
            try $0.record(batch, of: try $0.document("large \(round)"), at: Times.days(1))
          }
        }
        let token = UsedToken(digest: [UInt8](repeating: 9, count: 32), end: Times.days(400))
        #expect(try await old.write { try $0.use(token) })
        let before = try await old.snapshot()

        // It is interrupted after some tables, and goes on.
        let database: PostgresStore
        do {
          let first = try place.store(isCopy: true)
          await #expect(throws: FailingStore.Stop.self) {
            _ = try await StoreMove(from: FailingStore(old, after: 12), to: first).run()
          }
        }
        let refused = #expect(throws: StorageFault.self) { try place.store() }
        #expect(refused?.code == .incompatible && refused?.reason.contains("keyferry store copy") == true)
        database = try place.store(isCopy: true)
        _ = try await StoreMove(from: old, to: database).run()
        #expect(try await database.snapshot() == before)
        #expect(try await database.damage(limit: 10) == [])

        // It goes on counting where the other one was.
        let batch = arrivals.batch(50)
        for store in [old, database] as [any Store] {
          _ = try await store.write { try $0.record(batch, of: try $0.document("next"), at: Times.days(2)) }
        }
        let after = try await database.snapshot()
        #expect(try await old.snapshot() == after)

        // An other one that has something is left alone.
        let full = await #expect(throws: StorageFault.self) { _ = try await StoreMove(from: old, to: database).run() }
        #expect(full?.code == .conflict)

        try await withFolder { folder in
          let back = try SQLiteStore(folder: folder, now: Times.now, isCopy: true)
          _ = try await StoreMove(from: database, to: back).run()
          #expect(try await back.snapshot() == after)
          #expect(try await back.damage(limit: 10) == [])
          #expect(try await back.write { try !$0.use(token) })
          let next = try await back.write { try $0.enter(NewEvent(.paused, about: "x", at: Times.now)) }
          #expect(next.id.rawValue == (after.events.last?.id.rawValue ?? 0) + 1)
        }
      }
    }

    @Test("tables that are moved are all that both stores have, with all their columns")
    func movedTables() async throws {
      let place = try Place()
      _ = try place.store()
      let known = Set(StoreTable.all.flatMap { table in table.columns.map { "\(table.name).\($0)" } })
      let there = try place.server.query(
        """
        SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = '\(place.schema)'
          AND table_name NOT IN ('counters', 'writers', 'leases', 'keyferry_schema')
          AND table_name NOT LIKE '%v1'
        """)
      #expect(Set(there.split(separator: "\n").map(String.init)) == known)
      try await withFolder { folder in
        _ = try SQLiteStore(folder: folder, now: Times.now)
        let queue = try DatabaseQueue(path: "\(folder)/\(SQLiteStore.fileName)")
        let columns = try await queue.read { database in
          try String.fetchAll(
            database,
            sql: """
              SELECT m.name || '.' || c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
              WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'
              """)
        }
        #expect(Set(columns) == known)
      }
    }

    @Test("a server that is not there and a wrong password are told without the secret")
    func unreachable() throws {
      let texts = [
        "host=/nowhere/at/all user=u password=hunter2 dbname=x",
        "host=127.0.0.1 port=1 user=u password=hunter2 dbname=x",
      ]
      for text in texts {
        let fault = #expect(throws: StorageFault.self) { try PostgresStore(try ConnectionWords(text)) }
        #expect(fault?.code == .inputOutput && fault?.reason.contains("hunter2") == false, "\(fault?.reason ?? "")")
      }
    }
  }

  /// Reads so often, and then fails.
  private final class FailingStore: Store {
    struct Stop: Error {}
    let base: SQLiteStore
    private let left: Mutex<Int>
    var role: StoreRole { base.role }

    init(_ base: SQLiteStore, after count: Int) {
      self.base = base
      left = Mutex(count)
    }

    func read<Result: Sendable>(
      _ body: @escaping @Sendable (any StoredState) throws -> Result
    ) async throws -> Result {
      let goesOn = left.withLock { left in
        left -= 1
        return left >= 0
      }
      guard goesOn else { throw Stop() }
      return try await base.read(body)
    }

    func write<Result: Sendable>(
      as authority: LedgerAuthority, _ body: @escaping @Sendable (any StoreTransaction) throws -> Result
    ) async throws -> Result { try await base.write(as: authority, body) }
  }

  @Suite("PostgreSQL in CI")
  struct PostgresInCITests {
    @Test(
      "CI has PostgreSQL, so that nothing is left out there",
      .enabled(if: ProcessInfo.processInfo.environment["CI"] == "true", "it is asked in CI alone"))
    func isThere() { #expect(StoreKind.hasPostgres, "\(PostgresServer.advice)") }
  }
#endif
