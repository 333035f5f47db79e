import BundleTrust
import ExposureKeys
import GatewayTesting
import NetworkFaults
import S3Objects
import S3Publications
import Synchronization
import Testing

/// Against a store that takes nobody's word.
@Suite("A bucket") struct BucketRequestTests {
  private let bytes = Array("ü bundle".utf8)

  private func put(
    _ bucket: Bucket, _ condition: WriteCondition = .none, at key: String = "NL/a +b.zip"
  ) async throws -> WriteOutcome {
    try await bucket.put(bytes, at: key, mediaType: "application/zip", cache: "no-store", condition)
  }

  private func fault(_ body: () async throws -> Void) async -> S3Fault? {
    do {
      try await body()
      return nil
    } catch {
      return error as? S3Fault
    }
  }

  @Test("what is put is there, by either way of addresses", arguments: BucketAddress.Style.allCases)
  func roundTrip(_ style: BucketAddress.Style) async throws {
    let store = StrictObjectStore(style: style)
    let bucket = store.bucket()
    #expect(try await bucket.get("NL/a +b.zip", limit: 100) == nil)
    #expect(try await bucket.head("NL/a +b.zip") == nil)
    guard case .written(let tag) = try await put(bucket, .isNew) else { return #expect(Bool(false), "refused") }
    let back = try #require(try await bucket.get("NL/a +b.zip", limit: 100))
    #expect(back.content == bytes && back.tag == tag)
    let head = try #require(try await bucket.head("NL/a +b.zip"))
    #expect(head.byteCount == bytes.count && head.tag == tag)
    let object = try #require(store.objects["eu/NL/a +b.zip"])
    #expect(object.fields["cache-control"] == "no-store" && object.fields["content-type"] == "application/zip")
    #expect(object.fields["x-amz-checksum-sha256"] != nil && object.fields["content-md5"] != nil)
    #expect(object.fields["x-amz-meta-sha256"]?.count == 64)
    try await bucket.delete("NL/a +b.zip")
    try await bucket.delete("NL/a +b.zip")
    #expect(store.objects.isEmpty)
    #expect(store.seen.allSatisfy { $0.status != 403 && $0.status != 400 })
  }

  @Test("conditions") func conditions() async throws {
    let store = StrictObjectStore()
    let bucket = store.bucket()
    #expect(try await put(bucket, .replaces(tag: "\"x\"")) == .refused, "there is none: 404")
    guard case .written(let tag) = try await put(bucket, .isNew) else { return #expect(Bool(false), "refused") }
    #expect(try await put(bucket, .isNew) == .refused)
    #expect(try await put(bucket, .replaces(tag: "\"x\"")) == .refused)
    guard case .written = try await put(bucket, .replaces(tag: tag)) else { return #expect(Bool(false), "refused") }
    store.set { _, method, _ in method == "PUT" ? .refuses(status: 409, code: "ConditionalRequestConflict") : nil }
    #expect(try await put(bucket, .isNew) == .conflict)
  }

  @Test("a list of several pages, names as they are") func list() async throws {
    let store = StrictObjectStore()
    let bucket = store.bucket()
    let names = (0..<12).map { "NL/\($0) +ü&<.zip" }.sorted()
    for name in names + ["NL2/x", "DE/y"] { _ = try await put(bucket, at: name) }
    store.overwrite("../strange", with: bytes)
    let listed = try await bucket.list("NL/")
    #expect(listed.map(\.key) == names)
    #expect(Set(listed.map(\.byteCount)) == [bytes.count])
    #expect(try await bucket.list("nothing/").isEmpty)
  }

  @Test("only that there is none is nil") func missing() async throws {
    let store = StrictObjectStore()
    let bucket = store.bucket()
    let cases: [(StrictObjectStore.Trouble, S3Fault.Code)] = [
      (.refuses(status: 403, code: "AccessDenied"), .denied),
      (.refuses(status: 500, code: "InternalError"), .unavailable),
      (.refuses(status: 503, code: "SlowDown"), .unavailable), (.refuses(status: 404, code: "NoSuchBucket"), .noBucket),
      (.proxy(status: 404, text: "<html>not here</html>"), .badAnswer), (.proxy(status: 404, text: ""), .badAnswer),
      (.proxy(status: 502, text: "<html>bad gateway</html>"), .unavailable), (.lost, .unavailable),
      (.refuses(status: 501, code: "NotImplemented"), .notSupported), (.refuses(status: 418, code: "X"), .badAnswer),
      (.refuses(status: 301, code: "PermanentRedirect"), .otherRegion),
    ]
    for (trouble, code) in cases {
      // Of a HEAD there is no word: what it means is asked again.
      store.set { _, method, _ in method == "GET" ? trouble : nil }
      #expect(await fault { _ = try await bucket.get("NL/index.txt", limit: 100) }?.code == code, "\(trouble)")
      #expect(await fault { _ = try await bucket.head("NL/index.txt") }?.code == code, "\(trouble)")
      #expect(await fault { _ = try await bucket.list("NL/") }?.code == code, "\(trouble)")
    }
    store.calm()
    store.setMayList(false)
    #expect(await fault { _ = try await bucket.head("NL/index.txt") }?.code == .denied)
    store.setMayList(true)
    store.setBucket(isThere: false)
    for _ in 0..<2 {
      #expect(await fault { _ = try await bucket.head("NL/index.txt") }?.code == .noBucket)
      #expect(await fault { try await bucket.delete("NL/index.txt") }?.code == .noBucket)
      #expect(await fault { _ = try await put(bucket, .isNew) }?.code == .noBucket)
    }
  }

  @Test("what may pass is tried again, signed anew, with delays that grow") func repeats() async throws {
    let store = StrictObjectStore()
    let delays = Mutex<[Double]>([])
    let bucket = store.bucket { seconds in
      delays.withLock { $0.append(seconds) }
      // Sixteen minutes pass: an old signature is not taken.
      store.setClock(Instant(secondsSince1970: Bucket.systemClock().secondsSince1970 + 960))
    }
    store.set { number, _, _ in
      switch number {
      case 1: .refuses(status: 503, code: "SlowDown")
      case 2: .lost
      case 3: .proxy(status: 504, text: "")
      default: nil
      }
    }
    guard case .written = try await put(bucket, .isNew) else { return #expect(Bool(false), "refused") }
    let waited = delays.withLock { $0 }
    #expect(waited.count == 3)
    #expect(zip(waited, [1.0, 0.1, 0.2]).allSatisfy { $0 <= $1 })

    store.set { _, _, _ in .refuses(status: 503, code: "SlowDown") }
    let last = await fault { _ = try await bucket.get("x", limit: 10) }
    #expect(last?.code == .unavailable && last?.reason == "GET s3://keys/eu/x: 503 SlowDown: as the test wants")
    #expect(store.seen.count == 4)
    store.set { _, _, _ in .refuses(status: 403, code: "AccessDenied") }
    #expect(await fault { _ = try await bucket.get("x", limit: 10) }?.code == .denied)
    #expect(store.seen.count == 1, "a right that is missing does not come back by itself")
  }

  @Test("while a store is down for everybody it is not asked four times for each object") func budget() async {
    let store = StrictObjectStore()
    let bucket = store.bucket()
    store.set { _, _, _ in .lost }
    let asked = Mutex(0)
    store.set { _, _, _ in
      asked.withLock { $0 += 1 }
      return .lost
    }
    for number in 0..<100 { _ = await fault { _ = try await bucket.get("x\(number)", limit: 10) } }
    // 500 pay for 35 repetitions.
    #expect(asked.withLock { $0 } == 135)
  }

  @Test("a clock that is wrong is put right once") func clock() async throws {
    let store = StrictObjectStore()
    let (bucket, real) = (store.bucket(), Bucket.systemClock())
    let chain = CredentialChain(
      .stated(store.credentials), environment: [:], region: store.address.region, transport: store)
    let wrong = Bucket(
      store.address, credentials: chain, transport: store,
      clock: { Instant(secondsSince1970: real.secondsSince1970 - 86_400) }, sleep: { _ in })
    guard case .written = try await put(wrong, .isNew) else { return #expect(Bool(false), "refused") }
    #expect(store.seen.map(\.status) == [403, 200])
    #expect(try await wrong.get("NL/a +b.zip", limit: 100)?.content == bytes)
    #expect(store.seen.map(\.status) == [403, 200, 200], "the difference is remembered")
    store.set { _, _, _ in .refuses(status: 403, code: "RequestTimeTooSkewed") }
    #expect(await fault { _ = try await bucket.get("x", limit: 10) }?.code == .clock)
  }

  @Test("a store that accepts and does not answer holds nobody up for longer than one request may take")
  func silence() async throws {
    let store = StrictObjectStore()
    let silent = Silent()
    let chain = CredentialChain(
      .stated(store.credentials), environment: [:], region: store.address.region, transport: silent)
    let bucket = Bucket(store.address, credentials: chain, transport: silent, timeLimit: .milliseconds(1200))
    let clock = ContinuousClock()
    var said: S3Fault?
    let took = await clock.measure { said = await fault { _ = try await bucket.get("x", limit: 10) } }
    #expect(said?.code == .unavailable)
    #expect(said?.reason == "GET s3://keys/eu/x: store.example: no whole answer within 1 s")
    #expect(silent.count == 1 && took < .seconds(4), "\(took)")
    // What tries the store has nothing to take away where nobody answers.
    let probe = try await BucketProbe(bucket, hasConditions: true)
    #expect(probe.faults.count == 1 && silent.count == 2, "\(probe.faults)")
    // A wait that would end behind the end is not begun.
    store.set { _, _, _ in .refuses(status: 503, code: "SlowDown") }
    let strict = CredentialChain(
      .stated(store.credentials), environment: [:], region: store.address.region, transport: store)
    let hasty = Bucket(store.address, credentials: strict, transport: store, timeLimit: .zero)
    #expect(await fault { _ = try await hasty.get("x", limit: 10) }?.code == .unavailable)
    #expect(store.seen.count == 1)
  }

  private final class Silent: S3Transport {
    private let state = Mutex(0)

    var count: Int { state.withLock { $0 } }

    func send(_ request: S3Request, to origin: String, limit: Int, seconds: Double) async throws -> S3Answer {
      state.withLock { $0 += 1 }
      try await Task.sleep(for: .seconds(seconds))
      throw NetworkFault(.noAnswer, "no answer in time")
    }
  }

  @Test("a proxy's page is no answer, whatever is asked, and is called what it is")
  func strangers() async throws {
    let store = StrictObjectStore()
    let bucket = store.bucket()
    let page = " \n<!DOCTYPE HTML><html><head><title>Log in</title></head><body>Hotel</body></html>"
    for trouble in [
      StrictObjectStore.Trouble.proxy(status: 200, text: page), .proxy(status: 403, text: page),
      .proxy(status: 412, text: page),
    ] {
      store.set { _, method, _ in method == "HEAD" ? .proxy(status: 200, text: "") : trouble }
      for said in [
        await fault { _ = try await bucket.get("x", limit: 1000) }, await fault { _ = try await bucket.head("x") },
        await fault { _ = try await bucket.list("x/") }, await fault { _ = try await put(bucket, .isNew) },
        await fault { _ = try await put(bucket, .replaces(tag: "\"1\"")) },
        await fault { try await bucket.delete("x") },
      ] {
        #expect(
          said?.code == .badAnswer && said?.reason.contains("that is no word of a store") == true, "\(said as Any)")
      }
    }
    // What is no page, and has nothing that a store says of an object.
    store.set { _, _, _ in .proxy(status: 200, text: "blocked") }
    #expect(await fault { _ = try await bucket.get("x", limit: 1000) }?.code == .badAnswer)
    #expect(await fault { _ = try await bucket.head("x") }?.code == .badAnswer)
  }

  @Test("what never ends is read up to a limit, asked for once, and called too large") func endless() async throws {
    let store = StrictObjectStore()
    let bucket = store.bucket()
    store.set { _, _, _ in .endless }
    let got = await fault { _ = try await bucket.get("x", limit: 1 << 20) }
    #expect(got?.code == .tooLarge && got?.reason.contains("larger than the 1048576 bytes") == true)
    #expect(store.seen.count == 1)
    let listed = await fault { _ = try await bucket.list("x/") }
    #expect(listed?.code == .tooLarge && listed?.reason.contains("a page of the list") == true, "\(listed as Any)")
    #expect(store.seen.count == 2)
  }

  @Test("limits are kept, and what came is compared") func limits() async throws {
    let store = StrictObjectStore()
    let bucket = store.bucket()
    _ = try await put(bucket)
    #expect(await fault { _ = try await bucket.get("NL/a +b.zip", limit: bytes.count - 1) }?.code == .tooLarge)
    #expect(try await bucket.get("NL/a +b.zip", limit: bytes.count)?.content == bytes)
    let liar = Changing(store)
    let chain = CredentialChain(
      .stated(store.credentials), environment: [:], region: store.address.region, transport: liar)
    let changed = Bucket(store.address, credentials: chain, transport: liar, sleep: { _ in })
    #expect(await fault { _ = try await changed.get("NL/a +b.zip", limit: 100) }?.code == .damaged)
    // What changes on the way there is refused by the store, each time.
    #expect(await fault { _ = try await put(changed) }?.code == .damaged)
    #expect(store.objects["eu/NL/a +b.zip"]?.bytes == bytes)
  }

  /// Somebody on the way who changes a byte.
  private struct Changing: S3Transport {
    let store: StrictObjectStore

    init(_ store: StrictObjectStore) { self.store = store }

    func send(_ request: S3Request, to origin: String, limit: Int, seconds: Double) async throws -> S3Answer {
      var request = request
      if !request.body.isEmpty { request.body[0] ^= 1 }
      var answer = try await store.send(request, to: origin, limit: limit, seconds: seconds)
      if answer.status == 200, !answer.body.isEmpty { answer.body[0] ^= 1 }
      return answer
    }
  }

  @Test("wrong credentials are told apart, and nothing of them is shown") func secrets() async throws {
    let store = StrictObjectStore()
    func reason(_ id: String, _ secret: String, _ token: String) async -> String {
      let bucket = store.bucket(
        credentials: S3Credentials(accessKeyID: id, secretAccessKey: Secret(secret), sessionToken: Secret(token)))
      return await fault { _ = try await bucket.get("x", limit: 10) }?.reason ?? "none"
    }
    #expect(await reason("AKIDOTHER", "hush-1", "hush-2").contains("403 InvalidAccessKeyId"))
    #expect(await reason("AKIDSTRICT", "hush-1", "strict-token==").contains("403 SignatureDoesNotMatch"))
    #expect(await reason("AKIDSTRICT", "strict+secret/1", "hush-2").contains("403 InvalidToken"))
    // A store, or a proxy, that repeats what it was sent.
    let echo = Echo()
    let credentials = S3Credentials(
      accessKeyID: "AKIDHUSH", secretAccessKey: Secret("hush-1"), sessionToken: Secret("hush-2"))
    let chain = CredentialChain(.stated(credentials), environment: [:], region: "r", transport: echo)
    let bucket = Bucket(store.address, credentials: chain, transport: echo, sleep: { _ in })
    for method in ["GET", "PUT"] {
      let said = await fault {
        if method == "GET" { _ = try await bucket.get("x", limit: 10) } else { _ = try await put(bucket) }
      }
      let reason = try #require(said).reason
      #expect(reason.contains("{session-token}") && reason.contains("{access-key-id}"), "\(reason)")
      for word in ["hush", "HUSH"] { #expect(!reason.contains(word), "\(reason)") }
    }
  }

  private struct Echo: S3Transport {
    func send(_ request: S3Request, to origin: String, limit: Int, seconds: Double) async throws -> S3Answer {
      S3Answer(
        status: 403,
        body: Array("<Error><Code>AccessDenied</Code><Message>AKIDHUSH with hush-2 and hush-1</Message></Error>".utf8))
    }
  }
}
