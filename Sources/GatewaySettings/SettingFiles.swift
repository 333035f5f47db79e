internal import BundleTrust
internal import Glibc
package import KeyIntake

/// The files that a configuration names.
package protocol SettingFiles {
  /// - Throws: `FileFault`.
  func contents(of path: String, limit: Int) throws(FileFault) -> [UInt8]

  /// The names in a folder, in no order; `nil` where the path is no folder.
  func names(in folder: String) throws(FileFault) -> [String]?

  /// The permission bits of a file; `nil` where they say nothing.
  func permissions(of path: String) -> UInt32?

  /// Where a path leads, links followed; of what is not there, the part that is.
  func realPath(of path: String) -> String
}

/// The files of this machine.
package struct SystemFiles: SettingFiles {
  package init() {}

  package func contents(of path: String, limit: Int) throws(FileFault) -> [UInt8] {
    do {
      return try FileSource.contents(of: path, limit: limit)
    } catch let fault as FileFault {
      throw fault
    } catch {
      throw FileFault("read", path, reason: "it changes while it is read")
    }
  }

  package func names(in folder: String) throws(FileFault) -> [String]? {
    guard let directory = opendir(folder) else {
      if errno == ENOTDIR { return nil }
      throw FileFault("open", folder, number: errno)
    }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  package func permissions(of path: String) -> UInt32? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return UInt32(status.st_mode) & 0o7777
  }
}

extension SystemFiles {
  package func realPath(of path: String) -> String {
    var (known, rest) = (path, "")
    while true {
      if let real = realpath(known.isEmpty ? "." : known, nil) {
        defer { free(real) }
        let place = String(cString: real)
        return rest.isEmpty ? place : place == "/" ? "/\(rest)" : "\(place)/\(rest)"
      }
      guard let slash = known.lastIndex(of: "/") else {
        rest = rest.isEmpty ? known : "\(known)/\(rest)"
        if known.isEmpty { return rest }
        known = ""
        continue
      }
      let name = known[known.index(after: slash)...]
      if !name.isEmpty { rest = rest.isEmpty ? String(name) : "\(name)/\(rest)" }
      known = slash == known.startIndex ? "/" : String(known[..<slash])
      if known == "/", name.isEmpty { return path }
    }
  }
}

/// Paths as text, without asking the system what is there.
enum FilePath {
  /// `path` seen from `folder`, without `.`, `..` and doubled slashes.
  static func resolved(_ path: String, in folder: String) -> String {
    let whole = path.hasPrefix("/") || folder.isEmpty ? path : "\(folder)/\(path)"
    var parts: [Substring] = []
    for part in whole.split(separator: "/") where part != "." {
      if part == "..", let last = parts.last, last != ".." {
        parts.removeLast()
      } else if part != ".." || !whole.hasPrefix("/") {
        parts.append(part)
      }
    }
    let joined = parts.joined(separator: "/")
    return whole.hasPrefix("/") ? "/\(joined)" : joined.isEmpty ? "." : joined
  }

  /// The folder of a file; empty where the path has none.
  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "" }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Whether one of two resolved folders is the other, or lies in it.
  static func overlap(_ left: String, _ right: String) -> Bool { contains(left, right) || contains(right, left) }

  /// Whether `inner` is `outer` or lies in it.
  static func contains(_ outer: String, _ inner: String) -> Bool {
    outer == inner || outer == "/" || inner.hasPrefix("\(outer)/") || (outer == "." && !inner.hasPrefix("/"))
  }
}
