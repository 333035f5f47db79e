package import BundleTrust
internal import ExposureKeys
internal import KeyFormats
package import KeyIntake

/// Puts signatures on a bundle without touching its keys.
package struct Resigning {
  package enum Mode: Sendable {
    /// Our signatures take the place of all others.
    case replace
    /// Our signatures are put in front of the others. These stay valid only when `export.bin` keeps its bytes, which
    /// it does when it names our keys already; otherwise nothing is written.
    case add
    /// As ``add``, and where the bytes change, the infos of the others stay without their signatures, for their holders
    /// to sign the new bytes.
    case addAwaitingOthers
  }

  package struct Result: Sendable {
    package let digests: ExportDigests
    package let keys: Int
    package let signatures: Int
    /// Earlier signatures that name the key id and version of a new one, which took their place.
    package let replaced: Int
    /// Signatures of others that were dropped, since nobody asked to keep them.
    package let left: Int
    /// Signatures of others that were dropped, because the bytes they cover have changed.
    package let fallen: Int
    package var dropped: Int { replaced + left + fallen }
  }

  /// - Throws: `FormatError` when the document is no sound export: a key that cannot be read cannot be signed.
  package static func run(
    _ document: SourceDocument, signers: [SigningIdentity], mode: Mode, packing: ConversionPlan.ExportPacking,
    to output: ConversionOutput
  ) throws -> Result {
    let survey = try survey(document)
    let infos = signers.map(\.info)
    var header = survey.header
    switch mode {
    case .replace: header.signatureInfos = infos
    case .add, .addAwaitingOthers:
      // Infos that stand there already stay where they are, so that the bytes stay what the others signed.
      header.signatureInfos = infos.filter { !survey.header.signatureInfos.contains($0) } + header.signatureInfos
    }
    guard header.signatureInfos.count <= BundleVerifier.maximumSignatures else {
      throw FormatError(
        .cannotExpress, place: document.name,
        "\(header.signatureInfos.count) signature infos, allowed are at most \(BundleVerifier.maximumSignatures)")
    }

    var others: [ExportSignature] = []
    let foreign = survey.signatures.filter { !infos.contains($0.info) }
    let bundle = BundleWriter(signers: signers, packing: packing)
    let digests = try bundle.write(header, to: output) { written in
      guard mode != .replace else { return [] }
      if written.fileBytes == survey.digests.fileBytes {
        others = foreign
      } else if mode == .add, !foreign.isEmpty {
        throw FallenSignatures(
          count: foreign.count,
          names: foreign.map { $0.info.verificationKeyID.map { "the key \($0)" } ?? "a key without an id" },
          isOfOtherSpelling: header.signatureInfos == survey.header.signatureInfos)
      }
      return others
    } keys: { encoder in
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
      digests: digests, keys: survey.keys, signatures: signers.count + others.count,
      replaced: survey.signatures.count - foreign.count, left: mode == .replace ? foreign.count : 0,
      fallen: mode == .replace ? 0 : foreign.count - others.count)
  }

  /// Others signed bytes that would change; nothing was written.
  package struct FallenSignatures: ProgramFault {
    let count: Int
    /// Whose they are.
    let names: [String]
    /// Whether the bytes change since another program spells the same fields otherwise, and not since a key is added.
    let isOfOtherSpelling: Bool

    package var description: String {
      "nothing was written: \(names.prefix(4).joined(separator: ", ")) signed export.bin as it is, and "
        + (isOfOtherSpelling ? "keyferry encodes its fields otherwise, which" : "naming another key")
        + " changes its bytes, so \(count == 1 ? "this signature falls" : "these signatures fall") and devices refuse the"
        + " bundle. Without --add our signature replaces all others. For several signatures use --add --await-others, and"
        + " let each other holder sign the bundle that comes of it with --add"
    }
  }

  private struct Survey {
    let header: ExportHeader
    let keys: Int
    let signatures: [ExportSignature]
    let digests: ExportDigests
  }

  /// Reads the document once: its header, which may stand behind its keys, and whether every key is sound.
  private static func survey(_ document: SourceDocument) throws -> Survey {
    let digest = DigestCollector(includingBody: false)
    let reader = try document.open(observeExport: digest.update)
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
      return Survey(
        header: reader.decoder.header, keys: keys, signatures: try reader.signatures(), digests: digest.finish())
    }
  }
}
