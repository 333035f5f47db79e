package import Foundation

/// Files of real systems, which are no part of the package: beside it in `../shared/data`, or where
/// `KEYFERRY_REAL_DATA` says. Tests that read them are skipped where there are none:
///
///     @Test(.enabled(if: RealData.isPresent, "\(RealData.howToEnable)")) func …
package enum RealData {
  /// `nil` where there is no such folder.
  package static let folder: URL? = {
    let given = ProcessInfo.processInfo.environment["KEYFERRY_REAL_DATA"].map { URL(filePath: $0) }
    let place = given ?? PackageFolder.root.deletingLastPathComponent().appending(path: "shared/data")
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: place.path(), isDirectory: &isDirectory), isDirectory.boolValue else {
      print("no real data at \(place.path()): tests that read it are skipped; \(howToEnable)")
      return nil
    }
    return place
  }()

  package static var isPresent: Bool { folder != nil }

  package static let howToEnable = "set KEYFERRY_REAL_DATA to the folder of real files to run it"

  /// The file's bytes; `nil` where there is no real data.
  package static func bytes(of path: String) throws -> [UInt8]? {
    try folder.map { Array(try Data(contentsOf: $0.appending(path: path))) }
  }

  /// Paths, relative to the folder, of all files with one of these endings (`["zip", "bin"]`), in alphabetical order.
  package static func files(endingWith endings: Set<String>) -> [String] {
    guard let folder else { return [] }
    let all = FileManager.default.enumerator(atPath: folder.path())
    let paths = (all?.compactMap { $0 as? String } ?? [])
    return paths.filter { endings.contains(URL(filePath: $0).pathExtension) }.sorted()
  }
}

/// Where the package's own files are, for tests that read vectors, schemas and the manual.
package enum PackageFolder {
  package static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
}
