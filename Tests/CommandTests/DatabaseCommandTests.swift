#if PostgreSQL
  import ExposureKeys
  import Foundation
  import GatewayTesting
  import KeyStorage
  import Testing

  /// A gateway whose store is in a database, through the program.
  @Suite(
    "A store in PostgreSQL, from the command line",
    .enabled(if: PostgresServer.programs != nil, Comment(rawValue: PostgresServer.advice)))
  struct DatabaseCommandTests {
    private static let noon = ["--now", "2020-11-25T12:00:00Z"]

    private func configure(_ workshop: Workshop, _ name: String, state: String, store: String, folder: String) throws {
      try workshop.write(
        """
        state: \(state)
        \(store)
        sources:
          - {name: drop, protocol: files, location: drop, trust: operator, origin: DE, speaks-for: [DE]}
        series:
          - {name: DE, include: [DE], region: "262", sign: [{key: {file: 310-v1.key.pem}, id: "310", version: v1}]}
        publication: {folder: \(folder)}
        """, name)
    }

    private func secret(_ text: String, _ name: String, _ workshop: Workshop) throws {
      try workshop.write(text, name)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workshop.path(name))
    }

    private func withGateway(_ body: (Workshop, _ schema: String) throws -> Void) throws {
      let server = try PostgresServer.shared
      try Workshop.run { workshop in
        let schema = PostgresServer.newSchema()
        try FileManager.default.createDirectory(
          at: workshop.folder.appending(path: "drop"), withIntermediateDirectories: false)
        try workshop.makeSigner()
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workshop.path("310-v1.key.pem"))
        try secret("\(server.words) password=hunter2\n", "database", workshop)
        try configure(
          workshop, "gateway.yaml", state: "state",
          store: "store: {postgresql: {connection: {file: database}, schema: \(schema)}}", folder: "public")
        try configure(workshop, "folder.yaml", state: "other-state", store: "", folder: "other-public")
        try workshop.write(NormalizeTests.german, "drop/de.csv")
        try FileManager.default.setAttributes(
          [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: workshop.path("drop/de.csv"))
        try body(workshop, schema)
      }
    }

    @Test("the configuration for replicas that ships is sound, and status and drain know replicas")
    func replicas() throws {
      try withGateway { workshop, schema in
        let shipped = PackageFolder.root.appending(path: "interop/deploy/replicas/gateway.yaml")
        var text = try String(contentsOf: shipped, encoding: .utf8)
        for (there, here) in [
          ("/run/secrets/database", "database"), ("/run/secrets/signing-key", "310-v1.key.pem"),
          ("/run/secrets/upload-token", "token"), ("/etc/keyferry/keys/netherlands.pem", "ring.pem"),
          ("/var/lib/keyferry-public", "public"), ("/var/lib/keyferry", "state"), ("lease: 15s", "schema: \(schema)"),
        ] {
          #expect(text.contains(there))
          text = text.replacing(there, with: here)
        }
        try secret("0123456789abcdef0123456789abcdef", "token", workshop)
        let ring = try workshop.keyferry("keygen", "-o", "other.pem", "--public-key", "ring.pem")
        #expect(ring.status == 0, "\(ring.errors)")
        try workshop.write(text, "replicas.yaml")
        let check = try workshop.keyferry("check", "--config", "replicas.yaml")
        #expect(check.status == 0, "\(check.errors)")

        #expect(try workshop.keyferry(["pull"] + Self.noon).status == 0)
        let unknown = try workshop.keyferry("drain", "gateway-2")
        #expect(
          unknown.status == 64 && unknown.errors.contains("no replica called gateway-2 was ever here; there are none"))
        let server = try PostgresServer.shared
        try server.query(
          """
          INSERT INTO \(schema).leases VALUES ('replica/gateway-2', 'gateway-2', 1, now() + interval '1 hour'),
            ('publish/DE', 'gateway-2', 3, now() + interval '1 hour'), ('pull/drop', 'gateway-1', 2, now())
          """)
        let held = try workshop.keyferry("drain", "gateway-2", "--wait", "0", "--by", "anna", "--reason", "new disk")
        #expect(held.status == 1 && held.errors.contains("still holds publish/DE"), "\(held.errors)")
        let status = try workshop.keyferry(["status", "--brief"] + Self.noon)
        #expect(status.status == 1)
        #expect(status.text.contains("by anna: new disk, publish/DE"), "\(status.text)")
        #expect(status.text.contains("nobody does  pull/drop, retention"))
        let json = try workshop.keyferry(["status", "--brief", "--json"] + Self.noon)
        let report = try JSONSerialization.jsonObject(with: Data(json.output)) as? [String: Any]
        #expect(report?["unheld_work"] as? [String] == ["pull/drop", "retention"], "\(json.text)")
        try server.query("UPDATE \(schema).leases SET until = now() WHERE duty = 'publish/DE'")
        #expect(try workshop.keyferry("drain", "gateway-2").status == 0)
        #expect(try workshop.keyferry("drain", "gateway-2", "--undo").status == 0)
        #expect(try workshop.keyferry("drain", "gateway-2", "--undo").status == 1)
        let folder = try workshop.keyferry("drain", "gateway-2", "--config", "folder.yaml")
        #expect(folder.status == 2 || folder.status == 64, "\(folder.errors)")
        let odd = try workshop.keyferry("drain", "a b")
        #expect(odd.status == 64 && odd.errors.contains("no name of a replica"))
      }
    }

    @Test("pull, publish, status and words of operators work as with the file, and the bundles are the same bytes")
    func everyday() throws {
      try withGateway { workshop, schema in
        // Before there is a store, a check says nothing, and whoever reads finds none.
        #expect(try workshop.keyferry(["check"] + Self.noon).status == 0)
        let none = try workshop.keyferry(["status"] + Self.noon)
        #expect(none.status == 2 && none.errors.contains("there is no store in its schema \(schema)"), "\(none.errors)")
        let made = try workshop.keyferry(["store", "create"] + Self.noon)
        let folder = try PostgresServer.shared.folder
        #expect(
          made.status == 0
            && made.errors.contains("postgresql:///postgres?host=\(folder)&port=5432, schema \(schema) has its tables"),
          "\(made.errors)")

        for name in ["gateway.yaml", "folder.yaml"] {
          for command in ["pull", "publish"] {
            let done = try workshop.keyferry([command, "--config", name] + Self.noon)
            #expect(done.status == 0, "\(done.errors)")
          }
        }
        #expect(!workshop.exists("state/keyferry.sqlite"))
        let files = try FileManager.default.subpathsOfDirectory(atPath: workshop.path("public/DE"))
          .filter { $0.hasSuffix(".zip") }
        #expect(!files.isEmpty)
        for file in files {
          // What was signed is the same; signatures are random.
          let here = try #require(try workshop.entry("export.bin", of: "public/DE/\(file)"))
          let there = try #require(try workshop.entry("export.bin", of: "other-public/DE/\(file)"))
          #expect(here == there && here.count > 100, "\(file)")
        }

        #expect(try workshop.keyferry("pause", "origin:DE", "--reason", "r").status == 0)
        let status = try workshop.keyferry(["status"] + Self.noon)
        #expect(status.status == 0 && status.text.contains("paused"), "\(status.text) \(status.errors)")
        #expect(try workshop.keyferry("store", "check").text == "the store is whole\n")
        let (server, dump) = (try PostgresServer.shared, workshop.path("dump.sql"))
        func run(_ program: String, _ arguments: [String]) throws {
          let tool = Tool(path: "\(try #require(PostgresServer.programs))/\(program)")
          let outcome = try tool.run(arguments + ["-d", server.words])
          #expect(outcome.status == 0, "\(outcome.errors)")
        }
        try run("pg_dump", ["--schema=\(schema)", "-f", dump])
        try server.query(
          "DROP INDEX \(schema).uploads_by_event; DELETE FROM \(schema).counters WHERE name = 'events'")
        let damaged = try workshop.keyferry("store", "check")
        #expect(damaged.status == 1 && damaged.text.contains("counters: there is no row events\n"), "\(damaged.text)")
        #expect(damaged.text.contains("uploads: there is no index CREATE INDEX uploads_by_event"), "\(damaged.text)")
        #expect(damaged.errors.contains("hint: stop the gateway and restore a pg_dump copy of the database"))
        let backup = try workshop.keyferry("store", "backup", "-o", "x.sqlite")
        #expect(backup.status == 64 && backup.errors.contains("pg_dump --schema=\(schema)"), "\(backup.errors)")
        // The dump is restored as the page on PostgreSQL says.
        try run("psql", ["-X", "-c", "ALTER SCHEMA \(schema) RENAME TO \(schema)_damaged"])
        try run("psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", "--single-transaction", "-f", dump])
        #expect(try workshop.keyferry("store", "check").text == "the store is whole\n")
        #expect(try workshop.keyferry(["status"] + Self.noon).text == status.text)
      }
    }

    /// The package `faketime` has the library; CI installs it.
    private static let fakeTime: String? = {
      let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
      return folders.map { "/usr/lib/\($0)/faketime/libfaketime.so.1" }.first(where: FileManager.default.fileExists)
    }()

    @Test(
      "a command on a machine whose clock is not the database's does nothing",
      .enabled(if: fakeTime != nil, "needs the package faketime"))
    func wrongClock() throws {
      try withGateway { workshop, _ in
        #expect(try workshop.keyferry(["store", "create"]).status == 0)
        let program = try #require(Workshop.program)
        let environment = try #require(Tool(named: "env"))
        let library = try #require(Self.fakeTime)
        for (time, words) in [("+400d", "seconds ahead of the database's"), ("-1h", "seconds behind the database's")] {
          for command in ["pull", "publish"] {
            let done = try environment.run(
              ["LD_PRELOAD=\(library)", "FAKETIME=\(time)", "FAKETIME_DONT_FAKE_MONOTONIC=1", program, command],
              in: workshop.folder)
            #expect(done.status == 2 && done.errors.contains(words), "\(time) \(command): \(done.errors)")
          }
        }
        #expect(!workshop.exists("public/DE/index.txt"))
      }
    }

    @Test("a fresh database beside publications is not begun without a word", arguments: ["none", "tables"])
    func fresh(_ kind: String) throws {
      try withGateway { workshop, schema in
        for command in ["pull", "publish"] { #expect(try workshop.keyferry([command] + Self.noon).status == 0) }
        let server = try PostgresServer.shared
        try server.query("DROP SCHEMA \(schema) CASCADE")
        if kind == "tables" {
          try configure(
            workshop, "elsewhere.yaml", state: "state",
            store: "store: {postgresql: {connection: {file: database}, schema: \(schema)}}", folder: "elsewhere")
          #expect(try workshop.keyferry(["store", "create", "--config", "elsewhere.yaml"] + Self.noon).status == 0)
        }
        let index = try workshop.text("public/DE/index.txt")
        let words =
          kind == "none"
          ? "there is no store in the schema \(schema) of a PostgreSQL database, and public has series DE"
          : "the store in the schema \(schema) of a PostgreSQL database has published nothing, and public has series DE"
        for command in [
          ["pull"] + Self.noon, ["publish"] + Self.noon, ["run"], ["store", "create"], ["pause", "drop"],
        ] {
          let refused = try workshop.keyferry(command)
          #expect(refused.status == 2 && refused.errors.contains(words), "\(command): \(refused.text)\(refused.errors)")
          #expect(
            refused.errors.contains(
              "correct store.postgresql, or move the store there with keyferry store copy, or restore"))
        }
        let check = try workshop.keyferry(["check"] + Self.noon)
        #expect(check.status == 2 && check.text.contains("store.postgresql: \(words)"), "\(check.text)")
        #expect(try workshop.text("public/DE/index.txt") == index)
        if kind == "none" {
          // Not even the schema was made.
          let status = try workshop.keyferry(["status"] + Self.noon)
          #expect(status.status == 2 && status.errors.contains("there is no store in its schema"), "\(status.errors)")
        }
        let shown = try workshop.keyferry(["store", "begin"] + Self.noon)
        #expect(shown.status == 0 && shown.text.hasPrefix(words), "\(shown.text)\(shown.errors)")
        let begun = try workshop.keyferry(["store", "begin", "--yes", "--reason", "the cluster is lost"])
        #expect(begun.status == 0 && begun.text.hasPrefix("a new store has begun"), "\(begun.text)\(begun.errors)")
        #expect(try workshop.keyferry(["pull"] + Self.noon).status == 0)
        #expect(try workshop.keyferry(["store", "begin", "--publish", "--yes"] + Self.noon).status == 0)
        let round = try workshop.keyferry(["publish"] + Self.noon)
        #expect(round.status == 1 && round.errors.contains("that the store does not know"), "\(round.errors)")
        #expect(try workshop.keyferry(["publish"] + Self.noon).status == 0)
        #expect(try workshop.text("public/DE/index.txt").hasPrefix(index))
      }
    }

    @Test("check names what is wrong with the database, and never the secret")
    func faults() throws {
      try withGateway { workshop, schema in
        let server = try PostgresServer.shared
        func check(_ connection: String, _ expected: String) throws {
          try secret(connection, "database", workshop)
          let outcome = try workshop.keyferry(["check"] + Self.noon)
          #expect(outcome.status == 2 || outcome.status == 1, "\(outcome.text) \(outcome.errors)")
          let said = outcome.text + outcome.errors
          #expect(said.contains("store.postgresql") && said.contains(expected), "\(said)")
          #expect(!said.contains("hunter2"))
          // Nobody takes the store of the folder for it.
          let status = try workshop.keyferry(["status"] + Self.noon)
          #expect(status.status == 2 && !status.errors.contains("hunter2"), "\(status.errors)")
        }
        try check("host=/nowhere/at/all password=hunter2", "No such file or directory")
        try check("host=db.example.org sslmode=disable password=hunter2", "allowed is verify-full")
        try check("hunter2", "cannot be read")
        let role = "r\(schema)"
        try server.query("CREATE ROLE \(role) LOGIN")
        let connection = "host=\(server.folder) user=\(role) dbname=postgres password=hunter2"
        try check(connection, "CREATE SCHEMA \"\(schema)\" AUTHORIZATION \"\(role)\"")
        let made = try workshop.keyferry(["store", "create"] + Self.noon)
        #expect(made.status == 2 && made.errors.contains("CREATE SCHEMA"), "\(made.errors)")
        try server.query("CREATE SCHEMA \(schema)")
        try check(connection, "GRANT USAGE, CREATE ON SCHEMA \"\(schema)\" TO \"\(role)\"")
        try server.query("CREATE TABLE \(schema).mine (x int)")
        try check("\(server.words) password=hunter2", "not a store of Keyferry")
      }
    }

    @Test("a store moves into the database and back")
    func moving() throws {
      try withGateway { workshop, _ in
        for command in ["pull", "publish"] {
          #expect(try workshop.keyferry([command, "--config", "folder.yaml"] + Self.noon).status == 0)
        }
        let before = try workshop.keyferry(["events", "--json", "--config", "folder.yaml"] + Self.noon).text
        let moved = try workshop.keyferry(["store", "copy", "gateway.yaml", "--config", "folder.yaml"] + Self.noon)
        #expect(moved.status == 0 && moved.errors.contains("has the same"), "\(moved.errors)")
        #expect(try workshop.keyferry(["events", "--json"] + Self.noon).text == before)
        let again = try workshop.keyferry(["store", "copy", "gateway.yaml", "--config", "folder.yaml"] + Self.noon)
        #expect(again.status == 2 && again.errors.contains("a copy needs an empty one"), "\(again.errors)")

        try configure(workshop, "third.yaml", state: "third-state", store: "", folder: "public")
        #expect(try workshop.keyferry(["store", "copy", "third.yaml"] + Self.noon).status == 0)
        #expect(try workshop.keyferry(["events", "--json", "--config", "third.yaml"] + Self.noon).text == before)
        let same = try workshop.keyferry(["store", "copy", "gateway.yaml"] + Self.noon)
        #expect(same.status == 2 && same.errors.contains("both configurations have the same store"), "\(same.errors)")
      }
    }
  }
#endif
