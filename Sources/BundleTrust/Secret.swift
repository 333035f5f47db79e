/// A text that opens something: a private key, a token, a header that authorizes.
///
/// It shows itself nowhere: described, dumped, reflected or interpolated it says that it is hidden, and it cannot be
/// encoded. What it is says only ``disclosed``.
package struct Secret: Hashable, Sendable {
  private let text: String

  package init(_ text: String) { self.text = text }

  /// What it is, for the one who uses it; never for a message.
  package var disclosed: String { text }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "(hidden)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
