internal import ExposureKeys
internal import KeyNormalization
internal import KeyStorage

/// Lets uploads that come in the same moment share a commit. Owns those that wait.
///
/// A commit is durable before anybody is answered, and a disk does only so many a second. What only looks like an upload
/// waits for the same commit, so that nobody can tell them apart by their time.
actor CommitQueue {
  /// Uploads that share a commit at most.
  static let commitSize = 256
  /// How long an upload waits for others.
  static let patience = Duration.milliseconds(20)
  /// Uploads that may wait, all together.
  static let limit = 4096

  private typealias Waiter = CheckedContinuation<Void, any Error>

  private let ledger: Ledger
  private let door: String
  private let clock: @Sendable () -> Instant
  private let source: UploadSource
  /// How many keys the origin sends on a usual day, as it was known on this one.
  private var usual: (day: Day, keys: Int)?
  private var waiting: [(upload: AdmittedUpload?, waiter: Waiter)] = []
  private var isCommitting = false

  /// - Parameter source: says from how many keys a day on its uploads are held for the operator.
  init(ledger: Ledger, source: UploadSource, clock: @escaping @Sendable () -> Instant) {
    self.ledger = ledger
    door = source.name
    self.source = source
    self.clock = clock
  }

  /// Returns when the upload is durable.
  func record(_ upload: AdmittedUpload) async throws { try await wait(upload) }

  /// Returns when a commit is done that took as long as one with an upload.
  func pass() async throws { try await wait(nil) }

  private func wait(_ upload: AdmittedUpload?) async throws {
    guard waiting.count < Self.limit else { throw UploadIntake.Refusal.busy }
    try await withCheckedThrowingContinuation { waiter in
      waiting.append((upload, waiter))
      if !isCommitting {
        isCommitting = true
        Task { await commitAll() }
      }
    }
  }

  private func limit(on day: Day) async throws -> VolumeLimit? {
    if usual?.day != day {
      let origin = source.origin.uppercased()
      usual = (day, try await ledger.read { try $0.usualVolumes(before: day)[origin] ?? 0 })
    }
    return source.admissionPolicy(at: day.start).volumeLimit(usual: usual?.keys ?? 0)
  }

  /// Commits until nobody waits.
  private func commitAll() async {
    while !waiting.isEmpty {
      if waiting.count < Self.commitSize { try? await Task.sleep(for: Self.patience) }
      let group = Array(waiting.prefix(Self.commitSize))
      waiting.removeFirst(group.count)
      do {
        let uploads = group.compactMap(\.upload)
        if uploads.isEmpty {
          try await ledger.passed(door: door, at: clock())
        } else {
          let now = clock()
          _ = try await ledger.uploaded(uploads, within: try await limit(on: now.day), at: now)
        }
        for (_, waiter) in group { waiter.resume() }
      } catch {
        for (_, waiter) in group { waiter.resume(throwing: error) }
      }
    }
    isCommitting = false
  }
}
