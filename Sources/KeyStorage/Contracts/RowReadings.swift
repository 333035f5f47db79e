/// What somebody has added to the tables of a store. It is in nobody's way, and no copy takes it away.
package enum StoreAddition {
  package static let words = "no version of Keyferry makes"

  /// A view is gone, or has another text.
  package static func ofView(_ view: String) -> String {
    "\(view): \(viewWords)"
  }

  private static let viewWords = "this view is not the one that this version of Keyferry makes"

  package static func isTold(by line: String) -> Bool {
    line.hasSuffix(viewWords)
      || ["such a", "the column", "the index"].contains { line.contains(": \(words) \($0) ") }
  }
}

extension StoredState {
  /// Reads the rows of each kind as those read them who need them.
  ///
  /// - Parameter others: what the store itself can read in parts, or has alone.
  /// - Returns: what cannot be read, the first of each kind.
  package func readingFaults(
    and others: [() throws -> Void]
  ) throws -> [String] {
    var faults: [String] = []
    for read in readings + others {
      do {
        try read()
      } catch let fault as StorageFault where fault.code == .corrupt {
        faults.append(fault.reason)
      }
    }
    return faults
  }

  private var readings: [() throws -> Void] {
    [
      { _ = try self.sources() },
      { _ = try self.pauses() },
      { _ = try self.recalls() },
      { try self.eachEvent() },
      { _ = try self.bundles(of: nil, in: Set(BundleState.allCases)) },
      { _ = try self.pushes(to: nil, in: Set(PushState.allCases)) },
    ]
  }

  private func eachEvent() throws {
    var start = EventID(rawValue: 0)
    while true {
      let events = try self.events(from: start, limit: 2000)
      guard let last = events.last else { return }
      start = EventID(rawValue: last.id.rawValue + 1)
    }
  }
}
