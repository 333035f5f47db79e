import ExposureKeys
import KeyFormats

/// Runs a decoder to the end of its document through one reused chunk, as the pipeline does.
func decode(_ decoder: any KeyDecoder) throws -> Int {
  var chunk = KeyChunk()
  var count = 0
  while try decoder.decode(into: &chunk) {
    count += chunk.keys.count
    chunk.advance()
  }
  return count
}

/// Runs an encoder over keys that are in memory.
func encode(_ document: DecodedDocument, with encoder: any KeyEncoder) throws -> Int {
  try encoder.begin(document.header)
  try document.keys.withUnsafeBufferPointer {
    try encoder.encode($0, regions: document.regions, unknownFields: document.unknownFields)
  }
  try encoder.finish(document.header)
  return document.keys.count
}

/// Takes everything and keeps nothing: what is measured is the encoder.
final class DiscardingSink: ByteSink {
  func write(_ bytes: UnsafeRawBufferPointer) { blackHole(bytes.count) }
}
