internal import BundleTrust
internal import Crypto
internal import ExposureKeys
internal import FoundationEssentials
internal import KeyFormats
internal import Logging

/// What a verification server vouches for: that the keys of a request belong to a diagnosis.
struct VerificationCertificate: Hashable, Sendable {
  enum Report: String, Sendable {
    case confirmed, likely, negative
    case userReport = "user-report"

    var reportType: ReportType {
      switch self {
      case .confirmed: .confirmedTest
      case .likely: .confirmedClinicalDiagnosis
      case .userReport: .selfReport
      case .negative: .revoked
      }
    }
  }

  /// `nil` where nothing is said, which no certificate does.
  var reportType: Report?
  /// Ten-minute intervals since 1970.
  var symptomOnsetInterval: Int64?
}

/// Why a certificate is not believed.
struct CertificateFault: Error, Hashable {
  /// As Google's key server says it.
  var code = PublishEndpoint.invalidCertificate
  var reason: String
}

/// Verifies certificates: JWTs (RFC 7519) with ES256, and the code (HMAC-SHA-256) that ties the keys to one.
struct CertificateVerifier: Sendable {
  private struct Issuer: Sendable {
    var settings: CertificateSettings
    var keys: VerificationKeys
  }

  private let issuers: [Issuer]
  /// Seconds by which two clocks may differ.
  private static let leeway: Int64 = 60

  /// - Throws: ``ServerFault``.
  init(_ settings: [CertificateSettings], caller: (any WebCaller)?, logger: Logger) throws(ServerFault) {
    issuers = try settings.map { settings throws(ServerFault) in
      Issuer(settings: settings, keys: try VerificationKeys(settings, caller: caller, logger: logger))
    }
  }

  func verify(_ request: PublishRequest, now: Instant) async throws(CertificateFault) -> VerificationCertificate {
    let known = issuers.filter { [nil, request.healthAuthorityID].contains($0.settings.healthAuthorityID) }
    guard !known.isEmpty else {
      throw CertificateFault(code: "unknown_health_authority_id", reason: "the health authority is not known here")
    }
    let (claims, settings) = try await claims(of: request.verificationPayload, from: known)
    try check(claims, settings, now: now)
    guard let code = claims["tekmac"]?.string.flatMap({ Base64.decode(Array($0.utf8)) }),
      let secret = Base64.decode(Array(request.hmacKey.utf8)), !secret.isEmpty,
      Self.isCode(code, of: request.keys, secret: secret)
    else { throw CertificateFault(reason: "the certificate is not for these keys") }
    guard let report = claims["reportType"]?.string.flatMap(VerificationCertificate.Report.init) else {
      throw CertificateFault(reason: "reportType: allowed are confirmed, likely, negative, user-report")
    }
    let onset = claims["symptomOnsetInterval"]?.integer
    return VerificationCertificate(reportType: report, symptomOnsetInterval: onset == 0 ? nil : onset)
  }

  /// What a certificate says, once one of the keys of its issuer has signed it.
  private func claims(
    of text: String, from known: [Issuer]
  ) async throws(CertificateFault) -> ([String: JSONValue], CertificateSettings) {
    guard let token = try? JSONWebSignature(compact: text) else {
      throw CertificateFault(reason: "the certificate is not a JWT")
    }
    guard token.algorithm == JSONWebSignature.algorithm else {
      throw CertificateFault(reason: "the certificate's algorithm: allowed is ES256")
    }
    guard let claims = JSONValue.parse(token.payload)?.object, let id = token.keyID else {
      throw CertificateFault(reason: "the certificate's kid names no key that is known")
    }
    // An issuer is looked for by what the certificate says, and believed by its key alone.
    let issuers = known.filter { $0.settings.issuer == claims["iss"]?.string }
    guard !issuers.isEmpty else { throw CertificateFault(reason: "the certificate has another issuer") }
    var isKnown = false
    for issuer in issuers {
      guard let key = await issuer.keys.key(named: id) else { continue }
      isKnown = true
      if token.verifies(under: key) { return (claims, issuer.settings) }
    }
    throw CertificateFault(
      reason: isKnown
        ? "the certificate's signature does not verify" : "the certificate's kid names no key that is known")
  }

  private func check(
    _ claims: [String: JSONValue], _ settings: CertificateSettings, now: Instant
  ) throws(CertificateFault) {
    let audiences = claims["aud"]?.array?.compactMap(\.string) ?? [claims["aud"]?.string].compactMap(\.self)
    guard audiences.contains(settings.audience) else {
      throw CertificateFault(reason: "the certificate is for another audience")
    }
    let seconds = now.secondsSince1970
    guard let end = claims["exp"]?.number, end > Double(seconds - Self.leeway) else {
      throw CertificateFault(reason: "the certificate has expired, or says not when it does")
    }
    let start = max(claims["nbf"]?.number ?? 0, claims["iat"]?.number ?? 0)
    guard start <= Double(seconds + Self.leeway) else {
      throw CertificateFault(reason: "the certificate is not valid yet")
    }
  }

  /// The code is over the keys in the order of their text, with the risk levels, or without them where all are 0.
  static func isCode(_ code: [UInt8], of keys: [PublishRequest.Key], secret: [UInt8]) -> Bool {
    let sorted = keys.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
    let short = sorted.map { "\($0.text).\($0.rollingStart).\($0.rollingPeriod)" }
    let full = zip(short, sorted).map { "\($0).\($1.transmissionRisk ?? 0)" }
    let forms = keys.allSatisfy { ($0.transmissionRisk ?? 0) == 0 } ? [full, short] : [full]
    let symmetric = SymmetricKey(data: secret)
    return forms.contains { form in
      HMAC<SHA256>.isValidAuthenticationCode(
        code, authenticating: Data(form.joined(separator: ",").utf8), using: symmetric)
    }
  }
}
