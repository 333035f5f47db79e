internal import KeyPublishing
internal import TransparencyLog

/// Which files of the transparency log are served, and how: those that C2SP tlog-tiles names, and nothing else that lies in
/// its folder; and the proofs and attestations beside bundles.
struct LogFiles: Sendable {
  /// How one is served.
  struct Kind: Hashable, Sendable {
    /// A larger one is a fault.
    let byteLimit: Int
    let mediaType: String
    let cache: LayoutAnswer.Cache
  }

  /// Of the publication folder; `nil` where there is no log.
  let folder: String?

  static let proofEnding = ProofFile.ending
  static let attestationEnding = Envelope.ending
  private static let text = "text/plain; charset=utf-8"
  private static let week = 604_800

  /// - Parameter path: without a slash at the front.
  /// - Returns: `nil` for what is no file of the log.
  func kind(of path: String) -> Kind? {
    guard let folder, path.hasPrefix(folder + "/") else { return nil }
    let inside = String(path.dropFirst(folder.count + 1))
    switch inside {
    case LogWriter.checkpointPath: return Kind(byteLimit: SignedNote.byteLimit, mediaType: Self.text, cache: .never)
    case EvidenceSettings.keyFile, EvidenceSettings.attestationKeyFile:
      return Kind(byteLimit: 4096, mediaType: Self.text, cache: .seconds(300))
    default:
      guard let tile = Tile(path: inside) else { return nil }
      return Kind(byteLimit: tile.byteLimit, mediaType: "application/octet-stream", cache: .immutableFor(Self.week))
    }
  }

  /// What the folder shows; `nil` where there is no log, or no checkpoint that can be read.
  func shown(by store: PublicationStore) -> ShownLog? {
    guard let folder else { return nil }
    let content = { (name: String, limit: Int) in try? store.file("\(folder)/\(name)", limit: limit)?.bytes }
    guard let checkpoint = content(LogWriter.checkpointPath, SignedNote.byteLimit) else { return nil }
    return ShownLog(checkpoint: checkpoint, key: content(EvidenceSettings.keyFile, 4096))
  }

  /// How a proof is served, which is made again when the log is another one; and an attestation, which names the log.
  private static let companions = [
    ProofFile.ending: Kind(byteLimit: ProofFile.byteLimit, mediaType: text, cache: .seconds(60)),
    Envelope.ending: Kind(byteLimit: Envelope.byteLimit, mediaType: Envelope.mediaType, cache: .seconds(60)),
  ]

  /// What lies beside a bundle.
  ///
  /// - Returns: `nil` for what is neither its proof nor its attestation.
  static func beside(_ path: String) -> (bundle: String, kind: Kind)? {
    for (ending, kind) in companions where path.hasSuffix(ending) { return (String(path.dropLast(ending.count)), kind) }
    return nil
  }
}
