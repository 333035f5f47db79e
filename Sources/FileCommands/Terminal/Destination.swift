internal import ArgumentParser
internal import Containers
internal import ExposureKeys
internal import Glibc
package import KeyConversion
package import KeyFormats
internal import KeyIntake

/// Where a document goes, and how it appears there: whole or not at all.
package struct Destination {
  package let name: String
  package let packing: ConversionPlan.ExportPacking
  private let path: String?
  /// Whether more files may appear beside it.
  private let isInFolder: Bool
  private let isReplacing: Bool
  /// Whether a file stood there before, which this one takes the place of.
  private(set) var replacesFile = false

  /// - Parameters:
  ///   - output: a path, or `-` for standard output.
  ///   - isInFolder: whether what does not fit into one bundle goes into several: `keys.zip`, `keys-2.zip`.
  ///   - replacing: whether files that are there already are written over.
  /// - Throws: `ValidationError` when the output is one of the inputs, or binary would go to a terminal;
  ///   ``ExistingOutput``.
  package init(
    _ output: String, format: KeyFormat, inputs: [String], force: Bool, isInFolder: Bool = false, replacing: Bool = true
  ) throws {
    self.isInFolder = isInFolder
    isReplacing = replacing
    let isBareExport = format == .gaenExport && output.hasSuffix(".bin")
    packing = isBareExport ? .bareFiles : .archive
    path = output == "-" ? nil : output
    if output != "-" { replacesFile = FileIdentity(path: output) != nil }
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
      // Before anything is read, which may take long.
      try Files.check(place, replacing)
    }
  }

  /// - Throws: `ValidationError` when a file that is read is the one that is written.
  package func check(isNot input: String) throws {
    guard let path, let target = FileIdentity(path: path), FileIdentity(path: input) == target else { return }
    throw ValidationError("the output \(path) is the input \(input); it would be overwritten")
  }

  fileprivate static func signaturePath(beside bin: String) -> String { bin.dropLast(3) + "sig" }

  /// Whether a file that was there before stays, since nothing was written that could take its place.
  package func keepsFile(insteadOf keys: Int) -> Bool { keys == 0 && replacesFile }

  /// Runs `body` with the sinks; only when it returns does anything appear.
  ///
  /// - Parameters:
  ///   - keys: counts the keys of the result. Without one a file that was there before stays as it is.
  ///   - made: is told which files appeared where none was.
  package func write<Result>(
    counting keys: (Result) -> Int = { _ in 1 }, noting made: MadeOutputs? = nil,
    _ body: (ConversionOutput) throws -> Result
  ) throws -> Result {
    guard let path else {
      let spool = try SpoolFile()
      let result = try body(ConversionOutput(document: spool))
      try StandardOutput().write(spool)
      return result
    }
    var files: [Files] = []
    func open(_ path: String) throws -> ConversionOutput {
      if let made, made.written.contains(path) { throw ExistingOutput(path: path, isOfThisRun: true) }
      let one = try Files(path, hasSignature: packing == .bareFiles, replacing: isReplacing)
      files.append(one)
      return ConversionOutput(document: one.document, signatureFile: one.signature)
    }
    var output = try open(path)
    if isInFolder { output.further = { try open(Self.path(number: $0, of: path)) } }
    let result = try body(output)
    guard !keepsFile(insteadOf: keys(result)) else { return result }
    for one in files { try one.commit(noting: made) }
    return result
  }

  /// `keys.zip` becomes `keys-2.zip`.
  private static func path(number: Int, of path: String) -> String {
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return "\(path)-\(number)" }
    return "\(path.dropLast(name[dot...].count))-\(number)\(name[dot...])"
  }

  /// A document, and the file of its signatures beside it.
  private struct Files {
    let document: OutputFile
    let signature: OutputFile?

    init(_ path: String, hasSignature: Bool, replacing: Bool) throws {
      let signaturePath = Destination.signaturePath(beside: path)
      try Self.check(path, replacing)
      if hasSignature { try Self.check(signaturePath, replacing) }
      document = try OutputFile(path: path, replacing: replacing)
      signature = hasSignature ? try OutputFile(path: signaturePath, replacing: replacing) : nil
    }

    /// - Throws: ``ExistingOutput`` where something stands that must stay. A device or a folder is another fault.
    static func check(_ path: String, _ replacing: Bool) throws {
      var status = stat()
      guard !replacing, lstat(PathText.system(path), &status) == 0,
        status.st_mode & S_IFMT == S_IFREG || status.st_mode & S_IFMT == S_IFLNK
      else { return }
      throw ExistingOutput(path: path)
    }

    func commit(noting made: MadeOutputs?) throws {
      // The signature first: a .bin without its .sig is worse than the other way round, and so is one with another's.
      if let signature {
        guard signature.byteCount > 0 || FileIdentity(path: signature.path) == nil else {
          throw FileFault(
            "write", document.path, reason: "\(signature.path) stands beside it and would not belong to it")
        }
        if signature.byteCount > 0 { try Self.commit(signature, made) }
      }
      try Self.commit(document, made)
    }

    private static func commit(_ file: OutputFile, _ made: MadeOutputs?) throws {
      let isNew = FileIdentity(path: file.path) == nil
      try file.commit()
      made?.written.insert(file.path)
      if isNew { made?.files.append(file.path) }
    }
  }
}

/// A file stands where an output is to go.
struct ExistingOutput: ProgramFault {
  let path: String
  /// Whether the same command has written it, for another document.
  var isOfThisRun = false

  var description: String {
    isOfThisRun
      ? "\(path) was written for another document; convert them into separate folders"
      : "\(path) is there already, and stays as it is; --replace writes over it"
  }
}

/// No key was written, and the file that was there before stays.
struct KeptOutput: Error, CustomStringConvertible {
  let path: String

  var description: String {
    "\(path) stays as it is, since no key was written; remove it first for an output without keys"
  }
}

/// What a command has made for its outputs, so that a command that fails leaves nothing behind.
package final class MadeOutputs {
  /// Files that appeared, and those of them that took no other's place.
  fileprivate(set) var written: Set<String> = []
  fileprivate(set) var files: [String] = []
  private var folders: [String] = []

  /// Makes a folder where none is.
  func makeFolder(_ path: String) throws {
    guard mkdir(PathText.system(path), 0o777) != 0 else { return folders.append(path) }
    let number = errno
    guard InputWalk.isFolder(path) else { throw FileFault("create", path, number: number) }
  }

  /// Removes the files that appeared where none was.
  func removeFiles() {
    for path in files { unlink(PathText.system(path)) }
    files = []
  }

  /// Removes the folders that were made and have nothing in them.
  func removeEmptyFolders() {
    for path in folders.reversed() { rmdir(PathText.system(path)) }
    folders = []
  }
}
