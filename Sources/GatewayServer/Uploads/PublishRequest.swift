internal import ExposureKeys
internal import HTTPTypes
internal import KeyFormats

/// The request of Google's key server: names in any case, none beyond those that are known or passed over.
struct PublishRequest: Sendable {
  enum Version: Sendable {
    /// `/v1/publish`.
    case v1
    /// The one before, which some apps went on sending: it names the app in place of the health authority, and regions.
    case v1alpha1
  }

  /// What a request may hold besides, as the operator says. Names are in small letters.
  struct Extras: Sendable {
    /// Members that are passed over.
    var ignored: Set<String> = []
    /// The member that holds a code.
    var code: String?
  }

  struct Key: Sendable {
    /// As it was sent: the certificate's code is over this text.
    var text: String
    var rollingStart: Int64
    var rollingPeriod: Int64
    var transmissionRisk: Int64?
  }

  var keys: [Key] = []
  var healthAuthorityID = ""
  var verificationPayload = ""
  var hmacKey = ""
  var symptomOnsetInterval: Int64?
  var traveler = false
  var regions: [String] = []
  var revisionToken = ""
  /// `nil` where there is none, or none is looked for.
  var code: String?

  static let regionsAllowed = 64

  init(_ body: [UInt8], _ version: Version = .v1, _ extras: Extras = Extras()) throws(UploadFault) {
    guard let members = JSONValue.parse(body, allowingRepeats: false)?.object else {
      throw UploadFault(reason: "the body is not one JSON object, without two members of one name")
    }
    // Names count in any case, and none of two can be passed over.
    guard Set(members.keys.lazy.map { $0.lowercased() }).count == members.count else {
      throw UploadFault(reason: "the request has two members of one name")
    }
    for (name, value) in members {
      switch name.lowercased() {
      case "temporaryexposurekeys":
        guard let values = value.array else { throw Self.wrongType("temporaryExposureKeys", "an array") }
        guard values.count <= 1000 else {
          throw UploadFault(reason: "\(values.count) keys, allowed are 1...\(KeyUpload.countAllowed.upperBound)")
        }
        for (position, value) in values.enumerated() { keys.append(try Key(value, position: position)) }
      case let name where name == extras.code: code = try Self.text(value, "the code")
      case "healthauthorityid" where version == .v1: healthAuthorityID = try Self.text(value, "healthAuthorityID")
      case "verificationpayload": verificationPayload = try Self.text(value, "verificationPayload")
      case "hmackey": hmacKey = try Self.text(value, "hmacKey")
      case "symptomonsetinterval": symptomOnsetInterval = try Self.number(value, "symptomOnsetInterval")
      case "apppackagename" where version == .v1alpha1: healthAuthorityID = try Self.text(value, "appPackageName")
      case "traveler" where version == .v1:
        guard value.bool != nil || value == .null else { throw Self.wrongType("traveler", "true or false") }
        traveler = value.bool ?? false
      case "regions" where version == .v1alpha1: regions = try Self.regions(value)
      case "revisiontoken": revisionToken = try Self.text(value, "revisionToken")
      case "padding": _ = try Self.text(value, "padding")
      case "platform" where version == .v1alpha1: _ = try Self.text(value, "platform")
      case "deviceverificationpayload" where version == .v1alpha1:
        _ = try Self.text(value, "deviceVerificationPayload")
      case let name where extras.ignored.contains(name): break
      default: throw UploadFault(reason: "the request has a member that is not known")
      }
    }
  }

  private static func regions(_ value: JSONValue) throws(UploadFault) -> [String] {
    if value == .null { return [] }
    guard let values = value.array, values.count <= regionsAllowed else {
      throw wrongType("regions", "an array of at most \(regionsAllowed) strings")
    }
    var regions: [String] = []
    for value in values {
      guard let name = value.string, (1...16).contains(name.utf8.count) else {
        throw wrongType("regions", "an array of codes of 1...16 letters")
      }
      regions.append(name.uppercased())
    }
    return regions
  }

  fileprivate static func wrongType(_ name: String, _ wanted: String) -> UploadFault {
    UploadFault(reason: "\(name) is not \(wanted)")
  }

  private static func text(_ value: JSONValue, _ name: String) throws(UploadFault) -> String {
    if value == .null { return "" }
    guard let text = value.string else { throw wrongType(name, "a string") }
    return text
  }

  fileprivate static func number(_ value: JSONValue, _ name: String) throws(UploadFault) -> Int64 {
    guard let number = value.integer, Int32(exactly: number) != nil else {
      throw wrongType(name, "a whole number of 32 bits")
    }
    return number
  }
}

extension PublishRequest.Key {
  init(_ value: JSONValue, position: Int) throws(UploadFault) {
    let place = "key \(position)"
    guard let members = value.object else { throw UploadFault(reason: "\(place) is not an object") }
    text = ""
    rollingStart = 0
    rollingPeriod = 0
    for (name, value) in members {
      switch name.lowercased() {
      case "key":
        guard let text = value.string else { throw PublishRequest.wrongType("\(place): key", "a string") }
        self.text = text
      case "rollingstartnumber":
        rollingStart = try PublishRequest.number(value, "\(place): rollingStartNumber")
      case "rollingperiod": rollingPeriod = try PublishRequest.number(value, "\(place): rollingPeriod")
      case "transmissionrisk": transmissionRisk = try PublishRequest.number(value, "\(place): transmissionRisk")
      default: throw UploadFault(reason: "\(place) has a member that is not known")
      }
    }
  }
}

/// The answer of Google's key server. The length of every answer is drawn from one range, whatever it says, so that who
/// watches the line learns nothing from its size.
struct PublishResponse: Encodable {
  var status: HTTPResponse.Status
  var insertedExposures: Int?
  var revisionToken: String?
  /// Empty where all is well.
  var code: String
  var error: String
  var warnings: [String] = []
  private var padding = ""

  init(_ status: HTTPResponse.Status, _ code: String = "", _ error: String = "") {
    self.status = status
    self.code = code
    self.error = error
  }

  /// What the first version does not know is left out.
  func spelled(_ version: PublishRequest.Version) -> PublishResponse {
    var response = self
    if version == .v1alpha1 { response.code = "" }
    return response
  }

  /// Lengths are drawn from as many values as this, beginning with the first that leaves room for the padding that clients
  /// of Google's server are used to: 1024 bytes as base64.
  private static let lengths = 2048
  private static let shortest = 6144
  private static let leastPadding = 1368

  /// The answer with padding, and white space for the lengths that base64 does not have.
  func padded(using random: inout some RandomNumberGenerator) -> [UInt8] {
    let bare = JSONDocument.bytes(self).count
    var shortest = Self.shortest
    while shortest < bare + Self.leastPadding { shortest += Self.lengths }
    let rest = shortest + Int.random(in: 0..<Self.lengths, using: &random) - bare
    var response = self
    response.padding = Base64.encode((0..<rest / 4 * 3).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    return JSONDocument.bytes(response) + [UInt8](repeating: 0x20, count: rest % 4)
  }

  enum CodingKeys: String, CodingKey {
    case insertedExposures, revisionToken, code, error, warnings, padding
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    // The original leaves out a zero.
    if let insertedExposures, insertedExposures > 0 {
      try container.encode(insertedExposures, forKey: .insertedExposures)
    }
    try container.encodeIfPresent(revisionToken, forKey: .revisionToken)
    if !code.isEmpty { try container.encode(code, forKey: .code) }
    if !error.isEmpty { try container.encode(error, forKey: .error) }
    if !warnings.isEmpty { try container.encode(warnings, forKey: .warnings) }
    try container.encode(padding, forKey: .padding)
  }
}
