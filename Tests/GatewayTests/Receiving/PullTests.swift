import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyNormalization
import KeyPeers
import KeyReceiving
import KeyStorage
import Testing

@Suite("Pulling from a peer")
struct PullTests {
  @Test("records what is new, once")
  func recordsOnce() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      try server.publish(keys(100, seed: 1), as: "a.zip")
      try server.publish(keys(50, seed: 2), as: "b.zip")
      let receiver = Receiver(folder: folder)

      let first = try await receiver.pull(server.settings(), server.peer)
      #expect(first.outcome == .done)
      #expect(first.recorded == 2)
      #expect(first.counts.new == 150)
      #expect(try await receiver.claims().count == 150)

      server.peer.forget()
      let second = try await receiver.pull(server.settings(), server.peer)
      #expect(second.recorded == 0)
      #expect(server.peer.asked == ["/index.txt"], "what is recorded is not fetched again")

      try server.publish(keys(10, seed: 3), as: "c.zip")
      let third = try await receiver.pull(server.settings(), server.peer)
      #expect(third.counts.new == 10)
      let facts = try #require(try await receiver.documents().last?.facts)
      #expect(facts.vouchedBy == "signature of 310 v1")
    }
  }

  @Test("puts a bundle without a trusted signature into quarantine, and goes on")
  func quarantine() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      let stranger = try SigningIdentity(key: .generate(), keyID: "666", keyVersion: "v1")
      try server.publish(keys(10, seed: 1), as: "good.zip")
      try server.publish(keys(20, seed: 2), as: "bad.zip", signedBy: stranger)
      try server.publish(keys(30, seed: 3), as: "also-good.zip")
      let receiver = Receiver(folder: folder)

      let receipt = try await receiver.pull(server.settings(), server.peer)
      #expect(receipt.outcome == .done)
      #expect(receipt.recorded == 2)
      #expect(receipt.refusals.map(\.document) == ["bad.zip"])
      #expect(receipt.refusals.map(\.fault.code) == ["signature-not-trusted"])
      #expect(try await receiver.claims().count == 40)
      let refused = try #require(try await receiver.documents([.quarantined]).first)
      #expect(try await receiver.store.read { try $0.content(of: refused.id) } == server.peer["/bad.zip"]?.body)

      // Before its time it is not tried again; afterwards it is, with the ring of that day.
      server.peer.forget()
      _ = try await receiver.pull(server.settings(), server.peer)
      #expect(server.peer.asked == ["/index.txt"])
      receiver.advance(seconds: 86_400)
      let trusting = TrustRing(keys: [server.identity.verificationKey, stranger.verificationKey])
      let later = try await receiver.pull(server.settings(trust: trusting), server.peer)
      #expect(later.counts.new == 20)
      #expect(try await receiver.documents([.quarantined]).isEmpty)
    }
  }

  @Test("an export and the signature file beside it go into quarantine together")
  func quarantinedPair() async throws {
    try await withFolder { folder in
      let server = try IndexServer()
      let stranger = try SigningIdentity(key: .generate(), keyID: "666", keyVersion: "v1")
      let archive = try ZipArchive(MemorySource(try bundle(keys(20, seed: 1), signedBy: stranger)))
      let drop = URL(filePath: folder).appending(path: "drop")
      try FileManager.default.createDirectory(at: drop, withIntermediateDirectories: true)
      for (entry, name) in [("export.bin", "a.bin"), ("export.sig", "a.sig")] {
        let bytes = try archive.open(try #require(archive[entry])).readAll(limit: 1 << 20)
        try Data(bytes).write(to: drop.appending(path: name))
      }
      let receiver = Receiver(folder: folder)
      // A file that was changed just now may still be written.
      let transport = FolderTransport(path: drop.path) { Instant(secondsSince1970: 4_000_000_000) }
      var settings = server.settings("drop", readingFolder: drop.path)

      #expect(try await receiver.pull(settings, transport).refusals.map(\.fault.code) == ["signature-not-trusted"])
      let refused = try #require(try await receiver.documents([.quarantined]).first)
      let kept = try #require(try await receiver.store.read { try $0.content(of: refused.id) })
      #expect(try KeyDocument(MemorySource(kept)).signatures().count == 1)
      receiver.advance(seconds: 86_400)
      settings.trust = .ring(TrustRing(keys: [stranger.verificationKey]))
      #expect(try await receiver.pull(settings, transport).counts.new == 20)
      #expect(try await receiver.documents([.quarantined]).isEmpty)
    }
  }

  @Test(
    "an error message in a folder is refused: it is no document without keys",
    arguments: [
      "Error: Unauthorized\n", "status: ok\n", #"{"error":"x"}"#,
    ])
  func errorMessage(text: String) async throws {
    try await withFolder { folder in
      let drop = URL(filePath: folder).appending(path: "drop")
      try FileManager.default.createDirectory(at: drop, withIntermediateDirectories: true)
      try Data(text.utf8).write(to: drop.appending(path: "answer.txt"))
      let receiver = Receiver(folder: folder)
      let transport = FolderTransport(path: drop.path) { Instant(secondsSince1970: 4_000_000_000) }
      var settings = try IndexServer().settings("drop", readingFolder: drop.path)
      settings.trust = .operator
      #expect(try await receiver.pull(settings, transport).refusals.map(\.fault.code) == ["unrecognized-format"])
    }
  }

  @Test("gives a document up that is refused again and again, and keeps its reason")
  func givesUp() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      try server.publish(keys(10, seed: 1), as: "a.zip")
      server.peer["/a.zip"] = MemoryPeer.Answer(body: Array("<!DOCTYPE html><html>not found</html>".utf8))
      let receiver = Receiver(folder: folder)
      for _ in 0..<20 {
        _ = try await receiver.pull(server.settings(), server.peer)
        receiver.advance(seconds: 172_800)
      }
      let document = try #require(try await receiver.documents().first)
      #expect(document.state == .givenUp)
      #expect(document.fault?.code == "unrecognized-format")
      #expect(try await receiver.claims().isEmpty)
    }
  }

  @Test("a refused file whose bytes are gone from the store and from its folder is given up, with its first reason")
  func refusedAndGone() async throws {
    try await withFolder { folder in
      let server = try IndexServer()
      let stranger = try SigningIdentity(key: .generate(), keyID: "666", keyVersion: "v1")
      let drop = URL(filePath: folder).appending(path: "drop")
      try FileManager.default.createDirectory(at: drop, withIntermediateDirectories: true)
      try Data(try bundle(keys(20, seed: 1), signedBy: stranger)).write(to: drop.appending(path: "a.zip"))
      let receiver = Receiver(folder: folder)
      let transport = FolderTransport(path: drop.path) { Instant(secondsSince1970: 4_000_000_000) }
      let settings = server.settings("drop", readingFolder: drop.path)
      #expect(try await receiver.pull(settings, transport).refusals.map(\.fault.code) == ["signature-not-trusted"])

      // The time of the quarantine is over: its bytes go, in the store and in the folder for refused files.
      try FileManager.default.removeItem(at: drop)
      try FileManager.default.createDirectory(at: drop, withIntermediateDirectories: true)
      receiver.advance(seconds: 15 * 86_400)
      _ = try await receiver.ledger.expired(
        keysExpiredBefore: Instant(secondsSince1970: 0), at: SoundTime(toldByOperator: receiver.now))
      let receipt = try await receiver.pull(settings, transport)
      #expect(receipt.outcome == .done)
      let document = try #require(try await receiver.documents().first)
      #expect(document.state == .givenUp && document.fault?.code == "signature-not-trusted")
      #expect(document.fault?.reason.hasSuffix("the peer has it no more") == true)
      // And that is the end of it.
      receiver.advance(seconds: 86_400)
      #expect(try await receiver.pull(settings, transport).refusals.isEmpty)
    }
  }

  @Test("keys that were in the future when they came are looked at again when their time has come")
  func futureKeys() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      var document = keys(30, seed: 1)
      let tomorrow = Int32((usualNoon.day.daysSince1970 + 1) * 144)
      for index in 0..<10 { document.keys[index].rollingStart = tomorrow }
      try server.publish(document, as: "a.zip")
      let receiver = Receiver(folder: folder)
      let first = try await receiver.pull(server.settings(), server.peer)
      #expect(first.counts.new == 20 && first.counts.rejections == ["rolling-start-in-future": 10])
      // Not yet, and nothing is written down about it but that it was looked at.
      receiver.advance(seconds: 3 * 3600)
      _ = try await receiver.pull(server.settings(), server.peer)
      #expect(try await receiver.claims().count == 20)
      let events = try await receiver.ledger.read { try $0.events(from: EventID(rawValue: 1), limit: 1000) }
      #expect(events.count { $0.event.kind == .recorded } == 1)
      receiver.advance(seconds: 20 * 3600)
      server.peer.forget()
      _ = try await receiver.pull(server.settings(), server.peer)
      #expect(server.peer.asked == ["/index.txt"], "no peer is asked for it")
      #expect(try await receiver.claims().count == 30)
      let facts = try #require(try await receiver.documents().first?.facts)
      #expect(facts.counts.isBalanced && facts.new == 30 && facts.rejections.isEmpty)
      // What is admitted is admitted, and looked at no more.
      receiver.advance(seconds: 86_400)
      _ = try await receiver.pull(server.settings(), server.peer)
      #expect(try await receiver.documents().first?.facts?.reading?.time == facts.reading?.time)
    }
  }

  @Test("tries again what could not be fetched", arguments: [404, 500, 503])
  func statuses(status: Int) async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      try server.publish(keys(10, seed: 1), as: "a.zip")
      try server.publish(keys(10, seed: 2), as: "b.zip")
      let whole = server.peer["/a.zip"]
      server.peer["/a.zip"] = MemoryPeer.Answer(status: status, body: whole?.body ?? [])
      let receiver = Receiver(folder: folder)
      let first = try await receiver.pull(server.settings(), server.peer)
      #expect(first.recorded == 1)
      #expect(try await receiver.documents([.discovered]).map(\.name) == ["a.zip"])
      server.peer["/a.zip"] = whole
      #expect(try await receiver.pull(server.settings(), server.peer).recorded == 1)
      #expect(try await receiver.claims().count == 20)
    }
  }

  /// Seeds 1298 and 1406 of the simulation: a new store has nothing by which it could doubt a clock that is 20 days ahead.
  @Test func whatAClockAheadHasJudgedIsJudgedAgainWhenItIsRight() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      try server.publish(keys(10, seed: 1), as: "a.zip", tag: "\"1\"")
      let receiver = Receiver(folder: folder)
      _ = try await receiver.pull(server.settings(), server.peer)
      let all = try await receiver.claims()
      #expect(all.count == 10)

      // The same with a clock that is ahead: the keys are forgotten as too old.
      let late = Receiver(folder: folder)
      late.advance(seconds: 20 * 86_400)
      _ = try await late.pull(server.settings(), server.peer)
      _ = try await Retention().carryOut(in: late.ledger, at: SoundTime(toldByOperator: late.now))
      #expect(try await late.claims().isEmpty)

      // A day ahead is no reason to ask again.
      late.advance(seconds: -86_400)
      server.peer.forget()
      _ = try await late.pull(server.settings(), server.peer)
      #expect(server.peer.asked == ["/index.txt"])

      late.advance(seconds: -19 * 86_400)
      let receipt = try await late.pull(server.settings(), server.peer)
      #expect(receipt.refusals.isEmpty && receipt.counts.new == 10)
      #expect(try await late.claims() == all)

      // Once.
      server.peer.forget()
      _ = try await late.pull(server.settings(), server.peer)
      #expect(server.peer.asked == ["/index.txt"])
    }
  }

  @Test("a peer that does not answer is a failure that changes nothing, and waits before the next try")
  func unreachable() async throws {
    try await withFolder { folder in
      let server = try IndexServer()
      server.peer["/index.txt"] = MemoryPeer.Answer(
        fault: TransportFault(code: "connection-refused", reason: "keys.example.org refuses", isTemporary: true))
      let receiver = Receiver(folder: folder)
      let receipt = try await receiver.pull(server.settings(), server.peer, isForced: false)
      guard case .failed(let fault) = receipt.outcome else {
        Issue.record("\(receipt.outcome)")
        return
      }
      #expect(fault.code == "connection-refused")
      let again = try await receiver.pull(server.settings(), server.peer, isForced: false)
      guard case .waiting = again.outcome else {
        Issue.record("\(again.outcome)")
        return
      }
      let record = try await receiver.store.read { try $0.source(named: "us") }
      #expect(record?.failures == 1)
      receiver.advance(seconds: 61)
      _ = try await receiver.pull(server.settings(), server.peer, isForced: false)
      #expect(try await receiver.store.read { try $0.source(named: "us") }?.failures == 2)
    }
  }

  @Test("notices bytes that changed under their name, and keeps both")
  func changedBytes() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      try server.publish(keys(10, seed: 1), as: "a.zip", tag: "\"1\"")
      let receiver = Receiver(folder: folder)
      _ = try await receiver.pull(server.settings(), server.peer)

      receiver.advance(seconds: 90_000)
      let same = try await receiver.pull(server.settings(), server.peer)
      #expect(same.unchanged == 1 && same.refusals.isEmpty)

      // Signed anew, the same keys are the same document.
      try server.replace("a.zip", with: keys(10, seed: 1), tag: "\"2\"")
      receiver.advance(seconds: 90_000)
      let resigned = try await receiver.pull(server.settings(), server.peer)
      #expect(resigned.unchanged == 1 && resigned.refusals.isEmpty)

      try server.replace("a.zip", with: keys(10, seed: 9), tag: "\"3\"")
      receiver.advance(seconds: 90_000)
      let changed = try await receiver.pull(server.settings(), server.peer)
      #expect(changed.refusals.map(\.fault.code) == ["changed-under-its-name"])
      #expect(try await receiver.claims().count == 10)

      let aside = try #require(try await receiver.documents([.quarantined]).first)
      // It waits for the operator, however often its source is pulled; and the gateway that runs hears the word.
      receiver.advance(seconds: 90_000)
      _ = try await receiver.pull(server.settings(), server.peer)
      #expect(try await receiver.claims().count == 10)
      try await receiver.ledger.retryAsked(aside.id, by: Attribution(by: "ada"), at: receiver.now)
      let retried = try await receiver.pull(server.settings(), server.peer)
      #expect(retried.counts.new == 10)
      #expect(try await receiver.claims().count == 20)
    }
  }

  @Test("a paused source is not asked")
  func paused() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      try server.publish(keys(10, seed: 1), as: "a.zip")
      let receiver = Receiver(folder: folder)
      try await receiver.ledger.paused(.source("us"), by: Attribution(by: "ada"), at: usualNoon)
      #expect(try await receiver.pull(server.settings(), server.peer).outcome == .paused)
      #expect(server.peer.asked.isEmpty)
      _ = try await receiver.ledger.resumed(.source("us"), by: Attribution(by: "ada"), at: usualNoon)
      #expect(try await receiver.pull(server.settings(), server.peer).counts.new == 10)
    }
  }

  @Test("own keys that come back are recognised, and origins that the source may not speak for are rejected")
  func origins() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      try server.publish(keys(10, seed: 1), as: "a.zip")
      var echo = keys(10, seed: 1)
      let interned = echo.regions.intern(RegionClaim(origin: "NL"))
      let region = try #require(interned)
      for index in echo.keys.indices { echo.keys[index].regions = region }
      server.peer["/a.zip"] = MemoryPeer.Answer(body: try echo.csv())
      let receiver = Receiver(folder: folder, own: ["NL"])
      var federation = server.settings("federation", origin: nil)
      federation.trust = .operator
      #expect(try await receiver.pull(federation, server.peer).counts.rejections == ["own-key-returned": 10])
      // Our own server may say what it likes about our own keys.
      var home = server.settings("home", origin: "NL")
      home.trust = .operator
      let own = Receiver(folder: folder + "/home", own: ["NL"])
      #expect(try await own.pull(home, server.peer).counts.new == 10)
      server.peer["/a.zip"] = MemoryPeer.Answer(body: try bundle(keys(10, seed: 1), signedBy: server.identity))

      var other = server.settings("other", origin: "FR")
      other.speaksFor = ["DE"]
      #expect(try await receiver.pull(other, server.peer).counts.rejections == ["origin-not-allowed": 10])
      #expect(try await receiver.claims().isEmpty)
    }
  }

  @Test("a write that fails, whichever it is, costs nothing once the pull is repeated")
  func interruptedAnywhere() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      let stranger = try SigningIdentity(key: .generate(), keyID: "666", keyVersion: "v1")
      for number in 0..<4 { try server.publish(keys(30, seed: UInt64(number)), as: "\(number).zip") }
      try server.publish(keys(30, seed: 9), as: "bad.zip", signedBy: stranger)
      let undisturbed = Receiver(folder: folder + "/undisturbed")
      _ = try await undisturbed.pull(server.settings(), server.peer)
      let expected = try await undisturbed.claims()
      let states = try await undisturbed.documents().map { "\($0.name) \($0.state)" }
      #expect(expected.count == 120)

      var number = 0
      while true {
        let store = MemoryStore()
        let failing = FailingStore(store, failingAt: number)
        let broken = Receiver(failing, folder: folder + "/\(number)")
        do {
          _ = try await broken.pull(server.settings(), server.peer)
        } catch is FailingStore.Failure {}
        let isOver = !failing.hasFailed
        let receiver = Receiver(store, folder: folder + "/\(number)")
        let receipt = try await receiver.pull(server.settings(), server.peer)
        #expect(receipt.outcome == .done, "after write \(number)")
        #expect(try await receiver.claims() == expected, "after write \(number)")
        #expect(try await receiver.documents().map { "\($0.name) \($0.state)" } == states, "after write \(number)")
        if isOver { break }
        number += 1
      }
      #expect(number >= 6, "discovery, each document, and the attempt are writes of their own")
    }
  }

  @Test("a store that asks for each body again hears the same")
  func askedAgain() async throws {
    try await withFolder { folder in
      var server = try IndexServer()
      let stranger = try SigningIdentity(key: .generate(), keyID: "666", keyVersion: "v1")
      for number in 0..<4 { try server.publish(keys(30, seed: UInt64(number)), as: "\(number).zip") }
      try server.publish(keys(30, seed: 9), as: "bad.zip", signedBy: stranger)
      let once = Receiver(folder: folder + "/once")
      let again = Receiver(RepeatingStore(MemoryStore()), folder: folder + "/again")
      for receiver in [once, again] {
        _ = try await receiver.pull(server.settings(), server.peer)
        receiver.advance(seconds: 86_400)
        let trusting = TrustRing(keys: [server.identity.verificationKey, stranger.verificationKey])
        _ = try await receiver.pull(server.settings(trust: trusting), server.peer)
      }
      #expect(try await again.claims() == once.claims())
      #expect(try await again.documents() == once.documents())
      let events = { @Sendable (state: any StoredState) in try state.events(from: EventID(rawValue: 0), limit: .max) }
      #expect(try await again.store.read(events) == once.store.read(events))
    }
  }

  @Test("the order of sources makes no difference")
  func orderOfSources() async throws {
    try await withFolder { folder in
      var (first, second) = (try IndexServer(keyID: "1"), try IndexServer(keyID: "2"))
      try first.publish(keys(40, seed: 1), as: "a.zip")
      try second.publish(keys(40, seed: 1), as: "b.zip")
      let there = Receiver(folder: folder + "/there")
      let back = Receiver(folder: folder + "/back")
      let (one, two) = (first.settings("one", origin: "AA"), second.settings("two", origin: "BB"))
      _ = try await there.pull(one, first.peer)
      _ = try await there.pull(two, second.peer)
      _ = try await back.pull(two, second.peer)
      _ = try await back.pull(one, first.peer)
      #expect(try await there.claims() == back.claims())
      #expect(try await there.claims().count == 80)
    }
  }
}
