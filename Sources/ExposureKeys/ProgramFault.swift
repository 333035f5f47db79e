/// An error that a command may meet: a sentence for people, and how the command ends.
///
/// Each library declares its own errors. The commands print any of them without knowing which it is, so a new one needs no line
/// there.
package protocol ProgramFault: Error, CustomStringConvertible {
  /// What the reader can do, where the sentence does not say it.
  var hint: String? { get }
  /// Whether something was examined and is not what it should be. Otherwise the command could not be done.
  var isRefutation: Bool { get }
}

extension ProgramFault {
  package var hint: String? { nil }
  package var isRefutation: Bool { false }
}
