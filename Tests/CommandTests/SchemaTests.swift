import BundleTrust
import Foundation
import GatewayTesting
import KeyInspection
import KeyStorage
import Testing

/// What `--json` prints is what the schemas say.
@Suite struct SchemaTests {
  /// The schema of `events --json` lists each kind of event, and no other.
  @Test func eventsAreThoseOfTheLedger() throws {
    let place = PackageFolder.root.appending(path: "schemas/events.schema.json")
    let text = try String(contentsOf: place, encoding: .utf8)
    let quoted = Set(text.matches(of: /"([a-z-]+)"/).map { String($0.output.1) })
    #expect(Set(EventKind.allCases.map(\.rawValue)).subtracting(quoted) == [])
  }

  @Test func verification() throws {
    let schema = try DocumentSchema(named: "verification.schema.json")
    try Workshop.run { workshop in
      let signer = try workshop.makeSigner()
      try workshop.write(Sample.csv, "keys.csv")
      let convert = ["convert", "keys.csv", "--to", "gaen-export", "-o"]
      try workshop.keyferry(
        convert + [
          "good.zip", "--sign-key", "310-v1.key.pem", "--key-id", signer.keyID, "--key-version", signer.keyVersion,
        ])
      try workshop.keyferry(convert + ["bare.bin", "--unsigned"])
      let outcome = try workshop.keyferry("verify", "good.zip", "bare.bin", "keys.csv", "--trust", "ring", "--json")
      #expect(outcome.status == 1)
      #expect(try schema.faults(in: Data(outcome.output)) == [])
      for profile in DeviceProfile.allCases {
        let judged = try workshop.keyferry(
          "verify", "good.zip", "bare.bin", "keys.csv", "--trust", "ring", "--json", "--profile", profile.rawValue)
        #expect(judged.text.contains("\"skipped_keys\""))
        #expect(try schema.faults(in: Data(judged.output)) == [], "\(profile)")
      }
    }
  }

  @Test func verificationCodesAreAllListed() throws {
    let schema = try DocumentSchema(named: "verification.schema.json")
    let verdicts = Set(BundleTrust.SignatureVerdict.Code.allCases.map(\.rawValue))
    #expect(schema.values(of: "verdict", in: "signature") == verdicts)
    #expect(schema.values(of: "observations", in: "signature") == verdicts)
    let faults = Set(SignatureReportFault.Code.allCases.map(\.rawValue))
    #expect(schema.values(of: "code", in: "fault") == faults.union(["info-without-signature", "not-signed-format"]))
    #expect(schema.values(of: "profile", in: "profile") == Set(DeviceProfile.allCases.map(\.rawValue)))
    #expect(schema.values(of: "verdict", in: "profile") == Set(ProfileReport.Verdict.allCases.map(\.rawValue)))
    #expect(schema.values(of: "outcome", in: "rule") == Set(ProfileReport.Outcome.allCases.map(\.rawValue)))
    #expect(schema.values(of: "rule", in: "rule") == Set(ProfileRule.allCases.map(\.rawValue)))
  }

  @Test func whatIsMadeAndPaused() throws {
    try Workshop.run { workshop in
      let made = try workshop.keyferry(
        "init", "gateway", "--region", "NL", "--key-id", "204", "--json")
      #expect(made.status == 0 && made.errors.isEmpty, "\(made.errors)")
      #expect(try DocumentSchema(named: "init.schema.json").faults(in: Data(made.output)) == [])
      #expect(made.text.contains("\"gateway/secrets/NL-v1.key.pem\"") && !made.text.contains("PRIVATE KEY-----"))
      let schema = try DocumentSchema(named: "pause.schema.json")
      let config = ["--config", "gateway/gateway.yaml", "--json"]
      try workshop.keyferry("pull", "--config", "gateway/gateway.yaml")
      for (command, more, status, words) in [
        ("pause", ["--reason", "moves"], Int32(0), ["\"paused\" : true", "\"changed\" : true", "\"moves\""]),
        ("pause", [], 0, ["\"paused\" : true", "\"changed\" : false"]),
        ("resume", ["--by", "eva"], 0, ["\"paused\" : false", "\"changed\" : true", "\"eva\""]),
        ("resume", [], 1, ["\"paused\" : false", "\"changed\" : false"]),
      ] {
        let outcome = try workshop.keyferry([command, "drop"] + more + config)
        #expect(outcome.status == status && outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(try schema.faults(in: Data(outcome.output)) == [])
        for word in words { #expect(outcome.text.contains(word), "\(outcome.text)") }
      }
    }
  }

  @Test func tables() throws {
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "keys.csv")
      try workshop.write("<html>", "page")
      let outcome = try workshop.keyferry("tables", "keys.csv", "page", "-o", "keys.sqlite", "--json")
      #expect(outcome.status == 1)
      #expect(try DocumentSchema(named: "tables.schema.json").faults(in: Data(outcome.output)) == [])
      #expect(outcome.text.contains("\"unreadable\" : 1") && outcome.text.contains("\"documents\" : 1"))
    }
  }

  @Test func inspection() throws {
    let schema = try DocumentSchema(named: "inspection.schema.json")
    try Workshop.run { workshop in
      try workshop.write(Sample.csv, "keys.csv")
      try workshop.write(Sample.json, "keys.json")
      try workshop.write(Sample.batch, "keys.bin")
      try workshop.keyferry("convert", "keys.csv", "--to", "gaen-export", "-o", "bundle.zip", "--unsigned")
      let outcome = try workshop.keyferry("inspect", "bundle.zip", "keys.csv", "keys.json", "keys.bin", "--json")
      #expect(outcome.status == 0)
      #expect(try schema.faults(in: Data(outcome.output)) == [])
      try workshop.write("<html>", "page")
      for options in [[], ["--summary"]] {
        let some = try workshop.keyferry(["inspect", "bundle.zip", "page", "nowhere", "--json"] + options)
        #expect(some.status == 1 && some.text.contains("\"unreadable\" : 2"))
        #expect(try schema.faults(in: Data(some.output)) == [])
      }
    }
  }

  @Test func aWrongDocumentHasFaults() throws {
    let schema = try DocumentSchema(named: "verification.schema.json")
    func faults(_ document: String) throws -> [String] { try schema.faults(in: Data(document.utf8)) }
    #expect(try faults(#"{"report_version":1,"files":[],"unreadable":[]}"#) == [])
    #expect(try !faults(#"{"report_version":2,"files":[],"unreadable":[]}"#).isEmpty)
    #expect(try !faults(#"{"report_version":1}"#).isEmpty)
    #expect(try !faults(#"{"report_version":1,"files":[],"unreadable":[],"more":0}"#).isEmpty)
    #expect(try !faults(#"{"report_version":1,"files":{},"unreadable":[]}"#).isEmpty)
    let file = #"{"name":"a","trusted":true,"signatures":[],"faults":[{"code":"CODE","text":""}]}"#
    let document = { (code: String) in
      #"{"report_version":1,"files":[FILE],"unreadable":[]}"#.replacing(
        "FILE", with: file.replacing("CODE", with: code))
    }
    #expect(try faults(document("no-signatures")) == [])
    #expect(try !faults(document("unheard-of")).isEmpty)
  }

  @Test func registrationAndSigning() throws {
    let (registration, signing) = (
      try DocumentSchema(named: "registration.schema.json"), try DocumentSchema(named: "signing.schema.json")
    )
    try Workshop.run { workshop in
      let made = try workshop.keyferry(
        "keygen", "-o", "key.pem", "--public-key", "public.pem", "--key-id", "228", "--key-version", "v2",
        "--app-bundle-id", "org.example.app", "--android-package", "org.example", "--country", "CH", "--mcc", "228",
        "--json")
      #expect(made.status == 0 && made.errors.isEmpty, "\(made.errors)")
      #expect(try registration.faults(in: Data(made.output)) == [], "\(made.text)")
      #expect(made.text.contains("\"private_key_file\" : \"key.pem\"") && !made.text.contains("PRIVATE KEY-----"))
      let bare = try workshop.keyferry("keygen", "-o", "bare.pem", "--json")
      #expect(try registration.faults(in: Data(bare.output)) == [], "\(bare.text)")

      try workshop.write(Sample.csv, "keys.csv")
      try workshop.keyferry("convert", "keys.csv", "--to", "gaen-export", "-o", "bare.bin", "--unsigned")
      let sign = [
        "sign", "bare.bin", "--sign-key", "key.pem", "--key-id", "228", "--key-version", "v2", "--json", "-o",
      ]
      let signed = try workshop.keyferry(sign + ["signed.zip"])
      #expect(signed.status == 0 && signed.errors.isEmpty, "\(signed.errors)")
      #expect(try signing.faults(in: Data(signed.output)) == [], "\(signed.text)")
      #expect(try workshop.keyferry(sign + ["-"]).status == 64)

      try workshop.write(
        """
        state: state
        series:
          - {name: CH, include: [CH], region: "228", sign: [{key: {file: key.pem}, id: "228", version: v2}]}
        publication: {folder: public}
        server: {listen: "127.0.0.1:0", url: "https://keys.example.org"}
        """, "gateway.yaml")
      let told = try workshop.keyferry("registration", "--config", "gateway.yaml", "--json")
      #expect(told.status == 0, "\(told.errors)")
      #expect(try registration.faults(in: Data(told.output)) == [], "\(told.text)")
      #expect(told.text.contains("\"series\" : \"CH\"") && told.text.contains("/CH/index.txt"))
    }
  }

  @Test func warningsOfPoliciesAreInTheReport() throws {
    let schema = try DocumentSchema(named: "policy-report.schema.json")
    try Workshop.run { workshop in
      try workshop.write("name: mine\nreading: {speaks-for: any}\npublishing: {precedence: [DE]}\n", "mine.yaml")
      let outcome = try workshop.keyferry("policy", "check", "mine.yaml", "--json")
      #expect(outcome.status == 0)
      #expect(try schema.faults(in: Data(outcome.output)) == [], "\(outcome.text)")
      for place in ["reading.speaks-for", "publishing.precedence"] { #expect(outcome.text.contains("\"\(place)\"")) }
    }
  }

  /// The index of the folder names every file in it.
  @Test func theIndexIsComplete() throws {
    let folder = PackageFolder.root.appending(path: "schemas")
    let index = try String(contentsOf: folder.appending(path: "README.md"), encoding: .utf8)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path()) where name != "README.md" {
      #expect(index.contains("(\(name))"), "\(name)")
    }
  }

  @Test func formats() throws {
    try Workshop.run { workshop in
      let outcome = try workshop.keyferry("formats", "--json")
      #expect(outcome.status == 0)
      #expect(try DocumentSchema(named: "formats.schema.json").faults(in: Data(outcome.output)) == [])
    }
  }
}
