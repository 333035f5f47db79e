internal import ProgramMetrics
internal import Synchronization

/// A connection, as far as it matters for who has to go when there are too many.
final class OpenConnection: Sendable {
  /// Nanoseconds of the machine's uptime when it began to wait for its client: for a request, or for the rest of a head;
  /// ``busy`` while a request is answered.
  private let since: Atomic<UInt64>
  /// `nil` where it carries requests of many clients: it is a proxy's.
  let client: RateLimitedClient?
  /// Closes it at once, without a farewell that the client could draw out.
  let drop: @Sendable () -> Void
  /// Closes it likewise where it waits for its client, and the client has taken everything.
  let dropIfIdle: @Sendable () -> Void
  /// Tells the client that the server ends soon, where that can be told without a response.
  let tellLeaving: @Sendable () -> Void

  fileprivate static let busy = UInt64.max

  init(
    client: RateLimitedClient?, waitingSince: UInt64, drop: @escaping @Sendable () -> Void,
    dropIfIdle: @escaping @Sendable () -> Void = {}, tellLeaving: @escaping @Sendable () -> Void = {}
  ) {
    since = Atomic(waitingSince)
    self.client = client
    self.drop = drop
    self.dropIfIdle = dropIfIdle
    self.tellLeaving = tellLeaving
  }

  func waits(since time: UInt64) { since.store(time, ordering: .relaxed) }
  func isBusy() { since.store(Self.busy, ordering: .relaxed) }
  fileprivate var waitingSince: UInt64 { since.load(ordering: .relaxed) }
}

/// All connections, and those of each client: never more than the settings allow. For a new one the one goes that has
/// waited longest for its client; where all are busy, the new one is refused. The lock owns the table.
///
/// Of many, some are looked at and the one among them goes that waits longest, so that a step takes the same time however
/// many there are: somebody who opens as many as he can drops his own, and never one that has just come.
final class OpenConnections: Sendable {
  enum Reason: String, CaseIterable {
    case slowHead = "head"
    case slowContent = "content"
    case idle
    /// The client took nothing of a response.
    case stalled
    /// For a new one of the same client.
    case ofClient = "client"
    /// For a new one of anybody.
    case ofAll = "all"
    /// A new one, for which no other one could go.
    case refused
  }

  let most: Int
  private let mostOfClient: Int
  private let metrics: GatewayMetrics
  private let table = Mutex(Table())
  private let leaving = Atomic(false)

  private struct Table {
    var all = Crowd()
    var clients: [RateLimitedClient: Crowd] = [:]

    mutating func add(_ connection: OpenConnection) {
      all.add(connection)
      if let client = connection.client { clients[client, default: Crowd()].add(connection) }
    }

    mutating func remove(_ connection: OpenConnection) {
      all.remove(connection)
      guard let client = connection.client else { return }
      clients[client]?.remove(connection)
      if clients[client]?.count == 0 { clients[client] = nil }
    }
  }

  init(most: Int, mostOfClient: Int, metrics: GatewayMetrics) {
    self.most = max(1, most)
    self.mostOfClient = max(1, mostOfClient)
    self.metrics = metrics
    // What has not happened yet has happened no times.
    for reason in Reason.allCases { metrics.droppedConnections.increment([reason.rawValue], by: 0) }
  }

  var count: Int { table.withLock { $0.all.count } }

  /// - Returns: whether there is a place for it.
  func enter(_ connection: OpenConnection) -> Bool {
    let (isIn, dropped) = table.withLock { table -> (Bool, [(OpenConnection, Reason)]) in
      var dropped: [(OpenConnection, Reason)] = []
      if let client = connection.client, table.clients[client]?.count ?? 0 >= mostOfClient {
        guard let oldest = table.clients[client]?.longestWaiting() else { return (false, dropped) }
        table.remove(oldest)
        dropped.append((oldest, .ofClient))
      }
      if table.all.count >= most {
        guard let oldest = table.all.longestWaiting() else { return (false, dropped) }
        table.remove(oldest)
        dropped.append((oldest, .ofAll))
      }
      table.add(connection)
      return (true, dropped)
    }
    for (connection, reason) in dropped {
      countDropped(reason)
      connection.drop()
    }
    if !isIn { countDropped(.refused) }
    return isIn
  }

  func leave(_ connection: OpenConnection) { table.withLock { $0.remove(connection) } }

  /// Whether the server ends soon: who asks still is answered, and told that nothing more is taken from this connection.
  var isLeaving: Bool { leaving.load(ordering: .relaxed) }

  func beginLeaving() {
    leaving.store(true, ordering: .relaxed)
    for connection in table.withLock({ $0.all.everybody }) { connection.tellLeaving() }
  }

  /// Closes those that wait for their clients: who has nothing to be told need not say good-bye.
  func dropIdle() {
    for connection in table.withLock({ $0.all.everybody }) { connection.dropIfIdle() }
  }

  /// - Returns: how many there were.
  func dropAll() -> Int {
    let all = table.withLock { $0.all.everybody }
    for connection in all { connection.drop() }
    return all.count
  }

  func countDropped(_ reason: Reason) { metrics.droppedConnections.increment([reason.rawValue]) }
}

/// Connections in no order. Each step takes constant time.
private struct Crowd {
  /// How many are looked at for the one that waits longest.
  private static let sample = 64

  private var members: [OpenConnection] = []
  private var places: [ObjectIdentifier: Int] = [:]
  private var hand = 0

  var count: Int { members.count }
  var everybody: [OpenConnection] { members }

  mutating func add(_ connection: OpenConnection) {
    places[ObjectIdentifier(connection)] = members.count
    members.append(connection)
  }

  mutating func remove(_ connection: OpenConnection) {
    guard let place = places.removeValue(forKey: ObjectIdentifier(connection)), let last = members.popLast(),
      last !== connection
    else { return }
    members[place] = last
    places[ObjectIdentifier(last)] = place
  }

  /// Of the next ones; `nil` where all of these are busy.
  mutating func longestWaiting() -> OpenConnection? {
    var found: OpenConnection?
    var since = OpenConnection.busy
    for _ in 0..<min(count, Self.sample) {
      hand = hand + 1 < count ? hand + 1 : 0
      let other = members[hand].waitingSince
      if other < since { (found, since) = (members[hand], other) }
    }
    return found
  }
}

/// Requests that are answered now, of each client behind a proxy: its connections are the proxy's, so that its requests
/// are counted in their place. The lock owns the table.
final class ProxiedRequests: Sendable {
  private let mostOfClient: Int
  private let counts = Mutex<[RateLimitedClient: Int]>([:])

  init(mostOfClient: Int) { self.mostOfClient = max(1, mostOfClient) }

  /// - Returns: whether the client may have one more; then ``end(_:)`` must follow.
  func begin(_ client: RateLimitedClient) -> Bool {
    counts.withLock { counts in
      let count = counts[client] ?? 0
      guard count < mostOfClient else { return false }
      counts[client] = count + 1
      return true
    }
  }

  func end(_ client: RateLimitedClient) {
    counts.withLock { counts in
      let rest = (counts[client] ?? 1) - 1
      counts[client] = rest > 0 ? rest : nil
    }
  }
}
