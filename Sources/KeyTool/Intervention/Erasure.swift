internal import GatewayDaemon
internal import GatewaySettings
internal import KeyIntake
internal import KeyPublishing
internal import KeyReceiving
internal import KeyStorage
internal import S3Publications

/// What an erasure removes, or would, and what still has the key: `schemas/erasure.schema.json`.
struct Erasure: Encodable {
  let reportVersion = 1
  let keySHA256: String
  /// Whether it was removed, or only looked for.
  private(set) var isDone = false
  private(set) var claims: Int
  private(set) var held: Int
  private(set) var released: Int
  /// The documents whose bytes go, by number.
  private(set) var documents: [Int64]
  /// The documents whose bytes cannot be read, so that nobody can tell whether the key is in them.
  private(set) var unreadable: [Int64]
  /// The newest published bundle of each series that has it, and the folder that stays as it is.
  let published: [String]
  /// What mirrors show of it, or would.
  let mirrors: [Shown]
  let publicationFolder: String?
  /// For the text alone.
  private let bucket: String?
  let stateFolder: String

  enum CodingKeys: String, CodingKey {
    case claims, held, released, documents, unreadable, published, mirrors, reportVersion, keySHA256,
      publicationFolder, stateFolder
    case isDone = "done"
  }

  struct Shown: Encodable {
    let mirror: String
    /// In the publication folder; for one that is coming, its name at the source.
    let path: String
    /// `listed`, `unlisted`, `gone`, `coming`.
    let state: String

    /// What stays, and what follows for the mirror.
    var text: String {
      switch state {
      case "coming":
        "mirror \(mirror) has not shown \(path) yet, and never will, since the archive's bytes go as a whole: keyferry publish "
          + "before the erasure shows it to apps\n"
      case "gone":
        "mirror \(mirror) has shown \(path), and its lost file never comes back, since the archive's bytes go as a whole\n"
      default:
        "stays, since it is published: \(path), shown whole by \(mirror); once this file is lost or damaged, it never comes "
          + "back, since the archive's bytes go as a whole\n"
      }
    }
  }

  init(_ account: KeyAccount, _ plan: GatewayPlan) {
    keySHA256 = KeyAccount.digest(of: account.key)
    claims = account.record.claims.count
    held = account.record.held.count
    released = account.record.released.count
    documents = account.evidence.found.map(\.document.id.rawValue)
    unreadable = account.evidence.unreadable.map(\.id.rawValue)
    published = account.record.released.compactMap { account.bundles[$0.key.bundle]?.bundle.path }.sorted()
    mirrors = account.shown.flatMap { shown in
      shown.archives.map {
        Shown(mirror: printableText(shown.series), path: printableText($0.path), state: $0.state.rawValue)
      }
    }
    publicationFolder = plan.publicationFolder
    bucket = plan.publicationBucket?.shown
    stateFolder = plan.stateFolder
  }

  mutating func close(_ receipt: ErasureReceipt, _ unreadable: [DocumentRecord]) {
    isDone = true
    (claims, held, released) = (receipt.claims, receipt.held, receipt.released)
    documents = receipt.contents.map(\.rawValue).sorted()
    self.unreadable = unreadable.map(\.id.rawValue)
  }

  var text: String {
    guard claims + held + released + documents.count > 0 else {
      return "the store has nothing of the key\n" + unreadableText + mirrors.map(\.text).joined()
    }
    let verb = isDone ? "erased" : "would be erased"
    var text = "key with SHA-256 \(keySHA256)\n"
    text += "\(verb): \(counted(claims, "claim")), \(counted(held, "held claim")), \(counted(released, "release")), "
    text += "the bytes of \(counted(documents.count, "document"))"
    text += documents.isEmpty ? "\n" : " (\(documents.prefix(20).map { "\($0)" }.joined(separator: ", ")))\n"
    text += unreadableText
    for path in published { text += "stays, since it is published: \(path), and the day's archives that hold it\n" }
    for shown in mirrors { text += shown.text }
    text +=
      "the folders of file sources still have what they sent, refused/ included; backups of \(stateFolder)\(publicationFolder.map { " and \($0)" } ?? "") from before still have it, and so "
    if let bucket { text += "have earlier versions of objects in \(bucket), where the bucket keeps them, and so " }
    return text + "have those who fetched what is published\n"
  }

  private var unreadableText: String {
    unreadable.isEmpty
      ? ""
      : "cannot be read, so that nobody can tell: documents \(unreadable.prefix(20).map { "\($0)" }.joined(separator: ", "))\n"
  }
}
