#if canImport(CLibcrypto)
  internal import ExposureKeys

  #if canImport(FoundationEssentials)
    internal import FoundationEssentials
  #else
    internal import Foundation
  #endif

  /// The trust file: one JSON object, `schemas/federation-trust.schema.json`.
  extension FederationTrust {
    /// How many bytes of JSON are read, and how many rows: 64 countries with ten certificates each and more.
    package static let maximumLength = 8 << 20
    package static let maximumRows = 2000

    /// - Throws: the first of the faults that ``read(_:)`` finds.
    package init(json: [UInt8]) throws(FederationFault) {
      let (trust, faults) = try Self.read(json)
      if let fault = faults.first { throw fault }
      self = trust
    }

    /// Reads a trust file with all that is wrong with its rows.
    ///
    /// - Returns: the rows that could be read, and a fault for each member of a row that is wrong. A row whose certificate
    ///   is readable is among the rows in spite of a wrong thumbprint or country, so that it can be looked at; nobody
    ///   should trust by a list that has faults.
    /// - Throws: when it is not JSON, or has no anchor.
    package static func read(_ json: [UInt8]) throws(FederationFault) -> (
      trust: FederationTrust, faults: [FederationFault]
    ) {
      guard json.count <= maximumLength else {
        throw FederationFault(.limitExceeded, "\(json.count) bytes, at most \(maximumLength) are read")
      }
      let document: RingJSON
      do throws(KeyFault) {
        document = try RingJSON(json)
      } catch {
        throw FederationFault(.notTrustFile, "\(error)")
      }
      guard case .object(let members) = document else {
        throw FederationFault(.notTrustFile, "\(document.kind), expected an object")
      }
      var reader = TrustReader()
      reader.reportUnknown(members, allowed: ["anchor", "certificates"], place: "")
      guard let text = reader.required("anchor", members, "") else { throw reader.faults[0] }
      let anchor: FederationCertificate
      do throws(FederationFault) {
        anchor = try FederationCertificate(pem: text)
      } catch {
        throw error.within("anchor")
      }
      if !anchor.hasAllowedKey {
        throw FederationFault(
          .unsupportedKey, place: "anchor",
          "the key is \(anchor.keyText), allowed are RSA of 2048 bits or more and P-256")
      }
      var trust = FederationTrust(anchor: anchor)
      switch members.first(where: { $0.name == "certificates" })?.value {
      case nil: break
      case .array(let entries)?:
        guard entries.count <= maximumRows else {
          throw FederationFault(
            .limitExceeded, place: "certificates", "\(entries.count) rows, at most \(maximumRows) are read")
        }
        for (index, entry) in entries.enumerated() {
          if let row = reader.row(entry, "certificates[\(index)]") { trust.rows.append(row) }
        }
      case let other?:
        throw FederationFault(.notTrustFile, place: "certificates", "\(other.kind), expected an array")
      }
      return (trust, reader.faults)
    }

    /// The same trust makes the same bytes.
    package func json() -> [UInt8] {
      let file = TrustFile(
        anchor: anchor.pem,
        certificates: rows.map { row in
          TrustFile.Row(
            certificate: row.certificate.pem, country: row.country, host: row.host,
            operatorSignature: row.operatorSignature.isEmpty ? nil : Base64.encode(row.operatorSignature),
            revoked: row.isRevoked ? true : nil, thumbprint: row.certificate.thumbprint, use: row.use)
        })
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      // Strings and truth values always encode.
      return Array((try? encoder.encode(file)) ?? Data()) + [UInt8(ascii: "\n")]
    }
  }

  private struct TrustFile: Encodable {
    struct Row: Encodable {
      let certificate: String
      let country: String
      let host: String?
      let operatorSignature: String?
      let revoked: Bool?
      let thumbprint: String
      let use: CertificateUse
    }

    let anchor: String
    let certificates: [Row]
  }

  /// Collects all faults of the rows.
  private struct TrustReader {
    var faults: [FederationFault] = []
    private var seen: Set<String> = []

    mutating func report(_ code: FederationFault.Code, _ place: String, _ reason: String) {
      faults.append(FederationFault(code, place: place, reason))
    }

    mutating func reportUnknown(_ members: RingJSON.Members, allowed: [String], place: String) {
      for (name, _) in members where !allowed.contains(name) {
        report(
          .notTrustFile, place, "unknown member \(quoted(name)), allowed are \(allowed.joined(separator: ", "))")
      }
    }

    /// `nil` where a fault was reported.
    mutating func required(_ name: String, _ members: RingJSON.Members, _ place: String) -> String? {
      let text = optional(name, members, place)
      if text == nil, !faults.contains(where: { $0.place == self.place(place, name) }) {
        report(.notTrustFile, self.place(place, name), "missing, expected a string")
      }
      return text
    }

    private mutating func optional(_ name: String, _ members: RingJSON.Members, _ place: String) -> String? {
      switch members.first(where: { $0.name == name })?.value {
      case nil, .null?: return nil
      case .string(let text)?: return text
      case let other?:
        report(.notTrustFile, self.place(place, name), "\(other.kind), expected a string")
        return nil
      }
    }

    private func place(_ outer: String, _ name: String) -> String { outer.isEmpty ? name : "\(outer).\(name)" }

    mutating func row(_ entry: RingJSON, _ place: String) -> WhitelistedCertificate? {
      guard case .object(let members) = entry else {
        report(.notTrustFile, place, "\(entry.kind), expected an object")
        return nil
      }
      reportUnknown(
        members, allowed: ["certificate", "country", "host", "operatorSignature", "revoked", "thumbprint", "use"],
        place: place)
      guard let certificate = certificate(members, place), let use = use(members, place) else { return nil }
      let country = country(of: certificate, members, place)
      let signature = signature(members, place)
      let isRevoked = isRevoked(members, place)
      let host = optional("host", members, place)
      requireThumbprint(of: certificate, members, place)
      guard let country, let signature, let isRevoked else { return nil }
      if !seen.insert("\(certificate.thumbprint) \(country) \(use.rawValue)").inserted {
        report(.repeated, place, "certificate \(certificate.thumbprint) stands twice for \(country), \(use.rawValue)")
      }
      return WhitelistedCertificate(
        certificate: certificate, country: country, use: use, host: host, isRevoked: isRevoked,
        operatorSignature: signature)
    }

    private mutating func certificate(_ members: RingJSON.Members, _ place: String) -> FederationCertificate? {
      guard let text = required("certificate", members, place) else { return nil }
      do throws(FederationFault) {
        return try FederationCertificate(pem: text)
      } catch {
        faults.append(error.within("\(place).certificate"))
        return nil
      }
    }

    private mutating func use(_ members: RingJSON.Members, _ place: String) -> CertificateUse? {
      guard let text = required("use", members, place) else { return nil }
      guard let use = CertificateUse(rawValue: text) else {
        let allowed = CertificateUse.allCases.map(\.rawValue).joined(separator: ", ")
        report(.notTrustFile, "\(place).use", "\(quoted(text)), allowed are \(allowed)")
        return nil
      }
      return use
    }

    private mutating func country(
      of certificate: FederationCertificate, _ members: RingJSON.Members, _ place: String
    ) -> String? {
      guard let country = required("country", members, place) else { return nil }
      if let named = certificate.country, named != country {
        report(
          .wrongCountry, "\(place).country", "\(quoted(country)), and the certificate's subject says \(quoted(named))")
      } else if certificate.country == nil {
        report(
          .wrongCountry, "\(place).certificate",
          "the subject \(quoted(certificate.subject)) names \(certificate.countryCount) countries (C), expected one")
      }
      return country
    }

    private mutating func signature(_ members: RingJSON.Members, _ place: String) -> [UInt8]? {
      guard let text = optional("operatorSignature", members, place), !text.isEmpty else { return [] }
      do throws(HeaderBase64.Fault) {
        return try HeaderBase64.decode(text, limit: 4096)
      } catch {
        report(.notTrustFile, "\(place).operatorSignature", "not base64: \(error.reason)")
        return nil
      }
    }

    private mutating func isRevoked(_ members: RingJSON.Members, _ place: String) -> Bool? {
      switch members.first(where: { $0.name == "revoked" })?.value {
      case nil, .null?: return false
      case .bool(let value)?: return value
      case let other?:
        report(.notTrustFile, "\(place).revoked", "\(other.kind), expected true or false")
        return nil
      }
    }

    private mutating func requireThumbprint(
      of certificate: FederationCertificate, _ members: RingJSON.Members, _ place: String
    ) {
      guard let stated = optional("thumbprint", members, place), stated != certificate.thumbprint else { return }
      report(
        .wrongThumbprint, "\(place).thumbprint",
        "\(quoted(stated)), and the certificate has \(certificate.thumbprint)")
    }
  }
#endif
