import BundleTrust
import ExposureKeys
import Foundation
import KeyFormats
import KeyPeers
import KeyPublishing
import KeyStorage
import Testing

/// What a source has verified and its origin lists is shown byte for byte; nothing else is.
@Suite("A mirror follows its source") struct MirrorRoundTests {
  /// A server of another country, a gateway that pulls from it, and what it shows.
  private final class Scene {
    var server: IndexServer
    let receiver: Receiver
    let folder: String
    var ring: TrustRing

    init(_ folder: String) throws {
      server = try IndexServer()
      receiver = Receiver(folder: folder)
      self.folder = folder
      ring = server.ring
    }

    /// The archives that the server has now, under the names that its index gives.
    func lists(_ names: [String]) {
      server.peer["/index.txt"] = MemoryPeer.Answer(body: Array(names.joined(separator: "\n").utf8))
    }

    func pull() async throws {
      var source = server.settings()
      source.isMirrored = true
      _ = try await receiver.pull(source, server.peer)
    }

    @discardableResult
    func round(_ look: ClockLook? = nil) async throws -> SeriesReceipt {
      let publisher = Publisher(
        ledger: receiver.ledger, series: [], mirrors: [MirrorSettings(name: "US-original", source: "us", ring: ring)],
        folder: folder + "/public")
      let receipt = try #require(try await publisher.round(at: look ?? ClockLook(toldByOperator: receiver.now)).first)
      #expect(receipt.fault == nil && receipt.isBalanced)
      return receipt
    }

    var index: [String] {
      get throws {
        let text = try String(contentsOfFile: folder + "/public/US-original/index.txt", encoding: .utf8)
        return text.split(separator: "\n").map(String.init)
      }
    }

    func bytes(_ path: String) -> [UInt8]? {
      FileManager.default.contents(atPath: folder + "/public/" + path).map(Array.init)
    }
  }

  private func scene(_ body: (Scene) async throws -> Void) async throws {
    try await withFolder { folder in try await body(try Scene(folder)) }
  }

  @Test("A file that changes under its name stays as it was, and what is not signed by the ring is not shown")
  func changed() async throws {
    try await scene { scene in
      let stranger = try SigningIdentity(key: .generate(), keyID: "666", keyVersion: "v1")
      try scene.server.publish(keys(10, seed: 1), as: "a.zip", tag: "\"1\"")
      try scene.server.publish(keys(10, seed: 2), as: "b.zip", signedBy: stranger)
      try await scene.pull()
      try await scene.round()
      let good = try #require(scene.server.peer["/a.zip"]?.body)
      #expect(try scene.index == ["US-original/a.zip"] && scene.bytes("US-original/a.zip") == good)
      try scene.server.replace("a.zip", with: keys(10, seed: 9), tag: "\"2\"")
      scene.receiver.advance(seconds: 90_000)
      try await scene.pull()
      #expect(try await scene.receiver.documents([.quarantined]).count == 2, "it is told by its source")
      let receipt = try await scene.round()
      #expect(receipt.bundles == [] && receipt.warnings == [])
      #expect(try scene.index == ["US-original/a.zip"] && scene.bytes("US-original/a.zip") == good)
    }
  }

  @Test(
    "What leaves the list leaves the index by a sound clock alone, goes after the grace, and comes back under its number"
  )
  func unlisted() async throws {
    try await scene { scene in
      for (seed, name) in [(UInt64(1), "a.zip"), (2, "b.zip"), (3, "c.zip")] {
        try scene.server.publish(keys(10, seed: seed), as: name)
      }
      try await scene.pull()
      #expect(try await scene.round().bundles.count == 3)
      scene.lists(["b.zip", "c.zip"])
      try await scene.pull()
      var judge = ClockJudge()
      let now = scene.receiver.now
      _ = judge.look(ClockReading(wall: now, uptime: 100, boot: "a"))
      let ahead = Instant(secondsSince1970: now.secondsSince1970 + 30 * 86_400)
      let doubtful = judge.look(ClockReading(wall: ahead, uptime: 160, boot: "a"))
      #expect(doubtful.doubt != nil)
      #expect(try await scene.round(doubtful).expired == 0)
      #expect(try scene.index.count == 3)

      #expect(try await scene.round().expired == 1)
      #expect(try scene.index == ["US-original/b.zip", "US-original/c.zip"])
      #expect(scene.bytes("US-original/a.zip") != nil, "a cached index may name it")
      scene.receiver.advance(seconds: 86_400)
      #expect(try await scene.round().removed == 1)
      #expect(scene.bytes("US-original/a.zip") == nil)

      scene.lists(["a.zip", "b.zip", "c.zip"])
      try await scene.pull()
      try await scene.round()
      #expect(try scene.index == ["US-original/a.zip", "US-original/b.zip", "US-original/c.zip"])
      #expect(scene.bytes("US-original/a.zip") == scene.server.peer["/a.zip"]?.body)
      // An index that cannot be read says nothing about what is missing.
      scene.server.peer["/index.txt"] = MemoryPeer.Answer(status: 500)
      try await scene.pull()
      #expect(try await scene.round().expired == 0)
      #expect(try scene.index.count == 3)
    }
  }

  @Test("Names that can be no files, or are others', are told; a ring that changes shows nothing new")
  func names() async throws {
    try await scene { scene in
      for (seed, name) in [(UInt64(1), "x/a.zip"), (2, "y/a.zip"), (3, "a%20b.zip"), (4, "c.zip")] {
        try scene.server.publish(keys(10, seed: seed), as: name)
      }
      try await scene.pull()
      let receipt = try await scene.round()
      #expect(receipt.warnings.map(\.code) == [.nameRefused, .nameRefused], "\(receipt.warnings)")
      #expect(try scene.index == ["US-original/a.zip", "US-original/c.zip"])
      try scene.server.publish(keys(10, seed: 5), as: "d.zip")
      try await scene.pull()
      scene.ring = TrustRing(keys: [try SigningIdentity(key: .generate(), keyID: "1", keyVersion: "v1").verificationKey]
      )
      #expect(try await scene.round().warnings.map(\.code).contains(.notVerified))
      #expect(try scene.index.count == 2)
    }
  }

  @Test("A file that is gone or damaged is put there again with the same bytes")
  func damaged() async throws {
    try await scene { scene in
      try scene.server.publish(keys(10, seed: 1), as: "a.zip")
      try await scene.pull()
      try await scene.round()
      let good = try #require(scene.bytes("US-original/a.zip"))
      let path = scene.folder + "/public/US-original/a.zip"
      for (content, code) in [
        (nil, PublishingWarning.Code.fileMissing), (Data(good.dropLast()), .fileDamaged),
        (Data(good.dropLast() + [good[good.count - 1] ^ 1]), .fileDamaged),
      ] as [(Data?, PublishingWarning.Code)] {
        try FileManager.default.removeItem(atPath: path)
        try content?.write(to: URL(filePath: path))
        let receipt = try await scene.round()
        #expect(receipt.warnings.map(\.code) == [code] && receipt.madeAgain == 1)
        #expect(scene.bytes("US-original/a.zip") == good)
      }
      #expect(try await scene.round().warnings == [])
    }
  }

  @Test("An index that somebody changed is written anew, with a warning and an event, and a change of its own is none")
  func indexChanged() async throws {
    try await scene { scene in
      try scene.server.publish(keys(10, seed: 1), as: "a.zip")
      try await scene.pull()
      try await scene.round()
      let path = scene.folder + "/public/US-original/index.txt"
      try Data("US-original/evil.zip".utf8).write(to: URL(filePath: path))
      #expect(try await scene.round().warnings.map(\.code) == [.indexChanged])
      #expect(try scene.index == ["US-original/a.zip"])
      let kinds = try await scene.receiver.ledger.read {
        try $0.events(from: EventID(rawValue: 0), limit: 100).map(\.event.kind)
      }
      #expect(kinds.filter { $0 == .indexRestored }.count == 1)
      try FileManager.default.removeItem(atPath: path)
      #expect(try await scene.round().warnings.map(\.code) == [.indexChanged])
      // A crash between manifest and index.
      let before = try Data(contentsOf: URL(filePath: path))
      try scene.server.publish(keys(10, seed: 2), as: "b.zip")
      try await scene.pull()
      #expect(try await scene.round().warnings == [])
      try before.write(to: URL(filePath: path))
      #expect(try await scene.round().warnings == [])
      #expect(try scene.index.count == 2)
      #expect(try await PublicationCheck(of: ["US-original"], in: LocalFolder(scene.folder + "/public")).faults == [])
      #expect(try await PublicationCheck(of: ["US-original"], in: LocalFolder(scene.folder + "/public")).files == 5)
    }
  }

  @Test("What an erasure takes from a mirror is told as that, and the archives with the key are found")
  func erased() async throws {
    try await scene { scene in
      let (first, second) = (keys(10, seed: 1), keys(10, seed: 2))
      try scene.server.publish(first, as: "a.zip")
      try await scene.pull()
      try await scene.round()
      try scene.server.publish(second, as: "b.zip")
      try await scene.pull()
      let mirror = MirrorSettings(name: "US-original", source: "us", ring: scene.ring)
      let folder = scene.folder + "/public"
      let documents = try await scene.receiver.documents([.recorded])
      func shown(_ key: TemporaryExposureKey) async throws -> [ShownArchives.Archive] {
        try await scene.receiver.ledger.read { state in
          var room = Int.max
          let holding = documents.filter { $0.name == "b.zip" }
          return try ShownArchives(of: key, in: mirror, holding, folder: folder, from: state, room: &room).archives
            .filter { $0.document == nil || key == second.keys[0].key }
        }
      }
      #expect(try await shown(first.keys[0].key).map(\.path) == ["US-original/a.zip"])
      #expect(try await shown(first.keys[0].key).map(\.state) == [.listed])
      #expect(try await shown(second.keys[0].key).map(\.state) == [.coming])

      let word = Attribution(by: "ada", reason: "request 17")
      let now = scene.receiver.now
      for key in [first.keys[0].key, second.keys[0].key] {
        _ = try await scene.receiver.ledger.erased(key, digest: "\(key)", by: word, at: now) { _ in documents.map(\.id)
        }
      }
      let receipt = try await scene.round()
      #expect(receipt.warnings.map(\.code) == [.fileMissing])
      #expect(receipt.warnings[0].reason.contains("b.zip is not shown: its bytes were erased at \(now)"))
      try FileManager.default.removeItem(atPath: folder + "/US-original/a.zip")
      let lost = try await scene.round()
      #expect(
        lost.warnings.contains { $0.reason.contains("a.zip") && $0.reason.contains("its bytes were erased at \(now)") })
      #expect(!lost.warnings.contains { $0.reason.contains("retention.evidence") })
      #expect(try scene.index == [])
      let counts = try await scene.receiver.ledger.read { try mirror.listedArchives(in: $0, folder: folder) }
      #expect(counts.listed == 0 && counts.lost == 1)
      #expect(LeftSeries.names(in: folder, except: []) == ["US-original"])
      #expect(LeftSeries.names(in: folder, except: ["US-original"]) == [])
    }
  }
}
