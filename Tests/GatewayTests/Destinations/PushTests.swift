import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyNormalization
import KeyPeers
import KeyPublishing
import KeyStorage
import Synchronization
import Testing

@testable import Federation

@Suite("Destinations: own keys go to a federation gateway, each once")
struct PushTests {
  @Test("what is due goes, once, in batches of the size that is set", arguments: DestinationSettings.Format.allCases)
  func plain(format: DestinationSettings.Format) async throws {
    try await Back.run { back in
      back.settings.format = format
      back.settings.batchKeys = 2
      let keys = (1...5).map { key($0) }
      try await back.press.say(keys, visited: ["DE", "IT"], source: "door")
      let receipt = try await back.push()
      #expect(receipt.outcome == .done)
      #expect((receipt.stored, receipt.known, receipt.refused, receipt.pending) == (5, 0, 0, 0))
      #expect(receipt.batches.map(\.keys) == [2, 2, 1])
      #expect(Set(back.gateway.keys) == Set(keys.map(\.key)))
      #expect(back.gateway.keys.count == 5)
      for (number, tag) in receipt.batches.map(\.tag).enumerated() {
        #expect(tag.hasPrefix("NL-20201204-\(number + 1)-") && tag.utf8.count <= EFGSUpload.tagLength)
      }
      let again = try await back.push()
      #expect(again.batches.isEmpty && again.selection.known == 5)
    }
  }

  @Test("only the own origin's keys go, of the sources that may, aged and not too old; nobody's echo")
  func selection() async throws {
    try await Back.run { back in
      let good = key(1)
      try await back.press.say([good], source: "door")
      // Another origin, another source, an own key that a federation brought back, and what a relay brings.
      try await back.press.say([key(2)], origin: "DE", source: "door")
      try await back.press.say([key(3)], source: "other")
      try await back.press.say([key(4)], source: "efgs")
      try await back.press.say([key(5)], origin: nil, source: "door")
      // Valid until the first day is over; it began more than fourteen days ago; a revocation of what nobody has.
      try await back.press.say([key(6, age: -1)], source: "door")
      try await back.press.say([key(7, age: 14)], source: "door")
      try await back.press.say([key(8, type: .revoked)], source: "door")
      // Another origin says that it is valid for longer: that delays it, and says nothing else.
      let short = key(9, age: 0, period: 6)
      try await back.press.say([short], source: "door")
      try await back.press.say(
        [
          short.with {
            $0.rollingPeriod = 144; $0.reportType = 5
          }
        ], origin: "DE", source: "efgs")
      let receipt = try await back.push(at(1))
      #expect(back.gateway.keys == [good.key])
      #expect(receipt.selection.held == 2)
      #expect(receipt.selection.tooOld == 1)
      #expect(receipt.selection.neverSent == 1)
      let later = try await back.push(at(3))
      #expect(later.stored == 1)
      #expect(Set(back.gateway.keys) == [good.key, short.key])
    }
  }

  @Test("a key goes as its own origin said it, whatever the policy makes of it for apps and whatever others say")
  func ownOpinion() async throws {
    try await Back.run { back in
      let mine = key(1, risk: nil, onset: nil)
      let coded = key(2, risk: 3, onset: 3997)
      try await back.press.say([mine, coded], visited: ["IT", "DE"], source: "door")
      try await back.press.say(
        [
          mine.with {
            $0.transmissionRisk = 8; $0.daysSinceOnset = 0
          }
        ], origin: "DE", source: "efgs")
      back.settings.publishing.publishing.risk.fallback = 7
      _ = try await back.push()
      let sent = try back.sent()
      #expect(sent.count == 2)
      let first = try #require(sent.first { $0.key.key == mine.key })
      #expect(first.key.transmissionRisk == nil)
      // Nobody knows whether there were symptoms; the key is two days old.
      #expect(first.key.daysSinceOnset == 3998)
      #expect(first.regions == RegionClaim(origin: "NL", visited: ["DE", "IT"]))
      let second = try #require(sent.first { $0.key.key == coded.key })
      #expect((second.key.transmissionRisk, second.key.daysSinceOnset) == (3, 3997))
    }
  }

  @Test("paused: neither the destination, nor the origin, nor the source")
  func pauses() async throws {
    try await Back.run { back in
      try await back.press.say([key(1)], source: "door")
      let word = Attribution(by: "ada")
      for subject in [Pause.Subject.source("efgs-upload"), .origin("NL")] {
        try await back.press.ledger.paused(subject, by: word, at: at(0))
        #expect(try await back.push().outcome == .paused)
        _ = try await back.press.ledger.resumed(subject, by: word, at: at(0))
      }
      try await back.press.ledger.paused(.source("door"), by: word, at: at(0))
      #expect(try await back.push().batches.isEmpty)
      _ = try await back.press.ledger.resumed(.source("door"), by: word, at: at(0))
      #expect(try await back.push().stored == 1)
    }
  }

  @Test("207 stores nothing: what is known is left out, the rest is signed anew and sent again")
  func partly() async throws {
    try await Back.run { back in
      let keys = (1...6).map { key($0) }
      try await back.press.say(keys, source: "door")
      // Two of them are there, from a life that our store has lost.
      try await Back.run { other in
        try await other.press.say(Array(keys[1...2]), source: "door")
        other.gateway = back.gateway
        #expect(try await other.push().stored == 2)
      }
      let receipt = try await back.push()
      #expect((receipt.stored, receipt.known) == (4, 2))
      #expect(receipt.batches.map(\.outcome) == ["partly-known", "stored"])
      #expect(back.gateway.keys.sorted() == keys.map(\.key).sorted())
    }
  }

  @Test(
    "a batch whose answer was not heard goes again as it was; the gateway that knows its tag is asked under a new one")
  func unheard() async throws {
    for isIdempotent in [false, true] {
      try await Back.run { back in
        back.gateway.state.withLock {
          ($0.isIdempotent, $0.troubles) = (isIdempotent, [.cutAfter])
        }
        let keys = (1...3).map { key($0) }
        try await back.press.say(keys, source: "door")
        let first = try await back.push()
        guard case .failed(let fault) = first.outcome else {
          Issue.record("nobody knows what became of it: \(first)")
          return
        }
        #expect(fault.code == .timeOut)
        #expect(first.pending == 3)
        // A clock's day later the rows would be spelled otherwise; they stay as they were.
        let second = try await back.push(at(12, days: 1))
        #expect(second.outcome == .done)
        let requests = back.gateway.state.withLock { $0.requests }
        #expect(requests[0].tag == requests[1].tag)
        #expect(requests[0].signature == requests[1].signature && requests[0].body == requests[1].body)
        #expect(second.batches[0].isSentAgain)
        #expect(second.batches.map(\.outcome) == (isIdempotent ? ["stored"] : ["tag-taken", "partly-known"]))
        #expect(second.stored + second.known == 3)
        // What this push has told of is not told once more, and nobody doubts it.
        #expect(second.selection.known == 0 && second.warning == nil)
        #expect(back.gateway.keys.count == 3)
      }
    }
  }

  @Test("one key that cannot be taken is found, told, and left out", arguments: [false, true])
  func badKey(namesKeys: Bool) async throws {
    try await Back.run { back in
      let keys = (1...9).map { key($0) }
      // By its clock one key lies in the future.
      let early = key(10, age: -1, period: 6)
      let unstorable = keys[4].key
      back.gateway.state.withLock {
        $0.now = at(-20)
        $0.namesKeys = namesKeys
        if namesKeys { $0.unstorable = [unstorable] }
      }
      try await back.press.say(keys + [early], source: "door")
      let receipt = try await back.push(at(12))
      #expect(receipt.outcome == .done)
      let refused = namesKeys ? 2 : 1
      #expect((receipt.stored, receipt.refused) == (10 - refused, refused))
      #expect(!back.gateway.keys.contains(early.key))
      let notes = try await back.press.ledger.read { try $0.pushes(of: early.key) }
      #expect(notes.first?.key.state == .refused)
      #expect(notes.first?.key.reason?.contains("Invalid rolling start") == true)
      #expect(receipt.batches.count < 12)
      let again = try await back.push(at(13))
      #expect(again.batches.isEmpty && again.selection.refused == refused)
      // The operator lets it be tried again.
      back.gateway.state.withLock { ($0.now, $0.unstorable) = (at(14), []) }
      _ = try await back.press.ledger.pushRetryAsked("efgs-upload", by: Attribution(by: "ada"), at: at(14))
      #expect(try await back.push(at(14)).stored == refused)
    }
  }

  @Test("a gateway that takes smaller batches gets smaller ones")
  func tooLarge() async throws {
    try await Back.run { back in
      back.gateway.state.withLock { $0.limit = 3 }
      try await back.press.say((1...10).map { key($0) }, source: "door")
      let receipt = try await back.push()
      #expect(receipt.stored == 10 && receipt.outcome == .done)
      #expect(back.gateway.keys.count == 10)
    }
  }

  @Test("a signature that is not believed stops the push, and no key is blamed")
  func refusedSignature() async throws {
    try await Back.run { back in
      try await back.press.say((1...4).map { key($0) }, source: "door")
      let good = back.settings.signer
      back.settings.signer = PushSigner(subject: "C=NL", thumbprint: "") { canonical, _ in canonical }
      let receipt = try await back.push()
      guard case .failed(let fault) = receipt.outcome else {
        Issue.record("\(receipt)")
        return
      }
      #expect(fault.reason == "the gateway answered 400: Invalid signature")
      #expect(receipt.batches.count == 1 && receipt.refused == 0 && receipt.pending == 4)
      // It is not asked again at once.
      guard case .waiting = try await back.push(forced: false).outcome else {
        Issue.record("it should wait")
        return
      }
      back.settings.signer = good
      #expect(try await back.push().stored == 4)
    }
  }

  @Test("keys that the gateway cannot store hold up nobody, and are left alone in the end")
  func failures() async throws {
    try await Back.run { back in
      let keys = (1...4).map { key($0) }
      let bad = keys[0].key
      back.gateway.state.withLock { $0.unstorable = [bad] }
      try await back.press.say(keys, source: "door")
      let first = try await back.push()
      #expect((first.stored, first.pending) == (3, 1))
      for hour in 13...17 { _ = try await back.push(at(Int64(hour))) }
      let note = try #require(try await back.press.ledger.read { try $0.pushes(of: bad) }.first)
      #expect(note.key.state == .refused)
      #expect(note.key.reason == "the gateway could not store it (500), 5 times in a row")
      #expect(back.gateway.keys.count == 3)
    }
  }

  @Test("a revision and a revocation go where the key went")
  func revisions() async throws {
    try await Back.run { back in
      let first = key(1, type: .selfReport)
      let never = key(2, type: .selfReport)
      try await back.press.say([first], source: "door")
      #expect(try await back.push().stored == 1)
      try await back.press.say([first.with { $0.reportType = 2 }], source: "door")
      let revised = try await back.push()
      #expect((revised.stored, revised.selection.revised) == (1, 1))
      try await back.press.say([first, never].map { key in key.with { $0.reportType = 5 } }, source: "door")
      let revoked = try await back.push()
      #expect((revoked.stored, revoked.selection.neverSent) == (1, 1))
      #expect(try back.sent().map(\.key.reportType) == [3, 2, 5])
      #expect(try back.sent().allSatisfy { $0.key.key == first.key })
      #expect(try await back.push().batches.isEmpty)
    }
  }

  @Test("a rehearsal selects, signs and tells, and neither sends nor notes anything")
  func rehearsal() async throws {
    try await Back.run { back in
      back.settings.isRehearsal = true
      back.settings.batchKeys = 2
      try await back.press.say((1...3).map { key($0) }, source: "door")
      for _ in 0..<2 {
        let receipt = try await back.push()
        #expect(receipt.outcome == .rehearsed)
        #expect(receipt.batches.map(\.outcome) == ["rehearsed", "rehearsed"])
        #expect(receipt.batches.map(\.keys) == [2, 1])
      }
      #expect(back.gateway.state.withLock { $0.requests.isEmpty })
      #expect(try await back.press.ledger.read { try $0.pushes(to: nil, in: Set(PushState.allCases)) }.isEmpty)
    }
  }

  @Test("an erased key is not sent again with a batch that waits")
  func erased() async throws {
    try await Back.run { back in
      let keys = (1...3).map { key($0) }
      back.gateway.state.withLock { $0.troubles = [.cutBefore] }
      try await back.press.say(keys, source: "door")
      _ = try await back.push()
      _ = try await back.press.ledger.erased(
        keys[0].key, digest: "ab", by: Attribution(by: "ada"), at: at(12), contents: { _ in [] })
      let receipt = try await back.push()
      #expect(receipt.batches.map(\.outcome) == ["erased", "stored"])
      #expect(Set(back.gateway.keys) == Set(keys[1...].map(\.key)))
    }
  }

  @Test("207 by which nothing is settled ends the push, and is a fault of the gateway")
  func fruitless() async throws {
    try await Back.run { back in
      back.settings.batchKeys = 3
      back.gateway.state.withLock {
        $0.lie = { count in
          (207, #"{"201":[\#((0..<count).map(String.init).joined(separator: ","))],"409":[],"500":[]}"#)
        }
      }
      try await back.press.say((1...8).map { key($0) }, source: "door")
      let receipt = try await back.push()
      #expect(receipt.code == "settles-nothing", "\(receipt)")
      #expect(back.gateway.state.withLock { $0.requests.count } == 2)
      #expect((receipt.stored, receipt.known, receipt.pending) == (0, 0, 8))
      let status = try await back.status()
      #expect(status.state == "failing" && status.waiting == 8 && status.attempt?.lastSuccess == nil)
      guard case .waiting = try await back.push(forced: false).outcome else {
        Issue.record("it should wait")
        return
      }
      back.gateway.state.withLock { $0.lie = nil }
      #expect(try await back.push().stored == 8)
      #expect(try await back.status().waiting == 0)
    }
  }

  @Test("207 that cannot count leaves the batch as it is, and it goes once a push")
  func malformedAnswer() async throws {
    try await Back.run { back in
      back.gateway.state.withLock { $0.lie = { _ in (207, #"{"201":[0],"409":[99]}"#) } }
      try await back.press.say((1...4).map { key($0) }, source: "door")
      for number in 1...2 {
        let receipt = try await back.push()
        #expect(receipt.code == "malformed-answer" && receipt.pending == 4)
        #expect(back.gateway.state.withLock { $0.requests.count } == number)
      }
      #expect(Set(back.gateway.state.withLock { $0.requests.map(\.tag) }).count == 1)
      back.gateway.state.withLock { $0.lie = nil }
      #expect(try await back.push().stored == 4)
    }
  }

  @Test("a gateway that claims to have what nobody sent is doubted, and is offered it anew when the operator says so")
  func claimsToHave() async throws {
    try await Back.run { back in
      back.gateway.state.withLock {
        $0.lie = { count in (207, #"{"409":[\#((0..<count).map(String.init).joined(separator: ","))]}"#) }
      }
      try await back.press.say([key(1)], source: "door")
      // One key may well have gone from elsewhere.
      #expect(try await back.push().warning == nil)
      try await back.press.say((2...5).map { key($0) }, source: "door")
      let receipt = try await back.push()
      #expect(receipt.outcome == .done && receipt.known == 4)
      #expect(receipt.warning?.code.rawValue == "known-unsent")
      #expect(receipt.warning?.reason.contains("keyferry push efgs-upload --again") == true)
      // It is told until the gateway takes keys.
      #expect(try await back.push().batches.isEmpty)
      #expect(try await back.status().attempt?.warning == receipt.warning)
      back.gateway.state.withLock { $0.lie = nil }
      let word = Attribution(by: "ada")
      #expect(try await back.press.ledger.pushRepeatAsked("efgs-upload", by: word, at: at(12)) == 5)
      let again = try await back.push()
      #expect((again.stored, again.selection.revised) == (5, 0))
      #expect(try await back.status().attempt?.warning == nil)
      // Where it has them, nothing is there twice.
      #expect(try await back.press.ledger.pushRepeatAsked("efgs-upload", by: word, at: at(12)) == 5)
      #expect(try await back.push().known == 5)
      #expect(back.gateway.keys.count == 5)
    }
  }

  @Test("a key whose person did not agree stays at home; what is said later of one that went follows it")
  func consent() async throws {
    try await Back.run { back in
      back.settings.doors = ["door"]
      back.settings.sources = ["door", "server"]
      let (no, yes, server, both) = (key(1, type: .selfReport), key(2, type: .selfReport), key(3), key(4))
      try await back.press.say([no, both], visited: ["NL"], source: "door")
      try await back.press.say([yes, both], visited: ["DE", "NL"], source: "door")
      // The people of a server of the own are asked there.
      try await back.press.say([server], visited: ["NL"], source: "server")
      let receipt = try await back.push()
      #expect((receipt.stored, receipt.selection.forOriginAlone) == (3, 1))
      #expect(Set(back.gateway.keys) == [yes.key, server.key, both.key])
      #expect(try await back.answer(no).text == "stays at home: who uploaded it said so")
      #expect(try await back.answer(no).mayGo == false)
      try await back.press.say(
        [yes, no].map { key in key.with { $0.reportType = 5 } }, visited: ["NL"], source: "door")
      let later = try await back.push()
      #expect((later.stored, later.selection.revised, later.selection.forOriginAlone) == (1, 1, 1))
      #expect(!back.gateway.keys.contains(no.key))
      // The operator names the countries for all, and the person's word holds.
      back.settings.regions = ["DE"]
      #expect(try await back.push().batches.isEmpty)
    }
  }

  @Test("413 to one key is no fault of the key")
  func nothingIsSmallEnough() async throws {
    try await Back.run { back in
      back.gateway.state.withLock { $0.limit = 0 }
      try await back.press.say((1...4).map { key($0) }, source: "door")
      let receipt = try await back.push()
      #expect(receipt.code == "too-large", "\(receipt)")
      #expect((receipt.refused, receipt.pending, receipt.batches.map(\.keys)) == (0, 4, [4, 2, 1]))
      back.gateway.state.withLock { $0.limit = 5000 }
      #expect(try await back.push().stored == 4)
    }
  }

  @Test("a gateway that refuses every key refuses none of them for what it is")
  func refusesEveryKey() async throws {
    try await Back.run { back in
      back.gateway.state.withLock { $0.lie = { _ in (400, #"{"message":"no","key":0}"#) } }
      try await back.press.say((1...120).map { key($0) }, source: "door")
      let receipt = try await back.push()
      #expect(receipt.code == "refuses-every-key")
      #expect((receipt.stored, receipt.refused, receipt.pending) == (0, 0, 120))
      #expect(try await back.status().keys == [.pending: 120])
      back.gateway.state.withLock { $0.lie = nil }
      #expect(try await back.push().stored == 120)
    }
  }

  @Test("what waits is told whole, whatever stopped the push, and in a rehearsal")
  func waiting() async throws {
    try await Back.run { back in
      back.settings.batchKeys = 2
      try await back.press.say((1...5).map { key($0) }, source: "door")
      back.settings.isRehearsal = true
      #expect(try await back.push().pending == 5)
      #expect(try await back.status().waiting == 5)
      back.settings.isRehearsal = false
      for trouble in [FederationModel.Trouble.refusedConnection, .forbidden, .cutBefore, .unavailable] {
        back.gateway.state.withLock { $0.troubles = [trouble] }
        let receipt = try await back.push()
        let status = try await back.status()
        #expect(receipt.pending == 5 && status.waiting == 5, "\(trouble)")
      }
      #expect(try await back.status(readsClaims: false).waiting == nil)
      #expect(try await back.push().stored == 5)
      #expect(try await back.status().waiting == 0)
      #expect(try await back.answer(key(1)).told.first?.tag != nil)
    }
  }

  @Test("while it is paused, nothing is said to go, and no attempt is due")
  func pausedAnswers() async throws {
    try await Back.run { back in
      try await back.press.say([key(1)], source: "door")
      #expect(try await back.answer(key(1)).text == "goes with the next push")
      try await back.press.ledger.paused(.source("efgs-upload"), by: Attribution(by: "ada"), at: at(0))
      #expect(try await back.answer(key(1)).text == "goes once the destination goes on: it is paused")
      let status = try await back.status()
      #expect(status.state == "paused" && status.nextAttempt == nil && status.waiting == 1)
    }
  }

  @Test("a batch that waited until no gateway takes it is told as too old, with its keys")
  func outlived() async throws {
    for removed in [false, true] {
      try await Back.run { back in
        back.gateway.state.withLock { $0.troubles = [.cutBefore] }
        try await back.press.say((1...3).map { key($0) }, source: "door")
        _ = try await back.push()
        let later = at(12, days: 20)
        if removed {
          _ = try await back.press.ledger.expired(keysExpiredBefore: later, at: SoundTime(toldByOperator: later))
        }
        let receipt = try await back.push(later)
        #expect(receipt.batches.map(\.outcome) == ["too-old"])
        #expect((receipt.selection.tooOld, receipt.pending) == (3, 0))
        #expect(try await back.push(later).batches.isEmpty)
      }
    }
  }

  @Test("whatever the gateway answers and wherever the store fails, each key is there once in the end and no other")
  func law() async throws {
    var random = SeededRandom(for: "pushing under trouble")
    for _ in 0..<60 {
      try await Back.run { back in
        back.settings.batchKeys = Int.random(in: 1...7, using: &random)
        back.settings.format = random.pick(DestinationSettings.Format.allCases)
        let isIdempotent = Bool.random(using: &random)
        back.gateway.state.withLock {
          $0.isIdempotent = isIdempotent
          $0.limit = random.pick([2, 5, 5000])
          $0.namesKeys = Bool.random(using: &random)
        }
        var expected: Set<TemporaryExposureKey> = []
        for round in 0..<6 {
          let numbers = (0..<Int.random(in: 0...8, using: &random)).map { UInt64(round * 20 + $0 + 1) }
          let mine = numbers.filter { _ in Bool.random(using: &random) }
          try await back.press.say(mine.map { key($0) }, source: "door")
          try await back.press.say(numbers.filter { !mine.contains($0) }.map { key($0) }, origin: "DE", source: "efgs")
          expected.formUnion(mine.map { key($0).key })
          let troubles = (0..<Int.random(in: 0...3, using: &random)).map { _ in
            random.pick(FederationModel.Trouble.allCases)
          }
          back.gateway.state.withLock { $0.troubles = troubles }
          let failing = FailingStore(back.press.base, failingAt: Int.random(in: 0...12, using: &random))
          // A process that ends in the middle, wherever that is.
          _ = try? await back.push(at(12 + Int64(round)), ledger: Ledger(failing))
        }
        back.gateway.state.withLock { $0.troubles = [] }
        for hour in 20...22 { _ = try await back.push(at(Int64(hour))) }
        let sent = back.gateway.keys
        #expect(Set(sent) == expected)
        #expect(sent.count == expected.count, "a key is there twice")
        #expect(try await back.press.ledger.read { try $0.pushes(to: nil, in: [.staged]) }.isEmpty)
        #expect(
          try await back.press.ledger.read { try $0.pushedKeyCounts(to: "efgs-upload") }
            == (expected.isEmpty ? [:] : [.stored: expected.count]))
      }
    }
  }
}

@Suite("Destinations: what a gateway's answer means")
struct UploadVerdictTests {
  @Test(
    "207 in every state of disorder",
    arguments: [
      (#"{"201":[0,2],"409":[1],"500":[]}"#, UploadVerdict.partly(wouldBeStored: [0, 2], known: [1], failed: [])),
      (#"{"409":[0,1,2]}"#, .partly(wouldBeStored: [], known: [0, 1, 2], failed: [])),
      // The same key twice in one list, and lists of another kind.
      (#"{"201":[0,0,2],"409":[1],"404":[1]}"#, .partly(wouldBeStored: [0, 2], known: [1], failed: [])),
    ])
  func multiStatus(body: String, verdict: UploadVerdict) {
    #expect(EFGSUpload.verdict(of: .response(ResponseHead(status: 207), Array(body.utf8)), keyCount: 3) == verdict)
  }

  @Test(
    "207 that does not count the keys of the batch says nothing about any",
    arguments: [
      (#"{"201":[0,1],"409":[2,3]}"#, "names a key 3 under 409, allowed 0...2"),
      (#"{"201":[0,1,-1],"409":[2]}"#, "names a key -1 under 201, allowed 0...2"),
      (#"{"201":[0,1],"409":[2],"500":[1]}"#, "names key 1 under both 201 and 500"),
      (#"{"201":[0],"409":[],"500":[]}"#, "does not say what became of 2 of 3 keys, the first is key 1"),
      (#"{}"#, "does not say what became of 3 of 3 keys, the first is key 0"),
      (#"{"201":["0"]}"#, "that do not say what became of each key"), ("", "with 0 bytes"),
    ])
  func malformed(body: String, reason: String) {
    let verdict = EFGSUpload.verdict(of: .response(ResponseHead(status: 207), Array(body.utf8)), keyCount: 3)
    guard case .unknown(let fault) = verdict else {
      Issue.record("\(verdict)")
      return
    }
    #expect(fault.code == .malformedAnswer)
    #expect(fault.reason.contains(reason), "\(fault.reason)")
  }

  @Test(
    "statuses",
    arguments: [
      (201, "", "stored"), (207, "[1]", "unknown"), (409, "", "tagTaken"), (413, "{}", "tooLarge"),
      (500, "", "unknown"),
      (503, "", "unknown"), (429, "", "unknown"), (408, "", "unknown"), (401, "", "refused"), (403, "", "refused"),
      (404, "", "refused"), (406, "", "refused"), (415, "", "refused"), (200, "", "refused"), (302, "", "refused"),
      (400, "", "refused"), (400, #"{"message":"Invalid signature"}"#, "refused"),
      (400, #"{"message":"x: Validation of diagnosis key failed: y"}"#, "keyRefused(nil"),
      (400, #"{"message":"x","key":2}"#, "keyRefused(Optional(2)"), (400, #"{"message":"x","key":3}"#, "refused"),
      (400, #"{"message":"x","key":1,"step":"origin"}"#, "refused"), (400, #"{"detail":"x","step":7}"#, "refused"),
    ])
  func statuses(status: Int, body: String, verdict: String) {
    let answer = PeerAnswer.response(ResponseHead(status: status), Array(body.utf8))
    #expect("\(EFGSUpload.verdict(of: answer, keyCount: 3))".hasPrefix(verdict))
  }

  @Test("what never left is told apart from what nobody heard of")
  func faults() {
    for code in [FaultCode.connectionRefused, .nameNotFound, .unreachable, .badAddress] {
      let fault = DocumentFault(code: code, reason: "x")
      #expect(EFGSUpload.verdict(of: .fault(fault), keyCount: 1) == .notSent(fault))
    }
    for code in [FaultCode.connectionClosed, .timeOut, .tls, .malformedResponse] {
      let fault = DocumentFault(code: code, reason: "x")
      #expect(EFGSUpload.verdict(of: .fault(fault), keyCount: 1) == .unknown(fault))
    }
  }

  @Test(
    "key data that a gateway repeats is not shown; words and digests are",
    arguments: [
      ("Invalid key=38aaf84e58056d8f2fa8edd094ba97ae.", "Invalid key=(32 characters)."),
      ("keyData: ABEiM0RVZneImaq7zN3u/w==", "keyData: (22 characters)=="),
      ("keyData: QBEiMqRVZneImaqHzNTuxw==", "keyData: (22 characters)=="),
      ("counterdemonstrationally", "counterdemonstrationally"),
      ("Misunderstandingstherein", "Misunderstandingstherein"),
      ("internationalizations", "internationalizations"), ("Deinstitutionalization", "Deinstitutionalization"),
      (
        "SHA-256 042106f5fe307dbc6e6fc4274970e13be2ae3bd99837231c9d0172e1681b1961",
        "SHA-256 042106f5fe307dbc6e6fc4274970e13be2ae3bd99837231c9d0172e1681b1961"
      ),
    ])
  func keyData(said: String, shown: String) {
    let body = Array("{\"message\":\"\(said)\"}".utf8)
    let verdict = EFGSUpload.verdict(of: .response(ResponseHead(status: 403), body), keyCount: 1)
    #expect(verdict == .refused(DocumentFault(code: .forbidden, reason: "the gateway answered 403: \(shown)")))
  }

  @Test("what a gateway says is shown short and harmless")
  func words() {
    let body = Array(#"{"message":"a\u001b[31mb"}"#.utf8)
    let verdict = EFGSUpload.verdict(of: .response(ResponseHead(status: 403), body), keyCount: 1)
    #expect(verdict == .refused(DocumentFault(code: .forbidden, reason: "the gateway answered 403: a?[31mb")))
  }
}

/// A national back end and the gateway that it hands its keys to.
struct Back {
  var press: Press
  var settings: DestinationSettings
  var gateway: FederationModel

  static func run(_ body: (inout Back) async throws -> Void) async throws {
    try await Press.run([]) { press in
      var policy = Policy(name: "test")
      policy.publishing.emptyVisited = .none
      policy.publishing.includesOrigin = false
      let settings = DestinationSettings(
        name: "efgs-upload", location: "https://efgs.example", origin: "nl", sources: ["door"], publishing: policy,
        signer: PushSigner(subject: "C=NL,CN=test", thumbprint: "ab") { canonical, _ in
          FederationModel.signature(of: canonical)
        })
      var back = Back(press: press, settings: settings, gateway: FederationModel(now: at(12)))
      try await body(&back)
    }
  }

  func push(_ now: Instant = at(12), forced: Bool = true, ledger: Ledger? = nil) async throws -> PushReceipt {
    gateway.state.withLock { $0.now = max($0.now, now == at(12) || now == at(13) ? $0.now : now) }
    let pusher = Pusher(ledger: ledger ?? press.ledger, clock: { now })
    return try await pusher.push(to: settings, through: gateway, isForced: forced)
  }

  func status(readsClaims: Bool = true) async throws -> DestinationStatus {
    let settings = settings
    return try await press.ledger.read {
      try DestinationStatus(of: settings, in: $0, now: at(12), readsClaims: readsClaims)
    }
  }

  /// What is told of a key.
  func answer(_ key: ClaimedKey) async throws -> DestinationAnswer {
    let settings = settings
    return try await press.ledger.read {
      try DestinationAnswer(of: key.key, to: settings, in: $0, try $0.record(of: key.key), now: at(12))
    }
  }

  /// What the gateway has taken, as it came.
  func sent() throws -> [(key: ClaimedKey, regions: RegionClaim)] {
    let requests = gateway.state.withLock { $0.requests.filter { $0.status == 201 } }
    return try requests.flatMap { request in
      let decoded = try DecodedDocument(request.body)
      return decoded.keys.map { ($0, decoded.regions[$0.regions]) }
    }
  }
}

extension PushReceipt {
  /// Of the fault by which it ended.
  fileprivate var code: String? { if case .failed(let fault) = outcome { fault.code.rawValue } else { nil } }
}
