/// What a client may ask of the server, how long it may take, and how much memory that takes.
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
  /// Connections at a time. For a new one the one goes that waits longest for a request.
  package var connections = 16_384
  /// Of one client: connections, or behind a proxy requests that are answered at a time.
  package var clientConnections = 1024
  /// Seconds in which the head of a request must be whole: from its first byte, and the first one from the connection's
  /// beginning.
  package var headSeconds: Int64 = 10
  /// Bytes of a request's content that must come in each second, counted from ``headSeconds`` after its head.
  package var contentBytesPerSecond = 500
  /// Seconds that a connection may be silent between requests, or within one. A client that still takes more of an
  /// answer is not silent.
  package var idleSeconds: Int64 = 60
  /// Seconds in which a client must take something of what is written to it.
  package var stalledSeconds: Int64 = 60
  /// Seconds for which a server that is told to end answers as before, but for its readiness: whoever spreads requests over
  /// several has to learn of it first. Known as lame-duck time.
  package var endingSeconds: Int64 = 0

  package init() {}
}
