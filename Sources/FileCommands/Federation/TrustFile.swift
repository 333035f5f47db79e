internal import ArgumentParser
package import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake

/// Reads and writes the file of a federation's trust.
enum TrustFile {
  /// - Throws: ``TrustFileFault`` with all that is wrong.
  static func read(_ path: String) throws -> FederationTrust {
    let (trust, faults) = try survey(path)
    guard faults.isEmpty else { throw TrustFileFault(path: path, faults: faults) }
    return trust
  }

  /// The rows that could be read, and what is wrong with rows.
  static func survey(_ path: String) throws -> (trust: FederationTrust, faults: [FederationFault]) {
    let bytes = try FileSource.contents(of: path, limit: FederationTrust.maximumLength)
    do throws(FederationFault) {
      let (trust, faults) = try FederationTrust.read(bytes)
      Console.detail("trust file \(path): \(counted(trust.rows.count, "certificate"))")
      return (trust, faults)
    } catch {
      throw TrustFileFault(path: path, faults: [error])
    }
  }

  static func certificate(_ path: String) throws -> FederationCertificate {
    try located(path) { text throws(FederationFault) in try FederationCertificate(pem: text) }
  }

  /// The text of a file of PEM, for whoever parses it; a fault gets the file's name.
  static func located<Result>(_ path: String, _ parse: (String) throws(FederationFault) -> Result) throws -> Result {
    let bytes = try FileSource.contents(of: path, limit: FederationCertificate.maximumLength)
    do throws(FederationFault) {
      // A text that is no UTF-8 would not be the one that was signed.
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw FederationFault(.notPEM, "is not UTF-8")
      }
      return try parse(text)
    } catch {
      throw TrustFileFault(path: path, faults: [error])
    }
  }

  /// Puts the new content in the place of the old, whole or not at all.
  static func write(_ trust: FederationTrust, _ path: String, replacing: Bool) throws {
    let file = try OutputFile(path: path, replacing: replacing)
    try file.write(trust.json())
    try file.commit()
  }

  static func exists(_ path: String) -> Bool { FileIdentity(path: path) != nil }
}

/// The faults of a trust file, a certificate or a key, each with the file's path.
struct TrustFileFault: ProgramFault {
  let path: String
  let faults: [FederationFault]

  var description: String { faults.map { "\(path): \($0)" }.joined(separator: "\n") }
}

extension CertificateUse: ExpressibleByArgument {
  /// In any case: `signing` is SIGNING.
  package init?(argument: String) { self.init(rawValue: argument.uppercased()) }
}
