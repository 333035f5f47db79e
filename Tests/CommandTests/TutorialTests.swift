import Foundation
import GatewayTesting
import Testing

/// What the tutorials show is what happens, line by line, in one shell and in an empty folder.
@Suite struct TutorialTests {
  static let pages = [
    "TutorialAuditor", "TutorialResearcher", "TutorialOperator", "TutorialAppDeveloper", "TutorialAuthority",
  ]

  @Test(
    .enabled(if: Tool(named: "curl") != nil, "needs curl"),
    arguments: pages)
  func isTrue(page: String) throws {
    let place = PackageFolder.root.appending(path: "Sources/GatewayDaemon/GatewayDaemon.docc/\(page).md")
    let session = PageSession(try String(contentsOf: place, encoding: .utf8))
    #expect(session.steps.count >= 8)
    #expect(session.steps.count { !$0.output.isEmpty } >= 5, "the page shows what is printed")
    try Workshop.run { workshop in
      try session.run(
        in: workshop,
        replacing: [
          ("127.0.0.1:8080", "127.0.0.1:\(try PageSession.freePort())"),
          ("/usr/share/doc/keyferry/examples", PackageFolder.root.appending(path: "interop/deploy").path()),
        ])
    }
  }
}
