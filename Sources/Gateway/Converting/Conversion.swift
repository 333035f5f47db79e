public import BundleTrust
public import ExposureKeys
public import KeyFormats

/// What to do with documents on their way to another format.
public struct ConversionPlan: Sendable {
  public var target: KeyFormat
  public var defaults = FieldDefaults()
  public var header = HeaderChoice()
  public var jsonStyle = JSONStyle()
  /// Who signs a bundle. Empty: it is written without a signature, which the caller must have asked for.
  public var signers: [SigningIdentity] = []
  /// Whether an export goes into a ZIP archive, or its two files beside each other.
  public var packing = ExportPacking.archive
  /// Refuse to write anything when something would be lost.
  public var isStrict = false
  /// Checks every export's signature first; without a ring the operator vouches for the documents.
  public var trust: Trust?

  public struct Trust: Sendable {
    public let ring: TrustRing
    public let instant: Instant
    public init(ring: TrustRing, instant: Instant) {
      self.ring = ring
      self.instant = instant
    }
  }

  public enum ExportPacking: Sendable { case archive, bareFiles }

  public init(to target: KeyFormat) { self.target = target }
}

/// What the operator says about the bundle as a whole, over what the documents say.
public struct HeaderChoice: Sendable, Hashable {
  public var start: Instant?
  public var end: Instant?
  public var region: String?
  public init(start: Instant? = nil, end: Instant? = nil, region: String? = nil) {
    self.start = start
    self.end = end
    self.region = region
  }
}

/// What stands around the keys in `codable-json`.
public enum CodableJSONLayout: String, Sendable, Hashable, CaseIterable {
  case array
  /// One object, for a single key.
  case single
  /// One object a line.
  case lines
  // An object with the array as its only member, which has this name.
  case keys, temporaryExposureKeys, gaenKeys

  fileprivate var style: CodableJSONEncoder.Style {
    switch self {
    case .single: .single
    case .lines: .lines
    case .array, .keys, .temporaryExposureKeys, .gaenKeys: .array
    }
  }

  fileprivate var wrapper: CodableJSONEncoder.Wrapper { CodableJSONEncoder.Wrapper(rawValue: rawValue) ?? .none }
}

/// The spelling of `codable-json`.
public struct JSONStyle: Sendable, Hashable {
  public var layout = CodableJSONLayout.array
  /// The beta generation knows no rolling period.
  public var hasRollingPeriod = true
  public init() {}
}

/// Where a conversion's bytes go.
public struct ConversionOutput {
  /// The document, or `export.bin` when an export is written as two files.
  public var document: any PatchableSink
  /// `export.sig`, when an export is written as two files.
  public var signatureFile: (any ByteSink)?
  public init(document: any PatchableSink, signatureFile: (any ByteSink)? = nil) {
    self.document = document
    self.signatureFile = signatureFile
  }
}

/// Why a conversion was refused as a whole; nothing was written.
public enum ConversionRefusal: Error, Sendable, CustomStringConvertible {
  /// An export whose signature does not verify under the ring.
  case untrusted(name: String, lines: [String])
  /// A document in a format that has no signatures, while a ring was given.
  case cannotBeSigned(name: String, format: KeyFormat)
  /// Something would be lost, and the operator asked for a strict conversion.
  case wouldLose([String])

  public var description: String {
    switch self {
    case .untrusted(let name, let lines):
      (["\(name): no signature can be trusted"] + lines.map { "\(name): \($0)" }).joined(separator: "\n")
    case .cannotBeSigned(let name, let format):
      "\(name): \(format.rawValue) carries no signature that could be verified"
    case .wouldLose(let losses):
      (["nothing was written, since \(losses.count == 1 ? "this" : "these") would be lost"] + losses)
        .joined(separator: "\n")
    }
  }
}

/// Decode, verify (or the operator vouches), fit, encode, sign, seal.
public struct Conversion {
  public let plan: ConversionPlan
  private var receipt = ConversionReceipt()
  private var fitting: Fitting
  private var regions = RegionTable()
  private var headers = HeaderMerge()

  public init(_ plan: ConversionPlan) {
    self.plan = plan
    fitting = Fitting(to: plan.target, target: Self.capabilities(of: plan), defaults: plan.defaults)
  }

  private static func capabilities(of plan: ConversionPlan) -> FormatCapabilities {
    guard let capabilities = FormatCatalog.description(of: plan.target).capabilities else {
      preconditionFailure("\(plan.target.rawValue) is only read")
    }
    return plan.target == .codableJSON && !plan.jsonStyle.hasRollingPeriod
      ? capabilities.withoutRollingPeriod : capabilities
  }

  /// Converts the documents into one. Nothing in `output` counts until this returns.
  ///
  /// - Throws: ``ConversionRefusal``, `FormatError`, ``FileFault``, or `KeyFault` from signing.
  public static func run(
    _ plan: ConversionPlan, from documents: [SourceDocument], to output: ConversionOutput
  ) throws -> ConversionReceipt {
    var conversion = Conversion(plan)
    for document in documents { try conversion.verify(document) }
    if conversion.fitting.target.sortsKeys {
      try conversion.writeExport(from: documents, to: output)
    } else {
      try conversion.writeStream(from: documents, to: output)
    }
    conversion.receipt.close(conversion.fitting.report, conversion.headers, conversion.fitting.target)
    if plan.isStrict, !conversion.receipt.losses.isEmpty {
      throw ConversionRefusal.wouldLose(conversion.receipt.losses)
    }
    return conversion.receipt
  }

  // MARK: Verify

  private func verify(_ document: SourceDocument) throws {
    guard let trust = plan.trust else { return }
    guard let report = try document.verify(trusting: trust.ring, at: trust.instant) else {
      throw ConversionRefusal.cannotBeSigned(name: document.name, format: try document.open().format)
    }
    guard report.isTrusted else { throw ConversionRefusal.untrusted(name: document.name, lines: report.lines) }
  }

  // MARK: Decode and fit

  /// Runs every chunk of a document through fitting and shows it to `use`.
  private mutating func read(
    _ source: SourceDocument, _ use: (inout KeyChunk, KeyDocument, inout RegionTable) throws -> Void
  ) throws {
    let document = try source.open()
    var summary = DocumentSummary(name: source.name)
    var numbers = RegionNumbers()
    var chunk = KeyChunk()
    while try source.located({ try document.decoder.decode(into: &chunk) }) {
      summary.received += chunk.keys.count + chunk.rejections.count
      try source.located { try numbers.translate(&chunk.keys, from: document.decoder.regions, to: &regions) }
      let before = chunk.rejections.count
      summary.count(chunk.rejections[..<before], in: source.name)
      fitting.fit(&chunk, regions: &regions)
      summary.count(chunk.rejections[before...], in: source.name)
      summary.written += chunk.keys.count
      try use(&chunk, document, &regions)
      chunk.advance()
    }
    summary.format = document.format
    summary.notes = document.decoder.notes
    headers.add(document.decoder.header)
    receipt.documents.append(summary)
  }

  // MARK: Formats without a global order: keys go out as they come in

  private mutating func writeStream(from documents: [SourceDocument], to output: ConversionOutput) throws {
    let buffer = OutputBuffer(output.document)
    let encoder = try plan.encoder(buffer)
    var hasBegun = false
    for document in documents {
      let plan = plan
      try read(document) { chunk, document, regions in
        if !hasBegun {
          // One document says most of its header before its keys; several are merged, which is known at the end.
          try encoder.begin(plan.header.applied(to: documents.count == 1 ? document.decoder.header : ExportHeader()))
          hasBegun = true
        }
        try chunk.keys.withKeys {
          try encoder.encode($0, regions: regions, unknownFields: chunk.unknownFields)
        }
      }
    }
    let header = fitting.fit(plan.header.applied(to: headers.merged))
    if !hasBegun { try encoder.begin(header) }
    try encoder.finish(header)
  }

  // MARK: Exports: sorted, signed, sealed

  private mutating func writeExport(from documents: [SourceDocument], to output: ConversionOutput) throws {
    var collection = KeyCollection()
    for document in documents {
      try read(document) { chunk, _, _ in collection.append(chunk) }
    }
    collection.sort()
    let repeated = collection.dropRepeated()
    receipt.repeated = repeated.dropped
    receipt.conflicting = repeated.conflicting

    var header = plan.header.applied(to: headers.merged)
    header.batchNum = 1
    header.batchSize = 1
    if !plan.signers.isEmpty { header.signatureInfos = plan.signers.map(\.info) }
    header = fitting.fit(header)
    receipt.header = header

    let bundle = BundleWriter(signers: plan.signers, packing: plan.packing)
    receipt.digests = try bundle.write(header, to: output) { encoder in
      try collection.keys.withKeys {
        try encoder.encode($0, regions: RegionTable(), unknownFields: collection.unknownFields)
      }
    }
  }
}

extension ConversionPlan {
  /// The encoder of a format whose keys need no global order.
  fileprivate func encoder(_ output: OutputBuffer) throws -> any KeyEncoder {
    guard target == .codableJSON else { return try FormatCatalog.encoder(for: target, output) }
    return CodableJSONEncoder(
      output, style: jsonStyle.layout.style, wrapper: jsonStyle.layout.wrapper,
      generation: jsonStyle.hasRollingPeriod ? .withRollingPeriod : .withoutRollingPeriod)
  }
}

extension HeaderChoice {
  func applied(to header: ExportHeader) -> ExportHeader {
    var header = header
    if let start { header.startTimestamp = UInt64(clamping: start.secondsSince1970) }
    if let end { header.endTimestamp = UInt64(clamping: end.secondsSince1970) }
    if let region { header.region = region }
    return header
  }
}

/// Turns one document's region numbers into those of the shared table.
private struct RegionNumbers {
  private var shared: [RegionClaim.ID] = []

  mutating func translate(_ keys: inout KeyBuffer, from table: RegionTable, to target: inout RegionTable) throws {
    guard table.claims.count > 1 else { return }
    while shared.count < table.claims.count {
      guard let number = target.intern(table.claims[shared.count]) else {
        throw FormatError(
          .limitExceeded, "the documents together name more than \(RegionTable.limit) distinct sets of regions")
      }
      shared.append(number)
    }
    keys.withMutableKeys { keys in
      for index in keys.indices { keys[index].regions = shared[Int(keys[index].regions.rawValue)] }
    }
  }
}
