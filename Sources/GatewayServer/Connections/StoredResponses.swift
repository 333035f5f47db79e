internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import Synchronization

/// Responses that were made in this second: under load the same few are sent thousands of times.
///
/// Within one second, and while the same is published, equal requests have equal responses; with either they are all
/// forgotten. Requests, which strangers make, weigh like responses. The lock owns the table.
final class StoredResponses: Sendable {
  private let byteLimit: Int
  private let table = Mutex(Table())

  init(byteLimit: Int = 64 << 20) { self.byteLimit = byteLimit }

  /// When responses to equal requests are equal.
  struct Moment: Equatable {
    var second: Int64
    /// Of what is published.
    var generation: Int
  }

  private struct Table {
    var moment: Moment?
    var responses: [RetrievalRequest: StoredResponse] = [:]
    var bytes = 0
  }

  var byteCount: Int { table.withLock { $0.bytes } }

  func response(to request: RetrievalRequest, at moment: Moment) -> StoredResponse? {
    table.withLock { $0.moment == moment ? $0.responses[request] : nil }
  }

  func keep(_ response: StoredResponse, for request: RetrievalRequest, at moment: Moment) {
    table.withLock { table in
      if table.moment != moment { table = Table(moment: moment) }
      let bytes = request.weight + response.weight
      guard table.bytes + bytes <= byteLimit, table.responses[request] == nil else { return }
      table.responses[request] = response
      table.bytes += bytes
    }
  }
}

/// A response to a GET request, with its route and path for metrics and the log.
final class StoredResponse: Sendable {
  let status: HTTPResponse.Status
  let fields: HTTPFields
  let body: ByteBuffer
  let route: String
  let path: String

  /// - Returns: `nil` where the response is not for every client, or does not go out in one piece.
  init?(_ final: FinalResponse, route: String, path: String) async {
    let response = final.response
    guard response.status == .ok || response.status == .notModified,
      response.headers[.cacheControl] != LayoutAnswer.Cache.never.header, !final.closesConnection,
      let length = response.body.contentLength, length <= ResponseBody.pieceLength * 2
    else { return nil }
    let collected = CollectedBody()
    guard (try? await response.body.write(collected)) != nil else { return nil }
    status = response.status
    fields = response.headers
    body = collected.buffer
    self.route = route
    self.path = path
  }

  var response: Response {
    var response = Response(status: status, body: ResponseBody(byteBuffer: body))
    // As they are: a status without content has no length.
    response.headers = fields
    return response
  }

  /// Bytes of memory, at most.
  var weight: Int {
    let lines = fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 128 }
    return lines + body.storageCapacity + path.utf8.count + 512
  }
}

/// Takes what a body writes.
private final class CollectedBody: ResponseBodyWriter {
  private(set) var buffer = ByteBuffer()

  func write(_ buffer: ByteBuffer) {
    if self.buffer.readableBytes == 0 { self.buffer = buffer } else { self.buffer.writeImmutableBuffer(buffer) }
  }

  func finish(_ trailingHeaders: HTTPFields?) {}
}
