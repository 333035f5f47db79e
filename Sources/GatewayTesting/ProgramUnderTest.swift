internal import Foundation

/// The `keyferry` that the command and end-to-end tests run.
package enum ProgramUnderTest {
  /// The variable that names another program than the one built beside the tests, such as a release build.
  package static let variable = "KEYFERRY_PROGRAM"

  /// The program's path; `nil` if it was not built.
  ///
  /// `KEYFERRY_PROGRAM` wins. A path that does not lead to an executable counts as not built, so that a mistyped name
  /// fails the tests instead of testing another program.
  package static let path: String? = {
    let isExecutable = FileManager.default.isExecutableFile
    if let stated = ProcessInfo.processInfo.environment[variable] {
      let path = URL(filePath: stated).standardizedFileURL.path(percentEncoded: false)
      return isExecutable(path) ? path : nil
    }
    let bundles = CommandLine.arguments.filter { $0.contains(".xctest") }.map { URL(filePath: $0) }
    let folders = bundles.flatMap { bundle in
      // On Linux the bundle is a file in the folder of products; elsewhere it is a folder inside it.
      (1...4).map { (0..<$0).reduce(bundle) { folder, _ in folder.deletingLastPathComponent() } }
    }
    return (folders + [PackageFolder.root.appending(path: ".build/debug")])
      .map { $0.appending(path: "keyferry").path(percentEncoded: false) }
      .first(where: isExecutable)
  }()
}
