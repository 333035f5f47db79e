internal import ArgumentParser
internal import KeyDevice
internal import KeyFormats
internal import KeyIntake

/// A page of pictures, each with its table: one file without scripts, to be printed or sent.
struct DevicePage {
  let title: String
  /// A line below the title: which models, and how exact they are.
  let notes: [String]
  private var sections: [(heading: String, picture: DevicePicture)] = []

  init(title: String, notes: [String]) {
    self.title = title
    self.notes = notes
  }

  mutating func add(_ heading: String, _ picture: DevicePicture) { sections.append((heading, picture)) }

  /// - Throws: `ValidationError` if the page would take the place of an input.
  static func check(_ path: String?, inputs: [String]) throws {
    guard let path, let target = FileIdentity(path: path),
      let input = inputs.first(where: { FileIdentity(path: $0) == target })
    else { return }
    throw ValidationError("the output \(path) is the input \(input); it would be overwritten")
  }

  func write(to path: String) throws {
    let file = try OutputFile(path: path)
    try file.write(Array(html.utf8))
    try file.commit()
  }

  var html: String {
    let body = sections.map { heading, picture in
      """
      <section><h2>\(Self.escaped(heading))</h2>\(picture.svg)<details><summary>Table</summary>\
      \(Self.table(picture.table))</details></section>
      """
    }.joined(separator: "\n")
    return """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
      <title>\(Self.escaped(title))</title><style>\(Self.style)</style></head><body>
      <h1>\(Self.escaped(title))</h1>
      \(notes.map { "<p>\(Self.escaped($0))</p>" }.joined(separator: "\n"))
      \(body)
      </body></html>

      """
  }

  private static func table(_ table: PictureTable) -> String {
    func row(_ cells: [String], _ element: String) -> String {
      "<tr>\(cells.map { "<\(element)>\(escaped($0))</\(element)>" }.joined())</tr>"
    }
    return "<table>\(row(table.columns, "th"))\(table.rows.map { row($0, "td") }.joined(separator: "\n"))</table>"
  }

  private static func escaped(_ text: String) -> String {
    TerminalText.harmless(text).replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;")
  }

  private static let style = """
    body{font:16px/1.45 system-ui,sans-serif;max-width:46rem;margin:1rem auto;padding:0 1rem;color-scheme:light dark}\
    svg{width:100%;height:auto;max-width:44rem}table{border-collapse:collapse;font-size:.85rem}\
    td,th{text-align:left;padding:.15rem .6rem .15rem 0;border-bottom:1px solid #8886;vertical-align:top}\
    section{break-inside:avoid}
    """
}
