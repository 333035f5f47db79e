import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import Testing

/// `trust`, `sign-batch` and `verify-batch`, as an operator and two countries run them.
@Suite(.enabled(if: Tool(named: "openssl") != nil, "needs openssl: apt-get install openssl"))
struct FederationCommandTests {
  /// Certificates of an operator and of two countries, and batches of their keys.
  private func federation(_ body: (Workshop) throws -> Void) throws {
    try Workshop.run { workshop in
      for (name, subject) in [("operator", "/CN=test operator"), ("de", "/C=DE/CN=de"), ("fr", "/C=FR/CN=fr")] {
        try workshop.openssl(
          "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-subj", subject, "-days",
          "60", "-keyout", "\(name).key.pem", "-out", "\(name).pem")
      }
      let batch = try self.batch("DE", count: 60)
      try workshop.write(batch.bytes(as: .efgsProtobuf), "batch.bin")
      try workshop.write(batch.bytes(as: .efgsJSON), "batch.json")
      try body(workshop)
    }
  }

  private func batch(_ origin: String, count: Int) throws -> DecodedDocument {
    var random = SeededRandom(seed: 7)
    var document = RandomKeys(.plausible).document(count, using: &random)
    document.header.signatureInfos = []
    for index in document.keys.indices {
      let claim = RegionClaim(origin: origin, visited: index % 2 == 0 ? ["IT", "AT"] : ["FR"])
      document.keys[index].regions = document.regions.intern(claim) ?? .none
      document.keys[index].isRevised = false
    }
    return document
  }

  private func makeTrust(_ workshop: Workshop) throws {
    try workshop.succeed("trust", "add", "trust.json", "--anchor", "operator.pem")
    try workshop.succeed("trust", "add", "trust.json", "de.pem", "--country", "DE", "--use", "signing")
    try workshop.succeed("trust", "sign", "trust.json", "--key", "operator.key.pem")
  }

  private func thumbprint(_ name: String, _ workshop: Workshop) throws -> String {
    try FederationCertificate(pem: workshop.text(name)).thumbprint
  }

  @Test func aTrustFileFromBeginningToEnd() throws {
    try federation { workshop in
      let de = try thumbprint("de.pem", workshop)
      try workshop.succeed("trust", "add", "trust.json", "--anchor", "operator.pem")
      let added = try workshop.keyferry("trust", "add", "trust.json", "de.pem", "--country", "DE", "--use", "signing")
      #expect(added.status == 0 && added.text == "DE SIGNING \(de)\n" && added.errors.contains("hint: it counts once"))
      let unsigned = try workshop.keyferry("trust", "check", "trust.json")
      let verbose = try workshop.keyferry("trust", "check", "trust.json", "-v")
      #expect(verbose.text == unsigned.text && unsigned.errors.isEmpty)
      #expect(verbose.errors.hasPrefix("keyferry: trust file trust.json: "), "\(verbose.errors)")
      #expect(unsigned.status == 1 && unsigned.text.contains("the operator has not signed it"))
      #expect(try workshop.keyferry("trust", "sign", "trust.json", "--key", "operator.key.pem").text.contains(de))
      let again = try workshop.keyferry("trust", "sign", "trust.json", "--key", "operator.key.pem")
      #expect(again.status == 0 && again.text.isEmpty && again.errors.contains("all of them are signed"))
      // The operator signs elsewhere.
      try workshop.openssl("dgst", "-sha256", "-sign", "operator.key.pem", "-out", "fr.sig", "fr.pem")
      try workshop.succeed(
        "trust", "add", "trust.json", "fr.pem", "--country", "FR", "--use", "callback", "--host", "fr.example",
        "--operator-signature", "fr.sig")
      let whole = try workshop.keyferry("trust", "check", "trust.json")
      #expect(whole.status == 0 && whole.text == "2 of 2 certificates count\n")
      let soon = try workshop.keyferry("trust", "check", "trust.json", "--at", "+40d")
      #expect(soon.status == 0 && soon.text.contains("soon: DE SIGNING \(de): expires"))
      let late = try workshop.keyferry("trust", "check", "trust.json", "--at", "+61d")
      #expect(late.status == 1 && late.text.contains("fault: DE SIGNING \(de): expired"))
      let list = try workshop.keyferry("trust", "list", "trust.json")
      #expect(list.text.contains(de) && list.text.contains("fr.example") && list.text.contains("C=DE"))
      try workshop.succeed("trust", "revoke", "trust.json", String(de.prefix(10)))
      let revoked = try workshop.keyferry("trust", "list", "trust.json").text
      #expect(revoked.split(separator: "\n").contains { $0.contains(" revoked ") && $0.contains(de) })
      let trust = try FederationTrust(json: workshop.bytes("trust.json"))
      #expect(trust.rows.map(\.isRevoked) == [true, false] && trust.rows.allSatisfy(trust.isSigned))
    }
  }

  @Test func whatMustNotBeAddedIsRefused() throws {
    try federation { workshop in
      try makeTrust(workshop)
      let before = try workshop.bytes("trust.json")
      func refused(_ arguments: String..., words: String, status: Int32 = 2) throws {
        let outcome = try workshop.keyferry(["trust"] + arguments)
        #expect(outcome.status == status && outcome.errors.contains(words), "\(arguments): \(outcome.errors)")
        #expect(try workshop.bytes("trust.json") == before)
      }
      try refused("add", "trust.json", "de.pem", "--country", "DE", "--use", "signing", words: "already")
      try refused("add", "trust.json", "fr.pem", "--country", "DE", "--use", "signing", words: "names the country FR")
      try refused(
        "add", "trust.json", "fr.key.pem", "--country", "FR", "--use", "signing", words: "expected CERTIFICATE")
      try refused("add", "trust.json", "--anchor", "de.pem", words: "has another anchor")
      try refused("add", "trust.json", "--anchor", "operator.pem", words: "already")
      try workshop.openssl("dgst", "-sha256", "-sign", "de.key.pem", "-out", "fr.sig", "fr.pem")
      try refused(
        "add", "trust.json", "fr.pem", "--country", "FR", "--use", "signing", "--operator-signature", "fr.sig",
        words: "no signature by the anchor")
      try refused("sign", "trust.json", "--key", "de.key.pem", words: "does not belong")
      try refused("revoke", "trust.json", "00000000", words: "no certificate")
      try refused("revoke", "trust.json", "ABCDEF01", words: "lower-case", status: 64)
      try refused("add", "trust.json", "fr.pem", words: "--country", status: 64)
      try refused("add", "trust.json", "fr.pem", "--country", "FR", "--use", "callback", words: "--host", status: 64)
      try refused("add", "new.json", "fr.pem", "--country", "FR", "--use", "signing", words: "begin it with --anchor")
      #expect(!workshop.exists("new.json"))
    }
  }

  @Test func aDamagedFileIsNotUsed() throws {
    try federation { workshop in
      try makeTrust(workshop)
      let de = try thumbprint("de.pem", workshop)
      try workshop.write(try workshop.text("trust.json").replacing(de, with: de.uppercased()), "trust.json")
      let check = try workshop.keyferry("trust", "check", "trust.json")
      #expect(check.status == 1 && check.text.contains("certificates[0].thumbprint"))
      for arguments in [
        ["sign", "trust.json", "--key", "operator.key.pem"], ["revoke", "trust.json", String(de.prefix(8))],
      ] {
        let outcome = try workshop.keyferry(["trust"] + arguments)
        #expect(outcome.status == 2 && outcome.errors.contains("trust.json: certificates[0].thumbprint"))
      }
    }
  }

  @Test func aSignedBatchVerifiesAsProtobufAndAsJSON() throws {
    try federation { workshop in
      try makeTrust(workshop)
      let signed = try workshop.keyferry(
        "sign-batch", "batch.bin", "--certificate", "de.pem", "--key", "de.key.pem", "-o", "signature.txt")
      #expect(signed.status == 0 && signed.text.isEmpty && signed.errors.contains("60 keys of DE"))
      for batch in ["batch.bin", "batch.json"] {
        let outcome = try workshop.keyferry(
          "verify-batch", batch, "--signature", "signature.txt", "--trust", "trust.json")
        #expect(outcome.status == 0 && outcome.text.contains("verified, 60 keys signed by DE"), "\(outcome.errors)")
      }
      let text = try workshop.text("signature.txt").trimmingCharacters(in: .newlines)
      for end in ["", "\n", "\r\n", "\r\n\r\n"] {
        try workshop.write(text + end, "ended.txt")
        let outcome = try workshop.keyferry(
          "verify-batch", "batch.bin", "--signature", "ended.txt", "--trust", "trust.json")
        #expect(outcome.status == 0, "\(end.debugDescription): \(outcome.text)")
      }
      let again = try workshop.keyferry(
        "sign-batch", "batch.bin", "--certificate", "de.pem", "--key", "de.key.pem", "-o", "signature.txt")
      #expect(again.status == 2 && again.errors.contains("would be overwritten"))
      // OpenSSL signs what is told to be canonical, and takes what we have signed.
      let printed = try workshop.keyferry("sign-batch", "batch.json", "--certificate", "de.pem", "--key", "de.key.pem")
      let header = printed.text.trimmingCharacters(in: .newlines)
      try workshop.write(HeaderBase64.decode(header, limit: 4096), "ours.der")
      let batch = try self.batch("DE", count: 60)
      let canonical = try batch.keys.withUnsafeBufferPointer {
        try CanonicalBatch.bytes(of: $0, regions: batch.regions)
      }
      try workshop.write(canonical, "canonical")
      try workshop.openssl(
        "cms", "-verify", "-noverify", "-binary", "-inform", "DER", "-in", "ours.der", "-content", "canonical", "-out",
        "/dev/null")
    }
  }

  @Test func whatIsNotOursIsNotSigned() throws {
    try federation { workshop in
      func refused(_ batch: String, _ words: String, _ status: Int32 = 2) throws {
        let outcome = try workshop.keyferry("sign-batch", batch, "--certificate", "de.pem", "--key", "de.key.pem")
        #expect(outcome.status == status && outcome.text.isEmpty && outcome.errors.contains(words), "\(outcome.errors)")
      }
      var other = try batch("FR", count: 1)
      try workshop.write(other.bytes(as: .efgsProtobuf), "other.bin")
      try refused("other.bin", #"key 0: origin "FR""#)
      other.keys[0].regions = other.regions.intern(RegionClaim(origin: "DE", visited: ["IT,AT"])) ?? .none
      try workshop.write(other.bytes(as: .efgsProtobuf), "ambiguous.bin")
      try refused("ambiguous.bin", "holds a comma")
      try workshop.write(Sample.csv, "keys.csv")
      try refused("keys.csv", "is csv")
      let key = try workshop.keyferry("sign-batch", "batch.bin", "--certificate", "de.pem", "--key", "fr.key.pem")
      #expect(key.status == 2 && key.errors.contains("does not belong"))
      let late = try workshop.keyferry(
        "sign-batch", "batch.bin", "--certificate", "de.pem", "--key", "de.key.pem", "--at", "+90d")
      #expect(late.status == 2 && late.errors.contains("is valid from"))
    }
  }

  @Test func aRefusalNamesTheStepAndWhatWasSigned() throws {
    try federation { workshop in
      try makeTrust(workshop)
      let schema = try DocumentSchema(named: "batch-verification.schema.json")
      func verify(_ signature: String, _ options: String...) throws -> (outcome: Tool.Outcome, verdict: [String: Any]) {
        let outcome = try workshop.keyferry(
          ["verify-batch", "batch.bin", "--signature", signature, "--trust", "trust.json", "--json"] + options)
        #expect(try schema.faults(in: Data(outcome.output)) == [])
        return (outcome, try #require(try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any]))
      }
      // The most common mistake of all: rows sorted by key data.
      let batch = try self.batch("DE", count: 60)
      func rows(_ order: [Int]) -> [UInt8] {
        order.flatMap { index in
          [batch.keys[index]].withUnsafeBufferPointer { CanonicalBatch.readRows(of: $0, regions: batch.regions).bytes }
        }
      }
      let byKeyData = batch.keys.indices.sorted {
        batch.keys[$0].key.bytes.lexicographicallyPrecedes(batch.keys[$1].key.bytes)
      }
      let upload = Array(batch.keys.indices)
      let canonical = try batch.keys.withUnsafeBufferPointer {
        try CanonicalBatch.bytes(of: $0, regions: batch.regions)
      }
      func cased(_ origin: (String) -> String, _ visited: (String) -> String) throws -> [UInt8] {
        var other = batch
        for index in other.keys.indices {
          let claim = batch.regions[batch.keys[index].regions]
          let spelled = RegionClaim(origin: claim.origin.map(origin), visited: claim.visited?.map(visited))
          other.keys[index].regions = other.regions.intern(spelled) ?? .none
        }
        return try other.keys.withUnsafeBufferPointer { try CanonicalBatch.bytes(of: $0, regions: other.regions) }
      }
      let (same, small) = ({ (text: String) in text }, { (text: String) in text.lowercased() })
      for (content, code) in [
        (Array(canonical.dropLast()), "no-last-stop"), (try cased(small, same), "origin-case"),
        (try cased({ _ in "De" }, same), "origin-case"), (try cased({ _ in "dE" }, same), "origin-case"),
        (try cased(same, small), "visited-case"), (try cased(small, small), "origin-case"),
        (rows(byKeyData), "order-key-data"), (rows(upload), "order-upload"), (canonical + [0x0A], "line-feed"),
        (try workshop.bytes("batch.bin"), "body"),
      ] {
        try workshop.write(content, "content")
        try workshop.openssl(
          "cms", "-sign", "-binary", "-nosmimecap", "-in", "content", "-signer", "de.pem", "-inkey", "de.key.pem",
          "-outform", "DER", "-out", "wrong.der")
        let (outcome, verdict) = try verify("wrong.der", "--explain")
        #expect(outcome.status == 1)
        #expect(verdict["step"] as? String == "signature" && verdict["step_number"] as? Int == 8)
        #expect((verdict["explanation"] as? [String: Any])?["mistakes"] as? [String] == [code])
      }
      try workshop.write(Array("something else".utf8), "content")
      try workshop.openssl(
        "cms", "-sign", "-binary", "-in", "content", "-signer", "de.pem", "-inkey", "de.key.pem", "-outform", "DER",
        "-out", "wrong.der")
      let (_, unexplained) = try verify("wrong.der", "--explain")
      #expect((unexplained["explanation"] as? [String: Any])?["mistakes"] as? [String] == [])
      // Another form, and its allowance.
      try workshop.write(canonical, "content")
      try workshop.openssl(
        "cms", "-sign", "-binary", "-md", "sha1", "-in", "content", "-signer", "de.pem", "-inkey", "de.key.pem",
        "-outform", "DER", "-out", "sha1.der")
      #expect(try verify("sha1.der").verdict["step"] as? String == "signer")
      let allowed = try verify("sha1.der", "--allow", "sha1")
      #expect(allowed.outcome.status == 0 && allowed.verdict["verified"] as? Bool == true)
      #expect(try verify("sha1.der", "--allow", "sha1", "--at", "+90d").verdict["step"] as? String == "validity")
      // Another country's certificate.
      try workshop.openssl(
        "cms", "-sign", "-binary", "-in", "content", "-signer", "fr.pem", "-inkey", "fr.key.pem", "-outform", "DER",
        "-out", "fr.der")
      #expect(try verify("fr.der").verdict["step"] as? String == "whitelist")
      let usage = try workshop.keyferry(
        "verify-batch", "batch.bin", "--signature", "fr.der", "--trust", "trust.json", "--allow", "everything")
      #expect(usage.status == 64 && usage.errors.contains("no-signed-attributes"))
      try workshop.write("not\nbase64\n", "text")
      #expect(try verify("text").verdict["step"] as? String == "decode")
    }
  }

  @Test func reportsAreWhatTheirSchemasSay() throws {
    try federation { workshop in
      try makeTrust(workshop)
      let trust = try DocumentSchema(named: "federation-trust.schema.json")
      #expect(try trust.faults(in: Data(workshop.bytes("trust.json"))) == [])
      let report = try DocumentSchema(named: "trust-report.schema.json")
      for arguments in [["list", "trust.json"], ["check", "trust.json"], ["check", "trust.json", "--at", "+90d"]] {
        let outcome = try workshop.keyferry(["trust"] + arguments + ["--json"])
        #expect(try report.faults(in: Data(outcome.output)) == [])
      }
      #expect(
        report.values(of: "code", in: "finding").isSuperset(of: FederationFault.Code.allCases.map(\.rawValue)))
      let signing = try DocumentSchema(named: "batch-signing.schema.json")
      let signed = try workshop.keyferry(
        "sign-batch", "batch.json", "--certificate", "de.pem", "--key", "de.key.pem", "--json", "-o", "signature.txt")
      #expect(try signing.faults(in: Data(signed.output)) == [])
    }
  }
}

extension Workshop {
  fileprivate func succeed(_ arguments: String...) throws {
    let outcome = try keyferry(arguments)
    #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
  }

  fileprivate func openssl(_ arguments: String...) throws {
    let outcome = try #require(Tool(named: "openssl")).run(arguments, in: folder)
    try #require(outcome.status == 0, "openssl \(arguments.joined(separator: " ")): \(outcome.errors)")
  }
}
