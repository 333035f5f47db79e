import ExposureKeys
import Foundation
import GatewayTesting
import KeyPublishing
import KeyStorage
import S3Publications
import Testing
import TransparencyLog

/// Rounds of publishing into a bucket, with a log whose state is in the store.
@Suite("Rounds with a log in the bucket") struct BucketLogTests {
  private func run(_ body: (inout Press) async throws -> Void) async throws {
    try await Press.run(.sample()) { press in
      let store = StrictObjectStore()
      press.bucket = (BucketFolder(store.bucket()), store)
      try await body(&press)
    }
  }

  @Test("one process takes in what it has staged") func alone() async throws {
    try await run { press in
      try await press.beginLog()
      try await press.say([key(1), key(2)])
      try await press.round(at(8))
      let seen = try await press.followLog()
      try await press.say([key(3)], now: at(9))
      try await press.round(at(10))
      _ = try await press.followLog(since: seen.memory)
      #expect(press.bucket?.store.changed == [])
    }
  }

  @Test("a round waits for whoever takes entries in, and proves what is shown then") func waits() async throws {
    try await run { press in
      // What was published before there was a log comes into it.
      try await press.say([key(1), key(2)])
      try await press.round(at(8))
      try await press.beginLog()
      press.logTaker = .another
      let (log, bucket) = (try #require(press.log), try #require(press.bucket).folder)
      let ledger = press.ledger
      let taker = Task {
        while !Task.isCancelled {
          try await Press.keeper(log, ledger, bucket, .this).integrate(of: "", at: at(10))
          try? await Task.sleep(for: .milliseconds(20))
        }
      }
      defer { taker.cancel() }
      try await press.say([key(3)], now: at(9))
      try await press.round(at(10))
      _ = try await press.followLog()
      let published = try await press.logEntries().filter { $0.kind == .published }.compactMap { $0.text("path") }
      #expect(Set(published).count == published.count)
      #expect(Set(published) == Set(try press.series.flatMap { try press.manifest($0.name).bundles.map(\.path) }))
      #expect(try await ledger.read { try $0.queuedEntries(limit: 1) }.isEmpty)
    }
  }

  @Test("a replica that is given the keys needs no folder for them") func givenKeys() async throws {
    try await run { press in
      try await press.beginLog()
      let state = try #require(press.log).state
      func text(_ file: String) throws -> String { try String(contentsOfFile: "\(state)/\(file)", encoding: .utf8) }
      press.log?.keys = LogKeys(
        log: .given(try NoteSigner(try text("log.key"))),
        attestations: .given(try AttestationSigner(pem: try text("attest.key"), name: "attest.key")))
      try FileManager.default.removeItem(atPath: state)
      try await press.say([key(1), key(2)])
      try await press.round(at(8))
      _ = try await press.followLog()
      let log = try #require(press.log)
      #expect(try await LogStatus.fault(of: log, in: press.root, ledger: press.ledger, isKeeper: true) == nil)
      #expect(try press.files().contains { $0.hasSuffix(Envelope.ending) })
      #expect(!FileManager.default.fileExists(atPath: state))
    }
  }

  @Test("a replica without the keys publishes nothing, and says why") func noKeys() async throws {
    try await run { press in
      try await press.beginLog()
      try await press.say([key(1)])
      try await press.round(at(8))
      let log = try #require(press.log)
      let index = press.bucket?.store["NL/index.txt"]
      try await press.say([key(2)], now: at(9))
      for file in ["attest.key", "log.key"] {
        let kept = try Data(contentsOf: URL(filePath: "\(log.state)/\(file)"))
        try FileManager.default.removeItem(atPath: "\(log.state)/\(file)")
        try await press.expectRefusal(at(10), "log-bad-state", file)
        #expect(await LogStatus.fault(of: log, in: press.root, ledger: press.ledger)?.contains(file) == true)
        #expect(press.bucket?.store["NL/index.txt"] == index)
        #expect(!FileManager.default.fileExists(atPath: "\(log.state)/\(file)"), "no other one is made")
        // Who only asks may not be able to read it; who is to sign must.
        try FileManager.default.createDirectory(atPath: "\(log.state)/\(file)", withIntermediateDirectories: false)
        let unread = try await LogStatus.fault(of: log, in: press.root, ledger: press.ledger, isKeeper: true)
        #expect(unread?.contains(file) == true)
        #expect(await LogStatus.fault(of: log, in: press.root, ledger: press.ledger) == nil)
        try FileManager.default.removeItem(atPath: "\(log.state)/\(file)")
        try kept.write(to: URL(filePath: "\(log.state)/\(file)"))
      }
      #expect(await LogStatus.fault(of: log, in: press.root, ledger: press.ledger) == nil)
      try await press.round(at(10))
      _ = try await press.followLog()
    }
  }
}
