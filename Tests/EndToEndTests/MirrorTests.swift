import Crypto
import ExposureKeys
import Foundation
import FoundationNetworking
import KeyReceiving
import Testing

/// Apps that trust the key of their own country alone are shown its archives by another gateway, byte for byte.
@Suite("A mirror of a foreign index") struct MirrorTests {
  private static let origin = """
    series: [{name: VA, include: [US-VA], every: 2 hours, listed: 2 days, rollups: [], editions: none, sign: KEY}]
    server:
      listen: "127.0.0.1:0"
      uploads: {origin: US-VA, token: {file: token}, rate: none}
    """

  private static func mirror(of origin: SeedGateway) -> String {
    """
    sources:
      - name: va
        protocol: index
        location: "\(origin.address)"
        options: {index: VA/index.txt}
        trust: origin.pem
        origin: US-VA
    series:
      - {name: VA-original, mirror: va, grace: 1 hour}
      - {name: VA, include: [US-VA], every: 2 hours, sign: KEY}
    server: {listen: "127.0.0.1:0"}
    """
  }

  private struct DiagnosisKey: Encodable {
    var keyData: Data
    var rollingPeriod, rollingStartNumber, transmissionRiskLevel: Int
  }

  private func post(_ person: Int, to gateway: SeedGateway) async throws {
    let keys = Person(number: person).keys(of: 5, before: gateway.today).map {
      DiagnosisKey(
        keyData: $0.data, rollingPeriod: 144, rollingStartNumber: $0.start, transmissionRiskLevel: $0.risk)
    }
    try await Line(gateway: gateway).postDiagnosisKeys(keys)
  }

  private func index(of series: String, at gateway: SeedGateway) async throws -> [String] {
    let text = try await Line(gateway: gateway).download("\(gateway.address)/\(series)/index.txt")
    return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// The last part of each.
  private func names(_ paths: [String]) -> [Substring] { paths.compactMap { $0.split(separator: "/").last } }

  @Test("what the origin lists is shown with its own bytes and names, and is gone when the origin lists it no more")
  func mirror() async throws {
    try await SeedGateway.run(Self.origin, from: "2020-12-01T09:00:00Z") { origin in
      for person in 0..<3 {
        try await post(person, to: origin)
        try await origin.goOn(hours: 2)
      }
      let ring = ["origin.pem": origin.signer.pemRepresentation]
      try await SeedGateway.run(Self.mirror(of: origin), from: "2020-12-01T16:00:00Z", files: ring) { mirror in
        let line = Line(gateway: mirror)
        #expect(try await mirror.pull().map(\.recorded) == [3])
        try await mirror.goOn(hours: 2)
        let shown = try await index(of: "VA-original", at: mirror)
        let listed = try await index(of: "VA", at: origin)
        #expect(shown.count == 3 && names(shown) == names(listed))
        for (copy, original) in zip(shown, listed) {
          let archive = try await line.download("\(mirror.address)/\(copy)")
          let source = try await line.download("\(origin.address)/\(original)")
          #expect(archive == source)
          let (export, signature) = try unpacked(archive)
          #expect(try Framework.google.keys(export: export, signature: signature, signer: origin.signer).count == 5)
        }
        // The series beside it signs the same keys itself.
        #expect(try await index(of: "VA", at: mirror).count == 1)
        // Layouts of the other apps show it, too.
        let files = try await line.download("\(mirror.address)/apple/VA-original/files?startingAt=0")
        #expect(try JSONDecoder().decode([String].self, from: files).count == 3)

        // A file that is damaged here is put there again.
        let file = mirror.folder.appending(path: "public/\(shown[1])")
        let good = try Data(contentsOf: file)
        try Data(good.dropLast(7)).write(to: file)
        try await mirror.goOn(hours: 2)
        #expect(try Data(contentsOf: file) == good)

        // The origin goes on by three days: a new archive, and the old ones leave its index.
        try await origin.goOn(hours: 60, step: 12)
        try await post(3, to: origin)
        try await origin.goOn(hours: 4)
        try await mirror.goOn(hours: 60, step: 12)
        #expect(try await mirror.pull().map(\.recorded) == [1])
        try await mirror.goOn(hours: 2)
        let later = try await index(of: "VA-original", at: mirror)
        let original = try await index(of: "VA", at: origin)
        #expect(later.count == 1 && names(later) == names(original))
        #expect(FileManager.default.fileExists(atPath: file.path), "cached indexes may still name it")
        try await mirror.goOn(hours: 4)
        #expect(!FileManager.default.fileExists(atPath: file.path))
        #expect(try await index(of: "VA-original", at: mirror) == later)
        // A server that has the file in its memory does not go on answering with it.
        #expect(try await line.get("\(mirror.address)/\(shown[1])").answer.statusCode == 404)
      }
    }
  }

  @Test("an origin whose key is another one is not shown")
  func otherKey() async throws {
    try await SeedGateway.run(Self.origin, from: "2020-12-01T09:00:00Z") { origin in
      try await post(0, to: origin)
      try await origin.goOn(hours: 2)
      let ring = ["origin.pem": P256.Signing.PrivateKey().publicKey.pemRepresentation]
      try await SeedGateway.run(Self.mirror(of: origin), from: "2020-12-01T16:00:00Z", files: ring) { mirror in
        let receipts = try await mirror.pull()
        #expect(receipts.map(\.recorded) == [0] && receipts.map(\.refusals.count) == [1])
        try await mirror.goOn(hours: 2)
        #expect(try await index(of: "VA-original", at: mirror) == [])
      }
    }
  }
}
