package import TransparencyLog

/// A log that is shown beside what is published, wherever that is: in a bucket, into which others may write at the same time.
package struct PublishedLog: LogShelf {
  private let folder: any PublicationFolder
  /// Of the log in it.
  private let path: String
  /// How often what others have written since it was read is read again.
  private static let attempts = 5

  package init(in folder: any PublicationFolder, at path: String) { (self.folder, self.path) = (folder, path) }

  package var name: String { path }

  package func content(of path: String, limit: Int) async throws -> [UInt8]? {
    try await folder.content(of: "\(self.path)/\(path)", limit: limit)
  }

  package func put(_ files: [(path: String, content: [UInt8])]) async throws {
    do {
      let named = files.map { (path: "\(path)/\($0.path)", content: $0.content) }
      _ = try await folder.each(named) { [folder] file in try await folder.create(file.content, at: file.path) }
    } catch let fault as FolderFault where fault.code == .nameTaken {
      throw LogFault(
        .wouldOverwrite, "\(fault.reason); of a log it would be a fork",
        hint: "another log has written there, or an object was changed; nothing was replaced")
    }
  }

  package func show(_ content: [UInt8], at path: String) async throws {
    try await folder.show(content, at: "\(self.path)/\(path)")
  }

  /// Whoever wakes late, and was overtaken, shows nothing: what he would show is part of what stands there.
  package func show(_ checkpoint: SignedCheckpoint, by log: NoteVerifier) async throws {
    let place = "\(path)/\(LogWriter.checkpointPath)"
    var fault: FolderFault?
    for _ in 0..<Self.attempts {
      let seen = try await folder.list(place, limit: SignedNote.byteLimit)
      if let seen {
        let shown = try SignedCheckpoint(seen.content ?? [], by: log, name: place)
        guard shown.size <= checkpoint.size else { return }
        guard shown.size < checkpoint.size || shown.root == checkpoint.root else {
          throw LogFault(
            .fork,
            "\(place) has the size \(shown.size) and the root \(shown.root.base64), signed was \(checkpoint.root.base64)"
          )
        }
        // Of one tree, more signatures are newer.
        let isNewer = checkpoint.note.signatures.contains { !shown.note.signatures.contains($0) }
        guard shown.size < checkpoint.size || isNewer else { return }
      }
      do {
        _ = try await folder.replace(seen?.version, with: checkpoint.bytes, at: place)
        return
      } catch let other as FolderFault where other.code == .otherWriter {
        fault = other
      }
    }
    if let fault { throw fault }
  }

  /// Late: those of the tile before, so that who has just read an older checkpoint finds what it needs.
  package func removePartials(of tile: Tile) async throws {
    guard let old = tile.before else { return }
    let partials = try await folder.files(of: "\(path)/\(old.path).p").map(\.path)
    _ = try await folder.each(partials) { [folder] in try await folder.remove($0) }
  }
}
