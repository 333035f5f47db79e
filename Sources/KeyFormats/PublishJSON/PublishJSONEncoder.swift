public import ExposureKeys

/// Writes the publish request of Google's key server and of Exposure Notifications Express (publish API v1).
///
/// The server refuses a key without rolling period, so a caller fills in what a key does not state; what is still
/// absent is left out. Report type and days since onset have no member: the certificate tells them.
public final class PublishJSONEncoder: KeyEncoder {
  private let output: OutputBuffer
  private let request: PublishRequest
  private var count = 0

  /// The most bytes of one key and its separator.
  private static let room = 176

  public init(_ output: OutputBuffer, request: PublishRequest = PublishRequest()) {
    self.output = output
    self.request = request
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
    try append("healthAuthorityID", request.healthAuthorityID)
    try append("verificationPayload", request.verificationPayload)
    try append("hmacKey", request.hmacKey)
    if let interval = request.symptomOnsetInterval {
      try output.append(",\"symptomOnsetInterval\":")
      try output.appendJSON(interval)
    }
    if let traveler = request.traveler { try output.append(traveler ? ",\"traveler\":true" : ",\"traveler\":false") }
    try append("revisionToken", request.revisionToken)
    try append("padding", request.padding)
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
