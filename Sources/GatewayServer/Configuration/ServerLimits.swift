/// What a client may ask of the server, and how much memory it takes.
public struct ServerLimits: Hashable, Sendable {
  /// Bytes of path and query.
  public var targetBytes = 2048
  /// Bytes of all header fields of a request, and how many there may be.
  public var headerBytes = 16 << 10
  public var headerCount = 100
  /// Bytes of an upload.
  public var uploadBytes = 64_000
  /// Uploads a minute from one address.
  public var uploadsPerMinute = 30
  /// Bytes of archives, members and compressed answers that are kept in memory.
  public var cacheBytes = 256 << 20
  /// Connections at a time; further ones wait to be accepted.
  public var connections = 16_384
  /// Seconds that a connection may be silent between requests, or within one. A client that still takes more of an
  /// answer is not silent.
  public var idleSeconds: Int64 = 60
  /// Seconds in which a client must take something of what is written to it.
  public var stalledSeconds: Int64 = 60

  public init() {}
}
