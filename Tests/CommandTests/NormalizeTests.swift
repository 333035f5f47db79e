import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import PolicyFiles
import Testing

@Suite struct NormalizeTests {
  static let key = "00112233445566778899aabbccddeeff"
  static let columns = "key_data,rolling_start_interval_number,rolling_period,transmission_risk_level,report_type\n"
  /// Valid on 2020-11-20, and given three different ways.
  static let german = columns + "\(key),2676384,,3,1\n" + "0f0e0d0c0b0a09080706050403020100,2676384,144,3,1\n"
  static let italian = columns + "\(key),2676384,100,5,1\n" + "0f0e0d0c0b0a09080706050403020199,2676384,145,5,1\n"
  static let now = ["--now", "2020-11-25"]

  private func regions(_ body: (Workshop) throws -> Void) throws {
    try Workshop.run { workshop in
      try workshop.write(Self.german, "de.csv")
      try workshop.write(Self.italian, "it.csv")
      try body(workshop)
    }
  }

  @Test func theReceiptAddsUpLineByLine() throws {
    try regions { workshop in
      let outcome = try workshop.keyferry(
        ["normalize", "--input", "DE=de.csv,origin=DE", "--input", "IT=it.csv,policy=immuni,origin=IT", "--to", "csv"]
          + ["-o", "all.csv", "--rejected", "rejected.jsonl"] + Self.now)
      #expect(outcome.status == 1 && outcome.output.isEmpty)
      for line in [
        "it.csv: key 1: rolling period 145, allowed 1...144", "received 4 = 3 new + 0 known + 1 rejected",
        "  rejected, rolling-period-out-of-range: 1", "  allowed, rolling period absent, read as 144: 1",
        "  allowed, origin absent, read as the source's: 3",
        "believed 2 = 2 published + 0 held + 0 left out",
        "  published, claims contradicted each other, merged field by field: 1",
        "published 2 = 2 written to all.csv (csv) + 0 refused by the format",
      ] {
        #expect(outcome.errors.contains("keyferry: \(line)\n"), "\(line)\n\(outcome.errors)")
      }
      #expect(try workshop.files == ["all.csv", "de.csv", "it.csv", "rejected.jsonl"])
      let keys = try workshop.keys("all.csv")
      #expect(keys.keys.map(\.rollingPeriod) == [144, 144])
      #expect(
        try workshop.text("rejected.jsonl")
          == #"{"detail":"rolling period 145, allowed 1...144","document":"it.csv","position":1,"#
          + #""reason":"rolling-period-out-of-range","step":"admit"}"# + "\n")
    }
  }

  /// Nobody's file is emptied by a wrong name.
  @Test func aListOfRejectedKeysReplacesNoOtherFile() throws {
    try regions { workshop in
      try workshop.makeSigner()
      let key = try workshop.text("310-v1.key.pem")
      for command in ["normalize", "convert"] {
        for name in ["310-v1.key.pem", "de.csv"] {
          let outcome = try workshop.keyferry(
            [command, "it.csv", "--to", "csv", "-o", "all.csv", "--reading", "default", "--rejected", name] + Self.now)
          #expect(outcome.status == 64 && outcome.errors.contains("it stays as it is"), "\(outcome.errors)")
        }
      }
      #expect(try workshop.text("310-v1.key.pem") == key && workshop.text("de.csv") == Self.german)
      #expect(!workshop.exists("all.csv"))
      // The list of an earlier run is, and that is said; so is an empty one, of which nothing is lost.
      try workshop.write("", "rejected.jsonl")
      for isReplaced in [false, true] {
        let outcome = try workshop.keyferry(
          ["normalize", "it.csv", "--to", "csv", "-o", "all.csv", "--rejected", "rejected.jsonl"] + Self.now)
        #expect(try !workshop.bytes("rejected.jsonl").isEmpty, "\(outcome.errors)")
        #expect(outcome.errors.contains("rejected.jsonl: the list that was there is replaced") == isReplaced)
      }
    }
  }

  @Test func convertWithPoliciesDoesTheSame() throws {
    try regions { workshop in
      let rest =
        ["de.csv", "it.csv", "--to", "efgs-json", "--origin", "DE", "--default-days-since-onset", "4000"]
        + Self.now
      let normalized = try workshop.keyferry(["normalize", "-o", "a.json"] + rest)
      for option in ["--reading", "--publishing"] {
        let converted = try workshop.keyferry(["convert", "-o", "b.json", option, "default"] + rest)
        #expect(converted.status == normalized.status)
        #expect(converted.errors.replacingOccurrences(of: "b.json", with: "a.json") == normalized.errors)
        #expect(try workshop.bytes("a.json") == workshop.bytes("b.json"))
      }
      let plain = try workshop.keyferry(
        "convert", "de.csv", "it.csv", "--to", "json", "-o", "c.json")
      #expect(plain.errors.contains("4 keys read (csv), 4 keys written"))
    }
  }

  @Test func theReceiptAsJSON() throws {
    try regions { workshop in
      let outcome = try workshop.keyferry(
        ["normalize", "de.csv", "it.csv", "--to", "gaen-export", "--unsigned", "-o", "out.zip", "--json", "-q"]
          + Self.now)
      #expect(outcome.status == 1)
      let receipt = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any])
      #expect(receipt["received"] as? Int == 4 && receipt["rejected"] as? Int == 1)
      #expect(receipt["rejections"] as? [String: Int] == ["rolling-period-out-of-range": 1])
      #expect((receipt["documents"] as? [[String: Any]])?.count == 2)
      let schema = PackageFolder.root.appending(path: "schemas/receipt.schema.json")
      let root = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: schema)) as? [String: Any])
      try check(receipt, root)
      let definitions = try #require(root["$defs"] as? [String: [String: Any]])
      for document in receipt["documents"] as? [[String: Any]] ?? [] { try check(document, definitions["document"]) }
      try check(receipt["output"] as? [String: Any], definitions["output"])
    }
  }

  /// Every member that the schema requires is there, and every member that is there is in the schema.
  private func check(_ object: [String: Any]?, _ schema: [String: Any]?) throws {
    let members = Set(try #require(object).keys)
    let properties = try #require(schema?["properties"] as? [String: Any])
    #expect(members.isSubset(of: properties.keys), "\(members.subtracting(properties.keys))")
    #expect(members.isSuperset(of: schema?["required"] as? [String] ?? []))
  }

  @Test func aRegionsBundleIsSigned() throws {
    try regions { workshop in
      try workshop.makeSigner()
      let outcome = try workshop.keyferry(
        ["normalize", "--input", "DE=de.csv,origin=DE", "--region", "NL", "--to", "gaen-export", "-o", "nl.zip"]
          + ["--sign-key", "310-v1.key.pem", "--key-id", "310", "--key-version", "v1"] + Self.now)
      #expect(outcome.status == 0, "\(outcome.errors)")
      #expect(try workshop.keyferry("verify", "nl.zip", "--trust", "ring").status == 0)
      #expect(try workshop.keys("nl.zip").header.region == "NL")
      let strict = try workshop.keyferry(
        ["normalize", "--input", "DE=de.csv,origin=DE", "--region", "NL", "--publishing", "corona-warn-app", "--to"]
          + ["csv", "-o", "-"] + Self.now)
      #expect(strict.errors.contains("keyferry:   left out, other-region: 2\n"))
    }
  }

  @Test func signaturesAreAskedForWithARing() throws {
    try regions { workshop in
      try workshop.makeSigner()
      let outcome = try workshop.keyferry(
        ["normalize", "de.csv", "--to", "csv", "-o", "out.csv", "--trust", "ring", "--rejected", "r.jsonl"] + Self.now)
      #expect(outcome.status == 1 && outcome.errors.contains("csv carries no signature"))
      #expect(!workshop.exists("out.csv") && !workshop.exists("r.jsonl"))
    }
  }

  @Test func keysThatAreStillValidAreHeld() throws {
    try regions { workshop in
      let outcome = try workshop.keyferry(
        "normalize", "de.csv", "--to", "csv", "-o", "-", "--now", "2020-11-20T12:00:00Z")
      #expect(outcome.status == 0)
      #expect(outcome.errors.contains("believed 2 = 0 published + 2 held + 0 left out\n"))
      #expect(outcome.errors.contains("held, still-valid: 2, the first until 2020-11-21T02:00:00Z\n"))
    }
  }

  /// A relay that carries DE's keys adds to DE's own claim nothing but validity and regions; one that carries another's
  /// speaks for itself.
  @Test func relaysSayWhoseKeysTheyCarry() throws {
    try regions { workshop in
      for (carried, risk) in [("", 3), ("=DE+FR", 3), ("=FR", 5)] {
        let outcome = try workshop.keyferry(
          ["normalize", "--input", "DE=de.csv,origin=DE", "--input", "hub=it.csv,relay\(carried)", "--to", "csv"]
            + ["-o", "\(risk)\(carried.count).csv"] + Self.now)
        #expect(outcome.status == 1, "\(outcome.errors)")
        let levels = try workshop.keys("\(risk)\(carried.count).csv").keys.map(\.transmissionRisk)
        #expect(levels.contains(5) == (risk == 5), "\(carried)")
      }
    }
  }

  @Test func aHoldUnderTwoHoursIsAFault() throws {
    try Workshop.run { workshop in
      try workshop.write("name: mine\npublishing:\n  hold-minutes: 60\n", "bad.yaml")
      let outcome = try workshop.keyferry("policy", "check", "bad.yaml")
      #expect(outcome.status == 1)
      #expect(outcome.text.contains("bad.yaml:3:3: publishing.hold-minutes: 60, allowed 120...2880: clocks differ"))
    }
  }

  /// Nobody has published what lies in a file, and nobody has looked at its signature.
  @Test func explainPromisesNothingOfAFile() throws {
    try regions { workshop in
      let arguments = ["explain", Self.key, "de.csv"] + Self.now
      let outcome = try workshop.keyferry(arguments)
      #expect(
        outcome.text.split(separator: "\n").first?.hasSuffix("; no signature was verified") == true, "\(outcome.text)")
      #expect(outcome.text.contains("key \(Self.key): would be published, "), "\(outcome.text)")
      #expect(outcome.text.contains("\n  outcome: would be published: "))
      #expect(!outcome.text.contains("vouched for") && !outcome.text.contains(": published"), "\(outcome.text)")
      let json = try workshop.keyferry(arguments + ["--json"]).text
      #expect(json.contains("\"vouched_by\" : \"operator; no signature was verified\""), "\(json)")
      #expect(json.contains("\"answer\" : \"would be published, "), "\(json)")
    }
  }

  @Test func explain() throws {
    try regions { workshop in
      let inputs = ["--input", "DE=de.csv,origin=DE", "--input", "IT=it.csv,origin=IT"] + Self.now
      let outcome = try workshop.keyferry(["explain", Self.key] + inputs)
      #expect(outcome.status == 0 && outcome.errors.isEmpty)
      for text in [
        "de.csv, key 0 (source DE)\n", "allowed, rolling-period-absent",
        "DE, DE: counts: gives report type, rolling period, regions\n",
        "IT, IT: counts: gives report type, risk level, regions\n", "\nbundles\n", "  any other region  carries ",
      ] {
        #expect(outcome.text.contains(text), "\(text)\n\(outcome.text)")
      }
      let base64 = try workshop.keyferry(["explain", "ABEiM0RVZneImaq7zN3u/w=="] + inputs)
      #expect(base64.text.split(separator: "\n").dropFirst() == outcome.text.split(separator: "\n").dropFirst())
      let unknown = try workshop.keyferry(["explain", "ffffffff445566778899aabbccddeeff"] + inputs)
      #expect(unknown.status == 1 && unknown.output.isEmpty)
      #expect(unknown.errors == "keyferry: no input knows the key ffffffff445566778899aabbccddeeff\n")
    }
  }
}

@Suite struct PolicyTests {
  @Test func listNamesEveryPolicy() throws {
    try Workshop.run { workshop in
      let outcome = try workshop.keyferry("policy", "list")
      #expect(outcome.status == 0 && outcome.errors.isEmpty)
      let names = outcome.text.split(separator: "\n").map { String($0.prefix { $0 != " " }) }
      #expect(names == ShippedPolicies.names)
    }
  }

  @Test func everyFaultHasItsPlace() throws {
    try Workshop.run { workshop in
      try workshop.write("name: mine\npublishing:\n  risk:\n    cap: 9\n  hold: 3\n", "bad.yaml")
      let outcome = try workshop.keyferry("policy", "check", "bad.yaml")
      #expect(outcome.status == 1 && outcome.errors.isEmpty)
      #expect(outcome.text.contains("bad.yaml:4:5: publishing.risk.cap: 9, allowed 0...8\n"))
      #expect(outcome.text.contains("bad.yaml:5:3: publishing.hold: no such setting\n"))
      let use = try workshop.keyferry("policy", "show", "bad.yaml")
      #expect(use.status == 2 && use.errors.contains("bad.yaml:4:5: publishing.risk.cap: 9, allowed 0...8\n"))
      #expect(try workshop.keyferry("policy", "check", "missing.yaml").status == 2)
    }
  }

  @Test func showPrintsTheTables() throws {
    try Workshop.run { workshop in
      let text = try workshop.keyferry("policy", "show", "corona-warn-app").text
      #expect(text.contains("\nlevels by symptom status and day\n"))
      #expect(text.contains("  onset-in-range.7: "))
      #expect(text.contains(", -5...-3 level 7, -2 level 6, -1 level 5, "))
      #expect(text.contains("  not given: level 1, of DE: as sent\n  other days: level 1\n"))
      #expect(text.contains("of DE: unknown: as confirmed-test"))
      #expect(!(try workshop.keyferry("policy", "show", "efgs").text.contains("levels by")))
    }
  }

  @Test func checkFindsAHiddenNameAHoleAndARegionThatCannotBe() throws {
    try Workshop.run { workshop in
      try workshop.write(
        """
        name: efgs
        reading: { speaks-for: [Germany] }
        publishing: { risk: { derive: from-symptoms, symptoms: { onset: { above 0: 1 }, otherwise: 2 } } }
        """, "bad.yaml")
      let outcome = try workshop.keyferry("policy", "check", "bad.yaml")
      #expect(outcome.status == 1)
      #expect(outcome.text.contains("bad.yaml:1:1: name: a policy that ships is called efgs"))
      #expect(outcome.text.contains("\"GERMANY\" cannot be a region"))
      try workshop.write(
        "name: mine\npublishing: { risk: { derive: from-symptoms, symptoms: { onset: { above 0: 1 } } } }\n",
        "hole.yaml")
      let hole = try workshop.keyferry("policy", "check", "hole.yaml").text
      #expect(
        hole.contains("publishing.risk.symptoms.onset: has no entry for -14...0; name these days, or state otherwise"))
    }
  }

  @Test(arguments: ShippedPolicies.names)
  func shownPoliciesAreSound(name: String) throws {
    try Workshop.run { workshop in
      let yaml = try workshop.keyferry("policy", "show", name, "--yaml")
      #expect(yaml.text == ShippedPolicies.text(of: name))
      try workshop.write(yaml.output, "copy.yaml")
      #expect(try workshop.keyferry("policy", "check", "copy.yaml").text == "copy.yaml: sound, policy \(name)\n")
      let table = try workshop.keyferry("policy", "show", "copy.yaml")
      #expect(table.output == (try workshop.keyferry("policy", "show", name)).output)
      #expect(table.text.contains("\nadmission\n") && table.text.contains("\nbelief\n"))
      #expect(try workshop.keyferry("policy", "show", name, "--markdown").text.hasPrefix("| stage | rule |"))
    }
  }

  @Test func diffCountsKeysByWhatBecomesOfThem() throws {
    try Workshop.run { workshop in
      try workshop.write(NormalizeTests.german, "de.csv")
      let same = try workshop.keyferry(["policy", "diff", "default", "default", "de.csv"] + NormalizeTests.now)
      #expect(same.status == 0 && same.text == "0 of 2 keys fare differently\n")
      let outcome = try workshop.keyferry(["policy", "diff", "default", "efgs", "de.csv"] + NormalizeTests.now)
      #expect(outcome.status == 0)
      #expect(
        outcome.text == """
          1  published  ->  unknown
               origins: file de.csv 1
               regions: none named 1
               such as \(NormalizeTests.key)
          efgs rejects, rolling-period-absent: 1
          1 of 2 keys fare differently

          """, "\(outcome.text)")
      let json = try workshop.keyferry(["policy", "diff", "default", "efgs", "de.csv", "--json"] + NormalizeTests.now)
      #expect(try DocumentSchema(named: "policy-diff.schema.json").faults(in: Data(json.output)) == [], "\(json.text)")
      let report = try DocumentSchema(named: "policy-report.schema.json")
      try workshop.write("name: mine\npublishing:\n  hold: 3\n", "bad.yaml")
      for arguments in [["list"], ["show", "efgs"], ["check", "bad.yaml"]] {
        let outcome = try workshop.keyferry(["policy"] + arguments + ["--json"])
        #expect(try report.faults(in: Data(outcome.output)) == [], "\(outcome.text)")
      }
      #expect(outcome.errors == "keyferry: efgs: 1 key rejected at admission\n")
    }
  }
}
