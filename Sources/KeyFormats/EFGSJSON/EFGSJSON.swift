public import ExposureKeys

extension KeyFormat {
  /// The batch of the EU federation gateway in its other spelling.
  public static let efgsJSON = KeyFormat(
    KeyFormatDefinition(
      name: "efgs-json", summary: "DiagnosisKeyBatch of the EU federation gateway as JSON", fileExtension: "json",
      readers: .gateways,
      detection: .dialect(.efgs),
      decoder: { JSONKeyDecoder($0, limits: $1, dialect: .efgs) },
      capabilities: .federation(carriesUnknownFields: false),
      encoder: { EFGSJSONEncoder($0) }))
}

extension JSONDialect {
  /// The federation batch. Its schema is proto3, so what is absent is zero.
  public static let efgs = JSONDialect(
    keyMembers: [
      .keyData: ["keyData"],
      .rollingStart: ["rollingStartIntervalNumber"],
      .rollingPeriod: ["rollingPeriod"],
      .transmissionRisk: ["transmissionRiskLevel"],
      .visited: ["visitedCountries"],
      .origin: ["origin"],
      .reportType: ["reportType"],
      // The other one is as protobuf spells JSON by itself.
      .daysSinceOnset: ["days_since_onset_of_symptoms", "daysSinceOnsetOfSymptoms"],
    ],
    documentMembers: [.list(of: .keys): ["keys"]],
    absenceIsZero: true, quotesNumbers: true,
    isSpelled: {
      $0.contain("rollingStartIntervalNumber")
        && $0.contain("days_since_onset_of_symptoms", "origin", "visitedCountries")
    })
}

/// Writes a federation batch in the JSON spelling of EFGS: member names as in its schema, among them one in snake case,
/// enumeration names, numbers that are zero left out.
///
/// The schema knows no absence: a number that is left out reads as 0, so a caller fills in what a key does not state.
/// Only the risk level has a value for *none*, 2147483647, which is written when it is absent.
public final class EFGSJSONEncoder: KeyEncoder {
  /// The federation's value for a key without risk level.
  public static let noTransmissionRisk = Int32.max

  private let output: OutputBuffer
  private var count = 0
  /// The text of each region claim that has been written, by its number.
  private var regionTexts: [[UInt8]?] = []

  /// The most bytes of one key without its regions.
  private static let room = 320

  public init(_ output: OutputBuffer) { self.output = output }

  public func begin(_ header: ExportHeader) throws {}

  public func encode(
    _ keys: UnsafeBufferPointer<ClaimedKey>, regions: RegionTable, unknownFields: UnknownFieldTable
  ) throws {
    for key in keys {
      var room = try JSONRoom(output.reserve(Self.room))
      room.put(count == 0 ? "{\"keys\":[" : ",")
      putNumbers(key, &room)
      output.commit(room.count)
      try appendRegions(key.regions, regions)
      room = try JSONRoom(output.reserve(Self.room))
      putReport(key, &room)
      output.commit(room.count)
      count += 1
    }
  }

  @inline(__always)
  private func putNumbers(_ key: ClaimedKey, _ room: inout JSONRoom) {
    room.put("{\"keyData\":\"")
    room.put(key.key)
    room.put("\"")
    if key.rollingStartWord != 0 {
      room.put(",\"rollingStartIntervalNumber\":")
      room.put(unsigned: key.rollingStartWord)
    }
    if key.rollingPeriodWord != 0 {
      room.put(",\"rollingPeriod\":")
      room.put(unsigned: key.rollingPeriodWord)
    }
    let risk = key.transmissionRisk ?? Self.noTransmissionRisk
    if risk != 0 {
      room.put(",\"transmissionRiskLevel\":")
      room.put(risk)
    }
  }

  @inline(__always)
  private func putReport(_ key: ClaimedKey, _ room: inout JSONRoom) {
    if key.reportTypeWord != 0 {
      room.put(",\"reportType\":")
      switch ReportType(rawValue: key.reportTypeWord) {
      case .confirmedTest: room.put("\"CONFIRMED_TEST\"")
      case .confirmedClinicalDiagnosis: room.put("\"CONFIRMED_CLINICAL_DIAGNOSIS\"")
      case .selfReport: room.put("\"SELF_REPORT\"")
      case .recursive: room.put("\"RECURSIVE\"")
      case .revoked: room.put("\"REVOKED\"")
      case .unknown: room.put("\"UNKNOWN\"")
      case nil: room.put(key.reportTypeWord)
      }
    }
    if key.daysSinceOnsetWord != 0 {
      room.put(",\"days_since_onset_of_symptoms\":")
      room.put(key.daysSinceOnsetWord)
    }
    room.put("}")
  }

  private func appendRegions(_ id: RegionClaim.ID, _ regions: RegionTable) throws {
    let number = Int(id.rawValue)
    if number >= regionTexts.count {
      regionTexts += Array(repeating: nil, count: regions.claims.count - regionTexts.count)
    }
    if let known = regionTexts[number] { return try known.withUnsafeBytes { try output.append($0) } }
    let text = try text(regions[id])
    regionTexts[number] = text
    try text.withUnsafeBytes { try output.append($0) }
  }

  private func text(_ claim: RegionClaim) throws -> [UInt8] {
    let sink = MemorySink()
    let buffer = OutputBuffer(sink, capacity: 256)
    if let visited = claim.visited, !visited.isEmpty {
      try buffer.append(",\"visitedCountries\":[")
      for (index, country) in visited.enumerated() {
        if index > 0 { try buffer.append(",") }
        try buffer.appendJSON(country)
      }
      try buffer.append("]")
    }
    if let origin = claim.origin, !origin.isEmpty {
      try buffer.append(",\"origin\":")
      try buffer.appendJSON(origin)
    }
    try buffer.flush()
    return sink.bytes
  }

  public func finish(_ header: ExportHeader) throws {
    try output.append(count == 0 ? "{}" : "]}")
    try output.flush()
  }
}
