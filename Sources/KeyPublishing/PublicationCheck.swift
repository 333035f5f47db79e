internal import FoundationEssentials
internal import KeyStorage
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

  /// - Parameter series: the names of the series and of the mirrors.
  /// - Throws: what the folder throws.
  package init(of series: [String], in folder: String) throws {
    for name in series { try look(at: name, in: LocalFolder(folder)) }
  }

  private mutating func look(at series: String, in folder: LocalFolder) throws {
    let manifestPath = SeriesManifest.path(of: series)
    let place = "\(folder.path)/\(series)"
    let present =
      FileManager.default.fileExists(atPath: place)
      ? try FileManager.default.subpathsOfDirectory(atPath: place).map { "\(series)/\($0)" }.filter {
        isFile($0, folder)
      }
      : []
    guard let document = try folder.content(of: manifestPath, limit: 1 << 30) else {
      guard !present.isEmpty else { return }
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
      try look(at: bundle, in: folder)
    }
    let listed = manifest.bundles.filter(\.isListed)
    let index = listed.filter { $0.kind == BundleKind.increment.rawValue }.map(\.path).joined(separator: "\n")
    try look(at: "\(series)/index.txt", for: index, in: folder, &known)
    let sums = listed.map { "\($0.sha256)  \($0.path.dropFirst(series.utf8.count + 1))\n" }.joined()
    try look(at: "\(series)/SHA256SUMS", for: sums, in: folder, &known)
    for path in present.sorted() where !known.contains(path) {
      add(.strange, path, "no manifest names it; whoever serves the folder gives it out")
    }
  }

  private mutating func look(at bundle: SeriesManifest.Bundle, in folder: LocalFolder) throws {
    guard let count = try folder.byteCount(of: bundle.path) else {
      if bundle.isListed { add(.gone, bundle.path, "an index names it, and it is not in the folder") }
      return
    }
    files += 1
    var reason: String?
    if count != bundle.bytes {
      reason = "it has \(count) bytes, published were \(bundle.bytes)"
    } else if try folder.content(of: bundle.path, limit: max(count, 1)).map(sha256) != bundle.sha256 {
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
    at path: String, for text: String, in folder: LocalFolder, _ known: inout Set<String>
  ) throws {
    known.insert(path)
    guard let count = try folder.byteCount(of: path) else { return add(.gone, path, "it is not in the folder") }
    files += 1
    guard count == text.utf8.count, try folder.content(of: path, limit: max(count, 1)) == Array(text.utf8) else {
      return add(.damaged, path, "it says something else than the manifest")
    }
  }

  private mutating func add(_ kind: Fault.Kind, _ path: String, _ reason: String) {
    faults.append(Fault(kind: kind, path: path, reason: reason))
  }

  private func isFile(_ path: String, _ folder: LocalFolder) -> Bool {
    do {
      return try folder.byteCount(of: path) != nil
    } catch {
      // A folder, say.
      return false
    }
  }
}
