import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import HTTPTypes
import HummingbirdTesting
import KeyIntake
import KeyStorage
import Logging
import ProgramMetrics
import Testing

@testable import GatewayDaemon
@testable import GatewayServer
@testable import GatewaySettings

/// A database that is away for some seconds, or fails over: who uploads is told to come again, in the words of his protocol, and
/// loses nothing by it.
@Suite("Uploads while the store is away")
struct AwayTests {
  private static let causes = [
    StorageFault(.inputOutput, "postgresql://db.example.org:5432/keys: connection refused"),
    StorageFault(.held, "somebody else keeps the store busy"), StorageFault(.gone, "the database has gone back"),
    StorageFault(.full, "no room to write"),
    StorageFault(.incompatible, "not a store of this version of Keyferry: relation \"documents\" does not exist"),
  ]

  private func keys(_ app: GatewayApplication, token: String = "secret-token-of-all") async throws -> TestResponse {
    let body =
      "[{\"keyData\":\"AQIDBAUGBwgJCgsMDQ4PEA==\",\"rollingStartNumber\":2677968,\"rollingPeriod\":144,\"transmissionRiskLevel\":1}]"
    return try await app.ask(
      "/apple/VA/keys", .post, headers: [.contentType: "application/json", .authorization: "Bearer \(token)"],
      body: Array(body.utf8))
  }

  @Test("each door answers 503, says when to come again, and counts it", arguments: causes)
  func doors(fault: StorageFault) async throws {
    let store = AwayStore(MemoryStore())
    let gateway = try ConfiguredGateway(store: store)
    let app = try gateway.application()
    store.fail(with: fault)
    let vectors = [
      ("publish_confirmed", "publish"), ("v1alpha1_regions", "publish-v1alpha1"), ("dp3t_exposed", "dp3t"),
      ("dp3t_v2_federated", "dp3t-v2"),
    ]
    for (name, door) in vectors {
      let response = try await UploadVector(name).post(to: app)
      #expect(response.code == 503 && response["Retry-After"] == "10", "\(name): \(response.code) \(response.text)")
      // Where the database is, is nobody's business.
      #expect(!response.text.contains("postgresql") && !response.text.contains(fault.reason))
      if door.hasPrefix("publish") {
        #expect(response.json["code"] as? String ?? response.json["error"] as? String != nil, "\(response.text)")
        #expect(response["Content-Type"] == "application/json")
      } else {
        #expect(response.text == "uploads cannot be kept now; try again later")
        #expect(response.headers[.authorization] == nil)
      }
      #expect(gateway.metrics.text.contains("keyferry_uploads_total{door=\"\(door)\",outcome=\"store-away\"} 1\n"))
    }
    let sample = try await keys(app)
    #expect(sample.code == 503 && sample.problem == "store-away" && sample["Retry-After"] == "10")
    // What only looks like an upload cannot be told apart.
    var chaff = try UploadVector("publish_confirmed")
    chaff.headers["X-Chaff"] = "1"
    let fake = try await chaff.post(to: app)
    #expect(fake.code == 503 && fake["Retry-After"] == "10")
    #expect(try await UploadVector("dp3t_exposed_fake").post(to: app).code == 503)

    // Nothing was used up: the same requests are taken when it is back.
    store.fail(with: nil)
    for (name, _) in vectors { #expect(try await UploadVector(name).post(to: app).code == 200, "\(name)") }
    #expect(try await keys(app).code == 200)
  }

  @Test("/ready reports a full disk before an upload fails")
  func noRoom() throws {
    let gateway = try ConfiguredGateway()
    // No file system of processes has a free block.
    let serving = try Serving(
      try #require(gateway.plan.server), publishedIn: gateway.folder.path, series: gateway.plan.series,
      uploads: (gateway.plan.uploads, gateway.ledger), storedIn: "/proc", clock: { ConfiguredGateway.now }
    ) { _ in }
    #expect(
      serving.readiness.reasons == [
        "the state folder /proc has no room to write: 0 bytes are free; make room there, or have it mounted to be written to"
      ])
  }

  @Test("/ready is 503 before an upload fails, and until the store can be written to again", arguments: causes)
  func probe(fault: StorageFault) async throws {
    let store = AwayStore(MemoryStore())
    let gateway = try ConfiguredGateway(store: store)
    let serving = try Serving(
      try #require(gateway.plan.server), publishedIn: gateway.folder.path, series: gateway.plan.series,
      uploads: (gateway.plan.uploads, gateway.ledger), clock: { ConfiguredGateway.now }
    ) { _ in }
    let probe = try #require(serving.probe)
    await probe.look()
    #expect(serving.readiness.faults.isEmpty)
    store.fail(with: fault)
    for _ in 0..<2 {
      await probe.look()
      #expect(serving.readiness.faults.map(\.kind) == [.storeUnwritable])
      #expect(serving.readiness.reasons.first?.contains(fault.reason) == true, "\(serving.readiness.reasons)")
    }
    store.fail(with: nil)
    await probe.look()
    #expect(serving.readiness.faults.isEmpty)
  }

  @Test("what uploads have failed for is kept until one is recorded, or the store can be written to")
  func health() {
    let health = UploadHealth()
    health.failed(StorageFault(.full, "no room"))
    #expect(health.faults == [StandingFault(.storeUnwritable, because: "uploads cannot be recorded: no room")])
    health.probed()
    #expect(health.faults.isEmpty)
    // That something can be written says nothing about what is damaged.
    health.failed(StorageFault(.corrupt, "damaged"))
    health.probed()
    #expect(health.faults.count == 1 && !health.hasSucceeded(within: .seconds(60)))
    health.succeeded()
    #expect(health.faults.isEmpty && health.hasSucceeded(within: .seconds(60)))
  }

  @Test("the log has one line, however many phones try again, and how many it left out")
  func lines() async throws {
    let store = AwayStore(MemoryStore())
    let lines = Lines()
    let app = try ConfiguredGateway(store: store).application(logger: lines.logger(level: .error))
    store.fail(with: Self.causes[0])
    for _ in 0..<5 { #expect(try await keys(app).code == 503) }
    #expect(lines.all.count == 1 && lines.text.contains("an upload could not be kept"), "\(lines.all)")
  }

  @Test("what does not pass by itself stays a fault of ours")
  func damaged() async throws {
    let store = AwayStore(MemoryStore())
    let gateway = try ConfiguredGateway(store: store)
    let app = try gateway.application()
    store.fail(with: StorageFault(.corrupt, "the database is damaged"))
    let response = try await UploadVector("publish_confirmed").post(to: app)
    #expect(response.code == 500 && response["Retry-After"] == nil)
    #expect(try await keys(app).problem == "internal-error")
  }

  @Test("countries are told the same, whatever they ask")
  func federation() async throws {
    let store = AwayStore(MemoryStore())
    let gateway = try TestGateway(ledger: Ledger(store))
    var random = SeededRandom(seed: 3)
    let batch = NationalBatch(20, of: "DE", at: gateway.clock.now, &random)
    store.fail(with: Self.causes[0])
    let answers = [
      try await gateway.upload(batch, tag: "a", of: "DE"), try await gateway.download("2020-12-01", for: "FR"),
      try await gateway.audit("2020-12-01", "a", for: "FR"),
    ]
    for answer in answers {
      #expect(answer.code == 503 && answer["Retry-After"] == "10", "\(answer.code) \(answer.text)")
      #expect(answer.problem == "store-away" && answer.json["message"] is String)
      #expect(!answer.text.contains("postgresql"))
    }
    #expect(
      gateway.metrics.text.contains("keyferry_federation_uploads_total{country=\"DE\",outcome=\"store-away\"} 1\n"))
    store.fail(with: nil)
    #expect(try await gateway.upload(batch, tag: "a", of: "DE").code == 201)
  }

  // MARK: What lets in once

  @Test("a token that one replica has let in is refused by the other, and by one that has started again")
  func replicas() async throws {
    let store = MemoryStore()
    let gateways = [try ConfiguredGateway(store: store), try ConfiguredGateway(store: store)]
    let apps = try gateways.map { try $0.application() }
    let vector = try UploadVector("dp3t_exposed")
    let first = try await vector.post(to: apps[0])
    #expect(first.code == 200)
    #expect(try await vector.post(to: apps[1]).code == 401)
    #expect(try await vector.post(to: try gateways[0].application()).code == 401)
    #expect(try await gateways[0].keptCount == 4)
  }

  @Test("of many who show one token at the same moment one is let in")
  func race() async throws {
    let store = MemoryStore()
    let apps = try (0..<2).map { _ in try ConfiguredGateway(store: store).application() }
    let vector = try UploadVector("dp3t_exposed")
    let codes = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<8 { group.addTask { try await vector.post(to: apps[number % 2]).code } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes.sorted() == [200] + Array(repeating: 401, count: 7))
  }

  // MARK: What may be said once

  @Test(
    "of two revisions of the same keys at the same moment one is kept, at one replica or at two", arguments: [1, 2])
  func revisions(replicas: Int) async throws {
    let store = MemoryStore()
    let gateways = try (0..<replicas).map { _ in try ConfiguredGateway(store: store) }
    let apps = try gateways.map { try $0.application() }
    let first = try await UploadVector("revision_likely").post(to: apps[0])
    let token = try #require(first.json["revisionToken"] as? String)
    let count = try await gateways[0].keptCount
    let answers = try await withThrowingTaskGroup(of: TestResponse.self) { group in
      for number in 0..<4 {
        group.addTask {
          try await UploadVector("revision_\(["confirmed", "negative"][number / 2])").post(
            to: apps[number % apps.count]
          ) {
            $0.replacing("\"revisionToken\": \"\"", with: "\"revisionToken\": \"\(token.replacing("/", with: "\\/"))\"")
          }
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    // The same once more is nothing new, and the other word comes too late.
    #expect(answers.count { $0.code == 200 } == 2)
    #expect(answers.filter { $0.code != 200 }.map(\.problem) == Array(repeating: "key_already_revised", count: 2))
    #expect(try await gateways[0].keptCount == count + 3)
  }
}
