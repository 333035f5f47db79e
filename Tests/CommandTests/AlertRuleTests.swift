import Foundation
import GatewayTesting
import Testing

/// The alert rules that ship.
@Suite struct AlertRuleTests {
  private static let file = PackageFolder.root.appending(path: "interop/deploy/alerts.yml")

  @Test func theyAskForMetricsThatThereAre() throws {
    let rules = try String(contentsOf: Self.file, encoding: .utf8)
    let page = try String(
      contentsOf: PackageFolder.root.appending(path: "Sources/GatewayDaemon/GatewayDaemon.docc/Metrics.md"),
      encoding: .utf8)
    let names = Set(rules.matches(of: /keyferry_[a-z_]+/).map { String($0.output) })
    #expect(names.count > 20)
    for name in names { #expect(page.contains("`\(name)`"), "\(name)") }
    let alerts = rules.matches(of: /- alert: ([A-Za-z]+)/).map { String($0.output.1) }
    #expect(!alerts.isEmpty && Set(alerts).count == alerts.count)
    let severities = rules.matches(of: /severity: ([a-z]+)/).map { String($0.output.1) }
    #expect(severities.count == alerts.count && Set(severities) == ["page", "ticket"])
  }

  @Test(.enabled(if: Tool(named: "promtool") != nil, "needs promtool, of Debian's package prometheus"))
  func prometheusReadsThem() throws {
    let promtool = try #require(Tool(named: "promtool"))
    let outcome = try promtool.run(["check", "rules", Self.file.path()], in: PackageFolder.root)
    #expect(outcome.status == 0, "\(outcome.errors)")
  }

  /// Prometheus takes the file beside the rules, and it asks where the example's operators are answered.
  @Test(.enabled(if: Tool(named: "promtool") != nil, "needs promtool, of Debian's package prometheus"))
  func prometheusAsksTheExample() throws {
    let promtool = try #require(Tool(named: "promtool"))
    let folder = Self.file.deletingLastPathComponent()
    let outcome = try promtool.run(["check", "config", "prometheus.yml"], in: folder)
    #expect(outcome.status == 0, "\(outcome.text)\(outcome.errors)")
    let asks = try String(contentsOf: folder.appending(path: "prometheus.yml"), encoding: .utf8)
    let example = try String(contentsOf: folder.appending(path: "gateway.yaml"), encoding: .utf8)
    let target = try #require(asks.firstMatch(of: /targets: \["([0-9.:]+)"\]/)?.output.1)
    #expect(example.contains("operators: {listen: \(target)}"))
  }

  /// Close to its bounds, each rule fires and does not.
  ///
  /// promtool evaluates every rule of a file for every minute of every test in it, which takes minutes. Each rule therefore
  /// gets a file of its own, beside the tests that bear its name.
  @Test(.enabled(if: Tool(named: "promtool") != nil, "needs promtool, of Debian's package prometheus"))
  func theySeeWhatTheyAreFor() throws {
    let promtool = try #require(Tool(named: "promtool"))
    let rules = try String(contentsOf: Self.file, encoding: .utf8).split(separator: "      - alert: ").dropFirst()
    let tests = try String(
      contentsOf: Self.file.deletingLastPathComponent().appending(path: "alerts-test.yml"), encoding: .utf8
    ).split(separator: "\n  - name: ").dropFirst()
    func name(_ part: Substring) -> String { String(part.prefix { $0 != "\n" }) }
    #expect(Set(tests.map(name)) == Set(rules.map(name)))
    try withTemporaryFolder { folder in
      for rule in rules {
        // The next group may begin behind the rule.
        let lines = rule.split(separator: "\n").prefix { !$0.hasPrefix("  - name: ") }.joined(separator: "\n")
        try "groups:\n  - name: one\n    rules:\n      - alert: \(lines)\n".write(
          to: folder.appending(path: "\(name(rule)).yml"), atomically: false, encoding: .utf8)
        let own = tests.filter { name($0) == name(rule) }.map { "  - name: \($0)\n" }.joined()
        try "rule_files: [\(name(rule)).yml]\nevaluation_interval: 1m\ntests:\n\(own)".write(
          to: folder.appending(path: "\(name(rule))-test.yml"), atomically: false, encoding: .utf8)
      }
      let outcome = try promtool.run(["test", "rules"] + rules.map { "\(name($0))-test.yml" }, in: folder)
      #expect(outcome.status == 0, "\(outcome.text)\(outcome.errors)")
      #expect(outcome.text.matches(of: /SUCCESS/).count == rules.count, "\(outcome.text)")
    }
  }

  /// Each alert has a section of the runbook, with what it means, and no section is about none.
  @Test func theRunbookHasEach() throws {
    let rules = try String(contentsOf: Self.file, encoding: .utf8)
    let page = try Self.page("Runbook")
    let alerts = rules.matches(of: /- alert: ([A-Za-z]+)\n(?:.*\n)*?.*severity: ([a-z]+)/)
      .map { (name: String($0.output.1), severity: String($0.output.2)) }
    let sections = page.split(separator: "\n### ").dropFirst().map { section in
      (name: section.prefix { $0 != "\n" }, text: section.drop { $0 != "\n" })
    }
    #expect(alerts.count > 30 && sections.map { String($0.name) } == alerts.map(\.name))
    for (alert, section) in zip(alerts, sections) {
      #expect(section.text.hasPrefix("\n\n*\(alert.severity).* "), "\(alert.name)")
    }
  }

  /// The commands of the pages for operators are the program's, with options that it has.
  @Test(arguments: ["Runbook", "Upkeep"]) func theirCommandsAreOnes(_ page: String) throws {
    let program = try #require(Workshop.program, "the program keyferry was not built")
    let lines = try Self.page(page).split(separator: "\n").filter { $0.hasPrefix(" ") || $0.hasPrefix("keyferry ") }
      .map { $0.trimmingCharacters(in: .whitespaces) }.filter { $0.hasPrefix("keyferry ") }
    #expect(lines.count > 5)
    for line in Set(lines) {
      let words = line.split(separator: " ").dropFirst().map(String.init)
      var command = words.prefix { $0.allSatisfy { $0.isLetter && $0.isLowercase || $0 == "-" } && !$0.hasPrefix("-") }
      var help = Tool.Outcome?.none
      // What follows a command may be a name.
      while help == nil, !command.isEmpty {
        let outcome = try Tool(path: program).run(["help"] + command, in: PackageFolder.root)
        let usage = outcome.text.contains("USAGE: keyferry \(command.joined(separator: " "))")
        if outcome.status == 0, usage { help = outcome } else { command = command.dropLast() }
      }
      if words == ["--version"] { continue }
      let text = try #require(help?.text, "\(line)")
      for option in words where option.hasPrefix("--") { #expect(text.contains(option), "\(line)") }
      // And with those that they need: in a usage what may be left out stands in brackets.
      let usage = text.split(separator: "\n\n").first { $0.contains("USAGE: ") }.map(String.init) ?? ""
      let needed = usage.replacing(/\[[^\]]*\]/, with: "").split(separator: " ").filter { $0.hasPrefix("--") }
      for option in needed {
        let isThere = words.contains(String(option)) || option == "--output" && words.contains("-o")
        #expect(isThere, "\(line) lacks \(option)")
      }
    }
  }

  /// The page about nginx has the file that ships.
  @Test func theSnippetIsTheFile() throws {
    let file = try String(
      contentsOf: Self.file.deletingLastPathComponent().appending(path: "nginx.conf"), encoding: .utf8)
    let shown = file.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.isEmpty ? "" : "    \($0)" }.joined(separator: "\n")
    let page = try Self.page("Upkeep")
    #expect(!file.isEmpty && page.contains(shown))
  }

  private static func page(_ name: String) throws -> String {
    try String(
      contentsOf: PackageFolder.root.appending(path: "Sources/GatewayDaemon/GatewayDaemon.docc/\(name).md"),
      encoding: .utf8)
  }

  @Test func eachIsSeenToFireAndNotTo() throws {
    let rules = try String(contentsOf: Self.file, encoding: .utf8)
    let tests = try String(
      contentsOf: Self.file.deletingLastPathComponent().appending(path: "alerts-test.yml"), encoding: .utf8)
    let alerts = Set(rules.matches(of: /- alert: ([A-Za-z]+)/).map { String($0.output.1) })
    var counts: [String: Set<String>] = [:]
    for test in tests.matches(of: /alertname="([A-Za-z]+)"[^\n]*\n *eval_time: [^\n]*\n[^\n]*value: ([0-9]+)/) {
      counts[String(test.output.1), default: []].insert(String(test.output.2))
    }
    #expect(Set(counts.keys) == alerts)
    for alert in alerts { #expect(counts[alert] == ["0", "1"], "\(alert)") }
  }
}
