import Foundation
import GatewayTesting
import Testing

/// The commands that the pages show print what the pages show.
@Suite struct ManualTests {
  @Test func theExplanationOfNormalizing() throws {
    let page = PackageFolder.root.appending(path: "Sources/GatewayDaemon/GatewayDaemon.docc/Normalizing.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let block = try #require(text.components(separatedBy: "```\n").first { $0.hasPrefix("$ cat de.csv\n") })
    try Workshop.run { workshop in
      for step in ("\n" + block).components(separatedBy: "\n$ ").dropFirst() {
        let lines = step.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let words = lines[0].split(separator: " ").map(String.init)
        let shown = lines[1].hasSuffix("\n") ? lines[1] : lines[1] + "\n"
        switch words[0] {
        case "cat": try workshop.write(shown, words[1])
        default: #expect(try workshop.keyferry(Array(words.dropFirst())).text == shown)
        }
      }
      #expect(try workshop.files == ["de.csv", "it.csv"])
    }
  }
}
