public import ExposureKeys

extension KeyFormat {
  /// The publish request of Google's key server and of Exposure Notifications Express.
  public static let publishJSON = KeyFormat(
    KeyFormatDefinition(
      name: "publish-json", summary: "publish request of Google's key server and Exposure Notifications Express",
      fileExtension: "json", readers: .apps,
      detection: .dialect(.publish),
      decoder: { JSONKeyDecoder($0, limits: $1, dialect: .publish) },
      capabilities: FormatCapabilities(
        rollingStart: .required(0...Int64(Int32.max)), rollingPeriod: .required(1...144, default: 144),
        transmissionRisk: .optional(0...8)),
      encoder: { PublishJSONEncoder($0) }))
}

/// The members of a publish request beside its keys, and of its upload (`clients.md` 1.5, publish API v1).
public struct PublishEnvelope: Sendable, Hashable {
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

extension JSONDialect {
  /// The publish request, and the uploads of the apps that came before it.
  public static let publish = JSONDialect(
    keyMembers: [
      .keyData: ["key"],
      .rollingStart: ["rollingStartNumber", "rollingStart"],
      .rollingPeriod: ["rollingPeriod", "rollingDuration"],
      .transmissionRisk: ["transmissionRisk"],
    ],
    documentMembers: [
      .list(of: .keys): ["temporaryExposureKeys"],
      .request("healthAuthorityID"): ["healthAuthorityID"],
      .request("verificationPayload"): ["verificationPayload"],
      .request("hmacKey"): ["hmacKey", "hmackey"],
      .request("symptomOnsetInterval"): ["symptomOnsetInterval"],
      .request("traveler"): ["traveler"],
      .request("revisionToken"): ["revisionToken"],
      .redundant: ["padding"],
    ],
    isSpelled: { $0.contain("key", "transmissionRisk") && !$0.contain("keyData") })
}

extension JSONKeyDecoder {
  /// What a publish request says beside its keys, without its padding. Secrets in it are for the upload's own checks.
  public var publishEnvelope: PublishEnvelope {
    PublishEnvelope(
      healthAuthorityID: requestMembers["healthAuthorityID"],
      verificationPayload: requestMembers["verificationPayload"], hmacKey: requestMembers["hmacKey"],
      symptomOnsetInterval: requestMembers["symptomOnsetInterval"].flatMap { Int32($0) },
      traveler: requestMembers["traveler"].map { $0 == "true" }, revisionToken: requestMembers["revisionToken"])
  }
}

/// Writes the publish request of Google's key server and of Exposure Notifications Express (publish API v1).
///
/// The server refuses a key without rolling period, so a caller fills in what a key does not state; what is still
/// absent is left out. Report type and days since onset have no member: the certificate tells them.
public final class PublishJSONEncoder: KeyEncoder {
  /// The most keys that Google's key server takes in one request, unless its operator sets `MAX_KEYS_ON_PUBLISH`.
  public static let usualKeyLimit = 30

  private let output: OutputBuffer
  private let envelope: PublishEnvelope
  private var count = 0

  /// The most bytes of one key and its separator.
  private static let room = 176

  public init(_ output: OutputBuffer, envelope: PublishEnvelope = PublishEnvelope()) {
    self.output = output
    self.envelope = envelope
  }

  public func begin(_ header: ExportHeader) throws { try output.append("{\"temporaryExposureKeys\":[") }

  public func encode(
    _ keys: UnsafeBufferPointer<ClaimedKey>, regions: RegionTable, unknownFields: UnknownFieldTable
  ) throws {
    for key in keys {
      var room = try JSONRoom(output.reserve(Self.room))
      if count > 0 { room.put(",") }
      room.put("{\"key\":\"")
      room.put(key.key)
      room.put("\"")
      if key.fields.contains(.rollingStart) {
        room.put(",\"rollingStartNumber\":")
        room.put(key.rollingStartWord)
      }
      if key.fields.contains(.rollingPeriod) {
        room.put(",\"rollingPeriod\":")
        room.put(key.rollingPeriodWord)
      }
      if key.fields.contains(.transmissionRisk) {
        room.put(",\"transmissionRisk\":")
        room.put(key.transmissionRiskWord)
      }
      room.put("}")
      output.commit(room.count)
      count += 1
    }
  }

  public func finish(_ header: ExportHeader) throws {
    try output.append("]")
    try append("healthAuthorityID", envelope.healthAuthorityID)
    try append("verificationPayload", envelope.verificationPayload)
    try append("hmacKey", envelope.hmacKey)
    if let interval = envelope.symptomOnsetInterval {
      try output.append(",\"symptomOnsetInterval\":")
      try output.appendJSON(interval)
    }
    if let traveler = envelope.traveler { try output.append(traveler ? ",\"traveler\":true" : ",\"traveler\":false") }
    try append("revisionToken", envelope.revisionToken)
    try append("padding", envelope.padding)
    try output.append("}")
    try output.flush()
  }

  private func append(_ name: StaticString, _ text: String?) throws {
    guard let text else { return }
    try output.append(",\"")
    try output.append(name)
    try output.append("\":")
    try output.appendJSON(text)
  }
}
