internal import ExposureKeys
internal import KeyNormalization
internal import KeyStorage

/// Lets uploads share commits: those that arrive during a commit go into the next one. It owns the uploads that wait.
///
/// A commit is durable before its uploads are answered, and a disk can do only so many a second. The slower the disk, the more uploads
/// share a commit; a single upload does not wait for others. A fake upload waits for the same commit, so its answer takes as long.
actor CommitQueue {
  /// Uploads that share a commit at most.
  static let commitSize = 256
  /// Uploads that may wait, all together.
  static let limit = 4096

  /// What the keys of an upload are by now is not what it was judged by.
  struct Overtaken: Error {}

  private typealias Waiter = CheckedContinuation<Void, any Error>

  private enum Work {
    case upload(AdmittedUpload)
    /// It let in somebody who had no keys.
    case token(UsedToken)
    case nothing
  }

  private let ledger: Ledger
  private let door: String
  private let clock: @Sendable () -> Instant
  private let source: HeldUploadSource
  /// How many keys of the origin come by this door on a usual day, as it was known on this one.
  private var usual: (day: Day, keys: Int)?
  private var waiting: [(work: Work, waiter: Waiter)] = []
  private var isCommitting = false

  /// - Parameter source: says from how many keys a day on its uploads are held for the operator.
  init(ledger: Ledger, source: HeldUploadSource, clock: @escaping @Sendable () -> Instant) {
    self.ledger = ledger
    door = source.value.name
    self.source = source
    self.clock = clock
  }

  /// Returns when the upload is durable.
  ///
  /// - Throws: ``UploadIntake/Refusal/usedToken``, ``Overtaken``, and then nothing of it is kept.
  func record(_ upload: AdmittedUpload) async throws { try await wait(.upload(upload)) }

  /// Returns when a commit is done that took as long as one with an upload.
  ///
  /// - Parameter token: is used from then on.
  /// - Throws: ``UploadIntake/Refusal/usedToken``.
  func pass(redeeming token: UsedToken?) async throws { try await wait(token.map(Work.token) ?? .nothing) }

  private func wait(_ work: Work) async throws {
    guard waiting.count < Self.limit else { throw UploadIntake.Refusal.busy }
    try await withCheckedThrowingContinuation { waiter in
      waiting.append((work, waiter))
      if !isCommitting {
        isCommitting = true
        Task { await commitAll() }
      }
    }
  }

  private func limit(on day: Day) async throws -> VolumeLimit? {
    let source = source.value
    if usual?.day != day {
      let (name, origin) = (source.name, source.origin.uppercased())
      usual = (day, try await ledger.read { try $0.usualVolumes(before: day, of: name)[origin] ?? 0 })
    }
    return source.admissionPolicy(at: day.start).volumeLimit(usual: usual?.keys ?? 0)
  }

  /// - Returns: why each was not let in; `nil` where it was.
  private func commit(_ group: [Work]) async throws -> [(any Error)?] {
    var uploads: [AdmittedUpload] = []
    var tokens: [UsedToken] = []
    for work in group {
      switch work {
      case .upload(let upload): uploads.append(upload)
      case .token(let token): tokens.append(token)
      case .nothing: break
      }
    }
    let now = clock()
    if uploads.isEmpty, tokens.isEmpty {
      try await ledger.passed(door: door, at: now)
      return group.map { _ in nil }
    }
    let limit = uploads.isEmpty ? nil : try await limit(on: now.day)
    let committed = try await ledger.committed(uploads, redeeming: tokens, within: limit, door: door, at: now)
    var (outcomes, redeemed) = (committed.outcomes.makeIterator(), committed.redeemed.makeIterator())
    return group.map { work in
      switch work {
      case .upload:
        switch outcomes.next() {
        case .recorded: nil
        case .overtaken: Overtaken()
        case .usedToken, nil: UploadIntake.Refusal.usedToken
        }
      case .token: redeemed.next() == true ? nil : UploadIntake.Refusal.usedToken
      case .nothing: nil
      }
    }
  }

  /// Commits until nobody waits.
  private func commitAll() async {
    while !waiting.isEmpty {
      // Requests that have been read by now come in first.
      await Task.yield()
      let group = Array(waiting.prefix(Self.commitSize))
      waiting.removeFirst(group.count)
      do {
        let refusals = try await commit(group.map(\.work))
        for ((_, waiter), refusal) in zip(group, refusals) {
          if let refusal { waiter.resume(throwing: refusal) } else { waiter.resume() }
        }
      } catch {
        for (_, waiter) in group { waiter.resume(throwing: error) }
      }
    }
    isCommitting = false
  }
}
