import ExposureKeys
import Foundation
import FoundationNetworking
import Testing

/// The Corona-Warn-App: packages of days, and of the hours of days that are not over.
@Suite("Seed: Corona-Warn-App, and Immuni") struct CoronaWarnAppSeedTests {
  private struct CoronaWarnPhone {
    let line: Line
    let country: String
    /// What it has fetched, by address.
    private var packages: [String: [FoundKey]] = [:]
    /// What it gave to the framework: each day's package in place of the day's hours.
    var balance = Balance()

    init(_ line: Line, country: String = "DE") {
      self.line = line
      self.country = country
    }

    mutating func visit() async throws {
      let countries = "\(line.gateway.address)/version/v1/diagnosis-keys/country"
      guard try JSONDecoder().decode([String].self, from: try await line.download(countries)).contains(country) else {
        throw PhoneFault("\(country) is no country")
      }
      let base = "\(countries)/\(country)/date"
      let days = try JSONDecoder().decode([String].self, from: try await line.download(base))
      var current: [String] = days.map { "\(base)/\($0)" }
      let today = line.gateway.today.description
      guard !days.contains(today) else { throw PhoneFault("today is not over") }
      for hour in try JSONDecoder().decode([Int].self, from: try await line.download("\(base)/\(today)/hour")) {
        current.append("\(base)/\(today)/hour/\(hour)")
      }
      balance.beginAgain()
      for address in current {
        if packages[address] == nil {
          let (export, signature) = try unpacked(try await line.download(address))
          packages[address] = try Framework.google.keys(
            export: export, signature: signature, signer: line.gateway.signer)
        }
        balance.find(packages[address] ?? [])
      }
    }
  }

  /// Immuni: every number from the oldest to the newest that it does not have.
  private struct ImmuniPhone {
    let line: Line
    private struct Index: Decodable { var oldest, newest: Int }
    private var newest = 0
    var balance = Balance()

    init(_ line: Line) { self.line = line }

    mutating func visit() async throws {
      let (body, answer) = try await line.get("\(line.gateway.address)/v1/keys/index")
      if answer.statusCode == 404 { return }
      let index = try JSONDecoder().decode(Index.self, from: body)
      guard index.newest > newest else { return }
      for number in max(index.oldest, newest + 1)...index.newest {
        let (export, signature) = try unpacked(try await line.download("\(line.gateway.address)/v1/keys/\(number)"))
        balance.find(try Framework.google.keys(export: export, signature: signature, signer: line.gateway.signer))
      }
      newest = index.newest
    }
  }

  @Test("five days, one upload each: every key once in days and hours, and once by number", .timeLimit(.minutes(2)))
  func days() async throws {
    let authority = SeedGateway.Authority()
    try await SeedGateway.run(
      """
      series: [{name: DE, include: [DE], every: 1 hour, sign: KEY}]
      server:
        listen: "127.0.0.1:0"
        uploads:
          origin: DE
          certificates:
            - {issuer: verify.example.org, audience: keys.example.org, keys: {v1: verifier.pem}}
          revision-key: {file: revision}
          rate: none
      """, trusting: authority, from: "2020-12-01T09:00:00Z"
    ) { gateway in
      let line = Line(gateway: gateway)
      var german = CoronaWarnPhone(line)
      var italian = ImmuniPhone(line)
      var posted: [FoundKey] = []
      for day in 0..<5 {
        let upload = CertifiedUpload(
          authority: authority, keys: Person(number: day).keys(before: gateway.today),
          onset: Day(daysSince1970: gateway.today.daysSince1970 - 4))
        _ = try await upload.post(over: line)
        posted += upload.keys
        for hours in [5, 19] as [Int64] {
          try await gateway.goOn(hours: hours, step: 1)
          try await german.visit()
          try await italian.visit()
          var balance = german.balance
          balance.post(posted)
          #expect(balance.faults == [], "day \(day), \(hours) hours")
        }
      }
      italian.balance.post(posted)
      #expect(italian.balance.faults == [])
    }
  }

  @Test("beside the roaming map of Google's app, each layout has countries of its own", .timeLimit(.minutes(2)))
  func countries() async throws {
    let authority = SeedGateway.Authority()
    try await SeedGateway.run(
      """
      series:
        - {name: germany, include: [DE], every: 1 hour, sign: KEY}
        - {name: europe, every: 1 hour, sign: KEY}
      server:
        listen: "127.0.0.1:0"
        travel: europe
        roaming: {DE: germany}
        countries: {corona-warn-app: {DE: germany, EUR: europe}}
        uploads:
          origin: DE
          certificates:
            - {issuer: verify.example.org, audience: keys.example.org, keys: {v1: verifier.pem}}
          revision-key: {file: revision}
          rate: none
      """, trusting: authority, from: "2020-12-01T09:00:00Z"
    ) { gateway in
      let line = Line(gateway: gateway)
      var phones = ["DE", "EUR"].map { CoronaWarnPhone(line, country: $0) }
      let upload = CertifiedUpload(
        authority: authority, keys: Person(number: 1).keys(before: gateway.today),
        onset: Day(daysSince1970: gateway.today.daysSince1970 - 4))
      _ = try await upload.post(over: line)
      for hours in [5, 24] as [Int64] {
        try await gateway.goOn(hours: hours, step: 1)
        for index in phones.indices {
          try await phones[index].visit()
          var balance = phones[index].balance
          balance.post(upload.keys)
          #expect(balance.faults == [], "\(phones[index].country), \(hours) hours")
        }
      }
      struct Pair: Decodable { var index: String }
      let map = try JSONDecoder().decode(
        [String: [Pair]].self, from: try await line.download("\(gateway.address)/roaming.json"))
      #expect(
        map.mapValues { $0.map(\.index) }
          == ["DE": ["germany", "europe"].map { "\(gateway.address)/\($0)/index.txt" }])
    }
  }
}
