import Crypto
import Foundation
import GatewayTesting
import Testing

/// What a device derives from a key: Exposure Notification Cryptography Specification 1.2.
private struct Derivation {
  let identifierKey: [UInt8]
  let metadataKey: [UInt8]

  init(_ key: [UInt8]) {
    func derived(_ info: String) -> [UInt8] {
      let secret = HKDF<SHA256>.deriveKey(
        inputKeyMaterial: SymmetricKey(data: key), info: Data(info.utf8), outputByteCount: 16)
      return secret.withUnsafeBytes { Array($0) }
    }
    identifierKey = derived("EN-RPIK")
    metadataKey = derived("EN-AEMK")
  }

  func identifier(_ interval: UInt32) -> [UInt8] {
    let block = Array("EN-RPI".utf8) + [UInt8](repeating: 0, count: 6)
    return AES128(identifierKey).encrypt(block + (0..<4).map { UInt8(truncatingIfNeeded: interval >> (8 * $0)) })
  }

  /// At most one block of metadata, in counter mode from the identifier on.
  func encrypted(_ metadata: [UInt8], of identifier: [UInt8]) -> [UInt8] {
    zip(metadata, AES128(metadataKey).encrypt(identifier)).map { $0 ^ $1 }
  }
}

/// AES with a key of 128 bits (FIPS 197), one block, neither fast nor constant in time: for tests alone.
struct AES128 {
  private let roundKeys: [[UInt8]]

  init(_ key: [UInt8]) {
    precondition(key.count == 16)
    var words = stride(from: 0, to: 16, by: 4).map { Array(key[$0..<$0 + 4]) }
    var constant: UInt8 = 1
    for index in 4..<44 {
      var word = words[index - 1]
      if index % 4 == 0 {
        word = [word[1], word[2], word[3], word[0]].map { Self.box[Int($0)] }
        word[0] ^= constant
        constant = Self.doubled(constant)
      }
      words.append(zip(words[index - 4], word).map { $0 ^ $1 })
    }
    roundKeys = stride(from: 0, to: 44, by: 4).map { Array(words[$0..<$0 + 4].joined()) }
  }

  func encrypt(_ block: [UInt8]) -> [UInt8] {
    precondition(block.count == 16)
    var state = Self.sum(block, roundKeys[0])
    for round in 1...10 {
      // Bytes through the box, rows rotated by their number; the state stands column by column.
      state = (0..<16).map { Self.box[Int(state[($0 + 4 * ($0 % 4)) % 16])] }
      if round < 10 { state = stride(from: 0, to: 16, by: 4).flatMap { Self.mixed(Array(state[$0..<$0 + 4])) } }
      state = Self.sum(state, roundKeys[round])
    }
    return state
  }

  private static func sum(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] { zip(left, right).map { $0 ^ $1 } }

  private static func mixed(_ column: [UInt8]) -> [UInt8] {
    let all = column.reduce(0, ^)
    return (0..<4).map { column[$0] ^ all ^ doubled(column[$0] ^ column[($0 + 1) % 4]) }
  }

  private static func doubled(_ value: UInt8) -> UInt8 { value << 1 ^ (value & 0x80 == 0 ? 0 : 0x1b) }

  private static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
    var (left, right, result) = (left, right, UInt8(0))
    while right != 0 {
      if right & 1 == 1 { result ^= left }
      left = doubled(left)
      right >>= 1
    }
    return result
  }

  /// The inverse in the field, then the affine map. 3 generates the field, and 3 to the 255th is 1.
  private static let box: [UInt8] = {
    var inverses = [UInt8](repeating: 0, count: 256)
    var powers: [UInt8] = [1]
    for _ in 1..<255 { powers.append(product(powers[powers.count - 1], 3)) }
    for exponent in 0..<255 { inverses[Int(powers[exponent])] = powers[(255 - exponent) % 255] }
    return inverses.map { inverse in
      (1...4).reduce(inverse ^ 0x63) { $0 ^ (inverse << $1 | inverse >> (8 - $1)) }
    }
  }()
}

@Suite struct CryptoVectorTests {
  /// FIPS 197, appendix C.1.
  @Test func theCipherIsAES() {
    let block = (0..<16).map { UInt8($0 * 0x11) }
    #expect(AES128(Array(0..<16)).encrypt(block) == bytes("69c4e0d86a7b0430d8cdb78070b4c55a"))
  }

  @Test func theVectorHolds() throws {
    let vector = try Vector(name: "crypto/rolling_proximity_identifiers")
    let lines = String(decoding: vector.bytes, as: UTF8.self).split(separator: "\n").map { $0.split(separator: " ") }
    func value(_ name: Substring) throws -> [UInt8] { bytes(try #require(lines.first { $0.first == name })[1]) }
    let derivation = Derivation(try value("tek"))
    #expect(derivation.identifierKey == (try value("rpik")))
    #expect(derivation.metadataKey == (try value("aemk")))
    let metadata = try value("metadata")
    let identifiers = lines.filter { $0.first == "identifier" }
    #expect(identifiers.count == 6)
    for line in identifiers {
      let identifier = derivation.identifier(try #require(UInt32(line[1])))
      #expect(identifier == bytes(line[2]), "\(line[1])")
      #expect(derivation.encrypted(metadata, of: identifier) == bytes(line[3]), "\(line[1])")
    }
  }

  private struct Published: Decodable {
    struct Advertisement: Decodable {
      var rpi: String
      var aem: String
    }
    var tek: String
    var rpik: String
    var aemk: String
    var metadata: String
    var startInterval: UInt32
    var ads: [Advertisement]
  }

  @Test(.enabled(if: RealData.isPresent, "\(RealData.howToEnable)"))
  func allPublishedIdentifiersHold() throws {
    let file = try #require(try RealData.bytes(of: "crypto-vectors/en_v1_2_vectors.json"))
    let published = try JSONDecoder().decode(Published.self, from: Data(file))
    let derivation = Derivation(bytes(published.tek))
    #expect(derivation.identifierKey == bytes(published.rpik))
    #expect(derivation.metadataKey == bytes(published.aemk))
    #expect(published.ads.count == 144)
    for (interval, expected) in zip(published.startInterval..., published.ads) {
      let identifier = derivation.identifier(interval)
      #expect(identifier == bytes(expected.rpi), "\(interval)")
      #expect(derivation.encrypted(bytes(published.metadata), of: identifier) == bytes(expected.aem), "\(interval)")
    }
  }

  private func bytes(_ text: some StringProtocol) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}
