import ExposureKeys
import Foundation
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

/// A witness as C2SP tlog-witness has it, in the order of its steps.
actor LiteralWitness {
  struct Silence: Error, CustomStringConvertible {
    var description: String { "timed out" }
  }

  enum Lie: CaseIterable {
    case otherKey, otherText, noSignature, garbage, always409, larger, refusal

    /// What is told of it.
    var words: String {
      switch self {
      case .otherKey, .noSignature: "without a signature of its key"
      case .otherText: "does not belong to this text"
      case .garbage: "status 200"
      case .always409: "says twice"
      case .larger: "old backup"
      case .refusal: "does not extend"
      }
    }
  }

  nonisolated let key: NoteVerifier
  private let signer: NoteSigner
  private(set) var size = 0
  private(set) var requests = 0
  private var root = TreeHash.empty
  private var isSilent = false
  private var lie: Lie?

  init(_ name: String) throws {
    signer = try NoteSigner.generate(name: name, kind: .witness)
    key = signer.verifier
  }

  func setSilent(_ isSilent: Bool) { self.isSilent = isSilent }
  func setLie(_ lie: Lie) { self.lie = lie }
  func forget() { (size, root) = (0, .empty) }

  func answer(_ body: [UInt8]) throws -> (status: Int, body: [UInt8]) {
    requests += 1
    if isSilent { throw Silence() }
    let text = String(decoding: body, as: UTF8.self)
    let parts = text.split(separator: "\n\n", maxSplits: 1)
    let lines = parts.first?.split(separator: "\n") ?? []
    guard parts.count == 2, let old = lines.first?.split(separator: " ").last.flatMap({ Int($0) }),
      case let proof = lines.dropFirst().compactMap({ TreeHash(base64: $0) }), proof.count == lines.count - 1
    else { return (400, []) }
    let note = try SignedNote(Array(parts[1].utf8), name: "request")
    let checkpoint = try Checkpoint(text: note.text, name: "request")
    if let lie { return try answer(lie, checkpoint) }
    guard old <= checkpoint.size else { return (400, []) }
    guard old == size else { return (409, Array("\(size)\n".utf8)) }
    guard TreeProof.isConsistent(from: old, root: root, to: checkpoint.size, root: checkpoint.root, proof: proof) else {
      return (422, [])
    }
    (size, root) = (checkpoint.size, checkpoint.root)
    return (200, Array((try signer.sign(note.text, time: 1_607_000_000).line + "\n").utf8))
  }

  private func answer(_ lie: Lie, _ checkpoint: Checkpoint) throws -> (status: Int, body: [UInt8]) {
    switch lie {
    case .otherKey:
      let other = try NoteSigner.generate(name: key.name, kind: .witness)
      return (200, Array((try other.sign(checkpoint.text, time: 1).line + "\n").utf8))
    case .otherText: return (200, Array((try signer.sign("other\n", time: 1).line + "\n").utf8))
    case .noSignature: return (200, [])
    case .garbage: return (200, [0xff, 0xfe])
    case .always409: return (409, Array("0\n".utf8))
    case .larger: return (409, Array("\(checkpoint.size + 1)\n".utf8))
    case .refusal: return (422, [])
    }
  }
}
