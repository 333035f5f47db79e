internal import BundleTrust
internal import ExposureKeys
internal import HTTPTypes
internal import KeyFormats
internal import KeyIntake

/// What DP-3T's SDK posts: keys and filling keys, with the token of a diagnosis. The first generation comes again on the next
/// day with the key of this one.
///
/// Source: the backend of DP-3T, `GaenController` and `GaenV2Controller`.
struct DP3TEndpoint: UploadEndpoint {
  enum Request: Sendable {
    case exposed
    case nextDay
    case second

    /// Keys of a request, filling ones included.
    var countAllowed: ClosedRange<Int> {
      switch self {
      case .exposed: 14...30
      case .nextDay: 1...1
      case .second: 30...30
      }
    }
  }

  static let description = UploadEndpointDescription(
    "dp3t", summary: "what DP-3T's first SDK posts: its keys, and the date of one that is still to come",
    address: "/v1/gaen/exposed", alsoAt: ["/dp3t/{series}/v1/gaen/exposed"]
  ) { DP3TEndpoint(.exposed, $0) }

  static let descriptionOfNextDay = UploadEndpointDescription(
    "dp3t-next-day", summary: "what DP-3T's first SDK posts a day later: the key that was still to come",
    address: "/v1/gaen/exposednextday", alsoAt: ["/dp3t/{series}/v1/gaen/exposednextday"]
  ) { DP3TEndpoint(.nextDay, $0) }

  static let descriptionOfSecond = UploadEndpointDescription(
    "dp3t-v2", summary: "what DP-3T's second SDK posts: thirty keys, filling ones included",
    address: "/v2/gaen/exposed", alsoAt: ["/dp3t/{series}/v2/gaen/exposed"], isReadable: true
  ) { DP3TEndpoint(.second, $0) }

  private let request: Request
  private let tokens: DP3TTokens

  /// `nil` where the settings name nobody whose tokens are believed.
  private init?(_ request: Request, _ trust: UploadTrust) {
    guard let tokens = trust.dp3t else { return nil }
    self.request = request
    self.tokens = tokens
  }

  func read(_ body: [UInt8], _ fields: HTTPFields, now: Instant) async throws(UploadRefusal) -> UploadContent {
    let content: DP3TUpload
    do {
      content = try DP3TUpload(body, request, now: now)
    } catch {
      throw .malformed(reason: error.reason)
    }
    if content.isFake { return .chaff(reply: reply(to: content, isFake: true, now: now)) }
    let claims = try claims(in: fields, now: now)
    if request == .nextDay, claims.delayedKeyDate == nil {
      throw .malformed(reason: "DelayedKeyDate claim is wrong")
    }
    let reply = reply(to: content, isFake: claims.isFake, now: now)
    guard let token = claims.token else { return .chaff(reply: reply) }
    if content.keys.isEmpty { return .token(token, reply: reply) }
    var upload = KeyUpload(DecodedDocument(keys: []))
    for (position, key) in content.keys.enumerated() {
      upload.take(key, at: position, unless: vouchingFault(of: key, by: claims, now: now))
    }
    upload.audience = content.audience
    upload.reply = reply
    upload.token = token
    return .keys(upload, certificate: nil)
  }

  private func claims(in fields: HTTPFields, now: Instant) throws(UploadRefusal) -> DP3TTokens.Claims {
    let parts = (fields[.authorization] ?? "").split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else {
      throw .unauthorized(code: "unauthorized", reason: "an upload needs a token")
    }
    do {
      let text = String(parts[1])
      return try request == .nextDay ? tokens.readNextDay(text, now: now) : tokens.read(text, now: now)
    } catch .invalid {
      throw .unauthorized(code: "unauthorized", reason: "the token is not valid")
    } catch {
      throw .unauthorized(code: Self.wrongScope, reason: "the token is good for something else")
    }
  }

  private static let wrongScope = "wrong-scope"

  /// Why a key is left out: it is of before the onset, or of another day than the token says. Its sender is not told, as
  /// the original tells nobody; it is counted.
  private func vouchingFault(of key: ClaimedKey, by claims: DP3TTokens.Claims, now: Instant) -> String? {
    guard let start = key.rollingStart else { return "without a start" }
    if request == .nextDay {
      return claims.delayedKeyDate == Int64(start) && DP3TUpload.mayBeDelayed(Int64(start), now: now)
        ? nil : "not the key of the day that the token is for"
    }
    return claims.onset.map { Int64(start) >= Int64($0.firstInterval.rawValue) } ?? true
      ? nil : "used before the onset that the token states"
  }

  private func reply(to content: DP3TUpload, isFake: Bool, now: Instant) -> String? {
    content.delayedKeyDate.flatMap { tokens.nextDayToken(for: $0, isFake: isFake, now: now) }
  }

  // MARK: Answers

  func answer(to outcome: UploadOutcome, now: Instant) -> UploadAnswer {
    switch outcome {
    case .recorded(_, let upload): text(.ok, "OK", reply: upload.reply)
    case .chaff(let reply): text(.ok, "OK", reply: reply)
    // The original leaves out what it does not take, and is content.
    case .nothing, .refused(.noKeys): text(.ok, "OK")
    case .refused(.unauthorized(Self.wrongScope, let reason)): text(.forbidden, reason)
    case .refused(.unauthorized(_, let reason)): text(.unauthorized, reason)
    case .refused(.malformed(let reason)): text(.badRequest, reason)
    case .refused(.revision(let fault)): text(.badRequest, fault.reason)
    case .refused(.unread(let problem)): UploadAnswer(problem.finalResponse)
    case .refused(.busy(let reason)):
      text(.serviceUnavailable, reason, retryAfter: UploadRefusal.busy(reason: reason).retryAfter)
    case .refused(.away):
      text(.serviceUnavailable, UploadRefusal.awayReason, retryAfter: UploadRefusal.away.retryAfter)
    case .refused(.notKept): UploadAnswer(Problem.internalError.finalResponse)
    }
  }

  private func text(
    _ status: HTTPResponse.Status, _ text: String, reply: String? = nil, retryAfter: String? = nil
  ) -> UploadAnswer {
    UploadAnswer(
      status, bytes: Array(text.utf8), mediaType: "text/plain; charset=utf-8",
      fields: (reply.map { [HTTPField(name: .authorization, value: "Bearer \($0)")] } ?? [])
        + (retryAfter.map { [HTTPField(name: .retryAfter, value: $0)] } ?? []))
  }
}

/// A body as DP-3T's SDK makes it; what it does not know is passed over, as the original does.
struct DP3TUpload {
  private(set) var keys: [ClaimedKey] = []
  private(set) var isFake = false
  /// In intervals of ten minutes.
  private(set) var delayedKeyDate: Int64?
  private(set) var audience = UploadAudience.regionsOfDoor

  init(_ body: [UInt8], _ request: DP3TEndpoint.Request, now: Instant) throws(UploadFault) {
    guard let members = JSONValue.parse(body, allowingRepeats: false)?.object else {
      throw UploadFault(reason: "the body is not one JSON object, without two members of one name")
    }
    isFake = try Self.flag(members["fake"], "fake") ?? false
    let list = request == .nextDay ? members["delayedKey"].map { [$0] } : members["gaenKeys"]?.array
    guard let list else {
      throw UploadFault(reason: request == .nextDay ? "delayedKey is missing" : "gaenKeys is not an array")
    }
    guard request.countAllowed.contains(list.count) else {
      let allowed = request.countAllowed
      throw UploadFault(reason: "\(list.count) keys, allowed are \(allowed.lowerBound)...\(allowed.upperBound)")
    }
    for (position, value) in list.enumerated() {
      if let key = try Self.key(value, "key \(position)", statesRisk: request != .second) { keys.append(key) }
    }
    switch request {
    case .exposed:
      guard let date = members["delayedKeyDate"]?.integer else {
        throw UploadFault(reason: "delayedKeyDate is not a whole number")
      }
      guard Self.mayBeDelayed(date, now: now) else {
        throw UploadFault(reason: "DelayedKeyDate must be between yesterday and tomorrow")
      }
      delayedKeyDate = date
    case .second:
      if try Self.flag(members["withFederationGateway"], "withFederationGateway") != true { audience = .homeRegion }
    case .nextDay: break
    }
  }

  static func mayBeDelayed(_ interval: Int64, now: Instant) -> Bool {
    let today = now.day.daysSince1970
    let first = Int64(today - 1) * 144
    return (first..<first + 3 * 144).contains(interval)
  }

  /// 0 and 1, or a truth value.
  private static func flag(_ value: JSONValue?, _ name: String) throws(UploadFault) -> Bool? {
    switch value {
    case nil, .null?: return nil
    case .bool(let flag)?: return flag
    default:
      guard let number = value?.integer, (0...1).contains(number) else {
        throw UploadFault(reason: "\(name) is allowed 0, 1")
      }
      return number == 1
    }
  }

  /// `nil` is a filling key.
  private static func key(_ value: JSONValue, _ place: String, statesRisk: Bool) throws(UploadFault) -> ClaimedKey? {
    guard let members = value.object else { throw UploadFault(reason: "\(place) is not an object") }
    guard let text = members["keyData"]?.string, let bytes = Base64.decode(Array(text.utf8)),
      let data = TemporaryExposureKey(bytes)
    else { throw UploadFault(reason: "\(place): keyData is not base64 of 16 bytes") }
    guard let start = members["rollingStartNumber"]?.integer.flatMap({ Int32(exactly: $0) }),
      let period = members["rollingPeriod"]?.integer.flatMap({ Int32(exactly: $0) }), period >= 0
    else { throw UploadFault(reason: "\(place): rollingStartNumber and rollingPeriod are whole numbers") }
    if try flag(members["fake"], "\(place): fake") == true { return nil }
    var key = ClaimedKey(key: data)
    key.rollingStart = start
    // Early phones say 0 and mean a whole day.
    key.rollingPeriod = period == 0 ? 144 : period
    // The second generation states none; the first may state what no other system has.
    if statesRisk, let risk = members["transmissionRiskLevel"]?.integer, (0...8).contains(risk) {
      key.transmissionRisk = Int32(risk)
    }
    return key
  }
}
