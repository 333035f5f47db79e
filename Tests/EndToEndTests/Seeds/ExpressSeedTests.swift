import Crypto
import ExposureKeys
import Foundation
import FoundationNetworking
import GatewayTesting
import Testing

/// What Google's request holds, as EN Express makes it: keys, a certificate of a verification server, and a code that ties
/// them together.
struct CertifiedUpload {
  let authority: SeedGateway.Authority
  var keys: [FoundKey]
  var reportType = "confirmed"
  var onset: Day
  var traveler = false
  var revisionToken = ""

  func body(at now: Instant) throws -> Data {
    let secret = SymmetricKey(size: .bits256)
    let texts = keys.map { "\($0.data.base64EncodedString()).\($0.start).\($0.period).\($0.risk)" }
    let code = HMAC<SHA256>.authenticationCode(for: Data(texts.sorted().joined(separator: ",").utf8), using: secret)
    let certificate = try WebToken.make(
      [
        "iss": "verify.example.org", "aud": "keys.example.org", "iat": now.secondsSince1970,
        "nbf": now.secondsSince1970 - 1, "exp": now.secondsSince1970 + 900, "reportType": reportType,
        "symptomOnsetInterval": onset.firstInterval.rawValue, "trisk": [Int](),
        "tekmac": Data(code).base64EncodedString(),
      ], signedBy: authority.verifier, keyID: "v1")
    return try JSONSerialization.data(
      withJSONObject: [
        "temporaryExposureKeys": keys.map {
          [
            "key": $0.data.base64EncodedString(), "rollingStartNumber": $0.start, "rollingPeriod": $0.period,
            "transmissionRisk": $0.risk,
          ] as [String: Any]
        },
        "healthAuthorityID": "gov.example.health", "verificationPayload": certificate,
        "hmacKey": secret.withUnsafeBytes { Data($0) }.base64EncodedString(),
        "symptomOnsetInterval": onset.firstInterval.rawValue, "traveler": traveler, "revisionToken": revisionToken,
        "padding": Data((0..<1500).map { _ in UInt8.random(in: 0...255) }).base64EncodedString(),
      ] as [String: Any])
  }

  /// - Returns: the revision token.
  func post(over line: Line, isFake: Bool = false) async throws -> String? {
    let (body, answer) = try await line.post(
      try body(at: line.gateway.now), to: "/v1/publish", fields: isFake ? ["X-Chaff": "1"] : [:])
    try #require(answer.statusCode == 200, "\(String(decoding: body.prefix(300), as: UTF8.self))")
    let members = try JSONSerialization.jsonObject(with: body) as? [String: Any]
    return members?["revisionToken"] as? String
  }
}

/// EN Express and the app of Google's reference: an index, and everything behind its last known line.
@Suite("Seed: EN Express, and Google's app") struct ExpressSeedTests {
  /// Google's app: everything behind the last address of the last success, in one call; all of it where that is gone.
  struct Phone {
    let line: Line
    /// The pair that the app is told.
    let index, base: String
    /// What a network between it and the files says to those who keep them.
    let fields: [String: String]
    var lastAddress: String?
    var keys: [FoundKey] = []
    private(set) var calls: [Int] = []

    init(_ line: Line, series: String, at base: String? = nil, fields: [String: String] = [:]) {
      self.line = line
      self.fields = fields
      self.base = base ?? line.gateway.address
      index = "\(self.base)/\(series)/index.txt"
    }

    mutating func visit() async throws {
      let text = String(decoding: try await line.download(index, fields: fields), as: UTF8.self)
      let addresses = text.split(whereSeparator: \.isWhitespace).map { "\(base)/\($0)" }
      let start = addresses.lastIndex { $0 == lastAddress }.map { $0 + 1 } ?? 0
      var new: [FoundKey] = []
      for address in addresses[start...] {
        let (export, signature) = try unpacked(try await line.download(address, fields: fields))
        new += try Framework.google.keys(export: export, signature: signature, signer: line.gateway.signer)
      }
      guard start < addresses.count else { return }
      calls.append(addresses.count - start)
      keys += new
      lastAddress = addresses.last
    }
  }

  private static let settings = """
    series:
      - {name: VA, include: [US-VA], every: 4 hours, sign: KEY}
      - {name: TRAVEL, travellers-only: true, every: 4 hours, sign: KEY}
    server:
      listen: "127.0.0.1:0"
      travel: TRAVEL
      roaming: {US: VA}
      uploads:
        origin: US-VA
        regions: [US-VA, US]
        certificates:
          - {issuer: verify.example.org, audience: keys.example.org, health-authority: gov.example.health, keys: {v1: verifier.pem}}
        revision-key: {file: revision}
        rate: none
    """

  @Test("five days: every key once at home, those of travellers once abroad, fake ones never", .timeLimit(.minutes(2)))
  func days() async throws {
    let authority = SeedGateway.Authority()
    try await SeedGateway.run(Self.settings, trusting: authority, from: "2020-12-01T09:00:00Z") { gateway in
      let line = Line(gateway: gateway)
      var phone = Phone(line, series: "VA")
      var seldom = Phone(line, series: "VA")
      var travelled: [FoundKey] = []
      var all: [FoundKey] = []
      for day in 0..<5 {
        for number in 0..<3 {
          let person = Person(number: day * 10 + number)
          let now = Int(gateway.today.daysSince1970)
          let upload = CertifiedUpload(
            authority: authority,
            keys: person.keys(of: 13, before: gateway.today) + [person.key(of: now, period: 54)],
            onset: Day(daysSince1970: gateway.today.daysSince1970 - 4), traveler: number == 1)
          _ = try await upload.post(over: line, isFake: number == 2)
          if number == 2 { continue }
          all += upload.keys
          if number == 1 { travelled += upload.keys }
        }
        for _ in 0..<4 {
          try await gateway.goOn(hours: 6)
          try await phone.visit()
        }
        if day % 2 == 1 { try await seldom.visit() }
      }
      // The keys of the last day are embargoed.
      try await gateway.goOn(hours: 24)
      try await phone.visit()
      try await seldom.visit()
      var balance = Balance()
      for one in [phone, seldom] {
        balance = Balance()
        balance.post(all)
        balance.find(one.keys)
        #expect(balance.faults == [])
        #expect(one.keys.allSatisfy { $0.reportType == 1 && (-14...14).contains($0.daysSinceOnset ?? 99) })
      }
      // An app that has been abroad is told another pair.
      struct Pair: Decodable { var index, base: String }
      let map = try JSONDecoder().decode(
        [String: [Pair]].self, from: try await line.download("\(gateway.address)/roaming.json"))
      let pairs = try #require(map["US"])
      #expect(pairs.map(\.index) == [phone.index, "\(gateway.address)/TRAVEL/index.txt"])
      #expect(pairs.allSatisfy { $0.base == gateway.address })
      var abroad = Phone(line, series: "TRAVEL")
      try await abroad.visit()
      balance = Balance()
      balance.post(travelled)
      balance.find(abroad.keys)
      #expect(balance.faults == [])
    }
  }

  @Test(
    "three days through a bucket, and through a gateway's copy of it: every key once",
    .enabled(if: Moto.isThere, "\(Moto.howToEnable)"), .timeLimit(.minutes(3)))
  func bucket() async throws {
    let authority = SeedGateway.Authority()
    try await Moto.run { moto in
      try await moto.makeBucket("keys")
      let place =
        "{s3: {endpoint: \"\(moto.endpoint)\", bucket: keys, prefix: eu, credentials: {access-key-id: AKIDTEST, "
        + "secret-access-key: {file: token}}}}"
      try await SeedGateway.run(
        Self.settings, publishing: place, trusting: authority, from: "2020-12-01T09:00:00Z"
      ) { gateway in
        let line = Line(gateway: gateway)
        // A content delivery network has a right of its own to read.
        let right =
          "AWS4-HMAC-SHA256 Credential=cdn/20201201/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
        var phones = [
          Phone(line, series: "VA"),
          Phone(line, series: "VA", at: "\(moto.endpoint)/keys/eu", fields: ["Authorization": right]),
        ]
        var all: [FoundKey] = []
        for day in 0..<3 {
          let upload = CertifiedUpload(
            authority: authority, keys: Person(number: day).keys(of: 13, before: gateway.today),
            onset: Day(daysSince1970: gateway.today.daysSince1970 - 4))
          _ = try await upload.post(over: line)
          all += upload.keys
          for _ in 0..<3 {
            try await gateway.goOn(hours: 8, step: 4)
            for index in phones.indices { try await phones[index].visit() }
          }
        }
        try await gateway.goOn(hours: 24, step: 4)
        for index in phones.indices {
          try await phones[index].visit()
          var balance = Balance()
          balance.post(all)
          balance.find(phones[index].keys)
          #expect(balance.faults == [])
        }
        #expect(phones[0].keys.count == all.count && phones[0].calls == phones[1].calls)
      }
    }
  }

  @Test("what is taken back reaches the phones once more, as a revision", .timeLimit(.minutes(2)))
  func revision() async throws {
    let authority = SeedGateway.Authority()
    try await SeedGateway.run(Self.settings, trusting: authority, from: "2020-12-01T09:00:00Z") { gateway in
      let line = Line(gateway: gateway)
      var phone = Phone(line, series: "VA")
      var upload = CertifiedUpload(
        authority: authority, keys: Person(number: 1).keys(of: 5, before: gateway.today), reportType: "likely",
        onset: Day(daysSince1970: gateway.today.daysSince1970 - 2))
      upload.revisionToken = try #require(try await upload.post(over: line))
      try await gateway.goOn(hours: 24)
      try await phone.visit()
      #expect(phone.keys.count == 5 && phone.keys.allSatisfy { $0.reportType == 2 })
      upload.reportType = "negative"
      _ = try await upload.post(over: line)
      try await gateway.goOn(hours: 24)
      let before = phone.lastAddress
      try await phone.visit()
      // Tag 7 has nothing new; tag 8 has what phones of windows read.
      #expect(phone.keys.count == 5 && phone.lastAddress != before)
    }
  }
}
