import Foundation
import KeyPublishing
import Testing

@testable import GatewayServer

/// Behind a load balancer an app has an index from one replica, and asks another one for what it names.
@Suite("A copy that others are ahead of")
struct CopyBellTests {
  /// What the bucket has, and a copy of it that a replica serves.
  private final class Scene {
    let bucket: PublicationFixture
    let copy = FileManager.default.temporaryDirectory.appending(path: "keyferry-copy-\(UUID().uuidString)")
    let bell = CopyRefresher()
    let store: PublicationStore
    let app: GatewayApplication

    init() throws {
      bucket = try PublicationFixture()
      try bucket.publish("NL", bundles: 2)
      try FileManager.default.copyItem(at: bucket.folder, to: copy)
      store = PublicationStore(folder: copy.path, order: ["NL"], checkInterval: 3600, bell: bell)
      app = try GatewayApplication.testing(bucket, store: store)
    }

    deinit { try? FileManager.default.removeItem(at: copy) }

    /// As the service of the copy does it.
    func look(isSeen: Bool = true) async throws {
      await bell.begin()
      if isSeen {
        try FileManager.default.removeItem(at: copy)
        try FileManager.default.copyItem(at: bucket.folder, to: copy)
        store.reload()
      }
      await bell.end(isSeen: isSeen)
    }

    func isRung(within seconds: Double) async throws -> Bool {
      let deadline = ContinuousClock.now + .seconds(seconds)
      while ContinuousClock.now < deadline {
        if await bell.isRung { return true }
        try await Task.sleep(for: .milliseconds(5))
      }
      return false
    }
  }

  @Test("a bundle that another replica has listed is fetched before anybody is told that it is not there")
  func ahead() async throws {
    let scene = try Scene()
    try await scene.look()
    let listed = try #require(try scene.bucket.publish("NL", bundles: 1).bundles.last?.path)
    let app = scene.app
    async let answer = app.ask("/\(listed)")
    #expect(try await scene.isRung(within: 3))
    try await scene.look()
    let (code, bytes) = (try await answer.code, try await answer.bytes)
    #expect(code == 200)
    #expect(bytes == Array(try Data(contentsOf: scene.bucket.folder.appending(path: listed))))
  }

  @Test("what is nowhere is 404 after one look, and what no series is called is 404 at once")
  func nowhere() async throws {
    let scene = try Scene()
    try await scene.look()
    let app = scene.app
    async let answer = app.ask("/NL/202012019999-1.zip")
    #expect(try await scene.isRung(within: 3))
    try await scene.look()
    #expect(try await answer.code == 404)
    #expect(try await scene.app.ask("/favicon.ico").code == 404)
    #expect(await !scene.bell.isRung)
  }

  @Test("while the bucket is away nobody waits for it")
  func away() async throws {
    let scene = try Scene()
    let before = ContinuousClock.now
    #expect(try await scene.app.ask("/NL/202012019999-1.zip").code == 404)
    try await scene.look()
    try await scene.look(isSeen: false)
    #expect(try await scene.app.ask("/NL/202012019999-2.zip").code == 404)
    #expect(ContinuousClock.now - before < .seconds(3))
    #expect(await !scene.bell.isRung)
  }

  @Test("a bucket that does not answer holds a request for some seconds alone", .timeLimit(.minutes(1)))
  func patience() async throws {
    let scene = try Scene()
    try await scene.look()
    let before = ContinuousClock.now
    #expect(try await scene.app.ask("/NL/202012019999-1.zip").code == 404)
    // It waited for a look, and not for ever.
    #expect((.seconds(3) ... .seconds(20)).contains(ContinuousClock.now - before))
  }
}
