internal import Crypto
internal import ExposureKeys
internal import KeyFormats
internal import KeyPublishing
internal import NIOCore
internal import ProgramMetrics
internal import Synchronization

/// Bytes that are served, with their SHA-256 in lower-case hexadecimal.
struct ServedContent: Sendable {
  var buffer: ByteBuffer
  var digest: String

  /// Bytes of memory: a buffer may have taken more than it holds.
  var weight: Int { buffer.storageCapacity + digest.utf8.count }
}

/// Why a published file is not served although the manifest names it.
enum BundleFault: Error, Hashable {
  /// The file is gone; that is in order where the bundle has expired.
  case missing
  /// The file is not what was published.
  case changed(String)
}

/// Archives, their members, and compressed answers in memory: the least recently used go when there are too many bytes,
/// keys and the table's own included.
///
/// What comes out of it has the digest of the manifest: a file that changed on the disk is not served. Each thing is
/// loaded once, however many requests wait for it. A key is made of what a thing follows from, never of what a request
/// says. The lock owns the table.
final class BundleCache: Sendable {
  private let metrics: GatewayMetrics
  private let state: Mutex<State>

  private enum Key: Hashable {
    /// By the archive's digest.
    case archive(String)
    case member(String, LayoutAnswer.Member)
    /// By the content's digest.
    case compressed(String)
    /// A header's value, by the archive's digest and the header's name.
    case header(String, String)
    /// By the digest of everything that it is computed from.
    case page(String)

    var weight: Int {
      switch self {
      case .archive(let digest), .member(let digest, _), .compressed(let digest), .page(let digest): digest.utf8.count
      case .header(let digest, let name): digest.utf8.count + name.utf8.count
      }
    }
  }

  private struct State {
    var entries: LeastRecentlyUsed<Key, ServedContent>
    var loads: [Key: Task<ServedContent, any Error>] = [:]
  }

  init(byteLimit: Int, metrics: GatewayMetrics) {
    state = Mutex(State(entries: LeastRecentlyUsed(limit: byteLimit)))
    self.metrics = metrics
  }

  var byteCount: Int { state.withLock { $0.entries.weight } }
  var count: Int { state.withLock { $0.entries.count } }

  /// - Throws: ``BundleFault``.
  func archive(_ bundle: PublishedBundle, from store: PublicationStore) async throws -> ServedContent {
    try await content(.archive(bundle.facts.sha256)) { try Self.load(bundle, from: store) }
  }

  /// - Throws: ``BundleFault``.
  func member(
    _ member: LayoutAnswer.Member, of bundle: PublishedBundle, from store: PublicationStore
  ) async throws -> ServedContent {
    try await content(.member(bundle.facts.sha256, member)) { [self] in
      let archive = try await archive(bundle, from: store)
      return try Self.unpack(member, of: bundle, Array(archive.buffer.readableBytesView))
    }
  }

  /// The value of a header that follows from a bundle's `export.bin`.
  func header(
    _ header: LayoutAnswer.ExportHeader, of bundle: PublishedBundle, from store: PublicationStore
  ) async throws -> String {
    let content = try await content(.header(bundle.facts.sha256, header.name)) { [self] in
      let export = try await member(.export, of: bundle, from: store)
      return Self.served(Array(header.value(Array(export.buffer.readableBytesView)).utf8))
    }
    return String(buffer: content.buffer)
  }

  /// A page that is computed from the exports of bundles and from parameters.
  func page(
    of bundles: [PublishedBundle], parameters: String, from store: PublicationStore,
    render: @escaping @Sendable ([[UInt8]]) throws -> [UInt8]
  ) async throws -> ServedContent {
    let origins = bundles.map(\.facts.sha256) + [parameters]
    let key = Key.page(Hexadecimal.encode(SHA256.hash(data: Array(origins.joined(separator: "\n").utf8))))
    return try await content(key) { [self] in
      var exports: [[UInt8]] = []
      for bundle in bundles {
        exports.append(Array(try await member(.export, of: bundle, from: store).buffer.readableBytesView))
      }
      do {
        return Self.served(try render(exports))
      } catch {
        throw BundleFault.changed("\(error)")
      }
    }
  }

  private static func served(_ bytes: [UInt8]) -> ServedContent {
    ServedContent(buffer: ByteBuffer(bytes: bytes), digest: Hexadecimal.encode(SHA256.hash(data: bytes)))
  }

  /// The content as gzip; `nil` where that is no smaller.
  func compressed(_ content: ServedContent) async -> ServedContent? {
    let key = Key.compressed(content.digest)
    let result = try? await self.content(key) {
      let bytes = GzipCompression.compress(Array(content.buffer.readableBytesView)) ?? []
      return ServedContent(buffer: ByteBuffer(bytes: bytes), digest: content.digest)
    }
    return result.flatMap { $0.buffer.readableBytes == 0 ? nil : $0 }
  }

  private func content(
    _ key: Key, load: @escaping @Sendable () async throws -> ServedContent
  ) async throws -> ServedContent {
    if let hit = state.withLock({ $0.entries.value(for: key) }) {
      metrics.cacheLookups.increment(["hit"])
      return hit
    }
    metrics.cacheLookups.increment(["miss"])
    let task = state.withLock { state in
      if let running = state.loads[key] { return running }
      let task = Task { try await load() }
      state.loads[key] = task
      return task
    }
    let result = await task.result
    state.withLock { state in
      guard state.loads.removeValue(forKey: key) != nil, case .success(let content) = result else { return }
      state.entries.keep(content, for: key, weight: content.weight + key.weight)
    }
    return try result.get()
  }

  private static func load(_ bundle: PublishedBundle, from store: PublicationStore) throws -> ServedContent {
    let bytes: [UInt8]
    do {
      bytes = try store.read(bundle)
    } catch .missing {
      throw BundleFault.missing
    } catch {
      throw BundleFault.changed("\(error)")
    }
    guard bytes.count == bundle.facts.bytes else {
      throw BundleFault.changed("it has \(bytes.count) bytes, the manifest says \(bundle.facts.bytes)")
    }
    let digest = Hexadecimal.encode(SHA256.hash(data: bytes))
    guard digest == bundle.facts.sha256 else {
      throw BundleFault.changed("its SHA-256 is \(digest), the manifest says \(bundle.facts.sha256)")
    }
    return ServedContent(buffer: ByteBuffer(bytes: bytes), digest: digest)
  }

  private static func unpack(
    _ member: LayoutAnswer.Member, of bundle: PublishedBundle, _ archive: [UInt8]
  ) throws -> ServedContent {
    let bytes: [UInt8]
    do {
      let zip = try ZipArchive(MemorySource(archive), limits: ReadLimits(documentBytes: 256 << 20))
      guard let entry = zip[member.rawValue] else { throw BundleFault.changed("it has no \(member.rawValue)") }
      bytes = try zip.open(entry).readAll(limit: 256 << 20)
    } catch let error as FormatError {
      throw BundleFault.changed("\(error)")
    }
    let digest = Hexadecimal.encode(SHA256.hash(data: bytes))
    guard member != .export || digest == bundle.facts.exportSHA256 else {
      throw BundleFault.changed(
        "the SHA-256 of export.bin is \(digest), the manifest says \(bundle.facts.exportSHA256)")
    }
    return ServedContent(buffer: ByteBuffer(bytes: bytes), digest: digest)
  }
}
