import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyIntake
import KeyPublishing
import Testing

/// The bundles of `signature/`, judged by the ring `interop/keys`.
@Suite struct SignatureVectorTests {
  static let vectors: [Vector] = (try? Vector.all("signature")) ?? []
  private static let folder = PackageFolder.root.appending(path: "interop/keys")

  private static func ring() throws -> TrustRing {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path()).filter { $0.hasSuffix(".pem") }
    return try TrustRing(
      files: names.sorted().map { name in
        (name, String(decoding: try Data(contentsOf: folder.appending(path: name)), as: UTF8.self))
      })
  }

  @Test func theVerdictsThatNeedNoClockHaveVectors() {
    let verdicts = Set(Self.vectors.flatMap { $0["verdict"]?.split(separator: " ").map(String.init) ?? [] })
    let elsewhere: [BundleTrust.SignatureVerdict.Code] = [
      .notExamined, .searchCutOff, .keyNotYetValid, .keyNoLongerValid,
    ]
    for code in BundleTrust.SignatureVerdict.Code.allCases where !elsewhere.contains(code) {
      #expect(verdicts.contains(code.rawValue), "\(code.rawValue)")
    }
  }

  @Test(arguments: vectors)
  func isJudged(_ vector: Vector) throws {
    let document = SourceDocument(name: vector.name, source: MemorySource(vector.bytes))
    let report = try #require(
      try document.verify(trusting: Self.ring(), at: Instant(secondsSince1970: 1_605_744_000)))
    #expect(words(report.findings.map(\.verdict.code.rawValue)) == vector["verdict"], "\(report.lines)")
    #expect(words(report.faults.map(\.code.rawValue)) == vector["faults"], "\(report.lines)")
    #expect(report.isTrusted == vector["verdict"]?.split(separator: " ").contains("verified"))
  }

  private func words(_ codes: [String]) -> String { codes.isEmpty ? "none" : codes.joined(separator: " ") }

  /// Everybody has the private half of a test key; the two must belong together to be of use.
  @Test func thePrivateTestKeyBelongsToTheRing() throws {
    let file = Self.folder.appending(path: "private/test-310-v1.key.pem")
    let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    #expect(text.hasPrefix("TEST KEY"))
    let ring = try Self.ring()
    let key = try SigningKey(pem: text)
    #expect(ring.keys.map(\.publicKey) == [key.publicKey])
    #expect(ring.keys(id: "test-310", version: "v1").count == 1)
  }
}
