internal import BundleTrust
package import ExposureKeys
internal import Glibc
internal import KeyFormats
internal import KeyIntake
package import TransparencyLog

/// A bundle that is to be logged.
package struct LoggedBundle {
  package let file: String
  /// As the log has it.
  package let path: String
  /// SHA-256 of the file.
  package let digest: String
  package let entry: LogEntry

  /// - Parameter base: where paths begin; `nil` takes the bare name.
  /// - Throws: ``LogFault`` `bad-entry` for what is no bundle, or lies outside.
  package init(_ file: String, base: String?, series: String?, at instant: Instant) throws {
    let document = try SourceDocument(path: file)
    guard let export = try document.survey() else {
      throw LogFault(.badEntry, "\(file): it is no export bundle, and nothing else is published")
    }
    let header = export.survey.header
    path = try Self.path(file, base)
    digest = try document.digest().hexadecimal
    var members: [String: LogEntry.Value] = [
      "archive_sha256": .text(digest), "at": .number(Int(instant.secondsSince1970)),
      "bytes": .number(document.source.byteCount), "export_sha256": .text(export.digests.hexadecimal),
      "keys": .number(export.survey.keyCount), "path": .text(path),
      "program": .text("keyferry \(Program.version)"),
    ]
    members["start"] = header.startTimestamp.flatMap { Int(exactly: $0) }.map { .number($0) }
    members["end"] = header.endTimestamp.flatMap { Int(exactly: $0) }.map { .number($0) }
    members["batch_num"] = header.batchNum.flatMap { $0 < 0 ? nil : .number(Int($0)) }
    members["batch_size"] = header.batchSize.flatMap { $0 < 0 ? nil : .number(Int($0)) }
    members["region"] = header.region.map { .text($0) }
    members["key_id"] = header.signatureInfos.first?.verificationKeyID.map { .text($0) }
    members["key_version"] = header.signatureInfos.first?.verificationKeyVersion.map { .text($0) }
    members["series"] = series.map { .text($0) }
    entry = try LogEntry(.published, members)
    self.file = file
  }

  private static func path(_ file: String, _ base: String?) throws -> String {
    guard let base else { return String(file.split(separator: "/").last ?? "") }
    guard let whole = canonical(file), let start = canonical(base), whole.hasPrefix(start + "/") else {
      throw LogFault(.badEntry, "\(file): it does not lie in the folder \(base), where the paths of the log begin")
    }
    return String(whole.dropFirst(start.count + 1))
  }

  private static func canonical(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}

/// What a log says was published. Its own tiles are believed; a proof is verified before it is shown to anybody.
package struct LogSearch {
  package struct Place {
    package let index: Int
    package let digest: String
    package let entry: [UInt8]

    package init(index: Int, digest: String, entry: [UInt8]) {
      (self.index, self.digest, self.entry) = (index, digest, entry)
    }
  }

  private let reader: TreeReader

  package init(_ reader: TreeReader) { self.reader = reader }

  /// By their paths.
  package func published() async throws -> [String: Place] {
    var places: [String: Place] = [:]
    try await each { path, place in
      places[path] = place
      return true
    }
    return places
  }

  /// The bundle with this digest.
  package func published(digest: String) async throws -> Place? {
    var found: Place?
    try await each { _, place in
      if place.digest == digest { found = place }
      return found == nil
    }
    return found
  }

  private func each(_ body: (String, Place) -> Bool) async throws {
    for number in 0..<(reader.size + Tile.width - 1) / Tile.width {
      for (offset, bytes) in try await reader.bundle(number).entries.enumerated() {
        guard let entry = try? LogEntry(bytes, name: "entry"), entry.kind == .published,
          let path = entry.text("path"), let digest = entry.text("archive_sha256")
        else { continue }
        guard body(path, Place(index: number * Tile.width + offset, digest: digest, entry: bytes)) else { return }
      }
    }
  }
}
