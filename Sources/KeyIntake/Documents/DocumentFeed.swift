internal import ExposureKeys
internal import KeyFormats

/// Documents, handed over one at a time, so that few are open at once however many there are. It can be asked again, and
/// then begins with the first.
package struct DocumentFeed<Item> {
  /// Whether there may be more than one.
  package let mayHoldSeveral: Bool
  private let each: (_ take: (Item) throws -> Void, _ leaveOut: (LeftOutDocument) throws -> Void) throws -> Void

  /// - Parameters:
  ///   - mayHoldSeveral: `false` where one alone is expected; more may come all the same.
  ///   - each: hands over the documents that can be opened, and what it must leave out; it throws what these throw.
  package init(
    mayHoldSeveral: Bool,
    each: @escaping (_ take: (Item) throws -> Void, _ leaveOut: (LeftOutDocument) throws -> Void) throws -> Void
  ) {
    self.mayHoldSeveral = mayHoldSeveral
    self.each = each
  }

  package init(_ items: [Item]) {
    self.init(mayHoldSeveral: items.count > 1) { take, _ in
      for item in items { try take(item) }
    }
  }

  package func visit(
    _ take: (Item) throws -> Void, leaveOut: (LeftOutDocument) throws -> Void = { throw $0.fault }
  ) throws {
    try each(take, leaveOut)
  }
}

/// A document that could not be read, and why; the others went on without it.
package struct LeftOutDocument: Sendable {
  package let name: String
  package let fault: any Error
  /// Stable, for programs.
  package let code: String

  /// - Returns: `nil` for a fault that is not of one document alone, such as a disk that is full.
  package init?(_ name: String, _ fault: any Error) {
    switch fault {
    case let fault as FormatError: code = fault.code.rawValue
    case let fault as FileFault:
      guard fault.operation != "write", !fault.operation.hasPrefix("create") else { return nil }
      code = "cannot-\(fault.operation)"
    case let fault as DocumentRefusal: code = fault.code
    default: return nil
    }
    let missing = (fault as? FileFault).flatMap { $0.path == name ? $0.shownPath : nil }
    self.name = missing ?? PathText.onOneLine(name)
    self.fault = fault
  }

  /// A fault that a command knows to be of one document alone.
  package init(_ name: String, code: String, _ fault: any Error & CustomStringConvertible) {
    let name = PathText.onOneLine(name)
    self.name = name
    self.code = code
    // These do not name the document themselves.
    self.fault = Named(name: name, fault: fault)
  }

  private struct Named: Error, CustomStringConvertible {
    let name: String
    let fault: any Error & CustomStringConvertible
    var description: String { "\(name): \(fault)" }
  }

  /// For people: the name, and what is wrong.
  package var reason: String { "\(fault)" }
}

extension LeftOutDocument: Encodable {
  private enum CodingKeys: String, CodingKey { case name, code, text }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(name, forKey: .name)
    try members.encode(code, forKey: .code)
    try members.encode(reason, forKey: .text)
  }
}

/// Of all documents none could be read; nothing was written.
package struct NothingRead: ProgramFault, Sendable {
  package let leftOut: [LeftOutDocument]

  package init(leftOut: [LeftOutDocument]) { self.leftOut = leftOut }

  package var description: String {
    (leftOut.map(\.reason) + ["nothing was written, since none of \(counted(leftOut.count, "document")) could be read"])
      .joined(separator: "\n")
  }
}
