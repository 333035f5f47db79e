/// What a log says to a witness, and what the witness answers.
///
/// Source: C2SP tlog-witness, `add-checkpoint`. A witness signs that a checkpoint extends everything of this log that it has
/// signed before, so a log that shows different people different trees finds no second signature.
package enum Witness {
  /// Behind the address of a witness.
  package static let path = "add-checkpoint"
  package static let answerLimit = 16 << 10

  /// The body of a request.
  ///
  /// - Parameters:
  ///   - old: the size that the witness has signed last; 0 where it has signed nothing.
  ///   - proof: that the checkpoint extends the log of that size.
  package static func request(old: Int, proof: [TreeHash], _ checkpoint: SignedCheckpoint) -> [UInt8] {
    Array(("old \(old)\n" + proof.map { $0.base64 + "\n" }.joined() + "\n").utf8) + checkpoint.bytes
  }

  package enum Answer: Hashable, Sendable {
    /// Its signature, verified.
    case signed(SignedNote.Signature)
    /// It has signed this size last, and wants a proof from there.
    case has(size: Int)
  }

  /// Reads an answer.
  ///
  /// - Parameters:
  ///   - witness: its key.
  ///   - checkpoint: what it was sent.
  /// - Throws: ``LogFault``: `bad-signature`, `not-signed` for what is no signature of this key, `fork` where the witness says
  ///   that the proof does not hold, `input-output` for another refusal.
  package static func answer(
    status: Int, _ body: [UInt8], by witness: NoteVerifier, to checkpoint: SignedCheckpoint
  ) throws -> Answer {
    switch status {
    case 200:
      guard let text = String(validating: body.prefix(answerLimit), as: UTF8.self) else { break }
      for line in text.split(separator: "\n") {
        guard let signature = SignedNote.Signature(line: line), witness.claims(signature) else { continue }
        let note = SignedNote(text: checkpoint.note.text, signatures: [signature])
        guard try witness.cosigningTime(of: note) != nil else { continue }
        return .signed(signature)
      }
      throw LogFault(.notSigned, "the witness \(witness.name) answers without a signature of its key")
    case 409:
      let text = String(decoding: body.prefix(32), as: UTF8.self)
      if let size = DecimalText.decode(text.hasSuffix("\n") ? text.dropLast() : text[...], limit: RightEdge.sizeLimit) {
        return .has(size: size)
      }
    case 422:
      throw LogFault(
        .fork,
        "the witness \(witness.name) says that the log of size \(checkpoint.size) does not extend what it has signed before"
      )
    default: break
    }
    let words = String(decoding: body.prefix(200), as: UTF8.self)
    throw LogFault(.inputOutput, "the witness \(witness.name) answers with status \(status): \(quoted(words))")
  }
}
