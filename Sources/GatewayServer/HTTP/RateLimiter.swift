internal import Glibc
internal import NIOCore
internal import Synchronization

/// Who asks, as far as it is counted: by the address of the connection, or by what a proxy of ours says (``TrustedProxies``).
///
/// An IPv4 client counts by its address, also where a listener for IPv6 sees it as a mapped one (`::ffff:192.0.2.1`, RFC
/// 4291) or a translator's prefix stands in front of it (`64:ff9b::192.0.2.1`, RFC 6052). An IPv6 client counts by its
/// network of 64 bits, since it can take any address in it.
struct RateLimitedClient: Hashable, Sendable {
  private var network: UInt64
  /// The address where it is of IPv4, which no network of IPv6 has; otherwise 0.
  private var address: UInt64

  /// Clients on this machine that have no address.
  static let local = RateLimitedClient(network: 0, address: 0)

  private init(network: UInt64, address: UInt64) {
    self.network = network
    self.address = address
  }

  /// - Parameter address: in network order: four bytes are of IPv4, sixteen of IPv6.
  init(address bytes: [UInt8]) {
    func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    let isIPv4 = bytes.count == 4 || Self.prefixesOfIPv4.contains(Array(bytes.prefix(12)))
    self =
      isIPv4
      ? RateLimitedClient(network: 0, address: 1 << 32 | number(bytes.suffix(4)))
      : RateLimitedClient(network: number(bytes.prefix(8)), address: 0)
  }

  private static let prefixesOfIPv4: [[UInt8]] = [
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0],
  ]

  init(_ address: SocketAddress?) {
    var bytes = [UInt8](repeating: 0, count: 16)
    switch address {
    case .v4 where inet_pton(AF_INET, address?.ipAddress, &bytes) == 1: self.init(address: Array(bytes.prefix(4)))
    case .v6 where inet_pton(AF_INET6, address?.ipAddress, &bytes) == 1: self.init(address: bytes)
    default: self = .local
    }
  }
}

/// How often one client may ask: a bucket of tokens for each, of which a request takes one. The lock owns the table.
final class RateLimiter: Sendable {
  private let perSecond: Double
  private let capacity: Double
  private let maximumClients: Int
  private let buckets = Mutex<[RateLimitedClient: Bucket]>([:])

  private struct Bucket {
    var tokens: Double
    var filled: Double
  }

  /// - Parameters:
  ///   - requestsPerMinute: what a client may ask in the long run; half of it at once.
  ///   - maximumClients: addresses that are remembered.
  init(requestsPerMinute: Int, maximumClients: Int = 1 << 16) {
    perSecond = Double(max(1, requestsPerMinute)) / 60
    capacity = max(1, Double(requestsPerMinute) / 2)
    self.maximumClients = max(1, maximumClients)
  }

  /// - Parameter now: seconds that only go forward.
  /// - Returns: `nil` where the request may go on, otherwise the seconds until the next one may.
  func take(for client: RateLimitedClient, at now: Double) -> Double? {
    buckets.withLock { buckets in
      if buckets[client] == nil, buckets.count >= maximumClients { forgetSome(&buckets, at: now) }
      var bucket = buckets[client] ?? Bucket(tokens: capacity, filled: now)
      bucket.tokens = min(capacity, bucket.tokens + max(0, now - bucket.filled) * perSecond)
      bucket.filled = now
      defer { buckets[client] = bucket }
      guard bucket.tokens >= 1 else { return (1 - bucket.tokens) / perSecond }
      bucket.tokens -= 1
      return nil
    }
  }

  /// The seconds until a request may go on; `nil` where it may now. Nothing is taken.
  func wait(of client: RateLimitedClient, at now: Double) -> Double? {
    buckets.withLock { buckets in
      guard let bucket = buckets[client] else { return nil }
      let tokens = min(capacity, bucket.tokens + max(0, now - bucket.filled) * perSecond)
      return tokens >= 1 ? nil : (1 - tokens) / perSecond
    }
  }

  /// What was taken last counts for nothing.
  func giveBack(to client: RateLimitedClient) {
    buckets.withLock { buckets in
      if let bucket = buckets[client] { buckets[client]?.tokens = min(capacity, bucket.tokens + 1) }
    }
  }

  /// Those whose bucket is full again are forgotten at no loss; when that is not enough, everybody is: under so many
  /// addresses the table must not be what falls.
  private func forgetSome(_ buckets: inout [RateLimitedClient: Bucket], at now: Double) {
    buckets = buckets.filter { $0.value.tokens + (now - $0.value.filled) * perSecond < capacity }
    if buckets.count >= maximumClients * 3 / 4 { buckets.removeAll(keepingCapacity: true) }
  }

}
