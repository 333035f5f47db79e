internal import BundleTrust
internal import Containers
internal import Glibc
internal import KeyIntake
internal import PeerTransport
internal import Synchronization
internal import TransparencyLog

/// Whether a log says that a bundle was published as it is.
struct LogStanding: Encodable {
  /// `logged`, or what is wrong.
  let verdict: String
  /// The index of the entry; absent where no proof was found good.
  let index: Int?
  /// The size of the tree in which it is proved.
  let size: Int?
  let text: String

  var isLogged: Bool { verdict == "logged" }
}

/// A checkpoint that an auditor trusts, and the log that it is of where that can be read. Several threads ask it at once.
final class TrustedLog: Sendable {
  /// What `LogStanding.verdict` says besides the codes of ``LogFault``.
  enum Verdict: String, CaseIterable {
    case logged
    /// There is no proof beside the document.
    case noProof = "no-proof"
    /// The proof is of another file.
    case otherBundle = "other-bundle"
    /// The proof has a checkpoint of another size than the one that is trusted, and the log is not at hand.
    case notCompared = "not-compared"
  }

  private let verifier: NoteVerifier
  private let checkpoint: SignedCheckpoint
  private let place: String
  private let source: (any LogSource)?
  private let clients: PeerClients
  /// The checkpoints of proofs that were found to belong to the log.
  private let compared = Mutex<Set<SignedCheckpoint>>([])

  /// - Parameter place: a checkpoint's file, or the folder or the address of a log.
  init(_ place: String, key: NoteVerifier) throws {
    let clients = PeerClients(version: Program.version)
    do {
      let isLog = LogPlace.isAddress(place) || InputWalk.isFolder(place)
      source = isLog ? try LogPlace.source(place, clients) : nil
      checkpoint = try Waiting.wait { try await LogPlace.checkpoint(place, by: key, clients) }
    } catch {
      try? Waiting.wait { await clients.shutdown() }
      throw error
    }
    (self.place, self.clients, verifier) = (place, clients, key)
  }

  deinit {
    let clients = clients
    try? Waiting.wait { await clients.shutdown() }
  }

  /// Looks for the proof beside a document, and verifies it.
  ///
  /// - Parameter exportDigest: SHA-256 of its `export.bin`, hexadecimal.
  func standing(of document: SourceDocument, exportDigest: String?) throws -> LogStanding {
    let place = document.file + ProofFile.ending
    func standing(_ verdict: Verdict, _ text: String, _ index: Int? = nil, _ size: Int? = nil) -> LogStanding {
      LogStanding(verdict: verdict.rawValue, index: index, size: size, text: text)
    }
    guard document.entry == nil, FileIdentity(path: place) != nil else {
      return standing(.noProof, "there is no proof of the log beside it (\(place))")
    }
    do {
      let proof = try ProofFile(try FileSource.contents(of: place, limit: ProofFile.byteLimit), name: place)
      guard let bytes = proof.extra else {
        throw LogFault(.badProof, "\(place): it has no entry (\"extra\"), so it does not say of which bundle it is")
      }
      let signed = try proof.verify(bytes, by: verifier, name: place)
      let entry = try LogEntry(bytes, name: place)
      let whole = try document.digest().hexadecimal
      // Of export.bin and export.sig that lie side by side, there is no archive.
      let isEqual =
        document.signatureFile != nil
        ? entry.text("export_sha256") == exportDigest : entry.text("archive_sha256") == whole
      guard entry.kind == .published, isEqual else {
        let hint = entry.text("export_sha256") == exportDigest ? "; its export.bin is the same" : ""
        return standing(
          .otherBundle,
          """
          entry \(proof.index) of the log is of another file: SHA-256 \(entry.text("archive_sha256") ?? "unknown"), this \
          one has \(whole)\(hint)
          """, proof.index, signed.size)
      }
      guard try isPart(signed) else {
        return standing(
          .notCompared,
          """
          the proof is for the log of size \(signed.size), \(self.place) is of size \(checkpoint.size); give the log itself, \
          so that one can be proved to extend the other
          """, proof.index, signed.size)
      }
      // Who keeps a bundle under another name may: but two that were swapped are to be seen.
      let name = document.file.split(separator: "/").last
      let published = entry.text("path").flatMap { LogEntry.isPath($0) ? $0 : nil }
      let other = published.flatMap { $0.split(separator: "/").last == name ? nil : ", published as \($0)" } ?? ""
      return standing(
        .logged, "entry \(proof.index) of \(signed.checkpoint.origin), size \(signed.size)\(other)", proof.index,
        signed.size)
    } catch let fault as LogFault where fault.isRefutation {
      return LogStanding(verdict: fault.code.rawValue, index: nil, size: nil, text: fault.reason)
    }
  }

  /// Whether the proof's checkpoint and the trusted one are of one history; `false` where that cannot be found out.
  private func isPart(_ signed: SignedCheckpoint) throws -> Bool {
    guard !compared.withLock({ $0.contains(signed) }) else { return true }
    let (checkpoint, verifier) = (checkpoint, verifier)
    guard signed.size != checkpoint.size else {
      guard signed.root == checkpoint.root else {
        throw LogFault(
          .fork,
          "a fork: of size \(signed.size) the proof has the root \(signed.root.base64), \(place) \(checkpoint.root.base64)"
        )
      }
      _ = compared.withLock { $0.insert(signed) }
      return true
    }
    guard let source else { return false }
    try Waiting.wait {
      // A log that has grown meanwhile has the tiles of the proof's checkpoint, too.
      guard signed.size < checkpoint.size else {
        let now = try await LogWatch.checkpoint(of: source, by: verifier)
        let reader = TreeReader(source, size: now.size)
        try await now.verifyExtends(signed, by: reader)
        return
      }
      try await checkpoint.verifyExtends(signed, by: TreeReader(source, size: checkpoint.size))
    }
    _ = compared.withLock { $0.insert(signed) }
    return true
  }
}

/// Waits in a command that does nothing else meanwhile for what others' servers answer.
enum Waiting {
  static func wait<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    let box = Box<Value>()
    Task.detached {
      do { box.set(.success(try await body())) } catch { box.set(.failure(error)) }
    }
    return try box.get()
  }

  /// Owns the answer, and the lock under which it is waited for.
  private final class Box<Value: Sendable>: @unchecked Sendable {
    private var result: Result<Value, any Error>?
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
      sem_destroy(semaphore)
      semaphore.deallocate()
    }

    func set(_ result: Result<Value, any Error>) {
      self.result = result
      sem_post(semaphore)
    }

    func get() throws -> Value {
      while sem_wait(semaphore) != 0 {}
      guard let result else { throw CancellationError() }
      return try result.get()
    }
  }
}
