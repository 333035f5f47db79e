internal import ArgumentParser
internal import ExposureKeys
internal import Federation
internal import FileCommands
internal import FoundationEssentials
internal import GatewayDaemon
internal import GatewaySettings
internal import KeyFormats
internal import KeyPeers
internal import KeyPublishing
internal import PolicyFiles

/// What a shell offers for an argument that names something of a configuration.
extension CompletionKind {
  /// A configuration, and the folders on the way to it.
  static let configuration = file(extensions: ["yaml", "yml"])

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
}
