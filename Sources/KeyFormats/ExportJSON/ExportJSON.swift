public import ExposureKeys

extension KeyFormat {
  /// Our lossless document, in the names of the export file's schema.
  public static let json = KeyFormat(
    KeyFormatDefinition(
      name: "json", summary: "the full document, lossless, in the shape of Google's export-analyzer",
      fileExtension: "json", readers: .gateways,
      detection: .dialect(.export),
      decoder: { JSONKeyDecoder($0, limits: $1, dialect: .export) },
      capabilities: .everything, schema: .export,
      encoder: { ExportJSONEncoder($0) }))
}

extension JSONDialect {
  /// The export file as Google's export-analyzer prints it, and our lossless document.
  public static let export = JSONDialect(
    keyMembers: [
      .keyData: ["key_data"],
      .transmissionRisk: ["transmission_risk_level"],
      .rollingStart: ["rolling_start_interval_number"],
      .rollingPeriod: ["rolling_period"],
      .reportType: ["report_type"],
      .daysSinceOnset: ["days_since_onset_of_symptoms"],
      .origin: ["origin"],
      .visited: ["visited_countries"],
      .unknownFields: ["unknown_fields"],
    ],
    documentMembers: [
      .list(of: .keys): ["keys"],
      .region: ["region"],
      .batchNum: ["batchNum"],
      .signatureInfos: ["signatureInfos"],
    ],
    ownMembers: [
      .list(of: .revisedKeys): ["revised_keys", "revisedKeys"],
      .startTimestamp: ["start_timestamp", "startTimestamp"],
      .endTimestamp: ["end_timestamp", "endTimestamp"],
      .batchNum: ["batch_num"],
      .batchSize: ["batch_size", "batchSize"],
      .signatureInfos: ["signature_infos"],
      .unknownFields: ["unknown_fields"],
    ],
    quotesNumbers: true,
    isSpelled: {
      $0.contain(
        "key_data", "rolling_start_interval_number", "rolling_period", "transmission_risk_level", "report_type",
        "unknown_fields")
    })
}

/// Writes our lossless document: the export file in the names of its schema, as Google's export-analyzer prints it,
/// numbers as numbers, what is absent left out.
///
/// Beyond that shape: `revised_keys`, a key's `origin` and `visited_countries`, and the encoded fields that this
/// version does not know as base64 in `unknown_fields` of the document, of a signature info or of a key
/// (`schemas/export-json.schema.json`).
public final class ExportJSONEncoder: KeyEncoder {
  public enum Layout: Sendable, Hashable, CaseIterable {
    /// No white space but a line feed before each key.
    case compact
    /// Two spaces a level; a key stays on one line.
    case pretty
  }

  private let output: OutputBuffer
  private let layout: Layout
  private var begun = ExportHeader()
  private var hasMembers = false
  private var keyCount = 0
  /// Revised keys stand behind the others, so those that come earlier wait here as text.
  private let revisedText = MemorySink()
  private let revised: OutputBuffer
  private var revisedCount = 0
  private var regionText: (id: RegionClaim.ID, text: [UInt8]) = (.none, [])
  /// The member `source` of the keys that come next.
  private var sourceText: [UInt8] = []
  /// What stands as `key_sha256` in place of `key_data`.
  private let digest: ((TemporaryExposureKey) -> String)?

  /// The most bytes of one key without its regions, unknown fields and source.
  private static let room = 384

  public convenience init(_ output: OutputBuffer, layout: Layout = .compact) {
    self.init(output, layout: layout, digest: nil)
  }

  /// - Parameter digest: writes digests of at most 128 characters instead of keys: what comes of it is no document of this
  ///   format any more.
  package init(
    _ output: OutputBuffer, layout: Layout = .compact, digest: ((TemporaryExposureKey) -> String)?
  ) {
    self.output = output
    self.layout = layout
    self.digest = digest
    revised = OutputBuffer(revisedText, capacity: 4096)
  }

  /// Gives the keys that come next a member `source`. Readers pass over it.
  ///
  /// - Parameter source: its members; without any there is none.
  package func state(source members: [(name: String, value: String)]) throws {
    let sink = MemorySink()
    let buffer = OutputBuffer(sink, capacity: 1024)
    for (index, member) in members.enumerated() {
      try buffer.append(index > 0 ? "," : layout == .pretty ? ", \"source\": {" : ",\"source\":{")
      try buffer.appendJSON(member.name)
      try buffer.append(":")
      try buffer.appendJSON(member.value)
    }
    if !members.isEmpty { try buffer.append("}") }
    try buffer.flush()
    sourceText = sink.bytes
  }

  public func begin(_ header: ExportHeader) throws {
    begun = header
    try output.append("{")
    try appendHeader(header, besides: ExportHeader())
    try beginMember("keys")
    try output.append("[")
  }

  public func encode(
    _ keys: UnsafeBufferPointer<ClaimedKey>, regions: RegionTable, unknownFields: UnknownFieldTable
  ) throws {
    for key in keys {
      if key.regions != regionText.id { regionText = (key.regions, try text(regions[key.regions])) }
      if key.isRevised {
        try append(key, unknownFields, isFirst: revisedCount == 0, to: revised)
        revisedCount += 1
      } else {
        try append(key, unknownFields, isFirst: keyCount == 0, to: output)
        keyCount += 1
      }
    }
  }

  @inline(__always)
  private func append(
    _ key: ClaimedKey, _ unknownFields: UnknownFieldTable, isFirst: Bool, to buffer: OutputBuffer
  ) throws {
    var room = try JSONRoom(buffer.reserve(Self.room))
    if !isFirst { room.put(",") }
    room.put(layout == .pretty ? "\n    " : "\n")
    put(key, &room)
    let isPlain = key.regions == .none && key.unknownFields == 0 && sourceText.isEmpty
    if isPlain { room.put("}") }
    buffer.commit(room.count)
    if isPlain { return }
    try buffer.append(regionText.text)
    if key.unknownFields != 0 {
      try buffer.append(layout == .pretty ? ", \"unknown_fields\": \"" : ",\"unknown_fields\":\"")
      try buffer.append(Base64.encode(unknownFields[key.unknownFields]))
      try buffer.append("\"")
    }
    try buffer.append(sourceText)
    try buffer.append("}")
  }

  @inline(__always)
  private func put(_ key: ClaimedKey, _ room: inout JSONRoom) {
    let isPretty = layout == .pretty
    if let digest {
      room.put(isPretty ? "{ \"key_sha256\": \"" : "{\"key_sha256\":\"")
      for byte in digest(key.key).utf8.prefix(128) { room.put(byte: byte) }
    } else {
      room.put(isPretty ? "{ \"key_data\": \"" : "{\"key_data\":\"")
      room.put(key.key)
    }
    room.put("\"")
    if key.fields.contains(.transmissionRisk) {
      room.put(isPretty ? ", \"transmission_risk_level\": " : ",\"transmission_risk_level\":")
      room.put(key.transmissionRiskWord)
    }
    if key.fields.contains(.rollingStart) {
      room.put(isPretty ? ", \"rolling_start_interval_number\": " : ",\"rolling_start_interval_number\":")
      room.put(key.rollingStartWord)
    }
    if key.fields.contains(.rollingPeriod) {
      room.put(isPretty ? ", \"rolling_period\": " : ",\"rolling_period\":")
      room.put(key.rollingPeriodWord)
    }
    if key.fields.contains(.reportType) {
      room.put(isPretty ? ", \"report_type\": " : ",\"report_type\":")
      room.put(key.reportTypeWord)
    }
    if key.fields.contains(.daysSinceOnset) {
      room.put(isPretty ? ", \"days_since_onset_of_symptoms\": " : ",\"days_since_onset_of_symptoms\":")
      room.put(key.daysSinceOnsetWord)
    }
  }

  private func text(_ claim: RegionClaim) throws -> [UInt8] {
    let sink = MemorySink()
    let buffer = OutputBuffer(sink, capacity: 256)
    let isPretty = layout == .pretty
    if let origin = claim.origin {
      try buffer.append(isPretty ? ", \"origin\": " : ",\"origin\":")
      try buffer.appendJSON(origin)
    }
    if let visited = claim.visited {
      try buffer.append(isPretty ? ", \"visited_countries\": [" : ",\"visited_countries\":[")
      for (index, country) in visited.enumerated() {
        if index > 0 { try buffer.append(isPretty ? ", " : ",") }
        try buffer.appendJSON(country)
      }
      try buffer.append("]")
    }
    try buffer.flush()
    return sink.bytes
  }

  public func finish(_ header: ExportHeader) throws {
    try endList(isEmpty: keyCount == 0)
    if revisedCount > 0 {
      try beginMember("revised_keys")
      try output.append("[")
      try revised.flush()
      try revisedText.bytes.withUnsafeBytes { try output.append($0) }
      try endList(isEmpty: false)
    }
    try appendHeader(header, besides: begun)
    try output.append("\n}\n")
    try output.flush()
  }

  private func endList(isEmpty: Bool) throws {
    try output.append(isEmpty ? "]" : layout == .pretty ? "\n  ]" : "\n]")
  }

  // MARK: Header

  private func beginMember(_ name: StaticString) throws {
    if hasMembers { try output.append(",") }
    hasMembers = true
    try output.append(layout == .pretty ? "\n  \"" : "\n\"")
    try output.append(name)
    try output.append(layout == .pretty ? "\": " : "\":")
  }

  /// The members that `written` did not have: all of them before the keys, those that became known later behind them.
  private func appendHeader(_ header: ExportHeader, besides written: ExportHeader) throws {
    try append("start_timestamp", header.startTimestamp, besides: written.startTimestamp)
    try append("end_timestamp", header.endTimestamp, besides: written.endTimestamp)
    if let region = header.region, region != written.region {
      try beginMember("region")
      try output.appendJSON(region)
    }
    try append("batch_num", header.batchNum, besides: written.batchNum)
    try append("batch_size", header.batchSize, besides: written.batchSize)
    if !header.signatureInfos.isEmpty, header.signatureInfos != written.signatureInfos {
      try beginMember("signature_infos")
      try output.append("[")
      for (index, info) in header.signatureInfos.enumerated() {
        if index > 0 { try output.append(layout == .pretty ? ", " : ",") }
        try append(info)
      }
      try output.append("]")
    }
    if !header.unknownFields.isEmpty, header.unknownFields != written.unknownFields {
      try beginMember("unknown_fields")
      try output.appendJSON(Base64.encode(header.unknownFields))
    }
  }

  private func append(
    _ name: StaticString, _ value: (some FixedWidthInteger)?, besides written: (some FixedWidthInteger)?
  )
    throws
  {
    guard let value, written == nil || written.map({ $0 == value }) == false else { return }
    try beginMember(name)
    try output.appendJSON(value)
  }

  private func append(_ info: SignatureInfo) throws {
    let members: [(StaticString, String?)] = [
      ("app_bundle_id", info.appBundleID), ("android_package", info.androidPackage),
      ("verification_key_version", info.verificationKeyVersion), ("verification_key_id", info.verificationKeyID),
      ("signature_algorithm", info.signatureAlgorithm),
      ("unknown_fields", info.unknownFields.isEmpty ? nil : Base64.encode(info.unknownFields)),
    ]
    var isFirst = true
    try output.append("{")
    for case (let name, let text?) in members {
      if !isFirst { try output.append(layout == .pretty ? ", " : ",") }
      isFirst = false
      try output.append("\"")
      try output.append(name)
      try output.append(layout == .pretty ? "\": " : "\":")
      try output.appendJSON(text)
    }
    try output.append("}")
  }
}
