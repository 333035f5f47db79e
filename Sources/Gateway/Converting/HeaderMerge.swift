import ExposureKeys

/// The headers of several documents as one: the window that covers all, the region if they agree.
struct HeaderMerge {
  private(set) var merged = ExportHeader()
  private(set) var regions: Set<String> = []
  /// Batches of which a document was only one part: `(2, 7)`.
  private(set) var partialBatches: [(number: Int32, size: Int32)] = []
  private var documents = 0

  mutating func add(_ header: ExportHeader, isExport: Bool) {
    documents += 1
    merged.startTimestamp = [merged.startTimestamp, header.startTimestamp].compactMap { $0 }.min()
    merged.endTimestamp = [merged.endTimestamp, header.endTimestamp].compactMap { $0 }.max()
    if let region = header.region { regions.insert(region) }
    merged.region = regions.count == 1 ? regions.first : nil
    if let size = header.batchSize, size != 1 { partialBatches.append((header.batchNum ?? 1, size)) }
    // The batch is only a statement about one document; a merged one is whole.
    merged.batchNum = documents == 1 ? header.batchNum : nil
    merged.batchSize = documents == 1 ? header.batchSize : nil
    for info in header.signatureInfos where !merged.signatureInfos.contains(info) {
      merged.signatureInfos.append(info)
    }
    merged.unknownFields += header.unknownFields
  }
}
