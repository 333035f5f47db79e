import Foundation
import GatewayTesting
import Testing

/// `explain`, `disclose`, `erase` and `reread` of a gateway, and what `check` says of its readings, through the program.
@Suite struct KeyQuestionTests {
  static let key = NormalizeTests.key
  static let other = "0f0e0d0c0b0a09080706050403020100"
  static let noon = ["--now", "2020-11-25T12:00:00Z"]

  /// A gateway with one good file, one broken one, and two series.
  private func withGateway(_ body: (Workshop) throws -> Void) throws {
    try Workshop.run { workshop in
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "drop"), withIntermediateDirectories: false)
      try workshop.makeSigner()
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: workshop.path("310-v1.key.pem"))
      try configure(workshop)
      try drop(NormalizeTests.german, "de.csv", workshop)
      #expect(try workshop.keyferry(["pull"] + Self.noon).status == 0)
      try body(workshop)
    }
  }

  private func configure(_ workshop: Workshop, reading: String = "default") throws {
    try workshop.write(
      """
      state: state
      sources:
        - {name: drop, protocol: files, location: drop, trust: operator, origin: DE, speaks-for: [DE], reading: \(reading)}
      series:
        - {name: DE, include: [DE], region: "262", sign: [{key: {file: 310-v1.key.pem}, id: "310", version: v1}]}
        - {name: IT, include: [IT], origins: [IT], region: "222", sign: [{key: {file: 310-v1.key.pem}, id: "310", version: v1}]}
      publication: {folder: public}
      """, "gateway.yaml")
  }

  private func drop(_ text: String, _ name: String, _ workshop: Workshop) throws {
    try workshop.write(text, "drop/\(name)")
    // A file that was changed just now may still be written.
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: workshop.path("drop/\(name)"))
  }

  private func first(_ outcome: Tool.Outcome) -> String {
    String(outcome.text.split(separator: "\n").first ?? "")
  }

  @Test func theAnswerIsInTheFirstLine() throws {
    try withGateway { workshop in
      func explain(_ key: String = Self.key, at now: String = "2020-11-25T12:00:00Z") throws -> Tool.Outcome {
        try workshop.keyferry("explain", key, "--config", "gateway.yaml", "--now", now)
      }
      let before = try explain()
      #expect(before.status == 0 && before.errors.isEmpty)
      #expect(
        first(before)
          == "key \(Self.key): DE: goes out with the window that ends at 2020-11-25T12:00:00Z; IT: left out, other-region"
      )
      for text in [
        "1  source drop, origin DE, visited absent\n", "came at 2020-11-25T12:00:00Z with document 1, de.csv",
        "vouched for by operator\n", "report type 1, confirmed test, days since onset absent\n",
        "  claim 1: counts: gives report type, risk level, rolling period, regions\n",
      ] {
        #expect(before.text.contains(text), "\(text)\n\(before.text)")
      }
      #expect(try workshop.keyferry(["publish"] + Self.noon).status == 0)
      let carried = try explain()
      #expect(first(carried).hasPrefix("key \(Self.key): DE: carried since DE/"), "\(carried.text)")
      #expect(first(carried).contains(".zip, published 2020-11-25T12:00:00Z; IT: left out, other-region"))

      // A recall does not make it unknown.
      #expect(
        try workshop.keyferry(["recall", "DE", "--reason", "a test", "--by", "ada", "--yes"] + Self.noon).status == 0)
      let recalled = try explain()
      #expect(recalled.status == 0 && first(recalled).contains("withdrawn by the recall of DE"), "\(recalled.text)")
      #expect(recalled.text.contains("   withdrawn at 2020-11-25T12:00:00Z by ada: a test\n"), "\(recalled.text)")
      // The recall itself is told, before it has gone out and after.
      let word = "withdrawn by the recall of DE at 2020-11-25T12:00:00Z by ada: a test (event "
      #expect(first(recalled).contains(word), "\(recalled.text)")
      #expect(
        try workshop.keyferry("publish", "--now", "2020-11-25T18:00:00Z").status == 0)
      let after = try explain(at: "2020-11-25T18:00:00Z")
      #expect(first(after).contains("carried since ") && first(after).contains(word), "\(after.text)")
      #expect(!first(after).contains("nobody claims it"))

      // Nor does a rejection: it is told from the bytes.
      try drop(NormalizeTests.italian, "it.csv", workshop)
      _ = try workshop.keyferry(["pull"] + Self.noon)
      let rejected = try explain("0f0e0d0c0b0a09080706050403020199")
      #expect(
        first(rejected).hasSuffix("not admitted: rolling-period-out-of-range, rolling period 145, allowed 1...144"))
      #expect(rejected.status == 0 && rejected.text.contains(" of drop: it.csv@"), "\(rejected.text)")
      let unknown = try explain("ffffffff445566778899aabbccddeeff")
      #expect(unknown.status == 1 && unknown.output.isEmpty)
    }
  }

  @Test func jsonIsAsTheSchemasSay() throws {
    try withGateway { workshop in
      let schema = try DocumentSchema(named: "explanation.schema.json")
      for command in [["explain", Self.key, "--config", "gateway.yaml"], ["disclose", Self.key]] {
        let outcome = try workshop.keyferry(command + ["--json"] + Self.noon)
        #expect(outcome.status == 0 && outcome.errors.isEmpty)
        #expect(try schema.faults(in: Data(outcome.output)) == [], "\(outcome.text)")
        #expect(outcome.text.contains("\"series\" : [") == (command[0] == "explain"))
      }
      let files = try workshop.keyferry(["explain", Self.key, "drop/de.csv", "--json"] + Self.noon)
      #expect(try schema.faults(in: Data(files.output)) == [], "\(files.text)")
      let erasure = try DocumentSchema(named: "erasure.schema.json")
      let erased = try workshop.keyferry(["erase", Self.key, "--reason", "x", "--yes", "--json"] + Self.noon)
      #expect(try erasure.faults(in: Data(erased.output)) == [], "\(erased.text)")
      try configure(workshop, reading: "immuni")
      let reread = try workshop.keyferry(["reread", "drop", "--json"] + Self.noon)
      #expect(try DocumentSchema(named: "reread.schema.json").faults(in: Data(reread.output)) == [], "\(reread.text)")
    }
  }

  @Test func anErasureShowsFirstAndKeepsWhoAndWhy() throws {
    try withGateway { workshop in
      #expect(try workshop.keyferry(["publish"] + Self.noon).status == 0)
      #expect(try workshop.keyferry(["erase", Self.key] + Self.noon).status == 64)
      let shown = try workshop.keyferry(["erase", Self.key, "--reason", "request 17"] + Self.noon)
      #expect(shown.status == 0 && shown.errors.contains("hint: the same command with --yes does it"))
      #expect(shown.text.contains("would be erased: 1 claim, 0 held claims, 1 release, the bytes of 1 document (1)\n"))
      #expect(shown.text.contains("stays, since it is published: DE/"))
      #expect(try workshop.keyferry(["disclose", Self.key] + Self.noon).status == 0)

      let done = try workshop.keyferry(
        ["erase", Self.key, "--reason", "request 17", "--by", "ada", "--yes"] + Self.noon)
      #expect(done.status == 0 && done.text.contains("\nerased: 1 claim, "), "\(done.text)")
      #expect(done.text.contains("backups of "))
      #expect(try workshop.keyferry(["disclose", Self.key] + Self.noon).status == 1)
      #expect(try workshop.keyferry(["explain", Self.key, "--config", "gateway.yaml"] + Self.noon).status == 1)
      // Another key of the same document stays.
      let other = try workshop.keyferry(["disclose", Self.other] + Self.noon)
      #expect(other.status == 0 && other.text.hasPrefix("key \(Self.other): 1 claim, 1 release\n"), "\(other.text)")
      let events = try workshop.keyferry(["events"] + Self.noon).text
      #expect(events.contains("erased") && events.contains("request 17") && !events.contains(Self.key))
      let digest = "key with SHA-256 "
      #expect(events.contains(digest))
      #expect(try workshop.keyferry(["erase", Self.key, "--reason", "x", "--yes"] + Self.noon).status == 1)
    }
  }

  /// A document is judged by the policy that read it, not by one that is configured since.
  @Test func anotherPolicyThanTheOneThatReadIsTold() throws {
    try withGateway { workshop in
      func explain(_ key: String) throws -> Tool.Outcome {
        try workshop.keyferry(["explain", key, "--config", "gateway.yaml"] + Self.noon)
      }
      // Admitted then, and rejected by what is configured now.
      try workshop.write("name: strict\nreading: { rolling-period: { absent: reject } }\n", "strict.yaml")
      try configure(workshop, reading: "strict.yaml")
      let admitted = try workshop.keyferry(["disclose", Self.key] + Self.noon).text
      for text in [
        "   read by policy default; now it is strict: keyferry reread drop\n", "   admitted by policy default\n",
        "   reading it again, policy strict rejects it, rolling-period-absent: ",
      ] {
        #expect(admitted.contains(text), "\(text)\n\(admitted)")
      }
      let schema = try DocumentSchema(named: "explanation.schema.json")
      let json = try workshop.keyferry(["disclose", Self.key, "--json"] + Self.noon)
      #expect(try schema.faults(in: Data(json.output)) == [], "\(json.text)")
      #expect(json.text.contains("\"read_otherwise\" : true"))

      // Rejected then, and admitted by what is configured now. Nothing but the name of the old policy is left.
      try drop(NormalizeTests.german.replacing("0011", with: "7711"), "late.csv", workshop)
      #expect(try workshop.keyferry(["pull"] + Self.noon).status <= 1)
      let late = Self.key.replacing("0011", with: "7711")
      let before = try explain(late)
      #expect(first(before).contains("not admitted: rolling-period-absent, "), "\(before.text)")
      try workshop.write("name: strict\nreading: { rolling-period: { zero: reject } }\n", "strict.yaml")
      let rejected = try explain(late)
      #expect(
        first(rejected).contains("not admitted: policy strict as it was then read document ")
          && first(rejected).contains(
            " of drop, and nothing of it is among the claims; policy strict, which is configured now, admits it: "
              + "keyferry reread drop"),
        "\(rejected.text)")
      #expect(!rejected.text.contains("admitted by policy"), "\(rejected.text)")
      #expect(rejected.text.contains("   read by policy strict; which says something else now: keyferry reread drop\n"))
      // A policy that ships is at hand, so that its own reason is told.
      try configure(workshop, reading: "immuni")
      try drop(NormalizeTests.italian.replacing("0f0e", with: "770e"), "third.csv", workshop)
      #expect(try workshop.keyferry(["pull"] + Self.noon).status <= 1)
      try configure(workshop)
      let third = try explain("770e0d0c0b0a09080706050403020199")
      #expect(
        first(third).contains(
          "not admitted: rolling-period-out-of-range, rolling period 145, allowed 1...144, by policy immuni, which read "
        )
          && first(third).contains(" of drop; policy default, which is configured now, rejects it, "), "\(third.text)")
    }
  }

  /// What is held or in quarantine is never called admitted.
  @Test func whatWaitsIsNotAdmitted() throws {
    try withGateway { workshop in
      func explain(_ key: String) throws -> String {
        try workshop.keyferry(["explain", key, "--config", "gateway.yaml"] + Self.noon).text
      }
      try workshop.write("name: few\nreading: { flood: { most-a-day: 1 } }\n", "few.yaml")
      try configure(workshop, reading: "few.yaml")
      try drop(NormalizeTests.german.replacing("0011", with: "7711"), "late.csv", workshop)
      _ = try workshop.keyferry(["pull"] + Self.noon)
      let held = try explain(Self.key.replacing("0011", with: "7711"))
      #expect(held.contains("put aside for the operator: keyferry quarantine list"), "\(held)")
      #expect(held.contains("   held for the operator by policy few, too-many-keys-a-day\n"), "\(held)")
      #expect(!held.contains("   admitted by policy"), "\(held)")
      // A document that breaks off.
      try drop(
        // Of yesterday, so that it can still delay something.
        NormalizeTests.german.replacing("0011", with: "5511").replacing("2676384", with: "2676960") + "\"",
        "broken.csv",
        workshop)
      _ = try workshop.keyferry(["pull"] + Self.noon)
      let refused = try explain(Self.key.replacing("0011", with: "5511"))
      #expect(refused.contains("not admitted: the document is in quarantine"), "\(refused)")
      #expect(refused.contains("not admitted: no document names it but refused ones"), "\(refused)")
      #expect(refused.contains("its document is refused, so it only delays the key"), "\(refused)")
      #expect(!refused.contains("   admitted by policy"), "\(refused)")
    }
  }

  /// The bytes are gone: reading again is no advice.
  @Test func whatCannotBeReadAgainHasNoAdvice() throws {
    try withGateway { workshop in
      #expect(try workshop.keyferry(["erase", Self.other, "--reason", "x", "--yes"] + Self.noon).status == 0)
      try workshop.write("own-origins: [NL]\n" + workshop.text("gateway.yaml"), "gateway.yaml")
      let check = try workshop.keyferry(["check"] + Self.noon).text
      #expect(
        check.contains(
          "source drop: 1 document read with other settings of default, of the source or of own-origins, and the bytes are not "
            + "kept, so that what came with it stays as it was read\n"), "\(check)")
      #expect(!check.contains("keyferry reread") && !check.contains("earlier form"), "\(check)")
    }
  }

  @Test func withoutFilesTheGatewayOfTheFolderAnswers() throws {
    try withGateway { workshop in
      let told = try workshop.keyferry(["explain", Self.key] + Self.noon)
      #expect(told.status == 0 && told.errors.isEmpty && first(told).contains("DE: goes out"), "\(told.errors)")
      try workshop.write("own-origins: [DE, NL]\n" + workshop.text("gateway.yaml"), "gateway.yaml")
      try workshop.write(
        workshop.text("gateway.yaml").replacing("speaks-for: [DE]", with: "speaks-for: [DE, NL]"), "gateway.yaml")
      #expect(try workshop.keyferry(["check"] + Self.noon).text.contains("of own-origins"))
      for command in [["explain", Self.key], ["disclose", Self.key], ["erase", Self.key, "--reason", "x", "--yes"]] {
        #expect(
          try workshop.keyferry(command + Self.noon).errors == "", "\(command): warnings are told by check and run")
      }
    }
    try Workshop.run { workshop in
      let nobody = try workshop.keyferry(["explain", Self.key])
      #expect(nobody.status == 64 && nobody.errors.contains("name key files, or --config"), "\(nobody.errors)")
    }
  }

  @Test func checkSaysWhatRereadDoes() throws {
    try withGateway { workshop in
      func check() throws -> String { try workshop.keyferry(["check"] + Self.noon).text }
      #expect(!(try check().contains("reread")))
      try workshop.write(
        "name: strict\nreading: { rolling-period: { absent: reject } }\n", "strict.yaml")
      try configure(workshop, reading: "strict.yaml")
      #expect(
        try check().contains(
          "source drop: 1 document read by default, and not as strict reads now: keyferry reread drop\n"))
      let shown = try workshop.keyferry(["reread", "drop"] + Self.noon)
      #expect(shown.status == 0 && shown.errors.contains("with --yes does it"))
      #expect(shown.text.contains("1 key not read any more: DE 1\n  such as \(Self.key)\n"), "\(shown.text)")
      #expect(shown.text.contains("  rejected, rolling-period-absent: 0 before, 1 now\n"))
      #expect(try workshop.keyferry(["disclose", Self.key] + Self.noon).text.contains("1 claim, "))
      let done = try workshop.keyferry(["reread", "drop", "--yes", "--reason", "levels"] + Self.noon)
      #expect(done.status == 0, "\(done.text)\n\(done.errors)")
      #expect(!(try check().contains("reread")))
      let told = try workshop.keyferry(["explain", Self.key, "--config", "gateway.yaml"] + Self.noon)
      #expect(
        first(told).hasSuffix(
          "not admitted: rolling-period-absent, rolling period absent, and the policy reads nothing into that"))
      #expect(try workshop.keyferry(["events"] + Self.noon).text.contains("reread"))
      #expect(try workshop.keyferry(["reread", "nonsense"] + Self.noon).status == 64)
    }
  }

  /// A recall changes no published bundle, so it lists those that carry its keys, and for how long they do.
  @Test func aRecallNamesTheBundles() throws {
    try withGateway { workshop in
      func recall(_ now: String, _ more: String...) throws -> Tool.Outcome {
        try workshop.keyferry(["recall", "DE", "--config", "gateway.yaml", "--now", now] + more)
      }
      #expect(try !recall("2020-11-25T11:00:00Z").text.contains("bundle"))
      #expect(try workshop.keyferry(["publish"] + Self.noon).status == 0)
      // The edition of the day before is closed.
      let next = "2020-11-26T12:00:00Z"
      #expect(try workshop.keyferry("publish", "--now", next).status == 0)
      let shown = try recall(next)
      let lines = shown.text.split(separator: "\n").map(String.init)
      let start = try #require(lines.firstIndex { $0.contains("bundle") }, "\(shown.text)")
      #expect(
        lines[start] == "3 published bundles carry withdrawn keys; the last file is removed after 2020-12-11T00:00:00Z")
      let until = "listed until 2020-12-09T12:00:00Z, file removed after 2020-12-10T12:00:00Z"
      #expect(lines.count == start + 4, "\(shown.text)")
      let names = lines[(start + 1)...].map { String($0.dropFirst(2).prefix { $0 != ":" }) }
      for (name, end) in zip(
        names, [until, until, "listed until 2020-12-10T00:00:00Z, file removed after 2020-12-11T00:00:00Z"])
      {
        #expect(lines.contains("  \(name): 2 keys, \(end)"), "\(shown.text)")
        #expect(workshop.exists("public/\(name)"), "\(name)")
      }
      let document = try recall(next, "--json")
      #expect(try DocumentSchema(named: "recall.schema.json").faults(in: Data(document.output)) == [])
      #expect(document.text.contains("\"served_until\" : \"2020-12-10T12:00:00Z\""), "\(document.text)")

      // What no index names any more stays for a while; what is done says the same as what was shown.
      let listed = try workshop.text("gateway.yaml").replacing(
        "region: \"262\",", with: "region: \"262\", listed: 1d, grace: 2d,")
      try workshop.write(listed, "gateway.yaml")
      let later = "2020-11-26T14:00:00Z"
      #expect(try workshop.keyferry("publish", "--now", later).status == 0)
      let done = try recall("2020-11-26T14:30:00Z", "--yes")
      #expect(done.text.contains("2 claims of 1 document withdrawn\n"), "\(done.text)")
      for name in names[..<2] {
        #expect(
          done.text.contains("  \(name): 2 keys, not listed any longer, file removed after 2020-11-28T14:00:00Z\n"),
          "\(done.text)")
      }
    }
  }

  @Test func distancesAreFromNow() throws {
    try Workshop.run { workshop in
      for text in ["-2h", "+1d", "now", "-3w"] {
        let outcome = try workshop.keyferry("normalize", "-", "--to", "csv", "-o", "x.csv", "--json", "--now", text)
        #expect(outcome.status != 64, "\(text): \(outcome.errors)")
      }
      for text in [
        "-2x", "2h", "+", "yesterday", "2020-11-25T12:00:00+25:00", "-h", "2020-11-25T12", "2020-11-25T25:00",
        "2020-11-25+02:00",
        "2020-11-25T12:00+2", "2020-11-25T12:00:",
      ] {
        #expect(
          try workshop.keyferry("normalize", "-", "--to", "csv", "-o", "x.csv", "--now", text).status == 64, "\(text)")
      }
    }
  }

  @Test(arguments: [
    ("de.zip", "is no NAME=FILE, such as DE=de.zip"), ("=de.zip", "is no NAME=FILE"), ("DE=", "is no NAME=FILE"),
    ("DE=de.csv,colour=red", "there is no setting \"colour\", allowed are origin, policy, regions, relay, speaks-for"),
    ("DE=de.csv,origin=", "\"origin=\", allowed a code: origin=DE"),
    ("DE=de.csv,relay=de", "\"relay=de\", allowed nothing, or codes in capitals with + between them"),
    ("DE=de.csv,regions=DE,IT", "there is no setting \"IT\""),
    ("DE=de.csv,speaks-for=all", "\"speaks-for=all\", allowed any, or codes"),
    ("DE=de.csv,origin=DE,origin=IT", "origin is stated twice"),
    ("DE=de.csv,origin=DE,relay", "a relay's keys have no origin"),
  ])
  func whichPartOfAnInputIsWrong(input: String, reason: String) throws {
    try Workshop.run { workshop in
      try workshop.write(NormalizeTests.german, "de.csv")
      let outcome = try workshop.keyferry(
        "normalize", "--input", input, "--to", "csv", "-o", "x.csv", "--now", "2020-11-25")
      #expect(outcome.status == 64 && outcome.errors.contains(reason), "\(outcome.errors)")
    }
  }

  @Test func oldFilesAreJudgedAsWhenTheyWereNew() throws {
    try Workshop.run { workshop in
      try workshop.write(NormalizeTests.german, "de.csv")
      // Nothing says when it was new, and an empty file is no answer.
      let stale = try workshop.keyferry("normalize", "de.csv", "--to", "csv", "-o", "x.csv")
      #expect(stale.status == 2 && stale.errors.contains("every key is too old at ") && !workshop.exists("x.csv"))
      #expect(stale.errors.contains("--now says when the files were new"))
      // An export states its window.
      #expect(
        try workshop.keyferry(
          "convert", "de.csv", "--to", "gaen-export", "-o", "de.zip", "--unsigned", "--start", "2020-11-22", "--end",
          "2020-11-25", "--region", "DE", "--default-rolling-period", "144"
        ).status == 0)
      let outcome = try workshop.keyferry("normalize", "de.zip", "--to", "csv", "-o", "x.csv")
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(
        outcome.errors.contains("taken for now: 2020-11-25T00:00:00Z, where the newest window of the inputs ends"))
      #expect(outcome.errors.contains("believed 2 = 2 published + 0 held + 0 left out"))
    }
  }
}

/// Times on the command line.
@Suite struct TimeArgumentTests {
  @Test(arguments: [
    "2020-11-25T14:00:00+02:00", "2020-11-25T12:00:00Z", "2020-11-25T06:30:00-05:30", "1606305600",
    // Without a zone they are UTC, and seconds can be left out.
    "2020-11-25T12:00", "2020-11-25 12:00", "2020-11-25T12:00:00", "2020-11-25T12:00Z", "2020-11-25T14:00+02:00",
    "2020-11-25T12:00:00.5+00:00",
  ])
  func zones(text: String) throws {
    try Workshop.run { workshop in
      try workshop.write(NormalizeTests.german, "de.csv")
      let outcome = try workshop.keyferry("normalize", "de.csv", "--to", "csv", "-o", "x.csv", "--json", "--now", text)
      #expect(outcome.text.contains("\"now\" : \"2020-11-25T12:00:00Z\""), "\(outcome.text) \(outcome.errors)")
    }
  }
}
