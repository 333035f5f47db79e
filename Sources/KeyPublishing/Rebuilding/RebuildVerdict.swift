package import ExposureKeys
package import KeyStorage

/// Whether a bundle can be made again from what the store has. Nothing in it says more of a key than the published file does.
package struct RebuildVerdict: Hashable, Sendable {
  package enum Result: String, Hashable, Sendable, CaseIterable, Encodable {
    /// Made again, it has the same `export.bin`.
    case equal
    case different
    /// What it was made of is not known, or not known any more.
    case notMade = "not-made"
  }

  /// Why it is not equal, as far as that can be known.
  package struct Reason: Hashable, Sendable, Encodable {
    package enum Code: String, Hashable, Sendable, CaseIterable, Encodable {
      /// Nobody noted how it was made.
      case noRecipe = "no-recipe"
      /// It took the place of a file that was lost.
      case replacement
      /// The policy that it was made by is not at hand.
      case policy
      /// The secret behind look-alikes is not the one of then.
      case secret
      /// The file in the folder is not what was staged.
      case fileChanged = "file-changed"
      /// It is published, and its file is not in the folder.
      case fileMissing = "file-missing"
      /// The log says something else of it than the store.
      case log
      /// A key was erased since.
      case erased
      /// What it was made of is too old, and gone from the store.
      case expired
      /// Documents were read again since, by another policy.
      case reread
      /// What was held for the operator then was decided about since.
      case heldDecided = "held-decided"
      /// Another version of the program made it.
      case program
      /// Bundles that it is made of are not equal, or cannot be made again.
      case parts
      case unknown
    }

    package let code: Code
    package let text: String
  }

  /// Where the published file and the one that was made again first part.
  package struct Difference: Hashable, Sendable, Encodable {
    /// `header`, `keys` or `revised_keys`.
    package let place: String
    /// The key's place in the published list, counted from 1; absent for the header.
    package let index: Int?
    /// The field; absent where a key is missing as a whole.
    package let field: String?
    package let text: String
  }

  /// What the file in the publication folder is.
  package enum File: String, Hashable, Sendable, CaseIterable, Encodable {
    case whole, missing, changed
  }

  package let bundle: NewBundle
  package let id: BundleID
  package internal(set) var result: Result
  /// The event that staged it, and what was known then: the number of the last event before its keys were selected.
  package internal(set) var event: EventID?
  package internal(set) var known: EventID?
  /// The clock of the round.
  package internal(set) var clock: Instant?
  /// SHA-256 of the policy's file, and the program that made it.
  package internal(set) var policy: String?
  package internal(set) var program: String?
  package internal(set) var file = File.missing
  /// Whether the proof beside the file can be read and says the same of it as the store, and leads into the log where its key
  /// is known; `nil` where there is none.
  package internal(set) var isLogged: Bool?
  /// Why not.
  var logFault: String?
  /// SHA-256 of `export.bin` as it was made again.
  package internal(set) var digest: String?
  /// How many keys were compared.
  package internal(set) var keys: Int?
  /// Of how many bundles it is made, and how many of these are equal when they are made again.
  package internal(set) var parts: Int?
  package internal(set) var equalParts: Int?
  package internal(set) var reason: Reason?
  package internal(set) var difference: Difference?
  /// What has changed since, and changes nothing: settings of the series, recalls.
  package internal(set) var notes: [String] = []

  init(of record: BundleRecord) {
    (bundle, id) = (record.bundle, record.id)
    result = .notMade
  }
}

extension RebuildVerdict: Encodable {
  private enum CodingKeys: String, CodingKey {
    case series, kind, ordinal, path, result, event, known, clock, policy, program, file, keys, parts, reason,
      difference, notes, equalParts
    case isLogged = "logged"
    case published = "export_sha256"
    case digest = "made_again_sha256"
  }

  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(bundle.series, forKey: .series)
    try members.encode(bundle.kind.rawValue, forKey: .kind)
    try members.encode(bundle.ordinal, forKey: .ordinal)
    try members.encode(bundle.path, forKey: .path)
    try members.encode(result, forKey: .result)
    try members.encodeIfPresent(event?.rawValue, forKey: .event)
    try members.encodeIfPresent(known?.rawValue, forKey: .known)
    try members.encodeIfPresent(clock?.description, forKey: .clock)
    try members.encodeIfPresent(policy, forKey: .policy)
    try members.encodeIfPresent(program, forKey: .program)
    try members.encode(file, forKey: .file)
    try members.encodeIfPresent(isLogged, forKey: .isLogged)
    try members.encode(bundle.exportDigest, forKey: .published)
    try members.encodeIfPresent(digest, forKey: .digest)
    try members.encodeIfPresent(keys, forKey: .keys)
    try members.encodeIfPresent(parts, forKey: .parts)
    try members.encodeIfPresent(equalParts, forKey: .equalParts)
    try members.encodeIfPresent(reason, forKey: .reason)
    try members.encodeIfPresent(difference, forKey: .difference)
    try members.encode(notes, forKey: .notes)
  }
}
