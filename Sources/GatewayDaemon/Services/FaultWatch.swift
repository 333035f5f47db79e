internal import ExposureKeys
internal import FoundationEssentials
package import GatewayServer
internal import Glibc
package import ProgramMetrics
internal import ServiceLifecycle
internal import Synchronization

/// What a running process finds wrong, in a file of the state folder: `keyferry status` is another process, and where the store
/// is what is wrong, nothing could be said there.
package enum FaultFile {
  /// The processes that write one each; they may share a folder.
  package enum Writer: String, CaseIterable, Sendable {
    case run, serve

    fileprivate func path(in folder: String) -> String { "\(folder)/faults-\(rawValue).json" }
  }

  /// A process that has not written for so many seconds is gone.
  private static let memory: Int64 = 60
  private static let byteLimit = 1 << 20

  /// What running processes have found wrong, and which process was killed: one that shuts down removes its file.
  package static func faults(in folder: String) -> [StandingFault] {
    var found: [StandingFault] = []
    for writer in Writer.allCases {
      let path = writer.path(in: folder)
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
      let seen = Int64(status.st_mtim.tv_sec)
      guard Int64(time(nil)) - seen < memory else {
        let last = Instant(secondsSince1970: seen)
        found.append(
          StandingFault(
            .gone, of: writer.rawValue,
            because:
              "keyferry \(writer.rawValue) ended without shutting down after \(last): start it again, or delete \(path)"
              + " if you do not need it"))
        continue
      }
      // The process soon replaces a file that cannot be decoded.
      guard status.st_size <= byteLimit,
        let data = try? Data(contentsOf: URL(filePath: path)),
        let faults = try? JSONDecoder().decode([StandingFault].self, from: data)
      else { continue }
      found += faults.filter { !found.contains($0) }
    }
    return found
  }

  static func write(_ faults: [StandingFault], by writer: Writer, in folder: String) throws {
    // This needs no room on the disk, so a full disk does not make status report the process as killed.
    utimes(writer.path(in: folder), nil)
    try JSONEncoder().encode(faults).write(to: URL(filePath: writer.path(in: folder)), options: .atomic)
  }

  static func remove(by writer: Writer, in folder: String) { unlink(writer.path(in: folder)) }
}

/// Tells `keyferry status` and the metrics what a running process finds wrong.
package struct FaultWatch: Service {
  private let live: @Sendable () -> [StandingFault]
  private let stored: @Sendable () async throws -> [StandingFault]
  private let folder: String
  private let writer: FaultFile.Writer
  private let metrics: GatewayMetrics

  /// Seconds between two looks at what is held in memory.
  private static let interval: Int64 = 2
  /// Between two that are written though nothing has changed, and between two looks at the store.
  private static let refresh = Duration.seconds(20)

  /// - Parameters:
  ///   - live: what parts of the process hold.
  ///   - stored: what the store and files say beside that.
  package init(
    _ live: [Readiness], writtenTo folder: String, by writer: FaultFile.Writer, metrics: GatewayMetrics,
    stored: @escaping @Sendable () async throws -> [StandingFault] = { [] }
  ) {
    self.live = { live.flatMap(\.faults) }
    (self.folder, self.writer, self.metrics, self.stored) = (folder, writer, metrics, stored)
  }

  package func run() async throws {
    let known = Known()
    metrics.whenRead { [live] metrics in
      let counts = Dictionary(
        grouping: StandingFault.all(live(), beside: known.faults.withLock { $0 }), by: \.kind)
      metrics.faults.replaceAll(StandingFault.Kind.allCases.map { ([$0.rawValue], Double(counts[$0]?.count ?? 0)) })
    }
    var written: (faults: [StandingFault], at: ContinuousClock.Instant)?
    var looked: ContinuousClock.Instant?
    repeat {
      let now = ContinuousClock.now
      if looked.map({ now - $0 >= Self.refresh }) ?? true {
        looked = now
        // If the store cannot be read, the services that need it report that.
        if let faults = try? await stored() { known.faults.withLock { $0 = faults } }
      }
      let faults = live()
      guard written.map({ $0.faults != faults || now - $0.at >= Self.refresh }) ?? true else { continue }
      // Of a full disk status hears by itself, and a process that only serves may have no state folder.
      if (try? FaultFile.write(faults, by: writer, in: folder)) != nil { written = (faults, now) }
    } while await pause(seconds: Self.interval)
    FaultFile.remove(by: writer, in: folder)
  }

  /// What the store said last. The lock owns it.
  private final class Known: Sendable {
    let faults = Mutex<[StandingFault]>([])
  }
}

extension FaultWatch: CustomStringConvertible {
  /// For logs, in which its parts would be shown otherwise.
  package var description: String { "telling what is wrong" }
}
