import ExposureKeys
import Foundation
import GatewayTesting
import KeyPublishing
import KeyStorage
import Testing
import TransparencyLog

/// Witnesses of the log: who answers, how, and what becomes of it.
@Suite struct WitnessTests {
  @Test func theCheckpointCarriesTheirSignatures() async throws {
    try await Press.run(.sample()) { press in
      try await press.beginLog()
      let (first, second) = (try LiteralWitness("witness.example/w1"), try LiteralWitness("witness.example/w2"))
      let town = Town(["https://w1.example": first, "https://w2.example": second])
      press.witnesses = town
      press.log?.witnesses = [
        WitnessSettings(key: first.key, address: "https://w1.example"),
        WitnessSettings(key: second.key, address: "https://w2.example"),
      ]
      await second.setSilent(true)
      try await press.say([key(1), key(2)])
      let receipts = try await press.round(at(8))
      // One for each checkpoint of the round: what came in, and what was published.
      #expect(receipts[0].warnings.map(\.code) == [.witness, .witness])
      #expect(receipts[0].warnings.allSatisfy { $0.reason.contains("w2") && $0.reason.contains("timed out") })
      var shown = try await press.followLog()
      #expect(try first.key.hasSigned(shown.checkpoint.note) && !second.key.hasSigned(shown.checkpoint.note))
      // Who missed one goes on from where it is; the other's size is known from the checkpoint.
      await second.setSilent(false)
      try await press.say([key(3)], now: at(9))
      let before = await first.requests
      let next = try await press.round(at(10))
      #expect(next[0].warnings.isEmpty)
      shown = try await press.followLog(since: shown.memory)
      for witness in [first, second] {
        #expect(try witness.key.cosigningTime(of: shown.checkpoint.note) != nil)
        #expect(await witness.size == shown.checkpoint.size)
      }
      #expect(await first.requests == before + 2)
      // The proofs have the signatures, too.
      let proof = try #require(try press.files().sorted().last { $0.hasSuffix(ProofFile.ending) })
      #expect(try String(decoding: press.bytes(proof), as: UTF8.self).contains("witness.example/w"))
      // One that was set up anew asks for nothing but a proof from nothing: 409 tells so.
      await first.forget()
      try await press.say([key(4)], now: at(11))
      let again = try await press.round(at(12))
      #expect(again[0].warnings.isEmpty)
      #expect(await first.size > shown.checkpoint.size)
    }
  }

  @Test func whatIsNoSignatureIsNotTaken() async throws {
    try await Press.run(.sample()) { press in
      try await press.beginLog()
      let witness = try LiteralWitness("witness.example/w1")
      press.witnesses = Town(["https://w1.example": witness])
      press.log?.witnesses = [WitnessSettings(key: witness.key, address: "https://w1.example")]
      var seen: LogMemory?
      for (hour, lie) in LiteralWitness.Lie.allCases.enumerated() {
        await witness.setLie(lie)
        try await press.say([key(UInt64(hour) + 1)], now: at(Int64(hour) * 2))
        let receipts = try await press.round(at(Int64(hour) * 2 + 2))
        let warning = try #require(receipts[0].warnings.first { $0.code == .witness }, "\(lie)")
        #expect(warning.reason.contains(lie.words), "\(lie): \(warning)")
        let shown = try await press.followLog(since: seen)
        #expect(shown.checkpoint.note.signatures.count == 1, "\(lie)")
        seen = shown.memory
      }
    }
  }

  /// Where witnesses are, by address.
  private struct Town: WitnessCaller {
    let witnesses: [String: LiteralWitness]

    init(_ witnesses: [String: LiteralWitness]) { self.witnesses = witnesses }

    func post(
      _ body: [UInt8], to address: String, seconds: Int64, limit: Int
    ) async throws -> (status: Int, body: [UInt8]) {
      #expect(seconds == 1 && address.hasSuffix("/add-checkpoint"))
      let witness = try #require(witnesses[String(address.dropLast("/add-checkpoint".count))])
      return try await witness.answer(body)
    }
  }
}
