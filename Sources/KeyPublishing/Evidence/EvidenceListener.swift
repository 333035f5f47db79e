internal import ExposureKeys
package import KeyStorage
internal import TransparencyLog

/// Queues what the transparency log says of each event, in the transaction in which it happens: so there is no bundle that
/// the log does not get, and no entry of one that was never staged.
///
/// An entry is for ever and for everybody. No key and no hash of one goes into it.
package struct EvidenceListener: LedgerListener {
  /// How entries of bundles wait that the folder had and the store did not know: the log may have them already.
  static let adoptedKind = "adopted"

  private let program: String

  /// - Parameter program: name and version of what publishes.
  package init(program: String) { self.program = program }

  package func hear(_: EventKind, _ facts: PublicFacts?, _ stamp: EventStamp, _ queue: LogQueue) throws {
    func say(_ kind: LogEntry.Kind, _ members: [String: LogEntry.Value]) throws {
      var members = members
      if members["at"] == nil { members["at"] = .number(Int(stamp.time.secondsSince1970)) }
      try queue.append(try LogEntry(kind, members).bytes, kind: kind.rawValue)
    }
    /// What an operator did. The words are public.
    func say(_ kind: LogEntry.Kind, _ what: String?, _ word: Attribution, keys: Int? = nil) throws {
      var members: [String: LogEntry.Value] = ["by": .text(Self.line(word.by))]
      let reason = [what, word.reason].compactMap(\.self).joined(separator: ": ")
      if !reason.isEmpty { members["reason"] = .text(Self.line(reason)) }
      members["keys"] = keys.map { .number($0) }
      try say(kind, members)
    }
    switch facts {
    case .received(let facts, let mark):
      guard let salt = mark.salt else { return }
      let time = stamp.time.secondsSince1970
      try say(
        .received,
        [
          // Nobody is told the minute.
          "at": .number(Int(time - time % 3600)), "source": .text(Self.line(mark.source)),
          "commitment": .text(Commitment.received(facts.digest, salt: salt)),
        ])
    case .staged(let records, let series, let cause):
      if let policy = cause.policy, policy.isNew {
        try say(.policyChanged, ["policy_sha256": .text(policy.digest), "series": .text(series)])
      }
      for record in records {
        let entry = try LogEntry(record.bundle, policy: cause.policy?.digest, program: program, at: stamp.time)
        try queue.append(entry.bytes, kind: cause.isAdoption ? Self.adoptedKind : entry.kind.rawValue)
      }
      for (old, reason) in cause.replaced(by: records) {
        try say(.signedAgain, ["path": .text(old.bundle.path), "reason": .text(reason), "series": .text(series)])
      }
    case .recalled(let request, let effect, let word):
      try say(.recalled, "origin \(request.origin)", word, keys: effect.claims)
    case .heldDiscarded(let count, let word):
      try say(.recalled, "held keys of a document are not admitted", word, keys: count)
    case .discarded(let word): try say(.recalled, "a refused document is given up", word)
    case .reread(let source, let word): try say(.revised, "documents of source \(source) are read again", word)
    case .clockAccepted(let word): try say(.clockAccepted, nil, word)
    // Neither the digest, which is one of a key, nor the reason, which may be about a person.
    case .erased(let word): try say(.erased, nil, Attribution(by: word.by), keys: 1)
    // Of the keys of single persons nothing is said at once, and of an hour no number.
    case .uploadsCounted(let hours):
      for hour in hours {
        try say(
          .uploaded,
          [
            "at": .number(Int(hour.start.secondsSince1970)), "source": .text(Self.line(hour.door)),
            "commitment": .text(Commitment.uploads(hour)),
          ])
      }
    case nil: break
    }
  }

  /// A text without what may be key data or a digest of some: runs of as many characters as sixteen bytes have in base64,
  /// and more.
  private static func hidingKeyData(_ text: String) -> String {
    var result = ""
    var run = ""
    func close() {
      // A long word has no digit, and no capital within.
      let isWord = !run.contains(where: \.isNumber) && !run.dropFirst().contains(where: \.isUppercase)
      result += run.utf8.count >= 22 && !isWord ? "(\(run.utf8.count) characters)" : run
      run = ""
    }
    for character in text {
      if character.isASCII, character.isLetter || character.isNumber || "+/-_=".contains(character) {
        run.append(character)
      } else {
        close()
        result.append(character)
      }
    }
    close()
    return result
  }

  /// A text without bytes that are spelled one by one or in groups: `d3:4b:ee:…`, `d34b eeb7 …`, `0xd3, 0x4b, …`, `211, 75, …`.
  private static func hidingDigits(_ text: String) -> String {
    var result = ""
    var (run, digits, groups) = ("", 0, 0)
    /// What stands behind the last group.
    var between = ""
    var group = ""
    func endRun() {
      // Sixteen bytes have 32 hexadecimal digits, and seldom fewer than 28 decimal ones.
      result += groups > 1 && digits >= 28 ? "(\(digits) digits)" : run
      (run, digits, groups) = ("", 0, 0)
    }
    func endGroup() {
      guard !group.isEmpty else { return }
      let plain = group.hasPrefix("0x") || group.hasPrefix("0X") ? group.dropFirst(2) : group[...]
      // Letters alone in an odd number are a word.
      let isWord = plain.allSatisfy(\.isLetter) && !plain.count.isMultiple(of: 2)
      if !isWord, plain.allSatisfy({ $0.isASCII && $0.isHexDigit }) {
        if groups == 0 { result += between } else { run += between }
        (run, digits, groups) = (run + group, digits + plain.count, groups + 1)
      } else {
        endRun()
        result += between + group
      }
      (between, group) = ("", "")
    }
    for character in text {
      if character.isLetter || character.isNumber {
        group.append(character)
      } else {
        endGroup()
        between.append(character)
      }
    }
    endGroup()
    endRun()
    return result + between
  }

  /// One line of at most 1000 bytes without key data, which somebody may have written as a reason.
  private static func line(_ text: String) -> String {
    var line = ""
    for character in hidingKeyData(hidingDigits(text)) {
      let isPlain = character.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
      let next = isPlain ? character : " "
      guard line.utf8.count + next.utf8.count <= 1000 else { break }
      line.append(next)
    }
    return line
  }
}

/// What the log says of something that nobody is to learn from it, and that can be shown to somebody later.
package enum Commitment {
  /// - Parameters:
  ///   - digest: of the document, as the store has it: lower-case hexadecimal SHA-256.
  ///   - salt: 32 random bytes; without them it says nothing.
  /// - Returns: lower-case hexadecimal SHA-256.
  package static func received(_ digest: String, salt: [UInt8]) -> String {
    sha256(Array("keyferry received v1\n".utf8) + salt + bytes(digest))
  }

  /// - Returns: lower-case hexadecimal SHA-256.
  package static func uploads(_ hour: UploadHour) -> String {
    sha256(Array("keyferry uploads v1\n".utf8) + hour.salt + bytes(sha256(Array(hour.text.utf8))))
  }

  /// What is no digest is taken as its text.
  private static func bytes(_ digest: String) -> [UInt8] {
    (digest.utf8.count == 64 ? Hexadecimal.decode(digest.utf8) : nil) ?? Array(digest.utf8)
  }
}

extension LogEntry {
  /// What the log says of a bundle that goes out.
  ///
  /// - Parameters:
  ///   - policy: SHA-256 of the publishing policy's file; `nil` where it is not known any more.
  ///   - program: name and version of what made it; `nil` likewise.
  init(_ bundle: NewBundle, policy: String?, program: String?, at now: Instant) throws {
    var members: [String: Value] = [
      "archive_sha256": .text(bundle.archiveDigest), "at": .number(Int(now.secondsSince1970)),
      "bundle": .text(bundle.kind.rawValue), "bytes": .number(bundle.byteCount), "end": .number(Int(bundle.end)),
      "export_sha256": .text(bundle.exportDigest), "key_id": .text(bundle.keyID),
      "key_version": .text(bundle.keyVersion), "keys": .number(bundle.keyCount), "ordinal": .number(bundle.ordinal),
      "path": .text(bundle.path), "revised": .number(bundle.revisedKeyCount), "series": .text(bundle.series),
      "start": .number(Int(bundle.start)),
    ]
    members["policy_sha256"] = policy.map { .text($0) }
    members["program"] = program.map { .text($0) }
    try self.init(.published, members)
  }
}

extension StagingCause {
  fileprivate var isAdoption: Bool { if case .adopted = self { true } else { false } }

  fileprivate var policy: PolicyMark? {
    switch self {
    case .new(let policy), .replacing(_, let policy): policy
    case .adopted: nil
    }
  }

  /// What leaves for them, and why.
  fileprivate func replaced(by new: [BundleRecord]) -> [(BundleRecord, reason: String)] {
    guard case .replacing(let old, _) = self, let key = new.last?.bundle else { return [] }
    return old.map { record in
      let isSameKey = record.bundle.keyID == key.keyID && record.bundle.keyVersion == key.keyVersion
      return (record, isSameKey ? "its file was lost or damaged, and it was made again" : "another key signs now")
    }
  }
}
