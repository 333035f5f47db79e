public import ExposureKeys

/// What an export says about itself, without its keys: enough to judge its signatures.
public struct ExportSurvey: Sendable {
  public let header: ExportHeader
  /// The key messages that it holds, revised ones too. Whether each is a key shows when they are decoded.
  public let keyCount: Int
  /// The entries of `export.sig`; none when there is no such file.
  public let signatures: [ExportSignature]
}

extension KeyDocument {
  /// Goes over an export once without decoding a key; whoever observes it sees every byte. The document is used up
  /// then: to decode the keys, open it again.
  ///
  /// - Returns: `nil` for the formats that have no signatures; nothing of them is read.
  /// - Throws: ``FormatError``.
  public func survey() throws -> ExportSurvey? {
    guard container != nil, let decoder = decoder as? ExportDecoder else { return nil }
    let keyCount = try decoder.survey()
    return ExportSurvey(header: decoder.header, keyCount: keyCount, signatures: try signatures())
  }
}
