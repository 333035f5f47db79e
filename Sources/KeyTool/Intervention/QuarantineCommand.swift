internal import ArgumentParser
internal import ExposureKeys
internal import FileCommands
internal import GatewayDaemon
internal import GatewaySettings
internal import KeyFormats
internal import KeyIntake
internal import KeyNormalization
internal import KeyPeers
internal import KeyReceiving
internal import KeyStorage

struct QuarantineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quarantine",
    abstract: "Look at what was refused, try it again, or drop it; admit or drop what is held.",
    discussion: """
      A document gets here when it could be fetched and not be admitted: its signature is not trusted, its bytes are \
      broken, or they changed under their name. Its bytes are kept for as long as the configuration says. Claims beyond what a \
      source or an upload endpoint usually sends on a day are held here too.

      Examples:
        keyferry quarantine list
        keyferry quarantine show 17 --output refused.zip
        keyferry quarantine retry 17
        keyferry quarantine discard 17
        keyferry quarantine raise uploads --keys 50000
      """,
    subcommands: [List.self, Show.self, Retry.self, Discard.self, Raise.self], defaultSubcommand: List.self)

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the documents in quarantine, and those whose claims are held.",
      discussion: """
        The exit code is 1 when there are any.

        Example:
          keyferry quarantine list --all --json
        """)

    @OptionGroup var gateway: GatewayOptions

    @Flag(help: "Also those that were given up.")
    var all = false

    @Flag(help: "Print the list as JSON (schemas/quarantine.schema.json).")
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let ledger = try await gateway.ledger(try gateway.operatorsPlan(), as: .reader)
      let states: Set<DocumentState> = all ? [.quarantined, .givenUp] : [.quarantined]
      let today = gateway.clock().day
      let documents = try await ledger.read { state in
        let all =
          try state.documents(of: nil, in: states, limit: .max).map(state.waiting)
          + state.documents(of: nil, in: [.recorded], limit: .max).map(state.waiting).filter { $0.held > 0 }
        return try all.map { ($0, try state.heldFlood(of: $0, today: today)) }
      }
      if json {
        try Console.document(
          line: try JSONText.render(QuarantineDocument(documents: documents.map { QuarantineRow($0, $1) })))
      } else {
        for (document, flood) in documents { try Console.result(line: document.line(flood)) }
        if documents.isEmpty { Console.remark("nothing is in quarantine") }
      }
      try exit(documents.isEmpty ? .done : .rejected)
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Tell why a document was refused, and write its bytes to a file.",
      discussion: """
        Example:
          keyferry quarantine show 17 --output refused.zip && keyferry inspect refused.zip
        """)

    @OptionGroup var target: QuarantineTarget

    @Option(
      name: [.short, .long],
      help: ArgumentHelp(
        "Write the bytes that were received; an export.bin and its export.sig as one archive; - is standard output.",
        valueName: "file"),
      completion: .file())
    var output: String?

    @Flag(help: "Print it as JSON (schemas/quarantine.schema.json).")
    var json = false

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws {
      guard !json || output != "-" else {
        throw ValidationError("-o - and --json exclude each other: each is alone on standard output")
      }
    }

    func run() async throws {
      let ledger = try await target.gateway.ledger(try target.gateway.operatorsPlan(), as: .reader)
      let today = target.gateway.clock().day
      let (document, bytes, flood) = try await ledger.read { state in
        let document = try target.find(in: state)
        return (document, try state.content(of: document.id), try state.heldFlood(of: document, today: today))
      }
      if json {
        try Console.document(
          line: try JSONText.render(QuarantineDocument(documents: [QuarantineRow(document, flood)])))
      } else {
        for line in document.lines(hasBytes: bytes != nil, flood: flood) {
          if output == "-" { Console.note(line) } else { try Console.result(line: line) }
        }
      }
      guard let output else { return }
      guard let bytes else {
        throw StorageFault(.notFound, "the bytes of document \(document.id.rawValue) are not kept any more")
      }
      guard output != "-" else { return try StandardOutput().write(bytes) }
      let file = try OutputFile(path: output, replacing: false)
      try file.write(bytes)
      try file.commit()
      Console.remark("\(counted(bytes.count, "byte")) written to \(output)")
    }
  }

  struct Retry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "retry", abstract: "Try to admit a document again, with today's keys and policies.",
      discussion: """
        For claims that are held, it admits them. Where the bytes are not kept, the next pull fetches them again; where origins \
        must have signed and nothing is proved by what is kept, the next pull asks the gateway for the batch and its audit answer \
        again. Beside a gateway that runs, that does it at its next pull of the source.

        Example:
          keyferry quarantine retry 17
        """)

    @OptionGroup var target: QuarantineTarget

    @OptionGroup var said: OperatorOptions

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let words = try await target.gateway.ledger(try target.gateway.operatorsPlan(), as: .operator)
      let now = target.gateway.clock()
      let document = try await words.read { try target.find(in: $0) }
      if document.state == .recorded {
        let receipt = try await words.heldReleased(document.id, by: said.word, at: now)
        return Console.remark("\(counted(receipt.new, "claim")) admitted, \(grouped(receipt.known)) known already")
      }
      let plan: GatewayPlan
      let ledger: Ledger
      do {
        plan = try target.gateway.plan(warnings: false)
        ledger = try await target.gateway.ledger(plan, as: .owner)
      } catch let fault as StorageFault where fault.code == .held {
        // The gateway that runs does it, with its own secrets and clock.
        try await words.retryAsked(document.id, by: said.word, at: now)
        return Console.note(
          "the gateway that runs tries it again at its next pull of \(printableText(document.source))")
      }
      let clock = try await target.gateway.gatewayClock(plan, ledger).time
      guard let source = plan.sources.first(where: { $0.name == document.source }) else {
        throw StorageFault(.notFound, "the configuration has no source called \(document.source) any more")
      }
      let receiving = try Receiving(plan, ledger: ledger, version: Program.version, clock: clock)
      let receipt: PullReceipt?
      do {
        receipt = try await receiving.retry(document.record, of: source)
      } catch {
        await receiving.close()
        throw error
      }
      await receiving.close()
      guard let receipt else {
        try await ledger.retryAsked(document.id, by: said.word, at: clock())
        return Console.note("the bytes are not kept any more; the next pull fetches the document again")
      }
      for line in receipt.lines { try Console.result(line: line) }
      if !receipt.refusals.isEmpty, source.trust.kind == .origins {
        try await ledger.retryAsked(document.id, by: said.word, at: clock())
        Console.remark("the next pull asks \(printableText(source.name)) for it again, if it has it still")
      }
      try exit([receipt].status)
    }
  }

  struct Discard: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "discard", abstract: "Give a document up: it is not tried again.",
      discussion: """
        For claims that are held, it drops them; the document's other claims stay.

        Example:
          keyferry quarantine discard 17
        """)

    @OptionGroup var target: QuarantineTarget

    @OptionGroup var said: OperatorOptions

    @OptionGroup var loudness: LoudnessOptions

    func run() async throws {
      let ledger = try await target.gateway.ledger(try target.gateway.operatorsPlan(), as: .operator)
      let now = target.gateway.clock()
      let document = try await ledger.read { try target.find(in: $0) }
      if document.state == .recorded {
        let dropped = try await ledger.heldDiscarded(document.id, by: said.word, at: now)
        Console.note("\(counted(dropped, "held claim")) dropped")
      } else {
        try await ledger.discarded(document.id, by: said.word, at: now)
        Console.note("document \(document.id.rawValue) of \(document.source) given up")
      }
    }
  }
}

extension QuarantineCommand {
  struct Raise: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "raise", abstract: "Raise today's limit of new keys for one source or upload endpoint.",
      discussion: """
        Up to so many new keys of each origin are taken from the source until the day ends (UTC); tomorrow its policy \
        counts again. Where the policy allows more, the policy counts. A gateway that runs takes them from its next upload or pull on. Keys that are held already stay held: \
        keyferry quarantine retry admits them.

        Examples:
          keyferry quarantine raise uploads --keys 50000 --reason "the first day of the school tests"
          keyferry quarantine retry 17
        """)

    @Argument(
      help: ArgumentHelp("The source, or the upload endpoint, as quarantine list shows it.", valueName: "source"))
    var source: String

    @Option(
      help: ArgumentHelp("Accept at most this many new keys of each origin today, 1 … 1000000000.", valueName: "number")
    )
    var keys: Int

    @Flag(help: "Print what was done as JSON (schemas/limit.schema.json).")
    var json = false

    @OptionGroup var gateway: GatewayOptions

    @OptionGroup var said: OperatorOptions

    @OptionGroup var loudness: LoudnessOptions

    func validate() throws {
      guard HeldFlood.limits.contains(keys) else { throw ValidationError("--keys is 1 … 1000000000") }
    }

    func run() async throws {
      let plan = try gateway.operatorsPlan()
      let ledger = try await gateway.ledger(plan, as: .operator)
      let known = try await ledger.read { try $0.sources().map(\.name) }
      guard plan.sourceNames.contains(source) || known.contains(source) else {
        let names = plan.sourceNames.isEmpty ? "none" : plan.sourceNames.joined(separator: ", ")
        throw ValidationError(
          "no source or upload endpoint is called \(printableText(source)); the configuration has \(names)")
      }
      let (word, now) = (said.word, gateway.clock())
      try await ledger.limitRaised(of: source, to: keys, by: word, at: now)
      let end = Day(daysSince1970: now.day.daysSince1970 + 1).start
      guard json else {
        return Console.remark("up to \(grouped(keys)) new keys of each origin are taken from \(source) until \(end)")
      }
      let done = LimitDocument(source: source, keys: keys, until: "\(end)", by: word.by, reason: word.reason)
      try Console.document(line: try JSONText.render(done))
    }
  }
}

/// What `quarantine raise` did.
private struct LimitDocument: Encodable {
  let reportVersion = 1
  let source: String
  let keys: Int
  let until: String
  let by: String
  let reason: String?
}

/// Which document a command is about.
struct QuarantineTarget: ParsableArguments {
  @Argument(help: ArgumentHelp("The document's number, as quarantine list shows it.", valueName: "number"))
  var number: Int64

  @OptionGroup var gateway: GatewayOptions

  func find(in state: any ReceivingState) throws -> WaitingDocument {
    guard let document = try state.document(DocumentID(rawValue: number)).map(state.waiting) else {
      throw StorageFault(
        .notFound, "there is no document \(number); keyferry quarantine list shows those that are refused")
    }
    guard document.state == .quarantined || document.state == .givenUp || document.held > 0 else {
      throw StorageFault(.notFound, "document \(number) is \(document.state.rawValue) and not in quarantine")
    }
    return document
  }
}

private struct QuarantineDocument: Encodable {
  let reportVersion = 1
  let documents: [QuarantineRow]
}
