internal import Crypto

/// A copy that nobody reads but those whom it was sealed for, written and read part by part: memory is that of one part.
///
/// Source: the age file encryption format, version 1 (C2SP): parts of 64 KiB, each with its number and whether it is the
/// last one, so that none can be left out, moved or added.
package enum SealedCopy {
  static let partLength = 65_536
  private static let tagLength = 16
  private static let nonceLength = 16

  /// Whether bytes begin like a sealed copy.
  ///
  /// - Parameter start: its first 64 bytes, or more.
  package static func isSealed(_ start: [UInt8]) -> Bool { start.starts(with: Array("\(CopyHeader.version)\n".utf8)) }

  /// - Parameters:
  ///   - read: gives the next bytes, at most so many and none at the end.
  ///   - write: takes what the copy is made of.
  package static func seal(
    for recipients: [CopyRecipient], reading read: (_ count: Int) throws -> [UInt8],
    writing write: ([UInt8]) throws -> Void
  ) throws {
    guard !recipients.isEmpty else { throw CopyFault(.badKey, "a sealed copy is for somebody") }
    let fileKey = randomBytes(CopyHeader.fileKeyLength)
    try write(try CopyHeader.write(fileKey, for: recipients))
    let nonce = randomBytes(nonceLength)
    try write(nonce)
    var parts = Parts(fileKey, nonce)
    var part = try filled(partLength, read)
    while true {
      let next = part.count == partLength ? try filled(partLength, read) : []
      let box = try ChaChaPoly.seal(part, using: parts.key, nonce: parts.next(isLast: next.isEmpty))
      try write(Array(box.ciphertext) + Array(box.tag))
      if next.isEmpty { return }
      part = next
    }
  }

  /// Writes what is in a copy. What was written before a fault is no copy of anything.
  package static func open(
    as identity: CopyIdentity, reading read: (_ count: Int) throws -> [UInt8], writing write: ([UInt8]) throws -> Void
  ) throws {
    var (head, rest) = try head(read)
    let fileKey = try CopyHeader.read(head, as: identity)
    head = []
    func take(_ count: Int) throws -> [UInt8] {
      let kept = Array(rest.prefix(count))
      rest.removeFirst(kept.count)
      return kept.count == count ? kept : kept + (try filled(count - kept.count, read))
    }
    let nonce = try take(nonceLength)
    guard nonce.count == nonceLength else { throw CopyFault(.damaged, "the copy ends after its head") }
    var parts = Parts(fileKey, nonce)
    var sealed = try take(partLength + tagLength)
    var number = 0
    while true {
      let next = sealed.count == partLength + tagLength ? try take(partLength + tagLength) : []
      guard sealed.count >= tagLength,
        let box = try? ChaChaPoly.SealedBox(
          nonce: try parts.next(isLast: next.isEmpty), ciphertext: sealed.dropLast(tagLength),
          tag: sealed.suffix(tagLength)),
        let part = try? ChaChaPoly.open(box, using: parts.key), number == 0 || !part.isEmpty
      else {
        throw CopyFault(
          .damaged, "the copy is damaged or cut off in its part \(number + 1), at byte \(number * partLength)")
      }
      try write(Array(part))
      if next.isEmpty { return }
      (sealed, number) = (next, number + 1)
    }
  }

  /// The head with its last line, and what was read behind it.
  private static func head(_ read: (Int) throws -> [UInt8]) throws -> (head: [UInt8], rest: [UInt8]) {
    let bytes = try filled(CopyHeader.byteLimit, read)
    guard isSealed(bytes) else { throw CopyFault(.notForUs, "the file is no sealed copy: it begins otherwise") }
    let mark = Array("\n---".utf8)
    var place = 0
    while place + mark.count <= bytes.count {
      if bytes[place] == mark[0], bytes[place..<place + mark.count].elementsEqual(mark) {
        guard let end = bytes[(place + 1)...].firstIndex(of: mark[0]) else { break }
        return (Array(bytes[...end]), Array(bytes[(end + 1)...]))
      }
      place += 1
    }
    throw CopyFault(.damaged, "the head of the copy has no end")
  }

  private static func filled(_ count: Int, _ read: (Int) throws -> [UInt8]) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let more = try read(count - bytes.count)
      if more.isEmpty { break }
      bytes += more
    }
    return bytes
  }

  private static func randomBytes(_ count: Int) -> [UInt8] {
    SymmetricKey(size: SymmetricKeySize(bitCount: count * 8)).withUnsafeBytes { Array($0) }
  }

  /// The key of all parts, and the number of the next one.
  private struct Parts {
    let key: SymmetricKey
    private var number: UInt64 = 0

    init(_ fileKey: [UInt8], _ nonce: [UInt8]) {
      key = HKDF<SHA256>.deriveKey(
        inputKeyMaterial: SymmetricKey(data: fileKey), salt: nonce, info: Array("payload".utf8), outputByteCount: 32)
    }

    mutating func next(isLast: Bool) throws -> ChaChaPoly.Nonce {
      let counter = (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * (7 - $0))) }
      number += 1
      return try ChaChaPoly.Nonce(data: [0, 0, 0] + counter + [isLast ? 1 : 0])
    }
  }
}
