internal import ExposureKeys
package import GatewayServer
package import KeyStorage
internal import ProgramMetrics

/// What operators are answered at an address of their own, put together.
package struct OperatorsAddress {
  package let service: OperatorsService
  /// Has an element once it listens.
  package let listening: AsyncStream<Void>
  let metrics: GatewayMetrics
  let publishing: Readiness?
  let desk = StatusProvider()

  /// - Parameters:
  ///   - serving: the serving half; `nil` where nothing is served.
  ///   - folder: where bundles are published; `nil` where none are.
  ///   - isRunning: whether this process pulls and publishes.
  ///   - onListening: is told the address, once it listens.
  package init(
    _ settings: OperatorsSettings, beside serving: Serving?, publishedIn folder: String?, isRunning: Bool,
    clock: GatewayClock, onListening: @escaping @Sendable (_ address: String) -> Void
  ) {
    metrics = serving?.metrics ?? GatewayMetrics()
    publishing = serving?.publishing ?? (isRunning ? Readiness() : nil)
    let application = OperatorsApplication(
      settings, store: serving?.publications ?? folder.map { PublicationStore(folder: $0) }, metrics: metrics,
      readiness: serving?.readiness ?? Readiness(), publishing: publishing, isServing: serving != nil, desk: desk,
      clock: ServerClock(now: clock.time))
    let (listening, listens) = AsyncStream.makeStream(of: Void.self)
    self.listening = listening
    let host = settings.host.contains(":") ? "[\(settings.host)]" : settings.host
    service = OperatorsService(application) { port in
      onListening("http://\(host):\(port)/")
      listens.yield()
    }
  }
}
