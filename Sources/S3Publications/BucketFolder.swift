package import KeyPublishing
package import S3Objects
internal import TransparencyLog

/// A bucket as a place for what is published, which several gateways may write into.
///
/// Bundles are put with `If-None-Match: *`, lists with `If-Match` of what was read: the store decides who was first, and nobody
/// overwrites what he has not seen. When an answer was lost, or somebody else was first, what stands there is read: the same
/// bytes are as good as one's own.
///
/// Before the first write the store is tried, once a process; one that accepts what it should refuse is not published into.
package struct BucketFolder: PublicationFolder {
  package let bucket: Bucket
  private let hasConditions: Bool
  private let trial: BucketTrial

  package static let immutable = "public, max-age=31536000, immutable"
  package static let brief = "public, max-age=300"
  /// How often a write is tried that others are in the way of.
  private static let attempts = 5

  /// - Parameter hasConditions: whether the store knows conditions; otherwise this is the only one that writes.
  package init(_ bucket: Bucket, hasConditions: Bool = true) {
    self.bucket = bucket
    self.hasConditions = hasConditions
    trial = BucketTrial(bucket, hasConditions: hasConditions)
  }

  package init(_ settings: BucketSettings, environment: [String: String]) {
    self.init(settings.bucket(environment: environment), hasConditions: settings.hasConditions)
  }

  package var width: Int { 8 }
  package var isOwnedAlone: Bool { !hasConditions }

  package func create(_ content: [UInt8], at path: String) async throws {
    try await trial.require()
    try await translated {
      for _ in 0..<Self.attempts {
        if !hasConditions {
          if try await isThere(content, at: path) { return }
          return try await written(put(content, at: path, cache: Self.immutable, .none))
        }
        switch try await put(content, at: path, cache: Self.immutable, .isNew) {
        case .written: return
        case .conflict: try await Task.sleep(for: .milliseconds(Int.random(in: 20...200)))
        // One's own answer may have been lost. Where it is gone again, it is put again.
        case .refused: if try await isThere(content, at: path) { return }
        }
      }
      throw FolderFault(
        .unavailable, "\(bucket.address.shown(path)): others write it at the same time, again and again")
    }
  }

  /// - Throws: `name-taken` where other bytes stand there.
  private func isThere(_ content: [UInt8], at path: String) async throws -> Bool {
    do {
      guard let present = try await bucket.get(path, limit: max(content.count, 1))?.content else { return false }
      if present == content { return true }
    } catch let fault as S3Fault where fault.code == .tooLarge {
      // It is another one.
    }
    throw FolderFault(
      .nameTaken,
      "\(bucket.address.shown(path)) has other bytes than were to be published under its name, and a name is never given two "
        + "contents: another gateway with another store, or another key, publishes into this bucket; give each a prefix of "
        + "its own, or remove that object if no index names it")
  }

  package func list(_ path: String, limit: Int) async throws -> ShownList? {
    try await translated {
      do {
        guard let (content, tag) = try await bucket.get(path, limit: limit) else { return nil }
        return ShownList(content: content, version: ShownList.Version(tag))
      } catch let fault as S3Fault where fault.code == .tooLarge {
        return try await bucket.head(path).map { ShownList(content: nil, version: ShownList.Version($0.tag)) }
      }
    }
  }

  package func replace(
    _ seen: ShownList.Version?, with content: [UInt8], at path: String
  ) async throws -> ShownList.Version {
    try await trial.require()
    return try await translated {
      for _ in 0..<Self.attempts {
        let condition: WriteCondition =
          if hasConditions { seen.map { .replaces(tag: $0.text) } ?? .isNew } else { .none }
        if !hasConditions, try await bucket.head(path)?.tag != seen?.text { throw otherWriter(path) }
        let outcome = try await put(content, at: path, cache: Self.cache(ofList: path), condition)
        if case .written(let tag) = outcome { return try await version(tag, of: path) }
        let now: (content: [UInt8], tag: String)?
        do {
          now = try await bucket.get(path, limit: max(content.count, 1))
        } catch let fault as S3Fault where fault.code == .tooLarge {
          throw otherWriter(path)
        }
        if let now, now.content == content { return ShownList.Version(now.tag) }
        // What was under way at the same time may have failed.
        guard outcome == .conflict, now?.tag == seen?.text else { throw otherWriter(path) }
        try await Task.sleep(for: .milliseconds(Int.random(in: 20...200)))
      }
      throw otherWriter(path)
    }
  }

  private func otherWriter(_ path: String) -> FolderFault {
    FolderFault(
      .otherWriter,
      "\(bucket.address.shown(path)) was written by somebody else since it was read; the next round reads it anew")
  }

  private func version(_ tag: String, of path: String) async throws -> ShownList.Version {
    if !tag.isEmpty { return ShownList.Version(tag) }
    guard let tag = try await bucket.head(path)?.tag, !tag.isEmpty else {
      throw FolderFault(
        .unusable, "\(bucket.address.shown(path)): the store gives no ETag, without which nothing is replaced")
    }
    return ShownList.Version(tag)
  }

  private func written(_ outcome: WriteOutcome) throws {
    guard case .written = outcome else {
      throw FolderFault(.unusable, "\(bucket.address.shown()): the store refuses a write that has no condition")
    }
  }

  private func put(
    _ content: [UInt8], at path: String, cache: String, _ condition: WriteCondition
  ) async throws -> WriteOutcome {
    try await bucket.put(content, at: path, mediaType: Self.mediaType(of: path), cache: cache, condition)
  }

  /// Whoever follows a log asks for its newest checkpoint each time.
  package static func cache(ofList path: String) -> String {
    path.hasSuffix("/\(LogWriter.checkpointPath)") ? "no-cache" : brief
  }

  private static func isTile(_ path: String) -> Bool {
    path.firstIndex(of: "/").map { Tile(path: String(path[path.index(after: $0)...])) != nil } ?? false
  }

  /// As the gateway's own server says it.
  package static func mediaType(of path: String) -> String {
    if path.hasSuffix(".zip") { return "application/zip" }
    if path.hasSuffix(Envelope.ending) { return Envelope.mediaType }
    if isTile(path) { return "application/octet-stream" }
    return path.hasSuffix(".json") ? "application/json" : "text/plain; charset=utf-8"
  }

  package func content(of path: String, limit: Int) async throws -> [UInt8]? {
    try await translated { try await bucket.get(path, limit: limit)?.content }
  }

  package func byteCount(of path: String) async throws -> Int? {
    try await translated { try await bucket.head(path)?.byteCount }
  }

  package func remove(_ path: String) async throws {
    try await translated { try await bucket.delete(path) }
  }

  package func files(of series: String) async throws -> [(path: String, byteCount: Int)] {
    try await translated { try await bucket.list("\(series)/").map { ($0.key, $0.byteCount) } }
  }

  package func states(of series: String) async throws -> [FileState] {
    try await translated {
      try await bucket.list("\(series)/").map { object in
        FileState(
          path: object.key, byteCount: object.byteCount,
          version: object.tag.isEmpty ? nil : ShownList.Version(object.tag))
      }
    }
  }

  private func translated<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch let fault as S3Fault {
      throw FolderFault(fault)
    }
  }
}

extension FolderFault {
  package init(_ fault: S3Fault) {
    let code: Code =
      switch fault.code {
      case .noCredentials, .denied, .clock: .denied
      case .unavailable: .unavailable
      case .noBucket, .otherRegion, .tooLarge, .notSupported, .damaged, .badAnswer: .unusable
      }
    self.init(code, fault.reason)
  }
}
