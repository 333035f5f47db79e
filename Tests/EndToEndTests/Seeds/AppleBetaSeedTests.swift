import ExposureKeys
import Foundation
import Testing

/// Apple's sample of the beta: a JSON array up, pages of keys down.
@Suite("Seed: Apple's sample, beta") struct AppleBetaSeedTests {
  /// The sample's `CodableDiagnosisKey` of this generation: there is no rolling period.
  private struct DiagnosisKey: Codable, Hashable {
    var keyData: Data
    var rollingStartNumber: UInt32
    var transmissionRiskLevel: UInt8
  }

  private struct Page: Decodable {
    var keys: [DiagnosisKey]
    var done: Bool
  }

  private struct Phone {
    let line: Line
    /// `ENExposureDetectionSession.maximumKeyCount`.
    let maximumKeyCount: Int
    /// In the local store.
    var nextDiagnosisKeyIndex = 0
    var balance = Balance()

    /// `checkExposure(index:diagnosisKeys:done:)` until it is done: each request begins where the one before would have
    /// ended if it had been full, and the store grows by what came.
    mutating func detectExposures() async throws {
      var index = nextDiagnosisKeyIndex
      var count = 0
      while true {
        let body = try await line.download(
          "\(line.gateway.address)/apple/VA/keys?index=\(index)&maximumCount=\(maximumKeyCount)")
        let page = try JSONDecoder().decode(Page.self, from: body)
        balance.find(
          page.keys.map { key in
            FoundKey(
              data: key.keyData, start: Int(key.rollingStartNumber), period: 144, risk: Int(key.transmissionRiskLevel))
          })
        count += page.keys.count
        if page.done { break }
        index += maximumKeyCount
      }
      nextDiagnosisKeyIndex += count
    }

    /// `postDiagnosisKeys`: what `getDiagnosisKeys` gave, finished keys alone.
    mutating func post(_ keys: [FoundKey]) async throws {
      let list = keys.map {
        DiagnosisKey(
          keyData: $0.data, rollingStartNumber: UInt32($0.start), transmissionRiskLevel: UInt8($0.risk))
      }
      try await line.postDiagnosisKeys(list)
    }
  }

  @Test("five days in pages of 150, 7 and 1: every key once, whoever comes when", .timeLimit(.minutes(2)))
  func pages() async throws {
    try await SeedGateway.run(
      """
      series: [{name: VA, include: [US-VA], every: 2 hours, sign: KEY}]
      server:
        listen: "127.0.0.1:0"
        uploads: {origin: US-VA, token: {file: token}, rate: none}
      """, from: "2020-12-01T09:00:00Z"
    ) { gateway in
      var phones = [150, 7, 1].map { Phone(line: Line(gateway: gateway), maximumKeyCount: $0) }
      var posted: [FoundKey] = []
      for day in 0..<5 {
        for person in 0..<6 {
          let keys = Person(number: day * 10 + person).keys(of: 13, before: gateway.today)
          try await phones[0].post(keys)
          // What is sent again is known.
          if person == 0 { try await phones[0].post(keys) }
          posted += keys
        }
        try await gateway.goOn(hours: 24, step: 4)
        try await phones[0].detectExposures()
        if day % 2 == 0 { try await phones[1].detectExposures() }
        #expect(phones[0].balance.found.count == posted.count, "day \(day)")
      }
      try await phones[1].detectExposures()
      // A phone that is new today.
      try await phones[2].detectExposures()
      for index in phones.indices {
        phones[index].balance.post(posted)
        #expect(phones[index].balance.faults == [], "pages of \(phones[index].maximumKeyCount)")
      }
      #expect(phones[0].balance.found.count == 5 * 6 * 13)
    }
  }
}
