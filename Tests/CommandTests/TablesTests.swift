import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import Testing

/// `keyferry tables`, read back by programs that are not ours.
@Suite("Tables for analysis")
struct TablesTests {
  /// Two files and one that is none.
  private static func made(_ arguments: [String], in shop: Workshop) throws -> Tool.Outcome {
    try shop.write(Sample.csv, "a.csv")
    try shop.write(Sample.json, "b.json")
    try shop.write("no archive", "c.zip")
    return try shop.keyferry(["tables", "a.csv", "b.json", "c.zip"] + arguments)
  }

  private static func python(_ script: String, in shop: Workshop) throws -> String {
    let outcome = try #require(NotebookTests.tool).run(["-c", script], in: shop.folder)
    #expect(outcome.status == 0, "\(outcome.errors)")
    return outcome.text
  }

  @Test("An SQLite database has every key, and why a file was left out")
  func database() throws {
    try Workshop.run { shop in
      let run = try Self.made(["--dates", "-o", "t.sqlite"], in: shop)
      #expect(run.status == 1, "\(run.errors)")
      let text = try Self.python(
        """
        import sqlite3, csv
        db = sqlite3.connect("t.sqlite")
        one = lambda q: db.execute(q).fetchone()
        print(one("select count(*) from files"), one("select count(*) from files where fault is not null"))
        rows = list(csv.DictReader(l for l in open("a.csv") if not l.startswith("#")))
        keys = db.execute("select hex(key), rolling_start, rolling_period, transmission_risk from keys where file = 1 order by position").fetchall()
        print(len(rows) == len(keys))
        print(all(r["key_data"].upper() == k[0] or len(r["key_data"]) != 32 for r, k in zip(rows, keys)))
        print(all(int(r["rolling_start_interval_number"]) == k[1] for r, k in zip(rows, keys)))
        print(one("select count(*) from keys where strftime('%s', used_from) != cast(rolling_start * 600 as text)")[0])
        print(one("select count(*) from sqlite_master where type = 'index'")[0] > 3)
        """, in: shop)
      #expect(text == "(3,) (1,)\nTrue\nTrue\nTrue\n0\nTrue\n")
      #expect(try shop.files == ["a.csv", "b.json", "c.zip", "t.sqlite"])
    }
  }

  @Test("With --hash-keys the digests stand there, and no key")
  func hashedKeys() throws {
    try Workshop.run { shop in
      _ = try Self.made(["-o", "t.sqlite"], in: shop)
      _ = try Self.made(["--hash-keys", "-o", "h.db"], in: shop)
      let text = try Self.python(
        """
        import sqlite3, hashlib
        keys, digests = (
          [r[0] for r in sqlite3.connect(name).execute("select key from keys order by file, position")]
          for name in ["t.sqlite", "h.db"])
        print(len(keys) > 0, [hashlib.sha256(k).digest() for k in keys] == digests)
        """, in: shop)
      #expect(text == "True True\n")
    }
  }

  @Test("No input is written over, and nothing that is there without the operator's word")
  func overwriting() throws {
    try Workshop.run { shop in
      try shop.write(Sample.csv, "a.db")
      let refused = try shop.keyferry("tables", "a.db", "-o", "a.db")
      #expect(refused.status == 2 && refused.errors.contains("--replace"))
      let input = try shop.keyferry("tables", "a.db", "-o", "a.db", "--replace")
      #expect(input.status == 64 && input.errors.contains("it would be overwritten"))
      #expect(try shop.bytes("a.db") == Sample.csv)
      #expect(try shop.keyferry("tables", "a.db", "-o", "b.db").status == 0)
      #expect(try shop.keyferry("tables", "a.db", "-o", "b.db", "--replace").status == 0)
      #expect(try shop.files == ["a.db", "b.db"])
    }
  }

  @Test("What another program has left beside the output changes nothing, and no gateway's store is overwritten")
  func leftovers() throws {
    try Workshop.run { shop in
      try shop.write(Sample.csv, "a.csv")
      let text = try Self.python(
        """
        import os, shutil, sqlite3
        for mode in ["wal", "persist"]:
          db = sqlite3.connect("w.db")
          db.execute(f"pragma journal_mode = {mode}")
          db.execute("create table other (x)")
          db.commit()
          db.execute("insert into other values (1)")
          if mode == "wal":
            db.commit()
            shutil.copy("w.db-wal", "o.db-wal")
          else:
            shutil.copy("w.db-journal", "p.db-journal")
          db.rollback()
          db.close()
          for name in ["w.db", "w.db-wal", "w.db-journal"]:
            if os.path.exists(name): os.remove(name)
        store = sqlite3.connect("store.db")
        store.execute("pragma application_id = 0x4b465259")
        store.execute("create table t (x)")
        store.commit()
        """, in: shop)
      #expect(text.isEmpty)
      for name in ["o.db", "p.db"] { #expect(try shop.keyferry("tables", "a.csv", "-o", name).status == 0) }
      let counts = try Self.python(
        """
        import sqlite3
        for name in ["o.db", "p.db"]:
          db = sqlite3.connect(name)
          print(db.execute("pragma integrity_check").fetchone()[0], db.execute("select count(*) from files").fetchone()[0])
        """, in: shop)
      #expect(counts == "ok 1\nok 1\n")
      let refused = try shop.keyferry("tables", "a.csv", "-o", "store.db", "--replace")
      #expect(refused.status == 2 && refused.errors.contains("it is the store of a gateway"), "\(refused.errors)")
    }
  }

  @Test("What is no table's place is refused")
  func places() throws {
    try Workshop.run { shop in
      let run = try Self.made(["-o", "t.txt"], in: shop)
      #expect(run.status == 64 && run.errors.contains("t.txt: the output must end in .sqlite, .sqlite3 or .db"))
    }
  }

  @Test("No secret that was given as a path is repeated")
  func secretsAsPaths() throws {
    try Workshop.run { shop in
      let pem = SigningKey.generate().pemRepresentation
      let secrets = [
        "0f1e2d3c4b5a69788796a5b4c3d2e1f0", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJrIn0.c2lnbmF0dXJl", "hunter2hunter2", pem,
        "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=", "a83vEjRW+JCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=",
      ]
      try shop.write(Sample.csv, "keys.csv")
      for secret in secrets {
        for command in [
          ["inspect", secret], ["inspect", secret, "--json"], ["convert", secret, "--to", "csv", "-o", "out"],
          ["convert", secret, "--to", "csv", "-o", "out/", "--json"], ["tables", secret, "-o", "t.sqlite", "--json"],
          ["tables", "keys.csv", "-o", secret], ["verify", secret, "--trust", secret, "--json"],
          ["verify", "keys.csv", "--trust", secret],
          ["sign", secret, "-o", "out.zip", "--sign-key", secret, "--key-id", "310", "--key-version", "v1"],
          [
            "convert", "keys.csv", "--to", "gaen-export", "-o", "out.zip", "--sign-key", secret, "--key-id", "310",
            "--key-version", "v1",
          ],
          ["log", "verify", ".", "--key", secret], ["log", "verify", secret, "--key", secret, "--json"],
          ["log", "prove", ".", "--index", "0", "--key", secret], ["archive", "list", secret, "--json"],
          ["report", secret, "--json"], ["diff", secret, secret, "--json"],
          ["explain", "00112233445566778899aabbccddeeff", secret],
          ["normalize", secret, "--to", "csv", "-o", "out", "--json"],
          ["verify-batch", secret, "--trust", secret, "--json"],
          ["trust", "check", secret, "--json"],
          ["trust", "add", secret, "keys.csv", "--country", "DE", "--use", "signing"],
          ["audit", "verify", secret, "--key", secret], ["check", "--config", secret],
          ["status", "--config", secret, "--json"],
        ] {
          let run = try shop.keyferry(command)
          let said = run.errors + run.text
          let body = secret.split(separator: "\n").max { $0.count < $1.count } ?? ""
          #expect(run.status != 0, "\(command.joined(separator: " "))")
          #expect(!said.contains(body.dropFirst(4).prefix(6)), "\(command.joined(separator: " ")): \(said)")
        }
      }
    }
  }
}
