internal import BundleTrust
internal import ExposureKeys
internal import KeyFormats
internal import KeyIntake

/// A federation's batch that was read from a file.
struct BatchDocument {
  let name: String
  let body: [UInt8]
  let document: DecodedDocument

  /// More than any gateway takes in one batch; their signature needs all of them in memory.
  static let maximumBytes = 64 << 20

  /// - Throws: ``BatchFileFault`` where a key cannot be read: the signature covers it, too.
  init(_ path: String, _ input: InputOptions) throws {
    let source = try input.open(path)
    name = source.name
    guard source.source.byteCount <= Self.maximumBytes else {
      throw FileFault(
        "read", path,
        reason: "it has \(source.source.byteCount) bytes, at most \(Self.maximumBytes) are read as a batch")
    }
    body = try SequentialSource(source.source).readAll(limit: Self.maximumBytes)
    let opened = try source.open()
    // Of which dialect JSON is, its decoder finds out; keys of another one name no origin.
    guard [.efgsProtobuf, .efgsJSON, .codableJSON].contains(opened.format) else {
      throw BatchFileFault(
        name: name, reason: "is \(opened.format.rawValue), a signed batch is efgs-protobuf or efgs-json; --from says so"
      )
    }
    document = try source.located { try DecodedDocument(decoding: opened.decoder) }
    if let rejection = document.rejections.first {
      let more = document.rejections.count > 1 ? ", and \(document.rejections.count - 1) more" : ""
      throw BatchFileFault(
        name: name,
        reason:
          "key \(rejection.position.index) at byte \(rejection.position.byteOffset): \(rejection.reason.rawValue), "
          + "\(rejection.detail)\(more)")
    }
  }
}

/// Why a file is no batch whose signature could be made or verified.
struct BatchFileFault: ProgramFault {
  let name: String
  let reason: String

  var description: String { "\(name): \(reason)" }
}
