import Foundation
import GatewayTesting
import Testing

/// The dashboard for Grafana that ships.
@Suite struct DashboardTests {
  private static let file = PackageFolder.root.appending(path: "interop/deploy/grafana.json")

  private struct Dashboard: Decodable {
    struct Panel: Decodable {
      struct Place: Decodable { let x, y, w, h: Int }
      struct Target: Decodable {
        let expr: String
        let legendFormat: String
      }
      let id: Int
      let type: String
      let title: String
      let description: String?
      let gridPos: Place
      let targets: [Target]?
    }
    let panels: [Panel]
  }

  private static func panels() throws -> [Dashboard.Panel] {
    try JSONDecoder().decode(Dashboard.self, from: try Data(contentsOf: file)).panels
  }

  /// By name, the labels and the kind that the page of metrics says.
  private static func metrics() throws -> [String: (kind: String, labels: Set<String>)] {
    let page = try String(
      contentsOf: PackageFolder.root.appending(path: "Sources/GatewayDaemon/GatewayDaemon.docc/Metrics.md"),
      encoding: .utf8)
    var metrics: [String: (String, Set<String>)] = [:]
    for row in page.matches(of: /\| `(keyferry_[a-z_]+)` \| ([a-z]+) \| ([^|]*) \|/) {
      metrics[String(row.output.1)] = (
        String(row.output.2), Set(row.output.3.matches(of: /`([a-z_]+)`/).map { String($0.output.1) })
      )
    }
    return metrics
  }

  @Test func itShowsMetricsThatThereAreByLabelsThatTheyHave() throws {
    let metrics = try Self.metrics()
    let panels = try Self.panels()
    #expect(metrics.count > 40 && panels.count > 25)
    for panel in panels where panel.type != "row" {
      let targets = try #require(panel.targets, "\(panel.title)")
      #expect(!targets.isEmpty && panel.description?.isEmpty == false, "\(panel.title)")
      for target in targets {
        let named = target.expr.matches(of: /keyferry_[a-z_]+/).map { String($0.output) }
        #expect(!named.isEmpty, "\(panel.title)")
        var labels: Set<String> = []
        for name in named {
          // A histogram is read by its buckets.
          let base = name.hasSuffix("_bucket") ? String(name.dropLast("_bucket".count)) : name
          let metric = try #require(metrics[base], "\(panel.title): \(name)")
          #expect(metric.kind != "histogram" || base != name, "\(panel.title): \(name)")
          // What only grows is shown as how fast.
          #expect(
            (metric.kind == "counter") == target.expr.contains(/(rate|increase)\(keyferry/) || base != name, "\(name)")
          labels.formUnion(metric.labels)
        }
        for label in target.legendFormat.matches(of: /\{\{([a-z_]+)\}\}/) {
          #expect(labels.contains(String(label.output.1)), "\(panel.title): \(target.legendFormat)")
        }
      }
    }
  }

  @Test func panelsStandBesideEachOther() throws {
    var taken: Set<[Int]> = []
    var ids: Set<Int> = []
    for panel in try Self.panels() {
      #expect(ids.insert(panel.id).inserted)
      let place = panel.gridPos
      #expect(place.x + place.w <= 24, "\(panel.title)")
      for x in place.x..<place.x + place.w {
        for y in place.y..<place.y + place.h { #expect(taken.insert([x, y]).inserted, "\(panel.title)") }
      }
    }
  }

  /// As rules, since it reads nothing but rules.
  @Test(.enabled(if: Tool(named: "promtool") != nil, "needs promtool, of Debian's package prometheus"))
  func prometheusReadsWhatItAsks() throws {
    let promtool = try #require(Tool(named: "promtool"))
    try Workshop.run { workshop in
      var rules = "groups:\n- name: dashboard\n  rules:\n"
      for (number, target) in try Self.panels().flatMap({ $0.targets ?? [] }).enumerated() {
        let expression = target.expr.replacing("$__rate_interval", with: "5m")
        #expect(!expression.contains("$"))
        rules += "  - record: panel:number_\(number)\n    expr: >-\n      \(expression)\n"
      }
      try workshop.write(rules, "rules.yml")
      let outcome = try promtool.run(["check", "rules", "rules.yml"], in: workshop.folder)
      #expect(outcome.status == 0, "\(outcome.text)\(outcome.errors)")
    }
  }
}
