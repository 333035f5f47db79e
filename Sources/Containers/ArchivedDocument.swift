package import KeyArchive
package import KeyFormats
package import KeyIntake

/// A file of an archive as a document.
package enum ArchivedDocument {
  /// Opens a file that was kept, once its bytes are those that were.
  ///
  /// - Parameters:
  ///   - file: what the archive is called in messages.
  ///   - format: taken for granted instead of detecting one.
  /// - Throws: `ArchiveFault` `missing-content` and `changed-content`; `FileFault`.
  package static func open(
    _ sighting: ArchiveSighting, in archive: ArchiveFolder, _ catalogue: ArchiveCatalogue, file: String? = nil,
    format: KeyFormat? = nil, limits: ReadLimits = ReadLimits()
  ) throws -> SourceDocument {
    func source(_ digest: String) throws -> any SeekableSource {
      guard let content = catalogue[digest] else {
        throw ArchiveFault(.missingContent, "\(archive.path): no record tells of the content \(digest)")
      }
      try archive.verify(content)
      return try archive.source(of: content)
    }
    let file = file ?? archive.path
    return SourceDocument(
      name: "\(file)!\(sighting.name)", file: file, entry: sighting.name, source: try source(sighting.digest),
      signatureFile: try sighting.signature.map {
        try SequentialSource(try source($0)).readAll(limit: limits.signatureBytes)
      }, format: format, limits: limits)
  }
}
