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
}
