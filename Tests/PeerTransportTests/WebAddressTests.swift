import Foundation
import GatewayTesting
import KeyPeers
import PeerTransport
import Testing

@Suite struct WebAddressTests {
  @Test(arguments: [
    ("https://keys.example.org", "index.txt", "https://keys.example.org/index.txt"),
    ("https://keys.example.org/", "/index.txt", "https://keys.example.org/index.txt"),
    ("https://keys.example.org/v1", "/a/b.zip", "https://keys.example.org/v1/a/b.zip"),
    ("https://keys.example.org/v1/", "a/b.zip", "https://keys.example.org/v1/a/b.zip"),
    ("https://keys.example.org/v1/", "//evil.example/b.zip", "https://keys.example.org/v1/evil.example/b.zip"),
    ("https://keys.example.org/v1", "", "https://keys.example.org/v1"),
    ("https://keys.example.org/v1", "?tag=5", "https://keys.example.org/v1?tag=5"),
    ("https://keys.example.org/v1", "a?b=/../c#d", "https://keys.example.org/v1/a?b=/../c"),
    ("https://keys.example.org/v1", "../a/./b/../c", "https://keys.example.org/a/c"),
    ("https://keys.example.org/v1", "../../../a/..", "https://keys.example.org/"),
    ("https://keys.example.org/v1", "day 1/ä%20%zz", "https://keys.example.org/v1/day%201/%C3%A4%20%25zz"),
    ("https://keys.example.org/v1", "HTTP://Other.Example.:80/x", "http://other.example/x"),
    ("https://keys.example.org/v1", "2020-06-01T00:00:00Z.zip", "https://keys.example.org/v1/2020-06-01T00:00:00Z.zip"),
    ("http://[::1]:8080/v1", "a", "http://[::1]:8080/v1/a"),
    ("http://127.0.0.1:8443", "a", "http://127.0.0.1:8443/a"),
  ])
  func joins(base: String, reference: String, expected: String) throws {
    #expect(try WebAddress(base).address(for: reference).text == expected)
  }

  @Test(arguments: [
    ("/x?y", "https://h.example/x?y"), ("x", "https://h.example/a/x"), ("?q", "https://h.example/a/b?q"),
    ("//o.example/x", "https://o.example/x"), ("http://o.example", "http://o.example/"),
    ("../x", "https://h.example/x"),
    ("", "https://h.example/a/b"),
  ])
  func resolvesRedirects(location: String, expected: String) throws {
    #expect(try WebAddress("https://h.example/a/b?c").address(ofRedirect: location).text == expected)
  }

  @Test(arguments: [
    "", "keys.example.org", "/index.txt", "ftp://keys.example.org", "file:///etc/passwd", "https://", "https:///x",
    "https://user:word@keys.example.org", "https://good.example\\@evil.example/", "https://h.example:0/",
    "https://h.example:65536/", "https://h.example:8x/", "https://[::1/", "https://[127.0.0.1]/", "https://h example/",
    "https://hé.example/", "https://h.example/a\r\nHost: b", "https://h.example/\u{0}", "https://%68.example/",
  ])
  func refuses(text: String) throws {
    let fault = #expect(throws: TransportFault.self) { _ = try WebAddress(text) }
    #expect(fault?.code == "bad-address")
    #expect(fault?.reason.contains("word") == false)
    #expect(fault?.reason.unicodeScalars.contains { $0.value < 0x20 } == false)
  }

  @Test func hidesQueries() throws {
    let address = try WebAddress("https://h.example/a?token=secret")
    #expect("\(address)" == "https://h.example/a")
    #expect(WebAddress.displayable("http://user:secret@h/a?token=secret") == "…@h/a")
  }

  @Test func knowsItsOrigin() throws {
    let home = try WebAddress("https://h.example/a")
    #expect(try home.hasSameOrigin(as: WebAddress("https://H.example.:443/b")))
    #expect(try !home.hasSameOrigin(as: WebAddress("http://h.example/a")))
    #expect(try !home.hasSameOrigin(as: WebAddress("https://h.example:8443/a")))
    #expect(try !home.hasSameOrigin(as: WebAddress("https://g.example/a")))
  }

  /// What is allowed is decided by our reading, and the request is sent by another's.
  @Test("Whatever a peer writes, nobody reads another host in what is sent")
  func anything() throws {
    var random = SeededRandom(for: "WebAddressTests.anything")
    let base = try WebAddress("https://keys.example.org:8443/a/b/index.txt?x=1")
    let parts = [
      "http://", "https://", "HTTPS:", "file:///", "//", "/", "\\", "?", "#", "@", ":", "[", "]", "::1", "[::1]",
      "127.0.0.1",
      "evil.example", "keys.example.org", ".", "..", "/../", "%2e%2e", "%00", "%0d%0a", "\r\n", "\t", " ", "é",
      "xn--e1a", "443", ":8443",
      "99999", "-1", "user:pass", "{token}", "\u{202E}", "\0", "a", "b.zip",
    ]
    var read = 0
    for _ in 0..<20_000 {
      let text = (0..<Int.random(in: 1...7, using: &random)).map { _ in parts[random.pick(parts.indices)] }.joined()
      let addresses = [try? WebAddress(text), try? base.address(for: text), try? base.address(ofRedirect: text)]
      for address in addresses.compactMap(\.self) {
        read += 1
        #expect(try WebAddress(address.text).text == address.text, "\(text.debugDescription)")
        #expect(address.text.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "\(text.debugDescription)")
        let components = try #require(URLComponents(string: address.text), "\(text.debugDescription)")
        #expect(components.encodedHost?.lowercased() == address.host, "\(text.debugDescription)")
        #expect(components.scheme == address.scheme.rawValue && components.user == nil, "\(text.debugDescription)")
        #expect(components.port ?? (address.scheme == .http ? 80 : 443) == address.port, "\(text.debugDescription)")
      }
    }
    #expect(read > 5000)
  }
}
