import GatewaySettings
import KeyStorage
import Testing

@Suite("A database in the configuration") struct StoreSettingsTests {
  /// Each setting stands in one of them.
  static let texts = [
    """
    state: /var/k
    store:
      postgresql:
        connection: {file: token}
        schema: keys_2
        readers: 9
        statement-limit: 2 min
        lock-limit: 5 s
        idle-limit: 10 s
        replica: gateway-2
        lease: 30 s
    """,
    "state: /var/k\nstore: {postgresql: {connection: {env: TOKEN}}}\n",
  ]

  @Test("everything that can be said, and the secret is in no description") func everything() throws {
    let plan = try Fixture.parse(Self.texts[0]).plan
    var access = DatabaseAccess(connection: Fixture.secret, schema: "keys_2")
    (access.readers, access.statementSeconds, access.lockSeconds, access.idleSeconds) = (9, 120, 5, 10)
    (access.replica, access.leaseSeconds) = (try #require(ReplicaName("gateway-2")), 30)
    #expect(plan.database == access && plan.store == .postgresql(access))
    var dumped = "\(plan) \(plan.store) \(access)"
    dump(plan, to: &dumped)
    #expect(!dumped.contains("hunter2") && dumped.contains("keys_2"))
  }

  @Test("what is not said") func defaults() throws {
    let plan = try Fixture.parse(Self.texts[1]).plan
    #expect(plan.database == DatabaseAccess(connection: Fixture.secret) && plan.database?.schema == "keyferry")
    #expect(try Fixture.parse("state: /var/k").plan.store == .folder("/var/k"))
  }

  @Test(
    "faults name their place",
    arguments: [
      ("{postgresql: {connection: 'host=x password=hunter2'}}", "store.postgresql.connection"),
      ("{postgresql: {}}", "store.postgresql.connection"),
      ("{}", "store.postgresql"),
      ("{folder: x}", "store"),
      ("{postgresql: {connection: {env: TOKEN}, schema: public}}", "store.postgresql.schema"),
      ("{postgresql: {connection: {env: TOKEN}, schema: pg_x}}", "store.postgresql.schema"),
      ("{postgresql: {connection: {env: TOKEN}, schema: 'a\"; DROP'}}", "store.postgresql.schema"),
      ("{postgresql: {connection: {env: TOKEN}, readers: 0}}", "store.postgresql.readers"),
      ("{postgresql: {connection: {env: TOKEN}, lock-limit: 2 hours}}", "store.postgresql.lock-limit"),
      ("{postgresql: {connection: {env: TOKEN}, lease: 2 s}}", "store.postgresql.lease"),
      ("{postgresql: {connection: {env: TOKEN}, replica: a b}}", "store.postgresql.replica"),
      ("{postgresql: {connection: {env: MISSING}}}", "store.postgresql.connection"),
    ])
  func faults(store: String, place: String) {
    let faults = Fixture.faults("state: /var/k\nstore: \(store)")
    #expect(faults.contains { $0.contains(place) }, "\(faults)")
    #expect(!faults.contains { $0.contains("hunter2") })
  }
}
