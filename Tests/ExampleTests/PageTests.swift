import Foundation
import KeyFormats
import Testing

/// The examples of the pages are the code that is compiled and run here.
@Suite struct PageTests {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  static let pages = [
    "README.md", "Sources/ExposureKeys/ExposureKeys.docc/ExposureKeys.md",
    "Sources/KeyFormats/KeyFormats.docc/KeyFormats.md", "Sources/KeyFormats/KeyFormats.docc/ReadingKeys.md",
    "Sources/KeyFormats/KeyFormats.docc/WritingKeys.md", "Sources/KeyFiles/KeyFiles.docc/KeyFiles.md",
    "Sources/KeyFiles/KeyFiles.docc/Recipes.md", tutorial,
  ]
  static let tutorial = "Sources/GatewayDaemon/GatewayDaemon.docc/TutorialSwiftProgrammer.md"

  @Test(arguments: pages)
  func examplesAreCompiled(page: String) throws {
    let source = try ["Examples", "Recipes"].flatMap {
      Self.lines(try Self.text("Tests/ExampleTests/\($0).swift"))
    }
    let examples = try Self.text(page).components(separatedBy: "```swift\n").dropFirst()
      .map { $0.components(separatedBy: "```")[0] }
      // The manifest of an embedding package is no code of ours.
      .filter { !$0.contains(".package(") }
    #expect(!examples.isEmpty)
    for example in examples {
      let wanted = Self.lines(example)
      #expect(source.indices.contains { source[$0...].starts(with: wanted) }, "\(page):\n\(example)")
    }
  }

  @Test func everyPageWithCodeIsChecked() throws {
    let sources = Self.root.appending(path: "Sources")
    let found = try (FileManager.default.enumerator(atPath: sources.path())?.compactMap { $0 as? String } ?? [])
      .filter { path in
        // Other modules are no products, or compare their pages in tests of their own.
        path.hasSuffix(".md") && ["ExposureKeys/", "KeyFormats/", "KeyFiles/"].contains { path.hasPrefix($0) }
      }
      .filter { try Self.text("Sources/\($0)").contains("```swift") }
    #expect(Set(found.map { "Sources/\($0)" }) == Set(Self.pages.dropFirst()).subtracting([Self.tutorial]))
  }

  @Test func everyFormatIsInTheTable() throws {
    let page = try Self.text("Sources/KeyFormats/KeyFormats.docc/KeyFormats.md")
    for row in FormatCatalog.all { #expect(page.contains("| `\(row.format.rawValue)` |"), "\(row.format.rawValue)") }
  }

  @Test func everyReasonIsOnThePage() throws {
    let page = try Self.text("Sources/KeyFormats/KeyFormats.docc/ReadingKeys.md")
    for code in FormatError.Code.allCases { #expect(page.contains("`\(code.rawValue)`"), "\(code.rawValue)") }
  }

  private static func lines(_ text: String) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }
}
