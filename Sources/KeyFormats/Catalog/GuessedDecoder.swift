internal import ExposureKeys

/// A decoder of the format that takes all text which no other format knows: what it cannot read may be of none, and who is
/// refused is told how it came to be asked.
final class GuessedDecoder: KeyDecoder {
  private let decoder: any KeyDecoder
  private let format: KeyFormat
  private var hasRead = false

  init(_ decoder: any KeyDecoder, _ format: KeyFormat) {
    self.decoder = decoder
    self.format = format
  }

  var header: ExportHeader { decoder.header }
  var headers: HeaderMerge { decoder.headers }
  var regions: RegionTable { decoder.regions }
  var notes: ReadingNotes { decoder.notes }

  func decode(into chunk: inout KeyChunk) throws -> Bool {
    do {
      let goesOn = try decoder.decode(into: &chunk)
      hasRead = true
      return goesOn
    } catch var error as FormatError where !hasRead && error.code == .malformed {
      error.reason +=
        "; taken for \(format.rawValue), because it is text that no other format knows (--from says otherwise)"
      throw error
    }
  }
}
