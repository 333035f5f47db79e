import BundleTrust
import Foundation
import GatewayTesting
import KeyPublishing
import S3Objects
import S3Publications
import Testing

/// Against a server of others, over HTTP: `moto_server` of the Python package moto.
@Suite("A bucket of moto's server", .enabled(if: Moto.isThere, "\(Moto.howToEnable)")) struct MotoTests {
  private let one = Array("one".utf8)
  private let two = Array("two and more".utf8)

  private func run(
    style: BucketAddress.Style = .path, _ body: (BucketFolder) async throws -> Void
  ) async throws {
    try await Moto.run { moto in
      try await moto.makeBucket("keys")
      let address = BucketAddress(
        endpoint: moto.endpoint, bucket: "keys", prefix: "eu", region: "us-east-1", style: style)
      let settings = BucketSettings(
        address, credentials: .stated(S3Credentials(accessKeyID: "AKIDTEST", secretAccessKey: Secret("hush"))))
      try await body(BucketFolder(settings, environment: [:]))
    }
  }

  @Test("it can be published into, and keeps conditions") func probe() async throws {
    try await run { folder in
      let probe = try await BucketProbe(folder.bucket, hasConditions: true)
      #expect(probe.faults == [] && probe.findings.count == 3)
    }
  }

  @Test("files, lists and pages") func publishes() async throws {
    try await run { folder in
      #expect(try await folder.list("NL/index.txt", limit: 10) == nil)
      #expect(try await folder.byteCount(of: "NL/1.zip") == nil)
      let paths = (0..<1100).map { "NL/\($0).zip" }
      _ = try await folder.each(paths) { try await folder.create(Array($0.utf8), at: $0) }
      #expect(try await folder.files(of: "NL").map(\.path) == paths.sorted())
      try await folder.create(Array(paths[7].utf8), at: paths[7])
      await #expect(throws: FolderFault.self) { try await folder.create(one, at: paths[7]) }
      let first = try await folder.replace(nil, with: one, at: "NL/index.txt")
      let second = try await folder.replace(first, with: two, at: "NL/index.txt")
      await #expect(throws: FolderFault.self) { _ = try await folder.replace(first, with: one, at: "NL/index.txt") }
      await #expect(throws: FolderFault.self) { _ = try await folder.replace(nil, with: one, at: "NL/index.txt") }
      #expect(try await folder.list("NL/index.txt", limit: 100) == ShownList(content: two, version: second))
      #expect(try await folder.list("NL/index.txt", limit: 2)?.content == nil)
      try await folder.remove(paths[7])
      #expect(try await folder.byteCount(of: paths[7]) == nil)
    }
  }

  @Test("a bucket that is not there, and a server that is not there") func missing() async throws {
    try await Moto.run { moto in
      let credentials = S3CredentialSource.stated(
        S3Credentials(accessKeyID: "AKIDTEST", secretAccessKey: Secret("hush")))
      func code(_ endpoint: String) async -> FolderFault.Code? {
        let address = BucketAddress(endpoint: endpoint, bucket: "other", region: "us-east-1")
        let folder = BucketFolder(BucketSettings(address, credentials: credentials), environment: [:])
        do {
          _ = try await folder.byteCount(of: "NL/1.zip")
          return nil
        } catch {
          return (error as? FolderFault)?.code
        }
      }
      #expect(await code(moto.endpoint) == .unusable)
      #expect(await code("http://127.0.0.1:1") == .unavailable)
    }
  }
}
