internal import ArgumentParser
internal import Containers
internal import ExposureKeys
internal import KeyDevice
internal import KeyFormats
internal import KeyInspection
internal import KeyIntake

struct DeviceProve: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "prove", abstract: "Plant an encounter for keys of a bundle, and show which phones alarm.",
    discussion: """
      Plays the owner of each sampled key, who was near a phone of each kind, and gives each phone the bundle. The funnel \
      shows how many keys reach each step, and which rule lost the others. From "identifiers found" on it counts the sampled \
      keys. Phones: google, apple-2020 (iOS 13.5), apple (iOS 12.5, 13.7 and later), microg.

      A configuration without a threshold of its own alarms from \(shortNumber(ConfigurationDocument.usualAlarm)) weighted \
      seconds of a day on. Signatures are counted, not verified; keyferry verify does that. Several bundles are one call; revised keys are left out.

      Exit codes: 0 each key leads to an alarm on each phone, 1 a key leads to nothing on one of them, 2 it could not be done.

      Examples:
        keyferry device prove bundle.zip --app cwa-android
        keyferry device prove *.zip --configuration config.json --encounter 20m@60dB
        keyferry device prove bundle.zip --phone microg --app nhs --json
      """)

  @Argument(
    help: ArgumentHelp("Bundles, folders and archives; - is standard input.", valueName: "bundle"), completion: .file())
  var files: [String]

  @OptionGroup var rules: JudgementOptions

  @Option(
    help: ArgumentHelp(
      "Phones, separated by commas: \(PhoneModel.allCases.map(\.rawValue).joined(separator: ", ")).",
      valueName: "phones"))
  var phone = PhoneModel.allCases.map(\.rawValue).joined(separator: ",")

  @Option(
    help: ArgumentHelp(
      "Time and attenuation of the encounter; parts are joined by +: 5m@50dB+20m@65dB.", valueName: "time@dB"))
  var encounter = Encounter.usual.text

  @Option(help: ArgumentHelp("How many keys an encounter is planted for on each phone.", valueName: "count"))
  var sample = 1000

  @Option(
    help: ArgumentHelp("Which keys and times are drawn: the same number gives the same proof.", valueName: "number"))
  var seed: UInt64 = 1

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The phones' time. By default the end of the bundles' window, or two hours after their last key has expired.",
      valueName: "time"))
  var at: Instant?

  @Option(
    help: ArgumentHelp("Write a page of pictures, HTML: the funnels, and which encounters alarm.", valueName: "out"),
    completion: .file(extensions: ["html"]))
  var picture: String?

  @Flag(help: "Print the funnels as JSON (schemas/device-prove.schema.json).")
  var json = false

  @OptionGroup var input: InputOptions
  @OptionGroup(title: "Folders and archives") var containers: ContainerOptions
  @OptionGroup var loudness: LoudnessOptions

  func validate() throws {
    try InputOptions.checkPaths(files)
    _ = try models()
    guard Encounter(encounter) != nil else {
      throw ValidationError(
        "--encounter \(encounter): must be such as 15m@55dB, or parts joined by +; 24 h at most, 1 to 100 dB")
    }
    try DevicePage.check(picture, inputs: files)
    guard (1...100_000).contains(sample) else { throw ValidationError("--sample \(sample): must be 1...100000") }
  }

  private func models() throws -> [PhoneModel] {
    let words = phone.split(separator: ",", omittingEmptySubsequences: false)
    let models = words.compactMap { PhoneModel(rawValue: String($0)) }
    guard models.count == words.count, Set(models).count == models.count else {
      throw ValidationError(
        "--phone \(phone): must be one or several of \(PhoneModel.allCases.map(\.rawValue).joined(separator: ","))")
    }
    return models
  }

  func run() throws {
    let judgements = try rules.judgements()
    let models = try models()
    var runs = try models.map { model in
      guard let judgement = JudgementOptions.choose(judgements, for: model) else {
        throw ValidationError("the configuration has nothing for the phone \(model.rawValue)")
      }
      return PhoneRun(model, judgement, sample: sample, seed: seed)
    }
    var end: Instant?
    var sum = DocumentSum(input.walk(files, containers), isAlways: false)
    try sum.visit(keepsGoing: containers.keepGoing ?? true) { source, _, _ in
      let document = try source.open()
      // What a file that cannot be read to its end has given is forgotten.
      var reading = runs
      let examination = try source.located {
        try Inspector().examine(document, name: source.name) { chunk, _ in
          for index in reading.indices { reading[index].offer(chunk) }
        }
      }
      for index in reading.indices { reading[index].finish(examination, before: runs[index]) }
      runs = reading
      if let stated = document.decoder.header.endTimestamp {
        let instant = Instant(secondsSince1970: Int64(clamping: stated))
        end = max(end ?? instant, instant)
      }
      return (nil, nil)
    } leftOut: { _ in
    }
    guard sum.readCount > 0 else {
      sum.tell()
      return try exit(.failed)
    }
    let newest = runs.compactMap(\.newest).max().map { min($0.secondsSince1970 + 7200, Clock.now.secondsSince1970) }
    let now = at ?? end ?? newest.map { Instant(secondsSince1970: $0) } ?? Clock.now
    for index in runs.indices { runs[index].prove(Encounter(encounter) ?? .usual, now) }
    let report = DeviceProveReport(runs, judgedBy: rules.name, encounter: encounter, now: now)
    if json { try Console.document(line: try JSONText.render(report)) } else { try Console.result(report.text) }
    if let picture { try report.page(runs, now).write(to: picture) }
    sum.tell()
    try exit(sum.status(hasRejections: !report.isWhole))
  }
}

/// One phone on its way through the bundles.
struct PhoneRun {
  let judgement: AppRules.Judgement
  private(set) var funnel: Funnel
  private(set) var sample: KeySample
  /// When the last of the keys has expired.
  private(set) var newest: Instant?
  /// Why files were not read, by the rule.
  private(set) var fileLosses: [String] = []

  init(_ model: PhoneModel, _ judgement: AppRules.Judgement, sample: Int, seed: UInt64) {
    self.judgement = judgement
    funnel = Funnel(model)
    self.sample = KeySample(limit: sample, seed: seed)
  }

  /// Takes keys of a document, of which it is not known yet whether the phone reads it. Revised keys change nothing for a phone
  /// that has not met them before.
  mutating func offer(_ chunk: borrowing KeyChunk) {
    // Any time will do: what is asked is the key's own.
    let phone = Phone(funnel.model, now: Instant(secondsSince1970: 0))
    funnel.read(keys: chunk.rejections.count, unreadable: chunk.rejections.count)
    for offset in 0..<chunk.keys.count where !chunk.keys[offset].isRevised {
      let key = chunk.keys[offset]
      funnel.read(keys: 1, unreadable: 0)
      if let start = key.rollingStart {
        let end = IntervalNumber(Int64(start) + Int64(IdentifierCipher.identifierLimit)).start
        newest = max(newest ?? end, end)
      }
      if let loss = phone.unusable(key) { funnel.refuse(loss) } else { sample.add(key) }
    }
  }

  /// Ends a document. If the phone does not read it, all its keys are lost at once.
  ///
  /// - Parameter before: this run as it was before the document.
  mutating func finish(_ examination: Examination, before: PhoneRun) {
    let report = DeviceProfile(funnel.model).judge(examination, signature: .unknown)
    guard let refusal = report.rules.first(where: { $0.outcome == .refuseCall || $0.outcome == .refuseFile }) else {
      return
    }
    let keys = funnel.keyCount - before.funnel.keyCount
    self = before
    funnel.read(keys: keys, unreadable: keys)
    fileLosses.append("\(refusal.rule.rawValue): \(refusal.text)")
  }

  mutating func prove(_ encounter: Encounter, _ now: Instant) {
    Proof.run(sample, encounter: encounter, on: Phone(funnel.model, now: now), judgement, into: &funnel)
  }
}

extension PhoneRun {
  /// Which encounters alarm with the first key of the sample; `nil` if there is none.
  func alarms(minutes: [Int], attenuations: [Int], _ now: Instant) -> [[Bool]]? {
    guard let key = sample.keys.first else { return nil }
    return attenuations.map { attenuation in
      minutes.map { minutes in
        var alone = KeySample(limit: 1, seed: 1)
        alone.add(key)
        var one = Funnel(funnel.model)
        let encounter = Encounter(parts: [.init(seconds: 60 * minutes, attenuation: attenuation)])
        Proof.run(alone, encounter: encounter, on: Phone(funnel.model, now: now), judgement, into: &one)
        return one.alarms == 1
      }
    }
  }
}

extension DeviceProfile {
  /// What judges files as this phone reads them.
  init(_ model: PhoneModel) {
    self =
      switch model {
      case .google: .google
      case .apple2020: .iosV1
      case .apple: .ios137
      case .microg: .microg
      }
  }
}

/// What `keyferry device prove --json` prints.
struct DeviceProveReport: Encodable {
  struct Step: Encodable {
    let step: DeviceStep
    let keys: Int
    let lost: Int
    let rules: [Rule]
  }

  struct Rule: Encodable {
    let rule: String
    let count: Int
    let text: String
  }

  struct PhoneReport: Encodable {
    let phone: PhoneModel
    let exactness: String
    let keys: Int
    let sampled: Int
    let alarms: Int
    let firstLoss: String?
    let steps: [Step]
  }

  let reportVersion = 1
  let judgedBy: String
  let encounter: String
  let at: String
  let phones: [PhoneReport]
  let isWhole: Bool

  init(_ runs: [PhoneRun], judgedBy: String, encounter: String, now: Instant) {
    self.judgedBy = judgedBy
    self.encounter = encounter
    at = now.description
    phones = runs.map { run in
      let steps = Self.steps(run)
      return PhoneReport(
        phone: run.funnel.model, exactness: run.funnel.model.exactness, keys: run.funnel.keyCount,
        sampled: run.funnel.sampled, alarms: run.funnel.alarms,
        firstLoss: steps.lazy.flatMap(\.rules).first.map { "\($0.rule): \($0.text)" }, steps: steps)
    }
    isWhole = !runs.isEmpty && runs.allSatisfy { $0.funnel.isWhole }
  }

  private static func steps(_ run: PhoneRun) -> [Step] {
    let funnel = run.funnel
    var before = funnel.keyCount
    return DeviceStep.allCases.map { step in
      let left = funnel.left(after: step)
      // The sample begins here.
      if step == .found { before = funnel.sampled }
      defer { before = left }
      var rules: [Rule] = []
      if step == .readable {
        rules = run.fileLosses.prefix(3).map { Rule(rule: "file", count: funnel.unreadable, text: $0) }
        if rules.isEmpty, funnel.unreadable > 0 {
          rules = [
            Rule(rule: "key", count: funnel.unreadable, text: "keys that cannot be read; keyferry inspect lists them")
          ]
        }
      }
      for (loss, count) in funnel.losses where loss.step == step {
        var text = loss.text
        if loss == .sightingsLost {
          text +=
            ": "
            + funnel.sightingLosses.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key.text) (\($0.value))" }
            .joined(separator: ", ")
        }
        rules.append(Rule(rule: loss.rawValue, count: count, text: text))
      }
      return Step(step: step, keys: left, lost: before - left, rules: rules)
    }
  }

  /// Funnels, and a map of encounters for each phone.
  func page(_ runs: [PhoneRun], _ now: Instant) -> DevicePage {
    var page = DevicePage(
      title: "What bundles lead to",
      notes: phones.map { "phone \($0.exactness)" } + ["encounter \(encounter), at \(at), judged by \(judgedBy)"])
    for phone in phones {
      let steps = phone.steps.map { step in
        FunnelPicture.Step(name: step.step.text, count: step.keys, losingRule: step.rules.first?.text)
      }
      page.add(
        "From the file to the alarm: \(phone.phone.rawValue)",
        FunnelPicture(name: phone.phone.rawValue, steps: steps).picture)
    }
    let minutes = Array(1...30)
    let attenuations = Array(stride(from: 40, through: 80, by: 2))
    let panels = runs.compactMap { run -> AlarmMap.Panel? in
      let alarms = run.alarms(minutes: minutes, attenuations: attenuations, now)
      return alarms.map { AlarmMap.Panel(name: run.funnel.model.rawValue, alarms: $0) }
    }
    if !panels.isEmpty {
      page.add(
        "Encounters that alarm, with the first key of the sample",
        AlarmMap(minutes: minutes, attenuations: attenuations, panels: panels).picture)
    }
    return page
  }

  var text: String {
    var lines = phones.map { "phone \($0.exactness)" }
    lines.append("encounter \(encounter), at \(at), judged by \(judgedBy)")
    for phone in phones {
      lines.append("")
      let rows = phone.steps.map { step in
        [
          step.step.text, grouped(step.keys), step.lost > 0 ? "-\(grouped(step.lost))" : "",
          step.rules.map { "\($0.text) [\($0.count)]" }.joined(separator: "; "),
        ]
      }
      lines.append(TextTable(heads: [phone.phone.rawValue, "keys", "lost", "rule"], rows: rows).text.dropLastNewline)
      lines.append(
        phone.alarms == phone.sampled && phone.sampled > 0 && phone.firstLoss == nil
          ? "\(phone.phone.rawValue): each of \(counted(phone.sampled, "sampled key")) alarms"
          : "\(phone.phone.rawValue): \(phone.alarms) of \(counted(phone.sampled, "sampled key")) "
            + "\(phone.alarms == 1 ? "alarms" : "alarm"); first loss: \(phone.firstLoss ?? "none")")
    }
    return lines.map { TerminalText.harmless($0) + "\n" }.joined()
  }
}

extension String {
  fileprivate var dropLastNewline: String { last == "\n" ? String(dropLast()) : self }
}
