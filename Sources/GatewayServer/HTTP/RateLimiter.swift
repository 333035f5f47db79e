internal import Glibc
internal import NIOCore
internal import Synchronization

/// How often one client may ask: a bucket of tokens for each address, of which a request takes one.
///
/// The address is that of the connection; headers that name another are anybody's invention. An IPv6 client counts by
/// its network of 64 bits, since it can take any address in it. The lock owns the table.
final class RateLimiter: Sendable {
  private let perSecond: Double
  private let capacity: Double
  private let maximumClients: Int
  private let buckets = Mutex<[String: Bucket]>([:])

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
  func take(for client: String, at now: Double) -> Double? {
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

  /// Those whose bucket is full again are forgotten at no loss; when that is not enough, everybody is: under so many
  /// addresses the table must not be what falls.
  private func forgetSome(_ buckets: inout [String: Bucket], at now: Double) {
    buckets = buckets.filter { $0.value.tokens + (now - $0.value.filled) * perSecond < capacity }
    if buckets.count >= maximumClients * 3 / 4 { buckets.removeAll(keepingCapacity: true) }
  }

  /// What stands for the client at this address.
  static func client(_ address: SocketAddress?) -> String {
    guard let text = address?.ipAddress else { return "local" }
    var network = [UInt8](repeating: 0, count: 16)
    guard case .v6 = address, inet_pton(AF_INET6, text, &network) == 1 else { return text }
    return network.prefix(8).map { String($0, radix: 16) }.joined(separator: ":")
  }
}
