import ExposureKeys
import Foundation
import GatewayTesting
import KeyPublishing
import KeyStorage
import SQLiteDriver

/// The disk of the machine: the store's file, the publication folder, and the copies that somebody has made of both.
final class Disk {
  enum StoreKind: String { case memory, sqlite }

  let root: String
  let storeKind: StoreKind
  let fuse = Fuse()
  /// Where the store in memory is kept while no process has it.
  private var memory = MemoryStore()
  private(set) var storeCopies = 0
  /// It is read after each turn, and most turns leave it as it was.
  private var lastManifest: (bytes: [UInt8], manifest: SeriesManifest)?
  private var folderCopies: [(path: String, files: [String: [UInt8]])] = []

  init(_ storeKind: StoreKind) throws {
    self.storeKind = storeKind
    // Syncing a folder in memory takes no time.
    let shared = URL(filePath: "/dev/shm")
    let place =
      FileManager.default.isWritableFile(atPath: shared.path) ? shared : FileManager.default.temporaryDirectory
    root = place.appending(path: "keyferry-simulation-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: stateFolder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }

  var publicFolder: String { root + "/public" }
  var stateFolder: String { root + "/state" }
  var spool: String { root + "/spool" }

  // MARK: The store

  func openStore(at now: Instant) throws -> any Store {
    switch storeKind {
    case .memory: FusedStore(store: memory, fuse: fuse)
    case .sqlite: FusedStore(store: try SQLiteStore(folder: stateFolder, now: now, command: "simulation"), fuse: fuse)
    }
  }

  /// As `keyferry store backup` does it, beside a gateway that runs. A store in memory has no file.
  func copyStore(_ ledger: Ledger) async throws {
    guard storeKind == .sqlite else { return }
    try await ledger.copyStore(to: copyPath(storeCopies))
    storeCopies += 1
  }

  /// Nothing of the store is left.
  func loseStore() throws {
    memory = MemoryStore()
    try removeStoreFiles()
  }

  /// Nothing that was written to the store since that copy was made is left.
  func restoreStore(_ number: Int) throws {
    try removeStoreFiles()
    try FileManager.default.copyItem(atPath: copyPath(number), toPath: stateFolder + "/" + SQLiteStore.fileName)
  }

  private func copyPath(_ number: Int) -> String { "\(root)/store-\(number).sqlite" }

  private func removeStoreFiles() throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: stateFolder) {
      try FileManager.default.removeItem(atPath: "\(stateFolder)/\(name)")
    }
  }

  // MARK: The publication folder

  /// The paths of its files, sorted.
  func files() -> [String] {
    let all = FileManager.default.enumerator(atPath: publicFolder)?.compactMap { $0 as? String } ?? []
    return all.filter { path in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(publicFolder)/\(path)", isDirectory: &isFolder)
        && !isFolder.boolValue
    }.sorted()
  }

  func content(of path: String) -> [UInt8]? {
    FileManager.default.contents(atPath: "\(publicFolder)/\(path)").map { [UInt8]($0) }
  }

  func manifest(of series: String) -> SeriesManifest? {
    guard let bytes = content(of: SeriesManifest.path(of: series)) else { return nil }
    if let last = lastManifest, last.bytes == bytes { return last.manifest }
    guard let manifest = try? SeriesManifest(document: bytes) else { return nil }
    lastManifest = (bytes, manifest)
    return manifest
  }

  /// The log is brought back from a mirror, which has what others were shown.
  func loseFolder() throws {
    let files = FileManager.default
    guard files.fileExists(atPath: publicFolder) else { return }
    let (log, mirror) = ("\(publicFolder)/\(PublicLog.folder)", "\(root)/mirror")
    let isLogged = files.fileExists(atPath: log)
    if isLogged { try files.moveItem(atPath: log, toPath: mirror) }
    try files.removeItem(atPath: publicFolder)
    guard isLogged else { return }
    try files.createDirectory(atPath: publicFolder, withIntermediateDirectories: true)
    try files.moveItem(atPath: mirror, toPath: log)
  }

  func copyFolder() {
    var copy: [String: [UInt8]] = [:]
    for path in files() { copy[path] = content(of: path) }
    folderCopies.append((publicFolder, copy))
  }

  var folderCopyCount: Int { folderCopies.count }

  func restoreFolder(_ number: Int) throws {
    try loseFolder()
    for (path, bytes) in folderCopies[number].files.sorted(by: { $0.key < $1.key }) where !PublicLog.has(path) {
      let file = URL(filePath: "\(publicFolder)/\(path)")
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(bytes).write(to: file)
    }
  }

  func loseFile(_ path: String) throws { try FileManager.default.removeItem(atPath: "\(publicFolder)/\(path)") }

  /// Changes one byte; the length stays.
  func damageFile(_ path: String, at place: Int) throws {
    guard var bytes = content(of: path), !bytes.isEmpty else { return }
    bytes[place % bytes.count] ^= 0x5A
    try Data(bytes).write(to: URL(filePath: "\(publicFolder)/\(path)"))
  }
}
