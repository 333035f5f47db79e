internal import HTTPTypes
internal import NIOCore

/// A request to read, as far as its answer depends on it: within one second, and while the same is published, equal
/// questions have equal answers.
struct Question: Hashable, Sendable {
  /// Path and query as they stand in the request.
  var target: String
  var host: String
  var acceptEncoding: String?

  init(target: String, host: String, acceptEncoding: String? = nil) {
    self.target = target
    self.host = host
    self.acceptEncoding = acceptEncoding
  }

  /// - Returns: `nil` where the request asks for anything besides everything that is under its address.
  init?(_ request: HTTPRequest) {
    guard request.method == .get, let target = request.path, let host = request.authority else { return nil }
    self.init(target: target, host: host)
    for field in request.headerFields {
      switch FieldRole(of: field.name.canonicalName.utf8) {
      case .none: break
      case .connection where FieldRole.keepsConnection(field.value.utf8): break
      case .acceptEncoding where acceptEncoding == nil: acceptEncoding = field.value
      case .acceptEncoding, .condition, .connection, .framing, .host: return nil
      }
    }
  }
}

/// What a field in the head of a request to read has to do with its answer.
enum FieldRole {
  /// It says where the request ends, or what else is spoken on the connection.
  case framing
  case connection
  case host
  case acceptEncoding
  /// It asks for a part, or for an answer only where something holds (RFC 9110, 13 and 14).
  case condition
  /// Nothing: neither the server nor what reads requests for it looks at the field.
  case none

  private static let roles: [(name: String, role: FieldRole)] = [
    ("host", .host), ("accept-encoding", .acceptEncoding), ("connection", .connection), ("range", .condition),
    ("if-none-match", .condition), ("if-modified-since", .condition), ("if-match", .condition),
    ("if-range", .condition), ("if-unmodified-since", .condition), ("content-length", .framing),
    ("transfer-encoding", .framing), ("upgrade", .framing), ("expect", .framing), ("proxy-connection", .framing),
  ]

  /// - Parameter name: a token of HTTP in any case.
  init(of name: some Collection<UInt8>) {
    self = Self.roles.first { Self.isSame(name, $0.name) }?.role ?? .none
  }

  /// Whether a `Connection` header says no more than what holds anyway.
  static func keepsConnection(_ value: some Collection<UInt8>) -> Bool { isSame(value, "keep-alive") }

  /// - Parameter known: small letters and hyphens, of which each differs from a capital in one bit or not at all.
  private static func isSame(_ text: some Collection<UInt8>, _ known: String) -> Bool {
    text.count == known.utf8.count && zip(text, known.utf8).allSatisfy { $0 | 0x20 == $1 }
  }
}
