package import KeyIntake

/// A document on its way in, and where it was found.
package struct FoundDocument {
  /// Its name in messages is the path of its file and, where that holds others, the entry: `archive.tgz!2020/de.zip`.
  package var document: SourceDocument
  package let place: DocumentPlace
}

/// Where a document lies.
package struct DocumentPlace: Sendable, Hashable {
  /// The file, as it was named or found in a folder that was; `-` is standard input.
  package let file: String
  /// Which of the arguments led to it, counted from 0.
  package let argument: Int
  /// Where the file lies below the folder that was named, or its name where it was named itself.
  package let path: String
  /// The entry of an archive, with `!` between archives that stand in each other; `nil` where the file is the document.
  package internal(set) var entry: String?
  /// Where its output goes below a folder of outputs, with the document's own ending: archives on the way are folders.
  package internal(set) var outputPath: String

  init(file: String, argument: Int, path: String) {
    self.file = file
    self.argument = argument
    self.path = path
    outputPath = Self.plain(path)
  }

  /// A path without characters that steer a terminal or turn the direction of text, each of which becomes `_`.
  private static func plain(_ path: String) -> String {
    func isPlain(_ scalar: Unicode.Scalar) -> Bool {
      switch scalar.value {
      case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: false
      default: true
      }
    }
    guard !path.unicodeScalars.allSatisfy(isPlain) else { return path }
    return String(String.UnicodeScalarView(path.unicodeScalars.map { isPlain($0) ? $0 : "_" }))
  }

  /// An entry of the archive that lies here.
  func entry(_ name: String) -> DocumentPlace {
    var place = self
    place.entry = entry.map { "\($0)!\(name)" } ?? name
    // An entry cannot lead out of the folder.
    let parts = name.split(separator: "/").filter { $0 != "." && $0 != ".." }
    let path = parts.isEmpty ? "entry" : parts.joined(separator: "/")
    place.outputPath = "\(outputPath)/\(Self.plain(path))"
    return place
  }

  /// The same without the ending of a compression.
  func uncompressed(_ endings: [String]) -> DocumentPlace {
    var place = self
    for ending in endings where outputPath.lowercased().hasSuffix(".\(ending)") {
      place.outputPath = String(outputPath.dropLast(ending.count + 1))
      break
    }
    return place
  }
}

/// What was met on the way and is no document: it is counted, and not read.
package struct PassedOver: Sendable, Hashable {
  /// What macOS puts into archives and folders: `__MACOSX`, `._name`, `.DS_Store`.
  package internal(set) var macFiles = 0
  /// Links in folders and archives. What they lead to within the folder is read where it is.
  package internal(set) var links = 0
  /// Devices, pipes and sockets in folders.
  package internal(set) var others = 0

  /// The folder that outputs go to, where it lies in one that is read.
  package internal(set) var outputFolders = 0

  /// Files of an archive that were no key files when they were kept: a page with an error, an index.
  package internal(set) var noKeyFiles = 0

  /// Files in folders that Keyferry publishes beside bundles: indexes, sums, proofs, the public log.
  package internal(set) var publishedFiles = 0

  package init() {}

  package var count: Int { macFiles + links + others + outputFolders + noKeyFiles + publishedFiles }

  /// - Parameter path: with its folders.
  static func isMacFile(_ path: String) -> Bool {
    path.split(separator: "/").contains { $0 == "__MACOSX" || $0 == ".DS_Store" || $0.hasPrefix("._") }
  }
}
