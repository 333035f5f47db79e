internal import ExposureKeys

/// A file beside something that is in a log: where it stands there, and the proof.
///
/// Source: C2SP tlog-proof. `extra` is proved by nobody; here it has the entry itself, which the proof then proves.
package struct ProofFile: Hashable, Sendable {
  package static let ending = ".tlog-proof"
  package static let byteLimit = 256 << 10
  private static let firstLine = "c2sp.org/tlog-proof@v1"

  package let index: Int
  package let hashes: [TreeHash]
  package let extra: [UInt8]?
  /// The signed checkpoint as it was served.
  package let checkpoint: [UInt8]

  package init(index: Int, hashes: [TreeHash], extra: [UInt8]?, checkpoint: [UInt8]) {
    self.index = index
    self.hashes = hashes
    self.extra = extra
    self.checkpoint = checkpoint
  }

  package var bytes: [UInt8] {
    var text = "\(Self.firstLine)\n"
    if let extra { text += "extra \(Base64.encode(extra))\n" }
    text += "index \(index)\n" + hashes.map { $0.base64 + "\n" }.joined() + "\n"
    return Array(text.utf8) + checkpoint
  }

  /// - Parameter name: for messages.
  /// - Throws: ``LogFault`` `bad-proof`.
  package init(_ bytes: [UInt8], name: String) throws {
    func fault(_ line: Int, _ reason: String) -> LogFault { LogFault(.badProof, "\(name): line \(line): \(reason)") }
    guard bytes.count <= Self.byteLimit else {
      throw fault(1, "the file has \(bytes.count) bytes, at most \(Self.byteLimit) are read")
    }
    var rest = bytes[...]
    var number = 0
    func next() throws -> String {
      number += 1
      guard let end = rest.firstIndex(of: 0x0a) else { throw fault(number, "the file ends here") }
      defer { rest = rest[(end + 1)...] }
      guard let line = String(validating: rest[..<end], as: UTF8.self) else { throw fault(number, "it is no UTF-8") }
      return line
    }
    let first = try next()
    guard first == Self.firstLine else { throw fault(1, "it is \(quoted(first)), allowed is \"\(Self.firstLine)\"") }
    var line = try next()
    if line.hasPrefix("extra ") {
      guard let extra = Base64.decode(line.dropFirst(6).utf8, spelling: .canonical) else {
        throw fault(number, "\"extra\" has no base64")
      }
      self.extra = extra
      line = try next()
    } else {
      extra = nil
    }
    guard line.hasPrefix("index "),
      let index = DecimalText.decode(line.dropFirst(6), limit: RightEdge.sizeLimit)
    else { throw fault(number, "it is \(quoted(line)), allowed is \"index NUMBER\"") }
    self.index = index
    var hashes: [TreeHash] = []
    while case let line = try next(), !line.isEmpty {
      guard hashes.count < TreeProof.hashLimit else {
        throw fault(number, "more than \(TreeProof.hashLimit) hashes")
      }
      guard let hash = TreeHash(base64: line) else {
        throw fault(number, "it is \(quoted(line)), allowed are 32 bytes in base64")
      }
      hashes.append(hash)
    }
    self.hashes = hashes
    checkpoint = Array(rest)
  }

  /// Verifies that an entry is in the log.
  ///
  /// - Parameters:
  ///   - log: the key of the log, known from elsewhere.
  ///   - name: for messages.
  /// - Returns: the checkpoint of the proof.
  /// - Throws: ``LogFault``, `not-included` where the hashes do not lead from the entry to the root.
  package func verify(_ entry: [UInt8], by log: NoteVerifier, name: String) throws -> SignedCheckpoint {
    let signed = try SignedCheckpoint(checkpoint, by: log, name: name)
    guard
      TreeProof.isIncluded(.leaf(entry), at: index, size: signed.size, root: signed.root, proof: hashes)
    else {
      throw LogFault(
        .notIncluded, "\(name): it does not prove that this is entry \(index) of the log of size \(signed.size)")
    }
    return signed
  }
}
