internal import BundleTrust
internal import ExposureKeys
package import KeyConversion
package import KeyFormats
internal import KeyIntake

extension ConversionReceipt {
  /// What was written, line by line.
  ///
  /// - Parameter name: what the output is called.
  package func lines(writtenTo name: String, as format: KeyFormat) -> [String] {
    let formats = Set(documents.map(\.format.rawValue)).sorted().joined(separator: ", ")
    let sum =
      "\(counted(received, "key")) read (\(formats)), \(counted(written, "key")) written to \(name) "
      + "(\(format.rawValue)), \(grouped(rejected)) rejected"
    return fillings + warnings + [sum] + (digests.map { ["export.bin SHA-256 \($0.hexadecimal)"] } ?? [])
  }
}

extension DocumentSummary {
  /// The first keys that were rejected, a line each.
  var rejectionLines: [String] {
    RejectionText.lines(
      rejections.map { rejection in
        let offset = rejection.position.byteOffset
        return RejectionText.line(name, rejection.position.index, at: offset >= 0 ? offset : nil, rejection.detail)
      }, of: rejected, in: name)
  }
}
