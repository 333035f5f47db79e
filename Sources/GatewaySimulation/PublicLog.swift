import KeyIntake
import KeyPublishing
import KeyStorage
import TransparencyLog

/// The log of what is published, in some of the seeds, and a stranger who follows it from its first checkpoint on.
///
/// Its state is never lost or brought back, and who loses the publication folder has a mirror of the log: what happens without
/// these is that publishing stops, which other tests show.
final class PublicLog {
  static let program = "keyferry simulation"
  static let folder = EvidenceSettings.usualFolder
  private let settings: EvidenceSettings
  private var verifier: NoteVerifier?
  private var memory: LogMemory?

  init(on disk: Disk) {
    settings = EvidenceSettings(name: "simulation.example/log", state: disk.root + "/log-state")
  }

  /// One in nine, and none of those that were found before there was a log.
  static func isKept(seed: UInt64) -> Bool { seed % 9 == 5 }

  static func has(_ path: String) -> Bool { path.hasPrefix(folder + "/") }

  /// As `keyferry log init`, once, before the first start.
  func begin(on disk: Disk) async throws {
    guard verifier == nil else { return }
    let place = LogFolder("\(disk.publicFolder)/\(Self.folder)")
    verifier = try await LogWriter.create(name: settings.name, state: LogFolder(settings.state), folder: place).verifier
  }

  func keeper(of ledger: Ledger, on disk: Disk) -> @Sendable () -> LogKeeper {
    let (settings, fuse, path) = (settings, disk.fuse, disk.publicFolder)
    return {
      LogKeeper(settings, ledger: ledger, folder: fuse.folder(path), at: path) { step, place in
        try fuse.step()
        if step == .write, fuse.isDiskFull { throw LogFault(.inputOutput, "cannot write \(place): the disk is full") }
      }
    }
  }

  /// What a monitor finds that has seen the log before.
  ///
  /// - Parameter bundles: whether each bundle is fetched and compared, too.
  /// - Throws: ``LogFault`` where the log does not extend what was seen.
  func follow(_ disk: Disk, bundles: Bool, at now: Int64) async throws -> [String] {
    guard let verifier else { return [] }
    let watch = LogWatch(
      LogFolder("\(disk.publicFolder)/\(Self.folder)"), bundles: bundles ? LogFolder(disk.publicFolder) : nil,
      log: verifier)
    let seen = try await watch.look(since: memory, at: Int(now))
    memory = seen.memory
    return seen.findings.map(\.text)
  }

  /// Why the proof beside a bundle is none; `nil` where it is one.
  func fault(of bundle: SeriesManifest.Bundle, on disk: Disk) async throws -> String? {
    let path = bundle.path + ProofFile.ending
    guard let verifier, let bytes = disk.content(of: path) else { return "it has no proof" }
    do {
      let proof = try ProofFile(bytes, name: path)
      guard let extra = proof.extra, let entry = try? LogEntry(extra, name: path), entry.text("path") == bundle.path,
        entry.text("archive_sha256") == bundle.sha256
      else { return "its proof is of another file" }
      let signed = try proof.verify(extra, by: verifier, name: path)
      let source = LogFolder("\(disk.publicFolder)/\(Self.folder)")
      let now = try await LogWatch.checkpoint(of: source, by: verifier)
      try await now.verifyExtends(signed, by: TreeReader(source, size: now.size))
      return nil
    } catch let fault as LogFault {
      return fault.reason
    }
  }
}
