internal import BundleTrust
internal import ExposureKeys
internal import Logging

extension CertificateSettings {
  /// Whether a text is a JWK set with a key that can be used.
  package static func isKeySet(_ text: String) -> Bool {
    VerificationKeys.keys(in: Array(text.utf8)).map { !$0.isEmpty } ?? false
  }
}

/// The public keys of a verification server: those that are stated, and those that it publishes at an address, which are
/// fetched again when they are old, or when a certificate names one that is not known. Owns what was fetched.
///
/// What strangers send costs one fetch in half a minute at most. Where none succeeds, the old keys stay.
actor VerificationKeys {
  /// Bytes, and keys, of a set that are read.
  static let byteLimit = 65_536
  static let keyLimit = 64
  /// Seconds between two fetches at least, and until one must be done.
  private static let pause = 30.0
  private static let timeoutSeconds: Int64 = 5

  private let stated: [String: P256PublicKey]
  private let address: String?
  private let rootsPEM: String?
  private let refreshSeconds: Double
  private let caller: (any WebCaller)?
  private let logger: Logger
  private var fetched: [String: P256PublicKey] = [:]
  private var lastFetch: Double?
  private var lastSuccess: Double?
  private var fetching: Task<[String: P256PublicKey]?, Never>?

  init(_ settings: CertificateSettings, caller: (any WebCaller)?, logger: Logger) throws(ServerFault) {
    var keys: [String: P256PublicKey] = [:]
    for (id, pem) in settings.keys {
      keys[id] = try ServerFault.at("key \(id) of the verification server") { try P256PublicKey(text: pem) }
    }
    if let text = settings.keySet {
      guard let set = Self.keys(in: Array(text.utf8)), !set.isEmpty else {
        throw ServerFault(place: "keys of the verification server", reason: "no JWK set with a key for ES256")
      }
      keys.merge(set) { first, _ in first }
    }
    guard !keys.isEmpty || settings.keySetAddress != nil else {
      throw ServerFault(place: "uploads", reason: "the verification server has no key")
    }
    guard settings.keySetAddress == nil || caller != nil else {
      throw ServerFault(place: "uploads", reason: "nobody fetches the keys of the verification server")
    }
    stated = keys
    address = settings.keySetAddress
    rootsPEM = settings.rootsPEM
    refreshSeconds = Double(settings.refreshSeconds)
    self.caller = caller
    self.logger = logger
  }

  /// - Parameter now: seconds that only go forward.
  func key(named id: String, now: Double = monotonicSeconds()) async -> P256PublicKey? {
    if let key = stated[id] { return key }
    guard address != nil else { return nil }
    if let key = fetched[id] {
      // Old keys go on being believed while new ones are on their way.
      if now - (lastSuccess ?? 0) >= refreshSeconds { begin(at: now) }
      return key
    }
    begin(at: now)
    if let fetching { take(await fetching.value, at: now) }
    return fetched[id]
  }

  private func begin(at now: Double) {
    guard fetching == nil, lastFetch.map({ now - $0 >= Self.pause }) ?? true, let address, let caller else { return }
    lastFetch = now
    let call = WebCall(
      address: address, body: nil, token: nil, rootsPEM: rootsPEM, timeoutSeconds: Self.timeoutSeconds,
      byteLimit: Self.byteLimit)
    let task = Task { [logger] () -> [String: P256PublicKey]? in
      do {
        let answer = try await caller.call(call)
        if answer.status == 200, let keys = Self.keys(in: answer.body), !keys.isEmpty { return keys }
        logger.warning(
          "keys of a verification server cannot be used",
          metadata: ["address": .string(address), "status": .stringConvertible(answer.status)])
      } catch {
        logger.warning(
          "keys of a verification server cannot be fetched",
          metadata: ["address": .string(address), "reason": .string("\(error)")])
      }
      return nil
    }
    fetching = task
    Task { take(await task.value, at: now) }
  }

  private func take(_ keys: [String: P256PublicKey]?, at now: Double) {
    fetching = nil
    guard let keys else { return }
    fetched = keys
    lastSuccess = now
  }

  /// The keys of a JWK set that can verify ES256, by their names; `nil` where it is none, or has too many.
  static func keys(in json: [UInt8]) -> [String: P256PublicKey]? {
    guard json.count <= byteLimit, let members = JSONValue.parse(json)?.object?["keys"]?.array,
      members.count <= keyLimit
    else { return nil }
    var keys: [String: P256PublicKey] = [:]
    for member in members {
      guard let key = member.object, key["kty"]?.string == "EC", key["crv"]?.string == "P-256",
        let id = key["kid"]?.string, !id.isEmpty, (key["use"]?.string ?? "sig") == "sig",
        (key["alg"]?.string ?? JSONWebSignature.algorithm) == JSONWebSignature.algorithm,
        let x = key["x"]?.string.flatMap({ Base64.decode($0.utf8, spelling: .url) }), x.count == 32,
        let y = key["y"]?.string.flatMap({ Base64.decode($0.utf8, spelling: .url) }), y.count == 32,
        let point = try? P256PublicKey(x963: [0x04] + x + y)
      else { continue }
      keys[id] = point
    }
    return keys
  }
}
