package import ExposureKeys
internal import GatewayServer
internal import KeyIntake

/// A TLS certificate as its file says it: the one that a gateway shows that runs, unless the file cannot be used.
package struct CertificateStanding: Encodable, Sendable {
  /// `server`, `federation`.
  package let address: String
  package let file: String
  package let until: String?
  /// Why nobody can be shown it.
  package let fault: String?
  /// Whether somebody should look: it is broken, has ended, or ends within two days.
  package let isWrong: Bool
  private let seconds: Int64?

  private static let byteLimit = 1 << 20
  private static let soon: Int64 = 2 * 86_400

  enum CodingKeys: String, CodingKey { case address, file, until, fault }

  package init(_ address: String, in file: String, at now: Instant) {
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

  /// One sentence.
  package var words: String { "certificate of \(address) \(end)" }

  /// One line of a table.
  package var line: String { "certificate of \(address)  \(end)" }

  private var end: String {
    guard let until, let seconds else { return "cannot be shown: \(printableText(fault ?? ""))" }
    guard seconds > 0 else { return "has ended at \(until)" }
    return "ends \(until), in \(ReadableNumber.age(seconds).replacing("\u{00A0}", with: " "))"
  }
}
