internal import ArgumentParser
internal import ExposureKeys
internal import Federation
internal import FoundationEssentials
internal import GatewayDaemon
internal import GatewaySettings
internal import KeyFormats
internal import KeyPeers
internal import KeyPublishing
internal import PolicyFiles

/// What a shell offers for an argument where it is neither a path nor one word of a list that never changes.
///
/// Bash expands every word that a program offers: `$(…)` in the name of a file would be run. Only words of harmless letters
/// are offered.
extension CompletionKind {
  /// The formats that are written.
  static let writtenFormat = list(FormatCatalog.all.filter(\.isWritten).map(\.format.rawValue))

  /// A configuration, and the folders on the way to it.
  static let configuration = file(extensions: ["yaml", "yml"])

  /// The policies that ship, and files of policies.
  static let policy = custom { _, _, prefix in
    offered(ShippedPolicies.names + policyFiles(beginningWith: prefix))
  }

  /// The sources that the configuration asks.
  static let source = named { $0.sources.map(\.name) }

  /// What claims call their sources: those that are asked, the doors for uploads and national back ends.
  static let sender = named(\.sourceNames)

  /// What can be paused.
  static let pauseSubject = named { $0.sourceNames + $0.destinations.map(\.name) }

  static let destination = named { $0.destinations.map(\.name) }

  static let series = named { $0.series.map(\.name) }

  /// Names in the configuration that the line states; none where it cannot be read.
  private static func named(_ names: @escaping @Sendable (OperatorsPlan) -> [String]) -> Self {
    custom { words, _, _ in
      guard let read = try? GatewayConfiguration.readForOperators(configurationPath(in: words), now: Clock.now) else {
        return []
      }
      return offered(names(read.plan))
    }
  }

  /// Where the line says that the configuration is.
  static func configurationPath(in words: [String]) -> String {
    var path = GatewayOptions.defaultConfiguration
    for (index, word) in words.enumerated() {
      if word.hasPrefix("--config=") { path = String(word.dropFirst("--config=".count)) }
      guard word == "--config" || word == "-c", index + 1 < words.count else { continue }
      // Bash splits a word at its equals sign.
      if words[index + 1] != "=" {
        path = words[index + 1]
      } else if index + 2 < words.count {
        path = words[index + 2]
      }
    }
    return path
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

  static func offered(_ words: [String]) -> [String] {
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
