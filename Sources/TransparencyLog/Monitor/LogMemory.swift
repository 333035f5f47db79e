internal import FoundationEssentials

/// What a monitor remembers from one look at a log to the next.
package struct LogMemory: Hashable, Sendable, Codable {
  /// A bundle that the log says was published.
  package struct Bundle: Hashable, Sendable, Codable {
    /// Lower-case hexadecimal SHA-256 of the file.
    package var sha256: String
    package var bytes: Int
    package var series: String?
    /// `increment`, `day`, …; `nil` where the entry does not say it.
    package var kind: String?
    /// When it was logged, and where its window ended: seconds since 1970.
    package var at: Int?
    package var end: Int?
    /// The entry that says so.
    package var entry: Int
    /// The entry that withdraws it.
    package var withdrawn: Int?
    /// The entry that says that another one took its place.
    package var replaced: Int?

    /// Whether the log says that it may be gone.
    var hasLeft: Bool { withdrawn != nil || replaced != nil }
  }

  /// What a series has shown.
  package struct Series: Hashable, Sendable, Codable {
    /// The files that name its bundles, without its folder: `manifest.json`, `index.txt`.
    package var lists: Set<String> = []
    /// For how many days it lists a bundle, as it says.
    package var listedDays: Int?
  }

  package static let byteLimit = 1 << 28

  package var version = 1
  /// The newest checkpoint that was found good, as it was served.
  package private(set) var checkpoint: String
  /// By their paths.
  package private(set) var bundles: [String: Bundle]
  /// Faults of the log itself, which stay for as long as it is followed.
  package private(set) var faults: [LogFinding]
  /// By their names.
  package private(set) var series: [String: Series]
  /// SHA-256 of the public key of attestations that the log shows.
  package private(set) var attester: String?

  init(
    _ checkpoint: SignedCheckpoint, _ bundles: [String: Bundle], _ faults: [LogFinding], _ series: [String: Series],
    attester: String?
  ) {
    self.checkpoint = String(decoding: checkpoint.bytes, as: UTF8.self)
    self.bundles = bundles
    self.faults = faults
    self.series = series
    self.attester = attester
  }

  /// How many entries the log had.
  package var size: Int {
    get throws {
      let note = try SignedNote(Array(checkpoint.utf8), name: "the checkpoint of the last time")
      return try Checkpoint(text: note.text, name: "the checkpoint of the last time").size
    }
  }

  package var bytes: [UInt8] {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      return Array(try encoder.encode(self)) + [0x0a]
    }
  }

  /// - Parameters:
  ///   - log: the key of the log that it is of.
  ///   - name: for messages.
  /// - Throws: ``LogFault`` `bad-state`, also where the checkpoint in it is not signed by this log: then it is not the log that
  ///   is wrong, but what was kept.
  package init(_ bytes: [UInt8], of log: NoteVerifier, name: String) throws {
    guard let memory = try? JSONDecoder().decode(LogMemory.self, from: Data(bytes)), memory.version == 1 else {
      throw LogFault(.badState, "\(name): it is damaged, or not what a monitor keeps")
    }
    do {
      _ = try memory.signed(by: log, name: "its checkpoint")
    } catch let fault as LogFault {
      throw LogFault(
        .badState, "\(name): it was changed, or is of another log: \(fault.reason)",
        hint: "give the key and the file of one log; without its file a monitor begins anew")
    }
    self = memory
  }

  func signed(by log: NoteVerifier, name: String = "the checkpoint of the last time") throws -> SignedCheckpoint {
    try SignedCheckpoint(Array(checkpoint.utf8), by: log, name: name)
  }
}

/// Something that is wrong with a log or with what it lists.
package struct LogFinding: Hashable, Sendable, Codable {
  package enum Code: String, Hashable, Sendable, Codable, CaseIterable {
    /// An entry that says nothing that entries say.
    case badEntry = "bad-entry"
    /// A path, or a number of a series, was given to two bundles.
    case repeated
    /// A bundle that the log lists is not served.
    case missingBundle = "missing-bundle"
    /// Other bytes are served than were published.
    case changedBundle = "changed-bundle"
    /// A series lists a bundle that is not in the log, that was withdrawn, or with other digests.
    case unlogged
    /// A series does not list any more what is not old enough to leave, and what nobody withdrew.
    case leftEarly = "left-early"
    /// The index of a series does not name a bundle that its manifest lists.
    case notListed = "not-listed"
    /// A series showed what it lists, and does not show it now.
    case missingList = "missing-list"
    /// The key of attestations is another one than the last time, or is gone.
    case otherAttester = "other-attester"
  }

  package let code: Code
  /// The index of the entry; `nil` where there is none.
  package let entry: Int?
  package let path: String?
  package let text: String
}
