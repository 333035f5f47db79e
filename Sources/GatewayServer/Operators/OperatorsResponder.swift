internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore

/// Responds at the operators' address: a page of how the gateway stands, and what machines ask that watch over it.
struct OperatorsResponder: Sendable {
  let clients: [AddressBlock]
  let watch: WatchAnswers
  /// `nil` where nothing is published.
  let store: PublicationStore?
  let desk: StatusProvider
  let logger: Logger

  static let pageRoute = "operators"

  /// - Parameter route: the class of the address, a value of few.
  func response(
    to request: HTTPRequest, at target: RequestTarget, from address: SocketAddress?, route: inout String
  ) async throws -> Response {
    let publications = store?.current().publications ?? Publications(series: [])
    let isPage = target.path.isEmpty
    if isPage || watch.isForMetrics(target) { try checkMayAsk(request, from: address) }
    if isPage {
      route = Self.pageRoute
      return try await page(publications)
    }
    if let (found, response) = watch.answer(at: target.path, publications) {
      route = found
      if let response { return response }
    }
    throw Problem(
      .notFound, "not-found", "here are /, /metrics, /health, /ready and, where keys are pulled, /ready/publishing")
  }

  private func page(_ publications: Publications) async throws -> Response {
    let report: OperatorsReport?
    do {
      report = try await desk.report()
    } catch {
      logger.error("the page for operators cannot be made", metadata: ["reason": .string("\(error)")])
      throw Problem(.serviceUnavailable, "no-report", "the store cannot be read now; the log says why")
    }
    let page = OperatorsPage(report, live: watch.faults(publications))
    return Response(
      status: .ok, headers: [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: page.html)))
  }

  /// The connection's address counts. A page of a stranger that is open in a browser on this machine has its requests sent
  /// from this machine, under the stranger's name: of this machine, no name but its own is heeded.
  private func checkMayAsk(_ request: HTTPRequest, from address: SocketAddress?) throws(Problem) {
    // A connection without an address never left this machine.
    let asker = IPAddress(address)
    guard asker.map({ asker in clients.contains { $0.contains(asker) } }) ?? true else {
      throw Problem(.forbidden, "not-for-you", "the page and the metrics are for the addresses of operators.clients")
    }
    guard asker.map({ asker in AddressBlock.ofThisMachine.contains { $0.contains(asker) } }) ?? true else { return }
    guard let host = request.authority.map(Self.host), !host.isEmpty else { return }
    guard host == "localhost" || IPAddress(host) != nil else {
      throw Problem(
        .misdirectedRequest, "not-for-you",
        "asked from this machine under the name of another; ask under 127.0.0.1 or localhost")
    }
  }

  /// Without port and brackets.
  private static func host(of authority: String) -> String {
    if authority.first == "[" { return String(authority.dropFirst().prefix { $0 != "]" }) }
    return String(authority.prefix { $0 != ":" }).lowercased()
  }
}
