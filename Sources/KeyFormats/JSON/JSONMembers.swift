import ExposureKeys

/// Which system's spelling a JSON document uses. Member names are read from one table in every dialect; what differs
/// is the meaning of absence (``efgs``) and what a document may leave to its surroundings (``sampleDays``).
public enum JSONDialect: String, Sendable, Hashable, CaseIterable {
  /// Apple's `CodableDiagnosisKey` and its relatives: `keyData`, `rollingStartNumber`.
  case codable = "codable-json"
  /// The publish request of Google's key server and of Exposure Notifications Express: `key`, `transmissionRisk`.
  case publish = "publish-json"
  /// The federation batch of EFGS. Its schema is proto3, so an absent number is a stated 0, and the risk level
  /// 2147483647 says that there is none.
  case efgs = "efgs-json"
  /// The export file as Google's export-analyzer prints it, and our lossless document: `key_data`, `revised_keys`.
  case export = "json"
  /// A parser's print of an export file: `TemporaryExposureKey`, `validity`.
  case parsedKeys = "parsed-keys"
  /// Daily dumps, one line a sample date with the key data alone: `sample_date`, `tek_list`.
  case sampleDays = "sample-days"
}

/// What stood around the keys.
public enum JSONWrapper: String, Sendable, Hashable, CaseIterable {
  case array
  /// One key by itself.
  case object
  /// More than one document, one behind the other.
  case lines
  case keys
  case temporaryExposureKeys
  case gaenKeys
  case diagnosisKeys
  case tekList = "tek_list"
}

/// The members of a publish request beside its keys, and of its upload (`clients.md` 1.5, publish API v1).
public struct PublishRequest: Sendable, Hashable {
  public var healthAuthorityID: String?
  /// The verification server's certificate, a JWT.
  public var verificationPayload: String?
  /// The secret that the certificate's `tekmac` was made with, base64.
  public var hmacKey: String?
  /// Onset of symptoms in ten-minute intervals since 1970.
  public var symptomOnsetInterval: Int32?
  public var traveler: Bool?
  public var revisionToken: String?
  public var padding: String?

  public init(
    healthAuthorityID: String? = nil, verificationPayload: String? = nil, hmacKey: String? = nil,
    symptomOnsetInterval: Int32? = nil, traveler: Bool? = nil, revisionToken: String? = nil, padding: String? = nil
  ) {
    self.healthAuthorityID = healthAuthorityID
    self.verificationPayload = verificationPayload
    self.hmacKey = hmacKey
    self.symptomOnsetInterval = symptomOnsetInterval
    self.traveler = traveler
    self.revisionToken = revisionToken
    self.padding = padding
  }
}

/// What a member of a key object means.
enum KeyMember: UInt8 {
  case keyData, rollingStart, rollingPeriod, transmissionRisk, reportType, daysSinceOnset
  case fake, origin, visited, validity, unknownFields

  var bit: UInt32 { 1 << UInt32(rawValue) }

  /// Where the number stands in a ``ClaimedKey``; 0 for what is no number.
  var fieldOffset: Int { Self.fieldOffsets[Int(rawValue)] }

  private static let fieldOffsets: [Int] = {
    let words: [PartialKeyPath<ClaimedKey>] = [
      \.rollingStartWord, \.rollingPeriodWord, \.transmissionRiskWord, \.reportTypeWord, \.daysSinceOnsetWord,
    ]
    return [0] + words.map { MemoryLayout<ClaimedKey>.offset(of: $0) ?? 0 } + [0, 0, 0, 0, 0]
  }()
}

/// What a member's spelling tells about the dialect.
struct KeySpelling: OptionSet {
  let rawValue: UInt8
  /// `key`, `transmissionRisk`.
  static let publish = KeySpelling(rawValue: 1)
  /// `key_data` and its like.
  static let snakeCase = KeySpelling(rawValue: 2)
  /// `rollingStartIntervalNumber`.
  static let intervalNumber = KeySpelling(rawValue: 4)
  /// Members that only a federation batch has.
  static let federation = KeySpelling(rawValue: 8)
  /// `TemporaryExposureKey`, `validity`.
  static let parsedKeys = KeySpelling(rawValue: 16)
  /// `keyData`.
  static let keyData = KeySpelling(rawValue: 32)
}

/// A member name, its meaning, and what it tells.
struct KeyMemberName {
  let text: StaticString
  let member: KeyMember
  let spelling: KeySpelling

  init(_ text: StaticString, _ member: KeyMember, _ spelling: KeySpelling = []) {
    self.text = text
    self.member = member
    self.spelling = spelling
  }

  /// Every spelling that a known system uses.
  static let all: [KeyMemberName] = [
    .init("keyData", .keyData, .keyData),
    .init("key", .keyData, .publish),
    .init("key_data", .keyData, .snakeCase),
    .init("TemporaryExposureKey", .keyData, .parsedKeys),
    .init("tek", .keyData),
    .init("rollingStartNumber", .rollingStart),
    .init("rollingStartIntervalNumber", .rollingStart, .intervalNumber),
    .init("rollingStart", .rollingStart),
    .init("rolling_start_interval_number", .rollingStart, .snakeCase),
    .init("epoch", .rollingStart),
    .init("rollingPeriod", .rollingPeriod),
    .init("rollingDuration", .rollingPeriod),
    .init("rolling_period", .rollingPeriod, .snakeCase),
    .init("period", .rollingPeriod),
    .init("transmissionRiskLevel", .transmissionRisk),
    .init("transmissionRisk", .transmissionRisk, .publish),
    .init("transmission_risk_level", .transmissionRisk, .snakeCase),
    .init("risklevel", .transmissionRisk),
    .init("reportType", .reportType),
    .init("report_type", .reportType, .snakeCase),
    .init("daysSinceOnsetOfSymptoms", .daysSinceOnset),
    .init("days_since_onset_of_symptoms", .daysSinceOnset, .federation),
    .init("daysSinceOnset", .daysSinceOnset),
    .init("fake", .fake),
    .init("origin", .origin, .federation),
    .init("visitedCountries", .visited, .federation),
    .init("visited_countries", .visited),
    .init("regions", .visited),
    .init("validity", .validity, .parsedKeys),
    .init("unknown_fields", .unknownFields),
  ]

  /// ``all`` by the length of the name.
  private static let byLength: [[KeyMemberName]] = (0...32).map { length in
    all.filter { $0.text.utf8CodeUnitCount == length }
  }

  static func find(_ name: UnsafeRawBufferPointer) -> KeyMemberName? {
    guard name.count < byLength.count else { return nil }
    for known in byLength[name.count] where known.text.matches(name) { return known }
    return nil
  }
}

/// What a member of an object around the keys means.
enum DocumentMember {
  case list(JSONWrapper, revised: Bool)
  case startTimestamp, endTimestamp, region, batchNum, batchSize, signatureInfos, unknownFields
  case sampleDate
  case request(RequestMember)
  /// Stated elsewhere too, so that nothing is lost by reading over it.
  case redundant
  /// Personal data or a secret: read over with a note.
  case privateData
}

enum RequestMember {
  case healthAuthorityID, verificationPayload, hmacKey, symptomOnsetInterval, traveler, revisionToken, padding
}

struct DocumentMemberName {
  let text: StaticString
  let member: DocumentMember

  init(_ text: StaticString, _ member: DocumentMember) {
    self.text = text
    self.member = member
  }

  static let all: [DocumentMemberName] = [
    .init("keys", .list(.keys, revised: false)),
    .init("temporaryExposureKeys", .list(.temporaryExposureKeys, revised: false)),
    .init("gaenKeys", .list(.gaenKeys, revised: false)),
    .init("diagnosisKeys", .list(.diagnosisKeys, revised: false)),
    .init("revised_keys", .list(.keys, revised: true)),
    .init("revisedKeys", .list(.keys, revised: true)),
    .init("tek_list", .list(.tekList, revised: false)),
    .init("start_timestamp", .startTimestamp),
    .init("startTimestamp", .startTimestamp),
    .init("timeWindowStart", .startTimestamp),
    .init("end_timestamp", .endTimestamp),
    .init("endTimestamp", .endTimestamp),
    .init("timeWindowEnd", .endTimestamp),
    .init("region", .region),
    .init("batch_num", .batchNum),
    .init("batchNum", .batchNum),
    .init("batch_size", .batchSize),
    .init("batchSize", .batchSize),
    .init("batchCount", .batchSize),
    .init("signature_infos", .signatureInfos),
    .init("signatureInfos", .signatureInfos),
    .init("unknown_fields", .unknownFields),
    .init("keyCount", .redundant),
    .init("extraction_date", .redundant),
    .init("extraction_date_with_hour", .redundant),
    .init("sample_date", .sampleDate),
    .init("healthAuthorityID", .request(.healthAuthorityID)),
    .init("verificationPayload", .request(.verificationPayload)),
    .init("hmacKey", .request(.hmacKey)),
    .init("hmackey", .request(.hmacKey)),
    .init("symptomOnsetInterval", .request(.symptomOnsetInterval)),
    .init("traveler", .request(.traveler)),
    .init("revisionToken", .request(.revisionToken)),
    .init("padding", .request(.padding)),
    .init("testResults", .privateData),
    .init("exposures", .privateData),
    .init("token", .privateData),
    .init("tokens", .privateData),
    .init("userName", .privateData),
    .init("deviceId", .privateData),
    .init("deviceID", .privateData),
    .init("testId", .privateData),
    .init("bucketId", .privateData),
    .init("dateKeysSent", .privateData),
    .init("diagnosisKeySubmissionToken", .privateData),
    .init("deviceVerificationPayload", .privateData),
    .init("dateLastPerformedExposureDetection", .privateData),
    .init("exposureDetectionErrorLocalizedDescription", .privateData),
    .init("nextDiagnosisKeyFileIndex", .privateData),
  ]

  static func find(_ name: UnsafeRawBufferPointer) -> DocumentMember? {
    all.first { $0.text.matches(name) }?.member
  }
}

/// Members of a signature info.
enum SignatureInfoMember {
  case appBundleID, androidPackage, verificationKeyVersion, verificationKeyID, signatureAlgorithm, unknownFields

  static let all: [(text: StaticString, member: SignatureInfoMember)] = [
    ("app_bundle_id", .appBundleID), ("appBundleId", .appBundleID),
    ("android_package", .androidPackage), ("androidPackage", .androidPackage),
    ("verification_key_version", .verificationKeyVersion), ("verificationKeyVersion", .verificationKeyVersion),
    ("verification_key_id", .verificationKeyID), ("verificationKeyId", .verificationKeyID),
    ("signature_algorithm", .signatureAlgorithm), ("signatureAlgorithm", .signatureAlgorithm),
    ("unknown_fields", .unknownFields),
  ]

  static func find(_ name: UnsafeRawBufferPointer) -> SignatureInfoMember? {
    all.first { $0.text.matches(name) }?.member
  }
}

extension StaticString {
  func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count == utf8CodeUnitCount else { return false }
    for index in 0..<bytes.count where bytes[index] != utf8Start[index] { return false }
    return true
  }
}
