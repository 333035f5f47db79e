import ExposureKeys
import GatewayTesting
import KeyFormats
import Testing

private typealias Document = DecodedDocument

/// The hand-written export and batch codecs against SwiftProtobuf's generated code: the same keys, header and unknown
/// fields, the same bytes, and the same verdict on damaged input.
///
/// They differ on purpose in what ``ReferenceExport`` and ``ReferenceBatch`` adapt: a report type without a name stays
/// a number (generated proto2 code puts it among the unknown fields), key data of another length is rejected by itself
/// instead of accepted, and a federation risk level of 2147483647 is absent.
@Suite struct ReferenceAgreementTests {
  private func ourExport(_ bytes: [UInt8], window: Int = 1 << 17, chunk: Int = 100) throws -> Document {
    try Document(decoding: ExportDecoder(InputWindow(MemorySource(bytes), capacity: window)), chunkCapacity: chunk)
  }

  private func ourBatch(_ bytes: [UInt8], window: Int = 1 << 17, chunk: Int = 100) throws -> Document {
    try Document(decoding: BatchDecoder(InputWindow(MemorySource(bytes), capacity: window)), chunkCapacity: chunk)
  }

  private func encoded(_ document: Document, by encoder: (OutputBuffer) -> any KeyEncoder) throws -> [UInt8] {
    let sink = MemorySink()
    try document.encode(with: encoder(OutputBuffer(sink, capacity: 300)), keysAtOnce: 77)
    return sink.bytes
  }

  /// Generated code has no word for what these mean: see above.
  private func federation(_ document: Document) -> Document.Content {
    var content = document.content
    for index in content.keys.indices {
      if content.keys[index].claim.transmissionRisk == .max { content.keys[index].claim.transmissionRisk = nil }
      if content.keys[index].regions.visited == nil { content.keys[index].regions.visited = [] }
      if content.keys[index].regions.origin == "" { content.keys[index].regions.origin = nil }
    }
    // Proto3 does not tell empty key data from none.
    content.rejected = content.rejected.map { _ in "key-data" }
    return content
  }

  // MARK: Whole documents

  @Test(arguments: RandomKeys.Style.allCases, [64, 1 << 17])
  func exportsAreReadAlike(style: RandomKeys.Style, window: Int) throws {
    var random = SeededRandom(for: "exportsAreReadAlike")
    let document = RandomKeys(style, hasUnknownFields: true).document(700, using: &random)
    let bytes = try ReferenceExport.encode(document)
    let ours = try ourExport(bytes, window: window)
    #expect(ours.content == document.content)
    #expect(try ReferenceExport.decode(bytes).content == ours.content)
  }

  @Test(arguments: RandomKeys.Style.allCases)
  func exportsAreWrittenAlike(style: RandomKeys.Style) throws {
    var random = SeededRandom(for: "exportsAreWrittenAlike")
    var document = RandomKeys(style, hasUnknownFields: true).document(700, using: &random)
    document.keys = document.keys.filter { !$0.isRevised } + document.keys.filter(\.isRevised)
    // A number without a name would stand among the unknown fields of generated code, behind the others.
    for index in document.keys.indices where !(0...5).contains(document.keys[index].reportTypeWord) {
      document.keys[index].reportType = nil
    }
    #expect(try encoded(document, by: ExportEncoder.init) == ReferenceExport.encode(document))
  }

  @Test(arguments: RandomKeys.Style.allCases, [64, 1 << 17])
  func batchesAreReadAndWrittenAlike(style: RandomKeys.Style, window: Int) throws {
    var random = SeededRandom(for: "batchesAreReadAndWrittenAlike")
    var document = RandomKeys(style, statesRegions: true, hasUnknownFields: true).document(500, using: &random)
    document.header = ExportHeader(unknownFields: document.header.unknownFields)
    for index in document.keys.indices {
      document.keys[index].fields = .numbers
      if document.keys[index].transmissionRiskWord == .max { document.keys[index].transmissionRisk = 3 }
    }
    let bytes = try ReferenceBatch.encode(document)
    let ours = try ourBatch(bytes, window: window)
    #expect(try federation(ReferenceBatch.decode(bytes)) == federation(ours))
    #expect(ours.keys.count == 500 && ours.rejections.isEmpty)
    #expect(try encoded(ours, by: BatchEncoder.init) == bytes)
  }

  @Test func signatureFilesAreReadAndWrittenAlike() throws {
    var random = SeededRandom(for: "signatureFilesAreReadAndWrittenAlike")
    let keys = RandomKeys(.wild, hasUnknownFields: true)
    for _ in 0..<50 {
      let signatures = keys.header(using: &random).signatureInfos.map { info in
        ExportSignature(
          info: info, batchNum: random.pick([nil, 1, -1]), batchSize: random.pick([nil, 0]),
          signature: random.bytes(random.pick([0, 64, 72, 300])), unknownFields: keys.unknownFields(using: &random))
      }
      let bytes = SignatureFile.encode(signatures)
      #expect(try bytes == ReferenceExport.encodeSignatures(signatures))
      #expect(try SignatureFile.decode(bytes) == signatures)
      #expect(try ReferenceExport.decodeSignatures(bytes) == signatures)
    }
  }

  // MARK: Damaged bytes

  /// Changes some bytes of protobuf such that much of it stays readable.
  private func damage(_ bytes: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
      case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 2: bytes.remove(at: place)
      case 3: bytes.insert(random.pick([0, 1, 0x0a, 0x3a, 0x80, 0xff]), at: place)
      case 4: bytes.removeLast(bytes.count - place)
      // A tag or number in more bytes than it needs.
      default:
        if bytes[place] < 0x80 {
          bytes[place] |= 0x80
          bytes.insert(0, at: place + 1)
        }
      }
    }
    return bytes
  }

  /// What reading comes to: the content, or nothing when it is refused.
  private func verdict(_ body: () throws -> Document.Content) -> Document.Content? { try? body() }

  /// Generated code keeps the last *named* report type of a key that states several, and ours the last one; a damaged
  /// file can hold such a key. It puts the others among the unknown fields, as they were spelled. Where ours has no
  /// name, these two are not compared; the tests of whole documents compare them.
  private func agree(_ ours: Document.Content?, _ theirs: Document.Content?) -> Bool {
    guard var ours, var theirs else { return ours == nil && theirs == nil }
    for list in [\Document.Content.keys, \.revised] where ours[keyPath: list].count == theirs[keyPath: list].count {
      for index in ours[keyPath: list].indices {
        guard let number = ours[keyPath: list][index].claim.reportType, ReportType(rawValue: number) == nil else {
          continue
        }
        ours[keyPath: list][index].claim.reportType = nil
        theirs[keyPath: list][index].claim.reportType = nil
        ours[keyPath: list][index].unknownFields = []
        theirs[keyPath: list][index].unknownFields = []
      }
    }
    return ours == theirs
  }

  @Test func damagedExportsGetTheSameVerdict() throws {
    var random = SeededRandom(for: "damagedExportsGetTheSameVerdict")
    var accepted = 0
    for round in 0..<1200 {
      let style: RandomKeys.Style = round.isMultiple(of: 2) ? .wild : .plausible
      let whole = try ReferenceExport.encode(
        RandomKeys(style, hasUnknownFields: true).document(4, using: &random))
      let bytes = ReferenceExport.magic + damage(Array(whole.dropFirst(16)), &random)
      let ours = verdict { try ourExport(bytes, window: 16, chunk: 3).content }
      let theirs = verdict { try ReferenceExport.decode(bytes).content }
      #expect(agree(ours, theirs), "round \(round): \(bytes)")
      if !agree(ours, theirs) { break }
      if ours != nil { accepted += 1 }
    }
    #expect((120..<1080).contains(accepted), "both verdicts occur often")
  }

  @Test func damagedBatchesGetTheSameVerdict() throws {
    var random = SeededRandom(for: "damagedBatchesGetTheSameVerdict")
    var accepted = 0
    for round in 0..<1200 {
      let whole = try ReferenceBatch.encode(
        RandomKeys(.wild, statesRegions: true, hasUnknownFields: true).document(3, using: &random))
      let bytes = damage(whole, &random)
      let ours = verdict { try federation(ourBatch(bytes, window: 16, chunk: 2)) }
      let theirs = verdict { try federation(ReferenceBatch.decode(bytes)) }
      #expect(ours == theirs, "round \(round): \(bytes)")
      if ours != theirs { break }
      if ours != nil { accepted += 1 }
    }
    #expect((120..<1080).contains(accepted), "both verdicts occur often")
  }

  @Test func damagedSignatureFilesGetTheSameVerdict() throws {
    var random = SeededRandom(for: "damagedSignatureFilesGetTheSameVerdict")
    let info = SignatureInfo(verificationKeyVersion: "v1", verificationKeyID: "310", signatureAlgorithm: "1.2")
    let whole = SignatureFile.encode([
      ExportSignature(info: info, batchNum: 1, batchSize: 1, signature: random.bytes(70)),
      ExportSignature(info: info, signature: [1], unknownFields: [0x78, 1]),
    ])
    for round in 0..<1200 {
      let bytes = damage(whole, &random)
      let ours = try? SignatureFile.decode(bytes)
      let theirs = try? ReferenceExport.decodeSignatures(bytes)
      #expect(ours == theirs, "round \(round): \(bytes)")
      if ours != theirs { break }
    }
  }

  // MARK: Limits that generated code does not have

  @Test func headersAreLimited() throws {
    let infos = ExportDecoder.fileHeader + (0..<2000).flatMap { _ in [0x32, 0] as [UInt8] }
    let error = #expect(throws: FormatError.self) { try ourExport(infos) }
    #expect(error?.code == .limitExceeded)
    var limits = ReadLimits()
    limits.recordBytes = 1000
    let unknown = ExportDecoder.fileHeader + (0..<501).flatMap { _ in [0x78, 1] as [UInt8] }
    let second = #expect(throws: FormatError.self) {
      try drain(ExportDecoder(InputWindow(MemorySource(unknown), limits: limits), limits: limits))
    }
    #expect(second?.code == .limitExceeded)
  }
}
