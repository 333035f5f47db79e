internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake

/// Fit, encode, sign, seal: writes keys, in chunks, as one document of the plan's target format.
struct DocumentWriter: ~Copyable {
  let plan: ConversionPlan
  private let output: ConversionOutput
  private var fitting: Fitting
  /// Writes keys as they come in; `nil` for exports, whose keys are collected and sorted first.
  private var stream: (any KeyEncoder)?
  /// Where the plan limits the keys of a document: how many documents were begun, and the keys of the last one.
  private var parts = 1
  private var keysInPart = 0
  /// In front of `rows`, for tables that say more than the format.
  private let buffer: OutputBuffer?
  private let rows: SourcedRows?
  /// Whether a header stands before the keys already.
  private(set) var hasBegun = false
  private var collection = KeyCollection()

  init(_ plan: ConversionPlan, to output: ConversionOutput) throws {
    let fitting = Fitting(to: plan.target, target: plan.capabilities, defaults: plan.defaults)
    let isCompleted = plan.target == .csv && (plan.statesSources || plan.hashesKeys)
    let rows =
      isCompleted
      ? SourcedRows(output.document, hasSource: plan.statesSources, hashesKeys: plan.hashesKeys) : nil
    let buffer = rows.map { OutputBuffer($0) }
    let stream = fitting.target.sortsKeys ? nil : try plan.encoder(buffer ?? OutputBuffer(output.document))
    self.plan = plan
    self.output = output
    self.fitting = fitting
    self.stream = stream
    self.buffer = buffer
    self.rows = rows
  }

  /// The keys that come next are of this document.
  func enter(_ source: KeySource) throws {
    try buffer?.flush()
    rows?.cells = source.cells
    try (stream as? ExportJSONEncoder)?.state(source: source.members)
  }

  /// Writes a chunk's keys. Those that the target refuses move to the chunk's rejections.
  ///
  /// - Parameter header: what is known of it before the keys.
  mutating func write(_ chunk: inout KeyChunk, regions: inout RegionTable, header: ExportHeader) throws {
    fitting.fit(&chunk, regions: &regions)
    guard let stream else { return collection.append(chunk) }
    if let limit = plan.keysPerDocument { return try write(chunk, regions, header: header, atMost: limit) }
    try begin(stream, plan.header.applied(to: header))
    try chunk.keys.withKeys { try stream.encode($0, regions: regions, unknownFields: chunk.unknownFields) }
  }

  /// Writes a chunk's keys into as many documents as they need.
  private mutating func write(
    _ chunk: borrowing KeyChunk, _ regions: RegionTable, header: ExportHeader, atMost limit: Int
  ) throws {
    let header = plan.header.applied(to: header)
    var place = 0
    while place < chunk.keys.count {
      if keysInPart == limit {
        guard let further = output.further, parts < ManyKeysRefusal.mostRequests else {
          throw ManyKeysRefusal(keys: limit, requests: output.further == nil ? 1 : ManyKeysRefusal.mostRequests)
        }
        try stream?.finish(header)
        parts += 1
        stream = try plan.encoder(OutputBuffer(try further(parts).document))
        (keysInPart, hasBegun) = (0, false)
      }
      guard let stream else { return }
      try begin(stream, header)
      let end = min(chunk.keys.count, place + limit - keysInPart)
      try chunk.keys.withKeys { keys in
        try stream.encode(
          UnsafeBufferPointer(rebasing: keys[place..<end]), regions: regions, unknownFields: chunk.unknownFields)
      }
      keysInPart += end - place
      place = end
    }
  }

  /// What the keys are read from.
  var source: KeyFormat? {
    get { fitting.source }
    set { fitting.source = newValue }
  }

  /// What the target can say of a document's headers: nothing that means something else there.
  mutating func carried(_ headers: HeaderMerge, of format: KeyFormat) -> HeaderMerge {
    fitting.source = format
    guard fitting.crossesSchemas else { return headers }
    var headers = headers
    if headers.dropUnknownFields() { fitting.countHeaderFields() }
    return headers
  }

  /// Ends the document.
  mutating func finish(_ header: ExportHeader) throws -> WrittenDocument {
    var written = WrittenDocument(target: fitting.target)
    written.parts = parts
    if let stream {
      let header = fitting.fit(plan.header.applied(to: header))
      if plan.target == .csv, !plan.csvStatesMetadata, !header.unknownFields.isEmpty { fitting.countHeaderFields() }
      try begin(stream, header)
      try stream.finish(header)
    } else {
      try seal(plan.header.applied(to: header), &written)
    }
    written.report = fitting.report
    written.losses = written.report.losses(of: header, target: fitting.target)
    return written
  }

  private mutating func begin(_ stream: any KeyEncoder, _ header: ExportHeader) throws {
    guard !hasBegun else { return }
    try stream.begin(header)
    hasBegun = true
  }

  private mutating func seal(_ header: ExportHeader, _ written: inout WrittenDocument) throws {
    let header = fitting.fit(plan.whole(header))
    written.header = header
    let bundle = BundleWriter(signers: plan.signers, packing: plan.packing)
    var repeated = RepeatedKeys()
    func write(_ part: Int, to output: ConversionOutput) throws -> ExportDigests {
      try bundle.write(header, to: output) { encoder in
        repeated = try collection.forEachRun(part: part) { keys, unknownFields in
          try encoder.encode(keys, regions: RegionTable(), unknownFields: unknownFields)
        }
      }
    }
    written.digests = try write(0, to: output)
    written.bundles = repeated.most
    guard repeated.conflicting > 0 || repeated.dropped > 0 else { return }
    (written.repeated, written.conflicting) = (repeated.dropped, repeated.conflicting)
    for part in 1..<max(1, repeated.most) {
      guard let further = output.further, repeated.most <= RepeatedKeyRefusal.mostBundles else {
        throw RepeatedKeyRefusal(keys: repeated.conflicting, most: repeated.most)
      }
      _ = try write(part, to: try further(part + 1))
    }
  }
}

/// What was written, and what fitting did to it.
struct WrittenDocument {
  let target: FormatCapabilities
  var report = FittingReport()
  /// One line for each thing that the target could not carry.
  var losses: [String] = []
  /// Keys that said the same as another in every field and were written once.
  var repeated = 0
  /// Keys that share their key data with another key of the same list but say something else.
  var conflicting = 0
  /// In how many bundles the keys stand.
  var bundles = 1
  /// In how many documents the keys of another format stand.
  var parts = 1
  /// The header of the export that was written.
  var header: ExportHeader?
  var digests: ExportDigests?

  var keys: Int { report.written - repeated }

  /// What the operator should know about an export, though nothing was lost.
  var warnings: [String] {
    guard let header else {
      return parts > 1 ? ["the keys are written as \(counted(parts, "request")), the first of which is named here"] : []
    }
    var warnings: [String] = []
    if conflicting > 0 {
      warnings.append(
        "\(counted(conflicting, "key")) shared key data with another key that says something else; the keys are written as "
          + "\(counted(bundles, "bundle")), since a bundle holds key data once")
    }
    if header.startTimestamp == nil || header.endTimestamp == nil {
      warnings.append("the bundle has no complete time window")
    }
    if keys > 750_000 {
      warnings.append("\(counted(keys, "key")) in one bundle; platforms recommend at most 750,000")
    }
    return warnings
  }
}

extension ConversionPlan {
  var capabilities: FormatCapabilities {
    guard let capabilities = target.definition.capabilities else {
      preconditionFailure("\(target.rawValue) is only read")
    }
    if target == .csv, !csvStatesMetadata { return capabilities.withoutHeader }
    return target == .codableJSON && !jsonStyle.hasRollingPeriod ? capabilities.withoutRollingPeriod : capabilities
  }

  /// The header of a bundle that is one batch of one, and says who signs it.
  fileprivate func whole(_ header: ExportHeader) -> ExportHeader {
    var header = header
    header.batchNum = 1
    header.batchSize = 1
    if !signers.isEmpty { header.signatureInfos = signers.map(\.info) }
    return header
  }

  /// The encoder of a format whose keys need no global order.
  fileprivate func encoder(_ output: OutputBuffer) throws -> any KeyEncoder {
    if target == .json, hashesKeys { return ExportJSONEncoder(output, digest: KeyDigest.text) }
    if target == .csv { return CSVKeyEncoder(output, statesMetadata: csvStatesMetadata) }
    guard target == .codableJSON else { return try FormatCatalog.encoder(for: target, output) }
    return CodableJSONEncoder(
      output, style: jsonStyle.layout.style, wrapper: jsonStyle.layout.wrapper,
      generation: jsonStyle.hasRollingPeriod ? .withRollingPeriod : .withoutRollingPeriod)
  }
}

extension FittingReport {
  /// One line for each thing that the target could not carry.
  fileprivate func losses(of header: ExportHeader, target: FormatCapabilities) -> [String] {
    var losses: [String] = []
    for part in KeyPart.allCases {
      guard let loss = lost[part] else { continue }
      if loss.notCarried > 0 {
        losses.append("\(counted(loss.notCarried, "key")) \(lose(loss.notCarried)) \(part.rawValue)")
      }
      if loss.outOfRange > 0 {
        losses.append(
          "\(counted(loss.outOfRange, "key")) \(lose(loss.outOfRange)) \(part.rawValue) "
            + "(the value is outside what devices accept)")
      }
    }
    let parts = headerLosses(header, target)
    if !parts.isEmpty { losses.append("the document loses \(parts.joined(separator: ", "))") }
    return losses
  }

  private func headerLosses(_ header: ExportHeader, _ target: FormatCapabilities) -> [String] {
    let losesUnknown = !header.unknownFields.isEmpty && !target.carriesUnknownFields || headerFieldsLost
    let unknown = losesUnknown ? ["unknown header fields"] : []
    if target.carriesHeader { return unknown }
    let isPart = header.batchNum.map { $0 != 1 } == true || header.batchSize.map { $0 != 1 } == true
    return [
      header.startTimestamp == nil && header.endTimestamp == nil ? nil : "time window",
      header.region == nil ? nil : "region", isPart ? "batch number" : nil,
      header.signatureInfos.isEmpty ? nil : "signature infos",
    ].compactMap { $0 } + unknown
  }

  /// One line for each default that was filled in.
  var fillings: [String] {
    var fillings = numberFillings { _ in true }
    if originDefaulted > 0 {
      fillings.append("origin absent, filled in: \(counted(originDefaulted, "key"))")
    }
    if visitedDefaulted > 0 {
      fillings.append("visited regions absent, filled in: \(counted(visitedDefaulted, "key"))")
    }
    return fillings
  }

  /// One line for each value that was filled in though nobody chose it.
  var unchosenFillings: [String] { numberFillings { !$0.isChosen } }

  private func numberFillings(where isWanted: (DefaultCount) -> Bool) -> [String] {
    var fillings: [String] = []
    for part in KeyPart.allCases {
      guard let filling = defaulted[part], isWanted(filling) else { continue }
      fillings.append("\(part.rawValue) absent, written as \(filling.value): \(counted(filling.keys, "key"))")
    }
    return fillings
  }
}

private func lose(_ count: Int) -> String { count == 1 ? "loses" : "lose" }
