import Dispatch
import ExposureKeys
import Foundation
import GatewayTesting
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import KeyferryClient
import NIOCore
import Testing

@testable import GatewayServer
@testable import KeyPublishing

/// The client library against a server on a real socket.
@Suite struct ClientTests {
  private typealias Client = KeyferryClient.Server

  /// Serves Apple's layout of a history under any prefix. The prefix says what is wrong with it.
  private struct Stub: Sendable {
    let history: PublishingHistory
    let posts = Posts()

    actor Posts {
      private(set) var received: [(path: String, authorization: String?, body: [UInt8])] = []
      func append(_ path: String, _ authorization: String?, _ body: [UInt8]) {
        received.append((path, authorization, body))
      }
    }

    static let union = """
      {"minimumRiskScore":1,"attenuationDurationThresholds":[50,70],"attenuationLevelValues":[1,2,3,4,5,6,7,8],
      "daysSinceLastExposureLevelValues":[1,2,3,4,5,6,7,8],"durationLevelValues":[1,2,3,4,5,6,7,8],
      "transmissionRiskLevelValues":[1,2,3,4,5,6,7,8],"attenuationScores":[1,2,3,4,5,6,7,8],"attenuationWeight":50,
      "daysSinceLastExposureScores":[1,2,3,4,5,6,7,8],"daysSinceLastExposureWeight":50,
      "durationScores":[1,2,3,4,5,6,7,8],"durationWeight":50,"transmissionRiskScores":[1,2,3,4,5,6,7,8],
      "transmissionRiskWeight":50,"immediateDurationWeight":100,"nearDurationWeight":100,"mediumDurationWeight":100,
      "otherDurationWeight":100,"infectiousnessForDaysSinceOnsetOfSymptoms":{"unknown":1,"-14":0,"0":2},
      "infectiousnessStandardWeight":100,"infectiousnessHighWeight":100,"reportTypeConfirmedTestWeight":100,
      "reportTypeConfirmedClinicalDiagnosisWeight":100,"reportTypeSelfReportedWeight":100,
      "reportTypeRecursiveWeight":100,"reportTypeNoneMap":1}
      """

    func router() -> Router<BasicRequestContext> {
      let router = Router()
      router.get("**") { request, _ in try answer(request) }
      router.post("**") { request, _ in
        let body = try await request.body.collect(upTo: 1 << 20)
        let authorization = request.headers[.authorization]
        await posts.append(request.uri.path, authorization, Array(body.readableBytesView))
        if request.uri.path.hasPrefix("/refusing/") {
          return Self.json(
            #"{"accepted":1,"rejected":["key 0: rolling period 145, allowed 1...144","odd words"]}"#, next: nil)
        }
        return Response(status: authorization == "Bearer secret" ? .ok : .unauthorized)
      }
      return router
    }

    private func answer(_ request: Request) throws -> Response {
      let segments = request.uri.path.split(separator: "/").map(String.init)
      guard let prefix = segments.first else { return Response(status: .notFound) }
      let baseURL = "http://\(request.head.authority ?? "")/\(prefix)"
      switch (prefix, segments.last) {
      case ("endless", _): return Self.endless
      case ("strange-names", "files"):
        return Self.json(#"["\#(baseURL)/apple/NL/archives/%2E%2E%2Fescaped"]"#, next: "2")
      case ("other-scheme", "files"): return Self.json(#"["file:///etc/hostname"]"#, next: "2")
      case ("no-next", "files"): return Self.json("[]", next: nil)
      case ("no-list", "files"): return Self.json(#"{"files":[]}"#, next: "0")
      case ("bare", "configuration"): return Self.json(#"{"minimumRiskScore":1}"#, next: nil)
      case ("unsigned", _) where request.uri.path.hasSuffix(".sig"): return Response(status: .notFound)
      default: break
      }
      let query = Dictionary(
        request.uri.queryParameters.compactMap { pair in
          QueryParameter(named: String(pair.key)).map { ($0, String(pair.value)) }
        }, uniquingKeysWith: { $1 })
      let layout = AppleLayout(configuration: Array(Self.union.utf8))
      let answer = layout.answer(
        LayoutRequest(
          path: Array(segments.dropFirst()), query: query, baseURL: baseURL,
          now: Instant(secondsSince1970: history.written)),
        from: Publications(series: [PublishedSeries(history.manifest)]))
      guard let answer else { return Response(status: .notFound) }
      return try response(answer)
    }

    private func response(_ answer: LayoutAnswer) throws -> Response {
      let bytes: [UInt8]
      switch answer.content {
      case .bytes(let document, _): bytes = document
      case .page(let bundles, _, _, let render): bytes = try render(bundles.map { try history.export(of: $0) })
      case .member(let bundle, .export): bytes = try history.export(of: bundle)
      case .member(let bundle, .signature): bytes = Array("signature of \(bundle.fileName)".utf8)
      case .archive, .nothing, .notFound: return Response(status: .notFound)
      case .badRequest: return Response(status: .badRequest)
      }
      var response = Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
      for (name, value) in answer.headers {
        if let name = HTTPField.Name(name) { response.headers[name] = value }
      }
      return response
    }

    private static func json(_ text: String, next: String?) -> Response {
      var response = Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
      if let next, let name = HTTPField.Name("x-next-index") { response.headers[name] = next }
      return response
    }

    private static var endless: Response {
      Response(
        status: .ok,
        body: ResponseBody { writer in
          while true { try await writer.write(ByteBuffer(repeating: 0x5b, count: 1 << 16)) }
        })
    }
  }

  /// Runs a server, and a client that keeps its files in a folder of its own.
  private func withServer(
    _ prefix: String = "keys", days: Int64 = 3, configure: (inout ServerConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (Client, Stub) async throws -> Void
  ) async throws {
    var random = SeededRandom(for: "client")
    var history = PublishingHistory()
    history.publish(at: history.written + days * 86_400, using: &random)
    let stub = Stub(history: history)
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    var settings = ServerConfiguration(
      baseURL: try #require(URL(string: "http://127.0.0.1")), series: "NL",
      downloadFolder: folder.appendingPathComponent("keys"))
    configure(&settings)
    let application = Application(
      router: stub.router(), configuration: .init(address: .hostname("127.0.0.1", port: 0)))
    try await application.live { [settings] client in
      var settings = settings
      let port = client.port
      settings.baseURL = try #require(URL(string: "http://127.0.0.1:\(port)/\(prefix)"))
      try await body(Client(settings), stub)
    }
  }

  private func failure(_ call: () async throws -> Void) async -> ServerError? {
    do {
      try await call()
      return nil
    } catch {
      return error as? ServerError
    }
  }

  // MARK: Files of keys

  @Test func downloadsWhatIsNew() async throws {
    try await withServer(days: 20) { client, stub in
      let list = try await client.getDiagnosisKeyFiles(startingAt: 0)
      let listed = stub.history.listedIncrements
      #expect(list.urls.count == listed.count)
      #expect(list.nextIndex == 2 * ((listed.last?.ordinal ?? -1) + 1))
      #expect(list.nextIndex > 2 * list.urls.count, "nothing has expired")
      #expect(try await client.getDiagnosisKeyFileURLs(startingAt: list.nextIndex - 2) == list.urls.suffix(1))
      #expect(try await client.getDiagnosisKeyFileURLs(startingAt: list.nextIndex).isEmpty)

      let url = try #require(list.urls.last)
      let files = try await client.downloadDiagnosisKeyFile(at: url)
      #expect(files.map(\.lastPathComponent) == [".bin", ".sig"].map { url.lastPathComponent + $0 })
      let bundle = PublishedBundle(series: "NL", try #require(listed.last))
      #expect(try Data(contentsOf: files[0]) == Data(stub.history.export(of: bundle)))
      #expect(try Data(contentsOf: files[1]) == Data("signature of \(bundle.fileName)".utf8))
      try client.deleteDiagnosisKeyFile(at: files)
      try client.deleteDiagnosisKeyFile(at: files)
      #expect(!FileManager.default.fileExists(atPath: files[0].path))
    }
  }

  @Test func completionsDoTheSame() async throws {
    try await withServer { client, stub in
      let urls = try await withCheckedThrowingContinuation { continuation in
        client.getDiagnosisKeyFileURLs(startingAt: 0) { continuation.resume(with: $0) }
      }
      #expect(urls.count == stub.history.listedIncrements.count)
      let files = try await withCheckedThrowingContinuation { continuation in
        client.downloadDiagnosisKeyFile(at: urls[0]) { continuation.resume(with: $0) }
      }
      #expect(files.count == 2)
      let error: (any Error)? = await withCheckedContinuation { continuation in
        client.postDiagnosisKeys([]) { continuation.resume(returning: $0) }
      }
      guard case .status(401, _, _) = error as? ServerError else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
  }

  @Test func halfAnArchiveIsNone() async throws {
    try await withServer("unsigned") { client, _ in
      let url = try #require(try await client.getDiagnosisKeyFileURLs(startingAt: 0).first)
      guard case .status(404, let asked, _) = await failure({ _ = try await client.downloadDiagnosisKeyFile(at: url) })
      else { throw Unexpected() }
      #expect(asked == url.appendingPathExtension("sig"))
      let folder = try #require(client.configuration?.downloadFolder)
      #expect((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] == [])
    }
  }

  @Test(arguments: ["strange-names", "other-scheme"]) func listsAreNotTrusted(_ prefix: String) async throws {
    try await withServer(prefix) { client, _ in
      guard case .refusedAddress(let url) = await failure({ _ = try await client.getDiagnosisKeyFiles(startingAt: 0) })
      else { throw Unexpected() }
      guard case .refusedAddress = await failure({ _ = try await client.downloadDiagnosisKeyFile(at: url) }) else {
        throw Unexpected()
      }
    }
  }

  @Test(arguments: [("no-next", "x-next-index"), ("no-list", "not Array")])
  func anAnswerOutsideTheContractSaysWhatIsWrong(_ prefix: String, _ named: String) async throws {
    try await withServer(prefix) { client, _ in
      guard case .malformed(_, let reason) = await failure({ _ = try await client.getDiagnosisKeyFiles(startingAt: 0) })
      else { throw Unexpected() }
      #expect(reason.contains(named), "\(reason)")
    }
  }

  @Test func anEndlessAnswerIsCutOff() async throws {
    try await withServer("endless", configure: { $0.maximumDocumentBytes = 1 << 20 }) { client, _ in
      guard
        case .tooLarge(_, limit: 1 << 20) = await failure({ _ = try await client.getDiagnosisKeyFiles(startingAt: 0) })
      else { throw Unexpected() }
    }
  }

  // MARK: Keys

  @Test func pagesOfKeys() async throws {
    try await withServer(days: 17) { client, stub in
      var keys: [CodableDiagnosisKey] = []
      var page: DiagnosisKeyPage
      var index = 0
      repeat {
        page = try await client.getDiagnosisKeyPage(index: index, maximumCount: 50)
        keys += page.keys
        index = page.nextIndex
      } while !page.done
      #expect(keys.map { PublishingHistory.number(inKeyData: $0.keyData) } == stub.history.listedKeys)
      let (last, done) = try await client.getDiagnosisKeys(index: index - 1, maximumCount: 50)
      #expect(last == keys.suffix(1) && done)
    }
  }

  @Test func postsToTheDoorOfItsSeries() async throws {
    try await withServer(configure: { $0.uploadToken = "secret" }) { client, stub in
      let keys = [
        CodableDiagnosisKey(keyData: Data(repeating: 7, count: 16), rollingStartNumber: 2_678_400),
        CodableDiagnosisKey(
          keyData: Data(repeating: 255, count: 16), rollingPeriod: 60, rollingStartNumber: 2_678_544,
          transmissionRiskLevel: 5),
      ]
      try await client.postDiagnosisKeys(keys)
      let post = try #require(await stub.posts.received.first)
      #expect(post.path == "/keys/apple/NL/keys")
      #expect(try JSONDecoder().decode([CodableDiagnosisKey].self, from: Data(post.body)) == keys)
    }
  }

  @Test func anAppIsToldWhichKeysWereRefused() async throws {
    let keys = (UInt8(0)..<2).map {
      CodableDiagnosisKey(keyData: Data(repeating: $0, count: 16), rollingStartNumber: 2_678_400)
    }
    try await withServer("refusing") { client, _ in
      guard case .keysRefused(let refused, accepted: 1) = await failure({ try await client.postDiagnosisKeys(keys) })
      else { throw Unexpected() }
      #expect(refused.map(\.position) == [0, nil])
      #expect(refused[0].reason == "rolling period 145, allowed 1...144" && refused[1].description == "odd words")
      #expect(client.diagnosisKeys == [keys[1]], "what was taken")
    }
  }

  /// The debugging screens of the sample watch the keys that were posted.
  @Test(.timeLimit(.minutes(1))) func changesOfPostedKeysAreObserved() async throws {
    let keys = (UInt8(0)..<2).map {
      CodableDiagnosisKey(keyData: Data(repeating: $0, count: 16), rollingStartNumber: 2_678_400)
    }
    try await withServer("refusing") { client, _ in
      let (changes, told) = AsyncStream.makeStream(of: Int.self)
      let observer = client.$diagnosisKeys.addObserver {
        dispatchPrecondition(condition: .onQueue(.main))
        told.yield(client.diagnosisKeys.count)
      }
      let other = Client()
      other.diagnosisKeys = keys
      _ = await failure { try await client.postDiagnosisKeys(keys) }
      var next = changes.makeAsyncIterator()
      #expect(await next.next() == 1)
      client.diagnosisKeys = []
      #expect(await next.next() == 0)
      NotificationCenter.default.removeObserver(observer)
    }
  }

  /// Completions come one after the other, whatever thread an answer came on, so that they may change what they share.
  @Test func completionsComeOnTheirQueue() async throws {
    let queue = DispatchQueue(label: "completions")
    let client = Client(completionQueue: queue)
    client.testVerifier = { identifier, completion in
      DispatchQueue.global().async { completion(.success(identifier == "000000")) }
    }
    for (identifier, expected) in [("000000", true), ("111111", false)] {
      let isValid = try await withCheckedThrowingContinuation { continuation in
        client.verifyUniqueTestIdentifier(identifier) { result in
          dispatchPrecondition(condition: .onQueue(queue))
          continuation.resume(with: result)
        }
      }
      #expect(isValid == expected)
    }
    client.testVerifier = nil
    let error = await withCheckedContinuation { continuation in
      client.verifyUniqueTestIdentifier("000000") { continuation.resume(returning: $0) }
    }
    guard case .failure(ServerError.noTestVerifier) = error else { throw Unexpected() }
  }

  @Test func keysOfTheBetaHaveNoRollingPeriod() throws {
    let text = #"{"keyData":"AAAAAAAAAAAAAAAAAAAAAA==","rollingStartNumber":2649024,"transmissionRiskLevel":0}"#
    let key = try JSONDecoder().decode(CodableDiagnosisKey.self, from: Data(text.utf8))
    #expect(key.rollingPeriod == 144)
  }

  // MARK: Configuration

  @Test func everyGenerationDecodesTheUnion() async throws {
    try await withServer { client, _ in
      let current = try await client.getExposureConfiguration()
      #expect(current.infectiousnessForDaysSinceOnsetOfSymptoms == ["unknown": 1, "-14": 0, "0": 2])
      #expect(current.durationWeight == 50)
      let beta = try await client.getExposureConfiguration(as: CodableExposureConfiguration.Beta.self)
      #expect(beta.durationScores == [1, 2, 3, 4, 5, 6, 7, 8])
      let first = try await client.getExposureConfiguration(as: CodableExposureConfiguration.Version1.self)
      #expect(first.attenuationDurationThresholds == [50, 70])
    }
    try await withServer("bare") { client, _ in
      guard case .malformed(_, let reason) = await failure({ _ = try await client.getExposureConfiguration() }) else {
        throw Unexpected()
      }
      #expect(reason.contains("attenuationDurationThresholds"), "\(reason)")
    }
  }

  @Test func whatIsMissingIsSaid() async throws {
    let client = Client()
    #expect(await failure { _ = try await client.getExposureConfiguration() } == .notConfigured)
    client.configuration = ServerConfiguration(baseURL: try #require(URL(string: "https://keys.example.org")))
    #expect(await failure { try await client.postDiagnosisKeys([]) } == .noUploadAddress)
    let plain = try #require(URL(string: "http://keys.example.org/apple/NL/archives/a"))
    #expect(await failure { _ = try await client.downloadDiagnosisKeyFile(at: plain) } == .refusedAddress(plain))
  }

  @Test func anUnreachableServerIsOne() async throws {
    // Port 9 of the loopback device: nothing listens there on machines that run tests, and nothing is sent elsewhere.
    let client = Client(ServerConfiguration(baseURL: try #require(URL(string: "http://127.0.0.1:9"))))
    guard case .unreachable = await failure({ _ = try await client.getExposureConfiguration() }) else {
      throw Unexpected()
    }
  }

  private struct Unexpected: Error {}
}
