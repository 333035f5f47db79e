import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyIntake
import NIOCore
import Testing

@testable import GatewayServer

/// Whatever strangers send is read or refused: nothing traps, and nothing is taken for more than it is.
@Suite("Uploads of strangers")
struct UploadFuzzTests {
  private let now = PublicationFixture.noon

  private func changed(_ bytes: [UInt8], using random: inout SeededRandom) -> [UInt8] {
    var bytes = bytes
    let pieces = [
      "-", "9999999999999999999", "1e308", "null", "[", "{", "\"", "true", "0.5", "\\u0000", "-2147483649", "",
    ]
    for _ in 0..<Int.random(in: 1...5, using: &random) where !bytes.isEmpty {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: bytes.remove(at: place)
      case 1: bytes[place] = UInt8.random(in: 0...255, using: &random)
      case 2: bytes.insert(contentsOf: (pieces.randomElement(using: &random) ?? "").utf8, at: place)
      default:
        // A number or a word becomes another one.
        let end = bytes[place...].firstIndex { [0x2C, 0x7D, 0x5D].contains($0) } ?? bytes.count
        bytes.replaceSubrange(place..<end, with: (pieces.randomElement(using: &random) ?? "").utf8)
      }
    }
    return bytes
  }

  @Test(
    "Bodies that were changed anywhere",
    arguments: ["publish_confirmed", "covidwise_good", "dp3t_exposed", "dp3t_v2_home"])
  func bodies(name: String) throws {
    var random = SeededRandom(seed: 11)
    let body = Array(try UploadVector(name).body.utf8)
    var read = 0
    for _ in 0..<LongList.size(600, long: 3000) {
      let bytes = changed(body, using: &random)
      for version in [PublishRequest.Version.v1, .v1alpha1] {
        guard
          let request = try? PublishRequest(bytes, version, .init(ignored: ["pintoken"], code: "pintoken")),
          let upload = try? KeyUpload(request, nil, now: now)
        else { continue }
        read += 1
        #expect(upload.keys.keys.count + upload.keys.rejections.count <= 30)
        #expect(request.regions.count <= PublishRequest.regionsAllowed)
      }
      for request in [DP3TEndpoint.Request.exposed, .nextDay, .second] {
        guard let upload = try? DP3TUpload(bytes, request, now: now) else { continue }
        read += 1
        #expect(upload.keys.count <= request.countAllowed.upperBound)
        #expect(upload.keys.allSatisfy { ($0.transmissionRisk ?? 0) <= 8 && ($0.rollingPeriod ?? 0) >= 0 })
      }
    }
    #expect(read > LongList.size(10, long: 50), "nearly nothing was read, so nearly nothing was tried")
  }

  @Test("Texts that were changed anywhere: tokens, key sets, fields of proxies")
  func texts() throws {
    var random = SeededRandom(seed: 12)
    let tokens = RevisionTokens(
      "a secret of at least thirty-two characters", scope: UploadScope(series: [], home: "VA", regions: []))
    let key = RevisableKey(key: TemporaryExposureKey(high: 1, low: 2), rollingStart: 2_677_680, rollingPeriod: 144)
    let token = Array(try #require(tokens.token(of: [key], carrying: [], now: now)).utf8)
    let set = Array(try ConfiguredGateway.text("TEST-KEYS.jwks").utf8)
    let line = Array("for=\"[2001:db8::1]:80\";proto=https, 203.0.113.9:4711 , 10.0.0.1".utf8)
    let proxies = [TrustedProxies.Field.xForwardedFor, .forwarded].map { field in
      TrustedProxies([AddressBlock("127.0.0.1"), AddressBlock("10.0.0.0/8")].compactMap(\.self), field: field)
    }
    let connection = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
    for _ in 0..<5000 {
      let text = changed(token, using: &random)
      switch tokens.proof(in: String(decoding: text, as: UTF8.self)) {
      // Base64 has several spellings of the same bytes.
      case .keys(let keys): #expect(keys == [key])
      case .missing, .unreadable, .notIssued: break
      }
      #expect((VerificationKeys.keys(in: changed(set, using: &random))?.count ?? 0) <= 2)
      let field = String(decoding: changed(line, using: &random), as: UTF8.self)
      for proxies in proxies {
        _ = proxies.client(of: RateLimitedClient(connection), at: connection, fields: [field])
      }
    }
  }
}
