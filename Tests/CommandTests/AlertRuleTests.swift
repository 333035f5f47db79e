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

  /// Close to its bounds, each rule fires and does not.
  @Test(.enabled(if: Tool(named: "promtool") != nil, "needs promtool, of Debian's package prometheus"))
  func theySeeWhatTheyAreFor() throws {
    let promtool = try #require(Tool(named: "promtool"))
    let folder = Self.file.deletingLastPathComponent()
    let outcome = try promtool.run(["test", "rules", "alerts-test.yml"], in: folder)
    #expect(outcome.status == 0, "\(outcome.text)\(outcome.errors)")
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
