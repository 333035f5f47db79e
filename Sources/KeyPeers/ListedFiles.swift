internal import ExposureKeys

/// Files that a list of a peer names: by their paths, or by absolute addresses.
struct ListedFiles {
  /// The address in front of every path.
  let base: String
  /// How the path of a file ends; empty is any way.
  let suffix: String

  static let pathLimit = 2048

  func address(of name: String) -> String { PeerAddress.isAbsolute(name) ? name : PeerAddress.join(base, name) }

  /// The path below the base, or the whole address of a file that is elsewhere; `nil` for an entry that names no file.
  func name(of line: some Collection<UInt8>) -> String? {
    guard line.count <= Self.pathLimit, line.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
    var entry = Substring(decoding: line.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
    let front = PeerAddress.join(base, "")
    if entry.hasPrefix("//") { entry = "\(front.prefix { $0 != "/" })\(entry)" }
    if entry.hasPrefix(front) { entry = entry.dropFirst(front.count) }
    let isAbsolute = PeerAddress.isAbsolute(entry)
    let path = (isAbsolute ? entry.drop { $0 != "/" }.dropFirst(2) : entry).drop { $0 == "/" }
    let file = path.prefix { $0 != "?" }
    guard !file.isEmpty, file.utf8.last != UInt8(ascii: "/"), file.lowercased().hasSuffix(suffix.lowercased()),
      isAbsolute || !file.prefix(while: { $0 != "/" }).contains(":")
    else { return nil }
    let leavesTheBase = file.split(separator: "/").contains { segment in
      [".", ".."].contains(segment.lowercased().replacing("%2e", with: "."))
    }
    guard !leavesTheBase else { return nil }
    return String(isAbsolute ? entry : path)
  }
}
