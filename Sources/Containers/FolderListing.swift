internal import Glibc
internal import KeyIntake

/// The files in a folder and in the folders in it, in the order of the bytes of their paths. No link is followed, so that
/// nothing outside is read and nothing twice.
struct FolderListing {
  /// Paths below the folder.
  private(set) var files: [String] = []
  private(set) var passedOver = PassedOver()
  /// Folders in it that could not be read; the others were.
  private(set) var unreadable: [FileFault] = []

  private let excepted: FileIdentity?

  /// Deeper than this no path is that the system takes.
  private static let depth = 256

  /// - Parameters:
  ///   - limit: how many files there may be.
  ///   - excepted: a folder that is not read.
  init(_ folder: String, limit: Int, except excepted: FileIdentity? = nil) throws {
    self.excepted = excepted
    try list(folder, below: "", depth: 0, limit: limit)
  }

  private mutating func list(_ folder: String, below prefix: String, depth: Int, limit: Int) throws {
    guard depth < Self.depth else {
      throw FileFault("read", folder, reason: "folders stand in each other more than \(Self.depth) deep")
    }
    var entries = try Self.entries(of: folder)
    // As if the paths were compared: a folder's files have a slash behind its name.
    entries.sort { $0.sortKey.lexicographicallyPrecedes($1.sortKey) }
    for entry in entries {
      let path = prefix.isEmpty ? entry.name : "\(prefix)/\(entry.name)"
      if PassedOver.isMacFile(entry.name) {
        passedOver.macFiles += 1
        continue
      }
      switch entry.kind {
      // What this very run is writing.
      case S_IFREG where entry.name.hasSuffix(OutputFile.partialEnding): continue
      case S_IFREG:
        guard files.count < limit else {
          throw FileFault(
            "read", folder, reason: "the folder holds more than \(limit) files (--max-entries says how many are read)")
        }
        files.append(path)
      case S_IFDIR where excepted != nil && FileIdentity(path: "\(folder)/\(entry.name)") == excepted:
        passedOver.outputFolders += 1
      case S_IFDIR:
        do {
          try list("\(folder)/\(entry.name)", below: path, depth: depth + 1, limit: limit)
        } catch let fault as FileFault where fault.number != 0 {
          unreadable.append(fault)
        }
      case S_IFLNK: passedOver.links += 1
      default: passedOver.others += 1
      }
    }
  }

  private struct Entry {
    let name: String
    let kind: mode_t
    var sortKey: [UInt8] { PathText.bytes(name) + (kind == S_IFDIR ? [UInt8(ascii: "/")] : []) }
  }

  private static func entries(of folder: String) throws -> [Entry] {
    guard let directory = opendir(PathText.system(folder)) else { throw FileFault("open", folder, number: errno) }
    defer { closedir(directory) }
    var entries: [Entry] = []
    while true {
      errno = 0
      guard let entry = readdir(directory) else {
        guard errno == 0 else { throw FileFault("read", folder, number: errno) }
        return entries
      }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { PathText.text($0.prefix { $0 != 0 }) }
      if name == "." || name == ".." { continue }
      entries.append(Entry(name: name, kind: try kind(entry.pointee.d_type, "\(folder)/\(name)")))
    }
  }

  private static func kind(_ type: UInt8, _ path: String) throws -> mode_t {
    switch Int(type) {
    case DT_REG: return S_IFREG
    case DT_DIR: return S_IFDIR
    case DT_LNK: return S_IFLNK
    case DT_UNKNOWN:
      var status = stat()
      guard lstat(PathText.system(path), &status) == 0 else { throw FileFault("open", path, number: errno) }
      return status.st_mode & S_IFMT
    default: return S_IFIFO
    }
  }
}
