internal import BundleTrust
internal import KeyStorage
internal import PolicyFiles

extension GatewayReader {
  /// Where the store is; `nil` is in the folder of `state`, or what is stated is at fault.
  func store(_ section: Section) -> DatabaseAccess? {
    var access: DatabaseAccess?
    guard section.states("postgresql") else {
      _ = section.need("postgresql", "a database; without store, the store is in the folder of state")
      return nil
    }
    section.section("postgresql") { section in
      let connection = section.need("connection", "how the database is reached, \(Self.secretForm)")
        .flatMap { secret($0, isNeeded: true) }
      let schema = section.take("schema").map(schemaName) ?? DatabaseAccess.usualSchema
      let readers = section.take("readers").map { $0.number(Allowed.databaseReaders) } ?? 6
      var times = DatabaseAccess(connection: "")
      func seconds(_ name: String, _ path: WritableKeyPath<DatabaseAccess, Int>) {
        set(&times[keyPath: path], section.take(name)?.duration(Allowed.databaseSeconds).map(Int.init))
      }
      seconds("statement-limit", \.statementSeconds)
      seconds("lock-limit", \.lockSeconds)
      seconds("idle-limit", \.idleSeconds)
      set(&times.leaseSeconds, section.take("lease")?.duration(Allowed.leaseSeconds).map(Int.init))
      let replica = section.take("replica").map(replicaName) ?? .ofMachine
      guard let connection, let schema, let readers, let replica else { return }
      times.replica = replica
      times = DatabaseAccess(connection: connection.disclosed, schema: schema, readers: readers, like: times)
      access = times
    }
    return access
  }

  private func replicaName(_ setting: Setting) -> ReplicaName? {
    guard let text = setting.text() else { return nil }
    return ReplicaName(text)
      ?? setting.fault("\(setting.shown), allowed 1...63 letters, digits, \".\", \"_\", \"-\"")
  }

  private func schemaName(_ setting: Setting) -> String? {
    guard let text = setting.text() else { return nil }
    let isName = text.unicodeScalars.allSatisfy {
      ("a"..."z").contains($0) || ("0"..."9").contains($0) || $0 == "_"
    }
    guard (1...48).contains(text.utf8.count), isName, text.first?.isNumber == false, !text.hasPrefix("pg_") else {
      return setting.fault("\(setting.shown), allowed 1...48 small letters, digits, \"_\"; not public")
    }
    return text == "public" ? setting.fault("public is everybody's, allowed a schema of the gateway's own") : text
  }
}

extension DatabaseAccess {
  fileprivate init(connection: String, schema: String, readers: Int, like other: DatabaseAccess) {
    self.init(connection: connection, schema: schema)
    self.readers = readers
    (statementSeconds, lockSeconds, idleSeconds) = (other.statementSeconds, other.lockSeconds, other.idleSeconds)
    (replica, leaseSeconds) = (other.replica, other.leaseSeconds)
  }
}
