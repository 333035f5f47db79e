import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyNormalization
import KeyPublishing
import KeyStorage
import Testing
import TransparencyLog

/// Every bundle that was published can be made again from what the store has, as long as it has it.
@Suite struct RebuildTests {
  static let digest = String(repeating: "ab", count: 32)

  /// The histories of the publishing laws, with every kind of bundle.
  static func series(_ random: inout SeededRandom) -> [SeriesSettings] {
    var all = PublishingLawTests.series(&random)
    for index in all.indices {
      all[index].makesKeyDays = random.once(in: 2)
      all[index].editionsPerDay = random.pick([0, 1, 4])
      all[index].mostKeys = random.pick([3, 1000])
      all[index].policyDigest = digest
    }
    return all
  }

  static func play(
    _ press: inout Press, _ random: inout SeededRandom, rounds: Int, withKeys hasKeys: Bool = true
  ) async throws -> Instant {
    var now = at(0)
    let word = Attribution(by: "ada")
    for _ in 0..<rounds {
      let count = Int.random(in: 0...10, using: &random)
      try await press.say(
        PublishingLawTests.claims(&random, count: count), source: random.pick(["a", "b"]), now: at(0, days: 2))
      if random.once(in: 5) {
        try await press.ledger.paused(.origin(random.pick(PublishingLawTests.origins)), by: word, at: now)
      } else if random.once(in: 3) {
        for pause in try await press.ledger.read({ try $0.pauses() }) {
          _ = try await press.ledger.resumed(pause.subject, by: word, at: now)
        }
      }
      if random.once(in: 6) {
        _ = try await press.ledger.recalled(
          RecallRequest(origin: random.pick(PublishingLawTests.origins)), by: word, at: now)
      }
      now = Instant(secondsSince1970: now.secondsSince1970 + Int64.random(in: 1...20_000, using: &random))
      try await press.round(now)
    }
    return now
  }

  @Test(arguments: 0..<4) func everyBundleIsMadeAgain(number: Int) async throws {
    var random = SeededRandom(for: "rebuild \(number)")
    try await Press.run(Self.series(&random)) { press in
      _ = try await Self.play(&press, &random, rounds: 10)
      let verdicts = try await press.audit()
      #expect(verdicts.count > 20)
      for verdict in verdicts {
        #expect(
          verdict.result == .equal,
          "\(verdict.bundle.path): \(verdict.reason?.text ?? "") \(verdict.difference?.text ?? "")")
        #expect(verdict.digest == verdict.bundle.exportDigest && verdict.reason == nil && verdict.difference == nil)
      }
      // The claims are enough: no file is needed.
      for path in try press.files() where path.hasSuffix(".zip") && random.once(in: 2) {
        try FileManager.default.removeItem(atPath: "\(press.root)/\(path)")
      }
      for verdict in try await press.audit() {
        // What is listed and gone is told, and is made again all the same.
        let isGone = verdict.file == .missing && verdict.reason?.code == .fileMissing
        let words = "\(verdict.file) \(verdict.result) \(verdict.reason.map { "\($0.code)" } ?? "")"
        #expect(verdict.result == .equal || isGone, "\(verdict.bundle.path): \(words)")
        #expect(verdict.digest == verdict.bundle.exportDigest)
      }
      let kinds = Set(verdicts.map(\.bundle.kind))
      #expect(kinds.isSuperset(of: [.increment, .day]))
    }
  }

  /// What comes in between selecting and staging is not known to the round.
  @Test func whatComesMeanwhileIsNotKnown() async throws {
    try await Press.run(.sample { $0.policyDigest = Self.digest }) { press in
      try await press.say([key(1), key(2)])
      try await press.round(at(8))
      try await press.say([key(3), key(1, type: .selfReport, risk: 7)], origin: "DE", visited: ["NL"])
      try await press.round(at(10))
      try await press.say([key(4)])
      let verdicts = try await press.audit()
      #expect(verdicts.allSatisfy { $0.result == .equal } && verdicts.count == 4)
      #expect(verdicts.compactMap(\.known?.rawValue).max() ?? 0 < verdicts.compactMap(\.event?.rawValue).max() ?? 0)
    }
  }

  /// Of uploads the store keeps the day alone.
  @Test func uploadsOfTheDayThatCameLaterAreNotKnown() async throws {
    try await Press.run(.sample { $0.policyDigest = Self.digest }) { press in
      for (number, hour) in [(UInt64(1), Int64(7)), (2, 9), (3, 11)] {
        try await press.upload([key(number), key(number + 10)], at: at(hour))
        try await press.round(at(hour + 1))
      }
      let verdicts = try await press.audit()
      #expect(verdicts.filter { $0.bundle.kind == .increment }.count == 3)
      #expect(verdicts.allSatisfy { $0.result == .equal }, "\(verdicts.map { $0.difference?.text ?? "" })")
      #expect(verdicts[0].notes.contains { $0.contains("4 keys of them") })
    }
  }

  @Test func aBundleThatAnotherKeySignedIsMadeAgain() async throws {
    let keys = [
      ScheduledIdentity(identity: makeIdentity("v1")), ScheduledIdentity(identity: makeIdentity("v2"), from: at(11)),
    ]
    try await Press.run(.sample(identities: keys)) { press in
      try await press.say([key(1), key(2)])
      try await press.round(at(8))
      try await press.round(at(12))
      let verdicts = try await press.audit()
      #expect(verdicts.contains { $0.parts == 1 && $0.bundle.keyVersion == "v2" })
      #expect(verdicts.allSatisfy { $0.result == .equal })
    }
  }

  // MARK: Reasons

  private func reasons(
    _ change: (inout SeriesSettings) -> Void = { _ in },
    keys: [ClaimedKey] = [key(1), key(2), key(3)],
    plant: (inout Press) async throws -> Void
  ) async throws -> [RebuildVerdict] {
    var verdicts: [RebuildVerdict] = []
    try await Press.run(
      .sample {
        $0.policyDigest = Self.digest
        $0.makesDays = false
        $0.editionsPerDay = 0
        change(&$0)
      }
    ) { press in
      try await press.say(keys)
      try await press.round(at(8))
      #expect(try await press.audit().map(\.result) == [.equal])
      try await plant(&press)
      verdicts = try await press.audit()
    }
    return verdicts
  }

  let word = Attribution(by: "ada")

  @Test func anErasedKeyIsNamed() async throws {
    let verdicts = try await reasons { press in
      let gone = key(2).key
      _ = try await press.ledger.erased(gone, digest: sha256(gone), by: word, at: at(9)) { _ in [] }
    }
    #expect(verdicts.map(\.result) == [.different] && verdicts[0].reason?.code == .erased)
    #expect(verdicts[0].difference?.place == "keys" && verdicts[0].difference?.index != nil)
  }

  @Test func whatExpiredIsNamed() async throws {
    for hasFile in [true, false] {
      let verdicts = try await reasons { press in
        _ = try await press.ledger.expired(
          keysExpiredBefore: at(0, days: 3), at: SoundTime(toldByOperator: at(0, days: 60)))
        if !hasFile {
          for path in try press.files() where path.hasSuffix(".zip") {
            try FileManager.default.removeItem(atPath: "\(press.root)/\(path)")
          }
        }
      }
      #expect(verdicts.map(\.result) == [.different] && verdicts[0].reason?.code == .expired)
      #expect((verdicts[0].difference != nil) == hasFile)
    }
  }

  /// What the document said before is gone with the old reading.
  @Test func whatWasReadAgainIsNamed() async throws {
    let verdicts = try await reasons { press in
      try await press.ledger.reread("peer", by: word, at: at(9)) { state, replacer in
        let documents = try state.documents(of: "peer", in: [.recorded], limit: .max)
        let document = try #require(documents.first)
        var change = ReadingChange()
        change.removed = Array(try state.claims(from: key(2).key, limit: 1).claims.statedClaims)
        #expect(change.removed.map(\.key.key) == [key(2).key])
        let facts = try #require(document.facts)
        try replacer.replace(document, change, from: at(0)) { _ in facts }
      }
    }
    #expect(verdicts.map(\.result) == [.different] && verdicts[0].reason?.code == .reread)
    #expect(verdicts[0].difference?.place == "keys" && verdicts[0].reason?.text.contains("1 time") == true)
  }

  /// What a refused document says about how long a key is in use kept it back; given up, it is not known any more.
  @Test func whatWasDecidedSinceIsNamed() async throws {
    try await Press.run(
      .sample {
        $0.policyDigest = Self.digest
        $0.makesDays = false
        $0.editionsPerDay = 0
      }
    ) { press in
      let short = key(2, age: -1, period: 40)
      try await press.say([key(1), short, key(3)])
      let refused = try await press.ledger.discovered(["bad"], of: "other", at: at(0))[0].id
      let fault = DocumentFault(code: FaultCode(rawValue: "cut-off"), reason: "a test")
      try await press.ledger.quarantined(
        refused, RefusedDocument(fault, nextAttempt: nil, content: nil), cursor: nil, at: at(0)
      ) { recorder in
        var policy = ReadingPolicy()
        policy.declaredRegions = ["NL"]
        var regions = RegionTable()
        let own = regions.intern(RegionClaim(origin: "NL", visited: nil)) ?? .none
        let table = regions
        let said = [key(2, age: -1, period: 144).with { $0.regions = own }]
        var admission = Admission(of: .assertedByOperator(), from: Sender(name: "other"), policy: policy, now: at(0))
        _ = try recorder.record(said.withUnsafeBufferPointer { admission.admit($0, regions: table) })
      }
      try await press.round(at(12))
      #expect(subjects(try press.increments("NL").flatMap(\.keys)) == subjects([key(1), key(3)]))
      #expect(try await press.audit().map(\.result) == [.equal])
      try await press.ledger.discarded(refused, by: word, at: at(13))
      let verdicts = try await press.audit()
      #expect(verdicts.map(\.result) == [.different] && verdicts[0].reason?.code == .heldDecided)
    }
  }

  @Test func aRecallChangesNothingAndIsTold() async throws {
    let verdicts = try await reasons { press in
      _ = try await press.ledger.recalled(RecallRequest(origin: "NL"), by: word, at: at(9))
    }
    #expect(verdicts.map(\.result) == [.equal] && verdicts[0].notes.contains { $0.hasPrefix("1 recall since") })
  }

  @Test func anotherPolicyIsNamedAndFound() async throws {
    let verdicts = try await reasons { press in press.series[0].policyDigest = String(repeating: "cd", count: 32) }
    #expect(verdicts.map(\.result) == [.notMade] && verdicts[0].reason?.code == .policy)
    #expect(verdicts[0].reason?.text.contains(Self.digest) == true && verdicts[0].policy == Self.digest)
    let found = try await reasons { press in
      press.policies = [Self.digest: press.series[0].publishing]
      press.series[0].policyDigest = String(repeating: "cd", count: 32)
      press.series[0].publishing.publishing.maximumAgeDays = 0
    }
    #expect(found.map(\.result) == [.equal])
  }

  @Test func changedSettingsAreNamedAndThoseOfThenAreUsed() async throws {
    let verdicts = try await reasons { press in
      press.series[0].selection.include = ["DE"]
      press.series[0].headerRegion = "310"
    }
    #expect(verdicts.map(\.result) == [.equal])
    #expect(verdicts[0].notes.contains { $0.contains("include NL, now DE; region 204, now 310") })
  }

  /// A policy of no file that says something else now: nothing explains it but the program, or nothing does.
  @Test(arguments: [true, false]) func anotherProgramIsNamed(isOther: Bool) async throws {
    let verdicts = try await reasons({ $0.policyDigest = nil }) { press in
      press.series[0].publishing.publishing.maximumAgeDays = 0
      if isOther { press.program = "keyferry 0.9" }
    }
    #expect(verdicts.map(\.result) == [.different])
    #expect(verdicts[0].reason?.code == (isOther ? .program : .unknown))
  }

  @Test func aChangedFileIsNamed() async throws {
    let verdicts = try await reasons { press in
      let path = try #require(try press.files().first { $0.hasSuffix(".zip") })
      var bytes = try press.bytes(path)
      bytes[bytes.count / 2] ^= 1
      try Data(bytes).write(to: URL(filePath: "\(press.root)/\(path)"))
    }
    #expect(verdicts.map(\.result) == [.different] && verdicts[0].reason?.code == .fileChanged)
    #expect(verdicts[0].digest == verdicts[0].bundle.exportDigest)
  }

  @Test func aLostSecretIsNamed() async throws {
    let verdicts = try await reasons({
      $0.pads = true
      $0.minimumKeys = 12
    }) { press in
      try await press.ledger.staged([], by: "NL", at: at(9)) { _ in [NoteChange(.paddingSecret, nil)] }
    }
    #expect(verdicts.map(\.result) == [.notMade] && verdicts[0].reason?.code == .secret)
  }

  @Test func whatTookThePlaceOfALostFileSaysSo() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1), key(2)])
      try await press.round(at(8))
      for path in try press.files() where path.hasSuffix(".zip") {
        try FileManager.default.removeItem(atPath: "\(press.root)/\(path)")
      }
      _ = try await press.publisher.round(now: at(9))
      let verdicts = try await press.audit()
      #expect(verdicts.filter { $0.bundle.kind == .increment }.map(\.reason?.code) == [nil, .replacement])
      #expect(verdicts.contains { $0.bundle.kind == .day && $0.reason?.code == .parts })
    }
  }

  // MARK: The log, and the folder

  /// The proof is verified, not only read; what is published has one.
  @Test func aProofThatLeadsNowhereIsNamed() async throws {
    try await Press.run(.sample { $0.policyDigest = Self.digest }) { press in
      try await press.beginLog()
      try await press.say([key(1), key(2)])
      try await press.round(at(8))
      let good = try await press.audit()
      #expect(good.count == 2 && good.allSatisfy { $0.result == .equal && $0.isLogged == true })
      let path = good[0].bundle.path + ProofFile.ending
      let whole = try ProofFile(try press.bytes(path), name: path)
      let other = ProofFile(
        index: whole.index, hashes: whole.hashes.map { .node($0, $0) }, extra: whole.extra, checkpoint: whole.checkpoint
      )
      #expect(!whole.hashes.isEmpty)
      try press.write(other.bytes, path)
      let forged = try await press.audit()[0]
      #expect(forged.result == .different && forged.isLogged == false && forged.reason?.code == .log)
      // Who has no key of the log cannot tell, and says so elsewhere.
      let log = press.log
      press.log = nil
      #expect(try await press.audit()[0].result == .equal)
      press.log = log
      try FileManager.default.removeItem(atPath: "\(press.root)/\(path)")
      let missing = try await press.audit()[0]
      #expect(missing.reason?.code == .log && missing.reason?.text.contains("no proof beside it") == true)
      try await press.round(at(8, 1))
      #expect(try await press.audit().allSatisfy { $0.result == .equal })
    }
  }

  /// A store that was brought back from an old backup.
  @Test func whatTheStoreDoesNotKnowIsNamed() async throws {
    try await Press.run(.sample { $0.policyDigest = Self.digest }) { press in
      try await press.say([key(1)])
      try await press.round(at(8))
      #expect(try await press.audit(Ledger(press.base)).unknown(of: nil) == [])
      let old = Ledger(MemoryStore())
      let shown = try press.manifest("NL").bundles.map(\.path)
      #expect(shown.count == 2)
      #expect(try await press.audit(old).unknown(of: nil) == shown)
      #expect(try await press.audit(old).unknown(of: "NL") == shown)
      #expect(try await press.audit(old).unknown(of: "DE") == [])
      // One whose file is gone is shown to nobody.
      try FileManager.default.removeItem(atPath: "\(press.root)/\(shown[0])")
      #expect(try await press.audit(old).unknown(of: nil) == [shown[1]])
    }
  }

  /// Of a key that the published file does not have, nothing is told.
  @Test func noHiddenKeyIsTold() async throws {
    let verdicts = try await reasons({ $0.policyDigest = nil }) { press in
      press.series[0].publishing.publishing.maximumAgeDays = 0
    }
    let text = String(decoding: try JSONEncoder().encode(verdicts), as: UTF8.self) + "\(verdicts)"
    for number in UInt64(1)...3 {
      let data = key(number).key.bytes
      #expect(!text.contains(Data(data).base64EncodedString()))
      #expect(!text.contains(data.map { String(format: "%02x", $0) }.joined()))
    }
  }
}

private func sha256(_ key: TemporaryExposureKey) -> String { ExportDigests(of: key.bytes).hexadecimal }

extension Press {
  /// Somebody uploads keys for the region of the door.
  func upload(_ keys: [ClaimedKey], at now: Instant) async throws {
    var policy = ReadingPolicy()
    policy.declaredRegions = ["NL"]
    var regions = RegionTable()
    let own = regions.intern(RegionClaim(origin: "NL", visited: nil)) ?? .none
    let said = keys.map { key in key.with { $0.regions = own } }
    var admission = Admission(of: .assertedByOperator(), from: Sender(name: "door"), policy: policy, now: now)
    let batch = said.withUnsafeBufferPointer { admission.admit($0, regions: regions) }
    let upload = AdmittedUpload(door: "door", batch: batch, regions: ["NL"], certificate: nil, byteCount: 1)
    #expect(try await ledger.uploaded([upload], at: now).new == keys.count)
  }

  func audit(_ ledger: Ledger) -> BundleAudit {
    BundleAudit(
      ledger: ledger, folder: folder, series: series, policies: policies, program: program,
      log: log == nil ? nil : Self.logVerifier)
  }

  /// All bundles that were ever staged, made again.
  func audit() async throws -> [RebuildVerdict] {
    let audit = audit(Ledger(base))
    let records = try await ledger.read { try $0.bundles(of: nil, in: Set(BundleState.allCases)) }
    var verdicts: [RebuildVerdict] = []
    for record in records { verdicts.append(try await audit.verdict(of: record)) }
    return verdicts
  }
}
