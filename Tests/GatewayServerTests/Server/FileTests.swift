import ExposureKeys
import Foundation
import GatewayTesting
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import KeyFormats
import KeyPublishing
import NIOCore
import Testing

@testable import GatewayServer

@Suite("Published files")
struct FileTests {
  let fixture: PublicationFixture
  let manifest: SeriesManifest
  let bundle: SeriesManifest.Bundle

  init() throws {
    fixture = try PublicationFixture()
    manifest = try fixture.publish("NL", bundles: 3)
    bundle = try #require(manifest.bundles.first)
  }

  @Test("An archive is served as it was published, for ever")
  func archive() async throws {
    let app = try GatewayApplication.testing(fixture)
    let response = try await app.ask("/\(bundle.path)")
    #expect(response.code == 200)
    #expect(response.bytes == (try fixture.read(bundle.path)))
    #expect(response["Content-Type"] == "application/zip")
    #expect(response["Content-Length"] == String(bundle.bytes))
    #expect(response["ETag"] == "\"\(bundle.sha256)\"")
    #expect(response["Last-Modified"] == HTTPDate.text(Instant(secondsSince1970: bundle.published)))
    #expect(response["Cache-Control"] == "public, max-age=31536000, immutable")
    #expect(response["Accept-Ranges"] == "bytes")
    #expect(response["Content-Encoding"] == nil)
    #expect(response["Date"] == "Tue, 01 Dec 2020 12:00:00 GMT")
  }

  @Test("HEAD says what GET would, without a body")
  func head() async throws {
    let app = try GatewayApplication.testing(fixture)
    for path in [bundle.path, "NL/index.txt", "", "health"] {
      let get = try await app.ask("/\(path)")
      let head = try await app.ask("/\(path)", .head)
      #expect(head.code == get.code)
      #expect(head.headers == get.headers)
      #expect(head.body.readableBytes == 0)
      #expect(head["Content-Length"] == String(get.body.readableBytes))
    }
  }

  @Test("Index, digests and manifest are served as they are and are asked for again soon")
  func documents() async throws {
    let app = try GatewayApplication.testing(fixture)
    for (name, type) in [
      ("index.txt", "text/plain; charset=utf-8"), ("SHA256SUMS", "text/plain; charset=utf-8"),
      ("manifest.json", "application/json"),
    ] {
      let response = try await app.ask("/NL/\(name)")
      #expect(response.bytes == (try fixture.read("NL/\(name)")))
      #expect(response["Content-Type"] == type)
      #expect(response["Cache-Control"] == "public, max-age=300")
      #expect(response["ETag"] == "\"\(sha256(response.bytes))\"")
      #expect(response["Vary"] == "Accept-Encoding")
    }
  }

  @Test("What the client has already is not sent again")
  func notModified() async throws {
    let app = try GatewayApplication.testing(fixture)
    let tag = "\"\(bundle.sha256)\""
    for value in [tag, "W/\(tag)", "*", "\"x\", \(tag)"] {
      let response = try await app.ask("/\(bundle.path)", headers: [.ifNoneMatch: value])
      #expect(response.code == 304, "\(value)")
      #expect(response.body.readableBytes == 0)
      #expect(response["ETag"] == tag)
      #expect(response["Cache-Control"] == "public, max-age=31536000, immutable")
    }
    #expect(try await app.ask("/\(bundle.path)", headers: [.ifNoneMatch: "\"x\""]).code == 200)

    let published = HTTPDate.text(Instant(secondsSince1970: bundle.published))
    let before = HTTPDate.text(Instant(secondsSince1970: bundle.published - 1))
    #expect(try await app.ask("/\(bundle.path)", headers: [.ifModifiedSince: published]).code == 304)
    #expect(try await app.ask("/\(bundle.path)", headers: [.ifModifiedSince: before]).code == 200)
    #expect(try await app.ask("/\(bundle.path)", headers: [.ifModifiedSince: "yesterday"]).code == 200)
    #expect(try await app.ask("/\(bundle.path)", headers: [.ifUnmodifiedSince: published]).code == 200)
    #expect(try await app.ask("/\(bundle.path)", headers: [.ifUnmodifiedSince: before]).code == 412)
    #expect(try await app.ask("/\(bundle.path)", headers: [.ifUnmodifiedSince: "yesterday"]).code == 200)
    // Nobody's date ends the server.
    for number in [Int64.min, .max] {
      for text in ["a Nov \(number) 08:49:37 1", "a Nov 6 08:49:37 \(number)", "a, 6 Nov \(number) 08:49:37 GMT"] {
        #expect(try await app.ask("/\(bundle.path)", headers: [.ifModifiedSince: text]).code == 200)
        #expect(try await app.ask("/\(bundle.path)", headers: [.range: "bytes=0-1", .ifRange: text]).code == 200)
      }
    }
    // A tag decides before a date.
    let both: HTTPFields = [.ifModifiedSince: published, .ifNoneMatch: "\"x\""]
    #expect(try await app.ask("/\(bundle.path)", headers: both).code == 200)
    #expect(try await app.ask("/\(bundle.path)", headers: [.ifMatch: "\"x\""]).code == 412)
    #expect(try await app.ask("/\(bundle.path)", headers: [.ifMatch: tag]).code == 200)
  }

  @Test("Parts are served, so that a download goes on where it broke off")
  func ranges() async throws {
    let app = try GatewayApplication.testing(fixture)
    let whole = try fixture.read(bundle.path)
    let part = try await app.ask("/\(bundle.path)", headers: [.range: "bytes=10-19"])
    #expect(part.code == 206)
    #expect(part.bytes == Array(whole[10..<20]))
    #expect(part["Content-Range"] == "bytes 10-19/\(whole.count)")
    #expect(part["Content-Length"] == "10")

    let rest = try await app.ask("/\(bundle.path)", headers: [.range: "bytes=20-", .ifRange: "\"\(bundle.sha256)\""])
    #expect(Array(whole[..<20]) + rest.bytes == whole)
    for stale in ["\"x\"", "W/\"\(bundle.sha256)\"", HTTPDate.text(Instant(secondsSince1970: 0))] {
      let response = try await app.ask("/\(bundle.path)", headers: [.range: "bytes=20-", .ifRange: stale])
      #expect(response.code == 200, "\(stale)")
      #expect(response.bytes == whole)
    }
    let beyond = try await app.ask("/\(bundle.path)", headers: [.range: "bytes=\(whole.count)-"])
    #expect(beyond.code == 416)
    #expect(beyond["Content-Range"] == "bytes */\(whole.count)")
    #expect(beyond.problem == "range-not-satisfiable")
  }

  @Test("A large body comes in pieces and whole")
  func largeBody() async throws {
    let large = try #require(try fixture.publish("big", bundles: 1, keys: 30_000).bundles.first)
    let app = try GatewayApplication.testing(fixture)
    #expect(large.bytes > 2 * 128 << 10)
    let response = try await app.ask("/\(large.path)")
    #expect(sha256(response.bytes) == large.sha256)
    #expect(response["Content-Length"] == String(large.bytes))
  }

  @Test("A file that changed on the disk is not served")
  func damagedFile() async throws {
    let lines = Lines()
    let app = try GatewayApplication.testing(fixture, logger: lines.logger())
    var bytes = try fixture.read(bundle.path)
    bytes[bytes.count / 2] ^= 1
    try fixture.write(bundle.path, bytes)
    let response = try await app.ask("/\(bundle.path)")
    #expect(response.code == 500)
    #expect(response.problem == "damaged-file")
    #expect(lines.all.contains { $0.contains("\"error\"") && $0.contains(bundle.path) })
    // The others are not concerned.
    #expect(try await app.ask("/\(manifest.bundles[1].path)").code == 200)
  }

  @Test("What was loaded is served although the file is gone; what was not is a fault")
  func vanishedFile() async throws {
    let store = fixture.store(checkInterval: 1000)
    let app = try GatewayApplication.testing(fixture, store: store)
    _ = try await app.ask("/\(bundle.path)")
    for bundle in manifest.bundles {
      try FileManager.default.removeItem(at: fixture.folder.appending(path: bundle.path))
    }
    #expect(try await app.ask("/\(bundle.path)").code == 200)
    #expect(try await app.ask("/\(manifest.bundles[1].path)").code == 500)
  }

  @Test("An expired bundle is served while its file is there, and is 404 behind that")
  func expiredBundle() async throws {
    var manifest = manifest
    manifest.bundles[0].isListed = false
    try fixture.write(manifest)
    let app = try GatewayApplication.testing(fixture)
    #expect(try await app.ask("/\(bundle.path)").code == 200)
    let other = try GatewayApplication.testing(fixture)
    try FileManager.default.removeItem(at: fixture.folder.appending(path: bundle.path))
    let response = try await other.ask("/\(bundle.path)")
    #expect(response.code == 404)
    #expect(response.problem == "expired")
  }

  @Test(
    "Nothing else in the folder is served",
    arguments: [
      "/", "/NL", "/NL/", "/NL/secret.txt", "/.hidden", "/NL/.hidden", "/outside.txt", "/NL/../outside.txt",
      "/%2e%2e/etc/passwd", "/NL/link.zip", "/nl/index.txt",
    ])
  func otherFiles(path: String) async throws {
    try fixture.write("NL/secret.txt", "secret")
    try fixture.write("NL/.hidden", "secret")
    try fixture.write(".hidden", "secret")
    try fixture.write("outside.txt", "secret")
    try FileManager.default.createSymbolicLink(
      at: fixture.folder.appending(path: "NL/link.zip"),
      withDestinationURL: fixture.folder.appending(path: "outside.txt"))
    let response = try await GatewayApplication.testing(fixture).ask(path)
    #expect(!response.text.contains("secret"))
    #expect(path == "/" || (400...404).contains(response.code))
  }

  @Test("Text is compressed where that is accepted and worth while")
  func compression() async throws {
    try fixture.publish("NL", bundles: 40, keys: 1)
    let app = try GatewayApplication.testing(fixture)
    let plain = try await app.ask("/NL/index.txt")
    let response = try await app.ask("/NL/index.txt", headers: [.acceptEncoding: "gzip, deflate"])
    #expect(response["Content-Encoding"] == "gzip")
    #expect(response.bytes.count < plain.bytes.count / 2)
    #expect(try gunzip(response.bytes) == plain.bytes)
    // Other bytes, another tag; both are recognised.
    let tag = try #require(response["ETag"])
    #expect(tag == "\"\(sha256(plain.bytes))-gzip\"")
    let again = try await app.ask("/NL/index.txt", headers: [.acceptEncoding: "gzip", .ifNoneMatch: tag])
    #expect(again.code == 304)
    #expect(again["Content-Encoding"] == nil)
    // A part is of the file itself.
    let part = try await app.ask("/NL/index.txt", headers: [.acceptEncoding: "gzip", .range: "bytes=0-3"])
    #expect(part.bytes == Array(plain.bytes[..<4]))
    // Archives are compressed already.
    let archive = try await app.ask("/\(bundle.path)", headers: [.acceptEncoding: "gzip"])
    #expect(archive["Content-Encoding"] == nil)
    #expect(archive["Vary"] == nil)
  }

  private func gunzip(_ bytes: [UInt8]) throws -> [UInt8] {
    let tool = try #require(Tool(named: "gzip"))
    return try tool.run(["-dc"], input: bytes).output
  }
}
