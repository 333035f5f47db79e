import BundleTrust
import ExposureKeys
import GatewayTesting
import KeyFormats

/// Reads one input. Returning is success; only a crash, a hang or too much memory is a failure.
typealias FuzzTarget = @Sendable (UnsafeRawBufferPointer) -> Void

/// Everything that reads what strangers wrote, by the name of its folder under `corpus/` and of the vectors' format.
let fuzzTargets: [String: FuzzTarget] = [
  "gaen-export": fuzzDecoder(against: ReferenceExport.decode) { ExportDecoder($0, limits: $1) },
  "gaen-export-beta": fuzzDecoder { BetaFileDecoder($0, limits: $1) },
  "export-signatures": fuzzSignatures,
  "submission": fuzzDecoder { SubmissionDecoder($0, limits: $1) },
  "zip": fuzzArchive,
  "efgs-protobuf": fuzzDecoder(against: ReferenceBatch.decode) { BatchDecoder($0, limits: $1) },
  "codable-json": fuzzDecoder { JSONKeyDecoder($0, limits: $1) },
  "efgs-json": fuzzDecoder { JSONKeyDecoder($0, limits: $1) },
  "csv": fuzzDecoder { CSVKeyDecoder($0, limits: $1) },
  "protobuf-text": fuzzDecoder { ProtobufTextKeyDecoder($0, limits: $1) },
  "parser-text": fuzzDecoder { ParserTextKeyDecoder($0, limits: $1) },
  "trust-ring": { _ = try? TrustRing(document: Array($0)) },
  "base64": fuzzBase64,
  "key-text": fuzzKeyText,
  "time": fuzzTime,
]

/// What is read is what the reference reads, and what its encoding is read as.
@Sendable private func fuzzSignatures(_ input: UnsafeRawBufferPointer) {
  guard let signatures = try? SignatureFile.decode(Array(input)) else { return }
  precondition((try? SignatureFile.decode(SignatureFile.encode(signatures))) == signatures)
  if let expected = try? ReferenceExport.decodeSignatures(Array(input)) { precondition(signatures == expected) }
}

/// Every entry is read to its end.
@Sendable private func fuzzArchive(_ input: UnsafeRawBufferPointer) {
  guard let archive = try? ZipArchive(MemorySource(Array(input)), limits: fuzzLimits) else { return }
  for entry in archive.entries { _ = try? archive.open(entry).readAll(limit: fuzzLimits.documentBytes) }
}

/// What decodes is what its encoding decodes to.
@Sendable private func fuzzBase64(_ input: UnsafeRawBufferPointer) {
  precondition(Base64.decode(Array(Base64.encode(input).utf8)) == Array(input))
  guard let bytes = Base64.decode(input) else { return }
  precondition(Base64.decode(Array(Base64.encode(bytes).utf8)) == bytes)
}

/// A key that is read is written so that it reads as itself.
@Sendable private func fuzzKeyText(_ input: UnsafeRawBufferPointer) {
  guard case .key(let key) = KeyText.read(input) else { return }
  withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { room in
    guard let place = room.baseAddress else { return }
    KeyText.writeHexadecimal(key, to: place)
    precondition(KeyText.read(UnsafeRawBufferPointer(room)) == .key(key))
    KeyText.writeBase64(key, to: place)
    precondition(KeyText.read(UnsafeRawBufferPointer(rebasing: room[..<24])) == .key(key))
  }
}

/// An instant that is read is written so that it reads as itself.
@Sendable private func fuzzTime(_ input: UnsafeRawBufferPointer) {
  let text = String(decoding: input, as: UTF8.self)
  if let day = Day(text) { precondition(Day(day.description) == day) }
  guard let instant = Instant(text) else { return }
  // Years before 1 have a sign when written and none when read.
  guard instant.secondsSince1970 >= -62_135_596_800 else { return }
  precondition(Instant(instant.description) == instant)
}
