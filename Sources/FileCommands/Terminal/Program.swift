internal import CBuild

/// What the program is called, and which it is.
package enum Program {
  /// What the commands say they are part of; the parser then looks for no options of a whole program in them.
  package static let name = "keyferry"

  /// The version, as the tag has it. Other systems see it; `--version` prints the commit as well.
  package static let version = "0.1.0"

  /// Name and version, as bundles and the log name what made them.
  package static let nameAndVersion = "\(name) \(version)"

  /// The commit that the program was built from, and its date.
  package static let build = keyferry_build().map { String(cString: $0) } ?? "development build"
}
