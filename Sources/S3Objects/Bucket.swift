internal import BundleTrust
internal import Crypto
package import ExposureKeys
internal import FoundationEssentials
internal import KeyIntake
internal import NetworkFaults
internal import Synchronization

/// What is known of one object.
package struct ObjectHead: Hashable, Sendable {
  package let byteCount: Int
  /// As the store said it, with its quotes; nothing is computed of it.
  package let tag: String
}

/// What became of a write that had a condition.
package enum WriteOutcome: Hashable, Sendable {
  case written(tag: String)
  /// The condition does not hold: the object is there already, is another one, or is gone.
  case refused
  /// Another write was under way at the same time; nothing was written.
  case conflict
}

/// Under which condition an object is written.
package enum WriteCondition: Hashable, Sendable {
  case none
  /// Only where there is no object of this name.
  case isNew
  /// Only over the very object that was seen.
  case replaces(tag: String)
}

/// A bucket of a store that speaks as Amazon S3 does: a few requests, each signed anew whenever it is sent.
///
/// A request that fails for a reason that may pass is tried four times, with random delays that grow, within the time for all of
/// them, and while the store is not down for everybody: each repetition takes from a budget that successes fill. What a caller
/// is told is told apart: that there is no such object is an answer, everything else is a fault, and a page of HTML is no answer
/// of a store.
package final class Bucket: Sendable {
  package let address: BucketAddress
  /// Whether SHA-256 checksums are sent with every object and asked for with every read.
  package let sendsChecksums: Bool
  private let credentials: CredentialChain
  private let transport: any S3Transport
  private let timeLimit: Duration
  private let clock: @Sendable () -> Instant
  private let sleep: @Sendable (_ seconds: Double) async throws -> Void
  private let state = Mutex(State())

  /// What all requests share. The lock owns it.
  private struct State {
    /// Seconds by which the store's clock is ahead of this one.
    var skew: Int64 = 0
    /// What repetitions may cost.
    var budget = 500
  }

  private static let attempts = 4
  /// What a request may take, with all its repetitions, unless somebody says otherwise.
  package static let usualSeconds: Int64 = 60
  /// Of an answer that says what is wrong.
  private static let faultLimit = 64 << 10

  /// - Parameter timeLimit: for one request with all its repetitions.
  package init(
    _ address: BucketAddress, credentials: CredentialChain, transport: any S3Transport, sendsChecksums: Bool = true,
    timeLimit: Duration = .seconds(Bucket.usualSeconds),
    clock: @escaping @Sendable () -> Instant = Bucket.systemClock,
    sleep: @escaping @Sendable (_ seconds: Double) async throws -> Void = { try await Task.sleep(for: .seconds($0)) }
  ) {
    self.address = address
    self.credentials = credentials
    self.transport = transport
    self.sendsChecksums = sendsChecksums
    self.timeLimit = timeLimit
    self.clock = clock
    self.sleep = sleep
  }

  /// Signatures have the time of the system, whatever a gateway believes: the store compares.
  @Sendable package static func systemClock() -> Instant {
    Instant(secondsSince1970: Int64(Date().timeIntervalSince1970))
  }

  // MARK: Objects

  /// - Parameter limit: a larger object is a fault, `too-large`.
  /// - Returns: `nil` where the store says that there is none, and nothing else.
  package func get(_ key: String, limit: Int) async throws -> (content: [UInt8], tag: String)? {
    let headers: [S3Request.Header] = sendsChecksums ? [.init("x-amz-checksum-mode", "ENABLED")] : []
    let answer = try await ask("GET", key, headers: headers, limit: limit)
    guard answer.status != 404 else { return nil }
    guard !answer.isTooLarge else {
      throw S3Fault(.tooLarge, "\(address.shown(key)) is larger than the \(limit) bytes that are read of it")
    }
    return (answer.body, answer["ETag"] ?? "")
  }

  /// - Returns: `nil` where the store says that there is none, and nothing else.
  package func head(_ key: String) async throws -> ObjectHead? {
    let answer = try await ask("HEAD", key, limit: Self.faultLimit)
    // Why not, the answer cannot say: the bucket may be gone, the clock wrong, a token at its end.
    guard answer.status == 200 else { return try await headByGet(key) }
    return try head(of: answer, key)
  }

  private func headByGet(_ key: String) async throws -> ObjectHead? {
    let answer = try await ask("GET", key, limit: 0)
    return answer.status == 404 ? nil : try head(of: answer, key)
  }

  private func head(of answer: S3Answer, _ key: String) throws -> ObjectHead {
    guard let count = answer["Content-Length"].flatMap(Int.init), count >= 0 else {
      throw S3Fault(.badAnswer, "\(address.shown(key)): the store does not say how long it is")
    }
    return ObjectHead(byteCount: count, tag: answer["ETag"] ?? "")
  }

  /// - Parameters:
  ///   - mediaType: what `Content-Type` says to who gets it.
  ///   - cache: what `Cache-Control` says.
  package func put(
    _ content: [UInt8], at key: String, mediaType: String, cache: String, _ condition: WriteCondition
  ) async throws -> WriteOutcome {
    let digest = SHA256.hash(data: content)
    var headers: [S3Request.Header] = [
      .init("Content-Type", mediaType), .init("Cache-Control", cache),
      .init("Content-MD5", Data(Insecure.MD5.hash(data: content)).base64EncodedString()),
      .init("x-amz-meta-sha256", Hexadecimal.encode(digest)),
    ]
    let checksum = Data(digest).base64EncodedString()
    if sendsChecksums {
      headers += [.init("x-amz-checksum-sha256", checksum), .init("x-amz-sdk-checksum-algorithm", "SHA256")]
    }
    switch condition {
    case .none: break
    case .isNew: headers.append(.init("If-None-Match", "*"))
    case .replaces(let tag): headers.append(.init("If-Match", tag))
    }
    let answer = try await ask("PUT", key, headers: headers, body: content, limit: Self.faultLimit, condition)
    switch answer.status {
    case 412, 404: return .refused
    case 409: return .conflict
    default: break
    }
    if let stored = answer["x-amz-checksum-sha256"], stored != checksum {
      throw S3Fault(.damaged, "\(address.shown(key)): the store has other bytes than it was sent, by its own checksum")
    }
    return .written(tag: answer["ETag"] ?? "")
  }

  /// That there is none is no fault.
  package func delete(_ key: String) async throws {
    _ = try await ask("DELETE", key, limit: Self.faultLimit)
  }

  /// All objects whose keys begin so, by key, with their lengths.
  ///
  /// - Parameter prefix: behind the bucket's own.
  /// - Returns: with the tag of each, which is empty where the store does not say it.
  package func list(_ prefix: String) async throws -> [(key: String, byteCount: Int, tag: String)] {
    var objects: [(key: String, byteCount: Int, tag: String)] = []
    var keyBytes = 0
    var token: String?
    let whole = "\(address.prefix)\(prefix)"
    for _ in 0..<Self.mostPages {
      var query = [
        (name: "list-type", value: "2"), ("prefix", whole), ("max-keys", "1000"), ("encoding-type", "url"),
      ]
      if let token { query.append(("continuation-token", token)) }
      let answer = try await ask("GET", nil, query: query, limit: Self.pageBytes)
      guard !answer.isTooLarge else {
        throw S3Fault(
          .tooLarge, "a page of the list of \(address.shown(prefix)) is larger than \(Self.pageBytes) bytes")
      }
      let page: XMLElement
      do throws(XMLElement.Malformed) {
        page = try XMLElement(document: answer.body)
      } catch {
        throw S3Fault(.badAnswer, "the list of \(address.shown(prefix)) cannot be read: \(error.reason)")
      }
      guard page.name == "ListBucketResult" else {
        throw S3Fault(.badAnswer, "the list of \(address.shown(prefix)) is no list")
      }
      let isEncoded = page["EncodingType"] == "url"
      for object in page.all("Contents") {
        guard let spelled = object["Key"], let count = object["Size"].flatMap(Int.init),
          let key = isEncoded ? PercentEncoding.decode(spelled, plusIsSpace: true) : spelled,
          key.hasPrefix(address.prefix)
        else { throw S3Fault(.badAnswer, "the list of \(address.shown(prefix)) has an entry without name or length") }
        let tag = object["ETag"] ?? ""
        keyBytes += key.utf8.count + tag.utf8.count
        objects.append((String(key.dropFirst(address.prefix.count)), count, tag))
      }
      guard keyBytes <= Self.mostKeyBytes, objects.count <= Self.mostPages * 1000 else { break }
      guard page["IsTruncated"] == "true" else { return objects }
      guard let next = page["NextContinuationToken"], next != token else {
        throw S3Fault(.badAnswer, "the list of \(address.shown(prefix)) does not say where it goes on")
      }
      token = next
    }
    throw S3Fault(.tooLarge, "\(address.shown(prefix)) has more than \(Self.mostPages * 1000) objects, or longer names")
  }

  private static let mostPages = 1000
  /// A thousand names of a thousand bytes, each spelled with up to three.
  private static let pageBytes = 4 << 20
  /// Of all names and tags of a list together.
  private static let mostKeyBytes = 64 << 20

  // MARK: Asking

  /// What an answer means for the loop that asks.
  private enum Verdict {
    case answer
    /// It may pass.
    case again(S3Fault, isThrottled: Bool)
    case fault(S3Fault)
  }

  private func ask(
    _ method: String, _ key: String?, query: [(name: String, value: String)] = [], headers: [S3Request.Header] = [],
    body: [UInt8] = [], limit: Int, _ condition: WriteCondition = .none
  ) async throws -> S3Answer {
    let request = S3Request(
      method, host: address.host, path: address.path(key), query: query, headers: headers, body: body)
    let shown = "\(method) \(address.shown(key ?? ""))"
    var isFreshened = false
    var isReset = false
    var attempt = 0
    let end = ContinuousClock.now + timeLimit
    while true {
      try Task.checkCancellation()
      let credentials = try await self.credentials.current(at: clock(), isRefused: isFreshened)
      let skew = state.withLock { $0.skew }
      let now = Instant(secondsSince1970: clock().secondsSince1970 + skew)
      let signed = S3Signature(credentials, region: address.region).signed(request, at: now)
      let verdict: Verdict
      var answer = S3Answer(status: 0)
      do {
        answer = try await transport.send(
          signed, to: address.origin, limit: max(limit, Self.faultLimit),
          seconds: max(0, ContinuousClock.now.duration(to: end) / .seconds(1)))
        if answer.status < 300, answer.body.count > limit {
          answer.isTooLarge = true
          answer.body = []
        }
        let fault = Self.fault(in: answer.body)
        // Once each: the store says what is wrong with the request itself.
        if ["ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"].contains(fault.code), !isFreshened {
          isFreshened = true
          continue
        }
        if fault.code == "RequestTimeTooSkewed", !isReset,
          let date = answer["Date"].flatMap(HTTPDate.instant)?.secondsSince1970
        {
          isReset = true
          state.withLock { $0.skew = date - clock().secondsSince1970 }
          continue
        }
        verdict = judge(answer, fault, shown, key, condition, credentials)
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        // A task that was cancelled is told so by the client in its own words.
        try Task.checkCancellation()
        let fault = NetworkFault(error)
        let words =
          fault.kind == .noAnswer
          ? "no whole answer within \(timeLimit.components.seconds) s" : "no answer: \(credentials.masked(fault.words))"
        verdict = .again(S3Fault(.unavailable, "\(shown): \(address.host): \(words)"), isThrottled: false)
      }
      switch verdict {
      case .answer:
        state.withLock { $0.budget = min(500, $0.budget + 1) }
        try check(answer, shown)
        return answer
      case .fault(let fault): throw fault
      case .again(let fault, let isThrottled):
        attempt += 1
        let cost = isThrottled ? 5 : 14
        let mayRepeat = state.withLock { state in
          guard attempt < Self.attempts, state.budget >= cost else { return false }
          state.budget -= cost
          return true
        }
        guard mayRepeat else { throw fault }
        let most = min((isThrottled ? 1 : 0.05) * Double(1 << (attempt - 1)), 20)
        let asked =
          (answer["x-amz-retry-after"].flatMap(Double.init).map { $0 / 1000 })
          ?? answer["Retry-After"].flatMap(Double.init) ?? 0
        let delay = Double.random(in: 0...1) * most + min(max(asked, 0), 5)
        guard ContinuousClock.now + .seconds(delay) < end else { throw fault }
        try await sleep(delay)
      }
    }
  }

  /// Status first, the store's word second: a proxy between may answer in its own words, or none.
  private func judge(
    _ answer: S3Answer, _ word: (code: String, message: String), _ shown: String, _ key: String?,
    _ condition: WriteCondition, _ credentials: S3Credentials
  ) -> Verdict {
    let said = [word.code, credentials.masked(word.message)].filter { !$0.isEmpty }.joined(separator: ": ")
    let words = "\(shown): \(answer.status)\(said.isEmpty ? "" : " \(said)")"
    let stranger = "\(words); that is no word of a store: a proxy, or a page to log in at, stands in between"
    // What the store says it says in XML. An outage, and who asks too often, are told by whoever stands before it as well.
    if answer.isPage, answer.status < 500, answer.status != 429 { return .fault(S3Fault(.badAnswer, stranger)) }
    switch answer.status {
    case 200, 204, 206:
      // Whoever reads or looks at an object is told its tag by every store.
      let isOfAnObject = key != nil && (shown.hasPrefix("GET ") || shown.hasPrefix("HEAD "))
      return !isOfAnObject || answer["ETag"] != nil ? .answer : .fault(S3Fault(.badAnswer, stranger))
    case 404 where key != nil && word.code == "NoSuchKey": return .answer
    case 400, 401, 403, 404: if shown.hasPrefix("HEAD ") { return .answer }
    case 409 where condition != .none && word.code != "NoSuchBucket": return .answer
    case 412 where condition != .none: return .answer
    default: break
    }
    switch (answer.status, word.code) {
    case (_, "RequestTimeTooSkewed"):
      return .fault(S3Fault(.clock, "\(words); set the clock of this machine"))
    case (_, "SlowDown"), (_, "Throttling"), (_, "ThrottlingException"), (_, "RequestLimitExceeded"), (429, _):
      return .again(S3Fault(.unavailable, words), isThrottled: true)
    case (_, "RequestTimeout"), (500, _), (502, _), (503, _), (504, _):
      return .again(S3Fault(.unavailable, words), isThrottled: false)
    case (400, "BadDigest"), (400, "XAmzContentSHA256Mismatch"), (400, "XAmzContentChecksumMismatch"):
      return .again(S3Fault(.damaged, "\(words); what came there is not what was sent"), isThrottled: false)
    // A way to somewhere else, of somebody else.
    case (301...308, "") where answer["Location"] != nil && answer["x-amz-bucket-region"] == nil:
      return .fault(S3Fault(.badAnswer, stranger))
    case (301, _), (302, _), (307, _), (308, _), (400, "AuthorizationHeaderMalformed"):
      let region = answer["x-amz-bucket-region"] ?? Self.region(in: answer.body)
      let advice = region.map { "; the bucket is in \(printableText($0)): write region: \(printableText($0))" } ?? ""
      return .fault(S3Fault(.otherRegion, words + (advice.isEmpty ? "; endpoint or region is another one" : advice)))
    case (404, _):
      return .fault(
        S3Fault(
          word.code == "NoSuchBucket" ? .noBucket : .badAnswer,
          word.code == "NoSuchBucket" ? words : "\(words); that is no word of a store about one of its objects"))
    case (401, _), (403, _):
      return .fault(S3Fault(.denied, "\(words)\(Self.advice(word.code))"))
    case (501, _): return .fault(S3Fault(.notSupported, "\(words); the store does not know what it was asked"))
    case (505..., _): return .again(S3Fault(.unavailable, words), isThrottled: false)
    default: return .fault(S3Fault(.badAnswer, words))
    }
  }

  private static func advice(_ code: String) -> String {
    switch code {
    case "SignatureDoesNotMatch": "; the secret access key, or a proxy that changes requests, is wrong"
    case "InvalidAccessKeyId": "; there is no such access key"
    case "ExpiredToken": "; the credentials have ended"
    default:
      "; needed are s3:GetObject, s3:PutObject and s3:DeleteObject for the objects, and s3:ListBucket for the bucket"
    }
  }

  /// Whether what came is what the store has.
  private func check(_ answer: S3Answer, _ shown: String) throws {
    guard shown.hasPrefix("GET "), answer.status == 200, !answer.isTooLarge,
      let checksum = answer["x-amz-checksum-sha256"],
      // Of an object in parts, which is not one of ours, it is a sum of sums.
      !checksum.contains("-")
    else { return }
    guard Data(SHA256.hash(data: answer.body)).base64EncodedString() == checksum else {
      throw S3Fault(.damaged, "\(shown): what came has another SHA-256 than the store says")
    }
  }

  private static func fault(in body: [UInt8]) -> (code: String, message: String) {
    guard body.count <= faultLimit, body.first == UInt8(ascii: "<"), let document = try? XMLElement(document: body),
      document.name == "Error"
    else { return ("", "") }
    return (printableText(document["Code"] ?? "", limit: 64), printableText(document["Message"] ?? ""))
  }

  private static func region(in body: [UInt8]) -> String? {
    (try? XMLElement(document: body)).flatMap { $0["Region"] }
  }
}
