public import ExposureKeys

extension KeyFormat {
  /// Apple's `CodableDiagnosisKey` and its relatives.
  public static let codableJSON = KeyFormat(
    KeyFormatDefinition(
      name: "codable-json", summary: "CodableDiagnosisKey of Apple's sample app: array, object, lines, or wrapped",
      fileExtension: "json", readers: .apps,
      detection: .dialect(.codable),
      decoder: { JSONKeyDecoder($0, limits: $1, dialect: .codable) },
      capabilities: FormatCapabilities(
        rollingStart: .requiredUnsigned(), rollingPeriod: .requiredUnsigned(default: 144),
        transmissionRisk: .required(0...255, default: 0)),
      encoder: { CodableJSONEncoder($0) }))
}

extension FormatCapabilities {
  /// Of a document that says nothing about itself.
  public var withoutHeader: FormatCapabilities {
    FormatCapabilities(
      rollingStart: rollingStart, rollingPeriod: rollingPeriod, transmissionRisk: transmissionRisk,
      reportType: reportType, daysSinceOnset: daysSinceOnset, origin: origin, visitedRegions: visitedRegions,
      carriesRevision: carriesRevision, carriesHeader: false, carriesUnknownFields: carriesUnknownFields,
      sortsKeys: sortsKeys)
  }

  /// The beta generation of `codable-json` has no member for it.
  public var withoutRollingPeriod: FormatCapabilities {
    FormatCapabilities(
      rollingStart: rollingStart, rollingPeriod: .notCarried, transmissionRisk: transmissionRisk,
      reportType: reportType, daysSinceOnset: daysSinceOnset, origin: origin, visitedRegions: visitedRegions,
      carriesRevision: carriesRevision, carriesHeader: carriesHeader, carriesUnknownFields: carriesUnknownFields,
      sortsKeys: sortsKeys)
  }
}

extension JSONDialect {
  /// The sample app's structure, what other apps made of it, and what phones keep or send beside their keys.
  public static let codable = JSONDialect(
    keyMembers: [
      .keyData: ["keyData", "tek"],
      .rollingPeriod: ["rollingPeriod", "period"],
      .rollingStart: ["rollingStartNumber", "epoch"],
      .transmissionRisk: ["transmissionRiskLevel", "risklevel"],
      .reportType: ["reportType"],
      .daysSinceOnset: ["daysSinceOnsetOfSymptoms", "daysSinceOnset"],
      .visited: ["regions"],
      .fake: ["fake"],
    ],
    documentMembers: [
      .list(of: .keys): ["keys", "gaenKeys", "diagnosisKeys"],
      .privateData: [
        "testResults", "token", "tokens", "userName", "deviceId", "deviceID", "testId", "bucketId",
        "dateKeysSent", "diagnosisKeySubmissionToken", "deviceVerificationPayload",
        "dateLastPerformedExposureDetection", "exposureDetectionErrorLocalizedDescription",
        "nextDiagnosisKeyFileIndex",
      ],
    ],
    // What no other dialect takes.
    isSpelled: { _ in true })
}

/// Writes keys as Swift's `JSONEncoder` writes Apple's `CodableDiagnosisKey`: compact, slashes escaped, members in the
/// order of their names.
///
/// The structure requires its members, so a caller fills in what a key does not state; what is still absent is left
/// out. Report type and days since onset have no member.
public final class CodableJSONEncoder: KeyEncoder {
  /// What stands around the keys.
  public enum Style: Sendable, Hashable, CaseIterable {
    case array
    /// One object, without anything around it: more than one key cannot be expressed.
    case single
    /// One object a line.
    case lines
  }

  /// The member that holds the array of ``Style/array``.
  public enum Wrapper: String, Sendable, Hashable, CaseIterable {
    case none, keys, temporaryExposureKeys, gaenKeys
  }

  /// The generations of the structure.
  public enum Generation: Sendable, Hashable, CaseIterable {
    /// Since iOS 13.5.
    case withRollingPeriod
    /// The beta releases before it.
    case withoutRollingPeriod
  }

  private let output: OutputBuffer
  private let style: Style
  private let wrapper: Wrapper
  private let generation: Generation
  private var count = 0

  /// The most bytes of one key and its separator: member names, escaped key data, three numbers.
  private static let room = 192
  /// So many keys share one look at the room.
  private static let keysAtOnce = 64

  public init(
    _ output: OutputBuffer, style: Style = .array, wrapper: Wrapper = .none,
    generation: Generation = .withRollingPeriod
  ) {
    self.output = output
    self.style = style
    self.wrapper = wrapper
    self.generation = generation
  }

  public func begin(_ header: ExportHeader) throws {
    guard style == .array else { return }
    if wrapper != .none { try output.append("{\"\(wrapper.rawValue)\":") }
    try output.append("[")
  }

  public func encode(
    _ keys: UnsafeBufferPointer<ClaimedKey>, regions: RegionTable, unknownFields: UnknownFieldTable
  ) throws {
    guard style != .single || count + keys.count <= 1 else {
      throw FormatError(.cannotExpress, "a single object holds one key, there are more")
    }
    var index = 0
    while index < keys.count {
      let end = min(keys.count, index + Self.keysAtOnce)
      var room = try JSONRoom(output.reserve((end - index) * Self.room))
      while index < end {
        if style == .array, count > 0 { room.put(",") }
        put(keys[index], &room)
        if style == .lines { room.put("\n") }
        index += 1
        count += 1
      }
      output.commit(room.count)
    }
  }

  @inline(__always)
  private func put(_ key: ClaimedKey, _ room: inout JSONRoom) {
    room.put("{\"keyData\":\"")
    room.putEscapingSlashes(key.key)
    room.put("\"")
    if generation == .withRollingPeriod, key.fields.contains(.rollingPeriod) {
      room.put(",\"rollingPeriod\":")
      room.put(unsigned: key.rollingPeriodWord)
    }
    if key.fields.contains(.rollingStart) {
      room.put(",\"rollingStartNumber\":")
      room.put(unsigned: key.rollingStartWord)
    }
    if key.fields.contains(.transmissionRisk) {
      room.put(",\"transmissionRiskLevel\":")
      room.put(key.transmissionRiskWord)
    }
    room.put("}")
  }

  public func finish(_ header: ExportHeader) throws {
    switch style {
    case .array: try output.append(wrapper == .none ? "]" : "]}")
    case .lines: break
    case .single:
      guard count == 1 else { throw FormatError(.cannotExpress, "a single object holds one key, there is none") }
    }
    try output.flush()
  }
}
