import Foundation
import GatewayTesting
import Testing

/// Whom `keyferry pause` takes a word for.
@Suite("Pausing") struct PauseTests {
  private func configure(_ workshop: Workshop, source: String) throws {
    try workshop.write(
      """
      state: state
      sources:
        - {name: \(source), protocol: files, location: drop, trust: operator, origin: DE, speaks-for: [DE]}
        - {name: peer, protocol: index, location: "https://peer.example", options: {index: i.txt}, trust: operator, origin: NL}
      """, "gateway.yaml")
  }

  private func withGateway(_ body: (Workshop) throws -> Void) throws {
    try Workshop.run { workshop in
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "drop"), withIntermediateDirectories: false)
      try configure(workshop, source: "one")
      try workshop.write(NormalizeTests.german, "drop/de.csv")
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: workshop.path("drop/de.csv"))
      #expect(try workshop.keyferry("pull", "--source", "one", "--now", "2020-11-25T12:00:00Z").status == 0)
      try body(workshop)
    }
  }

  @Test(arguments: ["unn", "xx", "on", "drp"]) func aMistypedSourceIsNoOrigin(word: String) throws {
    try withGateway { workshop in
      for command in ["pause", "resume"] {
        let outcome = try workshop.keyferry(command, word)
        #expect(outcome.status == 64, "\(outcome.errors)")
        #expect(outcome.errors.contains("has no source or destination called \(word)"), "\(outcome.errors)")
        #expect(outcome.errors.contains("it has one, peer. "), "\(outcome.errors)")
        #expect(outcome.errors.contains("write origin:\(word.uppercased())"), "\(outcome.errors)")
      }
      // Said so, it is one, and known from then on.
      #expect(
        try workshop.keyferry("pause", "origin:\(word)").errors == "keyferry: origin \(word.uppercased()) is paused\n")
      #expect(try workshop.keyferry("resume", word).status == 0)
    }
  }

  @Test func anOriginOfTheConfigurationOrOfAClaimIsKnown() throws {
    try withGateway { workshop in
      for origin in ["DE", "nl"] {
        let outcome = try workshop.keyferry("pause", origin)
        #expect(outcome.errors == "keyferry: origin \(origin.uppercased()) is paused\n")
      }
      // Keys of DE are there, though nothing names it any more.
      #expect(try workshop.keyferry("resume", "DE").status == 0)
      try workshop.write("state: state\n", "gateway.yaml")
      #expect(try workshop.keyferry("pause", "DE").errors == "keyferry: origin DE is paused\n")
      #expect(try workshop.keyferry("pause", "IT").status == 64)
    }
  }

  /// `status` lists it, with its claims.
  @Test(arguments: ["one", "source:one"]) func aSourceThatWasRenamedIsPausedByItsOldName(word: String) throws {
    try withGateway { workshop in
      try configure(workshop, source: "uno")
      let outcome = try workshop.keyferry("pause", word)
      #expect(outcome.status == 0 && outcome.errors == "keyferry: source one is paused\n", "\(outcome.errors)")
      #expect(try workshop.keyferry("pause", "source:two").status == 64)
      #expect(try workshop.keyferry("resume", word).status == 0)
    }
  }
}
