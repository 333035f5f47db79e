package import TransparencyLog

/// A witness as C2SP tlog-witness has it, in the order of its steps.
package actor LiteralWitness {
  package struct Silence: Error, CustomStringConvertible {
    package var description: String { "timed out" }
  }

  package enum Lie: CaseIterable {
    case otherKey, otherText, noSignature, garbage, always409, larger, refusal

    /// What is told of it.
    package var words: String {
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

  package nonisolated let key: NoteVerifier
  private let signer: NoteSigner
  package private(set) var size = 0
  package private(set) var requests = 0
  private var root = TreeHash.empty
  private var isSilent = false
  private var lie: Lie?

  package init(_ name: String) throws {
    signer = try NoteSigner.generate(name: name, kind: .witness)
    key = signer.verifier
  }

  package func setSilent(_ isSilent: Bool) { self.isSilent = isSilent }
  package func setLie(_ lie: Lie) { self.lie = lie }
  package func forget() { (size, root) = (0, .empty) }

  package func answer(_ body: [UInt8]) throws -> (status: Int, body: [UInt8]) {
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
