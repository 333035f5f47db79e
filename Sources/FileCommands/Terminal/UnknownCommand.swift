package import ArgumentParser
internal import KeyIntake
internal import PolicyFiles

/// A word that stands where a command is expected, and is none. `version` and `-V` are words that others use for
/// `--version`.
package struct UnknownCommand: CustomStringConvertible {
  private let word: String
  /// What stands before it: `keyferry`, or `keyferry log`.
  private let parent: String
  private let nearest: String?
  private let isFile: Bool

  /// `nil` where each word that stands in a command's place is one.
  package static func first(in arguments: [String], of program: any ParsableCommand.Type) -> UnknownCommand? {
    var command: CommandConfiguration = program.configuration
    var parent = Program.name
    if let word = arguments.first, ["version", "-V"].contains(word) {
      return UnknownCommand(word: word, parent: parent, nearest: "--version", isFile: false)
    }
    for (place, word) in arguments.enumerated() {
      // Options before a command, and the arguments of one that has none, are the parser's.
      if command.subcommands.isEmpty || word.hasPrefix("-") || word == "help" { return nil }
      if let next = command.subcommands.first(where: { name(of: $0) == word }) {
        command = next.configuration
        parent += " \(word)"
        continue
      }
      let names = command.subcommands.map { name(of: $0) } + ["help"]
      return UnknownCommand(
        word: word, parent: parent, nearest: names.nearest(to: word),
        isFile: place == 0 && FileIdentity(path: word) != nil)
    }
    return nil
  }

  /// As the parser names a command that states no name: `ShowKeys` is `show-keys`.
  private static func name(of command: any ParsableCommand.Type) -> String {
    if let name = command.configuration.commandName { return name }
    var name = ""
    for letter in String(describing: command) {
      if letter.isUppercase, !name.isEmpty { name += "-" }
      name += letter.lowercased()
    }
    return name
  }

  package var description: String {
    var text = "unknown \(word.hasPrefix("-") ? "option" : "command") '\(word)'"
    if let nearest {
      text += ". Did you mean '\(nearest)'?"
    } else if isFile {
      text += ", which is a file; see what is in it: keyferry inspect \(word)"
    }
    return text + "\nUsage: \(parent) <subcommand>\n  See '\(parent) --help' for more information."
  }
}
