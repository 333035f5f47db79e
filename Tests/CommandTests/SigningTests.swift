import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyPublishing
import Testing

@Suite struct SigningTests {
  private func sign(_ key: String, _ id: String, _ version: String = "v1") -> [String] {
    ["--sign-key", key, "--key-id", id, "--key-version", version]
  }

  private func makeBundle(_ workshop: Workshop, _ output: String = "bundle.zip") throws {
    try workshop.makeSigner()
    try workshop.write(Sample.csv, "keys.csv")
    let outcome = try workshop.keyferry(
      ["convert", "keys.csv", "--to", "gaen-export", "-o", output, "--region", "US"] + sign("310-v1.key.pem", "310"))
    try #require(outcome.status == 0, "\(outcome.errors)")
  }

  private func signatures(_ workshop: Workshop, _ archive: String) throws -> [ExportSignature] {
    try SignatureFile.decode(try workshop.entry("export.sig", of: archive) ?? [])
  }

  @Test func bundlesHaveTwoEntriesAndOneInfo() throws {
    try Workshop.run { workshop in
      try makeBundle(workshop)
      let archive = try ZipArchive(MemorySource(try workshop.bytes("bundle.zip")))
      #expect(archive.entries.map(\.name) == ["export.bin", "export.sig"])
      let info = SignatureInfo(
        verificationKeyVersion: "v1", verificationKeyID: "310", signatureAlgorithm: SignatureInfo.ecdsaWithSHA256)
      #expect(try workshop.keys("bundle.zip").header.signatureInfos == [info])
      let signatures = try signatures(workshop, "bundle.zip")
      #expect(signatures.map(\.info) == [info])
      #expect(signatures.map(\.batchNum) == [1] && signatures.map(\.batchSize) == [1])
    }
  }

  @Test(.enabled(if: Tool(named: "openssl") != nil, "openssl is not installed"))
  func opensslVerifiesIt() throws {
    let openssl = try #require(Tool(named: "openssl"))
    try Workshop.run { workshop in
      try makeBundle(workshop)
      try workshop.write(try #require(try workshop.entry("export.bin", of: "bundle.zip")), "export.bin")
      try workshop.write(try signatures(workshop, "bundle.zip")[0].signature, "der")
      let arguments = ["dgst", "-sha256", "-verify", "ring/310-v1.pem", "-signature", "der"]
      #expect(try openssl.run(arguments + ["export.bin"], in: workshop.folder).status == 0)
      #expect(try openssl.run(arguments + ["keys.csv"], in: workshop.folder).status != 0)
    }
  }

  @Test func pairOfFiles() throws {
    try Workshop.run { workshop in
      try makeBundle(workshop, "export.bin")
      #expect(
        try workshop.files == ["310-v1.key.pem", "export.bin", "export.sig", "keys.csv", "ring", "ring/310-v1.pem"])
      #expect(try workshop.keyferry("verify", "export.bin", "--trust", "ring").status == 0)
      let zipped = try workshop.keyferry(
        ["sign", "export.bin", "-o", "again.zip"] + sign("310-v1.key.pem", "310"))
      #expect(zipped.status == 0)
      #expect(try workshop.entry("export.bin", of: "again.zip") == workshop.bytes("export.bin"))
    }
  }

  @Test func noSignatureOfOtherBytesStaysBeside() throws {
    try Workshop.run { workshop in
      try makeBundle(workshop, "export.bin")
      let before = try (workshop.bytes("export.bin"), workshop.bytes("export.sig"))
      let outcome = try workshop.keyferry(
        "convert", "keys.csv", "--to", "gaen-export", "--unsigned", "-o", "export.bin")
      #expect(outcome.status == 2)
      #expect(outcome.errors.contains("export.sig stands beside it and would not belong to it"))
      #expect(try workshop.bytes("export.bin") == before.0 && workshop.bytes("export.sig") == before.1)
    }
  }

  @Test func resigningReplaces() throws {
    try Workshop.run { workshop in
      try makeBundle(workshop)
      try workshop.makeSigner("262", "v2")
      let before = try workshop.bytes("bundle.zip")
      let outcome = try workshop.keyferry(
        ["sign", "bundle.zip", "-o", "ours.zip"] + sign("262-v2.key.pem", "262", "v2"))
      #expect(outcome.status == 0)
      #expect(outcome.errors.contains("30 keys signed with 1 signature: ours.zip"))
      #expect(try workshop.bytes("bundle.zip") == before)
      #expect(try workshop.keyferry("verify", "ours.zip", "--trust", "ring/262-v2.pem").status == 0)
      #expect(try workshop.keyferry("verify", "ours.zip", "--trust", "ring/310-v1.pem").status == 1)
      #expect(try workshop.keys("ours.zip").content.keys == workshop.keys("bundle.zip").content.keys)
    }
  }

  /// The infos are part of what is signed: a signature added later makes the earlier one worthless, unless the bundle
  /// named both keys from the start.
  @Test func addingKeepsWhatStaysValid() throws {
    try Workshop.run { workshop in
      try makeBundle(workshop)
      try workshop.makeSigner("262")
      // By itself a bundle would come of it whose infos and signatures differ in number, which devices refuse.
      let refused = try workshop.keyferry(
        ["sign", "bundle.zip", "--add", "-o", "both.zip"] + sign("262-v1.key.pem", "262"))
      #expect(refused.status == 2)
      #expect(refused.errors.contains("310") && refused.errors.contains("--await-others"), "\(refused.errors)")
      #expect(!workshop.exists("both.zip"))
      let changed = try workshop.keyferry(
        ["sign", "bundle.zip", "--add", "--await-others", "-o", "both.zip"] + sign("262-v1.key.pem", "262"))
      #expect(changed.status == 0)
      #expect(changed.errors.contains("1 earlier signature dropped"))
      #expect(try workshop.keys("both.zip").header.signatureInfos.map(\.verificationKeyID) == ["262", "310"])
      #expect(try signatures(workshop, "both.zip").count == 1)

      // The first signer adds its own again: now nothing has to change.
      let whole = try workshop.keyferry(
        ["sign", "both.zip", "--add", "-o", "whole.zip"] + sign("310-v1.key.pem", "310"))
      #expect(whole.status == 0)
      #expect(!whole.errors.contains("dropped"))
      #expect(try workshop.entry("export.bin", of: "whole.zip") == workshop.entry("export.bin", of: "both.zip"))
      #expect(try signatures(workshop, "whole.zip").map(\.info.verificationKeyID) == ["310", "262"])
      for ring in ["ring/310-v1.pem", "ring/262-v1.pem"] {
        #expect(try workshop.keyferry("verify", "whole.zip", "--trust", ring).status == 0, "\(ring)")
      }
    }
  }

  /// A foreign bundle may spell its fields in another order than we do; then the bytes change with ours.
  @Test func addingToBytesThatAreNotOursDropsTheOthers() throws {
    try Workshop.run { workshop in
      let signer = try workshop.makeSigner()
      let other = try workshop.makeSigner("262")
      var infos: [UInt8] = []
      for identity in [signer, other] {
        let header = ExportHeader(signatureInfos: [identity.info])
        infos += try ReferenceExport.encode(DecodedDocument(header: header)).dropFirst(16)
      }
      // Keys in front of the infos, and the rolling start in front of the key data.
      var key: [UInt8] = [0x18, 0xc0, 0xdb, 0xa1, 1, 0x0a, 16]
      key += (0..<16).map { UInt8($0) } + [0x20, 0x90, 1]
      let bin = ReferenceExport.magic + [0x3a, UInt8(key.count)] + key + infos
      try workshop.write(bin, "export.bin")
      try workshop.write(
        SignatureFile.encode(try BundleTrust.sign(ExportDigests(of: bin), with: [other])), "export.sig")
      #expect(try workshop.keyferry("verify", "export.bin", "--trust", "ring/262-v1.pem").status == 0)
      let outcome = try workshop.keyferry(
        ["sign", "export.bin", "--add", "--await-others", "-o", "out.zip"] + sign("310-v1.key.pem", "310"))
      #expect(outcome.status == 0)
      #expect(outcome.errors.contains("1 earlier signature dropped"))
      #expect(try signatures(workshop, "out.zip").count == 1)
    }
  }

  @Test func whatCannotBeSigned() throws {
    try Workshop.run { workshop in
      try makeBundle(workshop)
      let key = sign("310-v1.key.pem", "310")
      func refused(_ arguments: [String], _ words: String, status: Int32 = 2) throws {
        let outcome = try workshop.keyferry(["sign"] + arguments)
        #expect(outcome.status == status)
        #expect(outcome.errors.contains(words), "\(outcome.errors)")
        #expect(!workshop.exists("out.zip"))
      }
      try refused(["keys.csv", "-o", "out.zip"] + key, "only an export can be signed, and this is csv")
      try refused(
        ["bundle.zip", "-o", "out.zip"] + sign("ring/310-v1.pem", "310"), "a public key, expected its private half")
      try refused(["bundle.zip", "-o", "out.zip"] + sign("keys.csv", "310"), "no PEM block")
      try refused(["bundle.zip", "-o", "out.zip"] + sign("nowhere.pem", "310"), "nowhere.pem: cannot open")
      try refused(["bundle.zip", "-o", "out.zip"] + sign("310-v1.key.pem", "3-0"), "key id")
      try refused(["bundle.zip", "-o", "out.zip"] + key + key, "given twice")
      try refused(["bundle.zip", "-o", "bundle.zip"] + key, "it would be overwritten", status: 64)
      try refused(["bundle.zip", "-o", "310-v1.key.pem"] + key, "it would be overwritten", status: 64)
      let eleven = (0..<11).flatMap { _ in key }
      try refused(["bundle.zip", "-o", "out.zip"] + eleven, "at most 10", status: 64)
      // A bundle with a key that no device takes is not made ours.
      try workshop.write(ExportDecoder.fileHeader + [0x3a, 3, 0x0a, 1, 9], "odd.bin")
      try refused(["odd.bin", "-o", "out.zip"] + key, "a bundle with such a key is not signed")
    }
  }

  /// Messages say why an earlier signature is gone: bytes are said to have changed only if they have.
  @Test func whyEarlierSignaturesAreGone() throws {
    try Workshop.run { workshop in
      try makeBundle(workshop)
      let before = try workshop.entry("export.bin", of: "bundle.zip")
      // Another key under the same id and version, and the same key once more.
      try workshop.write(SigningKey.generate().pemRepresentation, "new.pem")
      for (key, mode) in [("new.pem", ["--add"]), ("310-v1.key.pem", ["--add"]), ("new.pem", [])] {
        let outcome = try workshop.keyferry(["sign", "bundle.zip", "-o", "out.zip"] + mode + sign(key, "310"))
        #expect(outcome.status == 0 && !outcome.errors.contains("have changed"), "\(outcome.errors)")
        #expect(outcome.errors.contains("1 earlier signature of the same key id and version replaced"))
        #expect(try workshop.entry("export.bin", of: "out.zip") == before)
        #expect(try signatures(workshop, "out.zip").count == 1)
      }
      try workshop.makeSigner("262")
      let other = try workshop.keyferry(["sign", "bundle.zip", "-o", "out.zip"] + sign("262-v1.key.pem", "262"))
      #expect(other.errors.contains("1 earlier signature dropped; --add keeps"), "\(other.errors)")
      let awaited = try workshop.keyferry(
        ["sign", "bundle.zip", "--add", "--await-others", "-o", "out.zip"] + sign("262-v1.key.pem", "262"))
      #expect(awaited.errors.contains("the bytes that it covered have changed"), "\(awaited.errors)")
    }
  }
}
