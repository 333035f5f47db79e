internal import HTTPTypes
internal import Hummingbird
internal import KeyPublishing
internal import NIOCore
internal import ProgramMetrics

/// Answers whoever watches over the gateway: whether it lives, whether it is ready, and its metrics. They follow from more
/// than what is published, so none of them is stored.
struct WatchAnswers: Sendable {
  let metrics: GatewayMetrics
  /// The address of the metrics without its slash; `nil` is none.
  let metricsPath: String?
  let readiness: Readiness
  /// `nil` where this process neither pulls nor publishes, and so does not know.
  let publishing: Readiness?
  /// Whether it is no answer to phones that nothing was published yet.
  let isServing: Bool

  /// Whether it asks for the metrics, which are not for everybody: what doors count tells real uploads from fake ones.
  func isForMetrics(_ target: RequestTarget) -> Bool { target.path == metricsPath }

  /// Whoever watches over the server is not counted among its clients.
  func isForOperators(_ target: RequestTarget) -> Bool {
    ["health", "ready", "ready/publishing", metricsPath].contains(target.path)
  }

  /// - Returns: the class of the address, and the answer; `nil` where it is another address.
  func answer(at path: String, _ publications: Publications) -> (route: String, response: Response?)? {
    switch path {
    case "health": ("health", Self.status(.ok, ["status": "alive"]))
    case "ready": ("ready", Self.readiness(serving(publications)))
    case "ready/publishing": ("ready", publishing.map { Self.readiness($0.faults) })
    case _ where path == metricsPath: ("metrics", exposition(publications))
    default: nil
    }
  }

  /// Why phones cannot be answered.
  private func serving(_ publications: Publications) -> [StandingFault] {
    readiness.faults
      + (isServing && publications.series.isEmpty
        ? [StandingFault(.nothingPublished, because: "no series has been published yet")] : [])
  }

  /// Everything that stands in the gateway's way.
  func faults(_ publications: Publications) -> [StandingFault] { serving(publications) + (publishing?.faults ?? []) }

  private func exposition(_ publications: Publications) -> Response {
    setListedBundles(of: publications)
    return Response(
      status: .ok,
      headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text)))
  }

  /// Bundles that indexes name now.
  private func setListedBundles(of publications: Publications) {
    metrics.listedBundles.replaceAll(
      publications.series.flatMap { series in
        [
          ("increment", series.increments), ("day", series.days), ("since", series.since),
          ("key-day", series.keyDays), ("edition", series.editions),
        ].compactMap { kind, bundles in
          guard kind == "increment" || !bundles.isEmpty else { return nil }
          return ([series.manifest.series, kind], Double(bundles.count { $0.facts.isListed }))
        }
      })
  }

  private static func readiness(_ faults: [StandingFault]) -> Response {
    guard !faults.isEmpty else { return status(.ok, ["status": "ready"]) }
    return status(
      .serviceUnavailable, ["status": "not-ready", "reason": faults.map(\.sentence).joined(separator: "; ")])
  }

  private static func status(_ status: HTTPResponse.Status, _ members: [String: String]) -> Response {
    Response(
      status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: JSONDocument.bytes(members))))
  }
}
