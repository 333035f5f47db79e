import Crypto
import ExposureKeys
import Foundation
import Testing

@testable import BundleTrust

@Suite struct JSONWebSignatureTests {
  private let key = SigningKey.generate()
  private let payload = Array(#"{"iss":"a"}"#.utf8)

  /// A signature over this header and the payload.
  private func compact(_ header: String) throws -> String {
    let message = "\(Base64.encodeURL(Array(header.utf8))).\(Base64.encodeURL(payload))"
    return "\(message).\(Base64.encodeURL(try key.rawSignature(of: Array(message.utf8))))"
  }

  @Test func whatIsSignedVerifies() throws {
    let text = try JSONWebSignature.token(of: payload, signedWith: key)
    #expect(text.hasPrefix("eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9."))
    let read = try JSONWebSignature(compact: text)
    #expect(read.algorithm == "ES256" && read.keyID == nil && read.payload == payload)
    #expect(read.verifies(under: key.publicKey))
    #expect(!read.verifies(under: SigningKey.generate().publicKey))
    // Any other byte of the first two parts, or of the signature, is another message.
    for index in text.indices where text[index] != "." {
      var other = text
      other.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
      if let read = try? JSONWebSignature(compact: other) {
        #expect(!read.verifies(under: key.publicKey) || read.payload == payload)
      }
    }
  }

  /// RFC 7515, appendix A.3.
  @Test func theStandardsExampleVerifies() throws {
    let text =
      "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
      + "fQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    let x = try #require(Base64.decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU".utf8, spelling: .url))
    let y = try #require(Base64.decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0".utf8, spelling: .url))
    #expect(try JSONWebSignature(compact: text).verifies(under: P256PublicKey(x963: [4] + x + y)))
  }

  @Test func theHeaderIsRead() throws {
    let named = try JSONWebSignature(compact: compact(#"{"typ":"JWT","alg":"ES256","kid":"v1"}"#))
    #expect(named.keyID == "v1" && named.verifies(under: key.publicKey))
    // Another algorithm, or none, never verifies, though the numbers would.
    for header in [#"{"alg":"none"}"#, #"{"alg":"HS256"}"#, #"{"alg":7}"#, "{}", #"{"alg":"es256"}"#] {
      #expect(try !JSONWebSignature(compact: compact(header)).verifies(under: key.publicKey))
    }
    for header in ["", "[]", "7", "{", #"{"alg":"ES256","alg":"none"}"#, String(repeating: "[", count: 5000)] {
      #expect(throws: JSONWebSignature.Fault.headerNotObject) { try JSONWebSignature(compact: compact(header)) }
    }
  }

  @Test func whatIsNotCompactIsRefused() throws {
    let text = try compact(#"{"alg":"ES256"}"#)
    for bad in [
      "", ".", "..", text + ".", "." + text, text + "=", text + "+", " " + text, text.replacing(".", with: ""),
    ] {
      #expect(throws: JSONWebSignature.Fault.self, "\(bad)") { try JSONWebSignature(compact: bad) }
    }
    let long = String(repeating: "A", count: JSONWebSignature.maximumLength)
    #expect(throws: JSONWebSignature.Fault.notCompact) { try JSONWebSignature(compact: "e30.\(long).AA") }
    #expect(throws: JSONWebSignature.Fault.notCompact) { try JSONWebSignature(compact: text, maximumLength: 10) }
    // A signature of another length is none.
    let short = text.split(separator: ".").dropLast().joined(separator: ".") + ".AAAA"
    #expect(try !JSONWebSignature(compact: short).verifies(under: key.publicKey))
  }

  @Test func otherSpellingsAreLetThroughWhereAskedFor() throws {
    let header = Array(#"{"alg":"ES256"}"#.utf8)
    let message = "\(Data(header).base64EncodedString()).\(Data(payload).base64EncodedString())"
    let signature = Data(try key.rawSignature(of: Array(message.utf8))).base64EncodedString()
    let text = "\(message).\(signature)"
    #expect(try JSONWebSignature(compact: text, spelling: .any).verifies(under: key.publicKey))
    #expect(throws: JSONWebSignature.Fault.notCompact) { try JSONWebSignature(compact: text) }
  }

  @Test func base64ReadsBackAndEqualsFoundations() throws {
    for length in 0..<40 {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 97 &+ length &* 13) }
      let text = Base64.encodeURL(bytes)
      let standard = Data(bytes).base64EncodedString()
      #expect(
        text == standard.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: ""))
      #expect(Base64.decode(text.utf8, spelling: .url) == bytes)
      for other in [text, standard, standard.replacing("=", with: "")] {
        #expect(Base64.decode(other.utf8) == bytes)
      }
      if standard.hasSuffix("=") { #expect(Base64.decode((text + "=").utf8, spelling: .url) == nil) }
    }
    for text in ["A", "AAAAA", "A=", "AA=", "AA===", "=", "A A", "AA\n", "AAA==", "=AAA", "A=A="] {
      #expect(Base64.decode(text.utf8) == nil, "\(text)")
    }
  }
}
