internal import ArgumentParser
internal import ExposureKeys
internal import FileCommands
internal import GatewaySettings
internal import KeyPeers
internal import KeyReceiving
internal import KeyStorage

struct RereadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reread", _superCommandName: Program.name,
    abstract: "Read the kept documents of a source again, by the policy that is configured now.",
    discussion: """
      Without --yes nothing changes: it shows which keys would be read otherwise. With it, what the old reading said is \
      replaced in one transaction; no peer is asked. Every document is judged as at the time when it came. What was held, \
      discarded or recalled stays so. Documents whose bytes are not kept any more (retention.evidence), and uploads, stay as \
      they were read. keyferry check says which sources need it. The exit code is 1 when a document cannot be read or \
      trusted any more.

      Examples:
        keyferry reread efgs --config gateway.yaml
        keyferry reread efgs --reason "risk levels of DE" --yes
      """)

  @Argument(help: ArgumentHelp("A source of the configuration.", valueName: "source"), completion: .source)
  var source: String

  @Flag(help: "Do it.")
  var yes = false

  @Flag(help: "Print the figures as JSON (schemas/reread.schema.json).")
  var json = false

  @OptionGroup var said: OperatorOptions

  @OptionGroup var gateway: GatewayOptions

  @OptionGroup var loudness: LoudnessOptions

  func run() async throws {
    let plan = try gateway.plan(warnings: false)
    guard let settings = plan.sources.first(where: { $0.name == source }) else {
      if plan.federationSources.contains(source) || plan.uploads.contains(where: { $0.name == source }) {
        throw ValidationError("\(source) is where others upload to, and what was uploaded stays as it was read")
      }
      let names = plan.sources.map(\.name).joined(separator: ", ")
      throw ValidationError("the configuration has no source \(source); it has \(names.isEmpty ? "none" : names)")
    }
    let rereading = Rereading(of: settings, ownOrigins: plan.ownOrigins)
    let receipt =
      if yes {
        try await rereading.carryOut(in: gateway.ledger(plan, as: .operator), by: said.word, at: gateway.clock())
      } else {
        try await gateway.ledger(plan, as: .reader).read { try rereading.preview(in: $0) }
      }
    if json {
      try Console.document(line: try JSONText.render(RereadDocument(receipt)))
    } else {
      for line in receipt.lines { try Console.result(line: line) }
      if !yes, receipt.documents > 0 { Console.hint("the same command with --yes does it") }
    }
    try exit(receipt.refusals.isEmpty ? .done : .rejected)
  }
}

/// `schemas/reread.schema.json`.
struct RereadDocument: Encodable {
  let reportVersion = 1
  let source: String
  let policy: String
  let isDone: Bool
  let documents: Documents
  let claims: Claims
  let keys: [String: Keys]
  let rejections: Rejections

  enum CodingKeys: String, CodingKey {
    case source, policy, documents, claims, keys, rejections, reportVersion
    case isDone = "done"
  }

  struct Documents: Encodable {
    let read: Int
    let changed: Int
    let alreadyRead: Int
    let notKept: Int
    let refused: [Refusal]
  }

  struct Refusal: Encodable {
    let document: String
    let code: String
    let reason: String
  }

  struct Claims: Encodable {
    let same: Int
    let removed: Int
    let added: Int
    let putAside: Int
  }

  struct Keys: Encodable {
    let count: Int
    let example: String?
    /// By origin; the lost one has no name.
    let origins: [String: Int]

    init(_ keys: RereadReceipt.Keys) {
      count = keys.count
      example = keys.example?.hex
      origins = keys.origins
    }
  }

  struct Rejections: Encodable {
    let before: [String: Int]
    let now: [String: Int]
  }

  init(_ receipt: RereadReceipt) {
    source = receipt.source
    policy = receipt.policy
    isDone = receipt.isDone
    documents = Documents(
      read: receipt.documents, changed: receipt.changedDocuments, alreadyRead: receipt.alreadyRead,
      notKept: receipt.notKept,
      refused: receipt.refusals.map {
        Refusal(document: $0.document, code: "\($0.fault.code)", reason: $0.fault.reason)
      })
    claims = Claims(
      same: receipt.same, removed: receipt.removed, added: receipt.added, putAside: receipt.putAside)
    keys = ["gained": Keys(receipt.gained), "lost": Keys(receipt.lost), "otherwise": Keys(receipt.otherwise)]
    rejections = Rejections(before: receipt.rejectionsBefore, now: receipt.rejectionsNow)
  }
}
