import Foundation
import GatewayTesting
import KeyIntake
import KeyPublishing
import S3Objects
import S3Publications
import Testing
import TransparencyLog

/// The copy of a bucket that a machine serves.
@Suite("The copy of a bucket") struct CopyTests {
  private struct Scene {
    let store = StrictObjectStore()
    let path: String
    let source: BucketFolder
    let copy: BucketCopy

    init(_ path: String) {
      self.path = path
      source = BucketFolder(store.bucket())
      copy = BucketCopy(of: source, in: path)
    }

    static func run(_ body: (Scene) async throws -> Void) async throws {
      let path = FileManager.default.temporaryDirectory.appending(path: "keyferry-copy-\(UUID().uuidString)").path
      defer { try? FileManager.default.removeItem(atPath: path) }
      try await body(Scene(path))
    }

    /// Publishes bundles of these contents; those behind `listed` are in the manifest, and in no index.
    func publish(_ contents: [String], listed: Int, written: Int64) async throws {
      let bundles = contents.enumerated().map { number, text in
        SeriesManifest.Bundle(
          kind: "increment", ordinal: number, path: "NL/\(number).zip", start: 0, end: 7200, published: 7200,
          isListed: number < listed, keys: 1, revisedKeys: 0, bytes: text.utf8.count, sha256: sha256(Array(text.utf8)),
          exportSHA256: sha256(Array(text.utf8)), keyID: "310", keyVersion: "v1")
      }
      for (number, text) in contents.enumerated() where !text.isEmpty {
        try await source.create(Array(text.utf8), at: "NL/\(number).zip")
      }
      let manifest = SeriesManifest(
        series: "NL", title: "NL", regions: nil, headerRegion: "310", appBundleID: nil, androidPackage: nil,
        period: 7200,
        keys: [], written: written, bundles: bundles)
      try await source.show(try manifest.document, at: "NL/manifest.json")
      try await source.show(manifest.sums, at: "NL/SHA256SUMS")
      try await source.show(manifest.index, at: "NL/index.txt")
    }

    var files: [String: String] {
      get throws {
        var files: [String: String] = [:]
        for (path, _) in try LocalFolder(self.path).files(of: "NL") {
          files[path] = String(decoding: try Data(contentsOf: URL(filePath: "\(self.path)/\(path)")), as: UTF8.self)
        }
        return files
      }
    }
  }

  @Test("it has what the bucket has, and only what is new is fetched") func follows() async throws {
    try await Scene.run { scene in
      #expect(try await scene.copy.refresh(["NL"]) == false, "nothing was published yet")
      try await scene.publish(["a", "bb"], listed: 2, written: 1)
      #expect(try await scene.copy.refresh(["NL"]))
      #expect(try scene.files["NL/0.zip"] == "a")
      #expect(try scene.files["NL/index.txt"] == "NL/0.zip\nNL/1.zip")
      #expect(try scene.files.count == 5)
      #expect(try await scene.copy.refresh(["NL"]) == false)
      scene.store.calm()
      try await scene.publish(["a", "bb", "ccc"], listed: 3, written: 2)
      scene.store.calm()
      #expect(try await scene.copy.refresh(["NL"]))
      #expect(scene.store.seen.filter { $0.key.hasSuffix(".zip") }.map(\.key) == ["eu/NL/2.zip"])
      #expect(try await PublicationCheck(of: ["NL"], in: LocalFolder(scene.path)).faults == [])
    }
  }

  @Test("what has left the index is served as long as the bucket has it, and then goes") func leaves() async throws {
    try await Scene.run { scene in
      try await scene.publish(["a", "bb"], listed: 2, written: 1)
      try await scene.copy.refresh(["NL"])
      try await scene.publish(["a", "bb"], listed: 1, written: 2)
      try await scene.copy.refresh(["NL"])
      #expect(try scene.files["NL/1.zip"] == "bb" && scene.files["NL/index.txt"] == "NL/0.zip")
      // A new copy gets it, too.
      let other = BucketCopy(of: scene.source, in: scene.path + "/other")
      try await other.refresh(["NL"])
      #expect(FileManager.default.fileExists(atPath: scene.path + "/other/NL/1.zip"))
      try await scene.source.remove("NL/1.zip")
      try await scene.publish(["a", ""], listed: 1, written: 3)
      try await scene.copy.refresh(["NL"])
      #expect(try scene.files["NL/1.zip"] == nil && scene.files["NL/0.zip"] == "a")
    }
  }

  @Test("an outage, a damaged bundle and a bucket that is emptied take nothing from it") func stays() async throws {
    try await Scene.run { scene in
      try await scene.publish(["a"], listed: 1, written: 1)
      try await scene.copy.refresh(["NL"])
      let before = try scene.files
      for trouble in [
        StrictObjectStore.Trouble.lost, .refuses(status: 403, code: "AccessDenied"),
        .refuses(status: 404, code: "NoSuchBucket"),
        .proxy(status: 404, text: "<html>"), .proxy(status: 200, text: "<html>welcome to the hotel</html>"),
      ] {
        scene.store.set { _, _, _ in trouble }
        await #expect(throws: (any Error).self) { try await scene.copy.refresh(["NL"]) }
        #expect(try scene.files == before, "\(trouble)")
      }
      scene.store.calm()
      try await scene.publish(["a", "bb"], listed: 2, written: 2)
      scene.store.overwrite("NL/1.zip", with: Array("bX".utf8))
      await #expect(throws: FolderFault.self) { try await scene.copy.refresh(["NL"]) }
      #expect(try scene.files == before, "what an index names is whole, or the index is not there")
      scene.store.overwrite("NL/1.zip", with: Array("bb".utf8))
      #expect(try await scene.copy.refresh(["NL"]))
      #expect(try scene.files["NL/1.zip"] == "bb")
      let after = try scene.files
      for key in scene.store.objects.keys { scene.store.overwrite(String(key.dropFirst(3)), with: nil) }
      #expect(try await scene.copy.refresh(["NL"]) == false)
      #expect(try scene.files == after)
    }
  }

  @Test("a manifest that leads elsewhere is not followed") func strange() async throws {
    try await Scene.run { scene in
      try await scene.publish(["a"], listed: 1, written: 1)
      try await scene.copy.refresh(["NL"])
      let text = String(decoding: try #require(scene.store["NL/manifest.json"]), as: UTF8.self)
      for path in ["../0.zip", "DE/0.zip", "NL/../../0.zip", "NL/.lock"] {
        scene.store.overwrite(
          "NL/manifest.json",
          with: Array(text.replacing("NL\\/0.zip", with: path).replacing("NL/0.zip", with: path).utf8))
        await #expect(throws: (any Error).self, "\(path)") { try await scene.copy.refresh(["NL"]) }
      }
      #expect(try scene.files["NL/0.zip"] == "a")
    }
  }

  @Test("what a manifest makes of memory is bounded, whatever a store sends") func bombs() async throws {
    for text in [
      "{\"bundles\":[" + String(repeating: "1,", count: 1 << 20) + "1]}", String(repeating: "[", count: 1 << 20),
      "{\"a\":" + String(repeating: "{\"a\":", count: 5) + "1" + String(repeating: "}", count: 6),
    ] {
      #expect { try SeriesManifest(document: Array(text.utf8)) } throws: {
        ($0 as? PublishingFault)?.reason == "it is no manifest"
      }
    }
    // The closest that one comes to it: short values, and many of them.
    let bundle = SeriesManifest.Bundle(
      kind: "day", ordinal: 0, path: "N/0", start: 0, end: 1, published: 1, isListed: true, keys: 0, revisedKeys: 0,
      bytes: 0, sha256: "", exportSHA256: "", keyID: "", keyVersion: "")
    var manifest = SeriesManifest(
      series: "N", title: "\\\"[{", regions: ["DE"], headerRegion: nil, appBundleID: nil, androidPackage: nil,
      period: 1, keys: [], written: 0, bundles: Array(repeating: bundle, count: 1000))
    #expect(try SeriesManifest(document: manifest.document) == manifest)
    manifest.title = String(repeating: "x", count: SeriesManifest.byteLimit)
    #expect { try manifest.document } throws: { ($0 as? PublishingFault)?.code == "invalid-series" }
  }

  @Test("an archive that is larger than any is not fetched") func giant() async throws {
    try await Scene.run { scene in
      try await scene.publish(["a"], listed: 1, written: 1)
      let text = String(decoding: try #require(scene.store["NL/manifest.json"]), as: UTF8.self)
      for bytes in ["1099511627776", "-1"] {
        scene.store.overwrite(
          "NL/manifest.json", with: Array(text.replacing("\"bytes\" : 1,", with: "\"bytes\" : \(bytes),").utf8))
        scene.store.calm()
        await #expect(throws: FolderFault.self) { try await scene.copy.refresh(["NL"]) }
        #expect(!scene.store.seen.contains { $0.key.hasSuffix(".zip") })
      }
    }
  }

  @Test("one process keeps a copy") func lock() async throws {
    try await Scene.run { scene in
      try await scene.publish(["a"], listed: 1, written: 1)
      let other = BucketCopy(of: scene.source, in: scene.path)
      #expect(try await scene.copy.refresh(["NL"]))
      #expect(try await other.refresh(["NL"]) == false)
      withExtendedLifetime(scene.copy) {}
    }
  }

  /// Beside a log: what is proved and attested.
  private func withLog(_ body: (Scene, BucketCopy) async throws -> Void) async throws {
    try await Scene.run { scene in
      let state = LogFolder(scene.path + "/log-state")
      _ = try await LogWriter.create(
        name: "keys.example.org/log", state: state, folder: PublishedLog(in: scene.source, at: "log"))
      try await scene.publish(["a"], listed: 1, written: 1)
      for ending in [ProofFile.ending, Envelope.ending] {
        try await scene.source.show(Array("first".utf8), at: "NL/0.zip\(ending)")
      }
      try await body(scene, BucketCopy(of: scene.source, in: scene.path + "/copy", log: "log"))
    }
  }

  private func copied(_ path: String, _ scene: Scene) throws -> String? {
    try LocalFolder(scene.path + "/copy").content(of: path, limit: 100).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test("a proof that is made again with as many bytes is copied again, and those that are not are not asked for")
  func companions() async throws {
    try await withLog { scene, copy in
      #expect(try await copy.refresh(["NL"]))
      let (proof, attestation) = ("NL/0.zip\(ProofFile.ending)", "NL/0.zip\(Envelope.ending)")
      #expect(try copied(proof, scene) == "first" && copied(attestation, scene) == "first")
      try await scene.source.show(Array("again".utf8), at: proof)
      try await scene.publish(["a", "bb"], listed: 2, written: 2)
      scene.store.calm()
      #expect(try await copy.refresh(["NL"]))
      #expect(try copied(proof, scene) == "again" && copied(attestation, scene) == "first")
      let asked = scene.store.seen.map(\.key)
      #expect(asked.contains("eu/\(proof)") && !asked.contains("eu/\(attestation)"))
      // Who starts anew knows nothing of what he has, and compares its bytes.
      try await scene.source.show(Array("third".utf8), at: attestation)
      withExtendedLifetime(copy) {}
      let next = BucketCopy(of: scene.source, in: scene.path + "/other", log: "log")
      try FileManager.default.createDirectory(atPath: scene.path + "/other/NL", withIntermediateDirectories: true)
      try Data("xxxxx".utf8).write(to: URL(filePath: scene.path + "/other/\(attestation)"))
      #expect(try await next.refresh(["NL"]))
      #expect(try String(contentsOfFile: scene.path + "/other/\(attestation)", encoding: .utf8) == "third")
    }
  }

  @Test("where the log cannot be copied, bundles and proofs come all the same, and the lists wait for it")
  func logFault() async throws {
    try await withLog { scene, copy in
      #expect(try await copy.refresh(["NL"]))
      let checkpoint = try #require(scene.store["log/checkpoint"])
      scene.store.overwrite("log/checkpoint", with: Array("damaged".utf8))
      try await scene.source.show(Array("again".utf8), at: "NL/0.zip\(ProofFile.ending)")
      try await scene.publish(["a", "bb"], listed: 2, written: 2)
      let fault = await #expect(throws: FolderFault.self) { try await copy.refresh(["NL"]) }
      #expect(fault?.reason.contains("log/checkpoint") == true)
      #expect(try copied("NL/1.zip", scene) == "bb")
      #expect(try copied("NL/0.zip\(ProofFile.ending)", scene) == "again")
      #expect(try copied("NL/index.txt", scene) == "NL/0.zip")
      scene.store.overwrite("log/checkpoint", with: checkpoint)
      #expect(try await copy.refresh(["NL"]))
      #expect(try copied("NL/index.txt", scene) == "NL/0.zip\nNL/1.zip")
    }
  }
}
