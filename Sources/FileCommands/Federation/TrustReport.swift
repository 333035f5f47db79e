internal import BundleTrust
internal import ExposureKeys

/// What `keyferry trust list` and `trust check` say; see schemas/trust-report.schema.json.
struct TrustReport: Encodable {
  /// Whether a certificate counts, and why not.
  enum Standing: String, Encodable, CaseIterable {
    case counts
    case expiresSoon = "expires-soon"
    case notYetValid = "not-yet-valid"
    case expired
    case revoked
    case notSigned = "not-signed"
    case wrongSignature = "wrong-signature"
  }

  struct Row: Encodable {
    let country: String
    let use: CertificateUse
    let host: String?
    let thumbprint: String
    let subject: String
    let key: String
    let notBefore: String
    let notAfter: String
    let standing: Standing
  }

  struct Finding: Encodable {
    /// A code of a fault of the file, or a standing.
    let code: String
    let text: String
  }

  let reportVersion = 1
  let anchor: String
  let anchorNotAfter: String
  let certificates: [Row]
  /// What is wrong.
  let faults: [Finding]
  /// What will be wrong within thirty days.
  let warnings: [Finding]

  private static let soon: Int64 = 30 * 86_400

  init(_ trust: FederationTrust, faults: [FederationFault], at now: Instant) {
    anchor = trust.anchor.thumbprint
    anchorNotAfter = trust.anchor.notAfter.description
    certificates = trust.rows.map { Row($0, standing: Self.standing(of: $0, in: trust, at: now)) }
    var found = faults.map { Finding(code: $0.code.rawValue, text: $0.description) }
    var warnings: [Finding] = []
    let anchorStanding = Self.standing(of: trust.anchor, at: now)
    if anchorStanding == .expiresSoon {
      warnings.append(Finding(code: anchorStanding.rawValue, text: "the anchor is valid until \(anchorNotAfter)"))
    } else if anchorStanding != .counts {
      // Its key still verifies: nothing looks at the anchor's own validity, here as in other gateways.
      warnings.append(
        Finding(
          code: anchorStanding.rawValue,
          text:
            "the anchor is valid from \(trust.anchor.notBefore) to \(anchorNotAfter); its signatures count all the same"
        ))
    }
    for (index, row) in certificates.enumerated() {
      let name = "\(row.country) \(row.use.rawValue) \(row.thumbprint)"
      if !trust.rows[index].certificate.hasAllowedKey {
        found.append(
          Finding(
            code: "unsupported-key",
            text: "\(name): the key is \(row.key), allowed are RSA of 2048 bits or more, P-256, P-384 and P-521"))
      }
      switch row.standing {
      case .counts, .revoked: break
      case .expiresSoon: warnings.append(Finding(code: row.standing.rawValue, text: "\(name): expires \(row.notAfter)"))
      case .notYetValid:
        warnings.append(Finding(code: row.standing.rawValue, text: "\(name): valid from \(row.notBefore)"))
      case .expired: found.append(Finding(code: row.standing.rawValue, text: "\(name): expired \(row.notAfter)"))
      case .notSigned:
        found.append(Finding(code: row.standing.rawValue, text: "\(name): the operator has not signed it"))
      case .wrongSignature:
        found.append(
          Finding(
            code: row.standing.rawValue,
            text: "\(name): the operator's signature over its text does not verify under the anchor"))
      }
    }
    self.faults = found
    self.warnings = warnings
  }

  private static func standing(
    of row: WhitelistedCertificate, in trust: FederationTrust, at now: Instant
  ) -> Standing {
    if row.isRevoked { return .revoked }
    if row.operatorSignature.isEmpty { return .notSigned }
    return trust.isSigned(row) ? standing(of: row.certificate, at: now) : .wrongSignature
  }

  private static func standing(of certificate: FederationCertificate, at now: Instant) -> Standing {
    if now < certificate.notBefore { return .notYetValid }
    if certificate.notAfter < now { return .expired }
    return certificate.notAfter.secondsSince1970 - now.secondsSince1970 <= soon ? .expiresSoon : .counts
  }

  /// For people: a line for each certificate.
  var text: String {
    let head = "anchor \(anchor), valid until \(anchorNotAfter)\n"
    return certificates.reduce(into: head) { text, row in
      let host = row.host.map { ", \($0)" } ?? ""
      text +=
        "\(pad(row.country, 4)) \(pad(row.use.rawValue, 14)) \(pad(row.standing.rawValue, 15)) \(row.thumbprint)\n"
      text += "     \(row.subject)\(host), \(row.key), until \(row.notAfter)\n"
    }
  }

  /// For people: what is wrong.
  var findingsText: String {
    let count = certificates.count(where: { $0.standing == .counts || $0.standing == .expiresSoon })
    let lines = faults.map { "fault: \($0.text)\n" } + warnings.map { "soon: \($0.text)\n" }
    return lines.joined() + "\(count) of \(certificates.count) certificates count\n"
  }
}

extension TrustReport.Row {
  fileprivate init(_ row: WhitelistedCertificate, standing: TrustReport.Standing) {
    self.init(
      country: row.country, use: row.use, host: row.host, thumbprint: row.certificate.thumbprint,
      subject: row.certificate.subject, key: row.certificate.keyText, notBefore: row.certificate.notBefore.description,
      notAfter: row.certificate.notAfter.description, standing: standing)
  }
}
