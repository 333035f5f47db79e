import BundleTrust
import NIOSSL
import PeerTransport
import Synchronization
import Testing

/// Says what a test wants, one answer after another; the last one stays.
final class ScriptedResolver: HostResolver {
  private let answers: Mutex<[[String]]>

  init(_ answers: [String]...) { self.answers = Mutex(answers) }

  func addresses(of name: String) async throws -> [String] {
    answers.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? [] }
  }
}

@Suite("Calling subscribers")
struct CallbackTests {
  private let certificates: TestCertificates

  init() throws { certificates = try TestCertificates.shared.get() }

  // MARK: Addresses

  @Test(
    "only a global unicast address is called",
    arguments: [
      "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1", "169.254.169.254",
      "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.19.255.255",
      "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255", "::", "::1", "::7f00:1",
      "::ffff:127.0.0.1", "::ffff:10.0.0.1", "fe80::1", "febf::1", "fec0::1", "fc00::1", "fd12:3456::1", "ff02::1",
      "2001:db8::1", "3fff::1", "3fff:fff::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2002:7f00:1::",
      "2002:0a00:0001::1", "2002:c0a8:0101::1", "64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b:1::1.1.1.1",
      "100::1",
      "5f00::1", "4000::1", "fe80::1%eth0", "localhost", "",
    ])
  func refused(address: String) { #expect(AddressReach().refusal(of: address) != nil) }

  @Test(
    "one of the open internet is",
    arguments: [
      "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.0.0.1", "128.0.0.1", "172.15.0.1",
      "172.32.0.1", "192.0.1.1", "192.167.0.1", "198.17.0.1", "198.20.0.1", "223.255.255.255", "::ffff:1.1.1.1",
      "2606:4700::1111", "2001:4860:4860::8888", "2a00:1450::1", "64:ff9b::1.1.1.1", "2002:0101:0101::1", "2001:200::1",
    ])
  func allowed(address: String) { #expect(AddressReach().refusal(of: address) == nil) }

  @Test("a private network can be allowed, and only that one")
  func privateNetworks() {
    let reach = AddressReach { $0.starts(with: [10, 1]) }
    #expect(reach.refusal(of: "10.1.2.3") == nil && reach.refusal(of: "::ffff:10.1.2.3") == nil)
    #expect(reach.refusal(of: "10.2.0.1")?.contains("private") == true)
  }

  @Test(
    "an address that nobody may subscribe with",
    arguments: [
      "http://a.example/cb", "https://", "https://a.example/cb?x=1", "https://a.example/cb#x",
      "https://u:p@a.example/cb",
      "https://a.example/c b", "https://2130706433/", "https://0177.0.0.1/", "https://127.1/", "https://0x7f.1/",
      "https://0x7f000001/", "https://a.0x1/", "ftp://a.example/", "https://ä.example/", "https://a.example:0/",
      "https://a.example:65536/", "https://a..example/", "",
      "https://a.example/" + String(repeating: "x", count: 239),
    ])
  func badURLs(text: String) {
    #expect { _ = try CallbackTarget(text) } throws: { ($0 as? CallbackFault)?.code == .badURL }
  }

  @Test(
    "and why",
    arguments: [
      ("ftp://a.example/", "only https is allowed"), ("http://a.example/", "only https is allowed"),
      ("https://u:secret@a.example/cb", "it must not hold a user name"),
      ("https://u@a.example", "it must not hold a user name"),
    ])
  func badURLs(text: String, reason: String) {
    #expect {
      _ = try CallbackTarget(text)
    } throws: {
      "\($0)".hasSuffix(": \(reason)") && !"\($0)".contains("secret")
    }
  }

  @Test(
    "one that is right",
    arguments: ["https://a.example", "https://A.example:8443/x/y", "https://[2606:4700::1]/", "https://1.1.1.1/"])
  func goodURLs(text: String) throws { _ = try CallbackTarget(text) }

  @Test("every address of a host has to be public, not the first alone")
  func everyAddress() async throws {
    let target = try CallbackTarget("https://subscriber.example/cb")
    for answers in [["1.1.1.1", "10.0.0.1"], ["10.0.0.1", "1.1.1.1"], ["2606:4700::1", "fe80::1%eth0"]] {
      let caller = try caller(ScriptedResolver(answers), inside: false)
      await #expect { _ = try await caller.addresses(of: target) } throws: {
        ($0 as? CallbackFault)?.code == .addressRefused
      }
    }
    await #expect { _ = try await caller(ScriptedResolver([])).addresses(of: target) } throws: {
      ($0 as? CallbackFault)?.code == .nameNotFound
    }
  }

  // MARK: Live

  private func caller(
    _ resolver: any HostResolver, inside: Bool = true, milliseconds: Int64 = 5000
  ) throws -> CallbackCaller {
    try CallbackCaller(
      certificatePEM: certificates.clientPEM, keyPEM: Secret(certificates.clientKeyPEM),
      reach: AddressReach { inside && $0 == [127, 0, 0, 1] }, resolver: resolver, version: "1.2.3",
      milliseconds: milliseconds)
  }

  private let batch = [(name: "batchTag", value: "20260101-1+/="), (name: "date", value: "2026-01-01")]

  private func withSubscriber(
    _ respond: @escaping StubServer.Respond = { try await $1.respond() },
    _ body: (StubServer, CallbackTarget) async throws -> Void
  ) async throws {
    let tls = try certificates.serverContext(certificates.serverPEM, asksForCertificate: true)
    try await StubServer.run(tls: tls, respond) { server in
      try await body(server, CallbackTarget("https://subscriber.example:\(server.port)/cb/x"))
    }
  }

  /// That of the server's own certificate.
  private func leaf() throws -> [UInt8] {
    try #require(try NIOSSLCertificate.fromPEMBytes(Array(certificates.serverPEM.utf8)).first).toDERBytes()
  }

  @Test("a subscriber is asked with tag and date, and sees who asks")
  func asked() async throws {
    let leaf = try leaf()
    try await withSubscriber { server, target in
      try await caller(ScriptedResolver(["127.0.0.1"])).call(target, query: batch) { $0 == leaf ? nil : "another one" }
      let request = try #require(server.log.requests.first)
      #expect(request.method == "GET" && request.target == "/cb/x?batchTag=20260101-1%2B%2F%3D&date=2026-01-01")
      #expect(request["host"] == "subscriber.example:\(server.port)")
      #expect(request["user-agent"] == "Keyferry/1.2.3 (diagnosis key gateway)")
    }
  }

  @Test("nothing is sent to a server whose own certificate is not trusted")
  func strangeCertificate() async throws {
    try await withSubscriber { server, target in
      await #expect {
        try await caller(ScriptedResolver(["127.0.0.1"])).call(target, query: batch) { _ in "not in the whitelist" }
      } throws: {
        ($0 as? CallbackFault)?.code == .certificateRefused && "\($0)".contains("not in the whitelist")
      }
      #expect(server.log.requests.isEmpty)
    }
  }

  @Test("a name that means another address a moment later leads nowhere else")
  func rebinding() async throws {
    try await withSubscriber { server, target in
      // The judged address is not the machine's own; that is what the second answer says.
      let resolver = ScriptedResolver(["192.0.2.1"], ["127.0.0.1"])
      let caller = try CallbackCaller(
        certificatePEM: certificates.clientPEM, keyPEM: Secret(certificates.clientKeyPEM),
        reach: AddressReach { $0 == [192, 0, 2, 1] }, resolver: resolver, version: "1", milliseconds: 700)
      await #expect(throws: CallbackFault.self) { try await caller.call(target, query: batch) { _ in nil } }
      #expect(server.log.mostConnections == 0)
      await #expect { try await caller.call(target, query: batch) { _ in nil } } throws: {
        ($0 as? CallbackFault)?.code == .addressRefused
      }
      #expect(server.log.mostConnections == 0)
    }
  }

  @Test(
    "a redirect is not followed, wherever it leads", arguments: ["301 Moved", "302 Found", "307 Temporary Redirect"])
  func redirects(status: String) async throws {
    try await StubServer.run({ try await $1.respond() }) { inside in
      try await withSubscriber { _, connection in
        try await connection.respond(status, ["Location: http://127.0.0.1:\(inside.port)/"])
      } _: { _, target in
        await #expect {
          try await caller(ScriptedResolver(["127.0.0.1"])).call(target, query: batch) { _ in nil }
        } throws: {
          ($0 as? CallbackFault)?.code == .status && "\($0)".contains("redirects are not followed")
        }
        #expect(inside.log.mostConnections == 0)
      }
    }
  }

  @Test("a subscriber that hangs is left after a while", .timeLimit(.minutes(1)))
  func hanging() async throws {
    try await withSubscriber { _, connection in
      try await connection.waitForever()
    } _: { _, target in
      let began = ContinuousClock.now
      await #expect {
        try await caller(ScriptedResolver(["127.0.0.1"]), milliseconds: 600).call(target, query: batch) { _ in nil }
      } throws: {
        ($0 as? CallbackFault)?.code == .timeOut
      }
      #expect(ContinuousClock.now - began < .seconds(20))
    }
    // One that never begins TLS, too.
    try await StubServer.run({ _, connection in try await connection.waitForever() }) { server in
      let target = try CallbackTarget("https://subscriber.example:\(server.port)/")
      await #expect(throws: CallbackFault.self) {
        try await caller(ScriptedResolver(["127.0.0.1"]), milliseconds: 600).call(target, query: batch) { _ in nil }
      }
    }
  }

  @Test("a body without an end is not read", .timeLimit(.minutes(1)))
  func endlessBody() async throws {
    try await withSubscriber { _, connection in
      try await connection.send("HTTP/1.1 200 OK\r\n\r\n")
      while true { try await connection.send([UInt8](repeating: 65, count: 65_536)) }
    } _: { server, target in
      try await caller(ScriptedResolver(["127.0.0.1"])).call(target, query: batch) { _ in nil }
      try await Task.sleep(for: .milliseconds(500))
      let sent = server.log.bytesSent
      try await Task.sleep(for: .milliseconds(300))
      #expect(server.log.bytesSent == sent && sent < 16 << 20)
    }
  }

  @Test("another status, or none, is no success")
  func failures() async throws {
    let answers: [(String, CallbackFault.Code)] = [
      ("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n", .status),
      ("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", .status),
      ("", .connectionClosed), ("no HTTP at all\r\n\r\n", .tls),
    ]
    for (answer, code) in answers {
      try await withSubscriber { _, connection in
        if !answer.isEmpty { try await connection.send(answer) }
        try connection.hangUp()
      } _: { _, target in
        await #expect("\(answer)") {
          try await caller(ScriptedResolver(["127.0.0.1"])).call(target, query: batch) { _ in nil }
        } throws: {
          ($0 as? CallbackFault)?.code == code
        }
      }
    }
  }

  @Test("a certificate and a key that do not belong together are no identity")
  func identity() {
    #expect {
      try CallbackCaller(
        certificatePEM: certificates.clientPEM, keyPEM: Secret(certificates.serverKeyPEM), reach: AddressReach(),
        version: "1")
    } throws: { ($0 as? CallbackFault)?.code == .tls }
  }
}
