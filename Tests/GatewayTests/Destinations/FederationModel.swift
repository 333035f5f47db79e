import ExposureKeys
import Foundation
import KeyFormats
import KeyNormalization
import KeyPeers
import KeyPublishing
import KeyStorage
import Synchronization

/// A federation gateway that does what EFGS does with uploads, check by check and in its order: nothing of a batch is stored
/// after 207, a tag is taken for as long as keys under it are stored, the same key is one whose eight fields are the same.
/// The lock owns what it has stored and what is to go wrong.
final class FederationModel: Transport {
  /// What goes wrong with one request.
  enum Trouble: CaseIterable {
    /// The request does not arrive.
    case refusedConnection
    /// It arrives, and nothing comes back.
    case cutBefore, cutAfter
    /// It is not looked at.
    case unavailable, tooMany, notFound, forbidden
    /// It is stored, and the answer says that it was not.
    case errorAfterStoring
    /// Some key cannot be stored.
    case keyTrouble
    /// 207 with nonsense.
    case nonsense
  }

  struct StoredKey: Hashable {
    /// What makes a key the same one: the text that is signed.
    var text: [UInt8]
    var tag: String
  }

  struct State {
    var stored: [StoredKey] = []
    var troubles: [Trouble] = []
    var limit = 5000
    var now: Instant
    /// What a gateway that names the key answers; EFGS does not.
    var namesKeys = false
    var isIdempotent = false
    var requests: [(tag: String, signature: String, body: [UInt8], status: Int?)] = []
    /// What it answers to a batch of so many keys, in place of the truth.
    var lie: (@Sendable (Int) -> (status: Int, text: String))?
    /// Keys that are never taken.
    var unstorable: Set<TemporaryExposureKey> = []
    /// Signatures of tags, for a gateway that knows a repetition.
    var signatures: [String: String] = [:]
  }

  let state: Mutex<State>

  init(now: Instant) { state = Mutex(State(now: now)) }

  /// What the test's signer makes.
  static func signature(of canonical: [UInt8]) -> [UInt8] { Array("signed ".utf8) + canonical }

  var keys: [TemporaryExposureKey] {
    state.withLock {
      $0.stored.compactMap { Base64.decode($0.text.prefix { $0 != 0x2E }).flatMap(TemporaryExposureKey.init) }
    }
  }

  func fetch(_ request: PeerRequest, into path: String, byteLimit: Int) async throws -> ResponseHead {
    throw TransportFault(code: .unreachable, reason: "nothing is pulled here", isTemporary: false)
  }

  func ask(_ request: PeerRequest) async throws -> (head: ResponseHead, body: [UInt8]) {
    let body = request.body ?? []
    let headers = Dictionary(request.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { $1 })
    let result: Result<(ResponseHead, [UInt8]), TransportFault> = state.withLock { state in
      let trouble = state.troubles.isEmpty ? nil : state.troubles.removeFirst()
      let tag = headers["batchtag"] ?? ""
      func note(_ status: Int?) {
        state.requests.append((tag, headers["batchsignature"] ?? "", body, status))
      }
      func fault(_ code: FaultCode) -> Result<(ResponseHead, [UInt8]), TransportFault> {
        note(nil)
        return .failure(TransportFault(code: code, reason: "trouble", isTemporary: true))
      }
      func answer(_ status: Int, _ text: String = "") -> Result<(ResponseHead, [UInt8]), TransportFault> {
        note(status)
        return .success((ResponseHead(status: status), Array(text.utf8)))
      }
      switch trouble {
      case .refusedConnection: return fault(.connectionRefused)
      case .cutBefore: return fault(.connectionClosed)
      case .unavailable: return answer(503)
      case .tooMany: return answer(429)
      case .notFound: return answer(404, "{\"message\":\"no such page\"}")
      case .forbidden: return answer(403, "{\"message\":\"no\"}")
      case .nonsense: return answer(207, "[]")
      case .cutAfter, .errorAfterStoring, .keyTrouble, nil: break
      }
      if let lie = state.lie {
        let (status, text) = lie((try? DecodedDocument(body))?.keys.count ?? 0)
        return answer(status, text)
      }
      let (status, text) = Self.take(
        request, headers, body, &state, hasKeyTrouble: trouble == .keyTrouble)
      switch trouble {
      case .cutAfter: return fault(.timeOut)
      case .errorAfterStoring: return answer(500, "{\"message\":\"internal\"}")
      default: return answer(status, text)
      }
    }
    return try result.get()
  }

  /// The checks of an upload, in the gateway's order.
  private static func take(
    _ request: PeerRequest, _ headers: [String: String], _ body: [UInt8], _ state: inout State, hasKeyTrouble: Bool
  ) -> (Int, String) {
    guard request.url.hasSuffix("/diagnosiskeys/upload") else { return (404, "") }
    guard let tag = headers["batchtag"], let signature = headers["batchsignature"] else { return (400, "{}") }
    let format: KeyFormat
    switch headers["content-type"] {
    case "application/protobuf; version=1.0": format = .efgsProtobuf
    case "application/json; version=1.0": format = .efgsJSON
    default: return (415, "")
    }
    let decoded: DecodedDocument
    do {
      decoded = try DecodedDocument(body, format: format)
    } catch {
      return (400, "{\"message\":\"malformed\"}")
    }
    let today = state.now.day
    let oldest = Day(daysSince1970: today.daysSince1970 - 15).firstInterval.rawValue
    for (place, key) in decoded.keys.enumerated() {
      var reason: String?
      let start = Int64(key.rollingStart ?? 0)
      if !(oldest...state.now.secondsSince1970 / 600 + 1).contains(start) {
        reason = "Invalid rolling start interval number."
      } else if !(1...144).contains(key.rollingPeriod ?? 0) {
        reason = "Invalid rolling period."
      } else if !(0...8).contains(key.transmissionRisk ?? 0) {
        reason = "Invalid transmission risk level."
      } else if state.unstorable.contains(key.key), state.namesKeys {
        reason = "Not this one."
      }
      if let reason {
        let name = state.namesKeys ? ",\"key\":\(place)" : ""
        return (400, "{\"message\":\"Validation of diagnosis key failed: \(reason)\"\(name)}")
      }
    }
    if decoded.keys.count > state.limit { return (413, "{\"message\":\"too many\"}") }
    if state.isIdempotent, state.signatures[tag] == signature { return (201, "") }
    if state.stored.contains(where: { $0.tag == tag }) { return (409, "{\"message\":\"BatchTag already exists.\"}") }
    let canonical = decoded.keys.withUnsafeBufferPointer { try? CanonicalBatch.bytes(of: $0, regions: decoded.regions) }
    guard let canonical, Base64.encode(Self.signature(of: canonical)) == signature else {
      return (400, "{\"message\":\"Invalid signature\"}")
    }
    guard decoded.keys.allSatisfy({ decoded.regions[$0.regions].origin == "NL" }) else {
      return (400, "{\"message\":\"One or more keys are not originated from uploader country\"}")
    }
    let texts = decoded.keys.map { (try? CanonicalBatch.text(of: $0, regions: decoded.regions)) ?? [] }
    let known = Set(state.stored.map(\.text))
    var lists: [String: [Int]] = ["201": [], "409": [], "500": []]
    for (place, text) in texts.enumerated() {
      let fails = hasKeyTrouble && place == 0 || state.unstorable.contains(decoded.keys[place].key)
      lists[known.contains(text) ? "409" : fails ? "500" : "201", default: []].append(place)
    }
    guard lists["201"]?.count == texts.count else {
      let json = ["201", "409", "500"].map {
        "\"\($0)\":[\((lists[$0] ?? []).map(String.init).joined(separator: ","))]"
      }
      return (207, "{\(json.joined(separator: ","))}")
    }
    state.stored += texts.map { StoredKey(text: $0, tag: tag) }
    state.signatures[tag] = signature
    return (201, "")
  }
}
