internal import ExposureKeys
internal import Glibc

/// A file that could not be opened, read or written, and why, in the system's words.
package struct FileFault: ProgramFault, Hashable, Sendable {
  package let path: String
  /// What was tried: `open`, `read`, `write`.
  package let operation: String
  /// The system's error number; 0 where the reason is not the system's.
  package let number: Int32
  private let words: String

  package init(_ operation: String, _ path: String, number: Int32) {
    self.operation = operation
    self.path = path
    self.number = number
    words = String(cString: strerror(number)).lowercased()
  }

  package init(_ operation: String, _ path: String, reason: String) {
    self.operation = operation
    self.path = path
    number = 0
    words = reason
  }

  package var description: String { "\(shownPath): cannot \(operation): \(words)" }

  /// The path; of one that leads nowhere, what ``PathText/shownAsMissing(_:)`` shows.
  package var shownPath: String {
    switch number {
    case ENOENT, ENOTDIR, ENAMETOOLONG: PathText.shownAsMissing(path)
    default: PathText.onOneLine(path)
    }
  }
}
