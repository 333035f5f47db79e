import Foundation
import GatewayTesting
import Testing
import TransparencyLog

@Suite struct NoteTests {
  static let signer = try! NoteSigner(
    "PRIVATE+KEY+log.keyferry.example/evidence+928a4c64+AQABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f")
  static let key = "log.keyferry.example/evidence+928a4c64+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
  static let witness = "witness.example/w1+20324abe+BCmsuuFBvMrwsi4alNNNC8c2HlJtC/4SyJeUvJMilm3X"
  /// Of size 7, signed by the log and a witness.
  static let checkpoint = """
    log.keyferry.example/evidence
    7
    o+I7Msy2v5bQktFl2KpUbgmCnejwOw6JV1gdHha5K98=

    — log.keyferry.example/evidence kopMZIRwfkaDRkGyr9LBzntKMwipaA8A7ZckZGl0toonfLYs5/KCm78HwNszGDQQzTd4wm/0jA9St63KW/j+26GQdwE=
    — witness.example/w1 IDJKvgAAAABpVbkHAHiINrbwlMNmc4YH0fuWqAw1crKZibt6gB7zLc7BPrADFKHMXhgTFSwgl6ecNdC5dMZo1g26jNrojQXb2mboBw==

    """

  private func read(_ text: String) throws -> SignedCheckpoint {
    try SignedCheckpoint(Array(text.utf8), by: try NoteVerifier(Self.key), name: "checkpoint")
  }

  @Test func aSignedCheckpointIsRead() throws {
    let signed = try read(Self.checkpoint)
    #expect(signed.size == 7 && signed.checkpoint.origin == "log.keyferry.example/evidence")
    #expect(signed.bytes == Array(Self.checkpoint.utf8))
    #expect(try NoteVerifier(Self.witness).cosigningTime(of: signed.note) == 1_767_225_607)
    #expect(try NoteVerifier(Self.key).cosigningTime(of: signed.note) == nil)
  }

  @Test func signaturesAreThoseOfOthers() throws {
    #expect(Self.signer.verifier.description == Self.key)
    #expect(try NoteSigner(Self.signer.disclosed + "\n").verifier == Self.signer.verifier)
    let root = try #require(TreeHash(base64: "o+I7Msy2v5bQktFl2KpUbgmCnejwOw6JV1gdHha5K98="))
    let signed = try SignedCheckpoint(
      Checkpoint(origin: "log.keyferry.example/evidence", size: 7, root: root), signer: Self.signer)
    #expect(Self.checkpoint.hasPrefix(String(decoding: signed.bytes, as: UTF8.self)))
    #expect(!"\(Self.signer)".contains("AQABAg"))
    let cosigner = try NoteSigner.generate(name: "witness.example/new", kind: .witness)
    var note = signed.note
    note.add(try cosigner.sign(note.text, time: 1_767_225_607))
    #expect(try cosigner.verifier.cosigningTime(of: note) == 1_767_225_607)
  }

  @Test func eachFaultOfANoteHasItsCode() async throws {
    let text = Self.checkpoint
    func change(_ part: String, _ other: String) -> String { text.replacing(part, with: other) }
    let faults: [(String, LogFault.Code)] = [
      ("", .badNote), ("\n", .badNote), ("\n\n", .badNote), ("text\n", .badNote), (String(text.dropLast()), .badNote),
      (text + "\n", .badNote), (change("\n", "\r\n"), .badNote), (change("evidence\n7", "evi\tdence\n7"), .badNote),
      (change("— log", "- log"), .badNote), (change("— log", "—  log"), .badNote),
      (change("K98=\n\n", "K98=\n"), .badNote),
      (change("dwE=", "dwE"), .badNote), (change("dwE=", "dwF="), .badNote), (change("dwE=\n", "dwE= \n"), .badNote),
      (String(repeating: text, count: 1000), .badNote),
      (text + String(repeating: "— a AAAAAAA=\n", count: 100), .badNote),
      (change("\n7\n", "\n8\n"), .badSignature), (change("kopMZIRw", "kopMZIRx"), .badSignature),
      (change("kopMZ", "kopMA"), .notSigned), (change("— log.keyferry", "— log.other"), .notSigned),
    ]
    for (note, expected) in faults {
      #expect(await code { _ = try read(note) } == expected, "\(note.prefix(300))")
    }
    #expect(await code { _ = try SignedNote([0xff, 0x0a, 0x0a, 0x0a], name: "x") } == .badNote)
  }

  /// A signature does not make good what a checkpoint says wrongly.
  @Test func eachFaultOfASignedCheckpointHasItsCode() async throws {
    let (name, root) = ("log.keyferry.example/evidence", "o+I7Msy2v5bQktFl2KpUbgmCnejwOw6JV1gdHha5K98=")
    for (text, expected) in [
      ("\(name)\n07\n\(root)\n", LogFault.Code.badCheckpoint), ("\(name)\n+7\n\(root)\n", .badCheckpoint),
      ("\(name)\n-1\n\(root)\n", .badCheckpoint), ("\(name)\n7\n\(root.dropLast())\n", .badCheckpoint),
      ("\(name)\n7\no+I7Msy2v5bQktFl2KpUbgmCnejwOw6JV1gdHha5Kw==\n", .badCheckpoint), ("\(name)\n7\n", .badCheckpoint),
      ("\(name)\n99999999999999999999\n\(root)\n", .badCheckpoint), ("\(name)\n\n\(root)\n", .badCheckpoint),
      ("\(name)\n0\n\(root)\n", .badCheckpoint), ("\(name)\n7\n\(root)\nmore\n", .badCheckpoint),
      ("\(name)\n7\n\n\(root)\n", .badCheckpoint), ("a b\n7\n\(root)\n", .badCheckpoint),
      ("\(name)\n72057594037927937\n\(root)\n", .badCheckpoint),
      ("log.keyferry.example/other\n7\n\(root)\n", .otherOrigin),
    ] {
      let note = SignedNote(text: text, signatures: [try Self.signer.sign(text)])
      #expect(await code { _ = try read(String(decoding: note.bytes, as: UTF8.self)) } == expected, "\(text)")
    }
  }

  @Test func keysThatAreNone() async throws {
    let key = Self.key
    for text in [
      "", "a", "a+b", "+928a4c64+AQ==", key.replacing("928a", with: "928b"), key.replacing("928a", with: "928A"),
      String(key.dropLast()), key + "=", key.replacing("+AQOh", with: "+AgOh"),
      key.replacing("evidence", with: "evi dence"),
      Self.signer.disclosed, key.replacing("evidence", with: "other"),
    ] { #expect(await code { _ = try NoteVerifier(text) } == .badKey, "\(text)") }
    for text in ["", key, "PRIVATE+KEY+a+928a4c64+AQ==", Self.signer.disclosed + "A", Self.signer.disclosed + "\n\n"] {
      #expect(await code { _ = try NoteSigner(text) } == .badKey, "\(text.prefix(20))")
    }
    for name in ["", "a b", "a+b", "a\nb", "a\u{a0}b", String(repeating: "a", count: 256)] {
      #expect(await code { _ = try NoteSigner.generate(name: name) } == .badKey, "\(name)")
    }
  }

  static let proof = """
    c2sp.org/tlog-proof@v1
    index 5
    EeH1WCI/THG2vhzs/R8N6HFG0llId8J7KexRn5BAITw=
    O/nIHCMcrnC2eNPzA4+fT21rnXrc+bN48lkZrlPRdoY=
    n0o/wg1BYtw31OI9kHhIcxp2BD//9taSiL8av7z/R44=

    \(checkpoint)
    """

  @Test func aProofIsReadAndVerified() async throws {
    let text = String(Self.proof)
    let verifier = try NoteVerifier(Self.key)
    let proof = try ProofFile(Array(text.utf8), name: "proof")
    #expect(proof.index == 5 && proof.bytes == Array(text.utf8))
    #expect(try proof.verify([0x35], by: verifier, name: "proof").size == 7)
    #expect(await code { _ = try proof.verify([0x36], by: verifier, name: "proof") } == .notIncluded)
    func change(_ part: String, _ other: String) -> String { text.replacing(part, with: other) }
    for (changed, expected) in [
      ("", LogFault.Code.badProof), (change("@v1", "@v2"), .badProof), (change("index 5", "index 05"), .badProof),
      (change("index 5", "index -1"), .badProof), (change("index 5", "extra !\nindex 5"), .badProof),
      (change("index 5\n", ""), .badProof), (change("EeH1", "EeH"), .badProof),
      (change("index 5", "index 99999999999999999999"), .badProof),
      (change("index 5", "index 5\n" + String(repeating: "\(TreeHash.empty.base64)\n", count: 64)), .badProof),
      (change("index 5", "index 4"), .notIncluded), (change("index 5", "index 7"), .notIncluded),
      (change("EeH1WCI", "EeH1WCJ"), .notIncluded),
      (change("n0o/wg1BYtw31OI9kHhIcxp2BD//9taSiL8av7z/R44=\n", ""), .notIncluded),
      (change("\n7\n", "\n8\n"), .badSignature), (String(text.prefix(40)), .badProof),
    ] {
      let found = await code {
        _ = try ProofFile(Array(changed.utf8), name: "proof").verify([0x35], by: verifier, name: "proof")
      }
      #expect(found == expected, "\(changed.prefix(400))")
    }
    let extra = change("index 5", "extra NQ==\nindex 5")
    let other = try ProofFile(Array(extra.utf8), name: "proof")
    #expect(other.extra == [0x35] && other.bytes == Array(extra.utf8))
  }

  /// Whatever bytes come, they are read or refused.
  @Test func damagedBytesAreReadOrRefused() throws {
    var random = SeededRandom(seed: 7)
    let verifier = try NoteVerifier(Self.key)
    var accepted = 0
    for _ in 0..<20_000 {
      var bytes = Array(String(Self.proof).utf8)
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: place)
        case 2: bytes.insert([0x0a, 0x20, 0x39, 0x2b].randomElement(using: &random)!, at: place)
        default: bytes.removeSubrange(place...)
        }
        if bytes.isEmpty { break }
      }
      guard let proof = try? ProofFile(bytes, name: "x") else { continue }
      if (try? proof.verify([0x35], by: verifier, name: "x")) != nil, proof.extra == nil {
        accepted += 1
        // What is left is a change of the witness's line, which is not asked for here.
        #expect(proof.hashes.count == 3 && proof.index == 5)
      }
    }
    #expect(accepted > 0)
  }

  @Test(.enabled(if: RealData.isPresent, "\(RealData.howToEnable)"))
  func sharedVectors() async throws {
    let vectors = try SharedVectors.read()
    func list(_ name: String) throws -> [[String: Any]] { try #require(vectors[name] as? [[String: Any]]) }
    func text(_ vector: [String: Any], _ name: String) throws -> String { try #require(vector[name] as? String) }
    var verifiers: [String: NoteVerifier] = [:]
    for key in try list("keys") {
      let verifier = try NoteVerifier(try text(key, "vkey"))
      #expect(
        verifier.description == key["vkey"] as? String && verifier.keyID.hexadecimal == key["key_id_hex"] as? String)
      verifiers[verifier.name] = verifier
    }
    let log = try #require(verifiers["log.keyferry.example/evidence"])
    let witness = try #require(verifiers["witness.example/w1"])
    for vector in try list("checkpoints") {
      let signed = try SignedCheckpoint(Array(try text(vector, "signed").utf8), by: log, name: "x")
      #expect(signed.checkpoint.text == vector["body"] as? String)
      #expect(try SignedCheckpoint(signed.checkpoint, signer: Self.signer).bytes == signed.bytes)
      let cosigned = try SignedCheckpoint(Array(try text(vector, "cosigned").utf8), by: log, name: "x")
      #expect(try witness.cosigningTime(of: cosigned.note) == vector["cosignature_time"] as? Int64)
    }
    for vector in try list("negative_notes") {
      let note = Array(try text(vector, "note").utf8)
      #expect(await code { _ = try SignedCheckpoint(note, by: log, name: "x") } != nil, "\(vector["what"] ?? "")")
    }
    for vector in try list("tlog_proofs") {
      let bytes = Array(try text(vector, "file").utf8)
      let proof = try ProofFile(bytes, name: "x")
      #expect(proof.bytes == bytes)
      #expect(
        try proof.verify(Array(try text(vector, "leaf_data").utf8), by: log, name: "x").size == vector["size"] as? Int)
    }
  }
}
