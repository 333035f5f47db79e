internal import KeyIntake
package import KeyStorage
internal import TransparencyLog

/// What is wrong with the files of a publication folder, after every byte of them was read.
package struct PublicationCheck: Sendable {
  package struct Fault: Hashable, Sendable, Encodable {
    package enum Kind: String, Sendable, Encodable, CaseIterable {
      /// It has other bytes than were published.
      case damaged
      /// An index names it, and it is not there.
      case gone
      /// Nothing of the series knows it.
      case strange

      package var meaning: String {
        switch self {
        case .damaged: "A file has other bytes than were published."
        case .gone: "An index names a file, or a series has files, and the file or the manifest is not there."
        case .strange: "A file lies in the folder of a series that nothing of the series knows."
        }
      }

      package var advice: String {
        switch self {
        case .damaged: "Find out who writes there, and look at the disk; `keyferry publish` makes the file again."
        case .gone: "`keyferry publish` makes it again from the store."
        case .strange: "Move it out of the folder; find out who put it there."
        }
      }
    }

    package let kind: Kind
    /// In the publication folder.
    package let path: String
    package let reason: String
  }

  /// How many files were read.
  package private(set) var files = 0
  package private(set) var faults: [Fault] = []
  /// Files that are not as they were published, and that no index names any more: they go when their grace is over.
  package private(set) var leaving: [Fault] = []

  /// - Parameters:
  ///   - series: the names of the series and of the mirrors.
  ///   - published: by series, how many bundles the store has published and not taken out of the indexes.
  /// - Throws: what the folder throws.
  package init(
    of series: [String], published: [String: Int] = [:], in folder: any PublicationFolder
  ) async throws {
    for name in series { try await look(at: name, published: published[name] ?? 0, in: folder) }
  }

  /// - Returns: by series, how many bundles a store has published and not taken out of the indexes.
  package static func published(_ series: [String], by ledger: Ledger) async throws -> [String: Int] {
    try await ledger.read { state in
      try series.reduce(into: [:]) { $0[$1] = try state.bundles(of: $1, in: [.published]).count }
    }
  }

  private mutating func look(
    at series: String, published: Int, in folder: any PublicationFolder
  ) async throws {
    let manifestPath = SeriesManifest.path(of: series)
    let present = try await folder.files(of: series).map(\.path)
    guard let document = try await folder.content(of: manifestPath, limit: SeriesManifest.byteLimit) else {
      guard !present.isEmpty else {
        guard published > 0 else { return }
        return add(
          .gone, manifestPath,
          "nothing of the series is in the folder, and the store has published \(counted(published, "bundle")); where a disk is not "
            + "mounted, mount it; otherwise keyferry publish makes them again")
      }
      return add(.gone, manifestPath, "the manifest is not in the folder; keyferry publish makes it again")
    }
    files += 1
    let manifest: SeriesManifest
    do {
      manifest = try SeriesManifest(document: document)
    } catch {
      return add(.damaged, manifestPath, "the manifest cannot be read; keyferry publish makes it again")
    }
    var known: Set<String> = [manifestPath]
    for bundle in manifest.bundles {
      known.insert(bundle.path)
      // What a log says of it.
      known.insert(bundle.path + ProofFile.ending)
      known.insert(bundle.path + Envelope.ending)
      try await look(at: bundle, in: folder)
    }
    try await look(at: "\(series)/index.txt", for: manifest.index, in: folder, &known)
    try await look(at: "\(series)/SHA256SUMS", for: manifest.sums, in: folder, &known)
    for path in present.sorted() where !known.contains(path) {
      add(.strange, path, "no manifest names it; whoever serves the folder gives it out")
    }
  }

  private mutating func look(at bundle: SeriesManifest.Bundle, in folder: any PublicationFolder) async throws {
    guard let count = try await folder.byteCount(of: bundle.path) else {
      if bundle.isListed { add(.gone, bundle.path, "an index names it, and it is not in the folder") }
      return
    }
    files += 1
    var reason: String?
    if count != bundle.bytes {
      reason = "it has \(count) bytes, published were \(bundle.bytes)"
    } else if try await folder.content(of: bundle.path, limit: max(count, 1)).map(sha256) != bundle.sha256 {
      reason = "it has other bytes than were published"
    }
    guard let reason else { return }
    if bundle.isListed { return add(.damaged, bundle.path, reason) }
    leaving.append(
      Fault(
        kind: .damaged, path: bundle.path,
        reason: "\(reason); no index names it any more, and keyferry publish removes it when its grace is over"))
  }

  private mutating func look(
    at path: String, for text: [UInt8], in folder: any PublicationFolder, _ known: inout Set<String>
  ) async throws {
    known.insert(path)
    guard let count = try await folder.byteCount(of: path) else { return add(.gone, path, "it is not in the folder") }
    files += 1
    guard count == text.count, try await folder.content(of: path, limit: max(count, 1)) == text else {
      return add(.damaged, path, "it says something else than the manifest")
    }
  }

  private mutating func add(_ kind: Fault.Kind, _ path: String, _ reason: String) {
    faults.append(Fault(kind: kind, path: path, reason: reason))
  }
}
