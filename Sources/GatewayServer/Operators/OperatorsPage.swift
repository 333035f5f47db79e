internal import ExposureKeys
internal import FoundationEssentials
internal import KeyIntake

/// The page at the operators' address: what is wrong, sources, what waits, series, destinations, log and clock. It needs no
/// script and nothing from elsewhere, and changes nothing.
struct OperatorsPage {
  private let report: OperatorsReport?
  /// Why `/ready` and `/ready/publishing` answer 503, and what the store and files say beside that.
  private let problems: [String]

  /// - Parameters:
  ///   - report: `nil` where this process serves alone.
  ///   - live: what this process has found.
  init(_ report: OperatorsReport?, live: [StandingFault]) {
    self.report = report
    problems = StandingFault.all(live, beside: report?.faults ?? []).map(\.sentence)
  }

  static let securityPolicy = PageFrame.securityPolicy(OperatorsPageStyle.text)

  var html: String {
    PageFrame(
      title: "Keyferry — for operators", style: OperatorsPageStyle.text, skip: ("wrong", "Skip to what is wrong"),
      header: """
        <h1>Keyferry <span>for operators</span></h1>
        \(overview)
        """,
      content: """
        \(wrong)
        \(report.map(sections) ?? Self.servingAlone)
        """,
      footer: """
        <p>\(report.map { "As of \(Self.time($0.now)) UTC; load the page again for newer figures. " } ?? "")\
        The same as numbers: <a href="/metrics">metrics</a>, <a href="/ready">ready</a>,
        <a href="/ready/publishing">ready to publish</a>. Nothing can be changed here: <code>keyferry help</code> lists what can be
        said to the gateway.</p>
        """
    ).html
  }

  private static let servingAlone = """
    <section aria-labelledby="alone"><h2 id="alone">This process serves alone</h2>
    <p>It pulls and publishes nothing. Ask the gateway that does, or <code>keyferry status</code> on its machine.</p></section>
    """

  // MARK: What is wrong

  private var overview: String {
    guard let report else { return "" }
    let failing = report.sources.count { $0.mark == .bad || $0.mark == .warning }
    let facts = [
      ("State", problems.isEmpty ? "all is well" : "\(counted(problems.count, "thing")) wrong"),
      ("Sources", failing == 0 ? "\(report.sources.count)" : "\(report.sources.count), \(failing) not well"),
      ("Waiting for you", ReadableNumber.grouped(report.waitingCount)),
      ("Running for", ReadableNumber.age(max(0, report.now.secondsSince1970 - report.start.secondsSince1970))),
      ("Program", report.program),
    ]
    return "<dl class=\"overview\">"
      + facts.map { "<div><dt>\($0.0)</dt><dd>\(escaped($0.1))</dd></div>" }.joined() + "</dl>"
  }

  private var wrong: String {
    guard !problems.isEmpty else {
      return """
        <section id="wrong" aria-labelledby="wrong-title"><h2 id="wrong-title">Nothing is wrong</h2>
        <p>\(report == nil ? "Phones can be answered." : "Phones can be answered, keys are pulled and published.")</p></section>
        """
    }
    return """
      <section id="wrong" class="alarm" aria-labelledby="wrong-title"><h2 id="wrong-title">What is wrong</h2>
      <ul>\(problems.map { "<li>\(escaped($0))</li>" }.joined())</ul></section>
      """
  }

  private func sections(_ report: OperatorsReport) -> String {
    [
      sources(report), waiting(report), series(report), mirrors(report), destinations(report), paused(report),
      log(report), clock(report),
    ].filter { !$0.isEmpty }.joined(separator: "\n")
  }

  // MARK: Tables

  private func sources(_ report: OperatorsReport) -> String {
    let rows = report.sources.map { source in
      Self.row(
        source.name, "<span class=\"soft\">\(escaped(source.kind))</span>",
        [
          ("State", Self.badge(source.state, source.mark) + note(source.note)),
          ("Last good pull", source.lag.map(Self.ago) ?? Self.none),
          ("Newest key", source.newestKeyAge.map(Self.ago) ?? Self.none),
          ("Next pull", source.nextPull.map { $0 <= report.now ? "due" : Self.time($0) } ?? Self.none),
        ],
        [
          ("Received", ReadableNumber.grouped(source.received)), ("Rejected", ReadableNumber.grouped(source.rejected)),
          ("In quarantine", Self.count(source.quarantined)), ("Held", Self.count(source.held)),
        ])
    }
    return Self.table(
      "Sources", rows, ["Source", "State", "Last good pull", "Newest key", "Next pull"],
      numbers: ["Received", "Rejected", "In quarantine", "Held"], empty: "No source is configured.")
  }

  private func waiting(_ report: OperatorsReport) -> String {
    let rows = report.waiting.map { waiting in
      Self.row(
        "\(waiting.source)", "<code>\(escaped(waiting.document))</code>",
        [
          ("What", Self.badge(waiting.isHeld ? "held" : "refused", .warning)), ("Why", escaped(waiting.reason)),
          ("Since", Self.time(waiting.since)),
          ("To look", "<code class=\"command\">keyferry quarantine show \(waiting.number)</code>"),
        ], [])
    }
    let rest = report.waitingCount - report.waiting.count
    let more =
      rest > 0
      ? "<p>And \(ReadableNumber.grouped(rest)) more: <code>keyferry quarantine list</code> lists all.</p>" : ""
    return Self.table(
      "Waiting for you", rows, ["Source and document", "What", "Why", "Since", "To look"], numbers: [],
      empty: "Nothing is in quarantine, and nothing is held.", more: more)
  }

  private func series(_ report: OperatorsReport) -> String {
    let rows = report.series.map { series in
      return Self.row(
        series.title,
        "<span class=\"soft\">\(escaped(series.name)), each \(ReadableNumber.duration(series.windowSeconds))</span>",
        [
          ("State", series.faults.isEmpty ? Self.badge("fine", .good) : Self.badge("see above", .bad)),
          ("Last window ended", series.lastWindow.map { Self.time($0) } ?? Self.none),
          ("Last bundle", series.lastBundle.map(Self.bundle) ?? Self.none),
          ("Next window ends", series.nextWindow <= report.now ? "due" : Self.time(series.nextWindow)),
          ("Waiting keys", Self.waiting(series.waiting)),
          (
            "Signs",
            (series.signer.map(escaped) ?? Self.badge("nobody", .bad))
              + (series.signingEnd.map { " <span class=\"soft\">until \(Self.time($0))</span>" } ?? "")
          ),
        ], [("Listed bundles", ReadableNumber.grouped(series.listedBundles))])
    }
    return Self.table(
      "Series", rows,
      ["Series", "State", "Last window ended", "Last bundle", "Next window ends", "Waiting keys", "Signs"],
      numbers: ["Listed bundles"], empty: "No series is configured.")
  }

  private static func bundle(_ last: (keys: Int, published: String)) -> String {
    "\(time(last.published)) <span class=\"soft\">\(ReadableNumber.grouped(last.keys)) "
      + "\(last.keys == 1 ? "key" : "keys"), padding included</span>"
  }

  private static func waiting(_ keys: OperatorsReport.WaitingKeys?) -> String {
    guard let keys else { return "<span class=\"soft\">being counted</span>" }
    var parts = ["\(ReadableNumber.grouped(keys.new)) new"]
    for (count, word) in [(keys.revised, "revised"), (keys.held, "held"), (keys.paused, "paused")] where count > 0 {
      parts.append("\(ReadableNumber.grouped(count)) \(word)")
    }
    return parts.joined(separator: ", ")
      + (keys.whyNothing.map { "<span class=\"note\">\(escaped($0))</span>" } ?? "")
      + "<span class=\"note\">counted at \(clockTime(keys.counted))</span>"
  }

  private func mirrors(_ report: OperatorsReport) -> String {
    guard !report.mirrors.isEmpty else { return "" }
    let rows = report.mirrors.map { mirror in
      Self.row(
        mirror.name, "",
        [
          ("State", mirror.lost == 0 ? Self.badge("fine", .good) : Self.badge("see above", .bad)),
          ("Shows", "archives of \(escaped(mirror.source)), as they are signed there"),
        ],
        [("Archives", ReadableNumber.grouped(mirror.archives)), ("Lost", Self.count(mirror.lost))])
    }
    return Self.table(
      "Mirrors", rows, ["Series", "State", "Shows"], numbers: ["Archives", "Lost"], empty: "")
  }

  private func destinations(_ report: OperatorsReport) -> String {
    guard !report.destinations.isEmpty else { return "" }
    let rows = report.destinations.map { destination in
      Self.row(
        destination.name, "<span class=\"soft\">keys of \(escaped(destination.origin))</span>",
        [
          ("State", Self.badge(destination.state, destination.mark) + note(destination.note)),
          ("Last good push", destination.lastSuccess.map { Self.time($0) } ?? Self.none),
          ("Next push", destination.nextPush.map { $0 <= report.now ? "due" : Self.time($0) } ?? Self.none),
        ], [("Without an answer", Self.count(destination.unanswered))])
    }
    return Self.table(
      "Destinations", rows, ["Destination", "State", "Last good push", "Next push"], numbers: ["Without an answer"],
      empty: "")
  }

  private func paused(_ report: OperatorsReport) -> String {
    guard !report.pausedOrigins.isEmpty else { return "" }
    return """
      <section aria-labelledby="paused"><h2 id="paused">Paused origins</h2>
      <ul>\(report.pausedOrigins.map { "<li>\(escaped($0))</li>" }.joined())</ul></section>
      """
  }

  private func log(_ report: OperatorsReport) -> String {
    guard let log = report.log else { return "" }
    let waits =
      log.waiting == 0
      ? "nothing"
      : ReadableNumber.grouped(log.waiting) + (log.oldest.map { ", the oldest since \(Self.time($0))" } ?? "")
    return Self.facts(
      "Public log",
      [
        ("State", log.fault == nil ? Self.badge("fine", .good) : Self.badge("see above", .bad)),
        ("Name", escaped(log.name)), ("Entries", log.entries.map(ReadableNumber.grouped) ?? "none are shown yet"),
        ("Waiting for the next round", waits),
      ])
  }

  private func clock(_ report: OperatorsReport) -> String {
    var facts = [
      ("State", report.clockDoubt == nil ? Self.badge("believed", .good) : Self.badge("in doubt", .bad)),
      ("The gateway's time", "\(Self.time(report.now))\u{00A0}UTC"),
    ]
    if let system = report.systemTime { facts.append(("The system's clock", "\(Self.time(system))\u{00A0}UTC")) }
    if let last = report.lastRetention { facts.append(("Old data was removed last", "\(Self.time(last))\u{00A0}UTC")) }
    return Self.facts("Clock", facts)
  }

  private static func facts(_ title: String, _ facts: [(String, String)]) -> String {
    let id = identifier(title)
    let items = facts.map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" }.joined()
    return """
      <section aria-labelledby="\(id)"><h2 id="\(id)">\(title)</h2>
      <dl class="facts">\(items)</dl></section>
      """
  }

  // MARK: Pieces

  private static let none = "<span class=\"soft\">—</span>"

  private static func count(_ number: Int) -> String {
    number == 0 ? "0" : "<strong>\(ReadableNumber.grouped(number))</strong>"
  }

  private static func badge(_ word: String, _ mark: OperatorsReport.Mark) -> String {
    "<span class=\"badge \(mark.rawValue)\">\(escaped(word))</span>"
  }

  private func note(_ text: String?) -> String { text.map { "<span class=\"note\">\(escaped($0))</span>" } ?? "" }

  private static func ago(_ seconds: Int64) -> String { escaped(ReadableNumber.age(max(0, seconds))) + " ago" }

  private static func time(_ instant: Instant) -> String { time(instant.description) }

  /// `2020-12-01 14:00`, with the exact instant for programs.
  private static func time(_ instant: String) -> String {
    let minutes = "\(instant.prefix(10))\u{00A0}\(instant.dropFirst(11).prefix(5))"
    return "<time datetime=\"\(escaped(instant))\">\(escaped(minutes))</time>"
  }

  /// `14:00`.
  private static func clockTime(_ instant: Instant) -> String {
    let text = instant.description
    return "<time datetime=\"\(text)\">\(text.dropFirst(11).prefix(5))</time>"
  }

  private static func identifier(_ title: String) -> String {
    String(title.lowercased().map { $0 == " " ? "-" : $0 })
  }

  /// Each cell names its column, for narrow screens, where a row is a list.
  private static func row(
    _ name: String, _ under: String, _ cells: [(String, String)], _ numbers: [(String, String)]
  ) -> String {
    "<tr><th scope=\"row\">\(escaped(name))<br>\(under)</th>"
      + cells.map { "<td data-label=\"\($0.0)\"><div>\($0.1)</div></td>" }.joined()
      + numbers.map { "<td class=\"number\" data-label=\"\($0.0)\"><div>\($0.1)</div></td>" }.joined() + "</tr>"
  }

  private static func table(
    _ title: String, _ rows: [String], _ columns: [String], numbers: [String], empty: String, more: String = ""
  ) -> String {
    let id = identifier(title)
    let head =
      columns.map { "<th scope=\"col\">\($0)</th>" }.joined()
      + numbers.map { "<th scope=\"col\" class=\"number\">\($0)</th>" }.joined()
    let body =
      rows.isEmpty
      ? "<p>\(empty)</p>"
      : "<table aria-labelledby=\"\(id)\"><thead><tr>\(head)</tr></thead><tbody>\(rows.joined(separator: "\n"))</tbody></table>"
    return "<section aria-labelledby=\"\(id)\"><h2 id=\"\(id)\">\(title)</h2>\(body)\(more)</section>"
  }
}
