internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import Synchronization

/// Answers that were given in this second: under load the same few are given thousands of times.
///
/// They are kept as the bytes that go out, and are forgotten with the second and with the state of what is published.
/// The lock owns the table.
final class RecentAnswers: Sendable {
  private static let maximumCount = 4096
  private static let byteLimit = 64 << 20

  private let table = Mutex(Table())

  /// When answers to equal questions are equal.
  struct Moment: Equatable {
    var second: Int64
    /// Of what is published.
    var generation: Int
  }

  private struct Table {
    var moment: Moment?
    var answers: [Question: RecentAnswer] = [:]
    var bytes = 0
  }

  func answer(to question: Question, at moment: Moment) -> RecentAnswer? {
    table.withLock { $0.moment == moment ? $0.answers[question] : nil }
  }

  func keep(_ answer: RecentAnswer, to question: Question, at moment: Moment) {
    table.withLock { table in
      if table.moment != moment { table = Table(moment: moment) }
      let bytes = answer.head.readableBytes + answer.body.readableBytes
      guard table.answers.count < Self.maximumCount, table.bytes + bytes <= Self.byteLimit else { return }
      guard table.answers.updateValue(answer, forKey: question) == nil else { return }
      table.bytes += bytes
    }
  }
}

/// An answer to a GET request, ready to be sent, and what is told of it.
final class RecentAnswer: Sendable {
  /// Status line and fields, with the empty line.
  let head: ByteBuffer
  let body: ByteBuffer
  let route: String
  let path: String

  /// - Returns: `nil` where the answer is not for every client, or does not go out in one piece.
  init?(_ response: Response, route: String, path: String) async {
    guard response.status == .ok, response.headers[.cacheControl] != LayoutAnswer.Cache.never.header,
      response.headers[.connection] == nil, let length = response.body.contentLength,
      length <= ResponseBody.pieceLength * 2
    else { return nil }
    let collected = CollectedBody()
    guard (try? await response.body.write(collected)) != nil else { return nil }
    var head = ByteBuffer(string: "HTTP/1.1 200 OK\r\n")
    for field in response.headers { head.writeString("\(field.name.rawName): \(field.value)\r\n") }
    head.writeString("\r\n")
    self.head = head
    self.body = collected.buffer
    self.route = route
    self.path = path
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
