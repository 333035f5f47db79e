internal import KeyPublishing
package import S3Objects

/// What a store does with the requests that publishing relies on, tried with small objects of its own.
package struct BucketProbe: Sendable {
  /// What was seen to be good.
  package private(set) var findings: [String] = []
  /// Why nothing can be published.
  package private(set) var faults: [String] = []

  /// What the store answered in place of what was asked; `nil` where it answered, whatever that was.
  private(set) var refusal: S3Fault?

  package var isUsable: Bool { faults.isEmpty }

  /// No series has such a name.
  private static let place = "_keyferry"

  /// Writes, reads, lists and removes objects under `_keyferry/`.
  ///
  /// - Parameter hasConditions: whether the store is to know conditions.
  /// - Throws: `CancellationError` alone.
  package init(_ bucket: Bucket, hasConditions: Bool) async throws {
    let name = "\(Self.place)/probe-\(UInt64.random(in: 0 ... .max))"
    let other = "\(name)-other"
    do {
      try await look(bucket, name, other, hasConditions)
    } catch let error as CancellationError {
      throw error
    } catch let fault as S3Fault {
      faults.append(fault.reason)
      refusal = fault
      if fault.code == .notSupported, hasConditions { faults.append(Self.advice) }
    } catch {
      faults.append("\(error)")
    }
    // Of a store that does not answer each request would wait for all of its time.
    guard refusal?.code != .unavailable else { return }
    for key in [name, other] { try? await bucket.delete(key) }
  }

  private static let advice =
    "a store that several gateways publish into must know If-None-Match and If-Match (AWS since 2024, MinIO since 2025-09, "
    + "Cloudflare R2, Ceph); where this gateway is the only one that publishes there, write publication.s3.conditional-writes: false"

  private mutating func look(
    _ bucket: Bucket, _ name: String, _ other: String, _ hasConditions: Bool
  ) async throws {
    let first = Array("keyferry has tried this bucket\n".utf8)
    let second = first + first
    func put(_ content: [UInt8], _ key: String, _ condition: WriteCondition) async throws -> WriteOutcome {
      try await bucket.put(content, at: key, mediaType: "text/plain; charset=utf-8", cache: "no-store", condition)
    }
    // What is missing is told apart from what may not be seen.
    guard try await bucket.head(name) == nil else {
      return faults.append("\(bucket.address.shown(name)) is there already")
    }
    guard case .written(let tag) = try await put(first, name, hasConditions ? .isNew : .none) else {
      return faults.append("a new object is refused as if it were there already")
    }
    guard let back = try await bucket.get(name, limit: 4096), back.content == first else {
      return faults.append("what was written is not what is read")
    }
    guard try await bucket.head(name)?.byteCount == first.count else {
      return faults.append("the length of an object is not what was written")
    }
    guard try await bucket.list("\(Self.place)/").contains(where: { $0.key == name }) else {
      return faults.append("what was written is not in the list of the bucket")
    }
    findings.append("objects can be written, read, listed\(bucket.sendsChecksums ? ", with SHA-256 checksums" : "")")
    if hasConditions {
      if case .written = try await put(second, name, .isNew) {
        faults.append("If-None-Match: * is ignored: an object was overwritten")
      }
      if case .written = try await put(second, name, .replaces(tag: "\"0000000000000000000000000000000f\"")) {
        faults.append("If-Match is ignored: an object was overwritten that is another one")
      }
      if case .written = try await put(second, other, .replaces(tag: tag)) {
        faults.append("If-Match is ignored where there is no object (MinIO before 2025-09 does so): one was written")
      }
      if faults.isEmpty {
        guard case .written = try await put(second, name, .replaces(tag: tag)) else {
          return faults.append("If-Match with the ETag that the store has given is refused")
        }
        findings.append("If-None-Match and If-Match are kept")
      } else {
        faults.append(Self.advice)
      }
    } else {
      findings.append("conditional writes are not used: no other gateway may publish into this bucket")
    }
    try await bucket.delete(name)
    guard try await bucket.head(name) == nil else { return faults.append("a removed object is still there") }
    findings.append("objects can be removed")
  }
}

/// Tries a store before the first write, once.
actor BucketTrial {
  private let bucket: Bucket
  private let hasConditions: Bool
  private var running: Task<BucketProbe, any Error>?
  private var isGood = false

  init(_ bucket: Bucket, hasConditions: Bool) {
    self.bucket = bucket
    self.hasConditions = hasConditions
  }

  /// - Throws: ``FolderFault`` where nothing can be published; it is tried again when it is asked for again.
  func require() async throws {
    if isGood { return }
    let task =
      running ?? Task { [bucket, hasConditions] in try await BucketProbe(bucket, hasConditions: hasConditions) }
    running = task
    defer { running = nil }
    let probe = try await task.value
    guard probe.isUsable else {
      // An outage is one, whatever was about to be tried.
      if let fault = probe.refusal, fault.code != .notSupported { throw FolderFault(fault) }
      throw FolderFault(
        .unusable, "\(bucket.address.shown()) cannot be published into: \(probe.faults.joined(separator: "; "))")
    }
    isGood = true
  }
}
