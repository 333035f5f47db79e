internal import BundleTrust
package import Federation
package import GatewayServer
internal import KeyIntake
internal import Logging
internal import ServiceLifecycle

/// Takes a federation's whitelist as soon as its file says something else, so that a certificate that an operator revokes is
/// out within seconds. What cannot be read is told, the whitelist stays as it is, and who asks whether the gateway works hears it:
/// a certificate that was revoked may be let in until the file is mended.
package struct TrustWatch: Service {
  private let path: String
  private let trust: HeldFederationTrust
  private let interval: Int64
  /// `nil` where nobody asks.
  private let readiness: Readiness?
  private let logger = Logger(label: "keyferry.federation")

  /// - Parameter interval: seconds between two looks at the file.
  package init(_ path: String, _ trust: HeldFederationTrust, readiness: Readiness?, interval: Int64 = 5) {
    self.path = path
    self.trust = trust
    self.readiness = readiness
    self.interval = interval
  }

  package func run() async throws {
    var last = FileMark(path)
    while await pause(seconds: interval) {
      let mark = FileMark(path)
      guard mark != last else { continue }
      last = mark
      read()
    }
  }

  package func read() {
    do {
      let new = try FederationTrust(json: try FileSource.contents(of: path, limit: FederationTrust.maximumLength))
      readiness?.release(.whitelist)
      guard new != trust.value else { return }
      trust.value = new
      logger.info("whitelist read again", metadata: ["certificates": .stringConvertible(new.rows.count)])
    } catch {
      readiness?.hold(
        .whitelist, because: "the whitelist \(path) has changed and cannot be read; the old one stays: \(error)"
      )
      logger.error(
        "the whitelist has changed and cannot be read; the old one stays",
        metadata: ["path": .string(path), "reason": .string("\(error)")])
    }
  }
}

extension TrustWatch: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  package var description: String { "watching the whitelist" }
}
