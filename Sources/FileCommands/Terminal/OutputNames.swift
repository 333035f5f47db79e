internal import ArgumentParser
internal import Containers
internal import KeyIntake

/// The names of many outputs in one folder: those of their documents, in folders as those of the documents, with the ending
/// of the format. No two are the same.
struct OutputNames {
  private let folder: String
  private let ending: String
  private var taken: Set<String> = []
  /// By path, the number that was given last.
  private var numbers: [String: Int] = [:]
  private var folders: Set<String> = [""]

  /// - Parameter arguments: what is named on the command line. Two files of which one would be written over the other are
  ///   refused before anything is written.
  /// - Throws: `ValidationError`.
  init(_ folder: String, ending: String, arguments: [String]) throws {
    self.folder = folder
    self.ending = ending
    var outputs: [String: String] = [:]
    for argument in arguments where !InputWalk.isFolder(argument) && !Self.looksLikeContainer(argument) {
      let name = argument == "-" ? "stdin" : argument.split(separator: "/").last.map(String.init) ?? argument
      let output = "\(folder)/\(Self.stem(name)).\(ending)"
      if let other = outputs[output] {
        throw ValidationError(
          "\(other) and \(argument) would both become \(output); convert them into separate folders")
      }
      outputs[output] = argument
    }
  }

  /// The output of a document. Its folders are made.
  ///
  /// Where `a.csv` has taken the name, `a.json` becomes `a.json.csv`, and the next one `a.json-2.csv`.
  mutating func make(for place: DocumentPlace, noting made: MadeOutputs) throws -> String {
    let parts = place.outputPath.split(separator: "/").map(String.init)
    let name = parts.last ?? "keys"
    try makeFolders(parts.dropLast(), made)
    let prefix = parts.dropLast().map { "\($0)/" }.joined()
    for candidate in [Self.stem(name), name] {
      let path = "\(prefix)\(candidate).\(ending)"
      if taken.insert(path).inserted { return "\(folder)/\(path)" }
    }
    // An archive may have any number of one name.
    var number = numbers["\(prefix)\(name)"] ?? 1
    while true {
      number += 1
      let path = "\(prefix)\(name)-\(number).\(ending)"
      guard taken.insert(path).inserted else { continue }
      numbers["\(prefix)\(name)"] = number
      return "\(folder)/\(path)"
    }
  }

  private mutating func makeFolders(_ parts: ArraySlice<String>, _ made: MadeOutputs) throws {
    var path = ""
    for part in parts {
      path += path.isEmpty ? part : "/\(part)"
      guard folders.insert(path).inserted else { continue }
      try made.makeFolder("\(folder)/\(path)")
    }
  }

  /// A name without its ending.
  private static func stem(_ name: String) -> String {
    name.lastIndex(of: ".").map { $0 == name.startIndex ? name : String(name[..<$0]) } ?? name
  }

  /// Its documents are named by what they are called in it.
  private static func looksLikeContainer(_ path: String) -> Bool {
    let name = path.lowercased()
    return [".tar", ".tgz", ".tbz2", ".txz", ".tzst", ".gz", ".bz2", ".xz", ".zst", ".zip"]
      .contains { name.hasSuffix($0) }
  }
}
