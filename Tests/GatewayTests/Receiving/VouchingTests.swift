import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyNormalization
import KeyPeers
import KeyReceiving
import KeyStorage
import PolicyFiles
import Testing

/// Who stands behind what a peer sends is kept with its claims, and told in one wording.
@Suite("Who vouches for a source")
struct VouchingTests {
  /// What one pull recorded.
  private func pulled(
    _ settings: SourceSettings, _ peer: MemoryPeer
  ) async throws -> (provenances: Set<Provenance>, vouchedBy: [String]) {
    var found: (provenances: Set<Provenance>, vouchedBy: [String]) = ([], [])
    try await withFolder { folder in
      let receiver = Receiver(folder: folder)
      #expect(try await receiver.pull(settings, peer).counts.new == 10)
      found.provenances = Set(try await receiver.claims().map(\.source.provenance))
      found.vouchedBy = try await receiver.documents([.recorded]).compactMap(\.facts?.vouchedBy)
    }
    return found
  }

  @Test("a ring's signer, or the operator")
  func signerAndOperator() async throws {
    var server = try IndexServer()
    try server.publish(keys(10, seed: 1), as: "a.zip")
    let signed = try await pulled(server.settings(), server.peer)
    #expect(signed.provenances == [.signed(by: "310 v1")] && signed.vouchedBy == ["signature of 310 v1"])

    var settings = server.settings()
    settings.trust = .operator
    let asserted = try await pulled(settings, server.peer)
    #expect(asserted.provenances == [.assertedByOperator] && asserted.vouchedBy == ["operator"])
  }

  @Test("a federation's gateway, by its host")
  func federation() async throws {
    let batch = try Converted(
      to: .efgsProtobuf, defaults: ConversionLawTests.defaults, memory(try keys(10, seed: 1).csv(), format: .csv))
    let peer = MemoryPeer()
    peer["/diagnosiskeys/download/\(usualNoon.day)"] = MemoryPeer.Answer(
      body: batch.bytes, headers: [.init("batchTag", "one"), .init("nextBatchTag", "null")])
    let settings = SourceSettings(
      name: "efgs", peer: .efgs, location: "https://efgs.example.org/", options: ["days": "0"],
      trust: .host, reading: Policy(name: "default"))
    // The address alone proves nothing: the transport has to say whose name TLS has proved.
    try await withFolder { folder in
      let receiver = Receiver(folder: folder)
      let receipt = try await receiver.pull(settings, peer)
      #expect(receipt.counts.received == 0 && receipt.refusals.map(\.fault.code) == ["host-not-proven"])
    }
    peer.provenHost = ProvenHost(provenByTLS: "efgs.example.org")
    let recorded = try await pulled(settings, peer)
    #expect(recorded.provenances == [.host("efgs.example.org")])
    #expect(recorded.vouchedBy == ["TLS identity of efgs.example.org"])
  }
}
