package import BundleTrust
package import ExposureKeys
package import KeyFormats
package import KeyIntake

/// What a conversion did. It adds up: received = written + rejected, document by document.
package struct ConversionReceipt: Sendable {
  package internal(set) var documents: [DocumentSummary] = []
  /// Documents that could not be read and of which nothing was taken.
  package internal(set) var leftOut: [LeftOutDocument] = []
  /// Keys that said the same as another in every field and were written once.
  package internal(set) var repeated = 0
  /// Keys that share their key data with another key of the same list but say something else.
  package internal(set) var conflicting = 0
  /// The header of the export that was written.
  package internal(set) var header: ExportHeader?
  package internal(set) var digests: ExportDigests?
  /// One line for each thing that the target could not carry.
  package private(set) var losses: [String] = []
  /// One line for each default that was filled in.
  package private(set) var fillings: [String] = []
  /// One line for each value that was filled in though nobody chose it.
  package private(set) var unchosenFillings: [String] = []
  /// What the operator should know, though nothing was lost.
  package private(set) var warnings: [String] = []

  /// All that a strict conversion refuses: what was lost on reading, what the target could not carry, and what nobody said.
  package var lost: [String] { documents.flatMap(\.lost) + losses + unchosenFillings }

  package var received: Int { documents.reduce(0) { $0 + $1.received } }
  package var rejected: Int { documents.reduce(0) { $0 + $1.rejected } }
  /// Keys that stand in the output.
  package var written: Int { documents.reduce(0) { $0 + $1.written } - repeated }

  mutating func close(_ written: WrittenDocument, _ headers: HeaderMerge, _ plan: ConversionPlan) {
    repeated = written.repeated
    conflicting = written.conflicting
    header = written.header
    digests = written.digests
    losses = written.losses + headers.losses(as: plan)
    fillings = written.report.fillings
    unchosenFillings = written.report.unchosenFillings
    warnings = written.repeated > 0 ? ["\(counted(written.repeated, "repeated key")) written once"] : []
    if header != nil, headers.arePartsWhole {
      for batch in headers.partialBatches {
        warnings.append("a document was batch \(batch.number) of \(batch.size); the result says 1 of 1")
      }
    }
    warnings += written.warnings
  }
}

/// What became of one document.
package struct DocumentSummary: Sendable {
  package let name: String
  package internal(set) var format = KeyFormat.gaenExport
  package internal(set) var received = 0
  package internal(set) var written = 0
  package internal(set) var rejectionCounts: [RejectionReason: Int] = [:]
  /// The first of them, for showing.
  package internal(set) var rejections: [Rejection] = []
  package internal(set) var notes = ReadingNotes()

  package var rejected: Int { rejectionCounts.values.reduce(0, +) }

  init(name: String) { self.name = name }

  /// One line for each thing that was not read, and one for keys that were rejected. Padding is no key.
  package var lost: [String] {
    let unread = notes.losses(of: name)
    let keys = rejectionCounts.reduce(0) { $0 + ($1.key == .markedFake ? 0 : $1.value) }
    return unread + (keys > 0 ? ["\(name): \(counted(keys, "key")) rejected"] : [])
  }

  mutating func count(_ rejections: ArraySlice<Rejection>) {
    for rejection in rejections {
      rejectionCounts[rejection.reason, default: 0] += 1
      if self.rejections.count < RejectedKey.shownCount { self.rejections.append(rejection) }
    }
  }
}

extension ReadingNotes {
  /// One line for each thing that was not read.
  package func losses(of document: String) -> [String] {
    sorted.filter(\.note.isLoss).map { note, count in
      let named = note.subject.isEmpty || note.text.contains(note.subject) ? "" : " (\(note.subject))"
      return "\(document): \(note.text)\(named)\(count > 1 ? ", \(grouped(count)) times" : "")"
    }
  }
}

extension HeaderMerge {
  /// One line for each statement of several documents that their common header does not make.
  fileprivate func losses(as plan: ConversionPlan) -> [String] {
    let isExport = plan.target == .gaenExport
    // With these columns each key has its document's region and batch.
    if plan.statesSources { return [] }
    var losses: [String] = []
    let isRegionChosen = plan.capabilities.carriesHeader && plan.header.region != nil
    if regions.count > 1, !isRegionChosen {
      let ways = [
        plan.capabilities.carriesHeader ? "--region chooses one" : nil,
        plan.target == .csv || plan.target == .json ? "--with-source writes that of each key" : nil,
      ].compactMap(\.self)
      losses.append(
        "the documents name different regions (\(regions.sorted().joined(separator: ", "))); the result names none"
          + (ways.isEmpty ? "" : "; \(ways.joined(separator: ", "))"))
    }
    // One document keeps its header, and what a format cannot carry of that is reported as lost by fitting.
    if isExport || count > 1, !arePartsWhole {
      let batches = partialBatches.map { "\($0.number) of \($0.size)" }
      let some = batches.prefix(4).joined(separator: ", ") + (batches.count > 4 ? ", …" : "")
      losses.append(
        (batches.count == 1 ? "a document was batch \(some)" : "\(batches.count) documents were batches \(some)")
          + (isExport ? "; the result says 1 of 1" : "; the result does not say so"))
    }
    return losses
  }

  /// Whether the documents that were parts of a batch are all of its parts, so that the result is whole.
  fileprivate var arePartsWhole: Bool {
    var numbers: [Int32: Set<Int32>] = [:]
    for batch in partialBatches { numbers[batch.size, default: []].insert(batch.number) }
    return numbers.allSatisfy { size, found in size > 0 && found.count == Int(size) }
  }
}
