import Foundation
import GatewayTesting
import Testing

@testable import GatewaySettings

/// Folders that must not be each other.
@Suite struct FolderTests {
  private func faults(_ location: String, files: MemoryFiles = Fixture.files, more: String = "") -> [String] {
    let text = """
      state: /s/state
      sources:
        - {name: drop, protocol: files, location: \(location), trust: operator, origin: DE}
      series: [{name: DE, sign: [{key: {file: a.key}, id: "262", version: v1}]}]
      publication: {folder: /s/public}
      log: {name: a, state: /s/log}
      \(more)
      """
    do throws(GatewayFaults) {
      return try Fixture.parse(text, files: files).warnings.map(\.description)
    } catch {
      return error.all.map(\.description)
    }
  }

  @Test(arguments: [
    ("/s/state", "apart from state, /s/state"), ("/s", "apart from state, /s/state"),
    ("/s/state/drop", "apart from state, /s/state"), ("/s/public", "apart from publication.folder, /s/public"),
    ("/s/public/DE", "apart from publication.folder, /s/public"), ("/s/log", "apart from log.state, /s/log"),
    ("/", "apart from state, /s/state"), (".", "without /etc/k/gateway.yaml"),
    ("/etc/k", "without /etc/k/gateway.yaml"),
  ]) func aSourceDoesNotReadTheGatewaysOwnFolders(location: String, words: String) {
    let found = faults(location)
    #expect(found.contains { $0.contains("error: sources.drop.location: ") && $0.contains(words) }, "\(found)")
  }

  @Test func nothingIsSaidOfOthers() {
    for location in ["drop", "/etc/k/drop", "/s/states", "/s/drop", "/etc"] {
      #expect(!faults(location).contains { $0.contains("sources.drop.location") }, "\(faults(location))")
    }
  }

  @Test func linksAreFollowed() {
    var files = Fixture.files
    files.links = ["/in": "/s/state", "/etc/k/keys-too": "/etc/k"]
    #expect(faults("/in", files: files).contains { $0.contains("/in (/s/state), allowed a folder apart from state") })
    #expect(faults("keys-too", files: files).contains { $0.contains("without /etc/k/gateway.yaml") })
  }

  @Test func whatIsPublishedHasNoSecretAndNoStore() {
    var files = Fixture.files
    files.links = ["/p": "/s"]
    for (folder, words) in [
      ("/p", "/p (/s), allowed a folder apart from state, /s/state"), ("/etc/k", "which everybody could read"),
      (".", "which everybody could read"), ("/etc", "which everybody could read"),
    ] {
      let text = """
        state: /s/state
        series: [{name: DE, sign: [{key: {file: a.key}, id: "262", version: v1}]}]
        publication: {folder: \(folder)}
        """
      do throws(GatewayFaults) {
        _ = try Fixture.parse(text, files: files)
        Issue.record("\(folder)")
      } catch {
        #expect(error.all.contains { $0.place == "publication.folder" && $0.reason.contains(words) }, "\(error)")
      }
    }
  }

  /// The system's own answers.
  @Test func realPathsAreThoseOfTheSystem() throws {
    try withTemporaryFolder { folder in
      let root = SystemFiles().realPath(of: folder.path())
      try FileManager.default.createDirectory(
        at: folder.appending(path: "state/deep"), withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: folder.appending(path: "link").path(), withDestinationPath: "state")
      let files = SystemFiles()
      #expect(files.realPath(of: "\(root)/link/deep") == "\(root)/state/deep")
      #expect(files.realPath(of: "\(root)/link/new/er") == "\(root)/state/new/er")
      #expect(files.realPath(of: "\(root)/state/../link/") == "\(root)/state")
      #expect(files.realPath(of: "/nothing/of/it") == "/nothing/of/it")
      #expect(files.realPath(of: "nothing").hasSuffix("/nothing") && files.realPath(of: "nothing").hasPrefix("/"))
      #expect(files.realPath(of: "/") == "/")
    }
  }
}
