import Foundation
import GatewayTesting
import Testing

/// The `console` blocks of a page, run as a person would type them: in one shell, from the first line to the last.
///
/// A line behind the prompt is a command; one that ends in `\`, or hands in lines until `END`, goes on behind `> `. What follows
/// is printed by it: a line `…` stands for any lines, `…` in a line for any text. A command succeeds, unless the next one is
/// `echo $?`.
struct PageSession {
  /// A command line and the lines that it prints.
  struct Step {
    var command: String
    var output: [Substring] = []
  }

  var steps: [Step]

  init(_ page: String, prompt: String = "$ ") {
    steps = Self.blocks("console", of: page).flatMap { block in
      block.split(separator: "\n", omittingEmptySubsequences: false).dropLast().reduce(into: []) { steps, line in
        if line.hasPrefix(prompt) {
          steps.append(Step(command: String(line.dropFirst(prompt.count))))
        } else if line.hasPrefix("> "), let last = steps.indices.last, Self.goesOn(steps[last].command) {
          steps[last].command += "\n" + line.dropFirst(2)
        } else if let last = steps.indices.last {
          steps[last].output.append(line)
        }
      }
    }
  }

  /// Whether a shell waits for more: behind a backslash, and until what is handed in ends.
  private static func goesOn(_ command: String) -> Bool {
    command.hasSuffix("\\") || command.contains("<<'END'") && !command.hasSuffix("\nEND")
  }

  static func blocks(_ kind: String, of page: String) -> [String] {
    page.components(separatedBy: "```\(kind)\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
  }

  /// Runs every step in a folder, and expects what the page shows.
  ///
  /// - Parameters:
  ///   - preparation: lines of the shell that come first: what stands in for the machine.
  ///   - replacing: texts of the page that are others here, such as folders of a system.
  func run(
    in workshop: Workshop, preparation: String = "", replacing places: [(String, String)] = [],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let program = try #require(Workshop.program, "the program keyferry was not built")
    let products = URL(filePath: program).deletingLastPathComponent().path()
    let shell = try #require(Tool(named: "bash"), "bash is missing")
    func here(_ text: String) -> String { places.reduce(text) { $0.replacing($1.0, with: $1.1) } }
    // A control character stands before and behind what a step prints, and its status is left as the step left it.
    var script = """
      export PATH="$1:$PATH"; exec 2>&1
      trap 'kill $(jobs -p) 2> /dev/null' EXIT
      ended() { local status=$?; printf '\\036%d\\035' $status; return $status; }
      \(preparation)

      """
    for step in steps { script += "\(here(step.command))\nended\n" }
    try workshop.write(script, ".session")
    let outcome = try shell.run([".session", products], in: workshop.folder)
    let printed = outcome.text.components(separatedBy: "\u{1D}")
    try #require(
      printed.count == steps.count + 1, "the shell ended: \(outcome.text.suffix(2000))", sourceLocation: sourceLocation)
    for (index, step) in steps.enumerated() {
      let parts = printed[index].components(separatedBy: "\u{1E}")
      let asked = index + 1 < steps.count && steps[index + 1].command == "echo $?"
      let lines = parts[0].split(separator: "\n", omittingEmptySubsequences: false)
      let shown = lines.last?.isEmpty == true ? Array(lines.dropLast()) : Array(lines)
      #expect(asked || parts.last == "0", "$ \(step.command)\n\(parts[0])", sourceLocation: sourceLocation)
      let expected = step.output.map { here(String($0))[...] }
      #expect(
        Self.fits(shown, expected[...]), "$ \(step.command)\n\(parts[0])", sourceLocation: sourceLocation)
    }
  }

  /// Whether the lines are those that were expected.
  static func fits(_ lines: [Substring], _ expected: ArraySlice<Substring>) -> Bool {
    guard let first = expected.first else { return lines.isEmpty }
    let rest = expected.dropFirst()
    if first == "…" { return (0...lines.count).contains { fits(Array(lines[$0...]), rest) } }
    guard let line = lines.first, fits(line, first) else { return false }
    return fits(Array(lines.dropFirst()), rest)
  }

  private static func fits(_ line: Substring, _ expected: Substring) -> Bool {
    let pieces = expected.split(separator: "…", omittingEmptySubsequences: false)
    guard pieces.count > 1, let first = pieces.first, let last = pieces.last else { return line == expected }
    guard line.hasPrefix(first), line.dropFirst(first.count).hasSuffix(last) else { return false }
    var rest = line.dropFirst(first.count).dropLast(last.count)
    for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
      guard let place = rest.range(of: piece) else { return false }
      rest = rest[place.upperBound...]
    }
    return true
  }

  /// A port on which nobody listens now.
  static func freePort() throws -> UInt16 {
    let place = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    try #require(place >= 0)
    defer { close(place) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(place, $0, length) | getsockname(place, $0, &length)
      }
    }
    try #require(status == 0)
    return UInt16(bigEndian: address.sin_port)
  }
}
