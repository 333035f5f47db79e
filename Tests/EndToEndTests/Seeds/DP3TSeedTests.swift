import Crypto
import ExposureKeys
import Foundation
import FoundationNetworking
import Testing

/// The SDK of DP-3T in its two generations: archives by the keys' own day, and from tag to tag.
@Suite("Seed: DP-3T SDK 1.3.0 and 2.5.1") struct DP3TSeedTests {
  private static let settings = """
    series:
      - {name: VA, include: [US-VA], every: 2 hours, rollups: [since, key-day], sign: KEY}
    server:
      listen: "127.0.0.1:0"
      response-key: {file: response.key}
      uploads:
        origin: US-VA
        dp3t: {keys: [dp3t.pem], next-day-key: {file: next-day.key}}
        rate: none
    """

  // MARK: Reports

  private struct Key: Encodable {
    var keyData: Data
    var rollingPeriod: Int
    var rollingStartNumber: Int
    var transmissionRiskLevel: Int
    var fake: Int

    init(_ key: FoundKey) {
      (keyData, rollingPeriod, rollingStartNumber) = (key.data, key.period, key.start)
      (transmissionRiskLevel, fake) = (0, 0)
    }

    /// One that fills the list.
    init(fillingOn day: Day) {
      keyData = Data((0..<16).map { _ in UInt8.random(in: 0...255) })
      (rollingPeriod, rollingStartNumber) = (144, Int(day.firstInterval.rawValue))
      (transmissionRiskLevel, fake) = (0, 1)
    }
  }

  private struct Report: Encodable {
    var gaenKeys: [Key]
    var fake: Int
    var delayedKeyDate: Int?
    var withFederationGateway: Int?
  }

  private struct NextDayReport: Encodable {
    var delayedKey: Key
    var fake: Int
  }

  private func token(
    of authority: SeedGateway.Authority, at now: Instant, onset: Day, isFake: Bool = false
  ) throws -> String {
    try WebToken.make(
      [
        "jti": UUID().uuidString, "iss": "authority.example", "sub": "person", "scope": "exposed",
        "iat": now.secondsSince1970, "exp": now.secondsSince1970 + 300, "onset": onset.description,
        "fake": isFake ? "1" : "0",
      ], signedBy: authority.dp3t)
  }

  /// Only 200 is success.
  private func report(
    _ body: some Encodable, to path: String, token: String, over line: Line
  ) async throws -> String? {
    let (text, answer) = try await line.post(
      try JSONEncoder().encode(body), to: path,
      fields: ["Authorization": "Bearer \(token)", "User-Agent": "ch.example.app;1.0.5;10;iOS;13.5"])
    try #require(answer.statusCode == 200, "\(path): \(String(decoding: text, as: UTF8.self))")
    return answer.value(forHTTPHeaderField: "Authorization").map { String($0.dropFirst("Bearer ".count)) }
  }

  // MARK: Answers

  /// What every answer is checked for: the clock, and the token that signs it.
  private func check(_ answer: HTTPURLResponse, _ body: Data, by key: P256.Signing.PublicKey, at now: Instant) throws {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(identifier: "GMT")
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
    guard let date = answer.value(forHTTPHeaderField: "Date").flatMap({ format.date(from: $0) }) else {
      throw PhoneFault("no date")
    }
    let age = answer.value(forHTTPHeaderField: "Age").flatMap(Double.init) ?? 0
    guard abs(date.timeIntervalSince1970 + age - Double(now.secondsSince1970)) <= 600 else {
      throw PhoneFault("the clocks differ by more than ten minutes")
    }
    guard let token = answer.value(forHTTPHeaderField: "Signature") else { throw PhoneFault("no signature") }
    let claims = try WebToken.claims(of: token, signedBy: key)
    guard claims["iss"] as? String == "dp3t", claims["hash-alg"] as? String == "sha-256",
      claims["content-hash"] as? String == Data(SHA256.hash(data: body)).base64EncodedString(),
      let end = claims["exp"] as? Int64, end > now.secondsSince1970
    else { throw PhoneFault("the signature is of something else") }
    for name in ["published-until", "key-bundle-tag"] {
      guard claims[name] as? String == answer.value(forHTTPHeaderField: "x-\(name)") else {
        throw PhoneFault("\(name) is not what was signed")
      }
    }
  }

  /// SDK 1.3.0: the last ten days, oldest first, each in full, and each given to the framework as this day.
  private struct DayPhone {
    let line: Line
    /// By the day that was asked for: minutes of exposure are added up within it.
    var days: [Int: Balance] = [:]

    mutating func sync(_ check: (HTTPURLResponse, Data) throws -> Void) async throws {
      let today = Int(line.gateway.today.daysSince1970)
      for day in (0...9).map({ today - 9 + $0 }) {
        let (body, answer) = try await line.get(
          "\(line.gateway.address)/v1/gaen/exposed/\(day * 86_400_000)", fields: ["Accept": "application/zip"])
        guard [200, 204].contains(answer.statusCode) else { throw PhoneFault("day \(day): \(answer.statusCode)") }
        try check(answer, body)
        var balance = Balance()
        if answer.statusCode == 200 {
          let (export, signature) = try unpacked(body)
          balance.find(try Framework.apple.keys(export: export, signature: signature, signer: line.gateway.signer))
        }
        days[day] = balance
      }
    }
  }

  /// SDK 2.5.1: what was published since the tag.
  private struct TagPhone {
    let line: Line
    var lastKeyBundleTag: String?
    var found: [Data: FoundKey] = [:]

    /// - Returns: whether there was something.
    mutating func sync(_ check: (HTTPURLResponse, Data) throws -> Void) async throws -> Bool {
      let tag = lastKeyBundleTag.map { "lastKeyBundleTag=\($0)&" } ?? ""
      let (body, answer) = try await line.get(
        "\(line.gateway.address)/v2/gaen/exposed?\(tag)withFederationGateway=false",
        fields: ["Accept": "application/zip"])
      guard [200, 204].contains(answer.statusCode) else { throw PhoneFault("\(answer.statusCode)") }
      try check(answer, body)
      if answer.statusCode == 200 {
        let (export, signature) = try unpacked(body)
        let keys = try Framework.apple.keys(export: export, signature: signature, signer: line.gateway.signer)
        guard Set(keys.map(\.data)).count == keys.count else { throw PhoneFault("a key twice in one call") }
        for key in keys { found[key.data] = key }
      }
      lastKeyBundleTag = answer.value(forHTTPHeaderField: "x-key-bundle-tag") ?? lastKeyBundleTag
      return answer.statusCode == 200
    }
  }

  // MARK: Days

  @Test("SDK 1.3.0, six days: each day asked for has the keys of that day, all of them once", .timeLimit(.minutes(2)))
  func byDay() async throws {
    let authority = SeedGateway.Authority()
    try await SeedGateway.run(Self.settings, trusting: authority, from: "2020-12-01T05:00:00Z") { gateway in
      let line = Line(gateway: gateway)
      var phone = DayPhone(line: line)
      var posted: [FoundKey] = []
      var waiting: [(person: Person, day: Int, token: String)] = []
      for day in 0..<6 {
        // The phones of yesterday report the key of that day.
        for (person, day, token) in waiting {
          let key = person.key(of: day)
          _ = try await report(
            NextDayReport(delayedKey: Key(key), fake: 0), to: "/v1/gaen/exposednextday", token: token, over: line)
          posted.append(key)
        }
        waiting = []
        for number in 0..<3 {
          let person = Person(number: day * 10 + number)
          let keys = person.keys(of: 13, before: gateway.today)
          let onset = Day(daysSince1970: gateway.today.daysSince1970 - 20)
          // A person in three only seems to report.
          let isFake = number == 2
          let next = try await report(
            Report(
              gaenKeys: keys.map { Key($0) } + [Key(fillingOn: gateway.today)], fake: isFake ? 1 : 0,
              delayedKeyDate: Int(gateway.today.firstInterval.rawValue)),
            to: "/v1/gaen/exposed",
            token: try token(of: authority, at: gateway.now, onset: onset, isFake: isFake), over: line)
          if isFake { continue }
          posted += keys
          waiting.append((person, Int(gateway.today.daysSince1970), try #require(next)))
        }
        // Two syncs a day.
        for hours in [14, 10] as [Int64] {
          try await gateway.goOn(hours: hours)
          try await phone.sync { try check($0, $1, by: authority.responses.publicKey, at: gateway.now) }
        }
      }
      let today = Int(gateway.today.daysSince1970)
      var found = 0
      for (day, balance) in phone.days where day > today - 10 {
        var balance = balance
        // The last day's keys are embargoed until it is over.
        balance.post(posted.filter { $0.day == day })
        #expect(balance.faults == [], "\(today - day) days ago")
        #expect(balance.found.values.allSatisfy { $0.day == day })
        found += balance.found.count
      }
      #expect(found > 60)
    }
  }

  @Test("SDK 2.5.1, five days: from tag to tag, and a new phone in two visits", .timeLimit(.minutes(2)))
  func byTag() async throws {
    let authority = SeedGateway.Authority()
    try await SeedGateway.run(Self.settings, trusting: authority, from: "2020-12-01T05:00:00Z") { gateway in
      let line = Line(gateway: gateway)
      var phone = TagPhone(line: line)
      // A phone that had another server before keeps the tag of that.
      var moved = TagPhone(line: line, lastKeyBundleTag: "\(gateway.now.secondsSince1970 * 1000 + 1234)")
      var balance = Balance()
      let verify = { (answer: HTTPURLResponse, body: Data) in
        try check(answer, body, by: authority.responses.publicKey, at: gateway.now)
      }
      for day in 0..<5 {
        for number in 0..<3 {
          let isFake = number == 2
          let keys = isFake ? [] : Person(number: day * 10 + number).keys(before: gateway.today)
          let filling = (keys.count..<30).map { _ in Key(fillingOn: gateway.today) }
          let onset = Day(daysSince1970: gateway.today.daysSince1970 - 20)
          _ = try await report(
            Report(gaenKeys: keys.map { Key($0) } + filling, fake: isFake ? 1 : 0, withFederationGateway: 0),
            to: "/v2/gaen/exposed",
            token: try token(of: authority, at: gateway.now, onset: onset, isFake: isFake), over: line)
          balance.post(keys)
        }
        for hours in [10, 14] as [Int64] {
          try await gateway.goOn(hours: hours)
          _ = try await phone.sync(verify)
          _ = try await moved.sync(verify)
        }
      }
      // Six syncs a day are what the framework takes.
      for _ in 0..<4 where try await phone.sync(verify) {}
      for _ in 0..<4 where try await moved.sync(verify) {}
      var new = TagPhone(line: line)
      var visits = 0
      while try await new.sync(verify) { visits += 1 }
      #expect(visits <= 2, "\(visits) visits of a new phone")
      for phone in [phone, moved, new] {
        var balance = balance
        balance.find(Array(phone.found.values))
        #expect(balance.faults == [])
      }
    }
  }
}
