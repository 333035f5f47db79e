import ExposureKeys
import Foundation
import GatewayTesting
import KeyPublishing
import Testing

@testable import GatewayServer

/// The layouts together, and what `schemas/openapi.json` says about them.
@Suite struct LayoutCatalogTests {
  private static let catalog = LayoutCatalog(
    LayoutSettings(ServerSettings(), exposureConfiguration: Array("{}".utf8)))

  private static let history: PublishingHistory = {
    var random = SeededRandom(for: "catalogue of layouts")
    // A series named as parts of addresses are, to provoke conflicts.
    var history = PublishingHistory(.init(name: "v1"))
    history.publish(at: history.written + 20 * 86_400, using: &random)
    return history
  }()

  /// What may stand for the variables of addresses, the right and the wrong.
  private static let values: [String] = {
    let series = PublishedSeries(history.manifest)
    let bundles = [series.increments.first, series.increments.last, series.days.last].compactMap(\.self)
    let files = bundles.map { String($0.fileName.dropLast(4)) }
    let days = series.days.suffix(2).map(\.day)
    return files + files.map { "v1-" + $0 } + days.map(\.description)
      + days.map { String($0.start.secondsSince1970 * 1000) }
      + ["v1", "v2", "NL", "apple", "keys", "gaen", "exposed", "index", "eu", "version", "0", "1", "7", "23", "a.b"]
  }()

  private static let queries = [
    "", "?startingAt=x&index=x&lastKeyBundleTag=x&publishedafter=x", "?publishedafter=99999999999999",
  ]

  private static let seed = SeededRandom(for: "addresses").seed

  /// An address of a layout, filled with values at random.
  private static func filled(_ template: String, _ count: Int) -> Set<String> {
    var random = SeededRandom(seed: seed)
    return Set(
      (0..<count).map { _ in
        template.split(separator: "{").map { part in
          guard let close = part.firstIndex(of: "}") else { return String(part) }
          return random.pick(values) + part[part.index(after: close)...]
        }.joined()
      })
  }

  private static let servers = catalog.layouts.map { AskedLayout($0, history) }

  private static func answers(to address: String) -> [(layout: any Layout, answer: LayoutAnswer)] {
    servers.compactMap { server in server.ask(address).map { (server.layout, $0) } }
  }

  @Test func namesAreThoseOfTheLayouts() {
    #expect(Self.catalog.names == ["google", "apple", "dp3t", "corona-warn-app", "immuni"])
    #expect(LayoutCatalog.all.map { $0.name } == Self.catalog.names)
    var chosen = ServerSettings()
    chosen.layouts = ["immuni", "google"]
    #expect(LayoutCatalog(LayoutSettings(chosen, exposureConfiguration: [])).names == ["google", "immuni"])
  }

  @Test func noAddressIsOfTwoLayouts() {
    for description in LayoutCatalog.all {
      for template in description.templates {
        for address in Self.filled(template, 100) {
          let layouts = Self.answers(to: address).map { type(of: $0.layout).name }
          #expect(layouts == [description.name], "\(address)")
        }
      }
    }
  }

  @Test(arguments: ["/", "/index.html", "/v1", "/v1/gaen", "/v1/publish", "/health", "/NL/manifest.json", "/apple"])
  func otherAddressesAreOfNone(_ address: String) {
    #expect(Self.answers(to: address).isEmpty)
  }

  // MARK: The description for programs

  private struct Document: Decodable {
    struct Operation: Decodable {
      let tags: [String]
      let parameters: [Parameter]?
      let responses: [String: Response]
    }

    struct Parameter: Decodable {
      let name: String
      let `in`: String
    }

    struct Response: Decodable {
      let content: [String: Content]?
      let headers: [String: Content]?
    }

    struct Content: Decodable {}

    let paths: [String: [String: Operation]]

    static func read() throws -> Document {
      let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
      let file = root.appendingPathComponent("schemas/openapi.json")
      return try JSONDecoder().decode(Document.self, from: Data(contentsOf: file))
    }
  }

  @Test func everyAddressIsDocumentedAndEveryDocumentedOneIsThere() throws {
    let document = try Document.read()
    for layout in LayoutCatalog.all {
      let documented = document.paths.filter { $0.value["get"]?.tags == [layout.name] }.map(\.key)
      #expect(documented.sorted() == layout.templates.sorted(), "\(layout.name)")
    }
    for (path, operations) in document.paths {
      for operation in operations.values {
        let variables = path.split(separator: "/").compactMap { segment -> String? in
          guard segment.first == "{", let close = segment.firstIndex(of: "}") else { return nil }
          return String(segment.dropFirst().prefix(upTo: close))
        }
        let named = (operation.parameters ?? []).filter { $0.in == "path" }.map(\.name)
        #expect(named.sorted() == variables.sorted(), "\(path)")
      }
    }
  }

  @Test func everyParameterThatIsReadIsDocumented() throws {
    // Callbacks of a federation are put by its own door, whose answers are remembered by nobody.
    let operations = try Document.read().paths.values.flatMap(\.values).filter { !$0.tags.contains("federation") }
    let documented = Set(operations.flatMap { $0.parameters ?? [] }.filter { $0.in == "query" }.map(\.name))
    // The configuration of DP-3T is asked for with what it does not depend on.
    #expect(
      documented.subtracting(["appversion", "buildnr", "osversion"]) == Set(LayoutCatalog.parameters.keys))
  }

  @Test func everyAnswerIsDocumented() throws {
    let document = try Document.read()
    for layout in LayoutCatalog.all {
      for template in layout.templates {
        let operation = try #require(document.paths[template]?["get"])
        var statuses: Set<Int> = []
        for address in Self.filled(template, 100).union(Self.promising(template)) {
          for query in Self.queries {
            guard let (_, answer) = Self.answers(to: address + query).first else { continue }
            // A filled address may be one that an earlier template of the layout answers.
            guard Self.isOf(template, address, among: layout.templates) else { continue }
            statuses.insert(answer.status)
            check(answer, operation, "\(address)\(query)")
          }
        }
        #expect(statuses.contains(200), "\(template): nothing of it was seen but \(statuses.sorted())")
      }
    }
  }

  private func check(_ answer: LayoutAnswer, _ operation: Document.Operation, _ address: String) {
    guard let response = operation.responses[String(answer.status)] else {
      Issue.record("\(address): status \(answer.status) is not documented")
      return
    }
    let names = answer.headers.map(\.name) + answer.exportHeaders.map(\.name)
    #expect(Set(names).isSubset(of: Set((response.headers ?? [:]).keys)), "\(address)")
    if answer.isSignedResponse, answer.status == 200 { #expect(response.headers?["Signature"] != nil, "\(address)") }
    let mediaType: String? =
      switch answer.content {
      case .archive: "application/zip"
      case .member: "application/octet-stream"
      case .bytes(_, let type), .page(_, _, let type, _): type
      case .nothing, .notFound, .badRequest: nil
      }
    if let mediaType = mediaType?.split(separator: ";").first {
      #expect(response.content?[String(mediaType)] != nil, "\(address): \(mediaType)")
    }
  }

  /// The address of something that is there.
  private static func promising(_ template: String) -> [String] {
    let series = PublishedSeries(history.manifest)
    func lastHour(_ increment: PublishedBundle) -> Int64 {
      (increment.facts.start + series.manifest.period - 1) / 3600
    }
    // A window that was split has several, and no address by its hour.
    let alone = Dictionary(grouping: series.listedIncrements, by: lastHour).values.filter { $0.count == 1 }.joined()
    guard let increment = alone.max(by: { $0.facts.start < $1.facts.start }) else { return [] }
    let name = String(increment.fileName.dropLast(4))
    return Set(series.days.map(\.day)).union([increment.day]).flatMap { day in
      let values = [
        "series": "v1", "file": name, "name": "v1-" + name, "country": "v1", "day": day.description,
        "date": template.contains("gaen") ? String(day.start.secondsSince1970 * 1000) : day.description,
        "number": String(increment.facts.ordinal + 1), "hour": String(lastHour(increment) % 24),
      ]
      return [values.reduce(template) { $0.replacingOccurrences(of: "{\($1.key)}", with: $1.value) }]
    }
  }

  private static func isOf(_ template: String, _ address: String, among templates: [String]) -> Bool {
    let path = address.split(separator: "/").map(String.init)
    return templates.first { Self.fits($0, path) } == template
  }

  /// Written apart from the table of addresses, which this checks.
  private static func fits(_ template: String, _ path: [String]) -> Bool {
    let segments = template.split(separator: "/")
    return segments.count == path.count
      && zip(segments, path).allSatisfy { segment, part in
        guard segment.first == "{", let close = segment.firstIndex(of: "}") else { return segment == part }
        let ending = segment[segment.index(after: close)...]
        return part.hasSuffix(ending) && part.count > ending.count
      }
  }
}
