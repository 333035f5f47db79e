internal import ExposureKeys

/// One origin's keys of a federation batch, with what the gateway's audit answer says of their uploads: what a signature of
/// that origin can be verified over, and what is kept as evidence of it. As bytes it is an archive of two entries.
package struct AuditedBatch: Hashable, Sendable {
  /// A `DiagnosisKeyBatch` in protobuf: the keys of one origin, each byte for byte as it came and in the order of the batch.
  package var keys: [UInt8]
  /// JSON: the origin's entries of the audit answer, in their order.
  package var audit: [UInt8]

  package init(keys: [UInt8], audit: [UInt8]) {
    self.keys = keys
    self.audit = audit
  }

  private static let keysName: StaticString = "batch.bin"
  private static let auditName: StaticString = "audit.json"

  /// - Parameter bytes: an archive, or anything else.
  /// - Returns: `nil` for what is no such archive.
  /// - Throws: ``FormatError`` where one of its entries is damaged or too large.
  package init?(_ bytes: [UInt8], limits: ReadLimits = ReadLimits()) throws {
    guard ZipArchive.begins(bytes), let archive = try? ZipArchive(MemorySource(bytes), limits: limits) else {
      return nil
    }
    func content(_ name: StaticString) throws -> [UInt8]? {
      guard let entry = archive.entries.first(where: { $0.name == "\(name)" }) else { return nil }
      return try archive.open(entry).allBytes()
    }
    guard archive.entries.count == 2, let keys = try content(Self.keysName), let audit = try content(Self.auditName)
    else {
      return nil
    }
    self.init(keys: keys, audit: audit)
  }

  package func bytes() throws -> [UInt8] {
    let sink = MemorySink()
    let writer = ZipWriter(sink, date: Instant(secondsSince1970: 315_532_800))
    try writer.addEntry(Self.keysName) { try $0.write(keys) }
    try writer.addEntry(Self.auditName) { try $0.write(audit) }
    try writer.finish()
    return sink.bytes
  }
}

extension AuditedBatch {
  /// The keys of a batch by their origins, each as it stands in the bytes: nothing of a key is lost or spelled anew, so that
  /// its signature can be verified.
  ///
  /// - Parameter batch: a `DiagnosisKeyBatch` in protobuf.
  /// - Returns: a batch for each origin, in the order in which they come first. A key that names none has the empty one.
  /// - Throws: ``FormatError`` where the bytes are no such message.
  package static func split(_ batch: [UInt8]) throws -> [(origin: String, keys: [UInt8])] {
    var slices: [(origin: String, keys: [UInt8])] = []
    var places: [String: Int] = [:]
    var position = 0
    func malformed(_ reason: String) -> FormatError { FormatError(.malformed, byteOffset: position, reason) }
    while position < batch.count {
      let start = position
      guard let (tag, content) = readTag(batch, &position) else {
        throw malformed("the batch ends inside a field, or has one that is none")
      }
      // What else stands in a batch belongs to no key, and nobody has signed it.
      guard tag == 0x0a, let content else { continue }
      var place = content.lowerBound
      var origin: [UInt8] = []
      let message = Array(batch[content])
      place = 0
      while place < message.count {
        guard let (tag, content) = readTag(message, &place) else {
          position = start
          throw malformed("a key ends inside a field, or has one that is none")
        }
        if tag == 0x32, let content { origin = Array(message[content]) }
      }
      let name = String(decoding: origin, as: UTF8.self)
      let index = places[name] ?? slices.count
      if index == slices.count {
        places[name] = index
        slices.append((name, []))
      }
      slices[index].keys += batch[start..<position]
    }
    return slices
  }

  /// Reads one field, and returns its tag and, of a field with a length, where its content is; `nil` where it does not fit.
  private static func readTag(_ bytes: [UInt8], _ position: inout Int) -> (tag: UInt64, content: Range<Int>?)? {
    func varint() -> UInt64? {
      var value: UInt64 = 0
      var shift: UInt64 = 0
      while position < bytes.count, shift < 64 {
        let byte = bytes[position]
        position += 1
        value |= UInt64(byte & 0x7F) << shift
        if byte < 0x80 { return value }
        shift += 7
      }
      return nil
    }
    func skip(_ count: UInt64) -> Range<Int>? {
      guard count <= UInt64(bytes.count - position) else { return nil }
      let start = position
      position += Int(count)
      return start..<position
    }
    guard let tag = varint(), tag >> 3 > 0 else { return nil }
    switch tag & 7 {
    case 0: return varint().map { _ in (tag, nil) }
    case 1: return skip(8).map { _ in (tag, nil) }
    case 2: return varint().flatMap(skip).map { (tag, $0) }
    case 5: return skip(4).map { _ in (tag, nil) }
    default: return nil
    }
  }
}

extension ByteSource {
  /// What is left, which its limits bound.
  fileprivate func allBytes() throws -> [UInt8] {
    var bytes: [UInt8] = []
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    defer { buffer.deallocate() }
    while case let count = try read(into: buffer), count > 0 {
      bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    return bytes
  }
}
