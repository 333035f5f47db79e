package import ExposureKeys

/// One entry of an audit answer: who uploaded some of a batch's keys, and how they were signed. The members are spelled
/// as in the answer.
///
/// Source: the EU federation gateway's audit interface.
package struct AuditEntry: Codable, Hashable, Sendable {
  package var country: String
  /// ISO 8601.
  package var uploadedTime: String
  /// The certificate that the uploader's client showed, PEM.
  package var uploaderCertificate: String
  package var uploaderThumbprint: String
  package var uploaderOperatorSignature: String
  /// The certificate that signed, PEM; the operator's signature is over exactly this text.
  package var signingCertificate: String
  package var uploaderSigningThumbprint: String
  package var signingCertificateOperatorSignature: String
  /// How many keys.
  package var amount: Int
  /// The header of the upload.
  package var batchSignature: String

  package init(
    country: String, uploadedTime: String, uploaderCertificate: String, uploaderThumbprint: String,
    uploaderOperatorSignature: String, signingCertificate: String, uploaderSigningThumbprint: String,
    signingCertificateOperatorSignature: String, amount: Int, batchSignature: String
  ) {
    self.country = country
    self.uploadedTime = uploadedTime
    self.uploaderCertificate = uploaderCertificate
    self.uploaderThumbprint = uploaderThumbprint
    self.uploaderOperatorSignature = uploaderOperatorSignature
    self.signingCertificate = signingCertificate
    self.uploaderSigningThumbprint = uploaderSigningThumbprint
    self.signingCertificateOperatorSignature = signingCertificateOperatorSignature
    self.amount = amount
    self.batchSignature = batchSignature
  }

  /// ``uploadedTime`` as an instant: with `Z` or an offset (`+01:00`, `+0100`), a fraction is dropped; `nil` for anything
  /// else. Without a zone it is UTC, in which the gateway's clock runs.
  package var uploadedAt: Instant? {
    let text = uploadedTime.utf8
    guard text.count <= 64, text.count >= 19 else { return nil }
    let date = String(Substring(text.prefix(19)))
    guard let local = Instant(date + "Z") else { return nil }
    var rest = text.dropFirst(19)
    if rest.first == UInt8(ascii: ".") {
      let digits = rest.dropFirst().prefix(while: Self.isDigit)
      guard !digits.isEmpty else { return nil }
      rest = rest.dropFirst(1 + digits.count)
    }
    guard let zone = rest.first else { return local }
    if rest.count == 1, zone | 0x20 == UInt8(ascii: "z") { return local }
    let digits = rest.dropFirst().filter { $0 != UInt8(ascii: ":") }
    guard zone == UInt8(ascii: "+") || zone == UInt8(ascii: "-"), digits.count == 4, digits.allSatisfy(Self.isDigit),
      rest.count == 5 || (rest.count == 6 && rest.dropFirst(3).first == UInt8(ascii: ":"))
    else { return nil }
    let numbers = digits.map { Int64($0) - 48 }
    let hours = numbers[0] * 10 + numbers[1]
    let minutes = numbers[2] * 10 + numbers[3]
    guard hours < 24, minutes < 60 else { return nil }
    let offset = (hours * 60 + minutes) * 60 * (zone == UInt8(ascii: "+") ? 1 : -1)
    return Instant(secondsSince1970: local.secondsSince1970 - offset)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
