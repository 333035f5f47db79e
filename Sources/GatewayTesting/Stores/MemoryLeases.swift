internal import Dispatch
internal import ExposureKeys
internal import KeyStorage
internal import Synchronization

/// Leases of a store in memory.
final class MemoryLeases: LeaseStore {
  private struct Row {
    var holder: ReplicaName
    var number: Int64
    var until: Duration
  }

  private let rows = Mutex<[Duty: Row]>([:])
  /// One at a time takes duties or runs a body that writes. A body stays on the thread of its database.
  private let turn = DispatchSemaphore(value: 1)
  /// Taking duties waits here for its turn.
  private let waiting = DispatchQueue(label: "keyferry.memory.leases")
  private let clock: @Sendable () -> Duration
  private let time: (@Sendable () -> Instant)?
  /// Which replicas are to have no work.
  private let drained: @Sendable () async throws -> [DrainedReplica]

  init(
    clock: @escaping @Sendable () -> Duration, time: (@Sendable () -> Instant)?,
    drained: @escaping @Sendable () async throws -> [DrainedReplica]
  ) {
    (self.clock, self.time, self.drained) = (clock, time, drained)
  }

  /// Runs a body that writes under leases.
  ///
  /// - Throws: ``StorageFault``: `fenced`; what the body throws.
  func whileNoneIsTaken<Result>(_ leases: [Lease], _ body: () throws -> Result) throws -> Result {
    turn.wait()
    defer { turn.signal() }
    try rows.withLock { rows in
      for lease in leases {
        guard let row = rows[lease.duty], row.number == lease.number, row.holder == lease.holder else {
          throw StorageFault.fenced(lease)
        }
      }
    }
    return try body()
  }

  func table() async throws -> LeaseTable {
    let now = clock()
    let standing = rows.withLock { $0 }.sorted { $0.key < $1.key }.map { duty, row in
      LeaseStanding(duty, holder: row.holder, number: row.number, remaining: row.until - now)
    }
    return LeaseTable(standing, at: time?(), drained: try await drained())
  }

  func take(_ duties: [Duty], as holder: ReplicaName, for time: Duration) async throws -> [Lease] {
    let deadline = Lease.deadline(askedAt: .now, for: time)
    return await withCheckedContinuation { continuation in
      waiting.async {
        self.turn.wait()
        defer { self.turn.signal() }
        let now = self.clock()
        let taken = self.rows.withLock { rows in
          duties.compactMap { duty -> Lease? in
            let last = rows[duty]
            if let last, last.until > now { return nil }
            let number = (last?.number ?? 0) + 1
            rows[duty] = Row(holder: holder, number: number, until: now + time)
            return Lease(duty, holder: holder, number: number, deadline: deadline)
          }
        }
        continuation.resume(returning: taken)
      }
    }
  }

  func renew(_ leases: [Lease], for time: Duration) async throws -> [Lease] {
    let deadline = Lease.deadline(askedAt: .now, for: time)
    let now = clock()
    return rows.withLock { rows in
      leases.compactMap { lease in
        guard let row = rows[lease.duty], row.number == lease.number, row.holder == lease.holder, row.until > now else {
          return nil
        }
        rows[lease.duty]?.until = now + time
        return Lease(lease.duty, holder: lease.holder, number: lease.number, deadline: deadline)
      }
    }
  }

  func release(_ leases: [Lease]) async throws {
    let now = clock()
    rows.withLock { rows in
      for lease in leases {
        guard let row = rows[lease.duty], row.number == lease.number, row.holder == lease.holder else { continue }
        rows[lease.duty]?.until = min(now, row.until)
      }
    }
  }
}
