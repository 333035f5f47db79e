internal import ArgumentParser
internal import BundleTrust
internal import ExposureKeys
internal import FileCommands
internal import GatewayServer
internal import GatewaySettings
internal import KeyPublishing
internal import KeyReceiving

struct RegistrationCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "registration", _superCommandName: Program.name,
    abstract: "Print what Apple and Google must be told about the keys that sign a gateway's series.",
    discussion: """
      A phone trusts only the key that is registered for the app that asks, so every key of every series is \
      registered: id, version, app and public half. The country is that of the series where it has one, and the \
      mobile country code is the series' region where that has three digits. Where server.url is stated, the addresses \
      that Exposure Notifications Express asks for follow.

      Examples:
        keyferry registration --config gateway.yaml
        keyferry registration --config gateway.yaml NL > registration.txt
        keyferry registration --config gateway.yaml US-VA --country US-VA --mcc 310
      """)

  @OptionGroup var gateway: GatewayOptions

  @Argument(help: ArgumentHelp("Only these series.", valueName: "series"), completion: .series)
  var series: [String] = []

  @Option(help: "ISO 3166 code of the country or state.")
  var country: String?

  @Option(help: "A mobile country code. Repeatable.")
  var mcc: [String] = []

  @Flag(help: "Print it as JSON (schemas/registration.schema.json).")
  var json = false

  @OptionGroup var loudness: LoudnessOptions

  func run() throws {
    let (plan, warnings) = try gateway.read()
    for warning in warnings where warning.place.hasPrefix("series.") { Console.note("\(warning)") }
    for name in series where !plan.series.contains(where: { $0.name == name }) {
      let names = plan.series.map(\.name).joined(separator: ", ")
      throw ValidationError("no series is called \(name); those of \(gateway.config) are \(names)")
    }
    let chosen = plan.series.filter { series.isEmpty || series.contains($0.name) }
    if json {
      let keys = try chosen.flatMap { series in try series.identities.map { try key($0, in: series) } }
      let document = RegistrationDocument(keys: keys, express: chosen.compactMap { express($0, plan) })
      return try Console.document(line: try JSONText.render(document))
    }
    let sheets = try chosen.flatMap { series in
      try series.identities.map { try sheet(of: $0, in: series) }
        + [express(series, plan)].compactMap { $0?.text(windows: series.period) }
    }
    try Console.document(sheets.joined(separator: "\n"))
  }

  private func registration(of scheduled: ScheduledIdentity, in series: SeriesSettings) throws -> Registration {
    let regions = (series.selection.include ?? []).filter { $0.prefix { $0 != "-" }.utf8.count == 2 }
    let region = series.headerRegion.flatMap { Self.isMobileCountryCode($0) ? $0 : nil }
    return try Registration(
      of: scheduled.identity, country: country ?? (regions.count == 1 ? regions.first : nil),
      mobileCountryCodes: mcc.isEmpty ? region.map { [$0] } ?? [] : mcc)
  }

  private func key(_ scheduled: ScheduledIdentity, in series: SeriesSettings) throws -> RegistrationDocument.Key {
    var key = RegistrationDocument.Key(try registration(of: scheduled, in: series))
    (key.series, key.title) = (series.name, series.title)
    (key.signsFrom, key.signsUntil) = (scheduled.from?.description, scheduled.until?.description)
    return key
  }

  /// The head, and what to register.
  private func sheet(of scheduled: ScheduledIdentity, in series: SeriesSettings) throws -> String {
    let from = scheduled.from.map { " from \($0)" } ?? ""
    let until = scheduled.until.map { " until \($0)" } ?? ""
    let time = from.isEmpty && until.isEmpty ? "" : ", signs\(from)\(until)"
    let text = try registration(of: scheduled, in: series).text
    return "Series \(series.name) (\(series.title))\(time)\n\n" + (text.hasSuffix("\n") ? text : text + "\n")
  }

  /// What Exposure Notifications Express asks for: its phones need no app, and are told these addresses by Apple.
  private func express(_ series: SeriesSettings, _ plan: GatewayPlan) -> RegistrationDocument.Express? {
    guard let server = plan.server, server.layouts?.contains("google") ?? true, let url = server.publicURL else {
      return nil
    }
    let base = url.hasSuffix("/") ? String(url.dropLast()) : url
    let hours = series.period / 3600
    let isInterval = [2, 4, 8, 24].contains(hours) && series.period % 3600 == 0
    // Where keys for its regions come in.
    let entrances = zip(server.uploads, plan.uploads).filter { $1.series.contains(series.name) }
    let addresses = entrances.flatMap { settings, _ in
      (try? UploadEndpoints.addresses(of: settings).first { $0.name == "publish" })?.addresses ?? []
    }
    return RegistrationDocument.Express(
      series: series.name, title: series.title, indexFile: "\(base)/\(series.name)/index.txt", basePath: base,
      publishIntervalHours: isInterval ? hours : nil, uploadURLs: addresses.map { base + $0 })
  }

  private static func isMobileCountryCode(_ text: String) -> Bool {
    text.utf8.count == 3 && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}

extension RegistrationDocument.Express {
  /// - Parameter seconds: how long the series' windows are.
  fileprivate func text(windows seconds: Int64) -> String {
    let interval =
      publishIntervalHours.map { "\($0)" }
      ?? "none fits windows of \(TimeSpan.text(seconds)); it is 2, 4, 8 or 24 hours"
    var rows = [
      ("tekLocalDownloadIndexFile", indexFile), ("tekLocalDownloadBasePath", basePath),
      ("tekPublishInterval", interval),
    ]
    rows += uploadURLs.map { ("tekUploadURL", $0) }
    return "Series \(series) (\(title)), Exposure Notifications Express\n\n"
      + rows.map { "\(pad($0.0, 25)) \($0.1)\n" }.joined()
  }
}
