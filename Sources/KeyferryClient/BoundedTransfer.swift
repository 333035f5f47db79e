import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An answer whose status is 2xx.
struct Answer: Sendable {
  let body: Data
  /// Names in lower case.
  let headers: [String: String]
}

/// Runs requests and stops each as soon as its answer is larger than allowed.
///
/// The lock owns the loads; a load is taken out when its task completes.
final class BoundedTransfer: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  typealias Completion = @Sendable (Result<Answer, any Error>) -> Void

  private struct Load {
    let url: URL
    let limit: Int
    let completion: Completion
    var body = Data()
    var refusal: ServerError?
  }

  private let lock = NSLock()
  private var loads: [Int: Load] = [:]
  /// Bytes of a message that comes with an error.
  private static let messageBytes = 200

  /// The request is on its way when this returns; cancelling the task completes it with `CancellationError`.
  @discardableResult
  func start(
    _ request: URLRequest, to url: URL, limit: Int, in session: URLSession, completion: @escaping Completion
  ) -> URLSessionTask {
    let task = session.dataTask(with: request)
    lock.withLock { loads[task.taskIdentifier] = Load(url: url, limit: limit, completion: completion) }
    task.resume()
    return task
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isTooLarge = lock.withLock { () -> Bool in
      guard var load = loads.removeValue(forKey: dataTask.taskIdentifier) else { return true }
      defer { loads[dataTask.taskIdentifier] = load }
      guard data.count <= load.limit - load.body.count else {
        load.refusal = .tooLarge(load.url, limit: load.limit)
        load.body = Data()
        return true
      }
      load.body.append(data)
      return false
    }
    if isTooLarge { dataTask.cancel() }
  }

  /// From an encrypted address only to another one.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    let isDowngrade = response.url?.scheme == "https" && request.url?.scheme != "https"
    completionHandler(isDowngrade ? nil : request)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let load = lock.withLock({ loads.removeValue(forKey: task.taskIdentifier) }) else { return }
    load.completion(Result { try Self.answer(load, task, error) })
  }

  private static func answer(_ load: Load, _ task: URLSessionTask, _ error: (any Error)?) throws -> Answer {
    if let refusal = load.refusal { throw refusal }
    if let error {
      let code = (error as? URLError)?.code ?? .unknown
      if code == .cancelled, #available(iOS 13, macOS 10.15, tvOS 13, watchOS 6, *) { throw CancellationError() }
      throw ServerError.unreachable(load.url, code)
    }
    guard let response = task.response as? HTTPURLResponse else {
      throw ServerError.malformed(load.url, reason: "the answer is not one of HTTP")
    }
    guard (200..<300).contains(response.statusCode) else {
      let message = String(decoding: load.body.prefix(messageBytes), as: UTF8.self)
      throw ServerError.status(response.statusCode, load.url, message: message)
    }
    var headers: [String: String] = [:]
    for (name, value) in response.allHeaderFields {
      if let name = name as? String { headers[name.lowercased()] = value as? String }
    }
    return Answer(body: load.body, headers: headers)
  }
}
