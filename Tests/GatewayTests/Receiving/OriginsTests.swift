import BundleTrust
import ExposureKeys
import Foundation
import GatewayTesting
import KeyFormats
import KeyIntake
import KeyNormalization
import KeyPeers
import KeyReceiving
import KeyStorage
import PolicyFiles
import Testing

/// A federation gateway's batch is believed origin by origin, as its audit answer proves.
@Suite("Origins that sign their own keys")
struct OriginsTests {
  /// What one country uploaded: some keys, and who signed them.
  private struct Upload {
    var country: String
    var certificate: TestCertificate
    var keys: [ClaimedKey]
    /// As the audit answer says it.
    var change: @Sendable (inout AuditEntry) -> Void = { _ in }
  }

  private static let day = usualNoon.day

  private static func key(_ number: UInt64) -> ClaimedKey {
    var key = ClaimedKey(key: TemporaryExposureKey(high: number &* 0x9e37_79b9_7f4a_7c15, low: number))
    key.rollingStart = Int32((day.daysSince1970 - 3) * 144)
    key.rollingPeriod = 144
    key.transmissionRisk = 3
    key.reportType = 1
    key.daysSinceOnset = 2
    return key
  }

  private static func anchor() throws -> FederationIdentity {
    try FederationIdentity(
      certificate: try FederationCertificate(pem: TestCertificate.anchor.pem),
      key: Secret(TestCertificate.anchor.keyPEM))
  }

  /// Plays the gateway: a batch of these uploads, in which the keys of two of them may take turns, and its audit answer. The
  /// own country's upload is in the audit answer alone.
  private static func serve(
    _ uploads: [Upload], own: String = "NL", tag: String = "20201201-1+/=", from peer: MemoryPeer,
    taking order: [Int]? = nil
  ) throws {
    let operatorIdentity = try anchor()
    var entries: [AuditEntry] = []
    var batch: [[UInt8]] = []
    func encoded(_ keys: [ClaimedKey], _ country: String) throws -> (bytes: [UInt8], signed: SignedBatch) {
      var regions = RegionTable()
      let interned = regions.intern(RegionClaim(origin: country, visited: ["DE", "FR"]))
      let id = try #require(interned)
      let rows = keys.map { key in
        var key = key
        key.regions = id
        return key
      }
      let sink = MemorySink()
      let encoder = BatchEncoder(OutputBuffer(sink))
      try rows.withUnsafeBufferPointer { try encoder.encode($0, regions: regions, unknownFields: UnknownFieldTable()) }
      try encoder.finish(ExportHeader())
      return (sink.bytes, try CanonicalBatch.signed(rows, regions: regions))
    }
    for upload in uploads {
      let certificate = try FederationCertificate(pem: upload.certificate.pem)
      let identity = try BatchSigningIdentity(certificate: certificate, key: Secret(upload.certificate.keyPEM))
      let signed = try encoded(upload.keys, upload.country).signed
      var entry = AuditEntry(
        country: upload.country, uploadedTime: "2020-12-01T10:00:00.123+0000",
        uploaderCertificate: upload.certificate.pem, uploaderThumbprint: certificate.thumbprint,
        uploaderOperatorSignature: "", signingCertificate: upload.certificate.pem,
        uploaderSigningThumbprint: certificate.thumbprint,
        signingCertificateOperatorSignature: Data(try operatorIdentity.sign(pem: upload.certificate.pem))
          .base64EncodedString(),
        amount: upload.keys.count,
        batchSignature: Data(try identity.sign(signed.canonical, at: usualNoon)).base64EncodedString())
      upload.change(&entry)
      entries.append(entry)
      if upload.country != own {
        for key in upload.keys { batch.append(try encoded([key], upload.country).bytes) }
      }
    }
    let body = (order ?? Array(batch.indices)).flatMap { batch[$0] }
    peer["/diagnosiskeys/download/\(day)"] = MemoryPeer.Answer(
      body: body, headers: [.init("batchTag", tag), .init("nextBatchTag", "null")])
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    peer["/diagnosiskeys/audit/download/2020-12-01/20201201-1%2B%2F%3D"] = MemoryPeer.Answer(
      body: Array(try encoder.encode(entries)))
  }

  private static func settings(
    revoking revoked: TestCertificate? = nil, listing listed: TestCertificate? = nil, as use: CertificateUse = .signing
  ) throws -> SourceSettings {
    var trust = FederationTrust(anchor: try anchor().certificate)
    if let known = revoked ?? listed {
      let certificate = try FederationCertificate(pem: known.pem)
      trust.rows = [
        WhitelistedCertificate(
          certificate: certificate, country: try #require(certificate.country), use: use, isRevoked: revoked != nil,
          operatorSignature: try anchor().sign(pem: known.pem))
      ]
    }
    var settings = SourceSettings(
      name: "efgs", peer: .efgs, location: "https://efgs.example.org/", options: ["days": "0"],
      trust: .origins(trust, []), reading: Policy(name: "default"), speaksFor: .any)
    settings.ownOrigins = ["NL"]
    return settings
  }

  private static func uploads(change: @escaping @Sendable (inout AuditEntry) -> Void = { _ in }) -> [Upload] {
    [
      Upload(country: "NL", certificate: .netherlands, keys: [key(90), key(91)]),
      Upload(country: "DE", certificate: .germany, keys: [key(1), key(2)]),
      Upload(country: "FR", certificate: .france, keys: [key(3), key(4)], change: change),
      Upload(country: "DE", certificate: .germany, keys: [key(5)]),
    ]
  }

  /// Days that a clock which was ahead passed over are asked for when it is right; once, also where the peer fails then.
  @Test func whatAClockAheadPassedOverIsAskedFor() async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      try Self.serve(Self.uploads(), from: peer)
      let receiver = Receiver(folder: folder, own: ["NL"])
      var settings = try Self.settings()
      settings.options["days"] = "5"
      let ahead = try await receiver.pull(settings, peer)
      #expect(ahead.cursor != nil && ahead.counts.new == 5)
      func days() async throws -> [String] {
        peer.forget()
        _ = try await receiver.pull(settings, peer)
        return peer.asked.compactMap { $0.split(separator: "/").last.map(String.init) }
      }
      // The gateway answers to the tag on whatever day it is asked.
      for day in ["2020-11-30", "2020-11-11"] {
        peer["/diagnosiskeys/download/\(day)"] = peer["/diagnosiskeys/download/2020-12-01"]
      }
      // A day is no reason.
      receiver.advance(seconds: -86_400)
      #expect(try await !days().contains("2020-11-25"))
      receiver.advance(seconds: -19 * 86_400)
      let first = "/diagnosiskeys/download/2020-11-06"
      peer[first] = MemoryPeer.Answer(status: 503)
      #expect(try await days().contains("2020-11-06"))
      peer[first] = nil
      receiver.advance(seconds: 86_400)
      #expect(try await days().first == "2020-11-07")
    }
  }

  @Test("each origin's keys are admitted, uploads that took turns included, and it is told who signed")
  func proved() async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      // Two countries uploaded at the same time.
      try Self.serve(Self.uploads(), from: peer, taking: [2, 0, 1, 3, 4])
      let receiver = Receiver(folder: folder, own: ["NL"])
      let receipt = try await receiver.pull(try Self.settings(), peer)
      #expect(receipt.counts.new == 5 && receipt.refusals.isEmpty)
      let claims = try await receiver.claims()
      #expect(Set(claims.map(\.source.provenance)) == [.origins])
      #expect(Set(claims.filter { $0.origin == "DE" }.map(\.subject.key)) == Set([1, 2, 5].map { Self.key($0).key }))
      let documents = try await receiver.documents([.recorded])
      #expect(documents.map(\.name) == ["2020-12-01/20201201-1+/=/FR", "2020-12-01/20201201-1+/=/DE"])
      let thumbprint = try FederationCertificate(pem: TestCertificate.germany.pem).thumbprint
      #expect(documents.last?.facts?.vouchedBy == "signature of DE, certificate \(thumbprint)")
      // What is recorded is not asked for again, and the chain goes on behind it.
      peer.forget()
      #expect(try await receiver.pull(try Self.settings(), peer).counts.received == 0)
      #expect(receipt.cursor?.contains("20201201-1") == true)
    }
  }

  @Test(
    "what one origin cannot prove puts its keys aside, and no others",
    arguments: [
      "signature", "thumbprint", "operator", "country", "too-many", "too-few", "time", "null",
    ])
  func unproved(what: String) async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      try Self.serve(
        Self.uploads { entry in
          switch what {
          case "signature": entry.batchSignature = String(entry.batchSignature.reversed())
          case "thumbprint": entry.uploaderSigningThumbprint = String(repeating: "0", count: 64)
          case "operator": entry.signingCertificateOperatorSignature = "AAAA"
          case "country": entry.signingCertificate = TestCertificate.germany.pem
          case "too-many": entry.amount = 3
          case "too-few": entry.amount = 1
          case "time": entry.uploadedTime = "yesterday"
          default: entry.amount = 0
          }
        }, from: peer)
      let receiver = Receiver(folder: folder, own: ["NL"])
      let receipt = try await receiver.pull(try Self.settings(), peer)
      #expect(receipt.counts.new == 3)
      #expect(receipt.refusals.map(\.fault.code) == ["origins-not-proven"])
      #expect(receipt.refusals.map(\.document) == ["2020-12-01/20201201-1+/=/FR"])
      #expect(Set(try await receiver.claims().map(\.origin)) == ["DE"])
    }
  }

  @Test(
    "keys of an upload that are missing put that origin aside; those of the own country are left out by the gateway")
  func missing() async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      try Self.serve(Self.uploads(), own: "FR", from: peer)
      let receiver = Receiver(folder: folder)
      var settings = try Self.settings()
      // Here France is another one, and the Netherlands' keys are there.
      settings.ownOrigins = []
      let receipt = try await receiver.pull(settings, peer)
      #expect(receipt.counts.new == 5)
      #expect(receipt.refusals.map(\.document) == ["2020-12-01/20201201-1+/=/FR"])
      #expect(receipt.refusals.first?.fault.reason.contains("0 are left") == true)
    }
  }

  @Test("without an audit answer nothing is believed, and it is told what the gateway said", arguments: [404, 410])
  func noAudit(status: Int) async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      try Self.serve(Self.uploads(), from: peer)
      let path = "/diagnosiskeys/audit/download/2020-12-01/20201201-1%2B%2F%3D"
      peer[path] = MemoryPeer.Answer(status: status)
      let receiver = Receiver(folder: folder, own: ["NL"])
      let receipt = try await receiver.pull(try Self.settings(), peer)
      #expect(receipt.counts.received == 0 && receipt.refusals.count == 2)
      #expect(
        receipt.refusals.allSatisfy {
          $0.fault.reason.contains("the gateway answered \(status) when it was asked who has signed")
        })
    }
  }

  @Test(
    "an answer that proved nothing is asked for again, and what comes rightly then is admitted",
    arguments: ["no-audit", "empty-audit", "signature", "no-entry", "truncated"])
  func healed(what: String) async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      try Self.serve(Self.uploads(), from: peer)
      let (batch, audit) = (
        "/diagnosiskeys/download/\(Self.day)", "/diagnosiskeys/audit/download/2020-12-01/20201201-1%2B%2F%3D"
      )
      let (goodBatch, goodAudit) = (try #require(peer[batch]), try #require(peer[audit]))
      switch what {
      case "no-audit": peer[audit] = MemoryPeer.Answer(status: 404)
      case "empty-audit": peer[audit] = MemoryPeer.Answer(body: Array("[]".utf8))
      case "signature":
        try Self.serve(
          Self.uploads { $0.batchSignature = String($0.batchSignature.reversed()) }, from: peer)
      case "no-entry": try Self.serve(Self.uploads { $0.country = "XX" }, from: peer)
      default: peer[batch]?.body.removeLast()
      }
      let receiver = Receiver(folder: folder, own: ["NL"])
      let first = try await receiver.pull(try Self.settings(), peer)
      #expect(first.counts.new < 5 && !first.refusals.isEmpty)
      // It is not due yet, and nobody is asked.
      peer.forget()
      receiver.advance(seconds: 60)
      _ = try await receiver.pull(try Self.settings(), peer)
      #expect(!peer.asked.contains { $0.contains("audit") })
      // The gateway says the same again: no second attempt is counted.
      receiver.advance(seconds: 600)
      _ = try await receiver.pull(try Self.settings(), peer)
      #expect(peer.asked.contains { $0.contains("audit") } || what == "truncated")
      let waiting = try await receiver.documents([.quarantined])
      #expect(waiting.filter { $0.name.hasSuffix("/FR") || what == "truncated" }.allSatisfy { $0.attempts == 2 })
      (peer[batch], peer[audit]) = (goodBatch, goodAudit)
      receiver.advance(seconds: 3600)
      let last = try await receiver.pull(try Self.settings(), peer)
      #expect(first.counts.new + last.counts.new == 5)
      let left = try await receiver.documents([.quarantined]).map(\.name)
      // What nobody has uploaded is asked for no more when the gateway has forgotten the batch.
      #expect(left == (what == "no-entry" ? ["2020-12-01/20201201-1+/=/XX"] : []))
    }
  }

  @Test("a batch whose own name is of tomorrow is audited under its own day, whatever our clock says")
  func tomorrow() async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      try Self.serve(Self.uploads(), tag: "20201202-1", from: peer)
      let today = "/diagnosiskeys/audit/download/2020-12-01/20201201-1%2B%2F%3D"
      peer["/diagnosiskeys/audit/download/2020-12-02/20201202-1"] = peer[today]
      peer[today] = nil
      let receiver = Receiver(folder: folder, own: ["NL"])
      let receipt = try await receiver.pull(try Self.settings(), peer)
      #expect(receipt.counts.new == 5 && receipt.refusals.isEmpty)
      #expect(try await receiver.documents([.recorded]).map(\.name).contains("2020-12-02/20201202-1/FR"))
    }
  }

  @Test("where the day of the audit answer is in doubt, those around it are asked")
  func otherDays() async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      try Self.serve(Self.uploads(), tag: "20201201-1", from: peer)
      let own = "/diagnosiskeys/audit/download/2020-12-01/20201201-1%2B%2F%3D"
      // It was made just after midnight, under a tag of the day before.
      peer["/diagnosiskeys/audit/download/2020-12-02/20201201-1"] = peer[own]
      for day in ["2020-12-01", "2020-11-30"] {
        peer["/diagnosiskeys/audit/download/\(day)/20201201-1"] = MemoryPeer.Answer(status: 404)
      }
      let receiver = Receiver(folder: folder, own: ["NL"])
      #expect(try await receiver.pull(try Self.settings(), peer).counts.new == 5)
    }
  }

  @Test("a certificate that our own list has for TLS signs no batch; one that it has for signing needs no second proof")
  func ownList() async throws {
    for (use, isTaken) in [(CertificateUse.authentication, false), (.callback, false), (.signing, true)] {
      try await withFolder { folder in
        let peer = MemoryPeer()
        try Self.serve(
          Self.uploads { if use == .signing { $0.signingCertificateOperatorSignature = "AAAA" } }, from: peer)
        let receiver = Receiver(folder: folder, own: ["NL"])
        let receipt = try await receiver.pull(try Self.settings(listing: .france, as: use), peer)
        #expect(receipt.counts.new == (isTaken ? 5 : 3))
        if !isTaken { #expect(receipt.refusals.first?.fault.reason.contains("not for SIGNING of FR") == true) }
      }
    }
  }

  @Test("thousands of invented origins are one document, and the country among them is admitted")
  func invented() async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      try Self.serve(Self.uploads(), from: peer)
      var body = try #require(peer["/diagnosiskeys/download/\(Self.day)"]).body
      for number in 0..<3000 {
        let origin = Array("q\(number)".utf8)
        body += [0x0a, UInt8(origin.count + 2), 0x32, UInt8(origin.count)] + origin
      }
      peer["/diagnosiskeys/download/\(Self.day)"]?.body = body
      let receiver = Receiver(folder: folder, own: ["NL"])
      let receipt = try await receiver.pull(try Self.settings(), peer)
      #expect(receipt.counts.new == 5)
      #expect(receipt.refusals.map(\.document) == ["2020-12-01/20201201-1+/=/others"])
    }
  }

  @Test("thousands of uploads of which nothing is there are no thousands of documents")
  func inventedUploads() async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      try Self.serve(Self.uploads(), from: peer)
      let path = "/diagnosiskeys/audit/download/2020-12-01/20201201-1%2B%2F%3D"
      let letters = (65...90).map { String(UnicodeScalar(UInt8($0))) }
      let countries = letters.flatMap { first in letters.map { first + $0 } } + (0..<3000).map { "q\($0)" }
      var answer = String(decoding: try #require(peer[path]).body.dropLast(), as: UTF8.self)
      for country in countries where !["DE", "FR", "NL"].contains(country) {
        answer += ",{\"country\":\"\(country)\",\"amount\":1}"
      }
      peer[path]?.body = Array((answer + "]").utf8)
      let receiver = Receiver(folder: folder, own: ["NL"])
      let receipt = try await receiver.pull(try Self.settings(), peer)
      #expect(receipt.counts.new == 5)
      #expect(receipt.refusals.count == 62 && Set(receipt.refusals.map(\.document)).count == 62)
    }
  }

  @Test("an audit answer of a hundred thousand objects is refused before it is read")
  func hugeAudit() async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      try Self.serve(Self.uploads(), from: peer)
      let objects = "[" + String(repeating: "{},", count: 100_000) + "{}]"
      peer["/diagnosiskeys/audit/download/2020-12-01/20201201-1%2B%2F%3D"] = MemoryPeer.Answer(
        body: Array(objects.utf8))
      let receiver = Receiver(folder: folder, own: ["NL"])
      guard case .failed(let fault) = try await receiver.pull(try Self.settings(), peer).outcome else {
        Issue.record("it was read")
        return
      }
      #expect(fault.code == "limit-exceeded")
    }
  }

  @Test("the same batch as JSON is proved by the same signatures")
  func json() async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      try Self.serve(Self.uploads(), from: peer)
      let batch = try #require(peer["/diagnosiskeys/download/\(Self.day)"]).body
      peer["/diagnosiskeys/download/\(Self.day)"]?.body =
        try DecodedDocument(batch, format: .efgsProtobuf).bytes(as: .efgsJSON)
      var settings = try Self.settings()
      settings.options["format"] = "json"
      let receiver = Receiver(folder: folder, own: ["NL"])
      let receipt = try await receiver.pull(settings, peer)
      #expect(receipt.counts.new == 5 && receipt.refusals.isEmpty)
    }
  }

  @Test("a visited region with a comma says other regions than were signed, and puts its origin aside")
  func comma() throws {
    var regions = RegionTable()
    func keys(_ visited: [String]) throws -> [ClaimedKey] {
      var key = Self.key(1)
      let interned = regions.intern(RegionClaim(origin: "DE", visited: visited))
      key.regions = try #require(interned)
      return [key]
    }
    let (signed, joined) = (try keys(["NL", "IT"]), try keys(["NL,IT"]))
    #expect(
      CanonicalBatch.received(signed, regions: regions).batch.canonical
        == CanonicalBatch.received(joined, regions: regions).batch.canonical, "or this test tests nothing")
    let identity = try BatchSigningIdentity(
      certificate: try FederationCertificate(pem: TestCertificate.germany.pem),
      key: Secret(TestCertificate.germany.keyPEM))
    let batch = try CanonicalBatch.signed(signed, regions: regions)
    let entry = AuditEntry(
      country: "DE", uploadedTime: "2020-12-01T10:00:00.123+0000", uploaderCertificate: TestCertificate.germany.pem,
      uploaderThumbprint: "", uploaderOperatorSignature: "", signingCertificate: TestCertificate.germany.pem,
      uploaderSigningThumbprint: try FederationCertificate(pem: TestCertificate.germany.pem).thumbprint,
      signingCertificateOperatorSignature: Data(try Self.anchor().sign(pem: TestCertificate.germany.pem))
        .base64EncodedString(), amount: 1,
      batchSignature: Data(try identity.sign(batch.canonical, at: usualNoon)).base64EncodedString())
    let verification = OriginsVerification(trust: FederationTrust(anchor: try Self.anchor().certificate))
    func verify(_ keys: [ClaimedKey]) throws {
      let sink = MemorySink()
      let encoder = BatchEncoder(OutputBuffer(sink))
      try keys.withUnsafeBufferPointer { try encoder.encode($0, regions: regions, unknownFields: UnknownFieldTable()) }
      try encoder.finish(ExportHeader())
      _ = try verification.verify(sink.bytes, audit: Array(try JSONEncoder().encode([entry])), named: "batch")
    }
    try verify(signed)
    let refusal = #expect(throws: DocumentRefusal.self) { try verify(joined) }
    #expect(refusal.map { "\($0)".contains("holds a comma") } == true)
  }

  @Test("a gateway in trouble is asked for its audit answer again")
  func troubled() async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      try Self.serve(Self.uploads(), from: peer)
      let path = "/diagnosiskeys/audit/download/2020-12-01/20201201-1%2B%2F%3D"
      let good = peer[path]
      let receiver = Receiver(folder: folder, own: ["NL"])
      for bad in [MemoryPeer.Answer(status: 500), MemoryPeer.Answer(body: Array("{}".utf8))] {
        peer[path] = bad
        let receipt = try await receiver.pull(try Self.settings(), peer)
        guard case .failed = receipt.outcome else {
          Issue.record("\(receipt)")
          return
        }
        #expect(try await receiver.documents().isEmpty && receipt.cursor == nil)
      }
      peer[path] = good
      #expect(try await receiver.pull(try Self.settings(), peer).counts.new == 5)
    }
  }

  @Test(
    "a certificate that we have revoked proves nothing; its keys are tried again from what was kept, and read again")
  func retriedAndReread() async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      try Self.serve(Self.uploads(), from: peer)
      let receiver = Receiver(folder: folder, own: ["NL"])
      let receipt = try await receiver.pull(try Self.settings(revoking: .france), peer)
      #expect(receipt.counts.new == 3)
      #expect(receipt.refusals.first?.fault.reason.contains("revoked") == true)
      let waiting = try #require(try await receiver.documents([.quarantined]).first)
      let retried = try #require(try await receiver.puller().retry(waiting, of: try Self.settings()))
      #expect(retried.counts.new == 2)
      var settings = try Self.settings()
      settings.reading.reading.maximumAge = 30
      let again = try await receiver.ledger.read { [settings] state in
        try Rereading(of: settings, ownOrigins: ["NL"]).preview(in: state)
      }
      #expect(again.refusals.isEmpty && again.documents == 2 && again.same == 5)
    }
  }

  @Test("a batch that no keys can be told apart in is put aside as it came")
  func malformed() async throws {
    try await withFolder { folder in
      let peer = MemoryPeer()
      try Self.serve(Self.uploads(), from: peer)
      var answer = try #require(peer["/diagnosiskeys/download/\(Self.day)"])
      answer.body.removeLast()
      peer["/diagnosiskeys/download/\(Self.day)"] = answer
      let receiver = Receiver(folder: folder, own: ["NL"])
      let receipt = try await receiver.pull(try Self.settings(), peer)
      #expect(receipt.counts.received == 0)
      #expect(receipt.refusals.map(\.document) == ["2020-12-01/20201201-1+/="])
    }
  }
}

@Suite("Batches by origin")
struct AuditedBatchTests {
  @Test("what is put together comes apart as it was; other archives are none")
  func roundTrip() throws {
    let batch = AuditedBatch(keys: [1, 2, 3], audit: Array("[]".utf8))
    #expect(try AuditedBatch(try batch.bytes()) == batch)
    #expect(try AuditedBatch([0x0a, 0x00]) == nil)
    #expect(try AuditedBatch([]) == nil)
    #expect(try batch.bytes() == batch.bytes(), "the same each time")
  }

  @Test("every key stands in its origin's slice, byte for byte, whatever fields it has")
  func split() throws {
    // Two origins, one key without any, an unknown field in a key, and one between keys.
    let first: [UInt8] = [0x0a, 0x06, 0x32, 0x02, 0x44, 0x45, 0x48, 0x01]
    let second: [UInt8] = [0x0a, 0x04, 0x32, 0x02, 0x46, 0x52]
    let none: [UInt8] = [0x0a, 0x02, 0x10, 0x05]
    let slices = try AuditedBatch.split(first + second + [0x10, 0x07] + none + first)
    #expect(slices.map(\.origin) == ["DE", "FR", ""])
    #expect(slices.map(\.keys) == [first + first, second, none])
    #expect(try AuditedBatch.split([]).isEmpty)
    for bad: [UInt8] in [
      [0x0a], [0x0a, 0x05, 0x32], [0x0a, 0x02, 0x32, 0x05], [0x0b], [0x00], [0xff],
      [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    ] {
      #expect(throws: FormatError.self) { try AuditedBatch.split(bad) }
    }
  }
}
