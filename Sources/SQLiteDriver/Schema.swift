import GRDB
import KeyStorage

/// The tables in a file: those of ``StoreSchema``. They are made in one transaction, all or none.
enum Schema {
  /// "KFRY", in the header of the file.
  static let applicationID: Int32 = 0x4b46_5259

  /// What is in a file.
  enum Standing {
    /// An empty file, or what a process left that was killed before it had made the tables.
    case nothing
    case current
    case earlier
    case later
    /// A file of another program.
    case foreign
  }

  static func standing(of database: Database) throws -> Standing {
    let sql = SQLiteSession(database, isTransaction: false)
    let application: Int32? = try sql.value("PRAGMA application_id")
    guard application == applicationID else {
      let tables: Int? = try sql.value(
        "SELECT count(*) FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
      return application == 0 && tables == 0 ? .nothing : .foreign
    }
    let stated: Int64? = try sql.value("PRAGMA user_version")
    let version = stated ?? 0
    return version == StoreSchema.version ? .current : version < StoreSchema.version ? .earlier : .later
  }

  /// - Parameter database: in a transaction, and empty.
  static func make(in database: Database) throws {
    try database.execute(sql: StoreSchema.script(for: .sqlite) + "\n" + triggers)
    try database.execute(sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(StoreSchema.version)")
  }

  /// Makes the tables in memory, to compare a file with them.
  static func inMemory<Result>(_ body: (SQLiteSession) throws -> Result) throws -> Result {
    try DatabaseQueue().inDatabase { database in
      try make(in: database)
      return try body(SQLiteSession(database, isTransaction: false))
    }
  }

  /// What was signed of a public log only goes forward: no size of it has two checkpoints, whoever writes.
  private static let triggers = """
    CREATE TRIGGER log_heads_go_forward BEFORE UPDATE ON log_heads
    WHEN NEW.name <> OLD.name OR NEW.key <> OLD.key OR NEW.size < OLD.size
      OR (NEW.size = OLD.size AND NEW.root <> OLD.root)
    BEGIN
      SELECT RAISE(ABORT, 'a log only goes forward');
    END;
    CREATE TRIGGER log_heads_stay BEFORE DELETE ON log_heads BEGIN
      SELECT RAISE(ABORT, 'a log only goes forward');
    END;
    """
}
