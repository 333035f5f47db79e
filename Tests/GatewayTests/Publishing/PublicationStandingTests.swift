import Foundation
import GatewayTesting
import KeyPublishing
import KeyStorage
import S3Objects
import S3Publications
import Testing

/// What is published, beside a store: either may come back from an older copy.
@Suite struct PublicationStandingTests {
  private static func faults(_ press: Press) async throws -> [String] {
    try await PublicationStanding.faults(
      of: ["NL"], in: press.bucket?.folder ?? press.folder, named: "the place", press.ledger)
  }

  @Test("an older folder or bucket is told, and the next round makes it again", arguments: [false, true])
  func older(isBucket: Bool) async throws {
    try await Press.run(.sample()) { press in
      if isBucket {
        let store = StrictObjectStore()
        press.bucket = (BucketFolder(store.bucket()), store)
      }
      #expect(try await Self.faults(press) == [])
      try await press.say([key(1)])
      try await press.round(at(10))
      #expect(try await Self.faults(press) == [])
      let kept = press.root + ".kept"
      let objects = press.bucket?.store.objects
      if objects == nil { try FileManager.default.copyItem(atPath: press.root, toPath: kept) }
      for hour in [Int64(12), 14] {
        try await press.say([key(UInt64(hour))])
        try await press.round(at(hour))
      }
      #expect(try await Self.faults(press) == [])
      if let objects, let store = press.bucket?.store {
        for name in Set(store.objects.keys).union(objects.keys) where objects[name] != store.objects[name] {
          store.overwrite(String(name.dropFirst(store.address.prefix.count)), with: objects[name]?.bytes)
        }
        // A process that starts has read nothing before.
        press.bucket = (BucketFolder(store.bucket()), store)
      } else {
        try FileManager.default.removeItem(atPath: press.root)
        try FileManager.default.moveItem(atPath: kept, toPath: press.root)
      }
      let told = try await Self.faults(press)
      #expect(told.count == 1)
      #expect(
        told.first?.hasPrefix(
          "series NL: the place does not know 2 increments that the store has published, the last one NL/")
          == true, "\(told)")
      _ = try await press.publisher.round(now: at(16))
      #expect(try await Self.faults(press) == [])
    }
  }

  @Test("a store is held against what is published, and what cannot be asked is not empty", arguments: [false, true])
  func beginnings(isBucket: Bool) async throws {
    try await Press.run(.sample()) { press in
      let store = StrictObjectStore()
      if isBucket { press.bucket = (BucketFolder(store.bucket()), store) }
      let folder: any PublicationFolder = press.bucket?.folder ?? press.folder
      func shown() async throws -> [String] {
        try await PublicationStanding.shown(of: ["DE", "NL"], in: folder).map { "\($0.series) \($0.bundles ?? -1)" }
      }
      #expect(try await shown() == [])
      #expect(try await !PublicationStanding.isKnown(["DE", "NL"], to: press.ledger))
      // A pull alone makes no series known.
      try await press.say([key(1)])
      #expect(try await !PublicationStanding.isKnown(["NL"], to: press.ledger))
      try await press.round(at(10))
      let seen = try await shown()
      #expect(seen.count == 1 && seen[0].hasPrefix("NL ") && seen[0] != "NL -1", "\(seen)")
      #expect(try await PublicationStanding.isKnown(["DE", "NL"], to: press.ledger))
      #expect(try await !PublicationStanding.isKnown(["DE"], to: press.ledger))
      let other = Ledger(MemoryStore())
      #expect(try await !PublicationStanding.isKnown(["NL"], to: other))
      try await other.begun(beside: ["NL"], by: Attribution(by: "ada", reason: "r"), at: at(11))
      #expect(try await PublicationStanding.isKnown(["NL"], to: other))
      #expect(try await other.read { try $0.beginning()?.series } == ["NL"])
      #expect(try await other.read { try $0.beginning()?.waits } == true)
      #expect(try await other.beginningEnded(by: Attribution(by: "ada"), at: at(12))?.waits == false)
      #expect(try await other.beginningEnded(by: Attribution(by: "ada"), at: at(12)) == nil)
      guard isBucket else { return }
      for trouble in [
        StrictObjectStore.Trouble.lost, .refuses(status: 503, code: "SlowDown"),
        .refuses(status: 403, code: "AccessDenied"), .proxy(status: 404, text: "not here"),
      ] {
        store.set { _, _, _ in trouble }
        await #expect(throws: (any Error).self) { try await shown() }
      }
    }
  }

  @Test("an older store, and a manifest that is gone or damaged, are told") func others() async throws {
    try await Press.run(.sample()) { press in
      try await press.say([key(1)])
      try await press.round(at(10))
      let other = Press(base: MemoryStore(), root: press.root, series: press.series)
      let unknown = try await Self.faults(other)
      #expect(unknown.count == 1 && unknown[0].contains("that the store does not know"), "\(unknown)")
      let manifest = URL(filePath: press.root + "/NL/manifest.json")
      try Data("{".utf8).write(to: manifest)
      #expect(try await Self.faults(press).first?.contains("cannot be read") == true)
      try FileManager.default.removeItem(at: manifest)
      let gone = try await Self.faults(press)
      #expect(
        gone == [
          "series NL: the place has no manifest of it, and the store has published 1 increment; keyferry publish makes it again from the store"
        ])
    }
  }
}
