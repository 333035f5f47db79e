import Foundation
import GatewayTesting
import Testing

/// What strangers wrote steers no terminal, and what they sent is for nobody else's eyes.
@Suite struct StrangersTests {
  /// C1, an escape, and characters that turn the direction of a line around.
  private static let hostile = "a\u{9B}31m\u{1B}]0;x\u{07}\u{202E}b\u{2066}c\u{200F}"

  private func expectHarmless(_ outcome: Tool.Outcome, _ comment: Comment) {
    for text in [outcome.text, outcome.errors] {
      let harmful = text.unicodeScalars.filter { scalar in
        switch scalar.value {
        case 0x09, 0x0A: false
        case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
      }
      #expect(harmful.isEmpty, comment)
    }
  }

  @Test func namesAndValuesSteerNoTerminal() throws {
    try Workshop.run { workshop in
      let name = Self.hostile.replacing("/", with: "")
      try workshop.write(
        """
        {"keys":[{"keyData":"AAAAAAAAAAAAAAAAAAAAAA==","rollingStartNumber":2655360,"rollingPeriod":144,\
        "transmissionRiskLevel":1,"\(Self.hostile.replacing("\u{1B}", with: "\\u001b").replacing("\u{07}", with: ""))":1,\
        "origin":"\u{9B}31m","visitedCountries":["\u{202E}"]}]}
        """, name)
      for options in [[], ["--keys"], ["--json"]] {
        expectHarmless(try workshop.keyferry(["inspect", name, name] + options), "\(options)")
        expectHarmless(try workshop.keyferry(["inspect", name + "missing"] + options), "\(options)")
      }
      let json = try workshop.keyferry("inspect", "--json", name)
      let read = try JSONSerialization.jsonObject(with: Data(json.output)) as? [String: Any]
      let files = try #require(read?["files"] as? [[String: Any]])
      #expect(files.first?["name"] as? String == name)
      expectHarmless(try workshop.keyferry("convert", name, "-o", "out.zip"), "convert")
    }
  }

  @Test func onlyTheOwnerReadsWhatCameIn() throws {
    try Workshop.run { workshop in
      try workshop.write(
        """
        state: store/of/keys
        sources:
          - {name: drop, protocol: files, location: drop, trust: operator, origin: NL}
        """, "gateway.yaml")
      let drop = workshop.folder.appending(path: "drop")
      try FileManager.default.createDirectory(at: drop, withIntermediateDirectories: true)
      try workshop.write("no keys at all", "drop/broken.zip")
      try workshop.write("{}", "drop/other.json")
      let outcome = try workshop.keyferry("pull", "--config", "gateway.yaml")
      #expect(outcome.status != 64, "\(outcome.errors)")
      func modes(below folder: URL) throws -> [String: Int] {
        var modes: [String: Int] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path()) + [""] {
          let place = folder.appending(path: path).path()
          let attributes = try FileManager.default.attributesOfItem(atPath: place)
          let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
          let mode = try #require(attributes[.posixPermissions] as? Int)
          if mode & 0o077 != 0 { modes[path] = mode }
          #expect(mode & 0o700 == (isFolder ? 0o700 : 0o600) || !isFolder)
        }
        return modes
      }
      #expect(try modes(below: workshop.folder.appending(path: "store")) == [:])
      let refused = drop.appending(path: "refused")
      if FileManager.default.fileExists(atPath: refused.path()) {
        #expect(try modes(below: refused).filter { $0.key.hasSuffix(".txt") || $0.key.isEmpty } == [:])
      }
    }
  }
}
