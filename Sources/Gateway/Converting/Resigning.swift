public import BundleTrust
internal import ExposureKeys
internal import KeyFormats

/// Puts signatures on a bundle without touching its keys.
public struct Resigning {
  public enum Mode: Sendable {
    /// Our signatures take the place of all others.
    case replace
    /// Our signatures are put in front of the others. These stay valid only when `export.bin` keeps its bytes, which
    /// it does when it names our keys already.
    case add
  }

  public struct Result: Sendable {
    public let digests: ExportDigests
    public let keys: Int
    public let signatures: Int
    /// Signatures of others that were dropped, because the bytes they cover have changed.
    public let dropped: Int
  }

  /// - Throws: `FormatError` when the document is no sound export: a key that cannot be read cannot be signed.
  public static func run(
    _ document: SourceDocument, signers: [SigningIdentity], mode: Mode, packing: ConversionPlan.ExportPacking,
    to output: ConversionOutput
  ) throws -> Result {
    let (header, keys, signatures) = try survey(document)
    let infos = signers.map(\.info)
    var newHeader = header
    switch mode {
    case .replace: newHeader.signatureInfos = infos
    case .add: newHeader.signatureInfos = infos + header.signatureInfos.filter { !infos.contains($0) }
    }
    guard newHeader.signatureInfos.count <= BundleVerifier.maximumSignatures else {
      throw FormatError(
        .cannotExpress, place: document.name,
        "\(newHeader.signatureInfos.count) signature infos, allowed are at most \(BundleVerifier.maximumSignatures)")
    }
    let keepsBytes = newHeader.signatureInfos == header.signatureInfos
    let others = mode == .add && keepsBytes ? signatures.filter { !infos.contains($0.info) } : []

    let bundle = BundleWriter(signers: signers, packing: packing)
    let digests = try bundle.write(newHeader, to: output, otherSignatures: others) { encoder in
      let reader = try document.open()
      var chunk = KeyChunk()
      while try document.located({ try reader.decoder.decode(into: &chunk) }) {
        try chunk.keys.withKeys {
          try encoder.encode($0, regions: RegionTable(), unknownFields: chunk.unknownFields)
        }
        chunk.advance()
      }
    }
    return Result(
      digests: digests, keys: keys, signatures: signers.count + others.count,
      dropped: signatures.count - others.count)
  }

  /// Reads the document once: its header, which may stand behind its keys, and whether every key is sound.
  private static func survey(_ document: SourceDocument) throws -> (ExportHeader, keys: Int, [ExportSignature]) {
    let reader = try document.open()
    guard reader.container != nil, reader.format == .gaenExport else {
      throw FormatError(
        .unsupported, place: document.name, "only an export can be signed, and this is \(reader.format.rawValue)")
    }
    return try document.located {
      var chunk = KeyChunk()
      var keys = 0
      while try reader.decoder.decode(into: &chunk) {
        keys += chunk.keys.count
        if let rejection = chunk.rejections.first {
          throw FormatError(
            .cannotExpress, place: "key \(rejection.position.index)", byteOffset: rejection.position.byteOffset,
            "\(rejection.detail); a bundle with such a key is not signed")
        }
        chunk.advance()
      }
      return (reader.decoder.header, keys, try reader.signatures())
    }
  }
}
