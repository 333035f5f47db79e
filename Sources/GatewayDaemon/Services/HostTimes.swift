internal import BundleTrust
internal import ExposureKeys
package import KeyPeers
package import KeyStorage
internal import Synchronization

/// What the clocks of authenticated hosts say, by operator. A `Date` without TLS is never heard. The lock owns the table.
package final class HostTimes: Sendable {
  private struct Entry {
    /// What the host said, and when by the steady clock: the system's may have been set since.
    var date: Instant
    var uptime: Int64
  }

  private let entries = Mutex<[String: Entry]>([:])
  private let reading: @Sendable () -> ClockReading
  /// Seconds that a host's word holds.
  private static let lifetime: Int64 = 7200

  package init(reading: @escaping @Sendable () -> ClockReading = { .system }) { self.reading = reading }

  /// Hears a response. Hosts of one operator are one: those whose names end in the same two labels.
  package func hear(_ head: ResponseHead) {
    guard let host = head.provenHost?.name, let text = head["date"], let date = HTTPDate.instant(text)
    else { return }
    let now = reading()
    let labels = host.lowercased().split(separator: ".")
    let name = labels.suffix(2).joined(separator: ".")
    entries.withLock { entries in
      entries = entries.filter { now.uptime - $0.value.uptime <= Self.lifetime }
      guard entries.count < 256 || entries[name] != nil else { return }
      entries[name] = Entry(date: date, uptime: now.uptime)
    }
  }

  /// Seconds that the system's clock is ahead of the hosts' now: one number for each operator that was heard not long ago.
  package var differences: [Int64] {
    let now = reading()
    return entries.withLock { entries in
      entries.values.filter { now.uptime - $0.uptime <= Self.lifetime }.map { entry in
        now.wall.secondsSince1970 - entry.date.secondsSince1970 - (now.uptime - entry.uptime)
      }
    }
  }
}

/// A transport whose answers are heard for their time.
package struct HeardTransport: Transport {
  private let transport: any Transport
  private let hosts: HostTimes

  package init(_ transport: any Transport, hosts: HostTimes) {
    self.transport = transport
    self.hosts = hosts
  }

  package func ask(_ request: PeerRequest) async throws -> (head: ResponseHead, body: [UInt8]) {
    let answer = try await transport.ask(request)
    hosts.hear(answer.head)
    return answer
  }

  package func fetch(_ request: PeerRequest, into path: String, byteLimit: Int) async throws -> ResponseHead {
    let head = try await transport.fetch(request, into: path, byteLimit: byteLimit)
    hosts.hear(head)
    return head
  }

  package func putAside(_ document: String, because reason: String) { transport.putAside(document, because: reason) }
}
