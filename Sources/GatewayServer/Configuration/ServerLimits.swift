/// What a client may ask of the server, and how much memory it takes.
package struct ServerLimits: Hashable, Sendable {
  /// Bytes of path and query.
  package var targetBytes = 2048
  /// Bytes of all header fields of a request, and how many there may be.
  package var headerBytes = 16 << 10
  package var headerCount = 100
  /// Bytes of an upload.
  package var uploadBytes = 64_000
  /// Bytes of archives, members and compressed answers that are kept in memory.
  package var cacheBytes = 256 << 20
  /// Connections at a time; further ones wait to be accepted.
  package var connections = 16_384
  /// Seconds that a connection may be silent between requests, or within one. A client that still takes more of an
  /// answer is not silent.
  package var idleSeconds: Int64 = 60
  /// Seconds in which a client must take something of what is written to it.
  package var stalledSeconds: Int64 = 60

  package init() {}
}
