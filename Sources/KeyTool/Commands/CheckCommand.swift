internal import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import Gateway
internal import GatewaySettings
internal import KeyNormalization

struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Check a gateway's configuration as a whole and print every fault with its place.",
    discussion: """
      The policies, rings, keys and secrets that the configuration names are read as well, and relations between \
      settings are checked. Nothing is fetched, and nothing is written. The exit code is 2 when there is an error; \
      warnings are for what can be used and most likely does not do what was meant.

      Examples:
        keyferry check --config gateway.yaml
        keyferry check --config gateway.yaml --at 2021-06-01
        keyferry check --config gateway.yaml --json > check.json
      """)

  @OptionGroup var gateway: GatewayOptions

  @Option(help: ArgumentHelp("Judge signing keys and rings at this time instead of now.", valueName: "time"))
  var at: Instant?

  @Flag(help: "Print the result as JSON (schemas/check.schema.json).")
  var json = false

  func run() throws {
    let result = try ConfigurationCheck(gateway, at: at ?? Clock.now)
    if json {
      try Console.result(line: try JSONText.render(result.document))
    } else {
      try Console.result(result.text)
    }
    try exit(result.plan == nil ? .failed : .done)
  }
}

/// What a check of a configuration found.
struct ConfigurationCheck {
  let path: String
  /// `nil` where there is an error.
  let plan: GatewayPlan?
  let faults: [GatewayFault]

  /// - Throws: `FileFault` when the configuration itself cannot be read.
  init(_ options: GatewayOptions, at now: Instant) throws {
    path = options.config
    do {
      let (plan, warnings) = try options.read(at: now)
      self.plan = plan
      faults = warnings
    } catch let error as GatewayFaults {
      plan = nil
      faults = error.all
    }
  }

  // MARK: Text

  /// The faults, a line each; then the sources and series as they were understood.
  var text: String {
    let lines = faults.map { "\($0)\n" }.joined()
    let errors = faults.count { $0.severity == .error }
    let warnings = counted(faults.count - errors, "warning")
    guard let plan else { return lines + "\(path): \(counted(errors, "error")), \(warnings)\n" }
    let sources = counted(plan.sources.count, "source")
    let series = grouped(plan.series.count)
    return lines + "\(path): sound, \(sources), \(series) series, \(warnings)\n"
      + Self.table(of: plan.sources) + Self.table(of: plan.series)
  }

  private static func table(of sources: [SourceSettings]) -> String {
    guard !sources.isEmpty else { return "" }
    return "\n"
      + TextTable(
        heads: ["source", "protocol", "every", "origins", "vouched for by", "location"],
        rows: sources.map { source in
          let origins =
            source.isRelay ? "lost (relay)" : source.allowedOrigins?.sorted().joined(separator: " ") ?? "any"
          return [
            source.name, source.peer.rawValue, TimeSpan.text(source.interval), origins, source.voucher, source.location,
          ]
        }
      ).text
  }

  private static func table(of series: [SeriesSettings]) -> String {
    guard !series.isEmpty else { return "" }
    return "\n"
      + TextTable(
        heads: ["series", "every", "regions", "policy", "signed by", "app"],
        rows: series.flatMap { series in
          series.identities.enumerated().map { index, scheduled in
            let identity = scheduled.identity
            let until = scheduled.until.map { " until \($0)" } ?? ""
            let signer = "\(identity.keyID) \(identity.keyVersion)\(until)"
            let app = [identity.appBundleID, identity.androidPackage].compactMap { $0 }.joined(separator: " ")
            guard index == 0 else { return ["", "", "", "", signer, app] }
            return [
              series.name, TimeSpan.text(series.period), series.selection.words, series.publishing.name, signer, app,
            ]
          }
        }
      ).text
  }

  // MARK: JSON

  var document: Document {
    Document(
      faults: faults.map {
        .init(
          severity: $0.severity, file: $0.file, place: $0.place, line: $0.line, column: $0.column, reason: $0.reason)
      },
      sources: (plan?.sources ?? []).map { source in
        .init(
          name: source.name, protocol: source.peer.rawValue, location: source.location, everySeconds: source.interval,
          origin: source.origin, relay: source.isRelay, origins: source.allowedOrigins?.sorted(),
          trustedKeys: source.trust?.keys.count ?? 0, reading: source.reading.name)
      },
      series: (plan?.series ?? []).map { series in
        .init(
          name: series.name, title: series.title, everySeconds: series.period, publishing: series.publishing.name,
          keys: series.identities.map { scheduled in
            .init(
              id: scheduled.identity.keyID, version: scheduled.identity.keyVersion,
              from: scheduled.from?.description, until: scheduled.until?.description,
              fingerprint: scheduled.identity.key.publicKey.fingerprint)
          })
      })
  }

  /// `schemas/check.schema.json`.
  struct Document: Encodable {
    var reportVersion = 1
    var faults: [Fault]
    /// Empty where there is an error, like the series.
    var sources: [Source]
    var series: [Series]

    enum CodingKeys: String, CodingKey {
      case faults, sources, series
      case reportVersion = "report_version"
    }

    struct Fault: Encodable {
      var severity: GatewayFault.Severity
      var file: String
      var place: String
      var line: Int
      var column: Int
      var reason: String
    }

    struct Source: Encodable {
      var name: String
      var `protocol`: String
      var location: String
      var everySeconds: Int64
      var origin: String?
      var relay: Bool
      var origins: [String]?
      var trustedKeys: Int
      var reading: String

      enum CodingKeys: String, CodingKey {
        case name, `protocol`, location, origin, relay, origins, reading
        case everySeconds = "every_seconds"
        case trustedKeys = "trusted_keys"
      }
    }

    struct Series: Encodable {
      var name: String
      var title: String
      var everySeconds: Int64
      var publishing: String
      var keys: [Key]

      enum CodingKeys: String, CodingKey {
        case name, title, publishing, keys
        case everySeconds = "every_seconds"
      }
    }

    struct Key: Encodable {
      var id: String
      var version: String
      var from: String?
      var until: String?
      var fingerprint: String
    }
  }
}

extension SourceSettings {
  /// Who vouches for what it sends.
  fileprivate var voucher: String {
    if let trust { return counted(trust.keys.count, "key") }
    return peer == .efgs ? "its TLS identity" : "the operator"
  }
}

extension RegionSelection {
  fileprivate var words: String {
    var words = include.map { $0.sorted().joined(separator: " ") } ?? "all"
    if !exclude.isEmpty { words += " but \(exclude.sorted().joined(separator: " "))" }
    if let origins { words += " from \(origins.sorted().joined(separator: " "))" }
    return travellersOnly ? words + ", travellers" : words
  }
}
