internal import ExposureKeys
internal import GatewayDaemon
internal import GatewayServer
internal import KeyIntake
internal import KeyStorage

/// A TLS certificate as its file says it: the one that a gateway shows that runs, unless the file cannot be used.
struct CertificateStanding: Encodable {
  /// `server`, `federation`.
  let address: String
  let file: String
  let until: String?
  /// Why nobody can be shown it.
  let fault: String?
  /// Whether somebody should look: it is broken, has ended, or ends within two days.
  let isWrong: Bool
  private let seconds: Int64?

  private static let byteLimit = 1 << 20
  private static let soon: Int64 = 2 * 86_400

  enum CodingKeys: String, CodingKey { case address, file, until, fault }

  init(_ address: String, in file: String, at now: Instant) {
    (self.address, self.file) = (address, file)
    var (end, fault): (Instant?, String?) = (nil, nil)
    do {
      let text = String(decoding: try FileSource.contents(of: file, limit: Self.byteLimit), as: UTF8.self)
      end = try ServedCertificates.end(ofPEM: text)
    } catch {
      fault = "\(error)"
    }
    let left = end.map { $0.secondsSince1970 - now.secondsSince1970 }
    (until, self.fault, seconds) = (end?.description, fault, left)
    isWrong = fault != nil || (left ?? 0) < Self.soon
  }

  var line: String {
    let end =
      until.flatMap { until in
        seconds.map { $0 > 0 ? "ends \(until), in \(DurationText.text($0))" : "has ended at \(until)" }
      } ?? "cannot be shown: \(printableText(fault ?? ""))"
    return "certificate of \(address)  \(end)"
  }
}
