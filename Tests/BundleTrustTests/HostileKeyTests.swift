import BundleTrust
import Foundation
import Testing

/// Damaged keys are refused with a fault or read as some key; they never end the program.
@Suite struct HostileKeyTests {
  private static func damaged(_ bytes: [UInt8], _ generator: inout SplitMix) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...3, using: &generator) where !bytes.isEmpty {
      let index = Int.random(in: 0..<bytes.count, using: &generator)
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      case 1: bytes.remove(at: index)
      case 2: bytes.insert(.random(in: 0...255, using: &generator), at: index)
      default: bytes = Array(bytes.prefix(index))
      }
    }
    return bytes
  }

  @Test func damagedPublicKeys() throws {
    var generator = SplitMix(state: 1)
    let original = SigningKey.generate().publicKey
    var refused = 0
    for _ in 0..<5_000 {
      let bytes = Self.damaged(original.spki, &generator)
      do {
        // A spelling that we forgive must still give a point that can be written and read again.
        let key = try P256PublicKey(spki: bytes)
        #expect(try P256PublicKey(spki: key.spki) == key)
      } catch {
        refused += 1
        #expect(!error.reason.isEmpty)
      }
    }
    #expect(refused > 4_000)
  }

  @Test func everyPrefixOfAKeyIsRefused() {
    let spki = SigningKey.generate().publicKey.spki
    for length in 0..<spki.count {
      #expect(throws: KeyFault.self) { try P256PublicKey(spki: spki.prefix(length)) }
    }
  }

  @Test func damagedPrivateKeysNeitherCrashNorShowThemselves() throws {
    var generator = SplitMix(state: 2)
    let pem = SigningKey.generate().pemRepresentation
    let body = pem.split(separator: "\n").dropFirst().dropLast().joined()
    let original = Array(try #require(Data(base64Encoded: body)))
    var refused = 0
    for _ in 0..<3_000 {
      let base64 = Data(Self.damaged(original, &generator)).base64EncodedString()
      do {
        _ = try SigningKey(pem: "-----BEGIN PRIVATE KEY-----\n\(base64)\n-----END PRIVATE KEY-----\n")
      } catch {
        refused += 1
        #expect(error.description.utf8.count < 200)
        #expect(!error.description.contains(base64.prefix(24).suffix(8)) || base64.count < 24)
      }
    }
    #expect(refused > 2_000)
  }

  @Test func damagedPEM() {
    var generator = SplitMix(state: 3)
    let text = Array((SigningKey.generate().publicKey.pem + SigningKey.generate().publicKey.pem).utf8)
    var refused = 0
    for _ in 0..<2_000 {
      do {
        let ring = try TrustRing(document: Self.damaged(text, &generator))
        #expect((1...2).contains(ring.keys.count))
      } catch {
        refused += 1
        #expect(!error.faults.isEmpty)
      }
    }
    #expect(refused > 1_000)
  }

  @Test func damagedJSON() {
    var generator = SplitMix(state: 4)
    let entries = (1...3).map {
      """
      {"id": "\($0)", "version": "v1", "publicKey": "\(SigningKey.generate().publicKey.base64)",
       "from": "2020-06-01T00:00:00Z", "until": null, "label": "\\u00fc\\n"}
      """
    }
    let text = Array("{\"keys\": [\(entries.joined(separator: ", "))]}".utf8)
    var refused = 0
    for _ in 0..<3_000 {
      do {
        let ring = try TrustRing(json: Self.damaged(text, &generator))
        #expect(ring.keys.count == 3)
      } catch {
        refused += 1
        #expect(!error.faults.isEmpty)
      }
    }
    #expect(refused > 2_000)
  }
}
