import ExposureKeys
import KeyFormats
import KeyNormalization
import KeyPublishing
import KeyReceiving
import KeyStorage
import TransparencyLog

/// What must hold whatever happens.
struct Laws {
  /// What did not hold.
  private(set) var broken: [String] = []
  /// Since when nothing goes wrong any more, in seconds since 1970.
  var calmSince: Int64 = .max
  /// By path, the digest of the archive that a manifest has named under it.
  private var digests: [String: String] = [:]
  /// By series, kind and number, the path.
  private var places: [String: String] = [:]
  /// By series and kind, the greatest number.
  private var greatest: [String: Int] = [:]
  /// What has gone out.
  private var released: Set<KeySubject> = []
  /// Why keys are not with phones, as the gateway says, with how many.
  private(set) var excuses: [String: Int] = [:]
  /// The latest time at which the gateway published something that was not looked at yet: it was killed, or the disk was full.
  /// Its clock may have been right within what is believed, and may go back after it.
  private var unseen: Instant?
  private let contents = ArchiveContents()

  mutating func fail(_ reason: String) {
    if !broken.contains(reason) { broken.append(reason) }
  }

  // MARK: After each turn

  /// A turn that was cut off by what the clock said then: some of it may be published.
  mutating func missTurn(at now: Instant) { unseen = max(unseen ?? now, now) }

  /// - Returns: whether the gateway did everything that was to be done.
  mutating func check(_ turn: Gateway.Turn, in world: World) -> Bool {
    var isWell = !world.disk.fuse.isDiskFull
    for receipt in turn.receipts {
      if !receipt.isBalanced { fail("the receipt does not add up: \(receipt)") }
      guard let fault = receipt.fault else { continue }
      isWell = false
      if !world.disk.fuse.isDiskFull { fail("series \(receipt.series) cannot be published: \(fault.reason)") }
    }
    for receipt in turn.pulls where !receipt.counts.isBalanced { fail("the receipt does not add up: \(receipt)") }
    if isWell {
      let latest = max(turn.look.now, unseen ?? turn.look.now)
      for settings in world.series { check(settings, publishedUntil: latest, in: world) }
      unseen = nil
    } else {
      missTurn(at: turn.look.now)
    }
    return isWell
  }

  private mutating func check(_ settings: SeriesSettings, publishedUntil now: Instant, in world: World) {
    guard let manifest = world.disk.manifest(of: settings.name) else {
      return fail("series \(settings.name) has no manifest after a round without a fault")
    }
    var plain: [KeySubject: String] = [:]
    for facts in manifest.bundles {
      let path = facts.path
      if let before = digests[path], before != facts.sha256 { fail("\(path) has other bytes than it had") }
      let place = "\(settings.name) \(facts.kind) \(facts.ordinal)"
      if let before = places[place], before != path { fail("\(place) was \(before), and is \(path)") }
      places[place] = path
      let isNew = digests.updateValue(facts.sha256, forKey: path) == nil
      let kind = "\(settings.name) \(facts.kind)"
      if isNew, let before = greatest[kind], facts.ordinal <= before {
        fail("\(path) is new, with number \(facts.ordinal), and number \(before) was given already")
      }
      greatest[kind] = max(greatest[kind] ?? -1, facts.ordinal)
      guard facts.isListed else { continue }
      guard let bytes = world.disk.content(of: path) else {
        fail("\(path) is listed, and not there")
        continue
      }
      guard sha256(bytes) == facts.sha256 else {
        fail("\(path) is listed, and damaged")
        continue
      }
      guard let keys = try? contents.keys(of: bytes) else {
        fail("\(path) cannot be read")
        continue
      }
      for key in keys where facts.kind == "increment" && !key.isRevised {
        let subject = KeySubject(key: key.key, rollingStart: key.rollingStart ?? 0)
        if let other = plain[subject] { fail("\(shown(subject)) stands in \(other) and in \(path)") }
        plain[subject] = path
      }
      if isNew { check(keys, of: path, publishedUntil: now, in: world) }
    }
    let index = world.disk.content(of: "\(settings.name)/index.txt").map { String(decoding: $0, as: UTF8.self) }
    let lines = index?.split(separator: "\n").map(String.init) ?? []
    let listed = manifest.bundles.filter { $0.kind == "increment" && $0.isListed }.map(\.path)
    if lines != listed { fail("index.txt of \(settings.name) names other files than its manifest") }
  }

  /// Nobody's key goes out early, and nothing that nobody said.
  private mutating func check(_ keys: [ClaimedKey], of path: String, publishedUntil now: Instant, in world: World) {
    var seen: Set<TemporaryExposureKey> = []
    for key in keys {
      let subject = KeySubject(key: key.key, rollingStart: key.rollingStart ?? 0)
      if !seen.insert(key.key).inserted { fail("\(path) has \(shown(subject)) twice") }
      guard let said = world.truth.said[subject] else {
        if !world.pads { fail("\(path) has \(shown(subject)), which nobody has said") }
        continue
      }
      if released.insert(subject).inserted, said.expiry + 7200 > now.secondsSince1970 {
        fail("\(path) has \(shown(subject)) at \(now), before its embargo ends")
      }
    }
  }

  /// Whoever follows the log from its first checkpoint on finds that it only grows, and at the end nothing at all.
  mutating func check(_ log: PublicLog, in world: World, isCalm: Bool) async throws {
    do {
      for text in try await log.follow(world.disk, bundles: isCalm, at: world.machine.truth) {
        fail("a monitor of the log finds: \(text)")
      }
      for settings in world.series {
        guard let manifest = world.disk.manifest(of: settings.name) else { continue }
        for facts in manifest.bundles where facts.isListed {
          if let reason = try await log.fault(of: facts, on: world.disk) { fail("\(facts.path) is listed: \(reason)") }
        }
      }
    } catch let fault as LogFault {
      fail("the log cannot be followed: \(fault.code.rawValue): \(fault.reason)")
    }
  }

  // MARK: At the end

  mutating func judge(_ world: World) async throws {
    guard let gateway = world.gateway else { return fail("the gateway does not run at the end") }
    if let doubt = gateway.clock.look().doubt { fail("the clock is in doubt at the end: \(doubt.reason)") }
    if let log = world.log { try await check(log, in: world, isCalm: true) }
    for phone in world.phones {
      for name in phone.shelf.changedNames { fail("\(phone.name): \(name) has two contents") }
      var missing: [(KeySubject, String)] = []
      for subject in world.truth.order {
        guard let said = world.truth.said[subject], isDue(said, to: phone) else { continue }
        if let fault = try await fault(of: said, subject, on: phone, gateway, world) {
          missing.append((subject, fault))
        }
      }
      if let (subject, fault) = missing.first {
        fail("\(phone.name): \(fault) (\(missing.count) such keys; the first is \(shown(subject, world)))")
      }
    }
  }

  /// Keys that became too old in the time of trouble are nobody's right any more.
  private func isDue(_ said: Truth.Said, to phone: any Phone) -> Bool {
    let firstDay = calmSince / 86_400 - min(phone.days, 9) + 3
    return said.isDue && said.time <= calmSince && Int64(said.key.rollingStart ?? 0) / 144 >= firstDay
      && said.expiry + 7200 <= calmSince + 86_400
  }

  private mutating func fault(
    of said: Truth.Said, _ subject: KeySubject, on phone: any Phone, _ gateway: Gateway, _ world: World
  ) async throws -> String? {
    let (plain, revised) = (phone.shelf.plain[subject], phone.shelf.revised[subject])
    if let change = said.change, change.time <= calmSince {
      if !phone.takesRevisions { return nil }
      let type = change.type.rawValue
      // One that was revoked before it went out never goes out.
      if change.type == .revoked, plain == nil { return nil }
      if revised == type || plain?.reportType == type { return nil }
      if plain != nil { return try await excuse(said, subject, "said otherwise, and it does not know", gateway, world) }
    }
    if plain != nil { return nil }
    return try await excuse(said, subject, "a key is missing", gateway, world)
  }

  /// `nil` where the gateway says why not.
  private mutating func excuse(
    _ said: Truth.Said, _ subject: KeySubject, _ fault: String, _ gateway: Gateway, _ world: World
  ) async throws -> String? {
    let (answer, isHeld) = try await gateway.answer(about: subject, world.series)
    let names = [said.document, said.change?.document].compactMap(\.self)
    let documents = try await gateway.ledger.read { state in
      try state.documents(of: said.source, in: Set(DocumentState.allCases), limit: .max).filter { document in
        names.contains { Truth.isDocument(document.name, $0) }
      }
    }
    if documents.contains(where: { $0.state == .quarantined || $0.state == .givenUp }) { return excuse("quarantine") }
    if isHeld { return excuse("awaits-operator") }
    guard let answer else {
      return "\(fault), and the gateway knows nothing of it: \(documents.map { "\($0.name) \($0.state)" })"
    }
    switch answer.fate {
    case .awaitsOperator, .withdrawn, .recalled, .notRevocable, .leftOut, .repeated, .paused:
      return excuse(answer.fate.code)
    case .goesOut, .revised, .carried, .held, .forgotten:
      return "\(fault), and explain says \(answer.fate.code) in \(answer.release?.bundle?.bundle.path ?? "no bundle")"
    }
  }

  private mutating func excuse(_ code: String) -> String? {
    excuses[code, default: 0] += 1
    return nil
  }

  /// Keys of the simulation are nobody's.
  private func shown(_ subject: KeySubject, _ world: World? = nil) -> String {
    let key = subject.key.hex.prefix(8)
    let said = world?.truth.said[subject].map { said in
      " of \(said.source)/\(said.document), said \(Instant(secondsSince1970: said.time)),"
        + " expired \(Instant(secondsSince1970: said.expiry))"
    }
    return "key \(key)\(said ?? "")"
  }
}
