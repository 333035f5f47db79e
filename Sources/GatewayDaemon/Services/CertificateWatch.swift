internal import BundleTrust
internal import ExposureKeys
package import GatewayServer
internal import KeyIntake
internal import Logging
package import ProgramMetrics
internal import ServiceLifecycle
internal import Synchronization

/// Has the server show another TLS certificate as soon as its files hold one, so that who renews it need not start anything
/// again. What cannot be used is told, the old one stays, and who asks whether the gateway works hears it: the old one ends one
/// day.
package final class CertificateWatch: Service {
  private let certificates: ServedCertificates
  private let interval: Int64
  /// `nil` where nobody asks.
  private let readiness: Readiness?
  private let logger = Logger(label: "keyferry.certificates")
  /// What the operator says; a reload may name other files. The lock owns it.
  private let settings: Mutex<ServerSettings>

  private static let byteLimit = 1 << 20

  /// - Parameters:
  ///   - certificates: of the server that runs with these settings.
  ///   - readiness: for pulling and publishing; downloads and uploads go on.
  ///   - interval: seconds between two looks at the files.
  /// - Returns: `nil` where there is no TLS.
  package init?(
    _ settings: ServerSettings, _ certificates: ServedCertificates, metrics: GatewayMetrics, readiness: Readiness?,
    interval: Int64 = 30
  ) {
    guard !certificates.isEmpty else { return nil }
    self.settings = Mutex(settings)
    (self.certificates, self.readiness, self.interval) = (certificates, readiness, interval)
    metrics.whenRead { metrics in
      metrics.certificateExpiry.replaceAll(certificates.ends.map { ([$0.address], Double($0.end.secondsSince1970)) })
    }
  }

  package func run() async throws {
    var last = marks()
    while await pause(seconds: interval) {
      let now = marks()
      guard now != last else { continue }
      last = now
      readAgain()
    }
  }

  private func marks() -> [String: FileMark?] {
    Dictionary(files(of: settings.withLock { $0 }).map { ($0, FileMark($0)) }, uniquingKeysWith: { first, _ in first })
  }

  private func files(of settings: ServerSettings) -> [String] {
    [
      settings.certificateFile, settings.privateKeyFile, settings.federationDoor?.certificateFile,
      settings.federationDoor?.privateKeyFile,
    ].compactMap(\.self)
  }

  /// The files have changed.
  func readAgain() {
    var new = settings.withLock { $0 }
    do {
      if let file = new.certificateFile { new.certificatePEM = try text(file) }
      if let file = new.privateKeyFile { new.privateKeyPEM = try key(file) }
      if let file = new.federationDoor?.certificateFile { new.federationDoor?.certificatePEM = try text(file) }
      if let file = new.federationDoor?.privateKeyFile {
        new.federationDoor?.privateKeyPEM = try key(file)
      }
      take(new)
    } catch {
      refuse("\(error)")
    }
  }

  /// The configuration was read again.
  func take(_ new: ServerSettings) {
    do {
      let isNew = try certificates.take(new)
      settings.withLock { $0 = new }
      readiness?.release(.certificate)
      guard isNew else { return }
      for (address, end) in certificates.ends {
        logger.info(
          "another certificate is shown", metadata: ["address": .string(address), "until": .string("\(end)")])
      }
    } catch {
      refuse("\(error)")
    }
  }

  private func text(_ file: String) throws -> String {
    String(decoding: try FileSource.contents(of: file, limit: Self.byteLimit), as: UTF8.self)
  }

  /// As the configuration reads it.
  private func key(_ file: String) throws -> Secret {
    var text = try text(file)[...]
    while text.last?.isWhitespace == true { text.removeLast() }
    return Secret(String(text.drop { $0.isWhitespace }))
  }

  private func refuse(_ reason: String) {
    let until = certificates.ends.map(\.end).min().map { " until \($0)" } ?? ""
    readiness?.hold(
      .certificate,
      because: "the TLS certificate has changed and cannot be used; the old one is shown\(until): \(reason)")
    logger.error(
      "the certificate has changed and cannot be used; the old one stays", metadata: ["reason": .string(reason)])
  }
}

extension CertificateWatch: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  package var description: String { "watching the certificates" }
}
