import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyPeers
import KeyStorage
import Testing

/// Manifests of `interop/coronamelder`, which its recipe makes: sealed by a signer below an authority below the root.
@Suite("CoronaMelder") struct CoronaMelderTests {
  static let folder = PackageFolder.root.appending(path: "interop/coronamelder")
  private static let now = Instant(secondsSince1970: 1_606_989_600)

  static func text(_ name: String) throws -> String {
    try String(contentsOf: folder.appending(path: name), encoding: .utf8)
  }

  static func settings(root: String = "root.pem") throws -> SourceSettings {
    source(.coronaMelder, ["ca": try text(root), "version": "v2"])
  }

  private static func step(_ body: [UInt8], root: String = "root.pem", at now: Instant = now) throws -> PeerStep {
    var machine = try PeerCatalog.machine(for: settings(root: root), cursor: nil, now: now)
    #expect(machine.next().url == "https://keys.example.org/v2/manifest")
    machine.take(.response(ResponseHead(200), body))
    return machine.next()
  }

  private static func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: folder.appending(path: name)))
  }

  @Test func aSealedManifestNamesKeySets() throws {
    guard case .collect(let documents) = try Self.step(Self.bytes("manifest.zip")) else {
      Issue.record("nothing is collected")
      return
    }
    #expect(documents.map(\.name.count) == [64, 36])
    #expect(
      documents[1].request.url == "https://keys.example.org/v2/exposurekeyset/6f1c1f6e-30a4-4d0e-9c05-7b1b3f1a8a11")
    #expect(documents.allSatisfy { $0.check != nil })
    guard case .done = try Self.step(Self.bytes("empty.zip")) else {
      Issue.record("an empty manifest is no end")
      return
    }
  }

  @Test(arguments: [
    ("exchanged.zip", "response-signature"), ("broken-chain.zip", "response-signature"),
    ("unsigned.zip", "response-unsigned"), ("other.zip", "malformed-answer"),
  ])
  func aManifestWithoutProofIsRefused(name: String, code: String) throws {
    #expect(try Self.step(Self.bytes(name)).faultCode == code)
  }

  @Test func anotherRootOrTimeProvesNothing() throws {
    let manifest = try Self.bytes("manifest.zip")
    #expect(try Self.step(manifest, root: "other-root.pem").faultCode == "response-signature")
    for seconds in [1_500_000_000, 2_300_000_000] as [Int64] {
      #expect(try Self.step(manifest, at: Instant(secondsSince1970: seconds)).faultCode == "response-signature")
    }
  }

  /// Whatever is damaged, nothing is collected that the manifest does not name.
  @Test func damagedManifestsNameNothingElse() throws {
    var random = SeededRandom(for: "manifests")
    let manifest = try Self.bytes("manifest.zip")
    guard let names = try Self.step(manifest).names else {
      Issue.record("nothing is collected")
      return
    }
    for _ in 0..<LongList.size(400, long: 20_000) {
      var bytes = manifest
      for _ in 0..<Int.random(in: 1...3, using: &random) where !bytes.isEmpty {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[place] ^= UInt8.random(in: 1...255, using: &random)
        case 1: bytes.remove(at: place)
        default: bytes.removeSubrange(place...)
        }
      }
      let step = try Self.step(bytes)
      #expect(step.faultCode != nil || step.names == names, "seed \(random.seed)")
    }
  }

  @Test func aRootIsOneCertificate() throws {
    for text in ["", "ca.pem", try Self.text("root.pem") + Self.text("root.pem"), try Self.text("signer.key")] {
      #expect(PeerCatalog.faults(of: source(.coronaMelder, ["ca": text])).count == 1)
    }
  }
}
