import ExposureKeys
import GatewayTesting
import KeyNormalization
import KeyPeers
import KeyReceiving
import KeyStorage
import Testing

/// What a refused document says delays keys, where somebody stands behind it, and no longer than a key can be valid.
@Suite struct RefusedDocumentTests {
  private static let day = RandomKeys.usualDay

  private func csv(_ rows: [(key: Int, start: Int32, period: Int)], isBroken: Bool) -> [UInt8] {
    var text = "key,rolling_start,rolling_period,report_type\n"
    for row in rows {
      let number = String(row.key, radix: 16)
      let key = String(repeating: "0", count: 31 - number.count) + number + "7"
      text += "\(key),\(row.start),\(row.period),1\n"
    }
    return Array((isBroken ? text + "\"cut" : text).utf8)
  }

  private func source(_ name: String, _ server: IndexServer, trust: Trust) -> SourceSettings {
    var settings = server.settings(name, origin: "IT")
    settings.trust = trust
    return settings
  }

  /// The embargo of each key that is claimed, by the last digits of its data.
  private func periods(_ receiver: Receiver) async throws -> [Int32] {
    try await receiver.ledger.read { state in
      let page = try state.claims(from: TemporaryExposureKey(high: 0, low: 0), limit: 100)
      return page.claims.statedClaims.sorted { $0.subject < $1.subject }.map { page.embargo.period(of: $0.subject) }
    }
  }

  @Test func whatStandsBeforeTheFaultDelays() async throws {
    try await withFolder { folder in
      let receiver = Receiver(folder: folder)
      let start = Int32(Self.day.firstInterval.rawValue)
      let server = try IndexServer()
      // An index lists nothing but archives; what a document is, its bytes say.
      func answer(_ name: String, _ bytes: [UInt8]) {
        server.peer["/index.txt"] = MemoryPeer.Answer(body: Array("\(name)\n".utf8))
        server.peer["/\(name)"] = MemoryPeer.Answer(body: bytes)
      }
      let honest = source("honest", server, trust: .operator)
      answer("good.zip", csv([(1, start, 6), (2, start, 6)], isBroken: false))
      #expect(try await receiver.pull(honest, server.peer).counts.new == 2)
      #expect(try await periods(receiver) == [0, 0])

      // A stranger's bytes say nothing: the ring does not know who signed, and CSV bears no signature.
      let stranger = source("stranger", server, trust: .ring(server.ring))
      answer("bad.zip", csv([(1, start, 144)], isBroken: true))
      #expect(try await receiver.pull(stranger, server.peer).refusals.count == 1)
      #expect(try await periods(receiver) == [0, 0])

      // Nor what the source may not say, nor what no key can state.
      var limited = source("limited", server, trust: .operator)
      limited.origin = nil
      limited.speaksFor = ["FR"]
      answer("limited.zip", csv([(1, start, 144), (2, start, 145)], isBroken: true))
      #expect(try await receiver.pull(limited, server.peer).refusals.count == 1)
      #expect(try await periods(receiver) == [0, 0])

      let other = source("other", server, trust: .operator)
      answer("cut.zip", csv([(1, start, 144), (2, start, 145), (3, start, 144)], isBroken: true))
      let receipt = try await receiver.pull(other, server.peer)
      #expect(receipt.refusals.count == 1 && receipt.counts.received == 0)
      #expect(try await periods(receiver) == [144, 0])
      // However often: it is delayed by its longest validity, and another start is another key.
      for number in 0..<4 {
        receiver.advance(seconds: 7200)
        answer("cut\(number).zip", csv([(1, start, 144), (1, start + 144, 144)], isBroken: true))
        _ = try await receiver.pull(other, server.peer)
      }
      #expect(try await periods(receiver) == [144, 0])
      let documents = try await receiver.documents([.quarantined])
      #expect(documents.count == 7)
      #expect(try await receiver.held() == [:])
    }
  }
}
