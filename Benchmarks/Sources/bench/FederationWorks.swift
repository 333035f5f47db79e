import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyIntake

/// What a federation's batch of 5,000 keys costs: its canonical bytes, and its signature.
let federationWorks = [
  Preparation("canonical bytes of a batch of 5,000 keys", isOfOneSize: true) { _ in
    let batch = try federationBatch()
    return [
      .ours {
        let rows = batch.keys.withUnsafeBufferPointer { CanonicalBatch.readRows(of: $0, regions: batch.regions) }
        blackHole(rows.bytes[0])
        return rows.count
      }
      .handling(batch.keys.count),
      .yardstick("row by row, sorted by Base64 texts", reach: 5) {
        let rows = canonicalByDefinition(batch)
        blackHole(rows[0])
        return batch.keys.count
      }
      .handling(batch.keys.count),
    ]
  },
  Preparation("signature of a batch of 5,000 keys, verified", of: "batch", isOfOneSize: true) { _ in
    let place = try SignedPlace()
    let (trust, batch, header, time) = (place.trust, place.batch, place.header, place.time)
    return [
      .ours {
        let received = try CanonicalBatch.received(batch.keys, regions: batch.regions)
        _ = try trust.verify(header, over: received.batch, at: time)
        return 1
      }
      .handling(1),
      .process(
        "openssl cms -verify of the canonical bytes, a process", .yardstick(reach: nil), SignedPlace.openssl,
        [
          "cms", "-verify", "-noverify", "-binary", "-inform", "DER", "-in", place.folder / "signature.der", "-content",
          place.folder / "canonical", "-out", "/dev/null",
        ], handling: 1, in: place.folder),
      .process(
        "keyferry verify-batch of the protobuf, a process", .yardstick(reach: nil), Program.keyferry,
        [
          "verify-batch", place.folder / "batch.bin", "--signature", place.folder / "signature.der", "--trust",
          place.folder / "trust.json",
        ], handling: 1, in: place.folder),
    ]
  },
  Preparation("signature of a batch of 5,000 keys, made", of: "batch", isOfOneSize: true) { _ in
    let place = try SignedPlace()
    return [
      .ours {
        let batch = try CanonicalBatch.signed(place.batch.keys, regions: place.batch.regions)
        blackHole(try place.identity.sign(batch.canonical, at: place.time)[0])
        return 1
      }
      .handling(1),
      .process(
        "openssl cms -sign of the canonical bytes, a process", .yardstick(reach: nil), SignedPlace.openssl,
        [
          "cms", "-sign", "-binary", "-nosmimecap", "-outform", "DER", "-in", place.folder / "canonical", "-signer",
          place.folder / "de.pem", "-inkey", place.folder / "de.key.pem", "-out", place.folder / "theirs.der",
        ], handling: 1, in: place.folder),
    ]
  },
]

private func federationBatch() throws -> DecodedDocument {
  var random = SeededRandom(seed: 3)
  var document = RandomKeys(.plausible).document(5000, using: &random)
  document.header.signatureInfos = []
  let claims = [["DE", "FR", "IT"], ["AT"], []].map { RegionClaim(origin: "DE", visited: $0) }
  let numbers = claims.compactMap { document.regions.intern($0) }
  for index in document.keys.indices {
    document.keys[index].regions = numbers[index % numbers.count]
    document.keys[index].isRevised = false
  }
  return document
}

/// As the description says it, and as it was before: an array for each field, each row and each sort key.
private func canonicalByDefinition(_ batch: DecodedDocument) -> [UInt8] {
  var rows: [(sortKey: [UInt8], text: [UInt8])] = []
  for key in batch.keys {
    let claim = batch.regions[key.regions]
    var text: [UInt8] = []
    func add(_ bytes: some Collection<UInt8>) {
      text.append(contentsOf: Base64.encode(bytes).utf8)
      text.append(UInt8(ascii: "."))
    }
    func add(_ number: Int32) { withUnsafeBytes(of: number.bigEndian) { add($0) } }
    add(key.key.bytes)
    add(key.rollingStart ?? 0)
    add(key.rollingPeriod ?? 0)
    add(key.transmissionRisk ?? .max)
    add((claim.visited ?? []).joined(separator: ",").utf8)
    add((claim.origin ?? "").utf8)
    add(key.reportType ?? 0)
    add(key.daysSinceOnset ?? 0)
    rows.append((Array(Base64.encode(text).utf8), text))
  }
  rows.sort { $0.sortKey.lexicographicallyPrecedes($1.sortKey) }
  return rows.flatMap(\.text)
}

/// A batch, its signature by a new RSA key of 3072 bits, and a trust file, in a folder.
private final class SignedPlace: Sendable {
  static let openssl = "/usr/bin/openssl"

  nonisolated(unsafe) let folder: ScratchFolder
  let batch: DecodedDocument
  let trust: FederationTrust
  let identity: BatchSigningIdentity
  let header: String
  /// When the last of the certificates was made, so that all of them are valid.
  let time: Instant

  init() throws {
    let folder = try ScratchFolder()
    self.folder = folder
    for (name, subject, kind) in [("operator", "/CN=operator", "rsa:2048"), ("de", "/C=DE/CN=de", "rsa:3072")] {
      let outcome = try Tool(path: Self.openssl).run([
        "req", "-x509", "-nodes", "-newkey", kind, "-subj", subject, "-days", "3", "-keyout",
        folder / "\(name).key.pem", "-out", folder / "\(name).pem",
      ])
      guard outcome.status == 0 else { throw HarnessError(description: outcome.errors) }
    }
    func text(_ name: String) throws -> String { try String(contentsOfFile: folder / name, encoding: .utf8) }
    let anchor = try FederationCertificate(pem: text("operator.pem"))
    let certificate = try FederationCertificate(pem: text("de.pem"))
    let signer = try FederationIdentity(certificate: anchor, key: Secret(text("operator.key.pem")))
    let signature = try signer.sign(pem: certificate.pem)
    trust = FederationTrust(
      anchor: anchor,
      rows: [
        WhitelistedCertificate(certificate: certificate, country: "DE", use: .signing, operatorSignature: signature)
      ])
    identity = try BatchSigningIdentity(certificate: certificate, key: Secret(text("de.key.pem")))
    let batch = try federationBatch()
    self.batch = batch
    let signed = try CanonicalBatch.signed(batch.keys, regions: batch.regions)
    time = max(anchor.notBefore, certificate.notBefore)
    let cms = try identity.sign(signed.canonical, at: time)
    header = Base64.encode(cms)
    for (name, content) in [
      ("canonical", signed.canonical), ("signature.der", cms), ("trust.json", trust.json()),
      ("batch.bin", try batch.bytes(as: .efgsProtobuf)),
    ] { _ = try folder.add(name, content) }
  }
}
