internal import Synchronization

/// The exposure configuration that is served now: an operator may replace it while the server runs. The lock owns it.
package final class ServedConfiguration: Sendable {
  private let document: Mutex<[UInt8]>

  package convenience init(_ configuration: ExposureConfiguration) { self.init(configuration.json) }

  init(_ json: [UInt8]) { document = Mutex(json) }

  package func replace(with configuration: ExposureConfiguration) { document.withLock { $0 = configuration.json } }

  var json: [UInt8] { document.withLock { $0 } }
}
