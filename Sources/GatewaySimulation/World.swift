import BundleTrust
import ExposureKeys
import GatewayServer
import GatewayTesting
import KeyFormats
import KeyNormalization
import KeyPeers
import KeyPublishing
import KeyReceiving
import KeyStorage

/// A gateway and everything around it: other countries' servers, phones, the disk, the clock, the operator. What happens
/// follows from the seed alone.
final class World {
  let seed: UInt64
  var random: SeededRandom
  let machine: Machine
  let disk: Disk
  let servers: [ForeignServer]
  let drop: DropFolder
  let series: [SeriesSettings]
  /// `nil` where what is published is not logged.
  let log: PublicLog?
  var phones: [any Phone] = allPhones()
  var truth = Truth()
  /// `nil` while no process runs.
  var gateway: Gateway?
  /// Whether the servers may still say something new: not when the world has healed.
  private(set) var isTroubled = true
  /// What has happened, in order.
  private(set) var history: [String] = []
  var laws = Laws()
  private let contents = ArchiveContents()
  /// What was hit last; until a round has gone well, nothing else is, since nobody can make anything again from nothing.
  private var wound: Wound?

  private enum Wound { case store, folder }

  /// 2020-12-04, some hours after midnight.
  private static let beginning: Int64 = 18_600 * 86_400 + 5 * 3600

  init(seed: UInt64) throws {
    self.seed = seed
    var random = SeededRandom(seed: seed)
    machine = Machine(at: Self.beginning + Int64.random(in: 0..<86_400, using: &random))
    disk = try Disk(seed.isMultiple(of: 2) ? .memory : .sqlite)
    let countries = ["DE", "IT", "ES", "FR"]
    let speeches = ForeignServer.Speech.allCases
    var servers: [ForeignServer] = []
    for (number, speech) in speeches.enumerated() where number < 2 || random.once(in: 2) {
      let country = countries[number]
      servers.append(try ForeignServer(country.lowercased(), country: country, speech, on: machine))
    }
    self.servers = servers
    drop = try DropFolder(below: disk.root)
    series = [try Self.series(&random, from: machine.truth)]
    // Not drawn, so that each seed means what it meant before there was a log.
    log = PublicLog.isKept(seed: seed) ? PublicLog(on: disk) : nil
    self.random = random
    note(
      "\(disk.storeKind.rawValue) store; \(servers.map { "\($0.name) speaks \($0.speech.rawValue)" }.joined(separator: ", "))"
    )
  }

  private static func series(_ random: inout SeededRandom, from now: Int64) throws -> SeriesSettings {
    var policy = Policy(name: "test")
    policy.publishing.emptyVisited = .origin
    let old = try SigningIdentity(key: .generate(), keyID: "204", keyVersion: "v1")
    var identities = [ScheduledIdentity(identity: old)]
    if random.once(in: 4) {
      let new = try SigningIdentity(key: .generate(), keyID: "204", keyVersion: "v2")
      let change = Instant(secondsSince1970: now + Int64.random(in: 1...6, using: &random) * 86_400)
      identities.append(ScheduledIdentity(identity: new, from: change))
    }
    var series = SeriesSettings(
      name: "all", selection: RegionSelection(include: nil), publishing: policy, headerRegion: "204",
      identities: identities, period: random.pick([3600, 7200, 14_400]))
    series.makesKeyDays = true
    series.makesSince = random.once(in: 3)
    series.publishesEmptyWindows = random.once(in: 4)
    series.editionsPerDay = random.pick([0, 1, 4])
    if random.once(in: 3) {
      series.minimumKeys = 6
      series.pads = true
    }
    return series
  }

  var pads: Bool { series.contains(where: \.pads) }

  private var sources: [(settings: SourceSettings, transport: any Transport)] {
    let folder = gateway.map { gateway in
      [(settings: drop.settings, transport: drop.transport(gateway.clock.time))]
    }
    return servers.map { (settings: $0.settings, transport: $0) } + (folder ?? [])
  }

  func note(_ text: String) {
    let time = Instant(secondsSince1970: machine.truth)
    history.append("\(time) \(text)")
  }

  // MARK: Time

  /// The troubled time, the time after it, and the judgment.
  func run(steps: Int) async throws {
    for _ in 0..<steps { try await step() }
    try await heal()
    try await laws.judge(self)
  }

  private func step() async throws {
    machine.pass(seconds: Int64.random(in: 900...25_000, using: &random))
    for server in servers where random.once(in: 3) { try speak(server) }
    if random.once(in: 6) { try dropFile() }
    if random.once(in: 2) { try await trouble() }
    if random.once(in: 3) { mend() }
    try await work()
    visit(oneIn: 3)
  }

  /// One turn of the gateway, which is started where it does not run.
  private func work() async throws {
    if gateway == nil, isTroubled, random.once(in: 5) { return }
    do {
      if gateway == nil {
        disk.fuse.arm(nil)
        if let log { try await log.begin(on: disk) }
        gateway = try await Gateway.start(on: machine, disk, series, log: log)
      }
      if isTroubled, random.once(in: 8) {
        let steps = Int.random(in: 0...120, using: &random)
        note("the process is to be killed \(steps) steps from now")
        disk.fuse.arm(steps)
      }
      guard let gateway else { return }
      let turn: Gateway.Turn
      do {
        turn = try await gateway.work(sources)
      } catch {
        laws.missTurn(at: gateway.clock.now)
        throw error
      }
      if disk.fuse.isBurnt {
        laws.missTurn(at: gateway.clock.now)
        return kill()
      }
      note(turn.summary)
      let isWell = laws.check(turn, in: self)
      if isWell, let log { try await laws.check(log, in: self, isCalm: false) }
      if isWell { wound = nil }
    } catch {
      if disk.fuse.isBurnt { return kill() }
      if disk.fuse.isDiskFull { return note("the disk is full: \(error)") }
      laws.fail("the gateway could not work: \(error)")
    }
  }

  private func kill() {
    note("the process is killed")
    gateway = nil
  }

  private func visit(oneIn: Int) {
    guard gateway != nil else { return }
    for index in phones.indices where oneIn == 1 || random.once(in: oneIn) { visit(by: index) }
  }

  private func visit(by index: Int) {
    guard let gateway else { return }
    let counter = Counter(
      publications: gateway.publications.publications, root: disk.publicFolder, now: gateway.clock.now,
      contents: contents)
    guard counter.publications["all"] != nil else { return }
    var phone = phones[index]
    do {
      try phone.visit(counter, at: machine.truth)
      phones[index] = phone
    } catch {
      note("\(phone.name) fails: \(error)")
      if !isTroubled { laws.fail("\(phone.name) fails although nothing is wrong any more: \(error)") }
    }
  }

  /// Of four hours.
  private static let calmTurns = 15

  /// Everything is well again, and the gateway has a few days.
  private func heal() async throws {
    isTroubled = false
    laws.calmSince = machine.truth
    note("the world heals")
    machine.error = 0
    disk.fuse.isDiskFull = false
    disk.fuse.arm(nil)
    for server in servers { server.mood = .honest }
    for turn in 0..<Self.calmTurns {
      machine.pass(seconds: 14_400)
      if turn == 1, let gateway {
        for pause in try await gateway.ledger.read({ try $0.pauses() }) {
          _ = try await gateway.ledger.resumed(pause.subject, by: Self.word, at: gateway.clock.now)
        }
        if gateway.clock.look().doubt != nil { try await acceptClock(gateway) }
      }
      try await work()
      if turn > 2 { visit(oneIn: turn == Self.calmTurns - 1 ? 1 : 2) }
    }
    // Days of trouble are an answer each, and the app is opened every day.
    for index in phones.indices where phones[index].takesOneAnswer { for _ in 0..<30 { visit(by: index) } }
  }

  static let word = Attribution(by: "operator", reason: "simulation")

  // MARK: What is said

  private func speak(_ server: ForeignServer) throws {
    let document = newDocument(of: server.country, Int.random(in: 1...4, using: &random))
    let changes = changes(of: server.name)
    var said = document
    said.keys += changes.map { change in
      var key = change
      key.regions = document.regions.claims.count > 1 ? document.keys[0].regions : .none
      return key
    }
    let names = server.publish(said)
    for key in document.keys { truth.say(key, server.name, names[0], at: machine.truth) }
    for key in changes {
      let subject = KeySubject(key: key.key, rollingStart: key.rollingStart ?? 0)
      truth.change(subject, to: ReportType(rawValue: key.reportType ?? 0) ?? .unknown, names[0], at: machine.truth)
    }
    note(
      "\(server.name) publishes \(names[0]): \(document.keys.count) keys"
        + (changes.isEmpty ? "" : ", \(changes.count) said otherwise"))
  }

  /// New keys as phones upload them: some are still in use.
  private func newDocument(of country: String, _ count: Int) -> DecodedDocument {
    var document = DecodedDocument()
    let regions = document.regions.intern(RegionClaim(origin: country, visited: [country])) ?? .none
    let today = machine.truth / 86_400
    for _ in 0..<count {
      var key = ClaimedKey(key: TemporaryExposureKey(high: random.next(), low: random.next()))
      key.rollingStart = Int32((today - Int64.random(in: 0...3, using: &random)) * 144)
      key.rollingPeriod = random.once(in: 6) ? Int32.random(in: 20...143, using: &random) : 144
      key.transmissionRisk = 4
      key.reportType =
        random.pick([ReportType.confirmedTest, .confirmedTest, .selfReport, .confirmedClinicalDiagnosis]).rawValue
      key.daysSinceOnset = 2
      key.regions = country == "FR" ? regions : .none
      document.keys.append(key)
    }
    if country != "FR" { document.regions = RegionTable() }
    return document
  }

  /// Of the keys that it has published, some that turned out otherwise: each once, as devices take it.
  private func changes(of server: String) -> [ClaimedKey] {
    guard random.once(in: 2) else { return [] }
    let open = truth.order.filter { subject in
      guard let said = truth.said[subject], said.source == server, said.isDue, said.change == nil else { return false }
      return said.key.reportType != ReportType.confirmedTest.rawValue && said.time < machine.truth
    }
    guard !open.isEmpty else { return [] }
    let subject = random.pick(open)
    guard var key = truth.said[subject]?.key else { return [] }
    key.reportType = random.pick([ReportType.revoked, .confirmedTest]).rawValue
    // Exports have such keys in their second list; federation batches have one list.
    key.isRevised = true
    return [key]
  }

  private func dropFile() throws {
    guard !random.once(in: 5) else {
      _ = try drop.drop(random.bytes(400), at: machine.truth)
      return note("somebody drops a file that is none")
    }
    let document = newDocument(of: drop.country, Int.random(in: 1...5, using: &random))
    let name = try drop.drop(document, at: machine.truth)
    for key in document.keys { truth.say(key, drop.name, name, at: machine.truth) }
    note("somebody drops \(name): \(document.keys.count) keys")
  }

  // MARK: Trouble

  private enum Trouble: CaseIterable {
    case mood, changedName, flood
    case clockAhead, clockBack, clockSetRight, reboot
    case diskFull
    case folderLost, folderOlder, fileLost, fileDamaged, folderCopied
    case storeCopied, storeLost, storeOlder
    case pause, recall, releaseHeld
  }

  private func trouble() async throws {
    let kind = random.pick(Trouble.allCases)
    switch kind {
    case .mood:
      let server = random.pick(servers)
      server.mood = random.pick(ForeignServer.Mood.allCases)
      note("\(server.name) is \(server.mood.rawValue)")
    case .changedName: changeName()
    case .flood: flood()
    case .clockAhead:
      machine.error += random.pick([3, 600, 10_800, 36_000, 108_000, 1_728_000] as [Int64])
      note("the clock is \(machine.error) seconds ahead")
    case .clockBack:
      machine.error -= random.pick([3, 600, 10_800, 36_000, 432_000] as [Int64])
      note("the clock is \(machine.error) seconds ahead")
    case .clockSetRight:
      machine.error = 0
      note("the clock is right")
    case .reboot:
      let off = random.pick([60, 3600, 36_000, 108_000, 259_200] as [Int64])
      gateway = nil
      machine.reboot(off: off)
      note("the machine was off for \(off) seconds")
    case .diskFull:
      disk.fuse.isDiskFull = true
      note("the disk is full")
    case .folderLost, .folderOlder, .fileLost, .fileDamaged: try hurtFolder(kind)
    case .folderCopied:
      disk.copyFolder()
      note("somebody copies the publication folder")
    case .storeCopied: try await copyStore()
    case .storeLost, .storeOlder: try hurtStore(kind)
    case .pause, .recall, .releaseHeld: try await operate(kind)
    }
  }

  /// Most of what goes wrong is seen to by somebody.
  private func mend() {
    if disk.fuse.isDiskFull, random.once(in: 2) {
      disk.fuse.isDiskFull = false
      note("the disk has room")
    }
    if machine.error != 0, random.once(in: 2) {
      machine.error = 0
      note("the clock is right")
    }
    for server in servers where server.mood != .honest && random.once(in: 2) {
      server.mood = .honest
      note("\(server.name) is honest")
    }
  }

  private func changeName() {
    let server = random.pick(servers)
    guard server.speech != .coronaWarnApp, server.publicationCount > 0 else { return }
    let number = Int.random(in: 0..<server.publicationCount, using: &random)
    let document = newDocument(of: server.country, 2)
    for name in server.replace(number, with: document) {
      truth.release(document: name, of: server.name)
      for key in document.keys { truth.say(key, server.name, name, at: machine.truth, isDue: false) }
      note("\(server.name) gives other content to \(name)")
    }
  }

  private func flood() {
    let server = random.pick(servers)
    let document = newDocument(of: server.country, 90)
    let names = server.publish(document)
    for key in document.keys { truth.say(key, server.name, names[0], at: machine.truth, isDue: false) }
    note("\(server.name) floods with \(names[0]): \(document.keys.count) keys")
  }

  private func hurtFolder(_ kind: Trouble) throws {
    guard wound != .store else { return }
    let files = disk.files().filter { $0.contains("/") && !$0.hasSuffix(".partial") && !PublicLog.has($0) }
    switch kind {
    case .folderLost:
      try disk.loseFolder()
      note("the publication folder is lost")
    case .folderOlder:
      guard disk.folderCopyCount > 0 else { return }
      let number = Int.random(in: 0..<disk.folderCopyCount, using: &random)
      try disk.restoreFolder(number)
      note("the publication folder is what it was at copy \(number)")
    case .fileLost:
      guard !files.isEmpty else { return }
      let path = random.pick(files)
      try disk.loseFile(path)
      note("\(path) is lost")
    default:
      guard !files.isEmpty else { return }
      let path = random.pick(files)
      try disk.damageFile(path, at: Int.random(in: 0..<1 << 20, using: &random))
      note("\(path) is damaged")
    }
    wound = .folder
  }

  private func copyStore() async throws {
    guard let gateway else { return }
    do {
      try await disk.copyStore(gateway.ledger)
      note("the store is copied")
    } catch {
      guard disk.fuse.isBurnt else { throw error }
      kill()
    }
  }

  private func hurtStore(_ kind: Trouble) throws {
    guard wound == nil else { return }
    // Its file is let go first.
    gateway = nil
    if kind == .storeLost {
      try disk.loseStore()
      note("the store is lost")
    } else {
      guard disk.storeCopies > 0 else { return }
      let number = Int.random(in: 0..<disk.storeCopies, using: &random)
      try disk.restoreStore(number)
      note("the store is what it was at copy \(number)")
    }
    wound = .store
  }

  // MARK: The operator

  private func operate(_ kind: Trouble) async throws {
    guard let gateway else { return }
    let (ledger, now) = (gateway.ledger, gateway.clock.now)
    do {
      switch kind {
      case .pause:
        let server = random.pick(servers)
        if try await ledger.resumed(.source(server.name), by: Self.word, at: now) {
          note("the operator lets \(server.name) go on")
        } else {
          try await ledger.paused(.source(server.name), by: Self.word, at: now)
          note("the operator pauses \(server.name)")
        }
      case .recall:
        let recorded = try await ledger.read { try $0.documents(of: nil, in: [.recorded], limit: .max) }
        guard random.once(in: 3), !recorded.isEmpty else { return }
        let document = random.pick(recorded)
        let country = servers.first { $0.name == document.source }?.country ?? drop.country
        let request = RecallRequest(origin: country, document: document.id)
        // After a kill in the midst of it the recall may stand: whichever it is, nobody has a right to these keys.
        defer { if disk.fuse.isBurnt { truth.release(document: document.name, of: document.source) } }
        let effect = try await ledger.recalled(request, by: Self.word, at: now)
        truth.release(document: document.name, of: document.source)
        note("the operator recalls \(document.source)/\(document.name): \(effect.claims) claims")
      default:
        if gateway.clock.look().doubt != nil, machine.error == 0 { try await acceptClock(gateway) }
        let documents = try await ledger.read { try $0.documents(of: nil, in: [.recorded], limit: .max) }
        for document in documents where document.facts.map({ $0.held > 0 }) == true && random.once(in: 2) {
          _ = try await ledger.heldReleased(document.id, by: Self.word, at: now)
          note("the operator releases what is held of \(document.source)/\(document.name)")
        }
      }
    } catch {
      if disk.fuse.isBurnt { return kill() }
      guard disk.fuse.isDiskFull else { throw error }
    }
  }

  private func acceptClock(_ gateway: Gateway) async throws {
    try await gateway.ledger.clockAccepted(ClockWord(machine.reading), by: Self.word, at: gateway.clock.now)
    note("the operator says that the clock is right")
  }
}

extension Gateway.Turn {
  /// One line.
  var summary: String {
    let pulled = pulls.map { receipt in
      var text = "\(receipt.source) +\(receipt.counts.new)"
      if case .failed(let fault) = receipt.outcome { text += " \(fault.code.rawValue)" }
      if !receipt.refusals.isEmpty { text += " \(receipt.refusals.count) refused" }
      return text
    }
    let published = receipts.map { receipt in
      var text = "\(receipt.series) \(receipt.published) new, \(receipt.revised) revised"
      if receipt.madeAgain > 0 { text += ", \(receipt.madeAgain) made again" }
      if receipt.signedAgain > 0 { text += ", \(receipt.signedAgain) signed again" }
      if !receipt.warnings.isEmpty { text += " (\(receipt.warnings.map(\.code.rawValue).joined(separator: ", ")))" }
      if let fault = receipt.fault { text += " \(fault.code): \(fault.reason)" }
      return text
    }
    let doubt = look.doubt.map { ", in doubt by \($0.step)" } ?? ""
    let (pullText, publishText) = (pulled.joined(separator: ", "), published.joined(separator: "; "))
    return "at \(look.now)\(doubt): pulls \(pullText); publishes \(publishText)"
  }
}
