internal import BundleTrust
internal import Crypto
package import ExposureKeys
internal import FoundationEssentials
package import S3Objects
internal import Synchronization

/// An object store in memory that takes nobody's word: it computes each signature from what was sent, compares hash and checksums
/// with the body and the date with its clock, keeps conditions, and does what goes wrong with real ones when it is told to.
///
/// It is written from the rules of AWS ("Authenticating Requests (AWS Signature Version 4)", conditional requests), not from the
/// code that it judges.
package final class StrictObjectStore: S3Transport {
  package struct Object: Hashable, Sendable {
    package var bytes: [UInt8]
    package var tag: String
    /// Names in small letters.
    package var fields: [String: String]
  }

  /// What happens to one request.
  package enum Trouble: Sendable {
    /// It does not arrive.
    case lost
    /// It arrives and is carried out, and the answer does not come back.
    case answerLost
    /// The store says no.
    case refuses(status: Int, code: String)
    /// What it answers never ends: it is read up to the limit.
    case endless
    /// A proxy before it answers in its own words.
    case proxy(status: Int, text: String)
    /// Others do something at the same moment, before it is carried out.
    case after(@Sendable (StrictObjectStore) -> Void)
  }

  package struct Seen: Hashable, Sendable {
    package let method: String
    /// Without the bucket.
    package let key: String
    package let status: Int

    /// Whether it may have changed something.
    package var isWrite: Bool { method == "PUT" || method == "DELETE" }
  }

  package struct Lost: Error { package init() {} }

  package let credentials = S3Credentials(
    accessKeyID: "AKIDSTRICT", secretAccessKey: Secret("strict+secret/1"), sessionToken: Secret("strict-token=="))
  package let address: BucketAddress

  private struct State {
    var objects: [String: Object] = [:]
    var seen: [Seen] = []
    var count = 0
    var tags = 0
    /// Names of bundles that have had two contents.
    var changed: Set<String> = []
    var trouble: @Sendable (_ number: Int, _ method: String, _ key: String) -> Trouble? = { _, _, _ in nil }
    var now = Bucket.systemClock()
    var ignoresConditions = false
    var hasBucket = true
    /// A right that is missing.
    var mayList = true
  }

  private let state = Mutex(State())

  package init(style: BucketAddress.Style = .path) {
    address = BucketAddress(
      endpoint: "https://store.example", bucket: "keys", prefix: "eu/", region: "eu-test-1", style: style)
  }

  // MARK: What tests say and see

  package var objects: [String: Object] { state.withLock { $0.objects } }
  package var seen: [Seen] { state.withLock { $0.seen } }
  /// Bundles that were given two contents under one name.
  package var changed: Set<String> { state.withLock { $0.changed } }

  /// A file as the publication has it, without the prefix.
  package subscript(path: String) -> [UInt8]? { objects[address.prefix + path]?.bytes }

  /// - Parameter trouble: is asked at each request, which are counted from 1 again.
  package func set(_ trouble: @escaping @Sendable (_ number: Int, _ method: String, _ key: String) -> Trouble?) {
    state.withLock { ($0.trouble, $0.count, $0.seen) = (trouble, 0, []) }
  }

  package func calm() { set { _, _, _ in nil } }
  package func setClock(_ now: Instant) { state.withLock { $0.now = now } }
  package func setIgnoringConditions(_ ignores: Bool) { state.withLock { $0.ignoresConditions = ignores } }
  package func setBucket(isThere: Bool) { state.withLock { $0.hasBucket = isThere } }
  package func setMayList(_ may: Bool) { state.withLock { $0.mayList = may } }

  /// What somebody else does, past every rule.
  package func overwrite(_ path: String, with bytes: [UInt8]?) {
    state.withLock { state in
      state.tags += 1
      state.objects[address.prefix + path] = bytes.map {
        Object(bytes: $0, tag: "\"other-\(state.tags)\"", fields: [:])
      }
    }
  }

  package func bucket(
    credentials: S3Credentials? = nil, sleep: @escaping @Sendable (Double) async throws -> Void = { _ in }
  ) -> Bucket {
    let chain = CredentialChain(
      .stated(credentials ?? self.credentials), environment: [:], region: address.region, transport: self)
    return Bucket(
      address, credentials: chain, transport: self, clock: { [self] in state.withLock { $0.now } }, sleep: sleep)
  }

  // MARK: Answering

  package func send(_ request: S3Request, to origin: String, limit: Int, seconds: Double) async throws -> S3Answer {
    let path = Self.decoded(request.path)
    let folder = address.style == .path ? "/\(address.bucket)" : ""
    let key = path.hasPrefix(folder + "/") ? String(path.dropFirst(folder.count + 1)) : ""
    let trouble = state.withLock { state in
      state.count += 1
      return state.trouble(state.count, request.method, key)
    }
    switch trouble {
    case .lost: throw Lost()
    case .refuses(let status, let code): return noted(request, key, Self.fault(status, code))
    case .proxy(let status, let text):
      return noted(request, key, S3Answer(status: status, body: Array(text.utf8)))
    case .endless:
      var answer = S3Answer(status: 200, headers: [.init("ETag", "\"endless\"")])
      answer.isTooLarge = true
      return noted(request, key, answer)
    case .after(let act): act(self)
    case .answerLost, nil: break
    }
    var answer = noted(request, key, judge(request, origin) ?? carryOut(request, key))
    if case .answerLost = trouble { throw Lost() }
    if request.method == "HEAD" { answer.body = [] }
    if answer.body.count > limit { (answer.body, answer.isTooLarge) = ([], true) }
    return answer
  }

  private func noted(_ request: S3Request, _ key: String, _ answer: S3Answer) -> S3Answer {
    state.withLock { $0.seen.append(Seen(method: request.method, key: key, status: answer.status)) }
    return answer
  }

  private static func fault(_ status: Int, _ code: String, _ headers: [S3Request.Header] = []) -> S3Answer {
    let text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>\(code)</Code><Message>as the test wants</Message></Error>"
    return S3Answer(status: status, headers: headers, body: Array(text.utf8))
  }

  /// What is wrong with a request, whatever it asks for.
  private func judge(_ request: S3Request, _ origin: String) -> S3Answer? {
    let (now, hasBucket) = state.withLock { ($0.now, $0.hasBucket) }
    func one(_ name: String) -> String? {
      let found = request.headers.filter { $0.name.lowercased() == name }
      return found.count == 1 ? found[0].value : nil
    }
    guard origin == "https://\(request.host)" else { return Self.fault(400, "InvalidRequest") }
    guard let authorization = one("authorization"), authorization.hasPrefix("AWS4-HMAC-SHA256 ") else {
      return Self.fault(403, "AccessDenied")
    }
    var parts: [String: String] = [:]
    for part in authorization.dropFirst(17).split(separator: ",") {
      let pair = part.split(separator: "=", maxSplits: 1).map { $0.trimmingPrefix(" ") }
      if pair.count == 2 { parts[String(pair[0])] = String(pair[1]) }
    }
    let scope = (parts["Credential"] ?? "").split(separator: "/").map(String.init)
    guard scope.count == 5, scope[3] == "s3", scope[4] == "aws4_request", let date = one("x-amz-date") else {
      return Self.fault(400, "AuthorizationHeaderMalformed")
    }
    guard scope[0] == credentials.accessKeyID else { return Self.fault(403, "InvalidAccessKeyId") }
    guard one("x-amz-security-token") == credentials.sessionToken?.disclosed else {
      return Self.fault(403, "InvalidToken")
    }
    guard scope[2] == address.region else { return Self.fault(400, "AuthorizationHeaderMalformed") }
    guard let sent = Self.instant(date), scope[1] == date.prefix(8) else { return Self.fault(403, "AccessDenied") }
    guard abs(sent.secondsSince1970 - now.secondsSince1970) <= 900 else {
      return Self.fault(403, "RequestTimeTooSkewed", [.init("Date", HTTPDate.text(now))])
    }
    let names = (parts["SignedHeaders"] ?? "").split(separator: ";").map(String.init)
    guard names == names.sorted(), names.contains("host"),
      request.headers.allSatisfy({ header in
        let name = header.name.lowercased()
        return names.contains(name)
          || !(name.hasPrefix("x-amz-") || ["content-type", "content-md5", "if-match", "if-none-match"].contains(name))
      })
    else { return Self.fault(403, "AccessDenied") }
    let lines = names.map { name in
      let values =
        name == "host" ? [request.host] : request.headers.filter { $0.name.lowercased() == name }.map(\.value)
      return "\(name):\(values.joined(separator: ","))\n"
    }
    let hash = one("x-amz-content-sha256") ?? ""
    let canonical =
      "\(request.method)\n\(request.path)\n\(request.query)\n\(lines.joined())\n\(names.joined(separator: ";"))\n\(hash)"
    let text =
      "AWS4-HMAC-SHA256\n\(date)\n\(scope[1...].joined(separator: "/"))\n"
      + Hexadecimal.encode(SHA256.hash(data: Array(canonical.utf8)))
    var key = Array("AWS4\(credentials.secretAccessKey.disclosed)".utf8)
    for part in scope[1...] + [text] {
      key = Array(HMAC<SHA256>.authenticationCode(for: Array(part.utf8), using: SymmetricKey(data: key)))
    }
    guard Hexadecimal.encode(key) == parts["Signature"] else { return Self.fault(403, "SignatureDoesNotMatch") }
    guard hash == Hexadecimal.encode(SHA256.hash(data: request.body)) else {
      return Self.fault(400, "XAmzContentSHA256Mismatch")
    }
    if let md5 = one("content-md5"), md5 != Data(Insecure.MD5.hash(data: request.body)).base64EncodedString() {
      return Self.fault(400, "BadDigest")
    }
    if let sum = one("x-amz-checksum-sha256"), sum != Data(SHA256.hash(data: request.body)).base64EncodedString() {
      return Self.fault(400, "BadDigest")
    }
    return hasBucket ? nil : Self.fault(404, "NoSuchBucket")
  }

  private func carryOut(_ request: S3Request, _ key: String) -> S3Answer {
    state.withLock { state in
      func field(_ name: String) -> String? {
        request.headers.first { $0.name.lowercased() == name }?.value
      }
      let old = state.objects[key]
      switch request.method {
      case "PUT":
        if !state.ignoresConditions {
          if let none = field("if-none-match") {
            guard none == "*" else { return Self.fault(501, "NotImplemented") }
            guard old == nil else { return Self.fault(412, "PreconditionFailed") }
          }
          if let tag = field("if-match") {
            guard let old else { return Self.fault(404, "NoSuchKey") }
            guard old.tag == tag else { return Self.fault(412, "PreconditionFailed") }
          }
        }
        state.tags += 1
        if key.hasSuffix(".zip"), let old, old.bytes != request.body { state.changed.insert(key) }
        let kept = Dictionary(
          request.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
        let object = Object(bytes: request.body, tag: "\"\(state.tags)-strict\"", fields: kept)
        state.objects[key] = object
        return S3Answer(
          status: 200,
          headers: [.init("ETag", object.tag)]
            + (kept["x-amz-checksum-sha256"].map { [.init("x-amz-checksum-sha256", $0)] } ?? []))
      case "DELETE":
        state.objects[key] = nil
        return S3Answer(status: 204)
      case "GET" where key.isEmpty: return list(request, state)
      case "GET", "HEAD":
        // Who may not list is not told what is missing.
        guard let old else {
          return state.mayList ? Self.fault(404, "NoSuchKey") : Self.fault(403, "AccessDenied")
        }
        var headers: [S3Request.Header] = [.init("ETag", old.tag), .init("Content-Length", "\(old.bytes.count)")]
        if field("x-amz-checksum-mode") == "ENABLED", let sum = old.fields["x-amz-checksum-sha256"] {
          headers.append(.init("x-amz-checksum-sha256", sum))
        }
        return S3Answer(status: 200, headers: headers, body: old.bytes)
      default: return Self.fault(405, "MethodNotAllowed")
      }
    }
  }

  /// Pages are short, so that there are some.
  private static let pageLength = 5

  private func list(_ request: S3Request, _ state: State) -> S3Answer {
    guard state.mayList else { return Self.fault(403, "AccessDenied") }
    let query = Dictionary(
      request.query.split(separator: "&").map { pair in
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        return (parts[0], Self.decoded(parts[1]))
      }, uniquingKeysWith: { first, _ in first })
    let begin = Self.decoded(query["continuation-token"] ?? "")
    let keys = state.objects.keys.sorted().filter { $0.hasPrefix(query["prefix"] ?? "") && $0 > begin }
    let page = keys.prefix(Self.pageLength)
    let contents = page.map { key in
      "<Contents><Key>\(S3Encoding.word(key))</Key>"
        + "<ETag>\((state.objects[key]?.tag ?? "").replacing("\"", with: "&quot;"))</ETag>"
        + "<Size>\(state.objects[key]?.bytes.count ?? 0)</Size></Contents>"
    }.joined()
    let isMore = keys.count > page.count
    let next = isMore ? "<NextContinuationToken>\(S3Encoding.word(page.last ?? ""))</NextContinuationToken>" : ""
    let text =
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><EncodingType>url</EncodingType>"
      + "<IsTruncated>\(isMore)</IsTruncated>\(contents)\(next)</ListBucketResult>"
    return S3Answer(status: 200, body: Array(text.utf8))
  }

  private static func decoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func instant(_ text: String) -> Instant? {
    let digits = Array(text)
    guard digits.count == 16 else { return nil }
    func part(_ range: Range<Int>) -> String { String(digits[range]) }
    return Instant("\(part(0..<4))-\(part(4..<6))-\(part(6..<8))T\(part(9..<11)):\(part(11..<13)):\(part(13..<15))Z")
  }
}
