internal import ExposureKeys

/// What Apple and Google ask for before phones trust a key: the data, and a text to send.
///
/// Source: Apple, "Configuring a key server for Exposure Notifications Express"; Google's onboarding form.
public struct Registration: Hashable, Sendable {
  /// What Apple asks for.
  public struct Apple: Hashable, Sendable {
    /// ISO 3166-1 for a country (`IT`), ISO 3166-2 for a state (`US-VA`).
    public let country: String?
    /// Three digits each.
    public let mobileCountryCodes: [String]
    public let appBundleID: String?
    public let keyID: String
    public let keyVersion: String
    public let publicKeyPEM: String
  }

  /// What Google asks for.
  public struct Google: Hashable, Sendable {
    public struct SignatureInfo: Hashable, Sendable {
      public let verificationKeyVersion: String
      public let verificationKeyID: String
      public let signatureAlgorithm: String
    }

    public let packageName: String?
    public let signatureInfos: [SignatureInfo]
    public let publicKeyPEM: String
  }

  public let apple: Apple
  public let google: Google

  /// - Parameters:
  ///   - identity: the key and the names it is registered under; only its public half is taken.
  ///   - country: two capital letters, or those with a hyphen and 1...3 letters or digits for a state.
  ///   - mobileCountryCodes: three digits each.
  public init(
    of identity: SigningIdentity, country: String? = nil, mobileCountryCodes: [String] = []
  ) throws(KeyFault) {
    if let country, !Self.isCountry(country) {
      throw KeyFault(.invalidName, place: "country", "\(quoted(country)), expected a code like IT or US-VA")
    }
    for code in mobileCountryCodes where !(code.utf8.count == 3 && code.utf8.allSatisfy(Self.isDigit)) {
      throw KeyFault(.invalidName, place: "mobile country code", "\(quoted(code)), expected three digits")
    }
    let pem = identity.key.publicKey.pem
    apple = Apple(
      country: country, mobileCountryCodes: mobileCountryCodes, appBundleID: identity.appBundleID,
      keyID: identity.keyID, keyVersion: identity.keyVersion, publicKeyPEM: pem)
    google = Google(
      packageName: identity.androidPackage,
      signatureInfos: [
        Google.SignatureInfo(
          verificationKeyVersion: identity.keyVersion, verificationKeyID: identity.keyID,
          signatureAlgorithm: SignatureInfo.ecdsaWithSHA256)
      ],
      publicKeyPEM: pem)
  }

  /// Both registrations for people, a line for each item and the key once. Ends with a newline.
  public var text: String {
    let missing = "(not given)"
    let infos = google.signatureInfos.map {
      """
        verification_key_version  \($0.verificationKeyVersion)
        verification_key_id       \($0.verificationKeyID)
        signature_algorithm       \($0.signatureAlgorithm)
      """
    }
    return """
      Apple
        country                   \(apple.country ?? missing)
        mobile country codes      \
      \(apple.mobileCountryCodes.isEmpty ? missing : apple.mobileCountryCodes.joined(separator: ", "))
        app bundle id             \(apple.appBundleID ?? missing)
        key id                    \(apple.keyID)
        key version               \(apple.keyVersion)

      Google
        package name              \(google.packageName ?? missing)
      \(infos.joined(separator: "\n"))

      Public key, for both
      \(apple.publicKeyPEM)
      """
  }

  private static func isCountry(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard let country = parts.first, country.count == 2, country.allSatisfy(isCapital), parts.count <= 2 else {
      return false
    }
    guard parts.count == 2 else { return true }
    return (1...3).contains(parts[1].count) && parts[1].allSatisfy { isCapital($0) || isDigit($0) }
  }

  private static func isCapital(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
