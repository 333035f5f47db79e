import BundleTrust
import ExposureKeys
import GatewayTesting
import KeyFormats
import KeyIntake
import KeyNormalization
import KeyPeers
import KeyReceiving
import KeyStorage
import Testing

/// Another reading policy, and the bytes that are kept.
@Suite struct RereadingTests {
  static let word = Attribution(by: "ada", reason: "levels")

  /// Rejects every other key, and reads the others without their risk level.
  static func strict(_ settings: SourceSettings) -> SourceSettings {
    var settings = settings
    settings.reading.name = "strict"
    settings.reading.reading.reportTypes = [.confirmedTest, .confirmedClinicalDiagnosis]
    settings.reading.reading.onsetCodes = .exact
    settings.reading.reading.undefinedOnset = .notGiven
    return settings
  }

  /// As if the claims had been read by the new policy in the first place: the law that rereading keeps.
  @Test(arguments: 0..<3) func rereadingIsReading(number: UInt64) async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      try server.publish(keys(120, seed: number), as: "a.zip")
      try server.publish(keys(80, seed: number + 10), as: "b.zip")
      // The same keys once more: another document has said so already.
      try server.publish(keys(120, seed: number), as: "c.zip")
      let (old, new) = (server.settings(), Self.strict(server.settings()))

      let fresh = Receiver(folder: folder + "/fresh")
      _ = try await fresh.pull(new, server.peer)
      let receiver = Receiver(folder: folder + "/old")
      _ = try await receiver.pull(old, server.peer)
      let before = try await receiver.claims()
      let expected = try await fresh.claims()
      #expect(before != expected)

      server.peer.forget()
      let rereading = Rereading(of: new, ownOrigins: [])
      let preview = try await receiver.ledger.read { try rereading.preview(in: $0) }
      #expect(try await receiver.claims() == before, "a preview changes nothing")
      let receipt = try await rereading.carryOut(in: receiver.ledger, by: Self.word, at: receiver.now)
      #expect(server.peer.asked.isEmpty, "no peer is asked")
      #expect(try await receiver.claims() == expected)
      #expect(receipt.documents == 3 && receipt.refusals.isEmpty && receipt.isDone && !preview.isDone)
      #expect(receipt.removed == preview.removed && receipt.lost == preview.lost && receipt.lost.count > 0)
      #expect(receipt.rejectionsNow == preview.rejectionsNow && receipt.rejectionsNow != receipt.rejectionsBefore)
      let documents = try await receiver.documents()
      #expect(documents.allSatisfy { $0.facts?.counts.isBalanced == true && $0.facts?.reading?.policy == "strict" })
      #expect(documents.map { $0.facts?.rejections } == (try await fresh.documents()).map { $0.facts?.rejections })

      // Once more changes nothing, and back is back.
      let again = try await rereading.carryOut(in: receiver.ledger, by: Self.word, at: receiver.now)
      #expect(again.documents == 0 && again.alreadyRead == 3 && again.isEmpty)
      _ = try await Rereading(of: old, ownOrigins: []).carryOut(in: receiver.ledger, by: Self.word, at: receiver.now)
      #expect(try await receiver.claims() == before)
      #expect(
        try await receiver.ledger.read {
          try $0.usualVolumes(before: Day(daysSince1970: receiver.now.day.daysSince1970 + 2), of: "us")
        } == volumes(of: before))
    }
  }

  private func volumes(of claims: Set<StatedClaim>) -> [String: Int] {
    claims.compactMap(\.origin).reduce(into: [:]) { $0[$1, default: 0] += 1 }
  }

  @Test func whatNobodyStandsBehindStaysAsItWasRead() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      try server.publish(keys(60, seed: 1), as: "a.zip")
      let receiver = Receiver(folder: folder)
      _ = try await receiver.pull(server.settings(), server.peer)
      let before = try await receiver.claims()
      var settings = Self.strict(server.settings())
      settings.trust = .ring(try IndexServer(keyID: "999").ring)
      let receipt = try await Rereading(of: settings, ownOrigins: []).carryOut(
        in: receiver.ledger, by: Self.word, at: receiver.now)
      #expect(receipt.refusals.map(\.document) == ["a.zip"] && receipt.documents == 0)
      #expect(try await receiver.claims() == before)
    }
  }

  @Test func whatWasRecalledOrDiscardedStaysSo() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      try server.publish(keys(60, seed: 1), as: "a.zip")
      let receiver = Receiver(folder: folder)
      let old = Self.strict(server.settings())
      _ = try await receiver.pull(old, server.peer)
      receiver.advance(seconds: 60)
      let origins = Set(try await receiver.claims().compactMap(\.origin))
      for origin in origins {
        _ = try await receiver.ledger.recalled(RecallRequest(origin: origin), by: Self.word, at: receiver.now)
      }
      receiver.advance(seconds: 60)
      let receipt = try await Rereading(of: server.settings(), ownOrigins: []).carryOut(
        in: receiver.ledger, by: Self.word, at: receiver.now)
      #expect(receipt.gained.count > 0)
      #expect(try await receiver.claims().filter { $0.origin.map(origins.contains) ?? false }.isEmpty)
    }
  }

  @Test func keptDocumentsAreComparedWithTheClaims() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      try server.publish(keys(60, seed: 1), as: "a.zip")
      try server.publish(keys(40, seed: 2), as: "b.zip")
      let receiver = Receiver(folder: folder)
      let settings = server.settings()
      _ = try await receiver.pull(settings, server.peer)
      func findings(_ settings: SourceSettings) async throws -> KeptDocumentCheck.Findings {
        try await KeptDocumentCheck(of: [settings], ownOrigins: [], retention: Retention()).run(in: receiver.ledger)
      }
      let whole = try await findings(settings)
      #expect(whole.faults == [] && whole.compared == 2 && whole.notKept == 0)
      #expect(try await findings(Self.strict(settings)).readByOtherPolicy == 2)
      var untrusted = settings
      untrusted.trust = .ring(try IndexServer(keyID: "999").ring)
      let refused = try await findings(untrusted)
      #expect(refused.faults == [] && refused.refused == 2)

      // A key that was erased is not missed, though the bytes are still there.
      let document = try #require(try await receiver.documents().first { $0.name == "a.zip" })
      let claims = try await receiver.claims().sorted(by: StatedClaim.precedes)
      let kept = try await receiver.ledger.read { try $0.keptClaims(about: Set(claims.map(\.subject.key))) }
      let ours = kept.filter { $0.document == document.id }.map(\.claim).sorted(by: StatedClaim.precedes)
      let (erased, claim) = (ours[0], ours[1])
      let facts = try #require(document.facts)
      let digest = ExportDigests(of: erased.subject.key.bytes).hexadecimal
      _ = try await receiver.ledger.erased(erased.subject.key, digest: digest, by: Self.word, at: receiver.now) { _ in
        []
      }
      #expect(try await findings(settings) == whole)

      // A row has another origin.
      let changed = StatedClaim(
        subject: claim.subject, statement: claim.statement, origin: claim.origin == "XX" ? "YY" : "XX",
        visited: claim.visited, source: claim.source)
      try await receiver.ledger.reread(settings.name, by: Self.word, at: receiver.now) { _, replacer in
        var change = ReadingChange()
        (change.removed, change.added) = ([claim], [changed])
        try replacer.replace(document, change, from: document.arrived) { _ in facts }
      }
      let found = try await findings(settings)
      #expect(
        found.faults == [
          "us/a.zip: a claim in the store that the document does not make, a claim of the document that the store lacks"
        ])
      #expect(found.compared == 2)
      // What has expired is not missed.
      let late = Instant(secondsSince1970: receiver.now.secondsSince1970 + 400 * 86_400)
      try await receiver.store.write(as: .moving) {
        try $0.setNote(Array("\(late.secondsSince1970)".utf8), named: StoredNote.retention.name)
      }
      #expect(
        try await findings(settings).faults
          == ["us/a.zip: a claim in the store that the document does not make"])
    }
  }

  @Test func checkTellsWhatWasReadOtherwise() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      try server.publish(keys(60, seed: 1), as: "a.zip")
      let receiver = Receiver(folder: folder)
      let (old, new) = (server.settings(), Self.strict(server.settings()))
      _ = try await receiver.pull(old, server.peer)
      func stale(_ settings: SourceSettings) async throws -> [StaleReading] {
        try await receiver.ledger.read {
          try StaleReading.all(of: [settings], ownOrigins: [], in: $0, from: Instant(secondsSince1970: 0))
        }
      }
      #expect(try await stale(old).isEmpty)
      let found = try #require(try await stale(new).first)
      #expect(found.documents == 1 && found.unkept == 0 && found.policies == ["default"] && found.policy == "strict")
      // Its name is no part of a policy, and who may speak is.
      var renamed = old
      renamed.reading.name = "other"
      #expect(try await stale(renamed).isEmpty)
      renamed.speaksFor = ["US"]
      #expect(try await stale(renamed).count == 1)
      _ = try await Rereading(of: new, ownOrigins: []).carryOut(in: receiver.ledger, by: Self.word, at: receiver.now)
      #expect(try await stale(new).isEmpty)
    }
  }

  /// The digest of a policy is the same in every process, and no setting is left out.
  @Test func everySettingIsInTheDigest() {
    #expect(ReadingPolicy().settings.isEmpty)
    var policy = ReadingPolicy()
    policy.excludedOrigins = ["DE", "AT", "IT", "FR", "ES"]
    policy.floodFactor = nil
    policy.maximumAge = 3
    policy.earliestRollingStart = Day(daysSince1970: 18_300)
    #expect(
      policy.settings == """
        earliestRollingStart: (daysSince1970=18300)
        excludedOrigins: {AT,DE,ES,FR,IT}
        floodFactor: none
        maximumAge: some(some=3)
        """)
  }
}
