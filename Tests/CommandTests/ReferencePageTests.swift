import FileCommands
import Foundation
import GatewayTesting
import KeyInspection
import KeyPublishing
import KeyTool
import PolicyFiles
import Testing
import TransparencyLog

/// The reference pages say what the code says. `KEYFERRY_REFRESH=1` writes those anew that are made of it.
@Suite struct ReferencePageTests {
  private static let folder = PackageFolder.root.appending(path: "Sources/GatewayDaemon/GatewayDaemon.docc")

  private static func text(_ page: String) throws -> String {
    try String(contentsOf: folder.appending(path: "\(page).md"), encoding: .utf8)
  }

  private func expect(_ page: String, is text: String) throws {
    if ProcessInfo.processInfo.environment["KEYFERRY_REFRESH"] != nil {
      try text.write(to: Self.folder.appending(path: "\(page).md"), atomically: true, encoding: .utf8)
    }
    #expect(try Self.text(page) == text, "\(page): run the tests once with KEYFERRY_REFRESH=1")
  }

  private static func table(_ head: [String], _ rows: [[String]]) -> String {
    ([head, head.map { _ in "---" }] + rows).map { "| " + $0.joined(separator: " | ") + " |\n" }.joined()
  }

  // MARK: Pages made of the code

  @Test func theFindingsAreCurrent() throws {
    let text = """
      # Findings

      Every code that the commands report about files, bundles and logs: what it means, and what to do.

      ## Overview

      Generated from the code. Other codes stand on pages of their own: why a file cannot be read, on ReadingKeys of KeyFormats; what
      is wrong with a signature, on the page of BundleTrust; why a key is rejected, held or left out, on Rules of KeyNormalization;
      what a source did, in <doc:Pulling>; why a federation's batch is refused, in <doc:RefusedBatch>; what an archive lacks, in
      <doc:KeepingFiles>; what the service logs, in <doc:Logging>. What is wrong with `gateway.yaml` has no code: each fault names its
      line, its setting and what is allowed, as <doc:Configuration> has it.

      ### Exit codes of every command

      \(Self.table(["code", ""], ExitStatus.allCases.map { ["`\($0.rawValue)`", $0.meaning] }))
      ### Findings of inspect

      An *error* makes common phones refuse or skip something, a *warning* some of them, a *note* is worth knowing. How severe a finding
      is depends on the format. See <doc:Inspecting>.

      \(Self.table(
        ["code", "means", "what to do"], Finding.Code.allCases.map { ["`\($0.rawValue)`", $0.meaning, $0.advice] }))
      ### Rules of the phones' profiles

      `keyferry verify --profile` tells for each rule what one kind of phone does when it is broken: nothing, a warning, keys that are
      skipped (`skip-key`), the file refused (`refuse-file`), or the whole call with all its files (`refuse-call`). The profiles are
      \(DeviceProfile.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")); see <doc:Verifying>.

      \(Self.table(["rule", "asks"], ProfileRule.allCases.map { ["`\($0.rawValue)`", $0.meaning] }))
      ### Warnings of publishing

      Of `keyferry publish`, `preview` and `status`, and of the service's log.

      \(Self.table(
        ["code", "means", "what to do"],
        PublishingWarning.Code.allCases.map { ["`\($0.rawValue)`", $0.meaning, $0.advice] }))
      ### Files of the publication folder

      Of `keyferry check --publication`.

      \(Self.table(
        ["kind", "means", "what to do"],
        PublicationCheck.Fault.Kind.allCases.map { ["`\($0.rawValue)`", $0.meaning, $0.advice] }))
      ### What a monitor finds

      Of `keyferry log monitor` and `log verify`: who finds one of these asks the operator of the log in public.

      \(Self.table(["code", "means"], LogFinding.Code.allCases.map { ["`\($0.rawValue)`", $0.meaning] }))
      """
    try expect("Findings", is: text)
  }

  @Test func thePoliciesAreCurrent() throws {
    let policies = try ShippedPolicies.names.map { name in
      let text = try #require(ShippedPolicies.text(of: name))
      return "### \(name)\n\n```yaml\n\(text)```\n"
    }
    let text = """
      # Policies

      Every policy that ships with the program, as its file says it.

      ## Overview

      Generated from the files. A policy states how it differs from `default`. `keyferry policy diff default efgs` compares two,
      `keyferry policy show efgs` lists the rules with their values, and <doc:Normalizing> tells how to write one.

      \(policies.joined(separator: "\n"))
      """
    try expect("Policies", is: text)
  }

  // MARK: Pages compared with the code

  /// Each message that a part of the service logs stands on the page, and nothing else does.
  @Test func everyLineOfTheLogIsExplained() throws {
    let call = try Regex(
      #"logger\s*\.(?:(?:trace|debug|info|notice|warning|error|critical)\(|log\(\s*(?:level: [^,]+|\.[a-z]+),)\s*"#
        + #"(?:"""(.*?)"""|"([^"]*)")"#
    ).dotMatchesNewlines()
    let sources = PackageFolder.root.appending(path: "Sources")
    let files = try FileManager.default.subpathsOfDirectory(atPath: sources.path()).filter { $0.hasSuffix(".swift") }
    var messages: Set<String> = []
    for file in files {
      for match in try String(contentsOf: sources.appending(path: file), encoding: .utf8).matches(of: call) {
        let text = match.output[1].substring ?? match.output[2].substring ?? ""
        messages.insert(
          text.replacing("\\\n", with: "").split(whereSeparator: \.isWhitespace).joined(separator: " "))
      }
    }
    #expect(messages.count > 30)
    let rows = try Self.text("Logging").matches(of: #/(?m)^\| `([^`]+)` \|/#).map { String($0.output.1) }
    #expect(Set(rows).count == rows.count)
    #expect(messages.subtracting(rows) == [], "logged, and not on the page")
    #expect(Set(rows).subtracting(messages) == [], "on the page, and not logged")
  }

  /// Each word of the glossary is one that other pages use, and the glossary is found from where people begin.
  @Test func theGlossaryHasWordsOfThePages() throws {
    let root = PackageFolder.root
    let names = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: "Sources").path())
      .filter { $0.hasSuffix(".md") && !$0.hasSuffix("/Glossary.md") }
    let pages = try names.map { name in
      try String(contentsOf: root.appending(path: "Sources/\(name)"), encoding: .utf8).lowercased()
    }
    let words = try Self.text("Glossary").matches(of: #/(?m)^\| \*\*([^*]+)\*\* \|/#).map { String($0.output.1) }
    #expect(words.count > 40 && Set(words).count == words.count)
    for word in words {
      let spelled = word.hasPrefix("to ") ? word.dropFirst(3) : word[...]
      let pattern = try Regex("\\b\(spelled.lowercased())")
      let uses = try pages.count { try pattern.firstMatch(in: $0) != nil }
      #expect(uses >= 2, "\(word)")
    }
    #expect(try Self.text("GatewayDaemon").contains("<doc:Glossary>"))
    let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    #expect(readme.contains("GatewayDaemon.docc/Glossary.md"))
  }

  /// Every page of the catalog stands under a heading of its first page.
  @Test func everyPageIsInTheIndex() throws {
    let index = try Self.text("GatewayDaemon")
    for name in try FileManager.default.contentsOfDirectory(atPath: Self.folder.path()) where name.hasSuffix(".md") {
      let page = name.dropLast(3)
      #expect(page == "GatewayDaemon" || index.contains("- <doc:\(page)>"), "\(page)")
    }
  }
}
