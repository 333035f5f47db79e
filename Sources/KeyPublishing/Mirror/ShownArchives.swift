package import ExposureKeys
internal import FoundationEssentials
internal import KeyNormalization
package import KeyStorage

/// Which archives of a folder hold one key, where no list of released keys tells it: a mirror shows what its origin has
/// signed, and a series that the configuration does not name any more is served as it stands. The archives themselves are
/// read.
package struct ShownArchives: Sendable {
  /// The series, by its folder.
  package let series: String
  /// The source whose archives a mirror shows; `nil` for a folder of a series that is configured no more.
  package let source: String?
  /// Oldest first.
  package private(set) var archives: [Archive] = []
  /// Archives that were not looked into: there were too many bytes, or they cannot be read.
  package private(set) var skipped = 0

  package struct Archive: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
      /// An index names it.
      case listed
      /// Its file is there, and no index names it.
      case unlisted
      /// It was shown, and its file is not in the folder.
      case gone
      /// It was received, and the mirror has not shown it yet.
      case coming
    }

    /// In the publication folder; for one that is coming, the document's name.
    package let path: String
    package let state: State
    package let published: Instant?
    /// The document that it came as, where that is known to hold the key.
    package let document: DocumentID?
  }

  /// - Parameters:
  ///   - documents: those that are known to hold the key.
  ///   - room: bytes that may still be read.
  package init(
    of key: TemporaryExposureKey, in mirror: MirrorSettings, _ documents: [DocumentRecord], folder: String,
    from state: any StoredState, room: inout Int
  ) throws {
    self.init(series: mirror.name, source: mirror.source)
    let shown = try state.note(.mirror(mirror.name)).flatMap(MirrorState.init(note:)) ?? MirrorState()
    let names = Dictionary(
      documents.filter { $0.source == mirror.source }.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let known = Dictionary(
      shown.entries.compactMap { entry in names[entry.name].map { ("\(mirror.name)/\(entry.file)", $0.id) } },
      uniquingKeysWith: { first, _ in first })
    try search(key, in: folder, known: known, room: &room)
    let entries = Set(shown.entries.map(\.name))
    let listed = try state.note(.listing(source: mirror.source)).map(SourceListing.names) ?? []
    for name in listed where !entries.contains(name) {
      guard let document = names[name], document.state == .recorded else { continue }
      archives.append(Archive(path: name, state: .coming, published: nil, document: document.id))
    }
  }

  /// Of a series that the configuration does not name.
  package init(of key: TemporaryExposureKey, left series: String, folder: String, room: inout Int) throws {
    self.init(series: series, source: nil)
    try search(key, in: folder, known: [:], room: &room)
  }

  private init(series: String, source: String?) { (self.series, self.source) = (series, source) }

  /// - Parameter known: archives that are known to hold the key, and the documents that they came as.
  private mutating func search(
    _ key: TemporaryExposureKey, in folder: String, known: [String: DocumentID], room: inout Int
  ) throws {
    let folder = LocalFolder(folder)
    guard let content = try? folder.content(of: SeriesManifest.path(of: series), limit: SeriesManifest.byteLimit),
      let manifest = try? SeriesManifest(document: content)
    else { return }
    for bundle in manifest.bundles {
      let document = known[bundle.path]
      guard (try? folder.byteCount(of: bundle.path)) != nil else {
        if let document { add(bundle, .gone, document) }
        continue
      }
      if document == nil {
        guard bundle.bytes <= room else {
          skipped += 1
          continue
        }
        room -= bundle.bytes
        guard let archive = try? folder.content(of: bundle.path, limit: max(bundle.bytes, 1)),
          let keys = try? PublishedKeys.keys(of: archive, path: bundle.path)
        else {
          skipped += 1
          continue
        }
        guard keys.contains(where: { $0.key == key }) else { continue }
      }
      add(bundle, bundle.isListed ? .listed : .unlisted, document)
    }
  }

  private mutating func add(_ bundle: SeriesManifest.Bundle, _ state: Archive.State, _ document: DocumentID?) {
    archives.append(
      Archive(
        path: bundle.path, state: state, published: Instant(secondsSince1970: bundle.published), document: document))
  }
}

/// Series that are served, since their folders are there, and that the configuration does not name.
package enum LeftSeries {
  /// - Parameter names: of the series and mirrors that are configured.
  /// - Returns: by name; none where the folder cannot be read.
  package static func names(in folder: String, except names: Set<String>) -> [String] {
    let local = LocalFolder(folder)
    return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { name in
      !names.contains(name) && !name.hasPrefix(".") && (try? local.byteCount(of: SeriesManifest.path(of: name))) != nil
    }.sorted()
  }
}
