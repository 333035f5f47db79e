import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyIntake
import KeyNormalization
import KeyPublishing
import KeyStorage
import Synchronization
import Testing
import TransparencyLog

/// The log of what is published: what an index names can be proved, and a stranger who follows the log finds nothing.
@Suite struct EvidenceTests {
  @Test func whatIsPublishedIsInTheLogAndProved() async throws {
    try await Press.run(CrashTests.series) { press in
      try await press.beginLog()
      try await press.say([key(1), key(2)])
      try await press.round(at(8))
      let first = try await press.followLog()
      // Besides there is the document that came in.
      #expect(first.comparedBundles > 2 && first.newEntries == first.comparedBundles + 1)
      try await press.say([key(3)], now: at(9))
      try await press.round(at(10))
      let second = try await press.followLog(since: first.memory)
      #expect(second.newEntries > 0 && second.checkpoint.size > first.checkpoint.size)
      // Another key signs: the old paths are told of.
      try await press.round(at(12))
      _ = try await press.followLog(since: second.memory)
      let entries = try await press.logEntries()
      #expect(entries.contains { $0.kind == .signedAgain && $0.text("reason") == "another key signs now" })
      let published = entries.filter { $0.kind == .published }
      #expect(published.allSatisfy { $0.text("program") == "keyferry test" && $0.text("series") != nil })
      #expect(Set(published.compactMap { $0.text("key_version") }) == ["v1", "v2"])
      // A round in which nothing happens signs nothing.
      let size = entries.count
      try await press.round(at(12, 1))
      #expect(try await press.logEntries().count == size)
      #expect(try await press.ledger.read { try $0.queuedEntries(limit: 1) }.isEmpty)
    }
  }

  @Test func withoutALogNothingIsDifferent() async throws {
    var ends: [CrashTests.End] = []
    for isLogged in [false, true] {
      try await Press.run(CrashTests.series) { press in
        if isLogged { try await press.beginLog() }
        try await CrashTests.prepare(press)
        try await press.round(CrashTests.now)
        var end = try await CrashTests.End(press)
        end.files = end.files.filter {
          !$0.hasPrefix("log/") && !$0.hasSuffix(ProofFile.ending) && !$0.hasSuffix(Envelope.ending)
        }
        ends.append(end)
        #expect(try press.files().contains { $0.hasSuffix(ProofFile.ending) } == isLogged)
      }
    }
    #expect(ends.count == 2 && ends[0] == ends[1])
  }

  @Test func aLogThatBeginsLaterHasWhatIsListed() async throws {
    try await Press.run(CrashTests.series) { press in
      try await CrashTests.prepare(press)
      try await press.beginLog()
      try await press.round(CrashTests.now)
      let seen = try await press.followLog()
      #expect(seen.comparedBundles > 2)
      // Without the log for a while, and with it again.
      let log = press.log
      press.log = nil
      try await press.say([key(20)], now: at(13))
      try await press.round(at(14))
      press.log = log
      try await press.round(at(14, 1))
      _ = try await press.followLog(since: seen.memory)
    }
  }

  @Test func aProofThatIsLostOrDamagedIsMadeAgain() async throws {
    try await Press.run(.sample()) { press in
      try await press.beginLog()
      try await press.say([key(1), key(2)])
      try await press.round(at(8))
      let proofs = try press.files().filter { $0.hasSuffix(ProofFile.ending) }.sorted()
      #expect(proofs.count > 1)
      try FileManager.default.removeItem(atPath: "\(press.root)/\(proofs[0])")
      try press.write(try press.bytes(proofs[1]).map { $0 == 0x41 ? 0x42 : $0 }, proofs[1])
      try await press.round(at(8, 1))
      _ = try await press.followLog()
      // They leave with their bundles.
      try await press.round(at(8, days: 40))
      try await press.round(at(8, days: 44))
      #expect(try press.files().filter { $0.hasSuffix(ProofFile.ending) }.isEmpty)
    }
  }

  // MARK: Attestations

  /// Each bundle that is listed has one; lost or damaged, it comes again with the same bytes, and goes with its bundle.
  @Test func eachBundleIsAttested() async throws {
    try await Press.run(CrashTests.series) { press in
      for index in press.series.indices { press.series[index].policyDigest = String(repeating: "ab", count: 32) }
      try await press.beginLog()
      try await CrashTests.prepare(press)
      try await press.round(CrashTests.now)
      let key = try AttestationKey(pem: try press.text("log/attest.pem"), name: "key")
      var files: [String] = []
      for settings in press.series {
        for facts in try press.manifest(settings.name).bundles where facts.isListed {
          let path = facts.path + Envelope.ending
          let envelope = try Envelope(try press.bytes(path), name: path)
          try envelope.verify(by: key, name: path)
          let provenance = try Provenance(envelope.payload, name: path)
          #expect(provenance.subjects.map(\.digest) == [facts.exportSHA256, facts.sha256])
          #expect(provenance.subjects.map(\.name) == ["export.bin", facts.path])
          #expect(provenance.externalParameters["series"] == settings.name)
          #expect(provenance.externalParameters["ordinal"] == "\(facts.ordinal)")
          #expect(provenance.dependencies.first?.digest == String(repeating: "ab", count: 32))
          #expect(provenance.versions == ["keyferry": "test"])
          files.append(path)
        }
      }
      #expect(files.count > 4)
      let whole = try files.map(press.bytes)
      try FileManager.default.removeItem(atPath: "\(press.root)/\(files[0])")
      try press.write(whole[1].map { $0 == 0x41 ? 0x42 : $0 }, files[1])
      try await press.round(at(12, 1))
      #expect(try files.map(press.bytes) == whole)
      try await press.round(at(8, days: 40))
      try await press.round(at(8, days: 44))
      #expect(try press.files().isDisjoint(with: files))
    }
  }

  /// Who was told the key of attestations is not shown another one unasked.
  @Test(arguments: [true, false]) func aLostKeyOfAttestationsIsNotReplacedInSecret(isGone: Bool) async throws {
    try await Press.run(CrashTests.series) { press in
      try await press.beginLog()
      try await CrashTests.prepare(press)
      try await press.round(CrashTests.now)
      let settings = try #require(press.log)
      let (state, folder) = (LogFolder(settings.state), LogFolder("\(press.root)/log"))
      let shown = try press.text("log/attest.pem")
      let index = try press.text("NL/index.txt")
      let whole = try Data(contentsOf: URL(filePath: settings.state + "/attest.key"))
      await #expect(throws: LogFault.self) { try await AttestationSigner.renew(in: state, shownIn: folder) }
      try FileManager.default.removeItem(atPath: settings.state + "/attest.key")
      if !isGone {
        try Data(AttestationSigner.generate().disclosed.utf8).write(
          to: URL(filePath: settings.state + "/attest.key"))
      }
      try await press.say([key(77)], now: at(13))
      try await press.expectRefusal(at(16), "log-bad-state", "--new-attestation-key")
      #expect(try press.text("log/attest.pem") == shown && press.text("NL/index.txt") == index)
      #expect(await LogStatus.fault(of: settings, in: press.root)?.contains("attest.key") == true)
      #expect(!isGone || !FileManager.default.fileExists(atPath: settings.state + "/attest.key"))

      // The old one is found.
      let other = try? Data(contentsOf: URL(filePath: settings.state + "/attest.key"))
      try whole.write(to: URL(filePath: settings.state + "/attest.key"))
      try await press.round(at(16, 1))
      #expect(try press.text("log/attest.pem") == shown)
      #expect(await LogStatus.fault(of: settings, in: press.root) == nil)

      // It is not, and the operator says so.
      try FileManager.default.removeItem(atPath: settings.state + "/attest.key")
      try other?.write(to: URL(filePath: settings.state + "/attest.key"))
      let signer = try await AttestationSigner.renew(in: state, shownIn: folder)
      #expect(try press.text("log/attest.pem") == signer.publicKey.pem && signer.publicKey.pem != shown)
      // Bundles that no index names any more are served all the same, and are attested by the new key, too.
      try await press.round(at(16, 2))
      let served = try press.series.flatMap { try press.manifest($0.name).bundles }
      #expect(served.contains { !$0.isListed } && served.contains { $0.isListed })
      for facts in served where FileManager.default.fileExists(atPath: "\(press.root)/\(facts.path)") {
        let path = facts.path + Envelope.ending
        try Envelope(try press.bytes(path), name: path).verify(by: signer.publicKey, name: path)
      }
    }
  }

  /// The vectors that other programs compute commitments by.
  @Test func commitmentsAreThoseOfTheVectors() throws {
    struct Vector: Decodable {
      var salt: String
      var sha256: String?
      var door: String?
      var start: Int64?
      var count: Int?
      var first: Int64?
      var last: Int64?
      var text: String?
      var commitment: String
    }
    let place = PackageFolder.root.appending(path: "interop/log/commitments.json")
    let vectors = try JSONDecoder().decode([Vector].self, from: Data(contentsOf: place))
    #expect(vectors.count == 3)
    for vector in vectors {
      let digits = Array(vector.salt)
      let salt = stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0..<$0 + 2]), radix: 16)! }
      if let digest = vector.sha256 {
        #expect(Commitment.received(digest, salt: salt) == vector.commitment)
        continue
      }
      let hour = UploadHour(
        door: try #require(vector.door), start: Instant(secondsSince1970: try #require(vector.start)),
        count: try #require(vector.count), first: vector.first.map { EventID(rawValue: $0) },
        last: vector.last.map { EventID(rawValue: $0) }, salt: salt, until: at(0))
      #expect(hour.text == vector.text && Commitment.uploads(hour) == vector.commitment)
    }
  }

  /// Each upload of a person is an event: whoever could subtract numbers of events would count persons.
  @Test func attestationsDoNotCountEvents() async throws {
    var said: Set<[String]> = []
    for others in [0, 7] {
      try await Press.run(.sample()) { press in
        try await press.beginLog()
        try await press.say([key(1), key(2)])
        try await press.round(at(8))
        for _ in 0..<others {
          try await press.ledger.paused(.source("nobody"), by: Attribution(by: "ada"), at: at(9))
          _ = try await press.ledger.resumed(.source("nobody"), by: Attribution(by: "ada"), at: at(9))
        }
        try await press.say([key(3)])
        try await press.round(at(12))
        var words: [String] = []
        for path in try press.files().sorted() where path.hasSuffix(Envelope.ending) {
          let provenance = try Provenance(try Envelope(try press.bytes(path), name: path).payload, name: path)
          words += provenance.externalParameters.map { "\($0.key)=\($0.value)" }.sorted() + [provenance.invocation]
        }
        #expect(words.count > 20)
        said.insert(words)
      }
    }
    #expect(said.count == 1)
  }

  /// No secret but in the state, and no word of what is not published.
  @Test func attestationsSayNothingOfWhatIsNotPublished() async throws {
    try await Press.run(.sample()) { press in
      try await press.beginLog()
      let document = try await press.say([key(1), key(2)], source: "germany")
      try await press.say([key(9)], origin: "DE")
      try await press.round(at(8))
      let digest = try await press.ledger.read { try $0.document(document)?.facts?.digest }
      for path in try press.files() where path.hasSuffix(Envelope.ending) {
        let payload = String(decoding: try Envelope(try press.bytes(path), name: path).payload, as: UTF8.self)
        #expect(!payload.contains("germany") && !payload.contains(key(9).key.bytes.map { String($0) }.joined()))
        if let digest, !digest.isEmpty { #expect(!payload.contains(digest)) }
      }
      #expect(try !press.files().contains { $0.hasSuffix("attest.key") })
    }
  }

  // MARK: What comes in, and what operators say

  @Test func whatComesInIsCommittedToAndOperatorsWordsAreSaid() async throws {
    try await Press.run(.sample()) { press in
      press.series[0].policyDigest = String(repeating: "ab", count: 32)
      try await press.beginLog()
      let secret = TemporaryExposureKey(high: 1, low: 2)
      let document = try await press.say([key(1), key(2)], source: "germany", now: at(7, 59))
      let digits = secret.bytes.map { String(Int($0) + 0x100, radix: 16).dropFirst() }.joined()
      let word = Attribution(by: "ada\nlovelace", reason: "key \(digits) of a test system")
      _ = try await press.ledger.recalled(RecallRequest(origin: "NL"), by: word, at: at(8))
      try await press.ledger.clockAccepted(
        ClockWord(ClockReading(wall: at(8), uptime: 1, boot: "a")), by: Attribution(by: "ada"), at: at(8))
      _ = try await press.ledger.erased(
        key(1).key, digest: String(repeating: "cd", count: 32), by: word, at: at(8)
      ) { _ in [] }
      try await press.say([key(3)], now: at(8))
      try await press.round(at(10))
      try await press.followLog()
      let entries = try await press.logEntries()
      let received = entries.filter { $0.kind == .received }
      #expect(received.count == 2 && received[0].text("source") == "germany")
      #expect(received[0].number("at") == Int(at(7).secondsSince1970))
      let (salt, facts) = try await press.ledger.read {
        (try $0.salt(of: document), try $0.document(document)?.facts)
      }
      // Without the evidence there is no salt, and nobody can tell what was committed to.
      #expect(salt == nil && facts != nil)
      let recall = try #require(entries.first { $0.kind == .recalled })
      #expect(recall.text("by") == "ada lovelace" && recall.number("keys") == 2)
      #expect(recall.text("reason") == "origin NL: key (32 characters) of a test system")
      #expect(entries.contains { $0.kind == .clockAccepted && $0.text("by") == "ada" && $0.text("reason") == nil })
      let erasure = try #require(entries.first { $0.kind == .erased })
      #expect(erasure.members.keys.sorted() == ["at", "by", "keys"])
      let policies = entries.filter { $0.kind == .policyChanged }
      #expect(policies.count == 1 && policies[0].text("policy_sha256") == press.series[0].policyDigest)
      #expect(entries.filter { $0.kind == .published }.allSatisfy { $0.text("policy_sha256") != nil })
      press.series[0].policyDigest = String(repeating: "ef", count: 32)
      try await press.say([key(4)], now: at(11))
      try await press.round(at(12))
      #expect(try await press.logEntries().count { $0.kind == .policyChanged } == 2)
      // Nothing that the log says is key data, or a digest of some.
      let text = try await press.logEntries().map { String(decoding: $0.bytes, as: UTF8.self) }.joined()
      #expect(!text.contains(digits) && !text.contains(String(repeating: "cd", count: 32)))
    }
  }

  /// A reason is public for ever: key data is not, however somebody has written it.
  @Test(
    arguments: [
      ("key d3:4b:ee:b7:0c:dd:cc:1f:97:3a:b4:68:a4:f7:46:75, a test", "key (32 digits), a test"),
      ("d34b eeb7 0cdd cc1f 973a b468 a4f7 4675", "(32 digits)"),
      ("0xd3,0x4b,0xee,0xb7,0x0c,0xdd,0xcc,0x1f,0x97,0x3a,0xb4,0x68,0xa4,0xf7,0x46,0x75", "(32 digits)"),
      ("bytes 211, 75, 238, 183, 12, 221, 204, 31, 151, 58, 180, 104, 164, 247, 70, 117!", "bytes (43 digits)!"),
      ("d34beeb70cddcc1f 973ab468a4f74675", "(32 digits)"),
      ("a bad batch of 2020-06-27, 12:00", "a bad batch of 2020-06-27, 12:00"),
      ("ticket 4711: faced a dead end", "ticket 4711: faced a dead end"),
    ]) func aReasonHidesKeyData(said: String, shown: String) async throws
  {
    try await Press.run(.sample()) { press in
      try await press.beginLog()
      try await press.say([key(1)])
      _ = try await press.ledger.recalled(
        RecallRequest(origin: "NL"), by: Attribution(by: "ada", reason: said), at: at(8))
      try await press.round(at(10))
      let recall = try #require(try await press.logEntries().first { $0.kind == .recalled })
      #expect(recall.text("reason") == "origin NL: \(shown)")
    }
  }

  /// With its salt a document can be shown to be the one that was committed to; the salt goes with the evidence.
  @Test func aCommitmentIsOpenedByItsSaltAlone() async throws {
    try await Press.run(.sample()) { press in
      try await press.beginLog()
      let digest = ExportDigests(of: [9]).hexadecimal
      let document = try await press.ledger.discovered(["a"], of: "germany", at: at(0))[0].id
      _ = try await press.ledger.recorded(
        document, evidence: KeptBytes([9], until: at(20)), cursor: nil, at: at(0)
      ) { _ in DocumentFacts(byteCount: 1, digest: digest, format: "test", vouchedBy: "operator") }
      try await press.round(at(8))
      let salt = try #require(try await press.ledger.read { try $0.salt(of: document) })
      let commitment = Commitment.received(digest, salt: salt)
      #expect(salt.count == 32 && commitment.count == 64)
      #expect(try await press.logEntries().contains { $0.text("commitment") == commitment })
      #expect(Commitment.received(digest, salt: salt.reversed()) != commitment)
      _ = try await press.ledger.expired(keysExpiredBefore: at(0), at: SoundTime(toldByOperator: at(21)))
      #expect(try await press.ledger.read { try $0.salt(of: document) } == nil)
    }
  }

  // MARK: Loss

  @Test func aStoreThatIsLostLogsNothingTwice() async throws {
    try await Press.run(CrashTests.series) { press in
      try await press.beginLog()
      try await CrashTests.prepare(press)
      let seen = try await press.followLog()
      var other = Press(base: MemoryStore(), root: press.root, series: press.series)
      other.log = press.log
      _ = try await other.publisher.round(now: at(12))
      let again = try await other.followLog(since: seen.memory)
      #expect(again.checkpoint.size >= seen.checkpoint.size)
      // What the new store queues has low numbers again, and comes into the log.
      try await other.say([key(30)], now: at(13))
      _ = try await other.publisher.round(now: at(14))
      _ = try await other.followLog(since: again.memory)
      #expect(try await other.ledger.read { try $0.queuedEntries(limit: 1) }.isEmpty)
    }
  }

  /// It logged a bundle, and was lost before a list named it: the log says that nobody will see it.
  @Test func whatALostStoreLoggedAndNeverListedIsWithdrawn() async throws {
    try await Press.run(.sample()) { press in
      try await press.beginLog()
      try await press.say([key(1)])
      try await press.round(at(8))
      try await press.say([key(2)], now: at(9))
      press.folder = LocalFolder(press.root) { _, path in
        if path.hasSuffix("manifest.json") { throw FileFault("write", path, number: 28) }
      }
      #expect(try await press.publisher.round(now: at(10))[0].fault != nil)
      let listed = try press.listed("NL", .increment).map(\.path)
      func increments(_ press: Press) async throws -> [String] {
        try await press.logEntries().filter { $0.kind == .published && $0.text("bundle") == "increment" }
          .compactMap { $0.text("path") }
      }
      let lost = try await increments(press).filter { !listed.contains($0) }
      #expect(lost.count == 1)
      var other = Press(base: MemoryStore(), root: press.root, series: press.series)
      other.log = press.log
      try await other.say([key(1), key(2)], now: at(11))
      _ = try await other.publisher.round(now: at(12))
      _ = try await other.followLog()
      let withdrawn = try await other.logEntries().filter { $0.kind == .withdrawn }
      #expect(withdrawn.compactMap { $0.text("path") } == lost)
      #expect(try await other.publisher.round(now: at(14))[0].fault == nil)
      #expect(try await other.logEntries().count { $0.kind == .withdrawn } == 1)
      let paths = try await increments(other)
      #expect(Set(paths).count == paths.count)
    }
  }

  @Test func anOlderStateOfTheLogIsRefusedAndTheIndexStays() async throws {
    try await Press.run(.sample()) { press in
      try await press.beginLog()
      try await press.say([key(1), key(2)])
      try await press.round(at(8))
      let state = try #require(press.log).state
      try FileManager.default.copyItem(atPath: state, toPath: state + "-old")
      try await press.say([key(3)], now: at(9))
      try await press.round(at(10))
      let index = try press.text("NL/index.txt")
      try FileManager.default.removeItem(atPath: state)
      try FileManager.default.copyItem(atPath: state + "-old", toPath: state)
      try await press.say([key(4)], now: at(11))
      try await press.expectRefusal(at(12), "log-stale-state", "keyferry log adopt")
      #expect(try press.text("NL/index.txt") == index)
      let shown = try press.bytes("log/checkpoint")
      _ = try await LogWriter.adopt(state: LogFolder(state), folder: LogFolder("\(press.root)/log"))
      #expect(try press.bytes("log/checkpoint") == shown)
      try await press.round(at(12, 1))
      #expect(try press.text("NL/index.txt") != index)
      _ = try await press.followLog()
    }
  }

  /// They agree with each other, and would fork what others have seen.
  @Test func anOldFolderAndStateOfTheLogAreRefusedTogether() async throws {
    try await Press.run(.sample()) { press in
      try await press.beginLog()
      try await press.say([key(1), key(2)])
      try await press.round(at(8))
      let places = [try #require(press.log).state, "\(press.root)/log"]
      let kept = places.indices.map { "\(press.root).kept\($0)" }
      let newest = places.indices.map { "\(press.root).newest\($0)" }
      defer { for place in kept + newest { try? FileManager.default.removeItem(atPath: place) } }
      for (place, copy) in zip(places, kept) { try FileManager.default.copyItem(atPath: place, toPath: copy) }
      try await press.say([key(3)], now: at(9))
      try await press.round(at(10))
      let index = try press.text("NL/index.txt")
      for (place, (copy, new)) in zip(places, zip(kept, newest)) {
        try FileManager.default.moveItem(atPath: place, toPath: new)
        try FileManager.default.copyItem(atPath: copy, toPath: place)
      }
      try await press.say([key(4)], now: at(11))
      try await press.expectRefusal(at(12), "log-went-back", "bring back the newest copy")
      let (settings, root) = (try #require(press.log), press.root)
      let fault = await LogStatus.fault(of: settings, in: root)
      let standing = try await press.ledger.read {
        try LogStatus(of: settings, in: $0, folder: root, fault: fault, now: at(12))
      }
      #expect(standing.fault?.contains("bring back the newest copy") == true, "\(String(describing: standing.fault))")
      #expect(try press.text("NL/index.txt") == index)
      for (place, new) in zip(places, newest) {
        try FileManager.default.removeItem(atPath: place)
        try FileManager.default.moveItem(atPath: new, toPath: place)
      }
      try await press.round(at(12, 1))
      _ = try await press.followLog()
    }
  }

  @Test func aLostFolderOfTheLogIsRefused() async throws {
    try await Press.run(.sample()) { press in
      try await press.beginLog()
      try await press.say([key(1), key(2)])
      try await press.round(at(8))
      let index = try press.text("NL/index.txt")
      let folder = "\(press.root)/log"
      try FileManager.default.moveItem(atPath: folder, toPath: press.root + ".kept")
      try await press.say([key(3)], now: at(9))
      try await press.expectRefusal(at(10), "log-missing-tile", "copy or a mirror")
      #expect(try press.text("NL/index.txt") == index)
      try? FileManager.default.removeItem(atPath: folder)
      try FileManager.default.moveItem(atPath: press.root + ".kept", toPath: folder)
      try await press.round(at(10, 1))
      _ = try await press.followLog()
      // And one that was never begun, or has another name.
      let nowhere = press.root + ".nowhere"
      press.log?.state = nowhere
      try await press.expectRefusal(at(12), "log-bad-state", "keyferry log init")
    }
  }

  @Test func aNameStaysTheNameOfItsLog() async throws {
    try await Press.run(.sample()) { press in
      try await press.beginLog()
      press.log?.name = "other.example.org/log"
      try await press.say([key(1), key(2)])
      try await press.expectRefusal(at(8), "log-other-origin", "never changes its name")
    }
  }

  // MARK: Crashes

  /// Killed, or without room, at every step of store, folder and log: no index names a bundle that the log which is shown
  /// does not prove, what is shown only grows, and the end is a log in which a stranger finds nothing.
  @Test(arguments: [true, false]) func aDeathAtEveryStep(isKilled: Bool) async throws {
    let steps = Mutex(0)
    try await Press.run(CrashTests.series) { press in
      try await press.beginLog()
      try await CrashTests.prepare(press)
      let fuse = CrashTests.Fuse(at: nil)
      try await Self.run(&press, fuse)
      steps.withLock { $0 = fuse.steps.withLock { $0 } }
    }
    let count = steps.withLock { $0 }
    #expect(count > 100)
    // Some of them, in turns: each kind of step is met many times.
    for step in stride(from: isKilled ? 0 : 5, to: count, by: LongList.size(47, long: 13)) {
      try await Press.run(CrashTests.series) { press in
        try await press.beginLog()
        try await CrashTests.prepare(press)
        let before = try await press.followLog()
        let error: any Error = isKilled ? CrashTests.Killed() : LogFault(.inputOutput, "No space left on device")
        try await Self.run(&press, CrashTests.Fuse(at: step, error: error))
        try await press.checkThatIndexesAreProved("step \(step)")
        let between = try await press.followLog(since: before.memory, isWhole: false)
        try await press.round(CrashTests.now)
        let after = try await press.followLog(since: between.memory)
        #expect(after.checkpoint.size >= between.checkpoint.size)
        #expect(try await press.ledger.read { try $0.queuedEntries(limit: 1) }.isEmpty, "step \(step)")
      }
    }
  }

  private static func run(_ press: inout Press, _ fuse: CrashTests.Fuse) async throws {
    let undisturbed = (press.store, press.folder, press.logHook)
    press.store = CrashTests.BurningStore(store: press.base, fuse: fuse)
    press.folder = LocalFolder(press.root) { _, _ in try fuse.burn() }
    press.logHook = { _, _ in try fuse.burn() }
    _ = try await press.publisher.round(now: CrashTests.now)
    (press.store, press.folder, press.logHook) = undisturbed
  }
}

extension Press {
  /// Begins a log in the folder, with its state outside.
  mutating func beginLog() async throws {
    var settings = EvidenceSettings(name: "keys.example.org/log", state: root + "-log-state")
    if let bucket = bucket?.folder {
      settings.place = .replicas
      let keys = LogFolder(settings.state)
      let shelf = PublishedLog(in: bucket, at: settings.folder)
      _ = try await LogWriter.create(
        name: settings.name, key: Self.logSigner.disclosed,
        state: StoredLog(of: settings.name, in: ledger, keys: keys), folder: shelf)
      _ = try await AttestationSigner.kept(in: keys, shownIn: shelf)
      return log = settings
    }
    _ = try await LogWriter.create(
      name: settings.name, key: Self.logSigner.disclosed, state: LogFolder(settings.state),
      folder: LogFolder("\(root)/\(settings.folder)"))
    log = settings
  }

  private static let logSigner = try! NoteSigner.generate(name: "keys.example.org/log")
  static var logVerifier: NoteVerifier { logSigner.verifier }

  func write(_ content: [UInt8], _ path: String) throws {
    try Data(content).write(to: URL(filePath: "\(root)/\(path)"))
  }

  /// Looks at the log as a stranger does, who finds nothing; each listed bundle has its proof.
  ///
  /// - Parameter isWhole: whether no round was interrupted: then nothing is missing either.
  @discardableResult
  func followLog(since memory: LogMemory? = nil, isWhole: Bool = true) async throws -> LogWatch.Result {
    let verifier = Self.logSigner.verifier
    let written = series.compactMap { try? manifest($0.name).written }.max()
    let now = Int(written ?? 0)
    let result = try await LogWatch(
      LogFolder("\(root)/log"), bundles: LogFolder(root), log: verifier
    ).look(since: memory, at: now)
    // A bundle that is logged, and whose index was not written yet, is there.
    #expect(result.findings == [])
    let checkpoint = result.checkpoint
    try await LogVerification(TreeReader(LogFolder("\(root)/log"), size: checkpoint.size), root: checkpoint.root)
      .run { _, _ in }
    if isWhole { try await checkThatIndexesAreProved("whole") }
    return result
  }

  func checkThatIndexesAreProved(_ comment: Comment) async throws {
    let verifier = Self.logSigner.verifier
    let checkpoint = try await LogWatch.checkpoint(of: LogFolder("\(root)/log"), by: verifier)
    let reader = TreeReader(LogFolder("\(root)/log"), size: checkpoint.size)
    for settings in series {
      guard let manifest = try? manifest(settings.name) else { continue }
      for bundle in manifest.bundles where bundle.isListed {
        let proof = try ProofFile(try bytes(bundle.path + ProofFile.ending), name: bundle.path)
        let entry = try #require(proof.extra)
        let signed = try proof.verify(entry, by: verifier, name: bundle.path)
        try await checkpoint.verifyExtends(signed, by: reader)
        let said = try LogEntry(entry, name: bundle.path)
        #expect(said.text("path") == bundle.path && said.text("archive_sha256") == bundle.sha256, comment)
        #expect(said.text("export_sha256") == bundle.exportSHA256 && said.number("keys") == bundle.keys, comment)
      }
    }
  }

  func logEntries() async throws -> [LogEntry] {
    let source = LogFolder("\(root)/log")
    let size = try await LogWatch.checkpoint(of: source, by: Self.logSigner.verifier).size
    let reader = TreeReader(source, size: size)
    var entries: [LogEntry] = []
    for number in 0..<(size + Tile.width - 1) / Tile.width {
      entries += try await reader.bundle(number).entries.map { try LogEntry($0, name: "entry") }
    }
    return entries
  }

  func expectRefusal(
    _ now: Instant, _ code: String, _ hint: String, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let receipts = try await publisher.round(now: now)
    for receipt in receipts {
      #expect(receipt.fault?.code == code, "\(receipt)", sourceLocation: sourceLocation)
      #expect(receipt.fault?.reason.contains(hint) == true, "\(receipt)", sourceLocation: sourceLocation)
      #expect(receipt.isBalanced, sourceLocation: sourceLocation)
    }
    try checkConsistency(at: now, sourceLocation: sourceLocation)
  }
}
