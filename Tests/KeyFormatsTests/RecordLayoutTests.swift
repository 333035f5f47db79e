import ExposureKeys
import GatewayTesting
import KeyFormats
import Testing

/// Files whose records repeat a number of layouts with other values each time: what the decoders learn of a layout at
/// one record must hold for the next. The generated code reads every record anew.
@Suite struct RecordLayoutTests {
  /// One spelling of a key message: which fields stand where, and how many bytes their values take.
  private struct Layout {
    enum Field {
      case keyData
      /// Fewer bytes than a varint of this many have is spelled with zeros at its end.
      case varint(UInt8, bytes: Int)
      /// Numbers that are always the same.
      case constant([UInt8])
      case region(UInt8, bytes: Int)
      case data([UInt8], bytes: Int)
      case word([UInt8], bytes: Int)
    }

    var tags: [UInt8]
    var fields: [Field]

    init(known: [Field], tags: [UInt8], using random: inout SeededRandom) {
      self.tags = tags
      let unknown: [Field] = [
        .varint(0x78, bytes: .random(in: 1...10, using: &random)), .word([0x7d], bytes: 4), .word([0x79], bytes: 8),
        .data([0x7a], bytes: .random(in: 0...20, using: &random)), .data([0xa2, 0x01], bytes: 3),
        .constant([0x88, 0x80, 0x00, 0x07]), .constant([0x7b, 0x08, 0x01, 0x7c]), .word([0x15], bytes: 4),
      ]
      fields = known.filter { _ in !random.once(in: 5) }
      if random.once(in: 2) { fields.shuffle(using: &random) }
      for _ in 0..<random.pick([0, 0, 1, 2]) {
        // Mostly at the end, as a later version of the schema puts them.
        let place = random.once(in: 2) ? fields.count : Int.random(in: 0...fields.count, using: &random)
        fields.insert(random.pick(unknown), at: place)
      }
      fields.insert(.keyData, at: random.once(in: 3) ? Int.random(in: 0...fields.count, using: &random) : 0)
    }

    func record(using random: inout SeededRandom) -> [UInt8] {
      var message: [UInt8] = []
      for field in fields {
        switch field {
        case .keyData: message += [0x0a, 16] + random.bytes(16)
        case .varint(let tag, let count):
          let value = random.bytes(count)
          message.append(tag)
          message += value.indices.map { $0 == count - 1 ? value[$0] & 0x7f : value[$0] | 0x80 }
        case .constant(let bytes): message += bytes
        case .region(let tag, let count):
          message += [tag, UInt8(count)] + (0..<count).map { _ in random.pick(Array("ABC".utf8)) }
        case .data(let tag, let count): message += tag + [UInt8(count)] + random.bytes(count)
        case .word(let tag, let count): message += tag + random.bytes(count)
        }
      }
      return [random.pick(tags)] + varint(message.count) + message
    }

    private func varint(_ value: Int) -> [UInt8] {
      value < 128 ? [UInt8(value)] : [UInt8(value & 127) | 128] + varint(value >> 7)
    }
  }

  private func records(_ layouts: [Layout], using random: inout SeededRandom) -> [UInt8] {
    var bytes: [UInt8] = []
    for _ in 0..<max(2000, layouts.count * 20) { bytes += random.pick(layouts).record(using: &random) }
    return bytes
  }

  @Test(arguments: [1, 7, 50, 200], [300, 1 << 17])
  func exportsAreReadAlike(layoutCount: Int, window: Int) throws {
    var random = SeededRandom(for: "exportsAreReadAlike \(layoutCount)")
    let layouts = (0..<layoutCount).map { _ in
      let known: [Layout.Field] = [
        .varint(0x10, bytes: random.pick([1, 1, 1, 2, 10])), .varint(0x18, bytes: random.pick([4, 4, 4, 3, 5])),
        .varint(0x20, bytes: random.pick([1, 2, 2, 2, 10])),
        .constant([0x28, UInt8.random(in: 1...5, using: &random)]),
        .varint(0x30, bytes: random.pick([1, 1, 1, 2, 5])), .varint(0x10, bytes: 1),
      ]
      return Layout(known: random.once(in: 4) ? known : known.dropLast(), tags: [0x3a, 0x3a, 0x42], using: &random)
    }
    let bytes = ReferenceExport.magic + records(layouts, using: &random)
    let ours = try DecodedDocument(
      decoding: ExportDecoder(InputWindow(MemorySource(bytes), capacity: window)), chunkCapacity: 100)
    let theirs = try ReferenceExport.decode(bytes)
    #expect(ours.keys.count == theirs.keys.count && ours.rejections.isEmpty)
    #expect(ours.content == theirs.content)
    let sink = MemorySink()
    try ours.encode(with: ExportEncoder(OutputBuffer(sink, capacity: 1000)), keysAtOnce: 77)
    #expect(try ReferenceExport.decode(sink.bytes).content == theirs.content)
  }

  @Test(arguments: [1, 7, 50, 200], [300, 1 << 17])
  func batchesAreReadAlike(layoutCount: Int, window: Int) throws {
    var random = SeededRandom(for: "batchesAreReadAlike \(layoutCount)")
    let layouts = (0..<layoutCount).map { _ in
      let known: [Layout.Field] = [
        .varint(0x10, bytes: 4), .varint(0x18, bytes: random.pick([1, 2])),
        random.once(in: 2) ? .constant([0x20, 0xff, 0xff, 0xff, 0xff, 0x07]) : .varint(0x20, bytes: 1),
        .region(0x2a, bytes: random.pick([0, 1, 2])), .region(0x2a, bytes: 1),
        .region(0x32, bytes: random.pick([0, 1])),
        .varint(0x38, bytes: 1), .varint(0x40, bytes: random.pick([1, 2])),
      ]
      return Layout(known: known, tags: [0x0a], using: &random)
    }
    let bytes = records(layouts, using: &random)
    let ours = try DecodedDocument(
      decoding: BatchDecoder(InputWindow(MemorySource(bytes), capacity: window)), chunkCapacity: 100
    ).content
    var theirs = try ReferenceBatch.decode(bytes).content
    #expect(ours.keys.count == theirs.keys.count && ours.rejected.isEmpty)
    for index in theirs.keys.indices {
      if theirs.keys[index].claim.transmissionRisk == .max { theirs.keys[index].claim.transmissionRisk = nil }
      if theirs.keys[index].regions.visited == nil { theirs.keys[index].regions.visited = [] }
      if theirs.keys[index].regions.origin == "" { theirs.keys[index].regions.origin = nil }
    }
    #expect(ours == theirs)
  }
}
