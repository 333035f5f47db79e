#if PostgreSQL
  import ExposureKeys
  import Foundation
  import GatewayTesting
  import KeyNormalization
  import Synchronization
  import Testing

  @testable import KeyStorage
  @testable import PostgresDriver

  /// What can be wrong with a database, and what a gateway says of it.
  @Suite(
    "PostgreSQL: what is wrong", .enabled(if: StoreKind.hasPostgres, Comment(rawValue: PostgresServer.advice)),
    .timeLimit(.minutes(5)))
  struct DatabaseFaultTests {
    /// A role that may connect, and a schema that nobody has made.
    private struct Scene {
      let server: PostgresServer
      let schema = PostgresServer.newSchema()
      let role = "r\(PostgresServer.newSchema())"

      init() throws {
        server = try PostgresServer.shared
        try server.query("CREATE ROLE \(role) LOGIN")
      }

      var access: DatabaseAccess {
        DatabaseAccess(connection: "host=\(server.folder) user=\(role) dbname=postgres", schema: schema)
      }

      func open(_ role: StoreRole = .owner) throws -> PostgresStore { try PostgresStore(access, role: role) }

      /// As the superuser, who may do everything.
      func openByOwner() throws -> PostgresStore {
        try PostgresStore(DatabaseAccess(connection: server.words, schema: schema), role: .operator)
      }

      /// What a role lacks is told by check and by whoever opens the store, and what they say helps.
      func expect(_ words: String, for use: StoreRole = .owner, sql: String) throws {
        let fault = #expect(throws: StorageFault.self) { try open(use) }
        #expect(fault?.reason.contains(words) == true, "\(fault?.reason ?? "")")
        if use == .owner {
          let told = try PostgresStore.missingRights(of: access).filter(\.isNeeded)
          #expect(told.count == 1 && told[0].reason.contains(words) && told[0].sql == sql, "\(told)")
        } else {
          #expect(fault?.reason.hasSuffix(sql) == true, "\(fault?.reason ?? "")")
        }
        try server.query(sql)
      }
    }

    @Test("who may make no schema is told so, with the SQL that helps")
    func noSchema() async throws {
      let scene = try Scene()
      try scene.expect(
        "the role \(scene.role) may not make one in the database postgres",
        sql: "CREATE SCHEMA \"\(scene.schema)\" AUTHORIZATION \"\(scene.role)\"")
      #expect(try PostgresStore.missingRights(of: scene.access).isEmpty)
      let store = try scene.open()
      try await store.write { try $0.setNote([1], named: "n") }
      #expect(try await store.damage(limit: 10) == [])
    }

    @Test("so is who has the schema of somebody else")
    func otherSchema() throws {
      let scene = try Scene()
      try scene.server.query("CREATE SCHEMA \(scene.schema)")
      try scene.expect(
        "the schema \(scene.schema) belongs to keyferry, and the role \(scene.role) may not use it",
        sql: "GRANT USAGE, CREATE ON SCHEMA \"\(scene.schema)\" TO \"\(scene.role)\"")
      _ = try scene.open()
      let half = try Scene()
      try half.server.query("CREATE SCHEMA \(half.schema); GRANT USAGE ON SCHEMA \(half.schema) TO \(half.role)")
      try half.expect(
        "may not make tables in it", sql: "GRANT USAGE, CREATE ON SCHEMA \"\(half.schema)\" TO \"\(half.role)\"")
    }

    @Test("and who may read the tables and not write them")
    func onlyReads() async throws {
      let scene = try Scene()
      _ = try scene.openByOwner()
      try scene.expect(
        "the schema \(scene.schema) belongs to keyferry, and the role \(scene.role) may not use it", for: .reader,
        sql: "GRANT USAGE ON SCHEMA \"\(scene.schema)\" TO \"\(scene.role)\"")
      try scene.expect(
        "may not read the table \(scene.schema).agenda and ", for: .reader,
        sql: "GRANT SELECT ON ALL TABLES IN SCHEMA \"\(scene.schema)\" TO \"\(scene.role)\"")
      #expect(try await scene.open(.reader).read { try $0.note(named: "n") } == nil)
      try scene.expect(
        "may not write the table \(scene.schema).agenda and ",
        sql: "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \"\(scene.schema)\" TO \"\(scene.role)\"")
      try await scene.open().write { try $0.setNote([1], named: "n") }
      // It runs; what suffers is told.
      let left = try PostgresStore.missingRights(of: scene.access)
      #expect(left.count == 1 && left[0].isNeeded == false && left[0].reason.contains("belongs to keyferry"))
      try scene.server.query(left[0].sql)
      #expect(try PostgresStore.missingRights(of: scene.access).isEmpty)
    }

    @Test("what somebody else keeps in the schema shuts nobody out") func foreignTable() async throws {
      let scene = try Scene()
      try scene.server.query("CREATE SCHEMA \(scene.schema) AUTHORIZATION \(scene.role)")
      _ = try scene.open()
      try scene.server.query("CREATE TABLE \(scene.schema).scratch (x int)")
      #expect(try PostgresStore.missingRights(of: scene.access).isEmpty)
      let store = try scene.open()
      #expect(try await store.damage(limit: 10) == ["scratch: no version of Keyferry makes such a table"])
    }

    @Test("what was taken from a role while the store is open may come back, and is told as what it is")
    func revoked() async throws {
      let scene = try Scene()
      _ = try scene.openByOwner()
      let (schema, role) = (scene.schema, scene.role)
      let grant = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(schema) TO \(role);"
      try scene.server.query("GRANT USAGE ON SCHEMA \(schema) TO \(role); \(grant)")
      let store = try scene.open()
      try await store.write { try $0.setNote([1], named: "n") }
      for (taken, given) in [
        ("USAGE ON SCHEMA \(schema)", "GRANT USAGE ON SCHEMA \(schema) TO \(role)"),
        ("ALL ON ALL TABLES IN SCHEMA \(schema)", grant), ("UPDATE ON ALL TABLES IN SCHEMA \(schema)", grant),
      ] {
        try scene.server.query("REVOKE \(taken) FROM \(role)")
        let fault = await #expect(throws: StorageFault.self) {
          try await store.write { try $0.setNote([2], named: "n") }
        }
        #expect(fault?.mayPass == true && fault?.reason.contains("keyferry check says what the role lacks") == true)
        if !taken.hasPrefix("UPDATE") {
          let other = await #expect(throws: StorageFault.self) { try await store.read { try $0.note(named: "n") } }
          #expect(other?.mayPass == true, "\(other?.reason ?? "")")
        }
        try scene.server.query(given)
        try await store.write { try $0.setNote([1], named: "n") }
        #expect(try await store.read { try $0.note(named: "n") } == [1])
      }
    }

    @Test(
      "whoever opens a store whose tables somebody has locked is told so in time",
      arguments: [StoreRole.owner, .replica, .operator, .reader])
    func locked(role: StoreRole) throws {
      let schema = PostgresServer.newSchema()
      _ = try store(schema)
      let words = try ConnectionWords(PostgresServer.shared.words)
      let other = try PostgresConnection(words, application: "other")
      try other.script("BEGIN; LOCK TABLE \(schema).keyferry_schema, \(schema).writers, \(schema).notes")
      var tuning = PostgresTuning()
      tuning.lockSeconds = 1
      let begun = ContinuousClock.now
      let fault = #expect(throws: StorageFault.self) {
        try PostgresStore(words, schema: schema, role: role, tuning: tuning)
      }
      #expect(fault?.code == .held && fault?.reason.contains("somebody else keeps the store busy") == true)
      #expect(ContinuousClock.now - begun < .seconds(10))
      var access = DatabaseAccess(connection: try PostgresServer.shared.words, schema: schema)
      access.lockSeconds = 1
      // What the role may do is answered without the tables.
      _ = try PostgresStore.missingRights(of: access)
    }

    @Test("a role that is read only is called so, and what turns it is said")
    func readOnly() throws {
      let scene = try Scene()
      try scene.server.query(
        """
        CREATE SCHEMA \(scene.schema) AUTHORIZATION \(scene.role);
        ALTER ROLE \(scene.role) SET default_transaction_read_only = on
        """)
      let sql = "ALTER ROLE \"\(scene.role)\" SET default_transaction_read_only = off"
      let fault = #expect(throws: StorageFault.self) { try scene.open() }
      #expect(fault?.reason.contains("its role is read only, and then: \(sql)") == true, "\(fault?.reason ?? "")")
      #expect(throws: StorageFault.self) { try PostgresStore.missingRights(of: scene.access) }
      try scene.server.query(sql)
      _ = try scene.open()
    }

    @Test(
      "a place is host, port, database and schema",
      arguments: [
        ("host=db.example.org dbname=keys user=u password=hunter2", "postgresql://db.example.org:5432/keys"),
        ("postgresql://u:hunter2@a:1,b:2/keys", "postgresql://a:1,b:2/keys"),
        ("host=a,b port=7 dbname=keys", "postgresql://a:7,b:7/keys"),
        ("host=::1 port=7 dbname=keys", "postgresql://[::1]:7/keys"),
        ("host=/run/postgresql dbname=keys", "postgresql:///keys?host=/run/postgresql&port=5432"),
        ("hostaddr=127.0.0.1 dbname=keys", "postgresql://127.0.0.1:5432/keys"),
      ])
    func places(text: String, place: String) throws {
      #expect(try ConnectionWords(text).place == place)
    }

    @Test("what is said twice is told once")
    func once() {
      #expect(PostgresConnection.oneLine("a\n\tb\na\n") == "a; b")
      #expect(PostgresConnection.oneLine("") == "the connection failed")
    }

    // MARK: Damage

    private func store(_ schema: String, _ tune: (inout PostgresTuning) -> Void = { _ in }) throws -> PostgresStore {
      var tuning = PostgresTuning()
      tune(&tuning)
      return try PostgresStore(
        try ConnectionWords(PostgresServer.shared.words), schema: schema, role: .operator, command: "store \(schema)",
        tuning: tuning)
    }

    @Test(
      "what somebody has changed in a database is found",
      arguments: LongList.cases(
        [
          ("DELETE FROM counters WHERE name = 'documents'", "counters: there is no row documents"),
          ("UPDATE counters SET last = 0 WHERE name = 'events'", "counters: the row events has 0, and its table has"),
          ("UPDATE counters SET last = -1 WHERE name = 'events'", "counters: the row events has -1"),
          ("INSERT INTO counters VALUES ('mine', 1)", "counters: no version makes the row mine"),
          ("DROP TABLE pauses", "pauses: there is no such table"),
          ("DROP TABLE leases", "leases: there is no such table"),
          ("CREATE TABLE mine (x int)", "mine: no version of Keyferry makes such a table"),
          ("DROP INDEX documents_by_state", "documents: there is no index CREATE INDEX documents_by_state"),
          ("DROP INDEX claim_sources_by_value", "claim_sources: there is no index CREATE UNIQUE INDEX"),
          ("ALTER TABLE sources DROP CONSTRAINT sources_name_key", "sources: there is no constraint UNIQUE (name)"),
          (
            "ALTER TABLE documents DROP CONSTRAINT documents_source_fkey",
            "documents: there is no constraint FOREIGN KEY (source) REFERENCES sources(id)"
          ),
          (
            "ALTER TABLE leases DROP CONSTRAINT leases_number_check; UPDATE leases SET number = 0",
            "leases: 1 rows against (number > 0)"
          ),
          (
            "ALTER TABLE documents DROP CONSTRAINT documents_source_fkey; UPDATE documents SET source = 99",
            "rows against FOREIGN KEY (source) REFERENCES sources(id)"
          ),
          (
            "ALTER TABLE notes DROP CONSTRAINT notes_pkey; INSERT INTO notes SELECT * FROM notes",
            "notes: 4 rows against PRIMARY KEY (name)"
          ),
          ("ALTER TABLE notes ALTER value DROP NOT NULL", "notes: there is no column value bytea NOT NULL"),
          ("ALTER TABLE events ADD mine text", "events: no version of Keyferry makes the column mine text"),
          ("ALTER TABLE events ALTER COLUMN kind TYPE varchar(99)", "events: there is no column kind text NOT NULL"),
          ("ALTER TABLE notes SET UNLOGGED", "notes: no version of Keyferry makes the property UNLOGGED"),
          ("ALTER TABLE notes ENABLE ROW LEVEL SECURITY", "the property ROW LEVEL SECURITY, which hides rows"),
          ("ALTER TABLE documents DISABLE TRIGGER ALL", "the trigger a constraint is switched off"),
          (
            "ALTER TABLE log_heads DISABLE TRIGGER log_heads_go_forward",
            "the trigger log_heads_go_forward, which is switched off"
          ),
          ("DROP TRIGGER log_heads_stay ON log_heads", "there is no trigger log_heads_stay"),
          ("UPDATE notes SET value = 'x' WHERE name = 'operating/drained'", "notes: the note operating/drained is not"),
          ("UPDATE notes SET value = '' WHERE name = 'publishing/padding-secret'", "padding-secret is empty"),
          ("UPDATE leases SET holder = 'a b'", "leases: the holder of pull/DE is no name of a replica"),
          ("UPDATE leases SET until = 'infinity'", "leases: pull/DE is held for longer than a day"),
          ("UPDATE writers SET number = 1000000", "writers: 1 have written more often than anybody has"),
          ("UPDATE documents SET rejections = '{' WHERE rejections IS NOT NULL", "counts in the store cannot be read"),
          ("UPDATE regions SET names = 'x' WHERE id = 1", "a list or counts in the store cannot be read"),
          ("DELETE FROM regions WHERE id = 1", "refer to regions that is not in the store"),
          ("UPDATE events SET kind = 'mine'", "kind mine is none that a store has"),
          ("DELETE FROM claims WHERE recall = 0", "totals: "),
          ("DELETE FROM arrivals", "refer to an arrival that is not in the store"),
          ("UPDATE events SET time = -9223372036854775808 WHERE id = 1", "a number is -9223372036854775808, allowed"),
        ], 6))
    func damage(sql: String, expected: String) async throws {
      let schema = PostgresServer.newSchema()
      let store = try store(schema)
      var arrivals = Arrivals(random: SeededRandom(seed: 4))
      let batch = arrivals.batch(200)
      try await store.write { transaction in
        let document = try transaction.document("a")
        let stamp = try transaction.enter(NewEvent(.recorded, about: "a", at: Times.now))
        let receipt = try transaction.record(batch, of: document, in: stamp)
        try transaction.complete(document, DocumentFacts(receipt), at: Times.now)
        try transaction.setNote(Array("[]".utf8), named: StoredNote.drainedReplicas.name)
        try transaction.setNote([1], named: StoredNote.paddingSecret.name)
        try transaction.setNote(Array("1600000000".utf8), named: StoredNote.retention.name)
        try transaction.setNote([1], named: "whatever")
      }
      let office = try #require(store.leases)
      _ = try await office.take([.pull("DE")], as: LeaseTests.a, for: .seconds(60))
      #expect(try await store.damage(limit: 10) == [])
      try PostgresServer.shared.query("SET search_path = \(schema); \(sql)")
      let found = try await store.damage(limit: 50)
      #expect(found.contains { $0.contains(expected) }, "\(found)")
    }

    // MARK: Silence

    /// Stops the process of the server that serves a store, and has it go on in the end.
    private func stopping(_ schema: String, _ body: () async throws -> Void) async throws {
      let number = try PostgresServer.shared.query(
        "SELECT pid FROM pg_stat_activity WHERE application_name = left('store \(schema)', 60) AND state LIKE 'idle%'")
      let process = try #require(Int32(number.split(separator: "\n").first ?? ""))
      #expect(kill(process, SIGSTOP) == 0)
      defer { kill(process, SIGCONT) }
      try await body()
    }

    @Test("a server that is stopped is given up, and another connection does the work")
    func stopped() async throws {
      let schema = PostgresServer.newSchema()
      let store = try store(schema) { ($0.statementSeconds, $0.lockSeconds, $0.answerSeconds) = (1, 1, 1) }
      try await store.write { try $0.setNote([1], named: "n") }
      try await stopping(schema) {
        let took = try await ContinuousClock().measure { try await store.write { try $0.setNote([2], named: "n") } }
        #expect(took > .seconds(1.5) && took < .seconds(15), "\(took)")
      }
      #expect(try await store.read { try $0.note(named: "n") } == [2])
    }

    @Test("whoever ends waits for a stopped server no longer than it is told to")
    func hurry() async throws {
      let schema = PostgresServer.newSchema()
      let store = try store(schema)
      try await store.write { try $0.setNote([1], named: "n") }
      try await stopping(schema) {
        async let end: Void = {
          try? await Task.sleep(for: .milliseconds(300))
          store.hurry(within: .seconds(1))
        }()
        // It would be waited for a minute and more; another connection does it.
        let took = try await ContinuousClock().measure { try await store.write { try $0.setNote([2], named: "n") } }
        #expect(took > .seconds(4) && took < .seconds(15), "\(took)")
        await end
      }
      #expect(try await store.read { try $0.note(named: "n") } == [2])
    }

    // MARK: Leases

    @Test("whoever has several leases renews them in one order, so that no two wait for each other")
    func order() async throws {
      let schema = PostgresServer.newSchema()
      let store = try store(schema)
      let office = try #require(store.leases)
      // The later name has the earlier row.
      let b = try #require(try await office.take([.pull("b")], as: LeaseTests.a, for: .seconds(60)).first)
      let a = try #require(try await office.take([.pull("a")], as: LeaseTests.a, for: .seconds(60)).first)
      for isRelease in [false, true] {
        let other = try PostgresConnection(try ConnectionWords(PostgresServer.shared.words), application: "other")
        try other.script("BEGIN; SELECT 1 FROM \(schema).leases WHERE duty = 'pull/a' FOR UPDATE")
        async let done: Int =
          isRelease
          ? {
            try await office.release([b, a]); return 2
          }() : office.renew([b, a], for: .seconds(60)).count
        var waits = "0"
        for _ in 0..<100 where waits != "1" {
          try await Task.sleep(for: .milliseconds(10))
          waits = try PostgresServer.shared.query(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = left('store \(schema)', 60) AND wait_event_type = 'Lock'"
          )
        }
        #expect(waits == "1")
        // It has not taken the other row before.
        _ = try other.script("SELECT 1 FROM \(schema).leases WHERE duty = 'pull/b' FOR UPDATE NOWAIT")
        try other.script("COMMIT")
        #expect(try await done == 2)
      }
    }
  }

  /// A server whose certificate the test makes.
  @Suite(
    "PostgreSQL over TLS",
    .enabled(
      if: StoreKind.hasPostgres && Tool(named: "openssl") != nil,
      Comment(rawValue: "\(PostgresServer.advice); and openssl")), .timeLimit(.minutes(3)))
  struct DatabaseTLSTests {
    private static let script = """
      set -e
      request() { openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1"; }
      root() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -out "$1.pem" -subj "/CN=$1" -days 2; }
      root ca; root stranger
      request server
      printf 'subjectAltName=DNS:db.example.org\\n' >names
      openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem
      mkdir certificates; : >index; echo 01 >serial
      printf '[ca]\\ndefault_ca=d\\n[d]\\ndatabase=index\\nserial=serial\\nnew_certs_dir=certificates\\ndefault_md=sha256\\npolicy=p\\n[p]\\ncommonName=supplied\\n' >ca.conf
      openssl ca -batch -config ca.conf -cert ca.pem -keyfile ca.key -in server.csr -extfile names -out old.pem \\
        -startdate 20200101000000Z -enddate 20200201000000Z
      """

    private func withCertificates(_ body: (String) throws -> Void) async throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "kf-tls-\(UUID().uuidString.prefix(8))").path
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let process = Process()
      process.executableURL = URL(filePath: "/bin/bash")
      process.arguments = ["-c", Self.script]
      process.currentDirectoryURL = URL(filePath: folder)
      let said = Pipe()
      (process.standardOutput, process.standardError) = (said, said)
      try process.run()
      let text = String(decoding: said.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      try #require(process.terminationStatus == 0, "\(text)")
      try body(folder)
    }

    /// A name that is not this machine's leads to it.
    private func words(
      _ server: PostgresServer, _ folder: String, host: String = "db.example.org", ca: String = "ca",
      password: String = "hunter2"
    ) throws -> ConnectionWords {
      try ConnectionWords(
        "host=\(host) hostaddr=127.0.0.1 port=\(server.port ?? 0) user=gateway password=\(password) dbname=postgres "
          + "sslrootcert=\(folder)/\(ca).pem")
    }

    private func expect(_ said: String, _ words: ConnectionWords) {
      let fault = #expect(throws: StorageFault.self) { try PostgresStore(words, role: .reader) }
      #expect(fault?.code == .inputOutput && fault?.reason.contains(said) == true, "\(fault?.reason ?? "")")
      #expect(fault?.reason.contains("hunter2") == false)
    }

    private func server(_ listening: PostgresServer.Listening) throws -> PostgresServer {
      let server = try PostgresServer(listening: listening)
      try server.query("CREATE ROLE gateway LOGIN SUPERUSER PASSWORD 'hunter2'")
      return server
    }

    @Test("a database on another machine is taken with the right certificate alone")
    func verification() async throws {
      try await withCertificates { folder in
        let server = try server(.tls(certificate: "\(folder)/server.pem", key: "\(folder)/server.key"))
        let store = try PostgresStore(try words(server, folder))
        #expect(store.place == "postgresql://db.example.org:\(server.port ?? 0)/postgres, schema keyferry")
        #expect(
          try server.query(
            "SELECT count(*) > 0 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND usename = 'gateway'")
            == "t")
        let verify = "the server's certificate is not signed by sslrootcert, has ended, or is not valid yet"
        expect(verify, try words(server, folder, ca: "stranger"))
        expect("does not match host name \"other.example.org\"", try words(server, folder, host: "other.example.org"))
        // With TLS and without, a password is refused for the same reason, which is told once.
        let wrong = "password authentication failed for user \"gateway\""
        expect(wrong, try words(server, folder, password: "wrong"))
        let here = try ConnectionWords(
          "host=127.0.0.1 port=\(server.port ?? 0) user=gateway password=wrong dbname=postgres")
        let fault = #expect(throws: StorageFault.self) { try PostgresStore(here, role: .reader) }
        #expect(fault?.reason.components(separatedBy: wrong).count == 2, "\(fault?.reason ?? "")")

        // On this machine, too, what verifies is what is named, and not what may lie in somebody's home.
        let local =
          "host=localhost port=\(server.port ?? 0) user=gateway password=hunter2 dbname=postgres sslmode=verify-"
        expect(verify, try ConnectionWords("\(local)full"))
        expect(
          "does not match host name \"localhost\"", try ConnectionWords("\(local)full sslrootcert=\(folder)/ca.pem"))
        let lost = try ConnectionWords("\(local)full sslrootcert=\(folder)/lost.pem")
        expect("lost.pem\" does not exist; name another file with sslrootcert", lost)
        _ = try PostgresStore(try ConnectionWords("\(local)ca sslrootcert=\(folder)/ca.pem"), role: .reader)

        let old = try self.server(.tls(certificate: "\(folder)/old.pem", key: "\(folder)/server.key"))
        expect(verify, try words(old, folder))
        let plain = try self.server(.plain)
        expect("server does not support SSL", try words(plain, folder))
      }
    }
  }

  /// pgbouncer before a database.
  @Suite(
    "PostgreSQL behind pgbouncer",
    .enabled(
      if: StoreKind.hasPostgres && PgBouncer.program != nil,
      Comment(rawValue: "\(PostgresServer.advice); and Debian's pgbouncer")), .timeLimit(.minutes(2)))
  struct PoolerTests {
    @Test("in session mode a store is as good as without it")
    func session() async throws {
      let bouncer = try PgBouncer(to: try PostgresServer.shared, mode: "session")
      defer { bouncer.stop() }
      let access = DatabaseAccess(connection: bouncer.words, schema: PostgresServer.newSchema())
      #expect(try PostgresStore.missingRights(of: access).isEmpty)
      let store = try PostgresStore(access, role: .replica)
      try await store.write { try $0.setNote([1], named: "n") }
      let office = try #require(store.leases)
      let lease = try #require(try await office.take([.retention], as: LeaseTests.a, for: .seconds(30)).first)
      try await store.write(as: LedgerAuthority(.promised, under: [lease])) { try $0.setNote([2], named: "n") }
      #expect(try await store.read { try $0.note(named: "n") } == [2])
      let fault = #expect(throws: StorageFault.self) { try PostgresStore(access, role: .owner) }
      #expect(fault?.code == .held, "the lock of who has the store holds")
    }

    @Test("in transaction mode no gateway runs, and check says why; who only reads may")
    func transaction() async throws {
      let bouncer = try PgBouncer(to: try PostgresServer.shared, mode: "transaction")
      defer { bouncer.stop() }
      let schema = PostgresServer.newSchema()
      _ = try PostgresStore(try ConnectionWords(PostgresServer.shared.words), schema: schema)
      let access = DatabaseAccess(connection: bouncer.words, schema: schema)
      let words = "a pooler in transaction mode stands before the database"
      for role in [StoreRole.owner, .replica] {
        let fault = #expect(throws: StorageFault.self) { try PostgresStore(access, role: role) }
        #expect(fault?.code == .unsupported && fault?.reason.contains(words) == true, "\(fault?.reason ?? "")")
      }
      let told = #expect(throws: StorageFault.self) { try PostgresStore.missingRights(of: access) }
      #expect(told?.reason.contains(words) == true)
      #expect(try await PostgresStore(access, role: .reader).read { try $0.note(named: "n") } == nil)
      try await PostgresStore(access, role: .operator).write { try $0.setNote([1], named: "n") }
    }
  }

  /// One of the system's package, in a temporary folder.
  final class PgBouncer {
    static let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].first {
      FileManager.default.isExecutableFile(atPath: $0)
    }

    private let process = Process()
    private let folder: String
    private let port: Int

    init(to server: PostgresServer, mode: String) throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "kf-pool-\(UUID().uuidString.prefix(8))").path
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o777])
      port = try PostgresServer.freePort()
      let settings = """
        [databases]
        postgres = host=\(server.folder) user=keyferry
        [pgbouncer]
        listen_addr = 127.0.0.1
        listen_port = \(port)
        unix_socket_dir =
        auth_type = any
        pool_mode = \(mode)
        default_pool_size = 20
        """
      try settings.write(toFile: "\(folder)/settings", atomically: true, encoding: .utf8)
      process.executableURL = URL(filePath: Self.program ?? "")
      // It refuses root.
      process.arguments = (getuid() == 0 ? ["-u", "nobody"] : []) + ["\(folder)/settings"]
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      for _ in 0..<200 {
        if let database = try? PostgresConnection(try ConnectionWords(words), application: "first"), database.isIdle {
          return
        }
        Thread.sleep(forTimeInterval: 0.05)
      }
      throw PostgresServer.Fault(description: "pgbouncer did not start")
    }

    var words: String { "host=127.0.0.1 port=\(port) user=keyferry dbname=postgres sslmode=disable connect_timeout=2" }

    func stop() {
      // Whoever has started it may have signals blocked, and so has it then.
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      try? FileManager.default.removeItem(atPath: folder)
    }
  }
#endif
