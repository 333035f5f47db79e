internal import ArgumentParser
internal import ExposureKeys
internal import FileCommands
internal import GatewayDaemon
internal import GatewaySettings
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage

struct PublishCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "publish", _superCommandName: Program.name,
    abstract: "Publish the bundles that are due, once.",
    discussion: """
      For every series the windows that are over are closed: what became publishable goes into signed bundles, what was \
      revised follows, and the index comes last. A round that is interrupted, at any moment and in any way, is completed \
      by the next one with the same bytes under the same names. A series without a key that is valid now publishes \
      nothing. What has been kept long enough (retention in the configuration) is removed at the end.

      The exit code is 2 when a series could not be published, or the store is new and series are published already (keyferry \
      store begin says what to do), and 1 when published files were lost, the store is behind its folder, or the clock is in doubt.

      Examples:
        keyferry publish --config gateway.yaml
        keyferry publish --json > receipts.json
      """)

  @OptionGroup var gateway: GatewayOptions

  @Flag(help: "Print the receipts as JSON (schemas/publication.schema.json).")
  var json = false

  @OptionGroup var loudness: LoudnessOptions

  func run() async throws {
    let plan = try gateway.plan()
    let place = try plan.requirePublicationPlace(of: gateway.config)
    let ledger = try await gateway.ledger(plan, as: .owner)
    let clock = try await gateway.gatewayClock(plan, ledger)
    let receipts = try await place.publisher(
      ledger, series: plan.series, mirrors: plan.mirrors, program: Program.nameAndVersion, log: plan.log
    ).round(at: clock.look())
    if json {
      try Console.document(line: try JSONText.render(PublicationDocument(receipts: receipts)))
    } else {
      for receipt in receipts where !Loudness.isQuiet || receipt.fault != nil || receipt.hasLostFiles {
        for line in receipt.lines { try Console.result(line: line) }
      }
    }
    for warning in receipts.flatMap(\.warnings) { Console.note("\(warning)") }
    for fault in receipts.compactMap(\.fault) { Console.note("\(fault)") }
    let look = clock.look()
    if let settled = look.settled { _ = try await plan.retention.carryOut(in: ledger, at: settled) }
    let isWrong = look.doubt != nil || receipts.contains { $0.hasLostFiles }
    try exit(receipts.contains { $0.fault != nil } ? .failed : isWrong ? .rejected : .done)
  }
}

private struct PublicationDocument: Encodable {
  let reportVersion = 1
  let receipts: [SeriesReceipt]
}

struct PreviewCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "preview", _superCommandName: Program.name,
    abstract: "Show what the next bundle of a series would hold, without publishing it.",
    discussion: """
      Counts by day and report type, why keys are held or left out, and when the first of the held ones may go out. It \
      works beside a gateway that runs.

      In a large store a round looks at keys with a change since the last round alone. A preview looks at all keys. With \
      --full it looks at the changed ones as well, says whether both select the same keys, and exits with 1 where not.

      Examples:
        keyferry preview --region NL
        keyferry preview --full
        keyferry preview --config gateway.yaml --json
      """)

  @OptionGroup var gateway: GatewayOptions

  @Option(
    name: [.customLong("region"), .customLong("series")],
    help: ArgumentHelp("Only this series; repeatable. All, where it is absent.", valueName: "name"), completion: .series
  )
  var series: [String] = []

  @Flag(help: "Compare a look at all keys with a look at the changed ones.")
  var full = false

  @Flag(help: "Print the previews as JSON (schemas/preview.schema.json).")
  var json = false

  @OptionGroup var loudness: LoudnessOptions

  func run() async throws {
    let plan = try gateway.plan(warnings: false)
    let ledger = try await gateway.ledger(plan, as: .reader)
    let publisher = Publisher(
      ledger: ledger, series: plan.series, folder: try plan.requirePublicationFolder(of: gateway.config),
      program: Program.nameAndVersion)
    var previews: [SeriesPreview] = []
    for name in series.isEmpty ? plan.series.map(\.name) : series {
      previews.append(try await publisher.preview(series: name, now: gateway.clock(), compares: full))
    }
    if json {
      try Console.document(line: try JSONText.render(PreviewDocument(previews: previews)))
    } else {
      for preview in previews { for line in preview.lines { try Console.result(line: line) } }
    }
    try exit(previews.allSatisfy { $0.comparison?.agrees ?? true } ? .done : .rejected)
  }
}

private struct PreviewDocument: Encodable {
  let reportVersion = 1
  let previews: [SeriesPreview]
}

extension GatewayPlan {
  /// - Throws: `ValidationError` where the configuration does not say where bundles go.
  func requirePublicationFolder(of config: String) throws -> String {
    guard let publicationFolder else { throw Self.noPublication(config) }
    return publicationFolder
  }

  /// - Throws: `ValidationError` where the configuration does not say where bundles go.
  func requirePublicationPlace(of config: String) throws -> PublicationPlace {
    guard let place = PublicationPlace(self) else { throw Self.noPublication(config) }
    return place
  }

  private static func noPublication(_ config: String) -> ValidationError {
    ValidationError(
      "\(config) has no publication: say where bundles go with publication: {folder: …}, or {s3: …} for a bucket")
  }
}
