internal import BundleTrust
internal import ExposureKeys
internal import FoundationEssentials

/// The tokens of DP-3T's apps: the one that a health authority gives for a diagnosis, and the one that is given here for the
/// key of the next day. JWTs (RFC 7519) with ES256.
///
/// A token lets in once: whoever records the upload remembers that, see ``OneTimeToken``.
struct DP3TTokens: Sendable {
  enum Fault: Error, Hashable {
    /// Not signed, ended, or for too long.
    case invalid
    /// Good for something else.
    case wrongScope
  }

  /// What a token says.
  struct Claims: Sendable {
    /// A phone that only seems to upload has such a token.
    var isFake = false
    /// `nil` where it is fake.
    var token: OneTimeToken?
    /// Keys before this day are not the diagnosis's.
    var onset: Day?
    /// The start of the next day's key.
    var delayedKeyDate: Int64?
  }

  private static let leeway: Int64 = 60
  private static let lifetimeOfNextDay: Int64 = 2 * 86_400
  /// The longest name of a token that is kept.
  private static let nameLength = 128

  private let keys: [P256PublicKey]
  private let nextDayKey: SigningKey
  private let validitySeconds: Int64

  /// - Throws: ``ServerFault``.
  init(_ settings: DP3TUploadSettings) throws(ServerFault) {
    keys = try settings.keys.map { pem throws(ServerFault) in
      try ServerFault.at("key of DP-3T's tokens") { try P256PublicKey(text: pem) }
    }
    nextDayKey = try ServerFault.at("key of the next day's tokens") {
      try SigningKey(pem: settings.nextDayKey.disclosed)
    }
    validitySeconds = settings.validitySeconds
    guard !keys.isEmpty else { throw ServerFault(place: "uploads", reason: "nobody signs DP-3T's tokens") }
  }

  /// For `/exposed`.
  func read(_ text: String, now: Instant) throws(Fault) -> Claims {
    let members = try members(of: text, signedBy: keys, forAtMost: validitySeconds, now: now)
    guard members["scope"]?.string == "exposed" else { throw .wrongScope }
    var claims = try claims(in: members, of: "exposed")
    guard let text = members["onset"]?.string else { return claims }
    guard let onset = Day(text) else { throw .invalid }
    claims.onset = onset
    return claims
  }

  /// For `/exposednextday`.
  func readNextDay(_ text: String, now: Instant) throws(Fault) -> Claims {
    let members = try members(
      of: text, signedBy: [nextDayKey.publicKey], forAtMost: Self.lifetimeOfNextDay, now: now)
    guard members["scope"]?.string == "currentDayExposed" else { throw .wrongScope }
    var claims = try claims(in: members, of: "currentDayExposed")
    claims.delayedKeyDate = members["delayedKeyDate"]?.integer
    return claims
  }

  /// What lets the key of the next day in. Every token has one length.
  func nextDayToken(for delayedKeyDate: Int64, isFake: Bool, now: Instant) -> String? {
    struct Payload: Encodable {
      var delayedKeyDate: Int64
      var exp: Int64
      var fake: String
      var iat: Int64
      var iss = "dpppt-sdk-backend"
      var jti: String
      var scope = "currentDayExposed"
    }
    let second = now.secondsSince1970
    return try? JSONWebSignature.token(
      of: JSONDocument.bytes(
        Payload(
          delayedKeyDate: delayedKeyDate, exp: second + Self.lifetimeOfNextDay, fake: isFake ? "1" : "0", iat: second,
          jti: UUID().uuidString)),
      signedWith: nextDayKey)
  }

  private func members(
    of text: String, signedBy keys: [P256PublicKey], forAtMost seconds: Int64, now: Instant
  ) throws(Fault) -> [String: JSONValue] {
    guard let token = try? JSONWebSignature(compact: text), keys.contains(where: token.verifies),
      let members = JSONValue.parse(token.payload)?.object,
      let issued = members["iat"]?.number, let end = members["exp"]?.number
    else { throw .invalid }
    let second = Double(now.secondsSince1970)
    guard end > second - Double(Self.leeway), issued <= second + Double(Self.leeway), end - issued <= Double(seconds)
    else { throw .invalid }
    return members
  }

  /// A fake one may be shown as often as one likes.
  private func claims(in members: [String: JSONValue], of scope: String) throws(Fault) -> Claims {
    if members["fake"]?.string == "1" || members["fake"]?.integer == 1 { return Claims(isFake: true) }
    guard let name = members["jti"]?.string, (1...Self.nameLength).contains(name.utf8.count),
      let end = members["exp"]?.number
    else { throw .invalid }
    let last = Instant(secondsSince1970: Int64(end.rounded(.up)) + Self.leeway)
    return Claims(token: OneTimeToken(name: "\(scope)\n\(name)", end: last))
  }
}
