internal import ArgumentParser
internal import KeyConversion
internal import KeyFormats
internal import KeyIntake

/// Where a document goes, and how it appears there: whole or not at all.
struct Destination {
  let name: String
  let packing: ConversionPlan.ExportPacking
  private let path: String?

  /// - Parameter output: a path, or `-` for standard output.
  /// - Throws: `ValidationError` when the output is one of the inputs, or binary would go to a terminal.
  init(_ output: String, format: KeyFormat, inputs: [String], force: Bool) throws {
    let isBareExport = format == .gaenExport && output.hasSuffix(".bin")
    packing = isBareExport ? .bareFiles : .archive
    path = output == "-" ? nil : output
    name = output == "-" ? "standard output" : output
    if path == nil {
      guard !format.definition.isBinary || force || !Console.isOutputTerminal else {
        throw ValidationError(
          "\(format.rawValue) is binary and standard output is a terminal; give -o FILE, or --force to write it anyway")
      }
      return
    }
    for place in isBareExport ? [output, Self.signaturePath(beside: output)] : [output] {
      if let target = FileIdentity(path: place), let input = inputs.first(where: { FileIdentity(path: $0) == target }) {
        throw ValidationError("the output \(place) is the input \(input); it would be overwritten")
      }
    }
  }

  private static func signaturePath(beside bin: String) -> String { bin.dropLast(3) + "sig" }

  /// Runs `body` with the sinks; only when it returns does anything appear.
  func write<Result>(_ body: (ConversionOutput) throws -> Result) throws -> Result {
    guard let path else {
      let spool = try SpoolFile()
      let result = try body(ConversionOutput(document: spool))
      try StandardOutput().write(spool)
      return result
    }
    let file = try OutputFile(path: path)
    let signature = packing == .bareFiles ? try OutputFile(path: Self.signaturePath(beside: path)) : nil
    let result = try body(ConversionOutput(document: file, signatureFile: signature))
    // The signature first: a .bin without its .sig is worse than the other way round, and so is one with another's.
    if let signature {
      guard signature.byteCount > 0 || FileIdentity(path: signature.path) == nil else {
        throw FileFault("write", path, reason: "\(signature.path) stands beside it and would not belong to it")
      }
      if signature.byteCount > 0 { try signature.commit() }
    }
    try file.commit()
    return result
  }
}
