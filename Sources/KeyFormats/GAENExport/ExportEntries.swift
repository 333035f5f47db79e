/// The two entries of a bundle. Their names are fixed for Google's devices; Apple's pair a `.bin` with a `.sig` by base
/// name, and tools put them into folders. What is not `export.bin` and `export.sig` at the root is a finding.
struct ExportEntries {
  let bin: ZipEntry
  let signature: ZipEntry?

  init(_ archive: ZipArchive) throws {
    let files = archive.entries.filter { !$0.isFolder }
    for name in ["export.bin", "export.sig"] where files.count(where: { $0.name == name }) > 1 {
      throw FormatError(.duplicateEntry, "the archive names \(name) twice")
    }
    if let bin = archive["export.bin"] {
      self.bin = bin
      signature = archive["export.sig"]
      return
    }
    let names = files.prefix(8).map(\.name).joined(separator: ", ")
    let bins = files.filter { $0.name.hasSuffix(".bin") && $0.baseName != "content.bin" }
    guard let bin = bins.first, bins.count == 1 else {
      throw FormatError(
        .missingEntry,
        bins.isEmpty
          ? "the archive has no export.bin; it holds \(names.isEmpty ? "nothing" : names)"
          : "the archive holds several .bin entries (\(names)); unpack it and give one")
    }
    self.bin = bin
    signature = archive[String(bin.name.dropLast(3)) + "sig"]
  }
}
