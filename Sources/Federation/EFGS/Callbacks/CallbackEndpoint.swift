internal import ExposureKeys
internal import GatewayServer
internal import HTTPTypes
internal import Hummingbird
internal import KeyIntake
internal import NIOCore

/// `/diagnosiskeys/callback`: a country lists, sets and removes where it wants to be called. Ids are each country's own.
///
/// | request | answer |
/// |---|---|
/// | `GET callback` | 200 `[{"callbackId":…,"url":…}]` |
/// | `PUT callback/{id}?url=…` | 200; 400 for an address that may not be called |
/// | `DELETE callback/{id}` | 200; 404 |
struct CallbackEndpoint: Sendable {
  static let idLimit = 32

  let registrar: any CallbackRegistrar

  /// - Parameters:
  ///   - id: what stands behind `callback`, decoded; `nil` where nothing does.
  ///   - query: what stands behind the question mark, as it was sent.
  func respond(
    _ method: HTTPRequest.Method, id: String?, query: String, of client: FederationClient
  ) async throws -> Response {
    switch (method, id) {
    case (.get, nil), (.head, nil): return try await list(client.country)
    case (.put, let id?):
      let callback = RegisteredCallback(id: try Self.checked(id), url: try Self.url(in: query))
      do {
        try await registrar.set(callback, of: client.country)
      } catch let refusal as CallbackRefusal {
        throw FederationRefusal(.malformed, "callback-url-refused", "Callback URL is invalid: \(refusal.reason)")
      }
      return Response(status: .ok, headers: [.cacheControl: "no-store"])
    case (.delete, let id?):
      guard try await registrar.remove(try Self.checked(id), of: client.country) else {
        throw FederationRefusal(.notFound, "no-such-callback", "\(client.country) has no subscription with this id")
      }
      return Response(status: .ok, headers: [.cacheControl: "no-store"])
    default:
      throw FederationRefusal(.malformed, "callback-address", "allowed are GET callback, PUT and DELETE callback/{id}")
    }
  }

  private func list(_ country: String) async throws -> Response {
    let callbacks = try await registrar.subscriptions(of: country)
    return Response(
      status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: JSONDocument.bytes(callbacks))))
  }

  private static func checked(_ id: String) throws(FederationRefusal) -> String {
    guard (1...idLimit).contains(id.utf8.count), id.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw FederationRefusal(
        .malformed, "callback-id", "the id has \(id.utf8.count) bytes, allowed are 1...\(idLimit) visible characters")
    }
    return id
  }

  /// The parameter `url`, once.
  private static func url(in query: String) throws(FederationRefusal) -> String {
    let values = query.split(separator: "&").filter { $0.hasPrefix("url=") }.map { $0.dropFirst("url=".count) }
    guard values.count == 1, let url = PercentEncoding.decode(String(values[0])), !url.isEmpty else {
      throw FederationRefusal(
        .malformed, "callback-url-refused",
        "Callback URL is invalid: the address stands in the query once, percent-encoded: ?url=https%3A%2F%2F…")
    }
    return url
  }
}
