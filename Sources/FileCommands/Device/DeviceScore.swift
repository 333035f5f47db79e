internal import ArgumentParser
internal import ExposureKeys
internal import KeyDevice
internal import KeyIntake

struct DeviceScore: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "score", abstract: "Judge exposure windows as an app does, and show each factor.",
    discussion: """
      Reads windows as the Corona-Warn-App's test files, testers' exports of Android, the NHS app's events and COCOA's log \
      have them. A window without a report type counts as a confirmed test.

      Exit codes: 0 judged, whatever the verdict; 2 it could not be done.

      Examples:
        keyferry device score windows.json --app cwa-android
        keyferry device score exposure_data.json --app cocoa --at 2021-11-03
        keyferry device score windows.json --configuration configuration.json --json
      """)

  @Argument(
    help: ArgumentHelp("Files of exposure windows, JSON; - is standard input.", valueName: "windows"),
    completion: .file(extensions: ["json"]))
  var files: [String]

  @OptionGroup var rules: JudgementOptions

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The day from which ages are counted, instead of today.", valueName: "time"))
  var at: Instant?

  @Flag(help: "Print the verdict as JSON (schemas/device-score.schema.json).")
  var json = false

  @OptionGroup var loudness: LoudnessOptions

  func validate() throws { try InputOptions.checkPaths(files) }

  func run() throws {
    guard case .windows(_, let rule, _) = try rules.judgements().windows else {
      throw ValidationError(
        "this judges summaries of the first version, which windows do not give; use keyferry device prove")
    }
    let today = (at ?? Clock.now).day
    let windows = try files.flatMap { try DeviceJSON.read(WindowsDocument.self, $0).windows(today: today) }
    let report = DeviceScoreReport(rules.name, today, rule.judge(windows, today: today), windows)
    if json { try Console.document(line: try JSONText.render(report)) } else { try Console.result(report.text) }
  }
}

/// What `keyferry device score --json` prints.
struct DeviceScoreReport: Encodable {
  struct Window: Encodable {
    let day: String
    let reportType: Int
    let infectiousness: String
    let factors: [ScoreFactor]
    let score: Double?
    let note: String?
  }

  struct DayVerdict: Encodable {
    let day: String
    let factors: [ScoreFactor]
    let score: Double
    let isAlarm: Bool
    let note: String?
  }

  let reportVersion = 1
  let judgedBy: String
  let today: String
  let windows: [Window]
  let days: [DayVerdict]
  let isAlarm: Bool

  init(_ name: String, _ today: Day, _ verdict: RiskVerdict, _ windows: [ExposureWindow]) {
    judgedBy = name
    self.today = today.description
    self.windows = zip(windows, verdict.windows).map { window, judged in
      Window(
        day: judged.day.description, reportType: window.reportType, infectiousness: window.infectiousness.text,
        factors: judged.factors, score: judged.score, note: judged.note)
    }
    days = verdict.days.map {
      DayVerdict(day: $0.day.description, factors: $0.factors, score: $0.score, isAlarm: $0.isAlarm, note: $0.note)
    }
    isAlarm = verdict.isAlarm
  }

  var text: String {
    var lines = ["judged by \(judgedBy)"]
    for (number, window) in windows.enumerated() {
      lines.append(
        "window \(number + 1)  \(window.day)  report type \(window.reportType), \(window.infectiousness): "
          + Self.text(window.factors, window.score, window.note))
    }
    for day in days {
      lines.append(
        "day  \(day.day)  \(Self.text(day.factors, day.score, day.note))  \(day.isAlarm ? "ALARM" : "no alarm")")
    }
    lines.append(
      isAlarm
        ? "verdict: alarm, by \(counted(days.count { $0.isAlarm }, "day"))"
        : "verdict: no alarm; \(counted(windows.count, "window"))")
    return lines.map { TerminalText.harmless($0) + "\n" }.joined()
  }

  private static func text(_ factors: [ScoreFactor], _ score: Double?, _ note: String?) -> String {
    let shown = factors.map { "\($0.name) \(shortNumber($0.value))" }.joined(separator: ", ")
    let result =
      score.map { "\(shown.isEmpty ? "" : "; ")score \(shortNumber($0))" } ?? "\(shown.isEmpty ? "" : "; ")left out"
    return shown + result + (note.map { " (\($0))" } ?? "")
  }
}
