package import ExposureKeys

/// Where a store is, for whichever store answers to the scheme.
package struct StoreAddress: Hashable, Sendable, CustomStringConvertible {
  package let scheme: String
  package let location: String
  /// How a database is reached; `nil` where the location says everything.
  package let database: DatabaseAccess?

  package init(scheme: String, location: String, database: DatabaseAccess? = nil) {
    self.scheme = scheme
    self.location = location
    self.database = database
  }

  /// A folder on this machine.
  package static func folder(_ path: String) -> Self { Self(scheme: "folder", location: path) }

  /// A schema of a PostgreSQL database.
  package static func postgresql(_ database: DatabaseAccess) -> Self {
    Self(scheme: "postgresql", location: database.schema, database: database)
  }

  package var description: String {
    if scheme == "folder" { return location }
    // Where the database is, the store itself says.
    return database == nil ? "\(scheme)://\(location)" : "the schema \(location) of a PostgreSQL database"
  }
}

/// How a database is reached, and how long it may take. The connection string may have a password: it describes itself as
/// hidden.
package struct DatabaseAccess: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
  /// As the database's own client reads it; never for a message.
  package var connection: String
  package var schema: String
  /// Connections that read at the same time, at most.
  package var readers = 6
  /// Seconds that one statement may take.
  package var statementSeconds = 60
  /// Seconds that are waited for another one who writes.
  package var lockSeconds = 30
  /// Seconds that the server waits for this process inside a transaction.
  package var idleSeconds = 15
  /// What this process is called among those that share the database.
  package var replica = ReplicaName.ofMachine
  /// Seconds for which a replica takes a piece of work.
  package var leaseSeconds = 15

  package static let usualSchema = "keyferry"

  package init(connection: String, schema: String = usualSchema) {
    self.connection = connection
    self.schema = schema
  }

  package var description: String { "(hidden), schema \(schema)" }
  package var customMirror: Mirror { Mirror(self, children: ["schema": schema]) }
}

/// How stores of one kind are opened.
package struct StoreDefinition: Sendable {
  /// The addresses that it answers to.
  package let scheme: String
  /// Opens the store at an address.
  ///
  /// - Parameters:
  ///   - command: what this process is doing, for others that want to write; `nil` is the program's name.
  ///   - makes: whether it is made where there is none and it is not only read; otherwise nothing is written then.
  /// - Throws: ``StorageFault``: `held` by another process, `earlier`, `later`, `incompatible`, `notFound`, or what the system says.
  package let open:
    @Sendable (
      _ address: StoreAddress, _ role: StoreRole, _ command: String?, _ makes: Bool, _ now: Instant
    ) throws -> any Store

  package init(
    scheme: String,
    open:
      @escaping @Sendable (
        _ address: StoreAddress, _ role: StoreRole, _ command: String?, _ makes: Bool, _ now: Instant
      ) throws -> any Store
  ) {
    self.scheme = scheme
    self.open = open
  }
}

/// The stores that a program has, one line each.
package struct StoreCatalog: Sendable {
  private let definitions: [StoreDefinition]

  package init(_ definitions: [StoreDefinition]) { self.definitions = definitions }

  /// Opens the store at an address; see ``StoreDefinition/open``.
  package func open(
    _ address: StoreAddress, as role: StoreRole, command: String? = nil, makes: Bool = true, now: Instant
  ) throws -> any Store {
    guard let definition = definitions.first(where: { $0.scheme == address.scheme }) else {
      let known = definitions.map(\.scheme).joined(separator: ", ")
      throw StorageFault(.unsupported, "\(address): no store answers to \(address.scheme), allowed are \(known)")
    }
    return try definition.open(address, role, command, makes, now)
  }
}
