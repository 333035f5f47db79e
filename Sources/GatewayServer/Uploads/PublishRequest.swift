internal import HTTPTypes
internal import KeyFormats

/// The request of Google's key server (`/v1/publish`): names in any case, none beyond those that are known.
struct PublishRequest: Sendable {
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

  init(_ body: [UInt8]) throws(UploadFault) {
    guard let members = JSONValue.parse(body)?.object else {
      throw UploadFault(reason: "the body is not one JSON object")
    }
    for (name, value) in members {
      switch name.lowercased() {
      case "temporaryexposurekeys":
        guard let values = value.array else { throw Self.wrongType("temporaryExposureKeys", "an array") }
        guard values.count <= 1000 else {
          throw UploadFault(reason: "\(values.count) keys, allowed are 1...\(KeyUpload.countAllowed.upperBound)")
        }
        for (position, value) in values.enumerated() { keys.append(try Key(value, position: position)) }
      case "healthauthorityid": healthAuthorityID = try Self.text(value, "healthAuthorityID")
      case "verificationpayload": verificationPayload = try Self.text(value, "verificationPayload")
      case "hmackey": hmacKey = try Self.text(value, "hmacKey")
      case "symptomonsetinterval": symptomOnsetInterval = try Self.number(value, "symptomOnsetInterval")
      case "traveler":
        guard value.bool != nil || value == .null else { throw Self.wrongType("traveler", "true or false") }
      case "revisiontoken": _ = try Self.text(value, "revisionToken")
      case "padding": _ = try Self.text(value, "padding")
      default: throw UploadFault(reason: "the request has a member that is not known")
      }
    }
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

/// The answer of Google's key server. Every answer has padding of random length, so that who watches the line learns
/// nothing from its size.
struct PublishResponse: Encodable {
  var status: HTTPResponse.Status
  var insertedExposures: Int?
  /// Empty where all is well.
  var code: String
  var error: String
  var warnings: [String] = []
  private let padding: String

  init(_ status: HTTPResponse.Status, _ code: String = "", _ error: String = "") {
    self.status = status
    self.code = code
    self.error = error
    var random = SystemRandomNumberGenerator()
    let count = 1024 + Int.random(in: 0..<1024, using: &random)
    padding = Base64.encode((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) })
  }

  enum CodingKeys: String, CodingKey {
    case insertedExposures, code, error, warnings, padding
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(insertedExposures, forKey: .insertedExposures)
    if !code.isEmpty { try container.encode(code, forKey: .code) }
    if !error.isEmpty { try container.encode(error, forKey: .error) }
    if !warnings.isEmpty { try container.encode(warnings, forKey: .warnings) }
    try container.encode(padding, forKey: .padding)
  }
}
