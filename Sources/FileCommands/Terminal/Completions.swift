package import ArgumentParser
internal import FoundationEssentials
internal import KeyFormats
internal import PolicyFiles

/// What a shell offers for an argument where it is neither a path nor one word of a list that never changes.
///
/// Bash expands every word that a program offers: `$(…)` in the name of a file would be run. Only words of harmless letters
/// are offered.
extension CompletionKind {
  /// The formats that are written.
  static let writtenFormat = list(FormatCatalog.all.filter(\.isWritten).map(\.format.rawValue))

  /// The policies that ship, and files of policies.
  package static let policy = custom { _, _, prefix in
    offered(ShippedPolicies.names + policyFiles(beginningWith: prefix))
  }

  /// Files of YAML, and folders, in the folder of what was typed.
  private static func policyFiles(beginningWith prefix: String) -> [String] {
    let folder = prefix.lastIndex(of: "/").map { String(prefix[...$0]) } ?? ""
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
    return names.sorted().prefix(1000).compactMap { name in
      if name.hasPrefix(".") { return nil }
      if name.hasSuffix(".yaml") || name.hasSuffix(".yml") { return folder + name }
      var isFolder = false
      let isThere = FileManager.default.fileExists(atPath: folder + name, isDirectory: &isFolder)
      return isThere && isFolder ? folder + name + "/" : nil
    }
  }

  package static func offered(_ words: [String]) -> [String] {
    words.filter { word in
      !word.isEmpty
        && word.utf8.allSatisfy { byte in
          (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || "-._/+,@%".utf8.contains(byte)
        }
    }
  }
}
