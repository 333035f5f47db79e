internal import FileCommands
internal import KeyIntake
internal import KeyStorage

extension EventList {
  /// One line an event, under a line of heads.
  var text: String {
    TextTable(
      heads: ["event", "time", "kind", "about", "by"],
      rows: events.map { ["\($0.number)", $0.time, $0.kind.rawValue, printableText($0.about, limit: 200), $0.words] }
    ).text
  }
}

extension EventList.Event {
  /// Who and why.
  fileprivate var words: String {
    guard let by else { return "" }
    return printableText(by, limit: 100) + (reason.map { ": \(printableText($0, limit: 1000))" } ?? "")
  }
}
