import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import Testing

@Suite struct VerifyTests {
  private struct Report: Decodable {
    struct File: Decodable {
      struct Signature: Decodable {
        let number: Int
        let verdict: String
        let observations: [String]
        let text: String
      }
      struct Fault: Decodable { let code: String }
      let name: String
      let trusted: Bool
      let sha256: String?
      let signatures: [Signature]
      let faults: [Fault]
    }
    let reportVersion: Int
    let files: [File]

    enum CodingKeys: String, CodingKey {
      case reportVersion = "report_version"
      case files
    }
  }

  /// The ring that ships is sound, and each of its keys stands in the table of sources beside it.
  @Test func publishedKeysOfHealthAuthoritiesShip() throws {
    let rings = PackageFolder.root.appending(path: "interop/rings")
    let table = try String(contentsOf: rings.appending(path: "README.md"), encoding: .utf8)
    struct Ring: Decodable {
      struct Key: Decodable {
        let id: String
        let version: String
        let publicKey: String
      }
      let keys: [Key]
    }
    let file = rings.appending(path: "health-authorities.json")
    let keys = try JSONDecoder().decode(Ring.self, from: Data(contentsOf: file)).keys
    #expect(!keys.isEmpty)
    for key in keys { #expect(table.contains("| \(key.id) | \(key.version) | "), "\(key.id)") }
    try Workshop.run { workshop in
      for key in keys {
        // Signed by a stranger under the same name: the ring knows the name, and says that it does not verify.
        let stranger = try workshop.makeSigner(key.id, key.version)
        try write(workshop, "stranger", infos: [stranger.info]) { try sign($0, with: [stranger]) }
        let outcome = try workshop.keyferry("verify", "stranger.bin", "--trust", file.path())
        #expect(outcome.status == 1 && outcome.errors.isEmpty, "\(outcome.errors)")
        #expect(outcome.text.contains("does not verify under id \"\(key.id)\""), "\(outcome.text)")
      }
    }
  }

  /// Writes `NAME.bin` and `NAME.sig`, signed by `signatures` over the bytes as they are.
  private func write(
    _ workshop: Workshop, _ name: String, infos: [SignatureInfo],
    _ signatures: (ExportDigests) throws -> [ExportSignature]
  ) throws {
    var document = Sample.document
    document.header.signatureInfos = infos
    let bin = try ReferenceExport.encode(document)
    try workshop.write(bin, "\(name).bin")
    try workshop.write(SignatureFile.encode(try signatures(ExportDigests(of: bin))), "\(name).sig")
  }

  private func report(_ workshop: Workshop, _ arguments: String...) throws -> (status: Int32, files: [Report.File]) {
    let outcome = try workshop.keyferry(["verify", "--json"] + arguments)
    let report = try JSONDecoder().decode(Report.self, from: Data(outcome.output))
    #expect(report.reportVersion == 1)
    return (outcome.status, report.files)
  }

  @Test func exitCodes() throws {
    try Workshop.run { workshop in
      let signer = try workshop.makeSigner()
      try workshop.makeSigner("311")
      try write(workshop, "good", infos: [signer.info]) { try sign($0, with: [signer]) }
      let good = try workshop.keyferry("verify", "good.bin", "--trust", "ring")
      #expect(good.status == 0 && good.errors.isEmpty)
      #expect(good.text.hasPrefix("good.bin: verified\n  signature 1 (id \"310\", version \"v1\"): verified by "))
      let foreign = try workshop.keyferry("verify", "good.bin", "--trust", "ring/311-v1.pem")
      #expect(foreign.status == 1 && foreign.text.hasPrefix("good.bin: not verified\n"))
      try workshop.write("<html>", "page.zip")
      let mixed = try workshop.keyferry("verify", "good.bin", "page.zip", "missing.zip", "--trust", "ring")
      #expect(mixed.status == 1)
      #expect(mixed.text.contains("good.bin: verified"))
      #expect(mixed.errors.contains("page.zip: ") && mixed.errors.contains("missing.zip: "))
      try workshop.write(Sample.csv, "keys.csv")
      let unsigned = try workshop.keyferry("verify", "keys.csv", "--trust", "ring")
      #expect(unsigned.status == 1 && unsigned.text.contains("csv carries no signature that could be verified"))
      try workshop.write(Array(try workshop.bytes("good.bin").dropLast(3)), "cut.bin")
      #expect(try workshop.keyferry("verify", "cut.bin", "--trust", "ring").status == 2)
    }
  }

  @Test func standardInputAndArchives() throws {
    try Workshop.run { workshop in
      let signer = try workshop.makeSigner()
      try workshop.write(Sample.csv, "keys.csv")
      try workshop.keyferry(
        "convert", "keys.csv", "--to", "gaen-export", "-o", "a.zip", "--sign-key", "310-v1.key.pem", "--key-id",
        signer.keyID, "--key-version", signer.keyVersion)
      let outcome = try workshop.keyferry("verify", "-", "--trust", "ring", input: workshop.bytes("a.zip"))
      #expect(outcome.status == 0 && outcome.text.hasPrefix("standard input: verified\n"))
    }
  }

  @Test func ringsInEveryForm() throws {
    try Workshop.run { workshop in
      let signer = try workshop.makeSigner()
      try write(workshop, "good", infos: [signer.info]) { try sign($0, with: [signer]) }
      let spki = signer.key.publicKey.pem.split(separator: "\n").dropFirst().dropLast().joined()
      try workshop.write(#"{"keys":[{"id":"310","version":"v1","publicKey":"\#(spki)"}]}"#, "ring.json")
      for ring in ["ring", "ring/310-v1.pem", "ring.json"] {
        #expect(try workshop.keyferry("verify", "good.bin", "--trust", ring).status == 0, "\(ring)")
      }
      try workshop.write("{\"keys\":[{\"id\":1,\"untill\":2}]}", "bad.json")
      try workshop.write("no key", "bad.pem")
      try FileManager.default.createDirectory(
        at: workshop.folder.appending(path: "none"), withIntermediateDirectories: true)
      for ring in ["bad.json", "bad.pem", "none", "./nowhere"] {
        let outcome = try workshop.keyferry("verify", "good.bin", "--trust", ring)
        #expect(outcome.status == 2 && outcome.output.isEmpty, "\(ring)")
        #expect(outcome.errors.contains(ring))
      }
    }
  }

  /// Every verdict once, as one file with one signature each.
  @Test func everyVerdict() throws {
    try Workshop.run { workshop in
      let signer = try workshop.makeSigner()
      let other = try SigningIdentity(key: .generate(), keyID: "262", keyVersion: "v1")
      let spki = { (signer: SigningIdentity) in
        signer.key.publicKey.pem.split(separator: "\n").dropFirst().dropLast().joined()
      }
      try workshop.write(
        """
        {"keys":[
          {"id":"310","version":"v1","publicKey":"\(spki(signer))","from":"2020-06-01T00:00:00Z","until":"2020-07-01T00:00:00Z"},
          {"id":"262","version":"v1","publicKey":"\(spki(other))"}
        ]}
        """, "ring.json")

      func check(
        _ name: String, _ verdict: String, at time: String = "2020-06-15", info: SignatureInfo? = nil,
        by identity: SigningIdentity? = nil, change: (inout ExportSignature) -> Void = { _ in }
      ) throws {
        let info = info ?? signer.info
        try write(workshop, name, infos: [info]) { digests in
          var signatures = try sign(digests, with: [identity ?? signer])
          signatures[0].info = info
          change(&signatures[0])
          return signatures
        }
        let (status, files) = try report(workshop, "\(name).bin", "--trust", "ring.json", "--at", time)
        #expect(files.first?.signatures.map(\.verdict) == [verdict], "\(name): \(files)")
        #expect(status == (verdict == "verified" ? 0 : 1))
        #expect(files.first?.trusted == (verdict == "verified"))
      }
      let stranger = try SigningIdentity(key: .generate(), keyID: "999", keyVersion: "v1")
      try check("verified", "verified")
      try check("early", "key-not-yet-valid", at: "2020-05-31T23:59:59Z")
      try check("late", "key-no-longer-valid", at: "2020-07-01")
      try check("unknown", "unknown-key", info: stranger.info, by: stranger)
      try check("foreign", "does-not-verify", by: stranger)
      try check("other", "verified-with-other-identity", by: other)
      var named = signer.info
      named.signatureAlgorithm = "SHA256withECDSA"
      try check("named", "wrong-algorithm", info: named)
      try check("garbage", "malformed-signature") { $0.signature = [1, 2, 3] }
      try check("raw", "raw-signature") { $0.signature = raw($0.signature) }
      try check("long", "non-canonical-der") { $0.signature = [0x30, 0x81] + $0.signature.dropFirst() }

      // Over the body without its sixteen bytes.
      var document = Sample.document
      document.header.signatureInfos = [signer.info]
      let bin = try ReferenceExport.encode(document)
      try workshop.write(bin, "body.bin")
      try workshop.write(
        SignatureFile.encode(try sign(ExportDigests(of: Array(bin.dropFirst(16))), with: [signer])), "body.sig")
      let (_, files) = try report(workshop, "body.bin", "--trust", "ring.json", "--at", "2020-06-15")
      #expect(files.first?.signatures.map(\.verdict) == ["signature-over-body"])
      #expect(files.first?.sha256 == ExportDigests(of: bin).hexadecimal)
    }
  }

  @Test func faultsOfTheWholeFile() throws {
    try Workshop.run { workshop in
      let signer = try workshop.makeSigner()
      let other = try workshop.makeSigner("262")
      try write(workshop, "fewer", infos: [signer.info, other.info]) { try sign($0, with: [signer]) }
      try write(workshop, "none", infos: [signer.info]) { _ in [] }
      let (status, files) = try report(workshop, "fewer.bin", "none.bin", "--trust", "ring")
      #expect(status == 1)
      #expect(files.map(\.trusted) == [true, false])
      #expect(files[0].faults.map(\.code).contains("fewer-signatures-than-infos"))
      #expect(files[0].faults.map(\.code).contains("info-without-signature"))
      #expect(files[1].faults.map(\.code).contains("no-signatures"))
    }
  }

  /// The two numbers of a DER signature, 32 bytes each.
  private func raw(_ der: [UInt8]) -> [UInt8] {
    let first = Int(der[3])
    let numbers = [der[4..<4 + first], der[(6 + first)...]]
    return numbers.flatMap { number in
      let digits = number.drop { $0 == 0 }
      return [UInt8](repeating: 0, count: 32 - digits.count) + digits
    }
  }
}
