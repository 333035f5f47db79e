import TransparencyLog

/// What is read of others' transparency logs: notes, checkpoints, proofs, entries, and the paths that a server is asked for.
let logTargets: [String: FuzzTarget] = [
  "log-note": fuzzNote,
  "log-proof": fuzzProof,
  "log-entry": fuzzEntry,
  "log-attestation": fuzzAttestation,
  "tile-path": fuzzTilePath,
]

/// What is read is written and read the same; so is the checkpoint in it. Whoever has signed it, it was not this key.
@Sendable private func fuzzNote(_ input: UnsafeRawBufferPointer) {
  guard let note = try? SignedNote(Array(input), name: "note") else { return }
  precondition((try? SignedNote(note.bytes, name: "note")) == note)
  for signature in note.signatures { precondition(SignedNote.Signature(line: signature.line) == signature) }
  if let checkpoint = try? Checkpoint(text: note.text, name: "note") { precondition(checkpoint.text == note.text) }
  precondition((try? SignedCheckpoint(Array(input), by: stranger, name: "note")) == nil)
}

private let stranger: NoteVerifier = {
  do {
    return try NoteSigner.generate(name: "log.example/fuzz").verifier
  } catch {
    fatalError("\(error)")
  }
}()

/// What is read is written and read the same, and proves nothing that nobody has signed.
@Sendable private func fuzzProof(_ input: UnsafeRawBufferPointer) {
  guard let proof = try? ProofFile(Array(input), name: "proof") else { return }
  precondition((try? ProofFile(proof.bytes, name: "proof")) == proof)
  precondition((try? proof.verify(proof.extra ?? [1], by: stranger, name: "proof")) == nil)
}

/// An entry has one spelling.
@Sendable private func fuzzEntry(_ input: UnsafeRawBufferPointer) {
  guard let entry = try? LogEntry(Array(input), name: "entry") else { return }
  precondition(entry.bytes == Array(input))
  precondition((try? LogEntry(entry.kind, entry.members)) == entry)
}

/// What is read is written and read the same, and nobody has signed it with this key.
@Sendable private func fuzzAttestation(_ input: UnsafeRawBufferPointer) {
  let bytes = Array(input)
  if let envelope = try? Envelope(bytes, name: "envelope") {
    precondition((try? Envelope(envelope.bytes, name: "envelope")) == envelope)
    precondition((try? envelope.verify(by: attester, name: "envelope")) == nil)
    look(at: envelope.payload)
  }
  look(at: bytes)
  let text = String(decoding: bytes, as: UTF8.self)
  if let key = try? AttestationKey(pem: text, name: "key") {
    precondition((try? AttestationKey(pem: key.pem, name: "key")) == key)
  }

  func look(at statement: [UInt8]) {
    guard let provenance = try? Provenance(statement, name: "statement") else { return }
    precondition((try? Provenance(provenance.bytes, name: "statement")) == provenance)
  }
}

private let attester = AttestationSigner.generate().publicKey

/// A path has one spelling, and what it names has bounds.
@Sendable private func fuzzTilePath(_ input: UnsafeRawBufferPointer) {
  guard let path = String(validating: input, as: UTF8.self), let tile = Tile(path: path) else { return }
  precondition(tile.path == path && (1...Tile.width).contains(tile.count) && tile.byteLimit <= Tile.entriesByteLimit)
}
