public import ExposureKeys

/// The bytes over which a federation batch is signed.
///
/// For each key eight fields, each as padded standard base64 followed by a full stop: key data; rolling start, rolling
/// period and transmission risk as four big-endian bytes; the visited regions in the order sent, joined by commas;
/// origin; report type and days since onset as four big-endian bytes (not zig-zag). The keys are sorted by the base64
/// of that text, bytewise: a second base64, which serves as the sort key alone.
///
/// Source: the EU federation gateway's software design, section "Batch signature", and its observed behaviour.
public enum CanonicalBatch {
  /// - Throws: ``FormatError`` with `cannotExpress` when a region is not ASCII: peers disagree about its bytes.
  public static func bytes(of keys: UnsafeBufferPointer<ClaimedKey>, regions: RegionTable) throws -> [UInt8] {
    var texts: [(sortKey: [UInt8], text: [UInt8])] = []
    texts.reserveCapacity(keys.count)
    for key in keys {
      let text = try text(of: key, regions: regions)
      texts.append((Array(Base64.encode(text).utf8), text))
    }
    texts.sort { $0.sortKey.lexicographicallyPrecedes($1.sortKey) }
    return texts.flatMap(\.text)
  }

  /// The text of one key. Its SHA-256 is how the gateway recognises duplicates.
  public static func text(of key: ClaimedKey, regions: RegionTable) throws -> [UInt8] {
    let claim = regions[key.regions]
    var text: [UInt8] = []
    func add(_ bytes: some Collection<UInt8>) {
      text.append(contentsOf: Base64.encode(bytes).utf8)
      text.append(UInt8(ascii: "."))
    }
    func add(_ number: Int32) { withUnsafeBytes(of: number.bigEndian) { add($0) } }
    func addASCII(_ value: String, _ name: String) throws {
      guard value.utf8.allSatisfy({ $0 < 0x80 }) else {
        throw FormatError(
          .cannotExpress, "\(name) \(value.debugDescription) is not ASCII, which a batch signature needs")
      }
      add(value.utf8)
    }
    add(key.key.bytes)
    add(key.rollingStart ?? 0)
    add(key.rollingPeriod ?? 0)
    add(key.transmissionRisk ?? .max)
    try addASCII((claim.visited ?? []).joined(separator: ","), "visited region")
    try addASCII(claim.origin ?? "", "origin")
    add(key.reportType ?? 0)
    add(key.daysSinceOnset ?? 0)
    return text
  }
}
