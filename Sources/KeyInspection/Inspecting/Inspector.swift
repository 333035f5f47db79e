package import ExposureKeys
package import KeyFormats

/// Reads a document once, chunk by chunk, and finds out what is in it.
package struct Inspector: Sendable {
  private let options: InspectionOptions

  package init(_ options: InspectionOptions = InspectionOptions()) { self.options = options }

  /// Reads `document` to its end. Memory is bounded by the options, whatever the document's size.
  ///
  /// - Parameters:
  ///   - document: as it was opened; it is read once.
  ///   - name: what the report calls the file.
  ///   - fileSize: bytes of the file as it is stored, where known.
  ///   - observe: is shown every chunk on its way, for a listing of keys.
  /// - Throws: `FormatError` when the document cannot be read on, or what its source throws.
  package func examine(
    _ document: KeyDocument, name: String, fileSize: Int? = nil,
    observe: (borrowing KeyChunk, RegionTable) throws -> Void = { _, _ in }
  ) throws -> Examination {
    var tally = KeyTally(options)
    var chunk = KeyChunk()
    var starts = StartsInSeconds()
    let decoder = document.decoder
    while try decoder.decode(into: &chunk) {
      starts.convert(&chunk)
      tally.observe(chunk, header: decoder.header)
      try observe(chunk, decoder.regions)
      chunk.advance()
    }
    let keys = tally.finish(header: decoder.header, regions: decoder.regions)
    let facts = InspectedDocument(document, fileSize: fileSize)
    let report = InspectionReport(facts, keys, notes: starts.added(to: decoder.notes), name: name)
    return Examination(report: report, facts: facts, keys: keys)
  }

  /// ``examine(_:name:fileSize:observe:)`` for callers that want the report alone.
  package mutating func inspect(_ document: KeyDocument, name: String, fileSize: Int? = nil) throws -> InspectionReport
  {
    try examine(document, name: name, fileSize: fileSize).report
  }
}

/// What one pass over a document left: its report, and what device profiles judge it by.
package struct Examination: Sendable {
  /// The digests are for the caller to fill in.
  package var report: InspectionReport
  let facts: InspectedDocument
  let keys: KeyFacts
}

extension InspectionReport {
  init(_ facts: InspectedDocument, _ keys: KeyFacts, notes: ReadingNotes, name: String) {
    let header = facts.header
    let padding = keys.paddingMultiplier
    self.init(
      name: name, size: facts.fileSize, format: facts.format.rawValue, container: facts.container,
      fileHeader: facts.fileHeader, window: Window(header), region: header.region,
      batch: Batch(number: header.batchNum, size: header.batchSize),
      signatureInfos: header.signatureInfos.map(Info.init), signatureFileSize: facts.signatureFileSize,
      signatures: zip(facts.signatures, facts.signatureEncodings).map { signature, encoding in
        Signature(
          info: Info(signature.info), batch: Batch(number: signature.batchNum, size: signature.batchSize),
          size: signature.signature.count, encoding: encoding)
      },
      keys: KeyTotals(
        total: keys.keyCount, revised: keys.revisedCount, rejected: keys.rejectedCount, distinct: keys.distinctKeys),
      distributions: Distributions(keys), padding: padding,
      findings: sortedFindings(
        fileFindings(facts) + repetitionFindings(facts.signatureNotes) + repetitionFindings(notes)
          + keyFindings(facts, keys)),
      notes: notes.sorted.filter { $0.note.code != ReadingNote.fieldRepeated }.map {
        Note(code: $0.code, subject: $0.subject, text: $0.text, count: $1)
      },
      rejections: Rejections(keys))
  }
}

/// By severity, each severity in the order of the codes' declaration, so that a file is read from outside in.
private func sortedFindings(_ findings: [Finding]) -> [Finding] {
  let order = Dictionary(uniqueKeysWithValues: Finding.Code.allCases.enumerated().map { ($1, $0) })
  return findings.enumerated().sorted { left, right in
    if left.element.severity != right.element.severity { return left.element.severity > right.element.severity }
    let places = (order[left.element.code] ?? 0, order[right.element.code] ?? 0)
    return places.0 != places.1 ? places.0 < places.1 : left.offset < right.offset
  }.map(\.element)
}

extension InspectionReport.Window {
  init(_ header: ExportHeader) {
    self.init(
      start: header.startTimestamp, end: header.endTimestamp,
      startTime: header.startTimestamp.flatMap(Instant.init(timestamp:))?.description,
      endTime: header.endTimestamp.flatMap(Instant.init(timestamp:))?.description)
  }
}

extension InspectionReport.Distributions {
  init(_ keys: KeyFacts) {
    typealias Distribution = InspectionReport.Distribution
    keyDay = Distribution(keys.days) { Day(daysSince1970: $0).description }
    transmissionRiskLevel = Distribution(keys.risks) { "\($0)" }
    reportType = Distribution(keys.reportTypes) { reportTypeLabel($0) }
    daysSinceOnsetOfSymptoms = Distribution(keys.onsets) { $0 > 0 ? "+\($0)" : "\($0)" }
    rollingPeriod = Distribution(keys.periods) { "\($0)" }
    if !keys.origins.isEmpty {
      let rows = keys.origins.map { Distribution.Row(value: nil, label: $0.key ?? "not stated", count: $0.value) }
      origin = Distribution(rows: rows.sorted { $0.label < $1.label }, others: 0)
    }
  }
}

/// The schema's name, or the number where the schema has none.
func reportTypeLabel(_ number: Int64) -> String {
  Int32(exactly: number).flatMap(ReportType.init(rawValue:))?.name ?? "\(number)"
}

extension InspectionReport.Distribution {
  init(_ values: ValueCounts, label: (Int64) -> String) {
    rows = values.counts.sorted { $0.key < $1.key }.map { Row(value: $0.key, label: label($0.key), count: $0.value) }
    if values.absent > 0 { rows.append(Row(value: nil, label: "not stated", count: values.absent)) }
    others = values.others
  }
}

extension InspectionReport.Rejections {
  init(_ keys: KeyFacts) {
    byReason = keys.rejectionReasons.map { Reason(reason: $0.key.rawValue, count: $0.value) }
      .sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
    first = keys.firstRejections.map {
      Entry(
        index: $0.position.index, byteOffset: $0.position.byteOffset, reason: $0.reason.rawValue, detail: $0.detail)
    }
  }
}
