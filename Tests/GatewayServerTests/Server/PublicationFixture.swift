import BundleTrust
import Crypto
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyPublishing
import Logging

@testable import GatewayServer
@testable import KeyConversion

/// A publication folder with real signed bundles. It is gone with this object.
final class PublicationFixture {
  let folder: URL
  let identity: SigningIdentity
  private var random = SeededRandom(seed: 7)
  private var manifests: [String: SeriesManifest] = [:]

  /// 2020-12-01T12:00:00Z.
  static let noon = Instant(secondsSince1970: 1_606_824_000)

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "keyferry-server-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    identity = try SigningIdentity(key: .generate(), keyID: "204", keyVersion: "v1")
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  var path: String { folder.path }

  /// Adds increments to a series, two hours each, and writes its manifest, index and digests.
  @discardableResult
  func publish(_ series: String, bundles: Int, keys: Int = 40, title: String? = nil) throws -> SeriesManifest {
    try FileManager.default.createDirectory(at: folder.appending(path: series), withIntermediateDirectories: true)
    var manifest =
      manifests[series]
      ?? SeriesManifest(
        series: series, title: title ?? series, regions: [series], headerRegion: "204",
        appBundleID: "org.example.\(series)", androidPackage: "org.example.app", period: 7200,
        keys: [.init(id: "204", version: "v1", publicKey: identity.key.publicKey.pem)], written: 0, bundles: [])
    for _ in 0..<bundles {
      manifest.bundles.append(try bundle(of: series, ordinal: manifest.bundles.count, keys: keys))
    }
    manifest.written = manifest.bundles.last?.published ?? 0
    try write(manifest)
    return manifest
  }

  func write(_ manifest: SeriesManifest) throws {
    manifests[manifest.series] = manifest
    let listed = manifest.bundles.filter(\.isListed)
    try write("\(manifest.series)/index.txt", listed.map(\.path).joined(separator: "\n"))
    try write("\(manifest.series)/SHA256SUMS", listed.map { "\($0.sha256)  \($0.path)\n" }.joined())
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    try write("\(manifest.series)/manifest.json", Array(try encoder.encode(manifest)))
  }

  func write(_ path: String, _ text: String) throws { try write(path, Array(text.utf8)) }

  func write(_ path: String, _ bytes: [UInt8]) throws {
    let file = folder.appending(path: path)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: file, options: .atomic)
  }

  func read(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: folder.appending(path: path))) }

  func store(checkInterval: Double = 0) -> PublicationStore {
    PublicationStore(folder: path, checkInterval: checkInterval, logger: .init(label: "test") { _ in SilentHandler() })
  }

  private func bundle(of series: String, ordinal: Int, keys: Int) throws -> SeriesManifest.Bundle {
    let start = Self.noon.secondsSince1970 - 43_200 + Int64(ordinal) * 7200
    let path = "\(series)/\(start)-\(start + 7200)-00001.zip"
    let header = ExportHeader(
      startTimestamp: UInt64(start), endTimestamp: UInt64(start + 7200), region: "204", batchNum: 1, batchSize: 1,
      signatureInfos: [identity.info])
    var document = RandomKeys(.plausible).document(keys, using: &random)
    document.keys.sort { $0.key < $1.key }
    for index in document.keys.indices { document.keys[index].isRevised = false }
    let sink = MemorySink()
    let digests = try BundleWriter(signers: [identity], packing: .archive).write(
      header, to: ConversionOutput(document: sink)
    ) { encoder in
      try document.keys.withUnsafeBufferPointer {
        try encoder.encode($0, regions: document.regions, unknownFields: document.unknownFields)
      }
    }
    _ = digests
    try write(path, sink.bytes)
    return SeriesManifest.Bundle(
      kind: "increment", ordinal: ordinal, path: path, start: start, end: start + 7200, published: start + 7200,
      isListed: true, keys: keys, revisedKeys: 0, bytes: sink.bytes.count, sha256: sha256(sink.bytes),
      exportSHA256: sha256(try member("export.bin", of: sink.bytes)), keyID: "204", keyVersion: "v1")
  }
}

func sha256(_ bytes: some DataProtocol) -> String {
  SHA256.hash(data: bytes).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

func member(_ name: String, of archive: [UInt8]) throws -> [UInt8] {
  let zip = try ZipArchive(MemorySource(archive))
  guard let entry = zip[name] else { throw FormatError(.missingEntry, name) }
  return try zip.open(entry).readAll(limit: 1 << 26)
}
