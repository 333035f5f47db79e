internal import BundleTrust
internal import ExposureKeys
internal import KeyPublishing

/// What must be registered, as JSON: `schemas/registration.schema.json`. `registration` prints it of each key of each
/// series, `keygen` of the new key.
struct RegistrationDocument: Encodable {
  let reportVersion = 1
  let keys: [Key]
  /// What Exposure Notifications Express asks for, a series each.
  var express: [Express] = []
  /// Where `keygen` wrote the private key, and the public one where that was asked for.
  var privateKeyFile: String?
  var publicKeyFile: String?

  /// A key, and what Apple and Google ask for.
  struct Key: Encodable {
    var series: String?
    var title: String?
    var signsFrom: String?
    var signsUntil: String?
    let country: String?
    let mobileCountryCodes: [String]
    let appBundleID: String?
    let androidPackage: String?
    let keyID: String
    let keyVersion: String
    let signatureAlgorithm: String
    let publicKey: String

    init(_ registration: Registration) {
      country = registration.apple.country
      mobileCountryCodes = registration.apple.mobileCountryCodes
      appBundleID = registration.apple.appBundleID
      androidPackage = registration.google.packageName
      keyID = registration.apple.keyID
      keyVersion = registration.apple.keyVersion
      signatureAlgorithm = registration.google.signatureInfos.first?.signatureAlgorithm ?? ""
      publicKey = registration.apple.publicKeyPEM
    }
  }

  struct Express: Encodable {
    let series: String
    let title: String
    let indexFile: String
    let basePath: String
    /// In hours; `nil` where none of those that there are fits the series' windows.
    let publishIntervalHours: Int64?
    /// Where keys for its regions come in; most often one, or none.
    let uploadURLs: [String]

    enum CodingKeys: String, CodingKey {
      case series, title
      case indexFile = "tek_local_download_index_file"
      case basePath = "tek_local_download_base_path"
      case publishIntervalHours = "tek_publish_interval"
      case uploadURLs = "tek_upload_urls"
    }
  }
}
