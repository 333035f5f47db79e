import BundleTrust
import Crypto
import ExposureKeys
import GatewayTesting
import S3Objects
import Testing

/// The examples of AWS, "Signature Calculations for the Authorization Header" and "… Query Parameters".
@Suite("Signature Version 4") struct SignatureTests {
  private static let credentials = S3Credentials(
    accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))
  private static let signer = S3Signature(credentials, region: "us-east-1")
  private static let host = "examplebucket.s3.amazonaws.com"
  private static let date = "20130524T000000Z"

  struct Example: CustomTestStringConvertible {
    let name: String
    let request: S3Request
    let hash: String
    let signature: String

    var testDescription: String { name }
  }

  static let examples = [
    Example(
      name: "a part of an object",
      request: S3Request("GET", host: host, path: "/test.txt", headers: [.init("Range", "bytes=0-9")]),
      hash: "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972",
      signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
    Example(
      name: "an object with a dollar in its name",
      request: S3Request(
        "PUT", host: host, path: "test$file.text",
        headers: [
          .init("Date", "Fri, 24 May 2013 00:00:00 GMT"), .init("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ], body: Array("Welcome to Amazon S3.".utf8)),
      hash: "9e0e90d9c76de8fa5b200d8c849cd5b8dc7a3be3951ddb7f6a76b4158342019d",
      signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
    Example(
      name: "a name without a value", request: S3Request("GET", host: host, path: "/", query: [("lifecycle", "")]),
      hash: "9766c798316ff2757b517bc739a67f6213b4ab36dd5da2f94eaebf79c77395ca",
      signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    Example(
      name: "a list", request: S3Request("GET", host: host, path: "/", query: [("prefix", "J"), ("max-keys", "2")]),
      hash: "df57d21db20da04d7fa30298dd4488ba3a2b47ca3a489c74750e0f1e7df1b9b7",
      signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
  ]

  @Test("an example of AWS", arguments: examples) func published(_ example: Example) throws {
    let now = try #require(Instant("2013-05-24T00:00:00Z"))
    let signed = Self.signer.signed(example.request, at: now)
    let authorization = try #require(signed.headers.first { $0.name == "Authorization" }?.value)
    #expect(authorization.hasSuffix("Signature=\(example.signature)"))
    #expect(
      authorization.hasPrefix(
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders="))
    var unsigned = signed
    unsigned.headers.removeAll { $0.name == "Authorization" }
    let digest = try #require(signed.headers.first { $0.name == "x-amz-content-sha256" }?.value)
    let canonical = Self.signer.canonicalRequest(unsigned, digest).text
    #expect(Hexadecimal.encode(SHA256.hash(data: Array(canonical.utf8))) == example.hash)
  }

  @Test("the published example whose signature stands in the address") func query() {
    let request = S3Request(
      "GET", host: Self.host, path: "/test.txt",
      query: [
        ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
        ("X-Amz-Credential", "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"), ("X-Amz-Date", Self.date),
        ("X-Amz-Expires", "86400"), ("X-Amz-SignedHeaders", "host"),
      ])
    let canonical = Self.signer.canonicalRequest(request, "UNSIGNED-PAYLOAD").text
    let text = Self.signer.stringToSign(canonical, date: Self.date)
    #expect(text.hasSuffix("3bfa292879f6447bbcda7001decf97f4a54dc650c8942174ae0a9121cf58ad04"))
    #expect(
      Self.signer.signature(of: text, date: Self.date)
        == "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
  }

  @Test("names are encoded once, and what they mean stays") func encoding() {
    let request = S3Request(
      "GET", host: "h", path: "/a +b$ü/../x//y~.zip", query: [("b", "/ü"), ("a", "1 2"), ("a", "")])
    #expect(request.path == "/a%20%2Bb%24%C3%BC/../x//y~.zip")
    #expect(request.query == "a=&a=1%202&b=%2F%C3%BC")
    #expect(request.target == "/a%20%2Bb%24%C3%BC/../x//y~.zip?a=&a=1%202&b=%2F%C3%BC")
  }

  @Test("what is signed with a token says so, and credentials show nothing") func token() throws {
    let credentials = S3Credentials(
      accessKeyID: "AKIDX", secretAccessKey: Secret("hush-1"), sessionToken: Secret("hush-2"))
    let signed = S3Signature(credentials, region: "r").signed(
      S3Request("GET", host: "h", path: "/"), at: Instant(secondsSince1970: 0))
    #expect(signed.headers.contains(.init("x-amz-security-token", "hush-2")))
    let authorization = try #require(signed.headers.last?.value)
    #expect(authorization.contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"))
    var dumped = "\(credentials) \(String(reflecting: credentials))"
    dump(credentials, to: &dumped)
    for word in ["hush", "AKIDX"] { #expect(!dumped.contains(word)) }
  }

  @Test("where a bucket stands in addresses") func addresses() {
    let aws = BucketAddress(endpoint: nil, bucket: "keys", prefix: "eu", region: "eu-central-1")
    #expect(aws.origin == "https://keys.s3.eu-central-1.amazonaws.com")
    #expect(aws.path("NL/index.txt") == "/eu/NL/index.txt")
    #expect(aws.path(nil) == "/")
    let dotted = BucketAddress(endpoint: nil, bucket: "keys.example", region: "eu-central-1")
    #expect(dotted.origin + dotted.path("a") == "https://s3.eu-central-1.amazonaws.com/keys.example/a")
    let own = BucketAddress(endpoint: "http://localhost:9000/", bucket: "keys", prefix: "a/b/", region: "us-east-1")
    #expect(own.origin + own.path("NL/index.txt") == "http://localhost:9000/keys/a/b/NL/index.txt")
    #expect(own.shown("x") == "s3://keys/a/b/x")
    let port = BucketAddress(endpoint: "https://s3.example:443", bucket: "keys", region: "r", style: .virtualHost)
    #expect(port.host == "keys.s3.example", "the scheme's own port is not said")
  }
}
