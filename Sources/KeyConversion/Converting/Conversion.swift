package import BundleTrust
package import ExposureKeys
package import KeyFormats
package import KeyIntake

/// What to do with documents on their way to another format.
package struct ConversionPlan: Sendable {
  package var target: KeyFormat
  package var defaults = FieldDefaults()
  package var header = HeaderChoice()
  package var jsonStyle = JSONStyle()
  /// Whether `csv` says in comment lines what is known of the document.
  package var csvStatesMetadata = true
  /// Who signs a bundle. Empty: it is written without a signature, which the caller must have asked for.
  package var signers: [SigningIdentity] = []
  /// Whether an export goes into a ZIP archive, or its two files beside each other.
  package var packing = ExportPacking.archive
  /// Refuse to write anything when something would be lost.
  package var isStrict = false
  /// Say of each key where it comes from, in a table (`csv`) or our own JSON (`json`). Each document is read once more.
  package var statesSources = false
  /// Write SHA-256 digests instead of keys, in these two formats. Nobody can turn them back, us included.
  package var hashesKeys = false
  /// The most keys of one document of the target; more go to several documents. `nil` is any number.
  package var keysPerDocument: Int?
  /// Leave out documents that cannot be read whole, or that nobody stands behind; otherwise they end it.
  package var keepsGoing = false

  package enum ExportPacking: Sendable { case archive, bareFiles }

  package init(to target: KeyFormat) { self.target = target }
}

/// What the operator says about the bundle as a whole, over what the documents say.
package struct HeaderChoice: Sendable, Hashable {
  package var start: Instant?
  package var end: Instant?
  package var region: String?
  package init(start: Instant? = nil, end: Instant? = nil, region: String? = nil) {
    self.start = start
    self.end = end
    self.region = region
  }
}

/// What stands around the keys in `codable-json`.
package enum CodableJSONLayout: String, Sendable, Hashable, CaseIterable {
  case array
  /// One object, for a single key.
  case single
  /// One object a line.
  case lines
  // An object with the array as its only member, which has this name.
  case keys, temporaryExposureKeys, gaenKeys

  var style: CodableJSONEncoder.Style {
    switch self {
    case .single: .single
    case .lines: .lines
    case .array, .keys, .temporaryExposureKeys, .gaenKeys: .array
    }
  }

  var wrapper: CodableJSONEncoder.Wrapper { CodableJSONEncoder.Wrapper(rawValue: rawValue) ?? .none }
}

/// The spelling of `codable-json`.
package struct JSONStyle: Sendable, Hashable {
  package var layout = CodableJSONLayout.array
  /// The beta generation knows no rolling period.
  package var hasRollingPeriod = true
  package init() {}
}

/// Where a conversion's bytes go.
package struct ConversionOutput {
  /// The document, or `export.bin` when an export is written as two files.
  package var document: any PatchableSink
  /// `export.sig`, when an export is written as two files.
  package var signatureFile: (any ByteSink)?
  /// Where the second bundle goes, the third and so on: a bundle holds key data once. `nil` where there is room for one
  /// alone.
  package var further: ((_ number: Int) throws -> ConversionOutput)?

  package init(
    document: any PatchableSink, signatureFile: (any ByteSink)? = nil,
    further: ((_ number: Int) throws -> ConversionOutput)? = nil
  ) {
    self.document = document
    self.signatureFile = signatureFile
    self.further = further
  }
}

/// Keys share their key data, so that they do not fit into one bundle; nothing was written.
package struct RepeatedKeyRefusal: ProgramFault, Sendable {
  /// How many stand beside another one.
  package let keys: Int
  /// How many share one key data at most.
  package let most: Int

  /// No more bundles are written for what one sender repeats.
  package static let mostBundles = 64

  package var description: String {
    guard most <= Self.mostBundles else {
      return
        "nothing was written: \(grouped(most)) keys share one key data and say something else, which makes as many "
        + "bundles; at most \(Self.mostBundles) are written"
    }
    return
      "nothing was written: \(counted(keys, "key")) \(keys == 1 ? "shares" : "share") key data with another key that says "
      + "something else, and a bundle holds key data once; give a folder, such as -o out/, for several bundles"
  }
}

/// The keys do not fit into as many requests as there is room for; nothing was written.
package struct ManyKeysRefusal: Error, Sendable, CustomStringConvertible {
  /// The most keys of a request.
  let keys: Int
  /// How many requests may be written; 1 where one file was named.
  let requests: Int

  /// Each is an open file until all are whole.
  package static let mostRequests = 500

  package var description: String {
    guard requests > 1 else {
      return
        "nothing was written: there are more than \(keys) keys, and key servers take at most \(keys) in one request; "
        + "give a folder, such as -o out/, for several requests"
    }
    return
      "nothing was written: there are more than \(grouped(keys * requests)) keys, and at most \(requests) requests of "
      + "\(keys) keys are written at once; convert the keys in parts"
  }
}

/// Something would be lost, and the operator asked for a strict conversion; nothing was written.
package struct LossRefusal: ProgramFault, Sendable {
  /// One line for each thing.
  package let losses: [String]

  package var description: String {
    (["nothing was written, since \(losses.count == 1 ? "this" : "these") would be lost"] + losses)
      .joined(separator: "\n")
  }
}

/// Decode, verify (or the operator vouches), fit, encode, sign, seal.
package struct Conversion {
  private var receipt = ConversionReceipt()
  private var regions = RegionTable(isLimited: false)
  private var headers = HeaderMerge()

  /// Converts the documents into one. Nothing in `output` counts until this returns.
  ///
  /// - Throws: ``DocumentRefusal``, ``RepeatedKeyRefusal``, `FormatError`, ``FileFault``, or `KeyFault` from signing.
  package static func run(
    _ plan: ConversionPlan, from arrivals: [Arrival], to output: ConversionOutput
  ) throws -> ConversionReceipt {
    try run(plan, from: DocumentFeed(arrivals), to: output)
  }

  /// Converts documents into one, as they come. A plan that keeps going reads each twice: it must be whole before its
  /// first key is taken.
  ///
  /// - Throws: as above, and `NothingRead` when all documents were left out.
  package static func run(
    _ plan: ConversionPlan, from arrivals: DocumentFeed<Arrival>, to output: ConversionOutput
  ) throws -> ConversionReceipt {
    if !arrivals.mayHoldSeveral {
      // One document says most of its header before its keys; several are merged, which is known at the end.
      do { return try convert(plan, arrivals, saysHeaderFirst: true, to: output) } catch is SeveralDocuments {
        try output.document.discard()
      }
    }
    return try convert(plan, arrivals, saysHeaderFirst: false, to: output)
  }

  /// One file turned out to hold several documents, after the header of the first had been written.
  private struct SeveralDocuments: Error {}

  private static func convert(
    _ plan: ConversionPlan, _ arrivals: DocumentFeed<Arrival>, saysHeaderFirst: Bool, to output: ConversionOutput
  ) throws -> ConversionReceipt {
    var conversion = Conversion()
    var writer = try DocumentWriter(plan, to: output)
    var leftOut: [LeftOutDocument] = []
    func leaveOut(_ document: LeftOutDocument) throws {
      guard plan.keepsGoing else { throw document.fault }
      leftOut.append(document)
    }
    try arrivals.visit(
      { arrival in
        if saysHeaderFirst, !conversion.receipt.documents.isEmpty { throw SeveralDocuments() }
        if plan.keepsGoing, let fault = arrival.faultOfReading() {
          guard let document = LeftOutDocument(arrival.name, fault) else { throw fault }
          return try leaveOut(document)
        }
        try conversion.read(try arrival.examine().verify(), saysHeaderFirst: saysHeaderFirst, into: &writer)
      }, leaveOut: leaveOut)
    if conversion.receipt.documents.isEmpty, !leftOut.isEmpty { throw NothingRead(leftOut: leftOut) }
    conversion.receipt.leftOut = leftOut
    if saysHeaderFirst, writer.hasBegun, conversion.headers.count > 1 { throw SeveralDocuments() }
    let written = try writer.finish(conversion.headers.merged)
    conversion.receipt.close(written, conversion.headers, plan)
    let lost = conversion.receipt.lost
    if plan.isStrict, !lost.isEmpty { throw LossRefusal(losses: lost) }
    return conversion.receipt
  }

  private mutating func read(
    _ document: VerifiedArrival, saysHeaderFirst: Bool, into writer: inout DocumentWriter
  ) throws {
    let name = document.arrival.name
    if writer.plan.statesSources { try writer.enter(try KeySource(document)) }
    var summary = DocumentSummary(name: name)
    var numbers = RegionNumbers()
    let reading = try document.decode { chunk, context in
      summary.received += chunk.keys.count + chunk.rejections.count
      numbers.translate(&chunk.keys, from: context.regions, to: &regions)
      let before = chunk.rejections.count
      summary.count(chunk.rejections[..<before])
      writer.source = context.format
      if saysHeaderFirst, writer.hasBegun, context.headers.count > 1 { throw SeveralDocuments() }
      try writer.write(
        &chunk, regions: &regions, header: saysHeaderFirst ? context.headers.merged : ExportHeader())
      summary.count(chunk.rejections[before...])
      summary.written += chunk.keys.count
    }
    summary.format = reading.format
    summary.notes = reading.notes
    headers.add(writer.carried(reading.headers, of: reading.format))
    receipt.documents.append(summary)
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

  /// - Parameter target: has no limit.
  mutating func translate(_ keys: inout KeyBuffer, from table: RegionTable, to target: inout RegionTable) {
    guard table.claims.count > 1 else { return }
    while shared.count < table.claims.count { shared.append(target.intern(table.claims[shared.count]) ?? .none) }
    keys.withMutableKeys { keys in
      for index in keys.indices { keys[index].regions = shared[Int(keys[index].regions.rawValue)] }
    }
  }
}
