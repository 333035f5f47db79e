/// Tells formats apart by their content, never by a file's name.
enum FormatDetection {
  enum Guess: Equatable {
    case zip
    case format(KeyFormat)
    /// Some JSON; its decoder finds out which.
    case json
    case unrecognized(String)
  }

  static func guess(_ front: DocumentFront) -> Guess {
    switch front.kind {
    case .archive: return .zip
    case .nothing(let reason): return .unrecognized(reason)
    case .json, .text, .binary: break
    }
    for format in FormatCatalog.formats.reversed() {
      if case .front(let recognises) = format.definition.detection, recognises(front) { return .format(format) }
    }
    if let words = FileNature.words(for: front.bytes) { return .unrecognized(words) }
    switch front.kind {
    case .json: return .json
    case .text:
      for format in FormatCatalog.formats {
        if case .otherText = format.definition.detection { return .format(format) }
      }
    case .binary(let protobuf?) where protobuf.message?.isSignature == true:
      return .unrecognized("this is a signature file (export.sig) and holds no keys; give the .bin or the zip")
    default: break
    }
    return .unrecognized(
      "the bytes are neither a ZIP archive, nor an export, nor a federation batch, nor JSON, CSV or protobuf text")
  }
}
