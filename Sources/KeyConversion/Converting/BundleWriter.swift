package import BundleTrust
package import ExposureKeys
package import KeyFormats
internal import KeyIntake

/// Encodes `export.bin`, signs it and packs it: the last steps of every bundle, published or converted.
package struct BundleWriter {
  private let signers: [SigningIdentity]
  private let packing: ConversionPlan.ExportPacking

  package init(signers: [SigningIdentity], packing: ConversionPlan.ExportPacking) {
    self.signers = signers
    self.packing = packing
  }

  /// - Parameters:
  ///   - header: with the infos of the signers, in their order.
  ///   - output: where the bundle goes.
  ///   - body: encodes the keys, in the order in which they are to stand.
  ///   - otherSignatures: gives those that are put behind our own, by the digest of what was written.
  /// - Returns: the digest of `export.bin`.
  package func write(
    _ header: ExportHeader, to output: ConversionOutput,
    otherSignatures: (ExportDigests) throws -> [ExportSignature] = { _ in [] },
    keys body: (ExportEncoder) throws -> Void
  ) throws -> ExportDigests {
    let digest = DigestCollector(includingBody: false)
    func encode(to sink: any ByteSink) throws {
      let encoder = ExportEncoder(OutputBuffer(ObservedSink(sink, observe: digest.update)))
      try encoder.begin(header)
      try body(encoder)
      try encoder.finish(header)
    }

    switch packing {
    case .archive:
      let date = header.endTimestamp.flatMap(Int64.init(exactly:)) ?? 0
      let archive = ZipWriter(output.document, date: Instant(secondsSince1970: min(date, 253_402_300_799)))
      try archive.addEntry("export.bin") { try encode(to: $0) }
      let digests = digest.finish()
      let signatures = try signatures(over: digests) + otherSignatures(digests)
      // Without a signature there is nothing to put into a second entry, and an empty one would only look signed.
      if !signatures.isEmpty { try archive.addEntry("export.sig") { try $0.write(SignatureFile.encode(signatures)) } }
      try archive.finish()
      return digests
    case .bareFiles:
      try encode(to: output.document)
      let digests = digest.finish()
      let signatures = try signatures(over: digests) + otherSignatures(digests)
      if !signatures.isEmpty { try output.signatureFile?.write(SignatureFile.encode(signatures)) }
      return digests
    }
  }

  private func signatures(over digests: ExportDigests) throws -> [ExportSignature] {
    signers.isEmpty ? [] : try sign(digests, with: signers)
  }
}
