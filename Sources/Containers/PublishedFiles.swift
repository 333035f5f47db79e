internal import KeyIntake

/// What Keyferry publishes beside bundles and is no document: indexes, sums, proofs, attestations, and the public log. In a
/// folder they are passed over; named themselves they are read as anything else. A name alone is not enough: what stands in a
/// file must be of the kind, so that a key file that is called `manifest.json` is read, and a damaged index is told.
struct PublishedFiles {
  private let folder: String
  /// The folders of logs among the files, with a slash at the end.
  private let logs: [String]

  /// - Parameter files: paths below the folder.
  init(_ folder: String, _ files: [String]) {
    self.folder = folder
    logs = files.filter { $0 == Self.checkpoint || $0.hasSuffix("/\(Self.checkpoint)") }
      .filter { Self.isCheckpoint(Self.front(folder, $0)) }.map { String($0.dropLast(Self.checkpoint.count)) }
  }

  func contains(_ file: String) -> Bool {
    let name = file.split(separator: "/").last.map(String.init) ?? file
    for log in logs where file.hasPrefix(log) {
      let rest = file.dropFirst(log.count)
      if rest.hasPrefix("tile/") || [Self.checkpoint, "log.vkey", "attest.pem"].contains(String(rest)) { return true }
    }
    switch name {
    case "index.txt": return front(file).map(Self.isIndex) ?? false
    case "manifest.json": return front(file).map(Self.isManifest) ?? false
    case "SHA256SUMS": return front(file).map(Self.isSums) ?? false
    case _ where name.hasSuffix(".tlog-proof"): return front(file)?.hasPrefix("c2sp.org/tlog-proof@") ?? false
    case _ where name.hasSuffix(".intoto.jsonl"): return front(file)?.hasPrefix("{\"payload\":") ?? false
    default: return false
    }
  }

  private func front(_ file: String) -> String? { Self.front(folder, file) }

  // MARK: What they say

  private static let checkpoint = "checkpoint"
  private static let frontLength = 4096

  /// A signed note: its text, an empty line, and who has signed it.
  private static func isCheckpoint(_ front: String?) -> Bool { front?.contains("\n\n\u{2014} ") ?? false }

  private static func isManifest(_ front: String) -> Bool { front.hasPrefix("{") && front.contains("\"bundles\" : [") }

  /// Paths of archives, one a line; none where nothing is listed.
  private static func isIndex(_ front: String) -> Bool {
    lines(front).allSatisfy { $0.hasSuffix(".zip") && !$0.contains(" ") && !$0.contains(",") }
  }

  private static func isSums(_ front: String) -> Bool {
    lines(front).allSatisfy { line in
      line.utf8.count > 66 && line.utf8.prefix(64).allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
        && line.dropFirst(64).hasPrefix("  ")
    }
  }

  /// The last one may be cut off.
  private static func lines(_ front: String) -> [Substring] {
    let lines = front.split(separator: "\n")
    return front.utf8.count < frontLength ? lines : lines.dropLast()
  }

  /// The first bytes; `nil` where they cannot be read, or are no text.
  private static func front(_ folder: String, _ file: String) -> String? {
    guard let source = try? FileSource(path: folder.hasSuffix("/") ? folder + file : "\(folder)/\(file)"),
      let bytes = try? [UInt8](
        unsafeUninitializedCapacity: frontLength,
        initializingWith: { buffer, filled in
          filled = try source.read(at: 0, into: UnsafeMutableRawBufferPointer(buffer))
        })
    else { return nil }
    // A character may be cut in two.
    for dropped in 0..<4 where dropped <= bytes.count {
      if let text = String(validating: bytes.dropLast(dropped), as: UTF8.self) { return text }
    }
    return nil
  }
}
