internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Why a request is not answered as it asked: a problem document (RFC 9457) with a stable code for programs.
struct Problem: Error, Hashable {
  var status: HTTPResponse.Status
  /// `not-found`, `target-too-long`, …
  var code: String
  /// One line for people: what is wrong and what is allowed.
  var reason: String
  /// What else the status wants to say: `Allow`, `Retry-After`.
  var fields: [HTTPField] = []
  /// Whether the rest of the request is not worth reading.
  var closesConnection = false

  /// How long a cache may believe it.
  var cache: LayoutAnswer.Cache

  init(_ status: HTTPResponse.Status, _ code: String, _ reason: String, cache: LayoutAnswer.Cache = .never) {
    self.cache = cache
    self.status = status
    self.code = code
    self.reason = reason
  }

  func with(_ name: HTTPField.Name, _ value: String) -> Problem {
    var problem = self
    problem.fields.append(HTTPField(name: name, value: value))
    return problem
  }

  func closingConnection() -> Problem {
    var problem = self
    problem.closesConnection = true
    return problem
  }

  /// The fault is the server's.
  static let internalError = Problem(
    .internalServerError, "internal-error", "the server could not answer; its log says why")

  var finalResponse: FinalResponse { FinalResponse(response: response, closesConnection: closesConnection) }

  static let mediaType = "application/problem+json"

  /// The document itself.
  var document: [UInt8] {
    JSONDocument.bytes(
      Document(type: "about:blank", title: status.reasonPhrase, status: status.code, code: code, detail: reason))
  }

  private var response: Response {
    var response = Response(
      status: status, headers: [.contentType: Self.mediaType, .cacheControl: cache.header],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: document)))
    for field in fields { response.headers[field.name] = field.value }
    return response
  }

  private struct Document: Encodable {
    var type: String
    var title: String
    var status: Int
    var code: String
    var detail: String
  }
}
